/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-decimate: the kernel of the method multirate that reads the frame.
 *
 * A block marches down a strip of cells, `factor` rows each. A row belongs to the windows of four
 * low rows: a thread has four sums for each of its samples. After each cell, one of the four is
 * complete as far as the strip goes: the windows along x are applied to it in shared memory, and
 * its registers are free for the next low row.
 *
 * A sample becomes a float without conversion. The bits of a sample of one byte are those of the
 * subnormal number raw * 2^-149, which multiply-adds take at full speed; the weights are 2^126
 * times as large, and the centre is subtracted when a sum is complete. A sample of two bytes
 * becomes the float 2^23 + raw, from which an exact subtraction leaves the sample less the centre.
 * rounding_loss() of multirate-plan.c relies on this: it counts sums of whole codes with up to
 * 8 bits only. */
#pragma once

#include "multirate.cuh"

#define MULTIRATE_DECIMATE_THREADS 256
/* Rows in flight while as many other rows are summed. */
#define MULTIRATE_ROWS_AHEAD(sample_bytes) (4 / (sample_bytes))

/* The most samples of a block, and the floats of its lines, each of which may have one of
 * padding. */
#define MULTIRATE_MOST_TILE (MULTIRATE_DECIMATE_THREADS * MULTIRATE_OWN)
#define MULTIRATE_LINE_FLOATS \
  (MULTIRATE_MOST_TILE + MULTIRATE_MAX_FACTOR * IMAGE_MAX_CHANNELS)

/* Marks a sample that is not loaded: it is the border constant, or not needed. */
#define MULTIRATE_NO_SAMPLE (-1)

struct MultirateDecimateMemory
{
  float4 window_x[MULTIRATE_MAX_FACTOR];
  float4 window_y[MULTIRATE_MAX_FACTOR]; /* multirate_raised() */
  /* A row of sums along y: line r has sample r of each cell, where all channels are counted. */
  float line[MULTIRATE_LINE_FLOATS];
  /* Bytes from the begin of a row to each sample, for groups that are not read at once. */
  int from[MULTIRATE_OWN][MULTIRATE_DECIMATE_THREADS];
};

/* How a thread gets a group of a row. */
enum MultirateReading
{
  MULTIRATE_UNUSED,
  MULTIRATE_DIRECT,
  MULTIRATE_GATHERED
};

/* A thread's samples, which are the same in each row. */
struct MultirateSamples
{
  MultirateReading reading[MULTIRATE_GROUPS];
  int byte; /* where the first group lies in a row, if it is read at once */
  int to[MULTIRATE_OWN]; /* in MultirateDecimateMemory.line; -1: nowhere */
  unsigned outside;      /* bit v set: sample v is the border constant */
};

/* The low columns of a block. */
struct MultirateTile
{
  int first, n; /* counted from plane.first_column */
  int begin;    /* sample of the row with which the first window begins */
  int pitch;    /* of the lines, odd so that they lie in different banks */
};

__device__ __forceinline__ MultirateTile
multirate_tile (const MultiratePart &plane, int index)
{
  MultirateTile tile;

  tile.first = index * plane.tile_lows;
  tile.n = min (plane.tile_lows, plane.low_columns - tile.first);
  tile.begin =
      (plane.first_column + tile.first - 2) * plane.factor_x * plane.channels;
  tile.pitch = (plane.tile_lows + MULTIRATE_REACH - 1) | 1;
  return tile;
}

/* Samples from the begin of the block's first window to a thread's group; may be negative, as
 * groups begin at multiples of their size in the row. */
__device__ __forceinline__ int
multirate_place (const MultirateTile &tile, int group)
{
  return multirate_group (group) - (tile.begin & (MULTIRATE_SAMPLES - 1));
}

/* Finds where the samples of a group lie that is not read at once. Returns MultirateSamples.outside
 * of them. */
