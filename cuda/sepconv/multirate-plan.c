/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "multirate-plan.h"

#include "border.h"
#include "memo.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The reach of a window to either side, for a factor M: its weights are not 0 at distances less
 * than 2M - 1. */
#define HALF(factor) (2 * (factor) -2)
#define MAX_HALF HALF (MULTIRATE_MAX_FACTOR)
#define MAX_WINDOW (2 * MAX_HALF + 1)

/* Fitted taps beyond either end of the wanted ones; more of them gain nothing. */
#define MARGIN 2
/* With fewer wanted taps than this times the factor, no fit is close enough. */
#define LEAST_TAPS 12

/* The most fitted taps of an axis: those of the smallest factor, 2. */
#define MAX_FITTED (TAPS_MAX / 2 + 2 * MARGIN + 2)

/* Two basis functions this many low samples apart, or more, have no sample in common. */
#define BAND 8

/* The error in codes that the promised accuracy allows before the final rounding. */
static double
allowed_loss (int depth)
{
  return depth <= 12 ? 0.24 : 0.49;
}

/* The largest weight of anything that is added to a sum (the sample itself or another sum): a sum
 * that is limited to MULTIRATE_MOST_SUM must stay out of the range of codes. */
#define MOST_WEIGHT 32.0
/* The smallest factor of differences that are compared with a threshold. */
#define LEAST_COMPARED 0.0625

static double
center_code (int depth)
{
  return ldexp (1.0, depth - 1);
}

/* Convolves four boxes of M = `factor` samples, each of sum 1. weight[i] is the weight at distance
 * i - HALF (M). */
static void
make_window (double weight[MAX_WINDOW], int factor)
{
  int n = 1;

  weight[0] = 1.0;
  for (int box = 0; box < 4; box++, n += factor - 1) {
    double wider[MAX_WINDOW] = { 0.0 };

    for (int i = 0; i < n; i++)
      for (int k = 0; k < factor; k++)
        wider[i + k] += weight[i] / factor;
    memcpy (weight, wider, sizeof wider);
  }
}

/* The weight of a sample at a distance; `factor` times it is the weight of a sum at that distance
 * from a result. */
static double
at (const double weight[MAX_WINDOW], int factor, int distance)
{
  return abs (distance) <= HALF (factor) ? weight[distance + HALF (factor)]
                                         : 0.0;
}

/* Turns the window's weights of one phase into bytes that sum to weight_sum: rounds all down, then
 * those with the largest rest up. */
static void
set_bytes (MultirateAxis *axis, const double weight[MAX_WINDOW], int phase)
{
  const int factor = axis->factor;
  const double unit = 1.0 / (factor * (double) axis->weight_sum);
  double rest[MULTIRATE_REACH];
  int byte[MULTIRATE_REACH], missing = axis->weight_sum;

  for (int t = 0; t < MULTIRATE_REACH; t++) {
    const double wanted = at (weight, factor, phase + factor * (t - 2)) / unit;

    byte[t] = (int) floor (wanted);
    rest[t] = wanted - byte[t];
    missing -= byte[t];
  }
  for (; missing > 0; missing--) {
    int largest = 0;

    for (int t = 1; t < MULTIRATE_REACH; t++)
      if (rest[t] > rest[largest])
        largest = t;
    byte[largest]++;
    rest[largest] -= 1.0;
  }
  for (int t = 0; t < MULTIRATE_REACH; t++)
    axis->window[factor * t + phase] = (float) (unit * byte[t]);
}

/* Makes a phase's weights exact in FP16, still with a sum of 1. They are multiples of 1 / factor^3,
 * which FP16 holds, except odd multiples above 1/2 with a factor of 16: of such a weight,
 * 1 / factor^3 is moved to the weight beside it. */
static void
set_halves (float phase[MULTIRATE_REACH])
{
  for (int t = 1; t <= 2; t++) {
    const float rest = fmodf (phase[t], 0x1p-11f);

    if (phase[t] > 0.5f) {
      phase[t] -= rest;
      phase[3 - t] += rest;
    }
  }
}

