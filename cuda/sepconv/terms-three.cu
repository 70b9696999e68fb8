/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-three: the kernels and their host side: which specs they suit, and launches. */
#include "terms-three-strip.cuh"

#include "../gpu-check.h"

#include <math.h>

/* Blocks on a multiprocessor for which a launch that overlaps others is divided, except for
 * DIRECTION: fewer blocks have higher strips, so that fewer rows are summed twice. */
#define MOST_BESIDE 2

/* Largest ratio of the integers, and most that the least integer may be. */
#define MOST_INTEGER 32
#define MOST_LEAST_INTEGER 4
/* Largest factor of results, to stay within FP32. */
#define LARGEST_FACTOR 1e20

template <int BYTES, SepconvCombine KIND, int C>
__device__ __forceinline__ void
march_three (
    const TermsThreeFrame &frame, const TermsThreePlane &plane, uint8_t *shared)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  typedef typename Three<BYTES, KIND, C>::Type S;
  const StripPlace place = strip_place (plane.strip);

  if (plane.strip.filter)
    march_short<S> (frame, plane, place, shared);
  else
    strip_copy (frame.order, plane.strip, place, place.column * S::TILE,
        min ((place.column + 1) * S::TILE, plane.strip.row_bytes));
#endif
}

template <int BYTES, SepconvCombine KIND>
static __global__ void
__launch_bounds__ (
    STRIP_THREADS, BYTES == 1 || KIND == SEPCONV_DIRECTION ? 4 : 3)
    three_strips (GPU_PARAMETER TermsThreeFrame frame)
{
  GPU_DYNAMIC_SHARED (uint8_t, shared);
  const TermsThreePlane &plane = frame.plane[strip_find_plane (frame)];

  gpu_admit_next ();
  if (plane.strip.channels == 1)
    march_three<BYTES, KIND, 1> (frame, plane, shared);
  else if (plane.strip.channels == 2)
    march_three<BYTES, KIND, 2> (frame, plane, shared);
  else if (plane.strip.channels == 3)
    march_three<BYTES, KIND, 3> (frame, plane, shared);
  else
    march_three<BYTES, KIND, 4> (frame, plane, shared);
  gpu_end_in_turn ();
}

typedef void (*ThreeKernel) (TermsThreeFrame);

template <int BYTES>
static ThreeKernel
kernel_of_kind (SepconvCombine kind)
{
  return kind == SEPCONV_SUM      ? three_strips<BYTES, SEPCONV_SUM>
      : kind == SEPCONV_MAGNITUDE ? three_strips<BYTES, SEPCONV_MAGNITUDE>
                                  : three_strips<BYTES, SEPCONV_DIRECTION>;
}

/* Whether taps are [-d 0 d]. */
static bool
is_difference (const Taps *taps)
{
  return taps->n == 3 && taps->tap[1] == 0.0 && taps->tap[0] == -taps->tap[2];
}

/* Whether taps are [a b a], or a single one. */
static bool
is_mirrored (const Taps *taps)
{
  return taps->n == 1 || (taps->n == 3 && taps->tap[0] == taps->tap[2]);
}

/* Tap i of three; a single tap is the middle one. */
static double
tap_of (const Taps *taps, int i)
{
  return taps->n == 3 ? taps->tap[i] : i == 1 ? taps->tap[0] : 0.0;
}

/* The rows of TermsThreePlane, as numbers that need not be integers. */
struct ThreeRows
{
  double outer[2], middle[2];
};

static bool
rows_of_gradient (const SepconvPlan *plan, int p, ThreeRows *rows)
{
  for (int t = 0; t < 2; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);
    const Taps *along = t == 0 ? &taps->x : &taps->y;
    const Taps *across = t == 0 ? &taps->y : &taps->x;

    if (!is_difference (along) || across->n != 3 || !is_mirrored (across))
      return false;
    rows->outer[t] = along->tap[2] * across->tap[0];
    rows->middle[t] = along->tap[2] * across->tap[1];
  }
  return true;
}

static bool
rows_of_sum (const SepconvPlan *plan, int p, ThreeRows *rows)
{
  *rows = ThreeRows ();
  for (int t = 0; t < 2; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

    if (!is_mirrored (&taps->x) || !is_mirrored (&taps->y))
      return false;
    for (int i = 0; i < 2; i++) {
      rows->outer[i] += tap_of (&taps->y, 1 - i) * tap_of (&taps->x, 0);
      rows->middle[i] += tap_of (&taps->y, 1 - i) * tap_of (&taps->x, 1);
    }
  }
  return true;
}

