/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows: rows of bit-packed video on the CPU, for each instruction set. Not a public header. */
#pragma once

#include "plan.h"

/* A row of planes, or of one memory. */
typedef struct
{
  const BitpackShape *shape;
  uint16_t *color[3],
      *alpha; /* or NULL; of a memory, its samples are the first */
  int width;  /* pixels; or samples */
  int shift;  /* of a memory */
} BitpackRow;

/* Fills one of the two from the other; `samples` has room for BITPACK_ROW_SAMPLES(). */
typedef void (*BitpackLoop) (
    const BitpackRow *row, uint8_t *packed, uint16_t *samples);

typedef struct
{
  BitpackLoop unpack[BITPACK_N_KINDS], pack[BITPACK_N_KINDS];
} BitpackLoops;

/* Two for a pixel of 4:2:2, in groups of six. */
#define BITPACK_ROW_SAMPLES(width) (2 * ((width) + 5))

/* For the best instruction set that the processor has, or that caps it. */
const BitpackLoops *bitpack_loops (void);
