/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: where regions lie once they have grown, in which order they follow one another, and which
 * samples of a plane they reach. */
#pragma once

#include "../regions.h"
#include "shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A grown region, in pixels of the picture. */
typedef struct
{
  int left, top, width, height;
  double sigma; /* of its fill */
} RegionsPlace;

/* Samples [first, last) along an axis; none where last <= first. */
typedef struct
{
  int first, last;
} RegionsSpan;

typedef struct
{
  RegionsSpan x, y;
} RegionsArea;

/* One region in one plane. */
typedef struct
{
  RegionsShapeInPlane shape;
  RegionsArea area; /* the samples of the plane that a weight may reach */
  int block_width, block_height; /* PIXELATE: samples of a block */
  int block_x, block_y;          /* and the first one of the first block */
} RegionsPart;

static inline int
regions_span_size (RegionsSpan span)
{
  return span.last > span.first ? span.last - span.first : 0;
}

static inline bool
regions_area_is_empty (const RegionsArea *area)
{
  return regions_span_size (area->x) == 0 || regions_span_size (area->y) == 0;
}

/* Grows valid regions into places, the smallest first; `spare` has room for as many. */
void regions_place (const RegionsSpec *spec, const Region *regions, int n,
    RegionsPlace *places, RegionsPlace *spare);

/* The halo of a plane's taps along an axis, in samples, and one more: a border that mirrors without
 * repeating the edge's sample reads that far. */
int regions_taps_reach (const SepconvPlane *plane, bool along_y);

/* Grows a span by `reach` on both sides, within n samples; to all n where a wrapped border needs
 * samples of the other end. */
RegionsSpan regions_grow_span (
    RegionsSpan span, int reach, int n, SepconvBorder border);

/* PIXELATE: the number of the block that sample i lies in. Blocks have `size` samples; block 0
 * begins at sample `first`, and blocks before it have negative numbers. */
int regions_block_of (int i, int first, int size);
/* The samples of a block within n. */
RegionsSpan regions_block_span (int block, int first, int size, int n);

/* PIXELATE: the width in pixels of a box whose standard deviation is sigma. */
int regions_block_pixels (double sigma);

/* The part of a place that lies in plane p of a picture or field with the rows of `layout`;
 * `rows_apart` is the number of picture rows from one row to the next. */
RegionsPart regions_part (const RegionsSpec *spec, const RegionsPlace *place,
    const Image *layout, int p, int rows_apart);

#ifdef __cplusplus
}
#endif
