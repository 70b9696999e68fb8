/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows: rows of bit-packed video on the CPU, for each instruction set. Not a public header. */
#pragma once

#include "plan.h"

/* A row of the planes or, for kinds that go by memories, of one memory. */
typedef struct
{
  const BitpackShape *shape;
  /* Samples of two bytes, or of one byte for HALFWORDS. Alpha may be NULL; a memory has its
   * samples in color[0]. */
  void *color[3], *alpha;
  int width;  /* pixels; or samples */
  int shift;  /* of a memory's codes, bits */
} BitpackRow;

/* Fills the row from `packed`, or `packed` from the row; `samples` is a scratch row of
 * BITPACK_ROW_SAMPLES() samples. */
typedef void (*BitpackLoop) (
    const BitpackRow *row, uint8_t *packed, uint16_t *samples);

typedef struct
{
  BitpackLoop unpack[BITPACK_N_KINDS], pack[BITPACK_N_KINDS];
} BitpackLoops;

/* Room for two samples per pixel of 4:2:2, rounded up to whole groups of six pixels. */
#define BITPACK_ROW_SAMPLES(width) (2 * ((width) + 5))

/* The loops for isa_best(): the best instruction set that the processor has and no cap
 * excludes. */
const BitpackLoops *bitpack_loops (void);
