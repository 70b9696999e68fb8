/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-host: the host side of direct.cuh. */
#pragma once

#include "filters.cuh"
#include "scratch.cuh"

struct RegionsDirect;

/* Takes all layouts and GPUs; where the kernel cannot work, later calls set *done to false.
 * `filters` are borrowed. */
RegionsDirect *regions_direct_new (
    const Image *layout, const Gpu *gpu, RegionsFilters *filters, Fault *fault);
void regions_direct_free (RegionsDirect *direct);

/* Queues a run, whose last kernel also copies the rest of the picture, unless the run is in place
 * or the plan has filtered the whole picture before. If not *done, no kernel was queued, and
 * pack.cuh has to do the run. */
bool regions_direct_run (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *run, RegionsScratch *scratch, bool *done, Fault *fault);

/* Sets *reads: the kernels of regions_direct_run() would read samples in dst only before they write
 * the same ones, so that a run in place needs no second picture in GPU memory. */
bool regions_direct_reads_itself (RegionsDirect *direct,
    const RegionsPlan *plan, const RegionsRun *run, bool *reads, Fault *fault);

/* Queues only the copy of a whole picture. If not *done, nothing was queued. */
bool regions_direct_copy (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *run, bool *done, Fault *fault);
