/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filters: the taps that a GPU filters regions with. With strength > 0 each sigma has its own.
 * All are kept, here and on the GPU, because a detector's regions come back to the same sizes. */
#pragma once

#include "device.cuh"
#include "list.cuh"

#include "../sepconv/multirate-plan.h"

/* A known filter, as runs use it. */
struct RegionsFilterOf
{
  double sigma;
  int first;        /* its RegionsTaps of plane 0; those of the others follow */
  bool float_holds; /* floats suffice for its sums */
};

/* The first n items of a list, on the GPU. They are uploaded from pinned mirrors; generations
 * of the list alternate between them, so that a new one need not wait for the previous one's
 * copies. */
#define REGIONS_MIRRORS 2

struct RegionsSent
{
  void *device, *mirror[REGIONS_MIRRORS]; /* [bytes] each */
  size_t bytes, n;
};

/* Starts zeroed; then regions_filters_init() makes it. */
struct RegionsFilters
{
  RegionsList known; /* RegionsFilterOf, by sigma */
  RegionsList taps;  /* RegionsTaps: one of each plane for a filter */
  RegionsList tap;   /* double: those of all filters */
  unsigned revision; /* of the regions' spec; 0: there are none */
  /* grows when filters are dropped; indices are valid until then */
  unsigned generation;
  RegionsSent sent_taps, sent_tap[2]; /* `tap` as doubles, and as floats */
  unsigned sent_generation;
  GpuEvent sent
      [REGIONS_MIRRORS]; /* after each mirror's last copies; NULL: there were none */
  SepconvPlan
      *filter; /* the spec as methods see it; NULL: none was needed yet */
  /* The taps that strength > 0 makes, with the filter that borrows them. */
  SepconvSpec spec;
  Taps made[2 * IMAGE_MAX_PLANES];
  /* The plane that is being appended; NULL: there was none yet. */
  MultiratePlane *rates;
};

void regions_filters_init (RegionsFilters *filters);
void regions_filters_free (RegionsFilters *filters);

/* To be called before the filters of a run are found: drops all filters if they are of another
 * spec, or take too much memory. */
void regions_filters_begin (RegionsFilters *filters, const RegionsPlan *plan);

/* Finds the filter of a place, or makes it if it is not known. */
bool regions_filters_find (RegionsFilters *filters, const RegionsPlan *plan,
    const RegionsPlace *place, RegionsFilterOf *found, Fault *fault);

static inline const RegionsTaps *
regions_filters_taps (const RegionsFilters *filters, int i)
{
  return &regions_items<RegionsTaps> (filters->taps)[i];
}

/* Sends the filters that are not on the GPU yet, with taps as floats or as doubles. */
bool regions_filters_send (RegionsFilters *filters, const RegionsRun *run,
    bool in_float, Fault *fault);
