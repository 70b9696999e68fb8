/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle-light: the result that light.h promises, computed naively in double precision: for every
 * sample, the codes that are correct. */
#pragma once

#include "light.h"
#include "verdict.h"

/* Judges a run: channels that are written must be within light.h's bounds and have no bits below
 * the code; all other channels must be unchanged. */
void light_oracle_judge (Verdict *verdict, const LightSpec *spec,
    const Image *src, const Image *dst);

/* Finds the channel of a role; returns false when there is none. */
bool light_oracle_find (const LightSpec *spec, const Image *layout,
    LightRole role, int *plane, int *channel);
