/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define BITPACK_LOOPS bitpack_loops_baseline
#include "rows-loops.h"

#include "../isa.h"

extern const BitpackLoops bitpack_loops_avx2, bitpack_loops_avx512;

const BitpackLoops *
bitpack_loops (void)
{
#ifdef __x86_64__
  if (isa_best () >= ISA_AVX512)
    return &bitpack_loops_avx512;
  if (isa_best () >= ISA_AVX2)
    return &bitpack_loops_avx2;
#endif
  return &bitpack_loops_baseline;
}
