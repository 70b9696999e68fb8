/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms: every spec: one term or several, and all their combinations. Gradients and sums of three
 * taps have a kernel of their own (terms-three.cuh). One or two terms of up to 33 taps are one
 * kernel on tensor cores (terms-tensor.cuh). Everything else takes two passes
 * (terms-passes.cuh). */
#include "terms-passes.cuh"
#include "terms-tensor.cuh"
#include "terms-three.cuh"

#include <float.h>

/* Limits of the size of terms, relative to the picture's levels, within which their squares stay in
 * the range of FP32. */
#define LARGEST_TERM 1e12
#define SMALLEST_TERM 1e-12

/* Whether FP32 has the promised accuracy and does not overflow. The y taps of SUM include the
 * scale, so the limits of its gain limit the scale, too. For other combinations, terms that are all
 * zero put no limit on the scale, so it is tested by itself. */
static bool
float_suits (const SepconvPlan *plan)
{
  if (!plan->float_holds || plan->combine == SEPCONV_SUM)
    return plan->float_holds;
  if (fabs (plan->scale) > FLT_MAX)
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int t = 0; t < plan->n_terms[p]; t++) {
      const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);
      const double norm = taps_norm (&taps->x) * taps_norm (&taps->y);

      if (norm > LARGEST_TERM || (norm > 0.0 && norm < SMALLEST_TERM))
        return false;
    }
  return true;
}

struct TermsState : TwopassState
{
  TermsThree three;
  TermsTensor tensor;
};

static bool
terms_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  TermsState *state = (TermsState *) plan->state;

  if (terms_three_suits (plan, &state->three))
    return terms_three_run (plan, &state->three, part, fault);
  if (terms_tensor_suits (plan, &state->tensor))
    return terms_tensor_run (plan, &state->tensor, part, fault);
  return float_suits (plan) ? terms_run_passes<float> (plan, part, fault)
                            : terms_run_passes<double> (plan, part, fault);
}

static bool
terms_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare_taps (plan, sizeof (TermsState), fault)
      && terms_tensor_prepare (
          plan, &((TermsState *) plan->state)->tensor, fault)
      && twopass_load (terms_passes<float> (), fault)
      && twopass_load (terms_passes<double> (), fault);
}

static void
terms_release (SepconvPlan *plan)
{
  if (plan->state != NULL)
    terms_tensor_release (&((TermsState *) plan->state)->tensor);
  twopass_release (plan);
}

/* Whether the kernels of terms-three most likely suit the work. */
static bool
has_three_taps (const SepconvWork *work)
{
  return work->combine != SEPCONV_UNSHARP && work->terms == 2
      && work->longest == 3 && work->packed
      && (work->whole || work->combine != SEPCONV_SUM);
}

static double
three_cost (const SepconvWork *work)
{
  const bool two = work->sample_bytes > 1;
  const double more = work->combine == SEPCONV_DIRECTION ? 1.0 : 0.0;

  if (work->order == GPU_BESIDE_KERNELS)
    return 0.4 + work->samples * ((two ? 1.1 : 0.57) + more);
  return 4.5 + work->samples * ((two ? 1.1 : 0.7) + more);
}

/* On tensor cores: more than the cost of `tensor` for as many taps, and a share more for each
 * further term. In two passes, as for a single kernel, which `tensor` does better: 1.5 times the
 * cost of `shared`, whose passes these are, and the time to write and read the sums of further
 * terms. */
static double
terms_cost (const SepconvWork *work)
{
  const double k = work->longest > 17 ? 3.0 : 2.0, s = work->samples;
  const bool two = work->sample_bytes > 1;
  const bool plain = work->combine == SEPCONV_SUM && work->terms == 1;
  const double more = 1.0 + (two ? 0.5 : 0.2) * (work->terms - 1);

  if (has_three_taps (work))
    return three_cost (work);
  if (plain || work->longest > 33 || work->terms > 2 || work->channels == 3
      || !work->packed)
    return 1.5 * twopass_cost (work, 0.31) + 4.0 * s * (work->terms - 1);
  if (work->order == GPU_BESIDE_KERNELS)
    return more * (0.5 + 0.5 * k + s * (two ? 1.1 + 0.3 * k : 0.45 + 0.06 * k));
  return more
      * ((two ? 1.8 : 1.1) * k + 1.0
          + s * (two ? 1.2 + 0.4 * k : 0.5 + 0.08 * k));
}

extern "C" const SepconvMethodOps sepconv_terms_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = true,
  .supports = NULL,
  .cost = terms_cost,
  .prepare = terms_prepare,
  .release = terms_release,
  .run = terms_run,
  .overlaps = true,
  .turns = NULL,
  .counts = NULL,
};
