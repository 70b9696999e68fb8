/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tensor.cuh"

#include "strip.cuh"

#include <math.h>

/* Taps as a plan has them, made from a spec's: factor * 2^exponent * tap. */
struct ScaledTaps
{
  const Taps *taps;
  double factor;
  int exponent;
};

static double
scaled_tap (const ScaledTaps &scaled, int i)
{
  return scaled.factor * ldexp (scaled.taps->tap[i], scaled.exponent);
}

static double
next_half (double *rest)
{
  const double half = (double) __half2float (__double2half (*rest));

  *rest -= half;
  return half;
}

/* Taps as sums of `parts` FP16 values each, and the error of that. */
struct Rounded
{
  double norm;  /* sum |tap| */
  double error; /* sum |tap - its FP16 parts| */
  /* For each tap: the sum of the sizes of its FP16 parts, and how many of them are not zero. */
  double size[TAPS_MAX];
  int halves[TAPS_MAX];
};

static void
round_taps (const ScaledTaps &scaled, int parts, Rounded *rounded)
{
  rounded->norm = rounded->error = 0.0;
  for (int i = 0; i < scaled.taps->n; i++) {
    double rest = scaled_tap (scaled, i);

    rounded->norm += fabs (rest);
    rounded->size[i] = 0.0;
    rounded->halves[i] = 0;
    for (int part = 0; part < parts; part++) {
      const double half = next_half (&rest);

      rounded->size[i] += fabs (half);
      rounded->halves[i] += half != 0.0;
    }
    rounded->error += fabs (rest);
  }
}

/* The largest error of rounding numbers up to `largest` to FP16: half a unit of their last place;
 * less where `largest` is just above a power of two, since the unit below that is half as large. */
static double
half_error (double largest)
{
  const int exponent = largest > 0.0 ? ilogb (largest) : -14;
  const double above = largest - ldexp (1.0, exponent);
  const double unit = ldexp (1.0, exponent - 10);

  return fmax (0.25 * unit, fmin (0.5 * unit, above));
}

/* Upper bound of the error of row sums. They start with the value that subtracts 1024 and the
 * center from all samples: to the size of a sum, a tap adds 1024 plus the center until its product
 * is added, and from then on at most the center. */
static double
row_loss (const Rounded &x, int n, double center, int steps, int parts)
{
  const TensorPass pass = { n, x.size, x.halves, steps, parts,
    1024.0 + 2.0 * center, center * (x.norm + x.error), 1024.0 };

  return tensor_pass_loss (&pass);
}

/* Upper bound of the error of column sums, from row sums up to `sums`. */
static double
column_loss (
    const Rounded &y, int n, double sums, double offset, int steps, int parts)
{
  const TensorPass pass = { n, y.size, y.halves, steps, parts, sums,
    TENSOR_ABOVE + offset + sums * (y.norm + y.error), 0.0 };

  return tensor_pass_loss (&pass);
}

/* Whether FP16 holds all sums with these taps exactly: they are multiples of a power of two, with
 * no more bits than FP16 has. */
static bool
sums_are_halves (const ScaledTaps &scaled, double norm, double center)
{
  for (int bits = 0; ldexp (norm * center, bits) <= 2048.0 && bits < 24;
       bits++) {
    bool whole = true;

    for (int i = 0; i < scaled.taps->n && whole; i++) {
      const double tap =
          scaled.factor * ldexp (scaled.taps->tap[i], scaled.exponent + bits);

      whole = tap == floor (tap);
    }
    if (whole)
      return true;
  }
  return false;
}

/* An upper bound of the error in code values before the last rounding, for offsets up to `offset`
 * and passes of `steps`. `exact`: FP16 holds the row sums exactly. */
static double
error_bound (const ImagePlane *shape, const ScaledTaps &tx,
    const ScaledTaps &ty, double offset, int steps, int parts, bool exact)
{
  const double center = ldexp (1.0, shape->depth - 1);
  Rounded x, y;
  double y_norm, sums, lost;

  round_taps (tx, parts, &x);
  round_taps (ty, parts, &y);
  y_norm = y.norm + y.error;
  sums = center * (x.norm + x.error);
  if (!(sums < 65504.0 && y_norm < 65504.0))
    return INFINITY;
  lost = row_loss (x, tx.taps->n, center, steps, parts);
  lost += half_error (sums + lost);
  if (exact)
    lost = 0.0;
  return center * (x.error * y_norm + x.norm * y.error) + lost * y_norm
      + column_loss (y, ty.taps->n, sums, offset, steps, parts);
}

