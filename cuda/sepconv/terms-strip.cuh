/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-strip: the arithmetic of a warp of terms-tensor: the passes of tensor-strip.cuh for each
 * term, and the combination of their sums with the sample itself.
 *
 * The sample lies in the same stage as the window, or in the one before. The four bytes of it that
 * a lane reads belong to the lane's four results. SHARPEN adds the sample by one more product,
 *
 *   result [16 y][8 x] += samples [16 y][8 x] * weight [8 x][8 x]
 *
 * with a diagonal matrix. The weight is an FP16 hi/lo split; the two parts lie one below the other
 * in the 16 rows of the right factor. */
#pragma once

#include "terms-combine.cuh"
#include "terms-shape.cuh"
#include "tensor-strip.cuh"
#include "turns.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Where the samples of a lane's results lie, for the upper and the lower 8 rows. */
struct TermsCenter
{
  const uint8_t *row[2];
};

/* S: its TermsShape. */
template <typename S> struct TermsStrip
{
  static constexpr int KS = S::KS, PARTS = S::PARTS;
  static constexpr int BYTES = S::BYTES, C = S::C;
  /* Bias of results beside their code. */
  static constexpr float ABOVE = tensor_above<BYTES, true> ();

  const TermsTensorFrame &frame;
  const TermsTensorPlane &plane;
  Fragments<S::X_FRAGMENTS, S::X_SHARED> x;
  Fragments<S::Y_FRAGMENTS, true> y;
  /* Sums between the passes, of the last 16 KS rows, as Strip has them. */
  uint32_t rows[S::TERMS][S::TILES][KS][4];
  uint32_t weight[2]; /* the lane's part of the diagonal matrix */
  Starts<S::TERMS, true> sums_start;
  Starts<S::SUMS * C, S::KEEPS_STARTS> result_start;
  float threshold, amount; /* for SHARPEN_ABOVE */

  __device__ __forceinline__
  TermsStrip (const TermsTensorFrame &frame, const TermsTensorPlane &plane)
      : frame (frame), plane (plane)
  {
  }

  /* Starts to load the data that all steps need; it arrives with the first stage. */
  __device__ __forceinline__ void
  begin (uint4 *fragments, int lane)
  {
    const int first = 2 * (lane % 4), column = lane / 4;

    x.load (plane.fragments, fragments, lane);
    if (S::X_SHARED)
      fragments += S::X_FRAGMENTS * TENSOR_LANES;
    y.load (plane.fragments + S::X_FRAGMENTS * TENSOR_LANES, fragments, lane);
    fragments += S::Y_FRAGMENTS * TENSOR_LANES;
    sums_start.put (plane.sums_start, S::TERMS, 0.0f, (float *) fragments, 0);
    fragments += S::TERMS;
    result_start.put (plane.start, S::SUMS * C, S::ADDS ? ABOVE : 0.0f,
        (float *) fragments, 0);
    fragments += S::SUMS * C;
    if (threadIdx.x == 0)
      *(float2 *) fragments = make_float2 (plane.threshold, frame.amount);
#pragma unroll
    for (int i = 0; i < 2; i++)
      weight[i] = first == column ? plane.weight[i]
          : first + 1 == column   ? plane.weight[i] << 16
                                  : 0;
#pragma unroll
    for (int t = 0; t < S::TERMS; t++)
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
#pragma unroll
        for (int k = 0; k < 4 * KS; k++)
          rows[t][i][k / 4][k % 4] = 0;
  }

  /* A barrier must come before. */
  __device__ __forceinline__ void
  load_starts ()
  {
    sums_start.load ();
    result_start.load ();
    /* Volatile, or the compiler would read them from the parameters each time. */
    threshold = ((const volatile float *) result_start.at)[4 * S::SUMS * C];
    amount = ((const volatile float *) result_start.at)[4 * S::SUMS * C + 1];
  }

  /* Adds the products of 16 pixels of each channel with the k-th step of taps of each term. */
  __device__ __forceinline__ void
  add_pixels (float (&sums)[S::TERMS][S::TILES][4], const uint32_t *chunk,
      int block, int k) const
  {
    uint32_t low[C], high[C];

    split_channels<BYTES, C> (chunk, plane.strip.shift, low, high);
#pragma unroll
    for (int t = 0; t < S::TERMS; t++)
#pragma unroll
      for (int part = 0; part < PARTS; part++)
#pragma unroll
        for (int c = 0; c < C; c++)
          multiply_matrices_add (sums[t][block * C + c],
              x.get ((t * S::PX + k) * PARTS + part), low[c], high[c]);
  }

  /* Row sums of 8 rows of the window. */
  __device__ __forceinline__ void
  sum_window (const uint32_t *chunk, float (&sums)[S::TERMS][S::TILES][4]) const
  {
    const bool left = threadIdx.x % 4 < 2;

#pragma unroll
    for (int t = 0; t < S::TERMS; t++)
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
        sums_start.get (t, sums[t][i]);
#pragma unroll
    for (int j = 0; j < S::BLOCKS; j++) {
      if constexpr (S::FOLDED) {
        const uint32_t sides = left ? chunk[j + 2] : chunk[j];

        add_pixels (sums, chunk + j + 1, j, 1);
        add_pixels (sums, &sides, j, 0);
      } else {
#pragma unroll
        for (int k = 0; k < S::KX; k++)
          add_pixels (sums, chunk + (j + k) * S::PIXEL, j, k);
      }
    }
  }

  /* Takes in 16 rows of the window; `window` is this lane's part. */
  __device__ __forceinline__ void
  take_rows (const uint8_t *window)
  {
    constexpr int N = (S::BLOCKS + S::KX - 1) * S::PIXEL;
    uint32_t chunk[2][N]; /* of the upper and the lower 8 rows */

#pragma unroll
    for (int i = 0; i + 2 <= N; i += 2)
      load_two_chunks (chunk, i, window + 16 * i);
    if constexpr (N % 2 == 1)
      load_one_chunk (chunk, N - 1, window + 16 * (N - 1));
#pragma unroll
    for (int t = 0; t < S::TERMS; t++)
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
#pragma unroll
        for (int k = 0; k < 4 * (KS - 1); k++)
          rows[t][i][k / 4][k % 4] = rows[t][i][k / 4 + 1][k % 4];
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float sums[S::TERMS][S::TILES][4];

      sum_window (chunk[r], sums);
#pragma unroll
      for (int t = 0; t < S::TERMS; t++)
#pragma unroll
        for (int i = 0; i < S::TILES; i++)
#pragma unroll
          for (int k = 0; k < 2; k++)
            rows[t][i][KS - 1][2 * k + r] =
                pack_halves (sums[t][i][2 * k], sums[t][i][2 * k + 1]);
    }
  }

  typedef float Results[S::SUMS][S::GROUP][2][4];

  __device__ __forceinline__ void
  sum_columns (Results &result, int first) const
  {
#pragma unroll
    for (int s = 0; s < S::SUMS; s++)
#pragma unroll
      for (int i = 0; i < S::GROUP; i++)
#pragma unroll
        for (int k = 0; k < 2; k++)
          result_start.get (s * C + i % C, result[s][i][k]);
#pragma unroll
    for (int t = 0; t < S::TERMS; t++)
#pragma unroll
      for (int q = 0; q < KS * PARTS; q++) {
        const uint4 taps = y.get (t * KS * PARTS + q);

#pragma unroll
        for (int i = 0; i < S::GROUP; i++)
#pragma unroll
          for (int k = 0; k < 2; k++)
            multiply_matrices_add (result[t % S::SUMS][i][k], taps,
                rows[t][first + i][q / PARTS][2 * k],
                rows[t][first + i][q / PARTS][2 * k + 1]);
      }
  }

  /* Adds the samples of a block of 16 pixels, times the weight. */
  __device__ __forceinline__ void
  add_samples (Results &result, int block, const uint32_t *upper,
      const uint32_t *lower) const
  {
    uint32_t low[2][C], high[2][C];

    split_channels<BYTES, C> (upper, plane.strip.shift, low[0], high[0]);
    split_channels<BYTES, C> (lower, plane.strip.shift, low[1], high[1]);
#pragma unroll
    for (int c = 0; c < C; c++) {
      multiply_matrices_add (result[0][block * C + c][0],
          make_uint4 (low[0][c], low[1][c], low[0][c], low[1][c]), weight[0],
          weight[1]);
      multiply_matrices_add (result[0][block * C + c][1],
          make_uint4 (high[0][c], high[1][c], high[0][c], high[1][c]),
          weight[0], weight[1]);
    }
  }

  __device__ __forceinline__ float
  last_offset (int c) const
  {
    return ABOVE != 0.0f ? plane.offset[c] + ABOVE : plane.offset[c];
  }

  /* A result, from the sums of its terms and the code of its sample. */
  __device__ __forceinline__ float
  combine (float sum0, float sum1, uint32_t code, int c) const
  {
    if constexpr (S::MODE == TERMS_GRADIENT) {
      return __fmaf_rn (frame.scale,
          approximate_root (__fmaf_rn (sum0, sum0, sum1 * sum1)),
          last_offset (c));
    } else if constexpr (S::MODE == TERMS_ANGLE) {
      const float whole = (float) (plane.strip.max_code + 1);
      /* Rounds to an integer by two additions: the instruction for that takes four times as
       * long. */
      const float turn =
          __fmaf_rn (whole, quick_turns<false> (sum1, sum0), 0x1p23f) - 0x1p23f;

      if (sum0 == 0.0f && sum1 == 0.0f)
        return last_offset (c);
      /* A whole turn is code 0. */
      return (turn == whole ? 0.0f : turn) + ABOVE;
    } else if constexpr (S::MODE == TERMS_SHARPEN_ABOVE) {
      const float difference = (float) code - sum0;
      const float kept = __fmaf_rn (frame.scale, (float) code, last_offset (c));

      return fabsf (difference) > threshold
          ? __fmaf_rn (amount, difference, kept)
          : kept;
    } else {
      return sum0;
    }
  }

  /* The code of sample i, in memory order, of those in `word` and the words after it. */
  __device__ __forceinline__ uint32_t
  code_of (const uint32_t *word, int i) const
  {
    if constexpr (BYTES == 1)
      return word[i / 4] >> i % 4 * 8 & 0xff;
    else
      return (word[i / 2] >> i % 2 * 16 & 0xffff) >> plane.strip.shift;
  }

  /* Puts the results of a group of tiles to `out`, this lane's part of the block's results;
   * `first` is the group's first tile. */
  __device__ __forceinline__ void
  put_group (int first, const TermsCenter &center, uint8_t *out) const
  {
    constexpr int N = S::PUT_CHUNKS, PIXEL = S::PIXEL;
    constexpr bool SAMPLES = S::TERMS == 1;
    Results result;
    uint32_t sample[2][N] = {}, four[4];

    out += 16 * first * BYTES;
    if (SAMPLES || (C > 1 && plane.keep != 0))
#pragma unroll
      for (int r = 0; r < 2; r++)
#pragma unroll
        for (int i = 0; i < N; i++)
          sample[r][i] =
              *(const uint32_t *) (center.row[r] + 16 * (first * BYTES + i));
    sum_columns (result, first);
    if constexpr (S::MODE == TERMS_SHARPEN)
#pragma unroll
      for (int j = 0; j < S::GROUP / C; j++)
        add_samples (result, j, sample[0] + j * PIXEL, sample[1] + j * PIXEL);
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int j = 0; j < S::GROUP / C; j++) {
        const uint32_t *const from = sample[r] + j * PIXEL;
        float own[C][4];
        uint32_t chunk[PIXEL];

#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
          for (int c = 0; c < C; c++)
            own[c][k] = combine (result[0][j * C + c][k / 2][2 * r + k % 2],
                result[S::SUMS - 1][j * C + c][k / 2][2 * r + k % 2],
                code_of (from, k * C + c), c);
        join_channels<BYTES, C, true> (
            own, plane.strip.shift, plane.strip.max_code, chunk);
#pragma unroll
        for (int q = 0; q < PIXEL; q++) {
          const int i = r * N + j * PIXEL + q;

          if (C > 1)
            chunk[q] = (chunk[q] & ~plane.keep) | (from[q] & plane.keep);
          four[i % 4] = chunk[q];
          if (i % 4 == 3)
            store_matrices<S::OUT_PITCH, N, true> (
                out + (N == 4 ? r * 8 * S::OUT_PITCH : 0), four);
        }
      }
  }

  /* Computes and puts the 16 completed rows of the result. */
  __device__ __forceinline__ void
  complete_rows (const TermsCenter &center, uint8_t *out) const
  {
#pragma unroll
    for (int first = 0; first < S::TILES; first += S::GROUP)
      put_group (first, center, out);
  }
};

#endif
