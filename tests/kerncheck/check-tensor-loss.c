/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounding errors of tensor cores, as mathematics: the bound compared with models of GPUs; and the
 * limits of the methods that use the bound. */
#include "kerncheck.h"

#include "cases.h"
#include "sepconv/tensor-deep-loss.h"

#include <math.h>
#include <stdlib.h>

#define MOST_TAPS 1041
#define MOST_PARTS 2
#define STEP TENSOR_LOSS_STEP
#define MOST_STEPS (MOST_TAPS / STEP + 3)

/* Number of products added at once, and number of bits kept after the leading one of the largest
 * addend. Source: MMA-Sim, as in tensor-loss.h. */
typedef struct
{
  const char *name;
  int at_once, bits;
} Model;

static const Model models[] = {
  { "capability 8.x", 8, 24 },
  { "capability 9.0 and up", 16, 25 },
};

typedef enum
{
  SAMPLES_FLAT,
  SAMPLES_RANDOM,
  SAMPLES_EXTREME, /* chosen by the signs of the taps */
  N_SAMPLES
} Samples;

/* A pass: FP16 taps in a window that begins `early` columns before the first tap. */
typedef struct
{
  int n, parts, early, steps;
  double half[MOST_PARTS][MOST_TAPS];
  double size[MOST_TAPS];
  int halves[MOST_TAPS];
  double sample[MOST_PARTS][MOST_TAPS]; /* factors of each part */
} Window;

/* The exponent by which an addend is aligned; that of a product is the sum of its factors'
 * exponents. */
static int
exponent_of (double number, int least)
{
  const int exponent = number != 0.0 ? ilogb (number) : -1000;

  return number != 0.0 && exponent < least ? least : exponent;
}

static double
cut_off (double number, int exponent)
{
  const double unit = ldexp (1.0, exponent);

  return trunc (number / unit) * unit;
}

/* Adds products to a sum as a GPU does. */
static double
add_products (const Model *model, double sum, const double *a, const double *b)
{
  int largest = exponent_of (sum, -126);
  double total;

  for (int i = 0; i < model->at_once; i++)
    if (a[i] != 0.0 && b[i] != 0.0)
      largest = (int) fmax (
          largest, exponent_of (a[i], -14) + exponent_of (b[i], -14));
  if (largest < -900)
    return 0.0;
  total = cut_off (sum, largest - model->bits);
  for (int i = 0; i < model->at_once; i++)
    total += cut_off (a[i] * b[i], largest - model->bits);
  return total == 0.0 ? 0.0 : cut_off (total, ilogb (total) - 23);
}

/* A whole pass; `order` is the order of the columns in each step. */
static double
run_pass (
    const Model *model, const Window *window, const int *order, double start)
{
  double sum = (float) start;

  for (int step = 0; step < window->steps; step++)
    for (int part = 0; part < window->parts; part++) {
      double a[STEP], b[STEP];

      for (int i = 0; i < STEP; i++) {
        const int tap = step * STEP + order[i] - window->early;
        const bool is_tap = tap >= 0 && tap < window->n;

        a[i] = is_tap ? window->half[part][tap] : 0.0;
        b[i] = is_tap ? window->sample[part][tap] : 1024.0;
      }
      for (int i = 0; i < STEP; i += model->at_once)
        sum = add_products (model, sum, a + i, b + i);
    }
  return sum;
}

static double
exact_pass (const Window *window, double start)
{
  double sum = start;

  for (int i = 0; i < window->n; i++)
    for (int part = 0; part < window->parts; part++)
      sum += window->half[part][i] * window->sample[part][i];
  return sum;
}

