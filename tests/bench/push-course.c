/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "push-course.h"

#include <string.h>

#define TIMEOUT_US (20 * G_USEC_PER_SEC)

static GstFlowReturn
on_buffer (gpointer owner, GstBuffer *buffer)
{
  PushCourse *course = owner;
  const gdouble now = bench_now_ns ();

  /* Before the lock and after the time stamp: releasing a buffer takes microseconds. */
  gst_buffer_unref (buffer);
  g_mutex_lock (&course->lock);
  if (course->count < PUSH_COURSE_MAX_FRAMES)
    course->stamps[course->count] = now;
  course->count++;
  course->total++;
  /* Signalling costs a system call even if nobody waits. */
  if (course->count == course->awaited)
    g_cond_signal (&course->arrived);
  g_mutex_unlock (&course->lock);
  return GST_FLOW_OK;
}

static void
reset (PushCourse *course, guint n)
{
  g_mutex_lock (&course->lock);
  course->count = 0;
  course->awaited = n;
  g_mutex_unlock (&course->lock);
}

static gboolean
wait_for_frames (PushCourse *course)
{
  const gint64 end = g_get_monotonic_time () + TIMEOUT_US;
  gboolean ok = TRUE;

  g_mutex_lock (&course->lock);
  while (course->count < course->awaited && ok)
    ok = g_cond_wait_until (&course->arrived, &course->lock, end);
  g_mutex_unlock (&course->lock);
  return ok;
}

static gboolean
fill_pool (PushCourse *course)
{
  GstBuffer *buffer[PUSH_COURSE_BUFFERS] = { NULL };
  guint32 state = 1;
  gboolean ok = TRUE;

  for (gint i = 0; i < PUSH_COURSE_BUFFERS && ok; i++) {
    GstMapInfo map;

    ok = gst_buffer_pool_acquire_buffer (course->rig.pool, &buffer[i], NULL)
            == GST_FLOW_OK
        && gst_buffer_map (buffer[i], &map, GST_MAP_WRITE);
    for (gsize k = 0; ok && k + 4 <= map.size; k += 4) {
      state = state * 1664525u + 1013904223u;
      memcpy (map.data + k, &state, sizeof state);
    }
    if (ok)
      gst_buffer_unmap (buffer[i], &map);
  }
  for (gint i = 0; i < PUSH_COURSE_BUFFERS; i++)
    gst_clear_buffer (&buffer[i]);
  return ok;
}

/* Timestamps are those of a live source, so that work that is done by interval is done
 * as often as for one. */
static gboolean
push_frame (PushCourse *course)
{
  GstBuffer *buffer, *held = NULL;
  GstFlowReturn flow;

  if (gst_buffer_pool_acquire_buffer (course->rig.pool, &buffer, NULL)
      != GST_FLOW_OK)
    return FALSE;
  if (course->dress != NULL)
    course->dress (buffer, course->dressed++, course->dress_data);
  course->pushed_ns = bench_now_ns ();
  GST_BUFFER_PTS (buffer) =
      (GstClockTime) (course->pushed_ns - course->start_ns);
  if (course->holds)
    held = gst_buffer_ref (buffer);
  flow = gst_pad_push (course->rig.source, buffer);
  gst_clear_buffer (&held);
  return flow == GST_FLOW_OK;
}

gboolean
push_course_push (PushCourse *course, guint n)
{
  reset (course, n);
  for (guint i = 0; i < n; i++)
    if (!push_frame (course))
      return FALSE;
  return wait_for_frames (course);
}

gboolean
push_course_push_until (PushCourse *course, gdouble end_ns)
{
  guint n = 0;

  reset (course, G_MAXUINT);
  for (; bench_now_ns () < end_ns; n++)
    if (!push_frame (course))
      return FALSE;
  g_mutex_lock (&course->lock);
  course->awaited = n;
  g_mutex_unlock (&course->lock);
  return wait_for_frames (course);
}

