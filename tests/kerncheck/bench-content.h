/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-content: what pictures show, as far as the time of a histogram depends on
 * it: how many samples that are counted together fall into the same bins. */
#pragma once

#include "image.h"

typedef enum
{
  BENCH_NOISE,    /* all codes alike: few meet */
  BENCH_CONSTANT, /* one code: all meet */
  BENCH_TWO,      /* one of two codes by chance: half of all meet */
  BENCH_RAMP,     /* from left to right: neighbours meet */
  BENCH_NATURAL,  /* smooth, with a bell of codes and some grain */
  BENCH_N_CONTENTS
} BenchContent;

const char *bench_content_name (BenchContent content);
bool bench_content_by_name (const char *name, BenchContent *content);

/* Every sample of an image in host memory; the same each time. Bits below the
 * codes are 0. */
void bench_content_paint (const Image *image, BenchContent content);
