/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-rows: running sums along x of the column sums in shared memory, on tensor cores.
 *
 * With `before`, the sum before a step of BOX_STEP samples, the sum of sample j of the step is
 *
 *   before + sum_{i <= j} (entering (i) - leaving (i)),   for all i of j's channel
 *
 * This is a product of bytes with weights 1, -1 and 0, exact in 32 bits, computed once for the low
 * bytes of the column sums and once for the high bytes. The samples that enter need not begin at a
 * multiple of 16 bytes, nor those that leave: each take three blocks of 16 bytes. These six blocks
 * are three products of 32. The weights are the same for all steps.
 *
 *   rows of A     the 16 rows of a stage
 *   columns of B  eight samples. Of the four products side by side, number p has the samples
 *                 8t + 2p and 8t + 2p + 1, t = 0 to 3: a lane has eight neighbours in the end
 *
 * A warp goes along a segment of the tile. Only the sums before its segment depend on the length of
 * the box: they take a product for each 32 samples. */
#pragma once

#include "box-running-strips.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

#define BOX_PRODUCTS (BOX_STEP / 8)

/* A mask of the n lowest bytes of a word; n may be below 0 or above 4. */
__device__ __forceinline__ uint32_t
box_low_bytes (int n)
{
  return n <= 0 ? 0u : n >= 4 ? 0xffffffffu : (1u << 8 * n) - 1;
}

/* A mask of a channel's bytes in a word. */
template <int C>
__device__ __forceinline__ uint32_t
box_bytes_of (int channel)
{
  return C == 1 ? 0xffffffffu : (C == 2 ? 0xff00ffu : 0xffu) << 8 * channel;
}

/* Word number `word` of a lane's weights: register r of B for part m of product p. Parts have these
 * blocks:
 *
 *   m = 0  entering samples, blocks 0 and 1
 *   m = 1  entering samples, block 2; leaving samples, block 2
 *   m = 2  leaving samples, blocks 0 and 1 */
template <int C>
__device__ __forceinline__ uint32_t
box_weights (const BoxStripPlane &plane, int word, int lane)
{
  const int p = word / 6, m = word / 2 % 3, r = word % 2;
  const int block = m == 1 ? 2 : r;
  const int column = lane / 4;
  const int j = column / 2 * 8 + 2 * p + column % 2;
  const bool enters = m == 0 || (m == 1 && r == 0);
  const int begin = (enters ? plane.entering : plane.leaving) % BOX_UNIT;
  /* The sample of the step that the word's first byte is. */
  const int first = block * BOX_UNIT + lane % 4 * 4 - begin;
  const uint32_t bytes = box_low_bytes (j + 1 - first) & ~box_low_bytes (-first)
      & box_bytes_of<C> (j % C);

  return enters ? bytes & 0x1010101u : bytes;
}

/* A weight of 1 for the samples of a word that have the channel of the lane's column of B. */
template <int C>
__device__ __forceinline__ uint32_t
box_ones (int lane)
{
  return box_bytes_of<C> (lane / 4 % C) & 0x1010101u;
}

/* The lane's weights for the sums of a whole box: registers of B for its first 32 samples, then for
 * its last ones; both begin at a multiple of BOX_UNIT. They are the same for all tiles and
 * segments. */
template <int C>
__device__ __forceinline__ uint32_t
box_end_weights (const BoxStripPlane &plane, int word, int lane)
{
  const int first = plane.leaving, last = plane.entering;
  int at = first & -BOX_UNIT;

  if (word / 2 == 1)
    at += (last - at - 1) & -BOX_STEP;
  at += word % 2 * BOX_UNIT + lane % 4 * 4;
  return box_ones<C> (lane) & box_low_bytes (last - at)
      & ~box_low_bytes (first - at);
}

/* The block's threads write the weights of all lanes to shared memory. */
template <int C>
__device__ __forceinline__ void
box_put_weights (const BoxStripPlane &plane, const BoxMemory &memory)
{
  for (int i = threadIdx.x; i < BOX_WEIGHT_WORDS * BOX_WARP; i += blockDim.x) {
    const int four = i / 4, lane = four % BOX_WARP;
    const int word = four / BOX_WARP * 4 + i % 4;

    memory.weights[i] = word < BOX_STEP_WORDS
        ? box_weights<C> (plane, word, lane)
        : box_end_weights<C> (plane, word - BOX_STEP_WORDS, lane);
  }
}

