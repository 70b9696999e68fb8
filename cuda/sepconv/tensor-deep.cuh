/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-deep: the arithmetic of tensor-strip.cuh for deep samples, which are sums of two FP16
 * values: tensor-deep-samples.cuh. */
#pragma once

#include "tensor-deep-samples.cuh"
#include "tensor-strip.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* S: its Shape, with DEEP set. Functions have the contracts of those of Strip with the same
 * names. */
template <typename S> struct DeepStrip
{
  static constexpr int KS = S::KS, PARTS = S::PARTS;
  static constexpr int C = S::OWN; /* the warp's channels */
  static_assert (S::DEEP && S::BYTES == 2 && PARTS == 2 && !S::SPLIT,
      "taps and samples have two parts, and a warp one, two or four channels");

  /* Of each tile, for the upper and the lower 8 rows, or for the left and the right 8 pixels. */
  typedef float Sums[S::TILES][2][4];
  DeepSamples<S> samples;
  const float *offset; /* of the results, by the warp's places */
  Fragments<KS * PARTS, true> x[S::SETS], y[S::SETS];
  Starts<S::SETS, true> sums_start;
  /* Sums between the passes, of the last 16 KS rows: for each part, the right factors for pixels
   * 0 to 7 (low, high) and for pixels 8 to 15. */
  uint32_t rows[S::TILES][KS][2][4];
  float most;

  static __device__ __forceinline__ constexpr int
  set_of (int c)
  {
    return S::SETS == 2 && c == C - 1 ? 1 : 0;
  }

  __device__ __forceinline__ void
  fetch (const TensorPlane &plane, uint4 *fragments, int lane)
  {
    samples.begin (plane.deep, plane.strip.shift);
    offset = plane.result_start + 2 * samples.pair;
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

  /* Sums 16 rows of the window. */
  __device__ __forceinline__ void
  sum_window (const uint8_t *window, Sums &large, Sums &small) const
  {
#pragma unroll
    for (int b = 0; b < S::BLOCKS + S::KX - 1; b++) {
      typename DeepSamples<S>::Factors factors;

      samples.load_block (window, b, factors);
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
            if (k == 0)
              sums_start.get (set_of (c), large[j * C + c][r]);
            deep_multiply_add (large[j * C + c][r], small[j * C + c][r], upper,
                lower, factors[r][c]);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void
  take_rows (const TensorOrder &, const uint8_t *window)
  {
    Sums large, small = {};

    sum_window (window, large, small);
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
      samples.push_rows (rows[i], large[i], small[i]);
  }

  /* The code of a result, in the low 16 bits; the others are to be ignored. */
  __device__ __forceinline__ uint32_t
  code_of (float sum, int place) const
  {
    return __float_as_uint (__fmaf_rn (
        __saturatef (__fmaf_rn (sum, samples.deep->unit, offset[place])), most,
        0x1p23f));
  }

  __device__ __forceinline__ void
  put_rows (const Sums &result, uint8_t *out) const
  {
    samples.put_rows (
        out, [&] (int r, int j, typename DeepSamples<S>::Samples &two) {
#pragma unroll
          for (int k = 0; k < 2 * C; k++) {
            const float (&sums)[4] = result[j * C + k / 2][k % 2];

            two[k / 2][k % 2] = __byte_perm (code_of (sums[2 * r], k / 2),
                                    code_of (sums[2 * r + 1], k / 2), 0x5410)
                << samples.shift;
          }
        });
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
          uint32_t sums[2][2];

          samples.rows_of (rows[i][q], k, sums);
          deep_multiply_add (large[i][k], small[i][k], upper, lower, sums);
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
