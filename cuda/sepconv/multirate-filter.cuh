/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-filter: the kernels of the method multirate that sum the fitted taps over the small
 * picture, first along x, then along y. Both sum blocks of MULTIRATE_SUM_BLOCK taps, then the
 * blocks, and take each value from memory for several results. */
#pragma once

#include "fours.cuh"
#include "multirate.cuh"

#define MULTIRATE_FILTER_WARPS 4
#define MULTIRATE_FILTER_THREADS (MULTIRATE_FILTER_WARPS * MULTIRATE_WARP)

/* Results of a warp of along_x, neighbours in a line: four of each thread. */
#define MULTIRATE_SEGMENT (4 * MULTIRATE_WARP)
/* Taps whose window is in shared memory at once. */
#define MULTIRATE_SPAN 256

/* The low samples of a line, as parts that strips made. */
struct MultirateLine
{
  const float *part; /* of the first strip that has any */
  ptrdiff_t next;    /* floats to the next strip's */
  int n;             /* parts */
};

__device__ __forceinline__ MultirateLine
multirate_line_of (const MultiratePart &plane, int row, int channel)
{
  const ptrdiff_t pitch = (ptrdiff_t) plane.channels * plane.low_columns;
  /* The row's cells are row to row + 3, of all strips; strip s has it as its row
   * row + 3 - s * strip_cells. */
  const int first = row / plane.strip_cells;
  const int last =
      min ((row + MULTIRATE_REACH - 1) / plane.strip_cells, plane.strips - 1);
  MultirateLine line;

  line.next = (MULTIRATE_REACH - 1) * pitch;
  line.part = plane.parts
      + (row + (first + 1) * (ptrdiff_t) (MULTIRATE_REACH - 1)) * pitch
      + (ptrdiff_t) channel * plane.low_columns;
  line.n = last - first + 1;
  return line;
}

__device__ __forceinline__ float
multirate_low (const MultirateLine &line, int column)
{
  float sum = gpu_load (line.part + column);

  for (int i = 1; i < line.n; i++)
    sum += gpu_load (line.part + i * line.next + column);
  return sum;
}

/* Adds a block of taps' products to four neighbouring results; `window` is at the first one's
 * first sample. */
