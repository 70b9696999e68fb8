/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flight-fixture.h"

#include <string.h>

struct Task
{
  GMutex lock; /* protects the rest, from both threads */
  GCond changed;
  gpointer (*run) (gpointer);
  gpointer user, result;
  gboolean done;
  GThread *thread;
};

static gint64
deadline (void)
{
  return g_get_monotonic_time () + FLIGHT_SECONDS * G_TIME_SPAN_SECOND;
}

/* ---- the sink ------------------------------------------------------------ */

static GstPadProbeReturn
receive_frame (Flight *flight, GstPadProbeInfo *probe)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (probe);
  GstFlowReturn flow;
  gulong delay = 0;

  g_mutex_lock (&flight->lock);
  g_string_append_printf (
      flight->log, "%" G_GUINT64_FORMAT " ", GST_BUFFER_OFFSET (buffer));
  flight->arrived++;
  flight->waiting = flight->held;
  g_cond_broadcast (&flight->changed);
  while (flight->held && !flight->flushing)
    g_cond_wait (&flight->changed, &flight->lock);
  flight->waiting = FALSE;
  flow = flight->flushing                                 ? GST_FLOW_FLUSHING
      : GST_BUFFER_OFFSET (buffer) >= flight->answer_from ? flight->answer
                                                          : GST_FLOW_OK;
  if (flight->jitter > 0)
    delay =
        (gulong) g_rand_int_range (flight->random, 0, (gint32) flight->jitter);
  g_mutex_unlock (&flight->lock);

  if (delay > 0)
    g_usleep (delay);
  if (flow == GST_FLOW_OK)
    return GST_PAD_PROBE_OK;
  gst_buffer_unref (buffer);
  GST_PAD_PROBE_INFO_DATA (probe) = NULL;
  GST_PAD_PROBE_INFO_FLOW_RETURN (probe) = flow;
  return GST_PAD_PROBE_HANDLED;
}

static const char *
event_name (GstEvent *event)
{
  const GstStructure *structure = gst_event_get_structure (event);

  return GST_EVENT_TYPE (event) >= GST_EVENT_CUSTOM_UPSTREAM && structure
      ? gst_structure_get_name (structure)
      : GST_EVENT_TYPE_NAME (event);
}

