/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fill-kernels: the first pass of a GPU's fills. */
#pragma once

#include "device.cuh"

#include "../gpu-launch.cuh"
#include "../sepconv/twopass.cuh"

#define FILL_COLUMNS 32
#define FILL_ROWS 8
#define FILL_THREADS (FILL_COLUMNS * FILL_ROWS)
#define FILL_EACH (REGIONS_TILE / FILL_ROWS) /* rows of a thread */
/* Taps that a block has at a time. */
#define FILL_TAPS (2 * SEPCONV_SUM_BLOCK)
#define FILL_LINE (REGIONS_TILE + FILL_TAPS - 1)

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

/* Samples under FILL_TAPS taps from `first` on, of a tile's rows, less the center. */
template <typename Real>
__device__ __forceinline__ void
regions_load_lines (Real (*line)[FILL_LINE], const RegionsFrame<Real> &frame,
    const RegionsDevicePart &part, const RegionsSumJob &job, int first)
{
  const RegionsDevicePlane &plane = frame.plane[part.plane];
  const SepconvChannel &channel = frame.taps[part.taps].channel[job.channel];
  const int left = part.area.x.first + job.x + first
      - frame.taps[part.taps].term[job.term].nx / 2;
  const int me = threadIdx.y * FILL_COLUMNS + threadIdx.x;

  for (int i = me; i < REGIONS_TILE * FILL_LINE; i += FILL_THREADS) {
    const int row = i / FILL_LINE, k = i % FILL_LINE;
    const int y = part.first_row + job.y + row;
    const int x = border_index (left + k, plane.width, frame.border);

    if (job.y + row < part.n_rows)
      line[row][k] = x < 0
          ? (Real) channel.border
          : (Real) regions_load_code (
                plane, plane.src + y * plane.src_stride, x, job.channel)
              - (Real) channel.center;
  }
}

/* A block of threads a job. */
template <typename Real>
static __global__ void
__launch_bounds__ (FILL_THREADS)
    regions_sums (GPU_PARAMETER RegionsFrame<Real> frame)
{
  __shared__ Real line[REGIONS_TILE][FILL_LINE];
  __shared__ Real tap[FILL_TAPS];
  const RegionsSumJob job = frame.sum_jobs[blockIdx.x];
  const RegionsDevicePart &part = frame.parts[job.part];
  const RegionsTaps &taps = frame.taps[part.taps];
  const RegionsTerm term = taps.term[job.term];
  const int width = part.area.x.last - part.area.x.first;
  const int me = threadIdx.y * FILL_COLUMNS + threadIdx.x;
  const int column = job.x + threadIdx.x;
  Real sum[FILL_EACH] = {};

  gpu_await_previous ();
  for (int first = 0; first < term.nx; first += FILL_TAPS) {
    const int n = min (FILL_TAPS, term.nx - first);

    __syncthreads ();
    regions_load_lines (line, frame, part, job, first);
    if (me < FILL_TAPS)
      tap[me] = me < n ? frame.tap[term.x + first + me] : (Real) 0;
    __syncthreads ();
    for (int block = 0; block < n; block += SEPCONV_SUM_BLOCK) {
      Real some[FILL_EACH] = {};

#pragma unroll 8
      for (int i = block; i < block + SEPCONV_SUM_BLOCK; i++)
#pragma unroll
        for (int k = 0; k < FILL_EACH; k++)
          some[k] = multiply_add (tap[i],
              line[threadIdx.y + k * FILL_ROWS][threadIdx.x + i], some[k]);
      for (int k = 0; k < FILL_EACH; k++)
        sum[k] += some[k];
    }
  }
  for (int k = 0; k < FILL_EACH; k++) {
    const int row = job.y + threadIdx.y + k * FILL_ROWS;

    if (row < part.n_rows && column < width)
      frame.sums[part.at
          + ((size_t) (job.order * taps.n_terms + job.term) * part.n_rows + row)
              * width
          + column] = sum[k];
  }
}

/* The codes of a block that one of `lanes` threads adds up. */
__device__ __forceinline__ uint64_t
regions_sum_codes (const RegionsDevicePlane &plane, const RegionsArea &area,
    int channel, int lane, int lanes)
{
  const int width = area.x.last - area.x.first;
  const int height = area.y.last - area.y.first;
  uint64_t sum = 0;

  for (int64_t i = lane; i < (int64_t) width * height; i += lanes)
    sum += (uint64_t) regions_load_code (plane,
        plane.src + (area.y.first + i / width) * plane.src_stride,
        area.x.first + (int) (i % width), channel);
  return sum;
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

/* A block of threads a job, whose blocks of samples are small and have a warp each, or is one
 * large one. */
template <typename Real>
static __global__ void
__launch_bounds__ (FILL_THREADS)
    regions_means (GPU_PARAMETER RegionsFrame<Real> frame)
{
  __shared__ uint64_t sums[FILL_THREADS];
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

  gpu_await_previous ();
  for (int c = 0; c < plane.channels; c++) {
    uint64_t sum = 0;

    __syncthreads ();
    sums[me] = regions_sum_codes (plane, area, c, lane, lanes);
    __syncthreads ();
    if (lane != 0 || i >= job.n)
      continue;
    for (int k = 0; k < lanes; k++)
      sum += sums[me + k];
    frame.means[part.at + (size_t) (job.first + i) * plane.channels + c] =
        (uint16_t) ((2 * sum + n) / (2 * n));
  }
}
