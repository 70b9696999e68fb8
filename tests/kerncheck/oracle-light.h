/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* oracle-light: what light.h promises, computed the long way in double precision, for every sample
 * the codes that are right. */
#pragma once

#include "light.h"
#include "verdict.h"

/* Judges a run: channels that are written are within light.h's bounds, and have no bits below the
 * code; the others are as they were. */
void light_oracle_judge (Verdict *verdict, const LightSpec *spec,
    const Image *src, const Image *dst);

/* The channel of a role; false: there is none. */
bool light_oracle_find (const LightSpec *spec, const Image *layout,
    LightRole role, int *plane, int *channel);
