/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-rows: declarations that the instruction sets of the method multirate-simd share.
 *
 * A plane is run in two steps, each divided among worker threads, with a small picture in between:
 *
 *   narrow   makes rows of the small picture: windows along y over the frame's rows, then windows
 *            along x, for which each channel's samples of one phase lie side by side, then the
 *            taps of x
 *   widen    makes `factor` rows of the result at a time: the taps of y, then interpolation along
 *            x, then along y
 *
 * The frame is read once from memory, and written once. If only a window of the result is
 * needed, widen makes that alone. */
#pragma once

#include "multirate-plan.h"
#include "rows.h"

/* Floats that vectors may read and write behind a line's end. */
#define MULTIRATE_PAD 128
/* Rows of the small picture that a worker makes together, from strips that stay in its caches. */
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
  float *wide[MULTIRATE_GROUP]; /* sums along y, also beyond the row's ends */
  float *phases;                /* a line for each phase of each channel */
  float *low;
  /* Rows of sums along y, interpolated along x to the width of the frame. */
  float *sums[MULTIRATE_REACH];
} MultirateWorker;

/* One plane's share of a run. */
typedef struct
{
  RowsJob rows;
  const MultiratePlane *plan;
  /* As in MultirateMix. */
  bool adds, compares;
  float weight, keep, threshold;
  float offset[IMAGE_MAX_CHANNELS], last[IMAGE_MAX_CHANNELS];
  const MultirateWorker *workers;
  /* The small picture: rows [first_row, last_row]. A row has, for each term, `step` lines of
   * small_line floats, of which `columns` are used. Rows beyond equal the first or the last one. */
  float *small;
  size_t small_line;
  int columns, first_row, last_row;
  /* The needed part of the result, in cells of `factor` rows or columns: the first cell along y,
   * and the first cell and the number of cells along x. */
  int first_cell_y, first_cell_x, cells_x;
  /* For each sample of a wide line that is outside the row: rows_edge_index(). */
  const int *edges;
  /* Numbers of samples of a wide line before, in and behind the row. */
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
