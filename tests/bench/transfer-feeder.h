/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-feeder: sends frames through the engine's ring as the elements do: one
 * thread submits, another waits. */
#pragma once

#include "transfer-schemes.h"

/* A SchemeRun. With several feeders, each has its own ring, two threads, and its share
 * of the frames. */
bool feeder_run (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* A frame in set number `set` of the rig, computed by the plan. */
RingFrame feeder_frame (
    const Rig *rig, const Scheme *scheme, int set, SepconvPlan *plan);
