/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* in-place: regions of a picture that is its own result. Tiles read what lies around them, so a
 * kernel first copies what fills read into a picture of the plan, the shadow. What follows reads
 * the shadow, and writes the picture itself where that lies in GPU memory. Pinned memory is read
 * and written once, in vectors as wide as its rows allow: there the result is made in a second picture
 * of the plan, and a last kernel copies it back.
 *
 * These three kernels are short, and wait for the bus. Where their order allows it, runs on pinned
 * memory have streams in turns, each with pictures of its own, and overlap. */
#pragma once

#include "plan.h"

struct RegionsInPlace;

RegionsInPlace *regions_in_place_new (Fault *fault);
void regions_in_place_free (RegionsInPlace *self);

/* Makes its pictures and streams, which runs else make: for a picture in GPU memory, or on the host. */
bool regions_in_place_reserve (RegionsInPlace *self, const RegionsPlan *plan,
    bool in_gpu_memory, GpuOrder order, Fault *fault);

/* What a run in place is between its copies. */
struct RegionsInner
{
  RegionsRun run; /* from src to dst, which has the picture around regions */
  Image src, dst;
  RegionsBeside beside;
};

/* Queues the first kernel, and fills in what is to be queued then. */
bool regions_in_place_begin (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, RegionsInner *inner, Fault *fault);
/* Queues the last one, where there is one, and has run->stream wait for it. */
bool regions_in_place_end (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, const RegionsInner *inner, Fault *fault);
/* Has a run that others overlap wait for all before it, and all behind it wait for it: to be called before it
 * changes memory of the plan that they read, too. Does nothing for other runs. */
bool regions_run_alone (const RegionsRun *run, Fault *fault);
/* After a failure: waits for what was queued elsewhere than on run->stream. */
void regions_in_place_abandon (const RegionsInner *inner);

/* To be called after a run that no other one overlaps: those to come, on other streams, wait for it. */
bool regions_in_place_settle (
    RegionsInPlace *self, GpuStream stream, Fault *fault);
