/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-averages: blurs of samples of 8 to 12 bits by 16-bit integers alone. Their taps are
 * symmetric, none is negative, and they sum to 1 at most: two samples at the same distance
 * from the middle are averaged first, and the high half of a 16-bit product weighs the
 * average. No sum needs more than 16 bits, and samples stay where they lie, however many
 * channels they are of. rows-averages-kernels.h has the inner loops. */
#pragma once

#include "rows-fit.h"
#include "rows.h"

#include "../divide.h"

/* Largest radius: more products lose too much. */
#define ROWS_AVERAGES_RADIUS ROWS_FIT_MOST_REACH

/* Taps of far samples may hold so many more bits at most, and with them what is cut off of their
 * products is less. */
#define ROWS_AVERAGES_FAR_BITS 3
/* Distances that are near come so many at a time. */
#define ROWS_AVERAGES_NEAR 8

/* Of one axis. A sum is
 *
 *   tap[0] * middle + sum over i < near of tap[i] * average[i]
 *     + (sum over i from near to radius of tap[i] * average[i]) >> far_bits
 *
 * with the fractions of 2^-16 cut off each product. If it is a sum of smoothed samples, as rows-fit.h
 * has it, the middle and the averages are of those, none is far, and added are
 *
 *   sum over e < edges of edge[e] * average of the two samples at distance reach - e */
typedef struct
{
  int reach;  /* the radius of the taps that are wanted */
  int radius; /* of tap[]; the same, unless samples are smoothed */
  bool smoothed;
  int edges;
  int32_t edge[ROWS_FIT_MOST_EDGES]; /* as tap[] */
  int near; /* 1 more than a multiple of ROWS_AVERAGES_NEAR; above the radius: none is far */
  int far_bits;
  int32_t tap[ROWS_AVERAGES_RADIUS + 1]; /* the 16-bit integer in both halves */
} RowsAveragesTaps;

/* How a blur is taken away from its picture, of samples of a byte:
 *
 *   difference = (in - blur) / 2, of what fills 16 bits; 0 unless it is above the threshold
 *   result = ((in >> 8 << fraction) + difference * amount / 2^15 + half) >> fraction
 *
 * The product is rounded, and sums are held within 16 bits: only what is clamped anyway is
 * beyond. 16-bit integers are in both halves. */
typedef struct
{
  int fraction;
  int32_t amount, threshold, half;
} RowsSharpen;

/* Samples are codes shifted left until they fill 16 bits, in sums of columns, too. */
struct RowsAverages
{
  RowsAveragesTaps x, y;
  int depth; /* bits of a code */
  /* To the sums of rows: what was cut off, on average, and half a code unless the sums are taken away
   * from the picture. */
  uint16_t bias;
  RowsSharpen sharpen;
  /* Where the border is constant, by channel: the sample beyond it, and the sum of a column
   * of them. */
  uint16_t border[IMAGE_MAX_CHANNELS], outside[IMAGE_MAX_CHANNELS];
};

/* Rows of smoothed samples that a strip keeps: those of a window, and those beside it that rows of the
 * result are made of, ROWS_MAX_AT_ONCE at a time. */
static inline int
rows_smoothed_lines (const RowsAveragesTaps *y)
{
  return 2 * ROWS_SMOOTHED_STEP * y->radius + ROWS_MAX_AT_ONCE;
}

/* Samples from one of them to the next one, if there are n in each: an odd number of half lines of a cache,
 * so that they do not share the same few of its sets. */
static inline int
rows_smoothed_pitch (int n)
{
  return round_up (n, ROWS_RUN) + ROWS_RUN / 2;
}

/* What sums of averages are for. */
typedef struct
{
  double most_lost; /* codes, before the last rounding to whole ones */
  bool rounds;      /* whether that rounding is the next step */
  double offset;    /* what the blur of a flat picture is off, codes */
} RowsAveragesAim;

