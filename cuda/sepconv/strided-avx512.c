/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loops of strided for one instruction set: the build compiles this file for it. */
#define STRIDED_LOOPS strided_loops_avx512
#include "strided-loops.h"
