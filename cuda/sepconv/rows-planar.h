/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-planar: frames whose planes share rows, as luma and chroma of YUY2 do, are filtered as
 * planes of adjacent samples. One pass over the frame gathers these planes before they are
 * filtered, and another one scatters the results: filtered in place one by one, each plane
 * would read and write the whole frame. */
#pragma once

#include "../workers.h"
#include "method.h"
#include "strided.h"

/* Rows of samples that lie at equal distances in the frame: those of a channel, or of all
 * channels of a plane. The rows of source and result both begin at multiples of 64 bytes. */
typedef struct
{
  size_t src, dst; /* offsets of row 0 in the memory */
  ptrdiff_t stride;
  int n;        /* channels in a row; 0: filtered in place in the frame */
  int distance; /* bytes from sample to sample in the frame */
} RowsPlanarRow;

/* Must start zeroed. */
typedef struct
{
  const StridedLoops *loops;
  uint8_t *memory; /* NULL: none has been needed */
  size_t bytes;
  /* Of the frame that was gathered last: whether any rows were gathered, and the rows, by the
   * first channel of each. */
  bool used;
  RowsPlanarRow row[SEPCONV_MAX_CHANNELS];
} RowsPlanar;

/* Allocates the memory for frames of the plan's layout and all smaller ones, if they need any.
 * Returns false and sets `fault` if there is none. */
bool rows_planar_prepare (
    const SepconvPlan *plan, RowsPlanar *planar, Fault *fault);
void rows_planar_release (RowsPlanar *planar);

/* Gather copies the planes of `src` to the memory; scatter copies results from there to `dst`.
 * Gather allocates the memory if it is first needed now, because other channels are filtered
 * than before; if there is none, it returns false and sets `fault`. */
bool rows_planar_gather (RowsPlanar *planar, const SepconvPlan *plan,
    const Image *src, Workers *workers, Fault *fault);
void rows_planar_scatter (const RowsPlanar *planar, const SepconvPlan *plan,
    const Image *dst, Workers *workers);
