/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-tensor-taps: the taps of terms-tensor: the error of a variant with a plan's taps, their
 * fragments, and the start values of sums. */
#include "tensor-shape.cuh"
#include "terms-tensor.cuh"

#include <math.h>

/* Largest scale for deep samples, whose results are fractions of the largest code, in FP32. */
#define LARGEST_SCALE 1e30

/* The taps along y of term t of plane p. For SHARPEN they include the weight with which the term
 * is added to the sample, except for deep samples, whose sums are weighted afterwards. */
static Taps
y_taps (
    const SepconvPlan *plan, const TermsTensorVariant *variant, int p, int t)
{
  Taps taps = sepconv_plan_term (plan, p, t)->y;

  if (variant->mode == TERMS_SHARPEN && !variant->deep)
    for (int i = 0; i < taps.n; i++)
      taps.tap[i] *= -plan->scale * plan->amount;
  return taps;
}

/* The factor of a sample in SHARPEN. */
static double
sample_weight (const SepconvPlan *plan, TermsMode mode)
{
  return mode == TERMS_SHARPEN ? plan->scale * (1.0 + plan->amount) : 0.0;
}

/* The start value of a sum, without the part that subtracts 1024 and the center from samples. It
 * turns a channel's sum into a term, or into a result. */
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
      /* The sum is compared with codes. */
      return channel->term_offset[0] + channel->center - channel->zero_offset;
    case TERMS_ADD:
      return channel->offset;
    default:
      return channel->term_offset[sum];
  }
}

/* The constant that is added last. For SHARPEN_ABOVE it is added to the code times the scale;
 * for ANGLE it is the result where there is no direction. */
static double
last_offset (
    const SepconvPlan *plan, TermsMode mode, const SepconvChannel *channel)
{
  const double zero = channel->center - channel->zero_offset;

  return mode == TERMS_ANGLE        ? zero
      : mode == TERMS_SHARPEN_ABOVE ? channel->offset - plan->scale * zero
                                    : channel->offset;
}

/* The factor from an error of a term, with the taps of y_taps(), to the error of the result. */
static double
term_weight (const SepconvPlan *plan, const TermsTensorVariant *variant)
{
  switch (variant->mode) {
    case TERMS_SHARPEN:
      return variant->deep ? fabs (plan->scale * plan->amount) : 1.0;
    case TERMS_SHARPEN_ABOVE:
      /* The difference is compared with the threshold unweighted. */
      return fmax (1.0, fabs (plan->scale * plan->amount));
    case TERMS_GRADIENT:
      return fabs (plan->scale);
    default:
      return 1.0;
  }
}

/* An upper bound of the error of a plane's results from FP32 arithmetic after the sums. */
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

/* combination_loss() for deep samples. Results beyond the range of codes need not be exact. */
static double
deep_combination_loss (const SepconvPlan *plan, TermsMode mode, int p)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  double most = 0.0;

  for (int c = 0; c < plan->layout.plane[p].channels; c++) {
    const SepconvPlaneTaps *term = sepconv_plan_term (plan, p, 0);
    /* Largest blurred sample, and largest difference from it. */
    const double blurred = fabs (channel[c].term_offset[0])
        + channel[c].center * taps_norm (&term->x) * taps_norm (&term->y);
    const double difference = 2.0 * channel[c].center + blurred;
    double loss = 2.0 * channel[c].max_code + 4.0 * fabs (channel[c].offset);

    /* Two roundings of numbers of these sizes, and one of each factor. */
    if (mode == TERMS_SHARPEN || mode == TERMS_SHARPEN_ABOVE)
      loss += 4.0 * fabs (plan->scale)
          * (2.0 * channel[c].center + fabs (plan->amount) * difference);
    else if (mode == TERMS_GRADIENT)
      loss *= 4.0;
    most = fmax (most, 0x1p-24 * loss);
  }
  return mode == TERMS_ANGLE ? 0.02 : most;
}

/* The largest size of sum_start() in a plane. */
static double
largest_start (const SepconvPlan *plan, TermsMode mode, int p)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  double largest = 0.0;

  for (int c = 0; c < plan->layout.plane[p].channels; c++)
    for (int s = 0; s < sums_of_mode (mode); s++)
      if (channel[c].filter)
        largest = fmax (largest, fabs (sum_start (plan, mode, &channel[c], s)));
  return largest;
}

