/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-deep-samples: how a warp splits samples of more than 10 bits into two FP16 values for
 * products, and how it stores results. Shallower samples are split too, where sums between the
 * passes must be as exact.
 *
 * A sample is the sum of an upper part, its 11 highest bits or all, and a lower part, the other
 * bits. Both become FP16 almost without arithmetic: the bits of an integer up to 2047, taken as
 * FP16, are that integer times 2^-24. A tap is a sum of two FP16 values as well. Three of the four
 * products of a tap and a sample are summed; of the fourth, lower * lower, the mean is in the start
 * value of the sums. Upper * upper is summed without any loss, apart from the other two, which are
 * small: tensor-deep-loss.h.
 *
 * Between the passes, a sum is split into two FP16 values again: the nearest multiple of a sample's
 * upper unit, and the rest. */
#pragma once

#include "tensor.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Index of the parts of taps, of samples, and of sums between the passes. */
enum
{
  UPPER,
  LOWER
};

/* Adds the products of 16 taps and 16 samples, both in two parts, to the large and the small sum.
 * sample[part] has the right factors of the first and the last 8 samples. */
__device__ __forceinline__ void
deep_multiply_add (float (&large)[4], float (&small)[4], const uint4 &upper,
    const uint4 &lower, const uint32_t (&sample)[2][2])
{
  multiply_matrices_add (large, upper, sample[UPPER][0], sample[UPPER][1]);
  multiply_matrices_add (small, upper, sample[LOWER][0], sample[LOWER][1]);
  multiply_matrices_add (small, lower, sample[UPPER][0], sample[UPPER][1]);
}

