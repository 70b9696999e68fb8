/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-counting: how the march of a block counts its results on the way, if it does. */
#pragma once

#include "tensor-frame.cuh"

/* Whether and when a launch counts its result: when it is written to the image, or earlier,
 * when it is put into shared memory for writing. The latter takes less time, but does not
 * suit every frame. */
enum Counting
{
  COUNT_NOT,
  COUNT_WRITTEN,
  COUNT_PUT,
  N_COUNTINGS
};

/* Bytes of shared memory that a block has for its counters. */
static __host__ __device__ constexpr int
counting_bytes (Counting when)
{
  return when == COUNT_NOT ? 0 : TALLY_SHARED_BYTES;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Counts the results of a thread, pixels of C channels. The march sets its members before
 * it begins. */
template <Counting WHEN, int C> struct CountingSink
{
  static constexpr bool COUNTS = WHEN != COUNT_NOT;
  /* Channels that are counted when results are written, by the StripWriter, and when they
   * are put; 0: none. */
  static constexpr int WRITTEN = WHEN == COUNT_WRITTEN ? C : 0;
  static constexpr int PUT = WHEN == COUNT_PUT ? C : 0;

  unsigned turns;     /* for end(); 0 until see_turns() */
  TallyLane<PUT> put; /* counts what is put */
  uint32_t *counters; /* the block's, in shared memory; used if COUNTS */

  /* All threads of the block call this before anything is counted. A barrier must
   * follow. */
  __device__ __forceinline__ void
  clear ()
  {
    if constexpr (COUNTS)
      tally_clear<STRIP_THREADS> (counters);
  }

  /* Counts a word of whole pixels that a thread puts. */
  __device__ __forceinline__ void
  count_put (uint32_t bytes) const
  {
    put.count (bytes);
  }

  /* Undoes count_put() n times. */
  __device__ __forceinline__ void
  take_away (uint32_t bytes, uint32_t n) const
  {
    if constexpr (PUT > 0)
      put.take_away (bytes, n);
  }

  /* Loads the turn a little before end(), so that it has arrived by then. */
  __device__ __forceinline__ void
  see_turns (const HistoTally &tally)
  {
    if constexpr (COUNTS)
      turns = *tally.turns;
  }

  /* The last call of a block that COUNTS, by all its threads. `turns`: the sink's. */
  static __device__ __forceinline__ void
  end (const HistoTally &tally, const TensorPlane &plane, unsigned turns,
      const uint32_t *counters)
  {
    tally_end<C, STRIP_THREADS> (tally, plane.counter, plane.skipped,
        blockIdx.x - (unsigned) plane.strip.first_block, turns, counters);
  }
};

#endif
