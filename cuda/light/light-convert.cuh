/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-convert: the kernels before and after the filter, for all layouts. A thread has four
 * adjacent pixels, and the pixels below that share their chroma; a warp goes from one span of a
 * row to the next. If a frame has many samples for each code of a table, each block copies the
 * table into shared memory, where lanes that look up different codes wait least for each other. */
#pragma once

#include "plan.h"

#include "../gpu-launch.cuh"

#define LIGHT_CONVERT_THREADS 1024
#define LIGHT_CONVERT_PIXELS 4 /* of a thread */
#define LIGHT_CONVERT_SPAN (32 * LIGHT_CONVERT_PIXELS)

/* A channel's samples, in the source or in the destination. */
struct DeviceChannel
{
  uint8_t *data; /* of sample (0, 0) */
  ptrdiff_t stride;
  int pixel_stride, sample_bytes, shift, full;
  int width, height; /* samples */
  bool fours;        /* four samples are an aligned 4-byte or 8-byte word */
};

struct DevicePlane
{
  /* rows are aligned to 8 bytes, and padded to a multiple of 8 */
  uint16_t *data;
  ptrdiff_t stride; /* bytes */
};

struct LightFrame
{
  LightNumbers numbers;
  int width, height; /* pixels */
  const uint16_t *linear, *encoded, *alpha;
  int n_linear;
  DevicePlane work[LIGHT_MAX_WORK];
  DeviceChannel color[3], alpha_channel;
};

static __device__ __forceinline__ uint8_t *
sample_at (const DeviceChannel &channel, int x, int y)
{
  return channel.data + y * channel.stride
      + (ptrdiff_t) x * channel.pixel_stride;
}

static __device__ __forceinline__ int
load_raw (const DeviceChannel &channel, const uint8_t *at)
{
  return channel.sample_bytes == 1 ? *at : *(const uint16_t *) at;
}

static __device__ __forceinline__ int
code_of (const DeviceChannel &channel, int raw)
{
  return raw >> channel.shift & channel.full;
}

static __device__ __forceinline__ void
store_raw (const DeviceChannel &channel, uint8_t *at, int raw)
{
  if (channel.sample_bytes == 1)
    *at = (uint8_t) raw;
  else
    *(uint16_t *) at = (uint16_t) raw;
}

/* Loads the codes of four samples, of which n exist; the others are 0. */
static __device__ __forceinline__ void
load_four (const DeviceChannel &channel, int x, int y, int n, int (&code)[4])
{
  const uint8_t *const at = sample_at (channel, x, y);

  if (channel.fours && n == 4 && channel.sample_bytes == 1) {
    const uint32_t word = *(const uint32_t *) at;

#pragma unroll
    for (int k = 0; k < 4; k++)
      code[k] = (int) (word >> 8 * k & 0xff);
  } else if (channel.fours && n == 4) {
    const uint2 words = *(const uint2 *) at;

    code[0] = (int) (words.x & 0xffff);
    code[1] = (int) (words.x >> 16);
    code[2] = (int) (words.y & 0xffff);
    code[3] = (int) (words.y >> 16);
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++)
      code[k] = k < n ? load_raw (channel, at + k * channel.pixel_stride) : 0;
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    code[k] = code_of (channel, code[k]);
}

static __device__ __forceinline__ void
store_four (
    const DeviceChannel &channel, int x, int y, int n, const int (&code)[4])
{
  uint8_t *const at = sample_at (channel, x, y);
  uint32_t raw[4];

#pragma unroll
  for (int k = 0; k < 4; k++)
    raw[k] = (uint32_t) code[k] << channel.shift;
  if (channel.fours && n == 4 && channel.sample_bytes == 1)
    *(uint32_t *) at = raw[0] | raw[1] << 8 | raw[2] << 16 | raw[3] << 24;
  else if (channel.fours && n == 4)
    *(uint2 *) at = make_uint2 (raw[0] | raw[1] << 16, raw[2] | raw[3] << 16);
  else
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (k < n)
        store_raw (channel, at + k * channel.pixel_stride, (int) raw[k]);
}

static __device__ __forceinline__ uint2 *
work_at (const DevicePlane &plane, int x, int y)
{
  return (uint2 *) ((uint8_t *) plane.data + y * plane.stride
      + (ptrdiff_t) x * (int) sizeof (uint16_t));
}

