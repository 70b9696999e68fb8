/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* window: the methods that keep a tile and its halo in shared memory.
 *
 * The halo of a long kernel does not fit, so the taps are taken in blocks of
 * SEPCONV_SUM_BLOCK: for each such block, the threads load the part of the window that
 * these taps weight, as floats, and add the products to sums in registers. The size of
 * shared memory is the same for 3 taps and for 4097.
 *
 * Methods differ in the shape of a block of threads, and in the place of a sample in
 * shared memory, hence in its bank. A Method has these members:
 *
 *   block_width, block_height   threads
 *   row_outputs      sums per thread of the row pass, block_width apart
 *   column_outputs   sums per thread of the column pass, block_height apart
 *   Window<Width, Height>       at (x, y) is a sample of the window */
#pragma once

#include "twopass.cuh"

/* Sums this block's part of a channel's rows. All threads of the block must call it, and
 * the block must have a part of the channel. */
template <typename Method, typename Real>
__device__ __forceinline__ void
window_sum_rows (const TwopassChannel<Real> &channel, SepconvBorder border)
{
  constexpr int outputs = Method::row_outputs;
  constexpr int block_width = Method::block_width;
  constexpr int tile = outputs * block_width;
  __shared__ typename Method::template Window<tile + SEPCONV_SUM_BLOCK,
      Method::block_height>
      window;
  __shared__ Real taps[SEPCONV_SUM_BLOCK];
  const int column = threadIdx.x, row = threadIdx.y;
  const int thread = row * block_width + column;
  const int x0 = blockIdx.x * tile;
  const int y =
      channel.fresh.first + blockIdx.y * Method::block_height + row;
  Real sum[outputs] = {};

  for (int first = 0; first < channel.nx; first += SEPCONV_SUM_BLOCK) {
    const int n = min (SEPCONV_SUM_BLOCK, channel.nx - first);
    const int left = x0 + first - channel.nx / 2;
    Real part[outputs] = {};

    if (y < channel.fresh.last) {
      const uint8_t *samples = channel.src + y * channel.src_stride;

      for (int i = column; i < tile + n - 1; i += block_width)
        window.at (i, row) = load_sample (channel, samples, left + i, border);
    }
    if (thread < n)
      taps[thread] = channel.tx[first + thread];
    __syncthreads ();
    if (y < channel.fresh.last)
      for (int i = 0; i < n; i++) {
        const Real tap = taps[i];

#pragma unroll
        for (int k = 0; k < outputs; k++)
          part[k] = multiply_add (
              tap, window.at (k * block_width + column + i, row), part[k]);
      }
    __syncthreads (); /* before the next window is loaded */
#pragma unroll
    for (int k = 0; k < outputs; k++)
      sum[k] += part[k];
  }

  if (y < channel.fresh.last)
#pragma unroll
    for (int k = 0; k < outputs; k++) {
      const int x = x0 + k * block_width + column;

      if (x < channel.width)
        channel.sums[(size_t) y * channel.width + x] = sum[k];
    }
}

/* Sums this block's part of a channel's columns; the thread's sums are of one column of
 * the picture, and of rows block_height apart. All threads of the block must call it,
 * and the block must have a part of the channel. */
