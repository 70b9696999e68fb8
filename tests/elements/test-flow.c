/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events, order, flushes, states, flow returns, timestamps and flags. */
#include "picture-oracle.h"

/* ---- order of the filter's output ------------------------------------------ */

typedef struct
{
  GMutex lock; /* of text, which the filter's threads append to */
  GString *text;
} Recorder;

static GstPadProbeReturn
record (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  Recorder *recorder = user;

  (void) pad;
  g_mutex_lock (&recorder->lock);
  if (probe->type & GST_PAD_PROBE_TYPE_BUFFER) {
    g_string_append_printf (recorder->text, "b%" G_GUINT64_FORMAT " ",
        GST_BUFFER_OFFSET (GST_PAD_PROBE_INFO_BUFFER (probe)));
  } else {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT (probe);
    const GstStructure *structure = gst_event_get_structure (event);

    g_string_append_printf (recorder->text, "%s ",
        GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM
            ? gst_structure_get_name (structure)
            : GST_EVENT_TYPE_NAME (event));
  }
  g_mutex_unlock (&recorder->lock);
  return GST_PAD_PROBE_OK;
}

static void
recorder_start (Recorder *recorder, Filter *filter)
{
  g_mutex_init (&recorder->lock);
  recorder->text = g_string_new (NULL);
  gst_pad_add_probe (filter->harness->sinkpad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM
          | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
      record, recorder, NULL);
}

static void
recorder_clear (Recorder *recorder)
{
  g_string_free (recorder->text, TRUE);
  g_mutex_clear (&recorder->lock);
}

static void
push_numbered (Filter *filter, const GstVideoInfo *info, guint64 number)
{
  GstBuffer *buffer = picture_new (info, (guint32) number);

  GST_BUFFER_OFFSET (buffer) = number;
  GST_BUFFER_PTS (buffer) = number * GST_SECOND / 30;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 30;
  expect (gst_harness_push (filter->harness, buffer) == GST_FLOW_OK,
      "pushing buffer %" G_GUINT64_FORMAT " failed", number);
}

static GstEvent *
custom_event (const char *name)
{
  return gst_event_new_custom (
      GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty (name));
}

/* Serialized events keep their place between buffers, and EOS comes last, after all
 * frames. */
static void
flow_event_order (void)
{
  static const char want[] =
      "stream-start caps segment b0 b1 custom-a custom-b b2 tag b3 gap b4 "
      "segment b5 caps segment b6 custom-c b7 eos ";
  GstVideoInfo info;
  GstSegment segment;
  Recorder recorder;
  Filter filter;

  test_context ("format=I420 size=33x17 sigma=1");
  filter_open (&filter, "sigma=1");
  recorder_start (&recorder, &filter);
  video_info (&info, "I420", 33, 17, NULL);
  filter_caps (&filter, video_caps ("I420", 33, 17, NULL));
  push_numbered (&filter, &info, 0);
  push_numbered (&filter, &info, 1);
  gst_harness_push_event (filter.harness, custom_event ("custom-a"));
  gst_harness_push_event (filter.harness, custom_event ("custom-b"));
  push_numbered (&filter, &info, 2);
  gst_harness_push_event (filter.harness,
      gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "title", NULL)));
  push_numbered (&filter, &info, 3);
  gst_harness_push_event (
      filter.harness, gst_event_new_gap (GST_SECOND, GST_SECOND));
  push_numbered (&filter, &info, 4);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.base = 7;
  gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
  push_numbered (&filter, &info, 5);
  video_info (&info, "I420", 20, 17, NULL);
  filter_caps (&filter, video_caps ("I420", 20, 17, NULL));
  push_numbered (&filter, &info, 6);
  gst_harness_push_event (filter.harness, custom_event ("custom-c"));
  push_numbered (&filter, &info, 7);
  expect (gst_harness_push_event (filter.harness, gst_event_new_eos ()),
      "end of stream is refused");
  g_mutex_lock (&recorder.lock);
  expect (g_str_equal (recorder.text->str, want),
      "what came out is\n  %s\ninstead of\n  %s", recorder.text->str, want);
  g_mutex_unlock (&recorder.lock);
  expect (gst_harness_buffers_received (filter.harness) == 8,
      "%u buffers came out", gst_harness_buffers_received (filter.harness));
  filter_close (&filter);
  recorder_clear (&recorder);
}

