/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-three-strip: the arithmetic of a thread of terms-three, for short-march.cuh. A thread keeps
 * the sums along x of the last two rows; the next row completes a row of the result:
 *
 *   of gradients, the differences D and the smoothed sums S of two rows:
 *     x = a (D above + D below) + b D       y = S below - S above
 *   of SUM, the sums U with the outer rows of the matrix, and M with its middle row:
 *     U above + M + U below, of which the first two are already added up
 *
 * Bytes with zeros above them are FP16 values: the subnormal numbers raw * 2^-24. Their sums are
 * exact up to 2048, the integers that 11 bits hold; sums beyond 2048 are rounded by a part in 2^12.
 * S, U and M have the middle of their ranges subtracted. Of four bytes, [0] and [2] are in one
 * register, [1] and [3] in another, so that one permutation makes four bytes of two registers of
 * codes. */
#pragma once

#include "short-march.cuh"
#include "subnormal.cuh"
#include "terms-three.cuh"
#include "turns.cuh"

#define OWN_BYTES 16 /* of a row, per thread */
#define OWN_WORDS (OWN_BYTES / 4)

/* Factors of the integers: with them, neither sums nor their squares are subnormal. */
#define HALF_FACTOR 0x1p12f
#define FLOAT_FACTOR 0x1p120f

/* Largest sum of bytes that is exact in FP16, and the middle of the range of bytes. */
#define HALF_EXACT 2048
#define BYTE_CENTER 128

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Common part of samples of one byte and of two: the bytes that a thread has of a row, and those of
 * the row before that it keeps. */
template <int BYTES, int C> struct ThreeRow
{
  static constexpr int PIXEL = C * BYTES;
  static constexpr int OWN = OWN_BYTES;
  static constexpr int ABOVE = 1;
  static constexpr int TILE = short_tile_bytes (OWN, PIXEL);
  static constexpr int REACH = short_reach_bytes (ABOVE, PIXEL);
  static constexpr int PITCH = short_pitch (OWN, ABOVE, PIXEL);
  static constexpr int ROWS = short_rows (OWN);
  static constexpr bool KEEPS = false;
  /* Words of the window on each side of the thread's own. */
  static constexpr int HALO = PIXEL > 4 ? 2 : 1;
  static constexpr int WORDS = HALO + OWN_WORDS + HALO;

  float scale, start[C];
  uint32_t middle[OWN_WORDS]; /* the row before, as it lies in memory */
  uint32_t keep[OWN_WORDS];   /* mask of the bits of `middle` that are copied */

  __device__ __forceinline__ void
  begin_row (const TermsThreePlane &plane, int first_byte, float more)
  {
    scale = plane.scale;
#pragma unroll
    for (int c = 0; c < C; c++)
      start[c] = plane.offset[(first_byte / BYTES + c) % C] + more;
#pragma unroll
    for (int i = 0; i < OWN_WORDS; i++) {
      const unsigned at = first_byte + 4 * i;

      middle[i] = 0;
      keep[i] = plane.strip.keep[at / 8 % STRIP_KEEP][at / 4 % 2];
    }
  }

  __device__ __forceinline__ void
  load (const uint8_t *own, uint32_t (&word)[WORDS]) const
  {
    const uint4 four = *(const uint4 *) (own + REACH);

    word[HALO] = four.x;
    word[HALO + 1] = four.y;
    word[HALO + 2] = four.z;
    word[HALO + 3] = four.w;
    if constexpr (HALO == 1) {
      word[0] = *(const uint32_t *) (own + REACH - 4);
      word[WORDS - 1] = *(const uint32_t *) (own + REACH + OWN);
    } else {
      const uint2 left = *(const uint2 *) (own + REACH - 8);
      const uint2 right = *(const uint2 *) (own + REACH + OWN);

      word[0] = left.x;
      word[1] = left.y;
      word[WORDS - 2] = right.x;
      word[WORDS - 1] = right.y;
    }
  }

  /* Packs the result. Channels that are not filtered are taken from the source row at the place of
   * the result, which is the last one held. */
  __device__ __forceinline__ void
  put (uint32_t (&result)[OWN_WORDS], uint2 (&value)[OWN_BYTES / 8]) const
  {
#pragma unroll
    for (int i = 0; C > 1 && i < OWN_WORDS; i++)
      result[i] = (result[i] & ~keep[i]) | (middle[i] & keep[i]);
    value[0] = make_uint2 (result[0], result[1]);
    value[1] = make_uint2 (result[2], result[3]);
  }

  __device__ __forceinline__ void
  hold (const uint32_t (&word)[WORDS])
  {
#pragma unroll
    for (int i = 0; i < OWN_WORDS; i++)
      middle[i] = word[HALO + i];
  }
};

/* Two FP16 values in a register. */
struct Halves
{
  typedef uint32_t T;

  /* `value`, which FP16 holds exactly, times HALF_FACTOR. */
  static __device__ __forceinline__ T
  factor (int value)
  {
    return pack_halves (value * HALF_FACTOR, value * HALF_FACTOR);
  }