/* Whether value is a multiple of unit, apart from the rounding of both. */
static bool
divide_evenly (double value, double unit, int *times)
{
  const double n = value / unit;

  *times = (int) rint (n);
  return fabs (n - *times) < 1e-9;
}

/* Finds integers and one unit, such that the numbers are the integers times the unit. */
static bool
find_integers (const ThreeRows *from, TermsRow (&row)[2], double *unit)
{
  double least = INFINITY, most = 0.0;

  for (int i = 0; i < 2; i++) {
    const double size[] = { fabs (from->outer[i]), fabs (from->middle[i]) };

    for (int k = 0; k < 2; k++) {
      if (size[k] > 0.0)
        least = fmin (least, size[k]);
      most = fmax (most, size[k]);
    }
  }
  if (!isnormal (least) || most > MOST_INTEGER * least)
    return false;
  for (int n = 1; n <= MOST_LEAST_INTEGER; n++) {
    bool found = true;

    *unit = least / n;
    for (int i = 0; i < 2; i++)
      found = found && divide_evenly (from->outer[i], *unit, &row[i].outer)
          && divide_evenly (from->middle[i], *unit, &row[i].middle);
    if (found)
      return true;
  }
  return false;
}

/* The range of sums of bytes along x, less the middle of that range; all partial sums are in it. */
static void
range_of_row (TermsRow row, int *least, int *most)
{
  const int outer = 2 * UINT8_MAX * row.outer;
  const int middle = UINT8_MAX * row.middle;
  const int less = BYTE_CENTER * (2 * row.outer + row.middle);

  *least = min (outer, 0) + min (middle, 0) - less;
  *most = max (outer, 0) + max (middle, 0) - less;
}

/* Whether FP16 sums of bytes are exact wherever they are within HALF_EXACT themselves: none of
 * their partial sums is beyond it. */
static bool
halves_hold (const SepconvPlan *plan, const TermsRow (&row)[2])
{
  int least[2], most[2];

  for (int i = 0; i < 2; i++)
    range_of_row (row[i], &least[i], &most[i]);
  if (plan->combine != SEPCONV_SUM)
    return least[1] >= -HALF_EXACT && most[1] <= HALF_EXACT
        && abs (2 * UINT8_MAX * row[0].outer) <= HALF_EXACT;
  /* Both ranges include 0, so each of them is within the limits, too. */
  return least[0] + least[1] >= -HALF_EXACT && most[0] + most[1] <= HALF_EXACT;
}

/* An upper bound of the error of a channel's results before they are rounded. */
static double
loss_of (const SepconvPlan *plan, const TermsThree *three, int p,
    const SepconvChannel *channel)
{
  const bool bytes = channel->sample_bytes == 1;
  const TermsRow *row = three->row[p];
  const double result = channel->max_code + fabs (channel->offset);
  double parts;

  /* A term and its square lose two parts of 2^12 of a root (of samples of two bytes: of 2^24), and
   * the rest of the arithmetic less. */
  if (plan->combine != SEPCONV_SUM)
    return (bytes ? 0x1p-11 : 0x1p-20) * result;
  /* Factors are rounded, and so are their products with sums. */
  parts = three->unit[p] * channel->max_code
      * (2 * abs (row[0].outer) + abs (row[0].middle) + 4 * abs (row[1].outer)
          + 2 * abs (row[1].middle));
  return (bytes ? 0x1p-12 : 0.0) * result + 0x1p-22 * (result + parts);
}

/* The factor of sums by integers, or of the root of their squares. The scale of SUM is in its
 * taps. */
static double
factor_of (const SepconvPlan *plan, const TermsThree *three, int p)
{
  return plan->combine == SEPCONV_SUM ? three->unit[p]
                                      : plan->scale * three->unit[p];
}

/* Whether plane p has terms of this kind, and its results are exact enough. */
static bool
plane_suits (const SepconvPlan *plan, TermsThree *three, int p)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const bool sum = plan->combine == SEPCONV_SUM;
  ThreeRows rows;

  if (plan->n_terms[p] != 2
      || !(sum ? rows_of_sum : rows_of_gradient) (plan, p, &rows)
      || !find_integers (&rows, three->row[p], &three->unit[p])
      || (image_sample_bytes (layout) == 1
          && !halves_hold (plan, three->row[p]))
      || fabs (factor_of (plan, three, p)) > LARGEST_FACTOR)
    return false;
  for (int c = 0; c < layout->channels; c++) {
    if (channel[c].filter
        && (!(loss_of (plan, three, p, &channel[c]) < 0.25)
            || (!sum
                && (channel[c].term_offset[0] != 0.0
                    || channel[c].term_offset[1] != 0.0))))
      return false;
    if (!strip_border_is_code (plan, &channel[c]))
      return false;
  }
  return true;
}

