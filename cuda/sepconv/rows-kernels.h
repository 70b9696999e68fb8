/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-kernels: the inner loops of rows.c for the instruction set that the including file is
 * compiled for. That file defines ROWS_KERNELS, the name of the RowsKernels. */
#include "rows.h"

#include "border.h"

#include <math.h>
#include <string.h>

/* Rows of the result for which columns are summed at a time: their sums fit the first-level
 * cache. */
#define COLUMN_ROWS 64

/* Bytes of a vector. Compilers would keep vectors wider than the instruction set's in memory. */
#if defined __AVX512BW__
#define VECTOR_BYTES 64
#elif defined __AVX2__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
/* Vectors of sums at a time: each takes two registers. */
#define AT_ONCE 4

#define SUM float
#define NAME(name) name##_float
#include "rows-sums.h"
#undef SUM
#undef NAME
#undef SUM_RUN

#define SUM double
#define NAME(name) name##_double
#include "rows-sums.h"
#undef SUM
#undef NAME
#undef SUM_RUN

#if defined __SSE2__ || defined __aarch64__
#define HAS_CODES
#include "rows-codes.h"
#endif

#ifdef __SSE2__
#define HAS_AVERAGES
#include "rows-averages-kernels.h"
#endif

const RowsKernels ROWS_KERNELS = {
  .prepare_float = prepare_float,
  .prepare_double = prepare_double,
  .filter_float = filter_slabs_float,
  .filter_double = filter_slabs_double,
#ifdef HAS_CODES
  .filter_codes = filter_codes_bands,
#endif
#ifdef HAS_AVERAGES
  .averages = &averages_kernels,
#endif
};
