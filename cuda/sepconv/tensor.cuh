/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor: the common part of the methods on tensor cores.
 *
 * For 16 neighbouring results, a pass is a product with a banded Toeplitz matrix of taps, cut into
 * steps of 16 x 16 (TENSOR_STEP):
 *
 *   results [16] = sum over k of taps_k [16][16] * samples_k [16]
 *
 * One product covers 8 columns or rows of the image. The matrices taps_k are the same for a whole
 * plane: the host writes them as fragments, in lane order.
 *
 * A code v of up to 10 bits becomes the FP16 value 1024 + v without arithmetic: as FP16, the bits
 * 0x6400 | v are that value. The start value of the sums subtracts 1024 and the center again. A tap
 * is one FP16 value, or the sum of two (its parts) where one is too coarse. Accumulators are FP32;
 * sums between the passes are FP16: tensor_supports_spec() bounds the error. Deeper codes are sums
 * of two FP16 values: tensor-deep-samples.cuh. */
#pragma once

#include "method.h"

#include "instructions.cuh"
#include "tensor-deep-loss.h"

#include <cuda_fp16.h>
#include <string.h>

#define TENSOR_STEP 16 /* pixels or rows of one product */
#define TENSOR_MAX_PARTS 2
#define TENSOR_LANES 32

/* Largest shift of codes in samples of two bytes. Two such samples are shifted right as one word:
 * with a shift of at most 6, the bits that leave the upper sample arrive at bit 10 or above of the
 * lower one, above its code. */
#define TENSOR_MAX_SHIFT 6

/* Added to results that become FP16: from 1024 to 2048, the FP16 values are the integers. */
#define TENSOR_ABOVE 1024

/* Number of steps that a pass over a plane takes, for the longer one of its axes; nx and ny are the
 * numbers of taps. */
typedef int (*TensorSteps) (const ImagePlane *shape, int nx, int ny);

/* The bits of the FP16 value nearest to `value`. */
static inline uint32_t
tensor_half_bits (double value)
{
  const __half half = __double2half (value);
  uint16_t bits;

  memcpy (&bits, &half, sizeof bits);
  return bits;
}

/* Number of steps for n taps, where the window begins with the first tap of its first result. */
static inline int
tensor_steps_of_taps (int n)
{
  return (n + TENSOR_STEP - 1 + TENSOR_STEP - 1) / TENSOR_STEP;
}

/* Most bits of a sample that one FP16 value holds. */
#define TENSOR_HALF_DEPTH 10

/* Whether the layout's samples are deep: they have more than TENSOR_HALF_DEPTH bits, so that each
 * is a sum of two FP16 values. Kernels may treat shallower samples of two bytes as deep, too, where
 * one FP16 value is too coarse for the sums. */
bool tensor_is_deep (const Image *layout);

/* Whether FP16 taps and samples are accurate enough for the spec, and no plane takes more than
 * `most` steps; if not, `why` has the reason. `deep`: whether deep samples are allowed. */
bool tensor_supports_spec (const SepconvSpec *spec, const Image *layout,
    TensorSteps steps, int most, bool deep, Fault *why);
/* Number of FP16 values that each tap needs, the most over the plan's planes; the plan's spec must
 * be supported. */
int tensor_parts (const SepconvPlan *plan, TensorSteps steps);

/* An upper bound of the error of one term, in code values before the last rounding. `offset`: upper
 * bound of everything else that the sums along y contain. Row sums that FP16 holds exactly, such as
 * sums of small integers, lose nothing. */
double tensor_error_bound (const ImagePlane *shape, const Taps *x,
    const Taps *y, double offset, int steps, int parts);

/* The same where samples, of sizes up to `center`, and taps are FP16 hi/lo splits, and the product
 * lo * lo is left out. Products with a lo factor are added before the products hi * hi. The row
 * pass's result is split again. */
double tensor_split_error_bound (
    const Taps *x, const Taps *y, double center, double offset, int steps);

/* The same for deep samples, where the sizes of the taps along x add up to less than 2, and nothing
 * is added to the sums. Writes to `sum` an upper bound of the size of the sums. */
double tensor_deep_error_bound (const ImagePlane *shape, const Taps *x,
    const Taps *y, int steps, double *sum);
/* The largest error that results of a depth may have before they are rounded, in code values. */
double tensor_allowed_error (int depth);

/* Which of 16 neighbouring pixels is row or column i of a matrix, chosen so that the bytes of one
 * register lie together in memory. */
int tensor_pixel_of (int i, int channels, int sample_bytes);
/* Writes the fragments of one axis, [step][part][lane]. Row i of a matrix is pixel result[i],
 * column i is pixel window[i] of 16. `first`, at most 0, is the index of the tap by which pixel 0
 * of the result weights pixel 0 of the window. */
void tensor_write_fragments (const Taps *taps, int first, int steps, int parts,
    const int *result, const int *window, uint4 *to);
