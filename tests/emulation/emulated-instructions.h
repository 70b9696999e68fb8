/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-instructions: stands in for cuda/sepconv/instructions.cuh, where the
 * layouts of the matrices are told. */
#pragma once
#define INSTRUCTIONS_CUH

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdlib.h>

#define INSTRUCTIONS_CAPABILITY 80

/* What the lanes of the warp that runs give each other. */
struct WarpExchange
{
  const void *row[32];
  uint32_t words[32][6]; /* x, y, z, w, low, high */
  float a[32][8];        /* x, y, z, w */
  float b[32][4];        /* low, high */
};

WarpExchange &emulated_exchange ();

static inline int
emulated_lane ()
{
  return (int) (threadIdx.x % 32);
}

/* A GPU would trap. */
static inline void
expect_aligned (const void *address, uintptr_t bytes)
{
  if ((uintptr_t) address % bytes != 0)
    abort ();
}

static inline void
copy_async (void *shared, const void *global, int bytes)
{
  expect_aligned (shared, 16);
  expect_aligned (global, 16);
  memset (shared, 0, 16);
  memcpy (shared, global, (size_t) bytes);
}

static inline void
copy_async_commit ()
{
}

template <int N>
static inline void
copy_async_wait ()
{
}

template <int N>
static inline void
load_matrices (uint32_t (&to)[N], const void *row)
{
  const int lane = emulated_lane ();
  WarpExchange &exchange = emulated_exchange ();

  expect_aligned (row, 16);
  exchange.row[lane] = row;
  __syncwarp ();
  for (int m = 0; m < N; m++)
    memcpy (&to[m],
        (const char *) exchange.row[8 * m + lane / 4] + 4 * (lane % 4), 4);
  __syncwarp ();
}

template <int PITCH, int COLUMNS, bool AT_ONCE>
static inline int
matrices_offset (int lane)
{
  return lane / 4 * PITCH + lane % 4 * 4;
}

template <int PITCH, int COLUMNS, bool AT_ONCE>
static inline void
store_matrices (uint8_t *to, const uint32_t (&from)[4])
{
  for (int i = 0; i < 4; i++)
    memcpy (to + i / COLUMNS * 8 * PITCH + i % COLUMNS * 16, &from[i],
        sizeof from[i]);
}

static inline float
emulated_half (uint32_t pair, int i)
{
  return __half2float ({ (uint16_t) (pair >> 16 * i) });
}

static inline uint32_t
pack_halves (float low, float high)
{
  return __double2half (low).bits | (uint32_t) __double2half (high).bits << 16;
}

static inline uint32_t
rest_of_halves (uint32_t halves, float low, float high)
{
  return pack_halves (
      low - emulated_half (halves, 0), high - emulated_half (halves, 1));
}

static inline uint32_t
pack_halves_above_zero (float low, float high)
{
  return pack_halves (fmaxf (low, 0.0f), fmaxf (high, 0.0f));
}

#define PACKS_BYTES true

static inline uint32_t
pack_bytes (float low, float high, uint32_t rest)
{
  const float codes[] = { low, high };
  uint32_t packed = rest << 16;

  for (int i = 0; i < 2; i++)
    packed |= (uint32_t) rintf (fmaxf (fminf (codes[i], 255.0f), 0.0f))
        << 8 * i;
  return packed;
}

template <int I>
static inline float
half_of (uint32_t halves)
{
  return emulated_half (halves, I);
}

static inline float
approximate_reciprocal (float value)
{
  return 1.0f / value;
}

static inline float
approximate_root (float value)
{
  return sqrtf (value);
}

static inline uint32_t
codes_of_halves (uint32_t halves, uint32_t most)
{
  uint32_t codes = 0;

  for (int i = 0; i < 2; i++) {
    const float code = emulated_half (halves, i) - 1024.0f;
    const float least = (float) (most >> 16 * i & 0xffff);

    codes |= (uint32_t) fmaxf (fminf (code, least), 0.0f) << 16 * i;
  }
  return codes;
}

/* The exponent of a number that is not zero, but no less than `least`. */
static inline int
emulated_exponent (float number, int least)
{
  uint32_t bits;

  memcpy (&bits, &number, sizeof bits);
  return std::max ((int) (bits >> 23 & 0xff) - 127, least);
}

