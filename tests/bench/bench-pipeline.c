/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures cudasepconv in pipelines.
 *
 *   bench-pipeline [--quick] [--backend cuda|cpu] [--only PART] [--json FILE]
 *       [--picture FORMAT WIDTH HEIGHT] [--link FILE | --duplex-gbps UP DOWN]
 *       [--soak [N]] [--seed N] [--devices N]
 *
 *   throughput  frames a second, CPU time, and the latency of a lone frame,
 *               between bare pads
 *   device      the same for frames in GPU memory, compared with the limit of the
 *               kernel alone: 1 / the mean compute-time of its statistics
 *   ratio       whole pipelines with and without the element
 *   regions     frames with small covered regions, in place and not
 *   start       time to the first frame, in a new process and after a stop
 *   streams     1 to 64 elements at once, in one process and in several: first at
 *               full speed, then at 60 frames a second each; runs only if named
 *   soak        N frames (100000) through all kinds of operations
 *
 * --soak alone runs only the soak; without it, all other parts but streams run. --picture replaces
 * the pictures of throughput, device and regions by one picture. --link reads the output of
 * bench-transfer --json, for the used share of the bus and for lone frames in series. With
 * --devices the streams of `streams` take GPUs 0 to N - 1 in turn. The exit status is 1 when
 * something failed, and 77 when nothing could be run. */
#include "bench-pipeline.h"

#include "bench-header.h"
#include "gpu.h"

#include <gst/video/video.h>
#include <stdio.h>
#include <string.h>

#define SOAK_FRAMES_DEFAULT 100000
/* Exit status that Meson takes for a skipped test. */
#define STATUS_SKIPPED 77

typedef struct
{
  PipelineBench bench;
  const gchar *json_path, *link_path;
  gchar *picture_name;
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

const BenchPicture *
bench_choose_picture (
    const PipelineBench *bench, const BenchPicture *pictures, guint n, guint i)
{
  g_assert (i < n);
  if (bench->picture.name != NULL)
    return i == 0 ? &bench->picture : NULL;
  return !bench->quick || pictures[i].in_quick ? &pictures[i] : NULL;
}

void
bench_each_picture (PipelineBench *bench, const gchar *backend,
    const BenchPicture *pictures, guint n,
    void (*run) (PipelineBench *bench, const gchar *backend,
        const BenchPicture *picture))
{
  for (guint i = 0; i < n; i++) {
    const BenchPicture *picture = bench_choose_picture (bench, pictures, n, i);

    if (picture != NULL)
      run (bench, backend, picture);
  }
}

/* Whether the options select a part on a backend. */
static gboolean
wants (const PipelineBench *bench, const gchar *part, const gchar *on)
{
  const gboolean soak = strcmp (part, "soak") == 0;
  const gboolean wanted = bench->only != NULL
      ? strcmp (bench->only, part) == 0
      : soak == (bench->soak_frames > 0) && strcmp (part, "streams") != 0;

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
take_picture (Program *program, int argc, char **argv, int *i)
{
  BenchPicture *picture = &program->bench.picture;

  if (*i + 3 >= argc)
    return FALSE;
  picture->format = argv[++*i];
  picture->width = (gint) g_ascii_strtoll (argv[++*i], NULL, 10);
  picture->height = (gint) g_ascii_strtoll (argv[++*i], NULL, 10);
  g_free (program->picture_name);
  picture->name = program->picture_name = g_strdup_printf (
      "%dx%d %s", picture->width, picture->height, picture->format);
  return picture->width > 0 && picture->height > 0
      && gst_video_format_from_string (picture->format)
      != GST_VIDEO_FORMAT_UNKNOWN;
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

/* Parses the number of GPUs for `streams`. */
static gboolean
take_devices (PipelineBench *bench, const char *number)
{
  const guint64 devices = g_ascii_strtoull (number, NULL, 10);

  bench->devices = (guint) MIN (devices, G_MAXUINT);
  return devices > 0;
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
    else if (strcmp (argv[i], "--devices") == 0 && more) {
      if (!take_devices (bench, argv[++i]))
        return FALSE;
    } else if (strcmp (argv[i], "--soak") == 0) {
      if (!take_soak (program, argc, argv, &i))
        return FALSE;
    } else if (strcmp (argv[i], "--picture") == 0) {
      if (!take_picture (program, argc, argv, &i))
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
  return bench->devices == 0 || g_strcmp0 (bench->only, "streams") == 0;
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
    gboolean only_cuda;
  } parts[] = { { "throughput", bench_throughput, FALSE },
    { "device", bench_device, TRUE }, { "ratio", bench_ratio, FALSE },
    { "regions", bench_regions, FALSE }, { "start", bench_start, FALSE },
    { "streams", bench_streams, FALSE }, { "soak", bench_soak, FALSE } };
  const gboolean cuda = strcmp (backend, "cuda") == 0;
  const gboolean works = backend_works (backend);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    gchar *name = g_strdup_printf ("%s/%s", parts[i].name, backend);

    if (!wants (bench, parts[i].name, backend) || (parts[i].only_cuda && !cuda))
      (void) 0;
    else if (works)
      parts[i].run (bench, backend);
    else if (cuda)
      bench_skip (bench, name, "no usable GPU");
    else
      bench_fail (bench, name, "cudasepconv cannot be made or started");
    g_free (name);
  }
}

/* Opens the GPU only for the header; the elements open it by themselves. */
static void
write_header (BenchJson *json)
{
  Fault fault;
  Gpu *gpu = json != NULL ? gpu_open (-1, &fault) : NULL;
  int runtime, driver;

  bench_json_program (json, "bench-pipeline");
  if (gpu == NULL)
    return;
  if (gpu_versions (&runtime, &driver, &fault))
    bench_json_gpu (json, gpu_name (gpu), runtime, driver);
  else
    fprintf (stderr, "bench-pipeline: %s (%s)\n", fault.message, fault.detail);
  gpu_close (gpu);
}

static void
run (PipelineBench *bench)
{
  bench_json_object (bench->json, NULL);
  write_header (bench->json);
  bench_json_array (bench->json, "rows");
  run_backend (bench, "cuda");
  run_backend (bench, "cpu");
  bench_json_end (bench->json);
  bench_json_end (bench->json);
}

/* Opens the files that the options name. Prints a message and returns FALSE on failure. */
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
        " [--only throughput|device|ratio|regions|start|streams|soak]\n    [--json FILE]"
        " [--picture FORMAT WIDTH HEIGHT]\n   "
        " [--link FILE | --duplex-gbps UP DOWN] [--soak [N]] [--seed N]\n   "
        " [--only streams --devices N]\n");
  } else if (!bench_start_fresh (bench, &status)
      && !bench_streams_child (bench, &status) && prepare (&program)) {
    run (bench);
    if (!bench_json_close (bench->json))
      bench_fail (bench, "json", "%s could not be written", program.json_path);
    printf ("bench-pipeline: %d passed, %d failed, %d skipped\n", bench->passed,
        bench->failed, bench->skipped);
    if (bench->failed > 0)
      status = 1;
    else
      status = bench->passed > 0 ? 0 : STATUS_SKIPPED;
  }
  g_free (program.picture_name);
  link_file_clear (&bench->link);
  return status;
}
