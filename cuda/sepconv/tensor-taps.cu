/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tensor.cuh"

#include "strip.cuh"

#include <math.h>

/* Taps as a plan has them: factor * 2^exponent * tap. */
struct ScaledTaps
{
  const Taps *taps;
  double factor;
  int exponent;
};

static double
next_half (double *rest)
{
  const double half = (double) __half2float (__double2half (*rest));

  *rest -= half;
  return half;
}

/* What taps add up to, and what they lose as `parts` halves. */
struct Rounded
{
  double norm;  /* sum |tap| */
  double error; /* sum |tap - its halves| */
};

static Rounded
round_taps (const ScaledTaps &scaled, int parts)
{
  Rounded rounded = { 0.0, 0.0 };

  for (int i = 0; i < scaled.taps->n; i++) {
    double rest = scaled.factor * ldexp (scaled.taps->tap[i], scaled.exponent);

    rounded.norm += fabs (rest);
    for (int part = 0; part < parts; part++)
      next_half (&rest);
    rounded.error += fabs (rest);
  }
  return rounded;
}

/* The largest error of rounding numbers up to `largest` to halves: half a unit of
 * their last place, but just above a power of two there is not far to fall. */
static double
half_error (double largest)
{
  const int exponent = largest > 0.0 ? ilogb (largest) : -14;
  const double above = largest - ldexp (1.0, exponent);
  const double unit = ldexp (1.0, exponent - 10);

  return fmax (0.25 * unit, fmin (0.5 * unit, above));
}

/* An upper bound of the error in code values before the last rounding, for offsets up
 * to `offset` and passes of `steps`. Tensor cores are taken to lose up to four units of 2^-23 of the
 * largest sum in a step. */
static double
error_bound (const ImagePlane *shape, const ScaledTaps &tx,
    const ScaledTaps &ty, double offset, int steps, int parts)
{
  const Rounded x = round_taps (tx, parts), y = round_taps (ty, parts);
  const double center = ldexp (1.0, shape->depth - 1);
  const double lost = 4.0 * parts * 0x1p-23 * steps;
  const double y_norm = y.norm + y.error;
  const double sums = center * (x.norm + x.error);
  const double taps = center * (x.error * y_norm + x.norm * y.error);
  const double accumulated = lost
      * ((1024.0 + 2.0 * center) * x.norm * y_norm + sums * y_norm + offset
          + TENSOR_ABOVE);

  if (!(sums < 65504.0 && y_norm < 65504.0))
    return INFINITY;
  return taps + half_error (sums) * y_norm + accumulated;
}

/* The halves that a tap needs, or 0 and `why`. */
static int
parts_of_plane (const ImagePlane *shape, const ScaledTaps &x,
    const ScaledTaps &y, double offset, int steps, Fault *why)
{
  const int least = image_sample_bytes (shape) == 1 ? 1 : 2;
  double bound = 0.0;

  for (int parts = least; parts <= TENSOR_MAX_PARTS; parts++) {
    bound = error_bound (shape, x, y, offset, steps, parts);
    if (bound < 0.25)
      return parts;
  }
  fault_set (why, FAULT_UNSUPPORTED,
      "half precision could be off by %.2f code values with these taps", bound);
  return 0;
}

static bool
supports_format (const Image *layout, Fault *why)
{
  const int bytes = image_sample_bytes (&layout->plane[0]);

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    if (!strip_is_packed (plane, why))
      return false;
    if (plane->depth > 10 || (bytes == 1 && plane->depth != 8))
      return fault_set (why, FAULT_UNSUPPORTED,
          "halves hold samples of 8 to 10 bits, not %d", plane->depth);
    if (plane->shift > TENSOR_MAX_SHIFT)
      return fault_set (why, FAULT_UNSUPPORTED,
          "samples lie at most %d bits up, not %d", TENSOR_MAX_SHIFT,
          plane->shift);
    if (image_sample_bytes (plane) != bytes || plane->channels == 3
        || (bytes == 2 && plane->channels == 4))
      return fault_set (why, FAULT_UNSUPPORTED,
          "planes have 1, 2 or, of bytes, 4 channels of one sample size");
    if (plane->channels == 4 && layout->n_planes > 1)
      return fault_set (
          why, FAULT_UNSUPPORTED, "a plane of 4 channels is the only one");
  }
  return true;
}

static bool
supports_plane (const SepconvSpec *spec, const Image *layout, int p,
    TensorSteps steps_of_plane, int most, Fault *why)
{
  const SepconvPlane *plane = &spec->plane[p];
  const SepconvTapScale scale = sepconv_tap_scale (spec, plane);
  const double gain = sepconv_gain (spec, plane);
  const int steps =
      steps_of_plane (&layout->plane[p], plane->x->n, plane->y->n);
  const double full = image_full_code (&layout->plane[p]);

  if (steps > most)
    return fault_set (why, FAULT_UNSUPPORTED, "it is for up to about %d taps",
        (most - 1) * TENSOR_STEP + 1);
  if (spec->border == SEPCONV_CONSTANT)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (plane->border_value[c] != floor (plane->border_value[c]))
        return fault_set (
            why, FAULT_UNSUPPORTED, "the border's value is no integer");
  return parts_of_plane (&layout->plane[p],
             ScaledTaps{ plane->x, 1.0, scale.x_exponent },
             ScaledTaps{ plane->y, scale.y_factor, scale.y_exponent },
             full * (1.0 + fabs (spec->bias) + gain), steps, why)
      > 0;
}

bool
tensor_supports_spec (const SepconvSpec *spec, const Image *layout,
    TensorSteps steps, int most, Fault *why)
{
  if (!supports_format (layout, why))
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

  if (samples == 4)
    return (i % 8 / 2) * 4 + i / 8 * 2 + i % 2;
  if (samples == 2)
    return i;
  return i / 8 * 8 + i % 2 * 4 + i % 8 / 2;
}

/* The parts of taps [0, n), as halves. */
static void
split_taps (const Taps *taps, int parts, __half (*half)[TAPS_MAX])
{
  for (int i = 0; i < taps->n; i++) {
    double rest = taps->tap[i];

    for (int part = 0; part < parts; part++)
      half[part][i] = __double2half (next_half (&rest));
  }
}

void
tensor_write_fragments (const Taps *taps, int first, int steps, int parts,
    const int *result, const int *window, uint4 *to)
{
  const __half none = __double2half (0.0);
  __half half[TENSOR_MAX_PARTS][TAPS_MAX], fragment[8];

  split_taps (taps, parts, half);
  for (int k = 0; k < steps; k++)
    for (int part = 0; part < parts; part++)
      for (int lane = 0; lane < TENSOR_LANES; lane++) {
        for (int i = 0; i < 8; i++) {
          const int row = lane / 4 + i / 2 % 2 * 8;
          const int column = lane % 4 * 2 + i / 4 * 8 + i % 2;
          const int tap =
              first + k * TENSOR_STEP + window[column] - result[row];

          fragment[i] = tap >= 0 && tap < taps->n ? half[part][tap] : none;
        }
        memcpy (to++, fragment, sizeof fragment);
      }
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