static const char *
make_taps (Window *window, int kind, Random *random)
{
  static const char *const names[] = { "gaussian", "box", "random signs" };
  const double sigma = window->n / 6.0;
  double sum = 0.0;

  for (int i = 0; i < window->n; i++) {
    const double x = i - window->n / 2;
    double tap = 1.0;

    if (kind == 0)
      tap = exp (-x * x / (2.0 * sigma * sigma));
    else if (kind == 2)
      tap = random_double (random, -1.0, 1.0);
    window->half[0][i] = tap;
    sum += fabs (tap);
  }
  /* As the taps of plans along x. */
  sum *= random_double (random, 0.5, 1.0);
  for (int i = 0; i < window->n; i++) {
    double rest = window->half[0][i] / sum;

    window->size[i] = 0.0;
    window->halves[i] = 0;
    for (int part = 0; part < window->parts; part++) {
      window->half[part][i] = tensor_nearest_half (rest);
      rest -= window->half[part][i];
      window->size[i] += fabs (window->half[part][i]);
      window->halves[i] += window->half[part][i] != 0.0;
    }
  }
  return names[kind];
}

static double
sum_of_halves (const Window *window)
{
  double sum = 0.0;

  for (int i = 0; i < window->n; i++)
    for (int part = 0; part < window->parts; part++)
      sum += window->half[part][i];
  return sum;
}

static double
norm_of_halves (const Window *window)
{
  double norm = 0.0;

  for (int i = 0; i < window->n; i++)
    norm += window->size[i];
  return norm;
}

/* Samples in [low, high]: integers along a row, FP16 along a column. */
static void
make_samples (Window *window, Samples samples, double low, double high,
    bool integers, Random *random)
{
  double sample = random_double (random, low, high);

  for (int i = 0; i < window->n; i++) {
    if (samples == SAMPLES_RANDOM)
      sample = random_double (random, low, high);
    else if (samples == SAMPLES_EXTREME)
      sample = window->half[0][i] > 0.0 ? high : low;
    for (int part = 0; part < window->parts; part++)
      window->sample[part][i] =
          integers ? floor (sample) : tensor_nearest_half (sample);
  }
}

/* A random order of the columns of a step. */
static void
shuffle (int *order, Random *random)
{
  for (int i = 0; i < STEP; i++)
    order[i] = i;
  for (int i = STEP - 1; i > 0; i--) {
    const int k = random_int (random, 0, i), other = order[k];

    order[k] = order[i];
    order[i] = other;
  }
}

/* Runs the pass on all models; returns the largest loss, in units of the bound. */
static double
expect_loss (Check *check, const Window *window, const TensorPass *pass,
    double start, const char *what, Random *random)
{
  const double loss = tensor_pass_loss (pass);
  double worst = 0.0;
  int order[STEP];

  shuffle (order, random);
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    const double lost = fabs (run_pass (&models[i], window, order, start)
        - exact_pass (window, start));

    EXPECT (check, lost <= loss, "%s, %s: a pass lost %g where the bound is %g",
        models[i].name, what, lost, loss);
    worst = fmax (worst, lost / loss);
  }
  return worst;
}

static void
loss_case (Check *check, Random *random, int index, const void *data)
{
  double *worst = *(double *const *) data;
  Window *window = kerncheck_alloc (sizeof *window);
  const int depth = random_chance (random, 50) ? 8 : 10;
  const double center = ldexp (1.0, depth - 1);
  const Samples samples = (Samples) (index % N_SAMPLES);
  const char *kind;
  double norm, start;
  TensorPass pass;

  window->parts = random_int (random, 1, MOST_PARTS);
  window->n = random_chance (random, 50) ? random_int (random, 1, 65)
                                         : random_int (random, 66, MOST_TAPS);
  window->early = random_int (random, 0, 2 * STEP - 2);
  window->steps = (window->early + window->n + STEP - 1) / STEP;
  kind = make_taps (window, index / N_SAMPLES % 3, random);
  norm = norm_of_halves (window);
  check_describe (check, "%d taps, %s, %d parts, %d bits, samples %d",
      window->n, kind, window->parts, depth, (int) samples);
  pass = (TensorPass){ .n = window->n,
    .size = window->size,
    .halves = window->halves,
    .steps = window->steps,
    .parts = window->parts };

  make_samples (
      window, samples, 1024.0, 1024.0 + 2.0 * center - 1.0, true, random);
  pass.sample = 1024.0 + 2.0 * center;
  pass.always = center * norm;
  pass.before = 1024.0;
  start = -(1024.0 + center) * sum_of_halves (window);
  worst[0] = fmax (
      worst[0], expect_loss (check, window, &pass, start, "rows", random));

  /* Sums of rows with a norm of up to 2, and the offset for a gain of 1. */
  pass.sample = 2.0 * center;
  make_samples (window, samples, -pass.sample, pass.sample, false, random);
  start = 1024.0 + random_double (random, -2.0, 2.0) * center;
  pass.always = fabs (start) + pass.sample * norm;
  pass.before = 0.0;
  worst[1] = fmax (
      worst[1], expect_loss (check, window, &pass, start, "columns", random));
  free (window);
}

