/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames as fast as the element takes them, and one at a time. */
#include "bench-pipeline.h"

#include <stdio.h>
#include <string.h>

#include "pad-rig.h"

/* Input buffers: more than any ring-depth here. */
#define BUFFERS 12
#define MAX_FRAMES 20000
#define LONE_FRAMES 200
/* A lone frame's push comes when the last one is long through. */
#define LONE_PAUSE_US 300
#define TIMEOUT_US (20 * G_USEC_PER_SEC)

typedef struct
{
  const gchar *name, *format;
  gint width, height;
  gboolean in_quick;
} Picture;

static const Picture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, TRUE },
  { "1080p RGBA", "RGBA", 1920, 1080, FALSE },
  { "4K NV12", "NV12", 3840, 2160, TRUE },
  { "4K RGBA", "RGBA", 3840, 2160, FALSE },
  { "8K GRAY8", "GRAY8", 7680, 4320, FALSE },
};

typedef struct
{
  const gchar *name, *settings;
  gboolean foreign_in, foreign_out;
  gboolean on_cpu; /* makes a difference there */
  gboolean lone;   /* as does a lone frame's time */
} Variant;

static const Variant variants[] = {
  { "default", "", FALSE, FALSE, TRUE, TRUE },
  { "foreign-in", "", TRUE, FALSE, FALSE, TRUE },
  { "foreign-out", "", FALSE, TRUE, TRUE, TRUE },
  { "foreign-both", "", TRUE, TRUE, FALSE, FALSE },
  { "ring-depth=1", "ring-depth=1", FALSE, FALSE, TRUE, FALSE },
  { "ring-depth=2", "ring-depth=2", FALSE, FALSE, FALSE, FALSE },
  { "ring-depth=8", "ring-depth=8", FALSE, FALSE, FALSE, FALSE },
  { "slices=1", "slices=1", FALSE, FALSE, FALSE, TRUE },
  { "slices=4", "slices=4", FALSE, FALSE, FALSE, TRUE },
  { "slices=8", "slices=8", FALSE, FALSE, FALSE, TRUE },
  { "pinned", "transfer=pinned", FALSE, FALSE, FALSE, FALSE },
  { "mapped", "transfer=mapped", FALSE, FALSE, FALSE, TRUE },
  { "pageable", "transfer=pageable", FALSE, FALSE, FALSE, TRUE },
};

typedef struct
{
  PadRig rig;
  guint64 pushed;

  GMutex lock; /* protects all below, from the element's pusher */
  GCond arrived;
  guint count; /* frames that came out since reset() */
  gdouble *stamps;
} Course;

static GstFlowReturn
on_buffer (gpointer owner, GstBuffer *buffer)
{
  Course *course = owner;

  gst_buffer_unref (buffer);
  g_mutex_lock (&course->lock);
  if (course->count < MAX_FRAMES)
    course->stamps[course->count] = bench_now_ns ();
  course->count++;
  g_cond_signal (&course->arrived);
  g_mutex_unlock (&course->lock);
  return GST_FLOW_OK;
}

static void
reset (Course *course)
{
  g_mutex_lock (&course->lock);
  course->count = 0;
  g_mutex_unlock (&course->lock);
}

static gboolean
wait_for_frames (Course *course, guint n)
{
  const gint64 end = g_get_monotonic_time () + TIMEOUT_US;
  gboolean ok = TRUE;

  g_mutex_lock (&course->lock);
  while (course->count < n && ok)
    ok = g_cond_wait_until (&course->arrived, &course->lock, end);
  g_mutex_unlock (&course->lock);
  return ok;
}

