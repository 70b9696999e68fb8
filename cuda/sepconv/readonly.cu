/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* readonly: `global`, but every load of a tap, a sample or a sum is told that what
 * it reads does not change while the kernel runs, and goes by the read-only path
 * (ld.global.nc).
 *
 * Before sm_70 that path has a cache of its own, the texture units'; since then
 * it is the first-level cache that plain loads use as well, and what is left of
 * the difference is the order that the compiler may give loads and stores. That
 * little difference is the lesson: compare it with `global`.
 *
 * Invariant: a kernel writes nothing that it reads. The row pass reads the source
 * and writes sums, the column pass reads sums and writes codes; rows of the
 * source that come in meanwhile are not among those it reads. */
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
  .counts = NULL,
};
