/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-decimate-bytes: the kernel of the method multirate that reads frames of bytes.
 *
 * Windows along x come first: their weights are bytes (MultirateAxis.weight_sum), and one
 * instruction adds four products of bytes to a sum, which is exact. A chunk has a share in few
 * windows; a thread multiplies each share by the weights of its row in four low rows, and marches
 * down a strip of cells. After each cell one low row is complete as far as the strip goes: only
 * then the shares of the chunks under a window are added up, by way of shared memory.
 *
 * An integer sum becomes a float by the exponent that it starts with: the bits of 2^23 + sum.
 *
 * Rows come by asynchronous copies into shared memory, where each thread finds its own chunk: so
 * many are on their way without a register, and no load waits for another. Code is kept short:
 * where each of four low rows has code of its own, warps wait for instructions longer than for
 * anything else. At a border, too, nothing waits for memory, but for borders that mirror or wrap. */
#pragma once

#include "multirate-bytes.cuh"
#include "multirate-decimate.cuh"
#include "strip-reader.cuh"

/* Registers for two blocks a multiprocessor. */
#define MULTIRATE_BYTES_THREADS 256
#define MULTIRATE_BYTES_AT_ONCE (2 * MULTIRATE_BYTES_THREADS)

/* Rows on their way. */
#define MULTIRATE_BYTES_AHEAD 6

#define MULTIRATE_MOST_SHARES 16

struct MultirateBytesMemory
{
  float4 window_y[MULTIRATE_MAX_FACTOR];
  /* A thread's shares lie at an odd distance from the next one's: in other banks. */
  float share[(MULTIRATE_BYTES_THREADS + MULTIRATE_REACH)
      * (MULTIRATE_MOST_SHARES + 1)];
  uint4 row[MULTIRATE_BYTES_AHEAD][MULTIRATE_BYTES_THREADS];
};

/* The low columns of a block, and the cells under their windows. */
struct MultirateBytesTile
{
  int first, n; /* low columns, of those that are there */
  int cell;     /* with which the first chunk begins */
  int skew;     /* cells from there to the first window */
};

/* Low columns of a tile, at most. */
static inline int
multirate_bytes_lows (int factor, int channels)
{
  const int cells = multirate_chunk_cells (factor, channels);

  return MULTIRATE_BYTES_THREADS * cells
      / multirate_cell_chunks (factor, channels)
      - (MULTIRATE_REACH - 1) - (cells - 1);
}

/* Threads that a tile of so many low columns needs. */
static inline int
multirate_bytes_threads (int lows, int factor, int channels)
{
  const int cells = multirate_chunk_cells (factor, channels);

  return (lows + MULTIRATE_REACH - 1 + 2 * (cells - 1)) / cells
      * multirate_cell_chunks (factor, channels);
}

template <typename Chunk>
__device__ __forceinline__ MultirateBytesTile
multirate_bytes_tile (const MultiratePart &plane, int index)
{
  MultirateBytesTile tile;
  int begin;

  tile.first = index * plane.tile_lows;
  tile.n = min (plane.tile_lows, plane.low_columns - tile.first);
  begin = plane.first_column + tile.first - 2;
  tile.skew = begin & (Chunk::cells - 1);
  tile.cell = begin - tile.skew;
  return tile;
}

/* The pixel with which a thread's chunk begins. */
template <typename Chunk>
__device__ __forceinline__ int
multirate_bytes_pixel (
    const MultiratePart &plane, const MultirateBytesTile &tile)
{
  return tile.cell * plane.factor_x + (int) threadIdx.x * Chunk::pixels;
}

/* How a thread gets its chunk of a row. The first three are copied while others are summed. */
enum MultirateBytesReading
{
  MULTIRATE_BYTES_CHUNK, /* as it lies there */
  MULTIRATE_BYTES_PIXEL, /* the chunk with the pixel at the edge, which stands for all */
  MULTIRATE_BYTES_EDGE, /* what is there, then the pixel at the edge or the constant border */
  MULTIRATE_BYTES_WORDS,  /* four words */
  MULTIRATE_BYTES_BORDER, /* the constant border's */
  MULTIRATE_BYTES_GATHERED
};

