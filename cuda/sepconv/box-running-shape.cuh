/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-shape: decides which plans suit strips, how their sums are scaled, and how large
 * blocks are. Host. */
#pragma once

#include "../divide.h"
#include "box.h"
#include "box-running-strips.cuh"
#include "twopass.cuh"

#include <math.h>

/* The largest error that rounding and cut sums may have, in codes, within the promised accuracy. */
#define BOX_STRIP_LOSS 0.2

/* The shape of blocks. */
struct BoxShape
{
  /* Threads of a block, 0: strips are not possible; bytes of its shared memory; blocks on a
   * multiprocessor. */
  int threads, shared, at_once;
};

struct BoxState : TwopassState
{
  int most_shared, multiprocessor_shared; /* bytes */
  StripHeights heights;
};

/* How the column sums of a plane are cut to 16 bits: (sum << factor) >> cut. */
struct BoxScale
{
  int factor, cut;
};

static BoxScale
column_scale (const ImagePlane *layout, int rows, bool wide)
{
  const double most = ldexp (image_full_code (layout), layout->shift) * rows;
  BoxScale scale = { 0, 0 };
  int bits;

  if (!wide)
    return scale;
  frexp (most, &bits); /* most < 2^bits */
  scale.cut = bits <= 16 ? 0 : bits <= 24 ? 8 : 16;
  if (scale.cut > 0)
    scale.factor = min (scale.cut + 16 - bits, 6);
  return scale;
}

/* The rows of the longest box. */
static int
most_rows (const SepconvPlan *plan)
{
  int rows = 1;

  for (int p = 0; p < plan->layout.n_planes; p++)
    rows = max (rows, plan->taps[p].y.n);
  return rows;
}

static bool
is_wide (const SepconvPlan *plan)
{
  return image_sample_bytes (&plan->layout.plane[0]) == 2
      || most_rows (plan) > BOX_NARROW_ROWS;
}

/* The weight in codes of a unit of a cut column sum. *off: the mean error of a cut column sum, in
 * its units, which is also the largest error once the mean has been added. */
static double
sum_weight (const SepconvPlan *plan, int p, double *off)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const SepconvPlaneTaps *taps = &plan->taps[p];
  const BoxScale scale = column_scale (layout, taps->y.n, is_wide (plan));
  const double cut = ldexp (1.0, scale.cut - scale.factor);

  *off = cut > 1.0 ? 0.5 - 0.5 / cut : 0.0;
  return cut
      * ldexp (
          box_describe_taps (&taps->x).each * box_describe_taps (&taps->y).each,
          -layout->shift);
}

/* The largest error of rounding and cut sums, in codes. */
static double
strip_loss (const SepconvPlan *plan, int p)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const ImagePlane *layout = &plan->layout.plane[p];
  double off, offset = 0.0;
  const double weight = fabs (sum_weight (plan, p, &off));
  const double gain =
      taps_norm (&plan->taps[p].x) * taps_norm (&plan->taps[p].y);

  for (int c = 0; c < layout->channels; c++)
    offset = fmax (offset, fabs (channel[c].offset));
  /* 1.5 * weight: roundings of products with BOX_MAGIC, and of the start that subtracts it. Then
   * the sums of all steps of a row, whose roundings are small beside it; and the cut. */
  return 1.5 * weight
      + 0x1p-24 * (4.0 * offset + 64.0 * gain * (image_full_code (layout) + 1))
      + off * weight * plan->taps[p].x.n;
}

/* Whether a plane suits strips. Addresses do not count: the same input must give the same
 * result. */
static bool
plane_suits (const SepconvPlan *plan, int p)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const BoxTaps x = box_describe_taps (&plan->taps[p].x);
  const BoxTaps y = box_describe_taps (&plan->taps[p].y);
  const int bytes = image_sample_bytes (layout);

  if (!strip_is_packed (layout, NULL)
      || bytes != image_sample_bytes (&plan->layout.plane[0]))
    return false;
  if (plan->taps[p].x.n == 0)
    return true; /* a copy */
  if (layout->channels == 3 || box_has_ends (&x) || box_has_ends (&y)
      || (bytes == 1 ? layout->depth < 8 : layout->depth > 12))
    return false;
  for (int c = 0; c < layout->channels; c++) {
    const double border = channel[c].border + channel[c].center;

    if (plan->border == SEPCONV_CONSTANT && border != rint (border))
      return false;
  }
  return strip_loss (plan, p) <= BOX_STRIP_LOSS;
}

static bool
spec_suits (const SepconvPlan *plan)
{
  if (gpu_capability (plan->gpu) < INSTRUCTIONS_CAPABILITY)
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (!plane_suits (plan, p))
      return false;
  return true;
}

/* Samples that a window has beside its tile: those on the left, and all. */
static int
window_lead (int nx, int channels)
{
  return round_up ((nx / 2 + 1) * channels, BOX_UNIT);
}

static int
window_extra (int nx, int channels)
{
  return round_up (
      window_lead (nx, channels) + (nx - 1 - nx / 2) * channels + BOX_UNIT,
      BOX_UNIT);
}

/* The tile of a plane for a window of `window` samples: the smallest one that needs as few tiles
 * per row as the largest; 0 if there is none. */
static int
choose_tile (const SepconvPlan *plan, int p, int window)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const int nx = plan->taps[p].x.n, n = layout->width * layout->channels;
  const int extra = nx > 0 ? window_extra (nx, layout->channels) : 0;
  const int most = (window - extra) / BOX_STEP * BOX_STEP;

  if (window < extra || most <= 0)
    return 0;
  return round_up (divide_up (n, divide_up (n, most)), BOX_STEP);
}

/* The approximate time of all blocks of a shape, in no unit; INFINITY if a plane has no tile. */
static double
shape_cost (const SepconvPlan *plan, const BoxShape *shape, int window)
{
  double cost = 0.0;

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *layout = &plan->layout.plane[p];
    const int tile = choose_tile (plan, p, window);

    if (tile == 0)
      return INFINITY;
    /* 8 for each result's instructions; 8 for each column's, with its reads from the L2. */
    cost += (double) image_plane_height (&plan->layout, p)
        * divide_up (layout->width * layout->channels, tile)
        * (8.0 * tile + 8.0 * window);
  }
  /* Several blocks on a multiprocessor hide each other's barriers. */
  return cost * (1.0 + 0.4 / shape->at_once)
      * fmax (1.0, 512.0 / (shape->at_once * shape->threads));
}

static BoxShape
choose_shape (const SepconvPlan *plan)
{
  const BoxState *state = (const BoxState *) plan->state;
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);
  BoxShape best = { 0, 0, 0 };
  double least = INFINITY;

  for (int threads = BOX_WARP; threads <= BOX_MOST_THREADS;
       threads += BOX_WARP) {
    BoxShape shape = { threads, box_shared (threads, bytes), 0 };
    double cost;

    if (shape.shared > state->most_shared)
      break;
    shape.at_once = min (BOX_MOST_THREADS / threads,
        state->multiprocessor_shared / (shape.shared + 1024));
    shape.at_once = min (max (shape.at_once, 1), 16);
    cost = shape_cost (plan, &shape, threads * (BOX_GROUP_BYTES / bytes));
    if (cost < least) {
      least = cost;
      best = shape;
    }
  }
  return best;
}
