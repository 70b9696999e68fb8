/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sepconv.h"

#include "isa.h"
#include "sepconv/box.h"
#include "sepconv/method.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A .cu method exists only in builds with CUDA; methods.def is the same in all. */
#define OPS_CPU(symbol) &sepconv_##symbol##_ops
#ifdef HAVE_CUDA
#define OPS_CUDA(symbol) &sepconv_##symbol##_ops
#else
#define OPS_CUDA(symbol) NULL
#endif

#define SEPCONV_METHOD(symbol, name, backend, description) \
  extern const SepconvMethodOps sepconv_##symbol##_ops;
#include "sepconv/methods.def"
#undef SEPCONV_METHOD

#define SEPCONV_METHOD(symbol, name, backend, description) \
  { name, description, BACKEND_##backend, OPS_##backend (symbol) },
static const SepconvMethod methods[] = {
#include "sepconv/methods.def"
};
#undef SEPCONV_METHOD

static int
max_int (int a, int b)
{
  return a > b ? a : b;
}

#define N_METHODS ((int) (sizeof methods / sizeof methods[0]))

int
sepconv_n_methods (void)
{
  return N_METHODS;
}

const SepconvMethod *
sepconv_method (int index)
{
  return index >= 0 && index < N_METHODS ? &methods[index] : NULL;
}

const SepconvMethod *
sepconv_method_by_name (const char *name)
{
  for (int i = 0; i < N_METHODS; i++)
    if (strcmp (methods[i].name, name) == 0)
      return &methods[i];
  return NULL;
}

int
sepconv_method_min_capability (const SepconvMethod *method)
{
  return method->ops != NULL ? method->ops->min_capability : 0;
}

bool
sepconv_method_overlaps (const SepconvMethod *method, const Gpu *gpu)
{
  return method->ops != NULL && method->ops->overlaps
      && gpu_overlaps_kernels (gpu);
}

static double
center_code (const ImagePlane *plane)
{
  return (double) (1 << (plane->depth - 1));
}

/* The exponent of a norm: ldexp (norm, -exponent) is in [1, 2), or the norm is 0
 * or infinite. */
static int
exponent_of (double norm)
{
  return norm > 0.0 && isfinite (norm) ? ilogb (norm) : 0;
}

/* |scale| * sum|tx| * sum|ty|, by way of factors near 1: the plain product could
 * overflow or vanish on the way. */
static double
term_gain (double scale, SepconvTerm term)
{
  const double x = taps_norm (term.x), y = taps_norm (term.y);
  const int ex = exponent_of (x), ey = exponent_of (y);

  return fabs (ldexp (scale, ex + ey)) * ldexp (x, -ex) * ldexp (y, -ey);
}

double
sepconv_gain (const SepconvSpec *spec, const SepconvPlane *plane)
{
  /* An angle does not depend on the scale, nor does its error. */
  const double scale = spec->combine == SEPCONV_DIRECTION ? 1.0 : spec->scale;
  double gain = 0.0;

  for (int t = 0; t < sepconv_n_terms (plane); t++)
    gain += term_gain (scale, sepconv_term (plane, t));
  return spec->combine == SEPCONV_UNSHARP
      ? fabs (spec->scale) * (1.0 + fabs (spec->amount))
          + fabs (spec->amount) * gain
      : gain;
}

bool
sepconv_is_plain (const SepconvSpec *spec, const Image *layout)
{
  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].n_more != 0)
      return false;
  return spec->combine == SEPCONV_SUM;
}

static bool
validate_taps (const Taps *taps, const char *axis, int plane, Fault *fault)
{
  if (taps == NULL || taps->n < 1 || taps->n > TAPS_MAX)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has %d taps along %s; 1 to %d are allowed.", plane,
        taps == NULL ? 0 : taps->n, axis, TAPS_MAX);
  for (int i = 0; i < taps->n; i++)
    if (!isfinite (taps->tap[i]))
      return fault_set (fault, FAULT_SETTINGS,
          "Tap %d along %s is not a finite number.", i, axis);
  return true;
}

