/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions: every fill, shape and layout compared with an oracle, on the host with each of its
 * methods and on a GPU; plans over their life; refusals. And filters of changing size, which
 * regions on the host use. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "oracle-regions.h"
#include "verdict.h"
#include "workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REGIONS 400

static const Effort normal_effort = { 150, 100, 2e6 };
static const Effort quick_effort = { 40, 40, 2e5 };

/* A backend, and on the host a method or NULL for any. */
typedef struct
{
  Backend backend;
  const SepconvMethod *method;
} Subject;

typedef struct
{
  const Subject *subject;
  Device *device; /* while the check runs */
} RunningSubject;

/* A valid spec, and regions. Must not be copied. */
typedef struct
{
  Case *c;
  RegionsSpec spec;
  TapsSettings taps;
  int n, rows_apart;
  Region regions[MAX_REGIONS];
} RegionsCase;

static void
set_subsampling (RegionsCase *r)
{
  for (int p = 0; p < r->c->kind->n_planes; p++) {
    r->spec.subsampling_x[p] = r->c->kind->plane[p].sub_x;
    r->spec.subsampling_y[p] = r->c->kind->sub_y[r->c->kind->plane[p].memory];
  }
}

static double
random_ratio (Random *random, double usual)
{
  const int chance = random_int (random, 0, 9);

  return chance < 4 ? 0.0
      : chance < 9  ? random_double (random, 0.0, usual)
                    : random_double (random, 0.0, 10.0);
}

/* With strengths: a blur of one term. */
static void
make_blur (RegionsCase *r, Random *random)
{
  static const TapsKernel kernels[] = { TAPS_GAUSSIAN, TAPS_GAUSSIAN, TAPS_BOX,
    TAPS_BINOMIAL, TAPS_UNSHARP };

  r->taps.kernel = kernels[random_int (random, 0, 4)];
  /* Means of large blocks have a separate kernel. */
  r->spec.strength =
      random_chance (random, r->spec.fill == REGIONS_PIXELATE ? 50 : 90)
      ? random_double (random, 0.01, 0.6)
      : random_double (random, 0.0, 10.0);
  r->spec.scale_taps = random_chance (random, 70);
  r->c->spec.combine = SEPCONV_SUM;
  if (r->taps.kernel == TAPS_UNSHARP) {
    r->c->spec.combine = SEPCONV_UNSHARP;
    r->c->spec.amount = random_double (random, -1.0, 2.0);
    r->c->spec.threshold = random_chance (random, 50) ? 0.0 : 0.02;
    r->c->spec.scale = random_double (random, -1.5, 1.5);
  } else {
    /* A blur has a gain of 1, which may exceed the gain of the taps that the scale was chosen
     * for. */
    r->c->spec.scale = fmin (fmax (r->c->spec.scale, -0.5 * SEPCONV_MAX_GAIN),
        0.5 * SEPCONV_MAX_GAIN);
  }
}

static void
make_colors (RegionsCase *r, Random *random)
{
  const Image *layout = &r->c->layout;

  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++)
      r->spec.color[p][c] =
          random_double (random, 0.0, image_full_code (&layout->plane[p]));
}

static Region
random_region (const Case *c, bool tiny, Random *random)
{
  const int width = tiny ? random_int (random, 1, 5)
                         : random_int (random, 1, 2 * c->width + 4);
  const int height = tiny ? random_int (random, 1, 5)
                          : random_int (random, 1, 2 * c->height + 4);
  Region region;

  region.left = random_int (random, -width - 5, c->width + 5);
  region.top = random_int (random, -height - 5, c->height + 5);
  if (random_chance (random, 2))
    region.left = random_chance (random, 50) ? -REGIONS_MAX_EDGE
                                             : REGIONS_MAX_EDGE - width;
  region.right = region.left + width;
  region.bottom = region.top + height;
  /* Beyond all edges of the picture. */
  if (random_chance (random, 2))
    region = (Region){ -REGIONS_MAX_EDGE, -REGIONS_MAX_EDGE, REGIONS_MAX_EDGE,
      REGIONS_MAX_EDGE };
  return region;
}

static void
make_regions (RegionsCase *r, Random *random)
{
  const int chance = random_int (random, 0, 99);
  const bool many = chance >= 90 && !(r->spec.strength > 0.0);

  r->n = chance < 5 ? 0
      : many        ? random_int (random, 100, MAX_REGIONS)
                    : random_int (random, 1, 5);
  for (int i = 0; i < r->n; i++) {
    r->regions[i] =
        random_region (r->c, many || random_chance (random, 30), random);
    /* Regions of equal size: their order matters. */
    if (i > 0 && random_chance (random, 20)) {
      const int x = random_int (random, -3, 3), y = random_int (random, -3, 3);

      r->regions[i] = r->regions[i - 1];
      if (abs (r->regions[i].left) < 1000) {
        r->regions[i].left += x;
        r->regions[i].right += x;
        r->regions[i].top += y;
        r->regions[i].bottom += y;
      }
    }
  }
}

/* Everything except the layout. */
static void
make_spec (RegionsCase *r, const Subject *subject, const Effort *effort,
    Random *random)
{
  const bool any = subject->method == NULL
      || strcmp (subject->method->name, "reference") == 0;
  Case *c = r->c;

  memset (&r->spec, 0, sizeof r->spec);
  memset (&r->taps, 0, sizeof r->taps);
  case_make_spec (
      c, (SepconvBorder) random_int (random, 0, N_BORDERS - 1), effort, random);
  r->taps.kernel = TAPS_CUSTOM;
  r->taps.sigma_x = random_double (random, 0.0, 12.0);
  r->taps.sigma_y =
      random_chance (random, 50) ? -1.0 : random_double (random, 0, 5.0);
  r->taps.radius_x = r->taps.radius_y = -1;
  r->spec.fill = (RegionsFill) random_int (random, 0, 2);
  if (subject->method != NULL || random_chance (random, 30))
    r->spec.fill = REGIONS_FILTER;
  r->spec.outside =
      r->spec.fill != REGIONS_PIXELATE && random_chance (random, 25);
  r->spec.shape = (RegionsShape) random_int (random, 0, 1);
  r->spec.grow = random_ratio (random, 0.5);
  r->spec.feather = random_ratio (random, 0.6);
  r->spec.filter = &c->spec;
  r->spec.taps = &r->taps;
  set_subsampling (r);
  make_colors (r, random);
  if (!r->spec.outside && any
      && random_chance (random, r->spec.fill == REGIONS_PIXELATE ? 80 : 45))
    make_blur (r, random);
  else if (any && random_chance (random, 25))
    case_make_terms (c, random);
  if (r->spec.fill == REGIONS_SOLID
      || (r->spec.fill == REGIONS_FILTER && !(r->spec.strength > 0.0)
          && random_chance (random, 50)))
    r->spec.taps = NULL;
}

static void
describe (Check *check, const RegionsCase *r)
{
  char regions[160] = "";
  size_t at = 0;

  for (int i = 0; i < r->n && i < 4; i++)
    at += (size_t) snprintf (regions + at, sizeof regions - at, " %d,%d-%d,%d",
        r->regions[i].left, r->regions[i].top, r->regions[i].right,
        r->regions[i].bottom);
  check_describe (check,
      "%s %dx%d %s, taps %dx%d combine %d scale %g, %s fill %d shape %d grow %g "
      "feather %g strength %g of kernel %d, sigma %g/%g, rows apart %d, "
      "%d regions:%s",
      r->c->kind->name, r->c->width, r->c->height,
      border_name (r->c->spec.border),
      r->c->spec.plane[0].x != NULL ? r->c->spec.plane[0].x->n : 0,
      r->c->spec.plane[0].y != NULL ? r->c->spec.plane[0].y->n : 0,
      (int) r->c->spec.combine, r->c->spec.scale,
      r->spec.outside ? "outside" : "inside", (int) r->spec.fill,
      (int) r->spec.shape, r->spec.grow, r->spec.feather, r->spec.strength,
      (int) r->taps.kernel, r->taps.sigma_x, r->taps.sigma_y, r->rows_apart,
      r->n, regions);
}

