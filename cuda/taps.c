/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "taps.h"

#include <math.h>
#include <string.h>

/* Divides each tap by the sum: the reciprocal of a tiny sum would be infinite. */
static void
normalize (Taps *taps)
{
  const double sum = taps_sum (taps);

  for (int i = 0; i < taps->n; i++)
    taps->tap[i] /= sum;
}

void
taps_gaussian (Taps *taps, double sigma, int radius)
{
  if (sigma <= 0.0)
    radius = 0;
  taps->n = 2 * radius + 1;
  taps->tap[radius] = 1.0;
  for (int i = 1; i <= radius; i++)
    taps->tap[radius - i] = taps->tap[radius + i] =
        exp (-0.5 * (i / sigma) * (i / sigma));
  normalize (taps);
}

void
taps_box (Taps *taps, double width, int radius)
{
  const double edge = radius == 0 ? 1.0 : (width - (2 * radius - 1)) / 2.0;

  taps->n = 2 * radius + 1;
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = 1.0;
  taps->tap[0] = taps->tap[2 * radius] = edge;
  normalize (taps);
}

void
taps_binomial (Taps *taps, double q, int radius)
{
  taps->n = 2 * radius + 1;
  memset (taps->tap, 0, sizeof (double) * (size_t) taps->n);
  taps->tap[radius] = 1.0;
  /* One pass for each step over the taps that are not 0; all values stay in [0, 1]. */
  for (int step = 1; step <= radius; step++) {
    double left = 0.0;

    for (int i = radius - step; i <= radius + step; i++) {
      const double here = taps->tap[i];
      const double right = i < 2 * radius ? taps->tap[i + 1] : 0.0;

      /* This order of operations rounds both halves alike, so that taps are symmetric. */
      taps->tap[i] = q * (left + right) + (1.0 - 2.0 * q) * here;
      left = here;
    }
  }
}

/* taps := taps * [first, 0 or middle, last] of three elements, in place. */
static void
convolve_three (Taps *taps, double first, double middle, double last)
{
  const int n = taps->n;

  taps->n = n + 2;
  taps->tap[n] = taps->tap[n + 1] = 0.0;
  for (int i = n + 1; i >= 0; i--) {
    const double a = i < n ? taps->tap[i] : 0.0;
    const double b = i >= 1 ? taps->tap[i - 1] : 0.0;
    const double c = i >= 2 ? taps->tap[i - 2] : 0.0;

    taps->tap[i] = first * a + middle * b + last * c;
  }
}

void
taps_sobel_smooth (Taps *taps, int radius)
{
  taps->n = 1;
  taps->tap[0] = 1.0;
  for (int i = 0; i < radius; i++)
    convolve_three (taps, 1.0, 2.0, 1.0);
}

void
taps_sobel_derivative (Taps *taps, int radius)
{
  taps_sobel_smooth (taps, radius - 1);
  convolve_three (taps, -1.0, 0.0, 1.0);
}

void
taps_second_derivative (Taps *taps, int radius)
{
  taps_sobel_smooth (taps, radius - 1);
  convolve_three (taps, 1.0, -2.0, 1.0);
}

void
taps_prewitt_derivative (Taps *taps, int radius)
{
  taps->n = 2 * radius + 1;
  for (int i = -radius; i <= radius; i++)
    taps->tap[radius + i] = i;
}

void
taps_prewitt_smooth (Taps *taps, int radius)
{
  taps->n = 2 * radius + 1;
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = 1.0;
}

static void
scharr (Taps *derivative, Taps *smooth)
{
  static const double d[] = { -1.0, 0.0, 1.0 }, s[] = { 3.0, 10.0, 3.0 };

  derivative->n = smooth->n = 3;
  memcpy (derivative->tap, d, sizeof d);
  memcpy (smooth->tap, s, sizeof s);
}

double
taps_sum (const Taps *taps)
{
  double sum = 0.0;

  for (int i = 0; i < taps->n; i++)
    sum += taps->tap[i];
  return sum;
}

double
taps_norm (const Taps *taps)
{
  double sum = 0.0;

  for (int i = 0; i < taps->n; i++)
    sum += fabs (taps->tap[i]);
  return sum;
}

