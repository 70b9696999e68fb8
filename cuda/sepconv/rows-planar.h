/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-planar: frames whose planes share rows, as luma and chroma of YUY2 do, as planes of samples next to each other.
 * Before they are filtered, one pass over the frame takes it apart, and afterwards another one puts the result
 * together: filtered one by one as they lie, each plane would read and write the whole frame. */
#pragma once

#include "../workers.h"
#include "method.h"
#include "strided.h"

/* Samples of a row at even distances: a channel, or all those of a plane. Both rows begin at multiples of 64 bytes. */
typedef struct
{
  size_t src, dst; /* offsets of row 0 in the memory */
  ptrdiff_t stride;
  int n;        /* channels of it; 0: it is filtered as it lies */
  int distance; /* bytes from sample to sample, in the frame */
} RowsPlanarRow;

/* Zeroed, until it is prepared. */
typedef struct
{
  const StridedLoops *loops;
  uint8_t *memory; /* NULL: none has been needed */
  size_t bytes;
  /* Of the frame that was gathered last: whether it has any, by the first channel of each. */
  bool used;
  RowsPlanarRow row[SEPCONV_MAX_CHANNELS];
} RowsPlanar;

/* Makes the memory for frames of the plan's layout and all smaller ones, if they need it. Returns false and
 * sets `fault` if there is none. */
bool rows_planar_prepare (
    const SepconvPlan *plan, RowsPlanar *planar, Fault *fault);
void rows_planar_release (RowsPlanar *planar);

/* Takes `src` apart, and puts `dst` together. The former makes the memory if it is first needed now, as other channels
 * are filtered; where there is none, it returns false and sets `fault`. */
bool rows_planar_gather (RowsPlanar *planar, const SepconvPlan *plan,
    const Image *src, Workers *workers, Fault *fault);
void rows_planar_scatter (const RowsPlanar *planar, const SepconvPlan *plan,
    const Image *dst, Workers *workers);