/* Sums before a segment or a step, in the lane's two rows. */
template <int C> struct BoxBefore
{
  float sum[2][C];
};

__device__ __forceinline__ uint4
box_load_matrices (const uint8_t *at)
{
  uint32_t to[4];

  load_matrices (to, at);
  return make_uint4 (to[0], to[1], to[2], to[3]);
}

/* Adds the sums of 32 samples: sums[0] of low bytes, sums[1] of high bytes. */
__device__ __forceinline__ void
box_add_part (const uint8_t *from, int high, uint32_t weights, uint32_t next,
    int (&sums)[2][4])
{
  multiply_bytes_add (
      sums[0], sums[0], box_load_matrices (from), weights, next);
  multiply_bytes_add (
      sums[1], sums[1], box_load_matrices (from + high), weights, next);
}

/* The sums of a whole box, samples [first, last), in the lane's two rows. `from`: the row whose
 * address the lane gives to ldmatrix. */
template <int C>
__device__ __forceinline__ BoxBefore<C>
box_sum_before (
    const BoxMemory &memory, const uint8_t *from, int high, int first, int last)
{
  const int lane = threadIdx.x % BOX_WARP;
  const uint32_t ones = box_ones<C> (lane);
  const uint4 ends =
      *(const uint4 *) (memory.weights + BOX_STEP_WORDS * BOX_WARP + lane * 4);
  int sums[2][4] = {};
  int at = first & -BOX_UNIT;
  BoxBefore<C> before;

  box_add_part (from + at, high, ends.x, ends.y, sums);
#pragma unroll 2
  for (at += BOX_STEP; at + BOX_STEP < last; at += BOX_STEP)
    box_add_part (from + at, high, ones, ones, sums);
  if (at < last)
    box_add_part (from + at, high, ends.z, ends.w, sums);
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float sum[2];

#pragma unroll
    for (int i = 0; i < 2; i++)
      sum[i] = __fmaf_rn (
          256.0f, (float) sums[1][2 * r + i], (float) sums[0][2 * r + i]);
#pragma unroll
    for (int i = 0; i < (C < 2 ? 1 : 2); i++) {
      before.sum[r][i] = sum[i];
      /* The lane has two of four channels, and its neighbour the others. */
      if constexpr (C == 4) {
        const float other = __uint_as_float ((uint32_t) __shfl_sync (
            0xffffffffu, (int) __float_as_uint (sum[i]), lane ^ 1));

        before.sum[r][i] = lane % 2 == 0 ? sum[i] : other;
        before.sum[r][2 + i] = lane % 2 == 0 ? other : sum[i];
      }
    }
  }
  return before;
}

/* Eight codes of a row, as they lie in memory. */
template <int BYTES> struct BoxCodes
{
  uint32_t word[2 * BYTES];
};

template <int BYTES>
__device__ __forceinline__ BoxCodes<BYTES>
box_join (const BoxStripPlane &plane, const uint32_t (&code)[8])
{
  BoxCodes<BYTES> codes;

#pragma unroll
  for (int i = 0; i < 2 * BYTES; i++) {
    const uint32_t *of = code + 4 / BYTES * i;

    if constexpr (BYTES == 1)
      codes.word[i] = __byte_perm (__byte_perm (of[0], of[1], 0x0040),
          __byte_perm (of[2], of[3], 0x0040), 0x5410);
    else
      codes.word[i] = __byte_perm (of[0], of[1], 0x5410) << plane.strip.shift;
  }
  return codes;
}

