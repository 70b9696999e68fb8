/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames with small covered regions, compared with the filter of the whole frame: covered in place,
 * and in other buffers while somebody holds the frames. Regions are fixed, or come from a detector,
 * with other places and sizes in each frame. */
#include "bench-pipeline.h"

#include <stdio.h>
#include <string.h>

#include <gst/video/video.h>

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
  gint regions, width,
      height; /* pixels of each, in the middle where they are found */
  enum
  {
    OWNED,
    HELD,
    FOREIGN,
  } buffers;      /* of the input */
  gboolean found; /* reported by a detector */
} Variant;

#define FACES 8, 116, 108
#define MANY 50, 64, 64

static const Variant variants[] = {
  { "whole frame", "sigma=4", 0, 0, 0, OWNED, FALSE },
  { "blur, held", "sigma=4", FACES, HELD, FALSE },
  { "blur", "sigma=4", FACES, OWNED, FALSE },
  { "blur, foreign", "sigma=4", FACES, FOREIGN, FALSE },
  { "strong blur", "roi-strength=0.25", FACES, OWNED, FALSE },
  { "pixelate", "roi-fill=pixelate roi-strength=0.25", FACES, OWNED, FALSE },
  { "solid, held", "roi-fill=solid", FACES, HELD, FALSE },
  { "solid", "roi-fill=solid", FACES, OWNED, FALSE },
  { "blur of 50", "sigma=4", MANY, OWNED, FALSE },
  { "pixelate 50", "roi-fill=pixelate sigma=4", MANY, OWNED, FALSE },
  { "solid, 50", "roi-fill=solid", MANY, OWNED, FALSE },
  { "blur, found", "sigma=4", FACES, OWNED, TRUE },
  { "strong blur, found", "roi-strength=0.25", FACES, OWNED, TRUE },
  { "pixelate, found", "roi-fill=pixelate roi-strength=0.25", FACES, OWNED,
      TRUE },
  { "solid, found", "roi-fill=solid", FACES, OWNED, TRUE },
  { "blur of 50, found", "sigma=4", MANY, OWNED, TRUE },
  { "strong of 50, found", "roi-strength=0.25", MANY, OWNED, TRUE },
  { "pixelate 50, found", "roi-fill=pixelate roi-strength=0.25", MANY, OWNED,
      TRUE },
  { "solid, 50, found", "roi-fill=solid", MANY, OWNED, TRUE },
};

typedef struct
{
  const BenchPicture *picture;
  const Variant *variant;
} Detector;

/* Regions form rows of up to ten, each in its own cell. */
static void
find_cells (const Detector *detector, gint *across, gint *width, gint *height)
{
  const gint n = detector->variant->regions;

  *across = MIN (n, 10);
  *width = detector->picture->width / *across;
  *height = detector->picture->height / ((n + *across - 1) / *across);
}

/* Appends the regions as zones, in launch-line syntax. */
static void
append_zones (GString *settings, const Detector *detector)
{
  const BenchPicture *picture = detector->picture;
  const Variant *variant = detector->variant;
  gint across, width, height;

  find_cells (detector, &across, &width, &height);
  for (gint i = 0; i < variant->regions; i++)
    g_string_append_printf (settings, "%s<%.7f,%.7f,%.7f,%.7f>",
        i == 0 ? " zones=<" : ",",
        (gdouble) (i % across * width) / picture->width,
        (gdouble) (i / across * height) / picture->height,
        (gdouble) variant->width / picture->width,
        (gdouble) variant->height / picture->height);
  g_string_append_c (settings, '>');
}

static gchar *
make_settings (const gchar *backend, const Detector *detector)
{
  const Variant *variant = detector->variant;
  GString *settings = g_string_new (NULL);

  g_string_printf (settings, "backend=%s %s", backend, variant->settings);
  if (variant->regions > 0)
    g_string_append (settings, " roi-mode=inside");
  if (variant->regions > 0 && !variant->found)
    append_zones (settings, detector);
  return g_string_free (settings, FALSE);
}

/* Half to one and a half times the variant's size, plus 0 to 4 pixels that change from frame to
 * frame. */
static guint
found_size (gint size, gint i, guint frame)
{
  return (guint) (size / 2 + i * 37 % 101 * size / 100)
      + (frame + (guint) i) % 5;
}

static void
attach_found (GstBuffer *buffer, guint frame, gconstpointer data)
{
  const Detector *detector = data;
  const Variant *variant = detector->variant;
  gint across, width, height;

  find_cells (detector, &across, &width, &height);
  for (gint i = 0; i < variant->regions; i++) {
    const guint w = found_size (variant->width, i, frame);
    const guint h = found_size (variant->height, i, frame);
    const guint walk = 3 * frame + 17 * (guint) i;

    gst_buffer_add_video_region_of_interest_meta (buffer, "face",
        (guint) (i % across * width) + walk % ((guint) width - w),
        (guint) (i / across * height) + walk % ((guint) height - h), w, h);
  }
}

static gboolean
open_course (PushCourse *course, const gchar *backend, const Detector *detector)
{
  const BenchPicture *picture = detector->picture;
  const Variant *variant = detector->variant;
  gchar *settings = make_settings (backend, detector);
  GstCaps *caps =
      pad_rig_caps (picture->format, picture->width, picture->height);
  gboolean ok = push_course_init (course, settings);

  if (ok) {
    course->holds = variant->buffers == HELD;
    course->rig.foreign_in = variant->buffers == FOREIGN;
    course->dress = variant->found ? attach_found : NULL;
    course->dress_data = detector;
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

  printf ("  %-19s %9.1f  %8.4f (%8.4f .. %8.4f)  %8.1f  %9.1f (%.1f ..)\n",
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
  const Detector detector = { picture, variant };
  const gboolean cpu = strcmp (backend, "cpu") == 0;
  BenchSpread interval, latency;
  BenchUsage each;
  PushCourse course;
  const gboolean ok = open_course (&course, backend, &detector)
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

  printf (
      "\n%s, backend=%s, 8 regions of 116x108 or 50 of 64x64; found: half to "
      "one and a half times as large\n",
      picture->name, backend);
  printf ("  %-19s %9s  %30s  %8s  %s\n", "variant", "frames/s",
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