/* Checks that the plane's number of terms suits the combination. */
static bool
validate_terms (
    const SepconvSpec *spec, const SepconvPlane *plane, Fault *fault)
{
  const int least =
      spec->combine == SEPCONV_MAGNITUDE || spec->combine == SEPCONV_DIRECTION
      ? 2
      : 1;
  const int most = spec->combine == SEPCONV_SUM ? TAPS_MAX_TERMS : least;
  const long long terms = 1LL + plane->n_more;

  if (plane->channels == 0 && plane->n_more == 0)
    return true; /* a plane that is copied needs no terms */
  if (terms >= least && terms <= most)
    return true;
  return fault_set (fault, FAULT_SETTINGS,
      "There are %lld terms; %d to %d are allowed here.", terms, least, most);
}

static bool
validate_plane (
    const SepconvSpec *spec, const Image *layout, int p, Fault *fault)
{
  const SepconvPlane *plane = &spec->plane[p];
  const double full = image_full_code (&layout->plane[p]);
  double gain;

  if (plane->channels >> layout->plane[p].channels != 0)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has %d channels; mask 0x%x selects others.", p,
        layout->plane[p].channels, plane->channels);
  if (!validate_terms (spec, plane, fault))
    return false;
  if (plane->channels == 0)
    return true;
  for (int t = 0; t < sepconv_n_terms (plane); t++) {
    const SepconvTerm term = sepconv_term (plane, t);

    if (!validate_taps (term.x, "x", p, fault)
        || !validate_taps (term.y, "y", p, fault))
      return false;
    gain = term_gain (1.0, term);
    if (!(gain <= SEPCONV_MAX_UNSCALED_GAIN))
      return fault_set (fault, FAULT_SETTINGS,
          "The taps alone amplify by up to %g; the limit is %g.", gain,
          SEPCONV_MAX_UNSCALED_GAIN);
  }
  gain = sepconv_gain (spec, plane);
  if (!(gain <= SEPCONV_MAX_GAIN))
    return fault_set (fault, FAULT_SETTINGS,
        "The taps and scale amplify by up to %g; the limit is %g.", gain,
        SEPCONV_MAX_GAIN);
  for (int c = 0; c < layout->plane[p].channels; c++)
    if (!(plane->zero[c] >= 0.0 && plane->zero[c] <= full)
        || !(plane->border_value[c] >= 0.0 && plane->border_value[c] <= full))
      return fault_set (fault, FAULT_SETTINGS,
          "Zero level %g or border value %g is outside the codes 0 to %g.",
          plane->zero[c], plane->border_value[c], full);
  return true;
}

bool
sepconv_validate (const SepconvSpec *spec, const Image *layout, Fault *fault)
{
  if (!image_validate (layout, fault))
    return false;
  if ((int) spec->border < SEPCONV_REPLICATE
      || (int) spec->border > SEPCONV_CONSTANT)
    return fault_set (fault, FAULT_SETTINGS, "There is no border mode %d.",
        (int) spec->border);
  if ((int) spec->combine < SEPCONV_SUM || spec->combine > SEPCONV_DIRECTION)
    return fault_set (fault, FAULT_SETTINGS,
        "There is no combination %d of terms.", (int) spec->combine);
  if (spec->combine == SEPCONV_UNSHARP
      && (!isfinite (spec->amount)
          || !(spec->threshold >= 0.0 && spec->threshold <= 1.0)))
    return fault_set (fault, FAULT_SETTINGS,
        "amount %g must be finite and threshold %g between 0 and 1.",
        spec->amount, spec->threshold);
  if (!isfinite (spec->scale) || !(fabs (spec->bias) <= SEPCONV_MAX_BIAS))
    return fault_set (fault, FAULT_SETTINGS,
        "scale %g must be finite and bias %g at most %g.", spec->scale,
        spec->bias, SEPCONV_MAX_BIAS);
  for (int p = 0; p < layout->n_planes; p++)
    if (!validate_plane (spec, layout, p, fault))
      return false;
  return true;
}

/* Whether the combined terms of a plane return their input unchanged. */
static bool
combines_to_identity (const SepconvSpec *spec, const SepconvPlane *plane)
{
  const bool taps = plane->n_more == 0 && taps_is_identity (plane->x)
      && taps_is_identity (plane->y);

  return spec->combine == SEPCONV_UNSHARP
      ? taps || spec->amount == 0.0
      : spec->combine == SEPCONV_SUM && taps;
}

