/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows-averages.h"

#include "memo.h"

#include <math.h>
#include <string.h>

/* Bytes of a strip's window rows and lines of sums that stay in the second-level cache. */
#define STRIP_BYTES (320 * 1024)
#define LINE_BYTES (2 * ROWS_MAX_AT_ONCE)
#define MIN_STRIP (4 * ROWS_RUN)
/* Parts of a frame for each worker, so that none waits long for the others. */
#define PARTS_EACH 4
/* Work below which waking a thread takes longer than it saves, in samples times averages.
 * Reading and writing a sample counts as AVERAGES_OF_SAMPLE. */
#define LEAST_SHARED 2000000
#define AVERAGES_OF_SAMPLE 8

/* Planes with fewer samples are filtered fastest by averages, whatever the number of taps. */
#define FEW_SAMPLES 250000

/* Most fraction bits of a sharpened sample: more do not fit 16 bits beside the code. */
#define MOST_FRACTION 7

/* Rounding losses of an axis, in units of the last of 16 bits. */
typedef struct
{
  double mean; /* cut off on average */
  double lost; /* largest deviation from the mean */
  /* Mean upward rounding of averages, and also its largest deviation from this mean, if samples
   * fill 16 bits. */
  double up;
} AxisLoss;

static bool
is_symmetric_blur (const Taps *taps)
{
  if (taps->n % 2 == 0 || taps->n < 3 || taps->n / 2 > ROWS_AVERAGES_RADIUS)
    return false;
  for (int i = 0; i <= taps->n / 2; i++)
    if (taps->tap[i] != taps->tap[taps->n - 1 - i] || taps->tap[i] < 0.0)
      return false;
  return true;
}

/* Returns the index of the first far tap. Even with `bits` more bits, the far taps times
 * `factor` sum to less than 1. Without more bits, no tap is far. */
static int
first_far (const Taps *taps, double factor, int bits)
{
  const int radius = taps->n / 2;
  double sum = 0.0;
  int i = bits > 0 ? radius : ROWS_AVERAGES_RADIUS;

  for (; bits > 0 && i > 0; i--) {
    sum += 2.0 * factor * taps->tap[radius + i];
    if (ldexp (sum, bits) > 0.999)
      break;
  }
  return max_int (1, divide_up (i, ROWS_AVERAGES_NEAR)) * ROWS_AVERAGES_NEAR
      + 1;
}

/* Mean upward rounding of the instruction pavgw, in units of the last bit. */
#define ROUNDED_UP 0.25
/* Mean upward rounding of a smoothed sample: that of the averages in smoothed(), times their
 * weights. */
#define SMOOTHED_UP (ROUNDED_UP * (1.0 + 0.5 + 0.5 + 0.25 + 0.125))

/* Rounds the taps times `factor` to 16-bit integers. A tap beside the middle one weighs the
 * average of two samples. The middle tap absorbs the rounding errors of the others, so that a
 * flat picture stays unchanged. Returns false if a tap does not fit 16 bits. */
static bool
round_averages (const Taps *taps, double factor, int far_bits,
    RowsAveragesTaps *to, AxisLoss *loss)
{
  const int radius = taps->n / 2;
  const int near = first_far (taps, factor, far_bits);
  const double far_unit = ldexp (1.0, -far_bits);
  double rest = 0.0, off = 0.0;

  to->reach = radius;
  to->radius = radius;
  to->smoothed = false;
  to->edges = 0;
  to->near = near;
  to->far_bits = far_bits;
  /* The shift of the far taps' sum cuts off bits, too. */
  loss->mean = near <= radius ? 0.5 * (1.0 - far_unit) : 0.0;
  for (int i = radius; i >= 0; i--) {
    const double unit = i < near ? 1.0 : far_unit;
    const double exact =
        ldexp (factor * taps->tap[radius + i], i > 0 ? 17 : 16);
    const double rounded = rint ((i > 0 ? exact : exact + rest) / unit);

    if (rounded > UINT16_MAX || rounded < 0.0)
      return false;
    to->tap[i] = (int32_t) ((uint32_t) rounded * 0x10001u);
    rest += exact - rounded * unit;
    off += fabs (exact - rounded * unit);
    loss->mean += 0.5 * unit;
  }
  /* Samples are at most half of 2^16 from the middle of the range. */
  loss->lost = loss->mean + 0.5 * (off + fabs (rest));
  loss->up = ROUNDED_UP * (1.0 - factor * taps->tap[radius]);
  return true;
}

