/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-case: one point of the benchmark's grid: a frame and a filter for it. */
#pragma once

#include "bench-grid.h"

/* What filters are timed. */
typedef struct
{
  const char *name;
  TapsKernel taps;
  SepconvCombine combine;
} BenchKernel;

/* NULL: there is none of the name. */
const BenchKernel *bench_kernel_by_name (const char *name);
int bench_n_kernels (void);
/* The first one is the default. */
const BenchKernel *bench_kernel (int index);

/* Every channel is filtered, chroma with the same taps as the rest. Too large
 * for a stack. */
typedef struct
{
  const BenchFormat *format;
  BenchSize size;
  Image layout;
  const BenchKernel *kernel;
  int n_taps; /* of an axis; wider gaussians of a dog are cut off there, too */
  SepconvSpec spec; /* borrows the taps */
  Taps x[TAPS_MAX_TERMS], y[TAPS_MAX_TERMS];
  double bytes;    /* that any filter must read and write */
  double products; /* multiply-adds of two passes over all samples */
} BenchCase;

/* The frame alone, for buffers. */
void bench_case_layout (
    const BenchFormat *format, BenchSize size, Image *layout);

/* Gaussians are of the sigma that has so many taps by default. NULL and FAULT_SETTINGS: the
 * kernel cannot have so many. To be freed with free(). */
BenchCase *bench_case_new (const BenchFormat *format, BenchSize size,
    const BenchKernel *kernel, int n_taps, Fault *fault);
