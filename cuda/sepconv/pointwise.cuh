/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pointwise: the methods in which each sample of a pass has a thread of its own.
 *
 * All of them run the two kernels below. They differ in the memory from which taps,
 * samples and sums are loaded. An Access, the kernels' parameter, defines that: it
 * is a frame with these functions,
 *
 *   tap_x (channel, i), tap_y (channel, i)
 *   sample (channel, x, y)   less the center; x may lie outside
 *   sum (channel, x, y)      of the row pass; y may lie outside
 *
 * where `channel` is number blockIdx.z of the frame. */
#pragma once

#include "twopass.cuh"

#define POINTWISE_WIDTH 32
#define POINTWISE_HEIGHT 8

/* An Access to taps, samples and sums in global memory, by loads of type `Load`. */
template <typename RealType, typename Load, int Channels = SEPCONV_MAX_CHANNELS>
struct MemoryAccess : TwopassFrame<RealType, Channels>
{
  typedef RealType Real;

  __device__ __forceinline__ Real
  tap_x (const TwopassChannel<Real> &channel, int i) const
  {
    return Load::load (&channel.tx[i]);
  }

  __device__ __forceinline__ Real
  tap_y (const TwopassChannel<Real> &channel, int i) const
  {
    return Load::load (&channel.ty[i]);
  }

  __device__ __forceinline__ Real
  sample (const TwopassChannel<Real> &channel, int x, int y) const
  {
    return load_sample<Load> (
        channel, channel.src + y * channel.src_stride, x, this->border);
  }

  __device__ __forceinline__ Real
  sum (const TwopassChannel<Real> &channel, int x, int y) const
  {
    return load_sum<Load> (channel, x, y, this->border);
  }
};

template <typename Access>
static __global__ void
pointwise_rows (const Access access)
{
  typedef typename Access::Real Real;
  const TwopassChannel<Real> &channel = access.channel[blockIdx.z];
  const int x = blockIdx.x * POINTWISE_WIDTH + threadIdx.x;
  const int y =
      channel.fresh.first + blockIdx.y * POINTWISE_HEIGHT + threadIdx.y;
  const int left = x - channel.nx / 2;

  if (!channel.filter || x >= channel.width || y >= channel.fresh.last)
    return;
  channel.sums[(size_t) y * channel.width + x] =
      sum_products<Real> (channel.nx, [&] (int i, Real part) {
        return multiply_add (access.tap_x (channel, i),
            access.sample (channel, left + i, y), part);
      });
}

template <typename Access>
static __global__ void
pointwise_columns (const Access access)
{
  typedef typename Access::Real Real;
  const TwopassChannel<Real> &channel = access.channel[blockIdx.z];
  const int x = blockIdx.x * POINTWISE_WIDTH + threadIdx.x;
  const int y =
      channel.result.first + blockIdx.y * POINTWISE_HEIGHT + threadIdx.y;
  const int top = y - channel.ny / 2;

  if (x >= channel.width || y >= channel.result.last)
    return;
  if (!channel.filter) {
    copy_sample (channel, x, y);
    return;
  }
  store_sample (
      channel, x, y, sum_products<Real> (channel.ny, [&] (int i, Real part) {
        return multiply_add (
            access.tap_y (channel, i), access.sum (channel, x, top + i), part);
      }));
}

template <typename Access>
static TwopassPasses<Access>
pointwise_passes (void)
{
  const dim3 block (POINTWISE_WIDTH, POINTWISE_HEIGHT);

  return { { pointwise_rows<Access>, block, block },
    { pointwise_columns<Access>, block, block } };
}

/* run() of a method that loads everything from global memory. It computes in float
 * where that keeps the promised accuracy, else in double. */
template <typename Load>
static bool
pointwise_memory_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return plan->float_holds
      ? twopass_run (
          pointwise_passes<MemoryAccess<float, Load>> (), plan, part, fault)
      : twopass_run (
          pointwise_passes<MemoryAccess<double, Load>> (), plan, part, fault);
}

template <typename Load>
static bool
pointwise_memory_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault)
      && twopass_load (pointwise_passes<MemoryAccess<float, Load>> (), fault)
      && twopass_load (pointwise_passes<MemoryAccess<double, Load>> (), fault);
}
