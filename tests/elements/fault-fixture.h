/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fault-fixture: the fault points of the emulated GPU (see emulated-faults.h), looked
 * up by name at run time, since the suite also runs with real drivers. */
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

/* Returns NULL when the driver is not the emulated one. The driver must be loaded. */
const FaultPoints *fault_points (void);
