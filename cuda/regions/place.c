/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "place.h"

#include <math.h>

static int
smaller_side (const RegionsPlace *place)
{
  return place->width < place->height ? place->width : place->height;
}

/* The larger sigma of both axes. */
static double
sigma_of_taps (const TapsSettings *taps)
{
  return taps == NULL ? 0.0 : fmax (taps->sigma_x, taps->sigma_y);
}

static RegionsPlace
grow (const RegionsSpec *spec, const Region *region)
{
  const int width = region->right - region->left;
  const int height = region->bottom - region->top;
  const int x = spec->grow > 0.0 ? (int) ceil (spec->grow * width) : 0;
  const int y = spec->grow > 0.0 ? (int) ceil (spec->grow * height) : 0;
  RegionsPlace place = { region->left - x, region->top - y, width + 2 * x,
    height + 2 * y, 0.0 };

  place.sigma = spec->strength > 0.0
      ? fmin (spec->strength * smaller_side (&place), REGIONS_MAX_SIGMA)
      : sigma_of_taps (spec->taps);
  return place;
}

/* Merges the sorted runs [first, middle) and [middle, last). */
static void
merge (
    const RegionsPlace *from, RegionsPlace *to, int first, int middle, int last)
{
  int a = first, b = middle;

  for (int i = first; i < last; i++)
    to[i] = a < middle
            && (b == last || smaller_side (&from[a]) <= smaller_side (&from[b]))
        ? from[a++]
        : from[b++];
}

static int
least (int a, int b)
{
  return a < b ? a : b;
}

/* A stable merge sort by the smaller side. */
static void
sort (RegionsPlace *places, RegionsPlace *spare, int n)
{
  for (int run = 1; run < n; run *= 2) {
    for (int i = 0; i < n; i += 2 * run)
      merge (places, spare, i, least (i + run, n), least (i + 2 * run, n));
    for (int i = 0; i < n; i++)
      places[i] = spare[i];
  }
}

void
regions_place (const RegionsSpec *spec, const Region *regions, int n,
    RegionsPlace *places, RegionsPlace *spare)
{
  for (int i = 0; i < n; i++)
    places[i] = grow (spec, &regions[i]);
  sort (places, spare, n);
}

static int64_t
clamp (int64_t i, int64_t n)
{
  return i < 0 ? 0 : i > n ? n : i;
}

static int64_t
floor_divide (int64_t n, int64_t divisor)
{
  return n >= 0 ? n / divisor : -((divisor - 1 - n) / divisor);
}

/* The samples, of the plane's n, that have a pixel in [first, last); each has `pixels` pixels. */
static RegionsSpan
span_of (int64_t first, int64_t last, int pixels, int n)
{
  const RegionsSpan span = {
    (int) clamp (pixels == 1 ? first : floor_divide (first, pixels), n),
    (int) clamp (
        pixels == 1 ? last : floor_divide (last + pixels - 1, pixels), n)
  };

  return span;
}

/* The number of pixels that the feather extends beyond a region along an axis of `size` pixels. */
static int64_t
feather_of (const RegionsSpec *spec, const RegionsPlace *place, int size)
{
  if (!(spec->feather > 0.0))
    return 0;
  return (int64_t) ceil (spec->feather
      * (spec->shape == REGIONS_ELLIPSE ? size : smaller_side (place)));
}

static RegionsAxis
make_axis (const RegionsSpec *spec, int first, int size, int pixels)
{
  const RegionsAxis axis = { first, size, pixels,
    spec->shape == REGIONS_ELLIPSE ? 1.0 / size : 0.0 };

  return axis;
}

int
regions_block_pixels (double sigma)
{
  const double b = ceil (sqrt (12.0) * sigma);

  return (int) fmax (0.0, fmin (b, (double) REGIONS_MAX_EDGE));
}

/* A block's size in samples, from its size in pixels. */
static int
block_size (int block, int pixels)
{
  return block > pixels ? (block + pixels - 1) / pixels : 1;
}

int
regions_taps_reach (const SepconvPlane *plane, bool along_y)
{
  int most = 0;

  for (int t = 0; t < sepconv_n_terms (plane); t++) {
    const SepconvTerm term = sepconv_term (plane, t);
    const int n = along_y ? term.y->n : term.x->n;

    most = n > most ? n : most;
  }
  return most / 2 + 1;
}

RegionsSpan
regions_grow_span (RegionsSpan span, int reach, int n, SepconvBorder border)
{
  const RegionsSpan all = { 0, n };
  const int64_t first = (int64_t) span.first - reach;
  const int64_t last = (int64_t) span.last + reach;
  const RegionsSpan grown = { first < 0 ? 0 : (int) first,
    last > n ? n : (int) last };

  return border == SEPCONV_WRAP && (first < 0 || last > n) ? all : grown;
}

int
regions_block_of (int i, int first, int size)
{
  return i >= first ? (i - first) / size : -1 - (first - 1 - i) / size;
}

RegionsSpan
regions_block_span (int block, int first, int size, int n)
{
  const int64_t from = first + (int64_t) block * size, to = from + size;
  const RegionsSpan span = { from < 0 ? 0 : (int) from, to > n ? n : (int) to };

  return span;
}

RegionsPart
regions_part (const RegionsSpec *spec, const RegionsPlace *place,
    const Image *layout, int p, int rows_apart)
{
  const int pixels_x = spec->subsampling_x[p];
  const int pixels_y = spec->subsampling_y[p] * rows_apart;
  const int64_t beyond_x = feather_of (spec, place, place->width);
  const int64_t beyond_y = feather_of (spec, place, place->height);
  const bool ellipse = spec->shape == REGIONS_ELLIPSE;
  RegionsPart part;

  part.shape.x = make_axis (spec, place->left, place->width, pixels_x);
  part.shape.y = make_axis (spec, place->top, place->height, pixels_y);
  part.shape.inside = ellipse ? 1.0 : 0.0;
  part.shape.reach =
      spec->feather * (ellipse ? 2.0 : (double) smaller_side (place));
  part.area.x = span_of (place->left - beyond_x,
      (int64_t) place->left + place->width + beyond_x, pixels_x,
      layout->plane[p].width);
  part.area.y = span_of (place->top - beyond_y,
      (int64_t) place->top + place->height + beyond_y, pixels_y,
      image_plane_height (layout, p));
  part.block_width = part.block_height = 1;
  part.block_x = part.block_y = 0;
  if (spec->fill == REGIONS_PIXELATE) {
    const int block = regions_block_pixels (place->sigma);

    part.block_width = block_size (block, pixels_x);
    part.block_height = block_size (block, pixels_y);
    part.block_x = (int) floor_divide (place->left, pixels_x);
    part.block_y = (int) floor_divide (place->top, pixels_y);
  }
  return part;
}