/* Adds 8 products to a sum as tensor cores of compute capability 8.x do, which lose more
 * than newer ones: tensor-loss.h says how, and from which sources. */
static inline float
emulated_add_products (float sum, const float *a, const float *b)
{
  const int none = -1000;
  int exponent = sum != 0.0f ? emulated_exponent (sum, -126) : none;
  int64_t total, size;
  double product[8], scale;

  for (int k = 0; k < 8; k++) {
    product[k] = (double) a[k] * (double) b[k];
    if (product[k] != 0.0)
      exponent = std::max (exponent,
          emulated_exponent (a[k], -14) + emulated_exponent (b[k], -14));
  }
  if (exponent == none)
    return 0.0f;
  scale = ldexp (1.0, 24 - exponent);
  total = (int64_t) (sum * scale);
  for (int k = 0; k < 8; k++)
    total += (int64_t) (product[k] * scale);
  size = total < 0 ? -total : total;
  for (int64_t cut = 1; size >> 24 >= cut; cut *= 2)
    size &= ~cut;
  return (float) ((double) (total < 0 ? -size : size) / scale);
}

static inline void
multiply_matrices_add (
    float (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  const int lane = emulated_lane ();
  const uint32_t left[] = { a.x, a.y, a.z, a.w }, right[] = { low, high };
  WarpExchange &exchange = emulated_exchange ();

  for (int i = 0; i < 8; i++)
    exchange.a[lane][i] = emulated_half (left[i / 2], i % 2);
  for (int i = 0; i < 4; i++)
    exchange.b[lane][i] = emulated_half (right[i / 2], i % 2);
  __syncwarp ();
  for (int i = 0; i < 4; i++) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    float a[16], b[16];

    for (int k = 0; k < 16; k++) {
      a[k] = exchange
                 .a[row % 8 * 4 + k % 8 / 2][2 * (row / 8 + k / 8 * 2) + k % 2];
      b[k] = exchange.b[column * 4 + k % 8 / 2][k / 8 * 2 + k % 2];
    }
    for (int k = 0; k < 16; k += 8)
      to[i] = emulated_add_products (to[i], a + k, b + k);
  }
  __syncwarp ();
}

/* Byte k of a row of A, or of a column of B: in word `first` of its lanes up to byte 15, and then
 * `step` words behind. */
static inline uint8_t
emulated_byte (
    const WarpExchange &exchange, int line, int k, int first, int step)
{
  const uint32_t word =
      exchange.words[line * 4 + k % 16 / 4][first + k / 16 * step];

  return (uint8_t) (word >> 8 * (k % 4));
}

/* `Right`: what the bytes of B are. */
template <typename Right>
static inline void
emulated_multiply_bytes (int (&to)[4], const int (&start)[4], const uint4 &a,
    uint32_t low, uint32_t high)
{
  const int lane = emulated_lane ();
  const uint32_t words[] = { a.x, a.y, a.z, a.w, low, high };
  WarpExchange &exchange = emulated_exchange ();

  memcpy (exchange.words[lane], words, sizeof words);
  __syncwarp ();
  for (int i = 0; i < 4; i++) {
    const int column = lane % 4 * 2 + i % 2;
    int sum = start[i];

    for (int k = 0; k < 32; k++)
      sum += emulated_byte (exchange, lane / 4, k, i / 2, 2)
          * (Right) emulated_byte (exchange, column, k, 4, 1);
    to[i] = sum;
  }
  __syncwarp ();
}

static inline void
multiply_bytes_add (int (&to)[4], const int (&start)[4], const uint4 &a,
    uint32_t low, uint32_t high)
{
  emulated_multiply_bytes<int8_t> (to, start, a, low, high);
}

static inline void
multiply_unsigned_bytes_add (
    int (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  emulated_multiply_bytes<uint8_t> (to, to, a, low, high);
}

static inline uint32_t
add_products_of_bytes (uint32_t bytes, uint32_t by, uint32_t sum)
{
  for (int i = 0; i < 32; i += 8)
    sum += (bytes >> i & 0xff) * (uint32_t) (int8_t) (by >> i);
  return sum;
}

static inline uint32_t
add_products_of_pair (uint32_t pair, uint32_t by, uint32_t sum)
{
  for (int i = 0; i < 2; i++)
    sum += (pair >> 16 * i & 0xffff) * (uint32_t) (int8_t) (by >> 8 * i);
  return sum;
}
