/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-case.h"

#include "pictures.h"

#include <assert.h>

/* Radius over sigma, as the elements have it by default. */
#define SIGMAS 3.0

void
bench_case_layout (const BenchFormat *format, BenchSize size, Image *layout)
{
  const LayoutKind *kind = layout_kind_by_name (format->layout);

  assert (kind != NULL);
  layout_make (kind, size.width, size.height, layout);
}

BenchCase *
bench_case_new (const BenchFormat *format, BenchSize size, int n_taps, bool box)
{
  BenchCase *c = kerncheck_alloc (sizeof *c);
  const int radius = n_taps / 2;

  c->format = format;
  c->size = size;
  bench_case_layout (format, size, &c->layout);
  if (box)
    taps_box (&c->taps, n_taps, radius);
  else
    taps_gaussian (&c->taps, radius / SIGMAS, radius);
  c->spec.border = SEPCONV_REPLICATE;
  c->spec.scale = 1.0;
  c->bytes = 2.0 * (double) image_bytes (&c->layout);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const ImagePlane *plane = &c->layout.plane[p];
    const double pixels =
        (double) plane->width * image_plane_height (&c->layout, p);

    c->spec.plane[p].x = c->spec.plane[p].y = &c->taps;
    c->spec.plane[p].channels = (1u << plane->channels) - 1;
    c->products += pixels * plane->channels * 2 * c->taps.n;
  }
  return c;
}
