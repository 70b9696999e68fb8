/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* twopass: what the CUDA methods that run a row pass and a column pass share.
 *
 * The row pass writes sums of every filtered channel, planar, into a buffer of
 * the plan; the column pass reads them and writes codes. Each pass is one launch
 * for all channels of the frame: blockIdx.z is the channel, and blocks outside
 * a smaller channel leave at once. Taps travel with the stream into a buffer of
 * the plan, so that frames in flight keep the taps they were submitted with. */
#pragma once

#include "method.h"

#include "../gpu-check.h"
#include "border.h"

/* Tap sets that may be on their way to the device at once. */
#define TWOPASS_STAGES 4

struct TwopassState
{
  void *taps;                      /* device */
  size_t taps_bytes;               /* capacity of it and of each stage */
  void *stage[TWOPASS_STAGES];     /* pinned host */
  GpuEvent staged[TWOPASS_STAGES]; /* the copy out of it is done */
  int next_stage;
  unsigned revision; /* of the plan, in `taps` */
  bool taps_in_float;
  void *sums; /* device */
  size_t sums_bytes;
};

/* What a kernel needs to know of a channel; Real is float or double. */
template <typename Real> struct TwopassChannel
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int pixel_stride;
  int width, height;
  ImageRows fresh;  /* rows to sum along x */
  ImageRows result; /* rows to finish */
  int sample_bytes, shift, max_code;
  bool filter;
  int nx, ny;
  const Real *tx, *ty;
  Real *sums; /* [height][width] */
  Real center, offset;
  Real border;      /* a sample outside, less the center */
  Real row_outside; /* the row sum of a row outside */
};

template <typename Real> struct TwopassFrame
{
  SepconvBorder border;
  TwopassChannel<Real> channel[SEPCONV_MAX_CHANNELS];
};

/* The extent of the launches: the largest channel, and how many there are. */
struct TwopassExtent
{
  int width, channels;
  int fresh, result; /* rows */
};

bool twopass_prepare (SepconvPlan *plan, Fault *fault);
void twopass_release (SepconvPlan *plan);

/* Queues new taps if the plan has them, sees to the sums' buffer, and fills
 * `frame` for one run. */
template <typename Real>
bool twopass_begin (SepconvPlan *plan, const SepconvPart *part,
    TwopassFrame<Real> *frame, TwopassExtent *extent, Fault *fault);

/* True if the kernel can run here; loads it, so that no frame waits for that. */
bool twopass_load_kernel (const void *kernel, Fault *fault);

__device__ __forceinline__ int
load_code (const uint8_t *sample, int sample_bytes, int shift)
{
  const int raw = sample_bytes == 1 ? *sample : *(const uint16_t *) sample;

  return raw >> shift;
}

__device__ __forceinline__ void
store_code (uint8_t *sample, int code, int sample_bytes, int shift)
{
  if (sample_bytes == 1)
    *sample = (uint8_t) (code << shift);
  else
    *(uint16_t *) sample = (uint16_t) (code << shift);
}

__device__ __forceinline__ int
round_to_code (float value, int max_code)
{
  return min (max (__float2int_rn (value), 0), max_code);
}

__device__ __forceinline__ int
round_to_code (double value, int max_code)
{
  return min (max (__double2int_rn (value), 0), max_code);
}

__device__ __forceinline__ float
multiply_add (float a, float b, float c)
{
  return __fmaf_rn (a, b, c);
}

__device__ __forceinline__ double
multiply_add (double a, double b, double c)
{
  return __fma_rn (a, b, c);
}

/* Sample x of row y, less the center; x may lie outside. */
template <typename Real>
__device__ __forceinline__ Real
load_sample (const TwopassChannel<Real> &channel, const uint8_t *row, int x,
    SepconvBorder border)
{
  const int from = border_index (x, channel.width, border);

  if (from < 0)
    return channel.border;
  return (Real) load_code (row + (ptrdiff_t) from * channel.pixel_stride,
             channel.sample_bytes, channel.shift)
      - channel.center;
}

/* Sum of column x in row y; y may lie outside. */
template <typename Real>
__device__ __forceinline__ Real
load_sum (
    const TwopassChannel<Real> &channel, int x, int y, SepconvBorder border)
{
  const int from = border_index (y, channel.height, border);

  if (from < 0)
    return channel.row_outside;
  return channel.sums[(size_t) from * channel.width + x];
}

template <typename Real>
__device__ __forceinline__ void
store_sample (const TwopassChannel<Real> &channel, int x, int y, Real sum)
{
  store_code (channel.dst + y * channel.dst_stride
          + (ptrdiff_t) x * channel.pixel_stride,
      round_to_code (sum + channel.offset, channel.max_code),
      channel.sample_bytes, channel.shift);
}

/* Copies one raw sample of a channel that is not filtered. */
template <typename Real>
__device__ __forceinline__ void
copy_sample (const TwopassChannel<Real> &channel, int x, int y)
{
  const ptrdiff_t at = (ptrdiff_t) x * channel.pixel_stride;

  store_code (channel.dst + y * channel.dst_stride + at,
      load_code (
          channel.src + y * channel.src_stride + at, channel.sample_bytes, 0),
      channel.sample_bytes, 0);
}