static void
set_window (MultirateAxis *axis, const double weight[MAX_WINDOW])
{
  const int factor = axis->factor;

  for (int i = 0; i < MULTIRATE_REACH * factor; i++)
    axis->window[i] = (float) at (weight, factor, i - 2 * factor);
  for (int p = 0; p < factor && axis->weight_sum > 0; p++)
    set_bytes (axis, weight, p);
  for (int p = 0; p < factor; p++)
    for (int t = 0; t < MULTIRATE_REACH; t++)
      axis->phase[p][t] =
          (float) (factor * at (weight, factor, p - factor * (t - 1)));
  for (int p = 0; p < factor && axis->weight_sum > 0; p++)
    set_halves (axis->phase[p]);
}

/* A basis is the effective taps, over all phases, that one fitted tap alone gives. product[d] is
 * the scalar product of two bases whose fitted taps are d apart. */
static void
correlate_bases (
    double product[BAND], const double weight[MAX_WINDOW], int factor)
{
  const int half = 2 * HALF (factor);

  for (int d = 0; d < BAND; d++)
    product[d] = 0.0;
  for (int p = 0; p < factor; p++) {
    double taps[4 * MAX_HALF + 1] = { 0.0 }; /* at distance i - half */

    for (int t = -1; t <= 2; t++)
      for (int i = -HALF (factor); i <= HALF (factor); i++)
        if (abs (factor * t + i - p) <= half)
          taps[factor * t + i - p + half] += factor
              * at (weight, factor, p - factor * t) * at (weight, factor, i);
    for (int d = 0; d < BAND; d++)
      for (int i = d * factor; i <= 2 * half; i++)
        product[d] += taps[i] * taps[i - d * factor];
  }
}

/* Convolves n numbers with a box of `factor` samples of sum 1, in place. Returns the new number of
 * numbers. */
static int
widen (double *number, int n, int factor)
{
  const int wider = n + factor - 1;
  double sum = 0.0;

  /* From the end on, so that numbers that a box still needs are not overwritten. */
  for (int k = wider - 1; k >= 0; k--) {
    const double last = k < n ? number[k] : 0.0;

    if (k >= factor - 1)
      sum += number[k - (factor - 1)];
    number[k] = sum / factor;
    sum -= last;
  }
  return wider;
}

/* product[j]: the scalar product of the wanted taps with the basis of fitted tap j, over all
 * phases. */
static void
correlate_wanted (double *product, const MultirateAxis *axis,
    const double weight[MAX_WINDOW], const Taps *wanted)
{
  const int factor = axis->factor, half = HALF (factor);
  const int before = wanted->n / 2 + (MARGIN + 2) * factor + half;
  /* The length of smooth[] that is used: up to the end of the window of the last wanted tap, or of
   * the last fitted one. */
  const int last_wanted = wanted->n - 1 - wanted->n / 2;
  const int last_fitted = factor * (axis->first + axis->n - 1);
  const int n = before + half + 1
      + (last_wanted > last_fitted ? last_wanted : last_fitted);
  double smooth[TAPS_MAX + 16 * MULTIRATE_MAX_FACTOR];
  double *from = smooth + before - wanted->n / 2 - half;
  int widened = wanted->n;

  memset (smooth, 0, sizeof *smooth * (size_t) n);
  /* smooth[y + before] = sum over o of window (o - y) * wanted (o), where the window is four boxes, as
   * in make_window() */
  memcpy (from, wanted->tap, sizeof *from * (size_t) wanted->n);
  for (int box = 0; box < 4; box++)
    widened = widen (from, widened, factor);
  for (int j = 0; j < axis->n; j++) {
    product[j] = 0.0;
    for (int i = -half; i <= half; i++)
      product[j] += factor * weight[i + half]
          * smooth[factor * (axis->first + j) - i + before];
  }
}

/* Solves T x = b in place for a symmetric positive definite matrix of n rows whose element
 * (i, j) is band[|i - j|], 0 from BAND on: Cholesky's decomposition L D L'. */
