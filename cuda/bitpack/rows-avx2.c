/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of bit-packed video for one instruction set: the build compiles this file for it. */
#define BITPACK_LOOPS bitpack_loops_avx2
#include "rows-loops.h"
