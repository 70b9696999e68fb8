/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* counters: the sums in GPU memory that the blocks of a kernel add their counts to, and
 * how the sums get to the result.
 *
 * A run is one kernel and nothing else: no clearing before it and no copy after it, each of
 * which would take longer than counting a small picture. The plan's sums are zero between
 * runs. Blocks add to them; the last block writes them to the result, in host memory, and
 * leaves zeros. Runs of one plan follow each other on one stream, so that no run sees the
 * sums of another. */
#pragma once

#include "method.h"
#include "turns.h"

/* The part of a kernel's parameter that counters_finish() and counters_add() need. */
struct Counters
{
  unsigned long long *sums;   /* [n], device; then the replicas, if any */
  unsigned long long *result; /* [n], pinned */
  unsigned *blocks_done;      /* device, zero between runs */
  int n;
};

/* The codes of a byte. Every plan of at most so many bins has sums for tally.cuh. */
#define TALLY_CODES 256
/* Overlapped launches alternate between sets of sums (turns.h). Each set has replicas, among
 * which the blocks are divided, so that not all blocks queue for the same sums. */
#define TALLY_REPLICAS 4

/* plan->state of a method that adds nothing to it. */
struct CountersState
{
  void *device;
  size_t words; /* of sums in `device` */
  /* of one set of tallies, after the sums and blocks_done */
  size_t tally_words;
  uint64_t launch; /* number of the next launch that uses tally.cuh */
};

/* Makes plan->state for a method with more state: a struct of `bytes` bytes, derived from
 * CountersState and zeroed but for the base. */
bool counters_prepare_state (HistoPlan *plan, size_t bytes, Fault *fault);
/* The same for a kernel that ends with counters_add(). */
bool counters_prepare_replicas (HistoPlan *plan, size_t bytes, Fault *fault);
void counters_release (HistoPlan *plan);

Counters counters_for (const HistoPlan *plan, HistoResult *result);

/* Loads the kernel and allows it all of the GPU's shared memory. */
bool counters_load_kernel (const void *kernel, const Gpu *gpu, Fault *fault);

/* Sums that a thread has in flight at once. */
#define COUNTERS_BATCH 4

/* To be called by all threads of each of the grid's `blocks` blocks, at their end, after they
 * have added their counts to counters.sums. */
__device__ __forceinline__ void
counters_finish (const Counters &counters, unsigned blocks)
{
  __shared__ bool last;

  /* The barrier orders all threads' counts before one thread's fence, and the fence orders
   * them before the block's increment of blocks_done; likewise the other blocks' increments
   * before the reads of their counts. */
  __syncthreads ();
  if (threadIdx.x == 0) {
    __threadfence ();
    last = atomicAdd (counters.blocks_done, 1u) == blocks - 1;
    __threadfence ();
  }
  __syncthreads ();
  if (!last)
    return;
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

/* Another way to end, without fences and barriers: every block adds to every counter, also
 * zeros, and the last thread that adds to a counter passes the sum on. That costs two
 * dependent atomics, instead of an atomic, a fence, another atomic and a read.
 *
 * Sets of sums beside the plan's own, so that not all blocks queue for the same sums: each
 * block adds to one of these sets, and the last block of each set adds to the plan's. */
#define COUNTERS_REPLICAS 8
/* A sum's low bits count samples; a channel has at most HISTO_MAX_SAMPLES, below 2^32. The 24
 * bits above count additions, by replicas or by blocks; only as many blocks are launched as
 * are resident at once, some thousands on any GPU. */
#define COUNTERS_SAMPLE_BITS 40

/* Adds sum[i] to sums[at[i]], unless at[i] is -1; each of `adders` adders does so once. For the
 * last adder, sum[i] becomes the total, and the sum in memory zero; for the others at[i]
 * becomes -1. */
template <int N>
__device__ __forceinline__ void
counters_add_stage (unsigned long long *sums, unsigned adders, int (&at)[N],
    unsigned long long (&sum)[N])
{
  const unsigned long long one = 1ull << COUNTERS_SAMPLE_BITS;
  unsigned long long before[N];

#pragma unroll
  for (int i = 0; i < N; i++)
    if (at[i] >= 0)
      before[i] = atomicAdd (&sums[at[i]], one + sum[i]);
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (at[i] < 0)
      continue;
    if (before[i] >> COUNTERS_SAMPLE_BITS == adders - 1) {
      sums[at[i]] = 0;
      sum[i] += before[i] & (one - 1);
    } else {
      at[i] = -1;
    }
  }
}

/* Adds a thread's sums to counters at[i]; -1: to none. Each of the `blocks` blocks that add to
 * a counter does so once; `block` is the block's number among them, from 0. */
template <int N>
__device__ __forceinline__ void
counters_add (const Counters &counters, int (&at)[N],
    unsigned long long (&sum)[N], unsigned block, unsigned blocks)
{
  /* If there are fewer blocks than replicas, each block has its own. */
  const unsigned replica = block % COUNTERS_REPLICAS;
  const unsigned same_replica =
      (blocks - replica + COUNTERS_REPLICAS - 1) / COUNTERS_REPLICAS;
  const unsigned replicas = min (blocks, (unsigned) COUNTERS_REPLICAS);

  counters_add_stage (counters.sums + (size_t) (1 + replica) * counters.n,
      same_replica, at, sum);
  counters_add_stage (counters.sums, replicas, at, sum);
#pragma unroll
  for (int i = 0; i < N; i++)
    if (at[i] >= 0)
      counters.result[at[i]] = sum[i];
}
