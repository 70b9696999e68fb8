/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms: every spec: one term or several, and all their combinations. */
#include "terms-passes.cuh"

/* Terms that are as large or as small as this beside the picture's levels, or larger and
 * smaller, keep their squares within single precision. */
#define LARGEST_TERM 1e12
#define SMALLEST_TERM 1e-12

/* Whether single precision keeps the promised accuracy, and does not overflow. The y taps of
 * SUM have the scale in them, and with that the limits of its gain. */
static bool
float_suits (const SepconvPlan *plan)
{
  if (!plan->float_holds || plan->combine == SEPCONV_SUM)
    return plan->float_holds;
  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int t = 0; t < plan->n_terms[p]; t++) {
      const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);
      const double norm = taps_norm (&taps->x) * taps_norm (&taps->y);

      if (norm > LARGEST_TERM || (norm > 0.0 && norm < SMALLEST_TERM))
        return false;
    }
  return true;
}

static bool
terms_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return float_suits (plan) ? terms_run_passes<float> (plan, part, fault)
                            : terms_run_passes<double> (plan, part, fault);
}

static bool
terms_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare_taps (plan, sizeof (TwopassState), fault)
      && twopass_load (terms_passes<float> (), fault)
      && twopass_load (terms_passes<double> (), fault);
}

/* An estimate until it is measured: what `shared` takes, whose passes these are, and that
 * sums of further terms are written and read, too. */
static double
terms_cost (const SepconvWork *work)
{
  return 1.5 * twopass_cost (work, 0.31)
      + 4.0 * work->samples * (work->terms - 1);
}

extern "C" const SepconvMethodOps sepconv_terms_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = true,
  .supports = NULL,
  .cost = terms_cost,
  .prepare = terms_prepare,
  .release = twopass_release,
  .run = terms_run,
  .overlaps = false,
  .counts = NULL,
};
