/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-grid: what `kerncheck --bench` measures, and for how long: its knobs. */
#pragma once

#include "sepconv.h"

/* A batch of launches takes at least this long, so that neither the clock's
 * resolution nor the gap between two batches counts, in which nothing overlaps. */
#define BENCH_BATCH_NS 5e6
#define BENCH_SAMPLES 7
/* What all samples of one figure may take together; fewer are taken then. */
#define BENCH_LIMIT_NS 60e6
/* A launch that takes longer is the only sample. */
#define BENCH_LONG_NS 50e6
/* Frames rotate through so many times the GPU's L2, or on the host through so
 * many bytes. */
#define BENCH_ROTATION_L2 6
#define BENCH_ROTATION_HOST ((size_t) 64 << 20)
/* Copies until a GPU that has been idle runs at its full clock. */
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

/* Each format at each size with each number of taps. */
typedef struct
{
  int n_formats, n_sizes, n_taps;
  const BenchFormat *format[BENCH_MAX_CHOICES];
  BenchSize size[BENCH_MAX_CHOICES];
  int taps[BENCH_MAX_CHOICES];
} BenchGrid;

/* Each adds one choice as a user writes it, and returns false where it makes no
 * sense or is one too many. */
bool bench_grid_add_format (BenchGrid *grid, const char *name);
bool bench_grid_add_size (BenchGrid *grid, const char *text);
bool bench_grid_add_taps (BenchGrid *grid, const char *text);

/* Fills what nothing was added to with the defaults. */
void bench_grid_complete (BenchGrid *grid, Backend backend, bool quick);

/* The formats there are, for a usage text. */
int bench_n_formats (void);
const BenchFormat *bench_format (int index);
