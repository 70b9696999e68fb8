/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: the CUDA backend. Where it can, light-tensor does all in one kernel. Else the kernels
 * of light-convert run before and after the filter. Tables never change during a plan's life,
 * so these kernels may read them by the non-coherent path; frames and work pictures are read by
 * plain loads. */
#include "light-convert.cuh"
#include "light-tensor.cuh"

#include "../gpu-check.h"

#include <stdlib.h>

#define BLOCK_WIDTH 32
#define BLOCK_HEIGHT 8
/* The largest extent of a grid along y. */
#define MAX_GRID_Y 65535
/* Copying so many codes of a table into shared memory costs about as much time as one sample
 * gains by looking up its code there. */
#define LOOKUPS_OF_COPY 16

struct DeviceState
{
  uint16_t *tables; /* one after the other */
  const uint16_t *linear, *encoded, *alpha;
  LightTensor tensor;
};

struct LightCopies
{
  DeviceChannel from[LIGHT_MAX_COPIES], to[LIGHT_MAX_COPIES];
};

/* Copies channel blockIdx.z. */
static __global__ void
copy_kernel (LightCopies copies)
{
  const DeviceChannel &from = copies.from[blockIdx.z];
  const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x;

  if (x >= from.width)
    return;
  for (int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y; y < from.height;
       y += gridDim.y * BLOCK_HEIGHT)
    store_raw (copies.to[blockIdx.z], sample_at (copies.to[blockIdx.z], x, y),
        load_raw (from, sample_at (from, x, y)));
}

/* The grid that has a thread for each of width x height, up to MAX_GRID_Y blocks along y. */
static dim3
grid_of (int width, int height, int depth)
{
  return dim3 ((width + BLOCK_WIDTH - 1) / BLOCK_WIDTH,
      min ((height + BLOCK_HEIGHT - 1) / BLOCK_HEIGHT, MAX_GRID_Y), depth);
}

static DeviceChannel
describe_channel (const LightChannel *channel, const Image *image)
{
  DeviceChannel described;

  described.data = light_channel_row (channel, image, 0);
  described.stride = image->memory[channel->memory].stride;
  described.pixel_stride = channel->pixel_stride;
  described.sample_bytes = channel->sample_bytes;
  described.shift = channel->shift;
  described.full = channel->full;
  described.width = channel->width;
  described.height = light_channel_height (channel, image);
  described.fours = channel->pixel_stride == channel->sample_bytes
      && image_is_aligned (
          described.data, described.stride, 4 * channel->sample_bytes);
  return described;
}

/* The frame that converts between an image and a work picture. */
static LightFrame
describe_frame (const LightPlan *plan, const Image *image, const Image *work)
{
  const DeviceState *state = (const DeviceState *) plan->state;
  LightFrame frame = LightFrame ();

  frame.numbers = plan->numbers;
  frame.width = work->plane[0].width;
  frame.height = work->memory[0].height;
  frame.linear = state->linear;
  frame.encoded = state->encoded;
  frame.alpha = state->alpha;
  frame.n_linear = plan->tables.n_linear;
  for (int p = 0; p < work->n_planes; p++) {
    frame.work[p].data = (uint16_t *) work->memory[p].data;
    frame.work[p].stride = work->memory[p].stride;
  }
  for (int i = 0; i < plan->numbers.n_colors; i++)
    frame.color[i] = describe_channel (&plan->color[i], image);
  if (plan->numbers.has_alpha)
    frame.alpha_channel = describe_channel (&plan->alpha, image);
  return frame;
}

/* Launches a conversion, with one block per multiprocessor. near_kernel copies the table of n
 * codes into each block's shared memory; it runs only if enough samples are looked up to be
 * worth the copy. */
static bool
convert (const LightPlan *plan, void (*near_kernel) (LightFrame),
    void (*far_kernel) (LightFrame), int n, const LightFrame *frame,
    GpuStream stream, Fault *fault)
{
  const int blocks = gpu_multiprocessors (plan->gpu);
  const size_t bytes = (size_t) n * sizeof (uint16_t);
  const double samples =
      (double) frame->width * frame->height * plan->numbers.n_colors;
  const bool near = bytes <= gpu_shared_memory (plan->gpu)
      && samples * LOOKUPS_OF_COPY >= (double) blocks * n;
  bool ok = false;

  GPU_CHECK (
      gpu_launch (near ? near_kernel : far_kernel, dim3 (blocks),
          dim3 (LIGHT_CONVERT_THREADS), near ? bytes : 0, stream, *frame),
      fault);
  ok = true;
done:
  return ok;
}

static bool
device_decode (
    LightPlan *plan, const Image *src, GpuStream stream, Fault *fault)
{
  const LightFrame frame = describe_frame (plan, src, &plan->work);

  return frame.height == 0
      || convert (plan, decode_kernel<true>, decode_kernel<false>,
          frame.n_linear, &frame, stream, fault);
}

