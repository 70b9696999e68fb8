/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto's messages: their contents, their order and their rate. */
#include "flight-fixture.h"
#include "histo-oracle.h"

#include <string.h>

/* ---- fields -------------------------------------------------------------- */

typedef struct
{
  const char *name;
  GType type;
} Field;

static void
expect_fields (const GstStructure *structure, const Field *fields, guint n)
{
  for (guint f = 0; f < n; f++) {
    const GValue *value = gst_structure_get_value (structure, fields[f].name);

    expect (value != NULL, "no %s", fields[f].name);
    expect (G_VALUE_TYPE (value) == fields[f].type, "%s is a %s",
        fields[f].name, G_VALUE_TYPE_NAME (value));
  }
  expect (gst_structure_n_fields (structure) == (int) n,
      "%d fields instead of %u", gst_structure_n_fields (structure), n);
}

static void
expect_message_fields (GstMessage *message)
{
  const Field fields[] = {
    { "timestamp", GST_TYPE_CLOCK_TIME },
    { "stream-time", GST_TYPE_CLOCK_TIME },
    { "running-time", GST_TYPE_CLOCK_TIME },
    { "duration", GST_TYPE_CLOCK_TIME },
    { "width", G_TYPE_INT },
    { "height", G_TYPE_INT },
    { "format", G_TYPE_STRING },
    { "components", GST_TYPE_ARRAY },
    { "too-dark", G_TYPE_BOOLEAN },
    { "too-bright", G_TYPE_BOOLEAN },
    { "flat", G_TYPE_BOOLEAN },
    { "scene-change", G_TYPE_BOOLEAN },
    { "level", G_TYPE_DOUBLE },
    { "spread", G_TYPE_DOUBLE },
    { "distance", G_TYPE_DOUBLE },
  };

  expect_fields (
      gst_message_get_structure (message), fields, G_N_ELEMENTS (fields));
}

static void
expect_component_fields (const GstStructure *component)
{
  const Field fields[] = {
    { "name", G_TYPE_STRING },
    { "depth", G_TYPE_UINT },
    { "samples", G_TYPE_UINT64 },
    { "bins", GST_TYPE_ARRAY },
    { "counts", G_TYPE_BYTES },
    { "min", G_TYPE_DOUBLE },
    { "max", G_TYPE_DOUBLE },
    { "mean", G_TYPE_DOUBLE },
    { "stddev", G_TYPE_DOUBLE },
    { "median", G_TYPE_DOUBLE },
    { "p1", G_TYPE_DOUBLE },
    { "p99", G_TYPE_DOUBLE },
    { "entropy", G_TYPE_DOUBLE },
    { "dark", G_TYPE_DOUBLE },
    { "bright", G_TYPE_DOUBLE },
  };

  expect_fields (component, fields, G_N_ELEMENTS (fields));
}

/* The same counters as an array of values and as a block. */
static void
expect_same_counters (const GstStructure *component)
{
  const GValue *value = gst_structure_get_value (component, "counts");
  gsize size;
  gconstpointer counts = g_bytes_get_data (g_value_get_boxed (value), &size);
  guint n;
  guint64 *bins = histo_bins (component, &n);

  expect (size == n * sizeof *bins, "%" G_GSIZE_FORMAT " bytes", size);
  expect (memcmp (counts, bins, size) == 0, "other counters");
  g_free (bins);
}

