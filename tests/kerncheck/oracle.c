/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracle.h"

#include "kerncheck.h"

#include <stdlib.h>
#include <string.h>

/* Products that oracle_compute() may spend on the direct sum. */
#define DIRECT_LIMIT 300000.0

/* The next coordinate outward from one at or beyond the line's end. */
static int
step_outward (int at, int *direction, int n, SepconvBorder border)
{
  bool at_end = at + *direction < 0 || at + *direction >= n;

  switch (border) {
    case SEPCONV_REPLICATE:
      return at;
    case SEPCONV_REFLECT:
      if (at_end) {
        *direction = -*direction;
        return at;
      }
      return at + *direction;
    case SEPCONV_REFLECT_101:
      if (n == 1)
        return at;
      if (at_end)
        *direction = -*direction;
      return at + *direction;
    case SEPCONV_WRAP:
      if (at_end)
        return *direction > 0 ? 0 : n - 1;
      return at + *direction;
    default:
      return -1;
  }
}

void
oracle_walk (int *map, int n, int before, int after, SepconvBorder border)
{
  int direction = -1, at = 0;

  for (int i = 0; i < n; i++)
    map[before + i] = i;
  for (int k = before - 1; k >= 0; k--)
    map[k] = at = step_outward (at, &direction, n, border);
  direction = 1;
  at = n - 1;
  for (int k = before + n; k < before + n + after; k++)
    map[k] = at = step_outward (at, &direction, n, border);
}

/* One channel of one image under one spec, with its borders walked. */
typedef struct
{
  const ImageMemory *memory;
  const ImagePlane *plane;
  const Taps *x, *y;
  int channel, width, height;
  double zero, border_value, scale, offset, full;
  int *columns, *rows; /* for coordinates from -nx/2 and from -ny/2 on */
} Problem;

static void
problem_begin (Problem *problem, const SepconvSpec *spec, const Image *src,
    int p, int channel)
{
  const SepconvPlane *how = &spec->plane[p];

  problem->plane = &src->plane[p];
  problem->memory = &src->memory[problem->plane->memory];
  problem->x = how->x;
  problem->y = how->y;
  problem->channel = channel;
  problem->width = problem->plane->width;
  problem->height = problem->memory->height;
  problem->full = 1.0;
  for (int bit = 0; bit < problem->plane->depth; bit++)
    problem->full *= 2.0;
  problem->full -= 1.0;
  problem->zero = how->zero[channel];
  problem->border_value = how->border_value[channel];
  problem->scale = spec->scale;
  problem->offset = problem->zero;
  if (!(how->unbiased >> channel & 1))
    problem->offset += spec->bias * problem->full;
  problem->columns =
      kerncheck_alloc (sizeof (int) * (size_t) (problem->width + how->x->n));
  problem->rows =
      kerncheck_alloc (sizeof (int) * (size_t) (problem->height + how->y->n));
  oracle_walk (problem->columns, problem->width, how->x->n / 2,
      how->x->n - 1 - how->x->n / 2, spec->border);
  oracle_walk (problem->rows, problem->height, how->y->n / 2,
      how->y->n - 1 - how->y->n / 2, spec->border);
}

static void
problem_end (Problem *problem)
{
  free (problem->columns);
  free (problem->rows);
}

/* in(x, y) - zero, where -1 is outside. */
static double
level_at (const Problem *problem, int x, int y)
{
  const ImagePlane *plane = problem->plane;
  const uint8_t *sample;
  unsigned raw;

  if (x < 0 || y < 0)
    return problem->border_value - problem->zero;
  sample = problem->memory->data + y * problem->memory->stride + plane->offset
      + (ptrdiff_t) x * plane->pixel_stride
      + (ptrdiff_t) problem->channel * plane->channel_stride;
  raw = sample[0];
  if (plane->depth + plane->shift > 8)
    raw |= (unsigned) sample[1] << 8;
  return (double) (raw >> plane->shift) - problem->zero;
}

static double
finish (const Problem *problem, double sum)
{
  const double value = problem->offset + problem->scale * sum;

  return value < 0.0 ? 0.0 : value > problem->full ? problem->full : value;
}

double *
oracle_two_pass (
    const SepconvSpec *spec, const Image *src, int plane, int channel)
{
  Problem problem;
  double *sums, *line, *out, *column;
  size_t w, h;

  problem_begin (&problem, spec, src, plane, channel);
  w = (size_t) problem.width;
  h = (size_t) problem.height;
  /* One row more: the row sums of a row that is all border. */
  sums = kerncheck_alloc (sizeof (double) * w * (h + 1));
  line = kerncheck_alloc (sizeof (double) * (w + (size_t) problem.x->n));
  column = kerncheck_alloc (sizeof (double) * w);
  out = kerncheck_alloc (sizeof (double) * w * h);

  for (int y = 0; y <= problem.height; y++) {
    double *to = sums + (size_t) y * w;

    for (int k = 0; k < problem.width + problem.x->n - 1; k++)
      line[k] =
          level_at (&problem, problem.columns[k], y < problem.height ? y : -1);
    for (int i = 0; i < problem.x->n; i++)
      for (size_t x = 0; x < w; x++)
        to[x] += problem.x->tap[i] * line[x + (size_t) i];
  }
  for (int y = 0; y < problem.height; y++) {
    memset (column, 0, sizeof (double) * w);
    for (int j = 0; j < problem.y->n; j++) {
      const int row = problem.rows[y + j];
      const double *from = sums + (row < 0 ? h : (size_t) row) * w;

      for (size_t x = 0; x < w; x++)
        column[x] += problem.y->tap[j] * from[x];
    }
    for (size_t x = 0; x < w; x++)
      out[(size_t) y * w + x] = finish (&problem, column[x]);
  }

  free (sums);
  free (line);
  free (column);
  problem_end (&problem);
  return out;
}

double *
oracle_direct (
    const SepconvSpec *spec, const Image *src, int plane, int channel)
{
  Problem problem;
  double *out;

  problem_begin (&problem, spec, src, plane, channel);
  out = kerncheck_alloc (
      sizeof (double) * (size_t) problem.width * (size_t) problem.height);
  for (int y = 0; y < problem.height; y++)
    for (int x = 0; x < problem.width; x++) {
      double sum = 0.0;

      for (int j = 0; j < problem.y->n; j++)
        for (int i = 0; i < problem.x->n; i++)
          sum += problem.y->tap[j] * problem.x->tap[i]
              * level_at (
                  &problem, problem.columns[x + i], problem.rows[y + j]);
      out[(size_t) y * (size_t) problem.width + (size_t) x] =
          finish (&problem, sum);
    }
  problem_end (&problem);
  return out;
}

double *
oracle_compute (
    const SepconvSpec *spec, const Image *src, int plane, int channel)
{
  const double products = (double) src->plane[plane].width
      * image_plane_height (src, plane) * spec->plane[plane].x->n
      * spec->plane[plane].y->n;

  return products <= DIRECT_LIMIT ? oracle_direct (spec, src, plane, channel)
                                  : oracle_two_pass (spec, src, plane, channel);
}
