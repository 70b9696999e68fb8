/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-simd for one instruction set: the build compiles this file for it. */
#define RUNNING_KERNELS running_kernels_avx512
#include "running-kernels.h"
