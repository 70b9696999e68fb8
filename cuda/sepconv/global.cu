/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* global: one thread per sample, taps and samples by plain global loads.
 *
 * The simplest CUDA method. It takes every spec: where float sums would miss the
 * promised accuracy, it computes in double. Neighbouring threads load mostly the
 * same samples, which the caches serve; each tap still costs two loads and the
 * border's test. */
#include "pointwise.cuh"

static double
global_cost (const SepconvWork *work)
{
  return twopass_cost (work, 1.84);
}

extern "C" const SepconvMethodOps sepconv_global_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = NULL,
  .cost = global_cost,
  .prepare = pointwise_memory_prepare<PlainLoad>,
  .release = twopass_release,
  .run = pointwise_memory_run<PlainLoad>,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