__device__ __forceinline__ void
multirate_add_block (const float *window, const float *taps, float (&total)[4])
{
  float part[4] = {}, value[MULTIRATE_SUM_BLOCK + 4];

  load_fours (window, value);
#pragma unroll
  for (int j = 0; j < MULTIRATE_SUM_BLOCK; j += 4) {
    const float4 tap = *(const float4 *) (taps + j);

#pragma unroll
    for (int k = 0; k < 4; k++) {
      part[k] = __fmaf_rn (tap.x, value[j + k], part[k]);
      part[k] = __fmaf_rn (tap.y, value[j + k + 1], part[k]);
      part[k] = __fmaf_rn (tap.z, value[j + k + 2], part[k]);
      part[k] = __fmaf_rn (tap.w, value[j + k + 3], part[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    total[k] += part[k];
}

/* Each warp has a segment of a line, and needs no other warp. */
static __global__ void
__launch_bounds__ (MULTIRATE_FILTER_THREADS)
    multirate_along_x (const MultirateFrame frame)
{
  __shared__ float4
      windows[MULTIRATE_FILTER_WARPS][(MULTIRATE_SEGMENT + MULTIRATE_SPAN) / 4];
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_ALONG_X> (frame)];
  const int warp = threadIdx.x / MULTIRATE_WARP;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int segments =
      (plane.sum_columns + MULTIRATE_SEGMENT - 1) / MULTIRATE_SEGMENT;
  const int item = (blockIdx.x - plane.first_block[MULTIRATE_ALONG_X])
          * MULTIRATE_FILTER_WARPS
      + warp;
  const int number = item / segments;
  const int row = number / plane.channels;
  const int begin = (item - number * segments) * MULTIRATE_SEGMENT;
  /* The low column of the first result's first tap, of those that are there. */
  const int column = plane.first_x - 1 + begin - plane.first_column;
  float *const window = (float *) windows[warp];
  float total[4] = {};
  MultirateLine line;

  gpu_admit_next ();
  gpu_await_previous ();
  if (row >= plane.low_rows)
    return;
  line = multirate_line_of (plane, row, number - row * plane.channels);
  for (int first = 0; first < plane.taps_x; first += MULTIRATE_SPAN) {
    const int n = min (MULTIRATE_SPAN,
        (plane.taps_x - first + MULTIRATE_SUM_BLOCK - 1) / MULTIRATE_SUM_BLOCK
            * MULTIRATE_SUM_BLOCK);

    for (int i = lane; i < MULTIRATE_SEGMENT + n; i += MULTIRATE_WARP)
      window[i] = multirate_low (
          line, min (max (column + first + i, 0), plane.low_columns - 1));
    __syncwarp ();
    for (int i = 0; i < n; i += MULTIRATE_SUM_BLOCK)
      multirate_add_block (
          window + 4 * lane + i, plane.tables->tap_x + first + i, total);
    __syncwarp (); /* before the next window is loaded */
  }
  if (begin + 4 * lane < plane.pitch)
    *(float4 *) (plane.sums_x + (ptrdiff_t) number * plane.pitch + begin
        + 4 * lane) = make_float4 (total[0], total[1], total[2], total[3]);
}

/* Adds the products of half a block of rows, from row i of the window on, to the results of a
 * thread. `taps` begins MULTIRATE_COLUMN_SUMS before the tap of row i for the first result. */
__device__ __forceinline__ void
multirate_add_rows (const float (&value)[MULTIRATE_COLUMN_SUMS],
    const float *taps, float (&part)[MULTIRATE_COLUMN_SUMS])
{
  float tap[2 * MULTIRATE_COLUMN_SUMS];

  load_fours (taps, tap);
#pragma unroll
  for (int i = 0; i < MULTIRATE_COLUMN_SUMS; i++)
#pragma unroll
    for (int k = 0; k < MULTIRATE_COLUMN_SUMS; k++)
      part[k] =
          __fmaf_rn (tap[MULTIRATE_COLUMN_SUMS + i - k], value[i], part[k]);
}

/* A warp has 32 columns of MULTIRATE_COLUMN_SUMS rows; those of a block are below each other, so
 * that they find each other's rows in the L1. */
static __global__ void
__launch_bounds__ (MULTIRATE_FILTER_THREADS)
    multirate_along_y (const MultirateFrame frame)
{
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_ALONG_Y> (frame)];
  const int columns = plane.channels * plane.pitch;
  const int across = (columns + MULTIRATE_WARP - 1) / MULTIRATE_WARP;
  const int block = blockIdx.x - plane.first_block[MULTIRATE_ALONG_Y];
  const int down = block / across;
  const int column = (block - down * across) * MULTIRATE_WARP
      + (int) threadIdx.x % MULTIRATE_WARP;
  const int first =
      (down * MULTIRATE_FILTER_WARPS + (int) threadIdx.x / MULTIRATE_WARP)
      * MULTIRATE_COLUMN_SUMS;
  /* The low row of the first result's first tap, of those that are there. */
  const int row = plane.first_y - 1 + first - plane.first_row;
  const int n = plane.taps_y + MULTIRATE_COLUMN_SUMS - 1;
  float total[MULTIRATE_COLUMN_SUMS] = {};

  gpu_admit_next ();
  gpu_await_previous ();
  if (column >= columns || first >= plane.sum_rows)
    return;
  for (int i = 0; i < n; i += MULTIRATE_SUM_BLOCK) {
    float part[MULTIRATE_COLUMN_SUMS] = {};
    float value[MULTIRATE_SUM_BLOCK / MULTIRATE_COLUMN_SUMS]
               [MULTIRATE_COLUMN_SUMS];

#pragma unroll
    for (int k = 0; k < MULTIRATE_SUM_BLOCK; k++)
      value[k / MULTIRATE_COLUMN_SUMS][k % MULTIRATE_COLUMN_SUMS] =
          plane
              .sums_x[(ptrdiff_t) min (max (row + i + k, 0), plane.low_rows - 1)
                      * columns
                  + column];
#pragma unroll
    for (int k = 0; k < MULTIRATE_SUM_BLOCK / MULTIRATE_COLUMN_SUMS; k++)
      multirate_add_rows (
          value[k], plane.tables->tap_y + i + k * MULTIRATE_COLUMN_SUMS, part);
#pragma unroll
    for (int k = 0; k < MULTIRATE_COLUMN_SUMS; k++)
      total[k] += part[k];
  }
#pragma unroll
  for (int k = 0; k < MULTIRATE_COLUMN_SUMS; k++)
    if (first + k < plane.sum_rows)
      plane.sums[(ptrdiff_t) (first + k) * columns + column] = total[k];
}
