/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stopping with frames in flight: nothing hangs or leaks. And the thread that pushes the
 * frames. */
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

/* In a paused pipeline the sink holds its first frame, the filter is full, and the source
 * waits in it. */
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

/* Only the filter is stopped, while its source pad is blocked and upstream waits in the
 * filter. */
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

/* An allocation query that upstream sends as often as it can. */
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

/* Such queries reach a pad that is not active, and make the base class negotiate: resources
 * that stopping frees must not be made anew or freed twice. */
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

/* ---- the pusher's thread --------------------------------------------------- */

/* A pool as an application may have one, of threads that it has made itself. */
typedef struct
{
  GstTaskPool parent;
  gint threads;
} OwnTaskPool;
typedef GstTaskPoolClass OwnTaskPoolClass;

static GType own_task_pool_get_type (void);
G_DEFINE_TYPE (OwnTaskPool, own_task_pool, GST_TYPE_TASK_POOL)

typedef struct
{
  GstTaskPoolFunction run;
  gpointer user;
} OwnTask;

static gpointer
run_own_task (gpointer user)
{
  OwnTask task = *(OwnTask *) user;

  g_free (user);
  task.run (task.user);
  return NULL;
}

static void
own_task_pool_prepare (GstTaskPool *pool, GError **error)
{
  (void) pool;
  (void) error;
}

static void
own_task_pool_cleanup (GstTaskPool *pool)
{
  (void) pool;
}

static gpointer
own_task_pool_push (
    GstTaskPool *pool, GstTaskPoolFunction run, gpointer user, GError **error)
{
  OwnTask *task = g_new (OwnTask, 1);

  (void) error;
  *task = (OwnTask){ run, user };
  g_atomic_int_inc (&((OwnTaskPool *) pool)->threads);
  return g_thread_new ("own", run_own_task, task);
}

static void
own_task_pool_join (GstTaskPool *pool, gpointer id)
{
  (void) pool;
  g_thread_join (id);
}

static void
own_task_pool_init (OwnTaskPool *self)
{
  (void) self;
}

static void
own_task_pool_class_init (OwnTaskPoolClass *klass)
{
  klass->prepare = own_task_pool_prepare;
  klass->cleanup = own_task_pool_cleanup;
  klass->push = own_task_pool_push;
  klass->join = own_task_pool_join;
}

typedef struct
{
  GstPad *src;
  GstElement *element;
  GstTaskPool *pool; /* for the pushing thread, or NULL */
  gint created, entered, left, strange;
  GThread *thread; /* atomic: the thread that entered */
  GThread *pushed; /* atomic: the thread of the last buffer */
} Pusher;

/* On the posting thread, where an application can give that thread a priority. */
static GstBusSyncReply
watch_pusher (GstBus *bus, GstMessage *message, gpointer user)
{
  Pusher *pusher = user;
  GstStreamStatusType type;
  GstElement *owner;
  const GValue *object;

  (void) bus;
  if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_STREAM_STATUS
      || GST_MESSAGE_SRC (message) != GST_OBJECT (pusher->src))
    return GST_BUS_PASS;
  gst_message_parse_stream_status (message, &type, &owner);
  object = gst_message_get_stream_status_object (message);
  if (owner != pusher->element || object == NULL
      || !G_VALUE_HOLDS (object, GST_TYPE_TASK))
    g_atomic_int_inc (&pusher->strange);
  switch (type) {
    case GST_STREAM_STATUS_TYPE_CREATE:
      g_atomic_int_inc (&pusher->created);
      if (pusher->pool != NULL)
        gst_task_set_pool (g_value_get_object (object), pusher->pool);
      break;
    case GST_STREAM_STATUS_TYPE_ENTER:
      g_atomic_int_inc (&pusher->entered);
      g_atomic_pointer_set (&pusher->thread, g_thread_self ());
      break;
    case GST_STREAM_STATUS_TYPE_LEAVE:
      g_atomic_int_inc (&pusher->left);
      break;
    default:
      g_atomic_int_inc (&pusher->strange);
  }
  return GST_BUS_PASS;
}

static GstPadProbeReturn
note_thread (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) probe;
  g_atomic_pointer_set (&((Pusher *) user)->pushed, g_thread_self ());
  return GST_PAD_PROBE_OK;
}

/* The pushing thread is announced when it is made, on itself when it begins, and when it
 * ends, so that an application can give it a pool, a priority or an affinity. */
static void
flight_thread_is_announced (void)
{
  static const char *const settings[] = { "sigma=1", "cudahisto interval=0" };

  for (guint round = 0; round < 4; round++) {
    OwnTaskPool *pool =
        round < 2 ? NULL : g_object_new (own_task_pool_get_type (), NULL);
    Pusher pusher = { .pool = (GstTaskPool *) pool };
    GstVideoInfo info;
    Filter filter;

    test_context ("settings=%s, %s pool", settings[round % 2],
        pool == NULL ? "the default" : "an own");
    filter_make (&filter, settings[round % 2]);
    pusher.element = filter.element;
    pusher.src = gst_element_get_static_pad (filter.element, "src");
    gst_pad_add_probe (
        pusher.src, GST_PAD_PROBE_TYPE_BUFFER, note_thread, &pusher, NULL);
    gst_bus_set_sync_handler (filter.bus, watch_pusher, &pusher, NULL);
    filter_plug (&filter);
    for (gint run = 1; run <= 3; run++) {
      if (run > 1)
        filter_restart (&filter);
      expect (filter_caps (&filter, video_caps ("NV12", 32, 18, NULL)),
          "caps refused");
      video_info (&info, "NV12", 32, 18, NULL);
      gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
      expect (g_atomic_int_get (&pusher.created) == run
              && g_atomic_int_get (&pusher.entered) == run
              && g_atomic_int_get (&pusher.left) == run - 1
              && g_atomic_int_get (&pusher.strange) == 0,
          "run %d: %d created, %d entered, %d left, %d strange", run,
          pusher.created, pusher.entered, pusher.left, pusher.strange);
      expect (g_atomic_pointer_get (&pusher.pushed)
              == g_atomic_pointer_get (&pusher.thread),
          "run %d: another thread pushed", run);
      expect (pool == NULL || g_atomic_int_get (&pool->threads) == run,
          "run %d: %d threads of the pool", run, pool ? pool->threads : 0);
    }
    gst_element_set_state (filter.element, GST_STATE_NULL);
    expect (g_atomic_int_get (&pusher.left) == 3, "%d left", pusher.left);
    gst_bus_set_sync_handler (filter.bus, NULL, NULL, NULL);
    gst_object_unref (pusher.src);
    filter_close (&filter);
    g_clear_object (&pool);
  }
}

const Test tests_flight_states[] = {
  { "flight-stop-paused", flight_stop_paused, VARIANT_BOTH },
  { "flight-stop-queried", flight_stop_queried, VARIANT_BOTH },
  { "flight-thread-is-announced", flight_thread_is_announced, VARIANT_BOTH },
  { "flight-stop-blocked", flight_stop_blocked, VARIANT_BOTH },
  { 0 },
};
