/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mapping: maps the source by the tables, and copies all samples that are not mapped. */
#pragma once

#include "pixels.cuh"

/* Rows of a block, one for each warp. */
#define MAP_ROWS 8

/* One copy for each channel, and one for the vectors of each memory. */
#define MAX_COPIES (IMAGE_MAX_PLANES * IMAGE_MAX_CHANNELS + IMAGE_MAX_MEMORIES)

/* Elements of 1, 2 or 16 bytes, `apart` bytes from one to the next. */
struct Copy
{
  const uint8_t *src; /* first element of row 0 */
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int bytes, apart, width, height;
};

struct MapFrame
{
  Pixels pixels;
  const uint16_t *tables;
  Copy copy[MAX_COPIES];
};

/* Maps the luma of one row. Global: by the one table. */
template <bool IsAdaptive> struct Mapping
{
  const uint16_t *table;

  __device__ __forceinline__
  Mapping (const MapFrame &frame, int)
      : table (frame.tables)
  {
  }

  __device__ __forceinline__ void
  begin (const EqualizeNumbers &, int)
  {
  }

  __device__ __forceinline__ int
  map (const EqualizeNumbers &, int luma) const
  {
    return __ldg (&table[luma]);
  }

  __device__ __forceinline__ void
  next (const EqualizeNumbers &)
  {
  }
};

/* Adaptive: by the tables of four tiles, for the pixel of begin() and those after it, one for
 * each next(). */
template <> struct Mapping<true>
{
  const uint16_t *top, *bottom;
  uint32_t weight;
  EqualizePlace place;

  __device__ __forceinline__
  Mapping (const MapFrame &frame, int y)
  {
    const EqualizeNumbers &numbers = frame.pixels.numbers;
    const size_t tile_row =
        (size_t) numbers.x.tiles * ((size_t) numbers.full + 1);
    const EqualizePlace row = equalize_place (&numbers.y, y);

    top = frame.tables + (size_t) equalize_tile_before (&row) * tile_row;
    bottom = frame.tables
        + (size_t) equalize_tile_after (&numbers.y, &row) * tile_row;
    weight = equalize_weight (&numbers.y, &row);
  }

  __device__ __forceinline__ void
  begin (const EqualizeNumbers &numbers, int x)
  {
    place = equalize_place (&numbers.x, x);
  }

  __device__ __forceinline__ int
  map (const EqualizeNumbers &numbers, int luma) const
  {
    /* A row of tiles has at most 2^22 entries. */
    const int table = numbers.full + 1;
    const int left = equalize_tile_before (&place) * table + luma;
    const int right = equalize_tile_after (&numbers.x, &place) * table + luma;

    return equalize_interpolate (__ldg (&top[left]), __ldg (&top[right]),
        __ldg (&bottom[left]), __ldg (&bottom[right]),
        equalize_weight (&numbers.x, &place), weight);
  }

  __device__ __forceinline__ void
  next (const EqualizeNumbers &numbers)
  {
    equalize_step (&numbers.x, &place);
  }
};

/* Maps this block's share of a row: its groups, and the pixels that are in no group. */
template <int PixelBytes, int Planes, bool IsRgb, bool IsAdaptive>
__device__ __forceinline__ void
map_row (const MapFrame &frame, int y)
{
  typedef Row<PixelBytes, Planes, IsRgb> Groups;
  const Pixels &pixels = frame.pixels;
  const EqualizeNumbers &numbers = pixels.numbers;
  const int n = Groups::OneGroup::pixels;
  const int first = blockIdx.x * 32 + threadIdx.x, step = gridDim.x * 32;
  Mapping<IsAdaptive> mapping (frame, y);

  for (int at = first; at * n < pixels.grouped; at += step) {
    Groups groups;

    groups.load (pixels, y, at);
    mapping.begin (numbers, at * n);
#pragma unroll
    for (int i = 0; i < n; i++) {
      const typename Groups::PixelCodes codes = groups.codes (pixels, i);
      const int luma = codes.luma (numbers);

      groups.change (pixels, i, codes, luma, mapping.map (numbers, luma));
      mapping.next (numbers);
    }
    groups.store (pixels, y, at);
  }
  for (int x = pixels.grouped + first; x < numbers.x.size; x += step) {
    LonePixel<IsRgb> pixel;

    pixel.load (pixels, x, y);
    mapping.begin (numbers, x);
    const int luma = pixel.codes.luma (numbers);
    pixel.store_changed (pixels, x, y, luma, mapping.map (numbers, luma));
  }
}

template <typename Element>
__device__ __forceinline__ void
copy_row (const Copy &copy, int y)
{
  const uint8_t *from = copy.src + y * copy.src_stride;
  uint8_t *to = copy.dst + y * copy.dst_stride;

  for (int x = blockIdx.x * 32 + threadIdx.x; x < copy.width;
       x += gridDim.x * 32)
    *(Element *) (to + (ptrdiff_t) x * copy.apart) =
        *(const Element *) (from + (ptrdiff_t) x * copy.apart);
}

__device__ __forceinline__ void
copy_rows (const Copy &copy)
{
  for (int y = blockIdx.y * MAP_ROWS + threadIdx.y; y < copy.height;
       y += gridDim.y * MAP_ROWS)
    if (copy.bytes == VECTOR_BYTES)
      copy_row<uint4> (copy, y);
    else if (copy.bytes == 2)
      copy_row<uint16_t> (copy, y);
    else
      copy_row<uint8_t> (copy, y);
}

/* blockIdx.z is 0 for mapping, else 1 + the index of a copy. */
template <int PixelBytes, int Planes, bool IsRgb, bool IsAdaptive>
__global__ void __launch_bounds__ (32 * MAP_ROWS) map_kernel (MapFrame frame)
{
  if (blockIdx.z > 0) {
    copy_rows (frame.copy[blockIdx.z - 1]);
    return;
  }
  for (int y = blockIdx.y * MAP_ROWS + threadIdx.y;
       y < frame.pixels.numbers.y.size; y += gridDim.y * MAP_ROWS)
    map_row<PixelBytes, Planes, IsRgb, IsAdaptive> (frame, y);
}