static void
case_end (RegionsCase *r)
{
  case_free (r->c);
  free (r);
}

/* Whether the subject's method supports the filter, if need be after some changes to it. */
static bool
suit_method (RegionsCase *r, const Subject *subject, Random *random)
{
  const SepconvMethod *method = subject->method;
  Case *c = r->c;

  if (method == NULL)
    return !r->spec.outside || r->spec.fill != REGIONS_FILTER
        || sepconv_choose_method (&c->spec, &c->layout, subject->backend, NULL,
               NULL, GPU_AFTER_KERNELS, NULL)
        != NULL;
  if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
    return true;
  case_make_boxes (c, random);
  if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
    return true;
  case_make_blurs (c, random);
  return sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL);
}

/* A case that the subject supports; NULL if none was found, which is counted. */
static RegionsCase *
case_begin (Check *check, const Subject *subject, int index, Random *random)
{
  const Effort *effort = check->quick ? &quick_effort : &normal_effort;

  for (int i = 0; i < 40; i++) {
    RegionsCase *r = kerncheck_alloc (sizeof *r);

    r->c = case_new ();
    case_make_layout (
        r->c, layout_kind (index % layout_n_kinds ()), index, effort, random);
    r->rows_apart = random_chance (random, 25) ? 2 : 1;
    make_spec (r, subject, effort, random);
    make_regions (r, random);
    /* Terms and amounts together may amplify too much. */
    if (suit_method (r, subject, random)
        && regions_validate (&r->spec, &r->c->layout, NULL)) {
      describe (check, r);
      return r;
    }
    case_end (r);
  }
  check->unsupported++;
  return NULL;
}

/* A plan and the regions that it is run with. */
typedef struct
{
  RegionsPlan *plan;
  const RegionsCase *r;
  GpuOrder order; /* for runs in place */
} Running;

/* A DeviceRun: runs whole pictures, or both fields of them. */
static bool
run_regions (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  const Running *running = user;
  const RegionsCase *r = running->r;

  if (r->rows_apart == 1)
    return regions_plan_run (running->plan, r->regions, r->n, src, dst, 1,
        stream, GPU_AFTER_KERNELS, fault);
  for (int parity = 0; parity < 2; parity++) {
    Image from, to;

    if (image_field (src, parity, &from) && image_field (dst, parity, &to)
        && !regions_plan_run (running->plan, r->regions, r->n, &from, &to, 2,
            stream, GPU_AFTER_KERNELS, fault))
      return false;
  }
  return true;
}

static void
expect_channel (Check *check, const RegionsCase *r, const Image *src,
    const Image *dst, int p, int c)
{
  const ImagePlane *plane = &src->plane[p];
  const unsigned low = (1u << plane->shift) - 1;
  const bool treated = r->c->spec.plane[p].channels >> c & 1;
  RegionsExpected *all = treated
      ? oracle_regions (&r->spec, r->regions, r->n, src, r->rows_apart, p, c)
      : NULL;
  bool ok = true;
  int i = 0;

  for (int y = 0; y < image_plane_height (src, p) && ok; y++)
    for (int x = 0; x < plane->width && ok; x++, i++) {
      const unsigned before = picture_raw (src, p, c, x, y);
      const unsigned raw = picture_raw (dst, p, c, x, y);
      const RegionsExpected *e = treated ? &all[i] : NULL;

      if (e == NULL || !e->touched || (r->spec.outside && e->kept))
        ok = EXPECT (check, raw == before,
            "plane %d channel %d at %d,%d is 0x%x, where 0x%x was to be kept",
            p, c, x, y, raw, before);
      else
        ok = EXPECT (check,
            fabs ((raw >> plane->shift) - e->code) <= e->allowed + 1e-6
                && ((raw & low) == 0 || (raw & low) == (before & low)),
            "plane %d channel %d at %d,%d is 0x%x, code %u, where %.4f +- %.4f "
            "was expected; it was 0x%x",
            p, c, x, y, raw, raw >> plane->shift, e->code, e->allowed, before);
    }
  free (all);
}

/* Expects bytes in rows that belong to no sample to be those of the source. */
static void
expect_gaps (Check *check, const Picture *src, const Picture *dst)
{
  for (int m = 0; m < dst->image.n_memories; m++) {
    const ImageMemory *from = &src->image.memory[m];
    const ImageMemory *to = &dst->image.memory[m];

    for (int y = 0; y < to->height; y++)
      for (size_t i = 0; i < to->row_bytes; i++) {
        const uint8_t *at = to->data + y * to->stride + i;

        if (!dst->owned[at - dst->block]
            && !EXPECT (check,
                *at == from->data[y * from->stride + (ptrdiff_t) i],
                "byte %zu of row %d of memory %d was not copied", i, y, m))
          return;
      }
  }
}

static void
expect_result (
    Check *check, const RegionsCase *r, const Picture *src, const Picture *dst)
{
  for (int parity = 0; parity < r->rows_apart; parity++) {
    Image from = src->image, to = dst->image;

    if (r->rows_apart == 2
        && (!image_field (&src->image, parity, &from)
            || !image_field (&dst->image, parity, &to)))
      continue;
    for (int p = 0; p < from.n_planes; p++)
      for (int c = 0; c < from.plane[p].channels; c++)
        expect_channel (check, r, &from, &to, p, c);
  }
  if (!r->spec.outside || r->spec.fill != REGIONS_FILTER)
    expect_gaps (check, src, dst);
}

/* Runs a plan, and judges everything but the samples. Returns false if the run failed, which is
 * allowed where the method does not support the taps of a region. */
static bool
run_cleanly (Check *check, const RunningSubject *subject, RegionsPlan *plan,
    const RegionsCase *r, const Picture *src, Picture *dst)
{
  Running running = { plan, r, GPU_AFTER_KERNELS };
  uint8_t *before = picture_block_copy (dst);
  bool src_changed = false, ok;
  Verdict verdict;
  Fault fault;

  fault_clear (&fault);
  ok = device_run (
      subject->device, run_regions, &running, src, dst, &src_changed, &fault);
  if (!ok && subject->subject->method != NULL && r->spec.strength > 0.0) {
    EXPECT_FAULT (check, true, &fault, FAULT_UNSUPPORTED, "taps of a region");
    free (before);
    return false;
  }
  EXPECT (check, ok, "the run failed: %s (%s)", fault.message, fault.detail);
  EXPECT (check, !src_changed, "the source was written to");
  verdict_outside_rows (&verdict, dst, before);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  free (before);
  return ok;
}

/* The caller's taps are destroyed once the plan is made. */
static RegionsPlan *
new_plan_of (Check *check, const RunningSubject *subject, const RegionsCase *r,
    const Image *layout)
{
  Taps *taps = kerncheck_alloc (2 * IMAGE_MAX_PLANES * sizeof *taps);
  SepconvSpec filter = *r->spec.filter;
  RegionsSpec spec = r->spec;
  RegionsPlan *plan;
  Fault fault;

  for (int p = 0; p < layout->n_planes; p++)
    if (filter.plane[p].channels != 0) {
      taps[2 * p] = *filter.plane[p].x;
      taps[2 * p + 1] = *filter.plane[p].y;
      filter.plane[p].x = &taps[2 * p];
      filter.plane[p].y = &taps[2 * p + 1];
    }
  spec.filter = &filter;
  fault_clear (&fault);
  plan = regions_plan_new (&spec, layout, subject->subject->backend,
      r->spec.outside || subject->subject->backend == BACKEND_CPU
          ? subject->subject->method
          : NULL,
      subject->device->gpu, &fault);
  EXPECT (check, plan != NULL, "no plan: %s", fault.message);
  memset (taps, 0, 2 * IMAGE_MAX_PLANES * sizeof *taps);
  free (taps);
  return plan;
}

