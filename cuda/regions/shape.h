/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shape: the weight of a region at a sample, as regions.h defines it. Host and GPU use the same
 * arithmetic, in doubles with every step rounded, and get the same bits.
 *
 * A position is measured from the region's centre, in half pixels, which are whole numbers. Each
 * axis adds a term to a sum:
 *
 *   rectangle   the square of the distance from the rectangle along the axis, in pixels
 *   ellipse     the square of the distance from the centre, divided by the half axis
 *
 * and the weight follows from the sum's root: beyond `inside`, which is 0 for a rectangle and 1
 * for an ellipse, it falls from 1 to 0 within `reach`. No sample lies exactly on an ellipse, where
 * rounding would decide its weight: along each axis, in half pixels, either the size or the
 * distance is odd, never both. */
#pragma once

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define REGIONS_SHARED static __host__ __device__ inline
#else
#define REGIONS_SHARED static inline
#endif

#define REGIONS_WHOLE 65536u /* the weight 1 */

/* One axis of a region, for the samples of a plane. */
typedef struct
{
  int first, size;    /* of the grown region, pixels */
  int pixels;         /* of a sample */
  double by_distance; /* ellipse: 1 / size; rectangle: 0 */
} RegionsAxis;

typedef struct
{
  RegionsAxis x, y;
  double inside, reach; /* of the root of a sum; reach 0: no feather */
} RegionsShapeInPlane;

/* A rounded product and a rounded sum that no compiler fuses. */
REGIONS_SHARED double
regions_multiply (double a, double b)
{
#ifdef __CUDA_ARCH__
  return __dmul_rn (a, b);
#else
  return a * b;
#endif
}

REGIONS_SHARED double
regions_add (double a, double b)
{
#ifdef __CUDA_ARCH__
  return __dadd_rn (a, b);
#else
  return a + b;
#endif
}

/* The term of sample `i`, at the one of its pixels that is nearest to the centre. */
REGIONS_SHARED double
regions_axis_term (const RegionsAxis *axis, int i)
{
  const int64_t centre = 2 * (int64_t) axis->first + axis->size;
  const int64_t first = 2 * (int64_t) i * axis->pixels + 1 - centre;
  const int64_t last = first + 2 * (int64_t) (axis->pixels - 1);
  const int64_t distance = first > 0 ? first
      : last < 0                     ? -last
                                     : 1 - axis->size % 2;
  double term;

  if (axis->by_distance > 0.0)
    term = regions_multiply ((double) distance, axis->by_distance);
  else
    term = distance < axis->size ? 0.0
                                 : (double) ((distance - axis->size + 1) / 2);
  return regions_multiply (term, term);
}

/* The weight of a sample, in 65536ths; `sum` is the sum of both axes' terms. */
REGIONS_SHARED uint32_t
regions_weight (const RegionsShapeInPlane *shape, double sum)
{
  double weight;

  if (sum <= shape->inside)
    return REGIONS_WHOLE;
  if (!(shape->reach > 0.0))
    return 0;
  weight = 1.0 - (sqrt (sum) - shape->inside) / shape->reach;
  return weight > 0.0 ? (uint32_t) (weight * REGIONS_WHOLE + 0.5) : 0;
}

/* v + weight * (fill - v), rounded to the nearest code, halves up. */
REGIONS_SHARED uint32_t
regions_compose (uint32_t v, uint32_t fill, uint32_t weight)
{
  return (v * (REGIONS_WHOLE - weight) + fill * weight + REGIONS_WHOLE / 2)
      >> 16;
}

#ifdef __cplusplus
}
#endif
