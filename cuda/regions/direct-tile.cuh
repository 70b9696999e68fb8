/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-tile: lays the fills of regions over a tile, one after the other in registers. */
#pragma once

#include "direct-copy.cuh"
#include "direct-interpolate.cuh"
#include "direct-means.cuh"

/* The same shape as regions_part() makes. */
__device__ __forceinline__ RegionsShapeInPlane
direct_shape (const DirectFrame &frame, const DirectRegion &region,
    const DirectPlane &plane)
{
  const bool ellipse = frame.ellipse;
  RegionsShapeInPlane shape;

  shape.x.first = region.left;
  shape.x.size = region.width;
  shape.x.pixels = plane.pixels_x;
  shape.x.by_distance = ellipse ? 1.0 / region.width : 0.0;
  shape.y.first = region.top;
  shape.y.size = region.height;
  shape.y.pixels = plane.pixels_y;
  shape.y.by_distance = ellipse ? 1.0 / region.height : 0.0;
  shape.inside = ellipse ? 1.0 : 0.0;
  shape.reach = regions_multiply (frame.feather,
      ellipse ? 2.0 : (double) min (region.width, region.height));
  return shape;
}

/* Lays a fill over a raw sample. Where the code does not change, the bits below it do not
 * either. */
__device__ __forceinline__ int
direct_lay_over (int raw, int fill, uint32_t weight, int shift)
{
  uint32_t code;

  if (weight == REGIONS_WHOLE)
    return fill << shift;
  code = regions_compose ((uint32_t) raw >> shift, (uint32_t) fill, weight);
  return code == (uint32_t) raw >> shift ? raw : (int) (code << shift);
}

/* Makes the fill of region number i; *filter is the filter whose codes are in `fill` already, or
 * -1. */
template <DirectKind KIND>
__device__ __forceinline__ void
direct_fill (const DirectFrame &frame, DirectJob *job, const DirectTile &tile,
    int i, float4 *shared, int *filter, int (&fill)[DIRECT_EACH])
{
  const DirectRegion &region = direct_regions (frame)[i];

  if (KIND == DIRECT_PLAIN) {
#pragma unroll
    for (int k = 0; k < DIRECT_EACH; k++)
      fill[k] = frame.plane[tile.plane].color[tile.channel];
  } else if (KIND == DIRECT_MEANS) {
    direct_pixelate (frame, tile, region, shared, fill);
  } else if (*filter != region.amount) {
    direct_use_filter (frame, job, region.amount + tile.plane);
    if (direct_has_lows (KIND) && job->taps.rate_x.factor > 0) {
      direct_interpolate (frame, job->taps, tile, i, (float *) shared, fill);
      *filter = -1;
      return;
    }
    if (!direct_is_empty (job->clip))
      direct_filter<KIND> (frame, job, shared, fill);
    *filter = region.amount;
  }
}

__device__ __forceinline__ ptrdiff_t
direct_at (const DirectTile &tile, const RegionsDevicePlane &plane,
    ptrdiff_t stride, int k)
{
  return (tile.y + DIRECT_EACH * (int) threadIdx.y + k) * stride
      + (ptrdiff_t) (tile.x + (int) threadIdx.x) * plane.pixel_stride
      + tile.channel * plane.channel_stride;
}

/* The raw sample in the thread's row k, of the source or of dst. */
__device__ __forceinline__ int
direct_load (const DirectTile &tile, const RegionsDevicePlane &plane,
    bool from_dst, int k)
{
  const uint8_t *from = from_dst ? plane.dst : plane.src;
  const ptrdiff_t stride = from_dst ? plane.dst_stride : plane.src_stride;

  return load_code (
      from + direct_at (tile, plane, stride, k), plane.sample_bytes, 0);
}