/* S: Shape, or a struct with the same names for the sizes of a kernel. */
template <typename S> struct DeepSamples
{
  static constexpr int C = S::OWN; /* the warp's channels */

  /* Raw samples of each channel: two of the first 8 pixels of a block, and two of the last 8. */
  typedef uint32_t Samples[C][2];

  /* Right factors of 16 pixels: [upper or lower 8 rows][channel][part][first or last 8 pixels]. */
  typedef uint32_t Factors[2][C][2][2];

  const TensorDeepPlane *deep;
  int pair; /* the warp's pair of places, if PAIRED */
  int shift;

  __device__ __forceinline__ void
  begin (const TensorDeepPlane &plane, int sample_shift)
  {
    deep = &plane;
    pair = S::PAIRED ? (int) threadIdx.x / TENSOR_LANES % 2 : 0;
    shift = sample_shift;
  }

  /* Splits two samples into their parts. */
  __device__ __forceinline__ void
  take_apart (uint32_t two, uint32_t &upper, uint32_t &lower) const
  {
    upper = multiply_halves (
        (two >> deep->shift) & deep->upper_mask, deep->upper_factor);
    lower = two & deep->lower_mask;
  }

  /* The codes of two samples. */
  __device__ __forceinline__ void
  find_codes (uint32_t two, int max_code, float (&code)[2]) const
  {
    const uint32_t codes = (two >> shift) & (uint32_t) max_code * 0x00010001u;

    /* The bits of 2^23 + code. */
    code[0] = __uint_as_float (__byte_perm (codes, 0x4b00, 0x5410)) - 0x1p23f;
    code[1] = __uint_as_float (__byte_perm (codes, 0x4b00, 0x5432)) - 0x1p23f;
  }

  /* Splits two sums into their FP16 parts. */
  __device__ __forceinline__ void
  split_sums (float a, float b, uint32_t &upper, uint32_t &lower) const
  {
    const float upper_a = (a + deep->round_upper) - deep->round_upper;
    const float upper_b = (b + deep->round_upper) - deep->round_upper;

    upper = pack_halves (upper_a, upper_b);
    lower = pack_halves (a - upper_a, b - upper_b);
  }

  /* From the chunks of one row of a block, of which the lane has one word each. */
  static __device__ __forceinline__ void
  split_chunks (const uint32_t *chunk, Samples &two)
  {
#pragma unroll
    for (int half = 0; half < 2; half++)
      if constexpr (C == 1) {
        two[0][half] = chunk[half];
      } else {
        const uint32_t a = chunk[2 * half], b = chunk[2 * half + 1];

        two[0][half] = __byte_perm (a, b, 0x5410);
        two[1][half] = __byte_perm (a, b, 0x7632);
      }
  }

  static __device__ __forceinline__ void
  join_chunks (const Samples &two, uint32_t *chunk)
  {
#pragma unroll
    for (int half = 0; half < 2; half++)
      if constexpr (C == 1) {
        chunk[half] = two[0][half];
      } else {
        chunk[2 * half] = __byte_perm (two[0][half], two[1][half], 0x5410);
        chunk[2 * half + 1] = __byte_perm (two[0][half], two[1][half], 0x7632);
      }
  }

  /* From one row of a block, of which the lane has two pixels in each half. */
  __device__ __forceinline__ void
  read_pixels (const uint8_t *at, Samples &two) const
  {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const uint4 pixels =
          *(const uint4 *) (at + half * 16 * S::BLOCK_CHUNKS / 2);

#pragma unroll
      for (int k = 0; k < C / 2; k++) {
        const uint32_t places = deep->in[k + pair];
        const uint32_t a = __byte_perm (pixels.x, pixels.y, places);
        const uint32_t b = __byte_perm (pixels.z, pixels.w, places);

        two[2 * k][half] = __byte_perm (a, b, 0x5410);
        two[2 * k + 1][half] = __byte_perm (a, b, 0x7632);
      }
    }
  }

  /* Loads the factors of block b of a window. */
  __device__ __forceinline__ void
  load_block (const uint8_t *window, int b, Factors &factors) const
  {
    const uint8_t *const at = window + 16 * b * S::BLOCK_CHUNKS;
    Samples two[2];

    if constexpr (S::BY_PIXELS) {
#pragma unroll
      for (int r = 0; r < 2; r++)
        read_pixels (at + r * 8 * S::PITCH, two[r]);
    } else {
      uint32_t chunk[2][S::BLOCK_CHUNKS];

#pragma unroll
      for (int q = 0; q < S::BLOCK_CHUNKS; q += 2)
        load_two_chunks (chunk, q, at + 16 * q);
#pragma unroll
      for (int r = 0; r < 2; r++)
        split_chunks (chunk[r], two[r]);
    }
#pragma unroll
    for (int i = 0; i < 4 * C; i++)
      take_apart (two[i / 2 % 2][i / 4][i % 2],
          factors[i / 2 % 2][i / 4][UPPER][i % 2],
          factors[i / 2 % 2][i / 4][LOWER][i % 2]);
  }

  /* Moves a tile's sums, of the last 16 KS rows, up by 16 rows and appends the sums of 16 new rows.
   * rows[k][part] has the right factors for pixels 0 to 7 (low, high) and for pixels 8 to 15. */
  template <int KS>
  __device__ __forceinline__ void
  push_rows (uint32_t (&rows)[KS][2][4], const float (&large)[2][4],
      const float (&small)[2][4]) const
  {
#pragma unroll
    for (int q = 0; q + 1 < KS; q++)
#pragma unroll
      for (int k = 0; k < 8; k++)
        rows[q][k / 4][k % 4] = rows[q + 1][k / 4][k % 4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int r = k % 2, first = k / 2 * 2;

      split_sums (large[r][first] + small[r][first],
          large[r][first + 1] + small[r][first + 1], rows[KS - 1][UPPER][k],
          rows[KS - 1][LOWER][k]);
    }
  }

  /* The factors of 16 rows for the first or the last 8 pixels. */
  static __device__ __forceinline__ void
  rows_of (const uint32_t (&rows)[2][4], int half, uint32_t (&factors)[2][2])
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      factors[i / 2][i % 2] = rows[i / 2][2 * half + i % 2];
  }

  /* Writes the pixels of one half of a block's row. */
  __device__ __forceinline__ void
  write_pixels (const Samples &two, int half, uint8_t *to) const
  {
    uint32_t part[2][C / 2]; /* [pixel][pair of places] */

#pragma unroll
    for (int k = 0; k < C / 2; k++) {
      part[0][k] = __byte_perm (two[2 * k][half], two[2 * k + 1][half], 0x5410);
      part[1][k] = __byte_perm (two[2 * k][half], two[2 * k + 1][half], 0x7632);
    }
    if constexpr (S::PAIRED)
#pragma unroll
      for (int i = 0; i < 2; i++)
        ((uint32_t *) to)[2 * i + pair] = part[i][0];
    else
      *(uint4 *) to =
          make_uint4 (__byte_perm (part[0][0], part[0][1], deep->out[0]),
              __byte_perm (part[0][0], part[0][1], deep->out[1]),
              __byte_perm (part[1][0], part[1][1], deep->out[0]),
              __byte_perm (part[1][0], part[1][1], deep->out[1]));
  }

  /* Puts the warp's results of 16 rows to `out`, this lane's part of the block's results.
   * make (r, j, two) computes the samples of block j in the upper (r = 0) or lower 8 rows. */
  template <typename Make>
  __device__ __forceinline__ void
  put_rows (uint8_t *out, const Make &make) const
  {
    uint32_t four[4];

#pragma unroll
    for (int i = 0; i < 2 * S::BLOCKS; i++) {
      const int r = i / S::BLOCKS, j = i % S::BLOCKS;
      Samples two;

      make (r, j, two);
      if constexpr (S::BY_PIXELS) {
#pragma unroll
        for (int half = 0; half < 2; half++)
          write_pixels (two, half,
              out + r * 8 * S::OUT_PITCH
                  + 16 * (2 * j + half) * S::BLOCK_CHUNKS / 2);
      } else {
        uint32_t chunk[S::BLOCK_CHUNKS];

        join_chunks (two, chunk);
#pragma unroll
        for (int q = 0; q < S::BLOCK_CHUNKS; q++) {
          const int n = i * S::BLOCK_CHUNKS + q, first = n / 4 * 4;

          four[n % 4] = chunk[q];
          if (n % 4 == 3)
            store_matrices<S::OUT_PITCH, S::PUT_COLUMNS, S::PUT_AT_ONCE> (out
                    + first / S::PUT_CHUNKS * 8 * S::OUT_PITCH
                    + first % S::PUT_CHUNKS * 16,
                four);
        }
      }
    }
  }
};

#endif
