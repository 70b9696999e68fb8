/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-filter: the kernels of the method multirate that sum the fitted taps over the small
 * picture, first along x, then along y. All sum blocks of MULTIRATE_SUM_BLOCK taps, then the
 * blocks, and take each value from memory for several results.
 *
 * Factors grow with the taps, so that most planes have about 30 fitted ones along each axis:
 * along_both sums both axes of a tile in shared memory. along_x and along_y take the others. */
#pragma once

#include "fours.cuh"
#include "multirate.cuh"
#include "tensor.cuh"

#define MULTIRATE_FILTER_WARPS 4
#define MULTIRATE_FILTER_THREADS (MULTIRATE_FILTER_WARPS * MULTIRATE_WARP)

/* Results of a warp of along_x, neighbours in a line: four of each thread. */
#define MULTIRATE_SEGMENT (4 * MULTIRATE_WARP)
/* Taps whose window is in shared memory at once. */
#define MULTIRATE_SPAN 256

/* A line of low samples: the sum of the parts that strips made. */
struct MultirateLine
{
  const float *part; /* of the first strip that has any */
  ptrdiff_t next;    /* floats to the next strip's */
  int n;             /* parts */
};

/* Floats from a part of a line to the next strip's. */
__device__ __forceinline__ ptrdiff_t
multirate_next_part (const MultiratePart &plane)
{
  return (MULTIRATE_REACH - 1) * (ptrdiff_t) plane.channels * plane.low_pitch;
}

__device__ __forceinline__ MultirateLine
multirate_line_of (const MultiratePart &plane, int row, int channel)
{
  const ptrdiff_t pitch = (ptrdiff_t) plane.channels * plane.low_pitch;
  /* The row's window has cells `row` to row + 3 of the plane. In strip s, it is row
   * row + 3 - s * strip_cells. */
  const int first = row / plane.strip_cells;
  const int last =
      min ((row + MULTIRATE_REACH - 1) / plane.strip_cells, plane.strips - 1);
  MultirateLine line;

  line.next = multirate_next_part (plane);
  line.part = plane.parts
      + (row + (first + 1) * (ptrdiff_t) (MULTIRATE_REACH - 1)) * pitch
      + (ptrdiff_t) channel * plane.low_pitch;
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

/* The limit of sums of bytes, which are stored in FP16. Sums beyond it are so far out of the range
 * of codes that limiting them does not change the clamped result. */
#define MULTIRATE_MOST_SUM 32768.0f

/* Limits a sum of bytes along both axes, with the offset, to the range that FP16 holds. */
__device__ __forceinline__ float
multirate_limit_sum (float sum)
{
  return fminf (fmaxf (sum, -MULTIRATE_MOST_SUM), MULTIRATE_MOST_SUM);
}

/* Writes a sum along both axes. For bytes, adds the offset and writes an FP16 hi/lo split, the
 * upper half in the low bits of the word, with a relative error below 2^-22. */
__device__ __forceinline__ void
multirate_put_sum (
    const MultiratePart &plane, float offset, float *to, float sum)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  if (plane.bytes) {
    const float code =
        multirate_limit_sum (sum + offset + tensor_above<1, true> ());
    const uint32_t half = pack_halves (code, 0.0f);

    *(uint32_t *) to = half | rest_of_halves (half, code, 0.0f) << 16;
    return;
  }
#endif
  *to = sum;
}

#define MULTIRATE_ADD_THREADS 256

/* The number of sums to which those of a second term are added; 0: there is no second term. */
static __host__ __device__ inline long long
multirate_count_sums (const MultiratePart *plane)
{
  return plane->more_sums == NULL
      ? 0
      : (long long) plane->sum_rows * plane->channels * plane->pitch;
}

/* Reads a sum that multirate_put_sum() has written. */
__device__ __forceinline__ float
multirate_get_sum (const MultiratePart &plane, const float *from)
{
  const float sum = gpu_load (from);

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  if (plane.bytes)
    return sum_of_halves (__float_as_uint (sum)) - tensor_above<1, true> ();
#endif
  return sum;
}