/* TensorDeepSums of a spec's taps, scaled, or of a plan's, which need no scale. */
static TensorDeepSums
deep_sums (const ScaledTaps &scaled, const TensorDeepTaps &as)
{
  TensorDeepSums sums = TensorDeepSums ();

  for (int i = 0; i < scaled.taps->n; i++)
    tensor_deep_add (&sums, scaled_tap (scaled, i), &as);
  return sums;
}

static double
norm_of_taps (const ScaledTaps &scaled)
{
  double norm = 0.0;

  for (int i = 0; i < scaled.taps->n; i++)
    norm += fabs (scaled_tap (scaled, i));
  return norm;
}

/* The largest power of two that all taps are multiples of; 0 if their upper FP16 parts alone do not
 * hold them. */
static double
grain_of_taps (const ScaledTaps &scaled, const TensorDeepSums &sums)
{
  if (sums.lower > 0.0 || sums.rest > 0.0)
    return 0.0;
  for (int bits = -16; bits < 24; bits++) {
    bool whole = true;

    for (int i = 0; i < scaled.taps->n && whole; i++) {
      const double tap = ldexp (scaled_tap (scaled, i), bits);

      whole = tap == floor (tap);
    }
    if (whole)
      return ldexp (1.0, -bits);
  }
  return 0.0;
}

/* Upper bound of the error of row sums, in codes. `grain` becomes a number that all sums are
 * multiples of if they lose nothing, else 0. */
static double
deep_row_loss (const ImagePlane *shape, const ScaledTaps &scaled, double norm,
    int steps, double *grain)
{
  const int n = scaled.taps->n;
  const double center = ldexp (1.0, shape->depth - 1);
  const double unit = tensor_deep_unit (shape->depth);
  const TensorDeepTaps as = tensor_deep_taps_x (n, norm, shape->shift);
  const TensorDeepSums sums = deep_sums (scaled, as);
  const double taps = grain_of_taps (scaled, sums);
  double loss;

  /* The lower part of a sample is from 0 to unit - 1. The product of its mean with the lower parts
   * of taps is in the start value, which is rounded; so is the total of the large and the small
   * sum. */
  loss = center * sums.rest + 0.5 * (unit - 1.0) * sums.lower
      + tensor_deep_small_loss (&sums, n, 2.0 * center, unit - 1.0,
          ldexp (1024.0, -shape->shift), steps, taps)
      + 0.5 * tensor_grain_loss (center * (norm + sums.lower), taps);
  if (sums.lower > 0.0)
    loss += 0.5 * ldexp (unit, -as.bits);
  /* The lower FP16 part of a sum is rounded if it has more bits than FP16. */
  if (!(taps >= ldexp (unit, -11) && taps >= ldexp (1.0, TENSOR_DEEP_Y - 24)))
    loss +=
        ldexp (half_error (ldexp (0.5 * unit, -TENSOR_DEEP_Y)), TENSOR_DEEP_Y);
  *grain = loss > 0.0 ? 0.0 : taps;
  return loss;
}

/* Upper bound of the error of column sums, from row sums up to `rows` that are multiples of
 * `grain`. */
static double
deep_column_loss (const ImagePlane *shape, const ScaledTaps &scaled,
    const TensorDeepTaps &as, double norm, double rows, int steps, double grain)
{
  const double unit = tensor_deep_unit (shape->depth);
  const TensorDeepSums sums = deep_sums (scaled, as);
  const double products = grain * grain_of_taps (scaled, sums);

  return rows * sums.rest + 0.5 * unit * sums.lower
      + tensor_deep_small_loss (&sums, scaled.taps->n, rows, 0.5 * unit,
          ldexp (1.0, TENSOR_DEEP_Y - 14), steps, products)
      + tensor_grain_loss (rows * (norm + sums.lower), products);
}

/* error_bound() for deep samples, without an offset. `sum` becomes an upper bound of the size of
 * the sums. */
static double
deep_error_bound (const ImagePlane *shape, const ScaledTaps &tx,
    const ScaledTaps &ty, int steps, double *sum)
{
  const double x_norm = norm_of_taps (tx), y_norm = norm_of_taps (ty);
  const TensorDeepTaps as_y = tensor_deep_taps_y (ty.taps->n, x_norm, y_norm);
  double loss, rows, grain;

  *sum = INFINITY;
  if (!(x_norm < 2.0
          && ldexp (deep_sums (ty, as_y).most_upper, TENSOR_DEEP_Y) < 65504.0))
    return INFINITY;
  loss = deep_row_loss (shape, tx, x_norm, steps, &grain);
  rows = ldexp (x_norm, shape->depth - 1) + loss;
  *sum = rows * y_norm;
  return loss * y_norm
      + deep_column_loss (shape, ty, as_y, y_norm, rows, steps, grain);
}

