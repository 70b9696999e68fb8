/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle-equalize: what equalize.h promises, computed naively in double precision,
 * tile by tile and pixel by pixel, with bounds instead of roundings. */
#pragma once

#include "equalize.h"

/* Where a number may lie. */
typedef struct
{
  double low, high;
} Range;

/* One video's tables. */
typedef struct EqualizeOracle EqualizeOracle;

EqualizeOracle *equalize_oracle_new (
    const EqualizeSpec *spec, const Image *layout);
void equalize_oracle_free (EqualizeOracle *oracle);

/* The next frame, or after a reset the first: fills the luma of every pixel, and
 * within what its new code is, [height][width] each. */
void equalize_oracle_run (EqualizeOracle *oracle, const EqualizeSpec *spec,
    bool first, const Image *src, int *luma, Range *mapped);

/* The plane that luma has its size and depth from. */
int equalize_oracle_plane (const EqualizeSpec *spec);
