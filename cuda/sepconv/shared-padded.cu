/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shared-padded: `shared` with blocks narrower than a warp, and padded rows of shared memory.
 *
 * In a block of 16 x 16 a warp is two rows of 16 threads. Its accesses go to 16 neighbours of
 * one row of the window and to 16 of the next, one pitch further: with a pitch of 96 words, a
 * multiple of the 32 banks, they would hit the same 16 banks, a two-way bank conflict. The
 * second row must begin at the bank after the last one of the first: the pitch must be
 * block_width more than a multiple of 32,
 *
 *   32 * n = row + (32 - block_width) + padding,  pitch = row + padding
 *
 * for the smallest padding >= 0. Invariant: with that pitch the 32 / block_width rows of a warp
 * fill all banks once, for every block_width that divides 32, in both passes, for loads and for
 * sums. No padding is needed for blocks as wide as a warp, whose pitch does not matter, nor in
 * the column pass, whose rows are block_width words long. */
#include "window.cuh"

#define BANKS 32

struct SharedPadded
{
  static constexpr int block_width = 16, block_height = 16;
  static constexpr int row_outputs = 4, column_outputs = 4;

  template <int Width, int Height> struct Window
  {
    static constexpr int unpadded = Width + (BANKS - block_width);
    static constexpr int padding = (BANKS - unpadded % BANKS) % BANKS;
    static constexpr int pitch = Width + padding;
    float sample[Height][pitch];

    __device__ __forceinline__ float &
    at (int x, int y)
    {
      static_assert (pitch % BANKS == block_width % BANKS,
          "The rows of a warp share banks.");
      return sample[y][x];
    }
  };
};

static_assert (BANKS % SharedPadded::block_width == 0,
    "A warp is not a whole number of rows.");

static double
shared_padded_cost (const SepconvWork *work)
{
  return twopass_cost (work, 0.345);
}

extern "C" const SepconvMethodOps sepconv_shared_padded_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = sepconv_float_holds,
  .cost = shared_padded_cost,
  .prepare = window_prepare<SharedPadded>,
  .release = twopass_release,
  .run = window_run<SharedPadded>,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