/* The bound holds, and is not far too large either. */
static void
check_loss (Check *check, const void *data)
{
  double worst[2] = { 0.0, 0.0 };
  double *const at = worst;

  (void) data;
  check_cases (check, check->quick ? 900 : 9000, loss_case, &at);
  if (!check->one_case)
    EXPECT (check, worst[0] > 0.3 && worst[1] > 0.3,
        "rows lose %.2f of the bound at most, columns %.2f", worst[0],
        worst[1]);
}

/* Splits the window's taps as tensor_split_deep() does. Their sizes add up to `norm` or slightly
 * less, and sums are at most `gain` times the size of samples. `up`: each hi part exceeds its tap
 * by as much as possible. `grain`: all taps are multiples of this, or 0. */
static TensorDeepSums
make_deep_taps (Window *window, double norm, double gain, int exponent, bool up,
    double grain)
{
  const TensorDeepTaps as = tensor_deep_taps (window->n, gain, exponent);
  const double half = ldexp (0.5 + 0x1p-9, -as.bits);
  TensorDeepSums sums = { 0 };
  double size = 0.0;

  for (int i = 0; i < window->n; i++)
    size += fabs (window->half[0][i] + window->half[1][i]);
  for (int i = 0; i < window->n; i++) {
    double tap = norm / size * (window->half[0][i] + window->half[1][i]);

    if (up)
      tap = copysign (
          ldexp (floor (ldexp (fabs (tap), as.bits) - 0.5), -as.bits) + half,
          tap);
    if (grain > 0.0)
      tap = grain * trunc (tap / grain);
    if (i == 0 && tap == 0.0)
      tap = grain;
    tensor_deep_add (&sums, tap, &as);
    tensor_split_deep (tap, &as, &window->half[0][i], &window->half[1][i]);
    for (int part = 0; part < 2; part++)
      window->half[part][i] = ldexp (window->half[part][i], exponent);
  }
  return sums;
}

/* Deep samples, or sums of them. The hi part is a multiple of `unit` from `least` to `most`. The lo
 * part is from `low` to `high`, and a multiple of `grain` if that is not 0. Both are multiplied by
 * 2^exponent. */
typedef struct
{
  double unit, least, most, low, high;
  int exponent;
  double grain;
} DeepValues;

static void
make_deep_values (
    Window *window, const DeepValues *values, Samples samples, Random *random)
{
  double upper = 0.0, lower = 0.0;

  for (int i = 0; i < window->n; i++) {
    const bool positive = window->half[0][i] > 0.0;

    if (samples == SAMPLES_RANDOM || i == 0) {
      upper = random_double (random, values->least, values->most);
      lower = random_double (random, values->low, values->high);
    }
    if (samples == SAMPLES_EXTREME) {
      upper = positive ? values->most : values->least;
      lower = positive ? values->high : values->low;
    }
    upper = values->unit * trunc (upper / values->unit);
    if (values->grain > 0.0)
      lower = values->grain * floor (lower / values->grain);
    window->sample[0][i] = ldexp (upper, values->exponent);
    window->sample[1][i] =
        tensor_nearest_half (ldexp (lower, values->exponent));
  }
}

