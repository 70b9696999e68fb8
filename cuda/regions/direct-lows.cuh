/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-lows: regions that are filtered at a lower sampling rate, as in multirate-plan.h. A first
 * kernel makes low samples of the picture around each region (direct-decimate.cuh), a second one
 * makes sums of these (direct-low-filter.cuh), and the kernel of the tiles makes codes of the sums
 * (direct-interpolate.cuh). */
#pragma once

#include "direct-job.cuh"

#include "../sepconv/multirate-plan.h"

/* direct-decimate.cuh: each thread of a group has four samples of a row; the group makes up to
 * DIRECT_LOW_ROWS rows of low samples. */
#define DIRECT_LOW_LEAST_LANES 16
#define DIRECT_LOW_ROWS 8
/* most rows of the picture under the windows of a block of threads */
#define DIRECT_LOW_PICTURE_ROWS 2240

/* direct-low-filter.cuh: the columns and rows of sums that a block of threads makes. */
#define DIRECT_SUM_COLUMNS 8
#define DIRECT_SUM_ROWS 32

/* The samples of an axis that a range of samples of the plane is made of. */
struct DirectLowSpan
{
  int first_sum, sums;
  int first_low, lows;
};

__host__ __device__ __forceinline__ DirectLowSpan
direct_low_span (const RegionsRate &rate, RegionsSpan samples)
{
  const int first = regions_cell (rate, samples.first);
  const int last = regions_cell (rate, samples.last - 1);
  DirectLowSpan span;

  span.first_sum = first - 1;
  span.sums = last - first + MULTIRATE_REACH;
  span.first_low = span.first_sum + rate.first;
  span.lows = span.sums + rate.n - 1;
  return span;
}

/* How low samples are divided among blocks of threads. */
struct DirectLowTiles
{
  int lanes, group_rows; /* of a group */
  int columns, rows;     /* of low samples of a block */
  int across, down;      /* blocks */
};

/* Groups make up to `group_rows` rows; a pixel has `pixel` samples. */
__host__ __device__ __forceinline__ DirectLowTiles
direct_low_tiles (const RegionsRate &rate_x, const RegionsRate &rate_y,
    int pixel, const DirectLowSpan &x, const DirectLowSpan &y, int group_rows)
{
  const int cell = pixel * rate_x.factor; /* samples */
  DirectLowTiles tiles;
  int groups, most;

  tiles.lanes = DIRECT_LOW_LEAST_LANES;
  /* The first four samples may begin three samples earlier. */
  while (tiles.lanes < DIRECT_THREADS
      && 4 * tiles.lanes < (x.lows + MULTIRATE_REACH - 1) * cell + 3)
    tiles.lanes *= 2;
  tiles.columns = (4 * tiles.lanes - 3) / cell - (MULTIRATE_REACH - 1);
  groups = DIRECT_THREADS / tiles.lanes;
  most = (DIRECT_LOW_PICTURE_ROWS / rate_y.factor - (MULTIRATE_REACH - 1))
      / groups;
  tiles.group_rows = group_rows < most ? group_rows : most;
  tiles.rows = groups * tiles.group_rows;
  tiles.across = (x.lows + tiles.columns - 1) / tiles.columns;
  tiles.down = (y.lows + tiles.rows - 1) / tiles.rows;
  /* Gives all blocks about as much to do. */
  tiles.group_rows =
      ((y.lows + tiles.down - 1) / tiles.down + groups - 1) / groups;
  tiles.rows = groups * tiles.group_rows;
  return tiles;
}

/* The low samples and sums of all regions in plane p, [n_regions]. */
__device__ __forceinline__ const DirectLows *
direct_lows (const DirectFrame &frame, int p)
{
  return (const DirectLows *) direct_tiles (frame, frame.n_memories)
      + p * frame.n_regions;
}

/* The number of a channel among those of its plane that are treated. */
__device__ __forceinline__ int
direct_order (const RegionsDevicePlane &plane, int channel)
{
  return __popc (plane.treated & ((1u << channel) - 1));
}

