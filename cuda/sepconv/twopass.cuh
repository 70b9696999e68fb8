/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* twopass: the common part of the CUDA methods that run a row pass and a column pass.
 *
 * The row pass writes sums of every filtered channel, planar, into a buffer of the plan;
 * the column pass reads them and writes codes. Each pass is one launch for all channels of
 * the frame: blockIdx.z is the channel, and blocks outside a smaller channel return at
 * once. Taps are copied on the stream into a buffer of the plan, so that frames in flight
 * keep the taps that they were submitted with. */
#pragma once

#include "method.h"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "border.h"
#include "staging.cuh"

struct TwopassState
{
  Staging taps;
  unsigned revision; /* the plan's revision in `taps` */
  bool taps_in_float;
  void *sums; /* device */
  size_t sums_bytes;
};

/* A channel as a kernel needs it; Real is float or double. */
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
  /* Taps of the first term; the taps and sums of further terms follow its own. */
  int nx, ny;
  const Real *tx, *ty;
  Real *sums; /* [height][width] */
  Real center, offset;
  Real border;      /* a sample outside, less the center */
  Real row_outside; /* the row sum of a row outside */
};

template <typename RealType, int Channels = SEPCONV_MAX_CHANNELS>
struct TwopassFrame
{
  typedef RealType Real;

  SepconvBorder border;
  TwopassChannel<Real> channel[Channels];
};

/* The extent of the launches: the size of the largest channel, and the number of
 * channels. */
struct TwopassExtent
{
  int width, channels;
  int fresh, result; /* rows */
};

/* One pass: a kernel, its block of threads, and the samples of one channel that
 * a block takes. */
template <typename Frame> struct TwopassPass
{
  void (*kernel) (Frame);
  dim3 block, tile;
};

template <typename Frame> struct TwopassPasses
{
  TwopassPass<Frame> rows, columns;
};

bool twopass_prepare (SepconvPlan *plan, Fault *fault);
/* For a method with more state: `bytes` is the size of a struct derived from TwopassState,
 * which is zeroed except for its base. */
bool twopass_prepare_state (SepconvPlan *plan, size_t bytes, Fault *fault);
/* The same for a method that may need no sums: their buffer is allocated by the first run
 * that has some. */
bool twopass_prepare_taps (SepconvPlan *plan, size_t bytes, Fault *fault);
void twopass_release (SepconvPlan *plan);

/* Cost of a method whose time grows with the taps of both passes: by `a_tap` picoseconds a
 * sample for one more tap along both axes. */
double twopass_cost (const SepconvWork *work, double a_tap);

/* Uploads the plan's taps if they are new, makes sure that the buffer for sums is large
 * enough, and fills `frame` and `extent` for one run. */
template <typename Real>
bool twopass_begin (SepconvPlan *plan, const SepconvPart *part,
    TwopassFrame<Real> *frame, TwopassExtent *extent, Fault *fault);

/* True if the kernel can run on this GPU. Loads the kernel, so that no frame waits for
 * that. */
bool twopass_load_kernel (const void *kernel, Fault *fault);

template <typename Frame>
static bool
twopass_load (const TwopassPasses<Frame> &passes, Fault *fault)
{
  return twopass_load_kernel ((const void *) passes.rows.kernel, fault)
      && twopass_load_kernel ((const void *) passes.columns.kernel, fault);
}

/* Most blocks of a grid along y. */
#define TWOPASS_GRID_Y 65535

/* Queues one pass over the rows `rows` of every channel; `n` is the largest number of
 * rows. It takes as many grids as necessary. */
template <typename Frame>
static bool
twopass_launch_pass (const TwopassPass<Frame> &pass, Frame frame, int n,
    ImageRows TwopassChannel<typename Frame::Real>::*rows,
    const TwopassExtent &extent, GpuStream stream, Fault *fault)
{
  const dim3 tile = pass.tile;
  bool ok = false;

  while (n > 0) {
    const int tiles =
        min ((n + (int) tile.y - 1) / (int) tile.y, TWOPASS_GRID_Y);
    const dim3 grid (
        (extent.width + tile.x - 1) / tile.x, tiles, extent.channels);

    GPU_CHECK (
        gpu_launch (pass.kernel, grid, pass.block, 0, stream, frame), fault);
    n -= tiles * (int) tile.y;
    for (int c = 0; c < extent.channels; c++)
      (frame.channel[c].*rows).first += tiles * (int) tile.y;
  }
  ok = true;
done:
  return ok;
}

/* Queues both passes over the extent; a pass without rows is left out. */
template <typename Frame>
static bool
twopass_launch (const TwopassPasses<Frame> &passes, const Frame &frame,
    const TwopassExtent &extent, GpuStream stream, Fault *fault)
{
  typedef TwopassChannel<typename Frame::Real> Channel;

  return twopass_launch_pass (passes.rows, frame, extent.fresh, &Channel::fresh,
             extent, stream, fault)
      && twopass_launch_pass (passes.columns, frame, extent.result,
          &Channel::result, extent, stream, fault);
}

/* A whole run, for methods whose frame has no further members to fill in. */
template <typename Frame>
static bool
twopass_run (const TwopassPasses<Frame> &passes, SepconvPlan *plan,
    const SepconvPart *part, Fault *fault)
{
  TwopassExtent extent;
  Frame frame;

  return twopass_begin<typename Frame::Real> (
             plan, part, &frame, &extent, fault)
      && twopass_launch (passes, frame, extent, part->stream, fault);
}

/* How a value is read from global memory. */
struct PlainLoad
{
  template <typename Value>
  static __device__ __forceinline__ Value
  load (const Value *at)
  {
    return *at;
  }
};

template <typename Load = PlainLoad>
__device__ __forceinline__ int
load_code (const uint8_t *sample, int sample_bytes, int shift)
{
  const int raw = sample_bytes == 1 ? Load::load (sample)
                                    : Load::load ((const uint16_t *) sample);

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

/* The sum of n products, in blocks as method.h asks; `add (i, part)` returns part
 * plus product i. */
template <typename Real, typename Add>
__device__ __forceinline__ Real
sum_products (int n, const Add &add)
{
  Real sum = 0;

  for (int first = 0; first < n; first += SEPCONV_SUM_BLOCK) {
    const int last = min (first + SEPCONV_SUM_BLOCK, n);
    Real part = 0;

    for (int i = first; i < last; i++)
      part = add (i, part);
    sum += part;
  }
  return sum;
}

/* Sample x of a row, minus the center; x may lie outside the image. */
template <typename Load = PlainLoad, typename Real>
__device__ __forceinline__ Real
load_sample (const TwopassChannel<Real> &channel, const uint8_t *row, int x,
    SepconvBorder border)
{
  const int from = border_index (x, channel.width, border);

  if (from < 0)
    return channel.border;
  return (Real) load_code<Load> (row + (ptrdiff_t) from * channel.pixel_stride,
             channel.sample_bytes, channel.shift)
      - channel.center;
}

/* Sum of column x in row y; y may lie outside the image. */
template <typename Load = PlainLoad, typename Real>
__device__ __forceinline__ Real
load_sum (
    const TwopassChannel<Real> &channel, int x, int y, SepconvBorder border)
{
  const int from = border_index (y, channel.height, border);

  if (from < 0)
    return channel.row_outside;
  return Load::load (&channel.sums[(size_t) from * channel.width + x]);
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