/* All buffers of the pool, full of noise that stays in them. */
static gboolean
fill_pool (Course *course)
{
  GstBuffer *buffer[BUFFERS] = { NULL };
  guint32 state = 1;
  gboolean ok = TRUE;

  for (gint i = 0; i < BUFFERS && ok; i++) {
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
  for (gint i = 0; i < BUFFERS; i++)
    gst_clear_buffer (&buffer[i]);
  return ok;
}

static gboolean
push_frame (Course *course)
{
  GstBuffer *buffer;

  if (gst_buffer_pool_acquire_buffer (course->rig.pool, &buffer, NULL)
      != GST_FLOW_OK)
    return FALSE;
  GST_BUFFER_PTS (buffer) = course->pushed++ * GST_SECOND / 30;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 30;
  return gst_pad_push (course->rig.source, buffer) == GST_FLOW_OK;
}

static gboolean
push_frames (Course *course, guint n)
{
  reset (course);
  for (guint i = 0; i < n; i++)
    if (!push_frame (course))
      return FALSE;
  return wait_for_frames (course, n);
}

static gboolean
open_course (Course *course, const gchar *backend, const Picture *picture,
    const Variant *variant)
{
  static const PadRigSink handle = { .chain = on_buffer };
  gchar *settings =
      g_strdup_printf ("backend=%s %s", backend, variant->settings);
  GstCaps *caps =
      pad_rig_caps (picture->format, picture->width, picture->height);
  gboolean ok =
      pad_rig_init (&course->rig, "cudasepconv", settings, &handle, course);

  if (ok) {
    course->rig.foreign_in = variant->foreign_in;
    course->rig.foreign_out = variant->foreign_out;
    ok = pad_rig_start (&course->rig)
        && gst_pad_push_event (
            course->rig.source, gst_event_new_stream_start ("bench"))
        && pad_rig_set_caps (&course->rig, caps, BUFFERS)
        && gst_pad_push_event (course->rig.source, pad_rig_segment ())
        && fill_pool (course);
  }
  gst_caps_unref (caps);
  g_free (settings);
  return ok;
}

/* Frames a stream takes about `seconds` for, from the time of a few. */
static gboolean
choose_length (
    Course *course, gboolean cpu, gdouble seconds, guint trim, guint *n)
{
  const guint warm = cpu ? 4 : 32;
  gdouble start;

  if (!push_frames (course, cpu ? 1 : 16))
    return FALSE;
  start = bench_now_ns ();
  if (!push_frames (course, warm))
    return FALSE;
  *n = (guint) CLAMP (seconds * 1e9 * warm / (bench_now_ns () - start),
      2 * trim + 10, MAX_FRAMES);
  return TRUE;
}

static gboolean
measure_stream (Course *course, gboolean cpu, gdouble seconds,
    BenchSpread *interval, BenchUsage *each)
{
  const guint trim = cpu ? 1 : 16;
  BenchUsage before, after;
  guint n;

  if (!choose_length (course, cpu, seconds, trim, &n))
    return FALSE;
  before = bench_usage ();
  if (!push_frames (course, n))
    return FALSE;
  after = bench_usage ();
  *interval = bench_interval (course->stamps, (gint) n, (gint) trim);
  each->cpu_ns = (after.cpu_ns - before.cpu_ns) / n;
  each->voluntary_switches =
      (after.voluntary_switches - before.voluntary_switches) / n;
  return TRUE;
}

static gboolean
measure_lone (Course *course, guint n, BenchSpread *latency)
{
  gdouble sample[LONE_FRAMES];

  for (guint i = 0; i < n; i++) {
    gdouble start;

    reset (course);
    g_usleep (LONE_PAUSE_US);
    start = bench_now_ns ();
    if (!push_frame (course) || !wait_for_frames (course, 1))
      return FALSE;
    sample[i] = course->stamps[0] - start;
  }
  *latency = bench_spread (sample, (gint) n);
  return TRUE;
}

static void
print_row (const PipelineBench *bench, const Course *course,
    const Variant *variant, BenchSpread interval, BenchUsage each,
    const BenchSpread *latency)
{
  const gdouble bytes = (gdouble) GST_VIDEO_INFO_SIZE (&course->rig.info);
  const gdouble bound = link_file_bound_ns (&bench->link, bytes);
  const gdouble series = link_file_series_ns (&bench->link, bytes);

  printf ("  %-13s %9.1f  %8.4f (%8.4f .. %8.4f)  %8.1f  %6.2f", variant->name,
      1e9 / interval.median, interval.median / 1e6, interval.min / 1e6,
      interval.max / 1e6, each.cpu_ns / 1e3, each.voluntary_switches);
  if (bound > 0.0)
    printf ("  %6.3f", bound / interval.median);
  else
    printf ("  %6s", "-");
  if (latency != NULL)
    printf ("  %9.1f (%.1f ..)", latency->median / 1e3, latency->min / 1e3);
  if (latency != NULL && series > 0.0)
    printf ("  %.3f", latency->median / series);
  printf ("%s\n",
      variant->foreign_in || course->rig.proposed ? "" : "  no pool offered");
  fflush (stdout);
}

static void
write_row (PipelineBench *bench, const gchar *backend, const Picture *picture,
    const Course *course, const Variant *variant, BenchSpread interval,
    BenchUsage each, const BenchSpread *latency)
{
  const gdouble bytes = (gdouble) GST_VIDEO_INFO_SIZE (&course->rig.info);
  BenchJson *json = bench->json;

  bench_json_object (json, NULL);
  bench_json_string (json, "part", "throughput");
  bench_json_string (json, "backend", backend);
  bench_json_string (json, "frame", picture->name);
  bench_json_string (json, "variant", variant->name);
  bench_json_number (json, "ms", interval.median / 1e6);
  bench_json_number (json, "ms_min", interval.min / 1e6);
  bench_json_number (json, "ms_max", interval.max / 1e6);
  bench_json_number (json, "cpu_us", each.cpu_ns / 1e3);
  bench_json_number (json, "voluntary_switches", each.voluntary_switches);
  bench_json_number (json, "of_duplex",
      link_file_bound_ns (&bench->link, bytes) / interval.median);
  if (latency != NULL) {
    const gdouble series = link_file_series_ns (&bench->link, bytes);

    bench_json_number (json, "lone_us", latency->median / 1e3);
    bench_json_number (json, "lone_us_min", latency->min / 1e3);
    bench_json_number (json, "lone_us_max", latency->max / 1e3);
    if (series > 0.0)
      bench_json_number (json, "of_series", latency->median / series);
  }
  bench_json_end (json);
}

static gboolean
run_variant (PipelineBench *bench, const gchar *backend, const Picture *picture,
    const Variant *variant, Course *course)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  const guint lone_frames = cpu ? 7 : bench->quick ? 40 : LONE_FRAMES;
  BenchSpread interval, latency;
  BenchUsage each;

  if (!open_course (course, backend, picture, variant)
      || !measure_stream (
          course, cpu, bench->quick ? 0.1 : 0.4, &interval, &each)
      || (variant->lone && !measure_lone (course, lone_frames, &latency)))
    return FALSE;
  print_row (
      bench, course, variant, interval, each, variant->lone ? &latency : NULL);
  write_row (bench, backend, picture, course, variant, interval, each,
      variant->lone ? &latency : NULL);
  return TRUE;
}

