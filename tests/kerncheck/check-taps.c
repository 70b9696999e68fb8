/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The taps as mathematics. */
#include "kerncheck.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double
variance (const Taps *taps)
{
  double sum = 0.0, total = 0.0;

  for (int i = 0; i < taps->n; i++) {
    const double d = i - taps->n / 2;

    sum += taps->tap[i] * d * d;
    total += taps->tap[i];
  }
  return sum / total;
}

/* Properties of all blurs: the sum is 1; symmetric; never negative; decreasing from the
 * centre. */
static void
expect_blur (Check *check, const Taps *taps, int radius)
{
  const int n = 2 * radius + 1;
  double sum = 0.0;

  if (!EXPECT (
          check, taps->n == n, "%d taps where %d were expected", taps->n, n))
    return;
  for (int i = 0; i < n; i++)
    sum += taps->tap[i];
  EXPECT (check, fabs (sum - 1.0) < 1e-12, "the taps sum to 1 + %g", sum - 1.0);
  for (int i = 0; i <= radius; i++) {
    EXPECT (check,
        fabs (taps->tap[radius - i] - taps->tap[radius + i])
            <= 1e-13 * taps->tap[radius + i],
        "taps %d and %d differ: %g and %g", -i, i, taps->tap[radius - i],
        taps->tap[radius + i]);
    EXPECT (check, taps->tap[radius + i] >= 0.0, "tap %d is %g", i,
        taps->tap[radius + i]);
    if (i > 0)
      EXPECT (check,
          taps->tap[radius + i] <= taps->tap[radius + i - 1] * (1.0 + 1e-12),
          "tap %d is larger than tap %d", i, i - 1);
  }
}

static void
expect_taps (Check *check, const char *what, const Taps *taps,
    const double *expected, int n)
{
  if (!EXPECT (check, taps->n == n, "%s: %d taps where %d were expected", what,
          taps->n, n))
    return;
  for (int i = 0; i < n; i++)
    EXPECT (check, fabs (taps->tap[i] - expected[i]) <= 1e-12,
        "%s: tap %d is %.17g where %.17g was expected", what, i, taps->tap[i],
        expected[i]);
}

static void
gaussian_case (Check *check, Random *random, int index, const void *data)
{
  static const double sigmas[] = { 1e-300, 5e-324, 1e-3, 0.1, 0.5, 1.0, 2.0,
    10.0, 341.0, 1e4, 1e150, 1e300 };
  const int n = (int) (sizeof sigmas / sizeof sigmas[0]);
  const double sigma = index < n
      ? sigmas[index]
      : exp (random_double (random, log (0.05), log (2000.0)));
  const int radius =
      index % 5 == 4 ? TAPS_MAX_RADIUS : random_int (random, 0, 60);
  Taps taps;

  (void) data;
  check_describe (check, "sigma %g radius %d", sigma, radius);
  taps_gaussian (&taps, sigma, radius);
  expect_blur (check, &taps, radius);
  for (int i = 1; i <= radius && !check->case_failed; i++) {
    const double expected = exp (-0.5 * (i / sigma) * (i / sigma));
    const double ratio = taps.tap[radius + i] / taps.tap[radius];

    EXPECT (check, fabs (ratio - expected) <= 1e-12 * expected + DBL_MIN,
        "tap %d is %g of the centre where %g was expected", i, ratio, expected);
  }
  if (sigma > 1.5 && radius >= 8.0 * sigma)
    EXPECT (check, fabs (variance (&taps) / (sigma * sigma) - 1.0) < 1e-6,
        "the variance is %g", variance (&taps));
}

static void
check_gaussian (Check *check, const void *data)
{
  Taps taps;

  check_cases (check, check->quick ? 30 : 300, gaussian_case, data);
  taps_gaussian (&taps, 0.0, 7);
  EXPECT (check, taps.n == 1 && taps.tap[0] == 1.0,
      "sigma 0 does not give one tap of 1");
}

static void
box_case (Check *check, Random *random, int index, const void *data)
{
  const int radius = index == 0 ? TAPS_MAX_RADIUS : random_int (random, 0, 80);
  const double width = index % 2
      ? 2.0 * radius + 1.0
      : 2.0 * radius - 1.0 + 2.0 * random_double (random, 1e-9, 1.0);
  Taps taps;

  (void) data;
  if (width <= 0.0)
    return;
  check_describe (check, "width %g radius %d", width, radius);
  taps_box (&taps, width, radius);
  expect_blur (check, &taps, radius);
  if (radius == 0)
    return;
  EXPECT (check, fabs (taps.tap[radius] * width - 1.0) < 1e-12 || radius == 0,
      "an inner tap is %g", taps.tap[radius]);
  EXPECT (check,
      fabs (taps.tap[0] * width - (width - (2.0 * radius - 1.0)) / 2.0) < 1e-12,
      "the outermost tap is %g", taps.tap[0]);
  if (index % 2)
    EXPECT (check,
        fabs (variance (&taps) - (width * width - 1.0) / 12.0)
            < 1e-9 * width * width,
        "the variance is %g", variance (&taps));
}

static void
check_box (Check *check, const void *data)
{
  check_cases (check, check->quick ? 20 : 200, box_case, data);
}