static __device__ __forceinline__ void
load_work (const DevicePlane &plane, int x, int y, uint32_t (&code)[4])
{
  const uint2 words = *work_at (plane, x, y);

  code[0] = words.x & 0xffff;
  code[1] = words.x >> 16;
  code[2] = words.y & 0xffff;
  code[3] = words.y >> 16;
}

static __device__ __forceinline__ void
store_work (const DevicePlane &plane, int x, int y, const uint32_t (&code)[4])
{
  *work_at (plane, x, y) =
      make_uint2 (code[0] | code[1] << 16, code[2] | code[3] << 16);
}

/* Loads the chroma of four pixels, less neutral; `i` is the index of frame.color. */
static __device__ __forceinline__ void
load_chroma (
    const LightFrame &frame, int i, int x, int y, int n, int (&code)[4])
{
  const LightNumbers &numbers = frame.numbers;
  const DeviceChannel &channel = frame.color[i];
  const int row = min (y / numbers.sub_y, channel.height - 1);

  if (row < 0) {
#pragma unroll
    for (int k = 0; k < 4; k++)
      code[k] = numbers.neutral;
  } else if (numbers.sub_x == 1) {
    load_four (channel, x, row, n, code);
  } else {
    const uint8_t *const at = sample_at (channel, x / numbers.sub_x, row);
    const bool two = numbers.sub_x == 2 && n > 2;

    code[0] = code[1] = code_of (channel, load_raw (channel, at));
    code[2] = code[3] = two
        ? code_of (channel, load_raw (channel, at + channel.pixel_stride))
        : code[0];
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    code[k] -= numbers.neutral;
}

/* light_index() of a sum of products, in 32 bits unless numbers.wide. */
static __device__ __forceinline__ int
index_of_sum (const LightNumbers &numbers, int luma, int64_t of_luma, int first,
    int64_t of_first, int second, int64_t of_second)
{
  if (numbers.wide)
    return light_index (
        &numbers, luma * of_luma + first * of_first + second * of_second);
  return light_clamp (
      (luma * (int) of_luma + first * (int) of_first + second * (int) of_second
          + (1 << (numbers.fraction - 1)))
          >> numbers.fraction,
      numbers.last);
}

/* Loads indices of the table `linear` for the colours of four pixels. */
static __device__ __forceinline__ void
load_colors (const LightFrame &frame, int x, int y, int n, int (&index)[3][4])
{
  const LightNumbers &numbers = frame.numbers;
  int cb[4], cr[4];

  load_four (frame.color[0], x, y, n, index[0]);
  if (numbers.n_colors == 1)
    return;
  if (!numbers.yuv) {
    load_four (frame.color[1], x, y, n, index[1]);
    load_four (frame.color[2], x, y, n, index[2]);
    return;
  }
  load_chroma (frame, 1, x, y, n, cb);
  load_chroma (frame, 2, x, y, n, cr);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int luma = index[0][k] - numbers.black;

    index[0][k] =
        index_of_sum (numbers, luma, numbers.y, cr[k], numbers.red_cr, 0, 0);
    index[1][k] = index_of_sum (numbers, luma, numbers.y, cb[k],
        numbers.green_cb, cr[k], numbers.green_cr);
    index[2][k] =
        index_of_sum (numbers, luma, numbers.y, cb[k], numbers.blue_cb, 0, 0);
  }
}

/* A warp's position among the spans of a frame: `rows` rows of groups have `spans` spans each. */
struct LightWalk
{
  int spans, span, row, rows;
  int next_span, next_row; /* steps from a warp's span to its next */

  __device__ __forceinline__
  LightWalk (int width, int rows)
      : spans ((width + LIGHT_CONVERT_SPAN - 1) / LIGHT_CONVERT_SPAN),
        rows (rows)
  {
    const int warps = LIGHT_CONVERT_THREADS / 32;
    const int warp = blockIdx.x * warps + threadIdx.x / 32;
    const int all = gridDim.x * warps;

    row = warp / spans;
    span = warp - row * spans;
    next_row = all / spans;
    next_span = all - next_row * spans;
  }

  __device__ __forceinline__ bool
  more () const
  {
    return row < rows;
  }

