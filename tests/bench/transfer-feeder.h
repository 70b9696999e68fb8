/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-feeder: frames through the engine's ring, as the elements drive it:
 * one thread submits, another waits. */
#pragma once

#include "transfer-schemes.h"

/* A SchemeRun: with several feeders, each has a ring, two threads, and its share
 * of the frames. */
bool feeder_run (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* A frame in that set of the rig, computed by the plan. */
RingFrame feeder_frame (
    const Rig *rig, const Scheme *scheme, int set, SepconvPlan *plan);
