/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor: what the methods share that run on tensor cores.
 *
 * A pass over TENSOR_STEP neighbours is a product with a banded Toeplitz matrix of
 * taps, cut into steps of 16 x 16:
 *
 *   results [16] = sum over k of taps_k [16][16] * samples_k [16]
 *
 * for 8 columns or rows of the image at a time. The matrices taps_k are the same all
 * over a plane: the host writes them as fragments, in the order of the lanes.
 *
 * A code v of up to 10 bits enters as the half 1024 + v, its bits 0x6400 | v, without arithmetic; the
 * start value of the sums takes 1024 and the centre off again. Taps are halves, or
 * sums of two halves (parts) where one is too coarse. Accumulators are single
 * precision, sums between the passes are halves: tensor_supports_spec() bounds the
 * error. Deeper codes are sums of two halves: tensor-deep-samples.cuh. */
#pragma once

#include "method.h"

#include "instructions.cuh"
#include "tensor-deep-loss.h"

#include <cuda_fp16.h>
#include <string.h>

#define TENSOR_STEP 16 /* pixels or rows of one product */
#define TENSOR_MAX_PARTS 2
#define TENSOR_LANES 32

/* Two samples of two bytes are shifted as one number: with ten bits from here on, what
 * comes down from the upper one lies above the lower one's code. */
#define TENSOR_MAX_SHIFT 6

/* Added to results that become halves: those are integers from here to twice as much. */
#define TENSOR_ABOVE 1024

/* The products in a row that a pass over a plane takes, the larger of both axes. */
typedef int (*TensorSteps) (const ImagePlane *shape, int nx, int ny);

/* The bits of the half nearest to a value. */
static inline uint32_t
tensor_half_bits (double value)
{
  const __half half = __double2half (value);
  uint16_t bits;

  memcpy (&bits, &half, sizeof bits);
  return bits;
}

/* The steps of a window that begins with the first of n taps. */
static inline int
tensor_steps_of_taps (int n)
{
  return (n + TENSOR_STEP - 1 + TENSOR_STEP - 1) / TENSOR_STEP;
}

/* The most bits of a sample that is one half. */
#define TENSOR_HALF_DEPTH 10

/* Whether the layout's samples are deep: have more bits, and must be sums of two halves. Others of two
 * bytes may be, too, if one half is too coarse for what is summed. */
bool tensor_is_deep (const Image *layout);

/* Whether halves hold the spec's taps and samples, when no plane takes more than
 * `most` steps; `deep`: samples may be deep, as sums of two halves. */
bool tensor_supports_spec (const SepconvSpec *spec, const Image *layout,
    TensorSteps steps, int most, bool deep, Fault *why);
/* The halves that a tap needs in the plan's planes, whose spec is supported. */
int tensor_parts (const SepconvPlan *plan, TensorSteps steps);

/* An upper bound of the error of one term in code values before the last rounding, where sums along y
 * are in range of `offset` and what the term adds. Sums of rows that are exact as halves, as
 * those of small integers are, lose nothing. */
double tensor_error_bound (const ImagePlane *shape, const Taps *x,
    const Taps *y, double offset, int steps, int parts);

/* The same where values up to `center` are sums of two halves, as taps are, and the products of both
 * low halves are left out. Of the others all are added that have a low half before those that have
 * none. What the row's pass makes becomes two halves again. */
double tensor_split_error_bound (
    const Taps *x, const Taps *y, double center, double offset, int steps);

/* The same of deep samples, with taps along x whose sizes add up to less than 2, and nothing added to
 * the sums. `sum`: what those are up to. */
double tensor_deep_error_bound (const ImagePlane *shape, const Taps *x,
    const Taps *y, int steps, double *sum);
/* What results of a depth may be off by before they are rounded. */
double tensor_allowed_error (int depth);

/* Which of 16 neighbouring pixels has row or column i of a matrix, when the bytes of
 * one register are those that lie together in memory. */
int tensor_pixel_of (int i, int channels, int sample_bytes);
/* Writes the fragments of one axis, [step][part][lane]. `first` is the tap that pixel
 * 0 of the window has for pixel 0 of the result, at most 0; row i of a matrix is pixel
 * result[i], column i pixel window[i] of 16. */
void tensor_write_fragments (const Taps *taps, int first, int steps, int parts,
    const int *result, const int *window, uint4 *to);
/* Those of windows of three steps, of whose outer steps only the nearer halves have taps: the
 * first and the third step as one, each pixel's from the step that it is of, then the second. */
void tensor_write_folded (const Taps *taps, int first, int parts,
    const int *result, const int *window, uint4 *to);
/* tensor_write_fragments() of taps of deep samples. */
void tensor_write_deep (const Taps *taps, const TensorDeepTaps *as, int first,
    int steps, const int *result, const int *window, uint4 *to);
