/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* readonly: `global`, but taps, samples and sums are loaded by the read-only path
 * (ld.global.nc), which requires that they do not change while the kernel runs.
 *
 * Before sm_70 that path uses a cache of its own, the texture units'. Since then it
 * uses the L1 cache like plain loads, and the only difference left is that the
 * compiler may reorder these loads and stores. How small that difference is, a
 * comparison with `global` shows.
 *
 * Invariant: no kernel writes memory that it reads. The row pass reads the source
 * and writes sums; the column pass reads sums and writes codes. Rows of the source
 * that arrive while a kernel runs are not among the rows that it reads. */
#include "pointwise.cuh"

struct ReadonlyLoad
{
  template <typename Value>
  static __device__ __forceinline__ Value
  load (const Value *at)
  {
    return __ldg (at);
  }
};

static double
readonly_cost (const SepconvWork *work)
{
  return twopass_cost (work, 2.1);
}

extern "C" const SepconvMethodOps sepconv_readonly_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = NULL,
  .cost = readonly_cost,
  .prepare = pointwise_memory_prepare<ReadonlyLoad>,
  .release = twopass_release,
  .run = pointwise_memory_run<ReadonlyLoad>,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
