/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-averages: blurs of samples of 8 to 12 bits by 16-bit integers alone. The taps are
 * symmetric, none is negative, and they sum to at most 1: two samples at the same distance from
 * the middle are averaged first, and the high half of a 16-bit product weighs the average. No
 * sum needs more than 16 bits, and samples are read as they lie in memory, with any number of
 * channels. rows-averages-kernels.h has the inner loops. */
#pragma once

#include "rows-fit.h"
#include "rows.h"

#include "../divide.h"

/* Largest radius: more products lose too much. */
#define ROWS_AVERAGES_RADIUS ROWS_FIT_MOST_REACH

/* Most extra bits of the taps of far samples: with extra bits, less is cut off from their
 * products. */
#define ROWS_AVERAGES_FAR_BITS 3
/* The number of near distances is a multiple of this. */
#define ROWS_AVERAGES_NEAR 8

/* The taps of one axis. The fraction of each product, in units of 2^-16, is cut off. A sum is
 *
 *   tap[0] * middle + sum over i < near of tap[i] * average[i]
 *     + (sum over i from near to radius of tap[i] * average[i]) >> far_bits
 *
 * With smoothed samples (rows-fit.h), the middle and the averages are those of smoothed
 * samples, no tap is far, and this is added:
 *
 *   sum over e < edges of edge[e] * average of the two samples at distance reach - e
 */
typedef struct
{
  int reach;  /* radius of the blur */
  int radius; /* of tap[]; equals reach unless samples are smoothed */
  bool smoothed;
  int edges;
  int32_t edge[ROWS_FIT_MOST_EDGES]; /* as tap[] */
  /* Distance of the first far tap, 1 more than a multiple of ROWS_AVERAGES_NEAR; above the
   * radius: no tap is far. */
  int near;
  int far_bits;
  int32_t tap[ROWS_AVERAGES_RADIUS + 1]; /* the 16-bit integer in both halves */
} RowsAveragesTaps;

/* Sharpening of one-byte samples by their blur. `in` and `blur` fill 16 bits:
 *
 *   difference = (in - blur) / 2; 0 unless |difference| > threshold
 *   result = ((in >> 8 << fraction) + difference * amount / 2^15 + half) >> fraction
 *
 * The product is rounded. Sums saturate at 16 bits, which only changes results that are clamped
 * anyway. amount, threshold and half are 16-bit integers, in both halves. */
typedef struct
{
  int fraction;
  int32_t amount, threshold, half;
} RowsSharpen;

/* The integers of both axes. Samples are codes shifted left to fill 16 bits; sums of columns
 * fill 16 bits, too. */
struct RowsAverages
{
  RowsAveragesTaps x, y;
  int depth; /* bits of a code */
  /* Added to the sums of rows: the mean of what was cut off, and half a code for rounding
   * unless the sums are for sharpening. */
  uint16_t bias;
  RowsSharpen sharpen;
  /* For a constant border, by channel: the border sample, and the sum of a column of border
   * samples. */
  uint16_t border[IMAGE_MAX_CHANNELS], outside[IMAGE_MAX_CHANNELS];
};

/* Rows of smoothed samples that a strip keeps: those of a window, and ROWS_MAX_AT_ONCE more for
 * the rows of the result that are made together. */
static inline int
rows_smoothed_lines (const RowsAveragesTaps *y)
{
  return 2 * ROWS_SMOOTHED_STEP * y->radius + ROWS_MAX_AT_ONCE;
}

/* Pitch of smoothed rows of n samples, in samples: an odd number of cache lines, so that the
 * rows do not all share a few sets of the cache. */
static inline int
rows_smoothed_pitch (int n)
{
  return round_up (n, ROWS_RUN) + ROWS_RUN / 2;
}

/* Requirements on the sums. */
typedef struct
{
  double most_lost; /* largest error before the final rounding, codes */
  bool rounds;      /* whether the final rounding is the next step */
  double offset;    /* error of the blur of a flat picture, codes */
} RowsAveragesAim;

/* The jobs of a frame, whose items all workers share. */
typedef struct
{
  uint8_t *strips; /* each worker's RowsStrip, strip_bytes apart */
  size_t strip_bytes;
  int n;
  RowsJob job[SEPCONV_MAX_CHANNELS];
  int end[SEPCONV_MAX_CHANNELS]; /* items of job 0 to this one */
} RowsAveragesRun;

