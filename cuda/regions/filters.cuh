/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filters: the taps that a GPU filters regions with. With a strength there are some for each sigma. */
#pragma once

#include "device.cuh"
#include "list.cuh"

/* Made zeroed, then by regions_filters_init(). */
struct RegionsFilters
{
  RegionsList taps; /* RegionsTaps: one of each plane for a filter */
  RegionsList tap;  /* double: those of all filters */
  bool float_holds; /* of all filters */
  int longest;      /* the most taps of an axis of any */
  SepconvPlan
      *filter;       /* the spec as methods see it; NULL: none was needed yet */
  unsigned revision; /* of the regions' spec; 0: of other taps */
  double sigma;      /* that the last taps are for */
  /* The taps that strength > 0 makes, with the filter that borrows them. */
  SepconvSpec spec;
  Taps made[2 * IMAGE_MAX_PLANES];
};

void regions_filters_init (RegionsFilters *filters);
void regions_filters_free (RegionsFilters *filters);

/* Begins anew, without filters. */
void regions_filters_clear (RegionsFilters *filters);

/* Sees to it that the last taps of the list, one of each plane, are those of the sigma. */
bool regions_filters_find (RegionsFilters *filters, const RegionsPlan *plan,
    double sigma, Fault *fault);

/* Writes `tap` as floats or doubles. */
void regions_filters_write_tap (
    const RegionsFilters *filters, bool in_float, void *to);
