/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows: what the instruction sets of the method simd share. A plane is rows of samples; worker
 * threads share it by slabs of columns, or by strips.
 *
 * Interleaved channels at even distances are one row of samples, whose taps are as many
 * samples apart as there are channels. The inner loops are a RowsKernels, built once for
 * each instruction set: rows-kernels.h. */
#pragma once

#include "method.h"
#include "rows-planar.h"

#include "../workers.h"

/* Samples that the inner loops of sums keep in registers. */
#define ROWS_RUN 64

/* Taps of an axis that 16-bit products take at most: more lose too much. */
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

/* Of filter_codes(): samples of a strip at most; rows that are summed at a time at most. */
#define ROWS_MAX_STRIP 8192
#define ROWS_MAX_AT_ONCE 8
#define ROWS_MAX_WINDOW (ROWS_MAX_CODE_TAPS + ROWS_MAX_AT_ONCE)
/* And those that are new to the next window. */
#define ROWS_MAX_WINDOWS (ROWS_MAX_WINDOW + ROWS_MAX_AT_ONCE)
/* Beside the samples of a line: those that taps reach, and those that whole vectors read and
 * write behind them. */
#define ROWS_REACH (ROWS_MAX_CODE_TAPS * IMAGE_MAX_CHANNELS + 8 * ROWS_RUN)
#define ROWS_LINE (ROWS_MAX_STRIP + ROWS_REACH)
/* Pairs of pixels of a strip of n samples, with those that whole vectors sum behind its end. */
#define ROWS_STARTS(n) ((n) / 2 + 2 * ROWS_RUN)

/* Samples of a line that are copied, at most. Rows that are smoothed, see rows-fit.h, share that memory. */
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
    /* Of the rows of the window. */
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
 * x[1] the first and the second, x[2] the second and the third, and so on for x_pairs times
 * two words; likewise y. What is missing is 0, also behind them. */
typedef struct
{
  int x_pairs, y_pairs;
  int32_t x[ROWS_MAX_CODE_TAPS + 2], y[ROWS_MAX_CODE_TAPS + 2];
  int x_shift, y_shift;
  int32_t y_start;
  int32_t start[IMAGE_MAX_CHANNELS];   /* by channel */
  uint16_t border[IMAGE_MAX_CHANNELS]; /* the sample beyond a constant border */
} RowsCodeTaps;

/* What integers of taps are to give. */
typedef struct
{
  int fraction;                     /* bits of results behind the code's */
  double start[IMAGE_MAX_CHANNELS]; /* that is added, by channel */
  double most_lost; /* codes, before the last rounding to whole ones */
} RowsCodeAim;

/* Of 0.75 codes that are promised, the last rounding takes 0.5. */
#define ROWS_MOST_LOST 0.24

/* What is worked out once for each of a plan's specs, for channels that are run together. */
typedef struct
{
  unsigned revision; /* of the plan that the rest is of; 0: of none */
  bool hold;         /* whether the integers are exact enough */
  RowsCodeTaps taps;
} RowsCodes;

/* What a plan keeps. */
typedef struct
{
  const RowsKernels *kernels;
  Workers *workers;
  RowsPlanar planar;
  void *taps_x, *taps_y; /* of the plane, as the sums' type */
  /* A row: of what the sums' samples add up to with the rest, and of sums beyond the
   * edges. */
  void *offsets, *outside;
  int *left, *right; /* which sample stands for each one beyond a row's ends */
  size_t sums_bytes, line_bytes;
  uint8_t *sums;  /* a slab, per worker */
  uint8_t *lines; /* a slab's part of a row with what taps reach, per worker */
  RowsStrip *strips; /* [workers]; NULL: filter_codes() is never called */
  RowsCodes codes[SEPCONV_MAX_CHANNELS]; /* by the first of the channels */
  struct RowsAveragesState *averages;
} RowsState;

/* One plane's share of a run, or one channel's, handed to the workers. */
typedef struct
{
  const RowsState *state; /* of the method simd; other methods have their own */
  SepconvBorder border;
  const Taps *x, *y;
  int height;
  /* Of the result: rows [top, bottom) and pixels [left, right) are needed. */
  SepconvWindow window;
  int step;      /* channels: samples from one tap's to the next one's */
  int n_samples; /* of a row */
  int slab;      /* samples of a slab or strip, a multiple of ROWS_RUN */
  int strips;    /* for averages: that samples are divided into */
  int bands; /* that the rows of a strip which are needed are divided into: rows_band() */
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

/* The first row of a band of them, which may be empty; that of the band behind the last one is their
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

/* Finds the integers for a job's taps; false: the samples do not suit, or more would be lost. */
bool rows_plan_codes (
    const RowsJob *job, const RowsCodeAim *aim, RowsCodeTaps *codes);
/* Whether samples are codes of 8 to 12 bits, which 16-bit integers hold. */
bool rows_has_codes (const SepconvChannel *channel);
/* Finds what stands for samples beyond a constant border, as they would lie in memory; false:
 * they are no codes. */
bool rows_border_codes (
    const RowsJob *job, uint16_t border[IMAGE_MAX_CHANNELS]);
/* Divides a job of codes into strips and bands, of which so many rows each are kept beside those
 * of STRIP_LINES, and runs it. */
void rows_run_codes (
    RowsJob *job, int lines, Workers *workers, WorkersJob filter, void *user);

/* How many channels, from one that is a plane's first on, are a row of samples at even distances, and enough of
 * them filtered for the others to be filtered in vain: all of the plane's, or one. */
int rows_even_channels (const SepconvPlan *plan, int first);

/* Calls `filter` for each plane that has channels to be filtered, or for each channel where the
 * plane's do not lie at even distances; copies the others. Results may be in the planes of `planar`, until
 * rows_planar_scatter(). Returns false and sets `fault`, and writes nothing, if there is no memory for those. */
bool rows_run_planes (const SepconvPlan *plan, const SepconvPart *part,
    RowsPlanar *planar, Workers *workers, RowsFilter filter, Fault *fault);

/* What stands for the sample that is `i` from a row's first one: which one does, or -1
 * less the channel whose border value is meant. */
int rows_edge_index (const RowsJob *job, int i);

/* How many of a job's channels are filtered. */
int rows_count_filtered (const RowsJob *job);

/* Copies the samples of rows [first, last) that belong to channels that are not filtered,
 * the n from `begin` on. Best right after the others of those rows were written, while both rows are near. */
void rows_copy_kept (const RowsJob *job, int first, int last, int begin, int n);

/* Asks for what lies at an address, to come as near as the second-level cache: where many rows
 * are read side by side, a processor does not ask ahead by itself. */
#define ROWS_CACHE_LINE 64
static inline void
rows_prefetch (const uint8_t *at)
{
  __builtin_prefetch (at, 0, 2);
}

/* Rows that are asked for before they are read, where rows are read one after the other. */
#define ROWS_AHEAD 8

/* Asks for the samples of [first, last) that row y has, or if there is no such row the last one. */
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

/* Stores n raw samples, of a run or less. */
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