/* The pictures may have fewer rows than the plan's layout. */
static RegionsPlan *
new_plan (Check *check, const RunningSubject *subject, const RegionsCase *r,
    Random *random)
{
  Image layout = r->c->layout;

  if (random_chance (random, 25))
    for (int m = 0; m < layout.n_memories; m++)
      layout.memory[m].height += random_int (random, 0, 20);
  return new_plan_of (check, subject, r, &layout);
}

static void
make_source (const RunningSubject *subject, const RegionsCase *r,
    Picture *picture, Random *random)
{
  picture_new (picture, &r->c->layout, subject->device->gpu == NULL, random);
  picture_paint (picture, r->c->content, random);
}

static void
oracle_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = case_begin (check, subject->subject, index, random);
  RegionsPlan *plan;
  Picture src, dst, again;
  Verdict verdict;

  if (r == NULL)
    return;
  plan = new_plan (check, subject, r, random);
  make_source (subject, r, &src, random);
  picture_new (&dst, &r->c->layout, subject->device->gpu == NULL, random);
  picture_new (&again, &r->c->layout, subject->device->gpu == NULL, random);
  if (plan != NULL && run_cleanly (check, subject, plan, r, &src, &dst)) {
    expect_result (check, r, &src, &dst);
    EXPECT (check, regions_plan_method_name (plan)[0] != '\0',
        "the method has no name");
    if (run_cleanly (check, subject, plan, r, &src, &again)) {
      verdict_same (&verdict, &dst.image, &again.image);
      EXPECT (check, verdict.ok, "a second run is another: %s", verdict.text);
    }
  }
  picture_clear (&src);
  picture_clear (&dst);
  picture_clear (&again);
  regions_plan_free (plan);
  case_end (r);
}

static void
check_subject (Check *check, const Subject *subject, int n, CheckCase function)
{
  Device device;
  const RunningSubject running = { subject, &device };

  if (!device_enter (check, subject->backend, &device))
    return;
  check_cases (check, n, function, &running);
  device_leave (&device);
}

static void
check_oracle (Check *check, const void *data)
{
  check_subject (check, data,
      check->quick ? layout_n_kinds () : 6 * layout_n_kinds (), oracle_case);
}

/* A DeviceRun in place: dst holds the picture already. */
static bool
run_in_place (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  const Running *running = user;
  const RegionsCase *r = running->r;

  (void) src;
  if (r->rows_apart == 1)
    return regions_plan_run_in_place (
        running->plan, r->regions, r->n, dst, 1, stream, running->order, fault);
  for (int parity = 0; parity < 2; parity++) {
    Image field;

    if (image_field (dst, parity, &field)
        && !regions_plan_run_in_place (running->plan, r->regions, r->n, &field,
            2, stream, running->order, fault))
      return false;
  }
  return true;
}

/* Whether byte i of row y of a memory lies in one of the boxes. */
static bool
lies_in (const ImageBox *box, int n, int m, int y, int i)
{
  for (int b = 0; b < n; b++)
    if (box[b].memory == m && y >= box[b].top && y < box[b].bottom
        && i >= box[b].left && i < box[b].right)
      return true;
  return false;
}

/* Fills all bytes of rows that no run in place reads with noise. */
static void
spoil_unread (Picture *picture, const RegionsBoxes *boxes, Random *random)
{
  for (int m = 0; m < picture->image.n_memories; m++) {
    const ImageMemory *memory = &picture->image.memory[m];

    for (int y = 0; y < memory->height; y++)
      for (int i = 0; i < (int) memory->row_bytes; i++)
        if (!lies_in (boxes->read, boxes->n, m, y, i))
          memory->data[y * memory->stride + i] =
              (uint8_t) random_int (random, 0, 255);
  }
}

/* Expects a run in place to have written all boxes as in `dst`, and to have left all other bytes
 * unchanged. */
static void
expect_in_place (Check *check, const RegionsBoxes *boxes, const Picture *before,
    const Picture *after, const Picture *dst)
{
  for (int m = 0; m < after->image.n_memories; m++) {
    const ImageMemory *memory = &after->image.memory[m];
    const ImageMemory *from = &before->image.memory[m];
    const ImageMemory *to = &dst->image.memory[m];

    for (int y = 0; y < memory->height; y++)
      for (int i = 0; i < (int) memory->row_bytes; i++) {
        const int byte = memory->data[y * memory->stride + i];
        const bool written = lies_in (boxes->written, boxes->n, m, y, i);
        const int expected = written ? to->data[y * to->stride + i]
                                     : from->data[y * from->stride + i];

        if (!EXPECT (check, byte == expected,
                "byte %d of row %d of memory %d is 0x%x in place, where 0x%x "
                "was expected, %s",
                i, y, m, byte, expected,
                written ? "in a box" : "outside of all boxes"))
          return;
      }
  }
}

/* Runs a plan in place (`pinned`: by a GPU in pinned memory) on a picture that has noise in all
 * bytes that are not read. */
static void
expect_run_in_place (Check *check, const RunningSubject *subject,
    RegionsPlan *plan, const RegionsCase *r, const Picture *src,
    const Picture *dst, bool pinned, Random *random)
{
  const Device *device = subject->device;
  Running running = { plan, r,
    random_chance (random, 50) ? GPU_BESIDE_KERNELS : GPU_AFTER_KERNELS };
  Picture before, after;
  bool src_changed = false;
  RegionsBoxes boxes;
  Verdict verdict;
  uint8_t *block;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  if (!EXPECT (check,
          regions_plan_find_boxes (
              plan, r->regions, r->n, r->rows_apart, &boxes, &fault),
          "no boxes: %s", fault.message))
    return;
  picture_new (&before, &r->c->layout, device->gpu == NULL, random);
  image_copy (&before.image, &src->image);
  spoil_unread (&before, &boxes, random);
  picture_new (&after, &r->c->layout, device->gpu == NULL, random);
  image_copy (&after.image, &before.image);
  block = picture_block_copy (&after);
  if (pinned)
    ok = device_pin_picture (device, &after, &fault)
        && run_in_place (&running, NULL, &after.image, device->stream, &fault)
        && gpu_stream_synchronize (device->stream, &fault);
  else
    ok = device_run (
        device, run_in_place, &running, &before, &after, &src_changed, &fault);
  EXPECT (check, ok, "the run in place failed: %s (%s)", fault.message,
      fault.detail);
  verdict_outside_rows (&verdict, &after, block);
  EXPECT (check, verdict.ok, "in place: %s", verdict.text);
  /* The run has reused the memory of the boxes. */
  if (ok
      && EXPECT (check,
          regions_plan_find_boxes (
              plan, r->regions, r->n, r->rows_apart, &boxes, &fault),
          "no boxes: %s", fault.message))
    expect_in_place (check, &boxes, &before, &after, dst);
  free (block);
  picture_clear (&before);
  picture_clear (&after);
}

static void
in_place_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = case_begin (check, subject->subject, index, random);
  RegionsPlan *plan;
  Picture src, dst;
  Fault fault;

  if (r == NULL)
    return;
  plan = new_plan_of (check, subject, r, &r->c->layout);
  make_source (subject, r, &src, random);
  picture_new (&dst, &r->c->layout, subject->device->gpu == NULL, random);
  fault_clear (&fault);
  if (plan != NULL && r->spec.outside)
    EXPECT_FAULT (check,
        !regions_plan_run_in_place (plan, r->regions, r->n, &src.image,
            r->rows_apart, subject->device->stream, GPU_AFTER_KERNELS, &fault),
        &fault, FAULT_UNSUPPORTED, "the outside in place");
  else if (plan != NULL && run_cleanly (check, subject, plan, r, &src, &dst)) {
    expect_run_in_place (check, subject, plan, r, &src, &dst, false, random);
    if (subject->device->gpu != NULL)
      expect_run_in_place (check, subject, plan, r, &src, &dst, true, random);
  }
  picture_clear (&src);
  picture_clear (&dst);
  regions_plan_free (plan);
  case_end (r);
}