/* Events arrive with all their contents. */
static void
flow_events_unchanged (void)
{
  GstVideoInfo info;
  GstSegment segment;
  GstEvent *sent[4], *got;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "I420", 33, 17, NULL);
  while ((got = gst_harness_try_pull_event (filter.harness)) != NULL)
    gst_event_unref (got);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.rate = 2.0;
  segment.start = 5;
  segment.stop = 500 * GST_SECOND;
  segment.time = 77;
  segment.base = 99;
  sent[0] = gst_event_new_segment (&segment);
  sent[1] = gst_event_new_tag (gst_tag_list_new (
      GST_TAG_TITLE, "a title", GST_TAG_BITRATE, 1234u, NULL));
  sent[2] = gst_event_new_gap (3 * GST_SECOND, GST_SECOND);
  sent[3] = gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
      gst_structure_new ("sticky", "number", G_TYPE_INT, 42, NULL));
  for (int i = 0; i < 4; i++) {
    gst_event_set_seqnum (sent[i], 1000u + (guint) i);
    gst_harness_push_event (filter.harness, gst_event_ref (sent[i]));
    got = gst_harness_pull_event (filter.harness);
    expect (got && GST_EVENT_TYPE (got) == GST_EVENT_TYPE (sent[i])
            && gst_event_get_seqnum (got) == 1000u + (guint) i
            && gst_structure_is_equal (gst_event_get_structure (got),
                gst_event_get_structure (sent[i])),
        "%" GST_PTR_FORMAT " became %" GST_PTR_FORMAT, (gpointer) sent[i],
        (gpointer) got);
    gst_event_unref (got);
    gst_event_unref (sent[i]);
  }
  filter_close (&filter);
}

/* A flush drops the frames in flight; later frames are filtered as if nothing had
 * happened. */
