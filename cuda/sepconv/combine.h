/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* combine: how the terms of a channel make up its result, as sepconv.h defines it. */
#pragma once

#include "method.h"

#include <math.h>

#ifdef __CUDACC__
#define COMBINE_FUNCTION static __host__ __device__ __forceinline__
#else
#define COMBINE_FUNCTION static inline
#endif

/* How a plan combines terms. */
typedef struct
{
  SepconvCombine combine;
  double scale, amount;
} Combination;

/* DIRECTION: the angle of (x, y) in codes; a whole turn is max_code + 1. Not yet rounded. */
COMBINE_FUNCTION double
combine_direction (const SepconvChannel *channel, double x, double y)
{
  const double turns = atan2 (y, x) / 6.283185307179586477;

  if (x == 0.0 && y == 0.0)
    return channel->center - channel->zero_offset;
  return (turns < 0.0 ? turns + 1.0 : turns) * (channel->max_code + 1);
}

/* Returns the result in codes, not yet rounded or clamped. `level` is the sample itself less the
 * center; sum[t] is term t over such levels, or sum[0] the total of all terms for SUM. */
COMBINE_FUNCTION double
combine_sums (const Combination *how, const SepconvChannel *channel,
    double level, const double sum[2])
{
  double in, difference;

  switch (how->combine) {
    case SEPCONV_UNSHARP:
      in = level + channel->zero_offset;
      difference = in - (sum[0] + channel->term_offset[0]);
      return channel->offset
          + how->scale
          * (fabs (difference) > channel->threshold
                  ? in + how->amount * difference
                  : in);
    case SEPCONV_MAGNITUDE:
      return channel->offset
          + how->scale
          * hypot (sum[0] + channel->term_offset[0],
              sum[1] + channel->term_offset[1]);
    case SEPCONV_DIRECTION:
      return combine_direction (channel, sum[0] + channel->term_offset[0],
          sum[1] + channel->term_offset[1]);
    default:
      return channel->offset + sum[0];
  }
}

/* The same for a plan. */
static inline double
combine_terms (const SepconvPlan *plan, const SepconvChannel *channel,
    double level, const double sum[2])
{
  const Combination how = { plan->combine, plan->scale, plan->amount };

  return combine_sums (&how, channel, level, sum);
}
