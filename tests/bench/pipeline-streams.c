/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many streams at once, each with its own element and threads: first at full speed, then each as a
 * live source. They are spread over new processes, which begin at the same time and report their
 * figures as lines of text. */
#include "bench-pipeline.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "push-course.h"
#include "soak-footprint.h"

#define MAX_STREAMS 64
#define MAX_PROCESSES 4

/* Time for all streams to run steadily, and for the last frames to come out. */
#define LEAD_NS 2e8
#define PAUSE_NS 5e8
/* Seconds of the part at full speed. Shares of processor cores even out slowly: of four streams on
 * two cores one was 17 % off the mean over one second, and 5 % over thirty. */
#define QUICK_SECONDS 0.2
#define GPU_SECONDS 1.0
#define CPU_SECONDS 30.0
/* Length of the live part, as a multiple of the seconds above, of which at most one counts. */
#define LIVE_LENGTH 5
#define LIVE_RATE 60
#define LIVE_PERIOD_NS (1e9 / LIVE_RATE)

/* A stream below this share of the mean rate is starved. */
#define STARVED 0.1

/* Environment variable of such a process: its number of streams, the index of the first stream,
 * the number of devices, and the seconds: "STREAMS FIRST DEVICES SECONDS". */
#define CHILD_MARK "BENCH_PIPELINE_STREAMS"
#define READY "ready\n"

static const BenchPicture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, TRUE },
};

/* --- a child process, which has streams --- */

typedef struct
{
  guint index;
  gdouble start_ns; /* of the process */
  gdouble seconds;
  gboolean ok;
  PushCourse course;
  gdouble rate; /* frames a second */
} Stream;

/* Streams start at different phases of the frame period: cameras are not in step. */
static gdouble
live_start (const Stream *stream)
{
  return stream->start_ns + LEAD_NS + stream->seconds * 1e9 + PAUSE_NS
      + stream->index * LIVE_PERIOD_NS / MAX_STREAMS;
}

static guint
live_frames (const Stream *stream)
{
  return MIN ((guint) (MIN (stream->seconds, 1.0) * LIVE_LENGTH * LIVE_RATE),
      PUSH_COURSE_MAX_FRAMES);
}

static gpointer
feed (gpointer user)
{
  Stream *stream = user;
  PushCourse *course = &stream->course;
  const gdouble end = stream->start_ns + LEAD_NS + stream->seconds * 1e9;

  bench_sleep_until (stream->start_ns);
  stream->ok = push_course_push_until (course, end)
      && push_course_push_live (
          course, live_start (stream), LIVE_PERIOD_NS, live_frames (stream));
  return NULL;
}

static gboolean
open_streams (
    const PipelineBench *bench, Stream *stream, guint n, guint devices)
{
  GstCaps *caps = pad_rig_caps (
      bench->picture.format, bench->picture.width, bench->picture.height);
  gboolean ok = TRUE;

  for (guint i = 0; i < n; i++) {
    const gint device = devices > 0 ? (gint) (stream[i].index % devices) : -1;
    gchar *settings = g_strdup_printf (
        "backend=%s sigma=2 cuda-device-id=%d", bench->backend, device);

    ok = push_course_init (&stream[i].course, settings) && ok
        && pad_rig_start (&stream[i].course.rig)
        && push_course_begin (&stream[i].course, caps)
        && push_course_push (&stream[i].course, 1);
    g_free (settings);
  }
  gst_caps_unref (caps);
  return ok;
}

/* Measures while all streams are in their first part. */
static gdouble
measure_rates (Stream *stream, guint n)
{
  const gdouble begin = stream->start_ns + LEAD_NS;
  guint count[MAX_STREAMS];
  BenchUsage before, after;
  gdouble from, to;

  bench_sleep_until (begin);
  from = bench_now_ns ();
  before = bench_usage ();
  for (guint i = 0; i < n; i++)
    count[i] = push_course_count (&stream[i].course);
  bench_sleep_until (begin + stream->seconds * 1e9);
  to = bench_now_ns ();
  after = bench_usage ();
  for (guint i = 0; i < n; i++)
    stream[i].rate = (push_course_count (&stream[i].course) - count[i]) * 1e9
        / (to - from);
  return (after.cpu_ns - before.cpu_ns) / (to - from);
}

