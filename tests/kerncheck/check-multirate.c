/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters at a lower sampling rate: their plans as mathematics, and the methods that use these
 * plans, with the pictures that are hardest for them. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "sepconv/multirate-plan.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The effective taps of one phase; tap[k] is at distance k - middle. */
typedef struct
{
  int n, middle;
  double *tap;
} Effective;

/* Step by step, by the formula in multirate-plan.h. */
static Effective
effective_taps (const MultirateAxis *axis, int phase)
{
  const int m = axis->factor;
  Effective e = { .middle = m * (4 - axis->first) + m };

  e.n = e.middle + m * (axis->first + axis->n + 8);
  e.tap = kerncheck_alloc (sizeof *e.tap * (size_t) e.n);
  for (int t = 0; t < 4; t++)
    for (int j = 0; j < axis->n; j++) {
      const int low = -1 + t + axis->first + j;

      for (int i = 0; i < 4 * m; i++)
        e.tap[e.middle + m * (low - 2) + i - phase] +=
            (double) axis->phase[phase][t] * axis->tap[j] * axis->window[i];
    }
  return e;
}

static double
wanted_tap (const Taps *taps, int distance)
{
  const int i = distance + taps->n / 2;

  return i >= 0 && i < taps->n ? taps->tap[i] : 0.0;
}

/* Over all phases, taps are off by at most the plan's bound. Those of each phase have the sum of
 * the wanted taps, so that flat pictures stay flat. */
static void
expect_axis (Check *check, const MultirateAxis *axis, const Taps *taps)
{
  double worst = 0.0;

  for (int p = 0; p < axis->factor; p++) {
    Effective e = effective_taps (axis, p);
    double off = 0.0, sum = 0.0;

    for (int k = 0; k < e.n; k++) {
      off += fabs (e.tap[k] - wanted_tap (taps, k - e.middle));
      sum += e.tap[k];
    }
    worst = fmax (worst, off);
    EXPECT (check, fabs (sum - taps_sum (taps)) < 1e-6 * taps_norm (taps),
        "phase %d sums to %.9g, not %.9g", p, sum, taps_sum (taps));
    free (e.tap);
  }
  if (axis->factor == 1)
    EXPECT (check, worst < 1e-6 * taps_norm (taps),
        "taps at their own rate are off by %g", worst);
  else
    EXPECT (check,
        fabs (worst / taps_norm (taps) - axis->error) < 1e-9 + 1e-6 * worst,
        "taps are off by %.9g, and the plan says %.9g",
        worst / taps_norm (taps), axis->error);
}

static void
plan_case (Check *check, Random *random, int index, const void *data)
{
  static const int depths[] = { 8, 10, 12, 16 };
  const int depth = depths[index % 4];
  const double sigma = exp (random_double (random, log (2.0), log (240.0)));
  const double reach = random_double (random, 2.5, 5.5);
  const double gain = exp (random_double (random, log (0.3), log (4.0)));
  MultiratePlane *plane = kerncheck_alloc (sizeof *plane);
  Case *c = case_new ();
  bool can;

  (void) data;
  taps_gaussian (&c->x[0], sigma, (int) ceil (reach * sigma));
  c->x[0].n -= random_int (random, 0, 1);
  taps_gaussian (&c->y[0], 1.5 * sigma, (int) ceil (reach * 1.5 * sigma));
  if (random_chance (random, 20))
    c->y[0] = c->x[0];
  check_describe (check,
      "sigma %g and 1.5 times that, reach %g, %d bits, gain %g", sigma, reach,
      depth, gain);
  can = multirate_plan (plane, &c->x[0], &c->y[0], depth, gain,
      random_chance (random, 50) ? MULTIRATE_ANY_FACTOR
                                 : MULTIRATE_BYTE_WINDOWS);
  expect_axis (check, &plane->x, &c->x[0]);
  expect_axis (check, &plane->y, &c->y[0]);
  EXPECT (check, can || c->x[0].n != c->y[0].n || plane->x.factor == 1,
      "a factor of %d is too large for both axes together", plane->x.factor);
  EXPECT (check,
      !can || multirate_loss (plane, depth, gain) < (depth <= 12 ? 0.25 : 0.5),
      "a plan loses %g codes", multirate_loss (plane, depth, gain));
  free (plane);
  case_free (c);
}

