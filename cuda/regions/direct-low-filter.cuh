/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-low-filter: the kernel that sums the fitted taps over low samples, along x and then along
 * y. Low samples go through shared memory, in strips of rows. */
#pragma once

#include "direct-lows.cuh"

#include "../sepconv/twopass.cuh"

#define LOW_FILTER_STRIP 8192 /* floats of a strip, at most */

/* Floats of shared memory for taps, which are read in fours. */
__host__ __device__ __forceinline__ int
direct_low_filter_taps (const RegionsRate &rate)
{
  return (rate.n + 3) / 4 * 4;
}

/* Rows of a strip of low samples. */
__host__ __device__ __forceinline__ int
direct_low_filter_strip (const RegionsRate &x, const RegionsRate &y)
{
  const int pitch = DIRECT_SUM_COLUMNS + x.n - 1;
  const int rows = DIRECT_SUM_ROWS + y.n - 1;

  return rows * pitch < LOW_FILTER_STRIP ? rows : LOW_FILTER_STRIP / pitch;
}

/* Floats of shared memory: taps, the sums along x, and a strip. */
__host__ __device__ __forceinline__ int
direct_low_filter_floats (const RegionsRate &x, const RegionsRate &y)
{
  return direct_low_filter_taps (x) + direct_low_filter_taps (y)
      + direct_low_filter_strip (x, y) * (DIRECT_SUM_COLUMNS + x.n - 1)
      + (DIRECT_SUM_ROWS + y.n - 1) * DIRECT_SUM_COLUMNS;
}

/* The sum of n products, in blocks as MULTIRATE_SUM_BLOCK says. */
__device__ __forceinline__ float
low_filter_sum (const float *low, int apart, const float *tap, int n)
{
  float sum = 0.0f;

  for (int first = 0; first < n; first += MULTIRATE_SUM_BLOCK) {
    const int last = min (first + MULTIRATE_SUM_BLOCK, n);
    float some = 0.0f;

#pragma unroll 4
    for (int j = first; j < last; j++)
      some = multiply_add (tap[j], low[j * apart], some);
    sum += some;
  }
  return sum;
}

/* The work of a block of threads: a tile of the sums of a channel. */
struct LowFilterTile
{
  const float *lows;     /* the first low sample that it reads */
  float *sums;           /* its first sum */
  int pitch, sums_pitch; /* from a row to the next one */
  int left;         /* low samples from the first one to the end of its row */
  int across, down; /* sums */
  /* in shared memory */
  float *tap_x, *tap_y;
  float *along_x; /* [row of low samples][DIRECT_SUM_COLUMNS] */
  float *strip;   /* [row][DIRECT_SUM_COLUMNS - 1 + taps] */
};

__device__ __forceinline__ LowFilterTile
low_filter_find_tile (
    const DirectFrame &frame, const DirectLowJob &job, float *shared)
{
  const RegionsRate &rate_x = job.taps.rate_x, &rate_y = job.taps.rate_y;
  const DirectLows lows = direct_lows (frame, job.plane)[job.region];
  const DirectLowSpan x = direct_low_span (rate_x, lows.area.x);
  const DirectLowSpan y = direct_low_span (rate_y, lows.area.y);
  const int tiles = (x.sums + DIRECT_SUM_COLUMNS - 1) / DIRECT_SUM_COLUMNS;
  const int tiles_y = (y.sums + DIRECT_SUM_ROWS - 1) / DIRECT_SUM_ROWS;
  const int order = job.block / (tiles * tiles_y);
  const int column = job.block % tiles * DIRECT_SUM_COLUMNS;
  const int row = job.block / tiles % tiles_y * DIRECT_SUM_ROWS;
  LowFilterTile tile;

  tile.lows = frame.lows + lows.lows_at
      + ((size_t) order * y.lows + row) * x.lows + column;
  tile.sums = frame.lows + lows.sums_at
      + ((size_t) order * y.sums + row) * x.sums + column;
  tile.pitch = x.lows;
  tile.sums_pitch = x.sums;
  tile.left = x.lows - column;
  tile.across = min (DIRECT_SUM_COLUMNS, x.sums - column);
  tile.down = min (DIRECT_SUM_ROWS, y.sums - row);
  tile.tap_x = shared;
  tile.tap_y = tile.tap_x + direct_low_filter_taps (rate_x);
  tile.along_x = tile.tap_y + direct_low_filter_taps (rate_y);
  tile.strip =
      tile.along_x + (DIRECT_SUM_ROWS + rate_y.n - 1) * DIRECT_SUM_COLUMNS;
  return tile;
}

/* Loads `n` rows of low samples into the strip. Columns that no sum needs, which may lie behind the
 * last low sample, become 0. */
__device__ __forceinline__ void
low_filter_load (const LowFilterTile &tile, int first, int n, int width)
{
  for (int row = threadIdx.y; row < n; row += DIRECT_ROWS)
    for (int column = threadIdx.x; column < width; column += DIRECT_COLUMNS)
      tile.strip[row * width + column] = column < tile.left
          ? gpu_load (tile.lows + (size_t) (first + row) * tile.pitch + column)
          : 0.0f;
}

/* Each block of threads makes a tile of the sums of a channel. */
static __global__ void
__launch_bounds__ (DIRECT_THREADS)
    direct_filter_lows (GPU_PARAMETER DirectFrame frame)
{
  GPU_DYNAMIC_SHARED (float4, shared);
  __shared__ DirectLowJob job;
  const RegionsRate &x = job.taps.rate_x, &y = job.taps.rate_y;
  const int me = direct_me ();

  gpu_admit_next ();
  direct_find_lows (frame, &DirectLows::filter, &job);

  const LowFilterTile tile =
      low_filter_find_tile (frame, job, (float *) shared);
  const int width = DIRECT_SUM_COLUMNS + x.n - 1;
  const int strip = direct_low_filter_strip (x, y);
  const int rows = tile.down + y.n - 1;

  for (int i = me; i < x.n; i += DIRECT_THREADS)
    tile.tap_x[i] = frame.tap[x.tap + i];
  for (int i = me; i < y.n; i += DIRECT_THREADS)
    tile.tap_y[i] = frame.tap[y.tap + i];
  gpu_await_previous ();
  for (int first = 0; first < rows; first += strip) {
    const int n = min (strip, rows - first);

    __syncthreads ();
    low_filter_load (tile, first, n, width);
    __syncthreads ();
    for (int i = me; i < n * DIRECT_SUM_COLUMNS; i += DIRECT_THREADS)
      tile.along_x[first * DIRECT_SUM_COLUMNS + i] = low_filter_sum (
          tile.strip + i / DIRECT_SUM_COLUMNS * width + i % DIRECT_SUM_COLUMNS,
          1, tile.tap_x, x.n);
  }
  __syncthreads ();
  for (int i = me; i < tile.down * DIRECT_SUM_COLUMNS; i += DIRECT_THREADS) {
    const int row = i / DIRECT_SUM_COLUMNS, column = i % DIRECT_SUM_COLUMNS;

    if (column < tile.across)
      tile.sums[(size_t) row * tile.sums_pitch + column] = low_filter_sum (
          tile.along_x + i, DIRECT_SUM_COLUMNS, tile.tap_y, y.n);
  }
}
