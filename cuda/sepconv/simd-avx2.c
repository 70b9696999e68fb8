/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* simd for one instruction set: the build compiles this file for it. */
#define ROWS_KERNELS simd_kernels_avx2
#include "rows-kernels.h"