/* The same with an offset, which is added in FP32 to results as fractions of the largest code. */
static double
deep_result_bound (const ImagePlane *shape, const ScaledTaps &x,
    const ScaledTaps &y, double offset, int steps)
{
  double sum;
  const double loss = deep_error_bound (shape, x, y, steps, &sum);

  return loss + 0x1p-24 * (sum + fabs (offset) + ldexp (1.0, shape->depth));
}

double
tensor_allowed_error (int depth)
{
  return depth > 12 ? 0.49 : depth > TENSOR_HALF_DEPTH ? 0.24 : 0.25;
}

/* Number of FP16 values that a tap needs; 0, with the reason in `why`, if two are too few. */
static int
parts_of_plane (const ImagePlane *shape, const ScaledTaps &x,
    const ScaledTaps &y, double offset, int steps, Fault *why)
{
  const int least = image_sample_bytes (shape) == 1 ? 1 : 2;
  double bound = 0.0;

  if (shape->depth > TENSOR_HALF_DEPTH) {
    bound = deep_result_bound (shape, x, y, offset, steps);
    if (bound < tensor_allowed_error (shape->depth))
      return TENSOR_MAX_PARTS;
    fault_set (why, FAULT_UNSUPPORTED,
        "two halves could be off by %.2f code values with these taps", bound);
    return 0;
  }
  for (int parts = least; parts <= TENSOR_MAX_PARTS; parts++) {
    bound = error_bound (shape, x, y, offset, steps, parts, false);
    if (bound < tensor_allowed_error (shape->depth))
      return parts;
  }
  fault_set (why, FAULT_UNSUPPORTED,
      "half precision could be off by %.2f code values with these taps", bound);
  return 0;
}

double
tensor_error_bound (const ImagePlane *shape, const Taps *x, const Taps *y,
    double offset, int steps, int parts)
{
  const ScaledTaps tx = { x, 1.0, 0 }, ty = { y, 1.0, 0 };

  return error_bound (shape, tx, ty, offset, steps, parts,
      sums_are_halves (tx, taps_norm (x), ldexp (1.0, shape->depth - 1)));
}

double
tensor_deep_error_bound (const ImagePlane *shape, const Taps *x, const Taps *y,
    int steps, double *sum)
{
  return deep_error_bound (
      shape, ScaledTaps{ x, 1.0, 0 }, ScaledTaps{ y, 1.0, 0 }, steps, sum);
}

/* Upper bound of the error of a pass over values up to `largest` that are FP16 hi/lo splits. */
static double
split_loss (const Taps *taps, double largest, int steps)
{
  const double n = taps->n, low_value = half_error (largest);
  double high = 0.0, low = 0.0, rest = 0.0, before, after;

  for (int i = 0; i < taps->n; i++) {
    double left = taps->tap[i];

    high += fabs (next_half (&left));
    low += fabs (next_half (&left));
    rest += fabs (left);
  }
  /* Bounds of the sums before and after the products hi * hi. Each tap makes two products with a
   * low factor, and then one without; each step makes two additions for each of these products. */
  before = high * low_value + low * largest;
  after = before + high * largest;
  return low * low_value + rest * largest
      + tensor_loss_unit (before) * (0.5 * 2.0 * n + 2.0 * 2.0 * steps)
      + tensor_loss_unit (after) * (0.5 * n + 2.0 * steps);
}

double
tensor_split_error_bound (
    const Taps *x, const Taps *y, double center, double offset, int steps)
{
  const double x_norm = taps_norm (x), y_norm = taps_norm (y);
  double sums, lost;

  lost = split_loss (x, center, steps);
  sums = center * x_norm + lost;
  if (!(sums < 65504.0 && y_norm < 2.0))
    return INFINITY;
  /* The low part of a split sum is as large as the error of its high part. */
  lost += half_error (half_error (sums));
  /* The offset is added last. */
  return lost * y_norm + split_loss (y, sums, steps)
      + tensor_loss_unit (sums * y_norm + fabs (offset));
}

bool
tensor_is_deep (const Image *layout)
{
  return layout->plane[0].depth > TENSOR_HALF_DEPTH;
}