static void
swap_samples (Window *window)
{
  for (int i = 0; i < window->n; i++) {
    const double upper = window->sample[0][i];

    window->sample[0][i] = window->sample[1][i];
    window->sample[1][i] = upper;
  }
}

/* Expects the large sum, which begins with `start`, to lose nothing, and the small sum to lose at
 * most `bound`. Returns the largest loss of the small sum, in units of the bound. */
static double
expect_deep_loss (Check *check, Window *window, double start, double bound,
    const char *what, Random *random)
{
  double worst = 0.0;
  int order[STEP];

  shuffle (order, random);
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    double lost;

    window->parts = 1;
    lost = run_pass (&models[i], window, order, start)
        - exact_pass (window, start);
    EXPECT (check, lost == 0.0, "%s, %s: the large sum lost %g", models[i].name,
        what, lost);
    /* The hi part of a tap times the lo part of a sample, and vice versa. */
    window->parts = 2;
    swap_samples (window);
    lost = fabs (
        run_pass (&models[i], window, order, 0.0) - exact_pass (window, 0.0));
    swap_samples (window);
    EXPECT (check, lost <= bound,
        "%s, %s: the small sum lost %g where the bound is %g", models[i].name,
        what, lost, bound);
    if (bound > 0.0)
      worst = fmax (worst, lost / bound);
  }
  return worst;
}

/* The number that all products of taps and samples are multiples of, if the lo parts of taps are
 * 0. */
static double
grain_of_products (const TensorDeepSums *sums, double grain)
{
  return sums->lower > 0.0 ? 0.0 : grain;
}

/* Samples split into FP16 hi and lo parts, as in tensor-deep-samples.cuh. */
static void
deep_case (Check *check, Random *random, int index, const void *data)
{
  double *worst = *(double *const *) data;
  Window *window = kerncheck_alloc (sizeof *window);
  const int depth = random_int (random, 10, 16);
  const int shift = random_int (random, 0, 16 - depth);
  const double center = ldexp (1.0, depth - 1);
  const double unit = tensor_deep_unit (depth);
  const Samples samples = (Samples) (index % N_SAMPLES);
  const bool up = random_chance (random, 30);
  /* As small integers have, which lose nothing. */
  const double grain = random_chance (random, 20)
      ? ldexp (1.0, -random_int (random, 1, 7))
      : 0.0;
  /* Also just below powers of two, where the margin is smallest. */
  const int n = random_int (random, 1, 129);
  const double gain = up ? 1.999999 : random_double (random, 1.0, 2.0);
  const double all = up
      ? ldexp (1.0 - random_double (random, 0.0, ldexp (n + 16.0, -13)),
          random_int (random, 1, 5))
      : gain * exp (random_double (random, -1.0, 3.0));
  DeepValues values = { unit, 0.0, 2.0 * center - unit, 0.0, unit - 1.0,
    shift - 24, 1.0 };
  TensorDeepTaps as;
  TensorDeepSums sums;
  double start, bound;
  const char *kind;

  window->parts = 2;
  window->n = n;
  window->early = random_int (random, 0, STEP - 1);
  window->steps = (window->early + window->n + STEP - 1) / STEP;
  kind = make_taps (window, index / N_SAMPLES % 3, random);
  check_describe (check,
      "%d taps, %s, grain %g, gain %g, %d bits << %d, samples %d", window->n,
      kind, grain, all, depth, shift, (int) samples);

  sums = make_deep_taps (window, gain, gain, TENSOR_DEEP_X - shift, up, grain);
  as = tensor_deep_taps_x (window->n, gain, shift);
  make_deep_values (window, &values, samples, random);
  start = tensor_deep_start (&sums, &as, depth);
  bound = tensor_deep_small_loss (&sums, window->n, 2.0 * center, unit - 1.0,
      ldexp (1024.0, -shift), window->steps, grain_of_products (&sums, grain));
  worst[0] = fmax (worst[0],
      expect_deep_loss (
          check, window, start, ldexp (bound, -TENSOR_DEEP_Y), "rows", random));

  /* The results of these sums are codes. */
  sums = make_deep_taps (window, all / gain, all, TENSOR_DEEP_Y, up, grain);
  values = (DeepValues){ unit, -center * gain, center * gain, -0.5 * unit,
    0.5 * unit, -TENSOR_DEEP_Y, grain };
  make_deep_values (window, &values, samples, random);
  bound = tensor_deep_small_loss (&sums, window->n, center * gain, 0.5 * unit,
      ldexp (1.0, TENSOR_DEEP_Y - 14), window->steps,
      grain_of_products (&sums, grain * grain));
  worst[1] = fmax (worst[1],
      expect_deep_loss (check, window, 0.0, bound, "columns", random));
  free (window);
}

