/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Flow returns and quality of service with frames in flight. */
#include "flight-fixture.h"

/* ---- flow returns -------------------------------------------------------- */

/* Fills the ring before a held sink, which then returns this flow return. */
static void
fill (Flight *flight, guint64 first, guint n)
{
  flight_hold (flight);
  for (guint i = 0; i < n; i++)
    flight_push (flight, first + i);
  flight_await_held (flight);
}

/* Pushes until a frame is not accepted; returns its flow return. */
static GstFlowReturn
push_until_refused (Flight *flight, guint64 first, guint most)
{
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint i = 0; i < most && flow == GST_FLOW_OK; i++)
    flow = flight_try_push (flight, first + i);
  return flow;
}

/* Releases the held frames and waits until the sink's flow return is known. */
static void
settle (Flight *flight)
{
  GstQuery *query = gst_query_new_drain ();

  flight_let_go (flight);
  gst_pad_peer_query (flight->filter.harness->srcpad, query);
  gst_query_unref (query);
}

static void
flight_returns (void)
{
  static const GstFlowReturn flows[] = { GST_FLOW_ERROR, GST_FLOW_EOS,
    GST_FLOW_NOT_LINKED, GST_FLOW_FLUSHING, GST_FLOW_NOT_NEGOTIATED,
    GST_FLOW_CUSTOM_ERROR };

  for (guint f = 0; f < G_N_ELEMENTS (flows); f++) {
    Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
    GstFlowReturn flow;

    test_context ("the sink says %s", gst_flow_get_name (flows[f]));
    flight_answer (flight, 1, flows[f]);
    fill (flight, 0, 4);
    settle (flight);
    /* The flow return for a frame in flight is given to the very next push, and frames
     * after it are not pushed downstream. */
    flow = flight_try_push (flight, 4);
    expect (flow == flows[f], "upstream got %s", gst_flow_get_name (flow));
    flow = flight_try_push (flight, 5);
    expect (flow == flows[f], "upstream got %s", gst_flow_get_name (flow));
    flight_expect_log (flight, "0 1 drain");
    filter_expect_silence (&flight->filter);
    /* A flush resets the flow return. */
    flight_answer (flight, 0, GST_FLOW_OK);
    flight_flush (flight);
    while (gst_harness_buffers_in_queue (flight->filter.harness) > 0)
      gst_buffer_unref (flight_pull (flight));
    flight_push (flight, 6);
    flight_expect (flight, 6, "sigma=1");
    flight_close (flight);
  }
}

/* After a refusal downstream may accept a new segment or stream. */
static void
flight_eos_is_forgotten (void)
{
  for (int with_stream_start = 0; with_stream_start < 2; with_stream_start++) {
    Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
    GstFlowReturn flow;

    flight_answer (flight, 2, GST_FLOW_EOS);
    fill (flight, 0, 4);
    settle (flight);
    flow = flight_try_push (flight, 4);
    expect (flow == GST_FLOW_EOS, "upstream got %s", gst_flow_get_name (flow));
    /* It makes no difference whether frames are in flight at that moment. */
    flight_answer (flight, 0, GST_FLOW_OK);
    if (with_stream_start)
      flight_send (flight, gst_event_new_stream_start ("again"));
    flight_send_segment (flight);
    flight_expect (flight, 0, "sigma=1");
    flight_expect (flight, 1, "sigma=1");
    for (guint64 i = 5; i < 12; i++)
      flight_push (flight, i);
    for (guint64 i = 5; i < 12; i++)
      flight_expect (flight, i, "sigma=1");
    flight_close (flight);
  }
}