/* The same for windows of three steps, whose outer steps have taps only in the halves next to the
 * middle step. It writes two steps: first the two outer ones folded into one, in which each pixel
 * has the tap of the outer step that it comes from, then the middle one. */
void tensor_write_folded (const Taps *taps, int first, int parts,
    const int *result, const int *window, uint4 *to);
/* tensor_write_fragments() for deep samples; `as` says how taps are split. */
void tensor_write_deep (const Taps *taps, const TensorDeepTaps *as, int first,
    int steps, const int *result, const int *window, uint4 *to);
/* tensor_deep_start() for these taps and the plane's depth. */
float tensor_deep_start_of (
    const Taps *taps, const TensorDeepTaps *as, const ImagePlane *shape);

/* How samples of a plane are split into two FP16 values, and how results are packed: see
 * tensor-deep-samples.cuh. */
struct TensorDeepPlane
{
  /* For two samples in a word. The upper bits of both codes, as FP16: (word >> shift & upper_mask)
   * times upper_factor. The lower bits stay in place: word & lower_mask. */
  int shift;
  uint32_t upper_mask, upper_factor, lower_mask;
  /* Added to a sum and subtracted again, it leaves the upper FP16 part of the sum. */
  float round_upper;
  float unit; /* factor of results: 1 / max_code */
  /* Selectors of __byte_perm() for a pixel of four channels: `in` puts the channels into the order
   * of their places in arithmetic, `out` puts them back. */
  uint32_t in[2], out[2];
};

/* Fills in a TensorDeepPlane. The places of four channels begin with channel `first` and go
 * round. */
TensorDeepPlane tensor_describe_deep (const ImagePlane *shape, int first);

/* The sum of the taps, each rounded to `parts` FP16 values. */
double tensor_sum_of_taps (const Taps *taps, int parts);
/* The start value of row sums with these taps: it subtracts 1024 and the center from each
 * sample. */
float tensor_sums_start (const Taps *taps, int parts, const ImagePlane *shape);

/* The places that a pixel's four channels have in arithmetic, as selectors of __byte_perm(): `in`
 * takes the bytes of places 0 and 1, and of 2 and 3, from two pixels; `out` puts the bytes of one
 * pixel back into channel order. */
struct TensorOrder
{
  uint32_t in[2], out;
};

/* The places of four channels begin with channel `first` and go round. */
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

/* The channel at a place. */
static __host__ __device__ constexpr int
tensor_channel (const TensorOrder &order, int place)
{
  return (int) (order.in[place / 2] >> place % 2 * 8 & 3);
}

static_assert (tensor_order ().in[0] == 0x5140
        && tensor_order ().in[1] == 0x7362 && tensor_order ().out == 0x3210,
    "bytes are counted from 0 in the first pixel or pair, from 4 in the second");

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Operand of __byte_perm() with the high bytes that make FP16 values 1024 + byte of two bytes. */
#define HALVES_OF_BYTES 0x64646464u

/* Mask of two 10-bit codes in a register. */
#define CODES 0x03ff03ffu

/* Two samples of two bytes as FP16 values 1024 + code. */
__device__ __forceinline__ uint32_t
halves_of_codes (uint32_t samples, int shift)
{
  return ((samples >> shift) & CODES) | 0x64006400u;
}

/* Loads this lane's part of chunks i and i + 1 of 16 rows: chunk[0] gets the upper 8 rows, chunk[1]
 * the lower 8. */
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

/* The same for chunk i alone. */
template <int N>
__device__ __forceinline__ void
load_one_chunk (uint32_t (&chunk)[2][N], int i, const uint8_t *at)
{
  uint32_t m[2];

  load_matrices (m, at);
  chunk[0][i] = m[0];
  chunk[1][i] = m[1];
}

/* The right factors (B fragments) of one block of 16 pixels, for each channel, from this lane's
 * part of the chunks of 8 rows. */
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

/* The same for a single one of four channels, by two selectors of __byte_perm(): `first` makes an
 * FP16 value of the first of two pixels, `second` adds the second pixel to that register. */
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

/* The bias that results have beside their offset. It is 0 where single bytes are packed from floats
 * directly, else TENSOR_ABOVE. PACKS, here and below: bytes are packed directly if the GPU has an
 * instruction for that, not by way of FP16. */
template <int BYTES, bool PACKS>
__device__ __forceinline__ constexpr float
tensor_above ()
{
  return BYTES == 1 && PACKS && PACKS_BYTES ? 0.0f : TENSOR_ABOVE;
}

/* Packs four results into the bytes of a word: neighbours of one channel, or whole pixels. */
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

/* The inverse of split_channels(): this lane's part of the chunks of 8 rows of one block's results.
 * Each result is its code plus tensor_above(). result[channel][0..1] are two neighbouring rows or
 * columns of the matrix, from 2t on (t as in instructions.cuh), and [2..3] are 8 further.
 * `max_code` is used for samples of two bytes only. */
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
