/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-deep: tensor-strip's arithmetic for samples of more than 10 bits, as no half holds them.
 *
 * A sample is the sum of an upper part, its 11 highest bits, and a lower one, the others. Both are
 * halves almost without arithmetic: the bits of an integer up to 2047, taken as a half, are that
 * integer times 2^-24. A tap is a sum of two halves as well. Of the four products of a tap and a
 * sample three are summed; of what both lower parts would add, the mean is in the start of sums.
 * Upper by upper is summed without any loss, beside the small other two: tensor-deep-loss.h.
 *
 * Between the passes, a sum becomes two halves again: the multiple of a sample's upper unit that is
 * nearest, and what is left. */
#pragma once

#include "tensor-strip.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* The parts of taps, of samples, and of sums between the passes. */
enum
{
  UPPER,
  LOWER
};

/* S: its Shape, DEEP. Functions of the same name do what those of Strip do. */
template <typename S> struct DeepStrip
{
  static constexpr int KS = S::KS, PARTS = S::PARTS;
  static constexpr int C = S::OWN; /* the warp's channels */
  static_assert (S::DEEP && S::BYTES == 2 && PARTS == 2 && !S::SPLIT,
      "taps and samples have two parts, and a warp one, two or four channels");

  /* Of each tile: for the upper and the lower 8 rows, or the left and the right 8 pixels. */
  typedef float Sums[S::TILES][2][4];
  /* Right factors of 16 pixels: of the upper and the lower 8 rows, of each channel the upper
   * and the lower part, for the first and the last 8 pixels. */
  typedef uint32_t Factors[2][C][2][2];

  const TensorDeepPlane *deep;
  int pair;            /* that the warp has of the places, if PAIRED */
  const float *offset; /* of the results, by the warp's places */
  Fragments<KS * PARTS, true> x[S::SETS], y[S::SETS];
  Starts<S::SETS, true> sums_start;
  /* Sums between the passes, of the last 16 KS rows: of each part the right factors for
   * pixels 0 to 7 (low, high) and 8 to 15. */
  uint32_t rows[S::TILES][KS][2][4];
  int sample_shift;
  float most;

  static __device__ __forceinline__ constexpr int
  set_of (int c)
  {
    return S::SETS == 2 && c == C - 1 ? 1 : 0;
  }

  __device__ __forceinline__ void
  fetch (const TensorPlane &plane, uint4 *fragments, int lane)
  {
    deep = &plane.deep;
    pair = S::PAIRED ? (int) threadIdx.x / TENSOR_LANES % 2 : 0;
    offset = plane.result_start + 2 * pair;
    sample_shift = plane.strip.shift;
    most = (float) plane.strip.max_code;
#pragma unroll
    for (int i = 0; i < S::SETS; i++) {
      const uint4 *from = plane.fragments + 2 * i * AXIS_FRAGMENTS;

      x[i].load (from, fragments, lane);
      fragments += S::X_FRAGMENTS;
      y[i].load (from + AXIS_FRAGMENTS, fragments, lane);
      fragments += S::Y_FRAGMENTS;
    }
    sums_start.put (plane.sums_start, S::SETS, 0.0f, (float *) fragments, 0);
  }

  __device__ __forceinline__ void
  begin ()
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < KS * 8; k++)
        rows[i][k / 8][k / 4 % 2][k % 4] = 0;
  }

  __device__ __forceinline__ void
  load_starts ()
  {
    sums_start.load ();
  }

  /* The parts of two samples. */
  __device__ __forceinline__ void
  take_apart (uint32_t two, uint32_t &upper, uint32_t &lower) const
  {
    upper = multiply_halves (
        (two >> deep->shift) & deep->upper_mask, deep->upper_factor);
    lower = two & deep->lower_mask;
  }

  /* The factors of a window's block b. */
  __device__ __forceinline__ void
  load_block (const uint8_t *window, int b, Factors &factors) const
  {
    const uint8_t *const at = window + 16 * b * S::BLOCK_CHUNKS;
    uint32_t two[2][C][2]; /* samples */

    if constexpr (S::BY_PIXELS) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int r = i / 2, half = i % 2;
        const uint4 pixels = *(const uint4 *) (at + r * 8 * S::PITCH
            + half * 16 * S::BLOCK_CHUNKS / 2);

#pragma unroll
        for (int k = 0; k < C / 2; k++) {
          const uint32_t places = deep->in[k + pair];
          const uint32_t a = __byte_perm (pixels.x, pixels.y, places);
          const uint32_t b = __byte_perm (pixels.z, pixels.w, places);

          two[r][2 * k][half] = __byte_perm (a, b, 0x5410);
          two[r][2 * k + 1][half] = __byte_perm (a, b, 0x7632);
        }
      }
    } else {
      uint32_t chunk[2][S::BLOCK_CHUNKS];

#pragma unroll
      for (int q = 0; q < S::BLOCK_CHUNKS; q += 2)
        load_two_chunks (chunk, q, at + 16 * q);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int r = i / 2, half = i % 2;

        if constexpr (C == 1) {
          two[r][0][half] = chunk[r][half];
        } else {
          const uint32_t a = chunk[r][2 * half], b = chunk[r][2 * half + 1];

          two[r][0][half] = __byte_perm (a, b, 0x5410);
          two[r][1][half] = __byte_perm (a, b, 0x7632);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4 * C; i++)
      take_apart (two[i / 2 % 2][i / 4][i % 2],
          factors[i / 2 % 2][i / 4][UPPER][i % 2],
          factors[i / 2 % 2][i / 4][LOWER][i % 2]);
  }

  /* Sums 16 rows of the window. */
  __device__ __forceinline__ void
  sum_window (const uint8_t *window, Sums &large, Sums &small) const
  {
#pragma unroll
    for (int b = 0; b < S::BLOCKS + S::KX - 1; b++) {
      Factors factors;

      load_block (window, b, factors);
#pragma unroll
      for (int j = 0; j < S::BLOCKS; j++) {
        const int k = b - j;

        if (k < 0 || k >= S::KX)
          continue;
#pragma unroll
        for (int c = 0; c < C; c++) {
          const uint4 upper = x[set_of (c)].get (k * PARTS + UPPER);
          const uint4 lower = x[set_of (c)].get (k * PARTS + LOWER);

#pragma unroll
          for (int r = 0; r < 2; r++) {
            const uint32_t (&sample)[2][2] = factors[r][c];

            if (k == 0)
              sums_start.get (set_of (c), large[j * C + c][r]);
            multiply_matrices_add (
                large[j * C + c][r], upper, sample[UPPER][0], sample[UPPER][1]);
            multiply_matrices_add (
                small[j * C + c][r], upper, sample[LOWER][0], sample[LOWER][1]);
            multiply_matrices_add (
                small[j * C + c][r], lower, sample[UPPER][0], sample[UPPER][1]);
          }
        }
      }
    }
  }

  /* Two sums as the sums of two halves. */
  __device__ __forceinline__ void
  split_sums (float a, float b, uint32_t &upper, uint32_t &lower) const
  {
    const float upper_a = (a + deep->round_upper) - deep->round_upper;
    const float upper_b = (b + deep->round_upper) - deep->round_upper;

    upper = pack_halves (upper_a, upper_b);
    lower = pack_halves (a - upper_a, b - upper_b);
  }

  __device__ __forceinline__ void
  take_rows (const TensorOrder &, const uint8_t *window)
  {
    Sums large, small = {};

    sum_window (window, large, small);
#pragma unroll
    for (int i = 0; i < S::TILES; i++) {
#pragma unroll
      for (int q = 0; q + 1 < KS; q++)
#pragma unroll
        for (int k = 0; k < 8; k++)
          rows[i][q][k / 4][k % 4] = rows[i][q + 1][k / 4][k % 4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int r = k % 2, first = k / 2 * 2;

        split_sums (large[i][r][first] + small[i][r][first],
            large[i][r][first + 1] + small[i][r][first + 1],
            rows[i][KS - 1][UPPER][k], rows[i][KS - 1][LOWER][k]);
      }
    }
  }

  /* The code of a result. The low 16 bits count. */
  __device__ __forceinline__ uint32_t
  code_of (float sum, int place) const
  {
    return __float_as_uint (
        __fmaf_rn (__saturatef (__fmaf_rn (sum, deep->unit, offset[place])),
            most, 0x1p23f));
  }

  /* Puts two results of each of the warp's channels to where two pixels of four lie together. */
  __device__ __forceinline__ void
  put_pixels (const uint32_t (&two)[C][2], int half, uint8_t *to) const
  {
    uint32_t part[2][C / 2]; /* of both pixels, two places each */

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

  /* The chunks of one or two channels of a block, of which the lane's parts are words. */
  static __device__ __forceinline__ void
  join_chunks (const uint32_t (&two)[C][2], uint32_t (&chunk)[S::BLOCK_CHUNKS])
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

  __device__ __forceinline__ void
  put_rows (const Sums &result, uint8_t *out) const
  {
    uint32_t four[4];

#pragma unroll
    for (int i = 0; i < 2 * S::BLOCKS; i++) {
      const int r = i / S::BLOCKS, j = i % S::BLOCKS;
      uint32_t two[C][2];

#pragma unroll
      for (int k = 0; k < 2 * C; k++) {
        const float (&sums)[4] = result[j * C + k / 2][k % 2];

        two[k / 2][k % 2] = __byte_perm (code_of (sums[2 * r], k / 2),
                                code_of (sums[2 * r + 1], k / 2), 0x5410)
            << sample_shift;
      }
      if constexpr (S::BY_PIXELS) {
#pragma unroll
        for (int half = 0; half < 2; half++)
          put_pixels (two, half,
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

  template <typename Sink>
  __device__ __forceinline__ void
  complete_rows (const TensorOrder &, uint8_t *out, const Sink &) const
  {
    static_assert (!Sink::COUNTS, "counters are of bytes");
    Sums large = {}, small = {};

#pragma unroll
    for (int q = 0; q < KS; q++)
#pragma unroll
      for (int i = 0; i < S::TILES; i++) {
        const uint4 upper = y[set_of (i % C)].get (q * PARTS + UPPER);
        const uint4 lower = y[set_of (i % C)].get (q * PARTS + LOWER);

#pragma unroll
        for (int k = 0; k < 2; k++) {
          const uint32_t *const large_sum = &rows[i][q][UPPER][2 * k];
          const uint32_t *const small_sum = &rows[i][q][LOWER][2 * k];

          multiply_matrices_add (
              large[i][k], upper, large_sum[0], large_sum[1]);
          multiply_matrices_add (
              small[i][k], upper, small_sum[0], small_sum[1]);
          multiply_matrices_add (
              small[i][k], lower, large_sum[0], large_sum[1]);
        }
      }
#pragma unroll
    for (int i = 0; i < S::TILES * 8; i++)
      large[i / 8][i / 4 % 2][i % 4] += small[i / 8][i / 4 % 2][i % 4];
    put_rows (large, out);
  }

  template <typename Sink>
  __device__ __forceinline__ void
  take_and_complete (const TensorOrder &order, const uint8_t *window,
      uint8_t *out, const Sink &sink)
  {
    take_rows (order, window);
    complete_rows (order, out, sink);
  }
};

#endif
