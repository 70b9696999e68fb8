/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Halves on the host, rounded to nearest even. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

struct __half
{
  uint16_t bits;
};

/* Of a double that is normal, as n from -1022 to 1023 is. Kernels call these millions of times,
 * which ldexp() and ilogb() are too slow for. */
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

/* Ten bits after the leading one, exponents from -14, below them equal steps. */
static inline __half
__double2half (double value)
{
  const uint16_t sign = signbit (value) ? 0x8000 : 0;
  const double size = fabs (value);
  const int exponent =
      size >= 0x1p-14 ? emulated_exponent_of_double (size) : -14;
  /* What has no more than 52 bits is rounded to the nearest even where it is added. */
  const double steps =
      size * emulated_power_of_two (10 - exponent) + 0x1p52 - 0x1p52;

  if (isnan (value))
    return { 0x7e00 };
  if (size > 65504.0 && steps * emulated_power_of_two (exponent - 10) > 65504.0)
    return { (uint16_t) (sign | 0x7c00) };
  /* A carry out of the steps is one into the exponent; below the smallest exponent
   * the leading bit is missing, and so is its step of the exponent. */
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
  /* The exponent's bias is 112 more, and that of infinity all ones. */
  bits |= (exponent == 31 ? 255 : exponent + 112) << 23 | steps << 13;
  memcpy (&value, &bits, sizeof value);
  return value;
}
