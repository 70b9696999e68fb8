/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-latency: how long one frame takes that has the machine to itself, and comes
 * after a pause. */
#pragma once

#include "bench-measure.h"
#include "transfer-schemes.h"

/* Nanoseconds. */
typedef struct
{
  BenchSpread up, kernel, down; /* of the device, each for itself */
  BenchSpread series;           /* all three in one stream, and a spin */
  BenchSpread series_sleeping;  /* the same, and sleeping */
} LatencySeries;

bool latency_measure_series (
    Rig *rig, double seconds, LatencySeries *series, Fault *fault);

/* From ring_submit() to the return of ring_wait(), on an idle ring of one slot. */
bool latency_measure_ring (Rig *rig, const Scheme *scheme, double seconds,
    BenchSpread *latency, Fault *fault);