static void
binomial_case (Check *check, Random *random, int index, const void *data)
{
  const int radius = index == 0 ? TAPS_MAX_RADIUS : random_int (random, 0, 100);
  const double q = index % 2 ? 0.25 : random_double (random, 0.0, 0.25);
  Taps taps;

  (void) data;
  check_describe (check, "q %g radius %d", q, radius);
  taps_binomial (&taps, q, radius);
  expect_blur (check, &taps, radius);
  EXPECT (check,
      fabs (variance (&taps) - 2.0 * q * radius) < 1e-10 * (1.0 + radius),
      "the variance is %g where %g was expected", variance (&taps),
      2.0 * q * radius);
  /* The coefficients of order 2*radius, each computed from its neighbour. */
  for (int k = 1; index % 2 && k <= radius && radius <= 100; k++) {
    const double ratio = (2.0 * radius - k + 1.0) / k;

    EXPECT (check, fabs (taps.tap[k] / taps.tap[k - 1] / ratio - 1.0) < 1e-12,
        "tap %d is not binomial", k);
  }
}

static void
check_binomial (Check *check, const void *data)
{
  check_cases (check, check->quick ? 20 : 200, binomial_case, data);
}

static void
check_sobel (Check *check, const void *data)
{
  static const double derivative[3][7] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 },
    { -1, -4, -5, 0, 5, 4, 1 } };
  static const double smooth[3][7] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 },
    { 1, 6, 15, 20, 15, 6, 1 } };
  Taps taps, x, y;

  (void) data;
  check->cases++;
  for (int radius = 1; radius <= 3; radius++) {
    TapsSettings settings = {
      .kernel = TAPS_SOBEL_X, .radius_x = radius, .radius_y = -1
    };
    Fault fault;

    taps_sobel_derivative (&taps, radius);
    expect_taps (
        check, "derivative", &taps, derivative[radius - 1], 2 * radius + 1);
    taps_sobel_smooth (&taps, radius);
    expect_taps (check, "smooth", &taps, smooth[radius - 1], 2 * radius + 1);
    EXPECT (check, taps_make (&settings, 2, 4, &x, &y, &fault), "sobel-x: %s",
        fault.message);
    expect_taps (
        check, "sobel-x x", &x, derivative[radius - 1], 2 * radius + 1);
    expect_taps (check, "sobel-x y", &y, smooth[radius - 1], 2 * radius + 1);
    settings.kernel = TAPS_SOBEL_Y;
    EXPECT (check, taps_make (&settings, 1, 2, &x, &y, &fault), "sobel-y: %s",
        fault.message);
    expect_taps (check, "sobel-y x", &x, smooth[radius - 1], 2 * radius + 1);
    expect_taps (
        check, "sobel-y y", &y, derivative[radius - 1], 2 * radius + 1);
  }
  for (int radius = 1; radius <= 15; radius++) {
    taps_sobel_derivative (&taps, radius);
    EXPECT (
        check, taps_sum (&taps) == 0.0, "radius %d: the sum is not 0", radius);
    taps_sobel_smooth (&taps, radius);
    EXPECT (check, taps_sum (&taps) == pow (4.0, radius),
        "radius %d: the sum is %g", radius, taps_sum (&taps));
  }
}

