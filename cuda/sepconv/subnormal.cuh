/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* subnormal: samples as floats without arithmetic. The bits of a sample, as those of a float, are the
 * subnormal number raw * 2^-149, which multiply-adds take exactly and at full speed. And back: a
 * result that was clamped for nothing, by a saturating multiply-add, is rounded by adding 2^23. */
#pragma once

#include "../gpu-launch.cuh"

#include <stdint.h>

/* The i-th sample of a register. */
template <int BYTES>
__device__ __forceinline__ float
subnormal (uint32_t word, int i)
{
  if (BYTES == 1)
    return __uint_as_float (__byte_perm (word, 0, 0x4440 | i));
  return __uint_as_float (__byte_perm (word, 0, i == 0 ? 0x4410 : 0x4432));
}

/* A result as a code in the low bits; value is clamped to 0 and 1. */
__device__ __forceinline__ uint32_t
code_of (float value, float full)
{
  return __float_as_uint (__fmaf_rn (value, full, 0x1p23f));
}

/* Two codes of two bytes each, or four of a byte, as they lie in memory. */
__device__ __forceinline__ uint32_t
join_pair (uint32_t a, uint32_t b, int shift)
{
  return __byte_perm (a, b, 0x5410) << shift;
}

__device__ __forceinline__ uint32_t
join_four (uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return __byte_perm (
      __byte_perm (a, b, 0x0040), __byte_perm (c, d, 0x0040), 0x5410);
}
