/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* counters: where the blocks of a kernel add up what they have counted, and how
 * the sums get to the result.
 *
 * A run is one kernel and nothing else: no clearing before it, no copy after it,
 * each of which would cost a small picture more than its counting. The plan's sums
 * are zero between runs. Blocks add to them; who is last writes them to the result,
 * in host memory, and leaves zeros. Runs of one plan follow each other on one
 * stream, so none sees the sums of another. */
#pragma once

#include "method.h"
#include "turns.h"

/* What a kernel needs for that. */
struct Counters
{
  unsigned long long *sums;   /* [n], device; then the replicas, if any */
  unsigned long long *result; /* [n], pinned */
  unsigned *blocks_done;      /* device, zero between runs */
  int n;
};

/* What tally.cuh has in every plan of no more bins than this: the codes of a byte. */
#define TALLY_CODES 256
/* Launches that overlap have sets of sums by turns (turns.h); of each set, there are replicas
 * that blocks divide into, so that not all queue for the same ones. */
#define TALLY_REPLICAS 4

/* plan->state of a method that has no other. */
struct CountersState
{
  void *device;
  size_t words;       /* of sums there */
  size_t tally_words; /* after them and blocks_done: of one set */
  uint64_t launch;    /* the next one that counts on the way */
};

/* For a method that keeps more: `bytes` of a struct derived from CountersState,
 * zeroed but for the base. */
bool counters_prepare_state (HistoPlan *plan, size_t bytes, Fault *fault);
/* The same for a kernel that ends with counters_add(). */
bool counters_prepare_replicas (HistoPlan *plan, size_t bytes, Fault *fault);
void counters_release (HistoPlan *plan);

Counters counters_for (const HistoPlan *plan, HistoResult *result);

/* Loads the kernel and lets it have all the shared memory that there is. */
bool counters_load_kernel (const void *kernel, const Gpu *gpu, Fault *fault);

/* Sums that a thread has on their way at once. */
#define COUNTERS_BATCH 4

/* The last thing that each of the grid's `blocks` does, all its threads together;
 * they have added their counts to counters.sums. */
__device__ __forceinline__ void
counters_finish (const Counters &counters, unsigned blocks)
{
  __shared__ bool last;

  /* The barrier puts all threads' counts before the fence of one, and that puts them
   * before the block's mark; likewise the others' marks before their counts. */
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

/* Another way to end, without fences and barriers: every block adds to every counter,
 * zeros too, and the thread that is the last to add to one takes the sum on. That
 * costs two atomics one after the other, instead of an atomic, a fence, another atomic
 * and a read.
 *
 * Sums beside the plan's own, so that not all blocks queue for the same ones: blocks
 * add to one of these sets, and the last of each set to the plan's. */
#define COUNTERS_REPLICAS 8
/* A sum's low bits count samples, of which a channel has HISTO_MAX_SAMPLES at most,
 * below 2^32. The 24 above count who has added: blocks, of which no more are started
 * than run at once, some thousands on any GPU, or replicas. */
#define COUNTERS_SAMPLE_BITS 40

/* Adds to sums[at[i]], where that is not -1; each of `adders` does so once. Where this
 * was the last one, sum[i] becomes that of all, and the one in memory zero; elsewhere
 * at[i] becomes -1. */
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

/* Adds a thread's sums to counters at[i]; -1: nothing. Each of the `blocks` that add
 * to a counter does so once, and has a number of its own among them, `block`. */
template <int N>
__device__ __forceinline__ void
counters_add (const Counters &counters, int (&at)[N],
    unsigned long long (&sum)[N], unsigned block, unsigned blocks)
{
  /* Of fewer blocks, each has a replica for itself. */
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
