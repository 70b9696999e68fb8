/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-copy: copies the bytes of a memory outside the tiles that regions touch. */
#pragma once

#include "direct-job.cuh"

/* Copies the vector at byte `at` of row y; at the end of a row, only the bytes that the row has. */
template <typename Vector>
__device__ __forceinline__ void
direct_copy_vector (const DirectMemory &memory, int at, int y)
{
  const uint8_t *from = memory.src + y * memory.src_stride + at;
  uint8_t *to = memory.dst + y * memory.dst_stride + at;

  if (at + (int) sizeof (Vector) <= memory.row_bytes)
    *(Vector *) to = gpu_load ((const Vector *) from);
  else
#pragma unroll 1
    for (int i = 0; at + i < memory.row_bytes; i++)
      to[i] = from[i];
}

/* Whether byte `at` of a row of memory m belongs to a plane's sample. */
__device__ __forceinline__ bool
direct_is_sample (const DirectFrame &frame, int m, int at)
{
  for (int p = 0; p < frame.n_planes; p++) {
    const RegionsDevicePlane &plane = frame.plane[p].of;

    if (frame.plane[p].memory != m)
      continue;
    for (int c = 0; c < plane.channels; c++) {
      const int from = at - (int) (plane.src - frame.memory[m].src)
          - c * plane.channel_stride;

      if (from >= 0 && from % plane.pixel_stride < plane.sample_bytes
          && from / plane.pixel_stride < plane.width)
        return true;
    }
  }
  return false;
}

/* Copies the bytes of a tile that belong to no sample. */
__device__ __forceinline__ void
direct_copy_loose (const DirectFrame &frame, const DirectJob &job)
{
  const DirectMemory &memory = frame.memory[job.memory];
  const int left = max (job.tile_x * memory.tile_bytes, memory.loose);
  const int right = job.tile_x + 1 < memory.across
      ? (job.tile_x + 1) * memory.tile_bytes
      : memory.row_bytes;
  const int top = job.tile_y * REGIONS_TILE;
  const int bottom = min (top + REGIONS_TILE, memory.height);

#pragma unroll 1
  for (int at = left + (int) threadIdx.x; at < right; at += DIRECT_COLUMNS) {
    if (direct_is_sample (frame, job.memory, at))
      continue;
#pragma unroll 1
    for (int y = top + (int) threadIdx.y; y < bottom; y += DIRECT_ROWS)
      memory.dst[y * memory.dst_stride + at] =
          memory.src[y * memory.src_stride + at];
  }
}

/* Whether a region of the job touches a tile of memory m. */
__device__ __forceinline__ bool
direct_is_touched (
    const DirectFrame &frame, const DirectJob &job, int m, int x, int y)
{
  const DirectTiles *tiles = direct_tiles (frame, m);

#pragma unroll 1
  for (int w = 0; w < direct_masks (frame); w++)
    for (unsigned rest = job.touched[w]; rest != 0; rest &= rest - 1) {
      const DirectTiles at = tiles[32 * w + __ffs ((int) rest) - 1];

      if (x >= at.left && x < at.right && y >= at.top && y < at.bottom)
        return true;
    }
  return false;
}

/* Bit k: row top + k * apart lies in the memory, and not in a tile that a region touches. */
__device__ __forceinline__ unsigned
direct_find_rows (const DirectFrame &frame, const DirectJob &job, int m,
    int tile, int top, int apart, bool touched)
{
  const int height = frame.memory[m].height;
  unsigned found = 0;

#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++)
    if (top + k * apart < height)
      found |= 1u << k;
  if (touched) {
    int last = -1; /* row of tiles */
    bool hidden = false;

#pragma unroll 1
    for (int k = 0; k < DIRECT_EACH; k++) {
      const int row = (int) ((unsigned) (top + k * apart) / REGIONS_TILE);

      if (row != last)
        hidden = direct_is_touched (frame, job, m, tile, row);
      last = row;
      if (hidden)
        found &= ~(1u << k);
    }
  }
  return found;
}

