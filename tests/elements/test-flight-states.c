/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stopping with frames in flight: nothing hangs, nothing is left. */
#include "flight-fixture.h"

static gint buffers_alive;

static void
on_buffer_freed (gpointer user, GstMiniObject *object)
{
  (void) user;
  (void) object;
  g_atomic_int_add (&buffers_alive, -1);
}

static GstPadProbeReturn
watch_buffer (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) user;
  g_atomic_int_inc (&buffers_alive);
  gst_mini_object_weak_ref (GST_MINI_OBJECT (GST_PAD_PROBE_INFO_BUFFER (probe)),
      on_buffer_freed, NULL);
  return GST_PAD_PROBE_OK;
}

static void
watch_buffers (GstElement *element, const char *name)
{
  GstPad *pad = gst_element_get_static_pad (element, name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, watch_buffer, NULL, NULL);
  gst_object_unref (pad);
}

static gpointer
stop_element (gpointer element)
{
  return GINT_TO_POINTER (gst_element_set_state (element, GST_STATE_NULL));
}

static gpointer
stop_half_way (gpointer element)
{
  return GINT_TO_POINTER (gst_element_set_state (element, GST_STATE_READY));
}

static void
await_frames_in (GstElement *element, guint64 n)
{
  const gint64 end =
      g_get_monotonic_time () + FLIGHT_SECONDS * G_TIME_SPAN_SECOND;
  guint64 frames = 0;

  while (frames < n && g_get_monotonic_time () < end) {
    frames = element_count (element, "frames-in");
    g_usleep (100);
  }
  expect (frames >= n, "%" G_GUINT64_FORMAT " frames went in", frames);
}

/* A paused pipeline: the sink holds its first frame, the filter is full, the
 * source waits in it. */
static void
flight_stop_paused (void)
{
  buffers_alive = 0;
  for (guint64 round = 0; round < 50; round++) {
    const guint64 depth = 1 + round % 5;
    char *line = g_strdup_printf (
        "videotestsrc ! video/x-raw,format=NV12,width=32,height=18 ! "
        "cudasepconv name=filter sigma=1 backend=%s ring-depth=%u ! fakesink",
        test_backend (), (guint) depth);
    GstElement *pipeline = gst_parse_launch (line, NULL), *element;
    gpointer result;

    test_context ("round %u: %s", (guint) round, line);
    expect (pipeline != NULL, "no pipeline");
    element = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
    watch_buffers (element, "sink");
    watch_buffers (element, "src");
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    if (round % 3 != 0)
      await_frames_in (element, depth);
    if (round % 2) {
      result =
          task_end (task_start (stop_half_way, pipeline), "going to READY");
      expect (GPOINTER_TO_INT (result) == GST_STATE_CHANGE_SUCCESS,
          "going to READY failed");
    }
    result = task_end (task_start (stop_element, pipeline), "going to NULL");
    expect (GPOINTER_TO_INT (result) == GST_STATE_CHANGE_SUCCESS,
        "going to NULL failed");
    gst_object_unref (pipeline);
    ASSERT_OBJECT_REFCOUNT (element, "cudasepconv", 1);
    gst_object_unref (element);
    expect (g_atomic_int_get (&buffers_alive) == 0, "%d buffers are left",
        g_atomic_int_get (&buffers_alive));
    g_free (line);
  }
}

static GstPadProbeReturn
block (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) probe;
  g_atomic_int_set ((gint *) user, 1);
  return GST_PAD_PROBE_OK;
}

/* The filter alone is stopped while its source pad is blocked and upstream
 * waits in it. */
static void
flight_stop_blocked (void)
{
  buffers_alive = 0;
  for (guint64 round = 0; round < 50; round++) {
    char *settings =
        g_strdup_printf ("sigma=1 ring-depth=%u", 1 + (guint) round % 5);
    Flight *flight = flight_open (settings, "NV12", 32, 18, NULL);
    Pushes pushes = { flight, 0, 12, 0 };
    GstElement *element = flight->filter.element;
    GstPad *src = gst_element_get_static_pad (element, "src");
    gpointer result;
    gint blocked = 0;
    Task *task;

    watch_buffers (element, "sink");
    gst_pad_add_probe (src,
        GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER, block, &blocked,
        NULL);
    task = task_start (push_frames, &pushes);
    await_frames_in (element, round % 3 ? 1 + round % 5 : 1);
    result = task_end (
        task_start (round % 2 ? stop_element : stop_half_way, element),
        "stopping");
    expect (GPOINTER_TO_INT (result) == GST_STATE_CHANGE_SUCCESS,
        "stopping failed");
    result = task_end (task, "pushing into a filter that stops");
    expect (GPOINTER_TO_INT (result) == GST_FLOW_FLUSHING, "upstream got %s",
        gst_flow_get_name (GPOINTER_TO_INT (result)));
    expect (g_atomic_int_get (&buffers_alive) == 0, "%d inputs are left",
        g_atomic_int_get (&buffers_alive));
    gst_object_unref (src);
    flight_close (flight);
    g_free (settings);
  }
}

/* What upstream asks for a pool with, as often as it can. */
typedef struct
{
  GstPad *upstream, *src;
  GstCaps *caps;
  gint stop;
} Asking;

static gpointer
ask_for_pools (gpointer user)
{
  Asking *asking = user;

  while (!g_atomic_int_get (&asking->stop)) {
    GstQuery *query = gst_query_new_allocation (asking->caps, TRUE);

    gst_pad_mark_reconfigure (asking->src);
    gst_pad_peer_query (asking->upstream, query);
    gst_query_unref (query);
  }
  return NULL;
}

/* Such queries reach a pad that is not active, and make the base class negotiate: what
 * stopping frees is not made anew, nor freed twice. */
static void
flight_stop_queried (void)
{
  static const char *const settings[] = { "sigma=1", "cudahisto interval=0",
    "cudahisto mode=equalize" };

  for (guint round = 0; round < 60; round++) {
    Flight *flight = flight_open (
        settings[round % G_N_ELEMENTS (settings)], "I420", 34, 18, NULL);
    GstElement *element = flight->filter.element;
    Asking asking = { flight->filter.harness->srcpad,
      gst_element_get_static_pad (element, "src"),
      video_caps ("I420", 34, 18, NULL), FALSE };
    gpointer result;
    char *active;
    Task *task;

    for (guint64 n = 0; n < 3; n++)
      flight_push (flight, n);
    task = task_start (ask_for_pools, &asking);
    g_usleep (round % 8 * 250);
    result = task_end (task_start (stop_half_way, element), "stopping");
    g_usleep (1000);
    g_atomic_int_set (&asking.stop, TRUE);
    task_end (task, "asking for pools");
    expect (GPOINTER_TO_INT (result) == GST_STATE_CHANGE_SUCCESS,
        "stopping failed");
    active = filter_get (&flight->filter, "active-backend");
    expect (
        g_str_equal (active, "none"), "stopped, it has the backend %s", active);
    g_free (active);
    gst_caps_unref (asking.caps);
    gst_object_unref (asking.src);
    flight_close (flight);
  }
}

const Test tests_flight_states[] = {
  { "flight-stop-paused", flight_stop_paused, VARIANT_BOTH },
  { "flight-stop-queried", flight_stop_queried, VARIANT_BOTH },
  { "flight-stop-blocked", flight_stop_blocked, VARIANT_BOTH },
  { 0 },
};
