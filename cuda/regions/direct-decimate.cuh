/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-decimate: the kernel that makes the low samples of regions. Each thread sums windows along
 * y for four neighbouring samples of a row, of any channels: a row lies in four windows at a time.
 * Threads then sum windows along x of these sums, which they exchange through shared memory. */
#pragma once

#include "direct-lows.cuh"

#include "../sepconv/twopass.cuh"

/* Sums along y, of one group behind the other. Rows have four more floats, so that they begin in
 * different banks. */
#define DECIMATE_SUMS \
  (DIRECT_LOW_ROWS \
      * (4 * DIRECT_THREADS + 4 * DIRECT_THREADS / DIRECT_LOW_LEAST_LANES))

/* A block's shared memory. */
struct Decimation
{
  DirectLowJob job;
  alignas (16) float window_x[MULTIRATE_REACH * MULTIRATE_MAX_FACTOR];
  /* [row of a cell]: the weights of its four windows */
  float4 window_y[MULTIRATE_MAX_FACTOR];
  bool inside;   /* no row stands for the border constant */
  bool in_bytes; /* the same, and samples and weights are bytes */
  /* `in_bytes`: the weights of window_y, [step]: see decimate_weights() */
  uint4 bytes_y[MULTIRATE_MAX_FACTOR / 4];
  /* [row]: the row of the picture that stands for it; -1: the border constant does */
  int row[DIRECT_LOW_PICTURE_ROWS + 3];
  alignas (16) float sums[DECIMATE_SUMS];
};

/* A thread's four samples of each row. */
struct DecimateColumns
{
  const uint8_t *base; /* of the memory */
  int stride;
  int first; /* of the four samples of a row: a multiple of four */
  /* Each sample's offset in a row in bytes, or that of the one that stands for it; -1: the border
   * constant does */
  int at[4];
  const int *row; /* [n_rows], and three more that may be read */
  int n_rows, n_cells, shift;
  float center, border[4]; /* `border`: of each sample, less the center */
  float *to;               /* of the first row of sums */
  int pitch;
};

/* Makes room for the sums of the window that begins next. */
template <typename Sum>
__device__ __forceinline__ void
decimate_advance (Sum (&sum)[MULTIRATE_REACH][4])
{
#pragma unroll
  for (int c = 0; c < 4; c++) {
#pragma unroll
    for (int t = MULTIRATE_REACH - 1; t > 0; t--)
      sum[t][c] = sum[t - 1][c];
    sum[0][c] = 0;
  }
}

/* Turns four rows of four bytes into columns of four bytes. */
__device__ __forceinline__ void
decimate_turn (const uint32_t (&row)[4], uint32_t (&column)[4])
{
  const uint32_t low_ab = __byte_perm (row[0], row[1], 0x5140);
  const uint32_t high_ab = __byte_perm (row[0], row[1], 0x7362);
  const uint32_t low_cd = __byte_perm (row[2], row[3], 0x5140);
  const uint32_t high_cd = __byte_perm (row[2], row[3], 0x7362);

  column[0] = __byte_perm (low_ab, low_cd, 0x5410);
  column[1] = __byte_perm (low_ab, low_cd, 0x7632);
  column[2] = __byte_perm (high_ab, high_cd, 0x5410);
  column[3] = __byte_perm (high_ab, high_cd, 0x7632);
}

/* Four rows of four bytes, each row brought by one load. */
struct DecimateBytes
{
  uint32_t word[4];

  __device__ __forceinline__ void
  load (const DecimateColumns &columns, const int *row)
  {
#pragma unroll
    for (int k = 0; k < 4; k++)
      word[k] = *(const uint32_t *) (columns.base + columns.first
          + (int64_t) row[k] * columns.stride);
  }
  __device__ __forceinline__ void
  turn (uint32_t (&column)[4]) const
  {
    decimate_turn (word, column);
  }
};

/* The same for any four samples. */
struct DecimateAnyBytes
{
  uint32_t byte[4][4]; /* [row][column] */

