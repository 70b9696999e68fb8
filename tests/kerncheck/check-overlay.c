/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Overlays: both backends compared with a painter that draws layer by layer, on every
 * layout; plans over their life; positions; refusals. */
#include "kerncheck.h"

#include "kerncheck-device.h"
#include "overlay-painter.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS 7
/* Most steps of a graph times its columns that the painter can draw in reasonable
 * time. */
#define MAX_PARTS 3000000

/* A backend on a layout. */
typedef struct
{
  Backend backend;
  const LayoutKind *kind;
  Device *device; /* while the check runs */
} Subject;

/* A valid spec for a layout, and a result with random counters. */
typedef struct
{
  const LayoutKind *kind;
  Image layout;
  OverlaySpec spec;
  HistoResult *result;
  const uint64_t *counts[OVERLAY_MAX_COMPONENTS];
} OverlayCase;

static int
at_most (int n, int limit)
{
  return n < limit ? n : limit;
}

static double
random_share (Random *random)
{
  static const double usual[] = { 0.0, 1.0, 0.5, 0.01 };
  const int chance = random_int (random, 0, 7);

  return chance < 4 ? usual[chance] : random_double (random, 0.0, 1.0);
}

static OverlayColor
random_color (const Image *layout, Random *random)
{
  OverlayColor color;

  memset (&color, 0, sizeof color);
  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++) {
      const int full = image_full_code (&layout->plane[p]);

      color.codes[p][c] = random_chance (random, 30) ? 0.0
          : random_chance (random, 30)               ? full
                                       : random_double (random, 0.0, full);
    }
  return color;
}

static void
make_geometry (OverlaySpec *spec, int steps, Random *random)
{
  OverlayGeometry *geometry = &spec->geometry;
  const bool inside = random_chance (random, 40);
  const int limit = MAX_PARTS / steps + 1;

  geometry->width =
      at_most (random_int (random, 1, spec->frame_width + 40), limit);
  geometry->height = random_int (random, 1, spec->frame_height + 60);
  geometry->x = random_int (random, -20, spec->frame_width + 3);
  geometry->y = random_int (random, -20, spec->frame_height + 3);
  if (inside) {
    geometry->width = at_most (geometry->width, spec->frame_width);
    geometry->height = at_most (geometry->height, spec->frame_height);
    geometry->x = random_int (random, 0, spec->frame_width - geometry->width);
    geometry->y = random_int (random, 0, spec->frame_height - geometry->height);
  }
  geometry->line = random_int (random, 0, 3);
  geometry->padding = random_int (random, 0, 4);
  geometry->outline = random_int (random, 0, 3);
  geometry->mark = random_chance (random, 30) ? 0 : random_int (random, 1, 9);
}

static void
make_components (OverlayCase *c, Random *random)
{
  OverlaySpec *spec = &c->spec;

  spec->n_components = random_int (random, 1, OVERLAY_MAX_COMPONENTS);
  for (int k = 0; k < spec->n_components; k++) {
    OverlayComponent *component = &spec->component[k];
    const ImagePlane *plane;
    int full;

    component->plane = random_int (random, 0, c->layout.n_planes - 1);
    plane = &c->layout.plane[component->plane];
    full = image_full_code (plane);
    component->channel = random_int (random, 0, plane->channels - 1);
    component->color = random_color (&c->layout, random);
    component->dark = random_int (random, -1, full);
    component->bright = random_int (random, 0, full + 1);
  }
}

/* Everything except frame, layout and bins. */
static void
make_spec (OverlayCase *c, Random *random)
{
  OverlaySpec *spec = &c->spec;

  make_components (c, random);
  make_geometry (spec, at_most (spec->bins, 65536), random);
  for (int p = 0; p < c->layout.n_planes; p++)
    spec->channels[p] = ((1u << c->layout.plane[p].channels) - 1)
        & (random_chance (random, 80) ? ~0u
                                      : (unsigned) random_int (random, 0, 15));
  spec->arrangement =
      random_chance (random, 50) ? OVERLAY_STACKED : OVERLAY_OVERLAID;
  spec->scale = random_chance (random, 50) ? OVERLAY_LINEAR : OVERLAY_LOG;
  spec->common_maximum = random_chance (random, 50);
  spec->clip_share = random_share (random);
  spec->background = random_color (&c->layout, random);
  spec->line = random_color (&c->layout, random);
  spec->background_opacity = random_share (random);
  spec->bar_opacity = random_share (random);
  spec->line_opacity = random_share (random);
  spec->grid_opacity = random_share (random);
}

