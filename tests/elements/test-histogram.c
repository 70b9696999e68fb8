/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudasepconv with histogram=true: reports about its result. */
#include "histo-oracle.h"

/* Filters pictures; each message must be about the output. */
static void
check_results (const char *format, int width, int height, const char *more,
    const char *settings)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, settings, &info, format, width, height, more);
  for (guint32 i = 0; i < 5; i++) {
    GstBuffer *out = filter_process (&filter, picture_new (&info, i));

    histo_expect_result (histo_message (&filter), out, &info, settings);
    gst_buffer_unref (out);
  }
  histo_expect_silence (&filter);
  filter_close (&filter);
}

static void
histogram_of_results (void)
{
  for (int f = 0; video_formats[f]; f++)
    check_results (video_formats[f], 37, 23, NULL,
        "sigma=2 histogram=true histogram-interval=0");
  check_results ("I420", 321, 241, NULL,
      "kernel=sobel-x bias=0.5 histogram=true histogram-interval=0");
  check_results (
      "NV12", 1, 1, NULL, "sigma=1 histogram=true histogram-interval=0");
}

/* Fields are filtered separately and counted together. */
static void
histogram_of_fields (void)
{
  check_results ("I420", 36, 24, "interlace-mode=interleaved",
      "sigma=2 histogram=true histogram-interval=0");
  check_results ("YUY2", 35, 9, "interlace-mode=interleaved",
      "sigma=1 histogram=true histogram-interval=0");
}

/* Nothing to filter: the same memory passes, and is counted. */
static void
histogram_of_untouched (void)
{
  static const char settings[] = "sigma=0 histogram=true histogram-interval=0";
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, settings, &info, "I420", 33, 17, NULL);
  for (guint32 i = 0; i < 4; i++) {
    GstBuffer *in = picture_new (&info, i);
    GstMemory *memory = gst_buffer_peek_memory (in, 0);
    GstBuffer *out = filter_process (&filter, in);

    expect (gst_buffer_peek_memory (out, 0) == memory, "other memory");
    histo_expect (histo_message (&filter), out, &info, settings);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

static void
histogram_meta (void)
{
  static const char settings[] =
      "sigma=1 histogram=true histogram-interval=0 histogram-meta=true";
  GstVideoInfo info;
  Filter filter;
  GstBuffer *out;
  char *problem;

  filter_start (&filter, settings, &info, "RGBA", 20, 10, NULL);
  out = filter_process (&filter, picture_new (&info, 1));
  expect (gst_buffer_get_cuda_histogram_meta (out) != NULL, "no meta");
  problem = histo_compare_meta (
      gst_buffer_get_cuda_histogram_meta (out), out, &info, settings);
  expect (problem == NULL, "%s", problem);
  gst_buffer_unref (out);
  gst_message_unref (histo_message (&filter));
  filter_close (&filter);
}

/* Reported as message, as meta, as both or not at all; in the last case nothing is
 * counted. */
static void
histogram_told_as_wanted (void)
{
  for (int i = 0; i < 4; i++) {
    const gboolean messages = i % 2, meta = i / 2;
    char *settings = g_strdup_printf (
        "sigma=1 histogram=true histogram-interval=0 histogram-messages=%d "
        "histogram-meta=%d",
        messages, meta);
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings, &info, "NV12", 34, 18, NULL);
    for (guint32 n = 0; n < 3; n++) {
      GstBuffer *in = picture_new (&info, n);
      GstBuffer *out = filter_process (&filter, gst_buffer_ref (in));
      GstCudaHistogramMeta *counted = gst_buffer_get_cuda_histogram_meta (out);

      picture_expect (in, out, &info, "sigma=1", FALSE);
      expect ((counted != NULL) == meta, "a meta: %d", counted != NULL);
      if (meta) {
        char *problem = histo_compare_meta (counted, out, &info, settings);

        expect (problem == NULL, "%s", problem);
      }
      if (messages)
        histo_expect (histo_message (&filter), out, &info, settings);
      histo_expect_silence (&filter);
      gst_buffer_unref (out);
      gst_buffer_unref (in);
    }
    filter_close (&filter);
    g_free (settings);
  }
}