  /* The constant that moves the middle of the range of a row's sum to zero. */
  static __device__ __forceinline__ T
  less (const TermsRow &row)
  {
    const float middle = (float) (BYTE_CENTER * (2 * row.outer + row.middle));

    return pack_halves (
        middle * -0x1p-24f * HALF_FACTOR, middle * -0x1p-24f * HALF_FACTOR);
  }

  static __device__ __forceinline__ T
  add (T a, T b)
  {
    return add_halves (a, b);
  }

  static __device__ __forceinline__ T
  subtract (T a, T b)
  {
    return subtract_halves (a, b);
  }

  static __device__ __forceinline__ T
  multiply (T a, T b)
  {
    return multiply_halves (a, b);
  }

  static __device__ __forceinline__ T
  multiply_add (T a, T b, T c)
  {
    return multiply_add_halves (a, b, c);
  }
};

/* A float: its 24 bits hold all sums exactly. */
struct Single
{
  typedef float T;

  static __device__ __forceinline__ T
  factor (int value)
  {
    return value * FLOAT_FACTOR;
  }

  static __device__ __forceinline__ T
  less (const TermsRow &)
  {
    return 0.0f;
  }

  static __device__ __forceinline__ T
  add (T a, T b)
  {
    return a + b;
  }

  static __device__ __forceinline__ T
  subtract (T a, T b)
  {
    return a - b;
  }

  static __device__ __forceinline__ T
  multiply (T a, T b)
  {
    return a * b;
  }

  static __device__ __forceinline__ T
  multiply_add (T a, T b, T c)
  {
    return __fmaf_rn (a, b, c);
  }
};

/* The integers of a plane, and the sums that are kept of the rows above, for SAMPLES samples or
 * pairs of samples. */
template <typename N, SepconvCombine KIND, int SAMPLES> struct ThreeSums
{
  typedef typename N::T T;

  T outer[2], middle[2], less[2];
  /* For gradients: D and S of two rows. For SUM: first[0] is U above + M, second[0] is U. */
  T first[2][SAMPLES], second[2][SAMPLES];

  __device__ __forceinline__ void
  begin (const TermsRow (&row)[2])
  {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      outer[i] = N::factor (row[i].outer);
      middle[i] = N::factor (row[i].middle);
      less[i] = N::less (row[i]);
#pragma unroll
      for (int k = 0; k < SAMPLES; k++)
        first[i][k] = second[i][k] = T ();
    }
  }

  __device__ __forceinline__ T
  along (int i, T sides, T center) const
  {
    return N::multiply_add (
        middle[i], center, N::multiply_add (outer[i], sides, less[i]));
  }

  /* Takes in samples of the next row and their neighbours. Sets x and y (for SUM, only x) of the
   * row that they complete. */
  __device__ __forceinline__ void
  take (int k, T left, T center, T right, T &x, T &y)
  {
    const T sum = along (1, N::add (left, right), center);

    if constexpr (KIND == SEPCONV_SUM) {
      x = N::add (first[0][k], sum);
      first[0][k] =
          N::add (second[0][k], along (0, N::add (left, right), center));
      second[0][k] = sum;
    } else {
      const T across = N::subtract (right, left);

      x = N::multiply_add (middle[0], first[1][k],
          N::multiply (outer[0], N::add (first[0][k], across)));
      y = N::subtract (sum, second[0][k]);
      first[0][k] = first[1][k];
      first[1][k] = across;
      second[0][k] = second[1][k];
      second[1][k] = sum;
    }
  }
};

/* Samples of one byte, two at a time: pair 2k is bytes 4k and 4k + 2 of the thread's bytes; pair
 * 2k+1 is bytes 4k + 1 and 4k + 3. */
