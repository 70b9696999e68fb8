/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Throughput of frames pushed without pause, and the latency of lone frames. */
#include "bench-pipeline.h"

#include <stdio.h>
#include <string.h>

#include "push-course.h"

#define LONE_FRAMES 200

static const BenchPicture pictures[] = {
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
  gboolean on_cpu; /* makes a difference on the CPU, too */
  gboolean lone;   /* makes a difference for lone frames, too */
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
  { "histogram", "histogram=true", FALSE, FALSE, TRUE, TRUE },
  { "all told of", "histogram=true histogram-interval=0", FALSE, FALSE, TRUE,
      FALSE },
};

static gboolean
open_course (PushCourse *course, const gchar *backend,
    const BenchPicture *picture, const Variant *variant)
{
  gchar *settings =
      g_strdup_printf ("backend=%s %s", backend, variant->settings);
  GstCaps *caps =
      pad_rig_caps (picture->format, picture->width, picture->height);
  gboolean ok = push_course_init (course, settings);

  if (ok) {
    course->rig.foreign_in = variant->foreign_in;
    course->rig.foreign_out = variant->foreign_out;
    ok = pad_rig_start (&course->rig) && push_course_begin (course, caps);
  }
  gst_caps_unref (caps);
  g_free (settings);
  return ok;
}

static void
print_row (const PipelineBench *bench, const PushCourse *course,
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
write_row (PipelineBench *bench, const gchar *backend,
    const BenchPicture *picture, const PushCourse *course,
    const Variant *variant, BenchSpread interval, BenchUsage each,
    const BenchSpread *latency)
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
run_variant (PipelineBench *bench, const gchar *backend,
    const BenchPicture *picture, const Variant *variant, PushCourse *course)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  const guint lone_frames = cpu ? 7 : bench->quick ? 40 : LONE_FRAMES;
  BenchSpread interval, latency;
  BenchUsage each;

  if (!open_course (course, backend, picture, variant)
      || !push_course_measure (
          course, cpu, bench->quick ? 0.1 : 0.4, &interval, &each)
      || (variant->lone
          && !push_course_measure_lone (course, lone_frames, &latency)))
    return FALSE;
  print_row (
      bench, course, variant, interval, each, variant->lone ? &latency : NULL);
  write_row (bench, backend, picture, course, variant, interval, each,
      variant->lone ? &latency : NULL);
  return TRUE;
}

static gboolean
try_variant (PipelineBench *bench, const gchar *backend,
    const BenchPicture *picture, const Variant *variant)
{
  PushCourse course;
  const gboolean ok = run_variant (bench, backend, picture, variant, &course);

  if (!ok) {
    gchar *error = push_course_take_error (&course);

    bench_fail (
        bench, picture->name, "%s, %s: %s", backend, variant->name, error);
    g_free (error);
  }
  push_course_clear (&course);
  return ok;
}

static void
run_picture (
    PipelineBench *bench, const gchar *backend, const BenchPicture *picture)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  gchar *name = g_strdup_printf ("throughput/%s/%s", backend, picture->name);
  gboolean ok = TRUE;

  printf ("\n%s, backend=%s\n", picture->name, backend);
  printf ("  %-13s %9s  %30s  %8s  %6s  %6s  %s\n", "variant", "frames/s",
      "ms a frame (min .. max)", "CPU us", "waits", "of link",
      "lone us, of series");
  for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
    if (!cpu || variants[v].on_cpu)
      ok = try_variant (bench, backend, picture, &variants[v]) && ok;
  if (ok)
    bench_pass (bench, name);
  g_free (name);
}

void
bench_throughput (PipelineBench *bench, const gchar *backend)
{
  bench_each_picture (
      bench, backend, pictures, G_N_ELEMENTS (pictures), run_picture);
}
