/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of v210 for one instruction set: the build compiles this file for it. */
#define V210_LOOPS v210_loops_avx2
#include "rows-loops.h"