static void
check_plan (Check *check, const void *data)
{
  check_cases (check, check->quick ? 16 : 120, plan_case, data);
}

/* Least decimation of gaussians with the default radius. */
static void
check_factor (Check *check, const void *data)
{
  static const struct
  {
    double sigma;
    int depth, factor;
  } rows[] = {
    { 8, 8, 4 },
    { 8, 10, 3 },
    { 16, 8, 8 },
    /* Slightly too narrow for a larger factor. */
    { 26.162, 8, 8 },
    { 39.198, 8, 16 },
    { 64, 8, 32 },
    { 64, 10, 24 },
    { 64, 12, 12 },
    { 500, 8, 32 },
  };
  MultiratePlane *plane = kerncheck_alloc (sizeof *plane);
  Case *c = case_new ();
  Fault fault;

  (void) data;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const TapsSettings settings = {
      .sigma_x = rows[i].sigma, .sigma_y = -1.0, .radius_x = -1, .radius_y = -1
    };

    check_describe (check, "sigma %g, %d bits", rows[i].sigma, rows[i].depth);
    EXPECT (check,
        taps_make (&settings, 1, 1, &c->x[0], &c->y[0], &fault)
            && multirate_plan (plane, &c->x[0], &c->y[0], rows[i].depth, 1.0,
                MULTIRATE_ANY_FACTOR),
        "no plan");
    EXPECT (check, plane->x.factor >= rows[i].factor, "factor %d instead of %d",
        plane->x.factor, rows[i].factor);
    EXPECT (check,
        multirate_plan (plane, &c->x[0], &c->y[0], rows[i].depth, 1.0,
            MULTIRATE_BYTE_WINDOWS)
            && plane->x.factor >= (rows[i].depth > 8 || rows[i].factor < 16
                       ? rows[i].factor
                       : 16),
        "factor %d with windows of bytes", plane->x.factor);
  }
  free (plane);
  case_free (c);
}

static bool
declines (MultiratePlane *plane, const Taps *taps, double gain)
{
  return !multirate_plan (plane, taps, taps, 8, gain, MULTIRATE_ANY_FACTOR)
      && !multirate_plan (plane, taps, taps, 8, gain, MULTIRATE_BYTE_WINDOWS);
}

/* Taps that are not smooth are declined. */
static void
check_declines (Check *check, const void *data)
{
  MultiratePlane *plane = kerncheck_alloc (sizeof *plane);
  Case *c = case_new ();
  Taps *taps = &c->x[0];

  (void) data;
  taps_box (taps, 101, 50);
  EXPECT (check, declines (plane, taps, 1.0), "a box");
  taps_gaussian (taps, 1e9, 200);
  EXPECT (
      check, declines (plane, taps, 1.0), "a gaussian that is cut like a box");
  taps_gaussian (taps, 2.0, 6);
  EXPECT (check, declines (plane, taps, 1.0), "a short gaussian");
  taps_gaussian (taps, 40.0, 160);
  EXPECT (check, declines (plane, taps, 5000.0), "a large gain");
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = i % 2 ? -0.01 : 0.01;
  EXPECT (check, declines (plane, taps, 1.0), "alternating taps");
  /* Zeros are perfectly smooth. */
  memset (taps->tap, 0, sizeof taps->tap);
  EXPECT (check,
      multirate_plan (plane, taps, taps, 8, 0.0, MULTIRATE_ANY_FACTOR)
          && plane->x.factor > 1 && plane->x.n == 1 && plane->x.tap[0] == 0.0f,
      "zeros take %d taps", plane->x.n);
  free (plane);
  case_free (c);
}

/* Pictures that are hard to decimate. */
typedef enum
{
  PATTERN_COLUMNS, /* stripes of 0 and full, `period` wide together */
  PATTERN_ROWS,
  PATTERN_SQUARES,
  PATTERN_POINT,
  PATTERN_EDGE,
  PATTERN_NOISE,
  PATTERN_WORST, /* full where the error's taps are positive */
  N_PATTERNS
} Pattern;

static const char *const pattern_names[] = { "columns", "rows", "squares",
  "point", "edge", "noise", "worst" };

