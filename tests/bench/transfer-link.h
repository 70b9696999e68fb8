/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-link: how fast the bus is, without any filter. */
#pragma once

#include "bench-measure.h"
#include "transfer-rig.h"

/* GB/s each way. */
typedef struct
{
  BenchSpread up, down;               /* pinned, one way at a time */
  BenchSpread duplex_up, duplex_down; /* pinned, both ways at once */
  BenchSpread pitched_up; /* one way, into rows of 256 bytes' steps */
  BenchSpread pageable_up, pageable_down;
} Link;

/* Copies of the rig's frames for about `seconds` in all. */
bool link_measure (Rig *rig, double seconds, Link *link, Fault *fault);