/* Expects a plan that has found other boxes before to find the same boxes as a new plan. */
static void
expect_boxes (Check *check, const RunningSubject *subject, RegionsPlan *plan,
    const RegionsCase *r)
{
  RegionsPlan *fresh = new_plan_of (check, subject, r, &r->c->layout);
  RegionsBoxes got = { NULL, NULL, 0 }, wanted = { NULL, NULL, 0 };
  Fault fault;

  if (fresh == NULL)
    return;
  fault_clear (&fault);
  if (EXPECT (check,
          regions_plan_find_boxes (
              plan, r->regions, r->n, r->rows_apart, &got, &fault)
              && regions_plan_find_boxes (
                  fresh, r->regions, r->n, r->rows_apart, &wanted, &fault),
          "no boxes: %s", fault.message))
    EXPECT (check,
        got.n == wanted.n
            && (got.n == 0
                || (memcmp (got.read, wanted.read,
                        sizeof *got.read * (size_t) got.n)
                        == 0
                    && memcmp (got.written, wanted.written,
                           sizeof *got.written * (size_t) got.n)
                        == 0)),
        "the boxes of earlier regions or settings were found");
  regions_plan_free (fresh);
}

/* Changes regions, settings or fields, or nothing. */
static void
change_run (Check *check, RegionsPlan *plan, RegionsCase *r, Random *random)
{
  Fault fault;

  fault_clear (&fault);
  switch (random_int (random, 0, 4)) {
    case 0:
      for (int i = random_int (random, 0, 1) * (r->n - 1); i < r->n; i++)
        if (i >= 0 && r->regions[i].right - r->regions[i].left > 1)
          r->regions[i].left++;
      break;
    case 1:
      make_regions (r, random);
      break;
    case 2:
      r->spec.grow = 0.05 * random_int (random, 0, 10);
      EXPECT (check, regions_plan_update (plan, &r->spec, &fault),
          "not updated: %s", fault.message);
      break;
    case 3:
      r->rows_apart = 3 - r->rows_apart;
      break;
    default:
      break;
  }
}

static void
boxes_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = case_begin (check, subject->subject, index, random);
  RegionsPlan *plan;

  if (r == NULL)
    return;
  plan = new_plan_of (check, subject, r, &r->c->layout);
  for (int i = 0; i < 12 && plan != NULL; i++) {
    expect_boxes (check, subject, plan, r);
    change_run (check, plan, r, random);
  }
  regions_plan_free (plan);
  case_end (r);
}

static void
check_boxes (Check *check, const void *data)
{
  check_subject (check, data, check->quick ? 40 : 400, boxes_case);
}

/* Runs two plans, the first one into `got`, and compares the results. Returns false if a run
 * failed. */
static bool
run_both (Check *check, const RunningSubject *subject, RegionsPlan *plan,
    RegionsPlan *fresh, const RegionsCase *r, const Picture *src, Picture *got,
    Verdict *verdict, Random *random)
{
  Picture wanted;
  bool ok;

  picture_new (&wanted, &r->c->layout, subject->device->gpu == NULL, random);
  ok = run_cleanly (check, subject, plan, r, src, got)
      && run_cleanly (check, subject, fresh, r, src, &wanted);
  if (ok)
    verdict_same (verdict, &got->image, &wanted.image);
  picture_clear (&wanted);
  return ok;
}

/* Expects a plan that has run with other settings before to give the same result as a new plan. */
static void
expect_same_run (Check *check, const RunningSubject *subject, RegionsPlan *plan,
    const RegionsCase *r, const Picture *src, Random *random)
{
  RegionsPlan *fresh = new_plan_of (check, subject, r, &r->c->layout);
  Picture got;
  Verdict verdict;

  picture_new (&got, &r->c->layout, subject->device->gpu == NULL, random);
  if (fresh != NULL
      && run_both (check, subject, plan, fresh, r, src, &got, &verdict, random))
    EXPECT (check, verdict.ok, "unlike a new plan: %s", verdict.text);
  picture_clear (&got);
  regions_plan_free (fresh);
}

static void
again_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = case_begin (check, subject->subject, index, random);
  RegionsPlan *plan;
  Picture src;

  if (r == NULL)
    return;
  plan = new_plan_of (check, subject, r, &r->c->layout);
  make_source (subject, r, &src, random);
  for (int i = 0; i < 6 && plan != NULL; i++) {
    expect_same_run (check, subject, plan, r, &src, random);
    change_run (check, plan, r, random);
  }
  picture_clear (&src);
  regions_plan_free (plan);
  case_end (r);
}

static void
check_again (Check *check, const void *data)
{
  check_subject (check, data, check->quick ? 30 : 300, again_case);
}

static void
check_in_place (Check *check, const void *data)
{
  check_subject (check, data,
      check->quick ? 2 * layout_n_kinds () : 8 * layout_n_kinds (),
      in_place_case);
}

/* Small regions, and sometimes one that is too large for one worker, in a picture large enough for
 * both. */
static RegionsCase *
crowd_begin (Check *check, int index, Random *random)
{
  static const char *const kinds[] = { "gray8", "rgbx", "nv12", "yuy2", "p010",
    "rgba64" };
  static const Subject any = { BACKEND_CPU, NULL };
  RegionsCase *r = kerncheck_alloc (sizeof *r);
  Case *c = case_new ();

  r->c = c;
  r->rows_apart = 1;
  case_set_layout (c, layout_kind_by_name (kinds[index % 6]),
      random_int (random, 600, 1000), random_int (random, 500, 700));
  do {
    make_spec (r, &any, &quick_effort, random);
    r->spec.outside = false;
    r->spec.grow = 0.0;
    r->spec.taps = &r->taps;
    if (index % 2 == 0) {
      r->spec.fill = REGIONS_FILTER;
      r->taps.kernel = TAPS_GAUSSIAN;
      r->spec.strength = random_double (random, 0.05, 0.3);
      c->spec.combine = SEPCONV_SUM;
    } else {
      r->spec.strength = 0.0;
      case_make_blurs (c, random);
    }
  } while (!regions_validate (&r->spec, &c->layout, NULL));
  r->n = random_int (random, 2, 40);
  for (int i = 0; i < r->n; i++) {
    const bool large = random_chance (random, 10);
    const int width = large ? 450 : random_int (random, 8, 130);
    const int height = large ? 350 : random_int (random, 8, 130);
    const int x = random_int (random, -20, c->width);
    const int y = random_int (random, -20, c->height);

    r->regions[i] = (Region){ x, y, x + width, y + height };
  }
  describe (check, r);
  return r;
}

/* The result of a new plan with at most this many workers; 0: any number. */
static bool
run_crowd (Check *check, const RunningSubject *subject, const RegionsCase *r,
    int workers, bool in_place, const Picture *src, Picture *dst)
{
  const int limit = workers_limit (workers);
  RegionsPlan *plan = new_plan_of (check, subject, r, &r->c->layout);
  Running running = { plan, r, GPU_AFTER_KERNELS };
  bool ok = plan != NULL;
  Fault fault;

  fault_clear (&fault);
  image_copy (&dst->image, &src->image);
  /* In each run the workers get other regions. */
  for (int i = 0; i < 3 && ok; i++) {
    if (in_place)
      image_copy (&dst->image, &src->image);
    ok = EXPECT (check,
        (in_place ? run_in_place : run_regions) (
            &running, &src->image, &dst->image, NULL, &fault),
        "the run failed: %s", fault.message);
  }
  regions_plan_free (plan);
  workers_limit (limit);
  return ok;
}