static void
solve_band (double *x, const double band[BAND], int n)
{
  /* low[i][d] = L (i, i - d), low[i][0] = D (i) */
  double low[MAX_FITTED][BAND];

  for (int i = 0; i < n; i++)
    for (int d = i < BAND - 1 ? i : BAND - 1; d >= 0; d--) {
      const int j = i - d;
      double sum = band[d];

      for (int e = d + 1; e < BAND && e <= i; e++)
        sum -= low[i][e] * low[i - e][0] * low[j][e - d];
      low[i][d] = d == 0 ? sum : sum / low[j][0];
    }
  for (int i = 0; i < n; i++)
    for (int d = 1; d < BAND && d <= i; d++)
      x[i] -= low[i][d] * x[i - d];
  for (int i = 0; i < n; i++)
    x[i] /= low[i][0];
  for (int i = n - 1; i >= 0; i--)
    for (int d = 1; d < BAND && d <= i; d++)
      x[i - d] -= low[i][d] * x[i];
}

/* The largest sum |effective - wanted| of any phase, computed from the float weights and taps. */
static double
largest_difference (const MultirateAxis *axis, const Taps *wanted)
{
  const int factor = axis->factor, n_sums = axis->n + MULTIRATE_REACH - 1;
  const int reach = MULTIRATE_REACH * factor;
  /* The index of the wanted tap where the effective taps of phase 0 begin. A window begins
   * 2 * factor before its low sample. */
  const int begin = wanted->n / 2 + factor * (axis->first - 1) - 2 * factor;
  const int n = factor * (n_sums - 1) + reach;
  double most = 0.0;

  for (int p = 0; p < factor; p++) {
    double taps[TAPS_MAX + 16 * MULTIRATE_MAX_FACTOR], sum = 0.0;

    memset (taps, 0, sizeof *taps * (size_t) n);
    for (int s = 0; s < n_sums; s++) {
      double weight = 0.0;

      for (int t = 0; t < MULTIRATE_REACH; t++)
        if (s - t >= 0 && s - t < axis->n)
          weight += (double) axis->phase[p][t] * axis->tap[s - t];
      for (int i = 0; i < reach; i++)
        taps[factor * s + i] += weight * axis->window[i];
    }
    /* taps[k] is at the wanted tap k + begin - p. */
    for (int k = 0; k < n; k++) {
      const int i = k + begin - p;

      sum += fabs (taps[k] - (i >= 0 && i < wanted->n ? wanted->tap[i] : 0.0));
    }
    most = fmax (most, sum);
  }
  return most;
}

/* The sum |tap| of the fitted floats, divided by that of the wanted taps. */
static double
relative_norm (const MultirateAxis *axis, const Taps *wanted)
{
  double norm = 0.0;

  for (int j = 0; j < axis->n; j++)
    norm += fabs ((double) axis->tap[j]);
  return norm / taps_norm (wanted);
}

/* Corrects taps so that they sum to `sum`. As the weights of a window and of a phase sum to 1, flat
 * pictures are then filtered exactly. */
static void
set_sum (double *tap, int n, double sum)
{
  double norm = 0.0;

  for (int j = 0; j < n; j++) {
    sum -= tap[j];
    norm += fabs (tap[j]);
  }
  for (int j = 0; j < n; j++)
    tap[j] += sum * fabs (tap[j]) / norm;
}

/* Fits the axis's taps for its factor. */
static void
fit (MultirateAxis *axis, const Taps *wanted)
{
  const int factor = axis->factor;
  const int before = wanted->n / 2, after = wanted->n - 1 - before;
  double weight[MAX_WINDOW], band[BAND], tap[MAX_FITTED];

  make_window (weight, factor);
  set_window (axis, weight);
  axis->first = -(before + factor - 1) / factor - MARGIN;
  axis->n = (after + factor - 1) / factor + MARGIN + 1 - axis->first;
  correlate_bases (band, weight, factor);
  correlate_wanted (tap, axis, weight, wanted);
  solve_band (tap, band, axis->n);
  set_sum (tap, axis->n, taps_sum (wanted));
  for (int j = 0; j < axis->n; j++)
    axis->tap[j] = (float) tap[j];
  axis->norm = relative_norm (axis, wanted);
  axis->error = largest_difference (axis, wanted) / taps_norm (wanted);
}

/* The bytes of an axis without the unused taps at its end. */
static size_t
used_bytes (const MultirateAxis *axis)
{
  return offsetof (MultirateAxis, tap) + sizeof axis->tap[0] * (size_t) axis->n;
}