__device__ __forceinline__ unsigned
multirate_find_samples (const MultiratePart &plane, SepconvBorder border,
    const MultirateTile &tile, int n_needed, int group,
    MultirateDecimateMemory &memory)
{
  const int rel = multirate_place (tile, group);
  unsigned outside = 0;

  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    const int v = group * MULTIRATE_SAMPLES + j, at = rel + j;
    int from = MULTIRATE_NO_SAMPLE;

    if (at >= 0 && at < n_needed) {
      const int pixel = at / plane.channels;
      const int x = border_index (
          tile.begin / plane.channels + pixel, plane.width, border);

      if (x < 0)
        outside |= 1u << v;
      else
        from = x * plane.pixel_stride
            + (at - pixel * plane.channels) * plane.channel_stride;
    }
    memory.from[v][threadIdx.x] = from;
  }
  return outside;
}

template <int BYTES>
__device__ __forceinline__ void
multirate_begin_samples (const MultiratePart &plane, SepconvBorder border,
    const MultirateTile &tile, MultirateDecimateMemory &memory,
    MultirateSamples *samples)
{
  const int cell = plane.factor_x * plane.channels;
  const int n_needed = (tile.n + MULTIRATE_REACH - 1) * cell;

  samples->outside = 0;
  samples->byte = (tile.begin + multirate_place (tile, 0)) * BYTES;
#pragma unroll
  for (int g = 0; g < MULTIRATE_GROUPS; g++) {
    const int rel = multirate_place (tile, g);
    const int first = tile.begin + rel;
    int k = max (rel, 0) / cell, r = max (rel, 0) - k * cell;

    if (rel >= n_needed)
      samples->reading[g] = MULTIRATE_UNUSED;
    else if (plane.src_direct && first >= 0
        && first + MULTIRATE_SAMPLES <= plane.n_samples)
      samples->reading[g] = MULTIRATE_DIRECT;
    else {
      samples->reading[g] = MULTIRATE_GATHERED;
      samples->outside |=
          multirate_find_samples (plane, border, tile, n_needed, g, memory);
    }
#pragma unroll
    for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
      const bool needed = rel + j >= 0 && rel + j < n_needed;

      samples->to[g * MULTIRATE_SAMPLES + j] = needed ? r * tile.pitch + k : -1;
      if (rel + j >= 0 && ++r == cell) {
        r = 0;
        k++;
      }
    }
  }
}

template <int BYTES>
__device__ __forceinline__ MultirateGroup<BYTES>
multirate_gather (
    const uint8_t *row, const MultirateDecimateMemory &memory, int group)
{
  MultirateGroup<BYTES> words = {};

#pragma unroll
  for (int j = 0; j < MULTIRATE_SAMPLES; j++) {
    const int from = memory.from[group * MULTIRATE_SAMPLES + j][threadIdx.x];

    if (from != MULTIRATE_NO_SAMPLE)
      multirate_put_raw (
          &words, j, (uint32_t) multirate_read_raw (row + from, BYTES));
  }
  return words;
}

/* A thread's share of a row. */
template <int BYTES> struct MultirateRow
{
  MultirateGroup<BYTES> group[MULTIRATE_GROUPS];
};

template <int BYTES>
__device__ __forceinline__ void
multirate_load_row (const uint8_t *row, const MultirateSamples &samples,
    const MultirateDecimateMemory &memory, MultirateRow<BYTES> *to)
{
#pragma unroll
  for (int g = 0; g < MULTIRATE_GROUPS; g++)
    if (samples.reading[g] == MULTIRATE_DIRECT)
      to->group[g] = multirate_load_group<BYTES> (
          row + samples.byte + g * MULTIRATE_GROUP_STEP * BYTES);
    else if (samples.reading[g] == MULTIRATE_GATHERED)
      to->group[g] = multirate_gather<BYTES> (row, memory, g);
}

/* A cell of `factor_y` rows. If all of them are copies of one row, or of the border constant, only
 * one row, or none, is read. */
struct MultirateCell
{
  int first; /* row */
  int rows;
  bool same;
};

