/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box: kernels whose taps are all equal but for the first and the last tap of an axis, which may
 * have any weight: a box scaled to subsampled chroma has fractional ends. Along an axis, with
 * the weight w of the taps between the ends,
 *
 *   sum_i t[i] s[i] = w sum_i s[i] + (t[0] - w) s[0] + (t[n-1] - w) s[n-1]
 *
 * Used by the methods that keep running sums, on the CPU and the GPU. */
#pragma once

#include "method.h"

#include <math.h>

/* The largest relative difference of taps that count as equal: it moves results
 * by less than 0.1 code values at the largest gain. */
#define BOX_EQUAL_TAPS 1e-12

/* The taps of an axis: the weight of each, and what must be added to it for the first and the last
 * one. */
typedef struct
{
  double each, first, last;
} BoxTaps;

static inline bool
box_is_equal (double tap, double other)
{
  return fabs (tap - other) <= BOX_EQUAL_TAPS * fabs (other);
}

/* Takes the middle tap for the weight of each: with three taps or more, it is no end. */
static inline BoxTaps
box_describe_taps (const Taps *taps)
{
  const double each = taps->tap[taps->n / 2];
  const double first = taps->tap[0], last = taps->tap[taps->n - 1];
  BoxTaps box;

  box.each = each;
  box.first = box_is_equal (first, each) ? 0.0 : first - each;
  box.last = box_is_equal (last, each) ? 0.0 : last - each;
  return box;
}

static inline double
box_weight (const BoxTaps *taps, int n)
{
  return taps->each * n + taps->first + taps->last;
}

static inline bool
box_has_ends (const BoxTaps *taps)
{
  return taps->first != 0.0 || taps->last != 0.0;
}

static inline bool
box_is_box (const Taps *taps)
{
  for (int i = 1; i < taps->n - 1; i++)
    if (!box_is_equal (taps->tap[i], taps->tap[taps->n / 2]))
      return false;
  return true;
}

/* For SepconvMethodOps.supports. */
static inline bool
box_supports (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  for (int p = 0; p < layout->n_planes; p++) {
    const SepconvPlane *plane = &spec->plane[p];

    if (plane->channels != 0
        && !(box_is_box (plane->x) && box_is_box (plane->y)))
      return fault_set (why, FAULT_UNSUPPORTED,
          "between the ends of an axis, the taps of plane %d are not all equal",
          p);
  }
  return true;
}