  __device__ __forceinline__ void
  load (const DecimateColumns &columns, const int *row)
  {
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        byte[k][c] = columns.base[(int64_t) row[k] * columns.stride
            + max (columns.at[c], 0)];
  }
  __device__ __forceinline__ void
  turn (uint32_t (&column)[4]) const
  {
#pragma unroll
    for (int c = 0; c < 4; c++)
      column[c] =
          byte[0][c] | byte[1][c] << 8 | byte[2][c] << 16 | byte[3][c] << 24;
  }
};

/* Sums the windows along y of a thread's columns of bytes, in integers, four rows at a time. A cell
 * has `factor` rows, and four rows lie in one cell or in two. sum[t] is that of the window in which
 * the present cell is number t. */
template <typename Rows, int AT_ONCE>
__device__ __forceinline__ void
decimate_bytes (
    const DecimateColumns &columns, const uint4 *window, int factor, float unit)
{
  const int steps = factor < 4 ? 2 : 1; /* of four rows */
  int sum[MULTIRATE_REACH][4] = {};
  float *to = columns.to;
  int step = 0, cell = 0;

#pragma unroll 1
  for (int first = 0; first < columns.n_rows; first += 4 * AT_ONCE) {
    Rows rows[AT_ONCE];

#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
      if (first + 4 * k < columns.n_rows)
        rows[k].load (columns, columns.row + first + 4 * k);
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      uint32_t code[4];

      if (first + 4 * k >= columns.n_rows)
        break;
      rows[k].turn (code);
#pragma unroll 1
      for (int i = 0; i < steps && cell < columns.n_cells; i++) {
        const uint4 by = window[step];
        float mean[4];

#pragma unroll
        for (int c = 0; c < 4; c++) {
          sum[0][c] = (int) __dp4a (code[c], by.x, (uint32_t) sum[0][c]);
          sum[1][c] = (int) __dp4a (code[c], by.y, (uint32_t) sum[1][c]);
          sum[2][c] = (int) __dp4a (code[c], by.z, (uint32_t) sum[2][c]);
          sum[3][c] = (int) __dp4a (code[c], by.w, (uint32_t) sum[3][c]);
        }
        step++;
        if (4 * step < factor)
          continue;
        if (factor >= 4 || step == steps)
          step = 0;
        if (++cell >= MULTIRATE_REACH) {
#pragma unroll
          for (int c = 0; c < 4; c++)
            mean[c] =
                (float) sum[MULTIRATE_REACH - 1][c] * unit - columns.center;
          *(float4 *) to = make_float4 (mean[0], mean[1], mean[2], mean[3]);
          to += columns.pitch;
        }
        decimate_advance (sum);
      }
    }
  }
}

/* A code as a float, as exact as a conversion and cheaper. */
__device__ __forceinline__ float
decimate_float (int code)
{
  return __uint_as_float (0x4b000000u | (unsigned) code) - 8388608.0f;
}

/* A row of four samples of 16 bits, brought by one load. */
struct DecimateDeep
{
  uint2 four;

  __device__ __forceinline__ void
  load (const DecimateColumns &columns, int row)
  {
    four = *(const uint2 *) (columns.base + 2 * columns.first
        + (int64_t) row * columns.stride);
  }
  __device__ __forceinline__ void
  convert (const DecimateColumns &columns, float (&level)[4]) const
  {
    const uint32_t code[4] = { four.x & 0xffff, four.x >> 16, four.y & 0xffff,
      four.y >> 16 };

#pragma unroll
    for (int k = 0; k < 4; k++)
      level[k] =
          decimate_float ((int) (code[k] >> columns.shift)) - columns.center;
  }
};

/* A row of any four samples. */
template <typename Sample> struct DecimateAny
{
  int code[4]; /* -1: the border constant */

  __device__ __forceinline__ void
  load (const DecimateColumns &columns, int row)
  {
    const uint8_t *from = columns.base + (int64_t) row * columns.stride;

#pragma unroll
    for (int k = 0; k < 4; k++)
      code[k] = row < 0 || columns.at[k] < 0
          ? -1
          : *(const Sample *) (from + columns.at[k]) >> columns.shift;
  }
  __device__ __forceinline__ void
  convert (const DecimateColumns &columns, float (&level)[4]) const
  {
#pragma unroll
    for (int k = 0; k < 4; k++)
      level[k] = code[k] < 0 ? columns.border[k]
                             : decimate_float (code[k]) - columns.center;
  }
};

