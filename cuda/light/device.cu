/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: the GPU's way. Where it can, light-tensor does all in one kernel. Else there are kernels of
 * conversions, one before the filter and one after it. The tables stay as they are from the plan's
 * beginning to its end, so that these kernels may read them by the non-coherent path; frames and
 * work pictures are read by plain loads. */
#include "light-tensor.cuh"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#include <stdlib.h>

#define BLOCK_WIDTH 32
#define BLOCK_HEIGHT 8
/* The largest extent of a grid along y. */
#define MAX_GRID_Y 65535

struct DeviceState
{
  uint16_t *tables; /* one after the other */
  const uint16_t *linear, *encoded, *alpha;
  LightTensor tensor;
};

/* Samples of a channel on one side. */
struct DeviceChannel
{
  uint8_t *data; /* of sample (0, 0) */
  ptrdiff_t stride;
  int pixel_stride, sample_bytes, shift;
  int width, height; /* samples */
};

struct DevicePlane
{
  uint16_t *data;
  ptrdiff_t stride; /* bytes */
};

struct LightFrame
{
  LightNumbers numbers;
  int width, height; /* pixels */
  const uint16_t *linear, *encoded, *alpha;
  DevicePlane work[LIGHT_MAX_WORK];
  DeviceChannel color[3], alpha_channel;
};

struct LightCopies
{
  DeviceChannel from[LIGHT_MAX_COPIES], to[LIGHT_MAX_COPIES];
};

static __device__ __forceinline__ uint8_t *
sample_at (const DeviceChannel &channel, int x, int y)
{
  return channel.data + y * channel.stride
      + (ptrdiff_t) x * channel.pixel_stride;
}

static __device__ __forceinline__ int
load_raw (const DeviceChannel &channel, int x, int y)
{
  const uint8_t *at = sample_at (channel, x, y);

  return channel.sample_bytes == 1 ? *at : *(const uint16_t *) at;
}

static __device__ __forceinline__ void
store_raw (const DeviceChannel &channel, int x, int y, int raw)
{
  uint8_t *at = sample_at (channel, x, y);

  if (channel.sample_bytes == 1)
    *at = (uint8_t) raw;
  else
    *(uint16_t *) at = (uint16_t) raw;
}

static __device__ __forceinline__ uint16_t *
work_at (const DevicePlane &plane, int x, int y)
{
  return (uint16_t *) ((uint8_t *) plane.data + y * plane.stride) + x;
}

static __device__ __forceinline__ int
load_chroma (const LightFrame &frame, int i, int x, int y)
{
  const DeviceChannel &channel = frame.color[i];
  const int row = min (y / frame.numbers.sub_y, channel.height - 1);

  return row < 0
      ? 0
      : (load_raw (channel, x / frame.numbers.sub_x, row) >> channel.shift)
          - frame.numbers.neutral;
}

/* Indices of the table `linear` for the colours of a pixel. */
static __device__ __forceinline__ void
load_colors (const LightFrame &frame, int x, int y, int index[3])
{
  const LightNumbers &numbers = frame.numbers;
  const int first = load_raw (frame.color[0], x, y) >> frame.color[0].shift;
  int64_t luma, cb, cr;

  index[0] = first;
  if (numbers.n_colors == 1)
    return;
  if (!numbers.yuv) {
    index[1] = load_raw (frame.color[1], x, y) >> frame.color[1].shift;
    index[2] = load_raw (frame.color[2], x, y) >> frame.color[2].shift;
    return;
  }
  luma = numbers.y * (first - numbers.black);
  cb = load_chroma (frame, 1, x, y);
  cr = load_chroma (frame, 2, x, y);
  index[0] = light_index (&numbers, luma + numbers.red_cr * cr);
  index[1] = light_index (
      &numbers, luma + numbers.green_cb * cb + numbers.green_cr * cr);
  index[2] = light_index (&numbers, luma + numbers.blue_cb * cb);
}

