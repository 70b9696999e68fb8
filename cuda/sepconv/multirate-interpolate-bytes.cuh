/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-interpolate-bytes: the kernel of the method multirate that writes results of bytes.
 *
 * A thread marches down its chunk. It interpolates each row of sum[] along x once, keeps four of
 * them in registers, and sums those for each of the `factor_y` rows of the result between them. No
 * thread needs another: neighbours find each other's sums in the L1. As in
 * multirate-interpolate.cuh sums are in units of the largest code; the last multiply-add clamps
 * them. */
#pragma once

#include "multirate-bytes.cuh"
#include "multirate-interpolate.cuh"

#define MULTIRATE_RESULT_BYTES_THREADS 128
#define MULTIRATE_RESULT_BYTES_AT_ONCE (4 * MULTIRATE_RESULT_BYTES_THREADS)
#define MULTIRATE_RESULT_BYTES_TILE \
  (MULTIRATE_RESULT_BYTES_THREADS * MULTIRATE_CHUNK)

struct MultirateResultBytesMemory
{
  float4 phase_x[MULTIRATE_MAX_FACTOR], phase_y[MULTIRATE_MAX_FACTOR];
};

/* The sums of a row that a chunk's samples take part of. */
template <typename Chunk> struct MultirateChunkSums
{
  /* Loads of four end at a multiple. */
  static constexpr int n =
      Chunk::cells % 4 == 0 ? Chunk::cells + 4 : Chunk::lows;
  float sum[Chunk::channels][n];
};

/* What lies behind the row's sums belongs to samples that are not written. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_load_chunk_sums (const MultiratePart &plane, const float *row,
    int first, MultirateChunkSums<Chunk> *to)
{
#pragma unroll
  for (int c = 0; c < Chunk::channels; c++, row += plane.pitch) {
    if constexpr (Chunk::cells % 4 == 0) {
#pragma unroll
      for (int i = 0; i < MultirateChunkSums<Chunk>::n; i += 4) {
        const float4 four =
            *(const float4 *) (row + min (first + i, plane.pitch - 4));

        to->sum[c][i] = four.x;
        to->sum[c][i + 1] = four.y;
        to->sum[c][i + 2] = four.z;
        to->sum[c][i + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int i = 0; i < MultirateChunkSums<Chunk>::n; i++)
        to->sum[c][i] = row[min (first + i, plane.pitch - 1)];
    }
  }
}

/* A row of sums at a chunk's samples. */
struct MultirateChunkRow
{
  float at[MULTIRATE_CHUNK];
};

template <typename Chunk>
__device__ __forceinline__ void
multirate_interpolate_chunk (const MultirateChunkSums<Chunk> &sums,
    const float4 *phase, MultirateChunkRow *to)
{
#pragma unroll
  for (int p = 0; p < Chunk::phases; p++) {
    const float4 weight = phase[p];

#pragma unroll
    for (int k = 0; k < Chunk::cells; k++)
#pragma unroll
      for (int c = 0; c < Chunk::channels; c++) {
        const float *of = sums.sum[c] + k;
        float sum = weight.x * of[0];

        sum = __fmaf_rn (weight.y, of[1], sum);
        sum = __fmaf_rn (weight.z, of[2], sum);
        to->at[(k * Chunk::phases + p) * Chunk::channels + c] =
            __fmaf_rn (weight.w, of[3], sum);
      }
  }
}

/* The codes of a row of the result. */
template <typename Chunk>
__device__ __forceinline__ uint4
multirate_chunk_codes (const MultirateChunkRow (&row)[MULTIRATE_REACH],
    const float4 &weight, const float (&offset)[Chunk::channels])
{
  uint32_t word[MULTIRATE_CHUNK_WORDS];

#pragma unroll
  for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++) {
    uint32_t code[4];

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int v = 4 * w + j;
      float sum =
          __fmaf_rn (weight.x, row[0].at[v], offset[v % Chunk::channels]);

      sum = __fmaf_rn (weight.y, row[1].at[v], sum);
      sum = __fmaf_rn (weight.z, row[2].at[v], sum);
      sum = __saturatef (__fmaf_rn (weight.w, row[3].at[v], sum));
      code[j] = __float_as_uint (__fmaf_rn (sum, 255.0f, 0x1p23f));
    }
    word[w] = __byte_perm (__byte_perm (code[0], code[1], 0x0040),
        __byte_perm (code[2], code[3], 0x0040), 0x5410);
  }
  return make_uint4 (word[0], word[1], word[2], word[3]);
}

