/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "alarms.h"

#include <math.h>

/* Whether an alarm is on from now: it was `on` or not, and its value exceeds the threshold by
 * `excess`. */
static bool
exceeds (bool on, double excess, double hysteresis)
{
  return on ? excess >= -hysteresis : excess > 0.0;
}

void
alarms_update (Alarms *alarms, const AlarmSettings *settings,
    const AlarmComponent *components, int n)
{
  const double h = settings->hysteresis;
  /* At most half the threshold: a distance is never negative, and must be able to clear the alarm
   * between two scenes. */
  const double calm = fmin (h, 0.5 * settings->change);
  const bool was_changing = alarms->changing;

  alarms->level = alarms->spread = alarms->distance = 0.0;
  for (int i = 0; i < n; i++) {
    const AlarmComponent *c = &components[i];
    const double range = c->white - c->black;

    alarms->level += c->weight * (c->statistics.mean - c->black) / range;
    alarms->spread = fmax (alarms->spread, c->statistics.stddev / range);
    alarms->distance += c->weight * c->distance;
  }
  alarms->too_dark =
      exceeds (alarms->too_dark, settings->dark - alarms->level, h);
  alarms->too_bright =
      exceeds (alarms->too_bright, alarms->level - settings->bright, h);
  alarms->flat = exceeds (alarms->flat, settings->flat - alarms->spread, h);
  alarms->changing =
      alarms->distance > settings->change - (was_changing ? calm : 0.0);
  alarms->scene_change = alarms->changing && !was_changing;
}
