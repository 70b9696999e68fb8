/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-deep-loss: taps as sums of two halves, for samples that are such sums, and what their products
 * lose on tensor cores. Plain C, to be checked as mathematics.
 *
 * A sample of `depth` bits is an upper part, its TENSOR_UPPER_BITS highest bits or all, and a lower one; a
 * tap is an upper half and a lower one. Three products of them are summed: upper by upper in a sum
 * of its own, which is large, and the other two in a small one.
 *
 * The large sum loses nothing. An upper part of a sample is a multiple of u = 2^(depth - 11), and an
 * upper half of a tap one of 2^-bits. With samples up to 2^(depth - 1) away from their centre, and
 * taps whose sizes add up to less than 2^(e + 1), no sum has more than 24 bits if 2^-bits u is at
 * least 2^(depth - 1 + e - 23): bits = TENSOR_DEEP_BITS - e. Nor is any product cut off then: see
 * tensor-loss.h.
 *
 * Integers up to 2047, taken as the bits of halves, are those integers times 2^-24: samples enter as
 * codes times 2^(shift - 24), sums along x are codes times 2^-TENSOR_DEEP_Y, and results are codes. */
#pragma once

#include "tensor-loss.h"

#define TENSOR_UPPER_BITS 11
#define TENSOR_DEEP_BITS 13

/* Taps are multiplied by 2^(TENSOR_DEEP_X - shift) along x and by 2^TENSOR_DEEP_Y along y. */
#define TENSOR_DEEP_X 14
#define TENSOR_DEEP_Y 10

/* How taps are split: the upper half is a multiple of 2^-bits, the lower one what is left, rounded
 * when it has been multiplied by 2^exponent, as both are for the products. */
typedef struct
{
  int bits, exponent;
} TensorDeepTaps;

/* Of n taps, with which sums have up to `gain` times the size of samples, a finite number. */
static inline TensorDeepTaps
tensor_deep_taps (int n, double gain, int exponent)
{
  TensorDeepTaps as = { TENSOR_DEEP_BITS, exponent };
  int e = 0;

  /* Upper halves, and upper parts of sums, may be larger than the whole by half of what they are
   * multiples of, and so much larger is a start at most. */
  while (gain * (1.0 + 0x1p-9) + ldexp ((double) n, e - TENSOR_DEEP_BITS)
      >= ldexp (2.0, e))
    e++;
  as.bits -= e;
  return as;
}

/* Those along x of samples that lie `shift` bits up, and along y. `x`, `y`: the sums of the sizes of
 * the taps of each axis. */
static inline TensorDeepTaps
tensor_deep_taps_x (int n, double x, int shift)
{
  return tensor_deep_taps (n, x, TENSOR_DEEP_X - shift);
}

static inline TensorDeepTaps
tensor_deep_taps_y (int n, double x, double y)
{
  return tensor_deep_taps (n, x * y, TENSOR_DEEP_Y);
}

/* The unit of the upper parts of samples of `depth` bits, in codes. Of samples with no more bits than
 * upper parts have, lower parts are 0. */
static inline double
tensor_deep_unit (int depth)
{
  return ldexp (1.0, depth > TENSOR_UPPER_BITS ? depth - TENSOR_UPPER_BITS : 0);
}

/* The half nearest to a number that halves reach. */
static inline double
tensor_nearest_half (double number)
{
  const int exponent = fabs (number) < 0x1p-14 ? -14 : ilogb (number);
  const double unit = ldexp (1.0, exponent - 10);

  return nearbyint (number / unit) * unit;
}

static inline void
tensor_split_deep (
    double tap, const TensorDeepTaps *as, double *upper, double *lower)
{
  *upper = ldexp (
      tensor_nearest_half (nearbyint (ldexp (tap, as->bits))), -as->bits);
  *lower = ldexp (
      tensor_nearest_half (ldexp (tap - *upper, as->exponent)), -as->exponent);
}

/* Sums over taps. */
typedef struct
{
  double upper, lower, rest; /* sizes of both halves, and of what they leave */
  double most_upper, most_lower; /* the largest of each */
  double sum_upper, sum_lower;   /* with their signs */
} TensorDeepSums;

static inline void
tensor_deep_add (TensorDeepSums *sums, double tap, const TensorDeepTaps *as)
{
  double upper, lower;

  tensor_split_deep (tap, as, &upper, &lower);
  sums->upper += fabs (upper);
  sums->lower += fabs (lower);
  sums->rest += fabs (tap - upper - lower);
  sums->sum_upper += upper;
  sums->sum_lower += lower;
  sums->most_upper = fmax (sums->most_upper, fabs (upper));
  sums->most_lower = fmax (sums->most_lower, fabs (lower));
}

/* What rounding to 24 bits loses in numbers up to `largest`, in units: none where all are multiples
 * of a `grain` that is no smaller. 0: there is none. */
static inline double
tensor_grain_loss (double largest, double grain)
{
  const double unit = tensor_loss_unit (largest);

  return grain > 0.0 && grain >= unit ? 0.0 : unit;
}

/* What the small sum loses over n taps, where the upper parts of samples are up to `upper` and the
 * lower ones up to `lower`, and the least normal half is worth `least` in the same unit: products of
 * smaller ones are aligned as if they had its size. All products are multiples of `grain`, if not 0. */
static inline double
tensor_deep_small_loss (const TensorDeepSums *taps, int n, double upper,
    double lower, double least, int steps, double grain)
{
  const double sum = taps->lower * upper + taps->upper * lower;
  const double product = fmax (taps->most_upper * fmax (lower, least),
      taps->most_lower * fmax (upper, least));

  /* Two products of each tap lose half a unit each, and each step makes two additions of
   * both. */
  return tensor_grain_loss (fmax (sum, product), grain)
      * (0.5 * 2.0 * n + 2.0 * 2.0 * steps);
}

/* What large sums along x of samples of `depth` bits start with: it takes the centre off, and adds
 * what is left out of the products in the mean. It is a multiple of what their products are, and a
 * float. */
static inline float
tensor_deep_start (
    const TensorDeepSums *sums, const TensorDeepTaps *as, int depth)
{
  const double center = ldexp (1.0, depth - 1);
  const double part = tensor_deep_unit (depth);
  const double unit = ldexp (part, -as->bits);
  /* The mean of a sample's lower part is half of the largest. */
  const double lower = sums->sum_lower * (center - 0.5 * (part - 1.0));

  return (float) ldexp (
      -center * sums->sum_upper - unit * nearbyint (lower / unit),
      -TENSOR_DEEP_Y);
}
