/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The base class for elements of other projects, tested with elements of this program. */
#include "flight-fixture.h"
#include "own-element.h"

#include <string.h>

/* Bytes of a row of a plane, and its rows. */
static void
plane_size (const GstVideoInfo *info, guint plane, gsize *bytes, gint *rows)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, components);
  *bytes = (gsize) GST_VIDEO_INFO_COMP_WIDTH (info, components[0])
      * (gsize) GST_VIDEO_INFO_COMP_PSTRIDE (info, components[0]);
  *rows = GST_VIDEO_INFO_COMP_HEIGHT (info, components[0]);
}

/* Expects `out` to be `in` with the first `mark` bytes of each row replaced. */
static void
expect_marked (
    GstBuffer *in, GstBuffer *out, const GstVideoInfo *info, guint mark)
{
  GstVideoFrame from, to;

  expect (gst_video_frame_map (&from, info, in, GST_MAP_READ)
          && gst_video_frame_map (&to, info, out, GST_MAP_READ),
      "no map");
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    gsize bytes, marked;
    gint rows;

    plane_size (info, p, &bytes, &rows);
    marked = MIN (mark, bytes);
    for (gint y = 0; y < rows; y++) {
      const guint8 *a = GST_VIDEO_FRAME_PLANE_DATA (&from, p);
      const guint8 *b = GST_VIDEO_FRAME_PLANE_DATA (&to, p);

      a += y * GST_VIDEO_FRAME_PLANE_STRIDE (&from, p);
      b += y * GST_VIDEO_FRAME_PLANE_STRIDE (&to, p);
      for (gsize x = 0; x < marked; x++)
        expect (
            b[x] == OWN_VALUE, "plane %u row %d byte %zu is %d", p, y, x, b[x]);
      expect (memcmp (a + marked, b + marked, bytes - marked) == 0,
          "plane %u row %d is not the input's", p, y);
    }
  }
  gst_video_frame_unmap (&to);
  gst_video_frame_unmap (&from);
}

static guint8
first_byte (GstBuffer *buffer)
{
  guint8 byte = 0;

  gst_buffer_extract (buffer, 0, &byte, 1);
  return byte;
}

/* Expects the message of a frame, and no error or warning before it. Returns the frame's slot
 * index, and its first byte. */