bool
sepconv_is_identity (const SepconvSpec *spec, const Image *layout)
{
  for (int p = 0; p < layout->n_planes; p++) {
    const SepconvPlane *plane = &spec->plane[p];

    if (plane->channels != 0
        && (spec->scale != 1.0
            || (spec->bias != 0.0 && (plane->channels & ~plane->unbiased) != 0)
            || !combines_to_identity (spec, plane)))
      return false;
  }
  return true;
}

/* The number of roundings that one sample in a sum of n taps goes through: that of its
 * tap, those of the products and sums in its block, and those of the sum of blocks. */
static double
roundings (int n)
{
  const int block = n < SEPCONV_SUM_BLOCK ? n : SEPCONV_SUM_BLOCK;

  return 1 + block + (n + SEPCONV_SUM_BLOCK - 1) / SEPCONV_SUM_BLOCK;
}

/* The weight of a term's error in the bound. The difference that UNSHARP compares with its
 * threshold, and the terms of DIRECTION, must be accurate even if the result scales them down. */
static double
term_weight (const SepconvSpec *spec)
{
  switch (spec->combine) {
    case SEPCONV_UNSHARP:
      return fmax (1.0, fabs (spec->scale * spec->amount));
    case SEPCONV_DIRECTION:
      return 1.0;
    default:
      return spec->scale;
  }
}

/* The standard forward error bound of recursive summation (Higham, Accuracy and
 * Stability of Numerical Algorithms, 2nd ed., section 4.2, to first order):
 * |error| <= roundings * unit * sum |tap| |sample|, once per pass. */
double
sepconv_rounding_bound (
    const SepconvSpec *spec, const Image *layout, double unit)
{
  double worst = 0.0;

  for (int p = 0; p < layout->n_planes; p++) {
    const SepconvPlane *plane = &spec->plane[p];
    const double center = center_code (&layout->plane[p]);
    const double full = image_full_code (&layout->plane[p]);
    double gain, sums = 0.0, offset, bound;

    if (plane->channels == 0)
      continue;
    gain = sepconv_gain (spec, plane);
    for (int t = 0; t < sepconv_n_terms (plane); t++) {
      const SepconvTerm term = sepconv_term (plane, t);

      sums += (roundings (term.x->n) + roundings (term.y->n)) * unit
          * term_gain (term_weight (spec), term) * center;
    }
    /* |zero| and |center - zero| are at most `full`. */
    offset = full * (1.0 + fabs (spec->bias) + gain);
    bound = sums + 2.0 * unit * (offset + gain * center);
    if (worst < bound)
      worst = bound;
  }
  return worst;
}

bool
sepconv_float_holds (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  const double bound = sepconv_rounding_bound (spec, layout, 0x1p-24);
  double allowed = 0.5;

  /* The error allowed per depth, 0.75 or 1.0, minus 0.5 for rounding to a code. */
  for (int p = 0; p < layout->n_planes; p++)
    if (layout->plane[p].depth <= 12)
      allowed = 0.25;
  if (bound < allowed)
    return true;
  return fault_set (why, FAULT_UNSUPPORTED,
      "single precision could be off by %.2f code values with these taps",
      bound);
}

bool
sepconv_method_supports (const SepconvMethod *method, const SepconvSpec *spec,
    const Image *layout, const Gpu *gpu, Fault *why)
{
  if (method->ops == NULL)
    return fault_set (why, FAULT_UNSUPPORTED, "it is not in this build");
  if (!gpu_has_capability (gpu, method->ops->min_capability, why))
    return false;
  if (!method->ops->combines && !sepconv_is_plain (spec, layout))
    return fault_set (
        why, FAULT_UNSUPPORTED, "it takes a single separable kernel only");
  return method->ops->supports == NULL
      || method->ops->supports (spec, layout, why);
}

static bool
has_ends (const Taps *taps)
{
  const BoxTaps box = box_describe_taps (taps);

  return box_has_ends (&box);
}

/* How abruptly taps begin and end: the larger outermost tap, relative to the largest tap. */
static double
jump_of (const Taps *taps)
{
  double largest = 0.0;

  for (int i = 0; i < taps->n; i++)
    largest = fmax (largest, fabs (taps->tap[i]));
  return largest == 0.0
      ? 0.0
      : fmax (fabs (taps->tap[0]), fabs (taps->tap[taps->n - 1])) / largest;
}