static gboolean
try_variant (PipelineBench *bench, const gchar *backend, const Picture *picture,
    const Variant *variant)
{
  Course course = { .pushed = 0 };
  gboolean ok;

  g_mutex_init (&course.lock);
  g_cond_init (&course.arrived);
  course.stamps = g_new (gdouble, MAX_FRAMES);
  ok = run_variant (bench, backend, picture, variant, &course);
  if (!ok) {
    gchar *error = course.rig.element ? pad_rig_take_error (&course.rig) : NULL;

    bench_fail (bench, picture->name, "%s, %s: %s", backend, variant->name,
        error ? error : "frames do not come through");
    g_free (error);
  }
  if (course.rig.element != NULL)
    pad_rig_clear (&course.rig);
  g_free (course.stamps);
  g_cond_clear (&course.arrived);
  g_mutex_clear (&course.lock);
  return ok;
}

void
bench_throughput (PipelineBench *bench, const gchar *backend)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;

  for (guint p = 0; p < G_N_ELEMENTS (pictures); p++) {
    const Picture *picture = &pictures[p];
    gchar *name = g_strdup_printf ("throughput/%s/%s", backend, picture->name);
    gboolean ok = TRUE;

    if (!bench->quick || picture->in_quick) {
      printf ("\n%s, backend=%s\n", picture->name, backend);
      printf ("  %-13s %9s  %30s  %8s  %6s  %6s  %s\n", "variant", "frames/s",
          "ms a frame (min .. max)", "CPU us", "waits", "of link",
          "lone us, of series");
      for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
        if (!cpu || variants[v].on_cpu)
          ok = try_variant (bench, backend, picture, &variants[v]) && ok;
      if (ok)
        bench_pass (bench, name);
    }
    g_free (name);
  }
}
