/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-encode: the encoder from results of light-tensor to bytes. */
#pragma once

#include "light-decode.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* A result is a float: its code of light plus LIGHT_ENCODE_ABOVE. S: its LightShape. */
template <typename S> struct LightEncoder
{
  static constexpr float LEAST = LIGHT_ENCODE_ABOVE;
  static constexpr float MOST = LIGHT_ENCODE_ABOVE + LIGHT_CODES - 1;
  /* Floats from here on are integers; adding it to a number rounds the number into the low
   * bits. */
  static constexpr float INTEGERS = 0x1p23f;

  const LightTensorFrame &frame;
  const uint32_t *table;

  __device__ __forceinline__
  LightEncoder (const LightTensorFrame &frame, const uint8_t *shared)
      : frame (frame), table ((const uint32_t *) (shared + S::ENCODE_AT))
  {
  }

  /* Starts to copy the table to shared memory. */
  __device__ __forceinline__ void
  begin (uint8_t *shared) const
  {
#pragma unroll 1
    for (int i = threadIdx.x; i < S::ENCODE_BYTES / 16; i += STRIP_THREADS)
      copy_async (
          shared + S::ENCODE_AT + 16 * i, (const uint4 *) frame.encode + i, 16);
  }

  /* The code of a result in [LEAST, MOST], in the low byte; the other bits are undefined. */
  __device__ __forceinline__ uint32_t
  look_up (float result) const
  {
    const uint32_t bits = __float_as_uint (result);
    const uint32_t entry =
        table[(bits >> LIGHT_ENCODE_SHIFT) - LIGHT_ENCODE_FIRST];

    return (bits << 16 | 0xffff) >= entry ? entry >> 8 : entry;
  }

  static __device__ __forceinline__ float
  limit (float result)
  {
    return fminf (fmaxf (result, LEAST), MOST);
  }

  __device__ __forceinline__ uint32_t
  encode (float result) const
  {
    return look_up (limit (result));
  }

  /* YUV: g of light.h of a result. */
  __device__ __forceinline__ float
  level (float result) const
  {
    const float q = limit (result) + INTEGERS - INTEGERS;
    const LightLine &line =
        ((const LightLine *) table)[(__float_as_uint (q) >> LIGHT_ENCODE_SHIFT)
            - LIGHT_ENCODE_FIRST];

    return __fmaf_rn (line.slope, q, line.at_zero);
  }

  /* The nearest code of Y, in the low byte, from g of light.h. */
  __device__ __forceinline__ uint32_t
  luma (float r, float g, float b) const
  {
    return __float_as_uint (
        light_weigh (&frame.matrix.to_y, r, g, b) + INTEGERS);
  }

  /* The nearest code of chroma, in the low byte. Before rounding, the value may exceed the
   * largest code by half a code. */
  static __device__ __forceinline__ uint32_t
  round_chroma (float code)
  {
    return __float_as_uint (fminf (code, 255.0f) + INTEGERS);
  }

  /* light_divide() of q by alpha; `reciprocal` is 65535 / alpha but for its last digits. */
  static __device__ __forceinline__ uint32_t
  divide (float q, uint32_t alpha, float reciprocal)
  {
    const uint32_t code = __float_as_uint (q) & 0xffff;
    const float about = (q - INTEGERS) * reciprocal;
    uint32_t quotient = __float_as_uint (about + INTEGERS) & 0xffff;
    const int rest = (int) (code * 65535u + alpha / 2 - quotient * alpha);

    if (rest < 0)
      quotient--;
    if (rest >= (int) alpha)
      quotient++;
    return code >= alpha ? 65535u : quotient;
  }

  /* The four bytes of a pixel, from its colours and alpha, and its pixel in the source. */
  __device__ __forceinline__ uint32_t
  encode_pixel (const float (&result)[S::C], uint32_t from) const
  {
    uint32_t code[3], last = __byte_perm (from, 0, frame.in[3]);

    if constexpr (S::FORM == LIGHT_WEIGHTED) {
      const float a = limit (result[3]) + (INTEGERS - LEAST);
      const uint32_t alpha = __float_as_uint (a) & 0xffff;
      /* For alpha 0 the quotients are not used. */
      const float reciprocal =
          65535.0f * approximate_reciprocal (fmaxf (a - INTEGERS, 1.0f));

      if (frame.write_alpha)
        last = light_multiply (255, alpha);
#pragma unroll
      for (int c = 0; c < 3; c++) {
        const uint32_t q =
            divide (limit (result[c]) + (INTEGERS - LEAST), alpha, reciprocal);

        code[c] = look_up (alpha == 0 ? LEAST : (float) q + LEAST);
      }
    } else if constexpr (S::FORM == LIGHT_YUV) {
      const float r = level (result[0]), g = level (result[1]);
      const float b = level (result[2]);

      code[0] = luma (r, g, b);
      code[1] = round_chroma (light_weigh (&frame.matrix.to_cb, r, g, b));
      code[2] = round_chroma (light_weigh (&frame.matrix.to_cr, r, g, b));
    } else {
#pragma unroll
      for (int c = 0; c < 3; c++)
        code[c] = encode (result[c]);
    }
    return __byte_perm (__byte_perm (code[0], code[1], 0x40),
        __byte_perm (code[2], last, 0x40), frame.out);
  }
};

#endif
