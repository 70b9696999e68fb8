/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compose-kernel: finishes a GPU's fills, and lays them over dst: all regions that touch a sample
 * one after the other in registers, so that it is read once and written once. */
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

/* The sum of a term's rows of sums. */
template <typename Real>
__device__ __forceinline__ Real
regions_sum_column (const RegionsFrame<Real> &frame,
    const RegionsDevicePart &part, const RegionsTaps &taps, int t, int order,
    int channel, int x, int y)
{
  const RegionsTerm &term = taps.term[t];
  const int width = part.area.x.last - part.area.x.first;
  const int height = frame.plane[part.plane].height;
  const Real *sums = frame.sums + part.at
      + (size_t) (order * taps.n_terms + t) * part.n_rows * width
      + (x - part.area.x.first);
  const int top = y - term.ny / 2;

  return sum_products<Real> (term.ny, [&] (int i, Real some) {
    const int row = border_index (top + i, height, frame.border);

    return multiply_add (frame.tap[term.y + i],
        row < 0 ? (Real) (term.sum_x * taps.channel[channel].border)
                : sums[(size_t) (row - part.first_row) * width],
        some);
  });
}

/* The filter's code of a sample. */
template <typename Real>
__device__ __forceinline__ int
regions_filtered (const RegionsFrame<Real> &frame,
    const RegionsDevicePart &part, int order, int c, int x, int y)
{
  const RegionsDevicePlane &plane = frame.plane[part.plane];
  const RegionsTaps &taps = frame.taps[part.taps];
  const SepconvChannel &channel = taps.channel[c];
  const bool sum = taps.how.combine == SEPCONV_SUM;
  Real first = 0, second = 0;
  double sums[2];

  for (int t = 0; t < taps.n_terms; t++) {
    const Real term = regions_sum_column (frame, part, taps, t, order, c, x, y);

    if (sum || t == 0)
      first += term;
    else
      second = term;
  }
  if (sum)
    return round_to_code (first + (Real) channel.offset, channel.max_code);
  sums[0] = first;
  sums[1] = second;
  {
    const double value = combine_sums (&taps.how, &channel,
        regions_load_code (plane, plane.src + y * plane.src_stride, x, c)
            - channel.center,
        sums);

    if (taps.how.combine == SEPCONV_DIRECTION)
      return __double2int_rn (value) & channel.max_code;
    return round_to_code (value, channel.max_code);
  }
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
    case REGIONS_FROM_SUMS:
      return regions_filtered (frame, part, order, c, x, y);
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

/* A raw sample under one part. Where the code does not change, its lower bits do not. */
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

/* All channels of a sample, from part `first` of the list on. */
template <typename Real>
__device__ __forceinline__ void
regions_compose_sample (const RegionsFrame<Real> &frame,
    const RegionsDevicePlane &plane, const RegionsSample &at, int first)
{
  uint8_t *pixel = plane.dst + at.y * plane.dst_stride
      + (ptrdiff_t) at.x * plane.pixel_stride;
  int order = 0;

  for (int c = 0; c < plane.channels; c++) {
    uint8_t *sample = pixel + c * plane.channel_stride;
    int raw;

    if (!(plane.treated >> c & 1))
      continue;
    raw = load_code (sample, plane.sample_bytes, 0);
    for (int i = first; i < at.n; i++) {
      const uint32_t weight = regions_weight_of (frame, at, i);

      if (weight > 0)
        raw = regions_lay_over (
            frame, frame.parts[at.list[i]], weight, raw, order, c, at.x, at.y);
    }
    store_code (sample, raw, plane.sample_bytes, 0);
    order++;
  }
}

/* A block of threads a tile. */
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
    /* What lies below a weight of 1 is not seen. */
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