/* tensor_deep_start() of a plane. */
float tensor_deep_start_of (
    const Taps *taps, const TensorDeepTaps *as, const ImagePlane *shape);

/* What the samples of a plane are taken apart by, and results put together, where they are
 * sums of two halves: see tensor-deep-samples.cuh. */
struct TensorDeepPlane
{
  /* Of two samples in a word: the upper bits of both codes, after a shift, and what those are
   * multiplied by, as halves; the lower bits in their place. */
  int shift;
  uint32_t upper_mask, upper_factor, lower_mask;
  /* Added to sums and taken off again, it leaves the upper half of each. */
  float round_upper;
  float unit; /* of results: 1 / max_code */
  /* Selectors of __byte_perm(): a pixel of four channels in the order of their places, and
   * the way back. */
  uint32_t in[2], out[2];
};

/* Of a plane's samples; those of four channels have places in the order from `first` on. */
TensorDeepPlane tensor_describe_deep (const ImagePlane *shape, int first);

/* What taps add up to as halves. */
double tensor_sum_of_taps (const Taps *taps, int parts);
/* The start value of sums with these taps. */
float tensor_sums_start (const Taps *taps, int parts, const ImagePlane *shape);

/* Which of a pixel's four channels has which place in arithmetic, as the selectors of
 * __byte_perm(): `in` takes the bytes of places 0 and 1, 2 and 3 from two pixels, `out`
 * puts those of one pixel back. */
struct TensorOrder
{
  uint32_t in[2], out;
};

/* The channels in turn, from `first` on and round. */
static __host__ __device__ constexpr TensorOrder
tensor_order (int first = 0)
{
  TensorOrder order = {};

  for (int place = 0; place < 4; place++) {
    const int channel = (first + place) % 4;

    order.in[place / 2] |= (uint32_t) (channel | (channel + 4) << 4)
        << place % 2 * 8;
    order.out |= (uint32_t) place << channel * 4;
  }
  return order;
}

/* The channel that has a place. */
static __host__ __device__ constexpr int
tensor_channel (const TensorOrder &order, int place)
{
  return (int) (order.in[place / 2] >> place % 2 * 8 & 3);
}

static_assert (tensor_order ().in[0] == 0x5140
        && tensor_order ().in[1] == 0x7362 && tensor_order ().out == 0x3210,
    "bytes are counted from 0 in the first pixel or pair, from 4 in the second");

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Bytes a and b of a register, or of two, as the halves 1024 + byte. */
#define HALVES_OF_BYTES 0x64646464u

/* Where two codes are in a register. */
#define CODES 0x03ff03ffu

/* The codes of two samples of two bytes as the halves 1024 + code. */
__device__ __forceinline__ uint32_t
halves_of_codes (uint32_t samples, int shift)
{
  return ((samples >> shift) & CODES) | 0x64006400u;
}

/* Loads this lane's part of chunk i of 16 rows, and of the one after it: chunk[0] is of the
 * upper 8 rows, chunk[1] of the lower. */
template <int N>
__device__ __forceinline__ void
load_two_chunks (uint32_t (&chunk)[2][N], int i, const uint8_t *at)
{
  uint32_t m[4];

  load_matrices (m, at);
  chunk[0][i] = m[0];
  chunk[1][i] = m[1];
  chunk[0][i + 1] = m[2];
  chunk[1][i + 1] = m[3];
}

/* The same of chunk i alone. */
template <int N>
__device__ __forceinline__ void
load_one_chunk (uint32_t (&chunk)[2][N], int i, const uint8_t *at)
{
  uint32_t m[2];

  load_matrices (m, at);
  chunk[0][i] = m[0];
  chunk[1][i] = m[1];
}

/* The right factors of one block of 16 pixels, for each channel, from the chunks
 * that this lane has of 8 rows. */
