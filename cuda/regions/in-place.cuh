/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* in-place: regions of a picture that is its own result. Tiles read samples around them, so a
 * kernel first copies what fills read into a picture of the plan, the shadow. The main kernels
 * read the shadow, and write the picture itself if it lies in GPU memory; there, runs that
 * regions_direct_reads_itself() accepts need no shadow. Pinned memory is read and written only
 * once, in vectors as wide as its rows allow: there the result is made in a second picture of the
 * plan, and a last kernel copies it back.
 *
 * These kernels are short, and wait for the bus. Where their order allows it, runs on pinned
 * memory alternate between streams, each with its own pictures, and overlap. */
#pragma once

#include "plan.h"

struct RegionsInPlace;

RegionsInPlace *regions_in_place_new (Fault *fault);
void regions_in_place_free (RegionsInPlace *self);

/* Makes the pictures and streams that the first run would make otherwise, for a picture in GPU
 * memory or on the host. */
bool regions_in_place_reserve (RegionsInPlace *self, const RegionsPlan *plan,
    bool in_gpu_memory, GpuOrder order, Fault *fault);

/* The run between the copies of a run in place. */
struct RegionsInner
{
  RegionsRun run; /* from src to dst, which has the picture around regions */
  Image src, dst;
  RegionsBeside beside;
};

/* Whether the picture of a run is in GPU memory. */
bool regions_in_place_find (const RegionsRun *run, bool *on_gpu, Fault *fault);
/* Queues the first copy, and fills in the run to be queued after it. `on_gpu` as above. */
bool regions_in_place_begin (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, bool on_gpu, RegionsInner *inner, Fault *fault);
/* Queues the last copy, if one is needed, and makes run->stream wait for it. */
bool regions_in_place_end (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, const RegionsInner *inner, Fault *fault);
/* Makes an overlapped run wait for all runs before it, and all later runs wait for it. To be
 * called before the run changes memory of the plan that other runs read, too. Does nothing for
 * other runs. */
bool regions_run_alone (const RegionsRun *run, Fault *fault);
/* After a failure: waits for the work that was queued on other streams than the caller's. */
void regions_in_place_abandon (const RegionsInner *inner);

/* To be called after a run that is not overlapped: later runs on other streams wait for it. */
bool regions_in_place_settle (
    RegionsInPlace *self, GpuStream stream, Fault *fault);