/* The jobs of a frame, which the workers share together. */
typedef struct
{
  uint8_t *strips; /* the workers' RowsStrips, so many bytes apart */
  size_t strip_bytes;
  int n;
  RowsJob job[SEPCONV_MAX_CHANNELS];
  int end[SEPCONV_MAX_CHANNELS]; /* items of the jobs up to this one */
} RowsAveragesRun;

/* The inner loops for one instruction set. */
typedef struct RowsAveragesKernels
{
  WorkersJob filter; /* of a RowsAveragesRun */
  /* Up to how many taps that is faster than products in pairs, if samples are not smoothed, and where
   * there are three channels. */
  int most_taps, most_taps_of_three;
  /* Up to how many taps those products are faster than smoothed samples on Intel's processors; 0: never. There,
   * loads that lie in two lines of the cache cost more. */
  int rival_taps;
} RowsAveragesKernels;

/* What was found for a job. */
typedef struct
{
  unsigned revision;     /* of the plan that the rest is of; 0: of none */
  int n_samples, height; /* of the job */
  bool hold;             /* whether the integers are exact enough, and faster */
  RowsAverages integers;
} RowsAveragesPlan;

/* What a plan keeps for them. */
struct RowsAveragesState
{
  RowsAveragesPlan planned
      [SEPCONV_MAX_CHANNELS]; /* of each job, by the first of its channels */
  RowsAveragesRun run;
};

/* Whether that was for other taps than those of a revision, or for a job of another size, which both
 * decide: then it is to be found for these. */
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

/* Whether kernels, which may be NULL, take a job's samples as they lie. */
bool rows_suit_averages (
    const RowsJob *job, const RowsAveragesKernels *kernels);
/* Finds the integers for a job; false: they do not suit it, or more would be lost, or products in
 * pairs are faster. */
bool rows_plan_averages (const RowsJob *job, const RowsAveragesKernels *kernels,
    const RowsAveragesAim *aim, RowsAverages *averages);
/* The same for what comes out if `amount` times the difference from the blur is added to the
 * picture where it is above `threshold`, codes. `offset`: as RowsAveragesAim's. */
bool rows_plan_sharpen (const RowsJob *job, const RowsAveragesKernels *kernels,
    double amount, double threshold, double offset, RowsAverages *averages);
/* What the blur of a flat picture is off by, codes, if channels' offsets are those of sums. */
double rows_averages_offset (const RowsJob *job);

/* Divides the run's jobs into strips and bands, and runs them all. Without kernels there are none. */
void rows_run_averages (
    RowsAveragesRun *run, Workers *workers, const RowsAveragesKernels *kernels);

/* The first row of a band; that of the one behind the last band is the end of those that are needed. All
 * others are multiples of ROWS_MAX_AT_ONCE from the first one. */
static inline int
rows_averages_band (const RowsJob *job, int band)
{
  const int groups = divide_up (rows_needed (job), ROWS_MAX_AT_ONCE);

  return min_int (job->window.bottom,
      job->window.top
          + (int) ((int64_t) groups * band / job->bands) * ROWS_MAX_AT_ONCE);
}

/* The samples of a row that strips have: those that are needed, and ROWS_RUN at least. A strip of
 * a picture that wraps around has them all. */
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

/* The first sample of a strip; that of the one behind the last strip is the end. Strips have
 * ROWS_RUN samples at least, since half of the narrowest is that and ROWS_RUN more. */
static inline int
rows_averages_strip (const RowsJob *job, int strip)
{
  const int begin = rows_averages_begin (job), end = rows_averages_end (job);

  return strip == job->strips ? end
                              : begin
          + (int) ((int64_t) (end - begin) * strip / job->strips / ROWS_RUN)
              * ROWS_RUN;
}

/* The job that an item belongs to, and its number there. */
static inline const RowsJob *
rows_averages_job (const RowsAveragesRun *run, int *item)
{
  int i = 0;

  while (*item >= run->end[i])
    i++;
  *item -= i > 0 ? run->end[i - 1] : 0;
  return &run->job[i];
}