/* Adds the sums of the second term. blockIdx.y is the plane. */
static __global__ void
multirate_add_sums (GPU_PARAMETER MultirateFrame frame)
{
  const MultiratePart &plane = frame.plane[blockIdx.y];
  const long long i =
      (long long) blockIdx.x * MULTIRATE_ADD_THREADS + threadIdx.x;

  gpu_await_previous ();
  gpu_admit_next ();
  if (i >= multirate_count_sums (&plane))
    return;
  multirate_put_sum (plane, 0.0f, plane.sums + i,
      multirate_get_sum (plane, plane.sums + i)
          + multirate_get_sum (plane, plane.more_sums + i));
}

/* Adds the products of a block of taps to four neighbouring results. `window` points to the first
 * result's first sample. */
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

/* Each warp makes a segment of a line by itself. */
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
  /* The low column under the first result's first tap, counted from plane.first_column. */
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

/* Adds the products of MULTIRATE_COLUMN_SUMS rows, half a block, to the results of a thread. `taps`
 * begins MULTIRATE_COLUMN_SUMS before the first row's tap for the first result. */
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

/* A warp has 32 columns of MULTIRATE_COLUMN_SUMS rows. The warps of a block are below each other,
 * so that they find each other's rows in the L1 cache. */
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
  /* The low row under the first result's first tap, counted from plane.first_row. */
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
      multirate_put_sum (plane, plane.offset[column / plane.pitch],
          plane.sums + (ptrdiff_t) (first + k) * columns + column, total[k]);
}

/* along_both: the columns of a tile, which is of one channel and has up to MULTIRATE_BOTH_MOST_ROWS
 * rows. */
#define MULTIRATE_BOTH_COLUMNS 64
#define MULTIRATE_BOTH_WARPS 8
#define MULTIRATE_BOTH_THREADS (MULTIRATE_BOTH_WARPS * MULTIRATE_WARP)
#define MULTIRATE_BOTH_BLOCKS 4 /* that a multiprocessor runs at once */
/* Low rows that a warp sums along x at once: each half-warp has two of them, each thread four
 * results of either row. */
#define MULTIRATE_BOTH_LINES 4
/* Low columns that a tile's results along x need, and the loads of a thread for a line of them. */
#define MULTIRATE_BOTH_WINDOW \
  (MULTIRATE_BOTH_COLUMNS + MULTIRATE_BOTH_MOST_TAPS)
#define MULTIRATE_BOTH_LOADS \
  ((MULTIRATE_BOTH_WINDOW + MULTIRATE_WARP - 1) / MULTIRATE_WARP)
static_assert (MULTIRATE_BOTH_MOST_TAPS % 4 == 0
        && MULTIRATE_BOTH_MOST_ROWS % MULTIRATE_COLUMN_SUMS == 0
        && MULTIRATE_SUM_BLOCK % MULTIRATE_COLUMN_SUMS == 0
        && MULTIRATE_BOTH_COLUMNS == 2 * MULTIRATE_WARP
        && MULTIRATE_BOTH_LOADS == 4
        && MULTIRATE_BOTH_MOST_ROWS + MULTIRATE_BOTH_MOST_TAPS
            <= MULTIRATE_BOTH_THREADS,
    "Taps come in fours, and rows in whole columns of sums.");

struct MultirateBoth
{
  float4 tap_x[MULTIRATE_BOTH_MOST_TAPS / 4];
  float4 tap_y[MULTIRATE_BOTH_MOST_TAPS / 4];
  float4 lines[MULTIRATE_BOTH_WARPS][MULTIRATE_BOTH_LINES]
              [MULTIRATE_BOTH_WINDOW / 4];
  /* [line]: number of its parts. */
  int parts[MULTIRATE_BOTH_MOST_ROWS + MULTIRATE_BOTH_MOST_TAPS];
  /* [k][line]: where part k begins, NULL if there is none. */
  const float *part[MULTIRATE_REACH]
                   [MULTIRATE_BOTH_MOST_ROWS + MULTIRATE_BOTH_MOST_TAPS];
  int column[MULTIRATE_BOTH_LOADS
      * MULTIRATE_WARP]; /* low columns of the window */
  float sums_x[MULTIRATE_BOTH_MOST_ROWS + MULTIRATE_BOTH_MOST_TAPS]
              [MULTIRATE_BOTH_COLUMNS];
};