bool
taps_is_identity (const Taps *taps)
{
  for (int i = 0; i < taps->n; i++)
    if (taps->tap[i] != (i == taps->n / 2 ? 1.0 : 0.0))
      return false;
  return true;
}

static bool
make_custom (Taps *taps, const double *custom, int n, bool unit_sum,
    const char *axis, Fault *fault)
{
  if (n < 1 || custom == NULL)
    return fault_set (fault, FAULT_SETTINGS,
        "kernel=custom needs 1 to %d taps, but taps-%s is empty.", TAPS_MAX,
        axis);
  if (n > TAPS_MAX)
    return fault_set (fault, FAULT_SETTINGS,
        "taps-%s has %d taps; the limit is %d.", axis, n, TAPS_MAX);
  for (int i = 0; i < n; i++)
    if (!isfinite (custom[i]))
      return fault_set (fault, FAULT_SETTINGS,
          "Tap %d of taps-%s is not a finite number.", i, axis);
  taps->n = n;
  memcpy (taps->tap, custom, sizeof (double) * (size_t) n);
  if (unit_sum) {
    const double sum = taps_sum (taps);

    /* A sum within the rounding error of its terms is as good as 0. */
    if (!(fabs (sum) > 1e-12 * taps_norm (taps)) || !isfinite (sum))
      return fault_set (fault, FAULT_SETTINGS,
          "The taps of taps-%s sum to zero and cannot be normalized.", axis);
    normalize (taps);
  }
  return true;
}

/* The default radius of a gaussian, in sigmas. Wide gaussians are cut off further out, and still
 * further for more bits: a hard edge at 3 sigma would prevent computing them at a lower sampling
 * rate, where the longer radius costs nothing. The factor grows continuously with sigma, so that a
 * sigma that changes from frame to frame shows no jump. */
static double
reach (double sigma, int depth)
{
  const double wide = fmin (fmax (sigma / 2.0, 3.0), 4.0);

  return depth <= 12 ? wide : fmax (wide, fmin (sigma / 3.0, 5.0));
}

static double
default_radius (const TapsSettings *settings, double sigma)
{
  return settings->kernel != TAPS_GAUSSIAN && settings->kernel != TAPS_UNSHARP
      ? 3.0 * sigma
      : fmax (3.0 * sigma,
          fmin (reach (sigma, settings->depth) * sigma, TAPS_MAX_RADIUS));
}

/* One more than the radius: subsampling may move a box's outermost taps out by one. */
int
taps_blur_reach (const TapsSettings *settings, double sigma, int sub)
{
  return (int) fmin (ceil (ceil (default_radius (settings, sigma)) / sub) + 1.0,
      TAPS_MAX_RADIUS);
}

/* A blur's radius on one axis: `radius`, or if negative the default for its sigma. */
static bool
blur_radius (const TapsSettings *settings, int radius, double sigma, int sub,
    int *result, Fault *fault)
{
  const double wanted =
      (radius >= 0 ? (double) radius : default_radius (settings, sigma)) / sub;

  if (!isfinite (sigma) || sigma < 0.0)
    return fault_set (fault, FAULT_SETTINGS,
        "sigma must be a finite number of pixels, not %g.", sigma);
  if (ceil (wanted) > TAPS_MAX_RADIUS)
    return fault_set (fault, FAULT_SETTINGS,
        "A kernel of radius %.0f is too long; the limit is %d.", ceil (wanted),
        TAPS_MAX_RADIUS);
  *result = (int) ceil (wanted);
  return true;
}

static bool
make_blur (const TapsSettings *settings, double sigma, int radius, int sub,
    Taps *taps, Fault *fault)
{
  int full = 0, r = 0;

  if (!blur_radius (settings, radius, sigma, 1, &full, fault)
      || !blur_radius (settings, radius, sigma, sub, &r, fault))
    return false;
  switch (settings->kernel) {
    case TAPS_BOX: {
      /* The window of 2*full+1 pixels, measured in pixels of this plane. */
      const double width = (2.0 * full + 1.0) / sub;

      r = width <= 1.0 ? 0 : (int) ceil ((width - 1.0) / 2.0);
      taps_box (taps, width, r);
      break;
    }
    case TAPS_BINOMIAL:
      /* full/2 is the variance of the binomial of order 2*full. */
      r = (full + sub - 1) / sub;
      taps_binomial (taps, r == 0 ? 0.0 : full / (4.0 * sub * sub * r), r);
      break;
    default:
      taps_gaussian (taps, sigma / sub, r);
  }
  return true;
}

