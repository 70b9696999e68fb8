/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-strip: the arithmetic of a warp of light-tensor, from work planes to bytes: both passes
 * as in tensor-strip.cuh, with the FP16 hi/lo split of values and taps.
 *
 * Pixels of a window are in image order. The rows of the matrices along x are ordered so that a
 * lane has four adjacent results: tensor_pixel_of() of one channel of a byte. */
#pragma once

#include "light-encode.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* S: its LightShape. */
template <typename S> struct LightStrip
{
  static constexpr int KS = S::KS, C = S::C;
  /* Tiles whose sums are in registers at a time: enough to hide latency. */
  static constexpr int GROUP = C == 3 ? 3 : 2;

  const LightTensorFrame &frame;
  const uint4 *x, *y;    /* the lane's fragments, in shared memory */
  const uint8_t *window; /* the lane's part of the first work plane */
  LightEncoder<S> encoder;
  /* Sums between the passes, of the last 16 KS rows: high parts, then low parts, each as B
   * fragments for pixels 0 to 7 (two registers) and 8 to 15 (two registers). */
  uint32_t rows[S::TILES][KS][LIGHT_PARTS][4];

  __device__ __forceinline__
  LightStrip (const LightTensorFrame &frame, uint8_t *shared)
      : frame (frame), encoder (frame, shared)
  {
    const int lane = threadIdx.x % TENSOR_LANES;
    const int warp = threadIdx.x / TENSOR_LANES;

    x = (const uint4 *) (shared + S::FRAGMENTS_AT) + lane;
    y = x + S::FRAGMENTS;
    window = shared + S::WORK_AT + lane % 16 * S::WORK_PITCH + lane / 16 * 16
        + warp * S::WARP_PIXELS * 2;
  }

  /* Starts to load the fragments and the encoder's table, which complete with the first stage. */
  __device__ __forceinline__ void
  begin (uint8_t *shared)
  {
    uint4 *const to = (uint4 *) (shared + S::FRAGMENTS_AT);

#pragma unroll 1
    for (int i = threadIdx.x; i < 2 * S::FRAGMENTS; i += STRIP_THREADS)
      copy_async (to + i, frame.fragments + i, 16);
    encoder.begin (shared);
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 4 * LIGHT_PARTS * KS; k++)
        rows[i][k / (4 * LIGHT_PARTS)][k / 4 % LIGHT_PARTS][k % 4] = 0;
  }

  typedef float Sums[GROUP][2][4];

  static __device__ __forceinline__ void
  clear (Sums &sums)
  {
#pragma unroll
    for (int i = 0; i < GROUP * 8; i++)
      sums[i / 8][i / 4 % 2][i % 4] = 0.0f;
  }

  /* Sums 16 rows of the window for the tiles from `first` on. */
  __device__ __forceinline__ void
  sum_window (Sums &sums, int first) const
  {
    uint32_t half[KS][GROUP][LIGHT_PARTS][4];

#pragma unroll
    for (int k = 0; k < KS; k++)
#pragma unroll
      for (int i = 0; i < GROUP; i++)
#pragma unroll
        for (int part = 0; part < LIGHT_PARTS; part++)
          load_matrices (half[k][i][part],
              window + (part * C + (first + i) % C) * S::WORK_BYTES
                  + ((first + i) / C + k) * 2 * TENSOR_STEP);
    clear (sums);
    /* The small products come first: the high part of a tap times the low part of a value, and
     * the reverse. */
#pragma unroll
    for (int k = 0; k < KS; k++)
#pragma unroll
      for (int part = 0; part < LIGHT_PARTS; part++) {
        const uint4 taps = x[(k * LIGHT_PARTS + part) * TENSOR_LANES];

#pragma unroll
        for (int i = 0; i < GROUP * 2; i++)
          multiply_matrices_add (sums[i / 2][i % 2], taps,
              half[k][i / 2][1 - part][i % 2],
              half[k][i / 2][1 - part][i % 2 + 2]);
      }
#pragma unroll
    for (int k = 0; k < KS; k++) {
      const uint4 taps = x[k * LIGHT_PARTS * TENSOR_LANES];

#pragma unroll
      for (int i = 0; i < GROUP * 2; i++)
        multiply_matrices_add (sums[i / 2][i % 2], taps,
            half[k][i / 2][0][i % 2], half[k][i / 2][0][i % 2 + 2]);
    }
  }

  /* Sums 16 rows of the window along x, and appends them to `rows`. */
  __device__ __forceinline__ void
  take_rows ()
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < KS - 1; k++)
#pragma unroll
        for (int q = 0; q < 4 * LIGHT_PARTS; q++)
          rows[i][k][q / 4][q % 4] = rows[i][k + 1][q / 4][q % 4];
