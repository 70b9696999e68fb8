/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows: what the methods of the CPU share. A plane is rows of samples; worker threads share
 * it by slabs of columns, or by strips.
 *
 * Interleaved channels at even distances are one row of samples, whose taps are as many
 * samples apart as there are channels. The inner loops are a RowsKernels, built once for
 * each instruction set: rows-kernels.h. */
#pragma once

#include "method.h"

#include "../workers.h"

/* Samples that the inner loops of sums keep in registers. */
#define ROWS_RUN 64

/* Taps of an axis that 16-bit products take at most: more lose too much. */
#define ROWS_MAX_CODE_TAPS 64

typedef struct RowsKernels RowsKernels;

/* What a plan keeps. */
typedef struct
{
  const RowsKernels *kernels;
  Workers *workers;
  void *taps_x, *taps_y; /* of the plane, as the sums' type */
  /* A row: of what the sums' samples add up to with the rest, and of sums beyond the
   * edges. */
  void *offsets, *outside;
  int *left, *right; /* which sample stands for each one beyond a row's ends */
  size_t sums_bytes, line_bytes, strip_bytes;
  uint8_t *sums;  /* a slab, per worker */
  uint8_t *lines; /* a slab's part of a row with what taps reach, per worker */
  uint8_t *
      strips; /* what filter_codes() needs, per worker; NULL: it is never called */
} RowsState;

/* Taps of both axes as 16-bit integers, two neighbours in one word, the first in the low
 * half:
 *
 *   sums = sum of x * (code - 128), shifted right by x_shift: 2^middle times the exact sum
 *   result = (start + sum of y * sums) >> y_shift
 *
 * x pairs are tap 0 and 1, 2 and 3 and so on; y pairs are counted from the last tap: n - 2
 * and n - 1, then n - 4 and n - 3. What is missing in a pair is 0. */
typedef struct
{
  int x_pairs, y_pairs;
  int32_t x[ROWS_MAX_CODE_TAPS / 2 + 1], y[ROWS_MAX_CODE_TAPS / 2 + 1];
  int x_shift, y_shift;
  int32_t start[IMAGE_MAX_CHANNELS]; /* by channel */
} RowsCodeTaps;

/* One plane's share of a run, or one channel's, handed to the workers. */
typedef struct
{
  const RowsState *state;
  SepconvBorder border;
  const Taps *x, *y;
  int height;
  int step;      /* channels: samples from one tap's to the next one's */
  int n_samples; /* of a row */
  int slab;      /* samples of a slab or strip, a multiple of ROWS_RUN */
  int bands;     /* that a strip's rows are divided into */
  const SepconvChannel *channel; /* [step]; what they do not share is below */
  int distance;                  /* bytes from sample to sample */
  const uint8_t *src;
  ptrdiff_t src_stride;
  uint8_t *dst;
  ptrdiff_t dst_stride;
  RowsCodeTaps codes; /* for filter_codes() */
} RowsJob;

/* The inner loops for one instruction set. Each is a WorkersJob. */
struct RowsKernels
{
  const char *isa;
  void (*prepare_float) (const RowsJob *job);
  void (*prepare_double) (const RowsJob *job);
  WorkersJob filter_float, filter_double; /* items are slabs */
  WorkersJob filter_codes; /* items are bands of strips; NULL: there is none */
};

bool rows_prepare (SepconvPlan *plan, const RowsKernels *kernels, Fault *fault);
void rows_release (SepconvPlan *plan);
bool rows_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault);

/* Copies the samples of rows [first, last) that belong to channels that are not filtered,
 * the n from `begin` on. */
void rows_copy_kept (const RowsJob *job, int first, int last, int begin, int n);
