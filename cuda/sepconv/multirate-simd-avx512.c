/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-simd for one instruction set: the build compiles this file for it. */
#define MULTIRATE_KERNELS multirate_kernels_avx512
#include "multirate-kernels.h"
