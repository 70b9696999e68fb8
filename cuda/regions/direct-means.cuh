/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-means: the means of the blocks that overlap a tile of a channel. Threads sum each column
 * of a block, then the columns of each block. */
#pragma once

#include "direct-filter.cuh"

/* The blocks along an axis. Block 0 begins at sample `first`. Samples [begin, begin + n) of
 * direct_blocks() lie in blocks [from, from + blocks), which have samples [left, right) of the
 * plane. */
struct DirectBlocks
{
  int first, size;
  int from, blocks, left, right;
  int into; /* samples of block `from` before `begin` */
  float by_size;
};

/* n / divisor for numbers up to 2^10; `by` is 1 / divisor. Adding a half keeps the product further
 * from whole numbers than the rounding errors of floats. */
__device__ __forceinline__ int
direct_divide_few (int n, float by)
{
  return (int) (((float) n + 0.5f) * by);
}

/* The blocks of a region that begins at pixel `first`, for samples [begin, begin + n); `begin` lies
 * within the plane's `samples`. */
__device__ __forceinline__ DirectBlocks
direct_blocks (int first, int block, int pixels, int begin, int n, int samples)
{
  const int last = min (begin + n, samples) - 1;
  DirectBlocks axis;

  axis.first = direct_sample_of (first, pixels);
  axis.size = direct_sample_of (block + pixels - 1, pixels);
  axis.size = max (axis.size, 1);
  axis.from = direct_floor (begin - axis.first, axis.size);
  axis.into = begin - axis.first - axis.from * axis.size;
  axis.by_size = 1.0f / (float) axis.size;
  axis.blocks = direct_divide_few (axis.into + last - begin, axis.by_size) + 1;
  axis.left = max (axis.first + axis.from * axis.size, 0);
  axis.right =
      min (axis.first + (axis.from + axis.blocks) * axis.size, samples);
  return axis;
}

/* Sums each column of samples of `across` over each block of `down`; sums are
 * [down.blocks][columns]. */
__device__ __forceinline__ void
direct_sum_columns (const DirectFrame &frame, const DirectTile &tile,
    const DirectBlocks &across, const DirectBlocks &down, uint32_t *sums)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const int width = across.right - across.left;
  const uint8_t *const first = plane.src + tile.channel * plane.channel_stride;

  for (int i = (int) threadIdx.y; i < down.blocks; i += DIRECT_ROWS) {
    const int top = down.first + (down.from + i) * down.size;
    const int from = max (top, 0);
    const int rows = min (top + down.size, plane.height) - from;

    for (int x = (int) threadIdx.x; x < width; x += DIRECT_COLUMNS) {
      const uint8_t *at = first + from * plane.src_stride
          + (ptrdiff_t) (across.left + x) * plane.pixel_stride;
      uint32_t sum = 0;

      if (plane.sample_bytes == 1)
#pragma unroll 4
        for (int y = 0; y < rows; y++, at += plane.src_stride)
          sum += *at >> plane.shift;
      else
#pragma unroll 4
        for (int y = 0; y < rows; y++, at += plane.src_stride)
          sum += *(const uint16_t *) at >> plane.shift;
      sums[i * width + x] = sum;
    }
  }
}

/* The samples of block from + i within [left, right). */
__device__ __forceinline__ RegionsSpan
direct_block_span (const DirectBlocks &axis, int i)
{
  const int first = axis.first + (axis.from + i) * axis.size;

  RegionsSpan span;

  span.first = max (first, axis.left);
  span.last = min (first + axis.size, axis.right);
  return span;
}

__device__ __forceinline__ void
direct_average (const DirectBlocks &across, const DirectBlocks &down,
    const uint32_t *sums, int *means)
{
  const int width = across.right - across.left;
  const float by_blocks = 1.0f / (float) across.blocks;

  for (int i = direct_me (); i < across.blocks * down.blocks;
       i += DIRECT_THREADS) {
    const int row = direct_divide_few (i, by_blocks);
    const RegionsSpan x = direct_block_span (across, i - row * across.blocks);
    const RegionsSpan y = direct_block_span (down, row);
    /* MOST_BLOCK * MOST_BLOCK samples of 16 bits, doubled, are below 2^32. */
    const uint32_t n = (uint32_t) ((x.last - x.first) * (y.last - y.first));
    uint32_t sum = 0;

    for (int at = x.first; at < x.last; at++)
      sum += sums[row * width + at - across.left];
    means[i] = (int) ((2 * sum + n) / (2 * n));
  }
}

/* The codes of the thread's samples that the region may reach, in direct_filter()'s order. */
__device__ __forceinline__ void
direct_pixelate (const DirectFrame &frame, const DirectTile &tile,
    const DirectRegion &region, void *shared, int (&code)[DIRECT_EACH])
{
  const DirectPlane &plane = frame.plane[tile.plane];
  const DirectClip clip = direct_clip (frame, region, tile);
  const DirectBlocks across =
      direct_blocks (region.left, region.amount, plane.pixels_x,
          tile.x + clip.left, clip.right - clip.left, plane.of.width);
  const DirectBlocks down =
      direct_blocks (region.top, region.amount, plane.pixels_y,
          tile.y + clip.top, clip.bottom - clip.top, plane.of.height);
  int *const means = (int *) shared;
  uint32_t *const sums = (uint32_t *) shared + REGIONS_TILE * REGIONS_TILE;
  const int x = (int) threadIdx.x - clip.left;
  const int y = DIRECT_EACH * (int) threadIdx.y - clip.top;
  const int *mean;

  if (direct_is_empty (clip) || tile.x + clip.left >= plane.of.width
      || tile.y + clip.top >= plane.of.height)
    return;
  __syncthreads ();
  direct_sum_columns (frame, tile, across, down, sums);
  __syncthreads ();
  direct_average (across, down, sums, means);
  __syncthreads ();
  if (x < 0 || x >= clip.right - clip.left
      || tile.x + (int) threadIdx.x >= plane.of.width)
    return;
  mean = means + direct_divide_few (across.into + x, across.by_size);
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++)
    if (y + k >= 0 && y + k < clip.bottom - clip.top
        && direct_has (tile, plane.of, k))
      code[k] = mean[direct_divide_few (down.into + y + k, down.by_size)
          * across.blocks];
}
