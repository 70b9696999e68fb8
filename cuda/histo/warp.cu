/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* warp: one thread a sample, one set of counters a warp in shared memory.
 *
 * Warps no longer meet, which flat pictures gain from; lanes still do. The sets cost
 * time to clear and to add up, and room: fewer bins than `shared` has. */
#include "plain.cuh"

typedef PlainShared<32> PerWarp;

static double
warp_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 5.0;
}

extern "C" const HistoMethodOps histo_warp_ops = {
  .min_capability = 0,
  .supports = plain_supports<PerWarp>,
  .cost = warp_cost,
  .prepare = plain_prepare<PerWarp>,
  .release = counters_release,
  .run = plain_run<PerWarp>,
  .overlaps = false,
};