/* Writes a lane's eight samples of a step in rows y and y + 8, if these are before row `last`. */
template <int BYTES> struct BoxWriter
{
  const BoxStripPlane &plane;
  int y, last;
  int first; /* sample */
  int whole; /* the largest `first` for which all eight are written at once */
  uint8_t *to[2];

  __device__ __forceinline__
  BoxWriter (const BoxStripPlane &plane_, int first_, int y_, int last_)
      : plane (plane_), y (y_), last (last_), first (first_)
  {
    whole = plane.dst_direct ? plane.n_samples - 8 : -1;
    to[0] = plane.strip.dst + y * plane.strip.dst_stride
        + (ptrdiff_t) first * BYTES;
    to[1] = to[0] + 8 * plane.strip.dst_stride;
  }

  __device__ __forceinline__ const uint8_t *
  source (int r) const
  {
    return plane.strip.src + (y + 8 * r) * plane.strip.src_stride
        + (ptrdiff_t) first * BYTES;
  }

  __device__ __forceinline__ void
  write_samples (int r, const BoxCodes<BYTES> &codes) const
  {
    const uint8_t *keep = (const uint8_t *) plane.strip.keep;
    const uint8_t *from = source (r);
    const int n = min (plane.n_samples - first, 8) * BYTES;

#pragma unroll 1
    for (int i = 0; i < n; i++) {
      uint32_t word = codes.word[0];

#pragma unroll
      for (int k = 1; k < 2 * BYTES; k++)
        if (i / 4 == k)
          word = codes.word[k];
      to[r][i] =
          keep[i % 8] ? gpu_load (from + i) : (uint8_t) (word >> 8 * (i % 4));
    }
  }

  __device__ __forceinline__ void
  keep (int r, BoxCodes<BYTES> *codes) const
  {
    const uint32_t *mask = plane.strip.keep[0];
    const uint2 *from = (const uint2 *) source (r);

#pragma unroll
    for (int i = 0; i < BYTES; i++) {
      const uint2 kept = gpu_load (from + i);
      uint32_t *word = codes->word + 2 * i;

      word[0] = (word[0] & ~mask[0]) | (kept.x & mask[0]);
      word[1] = (word[1] & ~mask[1]) | (kept.y & mask[1]);
    }
  }

  __device__ __forceinline__ void
  write (int r, BoxCodes<BYTES> codes) const
  {
    if (y + 8 * r >= last)
      return;
    if (first > whole) {
      write_samples (r, codes);
      return;
    }
    if (plane.strip.keeps)
      keep (r, &codes);
    if constexpr (BYTES == 1)
      *(uint2 *) to[r] = make_uint2 (codes.word[0], codes.word[1]);
    else
      *(uint4 *) to[r] = make_uint4 (
          codes.word[0], codes.word[1], codes.word[2], codes.word[3]);
  }

  __device__ __forceinline__ void
  step ()
  {
    first += BOX_STEP;
    to[0] += BOX_STEP * BYTES;
    to[1] += BOX_STEP * BYTES;
  }
};

/* The addresses that a lane gives to ldmatrix, for the low bytes of a step: the first two blocks
 * that enter, the first two that leave, and the third block of both. Lanes 0 to 15 give the rows of
 * the first of two blocks, the others those of the second one. */
struct BoxBlocks
{
  const uint8_t *entering, *leaving, *thirds;

  __device__ __forceinline__
  BoxBlocks (const BoxMemory &memory, int pitch, int entering_, int leaving_)
  {
    const int lane = threadIdx.x % BOX_WARP, second = lane / 16 * BOX_UNIT;
    const uint8_t *row = memory.low + lane % 16 * pitch;
    const int in = entering_ & -BOX_UNIT, out = leaving_ & -BOX_UNIT;

    entering = row + in + second;
    leaving = row + out + second;
    thirds = row + (lane < 16 ? in : out) + 2 * BOX_UNIT;
  }

  /* Loads the left factors of a step's three products; `plane`: 0 for low bytes, or the distance
   * from these to the high bytes. */
  __device__ __forceinline__ void
  load (int plane, uint4 (&factor)[3]) const
  {
    factor[0] = box_load_matrices (entering + plane);
    factor[1] = box_load_matrices (thirds + plane);
    factor[2] = box_load_matrices (leaving + plane);
  }

  __device__ __forceinline__ void
  step ()
  {
    entering += BOX_STEP;
    leaving += BOX_STEP;
    thirds += BOX_STEP;
  }
};

/* A warp's part of the tile. */
struct BoxSegment
{
  int first, last; /* steps, [first, last) */
};

__device__ __forceinline__ BoxSegment
box_segment (const BoxStripPlane &plane, int tile)
{
  const int samples = min (plane.tile, plane.n_samples - tile * plane.tile);
  const int steps = (samples + BOX_STEP - 1) / BOX_STEP;
  const int warps = blockDim.x / BOX_WARP;
  const int each = (steps + warps - 1) / warps;
  BoxSegment segment;

  segment.first = min ((int) threadIdx.x / BOX_WARP * each, steps);
  segment.last = min (segment.first + each, steps);
  return segment;
}