/* The same as decimate_bytes() in floats, row by row. */
template <typename Row, int AT_ONCE>
__device__ __forceinline__ void
decimate_floats (
    const DecimateColumns &columns, const float4 *window, int factor)
{
  float sum[MULTIRATE_REACH][4] = {};
  float *to = columns.to;
  int in_cell = 0, cell = 0;

#pragma unroll 1
  for (int first = 0; first < columns.n_rows; first += AT_ONCE) {
    Row row[AT_ONCE];

#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
      if (first + k < columns.n_rows)
        row[k].load (columns, columns.row[first + k]);
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      float level[4];
      float4 by;

      if (first + k >= columns.n_rows)
        break;
      row[k].convert (columns, level);
      by = window[in_cell];
#pragma unroll
      for (int c = 0; c < 4; c++) {
        sum[0][c] = multiply_add (by.x, level[c], sum[0][c]);
        sum[1][c] = multiply_add (by.y, level[c], sum[1][c]);
        sum[2][c] = multiply_add (by.z, level[c], sum[2][c]);
        sum[3][c] = multiply_add (by.w, level[c], sum[3][c]);
      }
      if (++in_cell < factor)
        continue;
      in_cell = 0;
      if (++cell >= MULTIRATE_REACH) {
        *(float4 *) to =
            make_float4 (sum[3][0], sum[3][1], sum[3][2], sum[3][3]);
        to += columns.pitch;
      }
      decimate_advance (sum);
    }
  }
}

/* Sums the windows along y of a thread's samples in the fastest way that they allow. `fours`: loads
 * may bring all four. */
__device__ __forceinline__ void
decimate_along_y (const Decimation &work, const DecimateColumns &columns,
    bool fours, bool bytes)
{
  const RegionsRate &rate = work.job.taps.rate_y;
  const float unit =
      work.in_bytes ? 1.0f / (float) (rate.factor * rate.weight_sum) : 0.0f;

  if (work.in_bytes && fours)
    decimate_bytes<DecimateBytes, 2> (columns, work.bytes_y, rate.factor, unit);
  else if (work.in_bytes)
    decimate_bytes<DecimateAnyBytes, 1> (
        columns, work.bytes_y, rate.factor, unit);
  else if (bytes)
    decimate_floats<DecimateAny<uint8_t>, 4> (
        columns, work.window_y, rate.factor);
  else if (fours)
    decimate_floats<DecimateDeep, 8> (columns, work.window_y, rate.factor);
  else
    decimate_floats<DecimateAny<uint16_t>, 4> (
        columns, work.window_y, rate.factor);
}

/* Makes the sums of samples outside the border constant, where decimate_bytes() did not. */
__device__ __forceinline__ void
decimate_outside (const DecimateColumns &columns)
{
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (columns.at[k] < 0)
      for (int row = 0; row <= columns.n_cells - MULTIRATE_REACH; row++)
        columns.to[row * columns.pitch + k] = columns.border[k];
}

/* Windows along x that begin at `sum`, of all channels; PIXEL floats are a pixel. */
template <int PIXEL>
__device__ __forceinline__ void
decimate_along_x (
    const float *sum, const float *window, int factor, float (&low)[4])
{
  const float4 *in = (const float4 *) sum;

#pragma unroll 4
  for (int i = 0; i < PIXEL * factor; i++) {
    const float four[4] = { in[i].x, in[i].y, in[i].z, in[i].w };

#pragma unroll
    for (int k = 0; k < 4; k++)
      low[k % PIXEL] =
          multiply_add (window[(4 * i + k) / PIXEL], four[k], low[k % PIXEL]);
  }
}

