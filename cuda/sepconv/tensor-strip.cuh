/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-strip: the arithmetic of a warp: both passes, chained through registers, from the
 * bytes of its window to the bytes of its result.
 *
 * The row pass computes, for 16 pixels along x and 8 rows,
 *
 *   sums [16 x][8 y] = taps [16 x][16 KS pixels] * pixels [16 KS pixels][8 y]
 *
 * and leaves two rows of one x in each register pair. Packed to FP16, these are the right
 * factor of the column pass, without any exchange between lanes:
 *
 *   result [16 y][8 x] = taps [16 y][16 KS rows] * sums [16 KS rows][8 x]
 *
 * A warp has TILES tiles of 16 pixels of one channel side by side, and marches down; the
 * sums of the last 16 KS rows stay in its registers. Pixels are loaded from shared memory as
 * bytes, in the layout of ldmatrix, and results are stored to it as bytes. The order of
 * pixels in the rows and columns of the matrices is such that the bytes of one register lie
 * together in memory (tensor_pixel_of()). */
#pragma once

#include "tensor-frame.cuh"
#include "tensor-shape.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Start values of the sums of N channels, each as the four registers of a product. The
 * compiler would recompute values that it can derive again before each product. So they are
 * read from shared memory; KEPT ones only once, by volatile loads. */
