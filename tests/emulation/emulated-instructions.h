/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-instructions: replaces cuda/sepconv/instructions.cuh, which documents the fragment
 * layouts of the matrices. */
#pragma once
#define INSTRUCTIONS_CUH

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <stdlib.h>

#define INSTRUCTIONS_CAPABILITY 80

/* Registers that the lanes of a warp exchange, and the results; indexed by register, then by
 * lane. */
struct WarpExchange
{
  const void *row[32];
  uint32_t loaded[4][32];
  uint32_t left[4][32], right[2][32];
  float sum[32][4];
  int integer[32][4];
};

WarpExchange &emulated_exchange ();

/* Waits until all lanes of the warp have arrived. The last lane calls `work` for all, before any
 * lane continues. Results stay valid until the lanes meet again. */
void emulated_meet (void (*work) (WarpExchange &));

/* sum += left * right. The factors are FP16, the sums FP32. */
void emulated_multiply_halves (WarpExchange &exchange);

/* integer += left * right. Bytes of `left` are unsigned, those of `right` signed or unsigned. */
void emulated_multiply_bytes (WarpExchange &exchange);
void emulated_multiply_unsigned_bytes (WarpExchange &exchange);

static inline int
emulated_lane ()
{
  return (int) (threadIdx.x % 32);
}

/* A GPU would trap on a misaligned address. */
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

static inline const uint8_t *
row_address (const uint8_t *row, int y, int stride)
{
  return row + (ptrdiff_t) y * stride;
}

static inline void
copy_async (void *shared, const void *global, int bytes)
{
  emulated_copy (shared, global, bytes, 16);
}

static inline void
copy_async_whole (void *shared, const void *global)
{
  emulated_copy (shared, global, 16, 16);
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
emulated_load (WarpExchange &exchange)
{
  for (int m = 0; m < N; m++)
    for (int lane = 0; lane < 32; lane++)
      memcpy (&exchange.loaded[m][lane],
          (const char *) exchange.row[8 * m + lane / 4] + 4 * (lane % 4), 4);
}

template <int N>
static inline void
load_matrices (uint32_t (&to)[N], const void *row)
{
  const int lane = emulated_lane ();
  WarpExchange &exchange = emulated_exchange ();

  expect_aligned (row, 16);
  exchange.row[lane] = row;
  emulated_meet (emulated_load<N>);
  for (int m = 0; m < N; m++)
    to[m] = exchange.loaded[m][lane];
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
pack_halves (double low, double high)
{
  return __double2half (low).bits | (uint32_t) __double2half (high).bits << 16;
}

static inline void
floats_of_halves (uint32_t halves, float &low, float &high)
{
  low = emulated_half (halves, 0);
  high = emulated_half (halves, 1);
}

static inline uint32_t
rest_of_halves (uint32_t halves, float low, float high)
{
  return pack_halves (
      low - emulated_half (halves, 0), high - emulated_half (halves, 1));
}

static inline float
sum_of_halves (uint32_t halves)
{
  return emulated_half (halves, 0) + emulated_half (halves, 1);
}

static inline uint32_t
multiply_halves (uint32_t a, uint32_t b)
{
  return pack_halves (emulated_half (a, 0) * emulated_half (b, 0),
      emulated_half (a, 1) * emulated_half (b, 1));
}

static inline uint32_t
add_halves (uint32_t a, uint32_t b)
{
  return pack_halves (emulated_half (a, 0) + emulated_half (b, 0),
      emulated_half (a, 1) + emulated_half (b, 1));
}

static inline uint32_t
subtract_halves (uint32_t a, uint32_t b)
{
  return pack_halves (emulated_half (a, 0) - emulated_half (b, 0),
      emulated_half (a, 1) - emulated_half (b, 1));
}

/* Computed in double precision and rounded once, as a float does not hold every sum. */
static inline uint32_t
multiply_add_halves (uint32_t a, uint32_t b, uint32_t c)
{
  double sum[2];

  for (int i = 0; i < 2; i++)
    sum[i] = (double) emulated_half (a, i) * emulated_half (b, i)
        + emulated_half (c, i);
  return pack_halves (sum[0], sum[1]);
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

/* Shares this lane's fragments of A and B with the warp. */
static inline void
emulated_give (
    WarpExchange &exchange, const uint4 &a, uint32_t low, uint32_t high)
{
  const int lane = emulated_lane ();

  exchange.left[0][lane] = a.x;
  exchange.left[1][lane] = a.y;
  exchange.left[2][lane] = a.z;
  exchange.left[3][lane] = a.w;
  exchange.right[0][lane] = low;
  exchange.right[1][lane] = high;
}

static inline void
multiply_matrices_add (
    float (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  WarpExchange &exchange = emulated_exchange ();
  float (&sum)[4] = exchange.sum[emulated_lane ()];

  emulated_give (exchange, a, low, high);
  memcpy (sum, to, sizeof sum);
  emulated_meet (emulated_multiply_halves);
  memcpy (to, sum, sizeof sum);
}

static inline void
emulated_multiply_integers (int (&to)[4], const int (&start)[4], const uint4 &a,
    uint32_t low, uint32_t high, void (*work) (WarpExchange &))
{
  WarpExchange &exchange = emulated_exchange ();
  int (&sum)[4] = exchange.integer[emulated_lane ()];

  emulated_give (exchange, a, low, high);
  memcpy (sum, start, sizeof sum);
  emulated_meet (work);
  memcpy (to, sum, sizeof sum);
}

static inline void
multiply_bytes_add (int (&to)[4], const int (&start)[4], const uint4 &a,
    uint32_t low, uint32_t high)
{
  emulated_multiply_integers (to, start, a, low, high, emulated_multiply_bytes);
}

static inline void
multiply_unsigned_bytes_add (
    int (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  emulated_multiply_integers (
      to, to, a, low, high, emulated_multiply_unsigned_bytes);
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