static void
make_frame (
    OverlayCase *c, const LayoutKind *kind, int width, int height, int bins)
{
  c->kind = kind;
  c->spec.frame_width = width;
  c->spec.frame_height = height;
  c->spec.bins = bins;
  layout_make (kind, width, height, &c->layout);
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.subsampling_x[p] = kind->plane[p].sub_x;
    c->spec.subsampling_y[p] = kind->sub_y[kind->plane[p].memory];
  }
}

static uint64_t
random_count (int shape, int bin, int bins, Random *random)
{
  /* The sum of all counters is less than 2^32. */
  const int most = (int) (UINT32_MAX / 2 / (unsigned) bins);

  switch (shape) {
    case 0:
      return 0;
    case 1:
      return bin == bins / 3 ? UINT32_MAX : 0;
    case 2:
      return bin == bins - 1 ? (uint64_t) UINT32_MAX - 1 : bin == 0;
    case 3:
      return (uint64_t) bin * (uint64_t) most / (uint64_t) bins;
    case 4:
      return random_chance (random, 5) ? (uint64_t) random_int (random, 1, 9)
                                       : 0;
    case 5:
      return (uint64_t) (most * exp (-20.0 * fabs ((double) bin / bins - 0.4)));
    default:
      return (uint64_t) random_int (random, 0, most);
  }
}

/* Fills a result as a GPU would. */
static void
fill_counts (const OverlayCase *c, Random *random)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int channel = 0; channel < c->layout.plane[p].channels; channel++) {
      uint64_t *counts =
          (uint64_t *) (uintptr_t) histo_result_counts (c->result, p, channel);
      const int shape = random_int (random, 0, 8);

      for (int bin = 0; bin < c->spec.bins; bin++)
        counts[bin] = random_count (shape, bin, c->spec.bins, random);
    }
}

static void
find_counts (OverlayCase *c)
{
  for (int k = 0; k < c->spec.n_components; k++)
    c->counts[k] = histo_result_counts (
        c->result, c->spec.component[k].plane, c->spec.component[k].channel);
}

/* A result of all channels, in memory of the backend. */
static bool
make_result (
    Check *check, OverlayCase *c, const Subject *subject, Random *random)
{
  HistoSpec spec = { .bins = c->spec.bins };
  HistoPlan *plan;
  Fault fault;

  for (int p = 0; p < c->layout.n_planes; p++)
    spec.channels[p] = (1u << c->layout.plane[p].channels) - 1;
  fault_clear (&fault);
  plan = histo_plan_new (&spec, &c->layout,
      subject->backend == BACKEND_CUDA ? BACKEND_CUDA : BACKEND_CPU, NULL,
      subject->device->gpu, &fault);
  c->result = plan == NULL ? NULL : histo_result_new (plan, &fault);
  histo_plan_free (plan);
  if (!EXPECT (check, c->result != NULL, "no result: %s", fault.message))
    return false;
  fill_counts (c, random);
  find_counts (c);
  return true;
}

static void
describe_case (Check *check, const OverlayCase *c)
{
  const OverlaySpec *spec = &c->spec;
  const OverlayGeometry *geometry = &spec->geometry;

  check_describe (check,
      "%s %dx%d, %d bins, %d components %s, %s%s, rectangle %dx%d at %d,%d, "
      "line %d padding %d outline %d mark %d, opacities %g %g %g %g, clip %g",
      c->kind->name, spec->frame_width, spec->frame_height, spec->bins,
      spec->n_components,
      spec->arrangement == OVERLAY_STACKED ? "stacked" : "overlaid",
      spec->scale == OVERLAY_LOG ? "log" : "linear",
      spec->common_maximum ? ", common maximum" : "", geometry->width,
      geometry->height, geometry->x, geometry->y, geometry->line,
      geometry->padding, geometry->outline, geometry->mark,
      spec->background_opacity, spec->bar_opacity, spec->line_opacity,
      spec->grid_opacity, spec->clip_share);
}

