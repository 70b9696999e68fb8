/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistostatistics: the statistics and alarms that follow from the counters of a frame. */
#pragma once

#include "alarms.h"
#include "gsthistocomponents.h"

G_BEGIN_DECLS

/* Samples at or below the level `dark`, and those at or above `bright`, count as clipped.
 * Levels are in units of the nominal range. */
typedef struct
{
  gdouble dark, bright;
  AlarmSettings alarms;
} GstHistoThresholds;

/* The statistics of one frame. */
typedef struct
{
  HistoStatistics component[GST_VIDEO_MAX_COMPONENTS];
  Alarms alarms;
} GstHistoStatistics;

/* Updates `self` from the statistics of the last counted frame to those of this one. `self` is
 * zeroed before the first frame. `last`: the counters of the last frame, or NULL. */
void gst_histo_statistics_update (GstHistoStatistics *self,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    GBytes *counts, GBytes *last);

G_END_DECLS
