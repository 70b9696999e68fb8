/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* counters: where the blocks of a kernel add up what they have counted, and how
 * the sums get to the result.
 *
 * A run is one kernel and nothing else: no clearing before it, no copy after it,
 * each of which would cost a small picture more than its counting. The plan's sums
 * are zero between runs. Blocks add to them; the one that is last writes them to the
 * result, in host memory, and leaves zeros. Runs of one plan follow each other on one
 * stream, so none sees the sums of another. */
#pragma once

#include "method.h"

/* What a kernel needs for that. */
struct Counters
{
  unsigned long long *sums;   /* [n], device */
  unsigned long long *result; /* [n], pinned */
  unsigned *blocks_done;      /* device, zero between runs */
  int n;
};

/* plan->state of a method that has no other. */
struct CountersState
{
  void *device;
};

/* For a method that keeps more: `bytes` of a struct derived from CountersState,
 * zeroed but for the base. */
bool counters_prepare_state (HistoPlan *plan, size_t bytes, Fault *fault);
void counters_release (HistoPlan *plan);

Counters counters_for (const HistoPlan *plan, HistoResult *result);

/* Loads the kernel and lets it have `shared` bytes; says how many of its blocks
 * run at once on one multiprocessor. */
bool counters_load_kernel (const void *kernel, int threads, size_t shared,
    const Gpu *gpu, int *blocks, Fault *fault);

/* Sums that a thread has on their way at once. */
#define COUNTERS_BATCH 4

/* The last thing that each of the grid's `blocks` does, all its threads together;
 * they have added their counts to counters.sums. */
__device__ __forceinline__ void
counters_finish (const Counters &counters, unsigned blocks)
{
  __shared__ bool last;

  /* This thread's counts before its block's mark. */
  __threadfence ();
  __syncthreads ();
  if (threadIdx.x == 0)
    last = atomicAdd (counters.blocks_done, 1u) == blocks - 1;
  __syncthreads ();
  if (!last)
    return;
  /* And the others' marks before their counts. */
  __threadfence ();
  for (int first = threadIdx.x; first < counters.n;
       first += COUNTERS_BATCH * blockDim.x) {
    unsigned long long sum[COUNTERS_BATCH];

#pragma unroll
    for (int i = 0; i < COUNTERS_BATCH; i++)
      if (first + i * (int) blockDim.x < counters.n)
        sum[i] = atomicExch (&counters.sums[first + i * blockDim.x], 0ull);
#pragma unroll
    for (int i = 0; i < COUNTERS_BATCH; i++)
      if (first + i * (int) blockDim.x < counters.n)
        counters.result[first + i * blockDim.x] = sum[i];
  }
  if (threadIdx.x == 0)
    *counters.blocks_done = 0;
}
