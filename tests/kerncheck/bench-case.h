/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-case: one point of the benchmark's grid: a frame and a filter for it. */
#pragma once

#include "bench-grid.h"

/* A filter that can be timed. */
typedef struct
{
  const char *name;
  TapsKernel taps;
  SepconvCombine combine;
} BenchKernel;

/* Returns NULL when there is no kernel of that name. */
const BenchKernel *bench_kernel_by_name (const char *name);
int bench_n_kernels (void);
/* Index 0 is the default. */
const BenchKernel *bench_kernel (int index);

/* A frame and a filter of every channel; chroma has the same taps as the rest. Too large
 * for a stack. */
typedef struct
{
  const BenchFormat *format;
  BenchSize size;
  Image layout;
  const BenchKernel *kernel;
  int n_taps; /* of an axis; wider gaussians of a DoG are cut there, too */
  SepconvSpec spec; /* borrows the taps */
  Taps x[TAPS_MAX_TERMS], y[TAPS_MAX_TERMS];
  double bytes;    /* bytes that any filter must read and write */
  double products; /* multiply-adds of two passes over all samples */
} BenchCase;

/* The layout of the frame alone, for allocating buffers. */
void bench_case_layout (
    const BenchFormat *format, BenchSize size, Image *layout);

/* A gaussian gets the sigma whose default radius has that number of taps. Returns NULL with
 * FAULT_SETTINGS when the kernel cannot have that number. The caller frees the case with
 * free(). */
BenchCase *bench_case_new (const BenchFormat *format, BenchSize size,
    const BenchKernel *kernel, int n_taps, Fault *fault);
