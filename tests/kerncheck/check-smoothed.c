/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Long blurs as shorter blurs of a smoothed picture: their taps as mathematics, and the methods
 * that use them, with the pictures that cause the largest errors. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "sepconv/rows-averages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of samples, step by step by the formula in rows-fit.h; weight[k] is at distance k -
 * MIDDLE. */
#define MIDDLE (ROWS_FIT_MOST_REACH + 8)

static void
effective_weights (const RowsFit *fit, double weight[2 * MIDDLE + 1])
{
  static const double smoothing[] = { 1, 4, 6, 4, 1 };

  memset (weight, 0, sizeof *weight * (2 * MIDDLE + 1));
  for (int i = -fit->radius; i <= fit->radius; i++)
    for (int k = -2; k <= 2; k++)
      weight[MIDDLE + 2 * i + k] += fit->tap[abs (i)] * smoothing[k + 2] / 16.0;
  for (int e = 0; e < fit->edges; e++) {
    weight[MIDDLE - fit->reach + e] += fit->edge[e];
    weight[MIDDLE + fit->reach - e] += fit->edge[e];
  }
}

/* Weights are only where the header says, none is negative, their sum is kept, and they are close
 * enough to gaussians of any cut for 8 bits. */
static void
fit_case (Check *check, Random *random, int index, const void *data)
{
  const int reach =
      random_int (random, ROWS_FIT_LEAST_REACH, ROWS_FIT_MOST_REACH);
  const double cut = random_double (random, 2.5, 4.0);
  Taps *taps = kerncheck_alloc (sizeof *taps);
  double weight[2 * MIDDLE + 1], off = 0.0, sum = 0.0;
  RowsFit fit;

  (void) index;
  (void) data;
  taps_gaussian (taps, reach / cut, reach);
  check_describe (check, "radius %d, sigma %g", reach, reach / cut);
  if (EXPECT (check, rows_fit (&fit, taps), "no fit")) {
    effective_weights (&fit, weight);
    for (int k = -MIDDLE; k <= MIDDLE; k++) {
      const double wanted = abs (k) <= reach ? taps->tap[reach + k] : 0.0;

      EXPECT (check, weight[MIDDLE + k] >= 0.0, "the weight at %d is %g", k,
          weight[MIDDLE + k]);
      EXPECT (check,
          abs (k) <= reach
              ? fabs (rows_fit_effective (&fit, abs (k)) - weight[MIDDLE + k])
                  < 1e-12
              : weight[MIDDLE + k] == 0.0,
          "the weight at %d is %g", k, weight[MIDDLE + k]);
      off += fabs (weight[MIDDLE + k] - wanted);
      sum += weight[MIDDLE + k];
    }
    EXPECT (check, fabs (sum - 1.0) < 1e-5, "weights sum to %.9g", sum);
    /* An axis may be off by 0.0015 of 127.5 codes, which is 0.19 codes. */
    EXPECT (check, off < (reach >= 14 && cut > 2.8 ? 0.0015 : 0.004),
        "weights are off by %g", off);
  }
  free (taps);
}

static void
check_fit (Check *check, const void *data)
{
  check_cases (check, check->quick ? 60 : 1000, fit_case, data);
}

/* Gaussians of bytes use the smoothed picture, even where products of pairs are faster than
 * averages of original samples. */
static void
plan_case (Check *check, Random *random, int index, const void *data)
{
  static const RowsAveragesKernels kernels = { .most_taps = 3,
    .most_taps_of_three = 3 };
  static const RowsAveragesAim aim = { .most_lost = ROWS_MOST_LOST,
    .rounds = true };
  const SepconvChannel channel = { .width = 200,
    .sample_bytes = 1,
    .max_code = 255,
    .center = 128.0,
    .filter = true };
  const int reach = random_int (random, 14, ROWS_FIT_MOST_REACH);
  Case *c = case_new ();
  RowsJob job = { .border = (SepconvBorder) (index % N_BORDERS),
    .x = &c->x[0],
    .y = &c->y[0],
    .step = 1,
    .n_samples = 200,
    .height = 2000,
    .channel = &channel };
  RowsAverages averages;

  (void) data;
  taps_gaussian (&c->x[0], reach / random_double (random, 3.0, 3.5), reach);
  c->y[0] = c->x[0];
  check_describe (check, "radius %d", reach);
  EXPECT (check,
      rows_plan_averages (&job, &kernels, &aim, &averages)
          && averages.x.smoothed && averages.y.smoothed,
      "samples are not smoothed");
  /* A line of a plane that wraps is one strip. */
  job.n_samples = ROWS_MAX_STRIP;
  EXPECT (check,
      !rows_plan_averages (&job, &kernels, &aim, &averages)
          || job.border != SEPCONV_WRAP
          || rows_smoothed_lines (&averages.y)
                  * rows_smoothed_pitch (ROWS_MAX_STRIP)
              <= ROWS_SMOOTHED_SAMPLES,
      "there is no room for the smoothed rows");
  case_free (c);
}

static void
check_plan (Check *check, const void *data)
{
  check_cases (check, check->quick ? 20 : 200, plan_case, data);
}

/* Light where the result in the middle of each plane has too much weight, dark where it has too
 * little. */
