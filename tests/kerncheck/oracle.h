/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle: what sepconv.h promises, computed the long way.
 *
 * Double precision, no tricks, and nothing shared with the engine but its
 * structs: borders are walked step by step instead of computed. */
#pragma once

#include "sepconv.h"

/* Which sample of a line of n each coordinate stands for: map[k] for coordinate
 * k - before, k in [0, before + n + after); -1 is the border constant. */
void oracle_walk (int *map, int n, int before, int after, SepconvBorder border);

/* The results of a selected channel before rounding, clamped to the code range, each
 * [height][width]. */
typedef struct
{
  double *exact;
  /* Likewise right: differs from `exact` only at UNSHARP's threshold. */
  double *other;
  /* By less than so much may a result be off; of DIRECTION round the circle of codes. */
  double *allowed;
} Oracle;

/* Fill an oracle, to be cleared by the caller. The two compute the same sum: as
 * two passes, or as it is written, which only small images can afford. */
void oracle_two_pass (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel);
void oracle_direct (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel);

/* One of these, by effort. */
void oracle_compute (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel);

void oracle_clear (Oracle *oracle);
