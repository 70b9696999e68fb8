/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strided: rows whose samples lie further apart than they are long, as luma and chroma of YUY2 do, to and from rows of
 * samples next to each other, which vectors need. Two and four times as far apart it is done by vectors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* n samples of one or two bytes, `distance` bytes apart. What lies between them is written again as it was, so that
 * nobody else may write there at that time. */
typedef struct
{
  void (*gather) (
      uint8_t *to, const uint8_t *from, int n, int bytes, ptrdiff_t distance);
  void (*scatter) (
      uint8_t *to, const uint8_t *from, int n, int bytes, ptrdiff_t distance);
} StridedLoops;

/* Those for the best instruction set. */
const StridedLoops *strided_loops (void);

/* Those of each. */
extern const StridedLoops strided_loops_baseline, strided_loops_avx2,
    strided_loops_avx512;