/* Stores the addresses of low row `row` of a channel, or of the edge's row that stands for it, as
 * line i of the block. */
__device__ __forceinline__ void
multirate_note_line (const MultiratePart &plane, int row, int channel, int i,
    MultirateBoth *memory)
{
  const MultirateLine line = multirate_line_of (
      plane, min (max (row, 0), plane.low_rows - 1), channel);

#pragma unroll
  for (int k = 0; k < MULTIRATE_REACH; k++)
    memory->part[k][i] = k < line.n ? line.part + k * line.next : NULL;
  memory->parts[i] = line.n;
}

/* Loads one part of neighbouring lines, 0 for lines without it. ALL: all lines have it, as they
 * have part 0. INSIDE: no column is beyond an edge, so that columns follow each other and need one
 * address per line. */
template <bool INSIDE, bool ALL>
__device__ __forceinline__ void
multirate_load_parts (const float *const *part,
    const int (&column)[MULTIRATE_BOTH_LOADS], bool wide,
    float (&value)[MULTIRATE_BOTH_LINES][MULTIRATE_BOTH_LOADS])
{
  /* The loads of all lines are in flight together. */
#pragma unroll
  for (int r = 0; r < MULTIRATE_BOTH_LINES; r++) {
    const float *const line = part[r];

#pragma unroll
    for (int i = 0; i < MULTIRATE_BOTH_LOADS; i++) {
      const float *const at =
          INSIDE ? line + column[0] + i * MULTIRATE_WARP : line + column[i];

      value[r][i] =
          (ALL || line != NULL) && (i < MULTIRATE_BOTH_LOADS - 1 || wide)
          ? gpu_load (at)
          : 0.0f;
    }
  }
}

/* Loads a warp's neighbouring lines, from line y of the block on, to shared memory. */
template <bool INSIDE>
__device__ __forceinline__ void
multirate_load_lines (const MultirateBoth *memory, int y, bool wide,
    float4 (*to)[MULTIRATE_BOTH_WINDOW / 4])
{
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int *const parts = memory->parts + y;
  const int most = max (max (parts[0], parts[1]), max (parts[2], parts[3]));
  float value[MULTIRATE_BOTH_LINES][MULTIRATE_BOTH_LOADS];
  int column[MULTIRATE_BOTH_LOADS];

  static_assert (MULTIRATE_BOTH_LINES == 4, "the most parts of any");
#pragma unroll
  for (int i = 0; i < MULTIRATE_BOTH_LOADS; i++)
    column[i] = memory->column[i * MULTIRATE_WARP + lane];
  multirate_load_parts<INSIDE, true> (&memory->part[0][y], column, wide, value);
#pragma unroll 1
  for (int k = 1; k < most; k++) {
    float more[MULTIRATE_BOTH_LINES][MULTIRATE_BOTH_LOADS];

    multirate_load_parts<INSIDE, false> (
        &memory->part[k][y], column, wide, more);
#pragma unroll
    for (int r = 0; r < MULTIRATE_BOTH_LINES; r++)
#pragma unroll
      for (int i = 0; i < MULTIRATE_BOTH_LOADS; i++)
        value[r][i] += more[r][i];
  }
#pragma unroll
  for (int r = 0; r < MULTIRATE_BOTH_LINES; r++)
#pragma unroll
    for (int i = 0; i < MULTIRATE_BOTH_LOADS; i++)
      if (i * MULTIRATE_WARP + lane < MULTIRATE_BOTH_WINDOW)
        ((float *) to[r])[i * MULTIRATE_WARP + lane] = value[r][i];
}

