/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tally: counting on the way. A kernel that makes an image of 8-bit samples counts them
 * while it has them, and what it counted is added to a plan's sums: neither a second
 * kernel nor the image a second time.
 *
 * A block has 32 counters for each code, one a bank of shared memory, as lane.cu has
 * them: no content makes conflicts. Channels that alternate byte by byte share them, by
 * neighbouring lanes taking turns. A sample takes two instructions: one finds the
 * counter, as the sum of four products of bytes, three of which are zero, and where the
 * lane's counters begin; one counts.
 *
 * Blocks leave without waiting for what they add: each sum's high bits count who has
 * added. The launch's last block, which begins when all others have, waits for all of
 * them, and takes the sums to the result. Launches that overlap have sums of their own, by
 * turns, so that none waits for the one before it. */
#pragma once

#include "counters.cuh"

#include "../gpu-launch.cuh"

/* Of a block. */
#define TALLY_SHARED_BYTES ((int) (TALLY_CODES * 32 * sizeof (uint32_t)))

/* What a launch needs to count an image, all of which it makes. */
struct HistoTally
{
  unsigned long long *sums;   /* [TALLY_REPLICAS][n], zero before its turn */
  unsigned long long *result; /* [n], pinned */
  volatile unsigned *turns;   /* that these sums have had; device */
  unsigned turn;              /* the launch's */
  int n, bins;                /* up to TALLY_CODES bins a channel */
  /* The blocks that add to the counters of each of the plan's channels. */
  unsigned adders[HISTO_MAX_CHANNELS];
};

/* A lane's counting of bytes of C channels, of which those at a multiple of C are the
 * first channel's. C 0: it counts nothing. */
template <int C> struct TallyLane
{
  static_assert (C == 1 || C == 2 || C == 4, "a word has whole pixels");
  uint32_t *counters; /* the block's */
  /* By turn: the shared address of the lane's counter of code 0; and what has the byte
   * of a word that it is the turn of multiplied by the bytes that a code's counters take. */
  uint32_t at[C], factor[4];

  __device__ __forceinline__ void
  begin (uint32_t *shared)
  {
    const uint32_t lane = threadIdx.x % 32;

    counters = shared;
#pragma unroll
    for (uint32_t k = 0; k < C; k++)
      at[k] = gpu_shared_address (
          shared + ((lane & ~(C - 1u)) | ((lane + k) & (C - 1u))));
#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
      factor[k] = 128u << 8 * ((k & ~(C - 1u)) | ((lane + k) & (C - 1u)));
  }

  __device__ __forceinline__ void
  count (const uint4 &bytes) const
  {
    const uint32_t word[4] = { bytes.x, bytes.y, bytes.z, bytes.w };

#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int k = 0; k < 4; k++)
        gpu_count_shared (__dp4a (word[i], factor[k], at[k % C]));
  }
};

template <> struct TallyLane<0>
{
  __device__ __forceinline__ void
  begin (uint32_t *)
  {
  }

  __device__ __forceinline__ void
  count (const uint4 &) const
  {
  }
};

/* Counts one byte, of the channel of C that begins at `channel`. */
template <int C>
__device__ __forceinline__ void
tally_count_byte (uint32_t *counters, uint8_t byte, int channel)
{
  const uint32_t lane = threadIdx.x % 32;

  atomicAdd (
      &counters[32 * byte + ((lane & ~(C - 1u)) | (uint32_t) channel)], 1u);
}

/* Zeroes the block's counters: all its threads. A barrier must follow. */
__device__ __forceinline__ void
tally_clear (uint32_t *counters)
{
  for (int i = threadIdx.x; i < TALLY_SHARED_BYTES / (int) sizeof (uint4);
       i += blockDim.x)
    ((uint4 *) counters)[i] = make_uint4 (0, 0, 0, 0);
}