typedef struct
{
  Pattern pattern;
  int period, at_x, at_y;
  double slope; /* of an edge */
} Scene;

static bool
is_light (const Scene *scene, int x, int y, Random *random)
{
  const int half = (scene->period + 1) / 2;

  switch (scene->pattern) {
    case PATTERN_COLUMNS:
      return x % scene->period < half;
    case PATTERN_ROWS:
      return y % scene->period < half;
    case PATTERN_SQUARES:
      return (x % scene->period < half) == (y % scene->period < half);
    case PATTERN_POINT:
      return x == scene->at_x && y == scene->at_y;
    case PATTERN_EDGE:
      return x - scene->at_x > scene->slope * (y - scene->at_y);
    default:
      return random_chance (random, 50);
  }
}

static void
paint (const Image *image, const Scene *scene, Random *random)
{
  const int full = image_full_code (&image->plane[0]);

  for (int y = 0; y < image_plane_height (image, 0); y++)
    for (int x = 0; x < image->plane[0].width; x++)
      picture_write_code (
          image, 0, 0, x, y, is_light (scene, x, y, random) ? full : 0);
}

/* The picture with the largest error of the result at (at_x, at_y). */
static void
paint_worst (const Image *image, const Scene *scene, const Case *c,
    const SepconvMethod *method)
{
  const int full = image_full_code (&image->plane[0]);
  MultiratePlane *plane = kerncheck_alloc (sizeof *plane);
  Effective ex, ey;

  multirate_plan (plane, &c->x[0], &c->y[0], image->plane[0].depth, 1.0,
      method->backend == BACKEND_CUDA ? MULTIRATE_BYTE_WINDOWS
                                      : MULTIRATE_ANY_FACTOR);
  ex = effective_taps (&plane->x, scene->at_x % plane->x.factor);
  ey = effective_taps (&plane->y, scene->at_y % plane->y.factor);
  for (int y = 0; y < image_plane_height (image, 0); y++)
    for (int x = 0; x < image->plane[0].width; x++) {
      const int dx = x - scene->at_x, dy = y - scene->at_y;
      const int kx = dx + ex.middle, ky = dy + ey.middle;
      const double has = kx >= 0 && kx < ex.n && ky >= 0 && ky < ey.n
          ? ex.tap[kx] * ey.tap[ky]
          : 0.0;

      picture_write_code (image, 0, 0, x, y,
          has > wanted_tap (&c->x[0], dx) * wanted_tap (&c->y[0], dy) ? full
                                                                      : 0);
    }
  free (ex.tap);
  free (ey.tap);
  free (plane);
}

static const double sigmas[] = { 4, 5.3, 8, 10.8, 16, 21.3, 32, 42.5, 64, 100,
  170, 500 };
#define N_SIGMAS ((int) (sizeof sigmas / sizeof sigmas[0]))

/* One sigma and one border with some of the patterns; over all cases, all patterns and periods are
 * used. */
