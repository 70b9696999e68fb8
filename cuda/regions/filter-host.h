/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter-host: FILTER on the CPU, of the part of a picture that a region needs. The samples under
 * the taps form an image of their own, the cut, in which each plane has its own memory; any of the
 * CPU's methods filters it. */
#pragma once

#include "plan.h"

typedef struct RegionsCuts RegionsCuts;

/* For cuts out of pictures of a layout; no cut is wider or taller than `most` samples of a
 * plane. */
RegionsCuts *regions_cuts_new (const Image *layout, int most, Fault *fault);
/* NULL is allowed. */
void regions_cuts_free (RegionsCuts *cuts);

/* Filters at least the areas of all planes that have channels to be filtered. regions_cuts_row()
 * then returns rows of the result, which is valid until the next call. */
bool regions_cuts_filter (RegionsCuts *cuts, const RegionsPlan *plan,
    const Image *src, const RegionsArea area[IMAGE_MAX_PLANES], double sigma,
    Fault *fault);

/* The method that the last regions_cuts_filter() used, or NULL. */
const SepconvMethod *regions_cuts_method (const RegionsCuts *cuts);

/* The cost of regions_cuts_filter() with the spec's own taps, in samples. */
double regions_cuts_cost (const RegionsPlan *plan, const Image *src,
    const RegionsArea area[IMAGE_MAX_PLANES]);

/* The address at which sample 0 of channel 0 of the plane's row y would be. The row's other samples
 * lie at the same distances as in the picture. */
const uint8_t *regions_cuts_row (const RegionsCuts *cuts, int plane, int y);