/* Whether taps meet the condition of SepconvWork.whole. */
static bool
are_whole (const Taps *taps)
{
  double outer, middle, ratio;

  if (taps->n != 3)
    return taps->n < 3;
  outer = fabs (taps->tap[0]);
  middle = fabs (taps->tap[1]);
  ratio = outer < middle ? middle / outer : outer / middle;
  return taps->tap[0] == taps->tap[2]
      && (outer == 0.0 || middle == 0.0
          || (ratio < 32.0 && fabs (ratio - rint (ratio)) < 1e-9));
}

static void
add_taps (SepconvWork *work, SepconvTerm term, double samples)
{
  const int x = term.x->n, y = term.y->n, longer = x > y ? x : y;

  work->whole = work->whole && are_whole (term.x) && are_whole (term.y);
  work->x_taps += samples * x;
  work->y_taps += samples * y;
  if (has_ends (term.x) || has_ends (term.y))
    work->ends += samples;
  work->jump = fmax (work->jump, fmax (jump_of (term.x), jump_of (term.y)));
  if (work->longest < longer)
    work->longest = longer;
}

SepconvWork
sepconv_work (const SepconvSpec *spec, const Image *layout, GpuOrder order)
{
  SepconvWork work = { .combine = spec->combine,
    .border = spec->border,
    .order = order,
    .packed = true,
    .whole = true };

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    const double samples =
        1e-6 * plane->width * image_plane_height (layout, p) * plane->channels;

    if (spec->plane[p].channels == 0)
      continue;
    work.planes++;
    work.samples += samples;
    if (work.terms < sepconv_n_terms (&spec->plane[p]))
      work.terms = sepconv_n_terms (&spec->plane[p]);
    for (int t = 0; t < sepconv_n_terms (&spec->plane[p]); t++)
      add_taps (&work, sepconv_term (&spec->plane[p], t), samples);
    if (work.channels < plane->channels)
      work.channels = plane->channels;
    if (work.sample_bytes < image_sample_bytes (plane))
      work.sample_bytes = image_sample_bytes (plane);
    if (work.depth < plane->depth)
      work.depth = plane->depth;
    work.packed = work.packed && image_is_packed (plane);
  }
  if (work.planes > 0) {
    work.x_taps /= work.samples;
    work.y_taps /= work.samples;
    work.ends /= work.samples;
  }
  return work;
}

static const SepconvMethod *
cheapest_method (const SepconvSpec *spec, const Image *layout, Backend backend,
    const Gpu *gpu, GpuOrder order)
{
  SepconvWork work =
      sepconv_work (spec, layout, gpu_possible_order (gpu, order));
  const SepconvMethod *best = NULL;
  double best_cost = INFINITY;

  if (gpu != NULL)
    work.capability = gpu_capability (gpu);
  for (int i = 0; i < N_METHODS; i++) {
    double cost;

    if (methods[i].backend != backend || methods[i].ops == NULL)
      continue;
    /* Checking whether a method supports the spec may take longer than filtering a frame: only
     * methods with a lower cost are checked. */
    cost = methods[i].ops->cost (&work);
    if (cost < best_cost
        && sepconv_method_supports (&methods[i], spec, layout, gpu, NULL)) {
      best = &methods[i];
      best_cost = cost;
    }
  }
  return best;
}

const SepconvMethod *
sepconv_choose_method (const SepconvSpec *spec, const Image *layout,
    Backend backend, const SepconvMethod *wanted, const Gpu *gpu,
    GpuOrder order, Fault *fault)
{
  Fault why;

  if (wanted == NULL) {
    const SepconvMethod *best =
        cheapest_method (spec, layout, backend, gpu, order);

    if (best == NULL)
      fault_set (
          fault, FAULT_UNSUPPORTED, "No method in this build can do it.");
    return best;
  }
  if (wanted->backend != backend) {
    fault_set (fault, FAULT_SETTINGS, "Method %s runs on the %s only.",
        wanted->name, wanted->backend == BACKEND_CPU ? "CPU" : "GPU");
    return NULL;
  }
  if (!sepconv_method_supports (wanted, spec, layout, gpu, &why)) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "Method %s cannot do this: %s. method=auto finds one that can.",
        wanted->name, why.message);
    return NULL;
  }
  return wanted;
}