  __device__ __forceinline__ int
  x () const
  {
    return span * LIGHT_CONVERT_SPAN + threadIdx.x % 32 * LIGHT_CONVERT_PIXELS;
  }

  __device__ __forceinline__ void
  step ()
  {
    row += next_row;
    span += next_span;
    if (span >= spans) {
      span -= spans;
      row++;
    }
  }
};

/* The address of a table of n codes, which no kernel writes. NEAR: copies it to shared memory. */
template <bool NEAR>
static __device__ __forceinline__ const uint16_t *
bring_table (const uint16_t *table, int n, uint16_t *shared)
{
  if constexpr (NEAR) {
    for (int i = threadIdx.x; i < n / 8; i += LIGHT_CONVERT_THREADS)
      ((uint4 *) shared)[i] = ((const uint4 *) table)[i];
    __syncthreads ();
  }
  return NEAR ? shared : table;
}

template <bool NEAR>
static __device__ __forceinline__ uint32_t
look_up (const uint16_t *table, uint32_t i)
{
  if constexpr (NEAR)
    return table[i];
  else
    return __ldg (table + i);
}

template <bool NEAR>
static __device__ __forceinline__ void
decode_four (const LightFrame &frame, const uint16_t *table, int x, int y)
{
  const LightNumbers &numbers = frame.numbers;
  const int n = min (frame.width - x, 4);
  uint32_t alpha[4] = { 0, 0, 0, 0 };
  int index[3][4];

  if (numbers.has_alpha) {
    int code[4];

    load_four (frame.alpha_channel, x, y, n, code);
#pragma unroll
    for (int k = 0; k < 4; k++)
      alpha[k] = __ldg (frame.alpha + code[k]);
    store_work (frame.work[numbers.n_colors], x, y, alpha);
  }
  load_colors (frame, x, y, n, index);
#pragma unroll
  for (int i = 0; i < 3; i++) {
    uint32_t color[4];

    if (i >= numbers.n_colors)
      break;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      color[k] = look_up<NEAR> (table, (uint32_t) index[i][k]);
      if (numbers.premultiply)
        color[k] = light_multiply (color[k], alpha[k]);
    }
    store_work (frame.work[i], x, y, color);
  }
}

template <bool NEAR>
static __global__ void
__launch_bounds__ (LIGHT_CONVERT_THREADS, 1)
    decode_kernel (GPU_PARAMETER LightFrame frame)
{
  GPU_DYNAMIC_SHARED (uint16_t, shared);
  const uint16_t *const table =
      bring_table<NEAR> (frame.linear, frame.n_linear, shared);

  for (LightWalk walk (frame.width, frame.height); walk.more (); walk.step ())
    if (walk.x () < frame.width)
      decode_four<NEAR> (frame, table, walk.x (), walk.row);
}

/* Looks up the table `encoded` for four pixels, and writes their alpha. */
template <bool NEAR>
static __device__ __forceinline__ void
encode_pixels (const LightFrame &frame, const uint16_t *table, int x, int y,
    int n, int (&to)[3][4])
{
  const LightNumbers &numbers = frame.numbers;
  uint32_t alpha[4] = { 0, 0, 0, 0 };

  if (numbers.has_alpha)
    load_work (frame.work[numbers.n_colors], x, y, alpha);
  if (numbers.write_alpha) {
    int code[4];

#pragma unroll
    for (int k = 0; k < 4; k++)
      code[k] = (int) light_multiply ((uint32_t) numbers.alpha_full, alpha[k]);
    store_four (frame.alpha_channel, x, y, n, code);
  }
#pragma unroll
  for (int i = 0; i < 3; i++) {
    uint32_t q[4];

    if (i >= numbers.n_colors)
      break;
    load_work (frame.work[i], x, y, q);
#pragma unroll
    for (int k = 0; k < 4; k++)
      to[i][k] = (int) look_up<NEAR> (
          table, numbers.premultiply ? light_divide (q[k], alpha[k]) : q[k]);
  }
}