/* A thread's chunk: where it begins in a row, and how many bytes of it are read there. */
struct MultirateBytesPlace
{
  MultirateBytesReading reading;
  int pixel;
  int byte, bytes;
  int edge; /* of PIXEL and EDGE: the byte in the chunk where the pixel at the edge begins */
};

template <typename Chunk>
__device__ __forceinline__ MultirateBytesReading
multirate_choose_reading (const MultiratePart &plane, SepconvBorder border,
    const MultirateBytesTile &tile, int x)
{
  const bool one = border == SEPCONV_REPLICATE || border == SEPCONV_CONSTANT;
  const bool outside = x + Chunk::pixels <= 0 || x >= plane.width;
  const int end =
      (tile.cell + tile.skew + tile.n + MULTIRATE_REACH - 1) * plane.factor_x;

  /* What no window needs may be anything. */
  if (x >= end || (outside && border == SEPCONV_CONSTANT))
    return MULTIRATE_BYTES_BORDER;
  if (x >= 0 && x + Chunk::pixels <= plane.width && plane.src_unit > 1)
    return plane.src_unit == MULTIRATE_CHUNK ? MULTIRATE_BYTES_CHUNK
                                             : MULTIRATE_BYTES_WORDS;
  /* No chunk lies across the left edge. */
  if (one && plane.src_unit == MULTIRATE_CHUNK)
    return outside ? MULTIRATE_BYTES_PIXEL : MULTIRATE_BYTES_EDGE;
  return MULTIRATE_BYTES_GATHERED;
}

template <typename Chunk>
__device__ __forceinline__ MultirateBytesPlace
multirate_find_bytes (const MultiratePart &plane, SepconvBorder border,
    const MultirateBytesTile &tile)
{
  const int x = multirate_bytes_pixel<Chunk> (plane, tile);
  const int edge = x < 0 ? 0 : (plane.width - 1) * Chunk::channels;
  MultirateBytesPlace place;

  place.reading = multirate_choose_reading<Chunk> (plane, border, tile, x);
  place.pixel = x;
  place.byte = place.reading == MULTIRATE_BYTES_PIXEL
      ? edge / MULTIRATE_CHUNK * MULTIRATE_CHUNK
      : x * Chunk::channels;
  place.bytes = min (plane.n_samples - place.byte, MULTIRATE_CHUNK);
  place.edge = edge - place.byte;
  return place;
}

/* Byte by byte, as the border has them. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_gather_bytes (const MultiratePart &plane, SepconvBorder border,
    const uint8_t *row, int pixel, uint8_t *to)
{
#pragma unroll 1
  for (int j = 0; j < Chunk::pixels; j++) {
    const int at = border_index (pixel + j, plane.width, border);

#pragma unroll
    for (int c = 0; c < Chunk::channels; c++)
      *to++ = at < 0 ? (uint8_t) (plane.border_bytes >> 8 * c)
                     : gpu_load (row + at * Chunk::channels + c);
  }
}

/* Asks for a thread's chunk of a row, which begins at `at`, or NULL for the constant border. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_ask_for_bytes (const MultiratePart &plane, SepconvBorder border,
    const uint8_t *at, const MultirateBytesPlace &place, uint4 *to)
{
  const uint32_t fill = plane.border_bytes;
  const uint32_t *word = (const uint32_t *) at;

  if (at == NULL || place.reading == MULTIRATE_BYTES_BORDER)
    *to = make_uint4 (fill, fill, fill, fill);
  else if (place.reading <= MULTIRATE_BYTES_EDGE)
    strip_copy_chunk ((uint8_t *) to, at, place.bytes);
  else if (place.reading == MULTIRATE_BYTES_WORDS)
    *to = make_uint4 (gpu_load (word), gpu_load (word + 1), gpu_load (word + 2),
        gpu_load (word + 3));
  else
    multirate_gather_bytes<Chunk> (
        plane, border, at - place.byte, place.pixel, (uint8_t *) to);
}

struct MultirateBytes
{
  uint32_t word[MULTIRATE_CHUNK_WORDS];
};

/* Four bytes of the pixel at the edge. */
template <typename Chunk>
__device__ __forceinline__ uint32_t
multirate_edge_bytes (const uint4 *chunk, int edge)
{
  const uint8_t *at = (const uint8_t *) chunk + edge;

  if constexpr (Chunk::channels == 1)
    return at[0] * 0x01010101u;
  else if constexpr (Chunk::channels == 2)
    return *(const uint16_t *) at * 0x00010001u;
  else
    return *(const uint32_t *) at;
}