/* With one worker or several, in a copy or in place, all bytes are the same. */
static void
workers_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = crowd_begin (check, index, random);
  Picture src, one, other;
  Verdict verdict;

  picture_new (&src, &r->c->layout, true, random);
  picture_new (&one, &r->c->layout, true, random);
  picture_new (&other, &r->c->layout, true, random);
  picture_paint (&src, CONTENT_NOISE, random);
  if (run_crowd (check, subject, r, 1, false, &src, &one))
    for (int i = 0; i < 4; i++) {
      const bool in_place = i % 2 != 0;

      if (!run_crowd (check, subject, r, 0, in_place, &src, &other))
        continue;
      verdict_same (&verdict, &one.image, &other.image);
      EXPECT (check, verdict.ok, "several workers, %s: %s",
          in_place ? "in place" : "in a copy", verdict.text);
    }
  picture_clear (&src);
  picture_clear (&one);
  picture_clear (&other);
  case_end (r);
}

static void
check_several_workers (Check *check, const void *data)
{
  check_subject (check, data, check->quick ? 12 : 60, workers_case);
}

/* Regions with so many bytes that each of the few blocks of a GPU's copy kernel copies many
 * parts. */
static void
large_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = crowd_begin (check, index, random);
  RegionsPlan *plan;
  Picture src, dst;

  r->spec.fill = index % 2 == 0 ? REGIONS_PIXELATE : REGIONS_SOLID;
  r->spec.strength = 0.0;
  r->n = 2;
  r->regions[0] = (Region){ 3, 2, r->c->width - 5, r->c->height / 2 };
  r->regions[1] =
      (Region){ 40, r->c->height / 2 + 9, r->c->width - 1, r->c->height - 20 };
  describe (check, r);
  plan = new_plan_of (check, subject, r, &r->c->layout);
  make_source (subject, r, &src, random);
  picture_new (&dst, &r->c->layout, false, random);
  if (plan != NULL && run_cleanly (check, subject, plan, r, &src, &dst))
    expect_run_in_place (check, subject, plan, r, &src, &dst, true, random);
  picture_clear (&src);
  picture_clear (&dst);
  regions_plan_free (plan);
  case_end (r);
}

static void
check_in_place_large (Check *check, const void *data)
{
  check_subject (check, data, check->quick ? 6 : 24, large_case);
}

/* Another spec and other regions for a case's layout, which the same plan accepts. */
static RegionsCase *
case_next (const RegionsCase *r, const RunningSubject *subject, Random *random)
{
  RegionsCase *next = kerncheck_alloc (sizeof *next);

  next->c = case_new ();
  do {
    case_set_layout (next->c, r->c->kind, r->c->width, r->c->height);
    next->rows_apart = r->rows_apart;
    make_spec (next, subject->subject, &quick_effort, random);
  } while (next->spec.outside != r->spec.outside
      || (r->spec.outside && next->spec.fill != r->spec.fill)
      || !suit_method (next, subject->subject, random)
      || !regions_validate (&next->spec, &next->c->layout, NULL));
  make_regions (next, random);
  return next;
}

/* Expects an updated plan to equal a new one; only the method for the whole picture may differ,
 * which needs a new plan. */
static void
expect_as_fresh (Check *check, const RunningSubject *subject, RegionsPlan *plan,
    const RegionsCase *r, Random *random)
{
  RegionsPlan *fresh = new_plan (check, subject, r, random);
  Picture src, dst;
  Verdict verdict;

  make_source (subject, r, &src, random);
  picture_new (&dst, &r->c->layout, false, random);
  if (fresh != NULL
      && run_both (
          check, subject, plan, fresh, r, &src, &dst, &verdict, random)) {
    expect_result (check, r, &src, &dst);
    EXPECT (check, verdict.ok || r->spec.outside,
        "an updated plan is another: %s", verdict.text);
  }
  picture_clear (&src);
  picture_clear (&dst);
  regions_plan_free (fresh);
}

static void
update_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = case_begin (check, subject->subject, index, random);
  RegionsPlan *plan;

  if (r == NULL)
    return;
  plan = new_plan (check, subject, r, random);
  for (int i = 0; plan != NULL && i < 5; i++) {
    RegionsCase *next = case_next (r, subject, random);
    Fault fault;

    describe (check, next);
    fault_clear (&fault);
    if (regions_plan_update (plan, &next->spec, &fault))
      expect_as_fresh (check, subject, plan, next, random);
    else
      EXPECT (check, fault.kind == FAULT_UNSUPPORTED && r->spec.outside,
          "an update failed: %s", fault.message);
    case_end (next);
  }
  regions_plan_free (plan);
  case_end (r);
}

/* Runs that are queued together, each with its own regions and pictures: the data that a run was
 * queued with must not change before it is done. */
#define N_FLIGHTS 10

typedef struct
{
  Region regions[MAX_REGIONS];
  int n;
  Picture src, dst, alone;
  DevicePicture from, to;
} Flight;

static bool
queue_flights (const RunningSubject *subject, RegionsPlan *plan,
    Flight *flights, Fault *fault)
{
  const Device *device = subject->device;

  for (int i = 0; i < N_FLIGHTS; i++)
    if (!device_picture_new (&flights[i].from, device, &flights[i].src, fault)
        || !device_picture_new (&flights[i].to, device, &flights[i].dst, fault))
      return false;
  for (int i = 0; i < N_FLIGHTS; i++)
    if (!regions_plan_run (plan, flights[i].regions, flights[i].n,
            &flights[i].from.image, &flights[i].to.image, 1, device->stream,
            i % 3 == 0 ? GPU_AFTER_KERNELS : GPU_BESIDE_KERNELS, fault))
      return false;
  for (int i = 0; i < N_FLIGHTS; i++)
    if (!device_picture_fetch (&flights[i].to, device, flights[i].dst.block,
            flights[i].dst.bytes, fault))
      return false;
  return true;
}

static void
flight_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = case_begin (check, subject->subject, index, random);
  Flight *flights = kerncheck_alloc (N_FLIGHTS * sizeof *flights);
  RegionsPlan *plan;
  Verdict verdict;
  Fault fault;

  if (r == NULL) {
    free (flights);
    return;
  }
  r->rows_apart = 1;
  plan = new_plan (check, subject, r, random);
  memset (flights, 0, N_FLIGHTS * sizeof *flights);
  for (int i = 0; i < N_FLIGHTS; i++) {
    make_regions (r, random);
    memcpy (flights[i].regions, r->regions, sizeof r->regions);
    flights[i].n = r->n;
    make_source (subject, r, &flights[i].src, random);
    picture_new (&flights[i].dst, &r->c->layout, false, random);
    picture_new (&flights[i].alone, &r->c->layout, false, random);
  }
  fault_clear (&fault);
  if (plan != NULL
      && EXPECT (check, queue_flights (subject, plan, flights, &fault),
          "a run failed: %s (%s)", fault.message, fault.detail))
    for (int i = 0; i < N_FLIGHTS; i++) {
      memcpy (r->regions, flights[i].regions, sizeof r->regions);
      r->n = flights[i].n;
      if (!run_cleanly (
              check, subject, plan, r, &flights[i].src, &flights[i].alone))
        continue;
      verdict_same (&verdict, &flights[i].dst.image, &flights[i].alone.image);
      EXPECT (check, verdict.ok, "run %d of several is another: %s", i,
          verdict.text);
    }
  for (int i = 0; i < N_FLIGHTS; i++) {
    device_picture_clear (&flights[i].from);
    device_picture_clear (&flights[i].to);
    picture_clear (&flights[i].src);
    picture_clear (&flights[i].dst);
    picture_clear (&flights[i].alone);
  }
  regions_plan_free (plan);
  case_end (r);
  free (flights);
}

