/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fill-kernels: kernels that make fills: sums of taps along x, codes from these sums along y, and
 * means of blocks. */
#pragma once

#include "device.cuh"

#include "../gpu-launch.cuh"
#include "../sepconv/twopass.cuh"

#define FILL_COLUMNS 32
#define FILL_ROWS 8
#define FILL_THREADS (FILL_COLUMNS * FILL_ROWS)
#define FILL_EACH (REGIONS_TILE / FILL_ROWS) /* rows of a thread */
/* Taps that a block has in shared memory at a time, and the samples of a row under them. */
#define FILL_TAPS \
  ((int) (sizeof (Real) == sizeof (float) ? 5 : 4) * SEPCONV_SUM_BLOCK)
#define FILL_LINE (FILL_WIDTH + FILL_TAPS)
/* groups of four neighbours in a row of sums */
#define FILL_FOURS (FILL_WIDTH / 4)

/* A block of more samples is summed by all threads, others by a warp each. */
#define FILL_WARP_SAMPLES 2048
#define FILL_BLOCKS (FILL_THREADS / 32)

__device__ __forceinline__ int
regions_load_code (
    const RegionsDevicePlane &plane, const uint8_t *row, int x, int channel)
{
  return load_code (
      row + (ptrdiff_t) x * plane.pixel_stride + channel * plane.channel_stride,
      plane.sample_bytes, plane.shift);
}

