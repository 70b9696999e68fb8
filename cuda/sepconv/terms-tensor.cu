/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host side of terms-tensor: which specs it suits, the choice of a variant, its taps, and
 * launches. */
#include "terms-march.cuh"

#include "../gpu-check.h"

#include <math.h>
#include <stdlib.h>

/* What results may be off by before they are rounded. */
#define ALLOWED 0.25

struct TermsTensorVariant
{
  void (*kernel) (TermsTensorFrame);
  int steps, parts, sample_bytes;
  bool four; /* channels; else one or two in each plane */
  TermsMode mode;
  int shared;                         /* bytes of a block */
  int pixels[IMAGE_MAX_CHANNELS + 1]; /* of a block, by channels; or 0 */
};

template <int KS, int PARTS, int BYTES, bool FOUR, TermsMode MODE>
static constexpr TermsTensorVariant
variant ()
{
  typedef TermsShape<KS, PARTS, BYTES, 1, MODE> S1;
  typedef TermsShape<KS, PARTS, BYTES, 2, MODE> S2;
  typedef TermsShape<KS, PARTS, 1, 4, MODE> S4;
  constexpr int one_or_two = S1::SHARED > S2::SHARED ? S1::SHARED : S2::SHARED;
  constexpr int shared = FOUR ? S4::SHARED : one_or_two;

  static_assert (shared <= 99 * 1024, "all GPUs of the capability have it");
  return { terms_tensor_strips<KS, PARTS, BYTES, FOUR, MODE>, KS, PARTS, BYTES,
    FOUR, MODE, shared, { 0, S1::PIXELS, S2::PIXELS, 0, S4::PIXELS } };
}

/* In the order of steps, and then of parts. Samples of two bytes take two. */
#define VARIANTS_OF(mode) \
  variant<2, 1, 1, false, mode> (), variant<2, 1, 1, true, mode> (), \
      variant<3, 1, 1, false, mode> (), variant<3, 1, 1, true, mode> (), \
      variant<2, 2, 1, false, mode> (), variant<2, 2, 1, true, mode> (), \
      variant<3, 2, 1, false, mode> (), variant<3, 2, 1, true, mode> (), \
      variant<2, 2, 2, false, mode> (), variant<3, 2, 2, false, mode> ()

static const TermsTensorVariant variants[] = {
  VARIANTS_OF (TERMS_SHARPEN),
  VARIANTS_OF (TERMS_SHARPEN_ABOVE),
  VARIANTS_OF (TERMS_ADD),
  VARIANTS_OF (TERMS_GRADIENT),
  VARIANTS_OF (TERMS_ANGLE),
};

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))

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

static bool
is_filtered (const SepconvPlan *plan, int p)
{
  return plan->taps[p].x.n > 0;
}

/* Whether the kernels know the layout: as `tensor`. */
static bool
suits_layout (const Image *layout)
{
  const int bytes = image_sample_bytes (&layout->plane[0]);

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    if (!image_is_packed (plane) || image_sample_bytes (plane) != bytes
        || plane->depth > 10 || plane->shift > TENSOR_MAX_SHIFT
        || (bytes == 1 && plane->depth != 8) || plane->channels == 3
        || (plane->channels == 4 && (layout->n_planes > 1 || bytes == 2)))
      return false;
  }
  return true;
}

/* The taps along y by which term t of plane p makes its sum. */
static Taps
y_taps (const SepconvPlan *plan, TermsMode mode, int p, int t)
{
  Taps taps = sepconv_plan_term (plan, p, t)->y;

  if (mode == TERMS_SHARPEN)
    for (int i = 0; i < taps.n; i++)
      taps.tap[i] *= -plan->scale * plan->amount;
  return taps;
}

/* What SHARPEN multiplies a sample by. */
static double
sample_weight (const SepconvPlan *plan, TermsMode mode)
{
  return mode == TERMS_SHARPEN ? plan->scale * (1.0 + plan->amount) : 0.0;
}

/* What sums begin with before 1024 and the center are taken off samples: it makes the sum
 * of a channel a term, or a result. */
static double
sum_start (const SepconvPlan *plan, TermsMode mode,
    const SepconvChannel *channel, int sum)
{
  switch (mode) {
    case TERMS_SHARPEN:
      return channel->offset
          + plan->scale
          * ((1.0 + plan->amount) * channel->zero_offset
              - plan->amount * channel->term_offset[0]);
    case TERMS_SHARPEN_ABOVE:
      /* It is compared with codes. */
      return channel->term_offset[0] + channel->center - channel->zero_offset;
    case TERMS_ADD:
      return channel->offset;
    default:
      return channel->term_offset[sum];
  }
}

