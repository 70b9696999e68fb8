/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-kernels: the inner loops of terms-simd.c for the instruction set that the including file
 * is compiled for. It defines TERMS_KERNELS, the name of the TermsKernels. */
#include "terms-rows.h"

#include "border.h"

#include <math.h>
#include <string.h>

/* Bytes of a vector. The compiler would keep vectors wider than the instruction set's in
 * memory. */
#if defined __AVX512BW__
#define VECTOR_BYTES 64
#elif defined __AVX2__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
/* Vectors of sums at a time: there are registers for twice as many. */
#define AT_ONCE 4

#define SUM float
#define NAME(name) name##_float
#define ROOT(x) sqrtf (x)
#include "terms-sums.h"
#undef SUM
#undef NAME
#undef ROOT
#undef SUM_RUN

#define SUM double
#define NAME(name) name##_double
#define ROOT(x) sqrt (x)
#include "terms-sums.h"
#undef SUM
#undef NAME
#undef ROOT
#undef SUM_RUN

#ifdef __SSE2__
#define HAS_CODES
#include "terms-pixels.h"
#endif

#ifdef __AVX2__
#define HAS_AVERAGES
#define SHARPENS
#include "rows-averages-kernels.h"
#endif

const TermsKernels TERMS_KERNELS = {
  .filter_float = filter_bands_float,
  .filter_double = filter_bands_double,
#ifdef HAS_CODES
  .filter_codes = filter_codes_bands,
#endif
#ifdef HAS_AVERAGES
  .averages = &averages_kernels,
#endif
};