/* A queued run, to be judged later. */
typedef struct
{
  OverlaySpec spec; /* the plan's at that time */
  Picture dst;
  DevicePicture to;
  uint8_t *before;
} Run;

static bool
queue_run (Run *run, OverlayPlan *plan, const OverlayCase *c,
    const Subject *subject, const DevicePicture *from, Random *random,
    Fault *fault)
{
  run->spec = c->spec;
  picture_new (&run->dst, &c->layout, subject->device->gpu == NULL, random);
  run->before = picture_block_copy (&run->dst);
  return device_picture_new (&run->to, subject->device, &run->dst, fault)
      && overlay_plan_run (plan, c->result, &from->image, &run->to.image,
          subject->device->stream, fault);
}

/* Copies samples only. */
static void
copy_samples (const Image *dst, const Image *src)
{
  for (int p = 0; p < src->n_planes; p++)
    for (int channel = 0; channel < src->plane[p].channels; channel++)
      for (int y = 0; y < image_plane_height (src, p); y++)
        for (int x = 0; x < src->plane[p].width; x++)
          picture_write_raw (
              dst, p, channel, x, y, picture_raw (src, p, channel, x, y));
}

static void
judge_picture (Check *check, const OverlayCase *c, const OverlaySpec *spec,
    const Picture *src, const Picture *dst, Random *random)
{
  Picture expected;
  Verdict verdict;

  picture_new (&expected, &c->layout, false, random);
  copy_samples (&expected.image, &src->image);
  overlay_painter_draw (spec, c->counts, &expected.image);
  verdict_same (&verdict, &dst->image, &expected.image);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  picture_clear (&expected);
}

static void
judge_run (Check *check, OverlayCase *c, const Subject *subject, Run *run,
    const Picture *src, Random *random)
{
  const OverlaySpec last = c->spec;
  Verdict verdict;
  Fault fault;

  c->spec = run->spec;
  find_counts (c);
  describe_case (check, c);
  if (EXPECT (check,
          device_picture_fetch (&run->to, subject->device, run->dst.block,
              run->dst.bytes, &fault),
          "the result does not come back: %s", fault.message)) {
    verdict_outside_rows (&verdict, &run->dst, run->before);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    judge_picture (check, c, &run->spec, src, &run->dst, random);
  }
  c->spec = last;
}

static void
clear_run (Run *run)
{
  device_picture_clear (&run->to);
  picture_clear (&run->dst);
  free (run->before);
}

/* Runs that are queued without waiting, each with its own spec, and then judged. */
static void
run_case (Check *check, OverlayCase *c, const Subject *subject, int n_runs,
    Random *random)
{
  Run runs[N_RUNS];
  DevicePicture from = { .block = NULL };
  OverlayPlan *plan;
  Picture src;
  int queued = 0;
  uint8_t *before;
  Fault fault;
  bool ok;

  if (!make_result (check, c, subject, random))
    return;
  describe_case (check, c);
  memset (runs, 0, sizeof runs);
  picture_new (&src, &c->layout, subject->device->gpu == NULL, random);
  picture_paint (
      &src, (Content) random_int (random, 0, N_CONTENTS - 1), random);
  before = picture_block_copy (&src);
  fault_clear (&fault);
  plan = overlay_plan_new (
      &c->spec, &c->layout, subject->backend, subject->device->gpu, &fault);
  ok = EXPECT (check, plan != NULL, "no plan: %s", fault.message)
      && EXPECT (check,
          device_picture_new (&from, subject->device, &src, &fault),
          "no picture: %s", fault.message);
  for (; ok && queued < n_runs; queued++) {
    if (queued > 0) {
      make_spec (c, random);
      ok = EXPECT (check, overlay_plan_update (plan, &c->spec, &fault),
          "the update failed: %s", fault.message);
    }
    ok = ok
        && EXPECT (check,
            queue_run (&runs[queued], plan, c, subject, &from, random, &fault),
            "the run failed: %s (%s)", fault.message, fault.detail);
  }
  for (int i = 0; i < queued; i++) {
    if (ok)
      judge_run (check, c, subject, &runs[i], &src, random);
    clear_run (&runs[i]);
  }
  EXPECT (check, memcmp (before, src.block, src.bytes) == 0,
      "the source was written to");
  free (before);
  device_picture_clear (&from);
  picture_clear (&src);
  overlay_plan_free (plan);
  histo_result_free (c->result);
}

