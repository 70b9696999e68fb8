/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tile-l2: the tile in shared memory, without its halo.
 *
 * A neighbour inside the tile is read from shared memory. A neighbour outside is loaded
 * from global memory and should be in a cache, since the adjacent block has loaded it
 * for its own tile. In return, a block loads each sample once, one per thread, and
 * needs no shared memory for a halo, however long the kernel. The price is a branch per
 * tap; and with a halo longer than the tile, most taps are global loads.
 *
 * A row of threads is a warp: it reads 32 neighbours in one row of the tile, in 32
 * different banks, so that no access has a bank conflict. */
#include "twopass.cuh"

#define TILE 32
#define THREADS (TILE * TILE)

static __global__ void
__launch_bounds__ (THREADS) tile_rows (const TwopassFrame<float> frame)
{
  __shared__ float tile[TILE][TILE];
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int x0 = blockIdx.x * TILE, x1 = min (x0 + TILE, channel.width);
  const int y0 = channel.fresh.first + blockIdx.y * TILE;
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  const bool inside = x < channel.width && y < channel.fresh.last;
  const uint8_t *row = channel.src + y * channel.src_stride;
  const int left = x - channel.nx / 2;

  if (!channel.filter || x0 >= channel.width || y0 >= channel.fresh.last)
    return; /* the whole block */
  if (inside)
    tile[threadIdx.y][threadIdx.x] =
        load_sample (channel, row, x, frame.border);
  __syncthreads ();
  if (!inside)
    return;
  channel.sums[(size_t) y * channel.width + x] =
      sum_products<float> (channel.nx, [&] (int i, float part) {
        const int from = left + i;
        const float sample = from >= x0 && from < x1
            ? tile[threadIdx.y][from - x0]
            : load_sample (channel, row, from, frame.border);

        return multiply_add (channel.tx[i], sample, part);
      });
}

static __global__ void
__launch_bounds__ (THREADS) tile_columns (const TwopassFrame<float> frame)
{
  __shared__ float tile[TILE][TILE];
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int x0 = blockIdx.x * TILE;
  const int y0 = channel.result.first + blockIdx.y * TILE;
  const int y1 = min (y0 + TILE, channel.result.last);
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  const bool inside = x < channel.width && y < y1;
  const int top = y - channel.ny / 2;

  if (x0 >= channel.width || y0 >= channel.result.last)
    return; /* the whole block */
  if (!channel.filter) {
    if (inside)
      copy_sample (channel, x, y);
    return; /* the whole block */
  }
  if (inside)
    tile[threadIdx.y][threadIdx.x] = load_sum (channel, x, y, frame.border);
  __syncthreads ();
  if (!inside)
    return;
  store_sample (
      channel, x, y, sum_products<float> (channel.ny, [&] (int i, float part) {
        const int from = top + i;
        const float sum = from >= y0 && from < y1
            ? tile[from - y0][threadIdx.x]
            : load_sum (channel, x, from, frame.border);

        return multiply_add (channel.ty[i], sum, part);
      }));
}

static TwopassPasses<TwopassFrame<float>>
tile_passes (void)
{
  const dim3 block (TILE, TILE);

  return { { tile_rows, block, block }, { tile_columns, block, block } };
}

static bool
tile_l2_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return twopass_run (tile_passes (), plan, part, fault);
}

static bool
tile_l2_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault) && twopass_load (tile_passes (), fault);
}

static double
tile_l2_cost (const SepconvWork *work)
{
  return twopass_cost (work, 2.1);
}

extern "C" const SepconvMethodOps sepconv_tile_l2_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = sepconv_float_holds,
  .cost = tile_l2_cost,
  .prepare = tile_l2_prepare,
  .release = twopass_release,
  .run = tile_l2_run,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
