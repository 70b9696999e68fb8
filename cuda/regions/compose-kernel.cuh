/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compose-kernel: lays fills over dst on a GPU. All regions that touch a sample are laid over it
 * one after another in registers, so that the sample is read once and written once. */
#pragma once

#include "fill-kernels.cuh"

/* A sample, and the parts that may reach it. */
struct RegionsSample
{
  int x, y;
  const int *list;
  int n;
};

template <typename Real>
__device__ __forceinline__ uint32_t
regions_weight_of (
    const RegionsFrame<Real> &frame, const RegionsSample &at, int i)
{
  const RegionsDevicePart &part = frame.parts[at.list[i]];

  if (at.x < part.area.x.first || at.x >= part.area.x.last
      || at.y < part.area.y.first || at.y >= part.area.y.last)
    return 0;
  return regions_weight (&part.shape,
      regions_add (regions_axis_term (&part.shape.x, at.x),
          regions_axis_term (&part.shape.y, at.y)));
}

__device__ __forceinline__ int
regions_block_at (int i, int first, int size)
{
  return i >= first ? (i - first) / size : -1 - (first - 1 - i) / size;
}

template <typename Real>
__device__ __forceinline__ int
regions_fill (const RegionsFrame<Real> &frame, const RegionsDevicePart &part,
    int order, int c, int x, int y)
{
  const RegionsDevicePlane &plane = frame.plane[part.plane];

  switch (part.source) {
    case REGIONS_FROM_CODES:
      return frame.codes[part.codes_at
          + ((size_t) order * (part.area.y.last - part.area.y.first) + y
                - part.area.y.first)
              * (part.area.x.last - part.area.x.first)
          + x - part.area.x.first];
    case REGIONS_FROM_MEANS: {
      const int across = part.blocks.x.last - part.blocks.x.first;
      const int column = regions_block_at (x, part.block_x, part.block_width)
          - part.blocks.x.first;
      const int row = regions_block_at (y, part.block_y, part.block_height)
          - part.blocks.y.first;

      return frame.means[part.at
          + ((size_t) row * across + column) * plane.channels + c];
    }
    case REGIONS_FROM_COLOR:
      return part.color[c];
    default:
      return regions_load_code (plane, plane.src + y * plane.src_stride, x, c);
  }
}

/* Lays one part over a raw sample. Where the code does not change, the bits below it do not
 * either. */
template <typename Real>
__device__ __forceinline__ int
regions_lay_over (const RegionsFrame<Real> &frame,
    const RegionsDevicePart &part, uint32_t weight, int raw, int order, int c,
    int x, int y)
{
  const RegionsDevicePlane &plane = frame.plane[part.plane];
  const uint32_t fill = (uint32_t) regions_fill (frame, part, order, c, x, y);
  uint32_t code;

  if (weight == REGIONS_WHOLE && part.source == REGIONS_FROM_SRC)
    return load_code (plane.src + y * plane.src_stride
            + (ptrdiff_t) x * plane.pixel_stride + c * plane.channel_stride,
        plane.sample_bytes, 0);
  if (weight == REGIONS_WHOLE)
    return (int) (fill << plane.shift);
  code = regions_compose ((uint32_t) raw >> plane.shift, fill, weight);
  return code == (uint32_t) raw >> plane.shift ? raw
                                               : (int) (code << plane.shift);
}

/* Lays parts over all channels of a sample, from part `first` of the list on. */
template <typename Real>
__device__ __forceinline__ void
regions_compose_sample (const RegionsFrame<Real> &frame,
    const RegionsDevicePlane &plane, const RegionsSample &at, int first)
{
  uint8_t *pixel = plane.dst + at.y * plane.dst_stride
      + (ptrdiff_t) at.x * plane.pixel_stride;
  int raw[IMAGE_MAX_CHANNELS];

#pragma unroll
  for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
    if (plane.treated >> c & 1)
      raw[c] =
          load_code (pixel + c * plane.channel_stride, plane.sample_bytes, 0);
#pragma unroll 1
  for (int i = first; i < at.n; i++) {
    const uint32_t weight = regions_weight_of (frame, at, i);

    if (weight == 0)
      continue;
#pragma unroll
    for (int c = 0, order = 0; c < IMAGE_MAX_CHANNELS; c++)
      if (plane.treated >> c & 1)
        raw[c] = regions_lay_over (frame, frame.parts[at.list[i]], weight,
            raw[c], order++, c, at.x, at.y);
  }
#pragma unroll
  for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
    if (plane.treated >> c & 1)
      store_code (
          pixel + c * plane.channel_stride, raw[c], plane.sample_bytes, 0);
}

/* One block of threads per tile. */
template <typename Real>
static __global__ void
__launch_bounds__ (FILL_THREADS)
    regions_compose_tiles (GPU_PARAMETER RegionsFrame<Real> frame)
{
  const RegionsTile tile = frame.tiles[blockIdx.x];
  const RegionsDevicePlane &plane = frame.plane[tile.plane];
  RegionsSample at;

  gpu_await_previous ();
  at.x = tile.x + threadIdx.x;
  at.list = frame.list + tile.first;
  at.n = tile.n;
  for (int k = 0; k < FILL_EACH; k++) {
    int first = tile.n, least = tile.n;

    at.y = tile.y + threadIdx.y + k * FILL_ROWS;
    if (at.x >= plane.width || at.y >= plane.height)
      continue;
    /* Parts below one with weight 1 are hidden. */
    while (first > 0) {
      const uint32_t weight = regions_weight_of (frame, at, --first);

      if (weight > 0)
        least = first;
      if (weight == REGIONS_WHOLE)
        break;
    }
    if (least < tile.n)
      regions_compose_sample (frame, plane, at, least);
  }
}
