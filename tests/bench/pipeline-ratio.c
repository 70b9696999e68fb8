/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole pipelines with and without one of the elements, taking turns. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "bench-pipeline.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "pad-rig.h"

/* Odd, so that the median is one of them. */
#define TURNS 41
#define TURNS_ON_CPU 15
#define QUICK_TURNS 3
#define TIMEOUT_US (120 * G_USEC_PER_SEC)

typedef struct
{
  const gchar *name, *format;
  gint width, height;
  gint frames, frames_on_cpu; /* per turn */
  gboolean in_quick;
} Picture;

static const Picture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, 36, 12, TRUE },
  { "1080p RGBA", "RGBA", 1920, 1080, 36, 12, FALSE },
  { "4K NV12", "NV12", 3840, 2160, 12, 6, TRUE },
  { "4K RGBA", "RGBA", 3840, 2160, 12, 6, FALSE },
};

/* Patterns of videotestsrc: a slow one and the fastest. */
static const gchar *const patterns[] = { "smpte", "black" };

/* A pipeline that runs only during its turns: between turns its generator is blocked
 * before its next frame. */
typedef struct
{
  GstElement *pipeline;
  GMutex lock; /* protects all below, from the streaming threads */
  GCond changed;
  gint allowed, arrived; /* frames of this turn: may still leave; at the sink */
  gint skip;             /* frames at the begin of a turn, not counted */
  gdouble first, last;   /* arrival times of frame `skip` and of the last */
  gboolean held, quit;
  gint core; /* of the generator's thread; -1: any, or already set */
} Runner;

/* Pins the calling thread to one core if it is allowed to. The core, and the load on it
 * and on its SMT sibling, matter more than any element. */
static void
stay_on_core (gint core)
{
  cpu_set_t set;

  CPU_ZERO (&set);
  CPU_SET ((size_t) core, &set);
  (void) sched_setaffinity (0, sizeof set, &set);
}

/* Probe on the generator's pad. */
static GstPadProbeReturn
on_departure (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  Runner *runner = user;
  GstPadProbeReturn result = GST_PAD_PROBE_DROP;

  (void) pad;
  (void) info;
  g_mutex_lock (&runner->lock);
  if (runner->core >= 0)
    stay_on_core (runner->core);
  runner->core = -1;
  runner->held = runner->allowed == 0;
  g_cond_broadcast (&runner->changed);
  while (runner->allowed == 0 && !runner->quit)
    g_cond_wait (&runner->changed, &runner->lock);
  runner->held = FALSE;
  if (!runner->quit) {
    runner->allowed--;
    result = GST_PAD_PROBE_OK;
  }
  g_mutex_unlock (&runner->lock);
  return result;
}

/* Probe on the sink's pad. */
static GstPadProbeReturn
on_arrival (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  Runner *runner = user;

  (void) pad;
  (void) info;
  g_mutex_lock (&runner->lock);
  runner->last = bench_now_ns ();
  if (runner->arrived++ == runner->skip)
    runner->first = runner->last;
  g_cond_broadcast (&runner->changed);
  g_mutex_unlock (&runner->lock);
  return GST_PAD_PROBE_OK;
}

static void
add_probe (Runner *runner, const gchar *element_name, const gchar *pad_name,
    GstPadProbeCallback callback)
{
  GstElement *element =
      gst_bin_get_by_name (GST_BIN (runner->pipeline), element_name);
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, runner, NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
}

static gboolean
runner_start (Runner *runner, const gchar *description, gint core)
{
  GError *error = NULL;

  memset (runner, 0, sizeof *runner);
  runner->core = core;
  g_mutex_init (&runner->lock);
  g_cond_init (&runner->changed);
  runner->pipeline = gst_parse_launch (description, &error);
  if (error != NULL)
    fprintf (stderr, "  %s\n", error->message);
  if (runner->pipeline == NULL || error != NULL) {
    g_clear_error (&error);
    return FALSE;
  }
  add_probe (runner, "source", "src", on_departure);
  add_probe (runner, "sink", "sink", on_arrival);
  return gst_element_set_state (runner->pipeline, GST_STATE_PLAYING)
      != GST_STATE_CHANGE_FAILURE;
}

/* Prints an error, if there was one. */
static void
tell_error (Runner *runner)
{
  GstBus *bus = gst_element_get_bus (runner->pipeline);
  gchar *error = pad_rig_take_error_of (bus);

  if (error != NULL)
    fprintf (stderr, "  %s\n", error);
  g_free (error);
  gst_object_unref (bus);
}

static void
runner_stop (Runner *runner)
{
  g_mutex_lock (&runner->lock);
  runner->quit = TRUE;
  g_cond_broadcast (&runner->changed);
  g_mutex_unlock (&runner->lock);
  if (runner->pipeline != NULL) {
    tell_error (runner);
    gst_element_set_state (runner->pipeline, GST_STATE_NULL);
    gst_object_unref (runner->pipeline);
  }
  g_cond_clear (&runner->changed);
  g_mutex_clear (&runner->lock);
}

/* Measures the time per frame over one turn, from frame `skip` to the last. Returns when
 * no thread of this pipeline runs any more. */
static gboolean
runner_take_turn (Runner *runner, gint frames, gdouble *ns)
{
  const gint64 end = g_get_monotonic_time () + TIMEOUT_US;
  gboolean ok = TRUE;

  g_mutex_lock (&runner->lock);
  runner->arrived = 0;
  runner->skip = frames / 6;
  runner->allowed = frames;
  g_cond_broadcast (&runner->changed);
  while ((runner->arrived < frames || !runner->held) && ok)
    ok = g_cond_wait_until (&runner->changed, &runner->lock, end);
  *ns = (runner->last - runner->first) / (frames - 1 - runner->skip);
  g_mutex_unlock (&runner->lock);
  return ok;
}