__device__ __forceinline__ MultirateCell
multirate_cell (const MultiratePart &plane, SepconvBorder border, int index)
{
  MultirateCell cell;
  bool outside;

  cell.first = index * plane.factor_y;
  outside = cell.first + plane.factor_y <= 0 || cell.first >= plane.height;
  cell.same = outside && border_is_flat (border);
  cell.rows = !cell.same ? plane.factor_y : border == SEPCONV_REPLICATE ? 1 : 0;
  return cell;
}

/* Starts to load n rows, or as many as may be in flight. */
template <int BYTES>
__device__ __forceinline__ void
multirate_load_rows (const MultiratePart &plane, SepconvBorder border,
    int first, int n, const MultirateSamples &samples,
    const MultirateDecimateMemory &memory,
    MultirateRow<BYTES> (&ahead)[MULTIRATE_ROWS_AHEAD (BYTES)])
{
#pragma unroll
  for (int i = 0; i < MULTIRATE_ROWS_AHEAD (BYTES); i++)
    if (i < n) {
      const int y = border_index (first + i, plane.height, border);

      if (y >= 0)
        multirate_load_row<BYTES> (
            plane.src + y * plane.src_stride, samples, memory, &ahead[i]);
    }
}

/* The sums of four low rows, the next one to be completed first. */
struct MultirateSums
{
  float sum[MULTIRATE_REACH][MULTIRATE_OWN];
};

/* Sums of the weights along y with which a block adds to a low row. */
struct MultirateWeights
{
  float all;
  float outside; /* of rows of the constant border */
};

/* The weights of one cell in the window of which it is number t from the end. */
__device__ __forceinline__ MultirateWeights
multirate_weights_of (
    const MultiratePart &plane, SepconvBorder border, int index, int t)
{
  const int first = index * plane.factor_y;
  MultirateWeights weights = { (&plane.tables->cell_y.x)[t], 0.0f };

  if (border == SEPCONV_CONSTANT
      && (first < 0 || first + plane.factor_y > plane.height))
    for (int p = 0; p < plane.factor_y; p++)
      if ((unsigned) (first + p) >= (unsigned) plane.height)
        weights.outside += (&plane.tables->window_y[p].x)[t];
  return weights;
}

/* The weights of the low row that is complete after cell i of the block's n cells. */
__device__ __forceinline__ MultirateWeights
multirate_weights (
    const MultiratePart &plane, SepconvBorder border, int first, int n, int i)
{
  MultirateWeights sum = { 0.0f, 0.0f };

  for (int t = 0; t < MULTIRATE_REACH; t++)
    if (i - t >= 0 && i - t < n) {
      const MultirateWeights of =
          multirate_weights_of (plane, border, first + i - t, t);

      sum.all += of.all;
      sum.outside += of.outside;
    }
  return sum;
}

template <int BYTES>
__device__ __forceinline__ float
multirate_sample (
    const MultiratePart &plane, const MultirateGroup<BYTES> &group, int j)
{
  const uint32_t word = group.word[j * BYTES / 4] & plane.mask;

  if (BYTES == 1)
    return __uint_as_float (__byte_perm (word, 0, 0x4440 | j));
  return __uint_as_float (
             __byte_perm (word, 0x4b000000, j % 2 == 0 ? 0x7610 : 0x7632))
      - plane.middle;
}

template <int BYTES>
__device__ __forceinline__ void
multirate_add_row (const MultiratePart &plane, const MultirateRow<BYTES> &row,
    const float4 &weight, MultirateSums *sums)
{
#pragma unroll
  for (int v = 0; v < MULTIRATE_OWN; v++) {
    const float sample = multirate_sample<BYTES> (
        plane, row.group[v / MULTIRATE_SAMPLES], v % MULTIRATE_SAMPLES);

    sums->sum[0][v] = __fmaf_rn (weight.x, sample, sums->sum[0][v]);
    sums->sum[1][v] = __fmaf_rn (weight.y, sample, sums->sum[1][v]);
    sums->sum[2][v] = __fmaf_rn (weight.z, sample, sums->sum[2][v]);
    sums->sum[3][v] = __fmaf_rn (weight.w, sample, sums->sum[3][v]);
  }
}