double
sepconv_bias (const SepconvSpec *spec, int p, int c)
{
  return spec->plane[p].unbiased >> c & 1 ? 0.0 : spec->bias;
}

static void
add_channel (SepconvPlan *plan, const SepconvSpec *spec, int p, int c)
{
  const ImagePlane *plane = &plan->layout.plane[p];
  const SepconvPlane *how = &spec->plane[p];
  SepconvChannel *channel = &plan->channel[plan->n_channels++];

  channel->plane = p;
  channel->memory = plane->memory;
  channel->byte_offset = plane->offset + c * plane->channel_stride;
  channel->pixel_stride = plane->pixel_stride;
  channel->width = plane->width;
  channel->sample_bytes = image_sample_bytes (plane);
  channel->shift = plane->shift;
  channel->max_code = image_full_code (plane);
  channel->filter = (how->channels >> c) & 1;
  channel->center = center_code (plane);
  channel->border = how->border_value[c] - channel->center;
  channel->zero_offset = channel->center - how->zero[c];
  channel->threshold = spec->threshold * channel->max_code;
  channel->offset = 0.0;
  if (!channel->filter)
    return;
  channel->offset =
      how->zero[c] + sepconv_bias (spec, p, c) * image_full_code (plane);
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *term = sepconv_plan_term (plan, p, t);
    const double offset =
        taps_sum (&term->x) * taps_sum (&term->y) * channel->zero_offset;

    if (plan->combine == SEPCONV_SUM)
      channel->offset += offset;
    else
      channel->term_offset[t] = offset;
  }
}

static SepconvTapScale
term_scale (double scale, SepconvTerm term)
{
  const double x = taps_norm (term.x);
  const int ex = exponent_of (x);
  const int ey = exponent_of (taps_norm (term.y));

  /* If all x taps are 0, the gain does not limit y, which might overflow float. */
  return (SepconvTapScale){ -ex, -ey, x > 0.0 ? ldexp (scale, ex + ey) : 0.0 };
}

SepconvTapScale
sepconv_tap_scale (const SepconvSpec *spec, const SepconvPlane *plane)
{
  return term_scale (spec->scale, sepconv_term (plane, 0));
}

static void
adopt_term (SepconvPlaneTaps *taps, SepconvTapScale scale, SepconvTerm term)
{
  taps->x.n = term.x->n;
  for (int i = 0; i < taps->x.n; i++)
    taps->x.tap[i] = ldexp (term.x->tap[i], scale.x_exponent);
  taps->y.n = term.y->n;
  for (int i = 0; i < taps->y.n; i++)
    taps->y.tap[i] = scale.y_factor * ldexp (term.y->tap[i], scale.y_exponent);
}

static void
adopt_plane (SepconvPlan *plan, const SepconvSpec *spec, int p)
{
  const SepconvPlane *plane = &spec->plane[p];
  const double scale = spec->combine == SEPCONV_SUM ? spec->scale : 1.0;

  adopt_term (&plan->taps[p], term_scale (scale, sepconv_term (plane, 0)),
      sepconv_term (plane, 0));
  for (int t = 1; t < plan->n_terms[p]; t++)
    adopt_term (&plan->more[p * (plan->most_terms - 1) + t - 1],
        term_scale (scale, sepconv_term (plane, t)), sepconv_term (plane, t));
}

void
sepconv_plan_adopt (SepconvPlan *plan, const SepconvSpec *spec)
{
  plan->border = spec->border;
  plan->scale = spec->scale;
  plan->amount = spec->amount;
  plan->float_holds = sepconv_float_holds (spec, &plan->layout, NULL);
  plan->n_channels = 0;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    if (spec->plane[p].channels != 0)
      adopt_plane (plan, spec, p);
    else
      plan->taps[p].x.n = plan->taps[p].y.n = 0;
    for (int c = 0; c < plan->layout.plane[p].channels; c++)
      add_channel (plan, spec, p, c);
  }
  plan->revision++;
}

