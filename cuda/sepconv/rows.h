/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows: the parts of the method simd that all instruction sets share. A plane consists of rows
 * of samples; worker threads divide it into slabs of columns, or into strips.
 *
 * Interleaved channels at equal distances form one row of samples, whose neighbouring taps are
 * as many samples apart as there are channels. The inner loops are a RowsKernels, built once
 * for each instruction set: rows-kernels.h. */
#pragma once

#include "method.h"
#include "rows-planar.h"

#include "../workers.h"

/* Samples that the inner loops of sums keep in registers. */
#define ROWS_RUN 64

/* Most taps of an axis with 16-bit products: more taps lose too much accuracy. */
#define ROWS_MAX_CODE_TAPS 256

typedef struct RowsKernels RowsKernels;
typedef struct RowsAverages RowsAverages; /* rows-averages.h */

static inline int
min_int (int a, int b)
{
  return a < b ? a : b;
}

static inline int
max_int (int a, int b)
{
  return a > b ? a : b;
}

static inline size_t
max_size (size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Limits of filter_codes(): samples of a strip, and rows that are summed at a time. */
#define ROWS_MAX_STRIP 8192
#define ROWS_MAX_AT_ONCE 8
#define ROWS_MAX_WINDOW (ROWS_MAX_CODE_TAPS + ROWS_MAX_AT_ONCE)
/* The rows of a window, and those that the next window adds. */
#define ROWS_MAX_WINDOWS (ROWS_MAX_WINDOW + ROWS_MAX_AT_ONCE)
/* Extra samples of a line: those that taps reach, and those behind them that whole vectors read
 * and write. */
#define ROWS_REACH (ROWS_MAX_CODE_TAPS * IMAGE_MAX_CHANNELS + 8 * ROWS_RUN)
#define ROWS_LINE (ROWS_MAX_STRIP + ROWS_REACH)
/* Pairs of pixels of a strip of n samples, and of those behind its end that whole vectors sum. */
#define ROWS_STARTS(n) ((n) / 2 + 2 * ROWS_RUN)

/* Most samples of a line that are copied. Smoothed rows (rows-fit.h) use the same memory. */
#define ROWS_COPIED (1024 + ROWS_REACH)
#define ROWS_SMOOTHED_SAMPLES (ROWS_MAX_WINDOW * ROWS_COPIED)

/* A worker's memory for a strip of codes: see rows-codes.h. */
typedef struct
{
  _Alignas(64) int16_t line[ROWS_MAX_AT_ONCE][ROWS_LINE]; /* sums of columns */
  int32_t start[ROWS_STARTS (
      ROWS_MAX_STRIP)]; /* RowsCodeTaps's, of each pair of pixels */
  union
  {
    /* For codes: the copied samples of the window's rows. */
    uint8_t edges[ROWS_MAX_WINDOW][2 * ROWS_COPIED];
    /* For averages: rows, one after the other, of smoothed samples. */
    int16_t smoothed[ROWS_SMOOTHED_SAMPLES];
  };
  uint8_t outside[2 * ROWS_LINE]; /* a row beyond a constant border */
  _Alignas(64) uint8_t samples[2 * ROWS_LINE]; /* of a row of the result */
} RowsStrip;

/* Taps of both axes as 16-bit integers:
 *
 *   sums = (y_start + sum of y * code) >> y_shift: 2^middle times the exact sum of code - center
 *   result = (start + sum of x * sums) >> x_shift, 2^fraction times the code
 *
 * Two neighbours are in one word, the first in the low half: x[0] holds 0 and the first tap,
 * x[1] the first and the second, x[2] the second and the third, and so on for x_pairs times two
 * words; likewise y. Missing taps are 0, also those behind the last pair. */
typedef struct
{
  int x_pairs, y_pairs;
  int32_t x[ROWS_MAX_CODE_TAPS + 2], y[ROWS_MAX_CODE_TAPS + 2];
  int x_shift, y_shift;
  int32_t y_start;
  int32_t start[IMAGE_MAX_CHANNELS];   /* by channel */
  uint16_t border[IMAGE_MAX_CHANNELS]; /* the sample beyond a constant border */
} RowsCodeTaps;

/* Requirements on integer taps. */
typedef struct
{
  int fraction;                     /* fraction bits of results */
  double start[IMAGE_MAX_CHANNELS]; /* added to the results, by channel */
  double most_lost; /* largest error before the final rounding, codes */
} RowsCodeAim;

/* Largest error before the final rounding, in codes: the promised bound is 0.75, of which that
 * rounding takes 0.5. */
#define ROWS_MOST_LOST 0.24

/* The integers for channels that are run together, found once for each spec of a plan. */
typedef struct
{
  unsigned revision; /* the plan's, for which the rest was found; 0: none */
  bool hold;         /* whether the integers are exact enough */
  RowsCodeTaps taps;
} RowsCodes;

/* State of a plan. */
typedef struct
{
  const RowsKernels *kernels;
  Workers *workers;
  RowsPlanar planar;
  void *taps_x, *taps_y; /* of the plane, in the type of the sums */
  /* One row each: offsets that are added to the sums, and sums of samples beyond a constant
   * border. */
  void *offsets, *outside;
  int *left, *right; /* rows_edge_index() of samples beyond a row's ends */
  size_t sums_bytes, line_bytes;
  uint8_t *sums;  /* a slab, per worker */
  uint8_t *lines; /* a slab's part of a row and taps' reach, per worker */
  RowsStrip *strips; /* [workers]; NULL: filter_codes() is never called */
  RowsCodes codes[SEPCONV_MAX_CHANNELS]; /* by the first of the channels */
  struct RowsAveragesState *averages;
} RowsState;

/* Arguments of the workers for one plane, or one of its channels, in one run. */
typedef struct
{
  const RowsState *state; /* of the method simd; other methods have their own */
  SepconvBorder border;
  const Taps *x, *y;
  int height;
  /* Of the result: rows [top, bottom) and pixels [left, right) are needed. */
  SepconvWindow window;
  int step;      /* channels: distance of neighbouring taps in samples */
  int n_samples; /* of a row */
  int slab;      /* samples of a slab or strip, a multiple of ROWS_RUN */
  int strips;    /* for averages: strips of a row */
  int bands;     /* of a strip's needed rows: rows_band() */
  const SepconvChannel *channel; /* [step], which share all but addresses */
  const uint8_t *src;
  ptrdiff_t src_stride;
  uint8_t *dst;
  ptrdiff_t dst_stride;
  const RowsCodeTaps *codes;    /* for filter_codes() */
  const RowsAverages *averages; /* for RowsAveragesKernels */
} RowsJob;

/* Rows of the result that are needed. */
static inline int
rows_needed (const RowsJob *job)
{
  return job->window.bottom - job->window.top;
}

/* The first row of a band of the needed rows, which may be empty; `band` == bands gives their
 * end. */
static inline int
rows_band (const RowsJob *job, int band)
{
  return job->window.top
      + (int) ((int64_t) rows_needed (job) * band / job->bands);
}

/* The inner loops for one instruction set. Each is a WorkersJob. */
struct RowsKernels
{
  void (*prepare_float) (const RowsJob *job);
  void (*prepare_double) (const RowsJob *job);
  WorkersJob filter_float, filter_double; /* items are slabs */
  WorkersJob filter_codes; /* items are bands of strips; NULL: there is none */
  const struct RowsAveragesKernels
      *averages; /* rows-averages.h; NULL: there are none */
};

bool rows_prepare (SepconvPlan *plan, const RowsKernels *kernels, Fault *fault);
void rows_release (SepconvPlan *plan);
bool rows_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault);

