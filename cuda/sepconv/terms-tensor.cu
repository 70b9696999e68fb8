/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-tensor: the host side: which specs the method suits, the choice of a variant, and
 * launches. */
#include "terms-march.cuh"

#include "../gpu-check.h"

#include <math.h>

/* Ordered by parts, and then by steps. Samples of two bytes need taps of two parts. */
#define VARIANTS_OF(mode) \
  terms_variant<2, 1, 1, false, mode> (), \
      terms_variant<2, 1, 1, true, mode> (), \
      terms_variant<3, 1, 1, false, mode> (), \
      terms_variant<3, 1, 1, true, mode> (), \
      terms_variant<2, 2, 1, false, mode> (), \
      terms_variant<2, 2, 1, true, mode> (), \
      terms_variant<3, 2, 1, false, mode> (), \
      terms_variant<3, 2, 1, true, mode> (), \
      terms_variant<2, 2, 2, false, mode> (), \
      terms_variant<3, 2, 2, false, mode> ()

static const TermsTensorVariant variants[] = {
  VARIANTS_OF (TERMS_SHARPEN),
  VARIANTS_OF (TERMS_SHARPEN_ABOVE),
  VARIANTS_OF (TERMS_ADD),
  VARIANTS_OF (TERMS_GRADIENT),
  VARIANTS_OF (TERMS_ANGLE),
};

#define N_SHALLOW ((int) (sizeof variants / sizeof variants[0]))
#define N_VARIANTS (N_SHALLOW + TERMS_N_DEEP)

static const TermsTensorVariant *
variant_at (int i)
{
  return i < N_SHALLOW ? &variants[i] : &terms_deep_variants[i - N_SHALLOW];
}

static TermsMode
mode_of (const SepconvPlan *plan)
{
  switch (plan->combine) {
    case SEPCONV_UNSHARP:
      for (int i = 0; i < plan->n_channels; i++)
        if (plan->channel[i].threshold > 0.0)
          return TERMS_SHARPEN_ABOVE;
      return TERMS_SHARPEN;
    case SEPCONV_MAGNITUDE:
      return TERMS_GRADIENT;
    case SEPCONV_DIRECTION:
      return TERMS_ANGLE;
    default:
      return TERMS_ADD;
  }
}

/* Whether the kernels support the layout, as those of `tensor` do. */
static bool
suits_layout (const Image *layout)
{
  const int bytes = image_sample_bytes (&layout->plane[0]);

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    if (!image_is_packed (plane) || image_sample_bytes (plane) != bytes
        || plane->depth != layout->plane[0].depth
        || plane->shift > TENSOR_MAX_SHIFT || (bytes == 1 && plane->depth != 8)
        || plane->channels == 3
        || (plane->channels == 4 && layout->n_planes > 1))
      return false;
  }
  return true;
}

/* Whether constant borders are codes, and all filtered planes have as many terms as the mode. */
static bool
suits_planes (const SepconvPlan *plan, TermsMode mode)
{
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];

    if (!strip_filters (plan, channel->plane))
      continue;
    if (plan->n_terms[channel->plane] != terms_of_mode (mode)
        || !strip_border_is_code (plan, channel))
      return false;
  }
  return true;
}

/* The steps that the longest axis of all planes and terms needs; 0: too many. */
static int
steps_of_plan (const SepconvPlan *plan)
{
  int taps = 1, steps;

  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int t = 0; strip_filters (plan, p) && t < plan->n_terms[p]; t++) {
      const SepconvPlaneTaps *term = sepconv_plan_term (plan, p, t);

      taps = max (taps, max (term->x.n, term->y.n));
    }
  steps = max (tensor_steps_of_taps (taps), 2);
  return steps <= TERMS_MAX_STEPS ? steps : 0;
}

static const TermsTensorVariant *
choose_variant (const SepconvPlan *plan)
{
  const TermsMode mode = mode_of (plan);
  const bool four = plan->layout.plane[0].channels == 4;
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);
  const int steps = steps_of_plan (plan);

  if (gpu_capability (plan->gpu) < INSTRUCTIONS_CAPABILITY || steps == 0
      || !suits_layout (&plan->layout) || !suits_planes (plan, mode))
    return NULL;
  for (int i = 0; i < N_VARIANTS; i++) {
    const TermsTensorVariant *variant = variant_at (i);

    if (variant->mode == mode && variant->steps == steps
        && variant->four == four && variant->sample_bytes == bytes
        && variant->deep >= tensor_is_deep (&plan->layout)
        && terms_tensor_is_exact (plan, variant))
      return variant;
  }
  return NULL;
}