/* What is added last: of SHARPEN_ABOVE to the code times the scale; of ANGLE the result where
 * there is no direction. */
static double
last_offset (
    const SepconvPlan *plan, TermsMode mode, const SepconvChannel *channel)
{
  const double zero = channel->center - channel->zero_offset;

  return mode == TERMS_ANGLE        ? zero
      : mode == TERMS_SHARPEN_ABOVE ? channel->offset - plan->scale * zero
                                    : channel->offset;
}

/* What an error of a term counts in the result. */
static double
term_weight (const SepconvPlan *plan, TermsMode mode)
{
  switch (mode) {
    case TERMS_SHARPEN_ABOVE:
      /* The difference that is compared with the threshold counts as it is. */
      return fmax (1.0, fabs (plan->scale * plan->amount));
    case TERMS_GRADIENT:
      return fabs (plan->scale);
    default:
      return 1.0;
  }
}

/* An upper bound of what a plane's results lose in single precision after the sums. */
static double
combination_loss (const SepconvPlan *plan, TermsMode mode, int p)
{
  const int n = plan->layout.plane[p].channels;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  double largest = 0.0, offset = 0.0;

  if (mode == TERMS_SHARPEN || mode == TERMS_ADD)
    return 0.0;
  for (int c = 0; c < n; c++) {
    offset = fmax (offset, fabs (channel[c].offset));
    largest = fmax (largest, fabs (channel[c].zero_offset));
    for (int t = 0; t < plan->n_terms[p]; t++)
      largest = fmax (largest, fabs (channel[c].term_offset[t]));
  }
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

    largest +=
        channel->center * (1.0 + taps_norm (&taps->x) * taps_norm (&taps->y));
  }
  if (mode == TERMS_ANGLE)
    return 0.01;
  if (mode == TERMS_SHARPEN_ABOVE)
    largest *= 1.0 + 2.0 * fabs (plan->amount);
  return 0x1p-21 * (offset + fabs (plan->scale) * largest);
}

/* An upper bound of what plane p's results are off by before they are rounded. */
static double
plane_loss (
    const SepconvPlan *plan, TermsMode mode, int p, int steps, int parts)
{
  const ImagePlane *shape = &plan->layout.plane[p];
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const double weight = fabs (sample_weight (plan, mode));
  double most = (1024.0 + 2.0 * channel->center) * weight, start = 0.0;
  double loss = 0.0, sums = 0.0;

  for (int c = 0; c < shape->channels; c++)
    for (int s = 0; s < sums_of_mode (mode); s++)
      if (channel[c].filter)
        start = fmax (start, fabs (sum_start (plan, mode, &channel[c], s)));
  most += start;
  /* Both of ADD are in one sum. */
  for (int t = 0; mode == TERMS_ADD && t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

    most += channel->center * (1.0 + 0x1p-9) * taps_norm (&taps->x)
        * taps_norm (&taps->y);
  }
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);
    const Taps y = y_taps (plan, mode, p, t);

    loss += tensor_error_bound (shape, &taps->x, &y, most, steps, parts);
    sums += channel->center * taps_norm (&taps->x) * taps_norm (&y);
  }
  /* The sample's products: their weight, and two additions of two products each. */
  if (weight > 0.0)
    loss += 0x1p-21 * weight * channel->center
        + 0x1p-20 * (TENSOR_ABOVE + most + sums);
  return term_weight (plan, mode) * loss + combination_loss (plan, mode, p);
}

/* Whether all planes keep the accuracy with taps of so many halves. */
static bool
suits_parts (const SepconvPlan *plan, TermsMode mode, int steps, int parts)
{
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (is_filtered (plan, p)
        && !(plane_loss (plan, mode, p,
                 steps_along_x (steps, plan->layout.plane[p].pixel_stride),
                 parts)
            < ALLOWED))
      return false;
  return true;
}

/* Whether borders are codes, and all planes have the terms of the mode. */
static bool
suits_planes (const SepconvPlan *plan, TermsMode mode)
{
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const double border = channel->border + channel->center;

    if (!is_filtered (plan, channel->plane))
      continue;
    if (plan->n_terms[channel->plane] != terms_of_mode (mode)
        || (plan->border == SEPCONV_CONSTANT && border != floor (border)))
      return false;
  }
  return true;
}

