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

/* The results of a selected channel before rounding, clamped to the code range;
 * [height][width], to be freed by the caller. The two compute the same sum: as
 * two passes, or as it is written, which only small images can afford. */
double *oracle_two_pass (
    const SepconvSpec *spec, const Image *src, int plane, int channel);
double *oracle_direct (
    const SepconvSpec *spec, const Image *src, int plane, int channel);

/* One of these, by effort. */
double *oracle_compute (
    const SepconvSpec *spec, const Image *src, int plane, int channel);
