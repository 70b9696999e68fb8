/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-flat-reader: loads a lane's chunk of each row, for the kernel in
 * multirate-decimate-bytes.cuh, if all bytes beyond an end of a row are the same: MULTIRATE_WHOLE
 * and MULTIRATE_FLAT. Most frames are read this way, so it takes few instructions per row.
 *
 * Every lane copies a chunk that lies in the picture, from a row that does. Lanes with bytes
 * outside replace these by the edge's pixel or the border constant when they take the chunk. */
#pragma once

#include "multirate-bytes-reader.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

template <int CHANNELS, MultirateBytesWay WAY> struct MultirateFlatReader
{
  typedef MultirateBytesRows<WAY> Rows;
  static constexpr int pixels = MULTIRATE_CHUNK / CHANNELS;
  /* Selectors for __byte_perm() of a word of the row and a word of bytes beyond the edge. */
  static constexpr uint32_t keep = 0x3210, fill = 0x7654;

  const uint8_t *column; /* the lane's chunk of row 0 */
  int bytes;             /* of the chunk that are in the row */
  int stride;
  int last;   /* last row of the picture */
  int edge;   /* the byte of the chunk where the pixel at the edge begins */
  bool fills; /* whether bytes are outside */
  /* selectors of two words in each */
  uint32_t select[MULTIRATE_CHUNK_WORDS / 2];

  /* x: the chunk's first pixel. The rows are those from `first` on, before `end`. */
  __device__ __forceinline__ void
  begin (const MultiratePart &plane, SepconvBorder border, int x, bool needed,
      int first, int end, Rows &)
  {
    const bool outside = x + pixels <= 0 || x >= plane.width;
    const int at_edge = x < 0 ? 0 : (plane.width - 1) * CHANNELS;
    const int byte = !needed ? 0
        : outside            ? at_edge / MULTIRATE_CHUNK * MULTIRATE_CHUNK
                             : x * CHANNELS;
    const int inside = outside ? 0 : plane.n_samples - byte;

    column = plane.src + byte;
    bytes = min (plane.n_samples - byte, MULTIRATE_CHUNK);
    stride = (int) plane.src_stride;
    last = plane.height - 1;
    edge = at_edge - byte;
    fills = (needed && inside < MULTIRATE_CHUNK)
        || (border == SEPCONV_CONSTANT && (first < 0 || end > plane.height));
    if (!fills)
      return;
#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++) {
      uint32_t of = 0;

#pragma unroll
      for (int j = 0; j < 4; j++)
        of |= (4 * w + j < inside || !needed ? keep : fill) & 0xfu << 4 * j;
      select[w / 2] = w % 2 == 0 ? of : select[w / 2] | of << 16;
    }
  }

  /* Starts to load the chunk of row y. */
  __device__ __forceinline__ void
  ask (const MultiratePart &, SepconvBorder, int y, int slot, Rows &rows) const
  {
    const uint8_t *const from =
        row_address (column, min (max (y, 0), last), stride);

    if constexpr (WAY == MULTIRATE_WHOLE)
      copy_async_whole (&rows.chunk[slot][threadIdx.x], from);
    else
      copy_async (&rows.chunk[slot][threadIdx.x], from, bytes);
  }

  /* Returns the chunk of row y, whose copy must have ended. */
  __device__ __forceinline__ MultirateBytes
  take (const MultiratePart &plane, SepconvBorder border, int y, int slot,
      const Rows &rows) const
  {
    const uint4 *const chunk = &rows.chunk[slot][threadIdx.x];
    const uint4 words = *chunk;
    MultirateBytes taken = { { words.x, words.y, words.z, words.w } };

    if (fills) {
      const bool constant = border == SEPCONV_CONSTANT;
      const bool above_or_below = constant && (y < 0 || y > last);
      const uint32_t beyond =
          constant ? plane.border_bytes : edge_bytes (chunk);

#pragma unroll
      for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
        taken.word[w] = __byte_perm (taken.word[w], beyond,
            above_or_below ? fill : select[w / 2] >> 16 * (w % 2));
    }
    return taken;
  }

  /* Four bytes of the pixel at the edge. */
  __device__ __forceinline__ uint32_t
  edge_bytes (const uint4 *chunk) const
  {
    const uint8_t *at = (const uint8_t *) chunk + edge;

    if constexpr (CHANNELS == 1)
      return at[0] * 0x01010101u;
    else if constexpr (CHANNELS == 2)
      return *(const uint16_t *) at * 0x00010001u;
    else
      return *(const uint32_t *) at;
  }
};

template <int CHANNELS>
struct MultirateBytesReader<CHANNELS, MULTIRATE_FLAT>
    : MultirateFlatReader<CHANNELS, MULTIRATE_FLAT>
{
};

template <int CHANNELS>
struct MultirateBytesReader<CHANNELS, MULTIRATE_WHOLE>
    : MultirateFlatReader<CHANNELS, MULTIRATE_WHOLE>
{
};

#endif
