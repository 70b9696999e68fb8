/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shared: a tile and its halo in shared memory.
 *
 * The halo of a long kernel does not fit, so the taps are walked in blocks of
 * SEPCONV_SUM_BLOCK: for each, the block of threads loads the part of the window
 * that these taps weigh, as floats, and adds the products to sums in registers.
 * Shared memory is the same for 3 taps and for 4097.
 *
 * A warp is 32 neighbours of one row in both passes, for loads and for sums, and
 * rows are a multiple of 32 words: every access of a warp touches 32 different
 * banks. */
#include "twopass.cuh"

#define WARP 32
#define WARPS 8

/* Row pass: a tile of WARPS rows, each thread sums every 32nd of a row. */
#define ROW_OUTPUTS 4
#define ROW_TILE (ROW_OUTPUTS * WARP)
#define ROW_WINDOW (ROW_TILE + SEPCONV_SUM_BLOCK)

/* Column pass: a tile of 32 columns, each thread sums every 8th of a column. */
#define COLUMN_OUTPUTS 8
#define COLUMN_TILE (COLUMN_OUTPUTS * WARPS)
#define COLUMN_WINDOW (COLUMN_TILE + SEPCONV_SUM_BLOCK)

static __global__ void
shared_rows (const TwopassFrame<float> frame)
{
  __shared__ float window[WARPS][ROW_WINDOW];
  __shared__ float taps[SEPCONV_SUM_BLOCK];
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int lane = threadIdx.x;
  const int x0 = blockIdx.x * ROW_TILE;
  const int y0 = channel.fresh.first + blockIdx.y * WARPS;
  const int y = y0 + threadIdx.y;
  float sum[ROW_OUTPUTS] = {};

  if (!channel.filter || x0 >= channel.width || y0 >= channel.fresh.last)
    return; /* the whole block */

  for (int first = 0; first < channel.nx; first += SEPCONV_SUM_BLOCK) {
    const int n = min (SEPCONV_SUM_BLOCK, channel.nx - first);
    const int left = x0 + first - channel.nx / 2;
    float part[ROW_OUTPUTS] = {};

    if (y < channel.fresh.last) {
      const uint8_t *row = channel.src + y * channel.src_stride;

      for (int i = lane; i < ROW_TILE + n - 1; i += WARP)
        window[threadIdx.y][i] =
            load_sample (channel, row, left + i, frame.border);
    }
    if (threadIdx.y == 0 && lane < n)
      taps[lane] = channel.tx[first + lane];
    __syncthreads ();
    if (y < channel.fresh.last)
      for (int i = 0; i < n; i++) {
        const float tap = taps[i];

#pragma unroll
        for (int k = 0; k < ROW_OUTPUTS; k++)
          part[k] = multiply_add (
              tap, window[threadIdx.y][k * WARP + lane + i], part[k]);
      }
    __syncthreads ();
#pragma unroll
    for (int k = 0; k < ROW_OUTPUTS; k++)
      sum[k] += part[k];
  }

  if (y < channel.fresh.last)
#pragma unroll
    for (int k = 0; k < ROW_OUTPUTS; k++)
      if (x0 + k * WARP + lane < channel.width)
        channel.sums[(size_t) y * channel.width + x0 + k * WARP + lane] =
            sum[k];
}

static __global__ void
shared_columns (const TwopassFrame<float> frame)
{
  __shared__ float window[COLUMN_WINDOW][WARP];
  __shared__ float taps[SEPCONV_SUM_BLOCK];
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int x = blockIdx.x * WARP + lane;
  const int y0 = channel.result.first + blockIdx.y * COLUMN_TILE;
  float sum[COLUMN_OUTPUTS] = {};

  if (blockIdx.x * WARP >= channel.width || y0 >= channel.result.last)
    return; /* the whole block */
  if (!channel.filter) {
    if (x < channel.width)
      for (int y = y0 + warp; y < min (y0 + COLUMN_TILE, channel.result.last);
           y += WARPS)
        copy_sample (channel, x, y);
    return;
  }

  for (int first = 0; first < channel.ny; first += SEPCONV_SUM_BLOCK) {
    const int n = min (SEPCONV_SUM_BLOCK, channel.ny - first);
    const int top = y0 + first - channel.ny / 2;
    float part[COLUMN_OUTPUTS] = {};

    if (x < channel.width)
      for (int i = warp; i < COLUMN_TILE + n - 1; i += WARPS)
        window[i][lane] = load_sum (channel, x, top + i, frame.border);
    if (warp == 0 && lane < n)
      taps[lane] = channel.ty[first + lane];
    __syncthreads ();
    if (x < channel.width)
      for (int i = 0; i < n; i++) {
        const float tap = taps[i];

#pragma unroll
        for (int k = 0; k < COLUMN_OUTPUTS; k++)
          part[k] =
              multiply_add (tap, window[k * WARPS + warp + i][lane], part[k]);
      }
    __syncthreads ();
#pragma unroll
    for (int k = 0; k < COLUMN_OUTPUTS; k++)
      sum[k] += part[k];
  }

  if (x < channel.width)
#pragma unroll
    for (int k = 0; k < COLUMN_OUTPUTS; k++)
      if (y0 + k * WARPS + warp < channel.result.last)
        store_sample (channel, x, y0 + k * WARPS + warp, sum[k]);
}

static bool
shared_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  const dim3 block (WARP, WARPS);
  TwopassFrame<float> frame;
  TwopassExtent extent;
  bool ok = false;
  dim3 rows, columns;

  if (!twopass_begin (plan, part, &frame, &extent, fault))
    return false;
  rows = dim3 ((extent.width + ROW_TILE - 1) / ROW_TILE,
      (extent.fresh + WARPS - 1) / WARPS, extent.channels);
  columns = dim3 ((extent.width + WARP - 1) / WARP,
      (extent.result + COLUMN_TILE - 1) / COLUMN_TILE, extent.channels);
  if (extent.fresh > 0)
    shared_rows<<<rows, block, 0, part->stream>>> (frame);
  GPU_CHECK (cudaGetLastError (), fault);
  if (extent.result > 0)
    shared_columns<<<columns, block, 0, part->stream>>> (frame);
  GPU_CHECK (cudaGetLastError (), fault);
  ok = true;
done:
  return ok;
}

static bool
shared_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault)
      && twopass_load_kernel ((const void *) shared_rows, fault)
      && twopass_load_kernel ((const void *) shared_columns, fault);
}

static double
shared_cost (const SepconvSpec *spec, const Image *layout)
{
  double cost = 0.0;

  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0)
      cost += 0.5 * (spec->plane[p].x->n + spec->plane[p].y->n);
  return cost;
}

extern "C" const SepconvMethodOps sepconv_shared_ops = {
  true,
  sepconv_float_holds,
  shared_cost,
  shared_prepare,
  twopass_release,
  shared_run,
};