/* Adds up the counters of a code by C channels, to the first C of `sum`. */
__device__ __forceinline__ void
tally_add_code (
    const uint32_t *counters, int code, int channels, uint32_t (&sum)[4])
{
  uint4 all = make_uint4 (0, 0, 0, 0);

  /* Each lane of a warp in an order of its own, so that they are at different banks. */
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const uint4 four = ((const uint4 *) counters)[8 * code + (i + code) % 8];

    all.x += four.x;
    all.y += four.y;
    all.z += four.z;
    all.w += four.w;
  }
  if (channels < 4) {
    all.x += all.z;
    all.y += all.w;
  }
  if (channels < 2)
    all.x += all.y;
  sum[0] += all.x;
  sum[1] += all.y;
  sum[2] += all.z;
  sum[3] += all.w;
}

/* The last that the launch's last block does: takes the sums to the result when all
 * blocks have added to them, and leaves zeros for the launch after the next. */
__device__ __forceinline__ void
tally_finish (const HistoTally &tally)
{
  const int step = (int) blockDim.x;

  for (int first = threadIdx.x; first < tally.n;
       first += COUNTERS_BATCH * step) {
    unsigned long long sum[COUNTERS_BATCH];
    bool missing;

    do {
      missing = false;
#pragma unroll
      for (int k = 0; k < COUNTERS_BATCH; k++) {
        const int i = first + k * step;

        sum[k] = 0;
        if (i < tally.n)
#pragma unroll
          for (int r = 0; r < TALLY_REPLICAS; r++)
            sum[k] +=
                ((volatile unsigned long long *) tally.sums)[r * tally.n + i];
      }
#pragma unroll
      for (int k = 0; k < COUNTERS_BATCH; k++) {
        const int i = first + k * step;

        missing = missing
            || (i < tally.n
                && sum[k] >> COUNTERS_SAMPLE_BITS
                    != tally.adders[i / tally.bins]);
      }
    } while (missing);
#pragma unroll
    for (int k = 0; k < COUNTERS_BATCH; k++)
      if (first + k * step < tally.n) {
        tally.result[first + k * step] =
            sum[k] & ((1ull << COUNTERS_SAMPLE_BITS) - 1);
#pragma unroll
        for (int r = 0; r < TALLY_REPLICAS; r++)
          tally.sums[r * tally.n + first + k * step] = 0;
      }
  }
  __syncthreads ();
  if (threadIdx.x == 0) {
    __threadfence ();
    *tally.turns = tally.turn + 1;
  }
}

/* The last that a block does of a launch that counts, all its threads: adds what it has
 * counted. `counter`: which of the plan's channels each of its channels is, or -1;
 * `block`: its number among those that add to the same; `turns`: what *tally.turns was a
 * little before. Not inline, lest it change the registers of all that comes before it. */
static __device__ __noinline__ void
tally_end (const HistoTally &tally, const signed char *counter, int channels,
    unsigned block, unsigned turns, const uint32_t *shared)
{
  const unsigned long long one = 1ull << COUNTERS_SAMPLE_BITS;
  unsigned long long *const sums =
      tally.sums + (size_t) (block % TALLY_REPLICAS) * (size_t) tally.n;
  const int bins = tally.bins;

  __syncthreads ();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    const int last = ((bin + 1) * TALLY_CODES + bins - 1) / bins;
    uint32_t sum[4] = {};

    for (int code = (bin * TALLY_CODES + bins - 1) / bins; code < last; code++)
      tally_add_code (shared, code, channels, sum);
    /* Mostly it has been so for long. Whoever said so had zeroed the sums before, in the
     * L2, where atomics are done. It may be past the launch's turn where a block adds
     * nothing: nobody waits for that one. */
    while ((int) (turns - tally.turn) < 0)
      turns = *tally.turns;
#pragma unroll
    for (int c = 0; c < 4; c++)
      if (c < channels && counter[c] >= 0)
        atomicAdd (&sums[counter[c] * bins + bin], one + sum[c]);
  }
  if (blockIdx.x == gridDim.x - 1) {
    __syncthreads ();
    tally_finish (tally);
  }
  gpu_end_in_turn ();
}

/* For the next launch of `plan`, into `result`; no block adds to anything yet. */
HistoTally tally_for (const HistoPlan *plan, HistoResult *result);

/* That launch is queued. */
void tally_queued (HistoPlan *plan);