/* The same for one sample of a pixel of any size, anywhere. */
__device__ __forceinline__ float
decimate_any_along_x (
    const float *sum, int pixel, const float *window, int factor)
{
  float low = 0.0f;

#pragma unroll 4
  for (int i = 0; i < MULTIRATE_REACH * factor; i++)
    low = multiply_add (window[i], sum[i * pixel], low);
  return low;
}

/* Stores low samples of all channels that are treated. */
template <int PIXEL>
__device__ __forceinline__ void
decimate_store (
    float *to, int apart, const DirectLowPlane &plane, const float (&low)[4])
{
#pragma unroll
  for (int k = 0; k < PIXEL; k++)
    for (int c = 0, order = 0; c < plane.channels; c++)
      if (plane.treated >> c & 1) {
        if (c * plane.channel == k)
          to[order * apart] = low[k];
        order++;
      }
}

/* The weights of step `step` of cell number `cell` of a window, as bytes: with a factor of 2, the
 * first or the last two of four rows. */
__device__ __forceinline__ uint32_t
decimate_weights (
    const float *window, const RegionsRate &rate, int cell, int step)
{
  const float scale = (float) (rate.factor * rate.weight_sum);
  const int first = rate.factor < 4 ? -2 * step : 4 * step;
  uint32_t word = 0;

#pragma unroll
  for (int k = 0; k < 4; k++)
    if (first + k >= 0 && first + k < rate.factor)
      word |= (uint32_t) __float2int_rn (
                  window[cell * rate.factor + first + k] * scale)
          << 8 * k;
  return word;
}

/* Loads the windows, and finds the rows of the picture from row `top` on, of a region with these
 * rows. As in direct_read_columns(), rows that the taps do not reach do not count. */
__device__ __forceinline__ void
decimate_prepare (const DirectFrame &frame, Decimation *work, RegionsSpan area,
    int top, int n_rows)
{
  const int n_taps = work->job.taps.term[0].ny;
  const int first = area.first - n_taps / 2;
  const int last = area.last - 1 + n_taps - 1 - n_taps / 2;
  const RegionsRate &x = work->job.taps.rate_x, &y = work->job.taps.rate_y;
  const RegionsDevicePlane &plane = frame.plane[work->job.plane].of;
  const int me = direct_me ();
  const float *from = frame.tap + y.window;

  static_assert (MULTIRATE_REACH * MULTIRATE_MAX_FACTOR <= DIRECT_THREADS,
      "a thread for each weight");
  if (me < MULTIRATE_REACH * x.factor)
    work->window_x[me] = frame.tap[x.window + me];
  if (me < y.factor)
    work->window_y[me] = make_float4 (from[me], from[y.factor + me],
        from[2 * y.factor + me], from[3 * y.factor + me]);
  if (4 * me < max (y.factor, 8) && y.weight_sum > 0)
    work->bytes_y[me] = make_uint4 (decimate_weights (from, y, 0, me),
        decimate_weights (from, y, 1, me), decimate_weights (from, y, 2, me),
        decimate_weights (from, y, 3, me));
  if (me == 0) {
    work->inside = frame.border != SEPCONV_CONSTANT
        || (max (top, first) >= 0
            && min (top + n_rows + 2, last) < plane.height);
    work->in_bytes = work->inside && plane.sample_bytes == 1 && plane.shift == 0
        && y.weight_sum > 0;
  }
  for (int i = me; i < n_rows + 3; i += DIRECT_THREADS)
    work->row[i] = border_index (
        min (max (top + i, first), last), plane.height, frame.border);
  __syncthreads ();
}

/* The tile of low samples that a block of threads makes. */
struct DecimateTile
{
  DirectLowPlane plane;
  DirectLows lows;
  DirectLowSpan x, y; /* of all low samples of the region */
  DirectLowTiles tiles;
  int column, row;  /* the tile's first low sample, counted from the region's */
  int across, down; /* low samples */
  int lead,
      first; /* its windows begin `lead` samples behind sample `first` of a row */
  RegionsSpan read; /* direct_read_columns() */
};