template <int N, bool KEPT> struct Starts
{
  const float *at;
  float start[KEPT ? N : 1][4];

  /* Stores the start values of n channels, each plus `more`, to shared memory; the warp's N
   * begin with channel `first`. A barrier must follow, and then load(). */
  __device__ __forceinline__ void
  put (const float *from, int n, float more, float *shared, int first)
  {
    at = shared + 4 * first;
    if (threadIdx.x < 4)
#pragma unroll
      for (int c = 0; c < n; c++)
        shared[4 * c + threadIdx.x] = from[c] + more;
  }

  __device__ __forceinline__ void
  load ()
  {
    if constexpr (KEPT)
#pragma unroll
      for (int c = 0; c < N; c++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          start[c][i] = ((const volatile float *) at)[4 * c + i];
  }

  /* Replaces all start values by one; they must be KEPT. */
  __device__ __forceinline__ void
  replace (float value)
  {
    static_assert (KEPT, "only this warp's are replaced");
#pragma unroll
    for (int c = 0; c < N; c++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        start[c][i] = value;
  }

  __device__ __forceinline__ void
  get (int c, float (&to)[4]) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      to[i] = KEPT ? start[c][i] : at[4 * c + i];
  }
};

/* The fragments of one axis: in registers, or, if there are many, in shared memory. */
template <int N, bool SHARED> struct Fragments
{
  uint4 fragment[N];

  __device__ __forceinline__ void
  load (const uint4 *from, uint4 *, int lane)
  {
#pragma unroll
    for (int i = 0; i < N; i++)
      fragment[i] = from[i * TENSOR_LANES + lane];
  }

  __device__ __forceinline__ const uint4 &
  get (int i) const
  {
    return fragment[i];
  }
};

template <int N> struct Fragments<N, true>
{
  const uint4 *at;

  /* Starts asynchronous copies, in the group that is not committed yet. */
  __device__ __forceinline__ void
  load (const uint4 *from, uint4 *shared, int lane)
  {
#pragma unroll
    for (int i = 0; i < N * TENSOR_LANES; i += STRIP_THREADS)
      if (i + (int) threadIdx.x < N * TENSOR_LANES)
        copy_async (shared + i + threadIdx.x, from + i + threadIdx.x, 16);
    at = shared + lane;
  }

  __device__ __forceinline__ const uint4 &
  get (int i) const
  {
    return at[i * TENSOR_LANES];
  }
};

/* S: its Shape. */
template <typename S> struct Strip
{
  static constexpr int KS = S::KS, PARTS = S::PARTS;
  static constexpr int BYTES = S::BYTES, C = S::C;

  Fragments<S::PX * PARTS, S::X_SHARED> x[S::OWN_SETS];
  Fragments<KS * PARTS, true> y[S::OWN_SETS];
  /* Sums between the passes, of the last 16 KS rows: for each tile and 16 rows, the right
   * factors for pixels 0 to 7 (low, high) and for pixels 8 to 15. */
  uint32_t rows[S::TILES][KS][4];
  Starts<S::OWN_SETS, S::OWN <= 2> sums_start;
  Starts<S::OWN, S::KEEPS_STARTS> result_start;
  int shift, max_code;
  TensorSelectors channel; /* the warp's, if SPLIT */

  /* Index of the set of fragments for the warp's channel c. */
  static __device__ __forceinline__ constexpr int
  set_of (int c)
  {
    return S::OWN_SETS == 2 && c == C - 1 ? 1 : 0;
  }

  /* Starts to load the data that all steps need; it arrives with the first stage. */
  __device__ __forceinline__ void
  fetch (const TensorPlane &plane, uint4 *fragments, int lane)
  {
    const int warp = S::SPLIT ? (int) threadIdx.x / TENSOR_LANES : 0;
    const int set = S::SPLIT && warp == C - 1 ? S::SETS - 1 : 0;

    shift = plane.strip.shift;
    max_code = plane.strip.max_code;
#pragma unroll
    for (int i = 0; i < S::SETS; i++) {
      const uint4 *from = plane.fragments + 2 * i * AXIS_FRAGMENTS;

      x[i % S::OWN_SETS].load (from, fragments, lane);
      fragments += S::X_FRAGMENTS;
      y[i % S::OWN_SETS].load (from + AXIS_FRAGMENTS, fragments, lane);
      fragments += S::Y_FRAGMENTS;
    }
    /* Each warp uses one set; all warps together have loaded all sets to shared memory. */
    if constexpr (S::SPLIT) {
      const int others =
          (S::SETS - 1 - set) * (S::X_FRAGMENTS + S::Y_FRAGMENTS);

      if constexpr (S::X_SHARED)
        x[0].at -= others;
      else
        x[0].load (plane.fragments + 2 * set * AXIS_FRAGMENTS, NULL, lane);
      y[0].at -= others;
      channel.select (tensor_channel (plane.order, warp));
    }
    sums_start.put (plane.sums_start, S::SETS, 0.0f, (float *) fragments, set);
    result_start.put (plane.result_start, C, tensor_above<BYTES, S::PACKS> (),
        (float *) (fragments + S::SETS), warp);
  }

  __device__ __forceinline__ void
  begin ()
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 4 * KS; k++)
        rows[i][k / 4][k % 4] = 0;
  }

  /* A barrier must come before. */
  __device__ __forceinline__ void
  load_starts ()
  {
    sums_start.load ();
    result_start.load ();
  }

  /* From now on, results are zero: the start value keeps each sum below zero. */
  __device__ __forceinline__ void
  put_zeros ()
  {
    result_start.replace (-1e30f);
  }

  __device__ __forceinline__ void
  start_result (float (&result)[S::TILES][2][4]) const
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 2; k++)
        result_start.get (i % S::OWN, result[i][k]);
  }

  /* Adds the products of rows[][at] with the q-th step of taps to 16 rows of the result. */
  __device__ __forceinline__ void
  add_rows (float (&result)[S::TILES][2][4], int q, int at) const
  {
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
      uint4 taps[S::OWN_SETS];

#pragma unroll
      for (int i = 0; i < S::OWN_SETS; i++)
        taps[i] = y[i].get (q * PARTS + part);
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
#pragma unroll
        for (int k = 0; k < 2; k++)
          multiply_matrices_add (result[i][k], taps[set_of (i % S::OWN)],
              rows[i][at][2 * k], rows[i][at][2 * k + 1]);
    }
  }

  /* Adds the products of a chunk of 16 pixels with the k-th step of taps to the sums of 16
   * pixels, in FOLDED windows. */
  __device__ __forceinline__ void
  add_chunk (float (&sums)[4], uint32_t chunk, int k) const
  {
    uint32_t low[1], high[1];

    split_channels<1, 1> (&chunk, 0, low, high);
#pragma unroll
    for (int part = 0; part < PARTS; part++)
      multiply_matrices_add (
          sums, x[0].get (k * PARTS + part), low[0], high[0]);
  }

  /* sum_window() for FOLDED windows. The taps of step 0 are for the pixels on both sides of
   * the middle chunk: lanes of the left half hold the first 8 pixels of a chunk, and take
   * them from the chunk on the right; the other lanes take the last 8 pixels of the chunk on
   * the left. */
  __device__ __forceinline__ void
  sum_folded (const uint8_t *window, float (&sums)[S::TILES][2][4]) const
  {
    constexpr int N = S::BLOCKS + 2;
    const bool left = threadIdx.x % 4 < 2;
    uint32_t chunk[2][N]; /* of the upper and the lower 8 rows */

    static_assert (N % 2 == 0, "two are loaded at a time");
#pragma unroll
    for (int b = 0; b < N; b += 2)
      load_two_chunks (chunk, b, window + 16 * b);
#pragma unroll
    for (int j = 0; j < S::BLOCKS; j++)
#pragma unroll
      for (int r = 0; r < 2; r++) {
        sums_start.get (0, sums[j][r]);
        add_chunk (sums[j][r], chunk[r][j + 1], 1);
        add_chunk (sums[j][r], left ? chunk[r][j + 2] : chunk[r][j], 0);
      }
  }

  /* Moves `rows` up by one place, and makes 16 rows of sums the last one. */
  __device__ __forceinline__ void
  take_sums (const float (&sums)[S::TILES][2][4])
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int q = 0; q + 1 < KS; q++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          rows[i][q][k] = rows[i][q + 1][k];
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 4; k++)
        rows[i][KS - 1][k] = pack_halves (
            sums[i][k % 2][k / 2 * 2], sums[i][k % 2][k / 2 * 2 + 1]);
  }

  /* Sums 16 rows of the window; `window` is this lane's part. If it ADDS, it also adds the
   * products of those `rows` to the result that stay after this step. */
  template <bool ADDS>
  __device__ __forceinline__ void
  sum_window (const TensorOrder &order, const uint8_t *window,
      float (&sums)[S::TILES][2][4], float (&result)[S::TILES][2][4])
  {
    constexpr int N = S::BLOCKS + S::KX - 1;
    uint32_t chunk[2][S::BLOCK_CHUNKS]; /* of the upper and the lower 8 rows */
    uint32_t spare[2] = {};             /* next block, if it is one chunk */

#pragma unroll
    for (int b = 0; b < N; b++) {
      if constexpr (S::BLOCK_CHUNKS > 1) {
#pragma unroll
        for (int q = 0; q < S::BLOCK_CHUNKS; q += 2)
          load_two_chunks (chunk, q, window + 16 * (b * S::BLOCK_CHUNKS + q));
      } else if (b % 2 == 1) {
        chunk[0][0] = spare[0];
        chunk[1][0] = spare[1];
      } else if (b < N - 1) {
        uint32_t m[4];

        load_matrices (m, window + 16 * b);
        chunk[0][0] = m[0];
        chunk[1][0] = m[1];
        spare[0] = m[2];
        spare[1] = m[3];
      } else {
        load_one_chunk (chunk, 0, window + 16 * b);
      }
#pragma unroll
      for (int r = 0; r < 2; r++) {
        uint32_t low[S::OWN], high[S::OWN];

        if constexpr (S::SPLIT)
          channel.split (chunk[r], low[0], high[0]);
        else
          split_channels<BYTES, C> (chunk[r], shift, low, high, order);
#pragma unroll
        for (int j = 0; j < S::BLOCKS; j++) {
          const int k = b - j;

          if (k < 0 || k >= S::KX)
            continue;
#pragma unroll
          for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int c = 0; c < S::OWN; c++) {
              if (k + part == 0)
                sums_start.get (set_of (c), sums[j * S::OWN + c][r]);
              multiply_matrices_add (sums[j * S::OWN + c][r],
                  x[set_of (c)].get (k * PARTS + part), low[c], high[c]);
            }
        }
      }
      if constexpr (ADDS)
#pragma unroll
        for (int q = b * (KS - 1) / N; q < (b + 1) * (KS - 1) / N; q++)
          add_rows (result, q, q + 1);
    }
  }

  /* The same; then take_sums(). */
  template <bool ADDS>
  __device__ __forceinline__ void
  sum_rows (const TensorOrder &order, const uint8_t *window,
      float (&result)[S::TILES][2][4])
  {
    float sums[S::TILES][2][4];

    if constexpr (S::FOLDED) {
      sum_folded (window, sums);
      if constexpr (ADDS)
#pragma unroll
        for (int q = 0; q + 1 < KS; q++)
          add_rows (result, q, q + 1);
    } else {
      sum_window<ADDS> (order, window, sums, result);
    }
    take_sums (sums);
  }

  /* Puts 16 rows of the result to `out`, this lane's part of the block's result, and counts
   * them. */
  template <typename Sink>
  __device__ __forceinline__ void
  put_rows (const float (&result)[S::TILES][2][4], const TensorOrder &order,
      uint8_t *out, const Sink &sink) const
  {
    uint32_t four[4];

#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int j = 0; j < S::BLOCKS; j++) {
        constexpr int N = S::PUT_CHUNKS / S::BLOCKS;
        uint32_t chunk[N];
        float own[S::OWN][4];

#pragma unroll
        for (int c = 0; c < S::OWN; c++)
#pragma unroll
          for (int k = 0; k < 4; k++)
            own[c][k] = result[j * S::OWN + c][k / 2][2 * r + k % 2];
        join_channels<BYTES, S::OWN, S::PACKS> (
            own, shift, max_code, chunk, order);
#pragma unroll
        for (int q = 0; q < N; q++) {
          const int i = r * S::PUT_CHUNKS + j * N + q, first = i / 4 * 4;

          four[i % 4] = chunk[q];
          if (i % 4 == 3)
            store_matrices<S::OUT_PITCH, S::PUT_COLUMNS, S::PUT_AT_ONCE> (out
                    + first / S::PUT_CHUNKS * 8 * S::OUT_PITCH
                    + first % S::PUT_CHUNKS * 16,
                four);
          sink.count_put (chunk[q]);
        }
      }
  }

  /* Takes in 16 rows of the window without completing any of the result. */
  __device__ __forceinline__ void
  take_rows (const TensorOrder &order, const uint8_t *window)
  {
    float none[S::TILES][2][4];

    sum_rows<false> (order, window, none);
  }

  /* Computes the 16 completed rows of the result, and puts them. */
  template <typename Sink>
  __device__ __forceinline__ void
  complete_rows (const TensorOrder &order, uint8_t *out, const Sink &sink) const
  {
    float result[S::TILES][2][4];

    start_result (result);
#pragma unroll
    for (int q = 0; q < KS; q++)
      add_rows (result, q, q);
    put_rows (result, order, out, sink);
  }

  /* take_rows() and then complete_rows(). */
  template <typename Sink>
  __device__ __forceinline__ void
  take_and_complete (const TensorOrder &order, const uint8_t *window,
      uint8_t *out, const Sink &sink)
  {
    if constexpr (S::BETWEEN) {
      float result[S::TILES][2][4];

      start_result (result);
      sum_rows<true> (order, window, result);
      add_rows (result, KS - 1, KS - 1);
      put_rows (result, order, out, sink);
    } else {
      take_rows (order, window);
      complete_rows (order, out, sink);
    }
  }
};

#endif
