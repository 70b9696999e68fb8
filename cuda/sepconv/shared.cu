/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shared: a tile and its halo in shared memory, row by row.
 *
 * Samples that neighbouring results share are loaded and converted once a block instead of once
 * a tap, and each tap is fetched once for several sums.
 *
 * A row of threads is a warp: 32 neighbours of one row in both passes, for loads and for sums.
 * Whatever the pitch, their words lie in 32 different banks: there are no bank conflicts. */
#include "window.cuh"

struct Shared
{
  static constexpr int block_width = 32, block_height = 8;
  static constexpr int row_outputs = 4, column_outputs = 8;

  template <int Width, int Height> struct Window
  {
    float sample[Height][Width];

    __device__ __forceinline__ float &
    at (int x, int y)
    {
      return sample[y][x];
    }
  };
};

static double
shared_cost (const SepconvWork *work)
{
  return twopass_cost (work, 0.31);
}

extern "C" const SepconvMethodOps sepconv_shared_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = sepconv_float_holds,
  .cost = shared_cost,
  .prepare = window_prepare<Shared>,
  .release = twopass_release,
  .run = window_run<Shared>,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