/* Adopts the spec's combination and numbers of terms, and allocates their taps. */
static bool
take_terms (SepconvPlan *plan, const SepconvSpec *spec, const Image *layout)
{
  const size_t planes = (size_t) layout->n_planes;

  plan->combine = spec->combine;
  for (int p = 0; p < layout->n_planes; p++) {
    plan->n_terms[p] = sepconv_n_terms (&spec->plane[p]);
    if (plan->most_terms < plan->n_terms[p])
      plan->most_terms = plan->n_terms[p];
  }
  plan->taps = calloc (planes, sizeof *plan->taps);
  if (plan->most_terms > 1)
    plan->more =
        calloc (planes * (size_t) (plan->most_terms - 1), sizeof *plan->more);
  if (plan->taps != NULL && (plan->more != NULL || plan->most_terms == 1))
    return true;
  free (plan->taps);
  free (plan->more);
  return false;
}

SepconvPlan *
sepconv_plan_new_bare (
    const SepconvSpec *spec, const Image *layout, Fault *fault)
{
  SepconvPlan *plan = calloc (1, sizeof *plan);

  if (plan == NULL || !take_terms (plan, spec, layout)) {
    free (plan);
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for a filter's taps.");
    return NULL;
  }
  plan->layout = plan->most = *layout;
  plan->shape = 1;
  sepconv_plan_adopt (plan, spec);
  return plan;
}

