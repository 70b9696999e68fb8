/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define V210_LOOPS v210_loops_baseline
#include "rows-loops.h"

#include "../isa.h"

extern const V210Loops v210_loops_avx2, v210_loops_avx512;

const V210Loops *
v210_loops (void)
{
#ifdef __x86_64__
  if (isa_best () >= ISA_AVX512)
    return &v210_loops_avx512;
  if (isa_best () >= ISA_AVX2)
    return &v210_loops_avx2;
#endif
  return &v210_loops_baseline;
}