__device__ __forceinline__ DecimateTile
decimate_find_tile (const DirectFrame &frame, const DirectLowJob &job)
{
  const RegionsRate &x = job.taps.rate_x, &y = job.taps.rate_y;
  const DirectPlane &plane = frame.plane[job.plane];
  DecimateTile tile;
  int first;

  tile.plane = direct_low_plane (plane, frame.memory[plane.memory]);
  tile.lows = direct_lows (frame, job.plane)[job.region];
  tile.x = direct_low_span (x, tile.lows.area.x);
  tile.y = direct_low_span (y, tile.lows.area.y);
  tile.tiles =
      direct_low_tiles (x, y, tile.plane.pixel, tile.x, tile.y, frame.low_rows);
  tile.column = job.block % tile.tiles.across * tile.tiles.columns;
  tile.row = job.block / tile.tiles.across * tile.tiles.rows;
  tile.across = min (tile.tiles.columns, tile.x.lows - tile.column);
  tile.down = min (tile.tiles.rows, tile.y.lows - tile.row);
  first = tile.plane.offset
      + tile.plane.pixel * x.factor * (tile.x.first_low + tile.column - 2);
  tile.lead = first & 3;
  tile.first = first - tile.lead;
  tile.read =
      direct_read_columns (tile.plane, tile.lows.area.x, job.taps.term[0].nx);
  return tile;
}

/* The sample from which on a thread loads four: `first` or, if none of these pixels counts, the
 * nearest one from which on some do. Beyond the plane's ends nothing is moved. */
__device__ __forceinline__ int
decimate_clamp (const DecimateTile &tile, int first)
{
  const DirectLowPlane &plane = tile.plane;

  if (4 % plane.pixel != 0)
    return first;
  if (tile.read.first > 0)
    first = max (first, (plane.offset + tile.read.first * plane.pixel) & ~3);
  if (tile.read.last < plane.width)
    first =
        min (first, (plane.offset + (tile.read.last - 1) * plane.pixel) & ~3);
  return first;
}

/* Whether a load may bring the four samples from `first` on. Groups that are not whole pixels have
 * to lie within tile.read: decimate_clamp() does not move them. */
__device__ __forceinline__ bool
decimate_is_inside (const DecimateTile &tile, int first)
{
  const DirectLowPlane &plane = tile.plane;

  return first >= 0 && first + 4 <= plane.by_fours
      && (4 % plane.pixel == 0
          || (first >= plane.offset + tile.read.first * plane.pixel
              && first + 4 <= plane.offset + tile.read.last * plane.pixel));
}

/* Finds where a thread's samples are, one by one. */
__device__ __forceinline__ void
decimate_find_samples (const DirectFrame &frame, const DecimateTile &tile,
    const RegionsTaps &taps, DecimateColumns *columns)
{
  const DirectLowPlane &plane = tile.plane;

#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int sample = columns->first + k - plane.offset;
    const int x = direct_floor (sample, plane.pixel);
    const int in_pixel = sample - x * plane.pixel;
    const int from =
        border_index (min (max (x, tile.read.first), tile.read.last - 1),
            plane.width, frame.border);
    /* Samples of other planes, which are not used, may have any place and border. */
    const int at = min (
        plane.offset + from * plane.pixel + in_pixel, plane.row_samples - 1);
    const int channel = plane.channel > 0
        ? min (in_pixel / plane.channel, plane.channels - 1)
        : 0;

    columns->at[k] = from < 0 ? -1 : at * plane.sample_bytes;
    columns->border[k] = (float) taps.channel[channel].border;
  }
}

