/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-interpolate: the kernel of the method multirate that writes the result.
 *
 * A block loads the samples of sum[] that it needs to shared memory, and marches down its cells. A
 * thread interpolates four rows of sums along x at its samples, which serve `factor_y` rows of the
 * result.
 *
 * Sums are in units of the largest code, so that saturation clamps results at no cost, and are
 * rounded by adding 2^23. The offset is added last: in sums that begin with it, each rounding would
 * be one of the offset, too. For unsharp masks, the sample is added after the offset. */
#pragma once

#include "multirate.cuh"

#define MULTIRATE_RESULT_THREADS 128
#define MULTIRATE_RESULT_TILE (MULTIRATE_RESULT_THREADS * MULTIRATE_OWN)
/* Floats of sum[] in shared memory: enough for four rows of a plane that is not decimated along
 * x. */
#define MULTIRATE_RESULT_FLOATS 6144

/* The most samples of a line of sum[] that MULTIRATE_RESULT_TILE samples of a row need. */
static inline int
multirate_tile_sums (int factor, int channels)
{
  const int pixels = (MULTIRATE_RESULT_TILE - 2 + channels) / channels + 1;

  return (pixels + factor - 2) / factor + MULTIRATE_REACH;
}

/* A thread's group of samples, which is the same in each row. */
struct MultirateResultGroup
{
  int from[MULTIRATE_SAMPLES]; /* in a row of the block's sums */
  int phase[MULTIRATE_SAMPLES];
};

struct MultirateResultMemory
{
  float4 phase_x[MULTIRATE_MAX_FACTOR], phase_y[MULTIRATE_MAX_FACTOR];
  float4 offset[IMAGE_MAX_CHANNELS]; /* [c]: groups begin with channel c */
  float sums[MULTIRATE_RESULT_FLOATS];
};

/* The channel of sample `first` of a row, with which a group begins: a multiple of 4. */
__device__ __forceinline__ int
multirate_first_channel (const MultiratePart &plane, int first)
{
  static_assert (
      MULTIRATE_SAMPLES == 4, "3 is the only one that does not divide it.");
  return plane.channels == 3 ? first % 3 : 0;
}

/* The offsets of a group that begins with channel c. */
__device__ __forceinline__ float4
multirate_offsets (const MultiratePart &plane, int c)
{
  return make_float4 (plane.offset[c], plane.offset[(c + 1) % plane.channels],
      plane.offset[(c + 2) % plane.channels],
      plane.offset[(c + 3) % plane.channels]);
}

/* The block's part of sum[]. */
struct MultirateResultTile
{
  int first, n;      /* samples of a line */
  int cell, n_cells; /* along y */
};

__device__ __forceinline__ void
multirate_begin_group (const MultiratePart &plane,
    const MultirateResultTile &tile, int first, MultirateResultGroup *group)
{
  /* Samples behind the row's end are not written: they take sums that exist. */
  const int x = min (first, plane.n_samples - 1) / plane.channels;
  int c = min (first, plane.n_samples - 1) - x * plane.channels;
  int k = x / plane.factor_x, p = x - k * plane.factor_x;

#pragma unroll
  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    group->from[j] =
        c * tile.n + min (k - tile.first, tile.n - MULTIRATE_REACH);
    group->phase[j] = p;
    if (++c == plane.channels) {
      c = 0;
      if (++p == plane.factor_x) {
        p = 0;
        k++;
      }
    }
  }
}

/* Interpolates one row of sums along x at the thread's samples. */
__device__ __forceinline__ void
multirate_interpolate_row (const float *row, const float4 *phases,
    const MultirateResultGroup (&group)[MULTIRATE_GROUPS],
    float (&to)[MULTIRATE_OWN])
{
#pragma unroll
  for (int v = 0; v < MULTIRATE_OWN; v++) {
    const MultirateResultGroup &own = group[v / MULTIRATE_SAMPLES];
    const float *from = row + own.from[v % MULTIRATE_SAMPLES];
    const float4 weight = phases[own.phase[v % MULTIRATE_SAMPLES]];
    float sum = weight.x * from[0];

    sum = __fmaf_rn (weight.y, from[1], sum);
    sum = __fmaf_rn (weight.z, from[2], sum);
    to[v] = __fmaf_rn (weight.w, from[3], sum);
  }
}