static void
histo_messages_fields (void)
{
  for (int f = 0; video_formats[f]; f++) {
    const GstStructure *structure;
    GstVideoInfo info;
    GstMessage *message;
    Filter filter;
    int width = 0, height = 0;

    filter_start (&filter, "cudahisto interval=0 planes=all", &info,
        video_formats[f], 22, 14, NULL);
    gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
    message = histo_message (&filter);
    structure = gst_message_get_structure (message);
    expect (GST_MESSAGE_SRC (message) == GST_OBJECT (filter.element),
        "the message is of another element");
    expect_message_fields (message);
    for (guint i = 0; i < histo_n_components (message); i++) {
      expect_component_fields (histo_component (message, i));
      expect_same_counters (histo_component (message, i));
    }
    gst_structure_get (structure, "width", G_TYPE_INT, &width, "height",
        G_TYPE_INT, &height, NULL);
    expect (width == 22 && height == 14, "%dx%d", width, height);
    expect (g_strcmp0 (gst_structure_get_string (structure, "format"),
                video_formats[f])
            == 0,
        "format is %s", gst_structure_get_string (structure, "format"));
    gst_message_unref (message);
    histo_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* The fields that remain with message-bins, and the counters in them. */
static void
check_message_bins (const char *settings, gboolean array, gboolean bytes)
{
  GstVideoInfo info;
  GstMessage *message;
  Filter filter;

  filter_start (&filter, settings, &info, "NV12", 22, 14, NULL);
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
  message = histo_message (&filter);
  for (guint i = 0; i < histo_n_components (message); i++) {
    const GstStructure *component = histo_component (message, i);

    expect (gst_structure_has_field (component, "bins") == array, "bins: %d",
        !array);
    expect (gst_structure_has_field (component, "counts") == bytes,
        "counts: %d", !bytes);
    if (array && bytes)
      expect_same_counters (component);
  }
  gst_message_unref (message);
  filter_close (&filter);
}

static void
histo_messages_bins (void)
{
  check_message_bins ("cudahisto interval=0 message-bins=both", TRUE, TRUE);
  check_message_bins ("cudahisto interval=0 message-bins=array", TRUE, FALSE);
  check_message_bins ("cudahisto interval=0 message-bins=bytes", FALSE, TRUE);
  check_message_bins ("histogram=true histogram-message-bins=both", TRUE, TRUE);
  check_message_bins (
      "histogram=true histogram-message-bins=bytes", FALSE, TRUE);
}

/* ---- times --------------------------------------------------------------- */

static GstBuffer *
frame_at (const GstVideoInfo *info, GstClockTime time)
{
  GstBuffer *buffer = picture_new (info, 1);

  GST_BUFFER_PTS (buffer) = time;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 30;
  return buffer;
}

/* All times but `timestamp` and `duration`, in milliseconds; -1: none. */
static void
check_times (
    GstFormat format, double rate, gint64 pts, gint64 stream, gint64 running)
{
  const gint64 unit = GST_MSECOND;
  GstMessage *message;
  GstSegment segment;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0", &info, "GRAY8", 16, 8, NULL);
  test_context ("format=GRAY8 segment of rate %g at %d ms", rate, (int) pts);
  gst_segment_init (&segment, format);
  segment.rate = rate;
  if (format == GST_FORMAT_TIME) {
    segment.start = segment.position = 5 * GST_SECOND;
    segment.stop = 25 * GST_SECOND;
    segment.base = 3 * GST_SECOND;
    segment.time = 100 * GST_SECOND;
  }
  gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
  gst_buffer_unref (filter_process (&filter,
      frame_at (
          &info, pts < 0 ? GST_CLOCK_TIME_NONE : (GstClockTime) (pts * unit))));
  message = histo_message (&filter);
  expect (histo_time (message, "timestamp")
          == (pts < 0 ? GST_CLOCK_TIME_NONE : (GstClockTime) (pts * unit)),
      "timestamp is another");
  expect (histo_time (message, "duration") == GST_SECOND / 30,
      "duration is another");
  expect (histo_time (message, "stream-time")
          == (stream < 0 ? GST_CLOCK_TIME_NONE
                         : (GstClockTime) (stream * unit)),
      "stream-time is %" GST_TIME_FORMAT,
      GST_TIME_ARGS (histo_time (message, "stream-time")));
  expect (histo_time (message, "running-time")
          == (running < 0 ? GST_CLOCK_TIME_NONE
                          : (GstClockTime) (running * unit)),
      "running-time is %" GST_TIME_FORMAT,
      GST_TIME_ARGS (histo_time (message, "running-time")));
  gst_message_unref (message);
  filter_close (&filter);
}

static void
histo_messages_times (void)
{
  check_times (GST_FORMAT_TIME, 1.0, 5000, 100000, 3000);
  check_times (GST_FORMAT_TIME, 1.0, 7500, 102500, 5500);
  check_times (GST_FORMAT_TIME, 2.0, 7500, 102500, 4250);
  check_times (GST_FORMAT_TIME, 0.5, 7500, 102500, 8000);
  check_times (GST_FORMAT_TIME, -1.0, 7500, 102500, 20500);
  check_times (GST_FORMAT_TIME, -2.0, 24000, 119000, 3500);
  check_times (GST_FORMAT_TIME, 1.0, -1, -1, -1);
  check_times (GST_FORMAT_BYTES, 1.0, 7500, -1, -1);
}

/* ---- order --------------------------------------------------------------- */

/* Writes messages into the sink's log, as m and their frame's number. */
static GstBusSyncReply
log_message (GstBus *bus, GstMessage *message, gpointer user)
{
  Flight *flight = user;

  (void) bus;
  if (gst_message_has_name (message, "cudahisto")) {
    const GstClockTime time = histo_time (message, "timestamp");

    g_mutex_lock (&flight->lock);
    g_string_append_printf (flight->log, "m%" G_GUINT64_FORMAT " ",
        gst_util_uint64_scale_round (time, 30, GST_SECOND));
    g_mutex_unlock (&flight->lock);
  }
  return GST_BUS_PASS;
}

/* A message is posted before its frame reaches the sink, and after the frame before it
 * did; EOS comes last. */
static void
histo_messages_order (void)
{
  for (guint depth = 1; depth <= 8; depth++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=0 ring-depth=%u", depth);
    Flight *flight = flight_open (settings, "NV12", 40, 22, NULL);

    gst_bus_set_sync_handler (flight->filter.bus, log_message, flight, NULL);
    flight_set_jitter (flight, 500, depth);
    for (guint64 n = 0; n < 9; n++)
      flight_push (flight, n);
    flight_send (flight, gst_event_new_eos ());
    flight_expect_log (
        flight, "m0 0 m1 1 m2 2 m3 3 m4 4 m5 5 m6 6 m7 7 m8 8 eos");
    gst_bus_set_sync_handler (flight->filter.bus, NULL, NULL, NULL);
    flight_close (flight);
    g_free (settings);
  }
}

/* Frames that are not counted keep their places. */
static void
histo_messages_order_with_interval (void)
{
  Flight *flight = flight_open (
      "cudahisto interval=100000000 ring-depth=3", "NV12", 40, 22, NULL);

  gst_bus_set_sync_handler (flight->filter.bus, log_message, flight, NULL);
  flight_set_jitter (flight, 500, 1);
  for (guint64 n = 0; n < 8; n++)
    flight_push (flight, n);
  flight_send (flight, gst_event_new_eos ());
  flight_expect_log (flight, "m0 0 1 2 m3 3 4 5 m6 6 7 eos");
  gst_bus_set_sync_handler (flight->filter.bus, NULL, NULL, NULL);
  flight_close (flight);
}

/* ---- switched off -------------------------------------------------------- */

static void
process_one (Filter *filter, const GstVideoInfo *info, guint32 n)
{
  GstBuffer *buffer = picture_new (info, n);

  GST_BUFFER_PTS (buffer) = n * GST_SECOND / 30;
  gst_buffer_unref (filter_process (filter, buffer));
}

static void
expect_method (Filter *filter, gboolean counting)
{
  char *method = filter_get (filter, "active-method");

  expect (
      g_str_equal (method, "none") != counting, "active-method is %s", method);
  expect (
      gst_base_transform_is_passthrough (GST_BASE_TRANSFORM (filter->element)),
      "frames do not pass as they are");
  g_free (method);
}

/* Switched on and off while playing; with a meta no message is needed. */
static void
histo_messages_off (void)
{
  static const struct
  {
    const char *settings;
    gboolean posts, counts;
  } steps[] = {
    { "post-messages=true attach-meta=false", TRUE, TRUE },
    { "post-messages=false attach-meta=true", FALSE, TRUE },
    { "post-messages=false attach-meta=false", FALSE, FALSE },
    { "post-messages=true attach-meta=true", TRUE, TRUE },
    { "post-messages=false attach-meta=false", FALSE, FALSE },
    { "post-messages=true attach-meta=false", TRUE, TRUE },
  };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0", &info, "I420", 30, 20, NULL);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("format=I420 step %u %s", s, steps[s].settings);
    settings_apply (filter.element, steps[s].settings);
    for (guint32 n = 0; n < 3; n++) {
      process_one (&filter, &info, n);
      if (steps[s].posts)
        gst_message_unref (histo_message (&filter));
      histo_expect_silence (&filter);
    }
    expect_method (&filter, steps[s].counts);
  }
  filter_close (&filter);
}

/* ---- interval ------------------------------------------------------------ */

/* Pushes frames of 1/30 s with these numbers, and expects messages only of those that are
 * the first in their interval of running time. */
static void
check_interval (GstClockTime interval, guint first, guint last, guint want)
{
  char *settings =
      g_strdup_printf ("cudahisto interval=%" G_GUINT64_FORMAT, interval);
  guint64 before = G_MAXUINT64;
  guint counted = 0;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, settings, &info, "GRAY8", 16, 8, NULL);
  for (guint n = first; n < last; n++) {
    const GstClockTime time = n * GST_SECOND / 30;

    process_one (&filter, &info, n);
    if (interval == 0 || time / interval != before) {
      GstMessage *message = histo_message (&filter);

      expect (histo_time (message, "running-time") == time,
          "a message of another frame than %u", n);
      gst_message_unref (message);
      counted++;
    }
    histo_expect_silence (&filter);
    before = interval == 0 ? 0 : time / interval;
  }
  expect (counted == want, "%u frames instead of %u", counted, want);
  filter_close (&filter);
  g_free (settings);
}