guint
push_course_count (PushCourse *course)
{
  guint count;

  g_mutex_lock (&course->lock);
  count = course->total;
  g_mutex_unlock (&course->lock);
  return count;
}

gboolean
push_course_push_live (
    PushCourse *course, gdouble first_ns, gdouble period_ns, guint n)
{
  reset (course, n);
  for (guint i = 0; i < n; i++) {
    bench_sleep_until (first_ns + i * period_ns);
    if (!push_frame (course))
      return FALSE;
  }
  return wait_for_frames (course);
}

static gboolean
push_lone (PushCourse *course, gdouble *ns)
{
  if (!push_course_push (course, 1))
    return FALSE;
  *ns = course->stamps[0] - course->pushed_ns;
  return TRUE;
}

gboolean
push_course_measure_lone (PushCourse *course, guint n, BenchSpread *latency)
{
  gdouble sample[PUSH_COURSE_MAX_LONE];

  for (guint i = 0; i < n; i++) {
    g_usleep (BENCH_LONE_PAUSE_US);
    if (!push_lone (course, &sample[i]))
      return FALSE;
  }
  *latency = bench_spread (sample, (gint) n);
  return TRUE;
}

gboolean
push_course_init (PushCourse *course, const gchar *settings)
{
  static const PadRigSink handle = { .chain = on_buffer };

  memset (course, 0, sizeof *course);
  g_mutex_init (&course->lock);
  g_cond_init (&course->arrived);
  course->stamps = g_new (gdouble, PUSH_COURSE_MAX_FRAMES);
  course->start_ns = bench_now_ns ();
  return pad_rig_init (&course->rig, "cudasepconv", settings, &handle, course);
}

void
push_course_clear (PushCourse *course)
{
  if (course->rig.element != NULL)
    pad_rig_clear (&course->rig);
  g_free (course->stamps);
  g_cond_clear (&course->arrived);
  g_mutex_clear (&course->lock);
}

gchar *
push_course_take_error (PushCourse *course)
{
  gchar *error = course->rig.element ? pad_rig_take_error (&course->rig) : NULL;

  return error != NULL ? error : g_strdup ("frames do not come through");
}

gboolean
push_course_begin (PushCourse *course, GstCaps *caps)
{
  return gst_pad_push_event (
             course->rig.source, gst_event_new_stream_start ("bench"))
      && pad_rig_set_caps (&course->rig, caps, PUSH_COURSE_BUFFERS)
      && gst_pad_push_event (course->rig.source, pad_rig_segment ())
      && fill_pool (course);
}

/* Chooses the number of frames that take about `seconds`, from the time of a few
 * frames. */
static gboolean
choose_length (
    PushCourse *course, gboolean cpu, gdouble seconds, guint trim, guint *n)
{
  const guint warm = cpu ? 4 : 32;
  gdouble start;

  if (!push_course_push (course, cpu ? 1 : 16))
    return FALSE;
  start = bench_now_ns ();
  if (!push_course_push (course, warm))
    return FALSE;
  *n = (guint) CLAMP (seconds * 1e9 * warm / (bench_now_ns () - start),
      2 * trim + 10, PUSH_COURSE_MAX_FRAMES);
  return TRUE;
}

gboolean
push_course_measure (PushCourse *course, gboolean cpu, gdouble seconds,
    BenchSpread *interval, BenchUsage *each)
{
  const guint trim = cpu ? 1 : 16;
  BenchUsage before, after;
  guint n;

  if (!choose_length (course, cpu, seconds, trim, &n))
    return FALSE;
  before = bench_usage ();
  if (!push_course_push (course, n))
    return FALSE;
  after = bench_usage ();
  *interval = bench_interval (course->stamps, (gint) n, (gint) trim);
  each->cpu_ns = (after.cpu_ns - before.cpu_ns) / n;
  each->voluntary_switches =
      (after.voluntary_switches - before.voluntary_switches) / n;
  return TRUE;
}
