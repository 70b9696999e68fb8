/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-latency: time of a lone frame, on an idle machine and after a pause. */
#pragma once

#include "bench-measure.h"
#include "transfer-schemes.h"

/* In nanoseconds. */
typedef struct
{
  BenchSpread up, kernel, down; /* device time of each stage by itself */
  BenchSpread series;           /* all three in one stream; waits by spinning */
  BenchSpread series_sleeping;  /* the same; waits by sleeping */
} LatencySeries;

bool latency_measure_series (
    Rig *rig, double seconds, LatencySeries *series, Fault *fault);

/* Time from ring_submit() to the return of ring_wait(), on an idle ring of one slot. */
bool latency_measure_ring (Rig *rig, const Scheme *scheme, double seconds,
    BenchSpread *latency, Fault *fault);
