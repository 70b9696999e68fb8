/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-simd for one instruction set: the build compiles this file for it. */
#define TERMS_KERNELS terms_kernels_avx512_vnni
#include "terms-kernels.h"
