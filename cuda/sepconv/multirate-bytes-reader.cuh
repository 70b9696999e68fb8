/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-bytes-reader: loads a lane's chunk of each row, for the kernel in
 * multirate-decimate-bytes.cuh.
 *
 * Chunks are copied asynchronously to shared memory, from which each lane takes its own: many are
 * in flight without taking registers, and no warp waits for another. The border is applied to a
 * chunk when it is taken. There are kernels for four ways of reading, as code that is not needed
 * costs registers:
 *
 *   MULTIRATE_WHOLE    like MULTIRATE_FLAT, and rows are whole chunks
 *   MULTIRATE_FLAT     all bytes beyond an end of a row are the same; rows lie at multiples of 16
 *                      bytes: multirate-flat-reader.cuh
 *   MULTIRATE_PICKS    any border; rows lie at multiples of 4 bytes. A chunk that does not lie in the
 *                      row as a whole is put together from five words
 *   MULTIRATE_GATHERS  anything. Such chunks are loaded byte by byte, and the lane waits for it */
#pragma once

#include "instructions.cuh"
#include "multirate-bytes.cuh"

#define MULTIRATE_BYTES_WARPS 16
#define MULTIRATE_BYTES_THREADS (MULTIRATE_BYTES_WARPS * MULTIRATE_WARP)

/* Rows that a warp takes at a time, and how many such groups of rows are in flight. */
#define MULTIRATE_BYTES_ROWS 8
#define MULTIRATE_BYTES_AHEAD 4
static_assert ((MULTIRATE_BYTES_AHEAD & (MULTIRATE_BYTES_AHEAD - 1)) == 0,
    "Slots are counted modulo a power of two.");

/* Words from which a chunk is put together: each word of the chunk has bytes of two neighbouring
 * ones of these. */
#define MULTIRATE_PICKED_WORDS (MULTIRATE_CHUNK_WORDS + 1)

enum MultirateBytesWay
{
  MULTIRATE_WHOLE,
  MULTIRATE_FLAT,
  MULTIRATE_PICKS,
  MULTIRATE_GATHERS,
  MULTIRATE_N_WAYS
};

enum MultirateBytesReading
{
  MULTIRATE_BYTES_CHUNK,  /* as it lies in the row */
  MULTIRATE_BYTES_BORDER, /* the border constant, or not needed */
  /* MULTIRATE_PICKS: five words one by one; or a chunk, which has the first or the last four of
   * them in reverse order, and one word. */
  MULTIRATE_BYTES_PICKED,
  MULTIRATE_BYTES_FIRST_FOUR,
  MULTIRATE_BYTES_LAST_FOUR,
  /* MULTIRATE_GATHERS */
  MULTIRATE_BYTES_GATHERED
};

/* How a chunk is put together: word w of it has bytes of the picked words w and w + 1. */
struct alignas (16) MultiratePick
{
  /* Positions in the row, in words, of all picked words but the first one; or
   * MULTIRATE_BORDER_WORD. */
  uint16_t at[MULTIRATE_PICKED_WORDS - 1];
  uint16_t select[MULTIRATE_CHUNK_WORDS]; /* for __byte_perm() */
};

/* Stands for a word of the border constant. */
#define MULTIRATE_BORDER_WORD 0xffff

/* Selects word w as a whole; and the bits that change this to word w + 1. */
#define MULTIRATE_SELECT_WORD 0x3210
#define MULTIRATE_SELECT_NEXT 0x4444

/* The rows in flight, in shared memory. */
template <MultirateBytesWay WAY> struct MultirateBytesRows
{
  uint4 chunk[MULTIRATE_BYTES_AHEAD][MULTIRATE_BYTES_THREADS];
};

template <> struct MultirateBytesRows<MULTIRATE_PICKS>
{
  uint4 chunk[MULTIRATE_BYTES_AHEAD][MULTIRATE_BYTES_THREADS];
  /* The picked word for which a chunk has no room. */
  uint32_t fifth[MULTIRATE_BYTES_AHEAD][MULTIRATE_BYTES_THREADS];
  MultiratePick pick[MULTIRATE_BYTES_THREADS];
};

struct MultirateBytes
{
  uint32_t word[MULTIRATE_CHUNK_WORDS];
};

