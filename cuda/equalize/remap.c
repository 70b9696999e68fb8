/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define REMAP_LOOPS remap_loops_baseline
#include "remap-loops.h"

#include "../isa.h"

extern const RemapLoops remap_loops_avx2, remap_loops_avx512,
    remap_loops_avx512_vbmi;

static const RemapLoops *const loops[ISA_N] = {
  [ISA_BASELINE] = &remap_loops_baseline,
#ifdef __x86_64__
  [ISA_AVX2] = &remap_loops_avx2,
  [ISA_AVX512] = &remap_loops_avx512,
  [ISA_AVX512_VNNI] = &remap_loops_avx512,
  [ISA_AVX512_VBMI] = &remap_loops_avx512_vbmi,
#endif
};

const RemapLoops *
remap_loops (void)
{
  return loops[isa_best ()];
}
