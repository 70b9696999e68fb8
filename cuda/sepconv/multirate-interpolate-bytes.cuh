/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-interpolate-bytes: the kernel of the method multirate that writes results of bytes, on
 * tensor cores.
 *
 * A warp has a tile as wide as four chunks and marches down, MULTIRATE_RESULT_ROWS rows at a time:
 *
 *   columns [16 y][8 k] = phase_y [16 y][8 rows] * sums [8 rows][8 k]
 *   result [16 y][8 x] = columns [16 y][8 k] * phase_x [8 k][8 x]
 *
 * The weights are the same for all tiles, which begin with whole cells. They are halves, exactly
 * (MultirateAxis.phase). Sums come as pairs of halves, one in each half of a word, whose sum is as
 * good as a float, with the offset: weights sum to 1. A product takes 16 factors, and so both of a pair. Of the first one, factors that
 * follow each other are a pair, so that a word of the sums is a register of the right factor as it
 * is. What it leaves in registers, split into such pairs again, is the left factor of the second
 * one, with no exchange between lanes: its first 8 are of the upper halves, the others of the lower
 * ones. Of the tile's pixels those are the columns of one product that give each lane a chunk of a
 * row after all of them. */
#pragma once

#include "multirate-bytes.cuh"

#define MULTIRATE_RESULT_ROWS 16
#define MULTIRATE_RESULT_BYTES_THREADS 256
#define MULTIRATE_RESULT_BYTES_AT_ONCE (3 * MULTIRATE_RESULT_BYTES_THREADS)
#define MULTIRATE_RESULT_WARP_TILE (4 * MULTIRATE_CHUNK)
#define MULTIRATE_RESULT_BYTES_TILE \
  (MULTIRATE_RESULT_BYTES_THREADS / MULTIRATE_WARP * MULTIRATE_RESULT_WARP_TILE)

/* Eights of sums that n neighbours need, if they begin with a whole cell. */
static __host__ __device__ constexpr int
multirate_eights (int n, int factor)
{
  return (n / factor + MULTIRATE_REACH - 1 + 7) / 8;
}

/* EIGHTS of columns and ROW_EIGHTS of rows of sums are under a warp's 16 rows. */
template <int CHANNELS, int EIGHTS, int ROW_EIGHTS> struct MultirateResult
{
  static constexpr int channels = CHANNELS;
  static constexpr int eights = EIGHTS, row_eights = ROW_EIGHTS;
  static constexpr int pixels = MULTIRATE_CHUNK / CHANNELS; /* of a chunk */
  /* Of each channel: each makes two pixels of a chunk. */
  static constexpr int products = pixels / 2;
  static constexpr bool weights_shared = products * EIGHTS > 8;
};

/* The weight that the sum `k` cells on from a position's own cell less 1 has for it. */
static inline float
multirate_phase_weight (const MultirateAxis *axis, int position, int k)
{
  const int t = k - position / axis->factor;

  return t >= 0 && t < MULTIRATE_REACH ? axis->phase[position % axis->factor][t]
                                       : 0.0f;
}

/* The weights of both axes as fragments, in the order of the lanes: instructions.cuh has their
 * layouts. */
