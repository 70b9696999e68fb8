/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-grid.h"

#include <stdio.h>
#include <string.h>

/* No camera has larger frames: a larger size is a typing error. */
#define MAX_SIDE 32768

static const BenchFormat formats[] = {
  { "GRAY8", "gray8" },
  { "RGBA", "ayuv" },
  { "NV12", "nv12" },
  { "GRAY16", "gray16" },
  { "P010", "p010" },
  { "I420", "planar3" },
  { "RGB", "rgb24" },
  { "YUY2", "yuy2" },
  { "P012", "p012" },
  { "RGBA64", "rgba64" },
};

#define N_FORMATS ((int) (sizeof formats / sizeof formats[0]))
/* Number of formats, from the first on, that --quick takes. */
#define N_QUICK_FORMATS 3

static const BenchSize sizes[] = {
  { 1280, 720 },
  { 1920, 1080 },
  { 3840, 2160 },
  { 7680, 4320 },
};
static const BenchSize quick_sizes[] = { { 1920, 1080 }, { 3840, 2160 } };

static const int taps[] = { 3, 5, 9, 15, 33, 65, 129, 257, 1025 };
static const int quick_taps[] = { 5, 15, 65 };

/* Cases that take a CPU minutes run only if they are asked for. */
#define HOST_MAX_WIDTH 3840
#define HOST_MAX_TAPS 129

#define COUNT(array) ((int) (sizeof (array) / sizeof (array)[0]))

int
bench_n_formats (void)
{
  return N_FORMATS;
}

const BenchFormat *
bench_format (int index)
{
  return &formats[index];
}

bool
bench_grid_add_format (BenchGrid *grid, const char *name)
{
  for (int i = 0; i < N_FORMATS; i++)
    if (strcmp (formats[i].name, name) == 0
        && grid->n_formats < BENCH_MAX_CHOICES) {
      grid->format[grid->n_formats++] = &formats[i];
      return true;
    }
  return false;
}

bool
bench_grid_add_size (BenchGrid *grid, const char *text)
{
  BenchSize size;
  char rest;

  if (sscanf (text, "%dx%d%c", &size.width, &size.height, &rest) != 2
      || size.width < 1 || size.width > MAX_SIDE || size.height < 1
      || size.height > MAX_SIDE || grid->n_sizes == BENCH_MAX_CHOICES)
    return false;
  grid->size[grid->n_sizes++] = size;
  return true;
}

bool
bench_grid_add_taps (BenchGrid *grid, const char *text)
{
  int n;
  char rest;

  /* A gaussian with this number of taps has half that number as radius. */
  if (sscanf (text, "%d%c", &n, &rest) != 1 || n < 1 || n > TAPS_MAX
      || n % 2 == 0 || grid->n_taps == BENCH_MAX_CHOICES)
    return false;
  grid->taps[grid->n_taps++] = n;
  return true;
}

static void
complete_sizes (BenchGrid *grid, Backend backend, bool quick)
{
  const BenchSize *all = quick ? quick_sizes : sizes;
  const int n = quick ? COUNT (quick_sizes) : COUNT (sizes);

  for (int i = 0; i < n; i++)
    if (backend == BACKEND_CUDA || all[i].width <= HOST_MAX_WIDTH)
      grid->size[grid->n_sizes++] = all[i];
}

static void
complete_taps (BenchGrid *grid, Backend backend, bool quick)
{
  const int *all = quick ? quick_taps : taps;
  const int n = quick ? COUNT (quick_taps) : COUNT (taps);

  for (int i = 0; i < n; i++)
    if (backend == BACKEND_CUDA || all[i] <= HOST_MAX_TAPS)
      grid->taps[grid->n_taps++] = all[i];
}

void
bench_grid_complete (BenchGrid *grid, Backend backend, bool quick)
{
  if (grid->n_formats == 0)
    for (int i = 0; i < (quick ? N_QUICK_FORMATS : N_FORMATS); i++)
      grid->format[grid->n_formats++] = &formats[i];
  if (grid->n_sizes == 0)
    complete_sizes (grid, backend, quick);
  if (grid->n_taps == 0)
    complete_taps (grid, backend, quick);
}
