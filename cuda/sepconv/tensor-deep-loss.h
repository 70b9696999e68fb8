/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-deep-loss: taps for samples of more than 10 bits, as sums of two halves, and what their
 * products lose on tensor cores. Plain C, to be checked as mathematics.
 *
 * A sample of `depth` bits is an upper part, its TENSOR_UPPER_BITS highest bits, and a lower one; a
 * tap is an upper half and a lower one. Three products of them are summed: upper by upper in a sum
 * of its own, which is large, and the other two in a small one.
 *
 * The large sum loses nothing. An upper part of a sample is a multiple of u = 2^(depth - 11), and an
 * upper half of a tap one of 2^-bits. With samples up to 2^(depth - 1) away from their centre, and
 * taps whose sizes add up to less than 2^(e + 1), no sum has more than 24 bits if 2^-bits u is at
 * least 2^(depth - 1 + e - 23): bits = TENSOR_DEEP_BITS - e. Nor is any product cut off then: see
 * tensor-loss.h. */
#pragma once

#include "tensor-loss.h"

#define TENSOR_UPPER_BITS 11
#define TENSOR_DEEP_BITS 13

/* How taps are split: the upper half is a multiple of 2^-bits, the lower one what is left, rounded
 * when it has been multiplied by 2^exponent, as both are for the products. */
typedef struct
{
  int bits, exponent;
} TensorDeepTaps;

/* Of n taps, of which sums have up to `gain` times the size of samples. */
static inline TensorDeepTaps
tensor_deep_taps (int n, double gain, int exponent)
{
  /* Upper halves, and the upper parts of sums, may be larger than the whole by half of what they
   * are multiples of; and so large is a start at most. */
  const double largest =
      gain * (1.0 + 0x1p-10) + ldexp ((double) n, -TENSOR_DEEP_BITS);
  TensorDeepTaps as;

  as.bits = TENSOR_DEEP_BITS - (largest < 2.0 ? 0 : ilogb (largest));
  as.exponent = exponent;
  return as;
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
} TensorDeepSums;

static inline void
tensor_deep_add (TensorDeepSums *sums, double tap, const TensorDeepTaps *as)
{
  double upper, lower;

  tensor_split_deep (tap, as, &upper, &lower);
  sums->upper += fabs (upper);
  sums->lower += fabs (lower);
  sums->rest += fabs (tap - upper - lower);
  sums->most_upper = fmax (sums->most_upper, fabs (upper));
  sums->most_lower = fmax (sums->most_lower, fabs (lower));
}

/* What the small sum loses over n taps, where the upper parts of samples are up to `upper` and the
 * lower ones up to `lower`, and the least normal half is worth `least` in the same unit: products of
 * smaller ones are aligned as if they had its size. */
static inline double
tensor_deep_small_loss (const TensorDeepSums *taps, int n, double upper,
    double lower, double least, int steps)
{
  const double sum = taps->lower * upper + taps->upper * lower;
  const double product = fmax (taps->most_upper * fmax (lower, least),
      taps->most_lower * fmax (upper, least));

  /* Two products of each tap lose half a unit each, and each step makes two additions of
   * both. */
  return tensor_loss_unit (fmax (sum, product))
      * (0.5 * 2.0 * n + 2.0 * 2.0 * steps);
}