static void
check_flight (Check *check, const void *data)
{
  check_subject (check, data,
      check->quick ? layout_n_kinds () : 3 * layout_n_kinds (), flight_case);
}

static void
check_update (Check *check, const void *data)
{
  check_subject (check, data, check->quick ? 12 : 60, update_case);
}

/* A smaller size of a layout, or the layout's own. */
static void
random_smaller (const Case *c, Image *layout, Random *random)
{
  layout_make (c->kind, random_int (random, 1, c->width),
      random_int (random, 1, c->height), layout);
}

static void
expect_reshaped (Check *check, const Device *device, SepconvPlan *plan,
    const SepconvMethod *method, const Case *c, const Image *layout,
    Random *random)
{
  Picture src, dst, other;
  SepconvPlan *fresh;
  Verdict verdict;
  Fault fault;

  fault_clear (&fault);
  fresh =
      sepconv_plan_new (&c->spec, layout, BACKEND_CPU, method, NULL, &fault);
  if (!EXPECT (check, fresh != NULL, "no plan: %s", fault.message)
      || !EXPECT (check, sepconv_plan_reshape (plan, layout, &fault),
          "%dx%d: %s", layout->plane[0].width, image_plane_height (layout, 0),
          fault.message)) {
    sepconv_plan_free (fresh);
    return;
  }
  picture_new (&src, layout, true, random);
  picture_paint (&src, c->content, random);
  picture_new (&dst, layout, true, random);
  picture_new (&other, layout, true, random);
  if (device_run_cleanly (check, device, device_sepconv, plan, &src, &dst)
      && device_run_cleanly (
          check, device, device_sepconv, fresh, &src, &other)) {
    verdict_same (&verdict, &dst.image, &other.image);
    EXPECT (check, verdict.ok, "reshaped to %dx%d: %s", layout->plane[0].width,
        image_plane_height (layout, 0), verdict.text);
  }
  picture_clear (&src);
  picture_clear (&dst);
  picture_clear (&other);
  sepconv_plan_free (fresh);
}

/* For a plan that may not become larger than `layout`. */
static void
expect_no_larger (
    Check *check, SepconvPlan *plan, const Image *layout, bool gpu)
{
  Image larger = *layout;
  Fault fault;

  larger.memory[0].height++;
  fault_clear (&fault);
  EXPECT_FAULT (check, !sepconv_plan_reshape (plan, &larger, &fault), &fault,
      gpu ? FAULT_UNSUPPORTED : FAULT_SETTINGS, "a taller picture");
  larger = *layout;
  larger.plane[0].depth--;
  fault_clear (&fault);
  if (larger.plane[0].depth > 0)
    EXPECT_FAULT (check, !sepconv_plan_reshape (plan, &larger, &fault), &fault,
        gpu ? FAULT_UNSUPPORTED : FAULT_SETTINGS, "another depth");
}

static Case *
reshape_subject (
    Check *check, const SepconvMethod *method, int index, Random *random)
{
  static const Effort effort = { 700, 300, 1e7 };
  Case *c = case_new ();

  for (int i = 0; i < 40; i++) {
    case_any_size (c, layout_kind (index % layout_n_kinds ()),
        check->quick ? &quick_effort : &effort, random);
    case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
    if (!sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      case_make_boxes (c, random);
    if (!sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      case_make_blurs (c, random);
    if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      return c;
  }
  case_free (c);
  return NULL;
}

static void
reshape_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  Case *c = reshape_subject (check, subject->method, index, random);
  SepconvPlan *plan;
  Image layout;
  Fault fault;

  if (c == NULL) {
    check->unsupported++;
    return;
  }
  case_describe (check, c);
  fault_clear (&fault);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, subject->device->gpu, &fault);
  EXPECT (check, plan != NULL, "no plan: %s", fault.message);
  if (plan != NULL)
    expect_no_larger (check, plan, &c->layout, subject->device->gpu != NULL);
  for (int i = 0; plan != NULL && subject->device->gpu == NULL && i < 5; i++) {
    random_smaller (c, &layout, random);
    if (random_chance (random, 30)) {
      c->spec.bias = random_double (random, -0.1, 0.1);
      if (!sepconv_plan_update (plan, &c->spec, &fault))
        break;
    }
    expect_reshaped (
        check, subject->device, plan, subject->method, c, &layout, random);
  }
  sepconv_plan_free (plan);
  case_free (c);
}

static void
check_reshape (Check *check, const void *data)
{
  device_check_method (
      check, data, check->quick ? layout_n_kinds () : 200, reshape_case);
}

/* A valid spec, of which refusals change one setting. */
static RegionsCase *
plain_case (const char *kind)
{
  RegionsCase *r = kerncheck_alloc (sizeof *r);

  r->c = case_new ();
  case_set_layout (r->c, layout_kind_by_name (kind), 12, 8);
  r->c->spec.scale = 1.0;
  r->taps = (TapsSettings){ .kernel = TAPS_GAUSSIAN,
    .sigma_x = 2.0,
    .sigma_y = -1.0,
    .radius_x = -1,
    .radius_y = -1 };
  for (int p = 0; p < r->c->layout.n_planes; p++) {
    taps_gaussian (&r->c->x[p], 1.0, 2);
    taps_gaussian (&r->c->y[p], 1.0, 2);
    r->c->spec.plane[p].channels = 1;
    r->c->spec.plane[p].x = &r->c->x[p];
    r->c->spec.plane[p].y = &r->c->y[p];
  }
  r->spec.filter = &r->c->spec;
  r->spec.taps = &r->taps;
  r->rows_apart = 1;
  r->n = 1;
  r->regions[0] = (Region){ 2, 2, 6, 6 };
  set_subsampling (r);
  return r;
}

static void
spoil_grow (RegionsCase *r)
{
  r->spec.grow = 10.5;
}

static void
spoil_feather (RegionsCase *r)
{
  r->spec.feather = NAN;
}

static void
spoil_strength (RegionsCase *r)
{
  r->spec.strength = -0.1;
}

static void
spoil_strength_outside (RegionsCase *r)
{
  r->spec.strength = 0.1;
  r->spec.outside = true;
}

static void
spoil_strength_kernel (RegionsCase *r)
{
  r->spec.strength = 0.1;
  r->taps.kernel = TAPS_SOBEL_X;
}

static void
spoil_strength_terms (RegionsCase *r)
{
  r->spec.strength = 0.1;
  r->c->spec.plane[0].n_more = 1;
  r->c->spec.plane[0].more[0] = (SepconvTerm){ &r->c->x[0], &r->c->y[0] };
}

static void
spoil_strength_taps (RegionsCase *r)
{
  r->spec.strength = 0.1;
  r->spec.taps = NULL;
}

/* The spec's own taps are 1, which is just allowed; a region's taps may exceed that by rounding. */
static void
spoil_strength_gain (RegionsCase *r)
{
  r->spec.strength = 0.1;
  r->c->spec.scale = SEPCONV_MAX_GAIN;
  for (int p = 0; p < r->c->layout.n_planes; p++) {
    taps_gaussian (&r->c->x[p], 0.0, 0);
    taps_gaussian (&r->c->y[p], 0.0, 0);
  }
}

static void
spoil_pixelate (RegionsCase *r)
{
  r->spec.fill = REGIONS_PIXELATE;
  r->spec.outside = true;
}

static void
spoil_sigma (RegionsCase *r)
{
  r->spec.fill = REGIONS_PIXELATE;
  r->taps.sigma_x = NAN;
}

static void
spoil_color (RegionsCase *r)
{
  r->spec.fill = REGIONS_SOLID;
  r->spec.color[1][0] = 256.0;
}