static void
paint_worst (Picture *picture, const Case *c, Random *random)
{
  const Image *image = &picture->image;

  for (int p = 0; p < image->n_planes; p++) {
    /* Results with many different fractions, some of which are rounded the wrong way. */
    const int full =
        image_full_code (&image->plane[p]) - random_int (random, 0, 40);
    const int at_x = image->plane[p].width / 2;
    const int at_y = image_plane_height (image, p) / 2;
    double x[2 * MIDDLE + 1], y[2 * MIDDLE + 1];
    RowsFit fit;

    rows_fit (&fit, &c->x[p]);
    effective_weights (&fit, x);
    rows_fit (&fit, &c->y[p]);
    effective_weights (&fit, y);
    for (int channel = 0; channel < image->plane[p].channels; channel++)
      for (int row = 0; row < image_plane_height (image, p); row++)
        for (int column = 0; column < image->plane[p].width; column++) {
          const int dx = column - at_x, dy = row - at_y;
          const int rx = c->x[p].n / 2, ry = c->y[p].n / 2;
          const bool inside = abs (dx) <= rx && abs (dy) <= ry;

          picture_write_code (image, p, channel, column, row,
              inside
                      && x[MIDDLE + dx] * y[MIDDLE + dy]
                          > c->x[p].tap[rx + dx] * c->y[p].tap[ry + dy]
                  ? full
                  : 0);
        }
  }
}

static void
set_blur (Case *c, bool unsharp, Random *random)
{
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->shape = "long gaussian";
  if (unsharp) {
    c->spec.combine = SEPCONV_UNSHARP;
    c->spec.amount = random_double (random, -0.9, 1.2);
    c->spec.threshold = random_chance (random, 50) ? 0.0 : 0.03;
    c->shape = "unsharp";
  }
}

/* A radius of one axis: sometimes too short to be smoothed, or even too long. */
static int
any_radius (Random *random)
{
  return random_chance (random, 15)
      ? random_int (random, 1, ROWS_FIT_MOST_REACH + 8)
      : random_int (random, ROWS_FIT_LEAST_REACH,
          random_chance (random, 70) ? 24 : ROWS_FIT_MOST_REACH);
}

/* A gaussian of that radius. Sometimes it ends with a jump, which only the taps of its edges can
 * represent. */
static void
set_taps (Taps *taps, int radius, Random *random)
{
  const int n_edges = 2 + radius % 2;
  double sum = 0.0;

  taps_gaussian (taps, radius / random_double (random, 2.5, 4.0), radius);
  if (radius < ROWS_FIT_LEAST_REACH || random_chance (random, 60))
    return;
  taps_gaussian (taps, (radius - n_edges) / 4.0, radius);
  for (int e = 0; e < n_edges; e++)
    taps->tap[e] = taps->tap[2 * radius - e] = random_double (random, 0.0, 0.1);
  for (int i = 0; i < taps->n; i++)
    sum += taps->tap[i];
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] /= sum;
}

/* Strips and bands of any size, in which borders turn back once or often. */
static void
blur_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray8", "rgbx", "nv12", "rgb24", "two8",
    "planar3", "gray10" };
  const MethodSubject *subject = data;
  const int most = check->quick ? 160 : 400;
  const bool wide = random_chance (random, 20);
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (kinds[index / N_BORDERS % 7]),
      random_int (random, 64, wide ? 9000 : most),
      random_int (random, 1, wide ? 24 : most));
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS),
      &(Effort){ most, most, 1e6 }, random);
  set_blur (c, strncmp (subject->method->name, "terms", 5) == 0, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    set_taps (&c->x[p], any_radius (random), random);
    set_taps (&c->y[p], any_radius (random), random);
    case_round_border (c, p);
  }
  case_describe (check, c);
  device_expect_oracle (check, subject, c, device_paint_extremes, random);
  case_free (c);
}

static void
worst_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const int reach = ROWS_FIT_LEAST_REACH
      + index % (ROWS_FIT_MOST_REACH - ROWS_FIT_LEAST_REACH + 1);
  /* Some are too narrow to be fitted. */
  const double cut = random_double (random, 2.8, index % 3 ? 3.5 : 8.0);
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (index % 2 ? "rgbx" : "gray8"),
      2 * reach + ROWS_RUN + random_int (random, 0, 40),
      2 * reach + random_int (random, 1, 9));
  case_make_spec (c, SEPCONV_REPLICATE, &(Effort){ 200, 200, 1e6 }, random);
  set_blur (c, strncmp (subject->method->name, "terms", 5) == 0, random);
  taps_gaussian (&c->x[0], reach / cut, reach);
  taps_gaussian (&c->y[0], reach / cut, reach);
  case_describe (check, c);
  for (int i = 0; i < 8; i++)
    device_expect_oracle (check, subject, c, paint_worst, random);
  case_free (c);
}

static void
check_blurs (Check *check, const void *data)
{
  device_check_method (
      check, data, (check->quick ? 1 : 4) * 7 * N_BORDERS, blur_case);
}

static void
check_worst (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 16 : 53, worst_case);
}

void
check_smoothed_add (void)
{
  kerncheck_add (check_fit, NULL, NULL, "rows/fit");
  kerncheck_add (check_plan, NULL, NULL, "rows/plan");
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);

    if (strcmp (method->name, "simd") != 0
        && strcmp (method->name, "terms-simd") != 0)
      continue;
    kerncheck_add (
        check_blurs, method, method, "sepconv/%s/smoothed", method->name);
    kerncheck_add (
        check_worst, method, method, "sepconv/%s/worst", method->name);
  }
}
