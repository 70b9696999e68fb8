/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conversions of light for one instruction set: the build compiles this file for it. */
#define LIGHT_LOOPS light_loops_avx2
#include "convert-loops.h"
