/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The equaliser's loops for one instruction set: the build compiles this file for it. */
#define REMAP_LOOPS remap_loops_avx2
#include "remap-loops.h"
