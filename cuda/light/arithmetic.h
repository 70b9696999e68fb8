/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arithmetic: the formulas of light.h, for host and device. All but the floating point of
 * light_weigh() gives the same bits on both. Not a public header. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define LIGHT_FUNCTION static __host__ __device__ __forceinline__
#else
#define LIGHT_FUNCTION static inline __attribute__ ((always_inline))
#endif

/* Weights of a sum of red, green and blue g, and an offset that is added to it. */
typedef struct
{
  float r, g, b, offset;
} LightWeights;

/* The spec in numbers. */
typedef struct
{
  bool yuv, has_alpha, premultiply, write_alpha, neutral_chroma;
  int n_colors;     /* work planes of colour: 1 or 3 */
  int full;         /* the largest code of colour */
  int alpha_full;   /* of alpha */
  int sub_x, sub_y; /* pixels for a chroma sample */
  /* From YUV to indices of T. Factors are in units of 2^-fraction. */
  int black, neutral;
  bool wide;          /* sums need 64 bits */
  int fraction, last; /* last: N - 1 */
  int64_t y, red_cr, green_cb, green_cr, blue_cb;
  LightWeights luma, cb, cr; /* cb and cr have no offset */
} LightNumbers;

/* Clamps to [0, most], in two steps for which vector units have instructions. */
LIGHT_FUNCTION int
light_clamp (int value, int most)
{
  const int positive = value < 0 ? 0 : value;

  return positive > most ? most : positive;
}

/* round (c a / 65535): the sum of x / 65536 + x / 65536^2 + ... in two steps. */
LIGHT_FUNCTION uint32_t
light_multiply (uint32_t c, uint32_t a)
{
  const uint32_t x = c * a + 32768u;

  return (x + (x >> 16)) >> 16;
}

/* round (65535 q / alpha), at most 65535; 0 without alpha. */
LIGHT_FUNCTION uint32_t
light_divide (uint32_t q, uint32_t alpha)
{
  return alpha == 0 ? 0
      : q >= alpha  ? 65535u
                    : (q * 65535u + alpha / 2) / alpha;
}

/* An index of T, from a sum of products in units of 2^-fraction. */
LIGHT_FUNCTION int
light_index (const LightNumbers *numbers, int64_t sum)
{
  const int64_t index =
      (sum + ((int64_t) 1 << (numbers->fraction - 1))) >> numbers->fraction;

  return index < 0 ? 0 : index > numbers->last ? numbers->last : (int) index;
}

LIGHT_FUNCTION float
light_weigh (const LightWeights *weights, float r, float g, float b)
{
  return weights->r * r + weights->g * g + weights->b * b + weights->offset;
}

/* The code nearest to `value`, in [0, full]. */
LIGHT_FUNCTION int
light_round (float value, int full)
{
  return light_clamp ((int) (value + 0.5f), full);
}