static void
patterns_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  static const char *const kinds[] = { "gray8", "gray8", "gray10", "gray12" };
  const double sigma = sigmas[index / N_BORDERS % N_SIGMAS];
  const int n = check->quick ? 3 : 14;
  /* The taps with the largest errors are within a few sigmas. */
  const int most = check->quick || sigma > 200.0 ? 70 : 260;
  Case *c = case_new ();
  Picture src, dst;
  SepconvPlan *plan;
  Fault fault;

  case_set_layout (c, layout_kind_by_name (kinds[index % 4]),
      random_int (random, most / 2, most), random_int (random, most / 2, most));
  c->spec.border = (SepconvBorder) (index % N_BORDERS);
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  taps_gaussian (&c->x[0], sigma, (int) ceil (4.0 * sigma));
  c->y[0] = c->x[0];
  c->spec.plane[0].x = &c->x[0];
  c->spec.plane[0].y = &c->y[0];
  c->spec.plane[0].channels = 1;
  c->shape = "gaussian";
  case_describe (check, c);
  fault_clear (&fault);
  if (!sepconv_method_supports (subject->method, &c->spec, &c->layout,
          subject->device->gpu, &fault)) {
    EXPECT_FAULT (check, true, &fault, FAULT_UNSUPPORTED, "a narrow gaussian");
    /* Deeper samples need wider gaussians. */
    EXPECT (check, c->layout.plane[0].depth > 8, "%s", fault.message);
    check->unsupported++;
    case_free (c);
    return;
  }
  picture_new (&src, &c->layout, subject->device->gpu == NULL, random);
  picture_new (&dst, &c->layout, subject->device->gpu == NULL, random);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, subject->device->gpu, &fault);
  for (int i = 0;
       EXPECT (check, plan != NULL, "no plan: %s", fault.message) && i < n;
       i++) {
    const Scene scene = { .pattern = (Pattern) ((index * n + i) % N_PATTERNS),
      .period = 1 + (index * n + i) * 37 % 64,
      .at_x = random_int (random, 0, c->width - 1),
      .at_y = random_int (random, 0, c->height - 1),
      .slope = random_double (random, -2.0, 2.0) };
    Verdict verdict;

    if (scene.pattern == PATTERN_WORST)
      paint_worst (&src.image, &scene, c, subject->method);
    else
      paint (&src.image, &scene, random);
    if (!device_run_cleanly (
            check, subject->device, device_sepconv, plan, &src, &dst))
      break;
    verdict_by_oracle (&verdict, &c->spec, &src.image, &dst.image);
    if (!EXPECT (check, verdict.ok, "%s of period %d at %d, %d: %s",
            pattern_names[scene.pattern], scene.period, scene.at_x, scene.at_y,
            verdict.text))
      break;
  }
  sepconv_plan_free (plan);
  picture_clear (&src);
  picture_clear (&dst);
  case_free (c);
}

static void
set_gaussians (Case *c, double sigma)
{
  for (int p = 0; p < c->layout.n_planes; p++) {
    taps_gaussian (&c->x[p], sigma, (int) ceil (4.0 * sigma));
    c->y[p] = c->x[p];
  }
}

/* A plain blur of random width, named `shape`. */
static void
set_blur (Case *c, const char *shape, Random *random)
{
  c->shape = shape;
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  set_gaussians (c, random_double (random, 9.0, 20.0));
}

/* The sigma of run i; 0: no more runs. First jumps, whose taps are decimated less and less and need
 * more and more memory; then a slow increase, as by a controller. */
static double
changing_sigma (int i, double step)
{
  static const double jumps[] = { 64, 16, 32, 8 };
  const int n = (int) (sizeof jumps / sizeof jumps[0]);
  const double gliding = i < n ? 0.0 : 5.0 * pow (step, i - n);

  return i < n ? jumps[i] : gliding < 60.0 ? gliding : 0.0;
}

/* Factors change, the plan is kept, and every result is correct. */
static void
glide_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const double step = check->quick ? 1.3 : 1.06;
  const int most = check->quick ? 60 : 200;
  SepconvPlan *plan = NULL;
  Case *c = case_new ();
  Picture src, dst;
  double sigma;
  Fault fault;

  case_set_layout (c, layout_kind_by_name (index % 2 ? "nv12" : "gray8"),
      random_int (random, most / 2, most) * 2, most);
  case_make_spec (c, SEPCONV_REPLICATE, &(Effort){ most, most, 1e6 }, random);
  c->shape = "changing gaussian";
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  picture_new (&src, &c->layout, subject->device->gpu == NULL, random);
  picture_new (&dst, &c->layout, subject->device->gpu == NULL, random);
  picture_paint (&src, CONTENT_EXTREMES, random);
  for (int i = 0; (sigma = changing_sigma (i, step)) > 0.0; i++) {
    Verdict verdict;
    bool ok;

    c->spec.border = (SepconvBorder) ((index + i / 7) % N_BORDERS);
    set_gaussians (c, sigma);
    case_describe (check, c);
    fault_clear (&fault);
    if (plan == NULL)
      plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
          subject->method, subject->device->gpu, &fault);
    ok = plan != NULL && sepconv_plan_update (plan, &c->spec, &fault);
    if (!EXPECT (check, ok, "sigma %g: %s", sigma, fault.message)
        || !device_run_cleanly (
            check, subject->device, device_sepconv, plan, &src, &dst))
      break;
    verdict_by_oracle (&verdict, &c->spec, &src.image, &dst.image);
    if (!EXPECT (check, verdict.ok, "sigma %g: %s", sigma, verdict.text))
      break;
  }
  sepconv_plan_free (plan);
  picture_clear (&src);
  picture_clear (&dst);
  case_free (c);
}