static void
check_deep (Check *check, const void *data)
{
  double worst[2] = { 0.0, 0.0 };
  double *const at = worst;

  (void) data;
  check_cases (check, check->quick ? 900 : 9000, deep_case, &at);
  if (!check->one_case)
    EXPECT (check, worst[0] > 0.1 && worst[1] > 0.1,
        "small sums of rows lose %.2f of the bound at most, of columns %.2f",
        worst[0], worst[1]);
}

/* Methods on tensor cores must support gaussians without gain. */
static void
expect_gaussians (
    Check *check, const SepconvMethod *method, const char *kind, int most_taps)
{
  Case *c = case_new ();
  Fault fault;

  case_set_layout (c, layout_kind_by_name (kind), 64, 64);
  c->spec.scale = 1.0;
  c->spec.border = SEPCONV_REPLICATE;
  for (int radius = 1; 2 * radius + 1 <= most_taps;
       radius += radius < 70 ? 1 : 23) {
    for (int p = 0; p < c->layout.n_planes; p++) {
      SepconvPlane *plane = &c->spec.plane[p];

      plane->channels = (1u << c->layout.plane[p].channels) - 1;
      for (int i = 0; i < c->layout.plane[p].channels; i++)
        plane->zero[i] =
            ldexp (p > 0 ? 128.0 : 16.0, c->layout.plane[p].depth - 8);
      taps_gaussian (&c->x[p], radius / 3.0, radius);
      taps_gaussian (&c->y[p], radius / 3.0, radius);
      plane->x = &c->x[p];
      plane->y = &c->y[p];
    }
    fault_clear (&fault);
    EXPECT (check,
        sepconv_method_supports (method, &c->spec, &c->layout, NULL, &fault),
        "%s: a gaussian of %d taps is refused: %s", kind, 2 * radius + 1,
        fault.message);
  }
  case_free (c);
}

static void
check_gaussians (Check *check, const void *data)
{
  const SepconvMethod *method = data;
  const bool is_long = method == sepconv_method_by_name ("tensor-twopass");

  if (method->ops == NULL) {
    check_skip (check, "this build has no methods for the GPU");
    return;
  }
  check->cases++;
  expect_gaussians (check, method, "gray8", is_long ? MOST_TAPS : 129);
  expect_gaussians (check, method, "nv12", is_long ? MOST_TAPS : 129);
  expect_gaussians (check, method, "p010", is_long ? 257 : 129);
  if (!is_long) {
    expect_gaussians (check, method, "p012", 129);
    expect_gaussians (check, method, "gray16", 129);
    expect_gaussians (check, method, "rgba64", 129);
  }
}

void
check_tensor_loss_add (void)
{
  static const char *const names[] = { "tensor", "tensor-twopass" };

  kerncheck_add (check_loss, NULL, NULL, "sepconv/tensor-loss");
  kerncheck_add (check_deep, NULL, NULL, "sepconv/tensor-deep-loss");
  for (int i = 0; i < 2; i++) {
    const SepconvMethod *method = sepconv_method_by_name (names[i]);

    kerncheck_add (
        check_gaussians, method, method, "sepconv/%s/gaussians", names[i]);
  }
}