/* The raw samples of the thread's rows k that have a bit in `rows`; see direct_load(). */
__device__ __forceinline__ void
direct_load_rows (const DirectTile &tile, const RegionsDevicePlane &plane,
    bool from_dst, unsigned rows, int (&raw)[DIRECT_EACH])
{
  const ptrdiff_t stride = from_dst ? plane.dst_stride : plane.src_stride;
  const uint8_t *from =
      (from_dst ? plane.dst : plane.src) + direct_at (tile, plane, stride, 0);

  if (plane.sample_bytes == 1) {
#pragma unroll
    for (int k = 0; k < DIRECT_EACH; k++, from += stride)
      if (rows >> k & 1)
        raw[k] = *from;
  } else {
#pragma unroll
    for (int k = 0; k < DIRECT_EACH; k++, from += stride)
      if (rows >> k & 1)
        raw[k] = *(const uint16_t *) from;
  }
}

__device__ __forceinline__ void
direct_store_rows (const DirectTile &tile, const RegionsDevicePlane &plane,
    unsigned rows, const int (&raw)[DIRECT_EACH])
{
  uint8_t *to = plane.dst + direct_at (tile, plane, plane.dst_stride, 0);

  if (plane.sample_bytes == 1) {
#pragma unroll
    for (int k = 0; k < DIRECT_EACH; k++, to += plane.dst_stride)
      if (rows >> k & 1)
        *to = (uint8_t) raw[k];
  } else {
#pragma unroll
    for (int k = 0; k < DIRECT_EACH; k++, to += plane.dst_stride)
      if (rows >> k & 1)
        *(uint16_t *) to = (uint16_t) raw[k];
  }
}

/* The thread's rows that a sharp region covers; bit k is row k. */
__device__ __forceinline__ unsigned
direct_find_covered (const DirectTile &tile, const DirectRegion &region,
    const DirectPlane &plane)
{
  const int y = tile.y + DIRECT_EACH * (int) threadIdx.y;
  unsigned rows = 0;

  if (region.width == 0)
    return (1u << DIRECT_EACH) - 1;
  if (!direct_covers (region.left, region.width, plane.pixels_x,
          tile.x + (int) threadIdx.x))
    return 0;
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++)
    if (direct_covers (region.top, region.height, plane.pixels_y, y + k))
      rows |= 1u << k;
  return rows;
}

/* Lays one sharp region over the thread's raw samples. Returns the rows that it covers. */
template <DirectKind KIND>
__device__ __forceinline__ unsigned
direct_lay_sharp (const DirectFrame &frame, const DirectRegion &region,
    const DirectTile &tile, const int (&fill)[DIRECT_EACH],
    int (&raw)[DIRECT_EACH])
{
  const DirectPlane &plane = frame.plane[tile.plane];
  const unsigned rows = direct_find_covered (tile, region, plane);

#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++) {
    if (!(rows >> k & 1))
      continue;
    if (KIND != DIRECT_PLAIN || !region.of_source)
      raw[k] = fill[k] << plane.of.shift;
    else if (direct_has (tile, plane.of, k))
      raw[k] = direct_load (tile, plane.of, false, k);
  }
  return rows;
}

/* Lays one region with soft edges, or an ellipse, over the thread's raw samples. */
template <DirectKind KIND>
__device__ __forceinline__ void
direct_lay_soft (const DirectFrame &frame, const DirectRegion &region,
    const DirectTile &tile, const int (&fill)[DIRECT_EACH],
    int (&raw)[DIRECT_EACH])
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const bool of_source = KIND == DIRECT_PLAIN && region.of_source;
  const RegionsShapeInPlane shape =
      direct_shape (frame, region, frame.plane[tile.plane]);
  const double column =
      regions_axis_term (&shape.x, tile.x + (int) threadIdx.x);

