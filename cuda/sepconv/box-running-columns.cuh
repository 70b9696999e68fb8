/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-columns: running sums of columns down a strip: finds the rows that enter and leave
 * the box, and writes the sums to shared memory. */
#pragma once

#include "box-running-sides.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Rows of a batch, whose loads are in flight together. */
#define BOX_AHEAD 8
static_assert (BOX_ROWS % BOX_AHEAD == 0, "A stage is whole batches.");

/* Rows from `first` on of the picture with its borders, to be loaded in batches. Unless all are
 * `inside` the picture, row[i] is the row that stands for row first + i. */
struct BoxRows
{
  int first;
  bool inside;
  const int *row;
};

/* Values in BoxMemory.row in place of a row. */
#define BOX_CONSTANT_ROW (-1)
#define BOX_NO_ROW (-2) /* zeros */

/* The block's threads fill row[0] to row[all - 1]: n rows from `first` on, and BOX_NO_ROW behind
 * them. */
__device__ __forceinline__ void
box_look_up_rows (const BoxStripPlane &plane, SepconvBorder border, int first,
    int n, int all, int *row)
{
  for (int i = threadIdx.x; i < all; i += blockDim.x)
    row[i] = i < n ? border_index (first + i, plane.strip.height, border)
                   : BOX_NO_ROW;
}

__device__ __forceinline__ bool
box_is_inside (const BoxStripPlane &plane, int first, int n)
{
  return first >= 0 && first + n <= plane.strip.height;
}

/* Loads the thread's group of each row of the batch that begins with row i of `rows`. */
__device__ __forceinline__ void
box_load_batch (const BoxStripPlane &plane, const BoxRows &rows, int i,
    int byte, uint2 (&to)[BOX_AHEAD])
{
  const StripPlane &strip = plane.strip;

  if (rows.inside) {
    const uint8_t *from =
        strip.src + (rows.first + i) * strip.src_stride + byte;

#pragma unroll
    for (int k = 0; k < BOX_AHEAD; k++, from += strip.src_stride)
      to[k] = gpu_load ((const uint2 *) from);
    return;
  }
#pragma unroll
  for (int k = 0; k < BOX_AHEAD; k++) {
    const int row = rows.row[i + k];

    to[k] = row == BOX_CONSTANT_ROW ? plane.border : make_uint2 (0, 0);
    if (row >= 0)
      to[k] = gpu_load (
          (const uint2 *) (strip.src + row * strip.src_stride + byte));
  }
}

/* Loads the thread's group of row i of `rows`, sample by sample. */
template <int BYTES>
__device__ __forceinline__ uint2
box_gather_row (
    const BoxStripPlane &plane, const BoxRows &rows, int i, const int *from)
{
  const int row = rows.inside ? rows.first + i : rows.row[i];

  if (row < 0)
    return row == BOX_CONSTANT_ROW ? plane.border : make_uint2 (0, 0);
  return box_gather<BYTES> (
      plane, plane.strip.src + row * plane.strip.src_stride, from);
}

/* Adds n rows to the sums; n is a multiple of BOX_AHEAD. */
template <int BYTES, bool WIDE>
__device__ __forceinline__ void
box_add_rows (const BoxStripPlane &plane, const BoxOwn &own,
    const BoxMemory &memory, const BoxRows &rows, int n,
    BoxColumnSums<BYTES, WIDE> *sums)
{
  const uint2 none = make_uint2 (0, 0);

  if (own.reading == BoxOwn::DIRECT)
#pragma unroll 1
    for (int i = 0; i < n; i += BOX_AHEAD) {
      uint2 batch[BOX_AHEAD];

      box_load_batch (plane, rows, i, own.byte, batch);
#pragma unroll
      for (int k = 0; k < BOX_AHEAD; k++)
        sums->move (plane, batch[k], none);
    }
  else if (own.reading == BoxOwn::GATHERED)
#pragma unroll 1
    for (int i = 0; i < n; i++)
      sums->move (plane,
          box_gather_row<BYTES> (plane, rows, i, memory.from + own.place),
          none);
}