static void
spoil_fill (RegionsCase *r)
{
  r->spec.fill = (RegionsFill) 3;
}

static void
spoil_shape (RegionsCase *r)
{
  r->spec.shape = (RegionsShape) 2;
}

static void
spoil_subsampling (RegionsCase *r)
{
  r->spec.subsampling_y[1] = 0;
}

static void
spoil_filter (RegionsCase *r)
{
  r->c->spec.plane[0].channels = 2;
}

static void
spoil_no_filter (RegionsCase *r)
{
  r->spec.filter = NULL;
}

static void
check_refusals (Check *check, const void *data)
{
  static const struct
  {
    const char *what;
    void (*spoil) (RegionsCase *r);
  } rows[] = {
    { "too large a grow", spoil_grow },
    { "a feather that is no number", spoil_feather },
    { "a negative strength", spoil_strength },
    { "a strength outside", spoil_strength_outside },
    { "a strength of a derivative", spoil_strength_kernel },
    { "a strength of two terms", spoil_strength_terms },
    { "a strength of unknown taps", spoil_strength_taps },
    { "a strength of the largest gain", spoil_strength_gain },
    { "pixels outside", spoil_pixelate },
    { "pixels of no size", spoil_sigma },
    { "a color out of range", spoil_color },
    { "an unknown fill", spoil_fill },
    { "an unknown shape", spoil_shape },
    { "no subsampling", spoil_subsampling },
    { "a filter that is not valid", spoil_filter },
    { "no filter", spoil_no_filter },
  };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    RegionsCase *r = plain_case ("nv12");
    Fault fault;

    fault_clear (&fault);
    EXPECT (check, regions_validate (&r->spec, &r->c->layout, &fault),
        "the plain spec is refused: %s", fault.message);
    rows[i].spoil (r);
    fault_clear (&fault);
    EXPECT_FAULT (check, !regions_validate (&r->spec, &r->c->layout, &fault),
        &fault, FAULT_SETTINGS, rows[i].what);
    fault_clear (&fault);
    EXPECT_FAULT (check,
        regions_plan_new (
            &r->spec, &r->c->layout, BACKEND_CPU, NULL, NULL, &fault)
            == NULL,
        &fault, FAULT_SETTINGS, rows[i].what);
    case_end (r);
  }
}

/* Specs that are accepted with nearly the largest gain run with regions of any size. */
static void
check_strength_gain (Check *check, const void *data)
{
  static const TapsKernel kernels[] = { TAPS_GAUSSIAN, TAPS_BOX, TAPS_BINOMIAL,
    TAPS_UNSHARP };
  RegionsCase *r = plain_case ("nv12");
  Random random = { check->seed };
  Picture src, dst;

  (void) data;
  check->cases++;
  case_set_layout (r->c, layout_kind_by_name ("nv12"), 160, 160);
  picture_new (&src, &r->c->layout, true, &random);
  picture_new (&dst, &r->c->layout, true, &random);
  r->spec.strength = 1.0;
  r->c->spec.amount = 1.0;
  for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
    const bool unsharp = kernels[k] == TAPS_UNSHARP;
    RegionsPlan *plan;
    Fault fault;

    fault_clear (&fault);
    r->taps.kernel = kernels[k];
    r->c->spec.combine = unsharp ? SEPCONV_UNSHARP : SEPCONV_SUM;
    r->c->spec.scale = (1.0 - 4e-9) * SEPCONV_MAX_GAIN / (unsharp ? 3.0 : 1.0);
    plan = regions_plan_new (
        &r->spec, &r->c->layout, BACKEND_CPU, NULL, NULL, &fault);
    EXPECT (check, plan != NULL, "kernel %d is refused: %s", (int) kernels[k],
        fault.message);
    for (int side = 1; plan != NULL && side <= 160; side += side < 40 ? 1 : 8) {
      const Region region = { 0, 0, side, side };

      EXPECT (check,
          regions_plan_run (plan, &region, 1, &src.image, &dst.image, 1, NULL,
              GPU_AFTER_KERNELS, &fault),
          "kernel %d, a region of %d pixels: %s", (int) kernels[k], side,
          fault.message);
    }
    regions_plan_free (plan);
  }
  picture_clear (&src);
  picture_clear (&dst);
  case_end (r);
}

/* Runs with invalid regions or images, which must leave dst unchanged. */
static void
check_wrong_runs (Check *check, const void *data)
{
  static const Region wrong[] = { { 4, 2, 4, 6 }, { 2, 6, 6, 2 },
    { -REGIONS_MAX_EDGE - 1, 0, 4, 4 }, { 0, 0, 4, REGIONS_MAX_EDGE + 1 } };
  const Device host = { NULL, NULL };
  RegionsCase *r = plain_case ("nv12");
  Random random = { check->seed };
  Picture src, dst, other;
  RegionsPlan *plan;
  uint8_t *before;
  bool changed;
  Image layout;
  Fault fault;

  (void) data;
  check->cases++;
  plan = regions_plan_new (
      &r->spec, &r->c->layout, BACKEND_CPU, NULL, NULL, &fault);
  picture_new (&src, &r->c->layout, true, &random);
  picture_new (&dst, &r->c->layout, true, &random);
  layout_make (r->c->kind, 14, 8, &layout);
  picture_new (&other, &layout, true, &random);
  before = picture_block_copy (&dst);
  for (size_t i = 0; plan != NULL && i < 4; i++) {
    Running running = { plan, r, GPU_AFTER_KERNELS };

    r->regions[0] = wrong[i];
    fault_clear (&fault);
    EXPECT_FAULT (check,
        !device_run (
            &host, run_regions, &running, &src, &dst, &changed, &fault),
        &fault, FAULT_SETTINGS, "an empty or far region");
  }
  r->regions[0] = (Region){ 2, 2, 6, 6 };
  fault_clear (&fault);
  EXPECT_FAULT (check,
      !regions_plan_run (plan, r->regions, 1, &src.image, &dst.image, 3, NULL,
          GPU_AFTER_KERNELS, &fault),
      &fault, FAULT_SETTINGS, "three rows apart");
  fault_clear (&fault);
  EXPECT_FAULT (check,
      !regions_plan_run (plan, r->regions, -1, &src.image, &dst.image, 1, NULL,
          GPU_AFTER_KERNELS, &fault),
      &fault, FAULT_SETTINGS, "less than no regions");
  fault_clear (&fault);
  EXPECT_FAULT (check,
      !regions_plan_run (plan, r->regions, 1, &other.image, &dst.image, 1, NULL,
          GPU_AFTER_KERNELS, &fault),
      &fault, FAULT_SETTINGS, "a wider picture");
  EXPECT (check, memcmp (before, dst.block, dst.bytes) == 0,
      "the destination was written to");
  r->spec.outside = true;
  fault_clear (&fault);
  EXPECT_FAULT (check, !regions_plan_update (plan, &r->spec, &fault), &fault,
      FAULT_UNSUPPORTED, "another side");
  regions_plan_free (plan);
  regions_plan_free (NULL);
  free (before);
  picture_clear (&src);
  picture_clear (&dst);
  picture_clear (&other);
  case_end (r);
}

/* Methods of the other backend. */
static void
check_wrong_methods (Check *check, const void *data)
{
  RegionsCase *r = plain_case ("nv12");

  (void) data;
  check->cases++;
  for (int i = 0; i < sepconv_n_methods (); i++) {
    Fault fault;

    if (sepconv_method (i)->backend == BACKEND_CPU)
      continue;
    fault_clear (&fault);
    EXPECT_FAULT (check,
        regions_plan_new (&r->spec, &r->c->layout, BACKEND_CPU,
            sepconv_method (i), NULL, &fault)
            == NULL,
        &fault, FAULT_SETTINGS, "a method of the GPU on the CPU");
  }
  case_end (r);
}

