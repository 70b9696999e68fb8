/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-march: the kernel of box-running for strips. */
#pragma once

#include "box-running-columns.cuh"
#include "box-running-rows.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Copies bytes [first, last) of the rows of `place`; first is a multiple of 8. */
__device__ __forceinline__ void
box_copy_strip (
    const StripPlane &plane, const StripPlace &place, int first, int last)
{
  const bool aligned = plane.src_aligned && plane.dst_aligned;

  for (int y = place.first; y < place.last; y++) {
    const uint8_t *from = plane.src + y * plane.src_stride;
    uint8_t *to = plane.dst + y * plane.dst_stride;

    for (int i = first + 8 * threadIdx.x; i < last; i += 8 * blockDim.x)
      if (aligned && i + 8 <= last)
        *(uint2 *) (to + i) = gpu_load ((const uint2 *) (from + i));
      else
        strip_copy_bytes (to + i, from + i, min (last - i, 8));
  }
}

template <int BYTES, bool WIDE, int C>
__device__ __forceinline__ void
box_march (const BoxStripFrame &frame, const BoxStripPlane &plane,
    const StripPlace &place, const BoxMemory &memory)
{
  const SepconvBorder border = frame.border;
  const int pitch = frame.pitch;
  const int first = place.column * plane.tile, begin = first - plane.lead;
  const bool copies = border != SEPCONV_CONSTANT
      && (begin < 0 || begin + plane.needed > plane.n_samples);
  const BoxOwn own =
      box_begin_own<BYTES, WIDE> (plane, border, begin, memory, pitch);
  const BoxSegment segment = box_segment (plane, place.column);
  BoxColumnSums<BYTES, WIDE> sums = {};

  box_put_weights<C> (plane, memory);
  if (frame.order == GPU_AFTER_KERNELS)
    gpu_await_previous ();
  box_begin_columns<BYTES, WIDE> (
      plane, border, own, memory, place.first, &sums);
  __syncthreads (); /* the weights are there, and the rows' readers done */
#pragma unroll 1
  for (int y = place.first; y < place.last; y += BOX_ROWS) {
    const BoxStageRows rows (plane, border, memory, y);

    box_sum_columns<BYTES, WIDE> (plane, own, memory, pitch, rows, &sums);
    __syncthreads (); /* the sums of columns are there */
    if (copies) {
      box_copy_outside (plane, begin, memory, pitch);
      __syncthreads ();
    }
    if (y + BOX_ROWS < place.last)
      box_prefetch<BYTES> (plane, begin, y + BOX_ROWS);
    box_sum_rows<BYTES, C> (
        plane, memory, pitch, segment, first, y, place.last);
    __syncthreads (); /* before they are overwritten */
  }
}

#endif

template <int BYTES, bool WIDE>
static __global__ void
__launch_bounds__ (BOX_MOST_THREADS)
    box_strips (GPU_PARAMETER BoxStripFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  GPU_DYNAMIC_SHARED (uint8_t, shared);
  const BoxMemory memory = box_memory (shared, frame.pitch);

  gpu_admit_next ();
  const BoxStripPlane &plane = frame.plane[strip_find_plane (frame)];
  const StripPlace place = strip_place (plane.strip);

  if (!plane.strip.filter) {
    const int first = place.column * plane.tile * BYTES;

    if (frame.order == GPU_AFTER_KERNELS)
      gpu_await_previous ();
    box_copy_strip (plane.strip, place, first,
        min (first + plane.tile * BYTES, plane.strip.row_bytes));
  } else if (plane.strip.channels == 1) {
    box_march<BYTES, WIDE, 1> (frame, plane, place, memory);
  } else if (plane.strip.channels == 2) {
    box_march<BYTES, WIDE, 2> (frame, plane, place, memory);
  } else {
    box_march<BYTES, WIDE, 4> (frame, plane, place, memory);
  }
  gpu_end_in_turn ();
#endif
}
