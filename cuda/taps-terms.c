/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* taps-terms: kernels that are sums of several separable ones, or are combined with the picture. */
#include "taps.h"

#include <math.h>
#include <stddef.h>

bool
taps_is_one_term (TapsKernel kernel)
{
  return kernel <= TAPS_UNSHARP;
}

/* For smaller sigmas the second derivatives of a gaussian, which grow with 1 / sigma^4, become
 * useless and finally overflow. */
#define LEAST_LOG_SIGMA 0.01

/* Makes one term with the kernel in place of the settings' own. */
static bool
make_as (TapsKernel kernel, const TapsSettings *settings, int sub_x, int sub_y,
    Taps *x, Taps *y, Fault *fault)
{
  TapsSettings one = *settings;

  one.kernel = kernel;
  return taps_make (&one, sub_x, sub_y, x, y, fault);
}

static void
negate (Taps *taps)
{
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = -taps->tap[i];
}

/* Turns gaussian taps into its second derivative, which sums to 0. */
static void
differentiate_gaussian (Taps *taps, double sigma)
{
  const double a = sigma * sigma;
  const int center = taps->n / 2;
  double sum = 0.0;

  for (int i = 0; i < taps->n; i++)
    sum += ((i - center) * (i - center) / a - 1.0) / a * taps->tap[i];
  /* The gaussian itself sums to 1. */
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] *= ((i - center) * (i - center) / a - 1.0) / a - sum;
}

/* The default radius of log: 4 sigma, since the second derivative is still significant at 3 sigma.
 * -1, the gaussian's default, for a sigma that is too large even for a gaussian: then taps_make()
 * reports the fault. */
static int
log_radius (double sigma)
{
  return 3.0 * sigma > TAPS_MAX_RADIUS
      ? -1
      : (int) fmin (ceil (4.0 * sigma), TAPS_MAX_RADIUS);
}

static bool
make_log (const TapsSettings *settings, int sub_x, int sub_y, Taps *x, Taps *y,
    Fault *fault)
{
  const double sigma_x = settings->sigma_x;
  const double sigma_y = settings->sigma_y < 0.0 ? sigma_x : settings->sigma_y;
  TapsSettings wide = *settings;

  if (!(sigma_x >= LEAST_LOG_SIGMA) || !(sigma_y >= LEAST_LOG_SIGMA))
    return fault_set (fault, FAULT_SETTINGS,
        "kernel=log needs a sigma of at least %g on both axes.",
        LEAST_LOG_SIGMA);
  if (wide.radius_y < 0)
    wide.radius_y = wide.radius_x < 0 ? log_radius (sigma_y) : wide.radius_x;
  if (wide.radius_x < 0)
    wide.radius_x = log_radius (sigma_x);
  for (int t = 0; t < 2; t++)
    if (!make_as (TAPS_GAUSSIAN, &wide, sub_x, sub_y, x + t, y + t, fault))
      return false;
  differentiate_gaussian (&x[0], sigma_x / sub_x);
  differentiate_gaussian (&y[1], sigma_y / sub_y);
  return true;
}

static bool
make_dog (const TapsSettings *settings, int sub_x, int sub_y, Taps *x, Taps *y,
    Fault *fault)
{
  TapsSettings outer = *settings;

  if (isnan (settings->sigma_outer))
    return fault_set (fault, FAULT_SETTINGS, "sigma-outer is not a number.");
  if (settings->sigma_outer > 0.0) {
    outer.sigma_x = settings->sigma_outer;
    outer.sigma_y = -1.0;
  } else {
    outer.sigma_x *= 1.6;
    outer.sigma_y *= 1.6;
  }
  if (!make_as (TAPS_GAUSSIAN, settings, sub_x, sub_y, x, y, fault)
      || !make_as (TAPS_GAUSSIAN, &outer, sub_x, sub_y, x + 1, y + 1, fault))
    return false;
  negate (&y[1]);
  return true;
}