/* The way for a plane of which pixels from `left` to `right` are read. With MULTIRATE_PICKS, the
 * positions of words must fit MultiratePick.at, and mirrored pixels may turn back only once in a
 * chunk. */
static inline MultirateBytesWay
multirate_bytes_way (
    const MultiratePart *plane, SepconvBorder border, int left, int right)
{
  if (plane->src_unit == MULTIRATE_CHUNK && border_is_flat (border)
      && plane->src_stride == (int) plane->src_stride)
    return plane->n_samples % MULTIRATE_CHUNK == 0 ? MULTIRATE_WHOLE
                                                   : MULTIRATE_FLAT;
  if (plane->src_unit < 4 || plane->n_samples / 4 >= MULTIRATE_BORDER_WORD)
    return MULTIRATE_GATHERS;
  if (!border_is_flat (border)
      && (left <= -plane->width || right >= 2 * plane->width))
    return MULTIRATE_GATHERS;
  return MULTIRATE_PICKS;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Finds the words of a row from which the chunk that begins with `pixel` is put together. Returns
 * the first one; at least one of its bytes is in the row. A word is picked twice if two words of
 * the chunk have bytes of that word only, as where mirrored pixels turn back. */
template <int CHANNELS>
__device__ __forceinline__ int
multirate_pick_words (
    int width, SepconvBorder border, int pixel, MultiratePick *pick)
{
  const int first = border_index (pixel, width, border) * CHANNELS / 4;
  int word = first;

#pragma unroll 1
  for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++) {
    int other = -1;
    unsigned select = 0;

    /* If these four bytes are all of one word, the byte after them determines the next word. */
#pragma unroll 1
    for (int i = 0; i <= 4; i++) {
      const int j = 4 * w + i;
      const int at = border_index (pixel + j / CHANNELS, width, border);
      const int byte = at * CHANNELS + j % CHANNELS;
      const int of = at < 0 ? MULTIRATE_BORDER_WORD : byte / 4;

      if (i < 4)
        select |= ((at < 0 ? i : byte % 4) | (of == word ? 0 : 4)) << 4 * i;
      if (other < 0 && (of != word || i == 4))
        other = of;
    }
    pick->at[w] = (uint16_t) other;
    pick->select[w] = (uint16_t) select;
    word = other;
  }
  return first;
}

/* Loads a chunk whose pixels are `delta` bytes apart in memory. All loads are in flight
 * together. */
template <int CHANNELS>
__device__ __forceinline__ uint4
multirate_gather_line (const uint8_t *first, int delta)
{
  uint32_t byte[MULTIRATE_CHUNK], word[MULTIRATE_CHUNK_WORDS];

#pragma unroll
  for (int j = 0; j < MULTIRATE_CHUNK; j++)
    byte[j] = gpu_load (first + j / CHANNELS * delta + j % CHANNELS);
#pragma unroll
  for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
    word[w] = byte[4 * w] | byte[4 * w + 1] << 8 | byte[4 * w + 2] << 16
        | byte[4 * w + 3] << 24;
  return make_uint4 (word[0], word[1], word[2], word[3]);
}

/* Loads any chunk of a row, with the border applied. Inline, it would double the kernel's code. All
 * arguments are values, so that the caller's variables stay in registers. */
template <int CHANNELS>
static __device__ __noinline__ uint4
multirate_gather_bytes (const uint8_t *row, int width, SepconvBorder border,
    uint32_t border_bytes, int pixel)
{
  constexpr int steps = MULTIRATE_CHUNK / CHANNELS - 1;
  const int first = border_index (pixel, width, border);
  const int last = border_index (pixel + steps, width, border);
  const bool onward = last - first == steps;
  const bool back = first - last == steps && border != SEPCONV_WRAP;
  uint4 chunk = {};

  if (first >= 0 && last >= 0 && (onward || back))
    return multirate_gather_line<CHANNELS> (
        row + first * CHANNELS, onward ? CHANNELS : -CHANNELS);
    /* Pixels of the chunk follow each other in neither direction, or some are the border constant. */
#pragma unroll 1
  for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++) {
    uint32_t word = 0;

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int c = j % CHANNELS;
      const int at =
          border_index (pixel + (4 * w + j) / CHANNELS, width, border);

      word |= (at < 0 ? border_bytes >> 8 * c & 0xff
                      : (uint32_t) gpu_load (row + at * CHANNELS + c))
          << 8 * j;
    }
    chunk = make_uint4 (chunk.y, chunk.z, chunk.w, word);
  }
  return chunk;
}

