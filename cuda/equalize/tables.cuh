/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tables: makes a tile's table from its counters, with one block per tile. */
#pragma once

#include "plan.h"

#define TABLE_THREADS 1024
/* Tables of at most so many entries are made by blocks of so many threads. */
#define SMALL_TABLE 256
/* Bins that a thread takes at a time. */
#define TABLE_BINS 4

struct TableFrame
{
  EqualizeNumbers numbers;
  uint32_t follow;
  uint32_t *counts, *states; /* [tiles][entries] */
  uint16_t *tables;          /* [tiles][full + 1] */
};

/* The inclusive prefix sum of the block's threads' values; adds the sum of all values to
 * *total. All threads of the block must call it. */
__device__ __forceinline__ uint32_t
block_sum (uint32_t value, uint32_t *total)
{
  __shared__ uint32_t warp_sum[TABLE_THREADS / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t sum = value;

  for (int step = 1; step < 32; step *= 2) {
    const uint32_t before = __shfl_up_sync (0xffffffffu, sum, step);

    if (lane >= step)
      sum += before;
  }
  if (lane == 31)
    warp_sum[warp] = sum;
  __syncthreads ();
  for (int i = 0; i < (int) blockDim.x / 32; i++) {
    if (i < warp)
      sum += warp_sum[i];
    *total += warp_sum[i];
  }
  /* warp_sum must be read before the next call writes it. */
  __syncthreads ();
  return sum;
}

/* The number of a tile's counts that are clipped, and, for a global table, the count of the
 * lowest bin that occurs; else 0. */
struct Summary
{
  uint32_t clipped, lowest;
};

__device__ __forceinline__ Summary
summarize (const EqualizeNumbers &numbers, const uint32_t *counts)
{
  __shared__ uint32_t clipped;
  __shared__ int lowest;
  uint32_t excess = 0;
  int first = numbers.entries;
  Summary summary;

  if (threadIdx.x == 0) {
    clipped = 0;
    lowest = numbers.entries - 1;
  }
  __syncthreads ();
  for (int bin = threadIdx.x; bin < numbers.entries; bin += blockDim.x) {
    const uint32_t count = counts[bin];

    excess += count > numbers.clip ? count - numbers.clip : 0;
    if (count > 0)
      first = min (first, bin);
  }
  if (excess > 0)
    atomicAdd (&clipped, excess);
  if (first < numbers.entries)
    atomicMin (&lowest, first);
  __syncthreads ();
  summary.clipped = clipped;
  summary.lowest = numbers.adaptive ? 0 : counts[lowest];
  return summary;
}

/* Makes the states of a tile from its counters, and leaves them zero. */
__device__ __forceinline__ void
make_states (const EqualizeNumbers &numbers, uint32_t follow,
    const Summary &summary, uint32_t *counts, uint32_t *states)
{
  const EqualizeCurve curve = equalize_curve (&numbers, summary.lowest);
  const EqualizeShares shares = equalize_share_out (&numbers, summary.clipped);
  uint32_t before = 0; /* of the bins that are done */

  for (int first = 0; first < numbers.entries;
       first += TABLE_BINS * (int) blockDim.x) {
    const int bin = first + TABLE_BINS * (int) threadIdx.x;
    uint32_t sum[TABLE_BINS], all = 0, rest = 0;

#pragma unroll
    for (int i = 0; i < TABLE_BINS; i++) {
      if (bin + i < numbers.entries)
        all += equalize_limited (&numbers, &shares, counts[bin + i], bin + i);
      sum[i] = all;
    }
    all = before + block_sum (all, &rest) - all;
    before += rest;
#pragma unroll
    for (int i = 0; i < TABLE_BINS; i++)
      if (bin + i < numbers.entries) {
        states[bin + i] = equalize_follow (states[bin + i],
            equalize_frame_code (&numbers, &curve, all + sum[i], bin + i),
            follow);
        counts[bin + i] = 0;
      }
  }
}

/* One block per tile. */
__global__ void
__launch_bounds__ (TABLE_THREADS) table_kernel (TableFrame frame)
{
  const EqualizeNumbers &numbers = frame.numbers;
  const size_t tile = blockIdx.x;
  uint32_t *counts = frame.counts + tile * (size_t) numbers.entries;
  uint32_t *states = frame.states + tile * (size_t) numbers.entries;
  uint16_t *table = frame.tables + tile * ((size_t) numbers.full + 1);
  const Summary summary = summarize (numbers, counts);

  /* The lowest bin's count is read before it is cleared. */
  __syncthreads ();
  make_states (numbers, frame.follow, summary, counts, states);
  __syncthreads ();
  for (int code = threadIdx.x; code <= numbers.full; code += blockDim.x)
    table[code] = (uint16_t) equalize_mix (
        &numbers, code, states[equalize_bin (&numbers, code)]);
}
