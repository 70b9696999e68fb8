/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-decode: the sizes of a strip of light-tensor, and the decoder from a stage of bytes to
 * work planes in shared memory. These are the high FP16 parts of 16 rows of each channel, then
 * the low parts of each channel. */
#pragma once

#include "light-tensor.cuh"

static constexpr int
light_channels (LightForm form)
{
  return form == LIGHT_SINGLES ? 1 : form == LIGHT_WEIGHTED ? 4 : 3;
}

/* The sizes of a variant: its tiles, window and shared memory. */
template <int STEPS, LightForm KIND> struct LightShape
{
  static constexpr int KS = STEPS;
  static constexpr LightForm FORM = KIND;
  static constexpr int C = light_channels (FORM); /* of work planes */
  static constexpr bool IN_PLANES =
      FORM == LIGHT_CHROMA || FORM == LIGHT_CHROMA_2; /* planar YUV */
  static constexpr bool MATRIX = IN_PLANES || FORM == LIGHT_YUV;
  static constexpr int SUB_X = FORM == LIGHT_CHROMA_2 ? 2 : 1;
  /* Bytes of a pixel; of YUV in planes, of Y alone. */
  static constexpr int PIXEL = FORM == LIGHT_SINGLES || IN_PLANES ? 1 : 4;
  static constexpr int TILES = FORM == LIGHT_SINGLES ? 4 : C;
  static constexpr int BLOCKS = TILES / C; /* groups of 16 pixels of a warp */
  static constexpr int WARP_PIXELS = BLOCKS * TENSOR_STEP;
  static constexpr int PIXELS = STRIP_WARPS * WARP_PIXELS;
  /* Halos. REACH: pixels of a work plane left of the result. ABOVE: rows above it. READ_REACH:
   * pixels of a stage left of it, rounded up so that a stage begins at a multiple of 16 bytes. */
  static constexpr int REACH = TENSOR_STEP / 2 * (KS - 1);
  static constexpr int ABOVE = REACH;
  static constexpr int READ_REACH =
      strip_round_up (REACH * PIXEL, 16 * SUB_X) / PIXEL;
  /* Chunks of 16 bytes of a row. Rows of YUV in planes have Y, then Cb and Cr. */
  static constexpr int FIRST_CHUNKS = (PIXELS + 2 * READ_REACH) * PIXEL / 16;
  static constexpr int FIRST_OUT_CHUNKS = PIXELS * PIXEL / 16;
  static constexpr int CHUNKS = FIRST_CHUNKS * (IN_PLANES ? 1 + 2 / SUB_X : 1);
  static constexpr int PITCH = strip_pitch (CHUNKS);
  static constexpr int OUT_CHUNKS =
      FIRST_OUT_CHUNKS * (IN_PLANES ? 1 + 2 / SUB_X : 1);
  static constexpr int OUT_PITCH = strip_pitch (OUT_CHUNKS);
  static constexpr int WORK_PIXELS = PIXELS + 2 * REACH;
  static constexpr int WORK_PITCH = strip_pitch (WORK_PIXELS * 2 / 16);
  static constexpr int WORK_BYTES =
      STRIP_ROWS * WORK_PITCH; /* of one part of a channel */
  /* The previous stage is kept if bytes of the source are copied from it. */
  static constexpr bool KEEPS = PIXEL == 4;
  static constexpr int AHEAD = 3, STAGES = AHEAD + 1 + KEEPS;
  static constexpr int STAGE_BYTES = STRIP_ROWS * PITCH;
  static constexpr int OUT_BYTES = STRIP_ROWS * OUT_PITCH;
  /* Copies of the table of light, for different lanes, against bank conflicts. */
  static constexpr int COPIES = MATRIX ? 1 : FORM == LIGHT_SINGLES ? 16 : 8;
  static constexpr int FRAGMENTS =
      KS * LIGHT_PARTS * TENSOR_LANES; /* an axis */
  static constexpr int DECODE_BYTES =
      (MATRIX ? LIGHT_YUV_DECODE_ENTRIES : LIGHT_DECODE_ENTRIES) * COPIES
      * (int) sizeof (uint32_t);
  static constexpr int ENCODE_BYTES = LIGHT_ENCODE_ENTRIES
      * (int) (MATRIX ? sizeof (LightLine) : sizeof (uint32_t));
  static constexpr int WORK_AT = STAGES * STAGE_BYTES;
  static constexpr int OUTS_AT = WORK_AT + LIGHT_PARTS * C * WORK_BYTES;
  static constexpr int FRAGMENTS_AT = OUTS_AT + 2 * OUT_BYTES;
  static constexpr int DECODE_AT =
      FRAGMENTS_AT + 2 * FRAGMENTS * (int) sizeof (uint4);
  static constexpr int ENCODE_AT = DECODE_AT + DECODE_BYTES;
  static constexpr int SHARED = ENCODE_AT + ENCODE_BYTES;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* The FP16 hi/lo split of two numbers: each is the sum of its parts in `high` and in `low`. */
__device__ __forceinline__ void
light_split (float a, float b, uint32_t &high, uint32_t &low)
{
  high = pack_halves (a, b);
  low = pack_halves (a - half_of<0> (high), b - half_of<1> (high));
}

/* S: its LightShape. */
template <typename S> struct LightDecoder
{
  static constexpr int GROUPS = S::WORK_PIXELS / 4; /* of 4 pixels, in a row */

  const LightTensorFrame &frame;
  const uint32_t *table; /* the lane's copy */
  uint8_t *work;

  __device__ __forceinline__
  LightDecoder (const LightTensorFrame &frame, uint8_t *shared)
      : frame (frame), table ((const uint32_t *) (shared + S::DECODE_AT)
                           + threadIdx.x % S::COPIES),
        work (shared + S::WORK_AT)
  {
  }

  /* Copies the table to shared memory, or starts the copy. A barrier must follow. */
  __device__ __forceinline__ void
  begin (uint8_t *shared) const
  {
    uint4 *const to = (uint4 *) (shared + S::DECODE_AT);

#pragma unroll 1
    for (int i = threadIdx.x; i < S::DECODE_BYTES / 16; i += STRIP_THREADS)
      if constexpr (S::COPIES == 1) {
        copy_async (to + i, (const uint4 *) frame.decode + i, 16);
      } else {
        const uint32_t entry = frame.decode[4 * i / S::COPIES];

        to[i] = make_uint4 (entry, entry, entry, entry);
      }
  }

  __device__ __forceinline__ uint32_t
  light_of (uint32_t code) const
  {
    return table[code * S::COPIES];
  }

  /* YUV: the chroma part of the sums for red, green and blue; light_of_sum() adds Y's. */
  __device__ __forceinline__ void
  add_chroma (uint32_t cb, uint32_t cr, int (&sum)[3]) const
  {
    const LightMatrix &matrix = frame.matrix;

    sum[0] = matrix.red + matrix.red_cr * (int) cr;
    sum[1] =
        matrix.green + matrix.green_cb * (int) cb + matrix.green_cr * (int) cr;
    sum[2] = matrix.blue + matrix.blue_cb * (int) cb;
  }

  /* The table's entry for Y and a sum of chroma. */
  __device__ __forceinline__ uint32_t
  light_of_sum (uint32_t luma, int sum) const
  {
    return light_of ((uint32_t) light_clamp (
        (sum + frame.matrix.y * (int) luma) >> frame.matrix.fraction,
        frame.matrix.last));
  }

  /* Puts the high and low parts of 4 pixels of channel c to byte `at` of the work planes. */
  __device__ __forceinline__ void
  put (int c, int at, uint2 high, uint2 low) const
  {
    *(uint2 *) (work + c * S::WORK_BYTES + at) = high;
    *(uint2 *) (work + (S::C + c) * S::WORK_BYTES + at) = low;
  }

  __device__ __forceinline__ void
  put_entries (int c, int at, const uint32_t (&entry)[4]) const
  {
    put (c, at,
        make_uint2 (__byte_perm (entry[0], entry[1], 0x5410),
            __byte_perm (entry[2], entry[3], 0x5410)),
        make_uint2 (__byte_perm (entry[0], entry[1], 0x7632),
            __byte_perm (entry[2], entry[3], 0x7632)));
  }

  /* Likewise from codes of light. */
  __device__ __forceinline__ void
  put_codes (int c, int at, const uint32_t (&code)[4]) const
  {
    float value[4];
    uint2 high, low;

#pragma unroll
    for (int k = 0; k < 4; k++)
      value[k] = __fmaf_rn (__uint_as_float (0x4b000000u | code[k]),
          1.0f / LIGHT_UNIT, -(0x1p23f + LIGHT_CENTER) / LIGHT_UNIT);
    light_split (value[0], value[1], high.x, low.x);
    light_split (value[2], value[3], high.y, low.y);
    put (c, at, high, low);
  }

  /* Decodes four pixels to byte `at` of the work planes. */
  __device__ __forceinline__ void
  decode_group (const uint8_t *from, int at) const
  {
    if constexpr (S::FORM == LIGHT_SINGLES) {
      const uint32_t codes = *(const uint32_t *) from;
      uint32_t entry[4];

#pragma unroll
      for (int k = 0; k < 4; k++)
        entry[k] = light_of (codes >> 8 * k & 0xff);
      put_entries (0, at, entry);
    } else if constexpr (S::FORM == LIGHT_YUV) {
      const uint4 four = *(const uint4 *) from;
      const uint32_t pixel[4] = { four.x, four.y, four.z, four.w };
      int sum[4][3];

#pragma unroll
      for (int k = 0; k < 4; k++)
        add_chroma (__byte_perm (pixel[k], 0, frame.in[1]),
            __byte_perm (pixel[k], 0, frame.in[2]), sum[k]);
#pragma unroll
      for (int c = 0; c < 3; c++) {
        uint32_t entry[4];

#pragma unroll
        for (int k = 0; k < 4; k++)
          entry[k] =
              light_of_sum (__byte_perm (pixel[k], 0, frame.in[0]), sum[k][c]);
        put_entries (c, at, entry);
      }
    } else {
      const uint4 four = *(const uint4 *) from;
      const uint32_t pixel[4] = { four.x, four.y, four.z, four.w };
      uint32_t alpha[4];

      if constexpr (S::FORM == LIGHT_WEIGHTED) {
#pragma unroll
        for (int k = 0; k < 4; k++)
          alpha[k] = __byte_perm (pixel[k], 0, frame.in[3]) * 257;
        put_codes (3, at, alpha);
      }
#pragma unroll
      for (int c = 0; c < 3; c++) {
        uint32_t entry[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
          entry[k] = light_of (__byte_perm (pixel[k], 0, frame.in[c]));
          if constexpr (S::FORM == LIGHT_WEIGHTED)
            entry[k] = light_multiply (entry[k], alpha[k]);
        }
        if constexpr (S::FORM == LIGHT_WEIGHTED)
          put_codes (c, at, entry);
        else
          put_entries (c, at, entry);
      }
    }
  }

  /* Decodes a stage. All threads of the block must call it, with a barrier before and after. */
  __device__ __forceinline__ void
  decode (const uint8_t *stage) const
  {
    stage += (S::READ_REACH - S::REACH) * S::PIXEL;
#pragma unroll 1
    for (int i = threadIdx.x; i < STRIP_ROWS * GROUPS; i += STRIP_THREADS) {
      const int r = i / GROUPS, p = i - r * GROUPS;

      decode_group (
          stage + r * S::PITCH + 4 * p * S::PIXEL, r * S::WORK_PITCH + 8 * p);
    }
  }
};

/* Puts the colour of a constant border at all pixels of decoded rows outside the image; the rows
 * begin at (x0, y0). All threads of the block must call it, with a barrier before and after. */
template <typename S>
static __device__ __noinline__ void
light_put_border (const LightTensorPlane &plane, int x0, int y0, uint8_t *work)
{
  for (int i = threadIdx.x; i < STRIP_ROWS * S::WORK_PIXELS;
       i += STRIP_THREADS) {
    const int r = i / S::WORK_PIXELS, p = i - r * S::WORK_PIXELS;

    if (x0 + p >= 0 && x0 + p < plane.strip.width && y0 + r >= 0
        && y0 + r < plane.strip.height)
      continue;
    for (int c = 0; c < S::C; c++) {
      uint8_t *const at = work + c * S::WORK_BYTES + r * S::WORK_PITCH + 2 * p;
      const float value = (float) (plane.border[c] - LIGHT_CENTER) / LIGHT_UNIT;
      uint32_t high, low;

      light_split (value, value, high, low);
      *(uint16_t *) at = (uint16_t) high;
      *(uint16_t *) (at + S::C * S::WORK_BYTES) = (uint16_t) low;
    }
  }
}

#endif