/* Downstream is linked again, which it announces by a RECONFIGURE event. */
static void
flight_relink (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
  GstPad *src = gst_element_get_static_pad (flight->filter.element, "src");
  GstFlowReturn flow;

  for (guint64 round = 0; round < 3; round++) {
    const guint64 first = 100 * round;
    guint64 number, last = first + 3;
    GstBuffer *out;

    for (guint64 i = 0; i < 4; i++)
      flight_push (flight, first + i);
    for (guint64 i = 0; i < 4; i++)
      flight_expect (flight, first + i, "sigma=1");
    expect (gst_pad_unlink (src, flight->filter.harness->sinkpad), "unlink");
    flow = push_until_refused (flight, first + 4, 8);
    expect (flow == GST_FLOW_NOT_LINKED, "upstream got %s",
        gst_flow_get_name (flow));
    expect (
        gst_pad_link (src, flight->filter.harness->sinkpad) == GST_PAD_LINK_OK,
        "link");
    /* Frames accepted before and still in flight may arrive, too. */
    flight_push (flight, first + 20);
    do {
      out = flight_pull (flight);
      number = GST_BUFFER_OFFSET (out);
      gst_buffer_unref (out);
      expect (number > last && number <= first + 20,
          "frame %" G_GUINT64_FORMAT " after %" G_GUINT64_FORMAT, number, last);
      last = number;
    } while (number < first + 20);
  }
  filter_expect_silence (&flight->filter);
  gst_object_unref (src);
  flight_close (flight);
}

/* At EOS upstream has no next push that could return the flow return of the last
 * frames: an error message must report it, or the stream would seem to have ended
 * well. */
static void
flight_refused_at_the_end (void)
{
  static const GstFlowReturn flows[] = { GST_FLOW_NOT_NEGOTIATED,
    GST_FLOW_NOT_LINKED, GST_FLOW_ERROR };

  for (guint f = 0; f < G_N_ELEMENTS (flows); f++) {
    Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
    int errors;

    test_context ("the sink says %s to the last of three frames",
        gst_flow_get_name (flows[f]));
    flight_answer (flight, 2, flows[f]);
    flight_hold (flight);
    for (guint64 i = 0; i < 3; i++)
      flight_push (flight, i);
    flight_await_held (flight);
    flight_let_go (flight);
    flight_send (flight, gst_event_new_eos ());
    errors = filter_drain_bus (&flight->filter, GST_MESSAGE_ERROR, NULL);
    expect (errors == 1, "%d error messages at end of stream", errors);
    flight_close (flight);
  }
}

/* If a push has already returned the flow return, EOS needs no message. */
static void
flight_refused_before_the_end (void)
{
  static const GstFlowReturn flows[] = { GST_FLOW_NOT_NEGOTIATED,
    GST_FLOW_NOT_LINKED, GST_FLOW_ERROR };

  for (guint f = 0; f < G_N_ELEMENTS (flows); f++) {
    Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
    GstFlowReturn flow;

    test_context ("the sink says %s to all but the first frame",
        gst_flow_get_name (flows[f]));
    flight_answer (flight, 1, flows[f]);
    flow = push_until_refused (flight, 0, 16);
    expect (flow == flows[f], "upstream got %s", gst_flow_get_name (flow));
    flight_send (flight, gst_event_new_eos ());
    filter_expect_silence (&flight->filter);
    flight_close (flight);
  }
}

static gint successes;

static GstFlowReturn
take_with_success (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  (void) pad;
  (void) parent;
  gst_buffer_unref (buffer);
  g_atomic_int_inc (&successes);
  return GST_FLOW_CUSTOM_SUCCESS;
}

/* A custom success flow return is a success. */
static void
flight_custom_success (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);

  successes = 0;
  gst_pad_set_chain_function (
      flight->filter.harness->sinkpad, take_with_success);
  for (guint64 i = 0; i < 8; i++)
    expect (flight_try_push (flight, i) >= GST_FLOW_OK, "refused");
  settle (flight);
  expect (g_atomic_int_get (&successes) == 8, "%d of 8 frames came out",
      g_atomic_int_get (&successes));
  flight_close (flight);
}

