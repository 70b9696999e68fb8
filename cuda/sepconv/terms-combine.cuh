/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-combine: combines the terms of a sample, on the GPU: combine.h has the formulas. Real
 * is float or double. */
#pragma once

#include "twopass.cuh"

#include <math.h>

/* The constants of a frame's combinations. */
template <typename Real> struct TermsCombination
{
  SepconvCombine combine;
  Real scale, amount;
};

/* The constants of a channel, as in SepconvChannel. */
template <typename Real> struct TermsLevels
{
  Real zero_offset, term_offset[2], threshold;
};

__device__ __forceinline__ float
terms_root (float value)
{
  return sqrtf (value);
}

__device__ __forceinline__ double
terms_root (double value)
{
  return sqrt (value);
}

/* The angle of (x, y) in turns, from 0 to 1. CUDA's atan2f() is off by at most 3 ulp, a
 * hundredth of a 16-bit code here. */
__device__ __forceinline__ float
terms_turns (float y, float x)
{
  const float turns = atan2f (y, x) * 0.15915494309189535f;

  return turns < 0.0f ? turns + 1.0f : turns;
}

__device__ __forceinline__ double
terms_turns (double y, double x)
{
  const double turns = atan2 (y, x) * 0.15915494309189535;

  return turns < 0.0 ? turns + 1.0 : turns;
}

/* The code of a result. `level` is the sample minus the center, for UNSHARP; sum0 and sum1 are
 * the sums of the terms over such levels, for SUM all added up in sum0. */
template <typename Real>
__device__ __forceinline__ int
terms_code (const TermsCombination<Real> &how, const TermsLevels<Real> &levels,
    const TwopassChannel<Real> &channel, Real level, Real sum0, Real sum1)
{
  const Real x = sum0 + levels.term_offset[0];
  const Real y = sum1 + levels.term_offset[1];
  const Real in = level + levels.zero_offset, difference = in - x;

  switch (how.combine) {
    case SEPCONV_UNSHARP:
      return round_to_code (
          multiply_add (how.scale,
              (difference < 0 ? -difference : difference) > levels.threshold
                  ? multiply_add (how.amount, difference, in)
                  : in,
              channel.offset),
          channel.max_code);
    case SEPCONV_MAGNITUDE:
      return round_to_code (
          multiply_add (how.scale, terms_root (multiply_add (x, x, y * y)),
              channel.offset),
          channel.max_code);
    case SEPCONV_DIRECTION:
      if (x == 0 && y == 0)
        return round_to_code (
            channel.center - levels.zero_offset, channel.max_code);
      /* A whole turn is 0 again. */
      return round_to_code (
                 terms_turns (y, x) * (Real) (channel.max_code + 1),
                 channel.max_code + 1)
          & channel.max_code;
    default:
      return round_to_code (sum0 + channel.offset, channel.max_code);
  }
}
