/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpustats: counts and times of an element since its start, for the property stats. */
#pragma once

#include <gst/gst.h>

#include "ring.h"

G_BEGIN_DECLS

/* All zero at the start. The owner provides the lock. */
typedef struct
{
  RingStats past;    /* sums over the rings that have been freed */
  guint64 untouched; /* frames that passed without a ring */
} GstGpuStats;

/* Adds the counts of a ring that is about to be freed. */
void gst_gpu_stats_add_ring (GstGpuStats *self, Ring *ring);

/* Returns the structure of the property; `ring` is the one in use, or NULL. */
GstStructure *gst_gpu_stats_to_structure (const GstGpuStats *self, Ring *ring);

G_END_DECLS
