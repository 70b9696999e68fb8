/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* FP16 on the host, rounded to nearest even. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

struct __half
{
  uint16_t bits;
};

/* 2^n for a normal double, -1022 <= n <= 1023. Kernels call these functions millions of times,
 * for which ldexp() and ilogb() are too slow. */
static inline double
emulated_power_of_two (int n)
{
  const uint64_t bits = (uint64_t) (1023 + n) << 52;
  double power;

  memcpy (&power, &bits, sizeof power);
  return power;
}

static inline int
emulated_exponent_of_double (double value)
{
  uint64_t bits;

  memcpy (&bits, &value, sizeof bits);
  return (int) (bits >> 52 & 0x7ff) - 1023;
}

/* FP16: 10 fraction bits, smallest normal exponent -14, subnormals below. */
static inline __half
__double2half (double value)
{
  const uint16_t sign = signbit (value) ? 0x8000 : 0;
  const double size = fabs (value);
  const int exponent =
      size >= 0x1p-14 ? emulated_exponent_of_double (size) : -14;
  /* Adding and subtracting 2^52 rounds a number of at most 52 bits to the nearest even
   * integer. */
  const double steps =
      size * emulated_power_of_two (10 - exponent) + 0x1p52 - 0x1p52;

  if (isnan (value))
    return { 0x7e00 };
  if (size > 65504.0 && steps * emulated_power_of_two (exponent - 10) > 65504.0)
    return { (uint16_t) (sign | 0x7c00) };
  /* A carry out of the fraction goes into the exponent. A subnormal has no leading bit, so its
   * exponent field becomes 0. */
  return { (uint16_t) (sign | (((exponent + 14) << 10) + (int) steps)) };
}

static inline float
__half2float (__half half)
{
  const uint32_t exponent = half.bits >> 10 & 31, steps = half.bits & 1023;
  uint32_t bits = (uint32_t) (half.bits & 0x8000) << 16;
  float value;

  if (exponent == 0)
    return copysignf (
        (float) steps * 0x1p-24f, half.bits & 0x8000 ? -1.0f : 1.0f);
  /* The bias of a float's exponent is larger by 112; infinity and NaN have all ones. */
  bits |= (exponent == 31 ? 255 : exponent + 112) << 23 | steps << 13;
  memcpy (&value, &bits, sizeof value);
  return value;
}
