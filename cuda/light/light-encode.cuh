/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-encode: results of light-tensor as bytes. */
#pragma once

#include "light-decode.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* S: its LightShape. A result comes as a float, LIGHT_ENCODE_ABOVE more than its code of light. */
template <typename S> struct LightEncoder
{
  static constexpr float LEAST = LIGHT_ENCODE_ABOVE;
  static constexpr float MOST = LIGHT_ENCODE_ABOVE + LIGHT_CODES - 1;
  /* Above it, floats are integers, and the lower bits are those. */
  static constexpr float INTEGERS = 0x1p23f;

  const LightTensorFrame &frame;
  const uint32_t *table;

  __device__ __forceinline__
  LightEncoder (const LightTensorFrame &frame, const uint8_t *shared)
      : frame (frame), table ((const uint32_t *) (shared + S::ENCODE_AT))
  {
  }

  /* Starts to bring the table. */
  __device__ __forceinline__ void
  begin (uint8_t *shared) const
  {
#pragma unroll 1
    for (int i = threadIdx.x; i < S::ENCODE_BYTES / 16; i += STRIP_THREADS)
      copy_async (
          shared + S::ENCODE_AT + 16 * i, (const uint4 *) frame.encode + i, 16);
  }

  /* The code of a result from LEAST to MOST in the low byte, and above it nothing to rely on. */
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

  /* YUV: g of a result. */
  __device__ __forceinline__ float
  level (float result) const
  {
    const float q = limit (result) + INTEGERS - INTEGERS;
    const LightLine &line =
        ((const LightLine *) table)[(__float_as_uint (q) >> LIGHT_ENCODE_SHIFT)
            - LIGHT_ENCODE_FIRST];

    return __fmaf_rn (line.slope, q, line.at_zero);
  }

  /* The nearest code of Y in the low byte, from g. */
  __device__ __forceinline__ uint32_t
  luma (float r, float g, float b) const
  {
    return __float_as_uint (
        light_weigh (&frame.matrix.to_y, r, g, b) + INTEGERS);
  }

  /* The nearest code of chroma in the low byte; before it is rounded, it may be half a code above the
   * last one. */
  static __device__ __forceinline__ uint32_t
  round_chroma (float code)
  {
    return __float_as_uint (fminf (code, 255.0f) + INTEGERS);
  }

  /* light_divide() of q by alpha, whose reciprocal times 65535 is known but for its last digits. */
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

  /* The bytes of a pixel of four: from its colours and alpha, and the pixel of the source. */
  __device__ __forceinline__ uint32_t
  encode_pixel (const float (&result)[S::C], uint32_t from) const
  {
    uint32_t code[3], last = __byte_perm (from, 0, frame.in[3]);

    if constexpr (S::FORM == LIGHT_WEIGHTED) {
      const float a = limit (result[3]) + (INTEGERS - LEAST);
      const uint32_t alpha = __float_as_uint (a) & 0xffff;
      /* Of none, nothing that is divided by it counts. */
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
