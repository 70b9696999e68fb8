/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pictures: arrays as the engine's images.
 *
 *   dimensions  meaning
 *   2           height, width
 *   3           height, width, channels
 *   4           pictures, height, width, channels
 *
 * Channels, 1 to 4, lie within a pixel, or each apart from the others in rows of its own, as in
 * a transposed (channels, height, width). Columns go upwards in memory, rows either way. */
#pragma once

#include "arrays.h"
#include "image.h"

typedef struct
{
  int64_t n;      /* pictures of one layout */
  ptrdiff_t step; /* bytes from one to the next */
  Image first;
  bool gaps; /* between samples of a row lies what is none */
} Pictures;

typedef enum
{
  PICTURES_READY,
  PICTURES_SCATTERED, /* samples do not lie as above: a copy could */
  PICTURES_REFUSED    /* with a Python exception */
} PicturesStatus;

/* `depth`: significant bits of a sample, from the lowest on; 0: all. */
PicturesStatus pictures_get (
    const Array *array, int depth, const char *name, Pictures *pictures);

/* The i-th picture. */
Image pictures_at (const Pictures *pictures, int64_t i);
