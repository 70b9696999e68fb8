/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tally: counting in another kernel. A kernel that makes an image of 8-bit samples also counts
 * them, and adds the counts to a plan's sums: there is no second kernel, and the image is not
 * read again.
 *
 * A block has 32 words for each code, one per bank of shared memory, as in lane.cuh: no
 * content makes bank conflicts. Channels that alternate byte by byte share the words:
 * neighbouring lanes take turns. A sample takes two instructions. The first (dp4a) adds four
 * products of bytes, three of which are zero, to the address of the lane's words, which
 * gives the word's address; the second counts.
 *
 * Of four channels only three are counted, in turns of their own: four lanes then have three
 * samples each, of one pixel, and four words, each with two 16-bit counters of different
 * channels. See TallyLane.
 *
 * Blocks exit without waiting for their additions: each sum's high bits count the additions.
 * The launch's last block, which begins after all others have begun, waits for all additions
 * and copies the sums to the result. Overlapped launches alternate between sets of sums, so
 * that none waits for the one before it. */
#pragma once

#include "counters.cuh"

#include "../gpu-launch.cuh"

/* Shared memory of a block. */
#define TALLY_SHARED_BYTES ((int) (TALLY_CODES * 32 * sizeof (uint32_t)))

/* Most counted channels of a plane. */
#define TALLY_CHANNELS 3
/* Most pixels of four channels that a block may count: at most an eighth of them share a
 * 16-bit counter. */
#define TALLY_MOST_PIXELS (8 * 65535)

/* The part of a kernel's parameter for counting an image, all of which one launch makes. */
struct HistoTally
{
  unsigned long long *sums;   /* [TALLY_REPLICAS][n], zero before its turn */
  unsigned long long *result; /* [n], pinned */
  volatile unsigned *turns;   /* the turn that these sums are ready for; device */
  unsigned turn;              /* the launch's turn */
  int n, bins;                /* at most TALLY_CODES bins a channel */
  /* The number of blocks that add to the counters of each of the plan's channels. */
  unsigned adders[HISTO_MAX_CHANNELS];
};

/* Counts one byte of channel `channel` of C, in a counter that TallyLane also uses for that
 * channel. */
template <int C>
__device__ __forceinline__ void
tally_count_byte (uint32_t *counters, uint8_t byte, int channel, int skipped)
{
  const uint32_t lane = threadIdx.x % 32;

  if (C == 4 && channel == skipped)
    return;
  if (C == 4 && channel > skipped)
    channel--;
  atomicAdd (
      &counters[32 * byte + ((lane & ~(C - 1u)) | (uint32_t) channel)], 1u);
}

/* Counts bytes of C channels, for one lane; bytes at a multiple of C belong to the first
 * channel. C 0: counts nothing.
 *
 * Of four channels one is not counted; let the others be c = 0, 1, 2. In turns k = 0 and 1
 * lane l of four counts channel (l + k) % 3 of its pixel in half k of its own word. In turn 2
 * it counts channel (l + 2) % 3 in the word of its neighbour, l ^ 1, in the upper half if l is
 * even. So the low half of word l always counts channel l % 3 and the high half channel
 * (l + 1) % 3, and no two lanes use the same word at once. */
template <int C> struct TallyLane
{
  static_assert (C == 1 || C == 2 || C == 4, "a word has whole pixels");
  static constexpr int TURNS = C == 4 ? 3 : 4; /* of a word */
  static constexpr int WORDS = C == 4 ? 3 : C;
  static constexpr int HALVES = C == 4 ? 3 : 1;

  uint32_t *counters; /* the block's */
  int skipped;        /* of four channels, the one that is not counted */
  /* For each turn: the shared address of the lane's word of code 0; the dp4a factor, which
   * multiplies the turn's byte of a word by the 128 bytes of a code's words; and 1, shifted to
   * the half of the word that counts. */
  uint32_t at[WORDS], factor[TURNS], one[HALVES];

  __device__ __forceinline__ void
  begin (uint32_t *shared, int not_counted)
  {
    const uint32_t lane = threadIdx.x % 32;

    counters = shared;
    skipped = not_counted;
#pragma unroll
    for (uint32_t k = 0; k < TURNS; k++) {
      uint32_t word = (lane & ~(C - 1u)) | ((lane + k) & (C - 1u));
      uint32_t byte = (k & ~(C - 1u)) | ((lane + k) & (C - 1u));
      uint32_t half = 0;

      if constexpr (C == 4) {
        word = k < 2 ? lane : lane ^ 1;
        byte = (lane % 4 + k) % 3;
        byte += byte >= (uint32_t) skipped;
        half = k < 2 ? k : 1 - lane % 2;
      }
      at[k % WORDS] = gpu_shared_address (shared + word);
      factor[k] = 128u << 8 * byte;
      one[k % HALVES] = 1u << 16 * half;
    }
  }

  /* Passes the constant 1 where it can: the atomic then has a faster instruction. */
  __device__ __forceinline__ void
  count (uint32_t bytes) const
  {
#pragma unroll
    for (int k = 0; k < TURNS; k++)
      gpu_add_shared (__dp4a (bytes, factor[k], at[k % WORDS]),
          HALVES == 1 ? 1 : one[k % HALVES]);
  }

  /* Undoes count(), n times. */
  __device__ __forceinline__ void
  take_away (uint32_t bytes, uint32_t n) const
  {
#pragma unroll
    for (int k = 0; k < TURNS; k++)
      gpu_add_shared (
          __dp4a (bytes, factor[k], at[k % WORDS]), 0 - n * one[k % HALVES]);
  }

  __device__ __forceinline__ void
  count (const uint4 &bytes) const
  {
    count (bytes.x);
    count (bytes.y);
    count (bytes.z);
    count (bytes.w);
  }
};

