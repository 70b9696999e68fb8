/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* convert: the conversions of light.h on the CPU, for each instruction set. Not a public header. */
#pragma once

#include "plan.h"

typedef struct
{
  /* Rows [first, last) of the work picture from src. */
  void (*decode) (const LightPlan *plan, const Image *src, int first, int last);
  /* Groups [first, last) of dst from plan->result: sub_y rows of pixels, with their chroma. */
  void (*encode) (const LightPlan *plan, const Image *dst, int first, int last);
} LightLoops;

/* For the best instruction set that the processor has, or that caps it. */
const LightLoops *light_loops (void);