/* Random squares of 0 and full, so large that a blur keeps much of them: a row of sums in the wrong
 * place shows. */
static void
paint_large_squares (Picture *picture, const Case *c, Random *random)
{
  const Image *image = &picture->image;
  const int size = random_int (random, 40, 90);

  (void) c;
  for (int p = 0; p < image->n_planes; p++)
    for (int c = 0; c < image->plane[p].channels; c++) {
      const int full = image_full_code (&image->plane[p]);
      const int width = image->plane[p].width;
      bool *light =
          kerncheck_alloc (sizeof *light * (size_t) (width / size + 1));

      for (int y = 0; y < image_plane_height (image, p); y++) {
        for (int i = 0; y % size == 0 && i <= width / size; i++)
          light[i] = random_chance (random, 50);
        for (int x = 0; x < width; x++)
          picture_write_code (image, p, c, x, y, light[x / size] ? full : 0);
      }
      free (light);
    }
}

/* Rows shared by several blocks, whose widths end anywhere in a block's last vector. */
static void
wide_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  static const char *const kinds[] = { "gray8", "ayuv", "nv12", "rgbx" };
  const int most = index % 4 == 0 ? 9000 : 2500;
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (kinds[index % 4]),
      random_int (random, most / 2, most), random_int (random, 10, 50));
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS),
      &(Effort){ most, most, 1e6 }, random);
  set_blur (c, "gaussian of a wide picture", random);
  case_describe (check, c);
  device_expect_oracle (check, subject, c, device_paint_extremes, random);
  case_free (c);
}

/* Most pixels of a narrow row: at least two chunks of 16 bytes and a part. */
#define MOST_NARROW 36

/* Wider than the taps reach; this number of widths from there on, so that rows end anywhere in a
 * chunk. */
#define LEAST_WIDE 240
#define N_REMAINDERS 16

/* Sets width and channels of case number `index`, with few rows; the width grows by one from case
 * to case. */
static void
set_rows (Case *c, int index, int first_width, int n_widths, Random *random)
{
  static const char *const kinds[] = { "gray8", "two8", "rgbx" };
  const int number = index / 3, width = first_width + number % n_widths;

  case_set_layout (c, layout_kind_by_name (kinds[index % 3]), width,
      random_int (random, 10, 20));
  case_make_spec (c, (SepconvBorder) ((number + number / n_widths) % N_BORDERS),
      &(Effort){ width, width, 1e6 }, random);
}

/* Rows of every width up to a few chunks: borders turn back anywhere in a chunk, and often. */
static void
narrow_case (Check *check, Random *random, int index, const void *data)
{
  Case *c = case_new ();

  set_rows (c, index, 1, MOST_NARROW, random);
  set_blur (c, "gaussian of a narrow picture", random);
  case_describe (check, c);
  device_expect_oracle (check, data, c, device_paint_extremes, random);
  case_free (c);
}

/* Rows that end anywhere in their last chunk, in which borders turn back once. */
static void
remainders_case (Check *check, Random *random, int index, const void *data)
{
  Case *c = case_new ();

  set_rows (c, index, LEAST_WIDE, N_REMAINDERS, random);
  set_blur (c, "gaussian of rows of any width", random);
  case_describe (check, c);
  device_expect_oracle (check, data, c, device_paint_extremes, random);
  case_free (c);
}

/* One axis keeps its own rate while the other is decimated, and a frame may have planes of both
 * kinds: kernels with many fitted taps and kernels with few. */
static void
mixed_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const int radius = random_int (random, 21, 150);
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (index % 2 ? "nv12" : "gray8"),
      random_int (random, 80, 200) * 2, random_int (random, 40, 90) * 2);
  case_make_spec (c, (SepconvBorder) (index / 2 % N_BORDERS),
      &(Effort){ 400, 400, 1e6 }, random);
  set_blur (c, "gaussian and box", random);
  taps_box (index % 3 ? &c->x[0] : &c->y[0], 2 * radius + 1, radius);
  case_describe (check, c);
  device_expect_oracle (check, subject, c, device_paint_extremes, random);
  case_free (c);
}