static guint
expect_report (Filter *filter, guint8 first)
{
  GstMessage *message = gst_bus_pop_filtered (filter->bus,
      GST_MESSAGE_ELEMENT | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  const GstStructure *structure;
  guint slot = 0, seen = 0;

  expect (message != NULL, "no message");
  structure = gst_message_get_structure (message);
  expect (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT
          && gst_structure_get_uint (structure, "slot", &slot)
          && gst_structure_get_uint (structure, "first", &seen),
      "%" GST_PTR_FORMAT, (gpointer) structure);
  expect (seen == first, "first byte %u instead of %u", seen, first);
  gst_message_unref (message);
  return slot;
}

static void
expect_no_report (Filter *filter)
{
  GstMessage *message = gst_bus_pop_filtered (filter->bus, GST_MESSAGE_ELEMENT);

  expect (message == NULL, "%" GST_PTR_FORMAT, (gpointer) message);
}

static void
own_open (Filter *filter, const char *settings, GstVideoInfo *info,
    const char *format, int width, int height, const char *more)
{
  own_element_register ();
  filter_start (filter, settings, info, format, width, height, more);
}

static void
process (Filter *filter, const GstVideoInfo *info, guint32 seed, guint mark)
{
  GstBuffer *in = picture_new (info, seed);
  GstBuffer *out = filter_process (filter, gst_buffer_ref (in));

  expect_marked (in, out, info, mark);
  expect_report (filter, first_byte (in));
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

static guint
held (Filter *filter)
{
  guint held = 0;

  g_object_get (filter->element, "held", &held, NULL);
  return held;
}

static void
own_element_results (void)
{
  static const char *const formats[] = { "GRAY8", "I420", "NV12", "P010_10LE",
    "RGBA", "RGB", "Y444_16LE", "YUY2" };
  GstVideoInfo info;
  Filter filter;
  char *backend;

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    own_open (&filter, "ownelement mark=5", &info, formats[f], 33, 7, NULL);
    for (guint32 seed = 0; seed < 3; seed++)
      process (&filter, &info, seed, 5);
    backend = filter_get (&filter, "active-backend");
    expect (g_strcmp0 (backend, test_backend ()) == 0, "active is %s", backend);
    g_free (backend);
    /* New caps release the memory that was made for the old ones. */
    expect (held (&filter) == 1, "%u blocks are held", held (&filter));
    expect (filter_caps (&filter, video_caps (formats[f], 1, 1, NULL)),
        "caps refused");
    video_info (&info, formats[f], 1, 1, NULL);
    process (&filter, &info, 7, 5);
    expect (held (&filter) == 1, "%u blocks are held", held (&filter));
    filter_restart (&filter);
    expect (held (&filter) == 0, "%u blocks are held", held (&filter));
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* Times, metas, rows and planes at unusual distances are handled as in the plugin's elements. */
static void
own_element_layouts (void)
{
  GstVideoInfo info;
  Filter filter;
  GstBuffer *in, *out;

  own_open (&filter, "ownelement", &info, "NV12", 45, 22, NULL);
  for (guint layout = 0; layout < N_ODD_LAYOUTS; layout++) {
    out = picture_process_laid_out (&filter, &info, layout, layout, &in);
    expect_marked (in, out, &info, 3);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* Each field is a picture: all rows are marked, in two calls. */
static void
own_element_fields (void)
{
  static const char *const more = "interlace-mode=(string)interleaved";
  static const int heights[] = { 8, 7, 1 };
  GstVideoInfo info;
  Filter filter;

  for (guint h = 0; h < G_N_ELEMENTS (heights); h++) {
    own_open (&filter, "ownfields mark=4", &info, "I420", 20, heights[h], more);
    for (guint32 seed = 0; seed < 3; seed++) {
      GstBuffer *in = picture_new (&info, seed);
      GstBuffer *out;

      GST_BUFFER_FLAG_SET (in, GST_VIDEO_BUFFER_FLAG_INTERLACED);
      out = filter_process (&filter, gst_buffer_ref (in));
      expect_marked (in, out, &info, 4);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    filter_close (&filter);
  }
}

/* Five frames come out unchanged. */
static void
expect_untouched (Filter *filter, const GstVideoInfo *info, gboolean reported)
{
  for (guint32 seed = 0; seed < 5; seed++) {
    GstBuffer *in = picture_new (info, seed);
    GstBuffer *out = filter_process (filter, gst_buffer_ref (in));

    expect (out == in, "the frame was copied");
    if (reported)
      expect_report (filter, first_byte (in));
    else
      expect_no_report (filter);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
}

/* Frames that are only read are reported; frames that pass are not. */
static void
own_element_reads (void)
{
  GstVideoInfo info;
  Filter filter;

  own_open (&filter, "ownelement use=read", &info, "NV12", 64, 48, NULL);
  expect_untouched (&filter, &info, TRUE);
  settings_apply (filter.element, "use=pass");
  expect_untouched (&filter, &info, FALSE);
  settings_apply (filter.element, "use=write mark=1");
  process (&filter, &info, 3, 1);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* Frames leave in order, each with the result of its own slot, while later frames wait for a held
 * sink. */
static void
own_element_in_flight (void)
{
  Flight *flight;
  gboolean slots[64] = { FALSE };
  guint used = 0;

  own_element_register ();
  flight = flight_open ("ownelement ring-depth=3 mark=2", "NV12", 64, 32, NULL);
  flight_hold (flight);
  for (guint64 n = 0; n < 3; n++)
    flight_push (flight, n);
  flight_await_held (flight);
  flight_let_go (flight);
  for (guint64 n = 3; n < 40; n++)
    flight_push (flight, n);
  for (guint64 n = 0; n < 40; n++) {
    GstBuffer *in = flight_frame (flight, n), *out = flight_pull (flight);
    guint slot;

    expect (GST_BUFFER_OFFSET (out) == n
            && GST_BUFFER_PTS (out) == GST_BUFFER_PTS (in),
        "frame %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT,
        GST_BUFFER_OFFSET (out), n);
    expect_marked (in, out, &flight->info, 2);
    slot = expect_report (&flight->filter, first_byte (in));
    expect (slot < 3, "slot %u", slot);
    used += !slots[slot];
    slots[slot] = TRUE;
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  expect (used == (test_on_cuda () ? 3u : used) && used >= 1, "%u slots", used);
  flight_close (flight);
}

/* A flush drops the frames in flight, and the element continues. */
static void
own_element_flushes (void)
{
  Flight *flight;

  own_element_register ();
  flight = flight_open ("ownelement ring-depth=4", "I420", 32, 32, NULL);
  flight_hold (flight);
  for (guint64 n = 0; n < 3; n++)
    flight_push (flight, n);
  flight_await_held (flight);
  flight_flush (flight);
  flight_let_go (flight);
  while (gst_harness_buffers_in_queue (flight->filter.harness) > 0)
    gst_buffer_unref (flight_pull (flight));
  gst_bus_set_flushing (flight->filter.bus, TRUE);
  gst_bus_set_flushing (flight->filter.bus, FALSE);
  process (&flight->filter, &flight->info, 9, 3);
  flight_close (flight);
}

/* The plugin's elements and those of the library recognise each other's pinned memory: copy
 * engines read it in place, so that a frame in flight holds its input. */
static void
own_element_shares_pinned_memory (void)
{
  static const char *const settings[2] = { "sigma=1", "ownelement" };

  own_element_register ();
  for (guint i = 0; i < 2; i++) {
    Flight *giver = flight_open (settings[i], "NV12", 64, 32, NULL);
    Flight *taker = flight_open (settings[1 - i], "NV12", 64, 32, NULL);
    GstBufferPool *pool = flight_pool (giver);
    GstBuffer *in = flight_frame_in (giver, pool, 1);

    expect (buffer_is_pinned (in) == test_on_cuda (), "from %s", settings[i]);
    flight_hold (taker);
    flight_push (taker, 0);
    flight_await_held (taker);
    expect (gst_harness_push (taker->filter.harness, gst_buffer_ref (in))
            == GST_FLOW_OK,
        "not taken");
    if (test_on_cuda ())
      ASSERT_BUFFER_REFCOUNT (in, "the input of a frame in flight", 2);
    flight_let_go (taker);
    for (guint n = 0; n < 2; n++)
      gst_buffer_unref (flight_pull (taker));
    gst_buffer_unref (in);
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
    flight_close (taker);
    flight_close (giver);
  }
}

/* A refused format is not in the offered caps, and caps with that format are refused with the
 * element's reason. */
static void
own_element_refuses_formats (void)
{
  /* Formats that the subclass refuses, and that the base class refuses. */
  static const char *const rows[][2] = { { "ownelement refuse=NV12", "NV12" },
    { "ownelement", "v210" }, { "ownelement", "RGB10A2_LE" },
    { "ownelement", "RGB16" } };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    GstVideoInfo info;
    Filter filter;
    char *any = g_strdup_printf ("video/x-raw(ANY), format=%s", rows[r][1]);
    GstCaps *caps, *refused = gst_caps_from_string (any);

    test_context ("%s, format=%s", rows[r][0], rows[r][1]);
    own_open (&filter, rows[r][0], &info, "I420", 32, 16, NULL);
    process (&filter, &info, 1, 3);
    caps = gst_pad_peer_query_caps (filter.harness->srcpad, NULL);
    expect (!gst_caps_can_intersect (caps, refused), "the caps have it");
    gst_caps_unref (caps);
    expect (!filter_caps (&filter, video_caps (rows[r][1], 32, 16, NULL)),
        "caps accepted");
    filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
    filter_close (&filter);
    gst_caps_unref (refused);
    g_free (any);
  }
}

/* Settings that refuse the current format: an error, since upstream cannot send another. */
static void
own_element_refuses_later (void)
{
  GstVideoInfo info;
  Filter filter;

  own_open (&filter, "ownelement", &info, "NV12", 32, 16, NULL);
  process (&filter, &info, 1, 3);
  gst_harness_set_src_caps (filter.harness, video_caps ("NV12", 32, 16, NULL));
  settings_apply (filter.element, "refuse=NV12");
  for (guint32 n = 0; n < 4; n++)
    gst_harness_push (filter.harness, picture_new (&info, n));
  filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  filter_close (&filter);
}

static GstPadProbeReturn
refuse_at_tenth (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  GstElement *pipeline = user;
  GstElement *own = gst_bin_get_by_name (GST_BIN (pipeline), "own");

  (void) pad;
  if (GST_BUFFER_OFFSET (GST_PAD_PROBE_INFO_BUFFER (probe)) == 10)
    g_object_set (own, "refuse", "NV12", NULL);
  gst_object_unref (own);
  return GST_PAD_PROBE_OK;
}

/* If upstream can send another format, it does, and no frame is lost: frames of the old format
 * that still arrive are computed as before. */
static void
own_element_changes_format (void)
{
  char *description = g_strdup_printf (
      "videotestsrc num-buffers=60 ! video/x-raw,format=(string){NV12,I420},width=32,height=16"
      " ! ownelement name=own backend=%s ! fakesink name=sink",
      test_backend ());
  GstElement *pipeline, *sink;
  GstStructure *stats;
  GstCaps *caps;
  GstPad *pad;
  guint64 rendered = 0;
  char *text;

  own_element_register ();
  pipeline = gst_parse_launch (description, NULL);
  expect (pipeline != NULL, "%s", description);
  watch_sink (pipeline, "sink", refuse_at_tenth, pipeline);
  pipeline_run_to_end (
      pipeline, test_patience (), GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_get (sink, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "rendered", &rendered);
  expect (rendered == 60, "%" G_GUINT64_FORMAT " frames", rendered);
  pad = gst_element_get_static_pad (sink, "sink");
  caps = gst_pad_get_current_caps (pad);
  text = gst_caps_to_string (caps);
  expect (strstr (text, "format=(string)I420") != NULL, "%s", text);
  g_free (text);
  gst_caps_unref (caps);
  gst_object_unref (pad);
  gst_structure_free (stats);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  g_free (description);
}

/* An error of the subclass ends the stream with its own sentence, once; a restart clears it. */
static void
own_element_errors (void)
{
  static const char *const places[] = { "prepare", "cuda", "cpu", "mute" };
  GstVideoInfo info;
  Filter filter;
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    char *settings = g_strdup_printf ("fail=%s", places[i]);
    GstMessage *message;
    GError *error;
    char *debug;

    if (i > 0 && test_on_cuda () != (strcmp (places[i], "cuda") == 0)) {
      g_free (settings);
      continue;
    }
    own_open (&filter, "ownelement", &info, "NV12", 32, 16, NULL);
    process (&filter, &info, 1, 3);
    settings_apply (filter.element, settings);
    for (guint32 n = 0; n < 8; n++)
      flow = gst_harness_push (filter.harness, picture_new (&info, n));
    expect (
        flow == GST_FLOW_ERROR, "pushing gave %s", gst_flow_get_name (flow));
    expect (filter_drain_bus (
                &filter, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING, &message)
            == 1,
        "not one message");
    message_parse (message, &error, &debug);
    expect (error->domain == GST_RESOURCE_ERROR
            && error->code == GST_RESOURCE_ERROR_FAILED
            && strstr (error->message,
                i < 3 ? "fails on purpose." : "could not compute a frame"),
        "%s: %s", g_quark_to_string (error->domain), error->message);
    g_error_free (error);
    g_free (debug);
    gst_message_unref (message);
    settings_apply (filter.element, "fail=");
    filter_restart (&filter);
    expect (filter_caps (&filter, video_caps ("NV12", 32, 16, NULL)),
        "caps refused");
    process (&filter, &info, 5, 3);
    filter_expect_silence (&filter);
    filter_close (&filter);
    g_free (settings);
  }
}

/* With backend=auto the CPU continues after an error of the GPU, with one warning and no lost
 * frame. */
static void
own_element_falls_back (void)
{
  GstVideoInfo info;
  Filter filter;
  GstMessage *message;

  own_open (&filter, "ownelement backend=auto", &info, "NV12", 32, 16, NULL);
  process (&filter, &info, 1, 3);
  settings_apply (filter.element, "fail=cuda");
  for (guint32 n = 0; n < 5; n++) {
    GstBuffer *in = picture_new (&info, n);
    GstBuffer *out = filter_process (&filter, gst_buffer_ref (in));

    expect_marked (in, out, &info, 3);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  expect (filter_drain_bus (
              &filter, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING, &message)
          == 1,
      "not one message");
  expect (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING, "an error");
  gst_message_unref (message);
  filter_close (&filter);
}

/* A backend without code in the element is an error, or is not chosen by backend=auto. */
static void
own_element_one_backend (void)
{
  GstVideoInfo info;
  Filter filter;
  const char *only = test_on_cuda () ? "owngpu" : "owncpu";
  char *settings = g_strdup_printf ("%s backend=auto", only);
  char *other =
      g_strdup_printf ("%s backend=%s", only, test_on_cuda () ? "cpu" : "cuda");

  own_open (&filter, settings, &info, "NV12", 32, 16, NULL);
  process (&filter, &info, 1, 3);
  filter_expect_silence (&filter);
  filter_close (&filter);
  filter_make (&filter, other);
  expect (gst_element_set_state (filter.element, GST_STATE_PLAYING)
          == GST_STATE_CHANGE_FAILURE,
      "it starts");
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  filter_close (&filter);
  g_free (settings);
  g_free (other);
}

static void
own_element_no_backend (void)
{
  GstVideoInfo info;
  Filter filter;

  own_open (&filter, "ownnothing backend=cpu", &info, "NV12", 32, 16, NULL);
  for (guint32 n = 0; n < 4; n++)
    gst_harness_push (filter.harness, picture_new (&info, n));
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  filter_close (&filter);
}

/* Settings change while frames are in flight: each frame has the settings of its push. */
static void
own_element_changes (void)
{
  Flight *flight;

  own_element_register ();
  flight = flight_open ("ownelement ring-depth=8", "NV12", 64, 32, NULL);
  for (guint n = 0; n < 30; n++) {
    g_object_set (flight->filter.element, "mark", n, NULL);
    if (n == 15)
      g_object_set (flight->filter.element, "ring-depth", 2, NULL);
    flight_push (flight, n);
  }
  for (guint n = 0; n < 30; n++) {
    GstBuffer *in = flight_frame (flight, n), *out = flight_pull (flight);

    expect_marked (in, out, &flight->info, n);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  flight_close (flight);
}

const Test tests_own_element[] = {
  { "own-element-results", own_element_results, VARIANT_BOTH },
  { "own-element-layouts", own_element_layouts, VARIANT_BOTH },
  { "own-element-fields", own_element_fields, VARIANT_BOTH },
  { "own-element-reads", own_element_reads, VARIANT_BOTH },
  { "own-element-in-flight", own_element_in_flight, VARIANT_BOTH },
  { "own-element-flushes", own_element_flushes, VARIANT_BOTH },
  { "own-element-shares-pinned-memory", own_element_shares_pinned_memory,
      VARIANT_BOTH },
  { "own-element-refuses-formats", own_element_refuses_formats, VARIANT_BOTH },
  { "own-element-refuses-later", own_element_refuses_later, VARIANT_BOTH },
  { "own-element-changes-format", own_element_changes_format, VARIANT_BOTH },
  { "own-element-errors", own_element_errors, VARIANT_BOTH },
  { "own-element-falls-back", own_element_falls_back, VARIANT_CUDA },
  { "own-element-one-backend", own_element_one_backend, VARIANT_BOTH },
  { "own-element-no-backend", own_element_no_backend, VARIANT_CPU },
  { "own-element-changes", own_element_changes, VARIANT_BOTH },
  { 0 },
};
