/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-bytes: what the two kernels of multirate for rows of bytes share. They take packed
 * planes of 8 bits with 1, 2 or 4 channels, decimated by powers of two along both axes.
 *
 * A thread has a chunk of MULTIRATE_CHUNK neighbouring bytes of a row, which it reads or writes at
 * once if rows are aligned: `pixels` of each channel. Those are `cells` whole cells, or, if a cell is larger, a part of
 * one. All that depends on how many is known when the kernel is compiled. */
#pragma once

#include "multirate.cuh"

#define MULTIRATE_CHUNK 16
#define MULTIRATE_CHUNK_WORDS (MULTIRATE_CHUNK / 4)

template <int CHANNELS, int CELLS> struct MultirateChunk
{
  static constexpr int channels = CHANNELS, cells = CELLS;
  static constexpr int pixels = MULTIRATE_CHUNK / CHANNELS;
  /* Of a cell, those in one chunk. */
  static constexpr int phases = pixels / CELLS;
  /* Low samples whose windows a chunk has a share in, and those that its results need. */
  static constexpr int lows = CELLS + MULTIRATE_REACH - 1;
};

/* The whole cells of a chunk, at least 1. */
static __host__ __device__ __forceinline__ int
multirate_chunk_cells (int factor, int channels)
{
  const int pixels = MULTIRATE_CHUNK / channels;

  return factor < pixels ? pixels / factor : 1;
}

/* The chunks of a cell, at least 1. */
static __host__ __device__ __forceinline__ int
multirate_cell_chunks (int factor, int channels)
{
  const int pixels = MULTIRATE_CHUNK / channels;

  return factor > pixels ? factor / pixels : 1;
}

/* Four pixels of RGBA have four cells of two: too many sums for a thread's registers. */
static inline bool
multirate_takes_bytes (
    const MultirateAxis *x, const MultirateAxis *y, int channels)
{
  return x->weight_sum > 0 && y->weight_sum > 0 && channels != 3
      && (channels < 4 || x->factor > 2);
}

/* Calls `function<Chunk> (arguments)` for the plane's chunks. */
#define MULTIRATE_FOR_CHUNK(plane, function, ...) \
  switch ((plane).channels << 4 \
      | multirate_chunk_cells ((plane).factor_x, (plane).channels)) { \
    case 0x18: \
      function<MultirateChunk<1, 8>> (__VA_ARGS__); \
      break; \
    case 0x14: \
      function<MultirateChunk<1, 4>> (__VA_ARGS__); \
      break; \
    case 0x12: \
      function<MultirateChunk<1, 2>> (__VA_ARGS__); \
      break; \
    case 0x11: \
      function<MultirateChunk<1, 1>> (__VA_ARGS__); \
      break; \
    case 0x24: \
      function<MultirateChunk<2, 4>> (__VA_ARGS__); \
      break; \
    case 0x22: \
      function<MultirateChunk<2, 2>> (__VA_ARGS__); \
      break; \
    case 0x21: \
      function<MultirateChunk<2, 1>> (__VA_ARGS__); \
      break; \
    case 0x41: \
      function<MultirateChunk<4, 1>> (__VA_ARGS__); \
      break; \
  }