static void
copy_axis (MultirateAxis *to, const MultirateAxis *from)
{
  memcpy (to, from, used_bytes (from));
}

/* Plans the axis without a lower rate: a factor of 1 and the wanted taps. */
static void
keep (MultirateAxis *axis, const Taps *wanted)
{
  double weight[MAX_WINDOW];

  axis->factor = 1;
  axis->weight_sum = 0;
  make_window (weight, 1);
  set_window (axis, weight);
  axis->first = -(wanted->n / 2);
  axis->n = wanted->n;
  for (int j = 0; j < axis->n; j++)
    axis->tap[j] = (float) wanted->tap[j];
  axis->norm = 1.0;
  axis->error = 0.0;
}

/* The roundings that a sample goes through in a sum of n taps: see sepconv_rounding_bound(). */
static int
roundings (int n)
{
  const int block = n < MULTIRATE_SUM_BLOCK ? n : MULTIRATE_SUM_BLOCK;

  return 1 + block + (n + MULTIRATE_SUM_BLOCK - 1) / MULTIRATE_SUM_BLOCK;
}

/* Error of the interpolation of bytes on tensor cores, in units of 2^-24 * center codes;
 * tensor-loss.h has the error model. Along each of the two axes a result sums at most 8 products
 * that are not zero, in at most 4 additions. The error, in units of the largest sum: 1 for each
 * product; 1 for the sum before each addition, and 2 for the addition itself; 2 for the FP16 hi/lo
 * split. No sum, with the start value, is more than 2048 + 6 * center * gain. */
static double
interpolation_loss (double gain)
{
  return 2.0 * (8 + 4 * (1 + 2) + 2) * (8.0 + 6.0 * gain);
}

/* Error of sums of n rows in the decimation of bytes on tensor cores, in the same units; products
 * of bytes are exact. The codes themselves are summed, which are less than 2 * center. One mma
 * takes 8 rows and makes two additions; each addition loses one unit for each of its 9 addends and
 * two of its own. At most ten parts of a window are added up. */
static int
decimation_loss (int n)
{
  return 2 * (9 + 2) * (n / 8 + 1) + 10;
}

/* Error of sums of n fitted taps along an axis on tensor cores, in the same units. Samples and taps
 * are FP16 hi/lo splits: samples, taps, and the omitted lo * lo products lose four units each. A lo
 * part is a multiple of 2^-24, which costs one unit for every 16 taps. An mma of 16 factors makes
 * two additions; each loses one unit for each of its 9 addends and two of its own. Products with a
 * lo part are 2^-11 of the others, and lose less than one unit. */
static int
filter_loss (int n)
{
  return 2 * (9 + 2) * (n / 16 + 3) + 3 * 4 + (n + 15) / 16 + 2;
}

/* Error of the roundings of all stages, in codes, counted as in sepconv_rounding_bound(). With up
 * to 8 bits, windows along y sum the codes themselves, which are up to 2 * center. */
static double
rounding_loss (
    const MultirateAxis *x, const MultirateAxis *y, int depth, double gain)
{
  const bool bytes = x->weight_sum > 0 || y->weight_sum > 0;
  const int windows = MULTIRATE_REACH * (x->factor + y->factor) + 4;
  const int decimation = bytes
      ? windows + decimation_loss (MULTIRATE_REACH * y->factor)
      : (depth <= 8 ? 2 : 1) * windows;
  const bool tensor = x->weight_sum > 0 && y->weight_sum > 0
      && x->n <= MULTIRATE_MOST_TENSOR_TAPS
      && y->n <= MULTIRATE_MOST_TENSOR_TAPS;
  const int filter = tensor ? filter_loss (x->n) + filter_loss (y->n)
                            : roundings (x->n) + roundings (y->n);
  const int steps = decimation + filter + 2 * (MULTIRATE_REACH + 1);
  const double more =
      bytes ? interpolation_loss (gain * x->norm * y->norm) : 0.0;

  /* The offset is at most 2^depth * (1 + gain). It is rounded once, and the sum with it once more,
   * or four times where a sum of four products begins with it. */
  return ldexp (center_code (depth)
          * (gain * x->norm * y->norm * steps + 10.0 * (1.0 + gain) + more),
      -24);
}