static bool
make_derivative (const TapsSettings *settings, Taps *x, Taps *y, Fault *fault)
{
  const bool along_y = settings->kernel == TAPS_SOBEL_Y
      || settings->kernel == TAPS_SCHARR_Y
      || settings->kernel == TAPS_PREWITT_Y;
  const int radius_x = settings->radius_x < 0 ? 1 : settings->radius_x;
  const int radius_y = settings->radius_y < 0 ? radius_x : settings->radius_y;
  const int derivative_radius = along_y ? radius_y : radius_x;
  const int smooth_radius = along_y ? radius_x : radius_y;
  Taps *derivative = along_y ? y : x, *smooth = along_y ? x : y;

  if (derivative_radius < 1)
    return fault_set (fault, FAULT_SETTINGS,
        "A derivative kernel needs a radius of at least 1 along its axis, not %d.",
        derivative_radius);
  switch (settings->kernel) {
    case TAPS_SCHARR_X:
    case TAPS_SCHARR_Y:
      if (derivative_radius != 1 || smooth_radius != 1)
        return fault_set (fault, FAULT_SETTINGS,
            "Scharr kernels are 3x3: radius must be 1 or -1.");
      scharr (derivative, smooth);
      return true;
    case TAPS_SOBEL_X:
    case TAPS_SOBEL_Y:
      if (derivative_radius > TAPS_MAX_SOBEL_RADIUS
          || smooth_radius > TAPS_MAX_SOBEL_RADIUS)
        return fault_set (fault, FAULT_SETTINGS,
            "Sobel kernels have a radius of 1 to %d, not %d.",
            TAPS_MAX_SOBEL_RADIUS,
            derivative_radius > smooth_radius ? derivative_radius
                                              : smooth_radius);
      taps_sobel_derivative (derivative, derivative_radius);
      taps_sobel_smooth (smooth, smooth_radius);
      return true;
    default:
      if (radius_x > TAPS_MAX_RADIUS || radius_y > TAPS_MAX_RADIUS)
        return fault_set (fault, FAULT_SETTINGS,
            "A kernel of radius %d is too long; the limit is %d.",
            radius_x > radius_y ? radius_x : radius_y, TAPS_MAX_RADIUS);
      taps_prewitt_derivative (derivative, derivative_radius);
      taps_prewitt_smooth (smooth, smooth_radius);
      return true;
  }
}

bool
taps_make (const TapsSettings *settings, int sub_x, int sub_y, Taps *x, Taps *y,
    Fault *fault)
{
  const double sigma_x = settings->sigma_x;
  const double sigma_y = settings->sigma_y < 0.0 ? sigma_x : settings->sigma_y;
  const int radius_x = settings->radius_x;
  const int radius_y = settings->radius_y < 0 ? radius_x : settings->radius_y;

  if (!taps_is_one_term (settings->kernel))
    return fault_set (
        fault, FAULT_SETTINGS, "This kernel has more than one term.");
  switch (settings->kernel) {
    case TAPS_GAUSSIAN:
    case TAPS_BOX:
    case TAPS_BINOMIAL:
    case TAPS_UNSHARP:
      return make_blur (settings, sigma_x, radius_x, sub_x, x, fault)
          && make_blur (settings, sigma_y, radius_y, sub_y, y, fault);
    case TAPS_CUSTOM:
      if (!make_custom (x, settings->custom_x, settings->n_x,
              settings->normalize, "x", fault))
        return false;
      if (settings->n_y == 0) {
        *y = *x;
        return true;
      }
      return make_custom (y, settings->custom_y, settings->n_y,
          settings->normalize, "y", fault);
    default:
      return make_derivative (settings, x, y, fault);
  }
}
