/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shared: one thread per sample, one set of counters per block in shared memory.
 *
 * Atomics stay within a multiprocessor. Warps of a block contend for the same counters, and
 * lanes of a warp for the same banks: noise in 256 bins puts up to four lanes in one. */
#include "plain.cuh"

typedef PlainShared<PLAIN_THREADS> PerBlock;

static double
shared_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 6.0;
}

extern "C" const HistoMethodOps histo_shared_ops = {
  .min_capability = 0,
  .supports = plain_supports<PerBlock>,
  .cost = shared_cost,
  .prepare = plain_prepare<PerBlock>,
  .release = counters_release,
  .run = plain_run<PerBlock>,
  .overlaps = false,
};