/* A chunk that has come. */
template <typename Chunk>
__device__ __forceinline__ MultirateBytes
multirate_take_bytes (const MultiratePart &plane, SepconvBorder border,
    const MultirateBytesPlace &place, const uint4 *chunk)
{
  const uint4 words = *chunk;
  MultirateBytes bytes = { { words.x, words.y, words.z, words.w } };

  if (place.reading == MULTIRATE_BYTES_PIXEL
      || place.reading == MULTIRATE_BYTES_EDGE) {
    const int inside = place.reading == MULTIRATE_BYTES_PIXEL ? 0 : place.bytes;
    const uint32_t fill = border == SEPCONV_CONSTANT
        ? plane.border_bytes
        : multirate_edge_bytes<Chunk> (chunk, place.edge);

#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++) {
      const int n = min (max (inside - 4 * w, 0), 4);
      const uint32_t keep = n == 4 ? 0xffffffffu : (1u << 8 * n) - 1;

      bytes.word[w] = (bytes.word[w] & keep) | (fill & ~keep);
    }
  }
  return bytes;
}

/* The words of each channel, four pixels each. */
template <typename Chunk> struct MultiratePixels
{
  static constexpr int words = Chunk::pixels / 4;
  uint32_t word[Chunk::channels][words];
};

template <typename Chunk>
__device__ __forceinline__ MultiratePixels<Chunk>
multirate_split_channels (const MultirateBytes &bytes)
{
  MultiratePixels<Chunk> pixels;

  if constexpr (Chunk::channels == 1) {
#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
      pixels.word[0][w] = bytes.word[w];
  } else if constexpr (Chunk::channels == 2) {
#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w += 2) {
      pixels.word[0][w / 2] =
          __byte_perm (bytes.word[w], bytes.word[w + 1], 0x6420);
      pixels.word[1][w / 2] =
          __byte_perm (bytes.word[w], bytes.word[w + 1], 0x7531);
    }
  } else {
    const uint32_t *word = bytes.word;
    const uint32_t low01 = __byte_perm (word[0], word[1], 0x5140);
    const uint32_t high01 = __byte_perm (word[0], word[1], 0x7362);
    const uint32_t low23 = __byte_perm (word[2], word[3], 0x5140);
    const uint32_t high23 = __byte_perm (word[2], word[3], 0x7362);

    pixels.word[0][0] = __byte_perm (low01, low23, 0x5410);
    pixels.word[1][0] = __byte_perm (low01, low23, 0x7632);
    pixels.word[2][0] = __byte_perm (high01, high23, 0x5410);
    pixels.word[3][0] = __byte_perm (high01, high23, 0x7632);
  }
  return pixels;
}

/* The bytes by which a thread multiplies. A word of pixels lies in one cell, or in two cells of
 * two; weight[v][k] is for word v of a cell, in the windows in which the cell, or the first of
 * the two, is number k - (two cells). */
template <typename Chunk> struct MultirateByteWeights
{
  static constexpr bool two_cells = Chunk::phases == 2;
  static constexpr int words = two_cells ? 1 : Chunk::phases / 4;
  static constexpr int places = MULTIRATE_REACH + (two_cells ? 1 : 0);
  uint32_t weight[words][places];
};

