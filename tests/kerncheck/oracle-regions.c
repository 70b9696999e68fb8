/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracle-regions.h"

#include "kerncheck.h"
#include "oracle.h"
#include "pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A weight in 65536ths that is this close to a half may be rounded either way. */
#define DOUBT 0.01

typedef struct
{
  double left, top, right, bottom, s, sigma;
  int index;
} Grown;

typedef struct
{
  const RegionsSpec *spec;
  const Image *src;
  int plane, channel, width, height;
  int pixels_x, pixels_y; /* pixels per sample */
} Problem;

/* A fill of all samples: codes and their tolerances. */
typedef struct
{
  double sigma; /* that it was computed for */
  double *code, *allowed;
} Fill;

static Grown
grow (const RegionsSpec *spec, const Region *region, int index)
{
  const double x = ceil (spec->grow * (region->right - region->left));
  const double y = ceil (spec->grow * (region->bottom - region->top));
  Grown grown = { .left = region->left - x,
    .top = region->top - y,
    .right = region->right + x,
    .bottom = region->bottom + y,
    .index = index };

  grown.s = fmin (grown.right - grown.left, grown.bottom - grown.top);
  if (spec->strength > 0.0)
    grown.sigma = fmin (spec->strength * grown.s, REGIONS_MAX_SIGMA);
  else if (spec->taps != NULL)
    grown.sigma = fmax (spec->taps->sigma_x, spec->taps->sigma_y);
  return grown;
}

static int
compare_grown (const void *a, const void *b)
{
  const Grown *left = a, *right = b;

  return left->s != right->s ? (left->s < right->s ? -1 : 1)
                             : left->index - right->index;
}

/* The weight of pixel (x, y), not rounded. */
static long double
weight_of_pixel (const RegionsSpec *spec, const Grown *region, int x, int y)
{
  const double w = region->right - region->left;
  const double h = region->bottom - region->top;
  long double d;

  if (spec->shape == REGIONS_RECTANGLE) {
    const double nearest_x = fmin (fmax (x, region->left), region->right - 1.0);
    const double nearest_y = fmin (fmax (y, region->top), region->bottom - 1.0);

    d = sqrtl ((long double) ((x - nearest_x) * (x - nearest_x)
        + (y - nearest_y) * (y - nearest_y)));
  } else {
    const long double rx =
        (x + 0.5L - (region->left + region->right) / 2.0L) / (w / 2.0L);
    const long double ry =
        (y + 0.5L - (region->top + region->bottom) / 2.0L) / (h / 2.0L);

    d = fmaxl (0.0L, sqrtl (rx * rx + ry * ry) - 1.0L) * region->s / 2.0L;
  }
  if (d == 0.0L)
    return 1.0L;
  return spec->feather == 0.0
      ? 0.0L
      : fmaxl (0.0L, 1.0L - d / ((long double) spec->feather * region->s));
}

/* The weight of a sample, found by trying all its pixels for the one nearest to the
 * centre. */
static long double
weight_of_sample (const Problem *problem, const Grown *region, int x, int y)
{
  const double centre_x = (region->left + region->right) / 2.0;
  const double centre_y = (region->top + region->bottom) / 2.0;
  double least = INFINITY;
  int best_x = 0, best_y = 0;

  for (int j = y * problem->pixels_y; j < (y + 1) * problem->pixels_y; j++)
    for (int i = x * problem->pixels_x; i < (x + 1) * problem->pixels_x; i++) {
      const double distance = (i + 0.5 - centre_x) * (i + 0.5 - centre_x)
          + (j + 0.5 - centre_y) * (j + 0.5 - centre_y);

      if (distance < least) {
        least = distance;
        best_x = i;
        best_y = j;
      }
    }
  return weight_of_pixel (problem->spec, region, best_x, best_y);
}

static double
code_at (const Problem *problem, int x, int y)
{
  return picture_code (problem->src, problem->plane, problem->channel, x, y);
}

