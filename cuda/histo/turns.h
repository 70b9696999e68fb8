/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turns: the set of sums that a launch adds to, and when the set is ready. Host and device.
 *
 * Launches take the sets in turn. A set has a word in device memory, the turn that it is ready
 * for; the previous launch on the set writes it after it has left zeros. A turn has 32 bits
 * and wraps, so turns are compared by their difference; the count of launches has 64 bits and
 * does not wrap. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TURNS_FUNCTION static __host__ __device__ __forceinline__
#else
#define TURNS_FUNCTION static inline
#endif

#define TURNS_SETS 4

/* A plan's first turn is the last before turns wrap: so every plan passes the wrap with its
 * fifth launch, instead of after years of running. All its bytes are equal, for memset. */
#define TURNS_FIRST UINT32_MAX
#define TURNS_FIRST_LAUNCH ((uint64_t) TURNS_FIRST * TURNS_SETS)

/* The set of a plan's launch; launches count from TURNS_FIRST_LAUNCH. */
TURNS_FUNCTION unsigned
turns_set (uint64_t launch)
{
  return (unsigned) (launch % TURNS_SETS);
}

/* The launch's turn on its set. */
TURNS_FUNCTION uint32_t
turns_turn (uint64_t launch)
{
  return (uint32_t) (launch / TURNS_SETS);
}

/* Whether a set that is ready for turn `ready` is not ready for `turn` yet; both are less than
 * 2^31 turns apart. */
TURNS_FUNCTION bool
turns_must_wait (uint32_t ready, uint32_t turn)
{
  return (int32_t) (ready - turn) < 0;
}
