/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* global: one thread per sample, one atomic in global memory per sample.
 *
 * The simplest CUDA method, and the only one for any number of bins. Every atomic goes to
 * the L2; for a flat picture all go to one address, one after the other. */
#include "plain.cuh"

static double
global_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 20.0;
}

extern "C" const HistoMethodOps histo_global_ops = {
  .min_capability = 0,
  .supports = NULL,
  .cost = global_cost,
  .prepare = plain_prepare<PlainGlobal>,
  .release = counters_release,
  .run = plain_run<PlainGlobal>,
  .overlaps = false,
};
