/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle-regions: what regions.h promises, computed sample by sample in doubles. It shares nothing
 * with the engine but structs, the taps that a strength makes, and the filter's own oracle. */
#pragma once

#include "regions.h"

/* Of a sample: the code that is expected, and by how much another may differ. */
typedef struct
{
  double code, allowed;
  bool touched; /* some weight is not 0 */
  bool kept;    /* a region covers it whole; outside, it is as it was */
} RegionsExpected;

/* Fills expected[height][width] of one selected channel, for the caller to free. */
RegionsExpected *oracle_regions (const RegionsSpec *spec, const Region *regions,
    int n, const Image *src, int rows_apart, int plane, int channel);
