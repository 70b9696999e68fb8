/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-case: one point of the benchmark's grid: a frame and a filter for it. */
#pragma once

#include "bench-grid.h"

/* Every channel is filtered, chroma with the same taps as the rest. Too large
 * for a stack. */
typedef struct
{
  const BenchFormat *format;
  BenchSize size;
  Image layout;
  SepconvSpec spec; /* borrows `taps` */
  Taps taps;
  double bytes;    /* that any filter must read and write */
  double products; /* multiply-adds of two passes over all samples */
} BenchCase;

/* The frame alone, for buffers. */
void bench_case_layout (
    const BenchFormat *format, BenchSize size, Image *layout);

/* A gaussian, or the average of n_taps samples. To be freed with free(). */
BenchCase *bench_case_new (
    const BenchFormat *format, BenchSize size, int n_taps, bool box);
