/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kerncheck-random: random numbers; the same seed gives the same numbers on every
 * machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct
{
  uint64_t state;
} Random;

/* SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number
 * Generators, 2014. */
static inline uint64_t
random_next (Random *random)
{
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* An integer in [low, high]. */
static inline int
random_int (Random *random, int low, int high)
{
  const uint64_t range = (uint64_t) ((int64_t) high - low) + 1;

  return low + (int) ((random_next (random) >> 16) % range);
}

/* A number in [low, high). */
static inline double
random_double (Random *random, double low, double high)
{
  return low + (high - low) * 0x1p-53 * (double) (random_next (random) >> 11);
}

static inline bool
random_chance (Random *random, int percent)
{
  return random_int (random, 0, 99) < percent;
}
