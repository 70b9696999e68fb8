/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter-host: FILTER on the CPU, of the part of a picture that a region needs. The samples under
 * the taps are cut out as an image of their own, in which each plane has its own memory, and any
 * of the CPU's methods filters that. */
#pragma once

#include "plan.h"

typedef struct RegionsCuts RegionsCuts;

/* For cuts of pictures of a layout, of which none has more than `most` samples of a plane each way. */
RegionsCuts *regions_cuts_new (const Image *layout, int most, Fault *fault);
/* NULL is allowed. */
void regions_cuts_free (RegionsCuts *cuts);

/* Filters at least the areas of all planes that have channels to be filtered. Then
 * regions_cuts_row() finds the result until the next call. */
bool regions_cuts_filter (RegionsCuts *cuts, const RegionsPlan *plan,
    const Image *src, const RegionsArea area[IMAGE_MAX_PLANES], double sigma,
    Fault *fault);

/* The method that did so last, or NULL. */
const SepconvMethod *regions_cuts_method (const RegionsCuts *cuts);

/* What regions_cuts_filter() of the spec's own taps takes, in samples. */
double regions_cuts_cost (const RegionsPlan *plan, const Image *src,
    const RegionsArea area[IMAGE_MAX_PLANES]);

/* Where sample 0 of channel 0 of the plane's row y would be; the row's other samples lie as they
 * do in the picture. */
const uint8_t *regions_cuts_row (const RegionsCuts *cuts, int plane, int y);
