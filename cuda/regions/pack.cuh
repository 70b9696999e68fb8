/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pack: works out what a GPU is told of regions: one list of each kind, which are kept and grow from
 * run to run. */
#pragma once

#include "device.cuh"

/* Items of one kind, and where they are within the block that goes up. */
struct RegionsList
{
  size_t item; /* bytes */
  size_t n, capacity;
  void *data;
  size_t at;
};

struct RegionsPack
{
  RegionsList parts, taps, tap, sum_jobs, mean_jobs, tiles, list;
  size_t n_sums, n_means;
  bool float_holds; /* of all filters */
  size_t bytes;     /* of the block, after regions_pack_finish() */
  /* Of each tile of all planes: which of `tiles` it is, or -1. */
  int *tile_of;
  int n_tiles_of;
  SepconvPlan
      *filter;       /* the spec as methods see it; NULL: none was needed yet */
  unsigned revision; /* of the regions' spec; 0: of other taps */
  double sigma;      /* that the last taps are for */
  /* The taps that strength > 0 makes, with the filter that borrows them. */
  SepconvSpec spec;
  Taps made[2 * IMAGE_MAX_PLANES];
};

RegionsPack *regions_pack_new (const Image *layout, Fault *fault);
void regions_pack_free (RegionsPack *pack);

/* Begins a run, or the next batch of one. */
void regions_pack_clear (RegionsPack *pack);

/* The whole picture, covered with the color. */
bool regions_pack_color (RegionsPack *pack, const RegionsPlan *plan,
    const RegionsRun *run, Fault *fault);
/* A region, with its fill or, outside, the source. */
bool regions_pack_place (RegionsPack *pack, RegionsPlan *plan,
    const RegionsRun *run, const RegionsPlace *place, Fault *fault);

/* Finds tiles and lays the block out. */
bool regions_pack_finish (
    RegionsPack *pack, const RegionsRun *run, Fault *fault);
/* Fills a block of that size. */
void regions_pack_write (const RegionsPack *pack, uint8_t *block);

template <typename T>
static inline const T *
regions_items (const RegionsList &list)
{
  return (const T *) list.data;
}
