/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-case.h"

#include "pictures.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sigma whose default radius this is: see TapsSettings. */
static double
sigma_of_radius (int radius, int depth)
{
  if (depth > 12 && radius > 48)
    return radius < 75 ? sqrt (3.0 * radius) : radius / 5.0;
  return radius <= 18 ? radius / 3.0
      : radius < 32   ? sqrt (2.0 * radius)
                      : radius / 4.0;
}

void
bench_case_layout (const BenchFormat *format, BenchSize size, Image *layout)
{
  const LayoutKind *kind = layout_kind_by_name (format->layout);

  assert (kind != NULL);
  layout_make (kind, size.width, size.height, layout);
}

static const BenchKernel kernels[] = {
  { "gaussian", TAPS_GAUSSIAN, SEPCONV_SUM },
  { "box", TAPS_BOX, SEPCONV_SUM },
  { "unsharp", TAPS_UNSHARP, SEPCONV_UNSHARP },
  { "sobel", TAPS_SOBEL, SEPCONV_MAGNITUDE },
  { "direction", TAPS_SOBEL, SEPCONV_DIRECTION },
  { "laplacian", TAPS_LAPLACIAN, SEPCONV_SUM },
  { "log", TAPS_LOG, SEPCONV_SUM },
  { "dog", TAPS_DOG, SEPCONV_SUM },
};

int
bench_n_kernels (void)
{
  return (int) (sizeof kernels / sizeof kernels[0]);
}

const BenchKernel *
bench_kernel (int index)
{
  return &kernels[index];
}

const BenchKernel *
bench_kernel_by_name (const char *name)
{
  for (int i = 0; i < bench_n_kernels (); i++)
    if (strcmp (kernels[i].name, name) == 0)
      return &kernels[i];
  return NULL;
}

static void
add_plane (BenchCase *c, int p, int n_terms)
{
  const ImagePlane *plane = &c->layout.plane[p];
  const double samples = (double) plane->width
      * image_plane_height (&c->layout, p) * plane->channels;
  SepconvPlane *how = &c->spec.plane[p];

  how->x = &c->x[0];
  how->y = &c->y[0];
  how->n_more = n_terms - 1;
  how->channels = (1u << plane->channels) - 1;
  for (int t = 0; t < n_terms; t++) {
    if (t > 0)
      how->more[t - 1] = (SepconvTerm){ &c->x[t], &c->y[t] };
    c->products += samples * (c->x[t].n + c->y[t].n);
  }
}

BenchCase *
bench_case_new (const BenchFormat *format, BenchSize size,
    const BenchKernel *kernel, int n_taps, Fault *fault)
{
  BenchCase *c = kerncheck_alloc (sizeof *c);
  const int radius = n_taps / 2;
  TapsSettings settings = { .kernel = kernel->taps,
    .sigma_y = -1.0,
    .radius_x = radius,
    .radius_y = radius };
  int n_terms;

  bench_case_layout (format, size, &c->layout);
  settings.sigma_x = sigma_of_radius (radius, c->layout.plane[0].depth);
  if (!taps_make_terms (&settings, 1, 1, c->x, c->y, &n_terms, fault)) {
    free (c);
    return NULL;
  }
  c->format = format;
  c->size = size;
  c->kernel = kernel;
  c->n_taps = n_taps;
  c->spec.border = SEPCONV_REPLICATE;
  c->spec.combine = kernel->combine;
  c->spec.amount = 1.0;
  c->spec.scale = 1.0;
  c->bytes = 2.0 * (double) image_bytes (&c->layout);
  for (int p = 0; p < c->layout.n_planes; p++)
    add_plane (c, p, n_terms);
  return c;
}