/* plane_loss() for deep samples. */
static double
deep_plane_loss (
    const SepconvPlan *plan, const TermsTensorVariant *variant, int p)
{
  const double start = largest_start (plan, variant->mode, p);
  double loss = 0.0, sums = 0.0;

  /* Where all terms are 0, nothing else limits the scale. */
  if (fabs (plan->scale) > LARGEST_SCALE)
    return INFINITY;
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);
    double sum;

    loss += tensor_deep_error_bound (
        &plan->layout.plane[p], &taps->x, &taps->y, variant->steps, &sum);
    sums += sum;
  }
  /* Start values are rounded, and so are the sums that they or other sums are added to. */
  if (start > 0.0 || variant->mode == TERMS_ADD)
    loss += 0x1p-24 * (sums + 2.0 * start);
  return term_weight (plan, variant) * loss
      + deep_combination_loss (plan, variant->mode, p);
}

/* An upper bound of the error of plane p's results before they are rounded. */
static double
plane_loss (const SepconvPlan *plan, const TermsTensorVariant *variant, int p)
{
  const TermsMode mode = variant->mode;
  const ImagePlane *shape = &plan->layout.plane[p];
  const int steps = steps_along_x (variant->steps, shape->pixel_stride);
  const double center = sepconv_plane_channels (plan, p)->center;
  const double weight = fabs (sample_weight (plan, mode));
  double most =
      (1024.0 + 2.0 * center) * weight + largest_start (plan, mode, p);
  double loss = 0.0, sums = 0.0;

  /* Both terms of ADD are in one sum. */
  for (int t = 0; mode == TERMS_ADD && t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

    most +=
        center * (1.0 + 0x1p-9) * taps_norm (&taps->x) * taps_norm (&taps->y);
  }
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);
    const Taps y = y_taps (plan, variant, p, t);

    loss +=
        tensor_error_bound (shape, &taps->x, &y, most, steps, variant->parts);
    sums += center * taps_norm (&taps->x) * taps_norm (&y);
  }
  /* The sample's products: the rounding of the weight, and two additions of two products
   * each. */
  if (weight > 0.0)
    loss += 0x1p-21 * weight * center + 0x1p-20 * (TENSOR_ABOVE + most + sums);
  return term_weight (plan, variant) * loss + combination_loss (plan, mode, p);
}

bool
terms_tensor_is_exact (
    const SepconvPlan *plan, const TermsTensorVariant *variant)
{
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (strip_filters (plan, p)
        && !((variant->deep ? deep_plane_loss : plane_loss) (plan, variant, p)
            < tensor_allowed_error (plan->layout.plane[p].depth)))
      return false;
  return true;
}

/* Pixels that the windows of a plane begin left of their result: windows and results both begin
 * at multiples of 16 bytes. */
static int
reach_of_plane (const SepconvPlan *plan, int p)
{
  int reach = 1;

  for (int t = 0; t < plan->n_terms[p]; t++)
    reach = max (reach, sepconv_plan_term (plan, p, t)->x.n / 2);
  return strip_round_up (reach, 16 / plan->layout.plane[p].pixel_stride);
}

/* Writes the fragments of a term's taps along x. */
static void
write_x (const TermsTensorVariant *variant, const ImagePlane *shape,
    const Taps *x, int reach, uint4 *to)
{
  const int steps = steps_along_x (variant->steps, shape->pixel_stride);
  int window[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++)
    window[i] = tensor_pixel_of (i, shape->channels, variant->sample_bytes);
  if (variant->deep) {
    const TensorDeepTaps as =
        tensor_deep_taps_x (x->n, taps_norm (x), shape->shift);

    tensor_write_deep (x, &as, x->n / 2 - reach, steps, window, window, to);
  } else if (steps > variant->steps) {
    tensor_write_folded (
        x, x->n / 2 - reach, variant->parts, window, window, to);
  } else {
    tensor_write_fragments (
        x, x->n / 2 - reach, steps, variant->parts, window, window, to);
  }
}