/* The sum of the bytes of a phase, such that the largest is at most 255: the largest weight of a
 * phase is up to 0.75 of the sum with a factor of 2, 0.69 with 4, and 0.672 with more. With factors
 * of 2 and 4, the bytes are exact. */
static int
weight_sum (int factor)
{
  return factor <= 4 ? 320 : 378;
}

/* Powers of two up to 16: 16 pixels are whole cells. */
static bool
suits_bytes (int factor)
{
  return factor <= 16 && (factor & (factor - 1)) == 0;
}

static double
loss (const MultirateAxis *x, const MultirateAxis *y, int depth, double gain)
{
  return center_code (depth) * gain
      * (x->error + y->error + x->error * y->error)
      + rounding_loss (x, y, depth, gain);
}

/* Makes an axis whose taps are all 0, with the largest factor: its sums cost next to nothing. */
static void
silence (MultirateAxis *axis, int depth, MultirateWindows windows)
{
  const bool bytes = windows == MULTIRATE_BYTE_WINDOWS && depth <= 8;
  double weight[MAX_WINDOW];

  axis->factor = bytes ? 16 : MULTIRATE_MAX_FACTOR;
  axis->weight_sum = bytes ? weight_sum (axis->factor) : 0;
  make_window (weight, axis->factor);
  set_window (axis, weight);
  axis->first = 0;
  axis->n = 1;
  axis->tap[0] = 0.0f;
  axis->norm = 1.0;
  axis->error = 0.0;
}

/* One axis of all kernels of a plane; all get the same factor. */
typedef struct
{
  int n;
  MultirateAxis *axis[MULTIRATE_MAX_TERMS];
  const Taps *wanted[MULTIRATE_MAX_TERMS];
  const double *gain;
} AxisTerms;

/* Takes the largest factor whose loss is allowed if the other axis loses as much. */
static void
choose_factor (const AxisTerms *terms, int depth, MultirateWindows windows)
{
  static const int factors[] = { 32, 24, 16, 12, 8, 6, 4, 3, 2 };
  const bool bytes = windows == MULTIRATE_BYTE_WINDOWS && depth <= 8;

  for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
    double lost = 0.0;

    if (terms->wanted[0]->n < LEAST_TAPS * factors[i]
        || (bytes && !suits_bytes (factors[i])))
      continue;
    for (int t = 0; t < terms->n; t++) {
      MultirateAxis *axis = terms->axis[t];

      axis->factor = factors[i];
      axis->weight_sum = bytes ? weight_sum (axis->factor) : 0;
      fit (axis, terms->wanted[t]);
      lost += loss (axis, axis, depth, terms->gain[t]);
    }
    if (lost <= allowed_loss (depth))
      return;
  }
  for (int t = 0; t < terms->n; t++)
    keep (terms->axis[t], terms->wanted[t]);
}

/* choose_factor(), which is slow, with its results for single kernels kept in the memo. */
static void
plan_axis (const AxisTerms *terms, int depth, MultirateWindows windows)
{
  const struct
  {
    double gain;
    int32_t depth, windows;
  } settings = { terms->gain[0], depth, (int32_t) windows };
  const Taps *wanted = terms->wanted[0];
  const MemoKey key = { MEMO_MULTIRATE_AXIS, &settings, sizeof settings,
    wanted->tap, sizeof wanted->tap[0] * (size_t) wanted->n };
  MultirateAxis *axis = terms->axis[0];

  if (terms->n > 1) {
    choose_factor (terms, depth, windows);
  } else if (!memo_find (&key, axis, sizeof *axis)) {
    choose_factor (terms, depth, windows);
    memo_keep (&key, axis, used_bytes (axis));
  }
}

double
multirate_loss (const MultiratePlane *plane, int depth, double gain)
{
  return loss (&plane->x, &plane->y, depth, gain);
}

static bool
same_taps (const Taps *a, const Taps *b)
{
  return a->n == b->n
      && memcmp (a->tap, b->tap, sizeof a->tap[0] * (size_t) a->n) == 0;
}