/* Limits the GPU, if there is one, to one multiprocessor: each block processes the maximum of
 * low-rate rows, sums and results, in several turns. The sigmas of two planes are chosen so that
 * both have few fitted taps; so that tensor cores sum more for one plane; and so that they sum for
 * one plane only. */
static void
turns_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  static const struct
  {
    const char *kind;
    int width, height;
    double luma, chroma;
  } rows[] = {
    { "gray8", 300, 1400, 10.8, 10.8 },
    { "nv12", 280, 1300, 11.0, 11.0 },
    { "ayuv", 140, 900, 10.8, 10.8 },
    { "gray8", 260, 2400, 85.0, 85.0 },
    { "nv12", 200, 1600, 64.0, 32.0 },
    { "nv12", 200, 1600, 170.0, 85.0 },
    { "rgbx", 130, 1700, 20.0, 20.0 },
  };
  const int row = index % (int) (sizeof rows / sizeof rows[0]);
  Gpu *gpu = subject->device->gpu;
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (rows[row].kind), rows[row].width,
      rows[row].height);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS),
      &(Effort){ rows[row].width, rows[row].height, 1e6 }, random);
  c->shape = "gaussian of many rows";
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  for (int p = 0; p < c->layout.n_planes; p++) {
    const double sigma = p == 0 ? rows[row].luma : rows[row].chroma;

    taps_gaussian (&c->x[p], sigma, (int) ceil (4.0 * sigma));
    c->y[p] = c->x[p];
  }
  case_describe (check, c);
  if (gpu != NULL)
    gpu_limit_multiprocessors (gpu, 1);
  device_expect_oracle (check, subject, c, paint_large_squares, random);
  if (gpu != NULL)
    gpu_limit_multiprocessors (gpu, 0);
  case_free (c);
}

static void
check_turns (Check *check, const void *data)
{
  device_check_method (
      check, data, check->quick ? 7 : 7 * N_BORDERS, turns_case);
}

static void
check_wide (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 4 : 20, wide_case);
}

static void
check_narrow (Check *check, const void *data)
{
  device_check_method (check, data,
      (check->quick ? 1 : N_BORDERS) * 3 * MOST_NARROW, narrow_case);
}

static void
check_remainders (Check *check, const void *data)
{
  device_check_method (check, data,
      (check->quick ? 1 : 3) * N_BORDERS * 3 * N_REMAINDERS, remainders_case);
}

static void
check_mixed (Check *check, const void *data)
{
  device_check_method (
      check, data, (check->quick ? 1 : 2) * 2 * N_BORDERS, mixed_case);
}

static void
check_glide (Check *check, const void *data)
{
  device_check_method (check, data, 2 * N_BORDERS, glide_case);
}

static void
check_patterns (Check *check, const void *data)
{
  device_check_method (
      check, data, (check->quick ? 3 : N_SIGMAS) * N_BORDERS, patterns_case);
}

void
check_multirate_add (void)
{
  kerncheck_add (check_plan, NULL, NULL, "multirate/plan");
  kerncheck_add (check_factor, NULL, NULL, "multirate/factor");
  kerncheck_add (check_declines, NULL, NULL, "multirate/declines");
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);

    /* The methods that split frames use the kernels of `multirate` and have checks of their own. */
    if (strncmp (method->name, "multirate", 9) != 0
        || strstr (method->name, "-split") != NULL)
      continue;
    kerncheck_add (
        check_patterns, method, method, "sepconv/%s/patterns", method->name);
    kerncheck_add (
        check_glide, method, method, "sepconv/%s/glide", method->name);
    kerncheck_add (check_wide, method, method, "sepconv/%s/wide", method->name);
    kerncheck_add (
        check_narrow, method, method, "sepconv/%s/narrow", method->name);
    kerncheck_add (check_remainders, method, method, "sepconv/%s/remainders",
        method->name);
    kerncheck_add (
        check_mixed, method, method, "sepconv/%s/mixed", method->name);
    kerncheck_add (
        check_turns, method, method, "sepconv/%s/turns", method->name);
  }
}