static void
histo_messages_interval (void)
{
  check_interval (0, 0, 60, 60);
  check_interval (1, 0, 60, 60);
  check_interval (100 * GST_MSECOND, 0, 60, 20);
  check_interval (100 * GST_MSECOND, 1, 60, 20);
  check_interval (70 * GST_MSECOND, 0, 60, 29);
  check_interval (GST_SECOND / 30, 0, 60, 60);
  check_interval (GST_SECOND, 0, 60, 2);
  check_interval (GST_SECOND, 20, 60, 2);
  check_interval (3600 * GST_SECOND, 5, 60, 1);
  check_interval (G_MAXUINT64, 0, 60, 1);
}

/* Sends a segment, then 25 frames of 1/30 s from this time on, and returns the number of
 * messages. */
static int
count_told (
    Filter *filter, const GstVideoInfo *info, GstSegment *segment, gint64 first)
{
  gst_harness_push_event (filter->harness, gst_event_new_segment (segment));
  for (guint n = 0; n < 25; n++) {
    GstBuffer *buffer = picture_new (info, n);

    if (first >= 0)
      GST_BUFFER_PTS (buffer) = (GstClockTime) first + n * GST_SECOND / 30;
    gst_buffer_unref (filter_process (filter, buffer));
  }
  return filter_drain_bus (filter, GST_MESSAGE_ELEMENT, NULL);
}

