/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strided: copies between rows whose samples lie further apart than they are long, as luma and
 * chroma of YUY2 do, and rows of adjacent samples, which vectors need. Vectors do it for
 * samples two and four times as far apart as they are long. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Both copy n samples of one or two bytes, which lie `distance` bytes apart at `from` of
 * gather() and at `to` of scatter(). scatter() writes the bytes between them again as they
 * were: no other thread may write there at the same time. */
typedef struct
{
  void (*gather) (
      uint8_t *to, const uint8_t *from, int n, int bytes, ptrdiff_t distance);
  void (*scatter) (
      uint8_t *to, const uint8_t *from, int n, int bytes, ptrdiff_t distance);
} StridedLoops;

/* The loops for the best instruction set of the processor. */
const StridedLoops *strided_loops (void);

/* The loops of each instruction set. */
extern const StridedLoops strided_loops_baseline, strided_loops_avx2,
    strided_loops_avx512;