/* Quick cases are small, as the threads of an emulated GPU run one after the other. */
static int
random_side (const Check *check, int index, Random *random)
{
  static const int most[] = { 130, 9, 60, 3, 90, 1, 200 };
  const int limit = at_most (most[index % 7], check->quick ? 40 : 200);

  return random_int (random, limit > 20 ? limit / 2 : 1, limit);
}

static void
layout_case (Check *check, Random *random, int index, const void *data)
{
  static const int bins[] = { 256, 2, 16, 255, 64, 1000, 257, 3, 4096 };
  const Subject *subject = data;
  OverlayCase c = { .result = NULL };
  const int width = random_side (check, index, random);

  make_frame (&c, subject->kind, width, random_side (check, index / 2, random),
      bins[index % 9]);
  make_spec (&c, random);
  run_case (check, &c, subject, 1, random);
}

static void
bins_case (Check *check, Random *random, int index, const void *data)
{
  static const int bins[] = { 65536, HISTO_MIN_BINS, 65535, 16384, 1024, 7 };
  OverlayCase c = { .result = NULL };

  make_frame (&c, layout_kind_any (random), random_int (random, 60, 160),
      random_int (random, 40, 90), bins[index % 6]);
  make_spec (&c, random);
  c.spec.geometry.x = c.spec.geometry.y = 0;
  c.spec.geometry.width =
      at_most (c.spec.frame_width, MAX_PARTS / bins[index % 6]);
  c.spec.geometry.height = c.spec.frame_height;
  run_case (check, &c, data, 1, random);
}

static void
updates_case (Check *check, Random *random, int index, const void *data)
{
  OverlayCase c = { .result = NULL };

  make_frame (&c, layout_kind_any (random), random_side (check, index, random),
      random_side (check, index, random), random_int (random, 2, 300));
  make_spec (&c, random);
  run_case (check, &c, data, check->quick ? 3 : N_RUNS, random);
}

/* Pixels that overlap the next ones: no format has them, but image.h allows them. */
static void
reaching_case (Check *check, Random *random, int index, const void *data)
{
  static const LayoutKind reaching = { "reaching", 1, 1, { 1 },
    { { 0, 0, 1, 2, 4, 6, 8, 0 } }, 0 };
  OverlayCase c = { .result = NULL };

  make_frame (&c, &reaching, 30 + index, random_int (random, 5, 30), 256);
  make_spec (&c, random);
  run_case (check, &c, data, 1, random);
}

/* With opacity 0 the overlay is an exact copy, including the bits below the codes. */
static void
invisible_case (Check *check, Random *random, int index, const void *data)
{
  OverlayCase c = { .result = NULL };

  make_frame (&c, layout_kind (index), 45, 31, 256);
  make_spec (&c, random);
  c.spec.background_opacity = c.spec.bar_opacity = 0.0;
  c.spec.line_opacity = c.spec.grid_opacity = 0.0;
  run_case (check, &c, data, 1, random);
}

