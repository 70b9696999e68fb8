/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* border: maps samples outside the image to the samples that stand for them. Host and device. */
#pragma once

#include "../sepconv.h"

#ifdef __CUDACC__
#define BORDER_FUNCTION static __host__ __device__ __forceinline__
#else
#define BORDER_FUNCTION static inline
#endif

/* Maps coordinate i of a line of n >= 1 samples to [0, n), or to -1 for the
 * border constant. |i| may be many times n. */
BORDER_FUNCTION int
border_index (int i, int n, SepconvBorder border)
{
  int period;

  if (i >= 0 && i < n)
    return i;
  /* Most coordinates are less than n outside; only the others need a division. */
  switch (border) {
    case SEPCONV_REPLICATE:
      return i < 0 ? 0 : n - 1;
    case SEPCONV_REFLECT:
      i = i < 0 ? -1 - i : i;
      if (i < n)
        return i;
      period = 2 * n;
      i = i < period ? i : i % period;
      return i < n ? i : period - 1 - i;
    case SEPCONV_REFLECT_101:
      i = i < 0 ? -i : i;
      if (i < n)
        return i;
      if (n == 1)
        return 0;
      period = 2 * n - 2;
      i = i < period ? i : i % period;
      return i < n ? i : period - i;
    case SEPCONV_WRAP:
      i += i < 0 ? n : -n;
      if (i >= 0 && i < n)
        return i;
      i %= n;
      return i < 0 ? i + n : i;
    default:
      return -1;
  }
}

/* Whether all samples beyond an end of a line have one value, so that none of the line but the edge
 * is read for them. */
BORDER_FUNCTION bool
border_is_flat (SepconvBorder border)
{
  return border == SEPCONV_REPLICATE || border == SEPCONV_CONSTANT;
}

/* How many of n samples from `first` on lie in [0, size). */
BORDER_FUNCTION int
border_count_inside (int first, int n, int size)
{
  const int last = first + n < size ? first + n : size;
  const int inside = last - (first > 0 ? first : 0);

  return inside > 0 ? inside : 0;
}