/* A thread a pixel. */
static __global__ void
decode_kernel (LightFrame frame)
{
  const LightNumbers &numbers = frame.numbers;
  const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x;

  if (x >= frame.width)
    return;
  for (int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y; y < frame.height;
       y += gridDim.y * BLOCK_HEIGHT) {
    uint32_t alpha = 0;
    int index[3];

    if (numbers.has_alpha) {
      alpha = __ldg (frame.alpha
          + (load_raw (frame.alpha_channel, x, y)
              >> frame.alpha_channel.shift));
      *work_at (frame.work[numbers.n_colors], x, y) = (uint16_t) alpha;
    }
    load_colors (frame, x, y, index);
    for (int i = 0; i < 3; i++) {
      uint32_t color;

      if (i >= numbers.n_colors)
        break;
      color = __ldg (frame.linear + index[i]);
      *work_at (frame.work[i], x, y) =
          (uint16_t) (numbers.premultiply ? light_multiply (color, alpha)
                                          : color);
    }
  }
}

/* What the table `encoded` has for a pixel; writes its alpha. */
static __device__ __forceinline__ void
encode_pixel (const LightFrame &frame, int x, int y, int to[3])
{
  const LightNumbers &numbers = frame.numbers;
  uint32_t alpha = 0;

  if (numbers.has_alpha)
    alpha = *work_at (frame.work[numbers.n_colors], x, y);
  if (numbers.write_alpha)
    store_raw (frame.alpha_channel, x, y,
        light_multiply (numbers.alpha_full, alpha)
            << frame.alpha_channel.shift);
  for (int i = 0; i < 3; i++) {
    uint32_t q;

    if (i >= numbers.n_colors)
      break;
    q = *work_at (frame.work[i], x, y);
    to[i] = __ldg (
        frame.encoded + (numbers.premultiply ? light_divide (q, alpha) : q));
  }
}

static __device__ __forceinline__ void
encode_chroma (const LightFrame &frame, int i, int x, int y,
    const LightWeights &weights, const int sum[3], int pixels)
{
  const LightNumbers &numbers = frame.numbers;
  const DeviceChannel &channel = frame.color[i];
  const float share = 1.0f / (float) pixels;
  const LightWeights mean = { weights.r * share, weights.g * share,
    weights.b * share, (float) numbers.neutral };
  int code = numbers.neutral;

  if (y >= channel.height)
    return;
  if (!numbers.neutral_chroma)
    code = light_round (
        light_weigh (&mean, (float) sum[0], (float) sum[1], (float) sum[2]),
        numbers.full);
  store_raw (channel, x, y, code << channel.shift);
}

/* The pixels of a chroma sample, and that. */
static __device__ __forceinline__ void
encode_group (const LightFrame &frame, int group_x, int group_y)
{
  const LightNumbers &numbers = frame.numbers;
  const int left = group_x * numbers.sub_x, top = group_y * numbers.sub_y;
  const int right = min (left + numbers.sub_x, frame.width);
  const int bottom = min (top + numbers.sub_y, frame.height);
  const int pixels = (right - left) * (bottom - top);
  int sum[3] = { 0, 0, 0 };

  for (int y = top; y < bottom; y++)
    for (int x = left; x < right; x++) {
      int code[3] = { 0, 0, 0 };

      encode_pixel (frame, x, y, code);
      if (numbers.yuv) {
        for (int i = 0; i < 3; i++)
          sum[i] += code[i];
        code[0] = light_round (light_weigh (&numbers.luma, (float) code[0],
                                   (float) code[1], (float) code[2]),
            numbers.full);
      }
      store_raw (frame.color[0], x, y, code[0] << frame.color[0].shift);
      if (!numbers.yuv && numbers.n_colors == 3) {
        store_raw (frame.color[1], x, y, code[1] << frame.color[1].shift);
        store_raw (frame.color[2], x, y, code[2] << frame.color[2].shift);
      }
    }
  if (numbers.yuv) {
    encode_chroma (frame, 1, group_x, group_y, numbers.cb, sum, pixels);
    encode_chroma (frame, 2, group_x, group_y, numbers.cr, sum, pixels);
  }
}

