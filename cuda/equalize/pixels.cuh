/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pixels: how the kernels of equalisation read luma from an image, and write it.
 *
 * A pixel is all bytes from one sample of a mapped channel to the next; bits in them that belong
 * to no mapped code are copied. Rows are read in groups of whole pixels and whole vectors of
 * 16 bytes while every byte belongs to a sample; the rest, and rows that are packed otherwise,
 * are read sample by sample. */
#pragma once

#include "plan.h"

#define VECTOR_BYTES 16

/* A mapped channel in the source of a run, and in its result. */
struct MappedChannel
{
  const uint8_t *src; /* row 0 */
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int byte_offset, pixel_stride, sample_bytes, shift;
  int bit; /* position of the code in its pixel; used for groups only */
};

struct Pixels
{
  EqualizeNumbers numbers;
  int grouped; /* pixels of a row that are in groups */
  MappedChannel channel[EQUALIZE_MAX_MAPPED];
};

/* Neighbouring pixels of PixelBytes each, in registers. */
template <int PixelBytes> struct Group
{
  static const int vectors = PixelBytes % 3 == 0 ? 3 : 1;
  static const int words = 4 * vectors;
  static const int bytes = VECTOR_BYTES * vectors;
  static const int pixels = bytes / PixelBytes;

  uint32_t word[words];

  __device__ __forceinline__ void
  load (const uint8_t *from)
  {
#pragma unroll
    for (int i = 0; i < vectors; i++) {
      const uint4 vector = __ldg ((const uint4 *) from + i);

      word[4 * i] = vector.x;
      word[4 * i + 1] = vector.y;
      word[4 * i + 2] = vector.z;
      word[4 * i + 3] = vector.w;
    }
  }

  __device__ __forceinline__ void
  store (uint8_t *to) const
  {
#pragma unroll
    for (int i = 0; i < vectors; i++)
      ((uint4 *) to)[i] = make_uint4 (
          word[4 * i], word[4 * i + 1], word[4 * i + 2], word[4 * i + 3]);
  }

  /* Pixel i, in the lowest bits; the bits above belong to other pixels. */
  __device__ __forceinline__ uint64_t
  pixel (int i) const
  {
    const int at = i * PixelBytes / 4, bit = i * PixelBytes % 4 * 8;
    const uint64_t next =
        bit + 8 * PixelBytes > 32 ? word[at + 1 < words ? at + 1 : at] : 0;

    return (word[at] | next << 32) >> bit;
  }

  /* Inverts the bits of pixel i that are set in `bits`. */
  __device__ __forceinline__ void
  flip (int i, uint64_t bits)
  {
    const int at = i * PixelBytes / 4, bit = i * PixelBytes % 4 * 8;

    word[at] ^= (uint32_t) (bits << bit);
    if (bit + 8 * PixelBytes > 32)
      word[at + 1 < words ? at + 1 : at] ^= (uint32_t) (bits << bit >> 32);
  }
};

/* The mapped codes of one pixel: luma; or red, green and blue. */
template <bool IsRgb> struct Codes
{
  static const int n = IsRgb ? 3 : 1;

  int code[n];

  __device__ __forceinline__ int
  luma (const EqualizeNumbers &numbers) const
  {
    return IsRgb ? equalize_luma (&numbers, code[0], code[n / 2], code[n - 1])
                 : code[0];
  }

  /* The bits of code i that change when luma becomes `mapped`. */
  __device__ __forceinline__ unsigned
  changed (const EqualizeNumbers &numbers, int i, int luma, int mapped) const
  {
    return (unsigned) (code[i]
        ^ (IsRgb ? equalize_shifted (&numbers, code[i], mapped - luma)
                 : mapped));
  }
};

/* Groups of as many planes as the mapped channels lie in: one, or three. */
template <int PixelBytes, int Planes, bool IsRgb> struct Row
{
  typedef Group<PixelBytes> OneGroup;
  typedef Codes<IsRgb> PixelCodes;

  OneGroup group[Planes];

  __device__ __forceinline__ void
  load (const Pixels &pixels, int y, int index)
  {
#pragma unroll
    for (int p = 0; p < Planes; p++)
      group[p].load (pixels.channel[p].src + y * pixels.channel[p].src_stride
          + (ptrdiff_t) index * OneGroup::bytes);
  }

  __device__ __forceinline__ void
  store (const Pixels &pixels, int y, int index) const
  {
#pragma unroll
    for (int p = 0; p < Planes; p++)
      group[p].store (pixels.channel[p].dst + y * pixels.channel[p].dst_stride
          + (ptrdiff_t) index * OneGroup::bytes);
  }

  __device__ __forceinline__ PixelCodes
  codes (const Pixels &pixels, int i) const
  {
    PixelCodes codes;

#pragma unroll
    for (int k = 0; k < PixelCodes::n; k++)
      codes.code[k] =
          (int) (group[k % Planes].pixel (i) >> pixels.channel[k].bit)
          & pixels.numbers.full;
    return codes;
  }

  __device__ __forceinline__ void
  change (const Pixels &pixels, int i, const PixelCodes &codes, int luma,
      int mapped)
  {
#pragma unroll
    for (int k = 0; k < PixelCodes::n; k++)
      group[k % Planes].flip (i,
          (uint64_t) codes.changed (pixels.numbers, k, luma, mapped)
              << pixels.channel[k].bit);
  }
};

/* One pixel at any address: its raw samples and their codes. */
template <bool IsRgb> struct LonePixel
{
  Codes<IsRgb> codes;
  unsigned raw[Codes<IsRgb>::n];

  __device__ __forceinline__ void
  load (const Pixels &pixels, int x, int y)
  {
#pragma unroll
    for (int k = 0; k < Codes<IsRgb>::n; k++) {
      const MappedChannel &channel = pixels.channel[k];
      const uint8_t *sample = channel.src + y * channel.src_stride
          + channel.byte_offset + (ptrdiff_t) x * channel.pixel_stride;

      raw[k] = channel.sample_bytes == 1 ? *sample : *(const uint16_t *) sample;
      codes.code[k] = (int) (raw[k] >> channel.shift) & pixels.numbers.full;
    }
  }

  __device__ __forceinline__ void
  store_changed (const Pixels &pixels, int x, int y, int luma, int mapped) const
  {
#pragma unroll
    for (int k = 0; k < Codes<IsRgb>::n; k++) {
      const MappedChannel &channel = pixels.channel[k];
      uint8_t *sample = channel.dst + y * channel.dst_stride
          + channel.byte_offset + (ptrdiff_t) x * channel.pixel_stride;
      const unsigned changed = raw[k]
          ^ codes.changed (pixels.numbers, k, luma, mapped) << channel.shift;

      if (channel.sample_bytes == 1)
        *sample = (uint8_t) changed;
      else
        *(uint16_t *) sample = (uint16_t) changed;
    }
  }
};