/* A frame is not compared with earlier frames that were not reported. */
static void
histogram_messages_begin_anew (void)
{
  static const guint8 codes[] = { 10, 10, 200, 200, 10 };
  static const gboolean messages[] = { TRUE, FALSE, FALSE, TRUE, TRUE };
  static const gdouble distances[] = { 0.0, 0.0, 0.0, 0.0, 1.0 };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter,
      "sigma=1 histogram=true histogram-interval=0 histogram-meta=true", &info,
      "GRAY8", 16, 8, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++) {
    GstBuffer *in = picture_new (&info, 0);

    g_object_set (filter.element, "histogram-messages", messages[i], NULL);
    gst_buffer_memset (in, 0, codes[i], gst_buffer_get_size (in));
    gst_buffer_unref (filter_process (&filter, in));
    if (messages[i]) {
      GstMessage *message = histo_message (&filter);
      const gdouble distance =
          histo_number (gst_message_get_structure (message), "distance");

      expect (distance == distances[i], "frame %u: distance %g", i, distance);
      gst_message_unref (message);
    }
    histo_expect_silence (&filter);
  }
  filter_close (&filter);
}

/* Nor with frames of another stream. */
static void
histogram_new_stream (void)
{
  static const guint8 codes[] = { 10, 200 };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1 histogram=true histogram-interval=0", &info,
      "GRAY8", 16, 8, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++) {
    GstBuffer *in = picture_new (&info, 0);
    GstMessage *message;

    gst_harness_push_event (
        filter.harness, gst_event_new_stream_start (i == 0 ? "one" : "two"));
    gst_buffer_memset (in, 0, codes[i], gst_buffer_get_size (in));
    gst_buffer_unref (filter_process (&filter, in));
    message = histo_message (&filter);
    expect (!histo_flag (message, "scene-change"), "a change of scene");
    expect (
        histo_number (gst_message_get_structure (message), "distance") == 0.0,
        "compared with a frame of another stream");
    gst_message_unref (message);
  }
  filter_close (&filter);
}

/* Switched on and off while playing: only the frames in between are reported. */
static void
histogram_switched (void)
{
  GstVideoInfo info;
  Filter filter;
  guint told = 0;

  filter_start (
      &filter, "sigma=1 histogram-interval=0", &info, "NV12", 32, 16, NULL);
  for (guint32 i = 0; i < 12; i++) {
    GstMessage *message;

    if (i % 4 == 0)
      g_object_set (filter.element, "histogram", i % 8 == 4, NULL);
    if (i == 6)
      g_object_set (filter.element, "histogram-bins", 16, NULL);
    gst_buffer_unref (filter_process (&filter, picture_new (&info, i)));
    while ((message = gst_bus_pop_filtered (filter.bus, GST_MESSAGE_ELEMENT))
        != NULL) {
      guint n;

      g_free (histo_bins (histo_component (message, 0), &n));
      expect (n == (i < 6 ? 256 : 16), "%u bins at frame %u", n, i);
      told++;
      gst_message_unref (message);
    }
  }
  expect (told == 4, "%u messages", told);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* A picture every 33 ms for a second, reported every 250 ms: the first of each quarter,
 * and each report is about that frame. */
static void
check_interval (const char *settings)
{
  GstClockTime quarter = GST_CLOCK_TIME_NONE;
  GstVideoInfo info;
  Filter filter;
  guint told = 0;

  filter_start (&filter, settings, &info, "GRAY8", 16, 8, NULL);
  for (guint32 i = 0; i < 30; i++) {
    const GstClockTime time = gst_util_uint64_scale (i, GST_SECOND, 30);
    const gboolean first = time / (GST_SECOND / 4) != quarter;
    GstBuffer *in = picture_new (&info, i), *out;

    quarter = time / (GST_SECOND / 4);
    GST_BUFFER_PTS (in) = time;
    out = filter_process (&filter, in);
    if (first) {
      histo_expect (histo_message (&filter), out, &info, settings);
      told++;
    }
    histo_expect_silence (&filter);
    gst_buffer_unref (out);
  }
  expect (told == 4, "%u messages", told);
  filter_close (&filter);
}

static void
histogram_interval (void)
{
  check_interval ("sigma=1 histogram=true histogram-interval=250000000");
  check_interval ("sigma=0 histogram=true histogram-interval=250000000");
}

const Test tests_histogram[] = {
  { "histogram-of-results", histogram_of_results, VARIANT_BOTH },
  { "histogram-of-fields", histogram_of_fields, VARIANT_BOTH },
  { "histogram-of-untouched", histogram_of_untouched, VARIANT_BOTH },
  { "histogram-meta", histogram_meta, VARIANT_BOTH },
  { "histogram-told-as-wanted", histogram_told_as_wanted, VARIANT_BOTH },
  { "histogram-messages-begin-anew", histogram_messages_begin_anew,
      VARIANT_BOTH },
  { "histogram-new-stream", histogram_new_stream, VARIANT_BOTH },
  { "histogram-switched", histogram_switched, VARIANT_BOTH },
  { "histogram-interval", histogram_interval, VARIANT_BOTH },
  { 0 },
};