static void
tell (const Stream *stream, guint n, gdouble cores)
{
  printf ("cores %.3f\n", cores);
  for (guint i = 0; i < n; i++) {
    const gdouble from = live_start (&stream[i]);

    printf ("rate %.2f\n", stream[i].rate);
    for (guint k = 0; k < live_frames (&stream[i]); k++)
      printf ("latency %.1f\n",
          (stream[i].course.stamps[k] - from - k * LIVE_PERIOD_NS) / 1e3);
  }
}

static gboolean
run_streams (Stream *stream, guint n)
{
  GThread *thread[MAX_STREAMS];
  gboolean ok = TRUE;
  gdouble cores;

  for (guint i = 0; i < n; i++)
    thread[i] = g_thread_new ("bench-stream", feed, &stream[i]);
  cores = measure_rates (stream, n);
  for (guint i = 0; i < n; i++) {
    g_thread_join (thread[i]);
    ok = stream[i].ok && ok;
  }
  if (ok)
    tell (stream, n, cores);
  return ok;
}

/* The parent sends the time to begin. */
static gboolean
await_start (Stream *stream, guint n)
{
  gdouble start_ns;
  gchar line[80];

  fputs (READY, stdout);
  fflush (stdout);
  if (fgets (line, sizeof line, stdin) == NULL
      || sscanf (line, "%lf", &start_ns) != 1)
    return FALSE;
  for (guint i = 0; i < n; i++)
    stream[i].start_ns = start_ns;
  return TRUE;
}

gboolean
bench_streams_child (const PipelineBench *bench, gint *status)
{
  const gchar *mark = g_getenv (CHILD_MARK);
  Stream *stream;
  gdouble seconds;
  gboolean ok;
  guint n, first, devices;

  if (mark == NULL)
    return FALSE;
  if (sscanf (mark, "%u %u %u %lf", &n, &first, &devices, &seconds) != 4
      || n < 1 || n > MAX_STREAMS)
    return TRUE;
  stream = g_new0 (Stream, n);
  for (guint i = 0; i < n; i++) {
    stream[i].index = first + i;
    stream[i].seconds = seconds;
  }
  ok = open_streams (bench, stream, n, devices) && await_start (stream, n)
      && run_streams (stream, n);
  for (guint i = 0; i < n; i++) {
    gchar *error = ok || stream[i].course.rig.element == NULL
        ? NULL
        : pad_rig_take_error (&stream[i].course.rig);

    if (error != NULL)
      printf ("error %s\n", error);
    g_free (error);
    push_course_clear (&stream[i].course);
  }
  g_free (stream);
  *status = ok ? 0 : 1;
  return TRUE;
}

/* --- the parent process --- */

typedef struct
{
  GPid pid;
  FILE *to, *from;
} Child;

typedef struct
{
  guint processes, streams;
  gdouble cores, device_kib; /* of all streams; device_kib < 0: not known */
  GArray *rate, *latency;    /* of gdouble: of streams, and in us of frames */
} Figures;

static gboolean
start_child (const gchar *backend, const BenchPicture *picture, guint streams,
    guint first, guint devices, gdouble seconds, Child *child)
{
  gchar *width = g_strdup_printf ("%d", picture->width);
  gchar *height = g_strdup_printf ("%d", picture->height);
  gchar *mark =
      g_strdup_printf ("%u %u %u %f", streams, first, devices, seconds);
  const gchar *const argv[] = { "/proc/self/exe", "--backend", backend,
    "--picture", picture->format, width, height, NULL };
  gchar **envp = g_environ_setenv (g_get_environ (), CHILD_MARK, mark, TRUE);
  gint to, from;
  const gboolean ok = g_spawn_async_with_pipes (NULL, (gchar **) argv, envp,
      G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &child->pid, &to, &from, NULL,
      NULL);

  if (ok) {
    child->to = fdopen (to, "w");
    child->from = fdopen (from, "r");
  }
  g_strfreev (envp);
  g_free (mark);
  g_free (width);
  g_free (height);
  return ok;
}

/* Reads a child's report, up to READY or its end. Returns a problem, which the caller frees, or
 * NULL. */
