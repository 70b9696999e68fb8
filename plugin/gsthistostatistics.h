/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistostatistics: the numbers and alarms that follow from the counters of a frame. */
#pragma once

#include "alarms.h"
#include "gsthistocomponents.h"

G_BEGIN_DECLS

/* Samples up to the level `dark`, and those from `bright` on, count as clipped. Levels are
 * in units of the nominal range. */
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

/* Called for one counted frame after the other: `self` holds the statistics of the frame
 * before, zeroed to begin with, and `last` its counters, or NULL for a first frame. */
void gst_histo_statistics_update (GstHistoStatistics *self,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    GBytes *counts, GBytes *last);

G_END_DECLS