static inline void
multirate_write_result_weights (
    MultirateTables *to, const MultiratePlane *axes, int channels)
{
  const int pixels = MULTIRATE_CHUNK / channels;
  const int eights = multirate_eights (4 * pixels, axes->x.factor);
  const int row_eights =
      multirate_eights (MULTIRATE_RESULT_ROWS, axes->y.factor);

  for (int lane = 0; lane < MULTIRATE_WARP; lane++) {
    const int g = lane / 4, t = lane % 4;

    for (int i = 0; i < eights * pixels / 2; i++) {
      const int x = g / 2 * pixels + i / eights * 2 + g % 2;
      const int k = i % eights * 8 + 2 * t;

      to->result_x[i][lane] =
          multirate_two_halves (multirate_phase_weight (&axes->x, x, k),
              multirate_phase_weight (&axes->x, x, k + 1));
    }
    for (int i = 0; i < row_eights; i++) {
      uint32_t weight[4];

      for (int j = 0; j < 4; j++) {
        const float half = multirate_phase_weight (
            &axes->y, g + j % 2 * 8, 8 * i + t + j / 2 * 4);

        weight[j] = multirate_two_halves (half, half);
      }
      to->result_y[i][lane] =
          make_uint4 (weight[0], weight[1], weight[2], weight[3]);
    }
  }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* What a march down a tile needs. */
template <typename R> struct MultirateResultMarch
{
  const MultiratePart *plane;
  int byte;      /* of a row: the lane's chunk */
  int bytes;     /* of the chunk that are in the row */
  bool by_bytes; /* they are written one by one */
  uint32_t keep; /* the kept bytes of a word */
  int y;         /* the first of the next rows */
  int row;       /* of the sums that are asked for next */
  int column[R::eights];
  uint32_t sum[R::channels][R::eights][R::row_eights][2];
  uint4 weight_y[R::row_eights];
  const uint32_t *shared; /* the lane's weights of x, or they are in */
  uint32_t weight_x[R::weights_shared ? 1 : R::products * R::eights];
};

__device__ __forceinline__ uint4
multirate_keep_bytes (const uint4 &result, const uint4 &source, uint32_t keep)
{
  return make_uint4 ((result.x & ~keep) | (source.x & keep),
      (result.y & ~keep) | (source.y & keep),
      (result.z & ~keep) | (source.z & keep),
      (result.w & ~keep) | (source.w & keep));
}

__device__ __forceinline__ uint4
multirate_load_chunk (const uint8_t *from, int unit)
{
  const uint32_t *word = (const uint32_t *) from;

  return unit == MULTIRATE_CHUNK
      ? gpu_load ((const uint4 *) from)
      : make_uint4 (gpu_load (word), gpu_load (word + 1), gpu_load (word + 2),
          gpu_load (word + 3));
}

__device__ __forceinline__ void
multirate_store_chunk (uint8_t *to, int unit, const uint4 &chunk)
{
  uint32_t *word = (uint32_t *) to;

  if (unit == MULTIRATE_CHUNK) {
    *(uint4 *) to = chunk;
    return;
  }
  word[0] = chunk.x;
  word[1] = chunk.y;
  word[2] = chunk.z;
  word[3] = chunk.w;
}

/* The first n bytes of a chunk. */
__device__ __forceinline__ void
multirate_write_bytes (
    uint8_t *to, const uint8_t *source, uint4 result, uint32_t keep, int n)
{
#pragma unroll 1
  for (int v = 0; v < n; v++) {
    to[v] =
        keep >> 8 * (v % 4) & 1 ? gpu_load (source + v) : (uint8_t) result.x;
    result.x = __funnelshift_r (result.x, result.y, 8);
    result.y = __funnelshift_r (result.y, result.z, 8);
    result.z = __funnelshift_r (result.z, result.w, 8);
    result.w >>= 8;
  }
}

/* Writes the lane's chunk of row y. */
template <typename R>
__device__ __forceinline__ void
multirate_put_chunk (
    const MultirateResultMarch<R> &march, int y, const uint4 &result)
{
  const MultiratePart &plane = *march.plane;
  uint8_t *to = plane.dst + y * plane.dst_stride + march.byte;
  const uint8_t *from = plane.src + y * plane.src_stride + march.byte;

  if (y >= plane.height || march.bytes <= 0)
    return;
  if (march.by_bytes)
    multirate_write_bytes (to, from, result, march.keep, march.bytes);
  else if (march.keep != 0)
    multirate_store_chunk (to, plane.dst_unit,
        multirate_keep_bytes (
            result, multirate_load_chunk (from, plane.src_unit), march.keep));
  else
    multirate_store_chunk (to, plane.dst_unit, result);
}

/* Rows and columns beyond the last sum have no weight: any sums do for them. */
template <typename R>
__device__ __forceinline__ void
multirate_ask_for_sums (MultirateResultMarch<R> &march)
{
  const MultiratePart &plane = *march.plane;
  const uint32_t *const sums = (const uint32_t *) plane.sums;
  const int t = (int) threadIdx.x % 4;

#pragma unroll
  for (int i = 0; i < R::row_eights; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int row = min (march.row + 8 * i + 4 * h + t, plane.sum_rows - 1);
      int line = row * R::channels * plane.pitch;

#pragma unroll
      for (int c = 0; c < R::channels; c++, line += plane.pitch)
#pragma unroll
        for (int v = 0; v < R::eights; v++)
          march.sum[c][v][i][h] = gpu_load (sums + (line + march.column[v]));
    }
  march.row += MULTIRATE_RESULT_ROWS / plane.factor_y;
}

/* The left factor of the second product, from the right ones of the first. */
template <typename R>
__device__ __forceinline__ uint4
multirate_interpolate_columns (
    const MultirateResultMarch<R> &march, int channel, int v)
{
  float columns[4] = {};
  uint4 pairs;

#pragma unroll
  for (int i = 0; i < R::row_eights; i++)
    multiply_matrices_add (columns, march.weight_y[i],
        march.sum[channel][v][i][0], march.sum[channel][v][i][1]);
  pairs.x = pack_halves (columns[0], columns[1]);
  pairs.y = pack_halves (columns[2], columns[3]);
  pairs.z = rest_of_halves (pairs.x, columns[0], columns[1]);
  pairs.w = rest_of_halves (pairs.y, columns[2], columns[3]);
  return pairs;
}

/* Two pixels of each lane's chunk, in 16 rows. */
template <typename R>
__device__ __forceinline__ void
multirate_interpolate_row (const MultirateResultMarch<R> &march, int product,
    const uint4 (&columns)[R::eights], float (&result)[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    result[i] = 0.0f;
#pragma unroll
  for (int v = 0; v < R::eights; v++) {
    const int i = product * R::eights + v;
    const uint32_t weight = R::weights_shared
        ? march.shared[i * MULTIRATE_WARP]
        : march.weight_x[R::weights_shared ? 0 : i];

    multiply_matrices_add (result, columns[v], weight, weight);
  }
}

/* Four bytes of the lane's chunk from what products gave: of row g of 16, or of row g + 8 if they are
 * `lower`. With four channels, of the product's first or second pixel. */
template <int CHANNELS, int PRODUCTS>
__device__ __forceinline__ uint32_t
multirate_result_word (
    const float (&of)[PRODUCTS][CHANNELS][4], bool lower, int pixel)
{
  const int i = lower ? 2 : 0;

  if constexpr (CHANNELS == 1)
    return join_bytes<true> (
        of[0][0][i], of[0][0][i + 1], of[1][0][i], of[1][0][i + 1]);
  else if constexpr (CHANNELS == 2)
    return join_bytes<true> (
        of[0][0][i], of[0][1][i], of[0][0][i + 1], of[0][1][i + 1]);
  else
    return join_bytes<true> (of[0][0][i + pixel], of[0][1][i + pixel],
        of[0][2][i + pixel], of[0][3][i + pixel]);
}

/* Writes the next 16 rows, and asks for the sums of those behind them if there are `more`. */
template <typename R>
__device__ __forceinline__ void
multirate_put_rows (MultirateResultMarch<R> &march, bool more)
{
  /* Products that make so many words together. */
  constexpr int n = R::channels == 1 ? 2 : 1, words = R::channels == 4 ? 2 : 1;
  const int y = march.y + (int) threadIdx.x % MULTIRATE_WARP / 4;
  uint4 columns[R::channels][R::eights];
  uint32_t word[2][MULTIRATE_CHUNK_WORDS];

#pragma unroll
  for (int c = 0; c < R::channels; c++)
#pragma unroll
    for (int v = 0; v < R::eights; v++)
      columns[c][v] = multirate_interpolate_columns (march, c, v);
  if (more)
    multirate_ask_for_sums (march);
#pragma unroll
  for (int j = 0; j < R::products; j += n) {
    float result[n][R::channels][4];

#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
      for (int c = 0; c < R::channels; c++)
        multirate_interpolate_row (march, j + i, columns[c], result[i][c]);
#pragma unroll
    for (int i = 0; i < words; i++) {
      word[0][j / n * words + i] = multirate_result_word (result, false, i);
      word[1][j / n * words + i] = multirate_result_word (result, true, i);
    }
  }
  multirate_put_chunk (
      march, y, make_uint4 (word[0][0], word[0][1], word[0][2], word[0][3]));
  multirate_put_chunk (march, y + 8,
      make_uint4 (word[1][0], word[1][1], word[1][2], word[1][3]));
  march.y += MULTIRATE_RESULT_ROWS;
}

/* What does not depend on the sums. */
template <typename R>
__device__ __forceinline__ void
multirate_begin_result (MultirateResultMarch<R> &march,
    const MultiratePart &plane, int tile, uint32_t *shared)
{
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const MultirateTables *const tables = plane.tables;
  constexpr int n = R::products * R::eights;

  march.plane = &plane;
  march.byte = tile * MULTIRATE_RESULT_WARP_TILE + lane % 4 * MULTIRATE_CHUNK;
  march.bytes = min (plane.n_samples - march.byte, MULTIRATE_CHUNK);
  march.by_bytes = march.bytes < MULTIRATE_CHUNK || plane.dst_unit == 1
      || (plane.kept != 0 && plane.src_unit == 1);
#pragma unroll
  for (int v = 0; v < R::eights; v++)
    march.column[v] =
        min (tile * (4 * R::pixels) / plane.factor_x + 8 * v + lane / 4,
            plane.pitch - 1);
#pragma unroll
  for (int j = 0; j < 4; j++)
    if (plane.kept >> j % R::channels & 1)
      march.keep |= 0xffu << 8 * j;
#pragma unroll
  for (int i = 0; i < R::row_eights; i++)
    march.weight_y[i] = tables->result_y[i][lane];
  if constexpr (R::weights_shared) {
    for (int i = threadIdx.x; i < n * MULTIRATE_WARP;
         i += MULTIRATE_RESULT_BYTES_THREADS)
      shared[i] = tables->result_x[i / MULTIRATE_WARP][i % MULTIRATE_WARP];
    march.shared = shared + lane;
    __syncthreads ();
  } else {
#pragma unroll
    for (int i = 0; i < n; i++)
      march.weight_x[i] = tables->result_x[i][lane];
  }
}

template <typename R>
__device__ __forceinline__ void
multirate_interpolate_strip (
    const MultiratePart &plane, int block, uint32_t *shared)
{
  const int down = block / plane.result_tiles;
  const int tile = (block - down * plane.result_tiles)
          * (MULTIRATE_RESULT_BYTES_THREADS / MULTIRATE_WARP)
      + (int) threadIdx.x / MULTIRATE_WARP;
  const int first = down * plane.result_cells * MULTIRATE_RESULT_ROWS;
  const int last =
      min (first + plane.result_cells * MULTIRATE_RESULT_ROWS, plane.height);
  MultirateResultMarch<R> march = {};

  multirate_begin_result (march, plane, tile, shared);
  march.y = first;
  march.row = first / plane.factor_y;
  gpu_await_previous ();
  gpu_admit_next ();
  if (tile * MULTIRATE_RESULT_WARP_TILE >= plane.n_samples)
    return;
  multirate_ask_for_sums (march);
#pragma unroll 1
  while (march.y < last)
    multirate_put_rows (march, march.y + MULTIRATE_RESULT_ROWS < last);
}

/* Calls multirate_interpolate_strip() for the plane's channels and factors. */
template <int CHANNELS, int EIGHTS>
__device__ __forceinline__ void
multirate_interpolate_plane (
    const MultiratePart &plane, int block, uint32_t *shared)
{
  if (multirate_eights (MULTIRATE_RESULT_ROWS, plane.factor_y) == 1)
    multirate_interpolate_strip<MultirateResult<CHANNELS, EIGHTS, 1>> (
        plane, block, shared);
  else
    multirate_interpolate_strip<MultirateResult<CHANNELS, EIGHTS, 2>> (
        plane, block, shared);
}

#define MULTIRATE_RESULT_CASE(channels, eights) \
  case channels << 4 | eights: \
    multirate_interpolate_plane<channels, eights> (plane, block, shared); \
    break

#endif

static __global__ void
__launch_bounds__ (MULTIRATE_RESULT_BYTES_THREADS,
    MULTIRATE_RESULT_BYTES_AT_ONCE / MULTIRATE_RESULT_BYTES_THREADS)
    multirate_interpolate_bytes (GPU_PARAMETER MultirateFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  __shared__ uint32_t shared[MULTIRATE_RESULT_X * MULTIRATE_WARP];
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_INTERPOLATE_BYTES> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_INTERPOLATE_BYTES];
  const int eights = multirate_eights (
      MULTIRATE_RESULT_WARP_TILE / plane.channels, plane.factor_x);

  switch (plane.channels << 4 | eights) {
    MULTIRATE_RESULT_CASE (1, 1);
    MULTIRATE_RESULT_CASE (1, 2);
    MULTIRATE_RESULT_CASE (1, 3);
    MULTIRATE_RESULT_CASE (1, 5);
    MULTIRATE_RESULT_CASE (2, 1);
    MULTIRATE_RESULT_CASE (2, 2);
    MULTIRATE_RESULT_CASE (2, 3);
    MULTIRATE_RESULT_CASE (4, 1);
    MULTIRATE_RESULT_CASE (4, 2);
  }
#endif
}