/* The inner loops for one instruction set. */
typedef struct RowsAveragesKernels
{
  WorkersJob filter; /* user: a RowsAveragesRun */
  /* Most taps of an axis with which unsmoothed averages are faster than products in pairs; the
   * second figure is for three channels. */
  int most_taps, most_taps_of_three;
  /* Most taps of an axis with which products in pairs are faster than smoothed samples on Intel
   * processors, where loads across two cache lines cost more; 0: never. */
  int rival_taps;
} RowsAveragesKernels;

/* The result of planning a job. */
typedef struct
{
  unsigned revision;     /* the plan's, for which the rest was found; 0: none */
  int n_samples, height; /* of the job */
  bool hold;             /* whether the integers are exact enough, and faster */
  RowsAverages integers;
} RowsAveragesPlan;

/* State of a plan for averages. */
struct RowsAveragesState
{
  RowsAveragesPlan planned
      [SEPCONV_MAX_CHANNELS]; /* of each job, by the first of its channels */
  RowsAveragesRun run;
};

/* Whether `planned` is for another revision of the plan or another size of the job, both of
 * which decide. If so, records the new ones, and the caller must plan anew. */
static inline bool
rows_averages_renew (
    RowsAveragesPlan *planned, unsigned revision, const RowsJob *job)
{
  if (planned->revision == revision && planned->n_samples == job->n_samples
      && planned->height == job->height)
    return false;
  planned->revision = revision;
  planned->n_samples = job->n_samples;
  planned->height = job->height;
  return true;
}

/* Whether `kernels` can filter rows of the job's size; false if they are NULL. */
bool rows_suit_averages (
    const RowsJob *job, const RowsAveragesKernels *kernels);
/* Finds the integers for a job. Returns false if averages do not suit it, if they would lose
 * more than `aim` allows, or if products in pairs are faster. */
bool rows_plan_averages (const RowsJob *job, const RowsAveragesKernels *kernels,
    const RowsAveragesAim *aim, RowsAverages *averages);
/* The same for sharpening: where the picture differs from its blur by more than `threshold`
 * codes, `amount` times the difference is added to it. `offset`: see RowsAveragesAim. */
bool rows_plan_sharpen (const RowsJob *job, const RowsAveragesKernels *kernels,
    double amount, double threshold, double offset, RowsAverages *averages);
/* The error of the blur of a flat picture, in codes, if the channels' offsets are those of SUM
 * (method.h). */
double rows_averages_offset (const RowsJob *job);

/* Divides the run's jobs into strips and bands, and runs them all. `kernels` may be NULL if
 * there are no jobs. */
void rows_run_averages (
    RowsAveragesRun *run, Workers *workers, const RowsAveragesKernels *kernels);

/* The first row of a band; `band` == bands gives the end of the needed rows. Each band begins a
 * multiple of ROWS_MAX_AT_ONCE rows below the first one. */
static inline int
rows_averages_band (const RowsJob *job, int band)
{
  const int groups = divide_up (rows_needed (job), ROWS_MAX_AT_ONCE);

  return min_int (job->window.bottom,
      job->window.top
          + (int) ((int64_t) groups * band / job->bands) * ROWS_MAX_AT_ONCE);
}

/* The samples [begin, end) of a row that strips cover: those that are needed, and at least
 * ROWS_RUN; all of them if the border wraps. */
static inline int
rows_averages_end (const RowsJob *job)
{
  const int end = job->window.right * job->step;

  return job->border == SEPCONV_WRAP ? job->n_samples
      : end < ROWS_RUN               ? ROWS_RUN
                                     : end;
}

static inline int
rows_averages_begin (const RowsJob *job)
{
  const int begin = job->window.left * job->step;
  const int most = rows_averages_end (job) - ROWS_RUN;

  return job->border == SEPCONV_WRAP ? 0 : begin < most ? begin : most;
}

/* The first sample of a strip; `strip` == strips gives the end. If there are several, their
 * mean width is at least MIN_STRIP / 2, 2 ROWS_RUN, so that rounding leaves at least ROWS_RUN. */
static inline int
rows_averages_strip (const RowsJob *job, int strip)
{
  const int begin = rows_averages_begin (job), end = rows_averages_end (job);

  return strip == job->strips ? end
                              : begin
          + (int) ((int64_t) (end - begin) * strip / job->strips / ROWS_RUN)
              * ROWS_RUN;
}

/* Returns the job that an item belongs to; *item becomes its index in that job. */
static inline const RowsJob *
rows_averages_job (const RowsAveragesRun *run, int *item)
{
  int i = 0;

  while (*item >= run->end[i])
    i++;
  *item -= i > 0 ? run->end[i - 1] : 0;
  return &run->job[i];
}
