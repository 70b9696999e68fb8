/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* isa: the instruction sets that methods of the CPU may use. */
#pragma once

#include "fault.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In ascending order: each includes all before it. */
typedef enum
{
  ISA_BASELINE, /* the build's target: SSE2 on x86-64, NEON on 64-bit Arm */
  ISA_AVX2,     /* with FMA */
  ISA_AVX512,   /* F, BW, DQ and VL */
  ISA_AVX512_VNNI,
  ISA_AVX512_VBMI, /* with VNNI */
  ISA_N
} Isa;

/* "baseline", "avx2", "avx512", "avx512-vnni", "avx512-vbmi" */
const char *isa_name (Isa isa);

/* Whether this processor has the instruction set, whatever the cap. */
bool isa_is_there (Isa isa);

/* The best instruction set that this processor has and the cap allows. */
Isa isa_best (void);

/* Caps the instruction set of plans that are made from now on. The environment variable
 * CUDASEPCONV_ISA, if not empty, names the initial cap. Returns false if there is no such
 * name. Any thread. */
bool isa_cap (const char *name);

/* Whether CUDASEPCONV_ISA is a valid name, empty or not set. With any other value, plans of filters
 * and equalisers on the CPU cannot be made: FAULT_SETTINGS. Any thread. */
bool isa_check_environment (Fault *fault);

#ifdef __cplusplus
}
#endif