template <typename Chunk>
__device__ __forceinline__ MultirateByteWeights<Chunk>
multirate_byte_weights (const MultiratePart &plane)
{
  typedef MultirateByteWeights<Chunk> Weights;
  const int chunks = multirate_cell_chunks (plane.factor_x, plane.channels);
  const int phase = (int) threadIdx.x % chunks * Chunk::pixels;
  const uint8_t *window = plane.tables->byte_window_x;
  Weights weights;

#pragma unroll
  for (int v = 0; v < Weights::words; v++)
#pragma unroll
    for (int k = 0; k < Weights::places; k++) {
      uint32_t word = 0;

#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int t = Weights::two_cells ? k - 1 + j / 2 : k;
        const int p = Weights::two_cells ? j % 2 : phase + 4 * v + j;

        if (t >= 0 && t < MULTIRATE_REACH)
          word |= (uint32_t) window[t * plane.factor_x + p] << 8 * j;
      }
      weights.weight[v][k] = word;
    }
  return weights;
}

/* A chunk's share in the window that begins `low` - 3 cells after its first cell. */
template <typename Chunk>
__device__ __forceinline__ float
multirate_byte_share (const MultiratePixels<Chunk> &pixels,
    const MultirateByteWeights<Chunk> &weights, int channel, int low)
{
  typedef MultirateByteWeights<Chunk> Weights;
  constexpr int of_cell = Weights::two_cells ? 2 : 1; /* cells of a word */
  uint32_t sum = 0x4b000000;

#pragma unroll
  for (int w = 0; w < MultiratePixels<Chunk>::words; w++) {
    const int cell = of_cell * w / Weights::words;
    const int k =
        cell + MULTIRATE_REACH - 1 - low + (Weights::two_cells ? 1 : 0);

    if (k >= 0 && k < Weights::places)
      sum = __dp4a (
          pixels.word[channel][w], weights.weight[w % Weights::words][k], sum);
  }
  return __uint_as_float (sum) - 0x1p23f;
}

/* Of four low rows, the next one to be completed first. */
template <typename Chunk> struct MultirateByteSums
{
  float sum[MULTIRATE_REACH][Chunk::channels][Chunk::lows];
};

template <typename Chunk>
__device__ __forceinline__ void
multirate_add_bytes (const MultirateBytes &bytes,
    const MultirateByteWeights<Chunk> &weights, const float4 &weight,
    MultirateByteSums<Chunk> &sums)
{
  const MultiratePixels<Chunk> pixels = multirate_split_channels<Chunk> (bytes);

#pragma unroll
  for (int c = 0; c < Chunk::channels; c++)
#pragma unroll
    for (int low = 0; low < Chunk::lows; low++) {
      const float share = multirate_byte_share (pixels, weights, c, low);

      sums.sum[0][c][low] = __fmaf_rn (weight.x, share, sums.sum[0][c][low]);
      sums.sum[1][c][low] = __fmaf_rn (weight.y, share, sums.sum[1][c][low]);
      sums.sum[2][c][low] = __fmaf_rn (weight.z, share, sums.sum[2][c][low]);
      sums.sum[3][c][low] = __fmaf_rn (weight.w, share, sums.sum[3][c][low]);
    }
}

/* What a march down a strip needs. */
template <typename Chunk> struct MultirateBytesMarch
{
  const MultiratePart *plane;
  MultirateBytesMemory *memory;
  SepconvBorder border;
  MultirateBytesTile tile;
  MultirateBytesPlace place;
  int n;             /* cells along y */
  int next, last;    /* the next row to ask for, and the last one */
  int slot;          /* of memory->row: where it goes */
  const uint8_t *at; /* the chunk in that row, if it is in the picture */
  float *to;         /* the next low row's parts */
  MultirateByteWeights<Chunk> weights;
};

