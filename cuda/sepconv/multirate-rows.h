/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-rows: what the instruction sets of the method multirate-simd share.
 *
 * A plane is run in two steps, each shared by worker threads, with a small picture in between:
 *
 *   narrow   each row of it: windows along y over the frame's rows, then along x, each
 *            channel's samples of one phase side by side, then the taps of x
 *   widen    each `factor` rows of the result: the taps of y, then each sum's samples of x,
 *            then those of y, which are stored
 *
 * The frame is read once from memory, and written once. Where only a window of the result is
 * needed, widen makes that alone. */
#pragma once

#include "multirate-plan.h"
#include "rows.h"

/* Floats that vectors may read and write behind a line's end. */
#define MULTIRATE_PAD 128
/* Rows of the small picture that a worker makes one after another from columns that stay in
 * its caches. */
#define MULTIRATE_GROUP 4

/* Floats of a line of n with its padding. */
static inline size_t
multirate_line (size_t n)
{
  return (n + 2 * MULTIRATE_PAD - 1) / MULTIRATE_PAD * MULTIRATE_PAD;
}

/* A worker's memory. Each line begins at a multiple of 64 bytes. */
typedef struct
{
  float *wide[MULTIRATE_GROUP]; /* sums along y, beyond the row's ends, too */
  float *phases;                /* a line of each phase of each channel */
  float *low;
  /* Rows of the small picture, as wide as the frame. */
  float *sums[MULTIRATE_REACH];
} MultirateWorker;

/* One plane's share of a run. */
typedef struct
{
  RowsJob rows;
  const MultiratePlane *plan;
  /* What becomes of the sums: MultirateMix. */
  bool adds, compares;
  float weight, keep, threshold;
  float offset[IMAGE_MAX_CHANNELS], last[IMAGE_MAX_CHANNELS];
  const MultirateWorker *workers;
  /* The small picture: rows [first_row, last_row], each of `step` lines of so many columns, of
   * small_line floats, for each kernel. Rows beyond these are the same as them. */
  float *small;
  size_t small_line;
  int columns, first_row, last_row;
  /* Cells of `factor` rows or columns of the result, of which the first are needed and so many more. */
  int first_cell_y, first_cell_x, cells_x;
  /* Which sample stands for each of a wide line that is outside the row. */
  const int *edges;
  /* Samples of a wide line: before, in and behind the row. */
  int left, inside, right;
} MultirateJob;

/* Each is a WorkersJob. */
typedef struct
{
  /* Items are groups of rows of the small picture. */
  WorkersJob narrow;
  /* Items are rows of sums along y, from first_cell_y on: `factor` rows of the result. */
  WorkersJob widen;
} MultirateKernels;
