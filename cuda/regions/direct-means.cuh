/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-means: the means of the blocks that a tile of a channel has a part in. Threads add up columns
 * of blocks, then the columns of each block. */
#pragma once

#include "direct-filter.cuh"

/* Block 0 of an axis begins at `first`; those that have samples from `begin` on, `n` of them, are
 * blocks [from, from + blocks), whose samples within the plane are [left, right). */
struct DirectBlocks
{
  int first, size;
  int from, blocks, left, right;
};

__device__ __forceinline__ int
direct_floor (int n, int divisor)
{
  return n >= 0 ? n / divisor : -((divisor - 1 - n) / divisor);
}

/* Of a region that begins at pixel `first`, for up to REGIONS_TILE samples from `begin` on. */
__device__ __forceinline__ DirectBlocks
direct_blocks (int first, int block, int pixels, int begin, int samples)
{
  const int last = min (begin + REGIONS_TILE, samples) - 1;
  DirectBlocks axis;

  axis.first = direct_floor (first, pixels);
  axis.size = max ((block + pixels - 1) / pixels, 1);
  axis.from = direct_floor (begin - axis.first, axis.size);
  axis.blocks = direct_floor (last - axis.first, axis.size) - axis.from + 1;
  axis.left = max (axis.first + axis.from * axis.size, 0);
  axis.right =
      min (axis.first + (axis.from + axis.blocks) * axis.size, samples);
  return axis;
}

/* Sums the columns of `across` for each block of `down`: [blocks of down][columns]. */
__device__ __forceinline__ void
direct_sum_columns (const DirectFrame &frame, const DirectTile &tile,
    const DirectBlocks &across, const DirectBlocks &down, uint32_t *sums)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const int width = across.right - across.left;

  for (int i = direct_me (); i < width * down.blocks; i += DIRECT_THREADS) {
    const int x = across.left + i % width;
    const int top = down.first + (down.from + i / width) * down.size;
    const int last = min (top + down.size, plane.height);
    uint32_t sum = 0;

    for (int y = max (top, 0); y < last; y++)
      sum += (uint32_t) regions_load_code (
          plane, plane.src + y * plane.src_stride, x, tile.channel);
    sums[i] = sum;
  }
}

/* Block number i's samples within [left, right) of an axis. */
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

  for (int i = direct_me (); i < across.blocks * down.blocks;
       i += DIRECT_THREADS) {
    const RegionsSpan x = direct_block_span (across, i % across.blocks);
    const RegionsSpan y = direct_block_span (down, i / across.blocks);
    const uint64_t n =
        (uint64_t) (x.last - x.first) * (uint64_t) (y.last - y.first);
    uint64_t sum = 0;

    for (int at = x.first; at < x.last; at++)
      sum += sums[i / across.blocks * width + at - across.left];
    means[i] = (int) ((2 * sum + n) / (2 * n));
  }
}

/* The codes of the thread's samples, as direct_filter() has them. */
__device__ __forceinline__ void
direct_pixelate (const DirectFrame &frame, const DirectTile &tile,
    const DirectRegion &region, void *shared, int (&code)[DIRECT_EACH])
{
  const DirectPlane &plane = frame.plane[tile.plane];
  const DirectBlocks across = direct_blocks (
      region.left, region.amount, plane.pixels_x, tile.x, plane.of.width);
  const DirectBlocks down = direct_blocks (
      region.top, region.amount, plane.pixels_y, tile.y, plane.of.height);
  int *const means = (int *) shared;
  uint32_t *const sums = (uint32_t *) shared + REGIONS_TILE * REGIONS_TILE;
  const int x = tile.x + (int) threadIdx.x;

  __syncthreads ();
  direct_sum_columns (frame, tile, across, down, sums);
  __syncthreads ();
  direct_average (across, down, sums, means);
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++) {
    const int y = tile.y + DIRECT_EACH * (int) threadIdx.y + k;

    code[k] = x < plane.of.width && y < plane.of.height
        ? means[(direct_floor (y - down.first, down.size) - down.from)
                * across.blocks
            + direct_floor (x - across.first, across.size) - across.from]
        : 0;
  }
}
