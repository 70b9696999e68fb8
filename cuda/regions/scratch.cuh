/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scratch: GPU memory for what a run's kernels leave for the kernels behind them. Each run in
 * flight has its own, which grows as needed and is kept. */
#pragma once

#include "device.cuh"
#include "in-place.cuh"

#include "../gpu.h"

/* Starts zeroed; regions_scratch_free() frees it. */
struct RegionsScratch
{
  struct
  {
    void *data;
    size_t bytes;
  } set[REGIONS_OVERLAPPING];
};

static inline void
regions_scratch_free (RegionsScratch *scratch)
{
  for (auto &set : scratch->set)
    gpu_free (set.data);
}

/* Sets *data to at least `bytes` bytes for a run. Runs overlap only while this is no more memory
 * than their pictures take. */
static inline bool
regions_scratch_reserve (RegionsScratch *scratch, const RegionsPlan *plan,
    const RegionsRun *run, size_t bytes, void **data, Fault *fault)
{
  if (bytes > image_bytes (&plan->layout) && !regions_run_alone (run, fault))
    return false;

  const bool alone = run->beside != NULL && run->beside->alone;
  auto &set = scratch->set[alone ? 0 : regions_set (run)];

  if (bytes > set.bytes) {
    if (!gpu_stream_synchronize (run->stream, fault))
      return false;
    gpu_free (set.data);
    set.bytes = 0;
    set.data = gpu_malloc (bytes + bytes / 4, fault);
    if (set.data == NULL)
      return false;
    set.bytes = bytes + bytes / 4;
  }
  *data = set.data;
  return true;
}
