/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-clip: a channel's part of a tile, and the samples of it that regions cover. */
#pragma once

#include "direct.cuh"

/* One channel of a tile, whose first sample is (x, y). */
struct DirectTile
{
  int plane, channel, x, y;
};

/* Whether the thread's sample in its row k lies within the plane. */
__device__ __forceinline__ bool
direct_has (const DirectTile &tile, const RegionsDevicePlane &plane, int k)
{
  return tile.x + (int) threadIdx.x < plane.width
      && tile.y + DIRECT_EACH * (int) threadIdx.y + k < plane.height;
}

/* Bit k: direct_has() holds for the thread's row k. */
__device__ __forceinline__ unsigned
direct_rows (const DirectTile &tile, const RegionsDevicePlane &plane)
{
  const int n = tile.x + (int) threadIdx.x < plane.width
      ? plane.height - tile.y - DIRECT_EACH * (int) threadIdx.y
      : 0;

  return (1u << min (max (n, 0), DIRECT_EACH)) - 1;
}

/* Columns [left, right) and rows [top, bottom) of a tile, whose codes are needed. */
struct DirectClip
{
  int left, right, top, bottom;
};

__device__ __forceinline__ bool
direct_is_empty (const DirectClip &clip)
{
  return clip.left >= clip.right || clip.top >= clip.bottom;
}

__device__ __forceinline__ int
direct_floor (int n, int divisor)
{
  const int quotient = n / divisor;

  return quotient * divisor > n ? quotient - 1 : quotient;
}

/* The sample that pixel `pixel` belongs to, of samples of `pixels` pixels each; one or two need no
 * division. */
__device__ __forceinline__ int
direct_sample_of (int pixel, int pixels)
{
  return pixels <= 2 ? pixel >> (pixels - 1) : direct_floor (pixel, pixels);
}

/* Whether sample i has a pixel in [first, first + size). */
__device__ __forceinline__ bool
direct_covers (int first, int size, int pixels, int i)
{
  const int from = i * pixels - first;

  return from < size && from + pixels > 0;
}

/* The samples of a tile that begins at sample `begin` for which direct_covers() holds, counted from
 * `begin`. */
__device__ __forceinline__ RegionsSpan
direct_span (int first, int size, int pixels, int begin)
{
  const int last = first + size;
  RegionsSpan span;

  span.first = direct_sample_of (first, pixels) - begin;
  span.last = direct_sample_of (last - 1, pixels) + 1 - begin;
  span.first = min (max (span.first, 0), REGIONS_TILE);
  span.last = min (max (span.last, 0), REGIONS_TILE);
  return span;
}

/* The samples of a channel's tile that a region covers, if regions are sharp; else all. */
__device__ __forceinline__ DirectClip
direct_clip (const DirectFrame &frame, const DirectRegion &region,
    const DirectTile &tile)
{
  const DirectPlane &plane = frame.plane[tile.plane];
  DirectClip clip = { 0, REGIONS_TILE, 0, REGIONS_TILE };

  if (frame.sharp) {
    const RegionsSpan x =
        direct_span (region.left, region.width, plane.pixels_x, tile.x);
    const RegionsSpan y =
        direct_span (region.top, region.height, plane.pixels_y, tile.y);

    clip.left = x.first;
    clip.right = x.last;
    clip.top = y.first;
    clip.bottom = y.last;
  }
  return clip;
}
