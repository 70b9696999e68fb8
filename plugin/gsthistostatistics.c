/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistostatistics.h"

void
gst_histo_statistics_update (GstHistoStatistics *self,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    GBytes *counts, GBytes *last)
{
  const gint bins = components->bins;
  AlarmComponent bright[GST_VIDEO_MAX_COMPONENTS];
  gint n = 0;

  for (gint i = 0; i < components->n_components; i++) {
    const guint64 *now = gst_histo_components_counts_of (components, i, counts);
    const gdouble black = components->component[i].black;
    const gdouble white = components->component[i].white;

    self->component[i] =
        histo_statistics (now, bins, components->component[i].depth,
            alarms_code (thresholds->dark, black, white),
            alarms_code (thresholds->bright, black, white));
    if (components->component[i].weight == 0.0)
      continue;
    bright[n++] = (AlarmComponent){ components->component[i].weight, black,
      white, self->component[i],
      last == NULL
          ? 0.0
          : histo_distance (now,
              gst_histo_components_counts_of (components, i, last), bins) };
  }
  if (n > 0)
    alarms_update (&self->alarms, &thresholds->alarms, bright, n);
}
