/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* driver-copies for a real driver, which does not count. */
#include "driver-copies.h"

bool
driver_copies (uint64_t *n)
{
  *n = 0;
  return false;
}
