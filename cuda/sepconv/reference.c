/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reference: the specification in plain C, for any processor: sums of samples and taps, in
 * float where that keeps the promised accuracy for the spec, else in double. */
#define ROWS_KERNELS reference_kernels
#define ROWS_ISA "any"
#define ROWS_PLAIN
#include "rows-kernels.h"

static bool
reference_prepare (SepconvPlan *plan, Fault *fault)
{
  return rows_prepare (plan, &reference_kernels, fault);
}

static double
reference_cost (const SepconvWork *work)
{
  (void) work;
  return 2.0; /* simd does the same in less */
}

const SepconvMethodOps sepconv_reference_ops = {
  .cost = reference_cost,
  .prepare = reference_prepare,
  .release = rows_release,
  .run = rows_run,
};
