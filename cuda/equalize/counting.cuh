/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* counting: the counters of every tile.
 *
 * Up to SHARED_ENTRIES bins are counted in a block's shared memory, in as many copies as fit;
 * up to 256 bins have one copy per lane, so that no content makes lanes wait for each other.
 * More bins are counted in global memory; a thread counts adjacent pixels of one code at once,
 * so that flat pictures do not make all threads wait for one bin. Counters are zero between
 * runs: table_kernel() clears them. */
#pragma once

#include "pixels.cuh"

#include "../gpu-launch.cuh"

#define COUNT_THREADS 512
#define COUNT_WARPS (COUNT_THREADS / 32)
/* Most counting blocks of a run for each multiprocessor. */
#define COUNT_BLOCKS 4
#define SHARED_ENTRIES 8192

struct CountFrame
{
  Pixels pixels;
  uint32_t *counts; /* [tiles][entries] */
  int copies;       /* of the counters in shared memory; 0: none fits */
  int rows;         /* of a tile for one block */
};

/* A thread's counter: successive equal codes are counted by one atomic. */
struct Counter
{
  uint32_t *shared; /* bin 0 of this lane's copy */
  uint32_t *global;
  int copies; /* 0: counts in global memory */
  int bin;
  uint32_t n;

  __device__ __forceinline__ void
  flush ()
  {
    if (n == 0)
      return;
    if (copies > 0)
      atomicAdd (&shared[bin * copies], n);
    else
      atomicAdd (&global[bin], n);
  }

  __device__ __forceinline__ void
  count (int next)
  {
    if (next != bin) {
      flush ();
      bin = next;
      n = 0;
    }
    n++;
  }
};

/* Counts columns [first, last) of a row, by one warp. */
template <int PixelBytes, int Planes, bool IsRgb>
__device__ __forceinline__ void
count_row (const Pixels &pixels, int y, int first, int last, Counter *counter)
{
  typedef Row<PixelBytes, Planes, IsRgb> Groups;
  const int n = Groups::OneGroup::pixels;
  const int lane = threadIdx.x % 32;
  const int grouped = min (last, pixels.grouped);

  for (int at = first / n + lane; at * n < grouped; at += 32) {
    Groups groups;

    groups.load (pixels, y, at);
#pragma unroll
    for (int i = 0; i < n; i++)
      if (at * n + i >= first && at * n + i < grouped)
        counter->count (equalize_bin (
            &pixels.numbers, groups.codes (pixels, i).luma (pixels.numbers)));
  }
  for (int x = max (first, pixels.grouped) + lane; x < last; x += 32) {
    LonePixel<IsRgb> pixel;

    pixel.load (pixels, equalize_reflect (x, pixels.numbers.x.size), y);
    counter->count (
        equalize_bin (&pixels.numbers, pixel.codes.luma (pixels.numbers)));
  }
}

/* Adds the block's counters to the tile's. Neighbouring threads begin at different copies, to
 * use different banks. */
__device__ __forceinline__ void
add_up (const uint32_t *shared, int copies, uint32_t *counts, int entries)
{
  for (int bin = threadIdx.x; bin < entries && copies > 0;
       bin += COUNT_THREADS) {
    uint32_t sum = 0;

    for (int i = 0; i < copies; i++)
      sum += shared[bin * copies + ((bin + i) & (copies - 1))];
    if (sum > 0)
      atomicAdd (&counts[bin], sum);
  }
}

/* blockIdx.y is the tile, blockIdx.x the part of its rows. */
template <int PixelBytes, int Planes, bool IsRgb>
__global__ void
__launch_bounds__ (COUNT_THREADS, 2) count_kernel (CountFrame frame)
{
  GPU_DYNAMIC_SHARED (uint32_t, shared);
  const EqualizeNumbers &numbers = frame.pixels.numbers;
  const int entries = numbers.entries, copies = frame.copies;
  const int tile = blockIdx.y;
  const int left = tile % numbers.x.tiles * numbers.x.tile;
  const int top = tile / numbers.x.tiles * numbers.y.tile;
  const int first = blockIdx.x * frame.rows;
  const int last = min (first + frame.rows, numbers.y.tile);
  uint32_t *counts = frame.counts + (size_t) tile * (size_t) entries;
  Counter counter;

  for (int i = threadIdx.x; i < copies * entries; i += COUNT_THREADS)
    shared[i] = 0;
  __syncthreads ();
  counter.shared = shared + (threadIdx.x & (unsigned) max (copies - 1, 0));
  counter.global = counts;
  counter.copies = copies;
  counter.bin = 0;
  counter.n = 0;
  for (int y = first + (int) threadIdx.x / 32; y < last; y += COUNT_WARPS)
    count_row<PixelBytes, Planes, IsRgb> (frame.pixels,
        equalize_reflect (top + y, numbers.y.size), left, left + numbers.x.tile,
        &counter);
  counter.flush ();
  __syncthreads ();
  add_up (shared, copies, counts, entries);
}