/* Filters one plane, or one of its channels. It sets the job's state. */
typedef void (*RowsFilter) (const SepconvPlan *plan, RowsJob *job);

/* Finds integers for a job's taps. Returns false if they do not suit its samples, or if they
 * would lose more than `aim` allows. */
bool rows_plan_codes (
    const RowsJob *job, const RowsCodeAim *aim, RowsCodeTaps *codes);
/* Whether samples are codes of 8 to 12 bits, which 16-bit integers hold. */
bool rows_has_codes (const SepconvChannel *channel);
/* Finds the raw samples beyond a constant border, by channel; 0 for other borders. Returns
 * false if one of them is not a code. */
bool rows_border_codes (
    const RowsJob *job, uint16_t border[IMAGE_MAX_CHANNELS]);
/* Divides a job of codes into strips and bands, and runs it. `lines`: rows that a strip keeps
 * in the cache, beside STRIP_LINES. */
void rows_run_codes (
    RowsJob *job, int lines, Workers *workers, WorkersJob filter, void *user);

/* Returns how many channels are filtered as one row of samples, from a plane's first channel
 * on: all of the plane's, if they lie at equal distances and filtering the unwanted ones, too,
 * costs less than separating the others; else 1. */
int rows_even_channels (const SepconvPlan *plan, int first);

/* Calls `filter` for each plane with channels to be filtered, or for each of its channels if
 * rows_even_channels() is 1; copies the others. Results may lie in the planes of `planar` until
 * rows_planar_scatter(). Returns false, sets `fault` and writes nothing if there is no memory
 * for these planes. */
bool rows_run_planes (const SepconvPlan *plan, const SepconvPart *part,
    RowsPlanar *planar, Workers *workers, RowsFilter filter, Fault *fault);

/* Index in a row of the sample that stands for sample i, which may lie beyond the row's ends;
 * -1 - channel if that channel's border value does. */
int rows_edge_index (const RowsJob *job, int i);

/* How many of a job's channels are filtered. */
int rows_count_filtered (const RowsJob *job);

/* Copies the unfiltered channels of n samples from `begin` on, in rows [first, last). Best
 * called right after the other channels of these rows were written, while both rows are in the
 * cache. */
void rows_copy_kept (const RowsJob *job, int first, int last, int begin, int n);

/* Prefetches a cache line to the second-level cache: where many rows are read side by side,
 * processors do not prefetch by themselves. */
#define ROWS_CACHE_LINE 64
static inline void
rows_prefetch (const uint8_t *at)
{
  __builtin_prefetch (at, 0, 2);
}

/* How many rows ahead to prefetch where rows are read one after the other. */
#define ROWS_AHEAD 8

/* Prefetches samples [first, last) of row y; of the last row if y is below it. */
static inline void
rows_prefetch_row (const RowsJob *job, int y, int first, int last)
{
  const int bytes = job->channel->sample_bytes;
  const int end = min_int (last, job->n_samples) * bytes;
  const uint8_t *row =
      job->src + min_int (y, job->height - 1) * job->src_stride;

  for (int i = max_int (first, 0) * bytes; i < end; i += ROWS_CACHE_LINE)
    rows_prefetch (row + i);
}

/* Stores n <= ROWS_RUN raw samples. */
static inline void
rows_store_run (uint8_t *row, const int raw[ROWS_RUN], int bytes, int n)
{
  if (bytes == 1 && n == ROWS_RUN)
    for (int k = 0; k < ROWS_RUN; k++)
      image_write_raw (row + k, raw[k], 1);
  else if (bytes == 2 && n == ROWS_RUN)
    for (int k = 0; k < ROWS_RUN; k++)
      image_write_raw (row + 2 * (ptrdiff_t) k, raw[k], 2);
  else
    for (int k = 0; k < n; k++)
      image_write_raw (row + k * bytes, raw[k], bytes);
}
