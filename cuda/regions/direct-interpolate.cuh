/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-interpolate: a region's codes in a tile, from its sums of direct-low-filter.cuh. */
#pragma once

#include "direct-filter.cuh"
#include "direct-lows.cuh"

/* Bytes of shared memory that direct_interpolate() needs: the most rows of sums of a tile,
 * interpolated along x. */
__host__ __device__ __forceinline__ int
direct_interpolate_bytes (const RegionsRate &y)
{
  return ((REGIONS_TILE - 2 + y.factor) / y.factor + MULTIRATE_REACH)
      * REGIONS_TILE * (int) sizeof (float);
}

/* Where a sample lies between sums. */
struct DirectBetween
{
  int first; /* the first of the four sums around it, counted from the region's first one */
  float4 by; /* their weights */
};

/* A sample within a region, or else the region's sample that is nearest to it. */
__device__ __forceinline__ DirectBetween
direct_between (const DirectFrame &frame, const RegionsRate &rate,
    RegionsSpan region, int sample)
{
  const int at = min (max (sample, region.first), region.last - 1);
  const int cell = regions_cell (rate, at);
  DirectBetween between;

  between.first = cell - regions_cell (rate, region.first);
  between.by =
      ((const float4 *) (frame.tap + rate.phase))[at - cell * rate.factor];
  return between;
}

/* `sum`: the first one's; they are `apart` floats apart. */
__device__ __forceinline__ float
direct_interpolate_one (const float *sum, int apart, const float4 &by)
{
  return multiply_add (by.w, sum[3 * apart],
      multiply_add (by.z, sum[2 * apart],
          multiply_add (by.y, sum[apart], by.x * sum[0])));
}

/* The codes that a filter at lower rates gives the thread's samples: DIRECT_EACH rows of column
 * threadIdx.x of the tile. Samples that the region does not reach may become any codes. All threads
 * of the block must call it. */
__device__ __forceinline__ void
direct_interpolate (const DirectFrame &frame, const RegionsTaps &taps,
    const DirectTile &tile, int region, float *shared, int (&code)[DIRECT_EACH])
{
  const RegionsRate &rate_y = taps.rate_y;
  const SepconvChannel &channel = taps.channel[tile.channel];
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const DirectLows lows = direct_lows (frame, tile.plane)[region];
  const RegionsSpan rows = lows.area.y;
  const int across = direct_low_span (taps.rate_x, lows.area.x).sums;
  const int down = direct_low_span (rate_y, rows).sums;
  /* The tile's rows of sums, counted from the region's first one. */
  const int first = direct_between (frame, rate_y, rows, tile.y).first;
  const int last =
      direct_between (frame, rate_y, rows, tile.y + REGIONS_TILE - 1).first
      + MULTIRATE_REACH;
  const DirectBetween x = direct_between (
      frame, taps.rate_x, lows.area.x, tile.x + (int) threadIdx.x);
  const float *from = frame.lows + lows.sums_at
      + (size_t) direct_order (plane, tile.channel) * down * across + x.first;

  /* Other threads may still read the previous contents. */
  __syncthreads ();
  for (int row = first + (int) threadIdx.y; row < last; row += DIRECT_ROWS)
    shared[(row - first) * REGIONS_TILE + threadIdx.x] =
        direct_interpolate_one (from + row * across, 1, x.by);
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++) {
    const DirectBetween y = direct_between (
        frame, rate_y, rows, tile.y + DIRECT_EACH * (int) threadIdx.y + k);

    code[k] =
        round_to_code (direct_interpolate_one (shared
                               + (y.first - first) * REGIONS_TILE + threadIdx.x,
                           REGIONS_TILE, y.by)
                + (float) channel.offset,
            channel.max_code);
  }
}
