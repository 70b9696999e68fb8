/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define LIGHT_LOOPS light_loops_baseline
#include "convert-loops.h"

#include "../isa.h"

extern const LightLoops light_loops_avx2, light_loops_avx512;

const LightLoops *
light_loops (void)
{
#ifdef __x86_64__
  if (isa_best () >= ISA_AVX512)
    return &light_loops_avx512;
  if (isa_best () >= ISA_AVX2)
    return &light_loops_avx2;
#endif
  return &light_loops_baseline;
}
