/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-grid: the grid that `kerncheck --bench` measures, and its durations: all knobs
 * in one place. */
#pragma once

#include "sepconv.h"

/* Least duration of a batch of launches: the resolution of the clock, and the gap
 * between two batches, in which nothing overlaps, are negligible then. */
#define BENCH_BATCH_NS 5e6
#define BENCH_SAMPLES 7
/* Most time for all samples of one figure; slow launches get fewer samples. */
#define BENCH_LIMIT_NS 60e6
/* A launch that takes longer than this is the only sample. */
#define BENCH_LONG_NS 50e6
/* Frames rotate through this multiple of the GPU's L2, or on the host through this
 * number of bytes. */
#define BENCH_ROTATION_L2 6
#define BENCH_ROTATION_HOST ((size_t) 64 << 20)
/* Time of copies that bring an idle GPU to its full clock. */
#define BENCH_WARM_NS 0.3e9

typedef struct
{
  const char *name;
  const char *layout; /* of pictures.h; every channel is filtered */
} BenchFormat;

typedef struct
{
  int width, height;
} BenchSize;

#define BENCH_MAX_CHOICES 32

/* All formats at all sizes with all numbers of taps. */
typedef struct
{
  int n_formats, n_sizes, n_taps;
  const BenchFormat *format[BENCH_MAX_CHOICES];
  BenchSize size[BENCH_MAX_CHOICES];
  int taps[BENCH_MAX_CHOICES];
} BenchGrid;

/* Each adds one choice in the spelling of the command line. Returns false when it is
 * invalid or one too many. */
bool bench_grid_add_format (BenchGrid *grid, const char *name);
bool bench_grid_add_size (BenchGrid *grid, const char *text);
bool bench_grid_add_taps (BenchGrid *grid, const char *text);

/* Fills each list that is empty with the defaults. */
void bench_grid_complete (BenchGrid *grid, Backend backend, bool quick);

/* Number and names of the formats, for a usage text. */
int bench_n_formats (void);
const BenchFormat *bench_format (int index);