/* `deep`: whether samples may be sums of two FP16 values. */
static bool
supports_format (const Image *layout, bool deep, Fault *why)
{
  const int bytes = image_sample_bytes (&layout->plane[0]);

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    if (!strip_is_packed (plane, why))
      return false;
    if ((plane->depth > TENSOR_HALF_DEPTH && !deep)
        || (bytes == 1 && plane->depth != 8))
      return fault_set (why, FAULT_UNSUPPORTED,
          "halves hold samples of 8 to 10 bits, not %d", plane->depth);
    if (plane->depth != layout->plane[0].depth)
      return fault_set (
          why, FAULT_UNSUPPORTED, "samples of all planes have the same depth");
    if (plane->shift > TENSOR_MAX_SHIFT)
      return fault_set (why, FAULT_UNSUPPORTED,
          "samples lie at most %d bits up, not %d", TENSOR_MAX_SHIFT,
          plane->shift);
    if (image_sample_bytes (plane) != bytes || plane->channels == 3
        || (bytes == 2 && plane->channels == 4 && !tensor_is_deep (layout)))
      return fault_set (why, FAULT_UNSUPPORTED,
          "planes have 1, 2 or, of 8, 12 or 16 bits, 4 channels of one sample size");
    if (plane->channels == 4 && layout->n_planes > 1)
      return fault_set (
          why, FAULT_UNSUPPORTED, "a plane of 4 channels is the only one");
  }
  return true;
}

static double
sum_of_taps (const ScaledTaps &scaled)
{
  double sum = 0.0;

  for (int i = 0; i < scaled.taps->n; i++)
    sum += scaled_tap (scaled, i);
  return sum;
}

/* The largest offset of a plan's channels, as method.h defines it, and a little more, so that
 * rounding cannot make the plan's own offset larger. */
static double
largest_offset (const SepconvSpec *spec, const Image *layout, int p,
    const ScaledTaps &x, const ScaledTaps &y)
{
  const SepconvPlane *plane = &spec->plane[p];
  const ImagePlane *shape = &layout->plane[p];
  const double sum = sum_of_taps (x) * sum_of_taps (y);
  double largest = 0.0;

  for (int c = 0; c < shape->channels; c++)
    if (plane->channels >> c & 1)
      largest = fmax (largest,
          fabs (plane->zero[c]
              + sepconv_bias (spec, p, c) * image_full_code (shape)
              + sum * (ldexp (1.0, shape->depth - 1) - plane->zero[c])));
  return largest * (1.0 + 0x1p-30);
}

static bool
supports_plane (const SepconvSpec *spec, const Image *layout, int p,
    TensorSteps steps_of_plane, int most, Fault *why)
{
  const SepconvPlane *plane = &spec->plane[p];
  const SepconvTapScale scale = sepconv_tap_scale (spec, plane);
  const ScaledTaps x = { plane->x, 1.0, scale.x_exponent };
  const ScaledTaps y = { plane->y, scale.y_factor, scale.y_exponent };
  const int steps =
      steps_of_plane (&layout->plane[p], plane->x->n, plane->y->n);

  if (steps > most)
    return fault_set (why, FAULT_UNSUPPORTED, "it is for up to about %d taps",
        (most - 1) * TENSOR_STEP + 1);
  if (spec->border == SEPCONV_CONSTANT)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (plane->border_value[c] != floor (plane->border_value[c]))
        return fault_set (
            why, FAULT_UNSUPPORTED, "the border's value is no integer");
  return parts_of_plane (&layout->plane[p], x, y,
             largest_offset (spec, layout, p, x, y), steps, why)
      > 0;
}

bool
tensor_supports_spec (const SepconvSpec *spec, const Image *layout,
    TensorSteps steps, int most, bool deep, Fault *why)
{
  if (!supports_format (layout, deep, why))
    return false;
  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0
        && !supports_plane (spec, layout, p, steps, most, why))
      return false;
  return true;
}

int
tensor_parts (const SepconvPlan *plan, TensorSteps steps_of_plane)
{
  int parts = 1;

  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const ImagePlane *shape = &plan->layout.plane[channel->plane];
    const SepconvPlaneTaps *taps = &plan->taps[channel->plane];

    if (channel->filter)
      parts = max (parts,
          parts_of_plane (shape, ScaledTaps{ &taps->x, 1.0, 0 },
              ScaledTaps{ &taps->y, 1.0, 0 }, fabs (channel->offset),
              steps_of_plane (shape, taps->x.n, taps->y.n), NULL));
  }
  return parts;
}

int
tensor_pixel_of (int i, int channels, int sample_bytes)
{
  const int samples = 4 / (channels * sample_bytes); /* pixels in a register */

  if (samples == 0)
    return i;
  if (samples == 4)
    return (i % 8 / 2) * 4 + i / 8 * 2 + i % 2;
  if (samples == 2)
    return i;
  return i / 8 * 8 + i % 2 * 4 + i % 8 / 2;
}