template <typename Method, typename Real>
__device__ __forceinline__ void
window_sum_columns (const TwopassChannel<Real> &channel, SepconvBorder border,
    Real (&sum)[Method::column_outputs])
{
  constexpr int outputs = Method::column_outputs;
  constexpr int block_width = Method::block_width;
  constexpr int block_height = Method::block_height;
  constexpr int tile = outputs * block_height;
  __shared__
      typename Method::template Window<block_width, tile + SEPCONV_SUM_BLOCK>
          window;
  __shared__ Real taps[SEPCONV_SUM_BLOCK];
  const int column = threadIdx.x, row = threadIdx.y;
  const int thread = row * block_width + column;
  const int x = blockIdx.x * block_width + column;
  const int y0 = channel.result.first + blockIdx.y * tile;

#pragma unroll
  for (int k = 0; k < outputs; k++)
    sum[k] = 0;
  for (int first = 0; first < channel.ny; first += SEPCONV_SUM_BLOCK) {
    const int n = min (SEPCONV_SUM_BLOCK, channel.ny - first);
    const int top = y0 + first - channel.ny / 2;
    Real part[outputs] = {};

    if (x < channel.width)
      for (int i = row; i < tile + n - 1; i += block_height)
        window.at (column, i) = load_sum (channel, x, top + i, border);
    if (thread < n)
      taps[thread] = channel.ty[first + thread];
    __syncthreads ();
    if (x < channel.width)
      for (int i = 0; i < n; i++) {
        const Real tap = taps[i];

#pragma unroll
        for (int k = 0; k < outputs; k++)
          part[k] = multiply_add (
              tap, window.at (column, k * block_height + row + i), part[k]);
      }
    __syncthreads (); /* before the next window is loaded */
#pragma unroll
    for (int k = 0; k < outputs; k++)
      sum[k] += part[k];
  }
}

/* Copies this block's part of a channel's columns. */
template <typename Method, typename Real>
__device__ __forceinline__ void
window_copy_columns (const TwopassChannel<Real> &channel)
{
  constexpr int tile = Method::column_outputs * Method::block_height;
  const int x = blockIdx.x * Method::block_width + threadIdx.x;
  const int y0 = channel.result.first + blockIdx.y * tile;

  if (x < channel.width)
    for (int y = y0 + threadIdx.y; y < min (y0 + tile, channel.result.last);
         y += Method::block_height)
      copy_sample (channel, x, y);
}

/* Whether the block has a part of the channel in the row pass, or in the column pass. */
template <typename Method, typename Real>
__device__ __forceinline__ bool
window_has_rows (const TwopassChannel<Real> &channel)
{
  return channel.filter
      && (int) blockIdx.x * Method::row_outputs * Method::block_width
      < channel.width
      && channel.fresh.first + (int) blockIdx.y * Method::block_height
      < channel.fresh.last;
}

template <typename Method, typename Real>
__device__ __forceinline__ bool
window_has_columns (const TwopassChannel<Real> &channel)
{
  return (int) blockIdx.x * Method::block_width < channel.width
      && channel.result.first
          + (int) blockIdx.y * Method::column_outputs * Method::block_height
      < channel.result.last;
}

template <typename Method>
static __global__ void
window_rows (const TwopassFrame<float> frame)
{
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];

  if (window_has_rows<Method> (channel))
    window_sum_rows<Method> (channel, frame.border);
}

template <typename Method>
static __global__ void
window_columns (const TwopassFrame<float> frame)
{
  constexpr int outputs = Method::column_outputs;
  constexpr int block_height = Method::block_height;
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int x = blockIdx.x * Method::block_width + threadIdx.x;
  const int y0 = channel.result.first + blockIdx.y * outputs * block_height;
  float sum[outputs];

  if (!window_has_columns<Method> (channel))
    return;
  if (!channel.filter) {
    window_copy_columns<Method> (channel);
    return;
  }
  window_sum_columns<Method> (channel, frame.border, sum);
  if (x < channel.width)
#pragma unroll
    for (int k = 0; k < outputs; k++) {
      const int y = y0 + k * block_height + threadIdx.y;

      if (y < channel.result.last)
        store_sample (channel, x, y, sum[k]);
    }
}

template <typename Method>
static TwopassPasses<TwopassFrame<float>>
window_passes (void)
{
  const dim3 block (Method::block_width, Method::block_height);
  const dim3 rows (
      Method::row_outputs * Method::block_width, Method::block_height);
  const dim3 columns (
      Method::block_width, Method::column_outputs * Method::block_height);

  static_assert (
      Method::block_width * Method::block_height >= SEPCONV_SUM_BLOCK,
      "A block loads its taps at once, one a thread.");
  return { { window_rows<Method>, block, rows },
    { window_columns<Method>, block, columns } };
}

template <typename Method>
static bool
window_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault)
      && twopass_load (window_passes<Method> (), fault);
}

template <typename Method>
static bool
window_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return twopass_run (window_passes<Method> (), plan, part, fault);
}