/* Loads a group of row y of the source; samples beyond the row's end are 0. */
template <int BYTES>
__device__ __forceinline__ MultirateGroup<BYTES>
multirate_own_group (const MultiratePart &plane, int first, int y)
{
  const uint8_t *src = plane.src + y * plane.src_stride;
  MultirateGroup<BYTES> group = {};
  int x = first / plane.channels, c = first - x * plane.channels;

  if (plane.src_direct && first + MULTIRATE_SAMPLES <= plane.n_samples)
    return multirate_load_group<BYTES> (src + (ptrdiff_t) first * BYTES);
#pragma unroll
  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    if (first + j < plane.n_samples)
      multirate_put_raw (&group, j,
          (uint32_t) multirate_read_raw (src
                  + (ptrdiff_t) x * plane.pixel_stride
                  + (ptrdiff_t) c * plane.channel_stride,
              BYTES));
    if (++c == plane.channels) {
      c = 0;
      x++;
    }
  }
  return group;
}

/* Applies the mix (MultiratePart) to a sum, which has its offset, and to a sample's code. */
__device__ __forceinline__ float
multirate_with_sample (
    const MultiratePart &plane, float sum, uint32_t code, int channel)
{
  sum = __fmaf_rn (plane.weight, (float) code, sum);
  if (!plane.compares)
    return sum;
  return __fmaf_rn (plane.keep, (float) code,
             fabsf (sum) > plane.threshold ? sum : 0.0f)
      + plane.last[channel];
}

/* The codes of a group of a row of the result, as they lie in memory. SHARPENS: the samples
 * themselves are added; `own` is their group. */
template <int BYTES, bool SHARPENS>
__device__ __forceinline__ MultirateGroup<BYTES>
multirate_codes (const MultiratePart &plane,
    const float (&rows)[MULTIRATE_REACH][MULTIRATE_OWN], const float4 &weight,
    const float4 &offset, int group, const MultirateGroup<BYTES> &own,
    int first_channel)
{
  const float offsets[] = { offset.x, offset.y, offset.z, offset.w };
  const float full = (float) plane.max_code;
  uint32_t code[MULTIRATE_SAMPLES];
  MultirateGroup<BYTES> words;

#pragma unroll
  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    const int v = group * MULTIRATE_SAMPLES + j;
    float sum = weight.x * rows[0][v];

    sum = __fmaf_rn (weight.y, rows[1][v], sum);
    sum = __fmaf_rn (weight.z, rows[2][v], sum);
    sum = __fmaf_rn (weight.w, rows[3][v], sum);
    sum += offsets[j];
    if constexpr (SHARPENS)
      sum = multirate_with_sample (plane, sum,
          (multirate_raw_of (own, j) >> plane.shift)
              & (uint32_t) plane.max_code,
          (first_channel + j) % plane.channels);
    code[j] = __float_as_uint (__fmaf_rn (__saturatef (sum), full, 0x1p23f));
  }
  if constexpr (BYTES == 1) {
    words.word[0] = __byte_perm (__byte_perm (code[0], code[1], 0x0040),
                        __byte_perm (code[2], code[3], 0x0040), 0x5410)
        << plane.shift;
  } else {
    words.word[0] = __byte_perm (code[0], code[1], 0x5410) << plane.shift;
    words.word[1] = __byte_perm (code[2], code[3], 0x5410) << plane.shift;
  }
  return words;
}

