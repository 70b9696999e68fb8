/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* driver-copies on the emulated driver. */
#include "driver-copies.h"

#include "emulated-queue.h"

bool
driver_copies (uint64_t *n)
{
  *n = emulatedCopies ();
  return true;
}