/* Distance from an edge at which a gaussian of sigma 20 does not reach the edge with the radius for
 * 8 bits, but does with that for 16 bits. */
#define FAR 80

/* An edge at that distance. Taps are made for the samples' depth, even if the spec's taps were made
 * for another. */
static void
deep_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  RegionsCase *r = plain_case ("gray16");
  RegionsPlan *plan;
  Picture src, dst;

  case_set_layout (r->c, r->c->kind, FAR + 40, 40);
  r->taps.depth = 8 * index;
  r->spec.strength = 0.1;
  r->regions[0] = (Region){ -10, -10, 190, 190 };
  describe (check, r);
  plan = new_plan (check, subject, r, random);
  make_source (subject, r, &src, random);
  picture_new (&dst, &r->c->layout, subject->device->gpu == NULL, random);
  for (int y = 0; y < r->c->height; y++)
    for (int x = 0; x < r->c->width; x++)
      picture_write_code (&src.image, 0, 0, x, y, x < FAR + 10 ? 0 : 65535);
  if (plan != NULL && run_cleanly (check, subject, plan, r, &src, &dst))
    expect_result (check, r, &src, &dst);
  picture_clear (&src);
  picture_clear (&dst);
  regions_plan_free (plan);
  case_end (r);
}

static void
check_deep (Check *check, const void *data)
{
  check_subject (check, data, 3, deep_case);
}

/* Gives all regions a gaussian that ends early: its fits reach beyond the taps with some weight. */
static void
make_short_gaussian (RegionsCase *r, Random *random)
{
  Case *c = r->c;

  r->spec.strength = 0.0;
  for (int p = 0; p < c->layout.n_planes; p++) {
    SepconvPlane *plane = &c->spec.plane[p];
    const int radius = random_int (random, 32, 90);

    if (plane->channels == 0)
      continue;
    taps_gaussian (&c->x[p], radius / 3.0, radius);
    taps_gaussian (&c->y[p], radius / 3.0, radius);
    plane->x = &c->x[p];
    plane->y = &c->y[p];
    plane->n_more = 0;
  }
}

/* A case of long blurs, which may vary from region to region, in a picture of several tiles. */
static RegionsCase *
long_begin (Check *check, int index, Random *random)
{
  static const Subject any = { BACKEND_CPU, NULL };
  const int scale = check->quick ? 1 : 2;
  RegionsCase *r = kerncheck_alloc (sizeof *r);
  Case *c = case_new ();

  r->c = c;
  r->rows_apart = random_chance (random, 20) ? 2 : 1;
  case_set_layout (c, layout_kind (index % layout_n_kinds ()),
      random_int (random, 30, 250 * scale),
      random_int (random, 20, 100 * scale));
  do {
    make_spec (r, &any, &quick_effort, random);
    r->spec.outside = false;
    r->spec.fill = REGIONS_FILTER;
    r->spec.grow = 0.0;
    r->spec.shape =
        random_chance (random, 60) ? REGIONS_RECTANGLE : REGIONS_ELLIPSE;
    r->spec.feather =
        random_chance (random, 60) ? 0.0 : random_double (random, 0.0, 0.5);
    r->spec.taps = &r->taps;
    r->taps.kernel = TAPS_GAUSSIAN;
    r->spec.strength = random_double (random, 0.1, 1.5);
    r->spec.scale_taps = random_chance (random, 70);
    c->spec.combine = SEPCONV_SUM;
    c->spec.scale = random_chance (random, 70) ? 1.0 : c->spec.scale;
    if (random_chance (random, 30))
      make_short_gaussian (r, random);
  } while (!regions_validate (&r->spec, &c->layout, NULL));
  r->n = random_int (random, 1, 3);
  for (int i = 0; i < r->n; i++) {
    const int width = random_int (random, 10, 150 * scale);
    const int height = random_int (random, 10, 100 * scale);
    /* The last column may belong to some planes only. */
    const int x = random_chance (random, 10)
        ? c->width - 1
        : random_int (random, -20, c->width);
    const int y = random_int (random, -20, c->height);

    r->regions[i] = (Region){ x, y, x + width, y + height };
  }
  describe (check, r);
  return r;
}

static void
long_case (Check *check, Random *random, int index, const void *data)
{
  const RunningSubject *subject = data;
  Gpu *gpu = subject->device->gpu;
  RegionsCase *r = long_begin (check, index, random);
  RegionsPlan *plan;
  Picture src, dst;

  /* On a GPU of fewer multiprocessors, each block of threads has more to do. */
  if (gpu != NULL)
    gpu_limit_multiprocessors (gpu, random_int (random, 0, 4));
  plan = new_plan_of (check, subject, r, &r->c->layout);
  make_source (subject, r, &src, random);
  picture_new (&dst, &r->c->layout, gpu == NULL, random);
  if (plan != NULL && run_cleanly (check, subject, plan, r, &src, &dst)) {
    expect_result (check, r, &src, &dst);
    expect_run_in_place (check, subject, plan, r, &src, &dst, false, random);
    if (gpu != NULL)
      expect_run_in_place (check, subject, plan, r, &src, &dst, true, random);
  }
  picture_clear (&src);
  picture_clear (&dst);
  regions_plan_free (plan);
  if (gpu != NULL)
    gpu_limit_multiprocessors (gpu, 0);
  case_end (r);
}

static void
check_long (Check *check, const void *data)
{
  check_subject (check, data,
      check->quick ? layout_n_kinds () : 4 * layout_n_kinds (), long_case);
}

void
check_regions_add (void)
{
  static const Subject any = { BACKEND_CPU, NULL },
                       gpu = { BACKEND_CUDA, NULL };
  static Subject subjects[64];

  kerncheck_add (check_oracle, &any, NULL, "regions/cpu/oracle");
  kerncheck_add (check_in_place, &any, NULL, "regions/cpu/in-place");
  kerncheck_add (check_boxes, &any, NULL, "regions/cpu/boxes");
  kerncheck_add (check_again, &any, NULL, "regions/cpu/again");
  kerncheck_add (check_update, &any, NULL, "regions/cpu/update");
  kerncheck_add (check_several_workers, &any, NULL, "regions/cpu/workers");
  kerncheck_add (check_deep, &any, NULL, "regions/cpu/deep");
  kerncheck_add (check_long, &any, NULL, "regions/cpu/long");
  kerncheck_add (check_oracle, &gpu, NULL, "regions/cuda/oracle");
  kerncheck_add (check_in_place, &gpu, NULL, "regions/cuda/in-place");
  kerncheck_add (
      check_in_place_large, &gpu, NULL, "regions/cuda/in-place-large");
  kerncheck_add (check_again, &gpu, NULL, "regions/cuda/again");
  kerncheck_add (check_update, &gpu, NULL, "regions/cuda/update");
  kerncheck_add (check_deep, &gpu, NULL, "regions/cuda/deep");
  kerncheck_add (check_long, &gpu, NULL, "regions/cuda/long");
  kerncheck_add (check_flight, &gpu, NULL, "regions/cuda/in-flight");
  for (int i = 0; i < sepconv_n_methods () && i < 64; i++) {
    const SepconvMethod *method = sepconv_method (i);

    kerncheck_add (
        check_reshape, method, method, "regions/%s/reshape", method->name);
    if (method->backend != BACKEND_CPU)
      continue;
    subjects[i] = (Subject){ BACKEND_CPU, method };
    kerncheck_add (
        check_oracle, &subjects[i], method, "regions/%s/oracle", method->name);
  }
  kerncheck_add (check_refusals, NULL, NULL, "regions/refusals");
  kerncheck_add (check_strength_gain, NULL, NULL, "regions/strength-gain");
  kerncheck_add (check_wrong_runs, NULL, NULL, "regions/wrong-runs");
  kerncheck_add (check_wrong_methods, NULL, NULL, "regions/wrong-methods");
}
