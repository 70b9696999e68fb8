/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filters: the taps that a GPU filters regions with. With a strength there are some for each sigma. All
 * are kept, here and on the GPU: what a detector finds comes back to the same sizes. */
#pragma once

#include "device.cuh"
#include "list.cuh"

/* What runs are told of a filter. */
struct RegionsFilterOf
{
  double sigma;
  int first;        /* its RegionsTaps of plane 0; those of the others follow */
  int longest;      /* taps of an axis */
  bool float_holds; /* its sums */
};

/* The first n items of a list, on the GPU. They come out of pinned mirrors, of which generations of the
 * list take turns, so that a new one need not wait for the last one's copies. */
#define REGIONS_MIRRORS 2

struct RegionsSent
{
  void *device, *mirror[REGIONS_MIRRORS]; /* [bytes] each */
  size_t bytes, n;
};

/* Made zeroed, then by regions_filters_init(). */
struct RegionsFilters
{
  RegionsList known; /* RegionsFilterOf, by sigma */
  RegionsList taps;  /* RegionsTaps: one of each plane for a filter */
  RegionsList tap;   /* double: those of all filters */
  unsigned revision; /* of the regions' spec; 0: there are none */
  unsigned
      generation; /* grows when filters are dropped: their places hold until then */
  RegionsSent sent_taps, sent_tap[2]; /* `tap` as doubles, and as floats */
  unsigned sent_generation;
  GpuEvent sent
      [REGIONS_MIRRORS]; /* the last copies are done; NULL: there were none */
  SepconvPlan
      *filter; /* the spec as methods see it; NULL: none was needed yet */
  /* The taps that strength > 0 makes, with the filter that borrows them. */
  SepconvSpec spec;
  Taps made[2 * IMAGE_MAX_PLANES];
};

void regions_filters_init (RegionsFilters *filters);
void regions_filters_free (RegionsFilters *filters);

/* Begins to find those of a run: drops what is of another spec, or too much. */
void regions_filters_begin (RegionsFilters *filters, const RegionsPlan *plan);

/* The filter of a place, made where it is not known. */
bool regions_filters_find (RegionsFilters *filters, const RegionsPlan *plan,
    const RegionsPlace *place, RegionsFilterOf *found, Fault *fault);

static inline const RegionsTaps *
regions_filters_taps (const RegionsFilters *filters, int i)
{
  return &regions_items<RegionsTaps> (filters->taps)[i];
}

/* Sends those that are not on the GPU yet, with taps as floats or as doubles. */
bool regions_filters_send (RegionsFilters *filters, const RegionsRun *run,
    bool in_float, Fault *fault);