/* Starts to copy a word of a row. */
__device__ __forceinline__ void
multirate_copy_word (
    const MultiratePart &plane, const uint8_t *row, int word, uint32_t *to)
{
  if (word == MULTIRATE_BORDER_WORD)
    *to = plane.border_bytes;
  else
    copy_async_word (to, row + 4 * word, min (plane.n_samples - 4 * word, 4));
}

/* Reads a lane's chunk, at the same place of each row. ask() starts to load it into slot `slot` of
 * the rows; take() returns it from there. */
template <int CHANNELS, MultirateBytesWay WAY> struct MultirateBytesReader
{
  typedef MultirateBytesRows<WAY> Rows;
  static constexpr int pixels = MULTIRATE_CHUNK / CHANNELS;

  MultirateBytesReading reading;
  /* Where the lane reads in a row: the begin of a chunk, or of the first picked word. */
  int byte;
  /* that byte of the next row to ask for, if the row is in the picture */
  const uint8_t *at;

  /* x: the chunk's first pixel. The rows are those from `first` on. */
  __device__ __forceinline__ void
  begin (const MultiratePart &plane, SepconvBorder border, int x, bool needed,
      int first, int, Rows &rows)
  {
    const bool outside = x + pixels <= 0 || x >= plane.width;
    const bool inside = x >= 0 && x + pixels <= plane.width;

    byte = x * CHANNELS;
    if (!needed || (outside && border == SEPCONV_CONSTANT))
      reading = MULTIRATE_BYTES_BORDER;
    else if (inside && plane.src_unit == MULTIRATE_CHUNK)
      reading = MULTIRATE_BYTES_CHUNK;
    else if constexpr (WAY == MULTIRATE_PICKS)
      begin_pick (plane, border, x, &rows.pick[threadIdx.x]);
    else
      reading = MULTIRATE_BYTES_GATHERED;
    at = plane.src + first * plane.src_stride + byte;
  }

  /* Picks words, and finds out whether four of them form a chunk, so that one copy loads them. */
  __device__ __forceinline__ void
  begin_pick (const MultiratePart &plane, SepconvBorder border, int x,
      MultiratePick *pick)
  {
    constexpr int n = MULTIRATE_CHUNK_WORDS;
    const int first =
        multirate_pick_words<CHANNELS> (plane.width, border, x, pick);
    const int in_chunk = first % n;

    reading = MULTIRATE_BYTES_PICKED;
    byte = 4 * first;
    if (plane.src_unit < MULTIRATE_CHUNK)
      return;
    if (in_chunk == 0 && pick->at[n - 2] == first + n - 1
        && pick->select[0] == MULTIRATE_SELECT_WORD
        && pick->select[n - 1] == MULTIRATE_SELECT_WORD) {
      reading = MULTIRATE_BYTES_CHUNK;
    } else if (in_chunk == n - 1 && pick->at[n - 2] == first - (n - 1)) {
      reading = MULTIRATE_BYTES_FIRST_FOUR;
      byte -= 4 * (n - 1);
    } else if (in_chunk == 0 && pick->at[n - 1] == first - n) {
      reading = MULTIRATE_BYTES_LAST_FOUR;
      byte -= 4 * n;
    } else if (CHANNELS == 4 && in_chunk == n - 2
        && pick->at[n - 2] == first - (n - 1)) {
      /* Pixels are words. Three of the four lie in one chunk, the last word of which is not needed: it
       * becomes the first one picked, and the others move up. */
      reading = MULTIRATE_BYTES_FIRST_FOUR;
      byte -= 4 * (n - 2);
      pick->at[n - 1] = pick->at[n - 2];
#pragma unroll 1
      for (int w = 0; w < n; w++)
        pick->select[w] ^= MULTIRATE_SELECT_NEXT;
    }
  }

  /* Starts to load the chunk of row y, which grows by MULTIRATE_BYTES_ROWS with each call. */
  __device__ __forceinline__ void
  ask (const MultiratePart &plane, SepconvBorder border, int y, int slot,
      Rows &rows)
  {
    uint4 *const to = &rows.chunk[slot][threadIdx.x];
    const uint32_t fill = plane.border_bytes;
    const uint8_t *from = at; /* NULL: the constant border */

    if ((unsigned) y >= (unsigned) plane.height) {
      const int row = border_index (y, plane.height, border);

      from = row < 0 ? NULL : plane.src + row * plane.src_stride + byte;
    }
    at += MULTIRATE_BYTES_ROWS * plane.src_stride;
    if (from == NULL || reading == MULTIRATE_BYTES_BORDER) {
      *to = make_uint4 (fill, fill, fill, fill);
      if constexpr (WAY == MULTIRATE_PICKS)
        rows.fifth[slot][threadIdx.x] = fill;
    } else if (reading == MULTIRATE_BYTES_CHUNK) {
      copy_async (to, from, MULTIRATE_CHUNK);
    } else if constexpr (WAY == MULTIRATE_PICKS) {
      ask_for_words (plane, border, from, (uint32_t *) to,
          &rows.fifth[slot][threadIdx.x], rows.pick[threadIdx.x]);
    } else if constexpr (WAY == MULTIRATE_GATHERS) {
      *to = multirate_gather_bytes<CHANNELS> (
          from - byte, plane.width, border, fill, byte / CHANNELS);
    }
  }

  __device__ __forceinline__ void
  ask_for_words (const MultiratePart &plane, SepconvBorder border,
      const uint8_t *from, uint32_t *to, uint32_t *fifth,
      const MultiratePick &pick) const
  {
    constexpr int n = MULTIRATE_CHUNK_WORDS;
    const uint8_t *const row = from - byte;

    if (reading == MULTIRATE_BYTES_PICKED) {
      multirate_copy_word (plane, row, byte / 4, to);
#pragma unroll
      for (int i = 1; i < MULTIRATE_PICKED_WORDS; i++)
        multirate_copy_word (
            plane, row, pick.at[i - 1], i < n ? to + i : fifth);
      return;
    }
    copy_async (to, from, MULTIRATE_CHUNK);
    if (reading == MULTIRATE_BYTES_LAST_FOUR)
      multirate_copy_word (plane, row, byte / 4 + n, fifth);
    else if (border == SEPCONV_REFLECT_101 || plane.n_samples % 4 != 0)
      multirate_copy_word (plane, row, pick.at[n - 1], fifth);
  }

  /* Returns the chunk in `slot`, whose copies must have ended. */
  __device__ __forceinline__ MultirateBytes
  take (const MultiratePart &, SepconvBorder, int, int slot,
      const Rows &rows) const
  {
    const uint4 *const chunk = &rows.chunk[slot][threadIdx.x];
    const uint4 words = *chunk;
    MultirateBytes taken = { { words.x, words.y, words.z, words.w } };

    if constexpr (WAY == MULTIRATE_PICKS) {
      if (reading >= MULTIRATE_BYTES_PICKED)
        put_together (
            rows.fifth[slot][threadIdx.x], rows.pick[threadIdx.x], &taken);
    }
    return taken;
  }

  /* Puts a chunk together from the picked words, four of which are in *taken. */
  __device__ __forceinline__ void
  put_together (
      uint32_t fifth, const MultiratePick &pick, MultirateBytes *taken) const
  {
    const uint32_t(&word)[MULTIRATE_CHUNK_WORDS] = taken->word;
    const bool onward = reading == MULTIRATE_BYTES_PICKED;
    const bool last = reading == MULTIRATE_BYTES_LAST_FOUR;
    const uint32_t from[MULTIRATE_PICKED_WORDS] = {
      onward ? word[0] : last ? fifth : word[3],
      onward ? word[1] : last ? word[3] : word[2],
      last || onward ? word[2] : word[1],
      onward ? word[3] : last ? word[1] : word[0],
      last ? word[0] : fifth,
    };

#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
      taken->word[w] = __byte_perm (from[w], from[w + 1], pick.select[w]);
  }
};

#endif
