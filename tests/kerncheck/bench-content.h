/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-content: picture contents. The time of a histogram depends on how many samples
 * that are counted at the same time fall into the same bin. */
#pragma once

#include "image.h"

typedef enum
{
  BENCH_NOISE,    /* uniform over all codes: few collisions */
  BENCH_CONSTANT, /* one code: all samples collide */
  BENCH_TWO,      /* one of two codes at random: half of all collide */
  BENCH_RAMP,     /* from left to right: neighbours collide */
  BENCH_NATURAL,  /* smooth, codes distributed like a bell, some grain */
  BENCH_N_CONTENTS
} BenchContent;

const char *bench_content_name (BenchContent content);
bool bench_content_by_name (const char *name, BenchContent *content);

/* Paints every sample of an image in host memory; the result is the same each time.
 * Bits below the codes are 0. */
void bench_content_paint (const Image *image, BenchContent content);
