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
 * Code is kept short: where each of four low rows, or each border, has code of its own, warps wait
 * for instructions longer than for anything else. Nothing at a border waits for memory before the
 * row is summed, except for borders that mirror or wrap. */
#pragma once

#include "multirate-bytes.cuh"
#include "multirate-decimate.cuh"

/* Registers for two blocks a multiprocessor. */
#define MULTIRATE_BYTES_THREADS 256
#define MULTIRATE_BYTES_AT_ONCE (2 * MULTIRATE_BYTES_THREADS)

/* Rows on their way. A cell has as many, or half of them, or a multiple. */
#define MULTIRATE_BYTES_AHEAD 4

#define MULTIRATE_MOST_SHARES 16
#define MULTIRATE_NO_BYTE (-1)

struct MultirateBytesMemory
{
  float4 window_y[MULTIRATE_MAX_FACTOR];
  /* A thread's shares lie at an odd distance from the next one's: in other banks. */
  float share[MULTIRATE_BYTES_THREADS * (MULTIRATE_MOST_SHARES + 1)];
  /* Where the bytes of chunks lie that are not read at once. */
  int from[MULTIRATE_CHUNK][MULTIRATE_BYTES_THREADS];
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

/* How a thread gets its chunk of a row. */
enum MultirateBytesReading
{
  MULTIRATE_BYTES_UNUSED,
  MULTIRATE_BYTES_CHUNK,
  MULTIRATE_BYTES_WORDS,  /* four words */
  MULTIRATE_BYTES_BORDER, /* the constant border's */
  MULTIRATE_BYTES_PIXEL,  /* the pixel at the edge, for all */
  MULTIRATE_BYTES_EDGE,   /* words up to the edge, then its pixel, or the constant border */
  MULTIRATE_BYTES_GATHERED
};

template <typename Chunk>
__device__ __forceinline__ MultirateBytesReading
multirate_choose_reading (const MultiratePart &plane, SepconvBorder border,
    const MultirateBytesTile &tile)
{
  const bool one = border == SEPCONV_REPLICATE || border == SEPCONV_CONSTANT;
  const int x = multirate_bytes_pixel<Chunk> (plane, tile);
  const int end =
      (tile.cell + tile.skew + tile.n + MULTIRATE_REACH - 1) * plane.factor_x;

  if (x >= end)
    return MULTIRATE_BYTES_UNUSED;
  if (plane.src_unit > 1 && x >= 0 && x + Chunk::pixels <= plane.width)
    return plane.src_unit == MULTIRATE_CHUNK ? MULTIRATE_BYTES_CHUNK
                                             : MULTIRATE_BYTES_WORDS;
  if (one && (x + Chunk::pixels <= 0 || x >= plane.width))
    return border == SEPCONV_CONSTANT ? MULTIRATE_BYTES_BORDER
                                      : MULTIRATE_BYTES_PIXEL;
  if (one && plane.src_unit > 1 && x >= 0 && plane.n_samples % 4 == 0)
    return MULTIRATE_BYTES_EDGE;
  return MULTIRATE_BYTES_GATHERED;
}

/* Finds the bytes of a chunk that is gathered. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_find_bytes (const MultiratePart &plane, SepconvBorder border,
    int pixel, MultirateBytesMemory &memory)
{
#pragma unroll 1
  for (int j = 0; j < Chunk::pixels; j++) {
    const int at = border_index (pixel + j, plane.width, border);

    for (int c = 0; c < Chunk::channels; c++)
      memory.from[j * Chunk::channels + c][threadIdx.x] =
          at < 0 ? MULTIRATE_NO_BYTE : at * Chunk::channels + c;
  }
}

struct MultirateBytes
{
  uint32_t word[MULTIRATE_CHUNK_WORDS];
};

__device__ __forceinline__ void
multirate_fill_bytes (uint32_t word, MultirateBytes *to)
{
#pragma unroll
  for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
    to->word[w] = word;
}

__device__ __forceinline__ void
multirate_gather_bytes (const uint8_t *row, uint32_t border,
    const MultirateBytesMemory &memory, MultirateBytes *to)
{
#pragma unroll 1
  for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++) {
    uint32_t word = 0;

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int from = memory.from[4 * w + j][threadIdx.x];

      word |= from == MULTIRATE_NO_BYTE ? border & 0xffu << 8 * j
                                        : (uint32_t) row[from] << 8 * j;
    }
    to->word[0] = to->word[1];
    to->word[1] = to->word[2];
    to->word[2] = to->word[3];
    to->word[3] = word;
  }
}

/* Asks for a thread's chunk of a row; multirate_complete_bytes() makes it whole. `byte` is where
 * it lies in the row: of a pixel at the edge, where that does. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_load_bytes (const MultiratePart &plane, const uint8_t *row, int byte,
    MultirateBytesReading reading, const MultirateBytesMemory &memory,
    MultirateBytes *to)
{
  const uint8_t *at = row + byte;

  if (reading == MULTIRATE_BYTES_CHUNK) {
    const uint4 words = gpu_load ((const uint4 *) at);

    to->word[0] = words.x;
    to->word[1] = words.y;
    to->word[2] = words.z;
    to->word[3] = words.w;
  } else if (reading == MULTIRATE_BYTES_WORDS
      || reading == MULTIRATE_BYTES_EDGE) {
#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
      to->word[w] = gpu_load (
          (const uint32_t *) (row + min (byte + 4 * w, plane.n_samples - 4)));
  } else if (reading == MULTIRATE_BYTES_PIXEL) {
#pragma unroll
    for (int c = 0; c < Chunk::channels; c++)
      to->word[c] = at[c];
  } else if (reading == MULTIRATE_BYTES_GATHERED)
    multirate_gather_bytes (row, plane.border_bytes, memory, to);
  else if (reading == MULTIRATE_BYTES_BORDER)
    multirate_fill_bytes (plane.border_bytes, to);
}

/* Four bytes of a pixel, or of pixels like it. */
template <typename Chunk>
__device__ __forceinline__ uint32_t
multirate_repeat_pixel (const MultirateBytes &bytes)
{
  const uint32_t *byte = bytes.word;

  if constexpr (Chunk::channels == 1)
    return byte[0] * 0x01010101u;
  else if constexpr (Chunk::channels == 2)
    return (byte[0] | byte[1] << 8) * 0x00010001u;
  else
    return byte[0] | byte[1] << 8 | byte[2] << 16 | byte[3] << 24;
}

/* The last pixel of a word, in its place. */
template <typename Chunk>
__device__ __forceinline__ uint32_t
multirate_repeat_last (uint32_t word)
{
  if constexpr (Chunk::channels == 1)
    return __byte_perm (word, 0, 0x3333);
  else if constexpr (Chunk::channels == 2)
    return __byte_perm (word, 0, 0x3232);
  else
    return word;
}

template <typename Chunk>
__device__ __forceinline__ void
multirate_complete_bytes (const MultiratePart &plane, SepconvBorder border,
    int byte, MultirateBytesReading reading, MultirateBytes *bytes)
{
  if (reading == MULTIRATE_BYTES_PIXEL)
    multirate_fill_bytes (multirate_repeat_pixel<Chunk> (*bytes), bytes);
  else if (reading == MULTIRATE_BYTES_EDGE) {
#pragma unroll
    for (int w = 0; w < MULTIRATE_CHUNK_WORDS; w++)
      if (byte + 4 * w >= plane.n_samples)
        bytes->word[w] = border == SEPCONV_CONSTANT
            ? plane.border_bytes
            : multirate_repeat_last<Chunk> (bytes->word[w]);
  }
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
  const int chunks =
      multirate_cell_chunks (plane.factor_x, plane.channels);
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
      sum = __dp4a (pixels.word[channel][w],
          weights.weight[w % Weights::words][k], sum);
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
  const MultiratePixels<Chunk> pixels =
      multirate_split_channels<Chunk> (bytes);

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
  MultirateBytesReading reading;
  int byte;       /* where the chunk lies in a row */
  int n;          /* cells along y */
  int next, last; /* the next row to ask for, and the last one */
  float *to;      /* the next low row's parts */
  MultirateByteWeights<Chunk> weights;
};

template <typename Chunk>
__device__ __forceinline__ void
multirate_ask_for_row (
    MultirateBytesMarch<Chunk> &march, MultirateBytes *ahead)
{
  const MultiratePart &plane = *march.plane;
  const int y = march.next++;
  const int at = border_index (y, plane.height, march.border);

  if (y > march.last)
    return;
  if (at < 0)
    multirate_fill_bytes (plane.border_bytes, ahead);
  else
    multirate_load_bytes<Chunk> (plane, plane.src + at * plane.src_stride,
        march.byte, march.reading, *march.memory, ahead);
}

/* Adds n rows of a cell, which came as ahead[0] to ahead[n - 1], and asks for as many others. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_add_rows_of_bytes (MultirateBytesMarch<Chunk> &march, int n,
    const float4 *weight, MultirateBytes (&ahead)[MULTIRATE_BYTES_AHEAD],
    MultirateByteSums<Chunk> &sums)
{
#pragma unroll
  for (int i = 0; i < MULTIRATE_BYTES_AHEAD; i++)
    if (i < n) {
      const int y = march.next - MULTIRATE_BYTES_AHEAD;

      if (march.border != SEPCONV_CONSTANT
          || (unsigned) y < (unsigned) march.plane->height)
        multirate_complete_bytes<Chunk> (*march.plane, march.border,
            march.byte, march.reading, &ahead[i]);
      multirate_add_bytes (ahead[i], march.weights, weight[i], sums);
      multirate_ask_for_row (march, &ahead[i]);
    }
}

/* Those of half as many rows come first then. */
__device__ __forceinline__ void
multirate_swap_halves (MultirateBytes (&ahead)[MULTIRATE_BYTES_AHEAD])
{
  constexpr int half = MULTIRATE_BYTES_AHEAD / 2;

#pragma unroll
  for (int i = 0; i < half; i++) {
    const MultirateBytes bytes = ahead[i];

    ahead[i] = ahead[i + half];
    ahead[i + half] = bytes;
  }
}

/* Puts the shares in the first low row into shared memory, and goes on to the next low row. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_put_shares (
    MultirateBytesMarch<Chunk> &march, MultirateByteSums<Chunk> &sums)
{
  constexpr int shares = Chunk::channels * Chunk::lows;
  float *share = march.memory->share + threadIdx.x * (shares | 1);

#pragma unroll
  for (int c = 0; c < Chunk::channels; c++)
#pragma unroll
    for (int low = 0; low < Chunk::lows; low++) {
      share[c * Chunk::lows + low] = sums.sum[0][c][low];
      sums.sum[0][c][low] = sums.sum[1][c][low];
      sums.sum[1][c][low] = sums.sum[2][c][low];
      sums.sum[2][c][low] = sums.sum[3][c][low];
      sums.sum[3][c][low] = 0.0f;
    }
}

/* All shares of the window that begins with a cell of the tile. */
template <typename Chunk>
__device__ __forceinline__ float
multirate_sum_shares (
    const MultirateBytesMarch<Chunk> &march, int channel, int cell)
{
  constexpr int pitch = Chunk::channels * Chunk::lows | 1;
  const float *share = march.memory->share + channel * Chunk::lows;
  float sum = 0.0f;

  if constexpr (Chunk::cells > 1) {
    for (int i = cell / Chunk::cells;
        i <= (cell + MULTIRATE_REACH - 1) / Chunk::cells; i++)
      sum += share[i * pitch + cell + MULTIRATE_REACH - 1 - i * Chunk::cells];
  } else {
    const int chunks =
        multirate_cell_chunks (march.plane->factor_x, Chunk::channels);

#pragma unroll
    for (int t = 0; t < MULTIRATE_REACH; t++)
      for (int i = (cell + t) * chunks; i < (cell + t + 1) * chunks; i++)
        sum += share[i * pitch + MULTIRATE_REACH - 1 - t];
  }
  return sum;
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

/* Sums the windows along x of low row i, which is complete. */
template <typename Chunk>
__device__ __forceinline__ void
multirate_put_lows (MultirateBytesMarch<Chunk> &march, int i)
{
  const MultiratePart &plane = *march.plane;
  const float start = -plane.center * multirate_byte_rows (march, i);
  int channel = 0;

#pragma unroll 1
  for (int q = threadIdx.x;; q += blockDim.x) {
    while (q >= march.tile.n && channel < Chunk::channels) {
      q -= march.tile.n;
      channel++;
    }
    if (channel == Chunk::channels)
      break;
    march.to[(ptrdiff_t) channel * plane.low_columns + march.tile.first + q] =
        __fmaf_rn (
            multirate_sum_shares (march, channel, march.tile.skew + q),
            plane.byte_unit, start);
  }
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
  int pixel;
  MultirateBytes ahead[MULTIRATE_BYTES_AHEAD] = {};
  MultirateByteSums<Chunk> sums = {};

  march.plane = &plane;
  march.memory = &memory;
  march.border = border;
  march.tile = multirate_bytes_tile<Chunk> (plane, block - strip * plane.tiles);
  march.reading =
      multirate_choose_reading<Chunk> (plane, border, march.tile);
  pixel = multirate_bytes_pixel<Chunk> (plane, march.tile);
  if (march.reading == MULTIRATE_BYTES_GATHERED)
    multirate_find_bytes<Chunk> (plane, border, pixel, memory);
  if (march.reading == MULTIRATE_BYTES_PIXEL)
    pixel = min (max (pixel, 0), plane.width - 1);
  march.byte = pixel * Chunk::channels;
  march.weights = multirate_byte_weights<Chunk> (plane);
  /* Cells are numbered from the row that is 0 on. */
  march.n = min (plane.strip_cells, plane.cells - strip * plane.strip_cells);
  march.next =
      (plane.first_row - 2 + strip * plane.strip_cells) * plane.factor_y;
  march.last = march.next + march.n * plane.factor_y - 1;
  march.to = plane.parts
      + strip * (plane.strip_cells + MULTIRATE_REACH - 1) * low_pitch;

  gpu_await_previous ();
#pragma unroll
  for (int i = 0; i < MULTIRATE_BYTES_AHEAD; i++)
    multirate_ask_for_row (march, &ahead[i]);
  __syncthreads (); /* the windows are there */
#pragma unroll 1
  for (int i = 0; i < march.n + MULTIRATE_REACH - 1; i++) {
#pragma unroll 1
    for (int p = 0; i < march.n && p < plane.factor_y;
         p += MULTIRATE_BYTES_AHEAD)
      multirate_add_rows_of_bytes (
          march, plane.factor_y, memory.window_y + p, ahead, sums);
    if (i < march.n && plane.factor_y < MULTIRATE_BYTES_AHEAD)
      multirate_swap_halves (ahead);
    multirate_put_shares (march, sums);
    __syncthreads (); /* the shares are there */
    multirate_put_lows (march, i);
    __syncthreads (); /* before they are overwritten */
  }
}

static __global__ void
__launch_bounds__ (MULTIRATE_BYTES_THREADS,
    MULTIRATE_BYTES_AT_ONCE / MULTIRATE_BYTES_THREADS)
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
