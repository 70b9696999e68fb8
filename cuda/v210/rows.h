/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows: rows of v210 on the CPU, for each instruction set. Not a public header. */
#pragma once

#include <stdint.h>

/* A row of planes: `width` samples of Y, half as many, rounded up, of U and V. */
typedef struct
{
  uint16_t *y, *u, *v;
  int width;
} V210Row;

/* Fills one of the two from the other; `samples` has room for those of all groups, twelve each. */
typedef void (*V210Loop) (
    const V210Row *row, uint8_t *packed, uint16_t *samples);

typedef struct
{
  V210Loop unpack, pack;
} V210Loops;

/* For the best instruction set that the processor has, or that caps it. */
const V210Loops *v210_loops (void);
