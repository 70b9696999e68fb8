/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fault-fixture: the fault points of the emulated GPU, found by their names, since the
 * suite runs over real drivers, too. See emulated-faults.h. */
#pragma once

#include "emulated-faults.h"

#include <glib.h>

typedef struct
{
  void (*arm) (unsigned kinds, long n, int lasting);
  const char *(*fired) (unsigned *kind);
  void (*live) (EmulatedLive *live);
  void (*most_memory) (size_t *device, size_t *pinned);
} FaultPoints;

/* NULL: the driver is not the emulated one. It must be loaded. */
const FaultPoints *fault_points (void);