template <int BYTES, int C>
__device__ __forceinline__ void
split_channels (const uint32_t *chunk, int shift, uint32_t (&low)[C],
    uint32_t (&high)[C], const TensorOrder &order = tensor_order ())
{
  uint32_t *const half[2] = { low, high };

  if constexpr (BYTES == 1 && C == 1) {
    low[0] = __byte_perm (chunk[0], HALVES_OF_BYTES, 0x4140);
    high[0] = __byte_perm (chunk[0], HALVES_OF_BYTES, 0x4342);
  } else if constexpr (BYTES == 1 && C == 2) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      half[i][0] = __byte_perm (chunk[i], HALVES_OF_BYTES, 0x4240);
      half[i][1] = __byte_perm (chunk[i], HALVES_OF_BYTES, 0x4341);
    }
  } else if constexpr (BYTES == 1) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const uint32_t a = chunk[2 * i], b = chunk[2 * i + 1];
      const uint32_t first = __byte_perm (a, b, order.in[0]);
      const uint32_t second = __byte_perm (a, b, order.in[1]);

      half[i][0] = __byte_perm (first, HALVES_OF_BYTES, 0x4140);
      half[i][1] = __byte_perm (first, HALVES_OF_BYTES, 0x4342);
      half[i][2] = __byte_perm (second, HALVES_OF_BYTES, 0x4140);
      half[i][3] = __byte_perm (second, HALVES_OF_BYTES, 0x4342);
    }
  } else if constexpr (C == 1) {
    low[0] = halves_of_codes (chunk[0], shift);
    high[0] = halves_of_codes (chunk[1], shift);
  } else {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const uint32_t a = chunk[2 * i], b = chunk[2 * i + 1];

      half[i][0] = halves_of_codes (__byte_perm (a, b, 0x5410), shift);
      half[i][1] = halves_of_codes (__byte_perm (a, b, 0x7632), shift);
    }
  }
}

/* The same for one of four channels, as selectors of __byte_perm(): one for the first of
 * two pixels, and one for the second with what that gave. */
struct TensorSelectors
{
  uint32_t first, second;

  __device__ __forceinline__ void
  select (int channel)
  {
    first = 0x40 | channel;
    second = 0x1010 | (4 + channel) << 8;
  }

  __device__ __forceinline__ uint32_t
  halves_of (uint32_t a, uint32_t b) const
  {
    return __byte_perm (__byte_perm (a, HALVES_OF_BYTES, first), b, second);
  }

  __device__ __forceinline__ void
  split (const uint32_t *chunk, uint32_t &low, uint32_t &high) const
  {
    low = halves_of (chunk[0], chunk[1]);
    high = halves_of (chunk[2], chunk[3]);
  }
};

/* What results are to begin with beside their offset. PACKS, here and below: single bytes
 * are packed from floats, if there is an instruction for that, and not by way of halves. */
template <int BYTES, bool PACKS>
__device__ __forceinline__ constexpr float
tensor_above ()
{
  return BYTES == 1 && PACKS && PACKS_BYTES ? 0.0f : TENSOR_ABOVE;
}

/* The four results that lie together of one channel, or the one of four, as bytes. */
template <bool PACKS>
__device__ __forceinline__ uint32_t
join_bytes (float a, float b, float c, float d)
{
  if constexpr (PACKS && PACKS_BYTES) {
    return pack_bytes (a, b, pack_bytes (c, d, 0));
  } else {
    constexpr uint32_t most = 0x00ff00ffu;

    return __byte_perm (codes_of_halves (pack_halves_above_zero (a, b), most),
        codes_of_halves (pack_halves_above_zero (c, d), most), 0x6420);
  }
}

/* The other way: the chunks that this lane has of 8 rows of one block's results, each
 * tensor_above() more than its code; result[channel][0..1] being rows or columns 2t, 2t + 1
 * of the matrix, [2..3] those 8 further. `max_code` is of samples of two bytes. */
template <int BYTES, int C, bool PACKS>
__device__ __forceinline__ void
join_channels (const float (&result)[C][4], int shift, int max_code,
    uint32_t *chunk, const TensorOrder &order = tensor_order ())
{
  if constexpr (BYTES == 1 && C == 1) {
    chunk[0] = join_bytes<PACKS> (
        result[0][0], result[0][1], result[0][2], result[0][3]);
  } else if constexpr (BYTES == 1 && C == 2) {
#pragma unroll
    for (int i = 0; i < 2; i++)
      chunk[i] = join_bytes<PACKS> (result[0][2 * i], result[1][2 * i],
          result[0][2 * i + 1], result[1][2 * i + 1]);
  } else if constexpr (BYTES == 1) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      chunk[i] = __byte_perm (join_bytes<PACKS> (result[0][i], result[1][i],
                                  result[2][i], result[3][i]),
          0, order.out);
  } else {
    const uint32_t most = (uint32_t) max_code * 0x00010001u;
    uint32_t pair[C][2]; /* of codes */

#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        pair[c][i] = codes_of_halves (
            pack_halves_above_zero (result[c][2 * i], result[c][2 * i + 1]),
            most);
#pragma unroll
    for (int i = 0; i < 2; i++)
      if constexpr (C == 1) {
        chunk[i] = (pair[0][i] & CODES) << shift;
      } else {
        chunk[2 * i] = (__byte_perm (pair[0][i], pair[1][i], 0x5410) & CODES)
            << shift;
        chunk[2 * i + 1] =
            (__byte_perm (pair[0][i], pair[1][i], 0x7632) & CODES) << shift;
      }
  }
}

#endif