__device__ __forceinline__ void
multirate_add_fours (
    const float4 &tap, const float4 &a, const float4 &b, float (&part)[4])
{
  const float value[7] = { a.x, a.y, a.z, a.w, b.x, b.y, b.z };

#pragma unroll
  for (int k = 0; k < 4; k++) {
    part[k] = __fmaf_rn (tap.x, value[k], part[k]);
    part[k] = __fmaf_rn (tap.y, value[k + 1], part[k]);
    part[k] = __fmaf_rn (tap.z, value[k + 2], part[k]);
    part[k] = __fmaf_rn (tap.w, value[k + 3], part[k]);
  }
}

/* Sums `fours` times four taps along x for four neighbouring results of each of two lines. */
__device__ __forceinline__ void
multirate_sum_lines (const float4 *a, const float4 *b, const float4 *taps,
    int fours, float4 *to_a, float4 *to_b)
{
  float total[2][4] = {};
  float4 last[2] = { a[0], b[0] };

  for (int first = 0; first < fours; first += MULTIRATE_SUM_BLOCK / 4) {
    float part[2][4] = {};

#pragma unroll
    for (int j = 0; j < MULTIRATE_SUM_BLOCK / 4; j++) {
      const int i = first + j;

      if (i >= fours)
        break;
      const float4 tap = taps[i];
      const float4 next[2] = { a[i + 1], b[i + 1] };

#pragma unroll
      for (int r = 0; r < 2; r++) {
        multirate_add_fours (tap, last[r], next[r], part[r]);
        last[r] = next[r];
      }
    }
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int k = 0; k < 4; k++)
        total[r][k] += part[r][k];
  }
  *to_a = make_float4 (total[0][0], total[0][1], total[0][2], total[0][3]);
  *to_b = make_float4 (total[1][0], total[1][1], total[1][2], total[1][3]);
}

/* Sums `fours` times four taps along y for MULTIRATE_COLUMN_SUMS results below each other;
 * `from` is the first one's first row. Sample i of the window is in value[i % 8], until the last
 * tap that needs it. */
__device__ __forceinline__ void
multirate_sum_column (const float *from, const float4 *taps, int fours,
    float (&total)[MULTIRATE_COLUMN_SUMS])
{
  float value[MULTIRATE_COLUMN_SUMS];

#pragma unroll
  for (int i = 0; i < MULTIRATE_COLUMN_SUMS; i++)
    value[i] = from[i * MULTIRATE_BOTH_COLUMNS];
  from += MULTIRATE_COLUMN_SUMS * MULTIRATE_BOTH_COLUMNS;
  for (int first = 0; first < fours; first += MULTIRATE_SUM_BLOCK / 4) {
    float part[MULTIRATE_COLUMN_SUMS] = {};

#pragma unroll
    for (int j = 0; j < MULTIRATE_SUM_BLOCK / 4; j++) {
      if (first + j >= fours)
        break;
      const float4 four = taps[first + j];
      const float tap[4] = { four.x, four.y, four.z, four.w };

#pragma unroll
      for (int t = 0; t < 4; t++) {
        const int at = 4 * j + t;

#pragma unroll
        for (int k = 0; k < MULTIRATE_COLUMN_SUMS; k++)
          part[k] = __fmaf_rn (
              tap[t], value[(at + k) % MULTIRATE_COLUMN_SUMS], part[k]);
        value[at % MULTIRATE_COLUMN_SUMS] = from[at * MULTIRATE_BOTH_COLUMNS];
      }
    }
    from += MULTIRATE_SUM_BLOCK * MULTIRATE_BOTH_COLUMNS;
#pragma unroll
    for (int k = 0; k < MULTIRATE_COLUMN_SUMS; k++)
      total[k] += part[k];
  }
}

/* Each block makes a tile: its warps sum low rows along x, then columns of these sums along y. Taps
 * are padded with zeros to a multiple of four; the values that meet these zeros are finite. */