/* Frames before and after the segment have no running time; the interval works for them as
 * inside. */
static void
histo_messages_interval_outside_segment (void)
{
  static const double rates[] = { 1.0, 2.0, -1.0 };

  for (guint r = 0; r < G_N_ELEMENTS (rates); r++) {
    GstSegment segment;
    GstVideoInfo info;
    Filter filter;
    int told;

    filter_start (
        &filter, "cudahisto interval=1000000000", &info, "GRAY8", 16, 8, NULL);
    test_context ("format=GRAY8 rate=%g", rates[r]);
    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.rate = rates[r];
    segment.start = segment.position = 10 * GST_SECOND;
    segment.stop = 20 * GST_SECOND;
    told = count_told (&filter, &info, &segment, 2 * GST_SECOND);
    expect (told == 1 || told == 2, "%d messages before the segment", told);
    told = count_told (&filter, &info, &segment, 25 * GST_SECOND);
    expect (told == 1 || told == 2, "%d messages behind the segment", told);
    filter_close (&filter);
  }
}

/* From before the segment into it: once every second. */
static void
histo_messages_interval_into_segment (void)
{
  GstSegment segment;
  GstVideoInfo info;
  Filter filter;
  int told;

  filter_start (
      &filter, "cudahisto interval=1000000000", &info, "GRAY8", 16, 8, NULL);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.position = 10 * GST_SECOND;
  gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
  for (guint n = 0; n < 120; n++)
    process_one (&filter, &info, 240 + n);
  told = filter_drain_bus (&filter, GST_MESSAGE_ELEMENT, NULL);
  expect (told == 4, "%d messages in 4 s", told);
  filter_close (&filter);
}