/* A plane, described by the samples of its memory's rows, which may also belong to other planes.
 * Channel c of pixel x is sample offset + x * pixel + c * channel of a row. */
struct DirectLowPlane
{
  const uint8_t *base;
  int stride, width, channels;
  unsigned treated;
  int sample_bytes, shift;
  int pixel, channel, offset;
  int row_samples;
  int by_fours; /* samples of a row that loads of four, aligned to their size, may bring */
};

/* Samples of a pixel. */
__host__ __device__ __forceinline__ int
direct_pixel_samples (const RegionsDevicePlane &plane)
{
  return plane.pixel_stride / plane.sample_bytes;
}

/* The end of the pixels that lie in the group of four samples of pixel last - 1, or before it. */
__device__ __forceinline__ int
direct_last_of_four (const DirectLowPlane &plane, int last)
{
  const int end = (plane.offset + (last - 1) * plane.pixel) | 3;

  return (end - plane.offset) / plane.pixel + 1;
}

/* The pixels of a row that n taps reach from `area`. The windows of low samples reach further, with
 * next to no weight: beyond an end of this range, its last group of four samples stands for all
 * others, so that codes depend on these pixels alone. Ends within the plane are moved outwards to
 * whole groups. Where groups are not whole pixels, pixels take their place. */
__device__ __forceinline__ RegionsSpan
direct_read_columns (const DirectLowPlane &plane, RegionsSpan area, int n)
{
  RegionsSpan read;

  read.first = area.first - n / 2;
  read.last = area.last + n - 1 - n / 2;
  if (4 % plane.pixel != 0)
    return read;
  if (read.first > 0)
    read.first =
        max (((plane.offset + read.first * plane.pixel) & ~3) / plane.pixel, 0);
  if (read.last < plane.width)
    read.last = min (direct_last_of_four (plane, read.last), plane.width);
  return read;
}

__device__ __forceinline__ DirectLowPlane
direct_low_plane (const DirectPlane &from, const DirectMemory &memory)
{
  const RegionsDevicePlane &of = from.of;
  DirectLowPlane plane;

  plane.base = memory.src;
  plane.stride = (int) memory.src_stride;
  plane.width = of.width;
  plane.channels = of.channels;
  plane.treated = of.treated;
  plane.sample_bytes = of.sample_bytes;
  plane.shift = of.shift;
  plane.pixel = direct_pixel_samples (of);
  plane.channel = of.channel_stride / of.sample_bytes;
  plane.offset = (int) (of.src - memory.src) / of.sample_bytes;
  plane.row_samples = memory.row_bytes / of.sample_bytes;
  plane.by_fours = memory.vector < 4 * of.sample_bytes
      ? 0
      : min (plane.row_samples, plane.offset + of.width * plane.pixel);
  return plane;
}

/* The work of a block of threads of the first two kernels, in shared memory. */
struct DirectLowJob
{
  int plane, region;
  int block; /* its number among those of the region in the plane */
  RegionsTaps taps;
};

/* Finds the job; `blocks` is the kernel's member of DirectLows. */
__device__ __forceinline__ void
direct_find_lows (const DirectFrame &frame,
    DirectBlockRange DirectLows::*blocks, DirectLowJob *job)
{
  const int me = direct_me ();

  for (int i = me; i < frame.n_planes * frame.n_regions; i += DIRECT_THREADS) {
    const DirectBlockRange of = direct_lows (frame, 0)[i].*blocks;
    const int block = (int) blockIdx.x - of.first;

    if (block >= 0 && block < of.n) {
      job->plane = i / frame.n_regions;
      job->region = i % frame.n_regions;
      job->block = block;
    }
  }
  __syncthreads ();
  if (me < DIRECT_FILTER_WORDS)
    ((uint32_t *) &job->taps)[me] = ((
        const uint32_t *) &frame.taps[direct_regions (frame)[job->region].amount
        + job->plane])[me];
  __syncthreads ();
}