/* Rounds *weight to a 16-bit integer, which weighs one sample or the average of two. Sets
 * *weight to its exact value. Returns false if it does not fit 16 bits. */
static bool
round_weight (double *weight, int samples, int32_t *to)
{
  const double rounded = rint (ldexp (*weight * samples, 16));

  if (rounded > UINT16_MAX || rounded < 0.0)
    return false;
  *to = (int32_t) ((uint32_t) rounded * 0x10001u);
  *weight = ldexp (rounded, -16) / samples;
  return true;
}

/* Fits the taps times `factor` to smoothed samples (rows-fit.h) and rounds them. Returns false
 * if there is no fit, or if a tap does not fit 16 bits. */
static bool
fit_smoothed (
    const Taps *taps, double factor, RowsAveragesTaps *to, AxisLoss *loss)
{
  const double sum = factor * taps_sum (taps);
  double off = 0.0, smoothed = sum, rest;
  RowsFit fit;

  if (!rows_fit (&fit, taps))
    return false;
  to->reach = fit.reach;
  to->radius = fit.radius;
  to->smoothed = true;
  to->edges = fit.edges;
  to->near = ROWS_AVERAGES_RADIUS + 1;
  to->far_bits = 0;
  for (int e = 0; e < fit.edges; e++) {
    fit.edge[e] *= factor;
    if (!round_weight (&fit.edge[e], 2, &to->edge[e]))
      return false;
    smoothed -= 2.0 * fit.edge[e];
  }
  rest = smoothed;
  for (int i = fit.radius; i > 0; i--) {
    fit.tap[i] *= factor;
    if (!round_weight (&fit.tap[i], 2, &to->tap[i]))
      return false;
    rest -= 2.0 * fit.tap[i];
  }
  fit.tap[0] = rest;
  if (!round_weight (&fit.tap[0], 1, &to->tap[0]))
    return false;
  rest -= fit.tap[0];
  for (int i = 0; i <= fit.reach; i++)
    off += (i > 0 ? 2.0 : 1.0)
        * fabs (
            factor * taps->tap[fit.reach + i] - rows_fit_effective (&fit, i));
  loss->mean = 0.5 * (fit.radius + 1 + fit.edges);
  loss->lost = loss->mean + ldexp (0.5 * (off + fabs (rest)), 16);
  loss->up = ROUNDED_UP * (sum - fit.tap[0]) + SMOOTHED_UP * smoothed;
  return true;
}

/* fit_smoothed() is slow: this calls it once for the same taps and keeps the result (memo.h). */
static bool
round_smoothed (
    const Taps *taps, double factor, RowsAveragesTaps *to, AxisLoss *loss)
{
  const MemoKey key = { MEMO_SMOOTHED_TAPS, &factor, sizeof factor, taps->tap,
    sizeof taps->tap[0] * (size_t) taps->n };
  struct
  {
    bool fits;
    RowsAveragesTaps taps;
    AxisLoss loss;
  } made;

  if (!memo_find (&key, &made, sizeof made)) {
    memset (&made, 0, sizeof made);
    made.fits = fit_smoothed (taps, factor, &made.taps, &made.loss);
    memo_keep (&key, &made, sizeof made);
  }
  *to = made.taps;
  *loss = made.loss;
  return made.fits;
}

/* The sum along an axis of samples that all equal `sample`. */
static uint16_t
sum_of_flat (const RowsAveragesTaps *taps, unsigned sample)
{
  unsigned near = 0, far = 0;

#define PRODUCT(tap) (((uint32_t) (tap) &0xffffu) * sample >> 16)
  for (int i = 0; i <= taps->radius; i++)
    if (i < taps->near)
      near += PRODUCT (taps->tap[i]);
    else
      far += PRODUCT (taps->tap[i]);
  for (int e = 0; e < taps->edges; e++)
    near += PRODUCT (taps->edge[e]);
#undef PRODUCT
  return (uint16_t) (near + (far >> taps->far_bits));
}

/* How the axes' taps are rounded. */
typedef struct
{
  bool smoothed; /* on axes that are long enough */
  int far_bits;
} Rounding;

static bool
round_axis (const Taps *taps, double factor, const Rounding *how,
    RowsAveragesTaps *to, AxisLoss *loss)
{
  return how->smoothed && taps->n / 2 >= ROWS_FIT_LEAST_REACH
      ? round_smoothed (taps, factor, to, loss)
      : round_averages (taps, factor, how->far_bits, to, loss);
}

/* Finds the integer taps of both axes. Returns false if they do not fit 16 bits, or if they
 * lose more than `aim` allows. */
