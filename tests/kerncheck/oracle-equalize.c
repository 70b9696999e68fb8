/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracle-equalize.h"

#include "pictures.h"

#include <math.h>
#include <stdlib.h>

/* Errors of a table's quotient that the header allows, and of interpolation. */
#define QUOTIENT_ERROR 0.02
#define INTERPOLATION_ERROR 0.01

struct EqualizeOracle
{
  int width, height;
  int tiles_x, tiles_y, tile_width, tile_height;
  int entries;
  Range *states; /* [tiles][entries] */
};

static bool
find_channel (
    const EqualizeSpec *spec, EqualizeRole role, int *plane, int *channel)
{
  for (int p = 0; p < IMAGE_MAX_PLANES; p++)
    for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
      if (spec->role[p][c] == role) {
        *plane = p;
        *channel = c;
        return true;
      }
  return false;
}

int
equalize_oracle_plane (const EqualizeSpec *spec)
{
  int plane = 0, channel;

  if (!find_channel (spec, EQUALIZE_LUMA, &plane, &channel))
    find_channel (spec, EQUALIZE_RED, &plane, &channel);
  return plane;
}

EqualizeOracle *
equalize_oracle_new (const EqualizeSpec *spec, const Image *layout)
{
  EqualizeOracle *oracle = kerncheck_alloc (sizeof *oracle);
  const int p = equalize_oracle_plane (spec);
  const bool adaptive = spec->kind == EQUALIZE_CLAHE;
  int width, height;

  oracle->width = width = layout->plane[p].width;
  oracle->height = height = image_plane_height (layout, p);
  oracle->tiles_x = adaptive ? spec->tiles_x : 1;
  oracle->tiles_y = adaptive ? spec->tiles_y : 1;
  if (width % oracle->tiles_x != 0 || height % oracle->tiles_y != 0) {
    width += oracle->tiles_x - width % oracle->tiles_x;
    height += oracle->tiles_y - height % oracle->tiles_y;
  }
  oracle->tile_width = width / oracle->tiles_x;
  oracle->tile_height = height / oracle->tiles_y;
  oracle->entries = spec->white - spec->black + 1;
  oracle->states = kerncheck_alloc (sizeof (Range)
      * (size_t) (oracle->tiles_x * oracle->tiles_y)
      * (size_t) oracle->entries);
  return oracle;
}

void
equalize_oracle_free (EqualizeOracle *oracle)
{
  free (oracle->states);
  free (oracle);
}

static int
code_at (
    const EqualizeSpec *spec, const Image *src, EqualizeRole role, int x, int y)
{
  int plane = 0, channel = 0;

  find_channel (spec, role, &plane, &channel);
  return picture_code (src, plane, channel, x, y);
}

static double
weight (double value)
{
  return rint (value * 65536.0) / 65536.0;
}

static int
luma_at (const EqualizeSpec *spec, const Image *src, int x, int y)
{
  const double kr = weight (spec->kr);
  const double kb = fmin (weight (spec->kb), 1.0 - kr);
  int plane, channel;

  if (find_channel (spec, EQUALIZE_LUMA, &plane, &channel))
    return code_at (spec, src, EQUALIZE_LUMA, x, y);
  return (int) floor (0.5 + kr * code_at (spec, src, EQUALIZE_RED, x, y)
      + (1.0 - kr - kb) * code_at (spec, src, EQUALIZE_GREEN, x, y)
      + kb * code_at (spec, src, EQUALIZE_BLUE, x, y));
}

static int
bin_of (const EqualizeSpec *spec, int code)
{
  return (code < spec->black          ? spec->black
                 : code > spec->white ? spec->white
                                      : code)
      - spec->black;
}