template <typename Chunk> struct MultirateResultMarch
{
  const MultiratePart *plane;
  const MultirateResultBytesMemory *memory;
  const float4 *phase; /* of the chunk's first sample */
  int byte;            /* of a row */
  int bytes;           /* of the chunk that are in the row */
  bool by_bytes;       /* they are written one by one */
  int first_sum;
  const float *sums; /* the next row to ask for */
  int sum_rows;      /* left of them */
  int y;
  uint32_t keep; /* the kept bytes of a word */
  float offset[Chunk::channels];
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
multirate_write_bytes (uint8_t *to, const uint8_t *source, const uint4 &result,
    uint32_t keep, int n)
{
  const uint32_t word[] = { result.x, result.y, result.z, result.w };

#pragma unroll
  for (int v = 0; v < MULTIRATE_CHUNK; v++)
    if (v < n)
      to[v] = keep >> 8 * (v % 4) & 1 ? source[v]
                                      : (uint8_t) (word[v / 4] >> 8 * (v % 4));
}

template <typename Chunk>
__device__ __forceinline__ void
multirate_ask_for_sums (
    MultirateResultMarch<Chunk> &march, MultirateChunkSums<Chunk> *to)
{
  if (march.sum_rows-- > 0)
    multirate_load_chunk_sums (*march.plane, march.sums, march.first_sum, to);
  march.sums += (ptrdiff_t) Chunk::channels * march.plane->pitch;
}

/* The rows of a cell, or none if it lies `before` the first one. The last of its rows of sums is
 * in `ahead`. Loops are not unrolled: warps
 * that are at other places would wait for each other's instructions. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_march_chunk (MultirateResultMarch<Chunk> &march,
    MultirateChunkRow (&row)[MULTIRATE_REACH], MultirateChunkSums<Chunk> &ahead,
    bool before)
{
  const MultiratePart &plane = *march.plane;
  const int last =
      before ? march.y : min (march.y + plane.factor_y, plane.height);

#pragma unroll
  for (int t = 0; t < MULTIRATE_REACH - 1; t++)
    row[t] = row[t + 1];
  multirate_interpolate_chunk (ahead, march.phase, &row[MULTIRATE_REACH - 1]);
  multirate_ask_for_sums (march, &ahead);
#pragma unroll 1
  for (int p = 0; march.y < last; p++, march.y++) {
    uint8_t *to = plane.dst + march.y * plane.dst_stride + march.byte;
    const uint8_t *from = plane.src + march.y * plane.src_stride + march.byte;
    uint4 source = {}, result;

    if (march.keep != 0 && !march.by_bytes)
      source = multirate_load_chunk (from, plane.src_unit);
    result = multirate_chunk_codes<Chunk> (
        row, march.memory->phase_y[p], march.offset);
    if (march.by_bytes) {
      multirate_write_bytes (to, from, result, march.keep, march.bytes);
      continue;
    }
    if (march.keep != 0)
      result = multirate_keep_bytes (result, source, march.keep);
    multirate_store_chunk (to, plane.dst_unit, result);
  }
}

template <typename Chunk>
__device__ __forceinline__ void
multirate_interpolate_strip (const MultiratePart &plane, int block,
    const MultirateResultBytesMemory &memory)
{
  const int down = block / plane.result_tiles;
  const int chunk =
      (block - down * plane.result_tiles) * MULTIRATE_RESULT_BYTES_THREADS
      + (int) threadIdx.x;
  const int x = chunk * Chunk::pixels;
  const int cell = down * plane.result_cells;
  const int n =
      min (plane.result_cells, plane.sum_rows - MULTIRATE_REACH + 1 - cell);
  MultirateResultMarch<Chunk> march = {};
  MultirateChunkRow row[MULTIRATE_REACH] = {};
  MultirateChunkSums<Chunk> ahead = {};

  gpu_admit_next ();
  gpu_await_previous ();
  if (x >= plane.width)
    return;
  march.plane = &plane;
  march.memory = &memory;
  march.phase = memory.phase_x + x % plane.factor_x;
  march.byte = chunk * MULTIRATE_CHUNK;
  march.bytes = min ((plane.width - x) * Chunk::channels, MULTIRATE_CHUNK);
  march.by_bytes = march.bytes < MULTIRATE_CHUNK || plane.dst_unit == 1
      || (plane.kept != 0 && plane.src_unit == 1);
  march.first_sum = x / plane.factor_x;
  march.sums = plane.sums + (ptrdiff_t) cell * Chunk::channels * plane.pitch;
  march.sum_rows = n + MULTIRATE_REACH - 1;
  march.y = cell * plane.factor_y;
#pragma unroll
  for (int c = 0; c < Chunk::channels; c++)
    march.offset[c] = plane.offset[c];
#pragma unroll
  for (int j = 0; j < 4; j++)
    if (plane.kept >> j % Chunk::channels & 1)
      march.keep |= 0xffu << 8 * j;

  multirate_ask_for_sums (march, &ahead);
#pragma unroll 1
  for (int i = 1 - MULTIRATE_REACH; i < n; i++)
    multirate_march_chunk (march, row, ahead, i < 0);
}

static __global__ void
__launch_bounds__ (MULTIRATE_RESULT_BYTES_THREADS,
    MULTIRATE_RESULT_BYTES_AT_ONCE / MULTIRATE_RESULT_BYTES_THREADS)
    multirate_interpolate_bytes (GPU_PARAMETER MultirateFrame frame)
{
  __shared__ MultirateResultBytesMemory memory;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_INTERPOLATE_BYTES> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_INTERPOLATE_BYTES];

  for (int p = threadIdx.x; p < plane.factor_x; p += blockDim.x)
    memory.phase_x[p] = plane.tables->phase_x[p];
  for (int p = threadIdx.x; p < plane.factor_y; p += blockDim.x)
    memory.phase_y[p] = plane.tables->phase_y[p];
  __syncthreads ();
  MULTIRATE_FOR_CHUNK (plane, multirate_interpolate_strip, plane, block, memory)
}
