/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames of which small regions are covered: in the frames themselves, and, while somebody holds
 * those, in others; beside the filter of the whole frame. */
#include "bench-pipeline.h"

#include <stdio.h>
#include <string.h>

#include "push-course.h"

#define LONE_FRAMES 100

static const BenchPicture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, TRUE },
  { "4K NV12", "NV12", 3840, 2160, TRUE },
  { "4K RGBA", "RGBA", 3840, 2160, FALSE },
};

typedef struct
{
  const gchar *name, *settings;
  gint regions, width, height; /* pixels of each */
  gboolean holds, foreign;     /* input buffers */
} Variant;

#define FACES 8, 116, 108
#define MANY 50, 64, 64

static const Variant variants[] = {
  { "whole frame", "sigma=4", 0, 0, 0, FALSE, FALSE },
  { "blur, held", "sigma=4", FACES, TRUE, FALSE },
  { "blur", "sigma=4", FACES, FALSE, FALSE },
  { "blur, foreign", "sigma=4", FACES, FALSE, TRUE },
  { "strong blur", "roi-strength=0.25", FACES, FALSE, FALSE },
  { "pixelate", "roi-fill=pixelate roi-strength=0.25", FACES, FALSE, FALSE },
  { "solid, held", "roi-fill=solid", FACES, TRUE, FALSE },
  { "solid", "roi-fill=solid", FACES, FALSE, FALSE },
  { "blur of 50", "sigma=4", MANY, FALSE, FALSE },
  { "pixelate 50", "roi-fill=pixelate sigma=4", MANY, FALSE, FALSE },
  { "solid, 50", "roi-fill=solid", MANY, FALSE, FALSE },
};

/* As launch lines have them: the regions as zones, in rows of up to ten. */
static gchar *
make_settings (
    const gchar *backend, const BenchPicture *picture, const Variant *variant)
{
  GString *settings = g_string_new (NULL);
  const gint across = MIN (variant->regions, 10);

  g_string_printf (settings, "backend=%s %s", backend, variant->settings);
  for (gint i = 0; i < variant->regions; i++) {
    const gint down = (variant->regions + across - 1) / across;

    g_string_append_printf (settings, "%s<%.7f,%.7f,%.7f,%.7f>",
        i == 0 ? " roi-mode=inside zones=<" : ",",
        (gdouble) (i % across * (picture->width / across)) / picture->width,
        (gdouble) (i / across * (picture->height / down)) / picture->height,
        (gdouble) variant->width / picture->width,
        (gdouble) variant->height / picture->height);
  }
  if (variant->regions > 0)
    g_string_append_c (settings, '>');
  return g_string_free (settings, FALSE);
}

static gboolean
open_course (PushCourse *course, const gchar *backend,
    const BenchPicture *picture, const Variant *variant)
{
  gchar *settings = make_settings (backend, picture, variant);
  GstCaps *caps =
      pad_rig_caps (picture->format, picture->width, picture->height);
  gboolean ok = push_course_init (course, settings);

  if (ok) {
    course->holds = variant->holds;
    course->rig.foreign_in = variant->foreign;
    ok = pad_rig_start (&course->rig) && push_course_begin (course, caps);
  }
  gst_caps_unref (caps);
  g_free (settings);
  return ok;
}

static void
report (PipelineBench *bench, const gchar *backend, const BenchPicture *picture,
    const Variant *variant, BenchSpread interval, BenchUsage each,
    BenchSpread latency)
{
  BenchJson *json = bench->json;

  printf ("  %-14s %9.1f  %8.4f (%8.4f .. %8.4f)  %8.1f  %9.1f (%.1f ..)\n",
      variant->name, 1e9 / interval.median, interval.median / 1e6,
      interval.min / 1e6, interval.max / 1e6, each.cpu_ns / 1e3,
      latency.median / 1e3, latency.min / 1e3);
  fflush (stdout);
  bench_json_object (json, NULL);
  bench_json_string (json, "part", "regions");
  bench_json_string (json, "backend", backend);
  bench_json_string (json, "frame", picture->name);
  bench_json_string (json, "variant", variant->name);
  bench_json_number (json, "regions", variant->regions);
  bench_json_number (json, "region_width", variant->width);
  bench_json_number (json, "region_height", variant->height);
  bench_json_number (json, "ms", interval.median / 1e6);
  bench_json_number (json, "ms_min", interval.min / 1e6);
  bench_json_number (json, "ms_max", interval.max / 1e6);
  bench_json_number (json, "cpu_us", each.cpu_ns / 1e3);
  bench_json_number (json, "lone_us", latency.median / 1e3);
  bench_json_number (json, "lone_us_min", latency.min / 1e3);
  bench_json_number (json, "lone_us_max", latency.max / 1e3);
  bench_json_end (json);
}

static gboolean
run_variant (PipelineBench *bench, const gchar *backend,
    const BenchPicture *picture, const Variant *variant)
{
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  BenchSpread interval, latency;
  BenchUsage each;
  PushCourse course;
  const gboolean ok = open_course (&course, backend, picture, variant)
      && push_course_measure (
          &course, cpu, bench->quick ? 0.1 : 0.4, &interval, &each)
      && push_course_measure_lone (
          &course, bench->quick ? 20 : LONE_FRAMES, &latency);

  if (ok) {
    report (bench, backend, picture, variant, interval, each, latency);
  } else {
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
  gchar *name = g_strdup_printf ("regions/%s/%s", backend, picture->name);
  gboolean ok = TRUE;

  printf ("\n%s, backend=%s, 8 regions of 116x108 or 50 of 64x64\n",
      picture->name, backend);
  printf ("  %-14s %9s  %30s  %8s  %s\n", "variant", "frames/s",
      "ms a frame (min .. max)", "CPU us", "  lone us");
  for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
    ok = run_variant (bench, backend, picture, &variants[v]) && ok;
  if (ok)
    bench_pass (bench, name);
  g_free (name);
}

void
bench_regions (PipelineBench *bench, const gchar *backend)
{
  bench_each_picture (
      bench, backend, pictures, G_N_ELEMENTS (pictures), run_picture);
}