/* Pads taps with zeros at both ends, to n taps. */
static void
pad_taps (Taps *padded, const Taps *taps, int n)
{
  const int before = n / 2 - taps->n / 2;

  memset (padded->tap, 0, sizeof padded->tap[0] * (size_t) n);
  memcpy (
      padded->tap + before, taps->tap, sizeof taps->tap[0] * (size_t) taps->n);
  padded->n = n;
}

/* Plans an axis of two kernels. The shorter one is padded to the length of the other. */
static void
plan_two (const AxisTerms *terms, int depth, MultirateWindows windows)
{
  AxisTerms equal = *terms;
  const int shorter = terms->wanted[0]->n < terms->wanted[1]->n ? 0 : 1;
  Taps padded;

  pad_taps (&padded, terms->wanted[shorter], terms->wanted[1 - shorter]->n);
  equal.wanted[shorter] = &padded;
  plan_axis (&equal, depth, windows);
}

/* Plans both axes of kernel t. */
static void
plan_one (MultirateAxis *x, MultirateAxis *y, const MultirateTerms *terms,
    int t, int depth, MultirateWindows windows)
{
  const AxisTerms along_x = { 1, { x }, { terms->x[t] }, &terms->gain[t] };
  const AxisTerms along_y = { 1, { y }, { terms->y[t] }, &terms->gain[t] };

  plan_axis (&along_x, depth, windows);
  if (same_taps (terms->x[t], terms->y[t]))
    copy_axis (y, x);
  else
    plan_axis (&along_y, depth, windows);
}

static double
plane_loss (const MultiratePlane *plane, const MultirateTerms *terms, int depth)
{
  double lost = 0.0, gain = 0.0;

  for (int t = 0; t < terms->n; t++) {
    lost += loss (t == 0 ? &plane->x : &plane->more_x,
        t == 0 ? &plane->y : &plane->more_y, depth, terms->gain[t]);
    gain += terms->gain[t];
  }
  /* The taps along y of both kernels form one sum, of twice as many blocks. */
  return terms->n == 1 ? lost
                       : lost
          + ldexp (center_code (depth) * gain
                  * (plane->y.n / MULTIRATE_SUM_BLOCK + 2),
              -24);
}

bool
multirate_plan_terms (MultiratePlane *plane, const MultirateTerms *terms,
    int depth, MultirateWindows windows)
{
  const AxisTerms x = { terms->n, { &plane->x, &plane->more_x },
    { terms->x[0], terms->x[1] }, terms->gain };
  const AxisTerms y = { terms->n, { &plane->y, &plane->more_y },
    { terms->y[0], terms->y[1] }, terms->gain };
  int silent = 0;

  plane->n_terms = terms->n;
  for (int t = 0; t < terms->n; t++)
    silent += terms->gain[t] == 0.0;
  if (silent == terms->n) {
    silence (&plane->x, depth, windows);
    plane->y = plane->more_x = plane->more_y = plane->x;
    return true;
  }
  /* Errors are relative to the norm of the taps, which is 0 for a silent kernel: plan the other one
   * alone. */
  if (silent > 0) {
    const int t = terms->gain[0] == 0.0 ? 1 : 0;

    plan_one (&plane->x, &plane->y, terms, t, depth, windows);
    plane->more_x = plane->x;
    plane->more_y = plane->y;
    memset (plane->more_x.tap, 0, sizeof plane->more_x.tap);
    memset (plane->more_y.tap, 0, sizeof plane->more_y.tap);
  } else if (terms->n > 1) {
    plan_two (&x, depth, windows);
    plan_two (&y, depth, windows);
  } else {
    plan_one (&plane->x, &plane->y, terms, 0, depth, windows);
  }
  return (plane->x.factor > 1 || plane->y.factor > 1)
      && plane_loss (plane, terms, depth) <= allowed_loss (depth);
}

bool
multirate_plan (MultiratePlane *plane, const Taps *x, const Taps *y, int depth,
    double gain, MultirateWindows windows)
{
  const MultirateTerms terms = { 1, { x }, { y }, { gain } };

  return multirate_plan_terms (plane, &terms, depth, windows);
}

