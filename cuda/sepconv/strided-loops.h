/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strided-loops: the loops of strided.h for the instruction set that the including file is
 * compiled for. That file defines STRIDED_LOOPS, the name of the StridedLoops.
 *
 * A unit is a sample and the bytes up to the next one: an unsigned integer whose lowest bits
 * are the sample. The last sample of a row may have no complete unit: it is copied alone.
 *
 * Compilers convert vectors to integers half as wide in a few instructions, but to a quarter of
 * the width one by one: such units are halved twice. */
#include "strided.h"

#include <string.h>

/* Bytes of a vector of units. */
#if defined(__AVX512BW__)
#define STRIDED_VECTOR 64
#elif defined(__AVX2__)
#define STRIDED_VECTOR 32
#else
#define STRIDED_VECTOR 16
#endif

/* Units that are halved twice at a time. */
#define STRIDED_BLOCK 64

/* Defines two functions for units of N bits and half units of H = N / 2 bits. strided_narrowN()
 * makes n units half as wide; strided_insertN() makes n half units twice as wide and keeps the
 * destination's bits in `others`. The last vector overlaps the one before it. */
#define STRIDED_UNITS(H, N) \
  enum \
  { \
    strided_lanes##N = STRIDED_VECTOR / (N / 8) \
  }; \
  typedef uint##N##_t StridedWhole##N \
      __attribute__ ((vector_size (STRIDED_VECTOR), aligned (1), may_alias)); \
  typedef uint##H##_t StridedHalf##N __attribute__ (( \
      vector_size (STRIDED_VECTOR / 2), aligned (1), may_alias)); \
\
  static inline void strided_narrow##N ( \
      uint8_t *restrict to, const uint8_t *restrict from, int n) \
  { \
    if (n < strided_lanes##N) \
      for (int i = 0; i < n; i++) \
        memcpy (to + i * (H / 8), from + i * (N / 8), H / 8); \
    else \
      for (int x = 0; x < n; x += strided_lanes##N) { \
        const int i = x + strided_lanes##N <= n ? x : n - strided_lanes##N; \
\
        *(StridedHalf##N *) (to + i * (H / 8)) = __builtin_convertvector( \
            *(const StridedWhole##N *) (from + i * (N / 8)), StridedHalf##N); \
      } \
  } \
\
  static inline void strided_insert##N (uint8_t *restrict to, \
      const uint8_t *restrict from, int n, uint##N##_t others) \
  { \
    if (n < strided_lanes##N) \
      for (int i = 0; i < n; i++) { \
        uint##N##_t unit; \
        uint##H##_t half; \
\
        memcpy (&unit, to + i * (N / 8), N / 8); \
        memcpy (&half, from + i * (H / 8), H / 8); \
        unit = (uint##N##_t) ((unit & others) | half); \
        memcpy (to + i * (N / 8), &unit, N / 8); \
      } \
    else \
      for (int x = 0; x < n; x += strided_lanes##N) { \
        const int i = x + strided_lanes##N <= n ? x : n - strided_lanes##N; \
        StridedWhole##N *const at = (StridedWhole##N *) (to + i * (N / 8)); \
\
        *at = (*at & others) \
            | __builtin_convertvector( \
                *(const StridedHalf##N *) (from + i * (H / 8)), \
                StridedWhole##N); \
      } \
  }

STRIDED_UNITS (8, 16)
STRIDED_UNITS (16, 32)
STRIDED_UNITS (32, 64)

#undef STRIDED_UNITS

/* Whether samples have units of `times` their length, two or four. */
static inline int
strided_has_units (int bytes, ptrdiff_t distance, int times)
{
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
      && distance == (ptrdiff_t) times * bytes;
}

/* Copies samples [i, n), one by one. */
static inline void
strided_copy (uint8_t *to, ptrdiff_t to_distance, const uint8_t *from,
    ptrdiff_t from_distance, int i, int n, int bytes)
{
  for (; i < n; i++) {
    to[i * to_distance] = from[i * from_distance];
    if (bytes == 2)
      to[i * to_distance + 1] = from[i * from_distance + 1];
  }
}

static void
gather (uint8_t *to, const uint8_t *from, int n, int bytes, ptrdiff_t distance)
{
  int i = 0;

  if (distance == bytes) {
    memcpy (to, from, (size_t) n * (size_t) bytes);
    return;
  }
  if (strided_has_units (bytes, distance, 2)) {
    i = n - 1;
    if (bytes == 1)
      strided_narrow16 (to, from, i);
    else
      strided_narrow32 (to, from, i);
  } else if (strided_has_units (bytes, distance, 4)) {
    uint8_t halves[STRIDED_BLOCK * 4];

    for (int m; i < n - 1; i += m) {
      const uint8_t *at = from + i * distance;

      m = n - 1 - i < STRIDED_BLOCK ? n - 1 - i : STRIDED_BLOCK;
      if (bytes == 1) {
        strided_narrow32 (halves, at, m);
        strided_narrow16 (to + i, halves, m);
      } else {
        strided_narrow64 (halves, at, m);
        strided_narrow32 (to + 2 * i, halves, m);
      }
    }
  }
  strided_copy (to, bytes, from, distance, i, n, bytes);
}

static void
scatter (uint8_t *to, const uint8_t *from, int n, int bytes, ptrdiff_t distance)
{
  int i = 0;

  if (distance == bytes) {
    memcpy (to, from, (size_t) n * (size_t) bytes);
    return;
  }
  if (strided_has_units (bytes, distance, 2)) {
    i = n - 1;
    if (bytes == 1)
      strided_insert16 (to, from, i, 0xff00);
    else
      strided_insert32 (to, from, i, 0xffff0000);
  } else if (strided_has_units (bytes, distance, 4)) {
    uint8_t halves[STRIDED_BLOCK * 4];

    memset (halves, 0, sizeof halves);
    for (int m; i < n - 1; i += m) {
      uint8_t *at = to + i * distance;

      m = n - 1 - i < STRIDED_BLOCK ? n - 1 - i : STRIDED_BLOCK;
      if (bytes == 1) {
        strided_insert16 (halves, from + i, m, 0);
        strided_insert32 (at, halves, m, 0xffffff00);
      } else {
        strided_insert32 (halves, from + 2 * i, m, 0);
        strided_insert64 (at, halves, m, ~(uint64_t) 0xffff);
      }
    }
  }
  strided_copy (to, distance, from, bytes, i, n, bytes);
}

const StridedLoops STRIDED_LOOPS = { .gather = gather, .scatter = scatter };
