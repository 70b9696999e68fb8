/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-host: the host side of direct.cuh. */
#pragma once

#include "filters.cuh"

struct RegionsDirect;

/* Works with layouts and GPUs of all kinds, but does nothing on some. `filters` are borrowed. */
RegionsDirect *regions_direct_new (
    const Image *layout, const Gpu *gpu, RegionsFilters *filters, Fault *fault);
void regions_direct_free (RegionsDirect *direct);

/* Queues a run by one kernel, with the copy of all else; of a plan that filters the whole picture only
 * what follows that. Where not *done, nothing was queued, and pack.cuh has to. */
bool regions_direct_run (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *run, bool *done, Fault *fault);

/* Queues only the copy of a whole picture, if it can. */
bool regions_direct_copy (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *run, bool *done, Fault *fault);
