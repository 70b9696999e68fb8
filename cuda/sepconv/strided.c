/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define STRIDED_LOOPS strided_loops_baseline
#include "strided-loops.h"

#include "../isa.h"

static const StridedLoops *const loops[ISA_N] = {
  [ISA_BASELINE] = &strided_loops_baseline,
#ifdef __x86_64__
  [ISA_AVX2] = &strided_loops_avx2,
  [ISA_AVX512] = &strided_loops_avx512,
  [ISA_AVX512_VNNI] = &strided_loops_avx512,
  [ISA_AVX512_VBMI] = &strided_loops_avx512,
#endif
};

const StridedLoops *
strided_loops (void)
{
  return loops[isa_best ()];
}