SepconvPlan *
sepconv_plan_new (const SepconvSpec *spec, const Image *layout, Backend backend,
    const SepconvMethod *method, Gpu *gpu, Fault *fault)
{
  SepconvPlan *plan;

  if (!sepconv_validate (spec, layout, fault))
    return NULL;
  method = sepconv_choose_method (
      spec, layout, backend, method, gpu, GPU_AFTER_KERNELS, fault);
  if (method == NULL
      || (method->backend == BACKEND_CPU && !isa_check_environment (fault)))
    return NULL;

  plan = sepconv_plan_new_bare (spec, layout, fault);
  if (plan == NULL)
    return NULL;
  plan->method = method;
  plan->gpu = gpu;
  if (!method->ops->prepare (plan, fault)) {
    sepconv_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
sepconv_plan_free (SepconvPlan *plan)
{
  if (plan == NULL)
    return;
  if (plan->method != NULL) {
    plan->method->ops->release (plan);
    for (int i = 0; i < GPU_MAX_TURNS - 1; i++)
      if (plan->other_state[i] != NULL) {
        plan->state = plan->other_state[i];
        plan->method->ops->release (plan);
      }
  }
  free (plan->more);
  free (plan->taps);
  free (plan);
}

bool
sepconv_plan_has_terms (const SepconvPlan *plan, const SepconvSpec *spec)
{
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (plan->n_terms[p] != sepconv_n_terms (&spec->plane[p]))
      return false;
  return plan->combine == spec->combine;
}

bool
sepconv_plan_update (SepconvPlan *plan, const SepconvSpec *spec, Fault *fault)
{
  if (!sepconv_plan_has_terms (plan, spec))
    return fault_set (fault, FAULT_UNSUPPORTED,
        "A plan keeps the number of its terms and their combination.");
  if (!sepconv_validate (spec, &plan->layout, fault)
      || sepconv_choose_method (spec, &plan->layout, plan->method->backend,
             plan->method, plan->gpu, GPU_AFTER_KERNELS, fault)
          == NULL)
    return false;
  sepconv_plan_adopt (plan, spec);
  return true;
}

/* Whether `layout` has the planes of `most`, apart from sizes, none of which is larger. */
static bool
is_smaller (const Image *layout, const Image *most)
{
  if (layout->n_planes != most->n_planes
      || layout->n_memories != most->n_memories)
    return false;
  for (int m = 0; m < most->n_memories; m++)
    if (layout->memory[m].height > most->memory[m].height)
      return false;
  for (int p = 0; p < most->n_planes; p++) {
    ImagePlane plane = layout->plane[p];

    if (plane.width > most->plane[p].width)
      return false;
    plane.width = most->plane[p].width;
    if (memcmp (&plane, &most->plane[p], sizeof plane) != 0)
      return false;
  }
  return true;
}

bool
sepconv_plan_reshape (SepconvPlan *plan, const Image *layout, Fault *fault)
{
  if (plan->method->backend != BACKEND_CPU)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Only plans of the CPU take pictures of other sizes.");
  if (!image_validate (layout, fault))
    return false;
  if (!is_smaller (layout, &plan->most))
    return fault_set (fault, FAULT_SETTINGS,
        "A plan takes smaller pictures with the same planes only.");
  plan->layout = *layout;
  for (int i = 0; i < plan->n_channels; i++)
    plan->channel[i].width = layout->plane[plan->channel[i].plane].width;
  plan->shape++;
  return true;
}

const SepconvMethod *
sepconv_plan_method (const SepconvPlan *plan)
{
  return plan->method;
}

/* Whether an image has the plan's planes, and no more rows. */
static bool
fits_plan (const SepconvPlan *plan, const Image *image)
{
  const Image *layout = &plan->layout;

  if (image->n_planes != layout->n_planes
      || image->n_memories != layout->n_memories)
    return false;
  for (int m = 0; m < layout->n_memories; m++)
    if (image->memory[m].height < 0
        || image->memory[m].height > layout->memory[m].height)
      return false;
  return memcmp (image->plane, layout->plane,
             sizeof image->plane[0] * (size_t) layout->n_planes)
      == 0;
}

/* The rows of dst that can be finished with the first `ready` rows of src. */
static int
rows_within (const SepconvPlan *plan, int memory, int ready, int height)
{
  int rows = ready;

  if (ready >= height)
    return height;
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    int above = 0, below = 0;

    if (channel->memory != memory || !channel->filter)
      continue;
    for (int t = 0; t < plan->n_terms[channel->plane]; t++) {
      const int ny = sepconv_plan_term (plan, channel->plane, t)->y.n;

      above = max_int (above, ny / 2);
      below = max_int (below, ny - 1 - ny / 2);
    }
    /* With a wrap, the top row needs the bottom row. With a reflection it needs as many
     * rows below it as there are taps above the anchor. */
    if ((plan->border == SEPCONV_WRAP && above > 0) || ready <= above)
      return 0;
    if (rows > ready - below)
      rows = ready - below;
  }
  return rows < 0 ? 0 : rows;
}

bool
sepconv_plan_in_parts (const SepconvPlan *plan)
{
  const int height = plan->layout.memory[0].height;

  return plan->method->ops->in_parts
      && (plan->layout.n_memories > 1
          || rows_within (plan, 0, height - 1, height) > 0);
}

/* sepconv_plan_advance(), for a part whose images, stream and order are set, and its
 * histogram or window if it has one. */
static bool
advance (SepconvPlan *plan, SepconvPart *part,
    const ImageRows fresh[IMAGE_MAX_MEMORIES], int done[IMAGE_MAX_MEMORIES],
    Fault *fault)
{
  TRACE_BLOCK (TRACE_FILTER, 0);
  const Image *src = part->src, *dst = part->dst;
  bool all = true;

  part->order = gpu_possible_order (plan->gpu, part->order);
  if (!fits_plan (plan, src) || !image_same_layout (src, dst))
    return fault_set (fault, FAULT_SETTINGS,
        "The images do not have the layout that the filter was made for.");
  if (plan->method->backend == BACKEND_CUDA
      && (!image_suits_gpu (src, fault) || !image_suits_gpu (dst, fault)))
    return false;
  for (int m = 0; m < src->n_memories; m++)
    all = all && fresh[m].last >= src->memory[m].height;
  if (!all && !plan->method->ops->in_parts)
    return true; /* the last part does all the work */
  for (int m = 0; m < src->n_memories; m++) {
    const int height = src->memory[m].height;

    part->fresh[m] = fresh[m];
    if (!plan->method->ops->in_parts)
      part->fresh[m].first = 0;
    part->result[m].first = done[m];
    done[m] = rows_within (plan, m, fresh[m].last, height);
    part->result[m].last = done[m];
  }
  return plan->method->ops->run (plan, part, fault);
}

bool
sepconv_plan_advance (SepconvPlan *plan, const Image *src, const Image *dst,
    const ImageRows fresh[IMAGE_MAX_MEMORIES], int done[IMAGE_MAX_MEMORIES],
    GpuStream stream, GpuOrder order, Fault *fault)
{
  SepconvPart part = {
    .src = src, .dst = dst, .stream = stream, .order = order
  };

  return advance (plan, &part, fresh, done, fault);
}

/* Runs a whole frame as one part. */
static bool
run (SepconvPlan *plan, SepconvPart *part, Fault *fault)
{
  ImageRows fresh[IMAGE_MAX_MEMORIES] = { { 0 } };
  int done[IMAGE_MAX_MEMORIES] = { 0 };

  for (int m = 0; m < part->src->n_memories && m < IMAGE_MAX_MEMORIES; m++)
    fresh[m].last = part->src->memory[m].height;
  return advance (plan, part, fresh, done, fault);
}

bool
sepconv_plan_run (SepconvPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  SepconvPart part = {
    .src = src, .dst = dst, .stream = stream, .order = order
  };

  return run (plan, &part, fault);
}

int
sepconv_turns_of_size (const SepconvPlan *plan, int most, double least)
{
  double samples = 0.0;

  for (int i = 0; i < plan->n_channels; i++)
    samples += (double) plan->channel[i].width
        * sepconv_channel_height (&plan->channel[i], &plan->layout);
  return samples < least * gpu_multiprocessors (plan->gpu) ? 1 : most;
}

int
sepconv_plan_turns (const SepconvPlan *plan)
{
  const SepconvMethodOps *ops = plan->method->ops;

  return ops->turns != NULL ? ops->turns (plan) : 1;
}

/* Methods use plan->state: during a run of another turn, it is the state of that turn. */
static void
swap_states (SepconvPlan *plan, int turn)
{
  void *state = plan->state;

  plan->state = plan->other_state[turn - 1];
  plan->other_state[turn - 1] = state;
}

static bool
reserve_turn (SepconvPlan *plan, int turn, Fault *fault)
{
  bool ok;

  if (plan->other_state[turn - 1] != NULL)
    return true;
  swap_states (plan, turn);
  ok = plan->method->ops->prepare (plan, fault);
  if (!ok) {
    plan->method->ops->release (plan);
    plan->state = NULL;
  }
  swap_states (plan, turn);
  return ok;
}

bool
sepconv_plan_reserve_turns (SepconvPlan *plan, int turns, Fault *fault)
{
  for (int turn = 1; turn < turns; turn++)
    if (!reserve_turn (plan, turn, fault))
      return false;
  return true;
}

bool
sepconv_plan_run_in_turn (SepconvPlan *plan, const Image *src, const Image *dst,
    int turn, GpuStream stream, GpuOrder order, Fault *fault)
{
  bool ok;

  if (turn < 0 || turn >= GPU_MAX_TURNS)
    return fault_set (fault, FAULT_SETTINGS,
        "A plan has the turns 0 to %d, and no turn %d.", GPU_MAX_TURNS - 1,
        turn);
  if (turn == 0)
    return sepconv_plan_run (plan, src, dst, stream, order, fault);
  if (!reserve_turn (plan, turn, fault))
    return false;
  swap_states (plan, turn);
  ok = sepconv_plan_run (plan, src, dst, stream, order, fault);
  swap_states (plan, turn);
  return ok;
}

bool
sepconv_plan_run_window (SepconvPlan *plan, const Image *src, const Image *dst,
    const SepconvWindow window[IMAGE_MAX_PLANES], Fault *fault)
{
  SepconvPart part = {
    .src = src, .dst = dst, .order = GPU_AFTER_KERNELS, .window = window
  };

  if (plan->method->backend != BACKEND_CPU)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Method %s of a GPU has no windows.", plan->method->name);
  return run (plan, &part, fault);
}

bool
sepconv_plan_counts (SepconvPlan *plan, const HistoPlan *histo)
{
  return plan->method->ops->counts != NULL
      && histo->method->backend == plan->method->backend
      && histo->layout.n_planes == plan->layout.n_planes
      && memcmp (histo->layout.plane, plan->layout.plane,
             sizeof histo->layout.plane[0] * (size_t) histo->layout.n_planes)
      == 0
      && plan->method->ops->counts (plan, histo);
}

bool
sepconv_plan_run_counting (SepconvPlan *plan, const Image *src,
    const Image *dst, HistoPlan *histo, HistoResult *result, GpuStream stream,
    GpuOrder order, Fault *fault)
{
  SepconvPart part = { .src = src,
    .dst = dst,
    .stream = stream,
    .order = order,
    .histo = histo,
    .counted = result };

  if (!sepconv_plan_counts (plan, histo))
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Method %s cannot count this histogram of its result.",
        plan->method->name);
  return histo_plan_accepts (histo, dst, result, fault)
      && run (plan, &part, fault);
}