static bool
plan_suits (const SepconvPlan *plan, TermsThree *three)
{
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);

  if (gpu_capability (plan->gpu) < INSTRUCTIONS_CAPABILITY
      || plan->combine == SEPCONV_UNSHARP)
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *layout = &plan->layout.plane[p];

    if (!image_is_packed (layout) || image_sample_bytes (layout) != bytes
        || (bytes == 1 && layout->depth != 8)
        || (strip_filters (plan, p) && !plane_suits (plan, three, p)))
      return false;
  }
  return true;
}

bool
terms_three_suits (const SepconvPlan *plan, TermsThree *three)
{
  if (three->chosen != plan->revision) {
    three->suits = plan_suits (plan, three);
    three->chosen = plan->revision;
  }
  return three->suits;
}

/* The factor that makes results of sums or roots: codes for samples of one byte, else fractions of
 * the largest code. */
static double
scale_of_sums (const SepconvPlan *plan, const TermsThree *three, int p)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const double factor = factor_of (plan, three, p);

  return image_sample_bytes (layout) == 1
      ? ldexp (factor / HALF_FACTOR, 24)
      : ldexp (factor / FLOAT_FACTOR, 149 - layout->shift)
          / image_full_code (layout);
}

/* The constant that is then added. The middle of sums of bytes is already subtracted. */
static double
offset_of_sums (const SepconvPlan *plan, const TermsThree *three, int p,
    const SepconvChannel *channel)
{
  const TermsRow *row = three->row[p];
  double center;

  if (plan->combine == SEPCONV_DIRECTION)
    return (channel->center - channel->zero_offset) / (channel->max_code + 1.0);
  if (channel->sample_bytes == 1)
    return channel->offset;
  center = plan->combine == SEPCONV_SUM ? three->unit[p] * channel->center
          * (2 * row[0].outer + row[0].middle
              + 2 * (2 * row[1].outer + row[1].middle))
                                        : 0.0;
  return (channel->offset - center) / channel->max_code;
}

static void
describe (const SepconvPlan *plan, const TermsThree *three,
    const SepconvPart *part, int p, TermsThreePlane *plane)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const int tile = short_tile_bytes (OWN_BYTES, layout->pixel_stride);

  *plane = TermsThreePlane ();
  strip_describe (plan, part, p, &plane->strip);
  plane->strip.keeps = false;
  plane->strip.columns = (plane->strip.row_bytes + tile - 1) / tile;
  plane->strip.margin = 1;
  plane->mask =
      0x10001u * (uint32_t) (plane->strip.max_code << plane->strip.shift);
  if (!plane->strip.filter)
    return;
  plane->row[0] = three->row[p][0];
  plane->row[1] = three->row[p][1];
  plane->scale = (float) scale_of_sums (plan, three, p);
  for (int c = 0; c < layout->channels; c++)
    plane->offset[c] = (float) offset_of_sums (plan, three, p, &channel[c]);
}

bool
terms_three_run (const SepconvPlan *plan, TermsThree *three,
    const SepconvPart *part, Fault *fault)
{
  const ThreeKernel kernel = image_sample_bytes (&plan->layout.plane[0]) == 1
      ? kernel_of_kind<1> (plan->combine)
      : kernel_of_kind<2> (plan->combine);
  TermsThreeFrame frame = TermsThreeFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  StripLoad load = StripLoad ();
  int shared = 0, blocks;
  bool ok = false;

  frame.border = plan->border;
  frame.order = part->order;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *layout = &plan->layout.plane[p];
    const ImageRows *result = &part->result[layout->memory];

    if (result->first >= result->last)
      continue;
    planes[frame.n_planes] = &frame.plane[frame.n_planes].strip;
    describe (plan, three, part, p, &frame.plane[frame.n_planes++]);
    shared = max (shared,
        short_shared (
            gpu_capability (plan->gpu), OWN_BYTES, 1, layout->pixel_stride));
  }
  if (!strip_occupancy (
          &three->occupancy, (const void *) kernel, shared, fault))
    return false;
  load.above = 2;
  load.order = part->order;
  load.unit = short_rows (OWN_BYTES);
  load.at_once =
      part->order == GPU_BESIDE_KERNELS && plan->combine != SEPCONV_DIRECTION
      ? min (three->occupancy.blocks, MOST_BESIDE)
      : three->occupancy.blocks;
  load.multiprocessors = gpu_multiprocessors (plan->gpu);
  frame.early = three->occupancy.blocks * load.multiprocessors;
  blocks = strip_lay_out (planes, frame.n_planes, &load, &three->heights);
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, kernel, blocks, STRIP_THREADS,
                   (size_t) shared, part->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}