static void
check_scharr (Check *check, const void *data)
{
  static const double derivative[] = { -1, 0, 1 }, smooth[] = { 3, 10, 3 };
  TapsSettings settings = {
    .kernel = TAPS_SCHARR_X, .radius_x = -1, .radius_y = -1
  };
  Taps x, y;
  Fault fault;

  (void) data;
  check->cases++;
  EXPECT (
      check, taps_make (&settings, 1, 1, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "scharr-x x", &x, derivative, 3);
  expect_taps (check, "scharr-x y", &y, smooth, 3);
  settings.kernel = TAPS_SCHARR_Y;
  settings.radius_x = 1;
  EXPECT (
      check, taps_make (&settings, 2, 2, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "scharr-y x", &x, smooth, 3);
  expect_taps (check, "scharr-y y", &y, derivative, 3);
}

static void
check_prewitt (Check *check, const void *data)
{
  static const double ramp[] = { -2, -1, 0, 1, 2 }, ones[] = { 1, 1, 1, 1, 1 };
  TapsSettings settings = {
    .kernel = TAPS_PREWITT_X, .radius_x = 2, .radius_y = 1
  };
  Taps x, y;
  Fault fault;

  (void) data;
  check->cases++;
  EXPECT (
      check, taps_make (&settings, 1, 1, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "prewitt-x x", &x, ramp, 5);
  expect_taps (check, "prewitt-x y", &y, ones, 3);
  settings.kernel = TAPS_PREWITT_Y;
  EXPECT (
      check, taps_make (&settings, 4, 2, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "prewitt-y x", &x, ones, 5);
  expect_taps (check, "prewitt-y y", &y, ramp + 1, 3);
  settings.radius_x = settings.radius_y = -1;
  EXPECT (
      check, taps_make (&settings, 1, 1, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "prewitt-y default", &y, ramp + 1, 3);
}

/* The radii and widths that negative values select. */
static void
check_defaults (Check *check, const void *data)
{
  static const struct
  {
    double sigma_x, sigma_y;
    int radius_x, radius_y;
    int n_x, n_y;
    double used_x, used_y; /* the resulting sigmas */
  } rows[] = {
    { 2.0, -1.0, -1, -1, 13, 13, 2.0, 2.0 },
    { 2.1, 0.5, -1, -1, 15, 5, 2.1, 0.5 },
    { 2.0, 1.0, 4, -1, 9, 9, 2.0, 1.0 },
    { 2.0, 1.0, -1, 4, 13, 9, 2.0, 1.0 },
    { 2.0, 1.0, 0, 3, 1, 7, 2.0, 1.0 },
    { 1e-300, -1.0, -1, -1, 3, 3, 1e-300, 1e-300 },
    { 1e-3, 0.0, -1, -1, 3, 1, 1e-3, 0.0 },
    { 0.0, 3.0, -1, -1, 1, 19, 0.0, 3.0 },
    { 1e300, -1.0, 5, -1, 11, 11, 1e300, 1e300 },
  };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const TapsSettings settings = { .kernel = TAPS_GAUSSIAN,
      .sigma_x = rows[i].sigma_x,
      .sigma_y = rows[i].sigma_y,
      .radius_x = rows[i].radius_x,
      .radius_y = rows[i].radius_y };
    Taps x, y, expected;
    Fault fault;

    if (!EXPECT (check, taps_make (&settings, 1, 1, &x, &y, &fault),
            "row %zu: %s", i, fault.message))
      continue;
    taps_gaussian (&expected, rows[i].used_x, rows[i].n_x / 2);
    EXPECT (check, x.n == rows[i].n_x, "row %zu: %d taps along x", i, x.n);
    expect_taps (check, "x", &x, expected.tap, expected.n);
    taps_gaussian (&expected, rows[i].used_y, rows[i].n_y / 2);
    EXPECT (check, y.n == rows[i].n_y, "row %zu: %d taps along y", i, y.n);
    expect_taps (check, "y", &y, expected.tap, expected.n);
  }
}

/* The radius of a blur along a subsampled axis: rounded up. */
static int
subsampled (int radius, int sub)
{
  return (radius + sub - 1) / sub;
}

static void
subsampling_case (Check *check, Random *random, int index, const void *data)
{
  static const int subs[] = { 1, 2, 4 };
  const int sub_x = subs[index % 3], sub_y = subs[index / 3 % 3];
  const double sigma = random_double (random, 0.2, 20.0);
  const int depth = random_int (random, 0, 16);
  const double reach = depth > 12 && sigma > 12.0
      ? fmin (sigma / 3.0, 5.0)
      : fmin (fmax (sigma / 2.0, 3.0), 4.0);
  TapsSettings settings = { .depth = depth,
    .sigma_x = sigma,
    .sigma_y = -1.0,
    .radius_x = random_int (random, 0, 70),
    .radius_y = random_int (random, 0, 70) };
  Taps x, y, expected;
  Fault fault;

  (void) data;
  check_describe (check, "sigma %g radius %d,%d subsampled by %d,%d", sigma,
      settings.radius_x, settings.radius_y, sub_x, sub_y);

  settings.kernel = TAPS_BINOMIAL;
  EXPECT (check, taps_make (&settings, sub_x, sub_y, &x, &y, &fault), "%s",
      fault.message);
  expect_blur (check, &x, subsampled (settings.radius_x, sub_x));
  expect_blur (check, &y, subsampled (settings.radius_y, sub_y));
  EXPECT (check,
      fabs (variance (&x) * sub_x * sub_x - settings.radius_x / 2.0) < 1e-10
          && fabs (variance (&y) * sub_y * sub_y - settings.radius_y / 2.0)
              < 1e-10,
      "binomial: variances %g and %g", variance (&x), variance (&y));

  settings.kernel = TAPS_BOX;
  EXPECT (check, taps_make (&settings, sub_x, sub_y, &x, &y, &fault), "%s",
      fault.message);
  expect_blur (check, &x, x.n / 2);
  EXPECT (check,
      x.n < 3
          || fabs (x.tap[x.n / 2] - sub_x / (2.0 * settings.radius_x + 1.0))
              < 1e-12,
      "box: the inner taps are %g", x.tap[x.n / 2]);

  settings.kernel = TAPS_GAUSSIAN;
  EXPECT (check, taps_make (&settings, sub_x, sub_y, &x, &y, &fault), "%s",
      fault.message);
  taps_gaussian (
      &expected, sigma / sub_x, subsampled (settings.radius_x, sub_x));
  expect_taps (check, "gaussian x", &x, expected.tap, expected.n);
  taps_gaussian (
      &expected, sigma / sub_y, subsampled (settings.radius_y, sub_y));
  expect_taps (check, "gaussian y", &y, expected.tap, expected.n);

  settings.radius_x = settings.radius_y = -1;
  EXPECT (check, taps_make (&settings, sub_x, sub_y, &x, &y, &fault), "%s",
      fault.message);
  EXPECT (check, x.n == 2 * (int) ceil (reach * sigma / sub_x) + 1,
      "gaussian: %d taps by default", x.n);
}

static void
check_subsampling (Check *check, const void *data)
{
  check_cases (check, check->quick ? 18 : 180, subsampling_case, data);
}

static void
check_custom (Check *check, const void *data)
{
  static const double a[] = { 1, 2, 5 }, b[] = { 3, -1 };
  static const double a_normal[] = { 0.125, 0.25, 0.625 };
  static const double b_normal[] = { 1.5, -0.5 };
  TapsSettings settings = {
    .kernel = TAPS_CUSTOM, .custom_x = a, .n_x = 3, .custom_y = b, .n_y = 2
  };
  double longest[TAPS_MAX];
  Taps x, y;
  Fault fault;

  (void) data;
  check->cases++;
  EXPECT (
      check, taps_make (&settings, 2, 2, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "x", &x, a, 3);
  expect_taps (check, "y", &y, b, 2);
  settings.normalize = true;
  EXPECT (
      check, taps_make (&settings, 1, 1, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "normalized x", &x, a_normal, 3);
  expect_taps (check, "normalized y", &y, b_normal, 2);
  settings.n_y = 0;
  EXPECT (
      check, taps_make (&settings, 1, 1, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "y like x", &y, a_normal, 3);
  for (int i = 0; i < TAPS_MAX; i++)
    longest[i] = i;
  settings.custom_x = longest;
  settings.n_x = TAPS_MAX;
  settings.normalize = false;
  EXPECT (
      check, taps_make (&settings, 1, 1, &x, &y, &fault), "%s", fault.message);
  expect_taps (check, "longest", &x, longest, TAPS_MAX);
}

static void
expect_refused (Check *check, const char *what, const TapsSettings *settings)
{
  Taps x, y;
  Fault fault;

  fault_clear (&fault);
  EXPECT_FAULT (check, !taps_make (settings, 1, 1, &x, &y, &fault), &fault,
      FAULT_SETTINGS, what);
  EXPECT (check, !taps_make (settings, 1, 1, &x, &y, NULL),
      "%s was accepted without a fault to fill", what);
}

static void
check_custom_errors (Check *check, const void *data)
{
  static double too_long[TAPS_MAX + 1];
  static const double fine[] = { 0.25, 0.5, 0.25 };
  const struct
  {
    const char *what;
    double taps[3];
    bool normalize;
  } rows[] = {
    { "NaN", { 1.0, NAN, 1.0 }, false },
    { "infinity", { 1.0, 1.0, INFINITY }, false },
    { "minus infinity", { -INFINITY, 1.0, 1.0 }, false },
    { "normalized NaN", { NAN, 1.0, 1.0 }, true },
    { "normalized zeros", { 0.0, 0.0, 0.0 }, true },
    { "a normalized sum of 0", { -1.0, 0.0, 1.0 }, true },
    { "a normalized sum of rounding errors", { 0.1, 0.2, -0.3 }, true },
  };
  TapsSettings settings = { .kernel = TAPS_CUSTOM };

  (void) data;
  check->cases++;
  expect_refused (check, "no taps at all", &settings);
  settings.custom_x = fine;
  expect_refused (check, "empty taps", &settings);
  settings.n_x = -1;
  expect_refused (check, "a negative number of taps", &settings);
  settings.custom_x = NULL;
  settings.n_x = 3;
  expect_refused (check, "missing taps", &settings);
  settings.custom_x = too_long;
  settings.n_x = TAPS_MAX + 1;
  expect_refused (check, "too many taps along x", &settings);
  settings.custom_x = fine;
  settings.n_x = 3;
  settings.custom_y = too_long;
  settings.n_y = TAPS_MAX + 1;
  expect_refused (check, "too many taps along y", &settings);
  settings.n_y = -1;
  expect_refused (check, "a negative number of taps along y", &settings);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    TapsSettings row = { .kernel = TAPS_CUSTOM,
      .custom_x = rows[i].taps,
      .n_x = 3,
      .normalize = rows[i].normalize };

    expect_refused (check, rows[i].what, &row);
    row.custom_y = rows[i].taps;
    row.n_y = 3;
    row.custom_x = fine;
    expect_refused (check, rows[i].what, &row);
  }
}

/* Normalized taps are finite and sum to 1, or are refused. */
static void
check_normalize_tiny (Check *check, const void *data)
{
  static const double sums[] = { 1e-300, 1e-310, 5e-324, 1e300, 1e308 };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
    const TapsSettings settings = {
      .kernel = TAPS_CUSTOM, .custom_x = &sums[i], .n_x = 1, .normalize = true
    };
    Taps x, y;
    Fault fault;

    if (taps_make (&settings, 1, 1, &x, &y, &fault))
      EXPECT (check, fabs (x.tap[0] - 1.0) < 1e-12,
          "a tap of %g is normalized to %g", sums[i], x.tap[0]);
    else
      EXPECT (check, fault.kind == FAULT_SETTINGS, "%s", fault.message);
  }
}

static void
check_generated_errors (Check *check, const void *data)
{
  static const TapsKernel blurs[] = { TAPS_GAUSSIAN, TAPS_BOX, TAPS_BINOMIAL };
  static const TapsKernel slopes[] = { TAPS_SOBEL_X, TAPS_SOBEL_Y,
    TAPS_SCHARR_X, TAPS_SCHARR_Y, TAPS_PREWITT_X, TAPS_PREWITT_Y };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof blurs / sizeof blurs[0]; i++) {
    const TapsSettings fine = { .kernel = blurs[i],
      .sigma_x = 1.0,
      .sigma_y = -1.0,
      .radius_x = -1,
      .radius_y = -1 };
    TapsSettings bad = fine;

    bad.sigma_x = NAN;
    expect_refused (check, "sigma NaN", &bad);
    bad.sigma_x = INFINITY;
    expect_refused (check, "an infinite sigma", &bad);
    bad.sigma_x = -1.0;
    expect_refused (check, "a negative sigma", &bad);
    bad.sigma_x = 1e300;
    expect_refused (check, "a huge sigma without radius", &bad);
    bad.sigma_x = 683.0;
    expect_refused (check, "a sigma just too large", &bad);
    bad = fine;
    bad.sigma_y = NAN;
    expect_refused (check, "sigma-y NaN", &bad);
    bad = fine;
    bad.radius_x = TAPS_MAX_RADIUS + 1;
    expect_refused (check, "a radius just too large", &bad);
    bad = fine;
    bad.radius_y = 2147483647;
    expect_refused (check, "the largest int as radius", &bad);
  }
  for (size_t i = 0; i < sizeof slopes / sizeof slopes[0]; i++) {
    const bool is_scharr =
        slopes[i] == TAPS_SCHARR_X || slopes[i] == TAPS_SCHARR_Y;
    TapsSettings bad = { .kernel = slopes[i], .radius_x = 0, .radius_y = 0 };

    expect_refused (check, "a derivative of radius 0", &bad);
    bad.radius_x = bad.radius_y = TAPS_MAX_RADIUS + 1;
    expect_refused (check, "a derivative of a radius too large", &bad);
    bad.radius_x = bad.radius_y = 2147483647;
    expect_refused (check, "a derivative of the largest int", &bad);
    bad.radius_x = bad.radius_y = 2;
    if (is_scharr)
      expect_refused (check, "scharr of radius 2", &bad);
    bad.radius_x = bad.radius_y = 16;
    if (slopes[i] == TAPS_SOBEL_X || slopes[i] == TAPS_SOBEL_Y)
      expect_refused (check, "sobel of radius 16", &bad);
  }
}

static void
check_identity (Check *check, const void *data)
{
  static const double odd[] = { 0, 1, 0 }, even[] = { 0, 0, 1, 0 };
  static const double early[] = { 1, 0, 0 }, even_early[] = { 0, 1, 0, 0 };
  static const double nearly[] = { 0, 1 - 1e-15, 0 }, two[] = { 0, 1, 1e-300 };
  static const struct
  {
    const double *tap;
    int n;
    bool identity;
  } rows[] = { { odd, 3, true }, { even, 4, true }, { odd + 1, 1, true },
    { odd, 2, true }, { early, 3, false }, { even_early, 4, false },
    { nearly, 3, false }, { two, 3, false }, { odd, 1, false } };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Taps taps = { .n = rows[i].n };

    memcpy (taps.tap, rows[i].tap, sizeof (double) * (size_t) rows[i].n);
    EXPECT (check, taps_is_identity (&taps) == rows[i].identity,
        "row %zu is%s taken for the identity", i,
        rows[i].identity ? " not" : "");
  }
}

static void
check_sums (Check *check, const void *data)
{
  static const Taps taps = { .n = 4, .tap = { 1.0, -2.0, 0.5, -4.0, 100.0 } };

  (void) data;
  check->cases++;
  EXPECT (check, taps_sum (&taps) == -4.5, "the sum is %g", taps_sum (&taps));
  EXPECT (check, taps_norm (&taps) == 7.5, "the norm is %g", taps_norm (&taps));
}

/* The terms of a kernel, too large for a stack. */
typedef struct
{
  int n;
  Taps x[TAPS_MAX_TERMS], y[TAPS_MAX_TERMS];
} Terms;

static bool
make_terms (Check *check, Terms *terms, const TapsSettings *settings, int sub_x,
    int sub_y)
{
  Fault fault;

  fault_clear (&fault);
  return EXPECT (check,
      taps_make_terms (
          settings, sub_x, sub_y, terms->x, terms->y, &terms->n, &fault),
      "refused: %s", fault.message);
}

static double
sum_of_terms (const Terms *terms)
{
  double sum = 0.0;

  for (int t = 0; t < terms->n; t++)
    sum += taps_sum (&terms->x[t]) * taps_sum (&terms->y[t]);
  return sum;
}

/* The response at 0 to (x - x0)^2 + (y - y0)^2, as the sum over all products of taps. */
static double
response_to_bowl (const Terms *terms, double x0, double y0)
{
  double sum = 0.0;

  for (int t = 0; t < terms->n; t++)
    for (int j = 0; j < terms->y[t].n; j++)
      for (int i = 0; i < terms->x[t].n; i++) {
        const double x = i - terms->x[t].n / 2 - x0;
        const double y = j - terms->y[t].n / 2 - y0;

        sum += terms->x[t].tap[i] * terms->y[t].tap[j] * (x * x + y * y);
      }
  return sum;
}

static void
expect_even (Check *check, const char *what, const Taps *taps)
{
  const double norm = taps_norm (taps);

  EXPECT (check, taps->n % 2 == 1, "%s: %d taps", what, taps->n);
  for (int i = 0; i < taps->n / 2; i++)
    EXPECT (check,
        fabs (taps->tap[i] - taps->tap[taps->n - 1 - i]) <= 1e-14 * norm,
        "%s: taps %d from both ends differ: %g and %g", what, i, taps->tap[i],
        taps->tap[taps->n - 1 - i]);
}

static void
check_gradients (Check *check, const void *data)
{
  static const struct
  {
    const char *what;
    TapsKernel kernel, x, y;
  } rows[] = {
    { "sobel", TAPS_SOBEL, TAPS_SOBEL_X, TAPS_SOBEL_Y },
    { "scharr", TAPS_SCHARR, TAPS_SCHARR_X, TAPS_SCHARR_Y },
    { "prewitt", TAPS_PREWITT, TAPS_PREWITT_X, TAPS_PREWITT_Y },
  };
  Terms *terms = kerncheck_alloc (sizeof *terms);

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    TapsSettings settings = {
      .kernel = rows[i].kernel, .radius_x = -1, .radius_y = -1
    };
    Taps x, y;

    EXPECT (check, !taps_is_one_term (rows[i].kernel),
        "%s is taken for one term", rows[i].what);
    if (!make_terms (check, terms, &settings, 2, 2))
      continue;
    EXPECT (check, terms->n == 2 && sum_of_terms (terms) == 0.0,
        "%s: %d terms of sum %g", rows[i].what, terms->n, sum_of_terms (terms));
    for (int t = 0; t < 2; t++) {
      settings.kernel = t == 0 ? rows[i].x : rows[i].y;
      EXPECT (
          check, taps_make (&settings, 1, 1, &x, &y, NULL), "%s", rows[i].what);
      expect_taps (check, rows[i].what, &terms->x[t], x.tap, x.n);
      expect_taps (check, rows[i].what, &terms->y[t], y.tap, y.n);
    }
    /* The taps along y equal those along x. */
    expect_taps (check, rows[i].what, &terms->y[1], terms->x[0].tap, 3);
    expect_taps (check, rows[i].what, &terms->x[1], terms->y[0].tap, 3);
  }
  free (terms);
}

static void
check_laplacian (Check *check, const void *data)
{
  static const double second[] = { 1, -2, 1 }, one[] = { 1 };
  static const double wider[] = { 1, 0, -2, 0, 1 };
  Terms *terms = kerncheck_alloc (sizeof *terms);

  (void) data;
  check->cases++;
  for (int radius = 1; radius <= 4; radius++) {
    const TapsSettings settings = {
      .kernel = TAPS_LAPLACIAN, .radius_x = radius, .radius_y = -1
    };
    /* For x^2: 2 by each derivative, and 4 by each factor of the smoothing along either
     * axis. */
    const double bowl = radius == 1 ? 4.0 : 4.0 * pow (4.0, 2 * radius - 1);

    if (!make_terms (check, terms, &settings, 2, 1))
      continue;
    EXPECT (check, terms->n == 2 && sum_of_terms (terms) == 0.0,
        "radius %d: %d terms of sum %g", radius, terms->n,
        sum_of_terms (terms));
    for (int t = 0; t < 2; t++) {
      expect_even (check, "x", &terms->x[t]);
      expect_even (check, "y", &terms->y[t]);
    }
    for (int at = -9; at <= 9; at += 3)
      EXPECT (check,
          fabs (response_to_bowl (terms, at, 0.5 * at) - bowl) <= 1e-9 * bowl,
          "radius %d: the response to a parabola is %g at %d where %g was "
          "expected",
          radius, response_to_bowl (terms, at, 0.5 * at), at, bowl);
    if (radius <= 2)
      expect_taps (check, "second derivative", &terms->x[0],
          radius == 1 ? second : wider, 2 * radius + 1);
    if (radius == 1)
      expect_taps (check, "across", &terms->y[0], one, 1);
  }
  free (terms);
}

static void
log_case (Check *check, Random *random, int index, const void *data)
{
  const TapsSettings settings = { .kernel = TAPS_LOG,
    .sigma_x = random_double (random, 1.0, 12.0),
    .sigma_y = index % 2 ? -1.0 : random_double (random, 1.0, 12.0),
    .radius_x = -1,
    .radius_y = -1 };
  const double sigma_y =
      settings.sigma_y < 0.0 ? settings.sigma_x : settings.sigma_y;
  Terms *terms = kerncheck_alloc (sizeof *terms);

  (void) data;
  check_describe (check, "sigma %g, %g", settings.sigma_x, settings.sigma_y);
  if (make_terms (check, terms, &settings, 1, 1)) {
    const double norm = taps_norm (&terms->x[0]) + taps_norm (&terms->y[1]);

    EXPECT (check,
        terms->n == 2 && fabs (taps_sum (&terms->x[0])) < 1e-14 * norm
            && fabs (taps_sum (&terms->y[1])) < 1e-14 * norm,
        "%d terms, second derivatives sum to %g and %g", terms->n,
        taps_sum (&terms->x[0]), taps_sum (&terms->y[1]));
    EXPECT (check,
        terms->x[0].n == 2 * (int) ceil (4.0 * settings.sigma_x) + 1
            && terms->y[0].n == 2 * (int) ceil (4.0 * sigma_y) + 1,
        "%d x %d taps", terms->x[0].n, terms->y[0].n);
    for (int t = 0; t < 2; t++) {
      expect_even (check, "x", &terms->x[t]);
      expect_even (check, "y", &terms->y[t]);
    }
    /* The Laplacian of x^2 + y^2 is 4; the part cut off beyond 4 sigma is 1 % of it. */
    EXPECT (check, fabs (response_to_bowl (terms, 3.0, -2.0) - 4.0) < 0.05,
        "the response to a parabola is %g where 4 was expected",
        response_to_bowl (terms, 3.0, -2.0));
  }
  free (terms);
}

static void
check_log (Check *check, const void *data)
{
  const TapsSettings whole = { .kernel = TAPS_LOG,
    .sigma_x = 6.0,
    .sigma_y = -1.0,
    .radius_x = 24,
    .radius_y = -1 };
  TapsSettings half = whole;
  Terms *terms = kerncheck_alloc (sizeof *terms);
  Taps x;

  check_cases (check, check->quick ? 20 : 100, log_case, data);
  /* Subsampled by 2, it equals that of half the sigma. */
  half.sigma_x = 3.0;
  half.radius_x = 12;
  if (make_terms (check, terms, &whole, 2, 1)) {
    x = terms->x[0];
    if (make_terms (check, terms, &half, 1, 1))
      expect_taps (check, "subsampled", &x, terms->x[0].tap, terms->x[0].n);
  }
  free (terms);
}

static void
check_dog (Check *check, const void *data)
{
  TapsSettings settings = { .kernel = TAPS_DOG,
    .sigma_x = 2.0,
    .sigma_y = 1.0,
    .radius_x = -1,
    .radius_y = -1 };
  Terms *terms = kerncheck_alloc (sizeof *terms);
  Taps inner, outer;

  (void) data;
  check->cases++;
  for (int given = 0; given < 2; given++) {
    settings.sigma_outer = given ? 5.0 : -1.0;
    if (!make_terms (check, terms, &settings, 1, 1))
      continue;
    EXPECT (check, terms->n == 2 && fabs (sum_of_terms (terms)) < 1e-14,
        "%d terms of sum %g", terms->n, sum_of_terms (terms));
    taps_gaussian (&inner, 2.0, 6);
    expect_taps (check, "inner", &terms->x[0], inner.tap, inner.n);
    taps_gaussian (&outer, given ? 5.0 : 3.2, given ? 15 : 10);
    expect_taps (check, "outer", &terms->x[1], outer.tap, outer.n);
    taps_gaussian (&outer, given ? 5.0 : 1.6, given ? 15 : 5);
    for (int i = 0; i < outer.n; i++)
      outer.tap[i] = -outer.tap[i];
    expect_taps (check, "outer along y", &terms->y[1], outer.tap, outer.n);
  }
  free (terms);
}

/* Unsharp masking subtracts a gaussian; kernels of one term equal those of taps_make(). */
static void
check_one_term (Check *check, const void *data)
{
  const TapsSettings settings = { .kernel = TAPS_UNSHARP,
    .sigma_x = 2.0,
    .sigma_y = -1.0,
    .radius_x = -1,
    .radius_y = -1 };
  Terms *terms = kerncheck_alloc (sizeof *terms);
  Taps expected;

  (void) data;
  check->cases++;
  EXPECT (check, taps_is_one_term (TAPS_UNSHARP) && taps_is_one_term (TAPS_BOX),
      "a blur is not taken for one term");
  if (make_terms (check, terms, &settings, 1, 2)) {
    EXPECT (check, terms->n == 1, "%d terms", terms->n);
    taps_gaussian (&expected, 2.0, 6);
    expect_taps (check, "unsharp x", &terms->x[0], expected.tap, expected.n);
    taps_gaussian (&expected, 1.0, 3);
    expect_taps (check, "unsharp y", &terms->y[0], expected.tap, expected.n);
  }
  free (terms);
}

static void
check_terms (Check *check, const void *data)
{
  static const double a[] = { 1, 2, 1 }, b[] = { -1, 4 }, c[] = { 3 };
  const TapsCustomTerm term[] = { { a, b, 3, 2 }, { c, NULL, 1, 0 } };
  TapsSettings settings = { .kernel = TAPS_TERMS, .term = term, .n_terms = 2 };
  Terms *terms = kerncheck_alloc (sizeof *terms);

  (void) data;
  check->cases++;
  if (make_terms (check, terms, &settings, 2, 2)) {
    EXPECT (check, terms->n == 2, "%d terms", terms->n);
    expect_taps (check, "x of term 0", &terms->x[0], a, 3);
    expect_taps (check, "y of term 0", &terms->y[0], b, 2);
    expect_taps (check, "x of term 1", &terms->x[1], c, 1);
    expect_taps (check, "y of term 1, as x", &terms->y[1], c, 1);
  }
  settings.normalize = true;
  if (make_terms (check, terms, &settings, 1, 1)) {
    EXPECT (check, fabs (sum_of_terms (terms) - 1.0) < 1e-15,
        "normalized terms sum to %g", sum_of_terms (terms));
    /* 4 * 3 + 3 * 3 */
    EXPECT (check, fabs (terms->x[0].tap[1] - 2.0 / 21.0) < 1e-15,
        "a normalized tap is %g", terms->x[0].tap[1]);
    expect_taps (check, "normalized y", &terms->y[0], b, 2);
  }
  free (terms);
}

static void
expect_terms_refused (Check *check, const char *what, const char *sentence,
    const TapsSettings *settings)
{
  Terms *terms = kerncheck_alloc (sizeof *terms);
  Fault fault;

  fault_clear (&fault);
  if (EXPECT_FAULT (check,
          !taps_make_terms (
              settings, 1, 1, terms->x, terms->y, &terms->n, &fault),
          &fault, FAULT_SETTINGS, what))
    EXPECT (check, strstr (fault.message, sentence) != NULL,
        "%s: the message is \"%s\", without \"%s\"", what, fault.message,
        sentence);
  EXPECT (check,
      !taps_make_terms (settings, 1, 1, terms->x, terms->y, &terms->n, NULL),
      "%s was accepted without a fault to fill", what);
  free (terms);
}

static void
check_terms_errors (Check *check, const void *data)
{
  static const double fine[] = { 0.25, 0.5, 0.25 }, nan[] = { 1.0, NAN };
  static const double zero[] = { -1.0, 1.0 }, tiny[] = { 5e-324 };
  static const double too_long[TAPS_MAX + 1];
  const struct
  {
    const char *what, *sentence;
    TapsCustomTerm term;
    int n_terms;
    bool normalize;
  } rows[] = {
    { "no terms", "needs 1 to 8 terms, but terms-x has 0", { fine, fine, 3, 3 },
        0, false },
    { "too many terms", "needs 1 to 8 terms, but terms-x has 9",
        { fine, fine, 3, 3 }, TAPS_MAX_TERMS + 1, false },
    { "an empty term", "Term 1 of terms-x has 0 taps", { fine, fine, 0, 3 }, 2,
        false },
    { "a term too long along x", "Term 1 of terms-x has 4098 taps",
        { too_long, fine, TAPS_MAX + 1, 3 }, 2, false },
    { "a term too long along y", "Term 1 of terms-y has 4098 taps",
        { fine, too_long, 3, TAPS_MAX + 1 }, 2, false },
    { "a negative number of taps", "Term 1 of terms-x and terms-y",
        { fine, fine, 3, -1 }, 2, false },
    { "a term of NaN", "Term 1 of terms-x and terms-y", { fine, nan, 3, 2 }, 2,
        false },
    { "normalized terms of sum 0", "sum to zero", { zero, zero, 2, 2 }, 1,
        true },
    { "normalized terms of nearly no sum", "too little to be normalized",
        { fine, tiny, 3, 1 }, 1, true },
  };
  TapsSettings settings = { .kernel = TAPS_TERMS, .n_terms = 1 };

  (void) data;
  check->cases++;
  expect_terms_refused (check, "missing terms", "needs 1 to 8", &settings);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    TapsCustomTerm term[TAPS_MAX_TERMS + 1];

    for (int t = 0; t <= TAPS_MAX_TERMS; t++)
      term[t] = (TapsCustomTerm){ fine, fine, 3, 3 };
    term[rows[i].n_terms > 1 ? 1 : 0] = rows[i].term;
    settings.term = term;
    settings.n_terms = rows[i].n_terms;
    settings.normalize = rows[i].normalize;
    expect_terms_refused (check, rows[i].what, rows[i].sentence, &settings);
  }
}

/* Sigmas and radii that are invalid for kernels of several terms. */
static void
check_several_errors (Check *check, const void *data)
{
  const struct
  {
    const char *what, *sentence;
    TapsSettings settings;
  } rows[] = {
    { "log of sigma 0", "needs a sigma of at least",
        { .kernel = TAPS_LOG,
            .sigma_y = -1.0,
            .radius_x = -1,
            .radius_y = -1 } },
    { "log of sigma NaN along y", "needs a sigma of at least",
        { .kernel = TAPS_LOG, .sigma_x = 1.0, .sigma_y = NAN } },
    { "log of nearly no sigma", "needs a sigma of at least",
        { .kernel = TAPS_LOG,
            .sigma_x = 1e-200,
            .sigma_y = -1.0,
            .radius_x = 2 } },
    { "log of a sigma too large", "adius",
        { .kernel = TAPS_LOG,
            .sigma_x = 683.0,
            .sigma_y = -1.0,
            .radius_x = -1,
            .radius_y = -1 } },
    { "dog of a sigma too large", "adius",
        { .kernel = TAPS_DOG,
            .sigma_x = 500.0,
            .sigma_y = -1.0,
            .radius_x = -1,
            .radius_y = -1 } },
    { "dog of sigma-outer NaN", "sigma-outer",
        { .kernel = TAPS_DOG,
            .sigma_x = 1.0,
            .sigma_y = -1.0,
            .sigma_outer = NAN,
            .radius_x = -1,
            .radius_y = -1 } },
    { "dog of an infinite sigma-outer", "igma",
        { .kernel = TAPS_DOG,
            .sigma_x = 1.0,
            .sigma_y = -1.0,
            .sigma_outer = INFINITY,
            .radius_x = -1,
            .radius_y = -1 } },
    { "laplacian of radius 0", "radius of 1 to 15, not 0",
        { .kernel = TAPS_LAPLACIAN, .radius_x = 0, .radius_y = 1 } },
    { "laplacian of radius 16", "radius of 1 to 15, not 16",
        { .kernel = TAPS_LAPLACIAN, .radius_x = 1, .radius_y = 16 } },
    { "sobel of radius 0", "radius",
        { .kernel = TAPS_SOBEL, .radius_x = 0, .radius_y = 0 } },
    { "scharr of radius 2", "adius",
        { .kernel = TAPS_SCHARR, .radius_x = 2, .radius_y = 2 } },
    { "unsharp of a negative sigma", "igma",
        { .kernel = TAPS_UNSHARP, .sigma_x = -1.0, .sigma_y = -1.0 } },
  };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect_terms_refused (
        check, rows[i].what, rows[i].sentence, &rows[i].settings);
}

void
check_taps_add (void)
{
  kerncheck_add (check_gradients, NULL, NULL, "taps/gradients");
  kerncheck_add (check_laplacian, NULL, NULL, "taps/laplacian");
  kerncheck_add (check_log, NULL, NULL, "taps/log");
  kerncheck_add (check_dog, NULL, NULL, "taps/dog");
  kerncheck_add (check_one_term, NULL, NULL, "taps/one-term");
  kerncheck_add (check_terms, NULL, NULL, "taps/terms");
  kerncheck_add (check_terms_errors, NULL, NULL, "taps/terms-errors");
  kerncheck_add (check_several_errors, NULL, NULL, "taps/several-errors");
  kerncheck_add (check_gaussian, NULL, NULL, "taps/gaussian");
  kerncheck_add (check_box, NULL, NULL, "taps/box");
  kerncheck_add (check_binomial, NULL, NULL, "taps/binomial");
  kerncheck_add (check_sobel, NULL, NULL, "taps/sobel");
  kerncheck_add (check_scharr, NULL, NULL, "taps/scharr");
  kerncheck_add (check_prewitt, NULL, NULL, "taps/prewitt");
  kerncheck_add (check_defaults, NULL, NULL, "taps/defaults");
  kerncheck_add (check_subsampling, NULL, NULL, "taps/subsampling");
  kerncheck_add (check_custom, NULL, NULL, "taps/custom");
  kerncheck_add (check_custom_errors, NULL, NULL, "taps/custom-errors");
  kerncheck_add (check_normalize_tiny, NULL, NULL, "taps/normalize-tiny");
  kerncheck_add (check_generated_errors, NULL, NULL, "taps/generated-errors");
  kerncheck_add (check_identity, NULL, NULL, "taps/identity");
  kerncheck_add (check_sums, NULL, NULL, "taps/sums");
}
