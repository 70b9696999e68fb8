/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tally: counting on the way. A kernel that makes an image of 8-bit samples counts them
 * while it has them, and what it counted is added to a plan's sums: neither a second
 * kernel nor the image a second time.
 *
 * A block has 32 words for each code, one a bank of shared memory, as lane.cuh has them: no
 * content makes conflicts. Channels that alternate byte by byte share them, by neighbouring
 * lanes taking turns. A sample takes two instructions: one finds the word, as the sum of
 * four products of bytes, three of which are zero, and where the lane's words begin; one
 * counts.
 *
 * Of four channels three are counted, in turns of their own: four lanes have twelve samples
 * of a pixel each then, and four words, of which each has a counter of 16 bits for each of
 * two channels. See TallyLane.
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

/* Channels of a plane that are counted at most. */
#define TALLY_CHANNELS 3
/* Pixels of four channels that a block may count: an eighth of them share a counter of 16
 * bits at most. */
#define TALLY_MOST_PIXELS (8 * 65535)

/* What a launch needs to count an image, all of which it makes. */
struct HistoTally
{
  unsigned long long *sums;   /* [TALLY_REPLICAS][n], zero before its turn */
  unsigned long long *result; /* [n], pinned */
  volatile unsigned *turns;   /* the turn that these sums are ready for; device */
  unsigned turn;              /* the launch's */
  int n, bins;                /* up to TALLY_CODES bins a channel */
  /* The blocks that add to the counters of each of the plan's channels. */
  unsigned adders[HISTO_MAX_CHANNELS];
};

/* Counts one byte, of the channel of C that begins at `channel`, where TallyLane does. */
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

/* A lane's counting of bytes of C channels, of which those at a multiple of C are the
 * first channel's. C 0: it counts nothing.
 *
 * Of four channels one is not counted; let the others be c = 0, 1, 2. In turns k = 0 and 1
 * lane l of four counts channel (l + k) % 3 of its pixel in half k of its own word; in turn
 * 2, channel (l + 2) % 3 in its neighbour's, l ^ 1, the upper half if l is even. So the low
 * half of word l is channel l % 3 and the high half channel (l + 1) % 3, whoever counts
 * there, and no two lanes are at the same word. */
template <int C> struct TallyLane
{
  static_assert (C == 1 || C == 2 || C == 4, "a word has whole pixels");
  static constexpr int TURNS = C == 4 ? 3 : 4; /* of a word */
  static constexpr int WORDS = C == 4 ? 3 : C;
  static constexpr int HALVES = C == 4 ? 3 : 1;

  uint32_t *counters; /* the block's */
  int skipped;        /* of four channels, the one that is not counted */
  /* By turn: the shared address of the lane's word of code 0; what has the byte of a word
   * that it is the turn of multiplied by the bytes that a code's words take; and one, in the
   * half that it is counted in. */
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

  /* The constant is worth telling: the atomic has an instruction of its own for it, which is
   * quicker. */
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

/* Adds up the counters of a code of C channels, by those that are counted. */
template <int C>
__device__ __forceinline__ void
tally_add_code (
    const uint32_t *counters, int code, uint32_t (&sum)[TALLY_CHANNELS])
{
  const uint4 *words = (const uint4 *) counters + 8 * code;

  /* Each lane of a warp in an order of its own, so that they are at different banks. */
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

/* The last that the launch's last block does: takes the sums to the result when all
 * blocks have added to them, and leaves zeros for a later launch. */
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

/* The first of the codes that a bin has. */
__device__ __forceinline__ int
tally_first_code (int bin, int bins)
{
  return (bin * TALLY_CODES + bins - 1) / bins;
}

/* Adds what a block of N threads has counted to `sums`, the n-th channel's from at<n> on,
 * if that is not negative: all its threads. `had`: what *turns was a little before. Not
 * inline, lest it change the registers of all that comes before it; and all by value, which
 * a function that is called would read from memory. */
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
  /* Mostly it has been so for long. Whoever said so had zeroed the sums before, in the L2,
   * where atomics are done. It may be past the launch's turn where a block adds nothing:
   * nobody waits for that one. */
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

/* The last that a block of N threads does, all of them, of a launch that counts. `counter`:
 * which of the plan's channels each of its C channels is, or -1; `skipped`: as TallyLane has
 * it; `block`: its number among those that add to the same; `turns`: what *tally.turns was a
 * little before. */
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

/* For the next launch of `plan`, into `result`; no block adds to anything yet. */
HistoTally tally_for (const HistoPlan *plan, HistoResult *result);

/* That launch is queued. */
void tally_queued (HistoPlan *plan);