/* Mirrors a coordinate until it is inside. */
static int
mirror (int i, int n)
{
  while (i < 0 || i >= n)
    i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

static void
limit_counts (double *counts, int n, int limit)
{
  int excess = 0, rest, step;

  for (int i = 0; i < n; i++)
    if (counts[i] > limit) {
      excess += (int) counts[i] - limit;
      counts[i] = limit;
    }
  for (int i = 0; i < n; i++)
    counts[i] += excess / n;
  rest = excess % n;
  step = rest == 0 || n / rest < 1 ? 1 : n / rest;
  for (int i = 0; i < n && rest > 0; i += step, rest--)
    counts[i]++;
}

static void
count_tile (const EqualizeOracle *oracle, const EqualizeSpec *spec,
    const int *luma, int tile, double *counts)
{
  const int left = tile % oracle->tiles_x * oracle->tile_width;
  const int top = tile / oracle->tiles_x * oracle->tile_height;

  for (int i = 0; i < oracle->entries; i++)
    counts[i] = 0.0;
  for (int y = top; y < top + oracle->tile_height; y++)
    for (int x = left; x < left + oracle->tile_width; x++)
      counts[bin_of (spec,
          luma[mirror (y, oracle->height) * oracle->width
              + mirror (x, oracle->width)])]++;
  if (spec->kind == EQUALIZE_CLAHE && spec->clip_limit > 0.0) {
    const double samples = oracle->tile_width * oracle->tile_height;
    const double limit = spec->clip_limit * samples / oracle->entries;

    if (limit < samples)
      limit_counts (counts, oracle->entries, limit < 1.0 ? 1 : (int) limit);
  }
}

/* The code of a bin by the frame alone; `sum` is the count up to the bin. */
static Range
frame_code (const EqualizeOracle *oracle, const EqualizeSpec *spec, double sum,
    double lowest, int bin)
{
  const double samples = oracle->tile_width * oracle->tile_height;
  const int range = oracle->entries - 1;
  double share = (sum - lowest) / (samples - lowest);

  if (lowest == samples)
    share = (double) bin / range;
  if (share < 0.0)
    share = 0.0;
  return (Range){
    spec->black + rint (fmax (range * share - QUOTIENT_ERROR, 0.0)),
    spec->black + rint (fmin (range * share + QUOTIENT_ERROR, range)),
  };
}

/* a + share (b - a), for both ends of two ranges. */
static Range
between (Range a, Range b, double share)
{
  return (Range){ a.low + share * (b.low - a.low),
    a.high + share * (b.high - a.high) };
}

static void
follow_tile (EqualizeOracle *oracle, const EqualizeSpec *spec, bool first,
    const int *luma, int tile)
{
  const double follow =
      first ? 1.0 : fmax (weight (1.0 - spec->smoothing), 0x1p-16);
  double *counts = kerncheck_alloc (sizeof *counts * (size_t) oracle->entries);
  Range *state = oracle->states + (ptrdiff_t) tile * oracle->entries;
  double sum = 0.0, lowest = 0.0;

  count_tile (oracle, spec, luma, tile, counts);
  for (int i = 0; i < oracle->entries && spec->kind == EQUALIZE_GLOBAL; i++)
    if (counts[i] > 0.0) {
      lowest = counts[i];
      break;
    }
  for (int i = 0; i < oracle->entries; i++) {
    sum += counts[i];
    state[i] =
        between (state[i], frame_code (oracle, spec, sum, lowest, i), follow);
    /* Rounding error of the stored state. */
    state[i].low -= follow < 1.0 ? 0x1p-17 : 0.0;
    state[i].high += follow < 1.0 ? 0x1p-17 : 0.0;
  }
  free (counts);
}

/* The header's F, rounded. */
static Range
table_code (
    const EqualizeOracle *oracle, const EqualizeSpec *spec, int tile, int code)
{
  const Range own = { code, code };
  const Range state =
      oracle->states[(ptrdiff_t) tile * oracle->entries + bin_of (spec, code)];
  const Range mixed = between (own, state, weight (spec->strength));

  return (
      Range){ floor (mixed.low + 0.5 - 1e-9), floor (mixed.high + 0.5 + 1e-9) };
}

/* The tile on one side of a pixel, and the share of the tile on the other side. */
static int
tile_before (int i, int tile, double *share)
{
  const double at = (double) i / tile - 0.5;

  *share = at - floor (at);
  return (int) floor (at);
}

static int
nearest (int tile, int tiles)
{
  return tile < 0 ? 0 : tile >= tiles ? tiles - 1 : tile;
}

static Range
map_pixel (const EqualizeOracle *oracle, const EqualizeSpec *spec, int x, int y,
    int code)
{
  double share_x, share_y;
  const int left = tile_before (x, oracle->tile_width, &share_x);
  const int top = tile_before (y, oracle->tile_height, &share_y);
  Range row[2], result;

  if (spec->kind == EQUALIZE_GLOBAL)
    return table_code (oracle, spec, 0, code);
  for (int j = 0; j < 2; j++) {
    const int first = nearest (top + j, oracle->tiles_y) * oracle->tiles_x;

    row[j] = between (table_code (oracle, spec,
                          first + nearest (left, oracle->tiles_x), code),
        table_code (
            oracle, spec, first + nearest (left + 1, oracle->tiles_x), code),
        share_x);
  }
  result = between (row[0], row[1], share_y);
  return (Range){ floor (result.low + 0.5 - INTERPOLATION_ERROR),
    floor (result.high + 0.5 + INTERPOLATION_ERROR) };
}

void
equalize_oracle_run (EqualizeOracle *oracle, const EqualizeSpec *spec,
    bool first, const Image *src, int *luma, Range *mapped)
{
  const int width = oracle->width;

  for (int y = 0; y < oracle->height; y++)
    for (int x = 0; x < width; x++)
      luma[y * width + x] = luma_at (spec, src, x, y);
  for (int tile = 0; tile < oracle->tiles_x * oracle->tiles_y; tile++)
    follow_tile (oracle, spec, first, luma, tile);
  for (int y = 0; y < oracle->height; y++)
    for (int x = 0; x < width; x++)
      mapped[y * width + x] =
          map_pixel (oracle, spec, x, y, luma[y * width + x]);
}
