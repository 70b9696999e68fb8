/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* running: the parts of the method box-running-simd that all instruction sets share.
 *
 * A worker goes down a band of rows. It keeps a line: for each sample of a row, the sum of the
 * codes of its column in the window, as integers. From one row to the next, the row that enters
 * the window is added, and the one that leaves it is subtracted. Pixels of the line beyond the
 * row's ends follow the border. A running sum along the line is the sum over the window:
 *
 *   S(x) = S(x - 1) + line(x + nx - 1) - line(x - 1)
 *
 * The center is subtracted from codes here, and samples of a constant border count as 0: their
 * weight times the border value is in the addends of the sums. Where the ends of an axis differ
 * from the taps between, the rows under the first and the last tap of y have two more lines,
 * and the result is a sum of nine integers: box.h.
 *
 *   |line(x)| <= ny * 2^15 < 2^28
 *   |S(x)| <= nx * ny * 2^(depth-1), which decides between 32 and 64 bits
 *
 * Interleaved channels form one row of samples, whose running sums are as many samples apart as
 * there are channels. The inner loops are a RunningKernels, built once for each instruction
 * set: running-kernels.h. */
#pragma once

#include "border.h"
#include "box.h"
#include "rows.h"

/* Samples that the inner loops take at a time: whole vectors, and whole pixels of any number of
 * channels. */
#define RUNNING_BLOCK 192

/* Lines of a worker: the sum of all rows of the window; its first row, or the sum of the first
 * and the last one if they weigh the same; its last row. */
#define RUNNING_LINES 3

typedef struct RunningKernels RunningKernels;

/* Pixels of a line beyond the row's ends: `n` pixels from `to` on are copies of pixels from
 * `from` on, in steps of `by` pixels (-1, 0 or 1). */
typedef struct
{
  int to, n, from, by;
} RunningEdge;

/* The weights of a line: of its running sum, and of the first and the last sample of that sum. */
typedef struct
{
  double sum, first, last;
} RunningWeights;

/* Constants for channels that are run together, found once for each spec and size of a plan. */
typedef struct
{
  unsigned revision; /* the plan's, for which the rest was found; 0: none */
  unsigned shape;    /* likewise */
  bool narrow;       /* sums are of 32 bits and floats, else 64 and doubles */
  BoxTaps y;
  bool ends;   /* whether ends of an axis differ */
  int n_lines; /* 2 or 3 if the ends of y differ, else 1 */
  RunningWeights weight[RUNNING_LINES];
  int n_edges;
  RunningEdge *edges;
  /* For each sample of a row: its weighted sums are added to
   *
   *   base - outside * weight of the taps of y inside the image
   *
   * where `base` has 0.5 for rounding, and `outside` is 0 unless the border is constant. */
  double *base, *outside;
} RunningSpec;

/* A worker's memory. */
typedef struct
{
  int32_t *block[RUNNING_LINES];
  int32_t *line[RUNNING_LINES]; /* pixel 0, with room before and behind it */
  void *addends;                /* of a row's samples, floats or doubles */
  int *times; /* how often a window has each row; 0 between windows */
} RunningMemory;

/* State of a plan. */
typedef struct
{
  const RunningKernels *kernels;
  Workers *workers;
  RowsPlanar planar;
  int n_workers;
  RunningMemory *memory;                  /* [n_workers] */
  uint8_t *outside;                       /* a row beyond a constant border */
  RunningSpec spec[SEPCONV_MAX_CHANNELS]; /* by the first of the channels */
} RunningState;

typedef struct
{
  const RowsJob *rows;
  const RunningState *state;
  const RunningSpec *spec;
} RunningJob;

/* The weight of the taps that lie in [0, size), of n taps from `first` on. */
static inline double
running_weight_inside (const BoxTaps *taps, int first, int n, int size)
{
  return taps->each * border_count_inside (first, n, size)
      + taps->first * border_count_inside (first, 1, size)
      + taps->last * border_count_inside (first + n - 1, 1, size);
}

/* The inner loops for one instruction set. Items are bands of rows. */
struct RunningKernels
{
  WorkersJob filter;
};