/* Writes the fragments of a term's taps along y; `x` are the same term's taps along x. */
static void
write_y (
    const TermsTensorVariant *variant, const Taps *x, const Taps *y, uint4 *to)
{
  const int first = y->n / 2 - terms_above (variant->steps);
  int rows[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++)
    rows[i] = i;
  if (variant->deep) {
    const TensorDeepTaps as =
        tensor_deep_taps_y (y->n, taps_norm (x), taps_norm (y));

    tensor_write_deep (y, &as, first, variant->steps, rows, rows, to);
  } else {
    tensor_write_fragments (
        y, first, variant->steps, variant->parts, rows, rows, to);
  }
}

void
terms_tensor_write_taps (const SepconvPlan *plan,
    const TermsTensorVariant *variant, int p, uint4 *to)
{
  const ImagePlane *shape = &plan->layout.plane[p];
  const int x_steps = steps_along_x (variant->steps, shape->pixel_stride);
  const int products = x_steps > variant->steps ? 2 : x_steps;

  for (int t = 0; t < plan->n_terms[p]; t++) {
    write_x (variant, shape, &sepconv_plan_term (plan, p, t)->x,
        reach_of_plane (plan, p), to);
    to += products * variant->parts * TENSOR_LANES;
  }
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const Taps y = y_taps (plan, variant, p, t);

    write_y (variant, &sepconv_plan_term (plan, p, t)->x, &y, to);
    to += variant->steps * variant->parts * TENSOR_LANES;
  }
}

/* Splits the factor of samples in SHARPEN into two FP16 values; returns their sum. */
static double
split_weight (double weight, uint32_t half[2])
{
  const double high = (double) __half2float (__double2half (weight));
  const double low = (double) __half2float (__double2half (weight - high));

  half[0] = tensor_half_bits (weight);
  half[1] = tensor_half_bits (weight - high);
  return high + low;
}

/* The divisor of a channel's constants: the largest code if they are added to results that are
 * fractions of it, else 1. */
static double
whole_of (const TermsTensorVariant *variant, const SepconvChannel *channel,
    bool is_result)
{
  return variant->deep && is_result ? channel->max_code : 1.0;
}

static void
describe_channels (const SepconvPlan *plan, const TermsTensorVariant *variant,
    int p, TermsTensorPlane *plane)
{
  const TermsMode mode = variant->mode;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const int channels = plan->layout.plane[p].channels;
  const double weight = sample_weight (plan, mode);
  const double halves = split_weight (weight, plane->weight);

  for (int c = 0; c < channels; c++) {
    /* The weighted sample's value at the middle of its range. */
    const double middle = variant->deep ? weight * channel[c].center
                                        : halves * (1024.0 + channel[c].center);

    for (int s = 0; s < sums_of_mode (mode); s++)
      plane->start[s * channels + c] =
          (float) ((sum_start (plan, mode, &channel[c], s) - middle)
              / whole_of (variant, &channel[c], adds_to_result (mode)));
    plane->offset[c] = (float) (last_offset (plan, mode, &channel[c])
        / whole_of (variant, &channel[c], mode != TERMS_ANGLE));
    plane->threshold = (float) channel->threshold;
    if (!channel[c].filter) {
      plane->kept |= 1u << c;
      for (int byte = 0; byte < 4; byte++)
        if (byte / channel->sample_bytes % channels == c)
          plane->keep |= 0xffu << 8 * byte;
    }
  }
}

/* The start value of sums along x. */
static float
start_of_rows (
    const TermsTensorVariant *variant, const ImagePlane *shape, const Taps *x)
{
  if (variant->deep) {
    const TensorDeepTaps as =
        tensor_deep_taps_x (x->n, taps_norm (x), shape->shift);

    return tensor_deep_start_of (x, &as, shape);
  }
  return tensor_sums_start (x, variant->parts, shape);
}

void
terms_tensor_describe (const SepconvPlan *plan,
    const TermsTensorVariant *variant, int p, TermsTensorPlane *plane)
{
  const ImagePlane *shape = &plan->layout.plane[p];

  plane->reach = reach_of_plane (plan, p);
  for (int t = 0; t < plan->n_terms[p]; t++)
    plane->sums_start[t] =
        start_of_rows (variant, shape, &sepconv_plan_term (plan, p, t)->x);
  if (variant->deep)
    plane->deep = tensor_describe_deep (shape, 0);
  describe_channels (plan, variant, p, plane);
}