/* In place: source and destination are the same memory. */
static void
in_place_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  OverlayCase c = { .result = NULL };
  DevicePicture on_device = { .block = NULL };
  OverlayPlan *plan = NULL;
  Picture src, dst;
  uint8_t *before;
  Verdict verdict;
  Fault fault;

  make_frame (&c, layout_kind (index % layout_n_kinds ()), 67, 43, 256);
  make_spec (&c, random);
  if (!make_result (check, &c, subject, random))
    return;
  describe_case (check, &c);
  picture_new (&src, &c.layout, false, random);
  picture_new (&dst, &c.layout, false, random);
  picture_paint (&src, CONTENT_NOISE, random);
  copy_samples (&dst.image, &src.image);
  before = picture_block_copy (&dst);
  fault_clear (&fault);
  plan = overlay_plan_new (
      &c.spec, &c.layout, subject->backend, subject->device->gpu, &fault);
  if (EXPECT (check,
          plan != NULL
              && device_picture_new (&on_device, subject->device, &dst, &fault)
              && overlay_plan_run (plan, c.result, &on_device.image,
                  &on_device.image, subject->device->stream, &fault)
              && device_picture_fetch (
                  &on_device, subject->device, dst.block, dst.bytes, &fault),
          "the run failed: %s (%s)", fault.message, fault.detail)) {
    verdict_guards (&verdict, &dst, before);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    judge_picture (check, &c, &c.spec, &src, &dst, random);
  }
  overlay_plan_free (plan);
  device_picture_clear (&on_device);
  picture_clear (&src);
  picture_clear (&dst);
  free (before);
  histo_result_free (c.result);
}

/* Rows that start at an odd address, which a GPU refuses for samples of two bytes. */
static void
odd_addresses_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  OverlayCase c = { .result = NULL };
  DevicePicture on_device = { .block = NULL };
  OverlayPlan *plan = NULL;
  Picture picture;
  Image odd;
  Fault fault, refused;
  bool wide = false;

  make_frame (&c, layout_kind (index), 33, 17, 256);
  make_spec (&c, random);
  if (!make_result (check, &c, subject, random))
    return;
  describe_case (check, &c);
  picture_new (&picture, &c.layout, false, random);
  fault_clear (&fault);
  plan = overlay_plan_new (
      &c.spec, &c.layout, subject->backend, subject->device->gpu, &fault);
  if (EXPECT (check,
          plan != NULL
              && device_picture_new (
                  &on_device, subject->device, &picture, &fault),
          "the case failed: %s (%s)", fault.message, fault.detail)) {
    const Image *even = &on_device.image;

    odd = *even;
    for (int p = 0; p < odd.n_planes; p++)
      wide = wide || image_sample_bytes (&odd.plane[p]) == 2;
    for (int m = 0; m < odd.n_memories; m++)
      odd.memory[m].data += (uintptr_t) odd.memory[m].data % 2 == 0;
    wide = wide && subject->backend == BACKEND_CUDA;
    for (int end = 0; wide && end < 2; end++) {
      fault_clear (&refused);
      EXPECT_FAULT (check,
          !overlay_plan_run (plan, c.result, end == 0 ? &odd : even,
              end == 0 ? even : &odd, subject->device->stream, &refused),
          &refused, FAULT_SETTINGS,
          end == 0 ? "an odd source" : "an odd destination");
    }
    EXPECT (check,
        wide
            || overlay_plan_run (
                plan, c.result, &odd, &odd, subject->device->stream, &fault),
        "the run failed: %s (%s)", fault.message, fault.detail);
    EXPECT (check,
        device_picture_fetch (
            &on_device, subject->device, picture.block, picture.bytes, &fault),
        "no way back: %s (%s)", fault.message, fault.detail);
  }
  overlay_plan_free (plan);
  device_picture_clear (&on_device);
  picture_clear (&picture);
  histo_result_free (c.result);
}

/* A usual overlay: on a large frame, in its place. */
static void
placed_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  const bool small = check->quick || subject->backend == BACKEND_CUDA;
  OverlayCase c = { .result = NULL };

  make_frame (
      &c, layout_kind_any (random), small ? 320 : 961, small ? 240 : 541, 256);
  make_spec (&c, random);
  overlay_place (
      &c.spec, &c.layout, (OverlayPosition) (index % 9), 0.3, 0.3, 0.02);
  run_case (check, &c, data, 1, random);
}