/* Writes a group sample by sample, and takes those of kept channels from the source. */
template <int BYTES>
__device__ __forceinline__ void
multirate_write_samples (const MultiratePart &plane, int first, int y,
    const MultirateGroup<BYTES> &words)
{
  const uint8_t *src = plane.src + y * plane.src_stride;
  uint8_t *dst = plane.dst + y * plane.dst_stride;
  int x = first / plane.channels, c = first - x * plane.channels;

#pragma unroll
  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    const ptrdiff_t at = (ptrdiff_t) x * plane.pixel_stride
        + (ptrdiff_t) c * plane.channel_stride;

    if (first + j < plane.n_samples) {
      const uint32_t raw = plane.kept >> c & 1
          ? (uint32_t) multirate_read_raw (src + at, BYTES)
          : multirate_raw_of (words, j);

      if (BYTES == 1)
        dst[at] = (uint8_t) raw;
      else
        *(uint16_t *) (dst + at) = (uint16_t) raw;
    }
    if (++c == plane.channels) {
      c = 0;
      x++;
    }
  }
}

/* Replaces the samples of kept channels in a group of a packed row by those of the source. */
template <int BYTES>
__device__ __forceinline__ void
multirate_keep (const MultiratePart &plane, int first,
    const MultirateGroup<BYTES> &source, MultirateGroup<BYTES> *words)
{
  MultirateGroup<BYTES> mask = {};
  int c = multirate_first_channel (plane, first);

#pragma unroll
  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    if (plane.kept >> c & 1)
      multirate_put_raw (&mask, j, BYTES == 1 ? 0xffu : 0xffffu);
    c = c + 1 == plane.channels ? 0 : c + 1;
  }
#pragma unroll
  for (int i = 0; i < BYTES; i++)
    words->word[i] =
        (words->word[i] & ~mask.word[i]) | (source.word[i] & mask.word[i]);
}

/* Writes the group of row y that begins with sample `first`. */
template <int BYTES>
__device__ __forceinline__ void
multirate_write_group (
    const MultiratePart &plane, int first, int y, MultirateGroup<BYTES> words)
{
  const bool whole = first + MULTIRATE_SAMPLES <= plane.n_samples;
  const ptrdiff_t at = (ptrdiff_t) first * BYTES;
  uint8_t *to = plane.dst + y * plane.dst_stride + at;

  if (!whole || !plane.dst_direct || (plane.kept != 0 && !plane.src_direct)) {
    if (first < plane.n_samples)
      multirate_write_samples<BYTES> (plane, first, y, words);
    return;
  }
  if (plane.kept != 0)
    multirate_keep<BYTES> (plane, first,
        multirate_load_group<BYTES> (plane.src + y * plane.src_stride + at),
        &words);
  if constexpr (BYTES == 1)
    *(uint32_t *) to = words.word[0];
  else
    *(uint2 *) to = make_uint2 (words.word[0], words.word[1]);
}

/* Copies a block of a plane whose channels are all kept. */
template <int BYTES>
__device__ __forceinline__ void
multirate_copy (const MultiratePart &plane, int tile, int first)
{
  const int last = min (first + plane.result_cells, plane.height);

#pragma unroll
  for (int g = 0; g < MULTIRATE_GROUPS; g++) {
    const MultirateGroup<BYTES> none = {};

    for (int y = first; y < last; y++)
      multirate_write_group<BYTES> (
          plane, tile * MULTIRATE_RESULT_TILE + multirate_group (g), y, none);
  }
}

/* Loads the sums that the block needs: its warps take lines in turns, of all rows and channels. */
__device__ __forceinline__ void
multirate_load_sums (
    const MultiratePart &plane, const MultirateResultTile &tile, float *sums)
{
  const int warps = MULTIRATE_RESULT_THREADS / MULTIRATE_WARP;
  const int lines = (tile.n_cells + MULTIRATE_REACH - 1) * plane.channels;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const float *from =
      plane.sums + (ptrdiff_t) tile.cell * plane.channels * plane.pitch;

  for (int line = threadIdx.x / MULTIRATE_WARP; line < lines; line += warps)
    for (int i = lane; i < tile.n; i += MULTIRATE_WARP)
      sums[line * tile.n + i] =
          gpu_load (from + (ptrdiff_t) line * plane.pitch + tile.first + i);
}