/* Weights scaled to the samples of multirate_sample(): by 2^126 for samples of one byte. */
template <int BYTES>
__device__ __forceinline__ float4
multirate_raised (const float4 &weight)
{
  const float by = BYTES == 1 ? 0x1p126f : 1.0f;

  return make_float4 (
      by * weight.x, by * weight.y, by * weight.z, by * weight.w);
}

/* The next low row takes the place of the one that is complete. */
__device__ __forceinline__ void
multirate_next_sums (MultirateSums *sums)
{
#pragma unroll
  for (int t = 0; t < MULTIRATE_REACH; t++) {
    const bool last = t == MULTIRATE_REACH - 1;

#pragma unroll
    for (int v = 0; v < MULTIRATE_OWN; v++)
      sums->sum[t][v] = last ? 0.0f : sums->sum[(t + 1) % MULTIRATE_REACH][v];
  }
}

__device__ __forceinline__ float
multirate_border_of (
    const MultiratePart &plane, const MultirateTile &tile, int v)
{
  /* Windows begin with whole pixels; a group may begin a few samples before them. */
  const int place = multirate_place (tile, v / MULTIRATE_SAMPLES)
      + v % MULTIRATE_SAMPLES + MULTIRATE_SAMPLES * plane.channels;

  return plane.border[place % plane.channels];
}

/* Writes the sums of the first low row to the lines. */
template <int BYTES>
__device__ __forceinline__ void
multirate_put_sums (const MultiratePart &plane, const MultirateTile &tile,
    const MultirateSamples &samples, const MultirateSums &sums,
    const MultirateWeights &weights, float *line)
{
  const float start =
      BYTES == 1 ? -plane.center * (weights.all - weights.outside) : 0.0f;

#pragma unroll
  for (int v = 0; v < MULTIRATE_OWN; v++) {
    float value = __fmaf_rn (sums.sum[0][v], plane.unit, start);

    if (weights.outside != 0.0f)
      value = __fmaf_rn (
          weights.outside, multirate_border_of (plane, tile, v), value);
    if (samples.outside >> v & 1)
      value = weights.all * multirate_border_of (plane, tile, v);
    if (samples.to[v] >= 0)
      line[samples.to[v]] = value;
  }
}

/* Applies the windows along x to the lines, and writes a low row of the block. */
__device__ __forceinline__ void
multirate_sum_windows (const MultiratePart &plane, const MultirateTile &tile,
    const MultirateDecimateMemory &memory, float *to)
{
  const int step = plane.channels * tile.pitch;
  int c = 0;

  for (int q = threadIdx.x;; q += blockDim.x) {
    const float *from;
    float sum = 0.0f;

    while (q >= tile.n && c < plane.channels) {
      q -= tile.n;
      c++;
    }
    if (c == plane.channels)
      return;
    from = memory.line + c * tile.pitch + q;
    for (int p = 0; p < plane.factor_x; p++, from += step) {
      const float4 weight = memory.window_x[p];

      sum = __fmaf_rn (weight.x, from[0], sum);
      sum = __fmaf_rn (weight.y, from[1], sum);
      sum = __fmaf_rn (weight.z, from[2], sum);
      sum = __fmaf_rn (weight.w, from[3], sum);
    }
    to[(ptrdiff_t) c * plane.low_pitch + tile.first + q] = sum;
  }
}