static void
flow_flush (void)
{
  GstVideoInfo info;
  GstSegment segment;
  Filter filter;

  filter_start (&filter, "sigma=2", &info, "NV12", 41, 23, NULL);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (guint32 round = 0; round < 5; round++) {
    GstBuffer *in, *out;

    for (guint64 i = 0; i < 5; i++)
      push_numbered (&filter, &info, i);
    gst_harness_push_event (filter.harness, gst_event_new_flush_start ());
    expect (gst_harness_push (filter.harness, picture_new (&info, 1))
            == GST_FLOW_FLUSHING,
        "a buffer is taken while flushing");
    gst_harness_push_event (filter.harness, gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
    /* Some of the five frames may have come out before the flush. */
    while ((out = gst_harness_try_pull (filter.harness)) != NULL) {
      expect (GST_BUFFER_OFFSET (out) < 5, "unknown buffer %" G_GUINT64_FORMAT,
          GST_BUFFER_OFFSET (out));
      gst_buffer_unref (out);
    }
    in = picture_new (&info, round);
    GST_BUFFER_OFFSET (in) = 100;
    out = filter_process (&filter, gst_buffer_ref (in));
    expect (GST_BUFFER_OFFSET (out) == 100,
        "buffer %" G_GUINT64_FORMAT " from before the flush",
        GST_BUFFER_OFFSET (out));
    picture_expect (in, out, &info, "sigma=2", FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* After EOS a flush lets frames through again. */
static void
flow_flush_after_eos (void)
{
  GstVideoInfo info;
  GstSegment segment;
  GstBuffer *out;
  Filter filter;

  filter_start (&filter, "sigma=2", &info, "NV12", 41, 23, NULL);
  push_numbered (&filter, &info, 0);
  gst_harness_push_event (filter.harness, gst_event_new_eos ());
  expect (
      gst_harness_push (filter.harness, picture_new (&info, 1)) == GST_FLOW_EOS,
      "a buffer is taken after end of stream");
  gst_harness_push_event (filter.harness, gst_event_new_flush_start ());
  gst_harness_push_event (filter.harness, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
  while ((out = gst_harness_try_pull (filter.harness)) != NULL)
    gst_buffer_unref (out);
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 2)));
  filter_close (&filter);
}

/* ---- states -------------------------------------------------------------- */

static void
flow_state_cycles (void)
{
  static const struct
  {
    const char *format;
    int width, height;
  } rounds[] = { { "NV12", 64, 48 }, { "NV12", 64, 48 }, { "RGBA", 30, 20 },
    { "GRAY8", 7, 5 }, { "NV12", 64, 48 } };
  GstVideoInfo info;
  Filter filter;

  filter_open (&filter, "sigma=2");
  for (guint r = 0; r < G_N_ELEMENTS (rounds); r++) {
    test_context ("round %u: format=%s size=%dx%d sigma=2", r, rounds[r].format,
        rounds[r].width, rounds[r].height);
    if (r > 0)
      filter_restart (&filter);
    video_info (
        &info, rounds[r].format, rounds[r].width, rounds[r].height, NULL);
    expect (filter_caps (&filter,
                video_caps (
                    rounds[r].format, rounds[r].width, rounds[r].height, NULL)),
        "caps refused");
    for (guint32 i = 0; i < 4; i++) {
      picture_check_frame (&filter, &info, i, "sigma=2");
    }
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* All states, up and down, without a frame. */
static void
flow_states_without_frames (void)
{
  static const GstState states[] = { GST_STATE_READY, GST_STATE_NULL,
    GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_PAUSED,
    GST_STATE_PLAYING, GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_NULL,
    GST_STATE_PLAYING, GST_STATE_NULL };
  Filter filter;

  filter_make (&filter, "sigma=1");
  for (guint s = 0; s < G_N_ELEMENTS (states); s++)
    expect (gst_element_set_state (filter.element, states[s])
            == GST_STATE_CHANGE_SUCCESS,
        "step %u to %s failed", s, gst_element_state_get_name (states[s]));
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* An element that was never used can be freed and leaves nothing behind. */
static void
flow_dispose_unused (void)
{
  for (int i = 0; i < 10; i++) {
    GstElement *element = gst_element_factory_make ("cudasepconv", NULL);

    expect (element != NULL, "cudasepconv cannot be made");
    gst_util_set_object_arg (G_OBJECT (element), "backend", test_backend ());
    gst_util_set_object_arg (G_OBJECT (element), "taps-x", "<0.5,0.5>");
    ASSERT_OBJECT_REFCOUNT (element, "cudasepconv", 1);
    gst_object_unref (element);
  }
}

/* ---- quality of service -------------------------------------------------- */

static void
flow_qos (void)
{
  GstVideoInfo info;
  Filter filter;
  GstBuffer *out;

  filter_start (&filter, "sigma=2 qos=true", &info, "NV12", 32, 24, NULL);
  push_numbered (&filter, &info, 0);
  out = gst_harness_pull (filter.harness);
  gst_buffer_unref (out);
  gst_harness_push_upstream_event (filter.harness,
      gst_event_new_qos (
          GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, GST_SECOND / 30));
  push_numbered (&filter, &info, 3);  /* 0.1 s: too late */
  push_numbered (&filter, &info, 29); /* just before 1.03 s */
  push_numbered (&filter, &info, 60);
  out = gst_harness_pull (filter.harness);
  expect (out && GST_BUFFER_OFFSET (out) == 60,
      "buffer %" G_GUINT64_FORMAT " was not dropped", GST_BUFFER_OFFSET (out));
  gst_buffer_unref (out);
  expect (
      filter_drain_bus (&filter, GST_MESSAGE_QOS, NULL) >= 1, "no QoS message");
  /* With qos=false nothing is dropped. */
  settings_apply (filter.element, "qos=false");
  gst_harness_push_upstream_event (filter.harness,
      gst_event_new_qos (
          GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, 3 * GST_SECOND));
  push_numbered (&filter, &info, 61);
  out = gst_harness_pull (filter.harness);
  expect (out && GST_BUFFER_OFFSET (out) == 61, "dropped with qos=false");
  gst_buffer_unref (out);
  filter_close (&filter);
}

/* ---- buffers ------------------------------------------------------------- */

static void
flow_timestamps_and_flags (void)
{
  static const struct
  {
    const char *name;
    guint flag;
  } flags[] = {
    { "none", 0 },
    { "discont", GST_BUFFER_FLAG_DISCONT },
    { "delta-unit", GST_BUFFER_FLAG_DELTA_UNIT },
    { "corrupted", GST_BUFFER_FLAG_CORRUPTED },
    { "droppable", GST_BUFFER_FLAG_DROPPABLE },
    { "header", GST_BUFFER_FLAG_HEADER },
    { "marker", GST_BUFFER_FLAG_MARKER },
    { "resync", GST_BUFFER_FLAG_RESYNC },
    { "decode-only", GST_BUFFER_FLAG_DECODE_ONLY },
    { "repeated first field", GST_VIDEO_BUFFER_FLAG_RFF },
    { "top field first", GST_VIDEO_BUFFER_FLAG_TFF },
    { "one field", GST_VIDEO_BUFFER_FLAG_ONEFIELD },
  };
  const guint all = GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_DELTA_UNIT
      | GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_DROPPABLE
      | GST_BUFFER_FLAG_HEADER | GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_RESYNC
      | GST_BUFFER_FLAG_DECODE_ONLY | GST_VIDEO_BUFFER_FLAG_RFF
      | GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_ONEFIELD;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 32, 24, NULL);
  /* The base class may mark the first buffer as a discontinuity. */
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 0)));
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++) {
    GstBuffer *in = picture_new (&info, i), *out;

    test_context ("format=NV12 flag %s", flags[i].name);
    GST_BUFFER_FLAG_SET (in, flags[i].flag);
    GST_BUFFER_PTS (in) = 1000 * (i + 1);
    GST_BUFFER_DTS (in) = 900 * (i + 1);
    GST_BUFFER_DURATION (in) = 77 + i;
    GST_BUFFER_OFFSET (in) = 5 * i;
    GST_BUFFER_OFFSET_END (in) = 5 * i + 4;
    out = filter_process (&filter, gst_buffer_ref (in));
    expect (GST_BUFFER_PTS (out) == GST_BUFFER_PTS (in), "PTS changed");
    expect (GST_BUFFER_DTS (out) == GST_BUFFER_DTS (in), "DTS changed");
    expect (GST_BUFFER_DURATION (out) == GST_BUFFER_DURATION (in),
        "duration changed");
    expect (
        GST_BUFFER_OFFSET (out) == GST_BUFFER_OFFSET (in), "offset changed");
    expect (GST_BUFFER_OFFSET_END (out) == GST_BUFFER_OFFSET_END (in),
        "end offset changed");
    expect ((GST_BUFFER_FLAGS (out) & all) == flags[i].flag,
        "flags are 0x%x instead of 0x%x", GST_BUFFER_FLAGS (out) & all,
        flags[i].flag);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* A buffer with the flag GAP is still a picture. */
static void
flow_gap_buffer (void)
{
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;

  filter_start (&filter, "sigma=2", &info, "NV12", 32, 24, NULL);
  in = picture_new (&info, 6);
  GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_GAP);
  out = filter_process (&filter, gst_buffer_ref (in));
  picture_expect (in, out, &info, "sigma=2", FALSE);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
}

/* ---- flow returns -------------------------------------------------------- */

static GstPadProbeReturn
answer_with_flow (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  const GstFlowReturn *flow = user;

  (void) pad;
  if (*flow == GST_FLOW_OK)
    return GST_PAD_PROBE_OK;
  gst_buffer_unref (GST_PAD_PROBE_INFO_BUFFER (probe));
  GST_PAD_PROBE_INFO_DATA (probe) = NULL;
  GST_PAD_PROBE_INFO_FLOW_RETURN (probe) = *flow;
  return GST_PAD_PROBE_HANDLED;
}

/* More frames than any filter holds in flight. */
enum
{
  MANY = 64
};

/* Downstream's flow return reaches upstream, at the latest when the frames in flight
 * are through; the filter itself posts no error about it. */
static void
flow_returns (void)
{
  static const GstFlowReturn flows[] = { GST_FLOW_EOS, GST_FLOW_FLUSHING,
    GST_FLOW_ERROR, GST_FLOW_NOT_LINKED, GST_FLOW_NOT_NEGOTIATED,
    GST_FLOW_CUSTOM_ERROR };

  for (guint f = 0; f < G_N_ELEMENTS (flows); f++) {
    GstFlowReturn answer = GST_FLOW_OK, flow = GST_FLOW_OK;
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, "sigma=1", &info, "NV12", 32, 24, NULL);
    test_context (
        "format=NV12 downstream says %s", gst_flow_get_name (flows[f]));
    gst_pad_add_probe (filter.harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER,
        answer_with_flow, &answer, NULL);
    push_numbered (&filter, &info, 0);
    gst_buffer_unref (gst_harness_pull (filter.harness));
    answer = flows[f];
    for (int i = 0; i < MANY && flow == GST_FLOW_OK; i++)
      flow = gst_harness_push (filter.harness, picture_new (&info, 1));
    expect (flow == flows[f], "upstream got %s", gst_flow_get_name (flow));
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* Many frames pushed without waiting: all come out, in order and filtered. */
static void
flow_many_frames (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1.5", &info, "NV12", 65, 33, NULL);
  for (guint64 i = 0; i < MANY; i++)
    push_numbered (&filter, &info, i);
  for (guint64 i = 0; i < MANY; i++) {
    GstBuffer *out = gst_harness_pull (filter.harness), *in;

    expect (out && GST_BUFFER_OFFSET (out) == i,
        "buffer %" G_GUINT64_FORMAT " is missing", i);
    in = picture_new (&info, (guint32) i);
    picture_expect (in, out, &info, "sigma=1.5", FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  expect (gst_harness_try_pull (filter.harness) == NULL, "one too many");
  filter_close (&filter);
}

/* Upstream may write to its buffer again as soon as nobody else holds a reference. */
static void
flow_input_is_released (void)
{
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;

  filter_start (&filter, "sigma=1.5", &info, "NV12", 65, 33, NULL);
  in = picture_new (&info, 1);
  out = filter_process (&filter, gst_buffer_ref (in));
  gst_buffer_unref (out);
  gst_harness_push_event (filter.harness, gst_event_new_eos ());
  ASSERT_BUFFER_REFCOUNT (in, "input", 1);
  gst_buffer_unref (in);
  filter_close (&filter);
}

/* ---- scheduling ------------------------------------------------------------ */

/* An upstream element that supports pull mode, such as a source of files. */
static gboolean
offer_pull (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_SCHEDULING)
    return gst_pad_query_default (pad, parent, query);
  gst_query_set_scheduling (query, GST_SCHEDULING_FLAG_SEEKABLE, 1, -1, 0);
  gst_query_add_scheduling_mode (query, GST_PAD_MODE_PULL);
  gst_query_add_scheduling_mode (query, GST_PAD_MODE_PUSH);
  return TRUE;
}

static gboolean
accept_any_mode (
    GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  (void) pad;
  (void) parent;
  (void) mode;
  (void) active;
  return TRUE;
}

/* Frames are pushed from a thread of the element: it neither offers nor uses pull mode,
 * even if upstream supports it. */
static void
flow_push_only (void)
{
  static const char *const names[] = { "cudasepconv", "cudahisto" };

  for (guint n = 0; n < G_N_ELEMENTS (names); n++) {
    GstElement *element = element_make (names[n]);
    GstPad *sink = gst_element_get_static_pad (element, "sink");
    GstPad *src = gst_element_get_static_pad (element, "src");
    GstPad *upstream = gst_pad_new ("upstream", GST_PAD_SRC);
    GstQuery *query = gst_query_new_scheduling ();

    test_context ("element=%s", names[n]);
    gst_util_set_object_arg (G_OBJECT (element), "backend", test_backend ());
    gst_pad_set_query_function (upstream, offer_pull);
    gst_pad_set_activatemode_function (upstream, accept_any_mode);
    expect (gst_pad_link (upstream, sink) == GST_PAD_LINK_OK, "no link");
    expect (gst_pad_query (src, query), "the scheduling query fails");
    expect (gst_query_has_scheduling_mode (query, GST_PAD_MODE_PUSH),
        "pushing is not offered");
    expect (!gst_query_has_scheduling_mode (query, GST_PAD_MODE_PULL),
        "pulling is offered");
    expect (!gst_pad_activate_mode (src, GST_PAD_MODE_PULL, TRUE),
        "the source pad is active in pull mode");
    expect (gst_element_set_state (element, GST_STATE_PAUSED)
            == GST_STATE_CHANGE_SUCCESS,
        "going to PAUSED failed");
    expect (GST_PAD_MODE (src) == GST_PAD_MODE_PUSH, "the mode is %s",
        gst_pad_mode_get_name (GST_PAD_MODE (src)));
    gst_element_set_state (element, GST_STATE_NULL);
    gst_query_unref (query);
    gst_pad_unlink (upstream, sink);
    gst_object_unref (upstream);
    gst_object_unref (src);
    gst_object_unref (sink);
    gst_object_unref (element);
  }
}

const Test tests_flow[] = {
  { "flow-event-order", flow_event_order, VARIANT_BOTH },
  { "flow-events-unchanged", flow_events_unchanged, VARIANT_BOTH },
  { "flow-flush", flow_flush, VARIANT_BOTH },
  { "flow-flush-after-eos", flow_flush_after_eos, VARIANT_BOTH },
  { "flow-state-cycles", flow_state_cycles, VARIANT_BOTH },
  { "flow-states-without-frames", flow_states_without_frames, VARIANT_BOTH },
  { "flow-dispose-unused", flow_dispose_unused, VARIANT_BOTH },
  { "flow-qos", flow_qos, VARIANT_BOTH },
  { "flow-timestamps-and-flags", flow_timestamps_and_flags, VARIANT_BOTH },
  { "flow-gap-buffer", flow_gap_buffer, VARIANT_BOTH },
  { "flow-returns", flow_returns, VARIANT_BOTH },
  { "flow-many-frames", flow_many_frames, VARIANT_BOTH },
  { "flow-push-only", flow_push_only, VARIANT_BOTH },
  { "flow-input-is-released", flow_input_is_released, VARIANT_BOTH },
  { 0 },
};