/* Sums the windows along y of the thread's four samples of a row. */
__device__ __forceinline__ void
decimate_rows (
    const DirectFrame &frame, const DecimateTile &tile, Decimation *work)
{
  const int lane = direct_me () % tile.tiles.lanes;
  const int top = direct_me () / tile.tiles.lanes * tile.tiles.group_rows;
  const int n = min (tile.tiles.group_rows, tile.down - top);
  const RegionsTaps &taps = work->job.taps;
  const int cells = (tile.across + MULTIRATE_REACH - 1) * taps.rate_x.factor;
  const bool used = n > 0 && 4 * lane < tile.lead + cells * tile.plane.pixel;
  DecimateColumns columns;
  bool fours;

  columns.base = tile.plane.base;
  columns.stride = tile.plane.stride;
  columns.first = decimate_clamp (tile, tile.first + 4 * lane);
  columns.row = work->row + top * taps.rate_y.factor;
  columns.n_cells = used ? n + MULTIRATE_REACH - 1 : 0;
  columns.n_rows = columns.n_cells * taps.rate_y.factor;
  columns.shift = tile.plane.shift;
  columns.center = (float) taps.channel[0].center;
  columns.pitch = 4 * tile.tiles.lanes + 4;
  columns.to = work->sums + top * columns.pitch + 4 * lane;
  fours = decimate_is_inside (tile, columns.first)
      && (work->in_bytes || (work->inside && tile.plane.sample_bytes == 2));
  if (!fours)
    decimate_find_samples (frame, tile, taps, &columns);
  gpu_await_previous ();
  decimate_along_y (*work, columns, fours, tile.plane.sample_bytes == 1);
  if (!fours && work->in_bytes)
    decimate_outside (columns);
}

/* Makes the low samples of the windows along x that begin at `sum`, of all channels; `to` is that
 * of the first one. */
__device__ __forceinline__ void
decimate_columns (const DecimateTile &tile, const Decimation &work,
    const float *sum, float *to)
{
  const int factor = work.job.taps.rate_x.factor;
  const int apart = tile.x.lows * tile.y.lows;
  const DirectLowPlane &plane = tile.plane;
  float low[4] = {};

  if (tile.lead == 0 && plane.pixel == 4) {
    decimate_along_x<4> (sum, work.window_x, factor, low);
    decimate_store<4> (to, apart, plane, low);
  } else if (tile.lead == 0 && plane.pixel == 2 && factor % 2 == 0) {
    decimate_along_x<2> (sum, work.window_x, factor, low);
    decimate_store<2> (to, apart, plane, low);
  } else if (tile.lead == 0 && plane.pixel == 1 && factor % 4 == 0) {
    decimate_along_x<1> (sum, work.window_x, factor, low);
    decimate_store<1> (to, apart, plane, low);
  } else {
    for (int c = 0; c < plane.channels; c++)
      if (plane.treated >> c & 1) {
        *to = decimate_any_along_x (
            sum + c * plane.channel, plane.pixel, work.window_x, factor);
        to += apart;
      }
  }
}

/* Each block of threads makes a tile of the low samples of all channels of a plane. */
static __global__ void
__launch_bounds__ (DIRECT_THREADS, 3)
    direct_decimate (GPU_PARAMETER DirectFrame frame)
{
  __shared__ Decimation work;
  const RegionsRate &x = work.job.taps.rate_x, &y = work.job.taps.rate_y;

  gpu_admit_next ();
  direct_find_lows (frame, &DirectLows::decimate, &work.job);

  const DecimateTile tile = decimate_find_tile (frame, work.job);
  const int bits = 32 - __clz (tile.down - 1);
  float *const to = frame.lows + tile.lows.lows_at
      + (size_t) tile.row * tile.x.lows + tile.column;

  decimate_prepare (frame, &work, tile.lows.area.y,
      y.factor * (tile.y.first_low + tile.row - 2),
      (tile.down + MULTIRATE_REACH - 1) * y.factor);
  decimate_rows (frame, tile, &work);
  __syncthreads ();
  for (int i = direct_me (); i >> bits < tile.across; i += DIRECT_THREADS) {
    const int row = i & ((1 << bits) - 1), column = i >> bits;

    if (row < tile.down)
      decimate_columns (tile, work,
          work.sums + row * (4 * tile.tiles.lanes + 4) + tile.lead
              + column * x.factor * tile.plane.pixel,
          to + (size_t) row * tile.x.lows + column);
  }
}
