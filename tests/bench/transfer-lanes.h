/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-lanes: frames through plain streams, each with all stages of its
 * frames, in the orders of issue that the literature on overlap compares. */
#pragma once

#include "transfer-schemes.h"

/* One lane: each frame goes up, is filtered, comes down and is waited for. */
bool lanes_run_serial (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* Depth-first: frame by frame, all stages of a frame at once, each frame in the
 * stream of the third before it, which has been waited for. */
bool lanes_run_depth_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* Breadth-first: three frames at a time, stage by stage: three ups (each when
 * its stream's last frame is complete), three kernels, three downs. */
bool lanes_run_breadth_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* Copy-breadth-first: the copies of both ways ahead of the kernels: three ups,
 * the three downs of the group before, three kernels. A stream has two frames in
 * flight. */
bool lanes_run_copies_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);
