/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures cudasepconv as a pipeline sees it.
 *
 *   bench-pipeline [--quick] [--backend cuda|cpu] [--only PART] [--json FILE]
 *       [--link FILE | --duplex-gbps UP DOWN] [--soak [N]] [--seed N]
 *
 *   throughput  frames a second, CPU time, and a lone frame's way through the
 *               element between bare pads
 *   ratio       whole pipelines with and without it
 *   soak        N frames (100000) through everything that can happen
 *
 * --soak alone runs only the soak; without it, the other two. --link takes what
 * bench-transfer --json wrote, for the share of the bus that is used and for
 * lone frames in series. The exit status is 1 when something failed. */
#include "bench-pipeline.h"

#include "bench-header.h"

#include <stdio.h>
#include <string.h>

#define SOAK_FRAMES_DEFAULT 100000

typedef struct
{
  PipelineBench bench;
  const gchar *json_path, *link_path;
} Program;

void
bench_pass (PipelineBench *bench, const gchar *name)
{
  bench->passed++;
  printf ("ok %s\n", name);
  fflush (stdout);
}

void
bench_fail (PipelineBench *bench, const gchar *name, const gchar *format, ...)
{
  va_list args;

  bench->failed++;
  printf ("FAIL %s: ", name);
  va_start (args, format);
  vprintf (format, args);
  va_end (args);
  printf ("\n");
  fflush (stdout);
}

void
bench_skip (PipelineBench *bench, const gchar *name, const gchar *reason)
{
  bench->skipped++;
  printf ("SKIP %s: %s\n", name, reason);
  fflush (stdout);
}

/* Whether a part is to be run on a backend. */
static gboolean
wants (const PipelineBench *bench, const gchar *part, const gchar *on)
{
  const gboolean soak = strcmp (part, "soak") == 0;
  const gboolean wanted = bench->only != NULL
      ? strcmp (bench->only, part) == 0
      : soak == (bench->soak_frames > 0);

  return wanted && (bench->backend == NULL || strcmp (bench->backend, on) == 0);
}

static gboolean
take_soak (Program *program, int argc, char **argv, int *i)
{
  program->bench.soak_frames = SOAK_FRAMES_DEFAULT;
  if (*i + 1 < argc && g_ascii_isdigit (argv[*i + 1][0]))
    program->bench.soak_frames = g_ascii_strtoull (argv[++*i], NULL, 10);
  return program->bench.soak_frames > 0;
}

static gboolean
take_link (Program *program, int argc, char **argv, int *i)
{
  gdouble up, down;

  if (*i + 2 >= argc)
    return FALSE;
  up = g_ascii_strtod (argv[++*i], NULL);
  down = g_ascii_strtod (argv[++*i], NULL);
  if (up <= 0.0 || down <= 0.0)
    return FALSE;
  link_file_set (&program->bench.link, up, down);
  return TRUE;
}

static gboolean
parse (Program *program, int argc, char **argv)
{
  PipelineBench *bench = &program->bench;

  for (int i = 1; i < argc; i++) {
    const gboolean more = i + 1 < argc;

    if (strcmp (argv[i], "--quick") == 0)
      bench->quick = TRUE;
    else if (strcmp (argv[i], "--backend") == 0 && more)
      bench->backend = argv[++i];
    else if (strcmp (argv[i], "--only") == 0 && more)
      bench->only = argv[++i];
    else if (strcmp (argv[i], "--json") == 0 && more)
      program->json_path = argv[++i];
    else if (strcmp (argv[i], "--link") == 0 && more)
      program->link_path = argv[++i];
    else if (strcmp (argv[i], "--seed") == 0 && more)
      bench->seed = g_ascii_strtoull (argv[++i], NULL, 10);
    else if (strcmp (argv[i], "--soak") == 0) {
      if (!take_soak (program, argc, argv, &i))
        return FALSE;
    } else if (strcmp (argv[i], "--duplex-gbps") == 0) {
      if (!take_link (program, argc, argv, &i))
        return FALSE;
    } else
      return FALSE;
  }
  if (bench->only != NULL && strcmp (bench->only, "soak") == 0
      && bench->soak_frames == 0)
    bench->soak_frames = SOAK_FRAMES_DEFAULT;
  return TRUE;
}

/* Whether the element starts on that backend. */
static gboolean
backend_works (const gchar *backend)
{
  GstElement *element = gst_element_factory_make ("cudasepconv", NULL);
  gboolean works = FALSE;

  if (element == NULL)
    return FALSE;
  gst_object_ref_sink (element);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  works = gst_element_set_state (element, GST_STATE_PAUSED)
      != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  return works;
}

static void
run_backend (PipelineBench *bench, const gchar *backend)
{
  static const struct
  {
    const gchar *name;
    void (*run) (PipelineBench *bench, const gchar *backend);
  } parts[] = { { "throughput", bench_throughput }, { "ratio", bench_ratio },
    { "soak", bench_soak } };
  const gboolean works = backend_works (backend);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    gchar *name = g_strdup_printf ("%s/%s", parts[i].name, backend);

    if (!wants (bench, parts[i].name, backend))
      (void) 0;
    else if (works)
      parts[i].run (bench, backend);
    else if (strcmp (backend, "cuda") == 0)
      bench_skip (bench, name, "no usable GPU");
    else
      bench_fail (bench, name, "cudasepconv cannot be made or started");
    g_free (name);
  }
}

static void
run (PipelineBench *bench)
{
  bench_json_object (bench->json, NULL);
  bench_json_program (bench->json, "bench-pipeline");
  /* Of the machine that the link was measured on. */
  if (bench->link.gpu != NULL)
    bench_json_string (bench->json, "gpu", bench->link.gpu);
  if (bench->link.driver != NULL)
    bench_json_string (bench->json, "driver", bench->link.driver);
  if (bench->link.cuda_runtime != NULL)
    bench_json_string (bench->json, "cuda_runtime", bench->link.cuda_runtime);
  bench_json_array (bench->json, "rows");
  run_backend (bench, "cuda");
  run_backend (bench, "cpu");
  bench_json_end (bench->json);
  bench_json_end (bench->json);
}

/* Opens what the options name; FALSE and a message if that cannot be. */
static gboolean
prepare (Program *program)
{
  GError *error = NULL;
  bool failed;

  if (program->link_path != NULL
      && !link_file_read (&program->bench.link, program->link_path, &error)) {
    fprintf (stderr, "bench-pipeline: %s\n", error->message);
    g_clear_error (&error);
    return FALSE;
  }
  program->bench.json = bench_json_open (program->json_path, &failed);
  if (failed)
    fprintf (
        stderr, "bench-pipeline: %s cannot be written\n", program->json_path);
  return !failed;
}

int
main (int argc, char **argv)
{
  Program program = { .bench = { .seed = 1 } };
  PipelineBench *bench = &program.bench;
  int status = 2;

  gst_init (&argc, &argv);
  link_file_init (&bench->link);
  if (!parse (&program, argc, argv)) {
    fprintf (stderr,
        "usage: bench-pipeline [--quick] [--backend cuda|cpu]"
        " [--only throughput|ratio|soak]\n    [--json FILE]"
        " [--link FILE | --duplex-gbps UP DOWN] [--soak [N]] [--seed N]\n");
  } else if (prepare (&program)) {
    run (bench);
    if (!bench_json_close (bench->json))
      bench_fail (bench, "json", "%s could not be written", program.json_path);
    printf ("bench-pipeline: %d passed, %d failed, %d skipped\n", bench->passed,
        bench->failed, bench->skipped);
    status = bench->failed > 0;
  }
  link_file_clear (&bench->link);
  return status;
}
