/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fuzz-bytes: reads numbers from a fuzzer input. Past its end all numbers are 0. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct
{
  const uint8_t *at;
  size_t left;
} Bytes;

static inline uint64_t
bytes_take (Bytes *bytes, int n)
{
  uint64_t value = 0;

  for (; n > 0 && bytes->left > 0; n--, bytes->left--)
    value = value << 8 | *bytes->at++;
  return value;
}

/* A number in [low, high], a small range. */
static inline int
bytes_int (Bytes *bytes, int low, int high)
{
  return low + (int) (bytes_take (bytes, 2) % (uint64_t) (high - low + 1));
}

/* Mostly a number in [low, high]; else any, including the extremes of int. */
static inline int
bytes_wild_int (Bytes *bytes, int low, int high)
{
  static const int ends[] = { INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1,
    INT32_MAX };
  const int kind = bytes_int (bytes, 0, 31);

  if (kind == 0)
    return ends[bytes_int (bytes, 0, 6)];
  if (kind == 1)
    return (int) (uint32_t) bytes_take (bytes, 4);
  return bytes_int (bytes, low, high);
}

/* Mostly a round number in [-scale, scale]; else any, including infinities and NaN. */
static inline double
bytes_wild_double (Bytes *bytes, double scale)
{
  static const double ends[] = { 0.0, -0.0, 1.0, -1.0, 1e-300, -1e30, 1e300,
    5e-324, NAN, INFINITY, -INFINITY };
  const int kind = bytes_int (bytes, 0, 31);

  if (kind == 0)
    return ends[bytes_int (bytes, 0, 10)];
  if (kind == 1)
    return scale * ((double) bytes_take (bytes, 6) / 0x1p47 - 1.0);
  return scale * (double) bytes_int (bytes, -128, 128) / 128.0;
}

/* Ends the process if the condition is false. */
#define FUZZ_EXPECT(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf (stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf (stderr, __VA_ARGS__); \
      fputc ('\n', stderr); \
      abort (); \
    } \
  } while (0)

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);