static void
fill_filtered (const Problem *problem, Fill *fill)
{
  const RegionsSpec *spec = problem->spec;
  SepconvSpec filter = *spec->filter;
  SepconvPlane *plane = &filter.plane[problem->plane];
  const double full = image_full_code (&problem->src->plane[problem->plane]);
  Taps *taps = kerncheck_alloc (2 * sizeof *taps);
  Oracle oracle;

  if (spec->strength > 0.0) {
    TapsSettings settings = *spec->taps;

    settings.sigma_x = settings.sigma_y = fill->sigma;
    settings.radius_x = settings.radius_y = -1;
    settings.depth = problem->src->plane[problem->plane].depth;
    taps_make (&settings,
        spec->scale_taps ? spec->subsampling_x[problem->plane] : 1,
        spec->scale_taps ? spec->subsampling_y[problem->plane] : 1, &taps[0],
        &taps[1], NULL);
    plane->x = &taps[0];
    plane->y = &taps[1];
  }
  oracle_compute (
      &oracle, &filter, problem->src, problem->plane, problem->channel);
  for (int i = 0; i < problem->width * problem->height; i++) {
    fill->code[i] = 0.5 * (oracle.exact[i] + oracle.other[i]);
    fill->allowed[i] =
        oracle.allowed[i] + 0.5 * fabs (oracle.exact[i] - oracle.other[i]);
    /* An angle near 0 may also be near a full turn. */
    if (filter.combine == SEPCONV_DIRECTION
        && (fill->code[i] < fill->allowed[i]
            || fill->code[i] + fill->allowed[i] > full))
      fill->allowed[i] += full + 1.0;
  }
  oracle_clear (&oracle);
  free (taps);
}

/* First index of the block of sample i, if the first block begins at `first`. */
static int
block_start (int i, int first, int size)
{
  return first + (int) floor (((double) i - first) / size) * size;
}

static double
mean_around (const Problem *problem, const Grown *region, int x, int y)
{
  const double b = ceil (sqrt (12.0) * region->sigma);
  const int width = (int) fmax (1.0, ceil (b / problem->pixels_x));
  const int height = (int) fmax (1.0, ceil (b / problem->pixels_y));
  const int left =
      block_start (x, (int) floor (region->left / problem->pixels_x), width);
  const int top =
      block_start (y, (int) floor (region->top / problem->pixels_y), height);
  const int first_x = left > 0 ? left : 0, first_y = top > 0 ? top : 0;
  double sum = 0.0;
  int n = 0;

  /* Blocks of huge regions end far outside of the picture. */
  for (int j = first_y; j < problem->height && j - top < height; j++)
    for (int i = first_x; i < problem->width && i - left < width; i++) {
      sum += code_at (problem, i, j);
      n++;
    }
  return floor (sum / n + 0.5);
}

static void
add_step (RegionsExpected *to, long double weight, double fill, double allowed)
{
  const long double parts = weight * 65536.0L;
  const long double rounded = floorl (parts + 0.5L);
  const double w = (double) (rounded / 65536.0L);
  const bool doubtful = fabsl (parts + 0.5L - floorl (parts + 0.5L)) < DOUBT
      || fabsl (parts + 0.5L - ceill (parts + 0.5L)) < DOUBT;

  if (w == 0.0 && !doubtful)
    return;
  to->allowed = (1.0 - w) * to->allowed + w * allowed;
  if (w < 1.0)
    to->allowed += 0.5;
  if (w < 1.0 && doubtful)
    to->allowed += fabs (fill - to->code) / 65536.0;
  to->code += w * (fill - to->code);
  to->touched = to->touched || w > 0.0;
  to->kept = to->kept || w == 1.0;
}