/* A thread a chroma sample, or a pixel where there is none. */
static __global__ void
encode_kernel (LightFrame frame)
{
  const LightNumbers &numbers = frame.numbers;
  const int columns = (frame.width + numbers.sub_x - 1) / numbers.sub_x;
  const int rows = (frame.height + numbers.sub_y - 1) / numbers.sub_y;
  const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x;

  if (x >= columns)
    return;
  for (int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y; y < rows;
       y += gridDim.y * BLOCK_HEIGHT)
    encode_group (frame, x, y);
}

/* Channel blockIdx.z. */
static __global__ void
copy_kernel (LightCopies copies)
{
  const DeviceChannel &from = copies.from[blockIdx.z];
  const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x;

  if (x >= from.width)
    return;
  for (int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y; y < from.height;
       y += gridDim.y * BLOCK_HEIGHT)
    store_raw (copies.to[blockIdx.z], x, y, load_raw (from, x, y));
}

/* A thread each for width x height. */
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
  described.width = channel->width;
  described.height = light_channel_height (channel, image);
  return described;
}

/* A frame between an image and a picture of work. */
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

static bool
device_decode (
    LightPlan *plan, const Image *src, GpuStream stream, Fault *fault)
{
  const LightFrame frame = describe_frame (plan, src, &plan->work);
  bool ok = false;

  if (frame.height > 0)
    GPU_CHECK (
        gpu_launch (decode_kernel, grid_of (frame.width, frame.height, 1),
            dim3 (BLOCK_WIDTH, BLOCK_HEIGHT), 0, stream, frame),
        fault);
  ok = true;
done:
  return ok;
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
  const int sub_x = plan->numbers.sub_x, sub_y = plan->numbers.sub_y;
  bool ok = false;

  if (frame.height > 0)
    GPU_CHECK (gpu_launch (encode_kernel,
                   grid_of ((frame.width + sub_x - 1) / sub_x,
                       (frame.height + sub_y - 1) / sub_y, 1),
                   dim3 (BLOCK_WIDTH, BLOCK_HEIGHT), 0, stream, frame),
        fault);
  ok = copy_channels (plan, src, dst, stream, fault);
done:
  return ok;
}

/* Copies a table to the device, after `*used` codes that are there. */
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

/* Runs are on streams that are not known yet: the tables are there before the first. */
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

/* Loads the kernels, so that no frame waits for that. */
static bool
load_kernels (Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) decode_kernel), fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) encode_kernel), fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) copy_kernel), fault);
  ok = true;
done:
  return ok;
}

static bool
device_prepare (LightPlan *plan, size_t work_bytes, Fault *fault)
{
  const LightTables *tables = &plan->tables;
  const size_t codes =
      (size_t) tables->n_linear + LIGHT_CODES + (size_t) tables->n_alpha;
  DeviceState *state = (DeviceState *) calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for linear light.");
  if (!load_kernels (fault))
    return false;
  for (int i = 0; i < 2; i++) {
    plan->block[i] = (uint8_t *) gpu_malloc (work_bytes, fault);
    if (plan->block[i] == NULL)
      return false;
  }
  state->tables = (uint16_t *) gpu_malloc (codes * sizeof (uint16_t), fault);
  return state->tables != NULL && send_tables (state, tables, fault)
      && light_tensor_prepare (plan, &state->tensor, fault);
}

static void
device_release (LightPlan *plan)
{
  DeviceState *state = (DeviceState *) plan->state;

  for (int i = 0; i < 2; i++)
    gpu_free (plan->block[i]);
  if (state != NULL) {
    gpu_free (state->tables);
    light_tensor_release (&state->tensor);
  }
  free (state);
}

/* A method that is asked for filters the work picture. */
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
  .release = device_release,
  .decode = device_decode,
  .encode = device_encode,
  .takes_one_step = device_takes_one_step,
  .run = device_run,
};