/* Asks for the next row, if there is one, in the place of the one that was taken last. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_ask_for_row (MultirateBytesMarch<Chunk> &march)
{
  const MultiratePart &plane = *march.plane;
  uint4 *to = &march.memory->row[march.slot][threadIdx.x];
  const uint8_t *at = march.at;

  if ((unsigned) march.next >= (unsigned) plane.height) {
    const int y = border_index (march.next, plane.height, march.border);

    at = y < 0 ? NULL : plane.src + y * plane.src_stride + march.place.byte;
  }
  if (march.next <= march.last)
    multirate_ask_for_bytes<Chunk> (plane, march.border, at, march.place, to);
  strip_commit ();
  march.next++;
  march.at += plane.src_stride;
  march.slot = march.slot + 1 == MULTIRATE_BYTES_AHEAD ? 0 : march.slot + 1;
}

/* Puts the first N shares of each channel of a chunk in the first low row into shared memory. */
template <int N, typename Chunk>
__device__ __forceinline__ void
multirate_put_shares (
    MultirateBytesMarch<Chunk> &march, const MultirateByteSums<Chunk> &sums)
{
  float *share = march.memory->share + threadIdx.x * (Chunk::channels * N | 1);

#pragma unroll
  for (int c = 0; c < Chunk::channels; c++)
#pragma unroll
    for (int low = 0; low < N; low++)
      share[c * N + low] = sums.sum[0][c][low];
}

/* Goes on to the next low row. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_next_low_row (MultirateByteSums<Chunk> &sums)
{
#pragma unroll
  for (int c = 0; c < Chunk::channels; c++)
#pragma unroll
    for (int low = 0; low < Chunk::lows; low++) {
      sums.sum[0][c][low] = sums.sum[1][c][low];
      sums.sum[1][c][low] = sums.sum[2][c][low];
      sums.sum[2][c][low] = sums.sum[3][c][low];
      sums.sum[3][c][low] = 0.0f;
    }
}

/* The weights along y of what a strip has of the low row that is complete after cell i. */
template <typename Chunk>
__device__ __forceinline__ float
multirate_byte_rows (const MultirateBytesMarch<Chunk> &march, int i)
{
  const float4 cell = march.plane->tables->cell_y;
  const float weight[] = { cell.x, cell.y, cell.z, cell.w };
  float sum = 0.0f;

#pragma unroll
  for (int t = 0; t < MULTIRATE_REACH; t++)
    if (i - t >= 0 && i - t < march.n)
      sum += weight[t];
  return sum;
}

/* Writes low sample q of the tile from its window's sum. `start` is the center's part of it. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_put_low (const MultirateBytesMarch<Chunk> &march, int channel, int q,
    float sum, float start)
{
  if ((unsigned) q < (unsigned) march.tile.n)
    march.to[(ptrdiff_t) channel * march.plane->low_columns + march.tile.first
        + q] = __fmaf_rn (sum, march.plane->byte_unit, start);
}

/* The windows that begin with a thread's whole cells: the thread has most of each, and the
 * threads behind it the rest, their first shares. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_put_own_lows (MultirateBytesMarch<Chunk> &march,
    const MultirateByteSums<Chunk> &sums, float start)
{
  constexpr int n = MULTIRATE_REACH - 1, pitch = Chunk::channels * n | 1;
  const float *share = march.memory->share + threadIdx.x * pitch;
  const int first = (int) threadIdx.x * Chunk::cells - march.tile.skew;

  multirate_put_shares<n> (march, sums);
  __syncthreads (); /* the shares are there */
#pragma unroll
  for (int c = 0; c < Chunk::channels; c++)
#pragma unroll
    for (int k = 0; k < Chunk::cells; k++) {
      float sum = sums.sum[0][c][k + n];

#pragma unroll
      for (int d = 1; k + n - d * Chunk::cells >= 0; d++)
        sum += share[d * pitch + c * n + k + n - d * Chunk::cells];
      multirate_put_low (march, c, first + k, sum, start);
    }
}

/* All shares of the window that begins with a cell of the tile. */
template <typename Chunk>
__device__ __forceinline__ float
multirate_sum_shares (
    const MultirateBytesMarch<Chunk> &march, int channel, int cell)
{
  constexpr int n = MULTIRATE_REACH, pitch = Chunk::channels * n | 1;
  const int chunks =
      multirate_cell_chunks (march.plane->factor_x, Chunk::channels);
  const float *share = march.memory->share + channel * n;
  float sum = 0.0f;

#pragma unroll
  for (int t = 0; t < n; t++)
    for (int i = (cell + t) * chunks; i < (cell + t + 1) * chunks; i++)
      sum += share[i * pitch + n - 1 - t];
  return sum;
}