static void
run_subject (Check *check, const Subject *subject, int n, CheckCase function)
{
  Subject running = *subject;
  Device device;

  running.device = &device;
  if (!device_enter (check, subject->backend, &device))
    return;
  check_cases (check, n, function, &running);
  device_leave (&device);
}

static void
check_layout (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 9 : 63, layout_case);
}

static void
check_bins (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 6 : 24, bins_case);
}

static void
check_updates (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 5 : 20, updates_case);
}

static void
check_reaching (Check *check, const void *data)
{
  run_subject (check, data, 20, reaching_case);
}

static void
check_invisible (Check *check, const void *data)
{
  run_subject (check, data, layout_n_kinds (), invisible_case);
}

static void
check_in_place (Check *check, const void *data)
{
  run_subject (check, data, layout_n_kinds (), in_place_case);
}

static void
check_odd_addresses (Check *check, const void *data)
{
  run_subject (check, data, layout_n_kinds (), odd_addresses_case);
}

static void
check_placed (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 2 : 9, placed_case);
}

/* A valid spec of a small frame. */
static void
plain_case (OverlayCase *c, const char *kind, int width, int height)
{
  memset (c, 0, sizeof *c);
  make_frame (c, layout_kind_by_name (kind), width, height, 256);
  c->spec.n_components = at_most (c->layout.n_planes, 3);
  for (int k = 0; k < c->spec.n_components; k++)
    c->spec.component[k].plane = k;
  for (int p = 0; p < c->layout.n_planes; p++)
    c->spec.channels[p] = 1;
  c->spec.geometry = (OverlayGeometry){ 1, 1, 20, 10, 1, 1, 1, 3 };
}

/* Makes one setting invalid; NULL when there are no more. */
static const char *
break_spec (OverlayCase *c, int how)
{
  OverlaySpec *spec = &c->spec;
  OverlayGeometry *geometry = &spec->geometry;

  switch (how) {
    case 0:
      spec->frame_width++;
      return "a frame that is wider than the planes";
    case 1:
      spec->frame_height = 0;
      return "a frame of no rows";
    case 2:
      spec->subsampling_x[1] = 0;
      return "a plane of no subsampling";
    case 3:
      spec->subsampling_y[1] = 3;
      return "a subsampling that the plane does not have";
    case 4:
      spec->channels[1] = 2;
      return "drawing on a channel that is not there";
    case 5:
      spec->bins = HISTO_MIN_BINS - 1;
      return "too few bins";
    case 6:
      spec->bins = HISTO_MAX_BINS + 1;
      return "too many bins";
    case 7:
      spec->n_components = 0;
      return "no components";
    case 8:
      spec->n_components = OVERLAY_MAX_COMPONENTS + 1;
      return "too many components";
    case 9:
      spec->component[0].plane = 3;
      return "a plane that is not there";
    case 10:
      spec->component[0].channel = -1;
      return "a negative channel";
    case 11:
      spec->component[1].dark = NAN;
      return "dark NaN";
    case 12:
      spec->component[2].color.codes[0][0] = 256.0;
      return "a code too large";
    case 13:
      spec->background.codes[2][0] = -1.0;
      return "a negative code";
    case 14:
      spec->line.codes[1][0] = NAN;
      return "a code NaN";
    case 15:
      geometry->width = 0;
      return "a rectangle of no width";
    case 16:
      geometry->height = OVERLAY_MAX_SIZE + 1;
      return "a rectangle too tall";
    case 17:
      geometry->x = INT32_MIN;
      return "a rectangle too far left";
    case 18:
      geometry->mark = -1;
      return "a negative mark";
    case 19:
      geometry->line = OVERLAY_MAX_LINE + 1;
      return "a line too thick";
    case 20:
      spec->bar_opacity = 1.01;
      return "an opacity over 1";
    case 21:
      spec->grid_opacity = NAN;
      return "an opacity NaN";
    case 22:
      spec->clip_share = -0.1;
      return "a negative share";
    default:
      return NULL;
  }
}