MultirateMix
multirate_mix (
    SepconvCombine combine, double scale, double amount, double threshold)
{
  const double of_difference = scale * amount;

  if (combine != SEPCONV_UNSHARP)
    return (MultirateMix){ .of_sum = 1.0, .gain = 1.0 };
  if (threshold > 0.0)
    /* Differences that are compared must be exact even if the result scales them down. */
    return (MultirateMix){ .adds = true,
      .compares = true,
      .weight = of_difference,
      .of_sum = -of_difference,
      .keep = scale,
      .gain = of_difference == 0.0 ? 0.0 : fmax (1.0, fabs (of_difference)) };
  return (MultirateMix){ .adds = true,
    .weight = scale + of_difference,
    .of_sum = -of_difference,
    .gain = fabs (of_difference) };
}

MultirateMix
multirate_plan_mix (const SepconvPlan *plan)
{
  return multirate_mix (
      plan->combine, plan->scale, plan->amount, plan->channel[0].threshold);
}

double
multirate_offset (const SepconvPlan *plan, const SepconvChannel *channel)
{
  const MultirateMix mix = multirate_plan_mix (plan);
  const double offset = mix.compares ? 0.0 : channel->offset;

  return mix.adds ? offset + mix.weight * channel->zero_offset
          + mix.of_sum * channel->term_offset[0]
                  : offset;
}

double
multirate_last (const SepconvPlan *plan, const SepconvChannel *channel)
{
  const MultirateMix mix = multirate_plan_mix (plan);

  return mix.compares ? channel->offset + mix.keep * channel->zero_offset : 0.0;
}

double
multirate_threshold (const SepconvPlan *plan, const SepconvChannel *channel)
{
  const MultirateMix mix = multirate_plan_mix (plan);

  return mix.compares ? channel->threshold * fabs (mix.of_sum) : -1.0;
}

static bool
same_terms (const MultirateTerms *a, const MultirateTerms *b)
{
  if (a->n != b->n)
    return false;
  for (int t = 0; t < a->n; t++)
    if (!same_taps (a->x[t], b->x[t]) || !same_taps (a->y[t], b->y[t]))
      return false;
  return true;
}

void
multirate_plan_planes (
    MultiratePlane *planes, const SepconvPlan *plan, MultirateWindows windows)
{
  const MultirateMix mix = multirate_plan_mix (plan);
  const ImagePlane *layout = plan->layout.plane;
  MultirateTerms planned; /* of plane `last` */
  int last = -1;

  for (int p = 0; p < plan->layout.n_planes; p++) {
    MultirateTerms terms = { .n = plan->n_terms[p] };
    Taps mixed;

    if (plan->taps[p].x.n == 0)
      continue;
    for (int t = 0; t < terms.n; t++) {
      const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

      terms.x[t] = &taps->x;
      terms.y[t] = &taps->y;
      terms.gain[t] = mix.gain * taps_norm (&taps->x) * taps_norm (&taps->y);
    }
    /* V of YUV has the taps of U. */
    if (last >= 0 && layout[p].depth == layout[last].depth
        && same_terms (&terms, &planned)) {
      planes[p] = planes[last];
      continue;
    }
    last = p;
    planned = terms;
    if (mix.adds) {
      mixed = *terms.y[0];
      for (int i = 0; i < mixed.n; i++)
        mixed.tap[i] *= mix.of_sum;
      terms.y[0] = &mixed;
    }
    multirate_plan_terms (&planes[p], &terms, layout[p].depth, windows);
  }
}

MultirateLows
multirate_distinct_lows (const MultirateAxis *axis, int n, SepconvBorder border)
{
  MultirateLows lows = { axis->first - 1, multirate_lows (axis, n) };
  int last = lows.first + lows.n - 1;

  /* With these borders, all windows that lie outside have the same sum: one at either side is
   * enough. */
  if (border_is_flat (border)) {
    const int behind = (n - 1) / axis->factor + 3;

    lows.first = lows.first > -2 ? lows.first : -2;
    last = last < behind ? last : behind;
    lows.n = last - lows.first + 1;
  }
  return lows;
}

/* The loss that a bias adds: it enlarges the offset and, for bytes, the sums of
 * interpolation_loss(). A sample that is added with `weight` does the same twice, in the offset and
 * by its product. */
static double
bias_loss (const SepconvSpec *spec, double weight, int depth)
{
  const double units = depth <= 8 ? 100.0 : 4.0;

  return ldexp (
      units * center_code (depth) * (fabs (spec->bias) + 4.0 * fabs (weight)),
      -24);
}