/* The windows where a cell has several chunks. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_put_large_lows (MultirateBytesMarch<Chunk> &march,
    const MultirateByteSums<Chunk> &sums, float start)
{
  multirate_put_shares<MULTIRATE_REACH> (march, sums);
  __syncthreads (); /* the shares are there */
#pragma unroll 1
  for (int i = threadIdx.x; i < Chunk::channels * march.tile.n;
       i += blockDim.x) {
    const int channel = i / march.tile.n, q = i - channel * march.tile.n;

    multirate_put_low (march, channel, q,
        multirate_sum_shares (march, channel, march.tile.skew + q), start);
  }
}

/* Sums the windows along x of low row i, which is complete. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_put_lows (MultirateBytesMarch<Chunk> &march,
    const MultirateByteSums<Chunk> &sums, int i)
{
  const MultiratePart &plane = *march.plane;
  const float start = -plane.center * multirate_byte_rows (march, i);

  if (Chunk::cells > 1 || plane.factor_x == Chunk::pixels)
    multirate_put_own_lows (march, sums, start);
  else
    multirate_put_large_lows (march, sums, start);
  march.to += (ptrdiff_t) Chunk::channels * plane.low_columns;
}

template <typename Chunk>
__device__ __forceinline__ void
multirate_decimate_strip (const MultiratePart &plane, SepconvBorder border,
    int block, MultirateBytesMemory &memory)
{
  const int strip = block / plane.tiles;
  const ptrdiff_t low_pitch = (ptrdiff_t) Chunk::channels * plane.low_columns;
  MultirateBytesMarch<Chunk> march = {};
  MultirateByteSums<Chunk> sums = {};

  march.plane = &plane;
  march.memory = &memory;
  march.border = border;
  march.tile = multirate_bytes_tile<Chunk> (plane, block - strip * plane.tiles);
  march.place = multirate_find_bytes<Chunk> (plane, border, march.tile);
  march.weights = multirate_byte_weights<Chunk> (plane);
  /* Cells are numbered from the row that is 0 on. */
  march.n = min (plane.strip_cells, plane.cells - strip * plane.strip_cells);
  march.next =
      (plane.first_row - 2 + strip * plane.strip_cells) * plane.factor_y;
  march.last = march.next + march.n * plane.factor_y - 1;
  march.at = plane.src + march.next * plane.src_stride + march.place.byte;
  march.to = plane.parts
      + strip * (plane.strip_cells + MULTIRATE_REACH - 1) * low_pitch;

  gpu_admit_next ();
  gpu_await_previous ();
#pragma unroll 1
  for (int i = 0; i < MULTIRATE_BYTES_AHEAD; i++)
    multirate_ask_for_row (march);
  __syncthreads (); /* the windows are there */
#pragma unroll 1
  for (int i = 0; i < march.n + MULTIRATE_REACH - 1; i++) {
#pragma unroll 1
    for (int p = 0; i < march.n && p < plane.factor_y; p++) {
      strip_wait<MULTIRATE_BYTES_AHEAD - 1> ();
      multirate_add_bytes (
          multirate_take_bytes<Chunk> (
              plane, border, march.place, &memory.row[march.slot][threadIdx.x]),
          march.weights, memory.window_y[p], sums);
      multirate_ask_for_row (march);
    }
    multirate_put_lows (march, sums, i);
    multirate_next_low_row (sums);
    __syncthreads (); /* before the shares are overwritten */
  }
}

static __global__ void
__launch_bounds__ (
    MULTIRATE_BYTES_THREADS, MULTIRATE_BYTES_AT_ONCE / MULTIRATE_BYTES_THREADS)
    multirate_decimate_bytes (GPU_PARAMETER MultirateFrame frame)
{
  __shared__ MultirateBytesMemory memory;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_DECIMATE_BYTES> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_DECIMATE_BYTES];

  for (int p = threadIdx.x; p < plane.factor_y; p += blockDim.x)
    memory.window_y[p] = plane.tables->window_y[p];
  MULTIRATE_FOR_CHUNK (
      plane, multirate_decimate_strip, plane, frame.border, block, memory)
}
