/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* subnormal: conversion between samples and floats without arithmetic. The bits of a sample,
 * read as a float, are the subnormal number raw * 2^-149, which multiply-adds take exactly and
 * at full speed. In the other direction, a saturating multiply-add has clamped the result at no
 * cost, and adding 2^23 rounds it. */
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

/* A result as a code in the low bits; `value` must be clamped to [0, 1], and 1 is code `full`. */
__device__ __forceinline__ uint32_t
code_of (float value, float full)
{
  return __float_as_uint (__fmaf_rn (value, full, 0x1p23f));
}

/* Joins two codes of two bytes each, or four of one byte, as they lie in memory. */
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
