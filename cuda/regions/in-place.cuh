/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* in-place: regions of a picture that is its own result. Tiles read what lies around them, so a
 * kernel first copies what fills read into a picture of the plan, the shadow. What follows reads
 * the shadow, and writes the picture itself where that lies in GPU memory. Pinned memory is read
 * and written once, in vectors as wide as its rows allow: there the result is made in a second picture
 * of the plan, and a last kernel copies it back. */
#pragma once

#include "plan.h"

struct RegionsInPlace;

RegionsInPlace *regions_in_place_new (Fault *fault);
void regions_in_place_free (RegionsInPlace *self);

/* Makes its pictures, which runs else make: for a picture in GPU memory, or on the host. */
bool regions_in_place_reserve (RegionsInPlace *self, const RegionsPlan *plan,
    bool in_gpu_memory, Fault *fault);

/* What a run in place is between its copies. */
struct RegionsInner
{
  RegionsRun run; /* from src to dst, which has the picture around regions */
  Image src, dst;
};

/* Queues the first kernel, and fills in what is to be queued then. */
bool regions_in_place_begin (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, RegionsInner *inner, Fault *fault);
/* Queues the last one, where there is one. */
bool regions_in_place_end (const RegionsPlan *plan, const RegionsRun *run,
    const RegionsInner *inner, Fault *fault);