#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++) {
    const int y = tile.y + DIRECT_EACH * (int) threadIdx.y + k;
    const uint32_t weight = region.width == 0
        ? REGIONS_WHOLE
        : regions_weight (
            &shape, regions_add (column, regions_axis_term (&shape.y, y)));

    if (weight == 0 || !direct_has (tile, plane, k))
      continue;
    if (of_source && weight == REGIONS_WHOLE)
      raw[k] = direct_load (tile, plane, false, k);
    else
      raw[k] = direct_lay_over (raw[k],
          of_source ? direct_load (tile, plane, false, k) >> plane.shift
                    : fill[k],
          weight, plane.shift);
  }
}

/* Lays all regions that touch the tile over one channel. Sharp regions need no samples but their
 * fills where dst has the picture. Otherwise all samples are loaded first, or for filters, which
 * need many registers, after the first fill if regions are soft, and at the end if they are sharp:
 * then only those that no region covers. */
template <DirectKind KIND>
__device__ __forceinline__ void
direct_compose (const DirectFrame &frame, DirectJob *job,
    const DirectTile &tile, float4 *shared)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const unsigned rows = direct_rows (tile, plane);
  int raw[DIRECT_EACH] = {}, fill[DIRECT_EACH] = {};
  unsigned missing = rows; /* rows that raw does not have */
  int filter = -1;

  if (!direct_is_filter (KIND) && !(frame.covers && frame.sharp)) {
    direct_load_rows (tile, plane, frame.covers, rows, raw);
    missing = 0;
  }
#pragma unroll 1
  for (int w = 0; w < direct_masks (frame); w++)
    for (unsigned rest = job->touched[w]; rest != 0; rest &= rest - 1) {
      const int i = 32 * w + __ffs ((int) rest) - 1;
      const DirectRegion &region = direct_regions (frame)[i];

      if (KIND != DIRECT_PLAIN || !region.of_source)
        direct_fill<KIND> (frame, job, tile, i, shared, &filter, fill);
      if (frame.sharp) {
        missing &= ~direct_lay_sharp<KIND> (frame, region, tile, fill, raw);
        continue;
      }
      direct_load_rows (tile, plane, frame.covers, missing, raw);
      missing = 0;
      direct_lay_soft<KIND> (frame, region, tile, fill, raw);
    }
  if (!frame.covers)
    direct_load_rows (tile, plane, false, missing, raw);
  direct_store_rows (tile, plane, frame.covers ? rows & ~missing : rows, raw);
}

/* Copies the samples of a channel's part of a tile. */
__device__ __forceinline__ void
direct_copy_samples (const DirectFrame &frame, const DirectTile &tile)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const unsigned rows = direct_rows (tile, plane);
  int raw[DIRECT_EACH] = {};

  direct_load_rows (tile, plane, false, rows, raw);
  direct_store_rows (tile, plane, rows, raw);
}

template <DirectKind KIND>
__device__ __forceinline__ void
direct_finish_part (const DirectFrame &frame, DirectJob *job,
    const DirectTile &tile, float4 *shared)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;

  if (tile.x >= plane.width)
    return;
  if (plane.treated >> tile.channel & 1)
    direct_compose<KIND> (frame, job, tile, shared);
  else if (frame.memory[job->memory].has_gaps)
    direct_copy_samples (frame, tile);
}

/* Finishes the job's parts of a tile. Part 0 also copies the bytes that belong to no sample. */
template <DirectKind KIND>
__device__ __forceinline__ void
direct_finish_parts (const DirectFrame &frame, DirectJob *job, float4 *shared)
{
  const DirectMemory &memory = frame.memory[job->memory];
  const int last = min (job->part + frame.together, memory.parts);

  if (memory.has_gaps && job->part == 0)
    direct_copy_loose (frame, *job);
#pragma unroll 1
  for (int part = job->part; part < last; part++) {
    if (direct_is_filter (KIND))
      direct_finish_part<KIND> (frame, job, job->tile, shared);
    else
      direct_finish_part<KIND> (
          frame, job, direct_find_samples (frame, *job, part), shared);
  }
}