static gchar *
describe (const Picture *picture, const gchar *pattern, const gchar *middle)
{
  return g_strdup_printf (
      "videotestsrc name=source pattern=%s ! video/x-raw, format=%s, width=%d, "
      "height=%d, framerate=30/1 ! %s fakesink name=sink sync=false",
      pattern, picture->format, picture->width, picture->height, middle);
}

typedef struct
{
  gint turns, frames;
  BenchSpread with, without;
  /* Ratio over neighbouring turns: median and quartiles. */
  gdouble ratio, ratio_low, ratio_high;
} Comparison;

/* The two pipelines take turns, and also alternate in who goes first. The first turn of
 * each, which allocates resources, does not count. */
static gboolean
take_turns (Runner *runner, Comparison *comparison)
{
  const gint n = comparison->turns, frames = comparison->frames;
  gdouble ns[2][TURNS], ratio[TURNS];

  for (gint which = 0; which < 2; which++)
    if (!runner_take_turn (&runner[which], frames, &ns[which][0]))
      return FALSE;
  for (gint i = 0; i < n; i++) {
    for (gint k = 0; k < 2; k++) {
      const gint which = (i + k) % 2;

      if (!runner_take_turn (&runner[which], frames, &ns[which][i]))
        return FALSE;
    }
    ratio[i] = ns[1][i] / ns[0][i];
  }
  comparison->without = bench_spread (ns[0], n);
  comparison->with = bench_spread (ns[1], n);
  bench_sort (ratio, n);
  comparison->ratio = ratio[n / 2];
  comparison->ratio_low = ratio[n / 4];
  comparison->ratio_high = ratio[n - 1 - n / 4];
  return TRUE;
}

static gboolean
compare (const Picture *picture, const gchar *pattern, const gchar *middle,
    gint core, Comparison *comparison)
{
  gchar *without = describe (picture, pattern, "");
  gchar *with = describe (picture, pattern, middle);
  Runner runner[2];
  gboolean ok = runner_start (&runner[0], without, core);

  ok = runner_start (&runner[1], with, core) && ok;
  ok = ok && take_turns (runner, comparison);
  runner_stop (&runner[1]);
  runner_stop (&runner[0]);
  g_free (with);
  g_free (without);
  return ok;
}

static gint
choose_turns (const PipelineBench *bench, gboolean cpu)
{
  if (bench->quick)
    return QUICK_TURNS;
  return cpu ? TURNS_ON_CPU : TURNS;
}

static void
report (PipelineBench *bench, const gchar *backend, const Picture *picture,
    const gchar *pattern, const gchar *name, const gchar *middle)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  Comparison is = { .turns = choose_turns (bench, cpu),
    .frames = cpu ? picture->frames_on_cpu : picture->frames };
  gchar *title = g_strdup_printf (
      "ratio/%s/%s/%s/%s", backend, picture->name, pattern, name);

  /* An element that computes on the CPU needs all cores. */
  if (!compare (picture, pattern, middle, cpu ? -1 : sched_getcpu (), &is)) {
    bench_fail (bench, title, "the pipeline does not run");
  } else {
    printf ("  %-12s %-6s %-22s %6.3f (%.3f .. %.3f)  %8.4f ms, without "
            "%8.4f ms a frame\n",
        picture->name, pattern, name, is.ratio, is.ratio_low, is.ratio_high,
        is.with.median / 1e6, is.without.median / 1e6);
    fflush (stdout);
    bench_json_object (bench->json, NULL);
    bench_json_string (bench->json, "part", "ratio");
    bench_json_string (bench->json, "backend", backend);
    bench_json_string (bench->json, "frame", picture->name);
    bench_json_string (bench->json, "pattern", pattern);
    bench_json_string (bench->json, "middle", name);
    bench_json_number (bench->json, "turns", is.turns);
    bench_json_number (bench->json, "ratio", is.ratio);
    bench_json_number (bench->json, "ratio_low", is.ratio_low);
    bench_json_number (bench->json, "ratio_high", is.ratio_high);
    bench_json_number (bench->json, "ms", is.with.median / 1e6);
    bench_json_number (bench->json, "ms_without", is.without.median / 1e6);
    bench_json_end (bench->json);
    bench_pass (bench, title);
  }
  g_free (title);
}

static gboolean
have_element (const gchar *name)
{
  GstElementFactory *factory = gst_element_factory_find (name);
  const gboolean have = factory != NULL;

  gst_clear_object (&factory);
  return have;
}

void
bench_ratio (PipelineBench *bench, const gchar *backend)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  const gboolean stock =
      !cpu && have_element ("cudaupload") && have_element ("cudadownload");
  gchar *filter = g_strdup_printf ("cudasepconv backend=%s !", backend);
  gchar *histogram =
      g_strdup_printf ("cudahisto backend=%s interval=0 !", backend);

  printf ("\nvideotestsrc with an element : without, backend=%s\n", backend);
  for (guint p = 0; p < G_N_ELEMENTS (pictures); p++) {
    const Picture *picture = &pictures[p];

    if (bench->quick && !picture->in_quick)
      continue;
    for (guint k = 0; k < G_N_ELEMENTS (patterns); k++) {
      report (bench, backend, picture, patterns[k], "cudasepconv", filter);
      report (bench, backend, picture, patterns[k], "cudahisto", histogram);
      if (stock)
        report (bench, backend, picture, patterns[k], "cudaupload+cudadownload",
            "cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload !");
    }
  }
  if (!cpu && !stock)
    bench_skip (
        bench, "ratio/cudaupload+cudadownload", "nvcodec is not registered");
  g_free (histogram);
  g_free (filter);
}