#pragma unroll
    for (int first = 0; first < S::TILES; first += GROUP) {
      Sums sums;

      sum_window (sums, first);
#pragma unroll
      for (int i = 0; i < GROUP; i++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          light_split (sums[i][k % 2][k / 2 * 2], sums[i][k % 2][k / 2 * 2 + 1],
              rows[first + i][KS - 1][0][k], rows[first + i][KS - 1][1][k]);
    }
  }

  /* Sums along y, which gives the results of the tiles from `first` on. */
  __device__ __forceinline__ void
  sum_columns (Sums &sums, int first) const
  {
    clear (sums);
#pragma unroll
    for (int q = 0; q < KS; q++)
#pragma unroll
      for (int part = 0; part < LIGHT_PARTS; part++) {
        const uint4 taps = y[(q * LIGHT_PARTS + part) * TENSOR_LANES];

#pragma unroll
        for (int i = 0; i < GROUP * 2; i++)
          multiply_matrices_add (sums[i / 2][i % 2], taps,
              rows[first + i / 2][q][1 - part][i % 2 * 2],
              rows[first + i / 2][q][1 - part][i % 2 * 2 + 1]);
      }
#pragma unroll
    for (int q = 0; q < KS; q++) {
      const uint4 taps = y[q * LIGHT_PARTS * TENSOR_LANES];

#pragma unroll
      for (int i = 0; i < GROUP * 2; i++)
        multiply_matrices_add (sums[i / 2][i % 2], taps,
            rows[first + i / 2][q][0][i % 2 * 2],
            rows[first + i / 2][q][0][i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int i = 0; i < GROUP * 8; i++)
      sums[i / 8][i / 4 % 2][i % 4] =
          __fmaf_rn (sums[i / 8][i / 4 % 2][i % 4], LIGHT_UNIT, frame.offset);
  }

  /* The lane's results of 16 x 16 pixels. For each channel four adjacent pixels of the upper 8
   * rows, [0][0], [0][1], [1][0] and [1][1], and of the lower 8 rows, [0][2], [0][3], [1][2]
   * and [1][3]. */
  __device__ __forceinline__ void
  sum_pixels (float (&result)[C][2][4]) const
  {
#pragma unroll
    for (int first = 0; first < C; first += GROUP) {
      Sums sums;

      sum_columns (sums, first);
#pragma unroll
      for (int i = 0; i < GROUP * 8; i++)
        result[first + i / 8][i / 4 % 2][i % 4] = sums[i / 8][i / 4 % 2][i % 4];
    }
  }

  /* Puts the 16 completed rows to `out`, the lane's part of the block's results. `kept`: the
   * lane's source pixels of the upper and of the lower 8 rows. */
  __device__ __forceinline__ void
  complete_rows (const uint8_t *const (&kept)[2], uint8_t *out) const
  {
    if constexpr (S::FORM == LIGHT_SINGLES) {
#pragma unroll
      for (int first = 0; first < S::TILES; first += GROUP) {
        Sums sums;

        sum_columns (sums, first);
#pragma unroll
        for (int i = 0; i < GROUP * 2; i++) {
          const float (&result)[2][4] = sums[i / 2];
          const int r = i % 2;
          const uint32_t left = __byte_perm (encoder.encode (result[0][2 * r]),
              encoder.encode (result[0][2 * r + 1]), 0x40);
          const uint32_t right = __byte_perm (encoder.encode (result[1][2 * r]),
              encoder.encode (result[1][2 * r + 1]), 0x40);

          *(uint32_t *) (out + 8 * r * S::OUT_PITCH
              + TENSOR_STEP * (first + i / 2)) =
              __byte_perm (left, right, 0x5410);
        }
      }
    } else {
      float result[C][2][4];

      sum_pixels (result);
#pragma unroll
      for (int r = 0; r < 2; r++) {
        const uint4 four = *(const uint4 *) kept[r];
        const uint32_t from[4] = { four.x, four.y, four.z, four.w };
        uint32_t pixel[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
          float one[C];

#pragma unroll
          for (int c = 0; c < C; c++)
            one[c] = result[c][k / 2][2 * r + k % 2];
          pixel[k] = encoder.encode_pixel (one, from[k]);
        }
        *(uint4 *) (out + 8 * r * S::OUT_PITCH) =
            make_uint4 (pixel[0], pixel[1], pixel[2], pixel[3]);
      }
    }
  }
};

#endif
