/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turns: angles in turns, fractions of 360 degrees. */
#pragma once

#include "instructions.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* The angle of (x, y) in turns, from 0 to 1. Unlike terms_turns(), it is off by at most 4e-6, which
 * is 0.004 codes of 10 bits, or if FINE by 1e-7, which is 0.007 codes of 16 bits. Up to 1/8 of a
 * turn it is a polynomial of the slope, equal to the arc tangent at the Chebyshev nodes of the
 * slope's square. */
template <bool FINE>
__device__ __forceinline__ float
quick_turns (float y, float x)
{
  const float along = fabsf (x), across = fabsf (y);
  const float slope =
      fminf (along, across) * approximate_reciprocal (fmaxf (along, across));
  const float square = slope * slope;
  float turns;

  if constexpr (FINE) {
    turns = __fmaf_rn (-0.0007257134f, square, 0.0037847871f);
    turns = __fmaf_rn (turns, square, -0.0093630459f);
    turns = __fmaf_rn (turns, square, 0.0157067869f);
    turns = __fmaf_rn (turns, square, -0.0222869292f);
    turns = __fmaf_rn (turns, square, 0.0317784064f);
    turns = __fmaf_rn (turns, square, -0.0530492291f);
    turns = __fmaf_rn (turns, square, 0.1591549218f) * slope;
  } else {
    turns = __fmaf_rn (0.0037060832f, square, -0.0144436322f);
    turns = __fmaf_rn (turns, square, 0.0293582864f);
    turns = __fmaf_rn (turns, square, -0.0527669638f);
    turns = __fmaf_rn (turns, square, 0.1591493338f) * slope;
  }
  if (across > along)
    turns = 0.25f - turns;
  if (x < 0.0f)
    turns = 0.5f - turns;
  return y < 0.0f ? 1.0f - turns : turns;
}

/* The same, or `none` where x and y are both 0. */
template <bool FINE>
__device__ __forceinline__ float
quick_turns_or (float y, float x, float none)
{
  return fmaxf (fabsf (x), fabsf (y)) > 0.0f ? quick_turns<FINE> (y, x) : none;
}

#endif