/* Segments in bytes have no running time: timestamps are used. */
static void
histo_messages_interval_in_bytes (void)
{
  GstSegment segment;
  GstVideoInfo info;
  Filter filter;
  int told;

  filter_start (
      &filter, "cudahisto interval=500000000", &info, "GRAY8", 16, 8, NULL);
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  told = count_told (&filter, &info, &segment, 0);
  expect (told == 2, "%d messages instead of 2", told);
  filter_close (&filter);
}

/* Without any time, arrival times are used. */
static void
histo_messages_without_timestamps (void)
{
  GstSegment segment;
  GstVideoInfo info;
  Filter filter;
  int told;

  filter_start (
      &filter, "cudahisto interval=3600000000000", &info, "GRAY8", 16, 8, NULL);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  told = count_told (&filter, &info, &segment, -1);
  expect (told == 1, "%d messages in far less than an hour", told);
  settings_apply (filter.element, "interval=20000000");
  told = count_told (&filter, &info, &segment, -1);
  for (guint n = 0; n < 3; n++) {
    g_usleep (25000);
    gst_buffer_unref (filter_process (&filter, picture_new (&info, n)));
    expect (filter_drain_bus (&filter, GST_MESSAGE_ELEMENT, NULL) == 1,
        "no message after 25 ms");
  }
  filter_close (&filter);
}

/* Frames with and without timestamps alternate: neither kind is reported more often. */
static void
histo_messages_some_timestamps (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "cudahisto interval=3600000000000", &info, "GRAY8", 16, 8, NULL);
  for (guint n = 0; n < 30; n++)
    if (n % 2 == 0)
      process_one (&filter, &info, n);
    else
      gst_buffer_unref (filter_process (&filter, picture_new (&info, n)));
  expect (filter_drain_bus (&filter, GST_MESSAGE_ELEMENT, NULL) == 1,
      "not one message an hour");
  filter_close (&filter);
}