template <SepconvCombine KIND, int C> struct ThreeOfBytes : ThreeRow<1, C>
{
  typedef ThreeRow<1, C> Row;
  static constexpr int PAIRS = 2 * OWN_WORDS;

  ThreeSums<Halves, KIND, PAIRS> sums;

  __device__ __forceinline__ void
  begin (const TermsThreePlane &plane, int first_byte)
  {
    Row::begin_row (
        plane, first_byte, KIND == SEPCONV_DIRECTION ? 0.0f : 1024.0f);
    sums.begin (plane.row);
  }

  static __device__ __forceinline__ constexpr int
  byte_of_pair (int i)
  {
    return i / 2 * 4 + i % 2;
  }

  /* Bytes i and i + 2, counted from one word left of the thread's own. */
  static __device__ __forceinline__ uint32_t
  pair_at (const uint32_t (&even)[Row::WORDS],
      const uint32_t (&odd)[Row::WORDS], int i)
  {
    const uint32_t (&from)[Row::WORDS] = i % 2 == 0 ? even : odd;

    return i % 4 < 2 ? from[i / 4]
                     : __byte_perm (from[i / 4], from[i / 4 + 1], 0x5432);
  }

  /* Codes of two results, the first of which is byte i of the thread's bytes. */
  __device__ __forceinline__ uint32_t
  codes_of (uint32_t x, uint32_t y, int i) const
  {
    const float start[] = { Row::start[i % C], Row::start[(i + 2) % C] };
    float value[2];

    if constexpr (KIND == SEPCONV_DIRECTION) {
      float across[2];

      floats_of_halves (x, value[0], value[1]);
      floats_of_halves (y, across[0], across[1]);
#pragma unroll
      for (int k = 0; k < 2; k++)
        value[k] = __fmaf_rn (256.0f,
            quick_turns_or<false> (across[k], value[k], start[k]), 1024.0f);
      /* The lowest byte of 1024 + code is the code; for a whole turn it is 0. */
      return pack_halves (value[0], value[1]);
    }
    if (KIND == SEPCONV_MAGNITUDE)
      x = multiply_add_halves (x, x, multiply_halves (y, y));
    floats_of_halves (x, value[0], value[1]);
#pragma unroll
    for (int k = 0; k < 2; k++)
      value[k] = __fmaf_rn (Row::scale,
          KIND == SEPCONV_MAGNITUDE ? approximate_root (value[k]) : value[k],
          start[k]);
    return codes_of_halves (
        pack_halves_above_zero (value[0], value[1]), 0x00ff00ffu);
  }

  template <bool COMPLETES>
  __device__ __forceinline__ void
  take_row (const uint8_t *own, uint2 (&value)[OWN_BYTES / 8])
  {
    uint32_t word[Row::WORDS], even[Row::WORDS], odd[Row::WORDS];
    uint32_t codes[PAIRS], result[OWN_WORDS];

    Row::load (own, word);
#pragma unroll
    for (int i = 0; i < Row::WORDS; i++) {
      even[i] = __byte_perm (word[i], 0, 0x4240);
      odd[i] = __byte_perm (word[i], 0, 0x4341);
    }
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      const int at = 4 + byte_of_pair (i);
      uint32_t x, y = 0;

      sums.take (i, pair_at (even, odd, at - C), pair_at (even, odd, at),
          pair_at (even, odd, at + C), x, y);
      if constexpr (COMPLETES)
        codes[i] = codes_of (x, y, byte_of_pair (i));
    }
    if constexpr (COMPLETES) {
#pragma unroll
      for (int i = 0; i < OWN_WORDS; i++)
        result[i] = __byte_perm (codes[2 * i], codes[2 * i + 1], 0x6240);
      Row::put (result, value);
    }
    Row::hold (word);
  }
};

/* Samples of two bytes. */
template <SepconvCombine KIND, int C> struct ThreeOfWords : ThreeRow<2, C>
{
  typedef ThreeRow<2, C> Row;
  static constexpr int SAMPLES = OWN_BYTES / 2;

  ThreeSums<Single, KIND, SAMPLES> sums;
  float full; /* the largest code */
  uint32_t mask;
  int shift;

  __device__ __forceinline__ void
  begin (const TermsThreePlane &plane, int first_byte)
  {
    Row::begin_row (plane, first_byte, 0.0f);
    sums.begin (plane.row);
    full = (float) plane.strip.max_code;
    mask = plane.mask;
    shift = plane.strip.shift;
  }

  /* The code of a result in the low bits; only the bits of `full` count. */
  __device__ __forceinline__ uint32_t
  code_from (float x, float y, float start) const
  {
    if constexpr (KIND == SEPCONV_DIRECTION)
      /* A whole turn is code 0. */
      return __float_as_uint (__fmaf_rn (
                 full + 1.0f, quick_turns_or<true> (y, x, start), 0x1p23f))
          & (uint32_t) full;
    if (KIND == SEPCONV_MAGNITUDE)
      x = approximate_root (__fmaf_rn (x, x, y * y));
    return code_of (__saturatef (__fmaf_rn (Row::scale, x, start)), full);
  }

  template <bool COMPLETES>
  __device__ __forceinline__ void
  take_row (const uint8_t *own, uint2 (&value)[OWN_BYTES / 8])
  {
    uint32_t word[Row::WORDS], code[SAMPLES], result[OWN_WORDS];
    float sample[2 * Row::WORDS];

    Row::load (own, word);
#pragma unroll
    for (int i = 0; i < 2 * Row::WORDS; i++)
      sample[i] = subnormal<2> (word[i / 2] & mask, i % 2);
#pragma unroll
    for (int i = 0; i < SAMPLES; i++) {
      const int at = 2 * Row::HALO + i;
      float x, y = 0.0f;

      sums.take (i, sample[at - C], sample[at], sample[at + C], x, y);
      if constexpr (COMPLETES)
        code[i] = code_from (x, y, Row::start[i % C]);
    }
    if constexpr (COMPLETES) {
#pragma unroll
      for (int i = 0; i < OWN_WORDS; i++)
        result[i] = join_pair (code[2 * i], code[2 * i + 1], shift);
      Row::put (result, value);
    }
    Row::hold (word);
  }
};

template <int BYTES, SepconvCombine KIND, int C> struct Three
{
  typedef ThreeOfBytes<KIND, C> Type;
};

template <SepconvCombine KIND, int C> struct Three<2, KIND, C>
{
  typedef ThreeOfWords<KIND, C> Type;
};

#endif