__device__ __forceinline__ void
fill_load_four (const float *from, float (&to)[4])
{
  const float4 four = *(const float4 *) from;

  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

__device__ __forceinline__ void
fill_load_four (const double *from, double (&to)[4])
{
#pragma unroll
  for (int k = 0; k < 4; k++)
    to[k] = from[k];
}

/* fill_load_lines() for columns that all lie within the plane. */
template <typename Real, typename Sample>
__device__ __forceinline__ void
fill_load_inside (Real (*line)[FILL_LINE], const RegionsDevicePlane &plane,
    int channel, Real center, int left, int columns, int top, int last)
{
#pragma unroll 1
  for (int row = threadIdx.y; row < FILL_HEIGHT; row += FILL_ROWS) {
    const uint8_t *from = plane.src + min (top + row, last) * plane.src_stride
        + (ptrdiff_t) (left + (int) threadIdx.x) * plane.pixel_stride
        + channel * plane.channel_stride;

#pragma unroll
    for (int k = 0; k < FILL_LINE / FILL_COLUMNS; k++)
      if (k * FILL_COLUMNS + (int) threadIdx.x < columns)
        line[row][k * FILL_COLUMNS + threadIdx.x] =
            (Real) (*(const Sample *) (from
                        + (ptrdiff_t) (k * FILL_COLUMNS) * plane.pixel_stride)
                >> plane.shift)
            - center;
  }
}

/* Loads, for the rows of a job, `columns` columns of samples under the taps from tap `first` on,
 * less the center. Rows below the part's last row repeat it. */
template <typename Real>
__device__ __forceinline__ void
fill_load_lines (Real (*line)[FILL_LINE], const RegionsFrame<Real> &frame,
    const RegionsDevicePart &part, const RegionsSumJob &job, int first,
    int columns)
{
  const RegionsDevicePlane &plane = frame.plane[part.plane];
  const SepconvChannel &channel = frame.taps[part.taps].channel[job.channel];
  const int left = part.area.x.first + job.x + first
      - frame.taps[part.taps].term[job.term].nx / 2;
  const int top = part.first_row + job.y;
  const int last = part.first_row + part.n_rows - 1;
  const Real center = (Real) channel.center, border = (Real) channel.border;

  if (left >= 0 && left + columns <= plane.width) {
    if (plane.sample_bytes == 1)
      fill_load_inside<Real, uint8_t> (
          line, plane, job.channel, center, left, columns, top, last);
    else
      fill_load_inside<Real, uint16_t> (
          line, plane, job.channel, center, left, columns, top, last);
    return;
  }
  for (int k = threadIdx.x; k < columns; k += FILL_COLUMNS) {
    const int x = border_index (left + k, plane.width, frame.border);

    for (int row = threadIdx.y; row < FILL_HEIGHT; row += FILL_ROWS)
      line[row][k] = x < 0
          ? border
          : (Real) regions_load_code (plane,
                plane.src + min (top + row, last) * plane.src_stride, x,
                job.channel)
              - center;
  }
}

/* Adds the products of n taps to the sums of four neighbours in a row; n is a multiple of 4. */
template <typename Real>
__device__ __forceinline__ void
fill_sum_line (const Real *line, const Real *tap, int n, Real (&sum)[4])
{
  Real a[4], b[4];

  fill_load_four (line, a);
  for (int first = 0; first < n; first += SEPCONV_SUM_BLOCK) {
    const int last = min (first + SEPCONV_SUM_BLOCK, n);
    Real some[4] = {};

#pragma unroll 2
    for (int i = first; i < last; i += 4) {
      Real by[4];

      fill_load_four (tap + i, by);
      fill_load_four (line + i + 4, b);
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          some[k] = multiply_add (
              by[j], j + k < 4 ? a[(j + k) % 4] : b[(j + k) % 4], some[k]);
#pragma unroll
      for (int k = 0; k < 4; k++)
        a[k] = b[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
      sum[k] += some[k];
  }
}

/* One block of threads per job; each thread sums four neighbours in a row. */
template <typename Real>
static __global__ void
__launch_bounds__ (FILL_THREADS)
    regions_sums (GPU_PARAMETER RegionsFrame<Real> frame)
{
  alignas (16) __shared__ Real line[FILL_HEIGHT][FILL_LINE];
  alignas (16) __shared__ Real tap[FILL_TAPS];
  const RegionsSumJob job = frame.sum_jobs[blockIdx.x];
  const RegionsDevicePart &part = frame.parts[job.part];
  const RegionsTaps &taps = frame.taps[part.taps];
  const RegionsTerm term = taps.term[job.term];
  const int width = part.area.x.last - part.area.x.first;
  const int me = threadIdx.y * FILL_COLUMNS + threadIdx.x;
  const int row = me / FILL_FOURS, column = 4 * (me % FILL_FOURS);
  Real sum[4] = {};

  static_assert (FILL_HEIGHT * FILL_FOURS == FILL_THREADS, "a four a thread");
  gpu_await_previous ();
  for (int first = 0; first < term.nx; first += FILL_TAPS) {
    const int n = min (FILL_TAPS, term.nx - first);
    const int padded = (n + 3) / 4 * 4;

    __syncthreads ();
    fill_load_lines (line, frame, part, job, first, FILL_WIDTH + padded);
    if (me < FILL_TAPS)
      tap[me] = me < n ? frame.tap[term.x + first + me] : (Real) 0;
    __syncthreads ();
    fill_sum_line (&line[row][column], tap, padded, sum);
  }
  if (job.y + row < part.n_rows) {
    Real *to = frame.sums + part.at
        + ((size_t) (job.order * taps.n_terms + job.term) * part.n_rows + job.y
              + row)
            * width
        + job.x + column;

#pragma unroll
    for (int k = 0; k < 4; k++)
      if (job.x + column + k < width)
        to[k] = sum[k];
  }
}

/* Loads `rows` rows and REGIONS_TILE columns of sums of term t, from column x of the part and row
 * y of the plane on, with the rows that a border repeats. Columns right of the part's last one
 * repeat it. */
template <typename Real>
__device__ __forceinline__ void
fill_load_sums (Real (*line)[REGIONS_TILE], const RegionsFrame<Real> &frame,
    const RegionsDevicePart &part, const RegionsCodeJob &job, int t, int x,
    int y, int rows)
{
  const RegionsTaps &taps = frame.taps[part.taps];
  const int width = part.area.x.last - part.area.x.first;
  const int height = frame.plane[part.plane].height;
  const int last = part.first_row + part.n_rows - 1;
  const Real *sums = frame.sums + part.at
      + (size_t) (job.order * taps.n_terms + t) * part.n_rows * width
      + min (x + (int) threadIdx.x, width - 1);
  const Real border =
      (Real) (taps.term[t].sum_x * taps.channel[job.channel].border);

#pragma unroll 4
  for (int k = threadIdx.y; k < rows; k += FILL_ROWS) {
    const int row = border_index (y + k, height, frame.border);
    /* Rows outside the part's only go into results that are not used. */
    const int there = min (max (row, part.first_row), last);

    line[k][threadIdx.x] =
        row < 0 ? border : sums[(size_t) (there - part.first_row) * width];
  }
}

/* Adds the products of n taps to FILL_EACH rows of a column. */
template <typename Real>
__device__ __forceinline__ void
fill_sum_column (const Real (*line)[REGIONS_TILE], const Real *tap, int n,
    Real (&sum)[FILL_EACH])
{
  Real in[FILL_EACH];

#pragma unroll
  for (int k = 1; k < FILL_EACH; k++)
    in[k] = line[k - 1][0];
  for (int first = 0; first < n; first += SEPCONV_SUM_BLOCK) {
    const int last = min (first + SEPCONV_SUM_BLOCK, n);
    Real some[FILL_EACH] = {};

#pragma unroll 4
    for (int i = first; i < last; i++) {
#pragma unroll
      for (int k = 0; k < FILL_EACH - 1; k++)
        in[k] = in[k + 1];
      in[FILL_EACH - 1] = line[i + FILL_EACH - 1][0];
#pragma unroll
      for (int k = 0; k < FILL_EACH; k++)
        some[k] = multiply_add (tap[i], in[k], some[k]);
    }
#pragma unroll
    for (int k = 0; k < FILL_EACH; k++)
      sum[k] += some[k];
  }
}

/* The filter's code of the sample at (x, y). SEPCONV_SUM: `first` is the sum of all terms; else
 * `first` and `second` are the sums of two terms. */
template <typename Real>
__device__ __forceinline__ int
fill_combine (const RegionsDevicePlane &plane, const RegionsTaps &taps,
    int channel, Real first, Real second, int x, int y)
{
  const SepconvChannel &of = taps.channel[channel];
  const double sums[2] = { first, second };
  double value;

  if (taps.how.combine == SEPCONV_SUM)
    return round_to_code (first + (Real) of.offset, of.max_code);
  value = combine_sums (&taps.how, &of,
      regions_load_code (plane, plane.src + y * plane.src_stride, x, channel)
          - of.center,
      sums);
  return taps.how.combine == SEPCONV_DIRECTION
      ? __double2int_rn (value) & of.max_code
      : round_to_code (value, of.max_code);
}

/* One block of threads per job; each thread makes FILL_EACH rows of a column. */
template <typename Real>
static __global__ void
__launch_bounds__ (FILL_THREADS)
    regions_codes (GPU_PARAMETER RegionsFrame<Real> frame)
{
  __shared__ Real line[REGIONS_TILE + FILL_TAPS][REGIONS_TILE];
  __shared__ Real tap[FILL_TAPS];
  const RegionsCodeJob job = frame.code_jobs[blockIdx.x];
  const RegionsDevicePart &part = frame.parts[job.part];
  const RegionsDevicePlane &plane = frame.plane[part.plane];
  const RegionsTaps &taps = frame.taps[part.taps];
  const int width = part.area.x.last - part.area.x.first;
  const int height = part.area.y.last - part.area.y.first;
  const int me = threadIdx.y * FILL_COLUMNS + threadIdx.x;
  const int x = job.x + threadIdx.x, y = job.y + FILL_EACH * threadIdx.y;
  Real first[FILL_EACH] = {}, second[FILL_EACH] = {};

  gpu_await_previous ();
  for (int t = 0; t < taps.n_terms; t++) {
    const RegionsTerm &term = taps.term[t];
    Real sum[FILL_EACH] = {};

    for (int from = 0; from < term.ny; from += FILL_TAPS) {
      const int n = min (FILL_TAPS, term.ny - from);

      __syncthreads ();
      fill_load_sums (line, frame, part, job, t, job.x,
          part.area.y.first + job.y + from - term.ny / 2, REGIONS_TILE - 1 + n);
      if (me < n)
        tap[me] = frame.tap[term.y + from + me];
      __syncthreads ();
      fill_sum_column<Real> ((const Real (*)[REGIONS_TILE])
              & line[FILL_EACH * threadIdx.y][threadIdx.x],
          tap, n, sum);
    }
#pragma unroll
    for (int k = 0; k < FILL_EACH; k++)
      if (taps.how.combine == SEPCONV_SUM || t == 0)
        first[k] += sum[k];
      else
        second[k] = sum[k];
  }
#pragma unroll
  for (int k = 0; k < FILL_EACH; k++)
    if (x < width && y + k < height)
      frame.codes[part.codes_at + ((size_t) job.order * height + y + k) * width
          + x] = (uint16_t) fill_combine (plane, taps, job.channel, first[k],
          second[k], part.area.x.first + x, part.area.y.first + y + k);
}

/* Sums one thread's share of a block of samples: every `lanes`-th code from `lane` on, of each
 * channel that is treated. */
__device__ __forceinline__ void
regions_sum_codes (const RegionsDevicePlane &plane, const RegionsArea &area,
    int lane, int lanes, uint64_t (&sum)[IMAGE_MAX_CHANNELS])
{
  const int width = area.x.last - area.x.first;
  const int64_t n = (int64_t) width * (area.y.last - area.y.first);
  const int across = lanes % width, down = lanes / width;
  int x = lane % width;
  const uint8_t *row =
      plane.src + (area.y.first + lane / width) * plane.src_stride;

#pragma unroll 8
  for (int64_t i = lane; i < n; i += lanes) {
#pragma unroll
    for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
      if (plane.treated >> c & 1)
        sum[c] +=
            (uint32_t) regions_load_code (plane, row, area.x.first + x, c);
    x += across;
    row += down * plane.src_stride;
    if (x >= width) {
      x -= width;
      row += plane.src_stride;
    }
  }
}

/* The samples of block number i of a part. */
__device__ __forceinline__ RegionsArea
regions_block_area (
    const RegionsDevicePart &part, const RegionsDevicePlane &plane, int i)
{
  const int across = part.blocks.x.last - part.blocks.x.first;
  const int64_t left = part.block_x
      + (int64_t) (part.blocks.x.first + i % across) * part.block_width;
  const int64_t top = part.block_y
      + (int64_t) (part.blocks.y.first + i / across) * part.block_height;
  RegionsArea area;

  area.x.first = (int) max (left, (int64_t) 0);
  area.x.last = (int) min (left + part.block_width, (int64_t) plane.width);
  area.y.first = (int) max (top, (int64_t) 0);
  area.y.last = (int) min (top + part.block_height, (int64_t) plane.height);
  return area;
}

/* One block of threads per job. A job is one large block of samples, or several small ones with a
 * warp each. */
template <typename Real>
static __global__ void
__launch_bounds__ (FILL_THREADS)
    regions_means (GPU_PARAMETER RegionsFrame<Real> frame)
{
  __shared__ uint64_t sums[IMAGE_MAX_CHANNELS][FILL_THREADS];
  const RegionsMeanJob job = frame.mean_jobs[blockIdx.x];
  const RegionsDevicePart &part = frame.parts[job.part];
  const RegionsDevicePlane &plane = frame.plane[part.plane];
  const bool large =
      (int64_t) part.block_width * part.block_height > FILL_WARP_SAMPLES;
  const int me = threadIdx.y * FILL_COLUMNS + threadIdx.x;
  const int lanes = large ? FILL_THREADS : 32;
  const int lane = me % lanes, i = me / lanes;
  const RegionsArea area =
      regions_block_area (part, plane, job.first + min (i, job.n - 1));
  const uint64_t n = (uint64_t) (area.x.last - area.x.first)
      * (uint64_t) (area.y.last - area.y.first);
  uint64_t sum[IMAGE_MAX_CHANNELS] = {};

  gpu_await_previous ();
  regions_sum_codes (plane, area, lane, lanes, sum);
#pragma unroll
  for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
    sums[c][me] = sum[c];
  for (int step = lanes / 2; step > 0; step /= 2) {
    __syncthreads ();
    for (int c = 0; lane < step && c < plane.channels; c++)
      sums[c][me] += sums[c][me + step];
  }
  if (lane != 0 || i >= job.n)
    return;
  for (int c = 0; c < plane.channels; c++)
    frame.means[part.at + (size_t) (job.first + i) * plane.channels + c] =
        (uint16_t) ((2 * sums[c][me] + n) / (2 * n));
}