typedef __half TapHalves[TENSOR_MAX_PARTS][TAPS_MAX];

/* Splits each tap into `parts` FP16 values. */
static void
split_taps (const Taps *taps, int parts, TapHalves half)
{
  for (int i = 0; i < taps->n; i++) {
    double rest = taps->tap[i];

    for (int part = 0; part < parts; part++)
      half[part][i] = __double2half (next_half (&rest));
  }
}

/* tensor_write_fragments() for n taps that are split already. */
static void
write_halves (const TapHalves half, int n, int first, int steps, int parts,
    const int *result, const int *window, uint4 *to)
{
  const __half none = __double2half (0.0);
  __half fragment[8];

  for (int k = 0; k < steps; k++)
    for (int part = 0; part < parts; part++)
      for (int lane = 0; lane < TENSOR_LANES; lane++) {
        for (int i = 0; i < 8; i++) {
          const int row = lane / 4 + i / 2 % 2 * 8;
          const int column = lane % 4 * 2 + i / 4 * 8 + i % 2;
          const int tap =
              first + k * TENSOR_STEP + window[column] - result[row];

          fragment[i] = tap >= 0 && tap < n ? half[part][tap] : none;
        }
        memcpy (to++, fragment, sizeof fragment);
      }
}

void
tensor_write_fragments (const Taps *taps, int first, int steps, int parts,
    const int *result, const int *window, uint4 *to)
{
  TapHalves half;

  split_taps (taps, parts, half);
  write_halves (half, taps->n, first, steps, parts, result, window, to);
}

void
tensor_write_deep (const Taps *taps, const TensorDeepTaps *as, int first,
    int steps, const int *result, const int *window, uint4 *to)
{
  TapHalves half;

  for (int i = 0; i < taps->n; i++) {
    double upper, lower;

    tensor_split_deep (taps->tap[i], as, &upper, &lower);
    half[0][i] = __double2half (ldexp (upper, as->exponent));
    half[1][i] = __double2half (ldexp (lower, as->exponent));
  }
  write_halves (half, taps->n, first, steps, 2, result, window, to);
}

void
tensor_write_folded (const Taps *taps, int first, int parts, const int *result,
    const int *window, uint4 *to)
{
  int folded[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++)
    folded[i] = window[i] + (window[i] < TENSOR_STEP / 2 ? 2 * TENSOR_STEP : 0);
  tensor_write_fragments (taps, first, 1, parts, result, folded, to);
  tensor_write_fragments (taps, first + TENSOR_STEP, 1, parts, result, window,
      to + parts * TENSOR_LANES);
}

double
tensor_sum_of_taps (const Taps *taps, int parts)
{
  double sum = 0.0;

  for (int i = 0; i < taps->n; i++) {
    double rest = taps->tap[i];

    for (int part = 0; part < parts; part++)
      sum += next_half (&rest);
  }
  return sum;
}

float
tensor_sums_start (const Taps *taps, int parts, const ImagePlane *shape)
{
  return (float) (-tensor_sum_of_taps (taps, parts)
      * (1024.0 + ldexp (1.0, shape->depth - 1)));
}

float
tensor_deep_start_of (
    const Taps *taps, const TensorDeepTaps *as, const ImagePlane *shape)
{
  const TensorDeepSums sums = deep_sums (ScaledTaps{ taps, 1.0, 0 }, *as);

  return tensor_deep_start (&sums, as, shape->depth);
}

TensorDeepPlane
tensor_describe_deep (const ImagePlane *shape, int first)
{
  const uint32_t selector[] = { 0x3210, 0x5432, 0x7654, 0x1076 };
  const int upper = min (shape->depth, TENSOR_UPPER_BITS);
  const int lower = shape->depth - upper;
  const uint32_t upper_mask = (1u << upper) - 1;
  const uint32_t lower_mask = ((1u << lower) - 1) << shape->shift;
  TensorDeepPlane deep;

  deep.shift = shape->shift + lower;
  deep.upper_mask = upper_mask * 0x00010001u;
  deep.upper_factor = tensor_half_bits (ldexp (1.0, deep.shift)) * 0x00010001u;
  deep.lower_mask = lower_mask * 0x00010001u;
  /* The last bit of a float of this size is worth the unit of the upper FP16 part. */
  deep.round_upper = (float) ldexp (1.5, 23 + lower - TENSOR_DEEP_Y);
  deep.unit = (float) (1.0 / image_full_code (shape));
  for (int i = 0; i < 2; i++) {
    deep.in[i] = selector[(first + 2 * i) % 4];
    deep.out[i] = selector[(4 - first + 2 * i) % 4];
  }
  return deep;
}
