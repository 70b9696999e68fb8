/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-rows: declarations that the instruction sets of the method terms-simd share.
 *
 * Worker threads share a plane by strips of columns, and by bands of rows. A worker marches
 * down a strip: it unpacks each row once, computes a line of sums with each term's taps of x,
 * and keeps the lines under a window along y. From these, each term's taps of y give the values
 * that are combined with the row's own samples, and stored. */
#pragma once

#include "rows-averages.h"

/* Constants that the combination adds, by channel, repeated: enough for a run of samples that
 * begins with any channel. */
#define TERMS_ADDENDS (ROWS_RUN + IMAGE_MAX_CHANNELS)
typedef struct
{
  /* Added to the result; for DIRECTION, the result where there is no angle. */
  double result[TERMS_ADDENDS];
  /* Added to the difference of the sample from the term, or to each term of a gradient. */
  double term[2][TERMS_ADDENDS];
} TermsAddends;

/* Most terms that may be integers, of samples of up to 12 bits. */
#define TERMS_MAX_CODED 2
/* Samples whose sums fill 128 bits: whole pixels of 1, 2 or 4 channels. */
#define TERMS_PATTERN 4

/* Terms as 16-bit integers with fractional bits, and how they are combined:
 *
 *   SUM        (term 0 + term 1) >> fraction
 *   UNSHARP    (result + keep * in + sharpen * difference) >> shift, where
 *              in = (code - center) << fraction, difference = in - term 0
 *   MAGNITUDE  result + factor * sqrt (term 0 squared + term 1 squared)
 *
 * The start values of the terms include all constants that are added to them. */
typedef struct
{
  unsigned revision; /* the plan's revision that the rest belongs to; 0: none */
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
  /* Samples of a row of the frame, in the order of the terms' samples. */
  uint8_t in[2 * ROWS_LINE];
} TermsStrips;

/* The job of one plane of a run, or of one channel. `wide`: sums are doubles. */
typedef struct
{
  RowsJob rows;
  SepconvCombine combine;
  bool wide;
  int n_terms;
  const SepconvPlaneTaps *term[TAPS_MAX_TERMS];
  /* For MAGNITUDE: the factor of the taps of y, and the sign of the root, 1 or -1. */
  double y_factor, sign;
  /* For UNSHARP: the factors of the sample and of its difference from the term. */
  double keep, sharpen;
  /* Samples of a line, and rows of a window, beyond those of the result. */
  int before, after, above, below;
  /* Number of rows whose sums are kept: those of a window, or, if the picture has no more
   * (`whole`), all. */
  int lines;
  bool whole;
  /* rows_edge_index() of the `before` samples, then of the `after` */
  const int *edges;
  TermsAddends *addends;
  uint8_t *memory;     /* of the workers */
  size_t worker_bytes; /* of each */
  /* For filter_codes(): each term's rows; their states have only the edges. */
  const TermsCodes *codes;
  RowsJob coded[TERMS_MAX_CODED];
  TermsStrips *strips; /* of the workers */
} TermsJob;

/* Finds the integers of a job's terms; false: they are not exact enough, so that floats must
 * compute the job. */
bool terms_plan_codes (TermsCodes *codes, const TermsJob *job);

/* Byte offsets of the parts of a worker's memory for a job, multiples of 64. */
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

/* The kernels of one instruction set. Each is a WorkersJob whose items are bands of strips. */
typedef struct
{
  WorkersJob filter_float, filter_double;
  WorkersJob filter_codes; /* NULL: there is none */
  const RowsAveragesKernels *averages; /* for UNSHARP; NULL: none */
} TermsKernels;