bool
terms_tensor_suits (const SepconvPlan *plan, TermsTensor *tensor)
{
  if (tensor->chosen != plan->revision) {
    tensor->variant = choose_variant (plan);
    tensor->chosen = plan->revision;
  }
  return tensor->variant != NULL;
}

static bool
upload (SepconvPlan *plan, TermsTensor *tensor, GpuStream stream, Fault *fault)
{
  const int n = plan->layout.n_planes;
  uint4 *stage;

  if (tensor->revision == plan->revision)
    return true;
  if (!strip_occupancy (&tensor->occupancy,
          (const void *) tensor->variant->kernel, tensor->variant->shared,
          fault))
    return false;
  stage = (uint4 *) staging_begin (&tensor->fragments, fault);
  if (stage == NULL)
    return false;
  for (int p = 0; p < n; p++)
    if (strip_filters (plan, p))
      terms_tensor_write_taps (
          plan, tensor->variant, p, stage + p * TERMS_MAX_FRAGMENTS);
  if (!staging_send (&tensor->fragments,
          n * TERMS_MAX_FRAGMENTS * sizeof (uint4), stream, fault))
    return false;
  tensor->revision = plan->revision;
  return true;
}

static void
describe (const SepconvPlan *plan, const TermsTensor *tensor,
    const SepconvPart *part, int p, TermsTensorPlane *plane)
{
  const TermsTensorVariant *variant = tensor->variant;
  const int channels = plan->layout.plane[p].channels;

  *plane = TermsTensorPlane ();
  strip_describe (plan, part, p, &plane->strip);
  plane->strip.keeps = false;
  plane->strip.columns = (plane->strip.width + variant->pixels[channels] - 1)
      / variant->pixels[channels];
  if (!plane->strip.filter)
    return;
  plane->fragments =
      (const uint4 *) tensor->fragments.device + p * TERMS_MAX_FRAGMENTS;
  for (int t = 0; t < plan->n_terms[p]; t++)
    plane->strip.margin =
        max (plane->strip.margin, sepconv_plan_term (plan, p, t)->x.n / 2);
  terms_tensor_describe (plan, variant, p, plane);
}

bool
terms_tensor_run (SepconvPlan *plan, TermsTensor *tensor,
    const SepconvPart *part, Fault *fault)
{
  TermsTensorFrame frame = TermsTensorFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  StripLoad load = StripLoad ();
  bool ok = false;
  int blocks;

  if (!upload (plan, tensor, part->stream, fault))
    return false;
  frame.border = plan->border;
  frame.order = part->order;
  frame.scale = (float) plan->scale;
  frame.amount = (float) (plan->scale * plan->amount);
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImageRows *result = &part->result[plan->layout.plane[p].memory];

    if (result->first >= result->last)
      continue;
    planes[frame.n_planes] = &frame.plane[frame.n_planes].strip;
    describe (plan, tensor, part, p, &frame.plane[frame.n_planes++]);
  }
  load.order = part->order;
  load.above = (tensor->variant->steps - 1) * STRIP_ROWS;
  load.at_once = tensor->occupancy.blocks;
  load.multiprocessors = gpu_multiprocessors (plan->gpu);
  frame.early = load.at_once * load.multiprocessors;
  blocks = strip_lay_out (planes, frame.n_planes, &load, &tensor->heights);
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, tensor->variant->kernel, blocks,
                   STRIP_THREADS, (size_t) tensor->variant->shared,
                   part->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

bool
terms_tensor_prepare (
    const SepconvPlan *plan, TermsTensor *tensor, Fault *fault)
{
  bool ok = false;

  if (gpu_capability (plan->gpu) < INSTRUCTIONS_CAPABILITY
      || !suits_layout (&plan->layout))
    return true;
  for (int i = 0; i < N_VARIANTS; i++)
    GPU_CHECK (cudaFuncSetAttribute ((const void *) variant_at (i)->kernel,
                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                   variant_at (i)->shared),
        fault);
  ok = staging_init (&tensor->fragments,
      plan->layout.n_planes * TERMS_MAX_FRAGMENTS * sizeof (uint4), fault);
done:
  return ok;
}

void
terms_tensor_release (TermsTensor *tensor)
{
  staging_clear (&tensor->fragments);
}
