/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write-part: the end of a row that is no multiple of 16 bytes, in kernels that write 16 bytes at a
 * time. */
#pragma once

#include <stdint.h>

/* Writes the first n of 16 bytes, n < 16, to an address that is a multiple of 16. */
__device__ __forceinline__ void
write_part (uint8_t *to, int n, uint4 value)
{
  uint2 two = make_uint2 (value.x, value.y);
  uint32_t one;

  if (n & 8) {
    *(uint2 *) to = two;
    two = make_uint2 (value.z, value.w);
    to += 8;
  }
  one = two.x;
  if (n & 4) {
    *(uint32_t *) to = one;
    one = two.y;
    to += 4;
  }
  if (n & 2) {
    *(uint16_t *) to = (uint16_t) one;
    one >>= 16;
    to += 2;
  }
  if (n & 1)
    *to = (uint8_t) one;
}
