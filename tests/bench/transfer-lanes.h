/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-lanes: sends frames through plain CUDA streams, each with all stages of its
 * frames, in the issue orders that the literature on overlap compares. */
#pragma once

#include "transfer-schemes.h"

/* One stream: each frame is uploaded, filtered, downloaded and waited for. */
bool lanes_run_serial (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* Depth-first: all stages of a frame are issued at once, frame by frame. Three streams
 * take turns; each frame first waits for the last frame of its stream. */
bool lanes_run_depth_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* Breadth-first: three frames at a time, stage by stage: three uploads (each after the
 * last frame of its stream is complete), three kernels, three downloads. */
bool lanes_run_breadth_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

/* Copy-breadth-first: copies in both directions are issued before the kernels: three
 * uploads, the three downloads of the group before, three kernels. A stream has two
 * frames in flight. */
bool lanes_run_copies_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);
