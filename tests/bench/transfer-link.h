/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-link: transfer rates of the bus, without any filter. */
#pragma once

#include "bench-measure.h"
#include "transfer-rig.h"

/* Rates in GB/s, for each direction. */
typedef struct
{
  BenchSpread up, down;               /* pinned, one direction at a time */
  BenchSpread duplex_up, duplex_down; /* pinned, both directions at once */
  BenchSpread pitched_up; /* one direction, rows with pitch % 256 == 0 */
  BenchSpread pageable_up, pageable_down;
} Link;

/* Copies the rig's frames for about `seconds` in all. */
bool link_measure (Rig *rig, double seconds, Link *link, Fault *fault);