static GstPadProbeReturn
on_event (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (probe);
  Flight *flight = user;

  (void) pad;
  g_mutex_lock (&flight->lock);
  g_string_append_printf (flight->log, "%s ", event_name (event));
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START)
    flight->flushing = TRUE;
  else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    flight->flushing = FALSE;
  g_cond_broadcast (&flight->changed);
  g_mutex_unlock (&flight->lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
on_frame (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  return receive_frame (user, probe);
}

static GstPadProbeReturn
on_query (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (probe);
  const GstStructure *structure = gst_query_get_structure (query);
  Flight *flight = user;

  (void) pad;
  if (!GST_QUERY_IS_SERIALIZED (query))
    return GST_PAD_PROBE_OK;
  g_mutex_lock (&flight->lock);
  g_string_append_printf (flight->log, "%s ",
      GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION
              || GST_QUERY_TYPE (query) == GST_QUERY_DRAIN
          ? GST_QUERY_TYPE_NAME (query)
          : gst_structure_get_name (structure));
  g_mutex_unlock (&flight->lock);
  return GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION ? GST_PAD_PROBE_OK
                                                        : GST_PAD_PROBE_HANDLED;
}

void
flight_hold (Flight *flight)
{
  g_mutex_lock (&flight->lock);
  flight->held = TRUE;
  g_mutex_unlock (&flight->lock);
}

void
flight_let_go (Flight *flight)
{
  g_mutex_lock (&flight->lock);
  flight->held = FALSE;
  g_cond_broadcast (&flight->changed);
  g_mutex_unlock (&flight->lock);
}

void
flight_set_jitter (Flight *flight, guint jitter, guint32 seed)
{
  g_mutex_lock (&flight->lock);
  flight->jitter = jitter;
  g_rand_set_seed (flight->random, seed);
  g_mutex_unlock (&flight->lock);
}

void
flight_answer (Flight *flight, guint64 from, GstFlowReturn answer)
{
  g_mutex_lock (&flight->lock);
  flight->answer = answer;
  flight->answer_from = from;
  g_mutex_unlock (&flight->lock);
}

void
flight_await_held (Flight *flight)
{
  const gint64 end = deadline ();
  gboolean waiting;

  g_mutex_lock (&flight->lock);
  while (!flight->waiting
      && g_cond_wait_until (&flight->changed, &flight->lock, end))
    continue;
  waiting = flight->waiting;
  g_mutex_unlock (&flight->lock);
  expect (waiting, "no frame reached the sink in %d s", FLIGHT_SECONDS);
}

void
flight_await (Flight *flight, guint n)
{
  const gint64 end = deadline ();
  guint arrived;

  g_mutex_lock (&flight->lock);
  while (flight->arrived < n
      && g_cond_wait_until (&flight->changed, &flight->lock, end))
    continue;
  arrived = flight->arrived;
  g_mutex_unlock (&flight->lock);
  expect (arrived >= n, "%u frames instead of %u reached the sink in %d s",
      arrived, n, FLIGHT_SECONDS);
}

void
flight_await_flag (gint *flag, const char *what)
{
  const gint64 end = deadline ();

  while (!g_atomic_int_get (flag) && g_get_monotonic_time () < end)
    g_usleep (100);
  expect (g_atomic_int_get (flag), "%s", what);
}

void
flight_clear_log (Flight *flight)
{
  g_mutex_lock (&flight->lock);
  g_string_truncate (flight->log, 0);
  g_mutex_unlock (&flight->lock);
}

void
flight_expect_log (Flight *flight, const char *want)
{
  const gint64 end = deadline ();
  char *log;

  g_mutex_lock (&flight->lock);
  /* Events among frames arrive only when it is their turn. */
  while (strlen (flight->log->str) < strlen (want)
      && g_cond_wait_until (&flight->changed, &flight->lock, end))
    continue;
  log = g_strchomp (g_strdup (flight->log->str));
  g_string_truncate (flight->log, 0);
  g_mutex_unlock (&flight->lock);
  expect (g_str_equal (log, want), "the sink saw \"%s\" instead of \"%s\"", log,
      want);
  g_free (log);
}

/* ---- the filter ---------------------------------------------------------- */

Flight *
flight_open (const char *settings, const char *format, int width, int height,
    const char *more)
{
  Flight *flight = g_new0 (Flight, 1);

  test_context ("format=%s size=%dx%d caps=%s settings=%.400s", format, width,
      height, more ? more : "-", settings);
  g_mutex_init (&flight->lock);
  g_cond_init (&flight->changed);
  flight->log = g_string_new (NULL);
  flight->random = g_rand_new_with_seed (1);
  flight->answer_from = G_MAXUINT64;
  video_info (&flight->info, format, width, height, more);
  filter_open (&flight->filter, settings);
  gst_pad_add_probe (flight->filter.harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER,
      on_frame, flight, NULL);
  gst_pad_add_probe (flight->filter.harness->sinkpad,
      GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
      on_event, flight, NULL);
  gst_pad_add_probe (flight->filter.harness->sinkpad,
      GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH, on_query,
      flight, NULL);
  expect (
      filter_caps (&flight->filter, video_caps (format, width, height, more)),
      "caps refused");
  flight_clear_log (flight);
  return flight;
}

void
flight_close (Flight *flight)
{
  flight_let_go (flight);
  filter_close (&flight->filter);
  g_rand_free (flight->random);
  g_string_free (flight->log, TRUE);
  g_cond_clear (&flight->changed);
  g_mutex_clear (&flight->lock);
  g_free (flight);
}

GstBuffer *
flight_frame (const Flight *flight, guint64 number)
{
  GstBuffer *buffer = picture_new (&flight->info, (guint32) number);

  GST_BUFFER_OFFSET (buffer) = number;
  GST_BUFFER_OFFSET_END (buffer) = number + 1;
  GST_BUFFER_PTS (buffer) = number * GST_SECOND / 30;
  GST_BUFFER_DTS (buffer) = number * GST_SECOND / 30 + 1;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 30 + number;
  return buffer;
}

GstBufferPool *
flight_pool (Flight *flight)
{
  GstCaps *caps = gst_video_info_to_caps (&flight->info);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;
  GstStructure *config;
  guint size, least, most;

  expect (gst_pad_peer_query (flight->filter.harness->srcpad, query),
      "the allocation query fails");
  expect (gst_query_get_n_allocation_pools (query) > 0, "no pool is offered");
  expect (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL),
      "GstVideoMeta is not offered");
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, &most);
  expect (pool != NULL && size >= flight->info.size,
      "a pool of %u bytes is offered", size);
  expect (most == 0 || most > 4, "a pool of only %u is offered", most);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, least, most);
  expect (gst_buffer_pool_set_config (pool, config)
          && gst_buffer_pool_set_active (pool, TRUE),
      "the pool cannot be used");
  gst_query_unref (query);
  gst_caps_unref (caps);
  return pool;
}