/* Sums the rows of the box around row y - 1. All threads of the block must call it. */
template <int BYTES, bool WIDE>
__device__ __forceinline__ void
box_begin_columns (const BoxStripPlane &plane, SepconvBorder border,
    const BoxOwn &own, const BoxMemory &memory, int y,
    BoxColumnSums<BYTES, WIDE> *sums)
{
  BoxRows rows;
  int left = plane.rows;

  rows.row = memory.row;
  rows.first = y - 1 - plane.above;
  while (left > 0) {
    const int whole = left & -BOX_AHEAD;
    int n = BOX_LOOKED_UP;

    rows.inside = whole > 0 && box_is_inside (plane, rows.first, 1);
    if (rows.inside) {
      n = min (whole, (plane.strip.height - rows.first) & -BOX_AHEAD);
      rows.inside = n > 0;
    }
    if (!rows.inside) {
      n = BOX_LOOKED_UP;
      __syncthreads (); /* the last readers of memory.row are done */
      box_look_up_rows (plane, border, rows.first, left, n, memory.row);
      __syncthreads ();
    }
    box_add_rows<BYTES, WIDE> (plane, own, memory, rows, n, sums);
    rows.first += n;
    left -= n;
  }
}

/* The rows that enter and leave the box in the stage that begins with row y. All threads of the
 * block must construct it. */
struct BoxStageRows
{
  BoxRows enter, leave;

  __device__ __forceinline__
  BoxStageRows (const BoxStripPlane &plane, SepconvBorder border,
      const BoxMemory &memory, int y)
  {
    enter.first = y + plane.below;
    leave.first = y - 1 - plane.above;
    enter.row = memory.row;
    leave.row = memory.row + BOX_ROWS;
    enter.inside = leave.inside = box_is_inside (plane, enter.first, BOX_ROWS)
        && box_is_inside (plane, leave.first, BOX_ROWS);
    if (!enter.inside) {
      box_look_up_rows (
          plane, border, enter.first, BOX_ROWS, BOX_ROWS, memory.row);
      box_look_up_rows (plane, border, leave.first, BOX_ROWS, BOX_ROWS,
          memory.row + BOX_ROWS);
      __syncthreads ();
    }
  }
};

/* Puts the sums of a stage into shared memory. */
template <int BYTES, bool WIDE>
__device__ __forceinline__ void
box_sum_columns (const BoxStripPlane &plane, const BoxOwn &own,
    const BoxMemory &memory, int pitch, const BoxStageRows &rows,
    BoxColumnSums<BYTES, WIDE> *sums)
{
  uint8_t *low = memory.low + own.place;
  const int high = BOX_ROWS * pitch;

  if (own.reading == BoxOwn::DIRECT)
#pragma unroll 1
    for (int i = 0; i < BOX_ROWS; i += BOX_AHEAD) {
      uint2 enters[BOX_AHEAD], leaves[BOX_AHEAD];

      box_load_batch (plane, rows.enter, i, own.byte, enters);
      box_load_batch (plane, rows.leave, i, own.byte, leaves);
#pragma unroll
      for (int k = 0; k < BOX_AHEAD; k++, low += pitch) {
        sums->move (plane, enters[k], leaves[k]);
        sums->put (plane, low, low + high);
      }
    }
  else if (own.reading == BoxOwn::GATHERED)
#pragma unroll 1
    for (int i = 0; i < BOX_ROWS; i++, low += pitch) {
      const int *from = memory.from + own.place;

      sums->move (plane, box_gather_row<BYTES> (plane, rows.enter, i, from),
          box_gather_row<BYTES> (plane, rows.leave, i, from));
      sums->put (plane, low, low + high);
    }
}

/* Prefetches the rows that enter in the stage that begins with row y. */
template <int BYTES>
__device__ __forceinline__ void
box_prefetch (const BoxStripPlane &plane, int begin, int y)
{
  const StripPlane &strip = plane.strip;
  const int row = y + plane.below + (int) threadIdx.x % BOX_ROWS;
  const int first = max (begin, 0) * BYTES & -GPU_PREFETCH_BYTES;
  const int last = min (begin + plane.needed, plane.n_samples) * BYTES;

  if (row >= strip.height)
    return;
  for (int at = first + (int) threadIdx.x / BOX_ROWS * GPU_PREFETCH_BYTES;
       at < last; at += blockDim.x / BOX_ROWS * GPU_PREFETCH_BYTES)
    gpu_prefetch (strip.src + row * strip.src_stride + at);
}

#endif