/* Sums the rows of a cell, which begin in `ahead`, and starts to load those of the next one. */
template <int BYTES>
__device__ __forceinline__ void
multirate_sum_cell (const MultiratePart &plane, SepconvBorder border, int index,
    int last, const MultirateSamples &samples,
    const MultirateDecimateMemory &memory,
    MultirateRow<BYTES> (&ahead)[MULTIRATE_ROWS_AHEAD (BYTES)],
    MultirateSums *sums)
{
  constexpr int AHEAD = MULTIRATE_ROWS_AHEAD (BYTES);
  const MultirateCell cell = multirate_cell (plane, border, index);
  const MultirateCell next = multirate_cell (plane, border, index + 1);
  const int n_next = index + 1 < last ? next.rows : 0;
  int p = 0;

  do {
    const int left = cell.rows - p - AHEAD;
    MultirateRow<BYTES> rows[AHEAD];

#pragma unroll
    for (int i = 0; i < AHEAD; i++)
      rows[i] = ahead[i];
    multirate_load_rows<BYTES> (plane, border,
        left > 0 ? cell.first + p + AHEAD : next.first,
        left > 0 ? left : n_next, samples, memory, ahead);
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
      if (p + i < cell.rows) {
        const int y = cell.first + p + i;

        if (border != SEPCONV_CONSTANT
            || (unsigned) y < (unsigned) plane.height)
          multirate_add_row<BYTES> (plane, rows[i],
              cell.same ? multirate_raised<BYTES> (plane.tables->cell_y)
                        : memory.window_y[p + i],
              sums);
      }
    p += AHEAD;
  } while (p < cell.rows);
}

template <int BYTES>
static __global__ void
__launch_bounds__ (MULTIRATE_DECIMATE_THREADS,
    MULTIRATE_THREADS_AT_ONCE / MULTIRATE_DECIMATE_THREADS)
    multirate_decimate (const MultirateFrame frame)
{
  __shared__ MultirateDecimateMemory memory;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_DECIMATE> (frame)];
  const SepconvBorder border = frame.border;
  const int block = blockIdx.x - plane.first_block[MULTIRATE_DECIMATE];
  const int strip = block / plane.tiles;
  const MultirateTile tile =
      multirate_tile (plane, block - strip * plane.tiles);
  /* Cells are numbered from row 0 of the plane on. */
  const int first = plane.first_row - 2 + strip * plane.strip_cells;
  const int n =
      min (plane.strip_cells, plane.cells - strip * plane.strip_cells);
  const ptrdiff_t low_pitch = (ptrdiff_t) plane.channels * plane.low_pitch;
  float *to = plane.parts
      + strip * (plane.strip_cells + MULTIRATE_REACH - 1) * low_pitch;
  MultirateRow<BYTES> ahead[MULTIRATE_ROWS_AHEAD (BYTES)] = {};
  MultirateSamples samples;
  MultirateSums sums = {};

  for (int p = threadIdx.x; p < plane.factor_x; p += blockDim.x)
    memory.window_x[p] = plane.tables->window_x[p];
  for (int p = threadIdx.x; p < plane.factor_y; p += blockDim.x)
    memory.window_y[p] = multirate_raised<BYTES> (plane.tables->window_y[p]);
  multirate_begin_samples<BYTES> (plane, border, tile, memory, &samples);
  gpu_admit_next ();
  if (frame.order == GPU_AFTER_KERNELS)
    gpu_await_previous ();
  multirate_load_rows<BYTES> (plane, border, first * plane.factor_y,
      multirate_cell (plane, border, first).rows, samples, memory, ahead);
  __syncthreads (); /* the windows are there */

  for (int i = 0; i < n + MULTIRATE_REACH - 1; i++, to += low_pitch) {
    if (i < n)
      multirate_sum_cell<BYTES> (
          plane, border, first + i, first + n, samples, memory, ahead, &sums);
    multirate_put_sums<BYTES> (plane, tile, samples, sums,
        multirate_weights (plane, border, first, n, i), memory.line);
    multirate_next_sums (&sums);
    __syncthreads (); /* the lines are there */
    multirate_sum_windows (plane, tile, memory, to);
    __syncthreads (); /* before they are overwritten */
  }
  gpu_end_in_turn ();
}
