/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-feeder: frames through the engine's ring, as the elements drive it:
 * one thread submits, another waits. */
#pragma once

#include "transfer-schemes.h"

/* A SchemeRun: with several feeders, each has a ring, two threads, and its share
 * of the frames. */
bool feeder_run (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* A RingCompute, whose user is a SepconvPlan. */
bool feeder_compute (void *user, const RingPart *part, Fault *fault);

/* Frame i of those that use `n_sets` sets of the rig from `first` on. */
RingFrame feeder_frame (
    const Rig *rig, const Scheme *scheme, int set, SepconvPlan *plan);
