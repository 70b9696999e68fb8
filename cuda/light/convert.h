/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* convert: the conversions of light.h on the CPU, for each instruction set. Not a public header. */
#pragma once

#include "plan.h"

typedef struct
{
  /* Makes rows [first, last) of the work picture from src. */
  void (*decode) (const LightPlan *plan, const Image *src, int first, int last);
  /* Makes groups [first, last) of dst from plan->result. A group is sub_y rows of pixels, with
   * their chroma. */
  void (*encode) (const LightPlan *plan, const Image *dst, int first, int last);
} LightLoops;

/* The loops for isa_best(): the best instruction set that the processor has and no cap
 * excludes. */
const LightLoops *light_loops (void);