__device__ __forceinline__ void
box_load_weights (const BoxMemory &memory, uint32_t (&weights)[BOX_STEP_WORDS])
{
  const uint32_t *from = memory.weights + threadIdx.x % BOX_WARP * 4;

#pragma unroll
  for (int i = 0; i < BOX_STEP_WORDS; i += 4) {
    const uint4 four = *(const uint4 *) (from + i * BOX_WARP);

    weights[i] = four.x;
    weights[i + 1] = four.y;
    weights[i + 2] = four.z;
    weights[i + 3] = four.w;
  }
}

/* The sums of product p of a step, plus BOX_MAGIC_BITS. */
__device__ __forceinline__ void
box_multiply (const uint4 (&factor)[2][3],
    const uint32_t (&weights)[BOX_STEP_WORDS], int p, int (&sum)[4])
{
  const int magic[4] = { BOX_MAGIC_BITS, BOX_MAGIC_BITS, BOX_MAGIC_BITS,
    BOX_MAGIC_BITS };
  const int zero[4] = { 0, 0, 0, 0 };
  int low[4], high[4];

  multiply_bytes_add (
      low, magic, factor[0][0], weights[6 * p], weights[6 * p + 1]);
  multiply_bytes_add (
      high, zero, factor[1][0], weights[6 * p], weights[6 * p + 1]);
#pragma unroll
  for (int m = 1; m < 3; m++) {
    const uint32_t *of = weights + 6 * p + 2 * m;

    multiply_bytes_add (low, low, factor[0][m], of[0], of[1]);
    multiply_bytes_add (high, high, factor[1][m], of[0], of[1]);
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    sum[k] = low[k] + high[k] * 256;
}

/* Sums rows [y, last), at most BOX_ROWS, of a segment along x, and writes their results. */
template <int BYTES, int C>
__device__ __forceinline__ void
box_sum_rows (const BoxStripPlane &plane, const BoxMemory &memory, int pitch,
    const BoxSegment &segment, int first, int y, int last)
{
  const int lane = threadIdx.x % BOX_WARP;
  const int high = BOX_ROWS * pitch;
  const int begin = segment.first * BOX_STEP;
  const float unit = plane.unit, full = BYTES == 1 ? 255.0f : plane.full;
  BoxBlocks blocks (
      memory, pitch, plane.entering + begin, plane.leaving + begin);
  BoxWriter<BYTES> writer (
      plane, first + begin + lane % 4 * 8, y + lane / 4, last);
  uint32_t weights[BOX_STEP_WORDS];
  float start[C];
  BoxBefore<C> before;

  if (segment.first >= segment.last)
    return;
  before = box_sum_before<C> (memory,
      memory.low + lane % 16 * pitch + lane / 16 * BOX_UNIT, high,
      plane.leaving + begin, plane.entering + begin);
  box_load_weights (memory, weights);
#pragma unroll
  for (int c = 0; c < C; c++)
    start[c] = plane.start[c];

#pragma unroll 1
  for (int s = segment.first; s < segment.last; s++) {
    uint4 factor[2][3];
    uint32_t code[2][8];
    float from[2][C];

    blocks.load (0, factor[0]);
    blocks.load (high, factor[1]);
    blocks.step ();
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int c = 0; c < C; c++)
        from[r][c] = __fmaf_rn (before.sum[r][c], unit, start[c]);
#pragma unroll
    for (int p = 0; p < BOX_PRODUCTS; p++) {
      int sum[4];

      box_multiply (factor, weights, p, sum);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int r = k / 2, j = 2 * p + k % 2;
        const float value = __fmaf_rn (
            __uint_as_float ((uint32_t) sum[k]), unit, from[r][j % C]);

        code[r][j] =
            __float_as_uint (__fmaf_rn (__saturatef (value), full, 0x1p23f));
        /* The sums of the last pixel are the `before` of the next step. */
        if (j >= 8 - C)
          before.sum[r][j % C] += __uint_as_float ((uint32_t) __shfl_sync (
                                      0xffffffffu, sum[k], lane | 3))
              - BOX_MAGIC;
      }
    }
#pragma unroll
    for (int r = 0; r < 2; r++)
      writer.write (r, box_join<BYTES> (plane, code[r]));
    writer.step ();
  }
}

#endif