static __global__ void
__launch_bounds__ (MULTIRATE_BOTH_THREADS, MULTIRATE_BOTH_BLOCKS)
    multirate_along_both (const MultirateFrame frame)
{
  __shared__ MultirateBoth memory;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_ALONG_BOTH> (frame)];
  const int warp = threadIdx.x / MULTIRATE_WARP;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int fours_x = (plane.taps_x + 3) / 4, fours_y = (plane.taps_y + 3) / 4;
  const int block = blockIdx.x - plane.first_block[MULTIRATE_ALONG_BOTH];
  const int number = block / plane.both_tiles;
  const int down = number / plane.channels;
  const int channel = number - down * plane.channels;
  const int begin =
      (block - number * plane.both_tiles) * MULTIRATE_BOTH_COLUMNS;
  const int first = down * plane.both_rows;
  const int rows = min (plane.both_rows, plane.sum_rows - first);
  const int groups = (rows + MULTIRATE_COLUMN_SUMS - 1) / MULTIRATE_COLUMN_SUMS;
  /* One more line than the last result needs: the step of the last tap loads it without using
   * it. */
  const int lines = groups * MULTIRATE_COLUMN_SUMS + 4 * fours_y;
  /* The window's first low column, counted from plane.first_column, and whether the window needs
   * each lane's last load. */
  const int left = plane.first_x - 1 + begin - plane.first_column;
  const bool wide = MULTIRATE_BOTH_COLUMNS + 4 * fours_x
      > (MULTIRATE_BOTH_LOADS - 1) * MULTIRATE_WARP;
  const bool inside = left >= 0
      && left + MULTIRATE_BOTH_LOADS * MULTIRATE_WARP <= plane.low_columns;
  const int half = lane / (MULTIRATE_WARP / 2);
  const int place = lane % (MULTIRATE_WARP / 2);

  if ((int) threadIdx.x < MULTIRATE_BOTH_MOST_TAPS) {
    ((float *) memory.tap_x)[threadIdx.x] = plane.tables->tap_x[threadIdx.x];
    ((float *) memory.tap_y)[threadIdx.x] =
        plane.tables->tap_y[MULTIRATE_COLUMN_SUMS + threadIdx.x];
  }
  if ((int) threadIdx.x < lines)
    multirate_note_line (plane,
        plane.first_y - 1 + first - plane.first_row + (int) threadIdx.x,
        channel, threadIdx.x, &memory);
  if ((int) threadIdx.x < MULTIRATE_BOTH_LOADS * MULTIRATE_WARP)
    memory.column[threadIdx.x] =
        min (max (left + (int) threadIdx.x, 0), plane.low_columns - 1);
  gpu_admit_next ();
  gpu_await_previous ();
  __syncthreads ();
  for (int y = warp * MULTIRATE_BOTH_LINES; y < lines;
       y += MULTIRATE_BOTH_WARPS * MULTIRATE_BOTH_LINES) {
    const float4 *const from = memory.lines[warp][2 * half] + place;
    float *const to = memory.sums_x[y + 2 * half] + 4 * place;

    if (inside)
      multirate_load_lines<true> (&memory, y, wide, memory.lines[warp]);
    else
      multirate_load_lines<false> (&memory, y, wide, memory.lines[warp]);
    __syncwarp ();
    multirate_sum_lines (from, from + MULTIRATE_BOTH_WINDOW / 4, memory.tap_x,
        fours_x, (float4 *) to, (float4 *) (to + MULTIRATE_BOTH_COLUMNS));
    __syncwarp (); /* before the next lines are loaded */
  }
  __syncthreads ();
  for (int i = warp; i < 2 * groups; i += MULTIRATE_BOTH_WARPS) {
    const int x = i % 2 * MULTIRATE_WARP + lane;
    const int y = i / 2 * MULTIRATE_COLUMN_SUMS;
    const ptrdiff_t pitch = (ptrdiff_t) plane.channels * plane.pitch;
    float total[MULTIRATE_COLUMN_SUMS] = {};
    float *to = plane.sums + (first + y) * pitch
        + (ptrdiff_t) channel * plane.pitch + begin + x;

    if (begin + x >= plane.pitch)
      continue;
    multirate_sum_column (memory.sums_x[y] + x, memory.tap_y, fours_y, total);
#pragma unroll
    for (int k = 0; k < MULTIRATE_COLUMN_SUMS; k++, to += pitch)
      if (y + k < rows)
        *to = total[k];
  }
}