/* n / divisor. The divisor is mostly 1, which saves the dozens of instructions of a division. */
__device__ __forceinline__ int
direct_divide_mostly (int n, int divisor)
{
  return divisor == 1 ? n : n / divisor;
}

/* The tile of byte `at` of a row, as if the last tile were as wide as the others; callers clamp. */
__device__ __forceinline__ int
direct_tile_of (const DirectMemory &memory, int at)
{
  return memory.tile_bits >= 0 ? at >> memory.tile_bits
                               : at / memory.tile_bytes;
}

/* Copies all rows of a thread's vector. All loads come first, so that they are in flight
 * together. */
template <typename Vector>
__device__ __forceinline__ void
direct_copy_rows (const DirectFrame &frame, const DirectJob &job, int m,
    int block, bool touched)
{
  const DirectMemory &memory = frame.memory[m];
  const int apart = memory.apart;
  const int me = direct_me ();
  /* Threads beyond the block's last row return below. */
  const int row = apart == 1 ? 0 : me / memory.chunk;
  const int down = direct_divide_mostly (block, memory.chunks);
  const int at =
      ((block - down * memory.chunks) * memory.chunk + me - row * memory.chunk)
      * (int) sizeof (Vector);
  const int top = down * memory.rows + row;
  Vector vector[DIRECT_EACH] = {};
  const uint8_t *from;
  uint8_t *to;
  unsigned rows;

  if (me >= apart * memory.chunk || at >= memory.row_bytes)
    return;
  rows = direct_find_rows (frame, job, m,
      touched ? min (direct_tile_of (memory, at), memory.across - 1) : 0, top,
      apart, touched);
  if (at + (int) sizeof (Vector) > memory.row_bytes) {
#pragma unroll 1
    for (int k = 0; k < DIRECT_EACH; k++)
      if (rows >> k & 1)
        direct_copy_vector<Vector> (memory, at, top + k * apart);
    return;
  }
  from = memory.src + top * memory.src_stride + at;
  to = memory.dst + top * memory.dst_stride + at;
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++, from += apart * memory.src_stride)
    if (rows >> k & 1)
      vector[k] = gpu_load ((const Vector *) from);
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++, to += apart * memory.dst_stride)
    if (rows >> k & 1)
      *(Vector *) to = vector[k];
}

/* For number *block of the copying blocks, returns its memory and sets *block to its number
 * within it; marks the regions that touch the block's bytes. */
__device__ __forceinline__ int
direct_find_copy (const DirectFrame &frame, DirectJob *job, int *block)
{
  int m = 0;

  while (m + 1 < frame.n_memories && *block >= frame.memory[m + 1].first)
    m++;
  {
    const DirectMemory &memory = frame.memory[m];
    const int bytes = memory.vector * memory.chunk;
    int down, left, top;

    *block -= memory.first;
    down = direct_divide_mostly (*block, memory.chunks);
    left = (*block - down * memory.chunks) * bytes;
    top = down * memory.rows;
    if (memory.across > 0)
      direct_touch (frame, job, m,
          min (direct_tile_of (memory, left), memory.across - 1),
          direct_tile_of (memory, left + bytes - 1) + 1, top / REGIONS_TILE,
          (top + memory.rows - 1) / REGIONS_TILE + 1);
  }
  return m;
}

__device__ __forceinline__ void
direct_copy (const DirectFrame &frame, const DirectJob &job, int m, int block)
{
  const int vector = frame.memory[m].vector;
  unsigned touched = 0;

#pragma unroll 1
  for (int w = 0; w < direct_masks (frame); w++)
    touched |= job.touched[w];
  if (vector == 16)
    direct_copy_rows<uint4> (frame, job, m, block, touched != 0);
  else if (vector == 4)
    direct_copy_rows<uint32_t> (frame, job, m, block, touched != 0);
  else
    direct_copy_rows<uint8_t> (frame, job, m, block, touched != 0);
}