static bool
copy_channels (LightPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault)
{
  LightCopies copies = LightCopies ();
  int width = 0, height = 0;
  bool ok = false;

  for (int i = 0; i < plan->n_copies; i++) {
    copies.from[i] = describe_channel (&plan->copy[i], src);
    copies.to[i] = describe_channel (&plan->copy[i], dst);
    width = max (width, copies.from[i].width);
    height = max (height, copies.from[i].height);
  }
  if (plan->n_copies > 0 && height > 0)
    GPU_CHECK (gpu_launch (copy_kernel, grid_of (width, height, plan->n_copies),
                   dim3 (BLOCK_WIDTH, BLOCK_HEIGHT), 0, stream, copies),
        fault);
  ok = true;
done:
  return ok;
}

static bool
device_encode (LightPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault)
{
  const LightFrame frame = describe_frame (plan, dst, &plan->result);

  if (frame.height > 0
      && !convert (plan, encode_kernel<true>, encode_kernel<false>, LIGHT_CODES,
          &frame, stream, fault))
    return false;
  return copy_channels (plan, src, dst, stream, fault);
}

/* Copies a table of n codes to the device, after the *used codes that are there. */
static bool
send_table (DeviceState *state, const uint16_t *table, int n, size_t *used,
    const uint16_t **at, GpuStream stream, Fault *fault)
{
  const size_t bytes = (size_t) n * sizeof *table;
  uint16_t *to = state->tables + *used;

  *at = to;
  *used += n;
  return n == 0
      || gpu_copy_rows ((uint8_t *) to, (ptrdiff_t) bytes,
          (const uint8_t *) table, (ptrdiff_t) bytes, bytes, 1, GPU_COPY_UP,
          stream, fault);
}

/* Sends all tables, and waits: the streams of later runs are not known yet. */
static bool
send_tables (DeviceState *state, const LightTables *tables, Fault *fault)
{
  GpuStream stream = NULL;
  size_t used = 0;
  bool ok;

  if (!gpu_stream_new (&stream, fault))
    return false;
  ok = send_table (state, tables->linear, tables->n_linear, &used,
           &state->linear, stream, fault)
      && send_table (state, tables->encoded, LIGHT_CODES, &used,
          &state->encoded, stream, fault)
      && send_table (state, tables->alpha, tables->n_alpha, &used,
          &state->alpha, stream, fault);
  ok = gpu_stream_synchronize (stream, ok ? fault : NULL) && ok;
  gpu_stream_free (stream);
  return ok;
}

/* Loads the kernels, so that no frame waits for that, and allows them all shared memory. */
static bool
load_kernels (const LightPlan *plan, Fault *fault)
{
  const int shared =
      (int) (gpu_shared_memory (plan->gpu) / sizeof (uint4) * sizeof (uint4));
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) decode_kernel<false>),
      fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) encode_kernel<false>),
      fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) copy_kernel), fault);
  GPU_CHECK (cudaFuncSetAttribute ((const void *) decode_kernel<true>,
                 cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
      fault);
  GPU_CHECK (cudaFuncSetAttribute ((const void *) encode_kernel<true>,
                 cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
      fault);
  ok = true;
done:
  return ok;
}

static bool
device_prepare (LightPlan *plan, Fault *fault)
{
  const LightTables *tables = &plan->tables;
  const size_t codes =
      (size_t) tables->n_linear + LIGHT_CODES + (size_t) tables->n_alpha;
  DeviceState *state = (DeviceState *) calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for linear light.");
  state->tables = (uint16_t *) gpu_malloc (codes * sizeof (uint16_t), fault);
  return state->tables != NULL && send_tables (state, tables, fault)
      && light_tensor_prepare (plan, &state->tensor, fault);
}

static bool
device_make_work (LightPlan *plan, size_t bytes, Fault *fault)
{
  if (!load_kernels (plan, fault))
    return false;
  for (int i = 0; i < 2; i++) {
    plan->block[i] = (uint8_t *) gpu_malloc (bytes, fault);
    if (plan->block[i] == NULL)
      return false;
  }
  return true;
}

static void
device_drop_work (LightPlan *plan)
{
  for (int i = 0; i < 2; i++) {
    gpu_free (plan->block[i]);
    plan->block[i] = NULL;
  }
}

static void
device_release (LightPlan *plan)
{
  DeviceState *state = (DeviceState *) plan->state;

  if (state != NULL) {
    gpu_free (state->tables);
    light_tensor_release (&state->tensor);
  }
  free (state);
}

/* A method that the user chose always filters the work picture, in several steps. */
static bool
device_takes_one_step (const LightPlan *plan)
{
  return plan->method == NULL
      && light_tensor_suits (plan, &((DeviceState *) plan->state)->tensor);
}

static bool
device_run (LightPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  return light_tensor_run (plan, &((DeviceState *) plan->state)->tensor, src,
      dst, stream, order, fault);
}

extern "C" const LightOps light_device_ops = {
  .prepare = device_prepare,
  .make_work = device_make_work,
  .drop_work = device_drop_work,
  .release = device_release,
  .decode = device_decode,
  .encode = device_encode,
  .takes_one_step = device_takes_one_step,
  .run = device_run,
};