static bool
plan_axes (const RowsJob *job, const RowsAveragesAim *aim,
    RowsAverages *averages, const Rounding *how)
{
  /* The taps of rows are scaled to sum to 1, and those of columns take their gain: sums of
   * columns fill 16 bits as samples do. */
  const double gain = taps_sum (job->x);
  const double code = ldexp (1.0, 16 - averages->depth);
  AxisLoss x, y;
  double bias;

  if (!round_axis (job->x, 1.0 / gain, how, &averages->x, &x)
      || !round_axis (job->y, gain, how, &averages->y, &y))
    return false;
  /* Averages of column sums are rounded up. Averages of samples are exact: the low bits of
   * samples are zero. */
  bias = fmax (x.mean + y.mean - x.up + (aim->rounds ? 0.5 * code : 0.0), 0.0);
  averages->bias = (uint16_t) lrint (bias);
  return x.lost + y.lost + x.up + fabs (bias - averages->bias)
      + aim->offset * code
      <= aim->most_lost * code;
}

static bool
is_intel (void)
{
#ifdef __x86_64__
  return __builtin_cpu_is ("intel");
#else
  return false;
#endif
}

/* Whether smoothed samples are worth a try: samples of two bytes would lose too much. */
static bool
suits_smoothing (const RowsJob *job, const RowsAveragesKernels *kernels)
{
  const int taps = job->x->n + job->y->n;

  return job->channel->sample_bytes == 1
      && max_int (job->x->n, job->y->n) / 2 >= ROWS_FIT_LEAST_REACH
      && (taps <= 2 * kernels->most_taps || taps > 2 * kernels->rival_taps
          || !is_intel ());
}

/* Whether a strip has room for its smoothed rows. */
static bool
has_room (const RowsJob *job, const RowsAverages *averages)
{
  return !averages->y.smoothed || job->border != SEPCONV_WRAP
      || (int64_t) rows_smoothed_lines (&averages->y)
          * rows_smoothed_pitch (job->n_samples)
      <= ROWS_SMOOTHED_SAMPLES;
}

/* Whether averages of unsmoothed samples take less time than products in pairs, which start
 * more slowly. */
static bool
are_fast (const RowsJob *job, const RowsAveragesKernels *kernels)
{
  return (double) job->n_samples * job->height < FEW_SAMPLES
      || job->x->n + job->y->n <= 2
          * (job->step == 3 ? kernels->most_taps_of_three : kernels->most_taps);
}

double
rows_averages_offset (const RowsJob *job)
{
  const double gain = taps_sum (job->x) * taps_sum (job->y);
  double offset = 0.0;

  for (int c = 0; c < job->step; c++)
    if (job->channel[c].filter)
      offset = fmax (offset,
          fabs (job->channel[c].offset - gain * job->channel[c].center));
  return offset;
}

bool
rows_suit_averages (const RowsJob *job, const RowsAveragesKernels *kernels)
{
  return kernels != NULL
      && job->n_samples >= ROWS_RUN
      /* If the border wraps, samples beyond one end of a row lie at its other end: one strip
       * must hold the row. */
      && (job->border != SEPCONV_WRAP || job->n_samples <= ROWS_MAX_STRIP);
}

/* Finds the integer taps: for smoothed samples if these suit, else with as few more bits for
 * far taps as the accuracy allows. */
static bool
find_axes (const RowsJob *job, const RowsAveragesKernels *kernels,
    const RowsAveragesAim *aim, RowsAverages *averages)
{
  if (suits_smoothing (job, kernels)
      && plan_axes (job, aim, averages, &(Rounding){ .smoothed = true })
      && has_room (job, averages))
    return true;
  if (!are_fast (job, kernels))
    return false;
  for (int bits = 0; bits <= ROWS_AVERAGES_FAR_BITS; bits++)
    if (plan_axes (job, aim, averages, &(Rounding){ .far_bits = bits }))
      return true;
  return false;
}

bool
rows_plan_averages (const RowsJob *job, const RowsAveragesKernels *kernels,
    const RowsAveragesAim *aim, RowsAverages *averages)
{
  const SepconvChannel *channel = job->channel;

  memset (averages, 0, sizeof *averages);
  if (!rows_has_codes (channel) || !is_symmetric_blur (job->x)
      || !is_symmetric_blur (job->y)
      || !rows_border_codes (job, averages->border) || taps_sum (job->x) <= 0.0
      || taps_sum (job->x) * taps_sum (job->y) > 1.0 + 1e-9)
    return false;
  while (channel->max_code >> averages->depth > 0)
    averages->depth++;
  if (!find_axes (job, kernels, aim, averages))
    return false;
  for (int c = 0; c < job->step; c++)
    averages->outside[c] = sum_of_flat (&averages->y,
        (unsigned) averages->border[c] >> channel->shift
                << (16 - averages->depth));
  return true;
}