static gchar *
hear_child (const Child *child, Figures *figures)
{
  gchar line[1000], *problem = NULL;

  while (problem == NULL && fgets (line, sizeof line, child->from) != NULL
      && strcmp (line, READY) != 0) {
    gdouble value;

    if (sscanf (line, "rate %lf", &value) == 1)
      g_array_append_val (figures->rate, value);
    else if (sscanf (line, "latency %lf", &value) == 1)
      g_array_append_val (figures->latency, value);
    else if (sscanf (line, "cores %lf", &value) == 1)
      figures->cores += value;
    else if (g_str_has_prefix (line, "error "))
      problem = g_strdup (g_strchomp (line + strlen ("error ")));
  }
  return problem;
}

static gchar *
hear_children (const Child *child, Figures *figures)
{
  gchar *problem = NULL;

  for (guint i = 0; i < figures->processes && problem == NULL; i++)
    problem = hear_child (&child[i], figures);
  return problem;
}

static gboolean
end_child (Child *child)
{
  int status;

  fclose (child->to);
  fclose (child->from);
  return waitpid (child->pid, &status, 0) == child->pid && WIFEXITED (status)
      && WEXITSTATUS (status) == 0;
}

/* To be called once all children have their streams open. A child that has died by then is noticed
 * later by its missing figures. */
static void
start_together (const Child *child, const Figures *figures)
{
  const gdouble start_ns = bench_now_ns () + LEAD_NS;

  for (guint i = 0; i < figures->processes; i++) {
    fprintf (child[i].to, "%.0f\n", start_ns);
    fflush (child[i].to);
  }
}

/* Returns a problem, which the caller frees, or NULL. */
static gchar *
measure (const gchar *backend, const BenchPicture *picture, guint devices,
    gdouble seconds, Figures *figures)
{
  const gdouble idle_kib = soak_footprint_device_kib ();
  const guint each = figures->streams / figures->processes;
  Child child[MAX_PROCESSES];
  gchar *problem = NULL;
  gboolean ok = TRUE;
  guint n = 0;

  while (n < figures->processes
      && start_child (
          backend, picture, each, n * each, devices, seconds, &child[n]))
    n++;
  if (n == figures->processes)
    problem = hear_children (child, figures);
  if (n == figures->processes && problem == NULL) {
    figures->device_kib = soak_footprint_device_kib () - idle_kib;
    start_together (child, figures);
    problem = hear_children (child, figures);
  }
  for (guint i = 0; i < n; i++)
    ok = end_child (&child[i]) && ok;
  if (problem == NULL
      && (!ok || figures->rate->len != figures->streams
          || figures->latency->len == 0))
    problem = g_strdup_printf ("%u of %u streams came to their end",
        figures->rate->len, figures->streams);
  if (idle_kib < 0.0 || devices > 1 || !g_str_equal (backend, "cuda"))
    figures->device_kib = -1.0;
  return problem;
}

/* `latency` must be sorted. */
static gdouble
percentile (const GArray *latency, gdouble percent)
{
  return g_array_index (
      latency, gdouble, (guint) ((latency->len - 1) * percent / 100.0));
}

static guint
count_late (const GArray *latency)
{
  guint late = 0;

  for (guint i = 0; i < latency->len; i++)
    if (g_array_index (latency, gdouble, i) > LIVE_PERIOD_NS / 1e3)
      late++;
  return late;
}

static gdouble
total_rate (const GArray *rate)
{
  gdouble total = 0.0;

  for (guint i = 0; i < rate->len; i++)
    total += g_array_index (rate, gdouble, i);
  return total;
}

