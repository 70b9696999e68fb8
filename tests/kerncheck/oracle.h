/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle: the result that sepconv.h promises, computed naively.
 *
 * Double precision, without optimisations. Only structs are shared with the engine;
 * borders are walked step by step instead of computed. */
#pragma once

#include "sepconv.h"

/* Maps coordinates to samples of a line of n: map[k] is the sample for coordinate k -
 * before, k in [0, before + n + after); -1 is the border constant. */
void oracle_walk (int *map, int n, int before, int after, SepconvBorder border);

/* The results of a selected channel before rounding, clamped to the code range, each
 * [height][width]. */
typedef struct
{
  double *exact;
  /* Also correct: differs from `exact` only next to UNSHARP's threshold. */
  double *other;
  /* A correct result is off by less than this; for DIRECTION, measured on the circle of
   * codes. */
  double *allowed;
} Oracle;

/* Each fills an oracle, which the caller clears. Both compute the same sum: in two
 * passes, or directly by its definition, which is affordable for small images only. */
void oracle_two_pass (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel);
void oracle_direct (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel);

/* Chooses one of the two by effort. */
void oracle_compute (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel);

void oracle_clear (Oracle *oracle);