/* x rounded to a 16-bit integer, in both halves of 32 bits. */
static int32_t
in_both_halves (double x)
{
  return (int32_t) ((uint32_t) (uint16_t) (int16_t) lrint (x) * 0x10001u);
}

bool
rows_plan_sharpen (const RowsJob *job, const RowsAveragesKernels *kernels,
    double amount, double threshold, double offset, RowsAverages *averages)
{
  /* Error of a difference, in codes: halving it cuts off at most one unit of the last of 16
   * bits. */
  const double cut = ldexp (1.0, -8);
  RowsAveragesAim aim = { .rounds = false, .offset = offset };
  RowsSharpen sharpen = { .fraction = MOST_FRACTION };
  double factor, lost;

  if (job->channel->sample_bytes != 1)
    return false;
  /* As many fraction bits as let the amount and its products fit 16 bits. */
  while (sharpen.fraction > 0
      && ldexp (fabs (amount), sharpen.fraction + 8) > INT16_MAX)
    sharpen.fraction--;
  factor = ldexp (amount, sharpen.fraction + 8);
  if (fabs (factor) > INT16_MAX || sharpen.fraction == 0)
    return false;
  sharpen.amount = in_both_halves (factor);
  sharpen.threshold =
      in_both_halves (fmin (floor (ldexp (threshold, 7)), INT16_MAX));
  sharpen.half = in_both_halves (ldexp (0.5, sharpen.fraction));
  /* The product is rounded, and a difference is 255 codes at most. */
  lost = ldexp (0.5, -sharpen.fraction)
      + 255.0 * ldexp (fabs (factor - rint (factor)), -sharpen.fraction - 8);
  aim.most_lost = fmin ((ROWS_MOST_LOST - lost) / fmax (fabs (amount), 1e-3),
                      ROWS_MOST_LOST)
      - cut;
  if (!rows_plan_averages (job, kernels, &aim, averages))
    return false;
  averages->sharpen = sharpen;
  return true;
}

/* Samples of a row that strips cover. */
static int
samples_of (const RowsJob *job)
{
  return rows_averages_end (job) - rows_averages_begin (job);
}

/* Divides a plane into strips and these into bands, about `parts` bands in all. */
static void
divide (RowsJob *job, int parts)
{
  const RowsAveragesTaps *y = &job->averages->y;
  const int bytes_a_sample = LINE_BYTES
      + job->channel->sample_bytes * (job->y->n + ROWS_MAX_AT_ONCE)
      + (y->smoothed ? 2 * rows_smoothed_lines (y) : 0);
  /* rows_averages_strip() makes strips wider by up to ROWS_RUN samples. */
  const int most = min_int (max_int (MIN_STRIP, STRIP_BYTES / bytes_a_sample),
      ROWS_MAX_STRIP - ROWS_RUN);

  job->strips =
      job->border == SEPCONV_WRAP ? 1 : divide_up (samples_of (job), most);
  job->bands = max_int (1,
      min_int (divide_up (parts, job->strips),
          divide_up (rows_needed (job), ROWS_MAX_AT_ONCE)));
}

/* Averages that an axis needs for each sample. */
static int
averages_of (const RowsAveragesTaps *taps)
{
  return taps->radius + taps->edges + taps->smoothed;
}

static double
work_of (const RowsJob *job)
{
  return (double) samples_of (job) * rows_needed (job)
      * (averages_of (&job->averages->x) + averages_of (&job->averages->y)
          + AVERAGES_OF_SAMPLE);
}

void
rows_run_averages (
    RowsAveragesRun *run, Workers *workers, const RowsAveragesKernels *kernels)
{
  double work = 0.0;
  int items = 0;
  bool shared;

  for (int i = 0; i < run->n; i++)
    work += work_of (&run->job[i]);
  shared = work >= LEAST_SHARED;
  for (int i = 0; i < run->n; i++) {
    RowsJob *job = &run->job[i];
    const double parts = PARTS_EACH * workers_count (workers);

    divide (job, shared ? (int) ceil (parts * work_of (job) / work) : 1);
    items += job->strips * job->bands;
    run->end[i] = items;
  }
  if (items > 0)
    workers_run (workers, items, shared ? 1 : items, kernels->filter, run);
}