/* The steps that the longest axis of all takes, or 0 if these are too many. */
static int
steps_of_plan (const SepconvPlan *plan)
{
  int taps = 1, steps;

  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int t = 0; is_filtered (plan, p) && t < plan->n_terms[p]; t++) {
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
  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].mode == mode && variants[i].steps == steps
        && variants[i].four == four && variants[i].sample_bytes == bytes
        && suits_parts (plan, mode, steps, variants[i].parts))
      return &variants[i];
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

/* Pixels that the windows of a plane begin left of the result: both begin at multiples of 16
 * bytes. */
static int
reach_of_plane (const SepconvPlan *plan, int p)
{
  int reach = 1;

  for (int t = 0; t < plan->n_terms[p]; t++)
    reach = max (reach, sepconv_plan_term (plan, p, t)->x.n / 2);
  return strip_round_up (reach, 16 / plan->layout.plane[p].pixel_stride);
}

static void
write_plane (const SepconvPlan *plan, const TermsTensorVariant *variant, int p,
    uint4 *to)
{
  const int channels = plan->layout.plane[p].channels;
  const int reach = reach_of_plane (plan, p);
  const int bytes = variant->sample_bytes;
  const int x_steps = steps_along_x (variant->steps, channels * bytes);
  const int parts = variant->parts;
  int window[TENSOR_STEP], rows[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++) {
    window[i] = tensor_pixel_of (i, channels, bytes);
    rows[i] = i;
  }
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const Taps *x = &sepconv_plan_term (plan, p, t)->x;

    if (x_steps > variant->steps) {
      tensor_write_folded (x, x->n / 2 - reach, parts, window, window, to);
      to += 2 * parts * TENSOR_LANES;
    } else {
      tensor_write_fragments (
          x, x->n / 2 - reach, x_steps, parts, window, window, to);
      to += x_steps * parts * TENSOR_LANES;
    }
  }
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const Taps y = y_taps (plan, variant->mode, p, t);

    tensor_write_fragments (&y, y.n / 2 - terms_above (variant->steps),
        variant->steps, parts, rows, rows, to);
    to += variant->steps * parts * TENSOR_LANES;
  }
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
    if (is_filtered (plan, p))
      write_plane (plan, tensor->variant, p, stage + p * TERMS_MAX_FRAGMENTS);
  if (!staging_send (&tensor->fragments,
          n * TERMS_MAX_FRAGMENTS * sizeof (uint4), stream, fault))
    return false;
  tensor->revision = plan->revision;
  return true;
}

static void
describe_channels (
    const SepconvPlan *plan, TermsMode mode, int p, TermsTensorPlane *plane)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const int channels = plan->layout.plane[p].channels;
  const double weight = sample_weight (plan, mode);
  const double high = (double) __half2float (__double2half (weight));
  const double low = (double) __half2float (__double2half (weight - high));

  plane->weight[0] = tensor_half_bits (weight);
  plane->weight[1] = tensor_half_bits (weight - high);
  for (int c = 0; c < channels; c++) {
    for (int s = 0; s < sums_of_mode (mode); s++)
      plane->start[s * channels + c] =
          (float) (sum_start (plan, mode, &channel[c], s)
              - (high + low) * (1024.0 + channel->center));
    plane->offset[c] = (float) last_offset (plan, mode, &channel[c]);
    plane->threshold = (float) channel->threshold;
    if (!channel[c].filter)
      for (int byte = 0; byte < 4; byte++)
        if (byte / channel->sample_bytes % channels == c)
          plane->keep |= 0xffu << 8 * byte;
  }
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
  plane->reach = reach_of_plane (plan, p);
  plane->fragments =
      (const uint4 *) tensor->fragments.device + p * TERMS_MAX_FRAGMENTS;
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const Taps *x = &sepconv_plan_term (plan, p, t)->x;

    plane->strip.margin = max (plane->strip.margin, x->n / 2);
    plane->sums_start[t] =
        tensor_sums_start (x, variant->parts, &plan->layout.plane[p]);
  }
  describe_channels (plan, variant->mode, p, plane);
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
    GPU_CHECK (
        cudaFuncSetAttribute ((const void *) variants[i].kernel,
            cudaFuncAttributeMaxDynamicSharedMemorySize, variants[i].shared),
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
