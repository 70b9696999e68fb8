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
  const int y = channel.fresh.first + blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
  const int left = x - channel.nx / 2;
  const uint8_t *row;
  Real sum = 0;

  if (!channel.filter || x >= channel.width || y >= channel.fresh.last)
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
  const int y = channel.result.first + blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
  const int top = y - channel.ny / 2;
  Real sum = 0;

  if (x >= channel.width || y >= channel.result.last)
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
run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  const dim3 block (BLOCK_WIDTH, BLOCK_HEIGHT);
  TwopassFrame<Real> frame;
  TwopassExtent extent;
  bool ok = false;
  dim3 grid;

  if (!twopass_begin (plan, part, &frame, &extent, fault))
    return false;
  grid = dim3 ((extent.width + BLOCK_WIDTH - 1) / BLOCK_WIDTH,
      (extent.fresh + BLOCK_HEIGHT - 1) / BLOCK_HEIGHT, extent.channels);
  if (extent.fresh > 0)
    global_rows<Real><<<grid, block, 0, part->stream>>> (frame);
  GPU_CHECK (cudaGetLastError (), fault);
  grid.y = (extent.result + BLOCK_HEIGHT - 1) / BLOCK_HEIGHT;
  if (extent.result > 0)
    global_columns<Real><<<grid, block, 0, part->stream>>> (frame);
  GPU_CHECK (cudaGetLastError (), fault);
  ok = true;
done:
  return ok;
}

static bool
global_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return plan->float_holds ? run<float> (plan, part, fault)
                           : run<double> (plan, part, fault);
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
  true,
  NULL,
  global_cost,
  global_prepare,
  twopass_release,
  global_run,
};
