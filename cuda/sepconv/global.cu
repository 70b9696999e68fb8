/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* global: one thread a sample, taps and samples by plain global loads.
 *
 * The simplest CUDA method, and the one that takes every spec: where float sums
 * would miss the promised accuracy, it computes in double. */
#include "twopass.cuh"

#define BLOCK_WIDTH 32
#define BLOCK_HEIGHT 8

template <typename Real>
static __global__ void
global_rows (const TwopassFrame<Real> frame)
{
  const TwopassChannel<Real> &channel = frame.channel[blockIdx.z];
  const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
  const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
  const int left = x - channel.nx / 2;
  const uint8_t *row;
  Real sum = 0;

  if (!channel.filter || x >= channel.width || y >= channel.height)
    return;
  row = channel.src + y * channel.src_stride;
  for (int first = 0; first < channel.nx; first += SEPCONV_SUM_BLOCK) {
    const int last = min (first + SEPCONV_SUM_BLOCK, channel.nx);
    Real part = 0;

    for (int i = first; i < last; i++)
      part = multiply_add (channel.tx[i],
          load_sample (channel, row, left + i, frame.border), part);
    sum += part;
  }
  channel.sums[(size_t) y * channel.width + x] = sum;
}

template <typename Real>
static __global__ void
global_columns (const TwopassFrame<Real> frame)
{
  const TwopassChannel<Real> &channel = frame.channel[blockIdx.z];
  const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
  const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
  const int top = y - channel.ny / 2;
  Real sum = 0;

  if (x >= channel.width || y >= channel.height)
    return;
  if (!channel.filter) {
    copy_sample (channel, x, y);
    return;
  }
  for (int first = 0; first < channel.ny; first += SEPCONV_SUM_BLOCK) {
    const int last = min (first + SEPCONV_SUM_BLOCK, channel.ny);
    Real part = 0;

    for (int i = first; i < last; i++)
      part = multiply_add (
          channel.ty[i], load_sum (channel, x, top + i, frame.border), part);
    sum += part;
  }
  store_sample (channel, x, y, sum);
}

template <typename Real>
static bool
run (SepconvPlan *plan, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  const dim3 block (BLOCK_WIDTH, BLOCK_HEIGHT);
  TwopassFrame<Real> frame;
  TwopassExtent extent;
  bool ok = false;
  dim3 grid;

  if (!twopass_begin (plan, src, dst, stream, &frame, &extent, fault))
    return false;
  grid = dim3 ((extent.width + BLOCK_WIDTH - 1) / BLOCK_WIDTH,
      (extent.height + BLOCK_HEIGHT - 1) / BLOCK_HEIGHT, extent.channels);
  global_rows<Real><<<grid, block, 0, stream>>> (frame);
  GPU_CHECK (cudaGetLastError (), fault);
  global_columns<Real><<<grid, block, 0, stream>>> (frame);
  GPU_CHECK (cudaGetLastError (), fault);
  ok = true;
done:
  return ok;
}

static bool
global_run (SepconvPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault)
{
  return plan->float_holds ? run<float> (plan, src, dst, stream, fault)
                           : run<double> (plan, src, dst, stream, fault);
}

static bool
global_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault)
      && twopass_load_kernel ((const void *) global_rows<float>, fault)
      && twopass_load_kernel ((const void *) global_columns<float>, fault)
      && twopass_load_kernel ((const void *) global_rows<double>, fault)
      && twopass_load_kernel ((const void *) global_columns<double>, fault);
}

static double
global_cost (const SepconvSpec *spec, const Image *layout)
{
  double cost = 0.0;

  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0)
      cost += spec->plane[p].x->n + spec->plane[p].y->n;
  return cost;
}

extern "C" const SepconvMethodOps sepconv_global_ops = {
  NULL,
  global_cost,
  global_prepare,
  twopass_release,
  global_run,
};
