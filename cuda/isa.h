/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* isa: which of the processor's instruction sets the CPU's methods may use. */
#pragma once

#include "fault.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In this order: each has all of those before it. */
typedef enum
{
  ISA_BASELINE, /* what the build is for: SSE2 on x86-64, NEON on 64-bit Arm */
  ISA_AVX2,     /* with FMA */
  ISA_AVX512,   /* F, BW, DQ and VL */
  ISA_AVX512_VNNI,
  ISA_AVX512_VBMI, /* with VNNI */
  ISA_N
} Isa;

/* "baseline", "avx2", "avx512", "avx512-vnni", "avx512-vbmi" */
const char *isa_name (Isa isa);

/* Whether this processor has it; a cap does not matter. */
bool isa_is_there (Isa isa);

/* The best that this processor has, or what caps it. */
Isa isa_best (void);

/* No more than this is used from now on, by plans that are made later. The environment
 * variable CUDASEPCONV_ISA, a name, says so from the start, if it is not empty.
 * Returns false if there is no such name. Any thread. */
bool isa_cap (const char *name);

/* Whether CUDASEPCONV_ISA is a name, empty or not set. With any other value the CPU's filters and
 * equalisers cannot be planned: FAULT_SETTINGS. Any thread. */
bool isa_check_environment (Fault *fault);

#ifdef __cplusplus
}
#endif
