/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-sums: the running sums along y of a group, eight bytes of a row.
 *
 * For bytes, and up to 257 rows, four sums of 16 bits are two words: `all`, the sum of the words as
 * they are, and `odd`, the sum of their second and fourth bytes. all - 256 * odd has the other two
 * sums: overflow from one sum to the next cancels out, as all arithmetic is modulo 2^32.
 *
 * Else (WIDE) each sum is a word, of which 16 bits are used. Its scale, a power of two, is a factor
 * of the products that add a sample. The part that is cut off is less than 2^-16 of the largest
 * sum. */
#pragma once

#include "box-running-strips.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

template <int BYTES, bool WIDE> struct BoxColumnSums;

template <> struct BoxColumnSums<1, false>
{
  uint32_t all[2], odd[2];

  __device__ __forceinline__ void
  move (const BoxStripPlane &, const uint2 &enters, const uint2 &leaves)
  {
    all[0] += enters.x - leaves.x;
    all[1] += enters.y - leaves.y;
    odd[0] +=
        __byte_perm (enters.x, 0, 0x4341) - __byte_perm (leaves.x, 0, 0x4341);
    odd[1] +=
        __byte_perm (enters.y, 0, 0x4341) - __byte_perm (leaves.y, 0, 0x4341);
  }

  /* Multiplies the sums by n, as if each row had come n times. */
  __device__ __forceinline__ void
  repeat (uint32_t n)
  {
    for (int i = 0; i < 2; i++) {
      all[i] *= n;
      odd[i] *= n;
    }
  }

  __device__ __forceinline__ void
  put (const BoxStripPlane &, uint8_t *low, uint8_t *high) const
  {
    const uint32_t even[2] = { all[0] - (odd[0] << 8), all[1] - (odd[1] << 8) };

    *(uint2 *) low = make_uint2 (__byte_perm (even[0], odd[0], 0x6240),
        __byte_perm (even[1], odd[1], 0x6240));
    *(uint2 *) high = make_uint2 (__byte_perm (even[0], odd[0], 0x7351),
        __byte_perm (even[1], odd[1], 0x7351));
  }
};

/* One byte of each of four sums. */
__device__ __forceinline__ uint32_t
box_take_bytes (const uint32_t *sum, uint32_t selector)
{
  return __byte_perm (__byte_perm (sum[0], sum[1], selector),
      __byte_perm (sum[2], sum[3], selector), 0x5410);
}

template <int BYTES> struct BoxColumnSums<BYTES, true>
{
  uint32_t sum[BOX_GROUP_BYTES / BYTES];

  __device__ __forceinline__ void
  add (uint32_t first, uint32_t second, uint32_t by)
  {
#pragma unroll
    for (int j = 0; j < BOX_GROUP_BYTES / BYTES; j++) {
      const uint32_t word = j < 4 / BYTES ? first : second;

      if (BYTES == 1)
        sum[j] = add_products_of_bytes (word, by << 8 * (j % 4), sum[j]);
      else
        sum[j] = add_products_of_pair (word, by << 8 * (j % 2), sum[j]);
    }
  }

  __device__ __forceinline__ void
  move (const BoxStripPlane &plane, const uint2 &enters, const uint2 &leaves)
  {
    add (enters.x & plane.mask, enters.y & plane.mask, plane.factor);
    add (leaves.x & plane.mask, leaves.y & plane.mask, -plane.factor & 0xff);
  }

  __device__ __forceinline__ void
  repeat (uint32_t n)
  {
    for (int j = 0; j < BOX_GROUP_BYTES / BYTES; j++)
      sum[j] *= n;
  }

  __device__ __forceinline__ void
  put (const BoxStripPlane &plane, uint8_t *low, uint8_t *high) const
  {
    if constexpr (BYTES == 1) {
      *(uint2 *) low = make_uint2 (
          box_take_bytes (sum, plane.low), box_take_bytes (sum + 4, plane.low));
      *(uint2 *) high = make_uint2 (box_take_bytes (sum, plane.high),
          box_take_bytes (sum + 4, plane.high));
    } else {
      *(uint32_t *) low = box_take_bytes (sum, plane.low);
      *(uint32_t *) high = box_take_bytes (sum, plane.high);
    }
  }
};

#endif