/* Invalid settings do not hold back earlier frames. */
static void
flight_wrong_settings (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
  GstFlowReturn flow;

  fill (flight, 0, 3);
  settings_apply (flight->filter.element, "kernel=scharr-x radius=4");
  flow = flight_try_push (flight, 3);
  expect (flow == GST_FLOW_ERROR, "upstream got %s", gst_flow_get_name (flow));
  flight_let_go (flight);
  for (guint64 i = 0; i < 3; i++)
    flight_expect (flight, i, "sigma=1");
  filter_expect_error (
      &flight->filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  flight_close (flight);
}

/* ---- quality of service -------------------------------------------------- */

/* Only the first frame after dropped ones is marked. */
static void
flight_qos (void)
{
  static const char *const settings[] = { "sigma=1 qos=true",
    "sigma=0 qos=true" };
  const guint late[] = { 1, 2, 3, 6 }; /* of frames 0 to 9 */

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    Flight *flight = flight_open (settings[s], "NV12", 32, 18, NULL);
    gboolean dropped = FALSE;

    /* Later than 10 s is early enough. */
    flight_send_segment (flight);
    flight_push (flight, 1000);
    flight_await (flight, 1);
    gst_buffer_unref (flight_pull (flight));
    gst_harness_push_upstream_event (flight->filter.harness,
        gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, 0, 10 * GST_SECOND));
    flight_hold (flight);
    for (guint i = 0, l = 0; i < 10; i++) {
      const gboolean is_late = l < G_N_ELEMENTS (late) && late[l] == i;
      GstBuffer *in = flight_frame (flight, (is_late ? 0 : 1000) + i);

      if (is_late)
        l++;
      /* A frame that upstream has marked. */
      if (i == 8)
        GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_DISCONT);
      if (i == 3)
        flight_let_go (flight);
      expect (gst_harness_push (flight->filter.harness, in) == GST_FLOW_OK,
          "frame %u is not taken", i);
    }
    for (guint i = 0, l = 0; i < 10; i++) {
      const gboolean is_late = l < G_N_ELEMENTS (late) && late[l] == i;
      GstBuffer *out;

      if (is_late) {
        l++;
        dropped = TRUE;
        continue;
      }
      out = flight_pull (flight);
      expect (GST_BUFFER_OFFSET (out) == 1000 + i,
          "%" G_GUINT64_FORMAT " came out instead of %u",
          GST_BUFFER_OFFSET (out), 1000 + i);
      expect (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_DISCONT)
              == (dropped || i == 8),
          "frame %u is %smarked as a discontinuity", i,
          dropped || i == 8 ? "not " : "");
      dropped = FALSE;
      gst_buffer_unref (out);
    }
    expect (flight_count (flight, "frames-out") == 7,
        "%" G_GUINT64_FORMAT " frames are counted instead of 7",
        flight_count (flight, "frames-out"));
    flight_close (flight);
  }
}

/* The message about a dropped frame counts the processed ones. */
static void
flight_qos_message (void)
{
  Flight *flight = flight_open ("sigma=1 qos=true", "NV12", 32, 18, NULL);
  GstMessage *message;
  GstFormat format;
  guint64 processed, dropped;

  for (guint64 i = 1000; i < 1005; i++)
    flight_push (flight, i);
  flight_await (flight, 5);
  gst_harness_push_upstream_event (flight->filter.harness,
      gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, 0, 10 * GST_SECOND));
  flight_push (flight, 0);
  expect (filter_drain_bus (&flight->filter, GST_MESSAGE_QOS, &message) == 1,
      "not one QoS message");
  gst_message_parse_qos_stats (message, &format, &processed, &dropped);
  expect (format == GST_FORMAT_BUFFERS && processed == 5 && dropped == 1,
      "%" G_GUINT64_FORMAT " processed, %" G_GUINT64_FORMAT
      " dropped instead of 5 and 1",
      processed, dropped);
  gst_message_unref (message);
  flight_close (flight);
}

const Test tests_flight_flow[] = {
  { "flight-returns", flight_returns, VARIANT_BOTH },
  { "flight-eos-is-forgotten", flight_eos_is_forgotten, VARIANT_BOTH },
  { "flight-relink", flight_relink, VARIANT_BOTH },
  { "flight-refused-at-the-end", flight_refused_at_the_end, VARIANT_BOTH },
  { "flight-refused-before-the-end", flight_refused_before_the_end,
      VARIANT_BOTH },
  { "flight-custom-success", flight_custom_success, VARIANT_BOTH },
  { "flight-wrong-settings", flight_wrong_settings, VARIANT_BOTH },
  { "flight-qos", flight_qos, VARIANT_BOTH },
  { "flight-qos-message", flight_qos_message, VARIANT_BOTH },
  { 0 },
};
