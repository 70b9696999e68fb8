/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane-adding: a block sums its counters, bin by bin, and adds them to the plan's sums. */
#pragma once

#include "lane.cuh"

/* Lanes that sum the counters of one bin; each lane sums counters of one channel. */
#define ADDERS 4
static_assert (HISTO_MAX_PERIOD <= ADDERS && 32 % ADDERS == 0,
    "a bin's adders are of one warp, and all channels have one");
/* Bins that a lane has in flight to the plan's sums at once. */
#define BATCH 3

/* The counters of a bin that this lane sums: those of one channel of the pattern, or a part
 * of them; neighbouring lanes then have the other parts. */
struct Adder
{
  /* first counter; the lane's others follow every ADDERS counters */
  uint32_t first;
  uint32_t joins; /* the lane's bits of LanePattern.joins */

  __device__ __forceinline__
  Adder (const LanePattern &pattern)
      : first (threadIdx.x % ADDERS), joins (pattern.joins >> 4 * first)
  {
  }

  /* The channel's sum of bin `at`, complete only in the last of the lanes that sum the
   * channel. Lanes take their words in different orders, so that they read different banks.
   * All lanes of the warp must call it. */
  __device__ __forceinline__ uint32_t
  add (const uint32_t *counters, uint32_t at, bool is_bin) const
  {
    const uint32_t words = 32 / ADDERS;
    const uint32_t word = at * 32 + at % words * ADDERS + first;
    uint32_t mine = 0, sum;

    if (is_bin)
#pragma unroll
      for (uint32_t i = 0; i < words; i++)
        mine += counters[word ^ i * ADDERS];
    sum = mine;
#pragma unroll
    for (int i = 1; i < ADDERS; i++) {
      const uint32_t other = __shfl_up_sync (0xffffffffu, mine, i);

      sum += joins >> i & 1 ? other : 0;
    }
    return sum;
  }
};

/* The plan's counter that this lane adds bin `at` to, or -1; bins are numbered through all
 * sets. */
__device__ __forceinline__ int
counter_of (const LanePattern &pattern, const Adder &adder, int at, int bins)
{
  const int set = pattern.period == 3 ? (at >= bins) + (at >= 2 * bins) : 0;
  const int k = pattern.period == 3
      ? set
      : (int) adder.first & (set_channels (pattern.period) - 1);

  return (adder.joins & 1) != 0 && pattern.channel[k] >= 0
      ? pattern.channel[k] * bins + at - set * bins
      : -1;
}

/* Adds the counters of N * THREADS / ADDERS bins, from bin `first` on, to the plan's sums. */
template <int N>
__device__ __forceinline__ void
add_bins (const LanePattern &pattern, const Adder &adder,
    const uint32_t *shared, const Counters &counters, int bins, int first)
{
  const int n = counter_sets (pattern.period) * bins;
  const int step = THREADS / ADDERS;
  int counter[N];
  unsigned long long sum[N];

#pragma unroll
  for (int i = 0; i < N; i++) {
    const int at = first + i * step + (int) (threadIdx.x / ADDERS);

    sum[i] = first + i * step < n ? adder.add (shared, at, at < n) : 0;
    counter[i] = at < n ? counter_of (pattern, adder, at, bins) : -1;
  }
  counters_add (counters, counter, sum,
      blockIdx.x - (unsigned) pattern.first_block, (unsigned) pattern.n_blocks);
}

/* Adds the block's counters to the plan's sums. If each ADDERS threads have at most one bin,
 * there is no batch: skipping the rest of it is worth a branch. */
__device__ __forceinline__ void
add_up (const LanePattern &pattern, const uint32_t *shared,
    const Counters &counters, int bins)
{
  const Adder adder (pattern);
  const int n = counter_sets (pattern.period) * bins;
  const int step = THREADS / ADDERS;

  if (n <= step)
    add_bins<1> (pattern, adder, shared, counters, bins, 0);
  else
    for (int first = 0; first < n; first += BATCH * step)
      add_bins<BATCH> (pattern, adder, shared, counters, bins, first);
}