/* Writes Y of four pixels from `code`, and adds the first n pixels of `code` to `sum`. */
static __device__ __forceinline__ void
encode_luma (const LightFrame &frame, int x, int y, int n,
    const int (&code)[3][4], int (&sum)[3][4])
{
  int luma[4];

#pragma unroll
  for (int k = 0; k < 4; k++) {
    luma[k] = light_round (light_weigh (&frame.numbers.luma, (float) code[0][k],
                               (float) code[1][k], (float) code[2][k]),
        frame.numbers.full);
#pragma unroll
    for (int i = 0; i < 3; i++)
      sum[i][k] += k < n ? code[i][k] : 0;
  }
  store_four (frame.color[0], x, y, n, luma);
}

/* A chroma sample, from sums over `pixels` pixels. */
static __device__ __forceinline__ int
chroma_of_sums (const LightNumbers &numbers, const LightWeights &weights, int r,
    int g, int b, int pixels)
{
  const float share = 1.0f / (float) pixels;
  const LightWeights mean = { weights.r * share, weights.g * share,
    weights.b * share, (float) numbers.neutral };

  return numbers.neutral_chroma
      ? numbers.neutral
      : light_round (
          light_weigh (&mean, (float) r, (float) g, (float) b), numbers.full);
}

/* Writes the chroma of n pixels from sums over `rows` rows; overwrites the sums. */
static __device__ __forceinline__ void
encode_chroma (const LightFrame &frame, int x, int group, int n, int rows,
    int (&sum)[3][4])
{
  const LightNumbers &numbers = frame.numbers;
  const int sub_x = numbers.sub_x, samples = (n + sub_x - 1) / sub_x;
  int code[2][4];

#pragma unroll
  for (int i = 0; i < 3; i++) {
    if (sub_x >= 2) {
      sum[i][0] += sum[i][1];
      sum[i][1] = sum[i][2] + sum[i][3];
    }
    if (sub_x == 4)
      sum[i][0] += sum[i][1];
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int pixels = rows * max (min (n - k * sub_x, sub_x), 1);

    code[0][k] = chroma_of_sums (
        numbers, numbers.cb, sum[0][k], sum[1][k], sum[2][k], pixels);
    code[1][k] = chroma_of_sums (
        numbers, numbers.cr, sum[0][k], sum[1][k], sum[2][k], pixels);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const DeviceChannel &channel = frame.color[1 + i];

    if (group >= channel.height)
      continue;
    if (sub_x == 1) {
      store_four (channel, x, group, n, code[i]);
      continue;
    }
#pragma unroll
    for (int k = 0; k < 2; k++)
      if (k < samples)
        store_raw (channel, sample_at (channel, x / sub_x + k, group),
            code[i][k] << channel.shift);
  }
}

/* Encodes four pixels in each row of a group, the rows that share a chroma sample, and their
 * chroma. */
template <bool NEAR>
static __device__ __forceinline__ void
encode_four (const LightFrame &frame, const uint16_t *table, int x, int group)
{
  const LightNumbers &numbers = frame.numbers;
  const int n = min (frame.width - x, 4);
  const int top = group * numbers.sub_y;
  const int bottom = min (top + numbers.sub_y, frame.height);
  int sum[3][4] = { { 0 }, { 0 }, { 0 } };

  for (int y = top; y < bottom; y++) {
    int code[3][4];

    encode_pixels<NEAR> (frame, table, x, y, n, code);
    if (numbers.yuv) {
      encode_luma (frame, x, y, n, code, sum);
      continue;
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
      if (i < numbers.n_colors)
        store_four (frame.color[i], x, y, n, code[i]);
  }
  if (numbers.yuv)
    encode_chroma (frame, x, group, n, bottom - top, sum);
}

template <bool NEAR>
static __global__ void
__launch_bounds__ (LIGHT_CONVERT_THREADS, 1)
    encode_kernel (GPU_PARAMETER LightFrame frame)
{
  GPU_DYNAMIC_SHARED (uint16_t, shared);
  const LightNumbers &numbers = frame.numbers;
  const uint16_t *const table =
      bring_table<NEAR> (frame.encoded, LIGHT_CODES, shared);
  const int groups = (frame.height + numbers.sub_y - 1) / numbers.sub_y;

  for (LightWalk walk (frame.width, groups); walk.more (); walk.step ())
    if (walk.x () < frame.width)
      encode_four<NEAR> (frame, table, walk.x (), walk.row);
}