/* A new interval applies from the next frame on. */
static void
histo_messages_interval_changes (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "cudahisto interval=10000000000", &info, "GRAY8", 16, 8, NULL);
  process_one (&filter, &info, 0);
  process_one (&filter, &info, 1);
  gst_message_unref (histo_message (&filter));
  histo_expect_silence (&filter);
  settings_apply (filter.element, "interval=0");
  for (guint32 n = 2; n < 5; n++) {
    process_one (&filter, &info, n);
    gst_message_unref (histo_message (&filter));
  }
  settings_apply (filter.element, "interval=1000000000");
  for (guint32 n = 30; n < 60; n++)
    process_one (&filter, &info, n);
  gst_message_unref (histo_message (&filter));
  histo_expect_silence (&filter);
  /* The second report by either interval. */
  settings_apply (filter.element, "interval=1200000000");
  process_one (&filter, &info, 60);
  gst_message_unref (histo_message (&filter));
  histo_expect_silence (&filter);
  filter_close (&filter);
}

/* A seek restarts running time: the first frame counts at once, wherever the last one was
 * counted. */
static void
histo_messages_after_seek (void)
{
  static const guint32 last[] = { 0, 1, 29, 30, 45 };

  for (guint l = 0; l < G_N_ELEMENTS (last); l++) {
    Flight *flight =
        flight_open ("cudahisto interval=1000000000", "GRAY8", 16, 8, NULL);

    test_context ("format=GRAY8 interval of 1 s, seek after frame %u", last[l]);
    for (guint64 n = 0; n <= last[l]; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n <= last[l]; n++)
      gst_buffer_unref (flight_pull (flight));
    filter_drain_bus (&flight->filter, GST_MESSAGE_ELEMENT, NULL);
    flight_flush (flight);
    for (guint64 n = 0; n < 3; n++) {
      flight_push (flight, n);
      gst_buffer_unref (flight_pull (flight));
    }
    expect (filter_drain_bus (&flight->filter, GST_MESSAGE_ELEMENT, NULL) == 1,
        "after the seek no frame was counted, or more than one");
    flight_close (flight);
  }
}

/* Consecutive segments, as of files in a row: running time continues, and so do the
 * intervals. */
static void
histo_messages_next_segment (void)
{
  GstSegment segment;
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "cudahisto interval=1000000000", &info, "GRAY8", 16, 8, NULL);
  for (guint32 n = 0; n < 15; n++)
    process_one (&filter, &info, n);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.base = GST_SECOND / 2;
  gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
  for (guint32 n = 0; n < 30; n++)
    process_one (&filter, &info, n);
  expect (filter_drain_bus (&filter, GST_MESSAGE_ELEMENT, NULL) == 2,
      "not one frame a second");
  filter_close (&filter);
}

const Test tests_histo_messages[] = {
  { "histo-messages-fields", histo_messages_fields, VARIANT_BOTH },
  { "histo-messages-bins", histo_messages_bins, VARIANT_BOTH },
  { "histo-messages-times", histo_messages_times, VARIANT_BOTH },
  { "histo-messages-order", histo_messages_order, VARIANT_BOTH },
  { "histo-messages-order-with-interval", histo_messages_order_with_interval,
      VARIANT_BOTH },
  { "histo-messages-off", histo_messages_off, VARIANT_BOTH },
  { "histo-messages-interval", histo_messages_interval, VARIANT_BOTH },
  { "histo-messages-interval-outside-segment",
      histo_messages_interval_outside_segment, VARIANT_BOTH },
  { "histo-messages-interval-into-segment",
      histo_messages_interval_into_segment, VARIANT_BOTH },
  { "histo-messages-interval-in-bytes", histo_messages_interval_in_bytes,
      VARIANT_BOTH },
  { "histo-messages-without-timestamps", histo_messages_without_timestamps,
      VARIANT_BOTH },
  { "histo-messages-some-timestamps", histo_messages_some_timestamps,
      VARIANT_BOTH },
  { "histo-messages-interval-changes", histo_messages_interval_changes,
      VARIANT_BOTH },
  { "histo-messages-after-seek", histo_messages_after_seek, VARIANT_BOTH },
  { "histo-messages-next-segment", histo_messages_next_segment, VARIANT_BOTH },
  { 0 },
};