bool
multirate_plan_alone (MultiratePlane *plane, const SepconvPlan *plan,
    const SepconvSpec *spec, int p, MultirateWindows windows)
{
  const Taps *x = &plan->taps[p].x, *y = &plan->taps[p].y;
  const int depth = plan->layout.plane[p].depth;
  const double gain = taps_norm (x) * taps_norm (y);

  return multirate_plan (plane, x, y, depth, gain, windows)
      && multirate_loss (plane, depth, gain) + bias_loss (spec, 0.0, depth)
      <= allowed_loss (depth);
}

/* The kernels of a plane, with their gains. */
static MultirateTerms
terms_of (const SepconvSpec *spec, const SepconvPlane *how, double gain)
{
  MultirateTerms terms = { .n = sepconv_n_terms (how) };
  SepconvSpec single = *spec;

  single.combine = SEPCONV_SUM;
  single.scale = spec->combine == SEPCONV_UNSHARP ? gain : spec->scale;
  for (int t = 0; t < terms.n; t++) {
    const SepconvTerm term = sepconv_term (how, t);
    SepconvPlane alone = *how;

    alone.x = terms.x[t] = term.x;
    alone.y = terms.y[t] = term.y;
    alone.n_more = 0;
    terms.gain[t] = sepconv_gain (&single, &alone);
  }
  return terms;
}

/* Whether these plans can combine the terms of a spec. */
static bool
combines (const SepconvSpec *spec, const Image *layout)
{
  if (spec->combine != SEPCONV_SUM)
    return spec->combine == SEPCONV_UNSHARP;
  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0
        && sepconv_n_terms (&spec->plane[p]) > MULTIRATE_MAX_TERMS)
      return false;
  return true;
}

bool
multirate_supports (const SepconvSpec *spec, const Image *layout,
    MultirateWindows windows, Fault *why)
{
  const MultirateMix mix =
      multirate_mix (spec->combine, spec->scale, spec->amount, spec->threshold);
  MultirateTerms planned; /* of plane `last` */
  int last = -1;
  MultiratePlane plane;
  bool can = false;

  if (!combines (spec, layout))
    return fault_set (why, FAULT_UNSUPPORTED,
        "only single kernels, sums of two and unsharp masks can be computed at "
        "a lower sampling rate");
  /* The error of sums of bytes is relative to their start values, which do not become smaller with
   * small differences. */
  if (mix.compares && windows == MULTIRATE_BYTE_WINDOWS
      && fabs (mix.of_sum) < LEAST_COMPARED && mix.of_sum != 0.0)
    return fault_set (why, FAULT_UNSUPPORTED,
        "at a lower sampling rate, scale * amount may be as small as %g, if "
        "there is a threshold",
        LEAST_COMPARED);
  if (fmax (fabs (mix.weight), fabs (mix.keep)) > MOST_WEIGHT)
    return fault_set (why, FAULT_UNSUPPORTED,
        "at a lower sampling rate, samples may be amplified by up to %g",
        MOST_WEIGHT);

  for (int p = 0; p < layout->n_planes; p++) {
    const SepconvPlane *how = &spec->plane[p];
    const int depth = layout->plane[p].depth;
    MultirateTerms terms;

    if (how->channels == 0)
      continue;
    terms = terms_of (spec, how, mix.gain);
    /* V of YUV has the taps of U. */
    if (last >= 0 && depth == layout->plane[last].depth
        && same_terms (&terms, &planned))
      continue;
    last = p;
    planned = terms;
    can = (terms.n == 1 || fmax (terms.gain[0], terms.gain[1]) <= MOST_WEIGHT)
        && multirate_plan_terms (&plane, &terms, depth, windows)
        && plane_loss (&plane, &terms, depth)
                + bias_loss (spec, fabs (mix.weight) + fabs (mix.keep), depth)
            <= allowed_loss (depth);
    if (!can)
      break;
  }
  return can
      || fault_set (why, FAULT_UNSUPPORTED,
          "only long smooth kernels can be computed at a lower sampling rate, "
          "and these taps would not be exact enough");
}
