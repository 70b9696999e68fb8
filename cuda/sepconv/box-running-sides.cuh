/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-sides: how the threads of a block get the sums of their columns. Most read whole
 * groups of eight bytes. Column sums left and right of the picture are constant, or copies of those
 * of columns inside. Only groups across an edge, and groups whose columns inside are not in the
 * window, are read sample by sample. */
#pragma once

#include "box-running-sums.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* A thread's group, and how it is read. */
struct BoxOwn
{
  enum
  {
    NOTHING, /* not read: not needed, constant, or copied by box_copy_outside() */
    DIRECT,
    GATHERED /* sample by sample */
  } reading;
  int place;
  int byte; /* DIRECT: offset of the group in a row */
};

/* Loads a group of a row, sample by sample. */
template <int BYTES>
__device__ __forceinline__ uint2
box_gather (const BoxStripPlane &plane, const uint8_t *row, const int *from)
{
  uint32_t word[2] = {};

  for (int j = 0; j < BOX_GROUP_BYTES / BYTES; j++) {
    const int shift = 8 * BYTES * j % 32;
    uint32_t raw;

    if (from[j] < 0)
      raw = (j < 4 / BYTES ? plane.border.x : plane.border.y) >> shift
          & (BYTES == 1 ? 0xff : 0xffff);
    else if (BYTES == 1)
      raw = gpu_load (row + from[j]);
    else
      raw = gpu_load ((const uint16_t *) row + from[j]);
    word[j * BYTES / 4] |= raw << shift;
  }
  return make_uint2 (word[0], word[1]);
}

/* BoxMemory.from of a sample: its index in a row if it is gathered, or one of these. */
#define BOX_NOT_READ (-1) /* the border constant, or read directly */
/* its sum is that of this place; its own inverse */
#define BOX_COPY_OF(place) (-2 - (place))

/* Finds the samples of the row that stand for those of a group. Returns whether all of them are in
 * the window, so that their sums can be copied. */
template <int BYTES>
__device__ __forceinline__ bool
box_trace (const BoxStripPlane &plane, SepconvBorder border, int begin,
    int place, int *from)
{
  const int channels = plane.strip.channels;
  bool copied = true;

  for (int j = 0; j < BOX_GROUP_BYTES / BYTES; j++) {
    /* Whole pixels are added, as divisions round towards 0. */
    const int at = begin + place + j + plane.lead * channels;
    const int x =
        border_index (at / channels - plane.lead, plane.strip.width, border);
    const int sample = x * channels + at % channels;

    from[place + j] = x < 0 ? BOX_NOT_READ : sample;
    copied =
        copied && x >= 0 && sample >= begin && sample < begin + plane.needed;
  }
  return copied;
}

/* Writes the sums of columns of the constant border, which stay the same in all stages. */
template <int BYTES, bool WIDE>
__device__ __forceinline__ void
box_put_constant (
    const BoxStripPlane &plane, int place, const BoxMemory &memory, int pitch)
{
  BoxColumnSums<BYTES, WIDE> sums = {};

  sums.move (plane, plane.border, make_uint2 (0, 0));
  sums.repeat ((uint32_t) plane.rows);
  for (int i = 0; i < BOX_ROWS; i++)
    sums.put (
        plane, memory.low + i * pitch + place, memory.high + i * pitch + place);
}

/* Decides how the thread reads its group; `begin`: the window's first sample. */
template <int BYTES, bool WIDE>
__device__ __forceinline__ BoxOwn
box_begin_own (const BoxStripPlane &plane, SepconvBorder border, int begin,
    const BoxMemory &memory, int pitch)
{
  constexpr int SAMPLES = BOX_GROUP_BYTES / BYTES;
  const int n = plane.n_samples;
  BoxOwn own;
  int first;

  own.reading = BoxOwn::NOTHING;
  own.place = threadIdx.x * SAMPLES;
  own.byte = 0;
  if (own.place >= plane.needed)
    return own;
  first = begin + own.place;
  /* If rows are whole groups, groups that wrap around are read like others. */
  if (border == SEPCONV_WRAP && n % SAMPLES == 0)
    first = (first % n + n) % n;
  for (int j = 0; j < SAMPLES; j++)
    memory.from[own.place + j] = BOX_NOT_READ;
  if (plane.src_direct && first >= 0 && first + SAMPLES <= n) {
    own.reading = BoxOwn::DIRECT;
    own.byte = first * BYTES;
  } else if (border == SEPCONV_CONSTANT && (first <= -SAMPLES || first >= n)) {
    box_put_constant<BYTES, WIDE> (plane, own.place, memory, pitch);
  } else if (!box_trace<BYTES> (plane, border, begin, own.place, memory.from)
      || (first > -SAMPLES && first < n)) {
    own.reading = BoxOwn::GATHERED;
  } else {
    for (int j = 0; j < SAMPLES; j++)
      memory.from[own.place + j] =
          BOX_COPY_OF (memory.from[own.place + j] - begin);
  }
  return own;
}

/* Copies the sums of four columns in each of the warp's rows, if they are BOX_COPY_OF(). */
__device__ __forceinline__ void
box_copy_columns (const BoxMemory &memory, int pitch, int place)
{
  const int *from = memory.from + place;

  if (from[0] > BOX_COPY_OF (0))
    return;
  for (int row = threadIdx.x / BOX_WARP; row < BOX_ROWS;
       row += blockDim.x / BOX_WARP)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      uint8_t *sums = (i == 0 ? memory.low : memory.high) + row * pitch;

      *(uint32_t *) (sums + place) = sums[BOX_COPY_OF (from[0])]
          | sums[BOX_COPY_OF (from[1])] << 8 | sums[BOX_COPY_OF (from[2])] << 16
          | (uint32_t) sums[BOX_COPY_OF (from[3])] << 24;
    }
}

/* Copies the sums of columns inside the image to the columns outside for which they stand. */
__device__ __forceinline__ void
box_copy_outside (
    const BoxStripPlane &plane, int begin, const BoxMemory &memory, int pitch)
{
  const int lane = 4 * (threadIdx.x % BOX_WARP), step = 4 * BOX_WARP;
  const int left = min (-begin, plane.needed);
  const int right = (plane.n_samples - begin) & -4;

  for (int place = lane; place < left; place += step)
    box_copy_columns (memory, pitch, place);
  for (int place = right + lane; place < plane.needed; place += step)
    box_copy_columns (memory, pitch, place);
}

#endif