/* Copies whole rows: gst_video_frame_copy() omits the last V of YUY2 with odd width. */
static void
copy_rows (const GstVideoFrame *to, const GstVideoFrame *from)
{
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (from); p++) {
    const int a = GST_VIDEO_FRAME_PLANE_STRIDE (to, p);
    const int b = GST_VIDEO_FRAME_PLANE_STRIDE (from, p);
    gint component[GST_VIDEO_MAX_COMPONENTS];

    gst_video_format_info_component (from->info.finfo, p, component);
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (from, component[0]); y++)
      memcpy ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (to, p) + y * a,
          (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (from, p) + y * b,
          (gsize) MIN (a, b));
  }
}

GstBuffer *
flight_frame_in (Flight *flight, GstBufferPool *pool, guint64 number)
{
  GstBuffer *picture = flight_frame (flight, number), *in = NULL;
  GstVideoFrame from, to;

  expect (gst_buffer_pool_acquire_buffer (pool, &in, NULL) == GST_FLOW_OK,
      "no buffer from the pool");
  gst_buffer_copy_into (in, picture, GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  GST_BUFFER_OFFSET (in) = number;
  GST_BUFFER_OFFSET_END (in) = number + 1;
  expect (gst_video_frame_map (&from, &flight->info, picture, GST_MAP_READ)
          && gst_video_frame_map (&to, &flight->info, in, GST_MAP_WRITE),
      "a frame cannot be mapped");
  copy_rows (&to, &from);
  gst_video_frame_unmap (&to);
  gst_video_frame_unmap (&from);
  gst_buffer_unref (picture);
  return in;
}

GstFlowReturn
flight_try_push (Flight *flight, guint64 number)
{
  return gst_harness_push (
      flight->filter.harness, flight_frame (flight, number));
}

void
flight_push (Flight *flight, guint64 number)
{
  const GstFlowReturn flow = flight_try_push (flight, number);

  expect (flow == GST_FLOW_OK, "pushing frame %" G_GUINT64_FORMAT " gave %s",
      number, gst_flow_get_name (flow));
}

GstBuffer *
flight_pull (Flight *flight)
{
  const gint64 end = deadline ();
  GstBuffer *out;

  /* A frame is counted a moment before it can be pulled. */
  while ((out = gst_harness_try_pull (flight->filter.harness)) == NULL
      && g_get_monotonic_time () < end) {
    g_mutex_lock (&flight->lock);
    g_cond_wait_until (&flight->changed, &flight->lock,
        g_get_monotonic_time () + G_TIME_SPAN_MILLISECOND / 2);
    g_mutex_unlock (&flight->lock);
  }
  expect (out != NULL, "no frame came out in %d s", FLIGHT_SECONDS);
  return out;
}

void
flight_expect (Flight *flight, guint64 number, const char *settings)
{
  GstBuffer *out = flight_pull (flight), *in = flight_frame (flight, number);

  expect (GST_BUFFER_OFFSET (out) == number,
      "frame %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT,
      GST_BUFFER_OFFSET (out), number);
  expect (GST_BUFFER_PTS (out) == GST_BUFFER_PTS (in)
          && GST_BUFFER_DTS (out) == GST_BUFFER_DTS (in)
          && GST_BUFFER_DURATION (out) == GST_BUFFER_DURATION (in)
          && GST_BUFFER_OFFSET_END (out) == GST_BUFFER_OFFSET_END (in),
      "frame %" G_GUINT64_FORMAT " has another's times: %" GST_PTR_FORMAT,
      number, (gpointer) out);
  picture_expect (in, out, &flight->info, settings,
      GST_VIDEO_INFO_INTERLACE_MODE (&flight->info)
          == GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

void
flight_send (Flight *flight, GstEvent *event)
{
  gst_harness_push_event (flight->filter.harness, event);
}

void
flight_send_segment (Flight *flight)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  flight_send (flight, gst_event_new_segment (&segment));
}

void
flight_flush (Flight *flight)
{
  flight_send (flight, gst_event_new_flush_start ());
  flight_send (flight, gst_event_new_flush_stop (TRUE));
  flight_send_segment (flight);
}

guint64
flight_count (const Flight *flight, const char *stat)
{
  return element_count (flight->filter.element, stat);
}

guint
flight_peak (const Flight *flight)
{
  GstStructure *stats = element_stats (flight->filter.element);
  guint value = 0;

  expect (gst_structure_get_uint (stats, "in-flight-peak", &value),
      "no in-flight-peak");
  gst_structure_free (stats);
  return value;
}

/* ---- tasks --------------------------------------------------------------- */

static gpointer
run_task (gpointer data)
{
  Task *task = data;
  gpointer result = task->run (task->user);

  g_mutex_lock (&task->lock);
  task->result = result;
  task->done = TRUE;
  g_cond_broadcast (&task->changed);
  g_mutex_unlock (&task->lock);
  return NULL;
}

Task *
task_start (gpointer (*run) (gpointer), gpointer user)
{
  Task *task = g_new0 (Task, 1);

  g_mutex_init (&task->lock);
  g_cond_init (&task->changed);
  task->run = run;
  task->user = user;
  task->thread = g_thread_new ("task", run_task, task);
  return task;
}

gboolean
task_is_done (Task *task)
{
  gboolean done;

  g_mutex_lock (&task->lock);
  done = task->done;
  g_mutex_unlock (&task->lock);
  return done;
}

gpointer
task_end (Task *task, const char *what)
{
  const gint64 end = deadline ();
  gpointer result;
  gboolean done;

  g_mutex_lock (&task->lock);
  while (!task->done && g_cond_wait_until (&task->changed, &task->lock, end))
    continue;
  done = task->done;
  g_mutex_unlock (&task->lock);
  expect (done, "%s hangs for %d s", what, FLIGHT_SECONDS);
  g_thread_join (task->thread);
  result = task->result;
  g_cond_clear (&task->changed);
  g_mutex_clear (&task->lock);
  g_free (task);
  return result;
}

gpointer
push_frames (gpointer data)
{
  Pushes *pushes = data;
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint64 n = pushes->first; n < pushes->last; n++) {
    flow = flight_try_push (pushes->flight, n);
    if (flow != GST_FLOW_OK)
      break;
    g_atomic_int_inc (&pushes->pushed);
  }
  return GINT_TO_POINTER (flow);
}
