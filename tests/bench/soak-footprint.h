/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak-footprint: the machine's resources that this process holds. */
#pragma once

#include <glib.h>

typedef struct
{
  gdouble resident_kib;
  gint threads, descriptors;
  gdouble device_kib; /* in use by all processes; -1: not known */
} SoakFootprint;

SoakFootprint soak_footprint (void);
/* Measures device_kib alone, at once. */
gdouble soak_footprint_device_kib (void);
