/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-deep: the arithmetic of terms-strip.cuh for samples of two bytes as sums of two FP16
 * values: tensor-deep-samples.cuh. Terms are combined in FP32. */
#pragma once

#include "tensor-deep-samples.cuh"
#include "terms-strip.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* S: its TermsShape, with DEEP set. Functions have the contracts of those of TermsStrip with
 * the same names. */
template <typename S> struct TermsDeepStrip
{
  static constexpr int KS = S::KS, PARTS = S::PARTS, TERMS = S::TERMS;
  static constexpr int C = S::OWN; /* the warp's channels */
  static_assert (S::DEEP && S::BYTES == 2 && PARTS == 2 && !S::FOLDED,
      "taps and samples have two parts");

  typedef DeepSamples<S> Deep;
  /* Of each tile, for the upper and the lower 8 rows, or for the left and the right 8
   * pixels. */
  typedef float Sums[S::TILES][2][4];

  const TermsTensorFrame &frame;
  const TermsTensorPlane &plane;
  Deep samples;
  Fragments<S::X_FRAGMENTS, true> x;
  Fragments<S::Y_FRAGMENTS, true> y;
  Starts<TERMS, true> sums_start;
  /* As in DeepStrip, for each term. */
  uint32_t rows[TERMS][S::TILES][KS][2][4];
  uint32_t keep[C]; /* mask of copied bits, in two samples */
  /* Factors of codes and of terms, for results as fractions of the largest code. */
  float weight, amount;

  __device__ __forceinline__
  TermsDeepStrip (const TermsTensorFrame &frame, const TermsTensorPlane &plane)
      : frame (frame), plane (plane)
  {
  }

  /* The plane's channel that is the warp's channel c. */
  __device__ __forceinline__ int
  channel_of (int c) const
  {
    return 2 * samples.pair + c;
  }

  __device__ __forceinline__ void
  begin (uint4 *fragments, int lane)
  {
    samples.begin (plane.deep, plane.strip.shift);
    x.load (plane.fragments, fragments, lane);
    fragments += S::X_FRAGMENTS * TENSOR_LANES;
    y.load (plane.fragments + S::X_FRAGMENTS * TENSOR_LANES, fragments, lane);
    fragments += S::Y_FRAGMENTS * TENSOR_LANES;
    sums_start.put (plane.sums_start, TERMS, 0.0f, (float *) fragments, 0);
    weight = plane.deep.unit
        * (S::MODE == TERMS_SHARPEN ? frame.scale + frame.amount : frame.scale);
    amount = plane.deep.unit * frame.amount;
#pragma unroll
    for (int c = 0; c < C; c++)
      keep[c] = plane.kept >> channel_of (c) & 1 ? ~0u : 0;
#pragma unroll
    for (int t = 0; t < TERMS; t++)
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
#pragma unroll
        for (int k = 0; k < KS * 8; k++)
          rows[t][i][k / 8][k / 4 % 2][k % 4] = 0;
  }

  __device__ __forceinline__ void
  load_starts ()
  {
    sums_start.load ();
  }

  /* Adds the products of a block of 16 pixels with the k-th step of taps to the sums of block
   * j, for each term. */
  __device__ __forceinline__ void
  add_block (Sums (&large)[TERMS], Sums (&small)[TERMS],
      const typename Deep::Factors &factors, int j, int k) const
  {
#pragma unroll
    for (int t = 0; t < TERMS; t++) {
      const uint4 upper = x.get ((t * S::KX + k) * PARTS + UPPER);
      const uint4 lower = x.get ((t * S::KX + k) * PARTS + LOWER);

#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
          if (k == 0)
            sums_start.get (t, large[t][j * C + c][r]);
          deep_multiply_add (large[t][j * C + c][r], small[t][j * C + c][r],
              upper, lower, factors[r][c]);
        }
    }
  }

  __device__ __forceinline__ void
  take_rows (const uint8_t *window)
  {
    Sums large[TERMS], small[TERMS] = {};

#pragma unroll
    for (int b = 0; b < S::BLOCKS + S::KX - 1; b++) {
      typename Deep::Factors factors;

      samples.load_block (window, b, factors);
#pragma unroll
      for (int j = 0; j < S::BLOCKS; j++)
        if (b >= j && b - j < S::KX)
          add_block (large, small, factors, j, b - j);
    }
#pragma unroll
    for (int t = 0; t < TERMS; t++)
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
        samples.push_rows (rows[t][i], large[t][i], small[t][i]);
  }

  /* Column sums of term t. */
  __device__ __forceinline__ void
  sum_columns (int t, Sums &sum) const
  {
    Sums small = {};

#pragma unroll
    for (int i = 0; i < S::TILES * 8; i++)
      sum[i / 8][i / 4 % 2][i % 4] = 0.0f;
#pragma unroll
    for (int q = 0; q < KS; q++) {
      const uint4 upper = y.get ((t * KS + q) * PARTS + UPPER);
      const uint4 lower = y.get ((t * KS + q) * PARTS + LOWER);

#pragma unroll
      for (int i = 0; i < S::TILES; i++)
#pragma unroll
        for (int k = 0; k < 2; k++) {
          uint32_t factors[2][2];

          samples.rows_of (rows[t][i][q], k, factors);
          deep_multiply_add (sum[i][k], small[i][k], upper, lower, factors);
        }
    }
#pragma unroll
    for (int i = 0; i < S::TILES * 8; i++)
      sum[i / 8][i / 4 % 2][i % 4] += small[i / 8][i / 4 % 2][i % 4];
  }

  /* Column sums of all terms; where a result needs one sum only, those of both terms are added
   * up. */
  __device__ __forceinline__ void
  sum_terms (Sums (&sum)[S::SUMS]) const
  {
    sum_columns (0, sum[0]);
    if constexpr (TERMS == 2 && S::SUMS == 2) {
      sum_columns (1, sum[1]);
    } else if constexpr (TERMS == 2) {
      Sums second;

      sum_columns (1, second);
#pragma unroll
      for (int i = 0; i < S::TILES * 8; i++)
        sum[0][i / 8][i / 4 % 2][i % 4] += second[i / 8][i / 4 % 2][i % 4];
    }
  }

  /* The samples of one row of a block; `at` is the lane's part. */
  __device__ __forceinline__ void
  read_samples (const uint8_t *at, typename Deep::Samples &two) const
  {
    if constexpr (S::BY_PIXELS) {
      samples.read_pixels (at, two);
    } else {
      uint32_t chunk[S::BLOCK_CHUNKS];

#pragma unroll
      for (int q = 0; q < S::BLOCK_CHUNKS; q++)
        chunk[q] = *(const uint32_t *) (at + 16 * q);
      samples.split_chunks (chunk, two);
    }
  }

  /* A result of the warp's channel c, as a fraction of the largest code, from the sums of its
   * terms, the code of its sample, and the start values of its terms. */
  __device__ __forceinline__ float
  combine (float sum0, float sum1, float code, const float *start, int c) const
  {
    const float offset = plane.offset[channel_of (c)];

    if constexpr (S::MODE == TERMS_SHARPEN) {
      return __saturatef (
          __fmaf_rn (-amount, sum0, __fmaf_rn (weight, code, start[0])));
    } else if constexpr (S::MODE == TERMS_SHARPEN_ABOVE) {
      const float difference = code - (sum0 + start[0]);

      return __saturatef (
          __fmaf_rn (fabsf (difference) > plane.threshold ? amount : 0.0f,
              difference, __fmaf_rn (weight, code, offset)));
    } else if constexpr (S::MODE == TERMS_GRADIENT) {
      const float x = sum0 + start[0], y = sum1 + start[S::C];

      return __saturatef (__fmaf_rn (
          weight, approximate_root (__fmaf_rn (x, x, y * y)), offset));
    } else {
      return __saturatef (__fmaf_rn (sum0, plane.deep.unit, start[0]));
    }
  }

  /* The code of an angle, not rounded. A whole turn becomes 0 by the mask of max_code. */
  __device__ __forceinline__ float
  direction (float sum0, float sum1, const float *start, int c) const
  {
    const float x = sum0 + start[0], y = sum1 + start[S::C];

    const float turns =
        quick_turns<true> (y, x) * (float) (plane.strip.max_code + 1);

    return x == 0.0f && y == 0.0f ? plane.offset[channel_of (c)] : turns;
  }

  /* The code of a result, in the low 16 bits; of an angle only the bits of max_code count. */
  __device__ __forceinline__ uint32_t
  code_of (float sum0, float sum1, float code, int c) const
  {
    const float *const start = plane.start + channel_of (c);

    if constexpr (S::MODE == TERMS_ANGLE)
      return __float_as_uint (direction (sum0, sum1, start, c) + 0x1p23f);
    else
      return __float_as_uint (__fmaf_rn (combine (sum0, sum1, code, start, c),
          (float) plane.strip.max_code, 0x1p23f));
  }

  __device__ __forceinline__ void
  complete_rows (const TermsCenter &center, uint8_t *out) const
  {
    Sums sum[S::SUMS];

    sum_terms (sum);
    samples.put_rows (out, [&] (int r, int j, typename Deep::Samples &two) {
      typename Deep::Samples own = {};

      if (TERMS == 1 || (S::C > 1 && plane.kept != 0))
        read_samples (center.row[r] + 16 * j * S::BLOCK_CHUNKS, own);
#pragma unroll
      for (int i = 0; i < 2 * C; i++) {
        const int c = i / 2, half = i % 2;
        const float (&sum0)[4] = sum[0][j * C + c][half];
        const float (&sum1)[4] = sum[S::SUMS - 1][j * C + c][half];
        float code[2];

        samples.find_codes (own[c][half], plane.strip.max_code, code);
        two[c][half] =
            __byte_perm (code_of (sum0[2 * r], sum1[2 * r], code[0], c),
                code_of (sum0[2 * r + 1], sum1[2 * r + 1], code[1], c), 0x5410);
        if (S::MODE == TERMS_ANGLE)
          two[c][half] &= (uint32_t) plane.strip.max_code * 0x00010001u;
        two[c][half] <<= samples.shift;
        if (S::C > 1)
          two[c][half] = (two[c][half] & ~keep[c]) | (own[c][half] & keep[c]);
      }
    });
  }
};

#endif
