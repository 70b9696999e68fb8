/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transposed: `shared` with its window stored column by column, kept for comparison.
 *
 * The work is the same to the last addition; only the neighbours x and x + 1 of a row
 * lie a whole column apart. In the row pass columns are 8 words long, so the 32 threads
 * of a warp find their words in 4 banks: an 8-way bank conflict. In the column pass
 * they are 96 words long, a multiple of the 32 banks, so all words lie in one bank: a
 * 32-way conflict. This is the price of an index order that looks innocent; the layouts
 * of `shared` and `shared-padded` avoid it. */
#include "window.cuh"

struct Transposed
{
  static constexpr int block_width = 32, block_height = 8;
  static constexpr int row_outputs = 4, column_outputs = 8;

  template <int Width, int Height> struct Window
  {
    float sample[Width][Height];

    __device__ __forceinline__ float &
    at (int x, int y)
    {
      return sample[x][y];
    }
  };
};

static double
transposed_cost (const SepconvWork *work)
{
  return twopass_cost (work, 5.0);
}

extern "C" const SepconvMethodOps sepconv_transposed_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = sepconv_float_holds,
  .cost = transposed_cost,
  .prepare = window_prepare<Transposed>,
  .release = twopass_release,
  .run = window_run<Transposed>,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
