/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pack: makes the lists of parts, jobs and tiles that the kernels of packed runs read. The lists'
 * memory is kept, and grows from run to run. */
#pragma once

#include "filters.cuh"

struct RegionsPack
{
  RegionsList parts, sum_jobs, code_jobs, mean_jobs, tiles, list;
  RegionsFilters *filters; /* borrowed */
  bool float_holds;        /* floats suffice for the sums of all filters */
  unsigned revision;       /* grows with each run or batch, from 1 */
  size_t n_sums, n_codes, n_means;
  size_t bytes; /* of the block, after regions_pack_finish() */
  /* For each tile of all planes: its index in `tiles`, or -1. */
  int *tile_of;
  int n_tiles_of;
};

RegionsPack *regions_pack_new (
    const Image *layout, RegionsFilters *filters, Fault *fault);
void regions_pack_free (RegionsPack *pack);

/* Begins a run, or the next batch of one. */
void regions_pack_clear (RegionsPack *pack);

/* Appends parts that cover the whole picture with the color. */
bool regions_pack_color (RegionsPack *pack, const RegionsPlan *plan,
    const RegionsRun *run, Fault *fault);
/* Appends a region, with its fill or, with spec.outside, the source. */
bool regions_pack_place (RegionsPack *pack, RegionsPlan *plan,
    const RegionsRun *run, const RegionsPlace *place, Fault *fault);

/* Finds tiles and lays the block out. */
bool regions_pack_finish (
    RegionsPack *pack, const RegionsRun *run, Fault *fault);
/* Writes all lists to a block of pack->bytes bytes. */
void regions_pack_write (const RegionsPack *pack, uint8_t *block);
