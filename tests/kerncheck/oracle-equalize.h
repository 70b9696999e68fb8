/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle-equalize: the result that equalize.h promises, computed naively in double
 * precision, tile by tile and pixel by pixel, with bounds instead of rounding. */
#pragma once

#include "equalize.h"

/* Bounds of a number. */
typedef struct
{
  double low, high;
} Range;

/* One video's tables. */
typedef struct EqualizeOracle EqualizeOracle;

EqualizeOracle *equalize_oracle_new (
    const EqualizeSpec *spec, const Image *layout);
void equalize_oracle_free (EqualizeOracle *oracle);

/* Processes the next frame; after a reset, the first. Fills [height][width] each: the
 * luma of every pixel, and the bounds of its new code. */
void equalize_oracle_run (EqualizeOracle *oracle, const EqualizeSpec *spec,
    bool first, const Image *src, int *luma, Range *mapped);

/* The plane that gives luma its size and depth. */
int equalize_oracle_plane (const EqualizeSpec *spec);
