/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* warp: one thread per sample, one set of counters per warp in shared memory.
 *
 * Unlike in `shared`, warps do not contend, which helps flat pictures; lanes still do. The
 * sets take time to clear and to sum, and memory: fewer bins are possible than in `shared`. */
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
