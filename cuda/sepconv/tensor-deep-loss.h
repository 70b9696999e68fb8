/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-deep-loss: taps as sums of two FP16 values, for samples that are such sums too, and the
 * error of their products on tensor cores. Plain C, so that tests can check the mathematics.
 *
 * A sample of `depth` bits is the sum of an upper part, its TENSOR_UPPER_BITS highest bits (all
 * bits if it has no more), and a lower part. A tap is the sum of an upper and a lower FP16 value.
 * Three of their four products are summed: upper * upper in a large sum of its own, the other two
 * in a small sum.
 *
 * The large sum loses nothing. The upper part of a sample is a multiple of u = 2^(depth - 11), and
 * the upper part of a tap is a multiple of 2^-bits. With samples up to 2^(depth - 1) away from
 * their center, and taps whose sizes add up to less than 2^(e + 1), no sum has more than 24 bits if
 * 2^-bits u is at least 2^(depth - 1 + e - 23): bits = TENSOR_DEEP_BITS - e. Nor is any product
 * truncated then: see tensor-loss.h.
 *
 * The bits of an integer up to 2047, taken as FP16, are that integer times 2^-24. So samples enter
 * as codes times 2^(shift - 24), sums along x are codes times 2^-TENSOR_DEEP_Y, and results are
 * codes. */
#pragma once

#include "tensor-loss.h"

#define TENSOR_UPPER_BITS 11
#define TENSOR_DEEP_BITS 13

/* Taps are multiplied by 2^(TENSOR_DEEP_X - shift) along x and by 2^TENSOR_DEEP_Y along y. */
#define TENSOR_DEEP_X 14
#define TENSOR_DEEP_Y 10

/* How taps are split: the upper part is a multiple of 2^-bits; the lower part is the rest, rounded
 * after the multiplication by 2^exponent. Both parts enter products multiplied by 2^exponent. */
typedef struct
{
  int bits, exponent;
} TensorDeepTaps;

/* The split of n taps. `gain`, a finite number: the most by which sums are larger than samples. */
static inline TensorDeepTaps
tensor_deep_taps (int n, double gain, int exponent)
{
  TensorDeepTaps as = { TENSOR_DEEP_BITS, exponent };
  int e = 0;

  /* The upper part of a tap or a sum may be larger than the whole by half of its unit, and a start
   * value exceeds its exact value by at most as much. */
  while (gain * (1.0 + 0x1p-9) + ldexp ((double) n, e - TENSOR_DEEP_BITS)
      >= ldexp (2.0, e))
    e++;
  as.bits -= e;
  return as;
}

/* The split of taps along x, for samples that lie `shift` bits up, and along y. `x`, `y`: the sum
 * of the sizes of the taps of each axis. */
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

/* The unit of the upper parts of samples of `depth` bits, in codes. Samples with no more bits than
 * an upper part have a lower part of 0. */
static inline double
tensor_deep_unit (int depth)
{
  return ldexp (1.0, depth > TENSOR_UPPER_BITS ? depth - TENSOR_UPPER_BITS : 0);
}

/* The FP16 value nearest to a number within the range of FP16. */
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
  double upper, lower, rest; /* sums of sizes of both parts, and of the rest */
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

/* Error of rounding numbers up to `largest` to 24 bits: a unit of the last place, or 0 where all
 * numbers are multiples of a `grain` that is no smaller than the unit. grain 0: there is none. */
static inline double
tensor_grain_loss (double largest, double grain)
{
  const double unit = tensor_loss_unit (largest);

  return grain > 0.0 && grain >= unit ? 0.0 : unit;
}

/* Upper bound of the error of the small sum over n taps. `upper`, `lower`: the largest upper and
 * lower part of a sample. `least`: the smallest normal FP16 value, in the same unit; products of
 * smaller values are aligned as if they had that size. `grain`: all products are its multiples; or
 * 0. */
static inline double
tensor_deep_small_loss (const TensorDeepSums *taps, int n, double upper,
    double lower, double least, int steps, double grain)
{
  const double sum = taps->lower * upper + taps->upper * lower;
  const double product = fmax (taps->most_upper * fmax (lower, least),
      taps->most_lower * fmax (upper, least));

  /* Each tap's two products lose half a unit each, and each step makes two additions for both. */
  return tensor_grain_loss (fmax (sum, product), grain)
      * (0.5 * 2.0 * n + 2.0 * 2.0 * steps);
}

/* The start value of large sums along x, for samples of `depth` bits: it subtracts the center, and
 * adds the mean of the product that is left out. It is a multiple of the unit of the summed
 * products, and fits a float. */
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