/* `one` is the rate of a single stream, or 0 until that is known. */
static void
report (PipelineBench *bench, const gchar *backend, const BenchPicture *picture,
    const Figures *figures, gdouble *one)
{
  gdouble *const rate = (gdouble *) (void *) figures->rate->data;
  gdouble *const latency = (gdouble *) (void *) figures->latency->data;
  const guint n = figures->streams, late = count_late (figures->latency);
  const gdouble total = total_rate (figures->rate);
  BenchJson *json = bench->json;

  if (*one == 0.0)
    *one = total;
  bench_sort (rate, (gint) n);
  bench_sort (latency, (gint) figures->latency->len);
  printf ("  %7u %9u  %9.1f  %6.3f  %6.3f %6.3f  %6.2f", n, figures->processes,
      total, total / *one, rate[0] * n / total, rate[n - 1] * n / total,
      figures->cores);
  if (figures->device_kib >= 0.0)
    printf ("  %8.1f", figures->device_kib / 1024 / n);
  else
    printf ("  %8s", "-");
  printf ("  %6u/%-6u %8.1f %8.1f %8.1f\n", late, figures->latency->len,
      percentile (figures->latency, 50.0), percentile (figures->latency, 99.0),
      percentile (figures->latency, 100));
  fflush (stdout);
  bench_json_object (json, NULL);
  bench_json_string (json, "part", "streams");
  bench_json_string (json, "backend", backend);
  bench_json_string (json, "frame", picture->name);
  bench_json_number (json, "streams", n);
  bench_json_number (json, "processes", figures->processes);
  if (bench->devices > 0)
    bench_json_number (json, "devices", bench->devices);
  bench_json_number (json, "frames_a_second", total);
  bench_json_number (json, "of_one", total / *one);
  bench_json_number (json, "slowest_of_mean", rate[0] * n / total);
  bench_json_number (json, "fastest_of_mean", rate[n - 1] * n / total);
  bench_json_number (json, "cores", figures->cores);
  if (figures->device_kib >= 0.0)
    bench_json_number (json, "device_mib_each", figures->device_kib / 1024 / n);
  bench_json_number (json, "live_frames", figures->latency->len);
  bench_json_number (json, "late", late);
  bench_json_number (json, "latency_us", percentile (figures->latency, 50.0));
  bench_json_number (
      json, "latency_us_99", percentile (figures->latency, 99.0));
  bench_json_number (
      json, "latency_us_max", percentile (figures->latency, 100.0));
  bench_json_end (json);
}

/* Returns a problem, which the caller frees, if a stream is starved by the others, else NULL. The
 * rates are sorted. */
static gchar *
find_starved (const Figures *figures)
{
  const gdouble least = g_array_index (figures->rate, gdouble, 0);
  const gdouble total = total_rate (figures->rate);

  if (least * figures->streams >= STARVED * total)
    return NULL;
  return g_strdup_printf (
      "of %u streams one gets %.1f of %.1f frames a second", figures->streams,
      least, total);
}

static void
run_picture (
    PipelineBench *bench, const gchar *backend, const BenchPicture *picture)
{
  static const guint processes[] = { 1, MAX_PROCESSES };
  const guint most = bench->quick ? MAX_PROCESSES : MAX_STREAMS;
  const gdouble seconds = bench->quick ? QUICK_SECONDS
      : g_str_equal (backend, "cpu")   ? CPU_SECONDS
                                       : GPU_SECONDS;
  gchar *name = g_strdup_printf ("streams/%s/%s", backend, picture->name);
  gchar *problem = NULL;
  gdouble one = 0.0;

  for (guint p = 0; p < G_N_ELEMENTS (processes) && problem == NULL; p++)
    for (guint n = processes[p]; n <= most && problem == NULL; n *= 2) {
      Figures figures = { .processes = processes[p],
        .streams = n,
        .rate = g_array_new (FALSE, FALSE, sizeof (gdouble)),
        .latency = g_array_new (FALSE, FALSE, sizeof (gdouble)) };

      problem = measure (backend, picture, bench->devices, seconds, &figures);
      if (problem == NULL) {
        report (bench, backend, picture, &figures, &one);
        problem = find_starved (&figures);
      }
      g_array_unref (figures.rate);
      g_array_unref (figures.latency);
    }
  if (problem == NULL)
    bench_pass (bench, name);
  else
    bench_fail (bench, name, "%s", problem);
  g_free (problem);
  g_free (name);
}

void
bench_streams (PipelineBench *bench, const gchar *backend)
{
  /* Writing to a process that has ended must fail only that write. */
  signal (SIGPIPE, SIG_IGN);
  for (guint p = 0; p < G_N_ELEMENTS (pictures); p++) {
    const BenchPicture *picture =
        bench_choose_picture (bench, pictures, G_N_ELEMENTS (pictures), p);

    if (picture == NULL)
      continue;
    printf ("\n%s, sigma=2, backend=%s: as fast as they go, then each live at"
            " %d frames a second\n",
        picture->name, backend, LIVE_RATE);
    printf ("  %7s %9s  %9s  %6s  %13s  %6s  %8s  %13s %26s\n", "streams",
        "processes", "frames/s", "of one", "least, most", "cores", "MiB each",
        "late", "us at 50, 99, 100 %");
    run_picture (bench, backend, picture);
  }
}
