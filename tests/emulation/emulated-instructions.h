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

/* What the lanes of the warp that runs give each other: matrices of bytes, A by rows and B by
 * columns, or of halves with their exponents. A lane multiplies rows i and i + 8 of A by columns
 * 2j and 2j + 1 of B, so four numbers of each matrix lie side by side: of A twice row i, then twice
 * row i + 8, of B both columns, then both again. */
struct WarpExchange
{
  const void *row[32];
  float a[8][16][4], b[4][16][4];
  int16_t a_exponent[8][16][4], b_exponent[4][16][4];
  uint8_t a_bytes[16][32], b_bytes[8][32];
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
emulated_copy (void *shared, const void *global, int bytes, size_t size)
{
  expect_aligned (shared, size);
  expect_aligned (global, size);
  memset (shared, 0, size);
  memcpy (shared, global, (size_t) bytes);
}

static inline void
copy_async (void *shared, const void *global, int bytes)
{
  emulated_copy (shared, global, bytes, 16);
}

static inline void
copy_async_word (void *shared, const void *global, int bytes)
{
  emulated_copy (shared, global, bytes, 4);
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

/* Far below that of any product of halves, which is at least -28, also when one of a half, at most
 * 15, is added to it. */
#define EXPONENT_OF_ZERO (-500)

/* Of a half. */
static inline int16_t
emulated_exponent_of_half (float half)
{
  return (int16_t) (half == 0.0f ? EXPONENT_OF_ZERO
                                 : emulated_exponent (half, -14));
}

typedef float FourFloats __attribute__ ((vector_size (16)));
typedef int32_t FourInts __attribute__ ((vector_size (16)));
typedef int16_t EightShorts __attribute__ ((vector_size (16)));

/* Adds 8 products to each of four sums as tensor cores of compute capability 8.x do, which lose
 * more than newer ones: tensor-loss.h says how, and from which sources. */
static inline void
emulated_add_products (float (&sums)[4], const float (*a)[4],
    const int16_t (*a_exponent)[4], const float (*b)[4],
    const int16_t (*b_exponent)[4])
{
  EightShorts most = { EXPONENT_OF_ZERO, EXPONENT_OF_ZERO, EXPONENT_OF_ZERO,
    EXPONENT_OF_ZERO, EXPONENT_OF_ZERO, EXPONENT_OF_ZERO, EXPONENT_OF_ZERO,
    EXPONENT_OF_ZERO };
  int16_t halves[8];
  int exponent[4];
  float scale[4];
  FourFloats sum, scales;
  FourInts total;

  for (int k = 0; k < 8; k += 2) {
    EightShorts x, y;

    memcpy (&x, a_exponent[k], sizeof x);
    memcpy (&y, b_exponent[k], sizeof y);
    x += y;
    most = x > most ? x : most;
  }
  memcpy (halves, &most, sizeof halves);
  /* Each number then is below 2^26, and a float holds all bits of a product of halves. */
  for (int i = 0; i < 4; i++) {
    exponent[i] = std::max<int> (halves[i], halves[i + 4]);
    scale[i] = (float) emulated_power_of_two (
        24 - std::max (exponent[i], emulated_exponent (sums[i], -64)));
  }
  memcpy (&scales, scale, sizeof scales);
  memcpy (&sum, sums, sizeof sum);
  total = __builtin_convertvector (sum * scales, FourInts);
  for (int k = 0; k < 8; k++) {
    FourFloats x, y;

    memcpy (&x, a[k], sizeof x);
    memcpy (&y, b[k], sizeof y);
    total += __builtin_convertvector (x * y * scales, FourInts);
  }
  for (int i = 0; i < 4; i++) {
    int size = abs (total[i]);

    if (size >> 24 > 0)
      size &= -(1 << (8 - __builtin_clz ((unsigned) size)));
    /* Without a product the sum stays what it is. */
    if (exponent[i] > EXPONENT_OF_ZERO / 2)
      sums[i] = (float) (total[i] < 0 ? -size : size) / scale[i];
  }
}

static inline void
multiply_matrices_add (
    float (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  const int lane = emulated_lane (), line = lane / 4;
  const uint32_t left[] = { a.x, a.y, a.z, a.w }, right[] = { low, high };
  WarpExchange &exchange = emulated_exchange ();

  for (int i = 0; i < 8; i++) {
    const int k = lane % 4 * 2 + i / 4 * 8 + i % 2, at = i / 2 % 2 * 2;
    const float half = emulated_half (left[i / 2], i % 2);

    for (int twice = 0; twice < 2; twice++) {
      exchange.a[line][k][at + twice] = half;
      exchange.a_exponent[line][k][at + twice] =
          emulated_exponent_of_half (half);
    }
  }
  for (int i = 0; i < 4; i++) {
    const int k = lane % 4 * 2 + i / 2 * 8 + i % 2, at = line % 2;
    const float half = emulated_half (right[i / 2], i % 2);

    for (int twice = 0; twice < 4; twice += 2) {
      exchange.b[line / 2][k][at + twice] = half;
      exchange.b_exponent[line / 2][k][at + twice] =
          emulated_exponent_of_half (half);
    }
  }
  __syncwarp ();
  for (int k = 0; k < 16; k += 8)
    emulated_add_products (to, &exchange.a[line][k],
        &exchange.a_exponent[line][k], &exchange.b[lane % 4][k],
        &exchange.b_exponent[lane % 4][k]);
  __syncwarp ();
}

/* `Right`: what the bytes of B are. */
template <typename Right>
static inline void
emulated_multiply_bytes (int (&to)[4], const int (&start)[4], const uint4 &a,
    uint32_t low, uint32_t high)
{
  const int lane = emulated_lane ();
  const uint32_t left[] = { a.x, a.y, a.z, a.w }, right[] = { low, high };
  WarpExchange &exchange = emulated_exchange ();

  for (int i = 0; i < 4; i++)
    memcpy (&exchange.a_bytes[lane / 4 + i % 2 * 8][lane % 4 * 4 + i / 2 * 16],
        &left[i], sizeof left[i]);
  for (int i = 0; i < 2; i++)
    memcpy (&exchange.b_bytes[lane / 4][lane % 4 * 4 + i * 16], &right[i],
        sizeof right[i]);
  __syncwarp ();
  for (int i = 0; i < 4; i++) {
    const uint8_t *row = exchange.a_bytes[lane / 4 + i / 2 * 8];
    const uint8_t *column = exchange.b_bytes[lane % 4 * 2 + i % 2];
    int sum = start[i];

    for (int k = 0; k < 32; k++)
      sum += row[k] * (Right) column[k];
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
