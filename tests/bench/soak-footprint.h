/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak-footprint: what this process holds of the machine. */
#pragma once

#include <glib.h>

typedef struct
{
  gdouble resident_kib;
  gint threads, descriptors;
  gdouble device_kib; /* in use by all; -1: not to be had */
} SoakFootprint;

SoakFootprint soak_footprint (void);
/* Its device_kib alone, at once. */
gdouble soak_footprint_device_kib (void);