template <int BYTES, bool SHARPENS>
__device__ __forceinline__ void
multirate_march_result (const MultiratePart &plane,
    const MultirateResultTile &tile, int first,
    const MultirateResultMemory &memory,
    const MultirateResultGroup (&group)[MULTIRATE_GROUPS])
{
  const int step = plane.channels * tile.n;
  const float *sums = memory.sums;
  float rows[MULTIRATE_REACH][MULTIRATE_OWN];
  int y = tile.cell * plane.factor_y;

#pragma unroll
  for (int t = 1; t < MULTIRATE_REACH; t++, sums += step)
    multirate_interpolate_row (sums, memory.phase_x, group, rows[t]);
  for (int i = 0; i < tile.n_cells; i++, sums += step) {
    const int last = min (y + plane.factor_y, plane.height);

#pragma unroll
    for (int t = 0; t < MULTIRATE_REACH - 1; t++)
#pragma unroll
      for (int v = 0; v < MULTIRATE_OWN; v++)
        rows[t][v] = rows[t + 1][v];
    multirate_interpolate_row (
        sums, memory.phase_x, group, rows[MULTIRATE_REACH - 1]);
    for (int p = 0; y < last; p++, y++) {
      const float4 weight = memory.phase_y[p];

#pragma unroll
      for (int g = 0; g < MULTIRATE_GROUPS; g++) {
        const int at = first + multirate_group (g);
        const int channel = multirate_first_channel (plane, at);
        const float4 offset = memory.offset[channel];
        MultirateGroup<BYTES> own = {};

        if (SHARPENS)
          own = multirate_own_group<BYTES> (plane, at, y);
        multirate_write_group<BYTES> (plane, at, y,
            multirate_codes<BYTES, SHARPENS> (
                plane, rows, weight, offset, g, own, channel));
      }
    }
  }
}

template <int BYTES, bool SHARPENS>
static __global__ void
__launch_bounds__ (MULTIRATE_RESULT_THREADS,
    MULTIRATE_THREADS_AT_ONCE / MULTIRATE_RESULT_THREADS)
    multirate_interpolate (const MultirateFrame frame)
{
  __shared__ MultirateResultMemory memory;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_INTERPOLATE> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_INTERPOLATE];
  const int down = block / plane.result_tiles;
  const int across = block - down * plane.result_tiles;
  const int first = across * MULTIRATE_RESULT_TILE;
  const int last = min (first + MULTIRATE_RESULT_TILE, plane.n_samples) - 1;
  MultirateResultGroup group[MULTIRATE_GROUPS];
  MultirateResultTile tile;

  if (plane.tables == NULL) {
    gpu_await_previous ();
    gpu_admit_next ();
    multirate_copy<BYTES> (plane, across, down * plane.result_cells);
    return;
  }
  tile.first = first / plane.channels / plane.factor_x;
  tile.n =
      last / plane.channels / plane.factor_x - tile.first + MULTIRATE_REACH;
  tile.cell = down * plane.result_cells;
  tile.n_cells = min (
      plane.result_cells, plane.sum_rows - MULTIRATE_REACH + 1 - tile.cell);
  for (int p = threadIdx.x; p < plane.factor_x; p += blockDim.x)
    memory.phase_x[p] = plane.tables->phase_x[p];
  for (int p = threadIdx.x; p < plane.factor_y; p += blockDim.x)
    memory.phase_y[p] = plane.tables->phase_y[p];
  if ((int) threadIdx.x < plane.channels)
    memory.offset[threadIdx.x] = multirate_offsets (plane, threadIdx.x);
#pragma unroll
  for (int g = 0; g < MULTIRATE_GROUPS; g++)
    multirate_begin_group (plane, tile, first + multirate_group (g), &group[g]);
  gpu_await_previous ();
  gpu_admit_next ();
  multirate_load_sums (plane, tile, memory.sums);
  __syncthreads ();
  multirate_march_result<BYTES, SHARPENS> (plane, tile, first, memory, group);
}
