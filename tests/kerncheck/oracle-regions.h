/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle-regions: the result that regions.h promises, computed sample by sample in doubles. Only
 * structs, the taps of a strength and the filter's own oracle are shared with the engine. */
#pragma once

#include "regions.h"

/* Of one sample: the expected code and its tolerance. */
typedef struct
{
  double code, allowed;
  bool touched; /* some weight is not 0 */
  bool kept;    /* a region covers it whole; outside, it is as it was */
} RegionsExpected;

/* Fills expected[height][width] of one selected channel, for the caller to free. */
RegionsExpected *oracle_regions (const RegionsSpec *spec, const Region *regions,
    int n, const Image *src, int rows_apart, int plane, int channel);