static void
check_refusals (Check *check, const void *data)
{
  OverlayCase c;
  const char *what;
  Fault fault;

  (void) data;
  check->cases++;
  plain_case (&c, "planar3", 33, 17);
  fault_clear (&fault);
  EXPECT (check, overlay_validate (&c.spec, &c.layout, &fault),
      "a valid spec was refused: %s", fault.message);
  for (int how = 0; (what = break_spec (&c, how)) != NULL; how++) {
    fault_clear (&fault);
    EXPECT_FAULT (check, !overlay_validate (&c.spec, &c.layout, &fault), &fault,
        FAULT_SETTINGS, what);
    fault_clear (&fault);
    EXPECT_FAULT (check,
        overlay_plan_new (&c.spec, &c.layout, BACKEND_CPU, NULL, &fault)
            == NULL,
        &fault, FAULT_SETTINGS, what);
    plain_case (&c, "planar3", 33, 17);
  }
}

/* Runs and updates that do not fit the plan, which must survive them. */
static void
check_mismatches (Check *check, const void *data)
{
  const HistoSpec counted = { .bins = 256, .channels = { 1, 1, 0 } };
  OverlayCase c;
  OverlayPlan *plan;
  HistoPlan *histo;
  HistoResult *result;
  Picture picture;
  Random random = { check->seed };
  Image other;
  Fault fault;

  (void) data;
  check->cases++;
  plain_case (&c, "planar3", 33, 17);
  picture_new (&picture, &c.layout, false, &random);
  plan = overlay_plan_new (&c.spec, &c.layout, BACKEND_CPU, NULL, &fault);
  histo = histo_plan_new (&counted, &c.layout, BACKEND_CPU, NULL, NULL, &fault);
  result = histo == NULL ? NULL : histo_result_new (histo, &fault);
  if (EXPECT (check, plan != NULL && result != NULL, "no plan")) {
    EXPECT_FAULT (check,
        !overlay_plan_run (
            plan, result, &picture.image, &picture.image, NULL, &fault),
        &fault, FAULT_SETTINGS, "a component that was not counted");
    c.spec.n_components = 2;
    EXPECT (check, overlay_plan_update (plan, &c.spec, &fault),
        "the update failed: %s", fault.message);
    other = picture.image;
    other.memory[0].height--;
    EXPECT_FAULT (check,
        !overlay_plan_run (plan, result, &other, &other, NULL, &fault), &fault,
        FAULT_SETTINGS, "another layout");
    c.spec.bins = 128;
    EXPECT_FAULT (check, !overlay_plan_update (plan, &c.spec, &fault), &fault,
        FAULT_SETTINGS, "other bins");
    EXPECT (check,
        overlay_plan_run (
            plan, result, &picture.image, &picture.image, NULL, &fault),
        "the run failed after what was refused: %s", fault.message);
  }
  histo_result_free (result);
  histo_plan_free (histo);
  overlay_plan_free (plan);
  overlay_plan_free (NULL);
  picture_clear (&picture);
}

static void
expect_place (Check *check, const OverlayCase *c, OverlayPosition position)
{
  const OverlaySpec *spec = &c->spec;
  const OverlayGeometry *g = &spec->geometry;
  const int inset = 2 * (g->line + g->padding);
  const int n = spec->arrangement == OVERLAY_STACKED ? spec->n_components : 1;
  const int bars =
      (g->height - inset - (n - 1) * g->padding) / n - 2 * g->line - g->mark;
  Fault fault;

  describe_case (check, c);
  EXPECT (check, overlay_validate (spec, &c->layout, &fault),
      "the place is not valid: %s", fault.message);
  EXPECT (check,
      g->x >= 0 && g->y >= 0 && g->x % 2 == 0 && g->y % 2 == 0
          && g->x + g->width <= spec->frame_width
          && g->y + g->height <= spec->frame_height,
      "it is not in the frame");
  EXPECT (check, g->width - inset >= 96 && bars >= 20 * g->line,
      "%d columns of %d rows cannot be read", g->width - inset, bars);
  EXPECT (check, g->line >= 1 && g->line <= 1 + spec->frame_height / 500,
      "lines of %d pixels", g->line);
  EXPECT (check,
      (2 * g->x + g->width < spec->frame_width) == (position % 3 == 0)
          || position % 3 == 1,
      "it is on the wrong side");
  EXPECT (check,
      (2 * g->y + g->height < spec->frame_height) == (position / 3 == 0)
          || position / 3 == 1,
      "it is above or below its place");
}

