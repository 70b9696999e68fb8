/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-counting: where the march of a block counts its results on the way, or nowhere. */
#pragma once

#include "tensor-frame.cuh"

/* Whether a launch counts its result, and when: when it is written, or before, when it is
 * put where it is written from, which takes less time but not every frame. */
enum Counting
{
  COUNT_NOT,
  COUNT_WRITTEN,
  COUNT_PUT,
  N_COUNTINGS
};

/* Bytes of shared memory that a block has for it. */
static __host__ __device__ constexpr int
counting_bytes (Counting when)
{
  return when == COUNT_NOT ? 0 : TALLY_SHARED_BYTES;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Takes the results of a thread, of pixels of C channels. The march sets its members before
 * it begins. */
template <Counting WHEN, int C> struct CountingSink
{
  static constexpr bool COUNTS = WHEN != COUNT_NOT;
  /* Channels of what is counted when it is written, by the StripWriter, and when it is put;
   * 0: that is not. */
  static constexpr int WRITTEN = WHEN == COUNT_WRITTEN ? C : 0;
  static constexpr int PUT = WHEN == COUNT_PUT ? C : 0;

  unsigned turns;     /* for tally_end(); 0 until see_turns() */
  TallyLane<PUT> put; /* of what is put */
  uint32_t *counters; /* the block's, in shared memory, if it COUNTS */

  /* By all threads of the block, before anything is counted. A barrier must follow. */
  __device__ __forceinline__ void
  clear ()
  {
    if constexpr (COUNTS)
      tally_clear<STRIP_THREADS> (counters);
  }

  /* What a thread puts: a word of whole pixels. */
  __device__ __forceinline__ void
  count_put (uint32_t bytes) const
  {
    put.count (bytes);
  }

  /* Undoes that n times. */
  __device__ __forceinline__ void
  take_away (uint32_t bytes, uint32_t n) const
  {
    if constexpr (PUT > 0)
      put.take_away (bytes, n);
  }

  /* A little before the end, to be known by then. */
  __device__ __forceinline__ void
  see_turns (const HistoTally &tally)
  {
    if constexpr (COUNTS)
      turns = *tally.turns;
  }

  /* The last that the block does, all its threads, if it COUNTS. `turns`: the sink's. */
  static __device__ __forceinline__ void
  end (const HistoTally &tally, const TensorPlane &plane, unsigned turns,
      const uint32_t *counters)
  {
    tally_end<C, STRIP_THREADS> (tally, plane.counter, plane.skipped,
        blockIdx.x - (unsigned) plane.strip.first_block, turns, counters);
  }
};

#endif
