/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole pipelines with and without one of the elements, by turns. */
#include "bench-pipeline.h"

#include <stdio.h>
#include <string.h>

#define REPETITIONS 15
#define QUICK_REPETITIONS 3
#define TIMEOUT (120 * GST_SECOND)

typedef struct
{
  const gchar *name, *format;
  gint width, height;
  gint frames, frames_on_cpu;
  gboolean in_quick;
} Picture;

static const Picture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, 240, 24, TRUE },
  { "1080p RGBA", "RGBA", 1920, 1080, 240, 24, FALSE },
  { "4K NV12", "NV12", 3840, 2160, 80, 8, TRUE },
  { "4K RGBA", "RGBA", 3840, 2160, 80, 8, FALSE },
};

/* Of videotestsrc: a slow one and the fastest. */
static const gchar *const patterns[] = { "smpte", "black" };

/* Waits for a message of the types, FALSE after an error. */
static gboolean
wait_for (GstElement *pipeline, GstMessageType type)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, TIMEOUT, type | GST_MESSAGE_ERROR);
  const gboolean ok = message != NULL && GST_MESSAGE_TYPE (message) == type;

  if (message != NULL && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    GError *error = NULL;

    gst_message_parse_error (message, &error, NULL);
    fprintf (stderr, "  %s\n", error->message);
    g_clear_error (&error);
  }
  gst_clear_object (&bus);
  if (message != NULL)
    gst_message_unref (message);
  return ok;
}

/* Frames as they come to the sink, on its streaming thread. */
typedef struct
{
  gint count, skip;
  gdouble first, last; /* when frame `skip` and the last came */
} Arrivals;

static GstPadProbeReturn
on_arrival (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  Arrivals *arrivals = user;

  (void) pad;
  (void) info;
  arrivals->last = bench_now_ns ();
  if (arrivals->count++ == arrivals->skip)
    arrivals->first = arrivals->last;
  return GST_PAD_PROBE_OK;
}

/* Time a frame, from one when everything runs to the last: what is made for the
 * first frames does not count, nor what was in flight before PLAYING. */
static gboolean
time_pipeline (const gchar *description, gint frames, gdouble *ns)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (description, &error);
  gboolean ok = pipeline != NULL && error == NULL;
  Arrivals arrivals = { .skip = frames / 6 };

  if (ok) {
    GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
    GstPad *pad = gst_element_get_static_pad (sink, "sink");

    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_BUFFER, on_arrival, &arrivals, NULL);
    gst_object_unref (pad);
    gst_object_unref (sink);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    ok = wait_for (pipeline, GST_MESSAGE_EOS) && arrivals.count == frames;
    *ns = (arrivals.last - arrivals.first) / (frames - 1 - arrivals.skip);
  }
  if (error != NULL)
    fprintf (stderr, "  %s\n", error->message);
  g_clear_error (&error);
  if (pipeline != NULL) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
  return ok;
}

static gchar *
describe (const Picture *picture, gint frames, const gchar *pattern,
    const gchar *middle)
{
  return g_strdup_printf (
      "videotestsrc num-buffers=%d pattern=%s ! video/x-raw, format=%s, "
      "width=%d, height=%d, framerate=30/1 ! %s fakesink name=sink sync=false",
      frames, pattern, picture->format, picture->width, picture->height,
      middle);
}

/* Times both by turns, and which comes first by turns as well; the spread of the ratios
 * of neighbours. */
static gboolean
compare (const PipelineBench *bench, const Picture *picture, gint frames,
    const gchar *pattern, const gchar *middle, BenchSpread *ratio,
    BenchSpread *with, BenchSpread *without)
{
  const gint n = bench->quick ? QUICK_REPETITIONS : REPETITIONS;
  gchar *description[] = { describe (picture, frames, pattern, ""),
    describe (picture, frames, pattern, middle) };
  gdouble ns[2][REPETITIONS], r[REPETITIONS];
  gboolean ok = TRUE;

  for (gint i = 0; i < n && ok; i++) {
    for (gint k = 0; k < 2 && ok; k++) {
      const gint which = (i + k) % 2;

      ok = time_pipeline (description[which], frames, &ns[which][i]);
    }
    if (ok)
      r[i] = ns[1][i] / ns[0][i];
  }
  if (ok) {
    *without = bench_spread (ns[0], n);
    *with = bench_spread (ns[1], n);
    *ratio = bench_spread (r, n);
  }
  g_free (description[0]);
  g_free (description[1]);
  return ok;
}

static void
report (PipelineBench *bench, const gchar *backend, const Picture *picture,
    gint frames, const gchar *pattern, const gchar *name, const gchar *middle)
{
  BenchSpread ratio, with, without;
  gchar *title = g_strdup_printf (
      "ratio/%s/%s/%s/%s", backend, picture->name, pattern, name);

  if (!compare (
          bench, picture, frames, pattern, middle, &ratio, &with, &without)) {
    bench_fail (bench, title, "the pipeline does not run");
  } else {
    printf ("  %-12s %-6s %-22s %6.3f (%.3f .. %.3f), of the fastest %6.3f  "
            "%8.4f ms, without %8.4f ms a frame\n",
        picture->name, pattern, name, ratio.median, ratio.min, ratio.max,
        with.min / without.min, with.median / 1e6, without.median / 1e6);
    fflush (stdout);
    bench_json_object (bench->json, NULL);
    bench_json_string (bench->json, "part", "ratio");
    bench_json_string (bench->json, "backend", backend);
    bench_json_string (bench->json, "frame", picture->name);
    bench_json_string (bench->json, "pattern", pattern);
    bench_json_string (bench->json, "middle", name);
    bench_json_number (bench->json, "ratio", ratio.median);
    bench_json_number (bench->json, "ratio_min", ratio.min);
    bench_json_number (bench->json, "ratio_max", ratio.max);
    /* Of the runs that others on the machine disturbed least. */
    bench_json_number (bench->json, "ratio_of_fastest", with.min / without.min);
    bench_json_number (bench->json, "ms", with.median / 1e6);
    bench_json_number (bench->json, "ms_without", without.median / 1e6);
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
    const gint frames = (cpu ? picture->frames_on_cpu : picture->frames)
        / (bench->quick && !cpu ? 3 : 1);

    if (bench->quick && !picture->in_quick)
      continue;
    for (guint k = 0; k < G_N_ELEMENTS (patterns); k++) {
      report (
          bench, backend, picture, frames, patterns[k], "cudasepconv", filter);
      report (
          bench, backend, picture, frames, patterns[k], "cudahisto", histogram);
      if (stock)
        report (bench, backend, picture, frames, patterns[k],
            "cudaupload+cudadownload",
            "cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload !");
    }
  }
  if (!cpu && !stock)
    bench_skip (
        bench, "ratio/cudaupload+cudadownload", "nvcodec is not registered");
  g_free (histogram);
  g_free (filter);
}
