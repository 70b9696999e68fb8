/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-rows: what the instruction sets of the method terms-simd share.
 *
 * Worker threads share a plane by strips of columns, and by bands of rows. A strip is marched
 * down: each row is taken apart once, each term's taps of x make a line of sums of it, and the
 * lines under a window along y are kept. From these each term's taps of y make what is combined
 * with the row's own samples, and stored. */
#pragma once

#include "rows-averages.h"

/* What the combination adds to the terms of a sample, by channel, in turn: as many as a run of
 * samples that begins with any channel needs. */
#define TERMS_ADDENDS (ROWS_RUN + IMAGE_MAX_CHANNELS)
typedef struct
{
  /* To the result; instead of an angle that there is none of. */
  double result[TERMS_ADDENDS];
  /* To the difference of the sample from the term; to each term of a gradient. */
  double term[2][TERMS_ADDENDS];
} TermsAddends;

/* So many terms are integers, of samples of up to 12 bits. */
#define TERMS_MAX_CODED 2
/* Samples of 128 bits of sums: whole pixels of 1, 2 or 4 channels. */
#define TERMS_PATTERN 4

/* Terms as 16-bit integers with fractional bits, and how they are combined:
 *
 *   SUM        (term 0 + term 1) >> fraction
 *   UNSHARP    (result + keep * in + sharpen * difference) >> shift, where
 *              in = (code - center) << fraction, difference = in - term 0
 *   MAGNITUDE  result + factor * sqrt (term 0 squared + term 1 squared)
 *
 * The terms' own starts hold all that is added to them. */
typedef struct
{
  unsigned revision; /* of the plan that the rest is of; 0: of none */
  bool hold;         /* whether the integers are exact enough */
  RowsCodeTaps taps[TERMS_MAX_CODED];
  int fraction;
  int32_t factors; /* `keep` in the lower half, `sharpen` in the upper one */
  int16_t threshold;
  int shift;
  int32_t result[TERMS_PATTERN];
  float factor, offset[TERMS_PATTERN];
} TermsCodes;

/* A worker's memory for a strip of codes. */
typedef struct
{
  RowsStrip term[TERMS_MAX_CODED];
  uint8_t in[2
      * ROWS_LINE]; /* of a row of the frame, in the order of the terms' samples */
} TermsStrips;

/* One plane's share of a run, or one channel's, with `wide` sums of doubles. */
typedef struct
{
  RowsJob rows;
  SepconvCombine combine;
  bool wide;
  int n_terms;
  const SepconvPlaneTaps *term[TAPS_MAX_TERMS];
  /* Of MAGNITUDE: what the taps of y are multiplied by, and their sums' root, 1 or -1. */
  double y_factor, sign;
  /* Of UNSHARP: what the sample and what its difference are multiplied by. */
  double keep, sharpen;
  /* Samples of a line, and rows of a window, beside those of the result. */
  int before, after, above, below;
  /* Of which sums are kept: under a window, or if this has more than the picture, all. */
  int lines;
  bool whole;
  const int *
      edges; /* what stands for `before` samples to the left, then for `after` */
  TermsAddends *addends;
  uint8_t *memory;     /* of the workers */
  size_t worker_bytes; /* of each */
  /* For filter_codes(): each term's rows, whose states hold edges alone. */
  const TermsCodes *codes;
  RowsJob coded[TERMS_MAX_CODED];
  TermsStrips *strips; /* of the workers */
} TermsJob;

/* Finds the integers for a job whose terms they may be; false: floats are to compute it. */
bool terms_plan_codes (TermsCodes *codes, const TermsJob *job);

/* Where a worker's memory for a job has what; bytes, multiples of 64. */
typedef struct
{
  size_t taps, line, sums, table, end;
} TermsLayout;

static inline size_t
terms_padded (size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

static inline TermsLayout
terms_layout (const TermsJob *job)
{
  const size_t sum = job->wide ? sizeof (double) : sizeof (float);
  const size_t slab = (size_t) job->rows.slab;
  const size_t window = (size_t) (job->above + job->below + 1);
  TermsLayout at = { 0 };
  size_t taps = 0;

  for (int t = 0; t < job->n_terms; t++)
    taps += (size_t) (job->term[t]->x.n + job->term[t]->y.n);
  at.line = at.taps + terms_padded (taps * sum);
  at.sums = at.line
      + terms_padded (
          (slab + (size_t) (job->before + job->after) + ROWS_RUN) * sum);
  at.table =
      at.sums + (size_t) job->n_terms * (size_t) (job->lines + 1) * slab * sum;
  at.end = at.table
      + terms_padded (
          ((size_t) job->rows.height + 2 * window) * sizeof (void *));
  return at;
}

/* Each is a WorkersJob, whose items are bands of strips. */
typedef struct
{
  WorkersJob filter_float, filter_double;
  WorkersJob filter_codes; /* NULL: there is none */
  const RowsAveragesKernels *averages; /* of UNSHARP; NULL: there are none */
} TermsKernels;