static bool
make_laplacian (const TapsSettings *settings, Taps *x, Taps *y, Fault *fault)
{
  const int radius_x = settings->radius_x < 0 ? 1 : settings->radius_x;
  const int radius_y = settings->radius_y < 0 ? radius_x : settings->radius_y;
  const bool x_fits = radius_x >= 1 && radius_x <= TAPS_MAX_SOBEL_RADIUS;

  if (!x_fits || radius_y < 1 || radius_y > TAPS_MAX_SOBEL_RADIUS)
    return fault_set (fault, FAULT_SETTINGS,
        "Laplacian kernels have a radius of 1 to %d, not %d.",
        TAPS_MAX_SOBEL_RADIUS, x_fits ? radius_y : radius_x);
  taps_second_derivative (&x[0], radius_x);
  taps_second_derivative (&y[1], radius_y);
  taps_sobel_smooth (&y[0], radius_y == 1 ? 0 : radius_y);
  taps_sobel_smooth (&x[1], radius_x == 1 ? 0 : radius_x);
  return true;
}

static bool
make_term (
    const TapsCustomTerm *term, int index, Taps *x, Taps *y, Fault *fault)
{
  const TapsSettings custom = { .kernel = TAPS_CUSTOM,
    .custom_x = term->x,
    .n_x = term->n_x,
    .custom_y = term->y,
    .n_y = term->n_y };
  Fault why;

  if (term->n_x < 1 || term->n_x > TAPS_MAX || term->n_y > TAPS_MAX)
    return fault_set (fault, FAULT_SETTINGS,
        "Term %d of terms-%s has %d taps; 1 to %d are allowed.", index,
        term->n_y > TAPS_MAX ? "y" : "x",
        term->n_y > TAPS_MAX ? term->n_y : term->n_x, TAPS_MAX);
  if (!taps_make (&custom, 1, 1, x, y, &why))
    return fault_set (fault, FAULT_SETTINGS,
        "Term %d of terms-x and terms-y: %s", index, why.message);
  return true;
}

static bool
make_terms (
    const TapsSettings *settings, Taps *x, Taps *y, int *n, Fault *fault)
{
  double sum = 0.0, norm = 0.0;

  if (settings->n_terms < 1 || settings->n_terms > TAPS_MAX_TERMS
      || settings->term == NULL)
    return fault_set (fault, FAULT_SETTINGS,
        "kernel=terms needs 1 to %d terms, but terms-x has %d.", TAPS_MAX_TERMS,
        settings->n_terms);
  *n = settings->n_terms;
  for (int t = 0; t < *n; t++) {
    if (!make_term (&settings->term[t], t, &x[t], &y[t], fault))
      return false;
    sum += taps_sum (&x[t]) * taps_sum (&y[t]);
    norm += taps_norm (&x[t]) * taps_norm (&y[t]);
  }
  if (!settings->normalize)
    return true;
  if (!(fabs (sum) > 1e-12 * norm) || !isfinite (sum))
    return fault_set (fault, FAULT_SETTINGS,
        "The terms sum to zero and cannot be normalized.");
  for (int t = 0; t < *n; t++)
    for (int i = 0; i < x[t].n; i++) {
      x[t].tap[i] /= sum;
      if (!isfinite (x[t].tap[i]))
        return fault_set (fault, FAULT_SETTINGS,
            "The terms sum to %g, too little to be normalized.", sum);
    }
  return true;
}

bool
taps_make_terms (const TapsSettings *settings, int sub_x, int sub_y,
    Taps x[TAPS_MAX_TERMS], Taps y[TAPS_MAX_TERMS], int *n, Fault *fault)
{
  static const struct
  {
    TapsKernel kernel, x, y;
  } gradients[] = {
    { TAPS_SOBEL, TAPS_SOBEL_X, TAPS_SOBEL_Y },
    { TAPS_SCHARR, TAPS_SCHARR_X, TAPS_SCHARR_Y },
    { TAPS_PREWITT, TAPS_PREWITT_X, TAPS_PREWITT_Y },
  };

  *n = 2;
  switch (settings->kernel) {
    case TAPS_LAPLACIAN:
      return make_laplacian (settings, x, y, fault);
    case TAPS_LOG:
      return make_log (settings, sub_x, sub_y, x, y, fault);
    case TAPS_DOG:
      return make_dog (settings, sub_x, sub_y, x, y, fault);
    case TAPS_TERMS:
      return make_terms (settings, x, y, n, fault);
    default:
      break;
  }
  for (unsigned g = 0; g < sizeof gradients / sizeof gradients[0]; g++)
    if (gradients[g].kernel == settings->kernel)
      return make_as (
                 gradients[g].x, settings, sub_x, sub_y, &x[0], &y[0], fault)
          && make_as (
              gradients[g].y, settings, sub_x, sub_y, &x[1], &y[1], fault);
  *n = 1;
  return taps_make (settings, sub_x, sub_y, x, y, fault);
}