static void
check_places (Check *check, const void *data)
{
  static const int sizes[][2] = { { 320, 240 }, { 640, 480 }, { 720, 576 },
    { 1280, 720 }, { 1920, 1080 }, { 1080, 1920 }, { 3840, 2160 },
    { 7680, 4320 } };

  (void) data;
  check->cases++;
  for (int i = 0; i < 8; i++)
    for (int position = 0; position < 9; position++)
      for (int stacked = 0; stacked < 2; stacked++) {
        OverlayCase c;

        plain_case (&c, "planar3", sizes[i][0], sizes[i][1]);
        c.spec.arrangement = stacked ? OVERLAY_STACKED : OVERLAY_OVERLAID;
        overlay_place (
            &c.spec, &c.layout, (OverlayPosition) position, 0.25, 0.25, 0.03);
        expect_place (check, &c, (OverlayPosition) position);
      }
}

/* For any request and any frame, the resulting geometry is valid. */
static void
wild_place_case (Check *check, Random *random, int index, const void *data)
{
  OverlayCase c = { .result = NULL };
  Fault fault;

  (void) data;
  make_frame (&c, layout_kind_any (random),
      index % 5 == 0 ? random_int (random, 1, 30000)
                     : random_int (random, 1, 200),
      random_int (random, 1, 200), random_int (random, 2, 65536));
  make_spec (&c, random);
  overlay_place (&c.spec, &c.layout, (OverlayPosition) (index % 9),
      random_double (random, -0.5, 2.0), random_double (random, -0.5, 2.0),
      random_double (random, -0.5, 2.0));
  describe_case (check, &c);
  EXPECT (check, overlay_validate (&c.spec, &c.layout, &fault),
      "the place is not valid: %s", fault.message);
}

static void
check_wild_places (Check *check, const void *data)
{
  check_cases (check, check->quick ? 50 : 500, wild_place_case, data);
}

static void
add_backend (Backend backend, const char *name)
{
  const int n = layout_n_kinds ();
  Subject *subject = kerncheck_alloc ((size_t) (n + 1) * sizeof *subject);
  static Subject *keep[2]; /* for the table of checks, until the process ends */

  keep[backend] = subject;
  (void) keep;
  for (int k = 0; k <= n; k++)
    subject[k] =
        (Subject){ .backend = backend, .kind = k < n ? layout_kind (k) : NULL };
  for (int k = 0; k < n; k++)
    kerncheck_add (check_layout, &subject[k], NULL, "overlay/%s/%s", name,
        subject[k].kind->name);
  kerncheck_add (check_bins, &subject[n], NULL, "overlay/%s/bins", name);
  kerncheck_add (
      check_reaching, &subject[n], NULL, "overlay/%s/reaching", name);
  kerncheck_add (check_updates, &subject[n], NULL, "overlay/%s/updates", name);
  kerncheck_add (
      check_invisible, &subject[n], NULL, "overlay/%s/invisible", name);
  kerncheck_add (
      check_in_place, &subject[n], NULL, "overlay/%s/in-place", name);
  kerncheck_add (
      check_odd_addresses, &subject[n], NULL, "overlay/%s/odd-addresses", name);
  kerncheck_add (check_placed, &subject[n], NULL, "overlay/%s/placed", name);
}

void
check_overlay_add (void)
{
  kerncheck_add (check_refusals, NULL, NULL, "overlay/refusals");
  kerncheck_add (check_mismatches, NULL, NULL, "overlay/mismatches");
  kerncheck_add (check_places, NULL, NULL, "overlay/places");
  kerncheck_add (check_wild_places, NULL, NULL, "overlay/wild-places");
  add_backend (BACKEND_CPU, "cpu");
  add_backend (BACKEND_CUDA, "cuda");
}
