/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: v210 on a GPU, a thread for six pixels of the planes. */
#include "plan.h"

#include "../divide.h"
#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#define THREADS_X 32
#define THREADS_Y 4
/* What a grid may have along y on every GPU. */
#define MAX_BLOCKS 65535
#define SAMPLES 12 /* of six pixels */

struct V210Frame
{
  uint8_t *packed;
  ptrdiff_t packed_stride;
  uint8_t *plane[3];
  ptrdiff_t stride[3];
  int width, height;
  int aligned; /* bytes that all addresses of packed groups are multiples of: 16, 4, or 1 */
  bool fours; /* rows of luma begin at multiples of four bytes */
};

__device__ static uint32_t
load_word (const uint8_t *at, int aligned)
{
  if (aligned >= 4)
    return *(const uint32_t *) at;
  return at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16
      | (uint32_t) at[3] << 24;
}

__device__ static void
store_word (uint8_t *at, uint32_t word, int aligned)
{
  if (aligned >= 4) {
    *(uint32_t *) at = word;
    return;
  }
  for (int i = 0; i < 4; i++)
    at[i] = (uint8_t) (word >> 8 * i);
}

__device__ static void
load_group (
    const V210Frame &frame, const uint8_t *row, int group, uint32_t word[4])
{
  const uint8_t *at = row + (ptrdiff_t) group * V210_GROUP_BYTES;

  if (frame.aligned == 16) {
    const uint4 all = *(const uint4 *) at;

    word[0] = all.x;
    word[1] = all.y;
    word[2] = all.z;
    word[3] = all.w;
  } else {
    for (int i = 0; i < 4; i++)
      word[i] = load_word (at + 4 * i, frame.aligned);
  }
}

/* The samples of six pixels, in the order of the words. */
__device__ static void
read_samples (const V210Frame &frame, const uint8_t *row, int group,
    uint16_t sample[SAMPLES])
{
  uint32_t word[4];

  load_group (frame, row, group, word);
#pragma unroll
  for (int i = 0; i < SAMPLES; i++)
    sample[i] = (uint16_t) (word[i / 3] >> 10 * (i % 3) & 0x3ff);
}

__device__ static uint16_t *
plane_row (const V210Frame &frame, int p, int y)
{
  return (uint16_t *) (frame.plane[p] + y * frame.stride[p]);
}

static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) unpack_kernel (const V210Frame frame)
{
  const int group = blockIdx.x * THREADS_X + threadIdx.x;
  const int x = group * V210_GROUP_PIXELS;
  const int pixels = min (frame.width - x, V210_GROUP_PIXELS);

  if (pixels <= 0)
    return;
  for (int y = blockIdx.y * THREADS_Y + threadIdx.y; y < frame.height;
       y += gridDim.y * THREADS_Y) {
    uint16_t *luma = plane_row (frame, 0, y) + x;
    uint16_t *u = plane_row (frame, 1, y) + x / 2;
    uint16_t *v = plane_row (frame, 2, y) + x / 2;
    uint16_t sample[SAMPLES];

    read_samples (frame, frame.packed + y * frame.packed_stride, group, sample);
    if (pixels == V210_GROUP_PIXELS && frame.fours) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        ((uint32_t *) luma)[i] =
            sample[4 * i + 1] | (uint32_t) sample[4 * i + 3] << 16;
    } else {
#pragma unroll
      for (int i = 0; i < V210_GROUP_PIXELS; i++)
        if (i < pixels)
          luma[i] = sample[2 * i + 1];
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
      if (2 * i < pixels) {
        u[i] = sample[4 * i];
        v[i] = sample[4 * i + 2];
      }
  }
}

static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) pack_kernel (const V210Frame frame)
{
  const int group = blockIdx.x * THREADS_X + threadIdx.x;
  const int x = group * V210_GROUP_PIXELS;
  const int pixels = min (frame.width - x, V210_GROUP_PIXELS);

  if (pixels <= 0)
    return;
  for (int y = blockIdx.y * THREADS_Y + threadIdx.y; y < frame.height;
       y += gridDim.y * THREADS_Y) {
    const uint16_t *luma = plane_row (frame, 0, y) + x;
    const uint16_t *u = plane_row (frame, 1, y) + x / 2;
    const uint16_t *v = plane_row (frame, 2, y) + x / 2;
    uint8_t *to = frame.packed + y * frame.packed_stride
        + (ptrdiff_t) group * V210_GROUP_BYTES;
    uint32_t sample[SAMPLES], word[4];

#pragma unroll
    for (int i = 0; i < 3; i++) {
      sample[4 * i] = 2 * i < pixels ? u[i] : 0;
      sample[4 * i + 1] = 2 * i < pixels ? luma[2 * i] : 0;
      sample[4 * i + 2] = 2 * i < pixels ? v[i] : 0;
      sample[4 * i + 3] = 2 * i + 1 < pixels ? luma[2 * i + 1] : 0;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      word[i] =
          sample[3 * i] | sample[3 * i + 1] << 10 | sample[3 * i + 2] << 20;
    if (frame.aligned == 16)
      *(uint4 *) to = make_uint4 (word[0], word[1], word[2], word[3]);
    else
      for (int i = 0; i < 4; i++)
        store_word (to + 4 * i, word[i], frame.aligned);
  }
}

static bool
launch (void (*kernel) (V210Frame), const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  const ImageMemory *memory = &packed->memory[0];
  V210Frame frame = V210Frame ();
  bool ok = false;
  dim3 grid;

  frame.packed = memory->data;
  frame.packed_stride = memory->stride;
  for (int p = 0; p < 3; p++) {
    frame.plane[p] = planes->memory[p].data;
    frame.stride[p] = planes->memory[p].stride;
  }
  frame.width = planes->plane[0].width;
  frame.height = planes->memory[0].height;
  frame.aligned = image_is_aligned (memory->data, memory->stride, 16) ? 16
      : image_is_aligned (memory->data, memory->stride, 4)            ? 4
                                                                      : 1;
  frame.fours = image_is_aligned (frame.plane[0], frame.stride[0], 4);
  grid.x = divide_up (divide_up (frame.width, V210_GROUP_PIXELS), THREADS_X);
  grid.y = min (divide_up (frame.height, THREADS_Y), MAX_BLOCKS);
  GPU_CHECK (
      gpu_launch (kernel, grid, dim3 (THREADS_X, THREADS_Y), 0, stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

static bool
device_unpack (V210Plan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  (void) plan;
  return launch (unpack_kernel, packed, planes, stream, fault);
}

static bool
device_pack (V210Plan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  (void) plan;
  return launch (pack_kernel, packed, planes, stream, fault);
}

/* Loads the kernels, so that no frame waits for that. */
static bool
device_prepare (V210Plan *plan, Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  (void) plan;
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) unpack_kernel), fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) pack_kernel), fault);
  ok = true;
done:
  return ok;
}

static void
device_release (V210Plan *plan)
{
  (void) plan;
}

static uint8_t *
device_allocate (size_t bytes, Fault *fault)
{
  return (uint8_t *) gpu_malloc (bytes, fault);
}

static void
device_free (uint8_t *block)
{
  gpu_free (block);
}

extern "C" const V210Ops v210_device_ops = {
  .prepare = device_prepare,
  .release = device_release,
  .allocate = device_allocate,
  .free = device_free,
  .unpack = device_unpack,
  .pack = device_pack,
};