static void
make_fill (const Problem *problem, const Grown *region, Fill *fill)
{
  const RegionsSpec *spec = problem->spec;

  if (spec->fill == REGIONS_FILTER
      && (fill->sigma < 0.0
          || (spec->strength > 0.0 && fill->sigma != region->sigma))) {
    fill->sigma = region->sigma;
    fill_filtered (problem, fill);
  }
}

/* Whether the sample's weight can differ from 0; otherwise it need not be computed. */
static bool
may_reach (const Problem *problem, const Grown *region, int x, int y)
{
  const double far_x =
      1.0 + problem->spec->feather * (region->right - region->left);
  const double far_y =
      1.0 + problem->spec->feather * (region->bottom - region->top);

  return (x + 1) * problem->pixels_x > region->left - far_x
      && x * problem->pixels_x < region->right + far_x
      && (y + 1) * problem->pixels_y > region->top - far_y
      && y * problem->pixels_y < region->bottom + far_y;
}

static void
add_region (const Problem *problem, const Grown *region, Fill *fill,
    RegionsExpected *expected)
{
  const RegionsSpec *spec = problem->spec;
  int i = 0;

  for (int y = 0; y < problem->height; y++)
    for (int x = 0; x < problem->width; x++, i++) {
      long double weight;
      double code, allowed = 0.0;

      if (!may_reach (problem, region, x, y))
        continue;
      weight = weight_of_sample (problem, region, x, y);
      if (weight == 0.0L)
        continue;
      if (spec->outside) {
        code = code_at (problem, x, y);
      } else if (spec->fill == REGIONS_FILTER) {
        make_fill (problem, region, fill);
        code = fill->code[i];
        allowed = fill->allowed[i];
      } else if (spec->fill == REGIONS_SOLID) {
        code = floor (spec->color[problem->plane][problem->channel] + 0.5);
      } else {
        code = mean_around (problem, region, x, y);
      }
      add_step (&expected[i], weight, code, allowed);
    }
}

/* The picture before the first region is applied. */
static void
begin (const Problem *problem, Fill *fill, RegionsExpected *expected)
{
  const RegionsSpec *spec = problem->spec;
  const Grown none = { .sigma = 0.0 };
  int i = 0;

  if (spec->outside)
    make_fill (problem, &none, fill);
  for (int y = 0; y < problem->height; y++)
    for (int x = 0; x < problem->width; x++, i++) {
      expected[i].code = code_at (problem, x, y);
      if (!spec->outside)
        continue;
      expected[i].touched = true;
      expected[i].code = spec->fill == REGIONS_FILTER
          ? fill->code[i]
          : floor (spec->color[problem->plane][problem->channel] + 0.5);
      expected[i].allowed =
          spec->fill == REGIONS_FILTER ? fill->allowed[i] : 0.0;
    }
}

RegionsExpected *
oracle_regions (const RegionsSpec *spec, const Region *regions, int n,
    const Image *src, int rows_apart, int plane, int channel)
{
  const Problem problem = { spec, src, plane, channel, src->plane[plane].width,
    image_plane_height (src, plane), spec->subsampling_x[plane],
    spec->subsampling_y[plane] * rows_apart };
  const size_t samples = (size_t) problem.width * (size_t) problem.height;
  RegionsExpected *expected =
      kerncheck_alloc (sizeof *expected * (samples + 1));
  Fill fill = { -1.0, kerncheck_alloc (sizeof (double) * (samples + 1)),
    kerncheck_alloc (sizeof (double) * (samples + 1)) };
  Grown *grown = kerncheck_alloc (sizeof *grown * (size_t) (n + 1));

  for (int i = 0; i < n; i++)
    grown[i] = grow (spec, &regions[i], i);
  qsort (grown, (size_t) n, sizeof *grown, compare_grown);
  if (samples > 0)
    begin (&problem, &fill, expected);
  for (int i = 0; i < n; i++)
    add_region (&problem, &grown[i], &fill, expected);
  free (grown);
  free (fill.code);
  free (fill.allowed);
  return expected;
}