template <> struct TallyLane<0>
{
  __device__ __forceinline__ void
  begin (uint32_t *, int)
  {
  }

  __device__ __forceinline__ void
  count (uint32_t) const
  {
  }

  __device__ __forceinline__ void
  count (const uint4 &) const
  {
  }
};

/* Zeroes the counters of a block of N threads, all of which call this. A barrier must
 * follow. */
template <int N>
__device__ __forceinline__ void
tally_clear (uint32_t *counters)
{
#pragma unroll
  for (int i = 0; i < TALLY_SHARED_BYTES / (int) sizeof (uint4); i += N)
    ((uint4 *) counters)[i + threadIdx.x] = make_uint4 (0, 0, 0, 0);
}

/* Adds the counters of a code to the sum of each counted channel, of C channels. */
template <int C>
__device__ __forceinline__ void
tally_add_code (
    const uint32_t *counters, int code, uint32_t (&sum)[TALLY_CHANNELS])
{
  const uint4 *words = (const uint4 *) counters + 8 * code;

  /* Each lane of a warp reads in its own order, so that they use different banks. */
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const uint4 four = words[i ^ (code & 7)];

    if constexpr (C == 4) {
      sum[0] += (four.x & 0xffff) + (four.z >> 16) + (four.w & 0xffff);
      sum[1] += (four.x >> 16) + (four.y & 0xffff) + (four.w >> 16);
      sum[2] += (four.y >> 16) + (four.z & 0xffff);
    } else {
      sum[0] += four.x + four.z;
      sum[C - 1] += four.y + four.w;
    }
  }
}

/* For the launch's last block, at its end: copies the sums to the result when all blocks have
 * added to them, and leaves zeros for a later launch. */
static __device__ __noinline__ void
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

/* The first code of a bin. */
__device__ __forceinline__ int
tally_first_code (int bin, int bins)
{
  return (bin * TALLY_CODES + bins - 1) / bins;
}

/* Adds the counts of a block of N threads to `sums`, those of channel n from at<n> on unless
 * that is negative. All threads must call it. `had` is an earlier value of *turns. Not
 * inline, so that it does not change the register allocation of the code before it; all
 * arguments are values, as a called function would read a struct from memory. */
template <int C, int N>
static __device__ __noinline__ void
tally_add (const uint32_t *counters, unsigned long long *sums, int at0, int at1,
    int at2, int bins, const volatile unsigned *turns, unsigned turn,
    unsigned had)
{
  constexpr int AT_ONCE = TALLY_CODES / N;
  const int at[TALLY_CHANNELS] = { at0, at1, at2 };
  uint32_t sum[AT_ONCE][TALLY_CHANNELS] = {};

  __syncthreads ();
  if (bins == TALLY_CODES) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      tally_add_code<C> (counters, i * N + threadIdx.x, sum[i]);
  } else {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const int bin = i * N + threadIdx.x;
      const int last = bin < bins ? tally_first_code (bin + 1, bins) : 0;

#pragma unroll 1
      for (int code = tally_first_code (bin, bins); code < last; code++)
        tally_add_code<C> (counters, code, sum[i]);
    }
  }
  /* Mostly the set has long been ready. The launch that wrote *turns had zeroed the sums
   * before, in the L2, where atomics execute. *turns may be past the launch's turn if a block
   * adds nothing: no block waits for that one. */
  while (turns_must_wait (had, turn))
    had = *turns;
#pragma unroll
  for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
    for (int c = 0; c < min (C, TALLY_CHANNELS); c++)
      if (at[c] >= 0 && (int) (i * N + threadIdx.x) < bins)
        gpu_add_global (&sums[at[c] + i * N + threadIdx.x],
            (1ull << COUNTERS_SAMPLE_BITS) + sum[i][c]);
}

/* To be called by all N threads of each block of a launch that counts, at its end. `counter`:
 * the index of each of its C channels among the plan's, or -1; `skipped`: as in TallyLane;
 * `block`: its number among the blocks that add to the same channels; `turns`: an earlier
 * value of *tally.turns. */
template <int C, int N>
__device__ __forceinline__ void
tally_end (const HistoTally &tally, const signed char *counter, int skipped,
    unsigned block, unsigned turns, const uint32_t *counters)
{
  unsigned long long *const sums =
      tally.sums + (size_t) (block % TALLY_REPLICAS) * (size_t) tally.n;
  int at[TALLY_CHANNELS] = { -1, -1, -1 };

#pragma unroll
  for (int c = 0; c < min (C, TALLY_CHANNELS); c++)
    at[c] = tally.bins * counter[C == 4 && c >= skipped ? c + 1 : c];
  tally_add<C, N> (counters, sums, at[0], at[1], at[2], tally.bins, tally.turns,
      tally.turn, turns);
  if (blockIdx.x == gridDim.x - 1) {
    __syncthreads ();
    tally_finish (tally);
  }
  gpu_end_in_turn ();
}

/* The tally of the next launch of `plan`, into `result`; all its adders are 0. */
HistoTally tally_for (const HistoPlan *plan, HistoResult *result);

/* To be called when that launch is queued. */
void tally_queued (HistoPlan *plan);
