/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* alarms: warnings from the histograms of a camera's frames. Pure arithmetic. */
#pragma once

#include "histo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ALARMS_MAX_COMPONENTS 4

/* Thresholds that set each alarm. Levels and spreads are in units of the nominal range: 0
 * is black, 1 is white. An alarm is cleared `hysteresis` beyond its threshold; for the
 * change of a scene the hysteresis is at most half of the threshold. */
typedef struct
{
  double dark;   /* mean level below this: too dark */
  double bright; /* mean level above this: too bright */
  double flat; /* standard deviation below this: flat, as of a covered camera */
  double
      change; /* histo_distance() to the frame before above this: another scene */
  double hysteresis;
} AlarmSettings;

/* One of the components that make up the brightness of a frame. */
typedef struct
{
  double weight;       /* in the brightness; they add up to 1 */
  double black, white; /* codes of the nominal range */
  HistoStatistics statistics;
  double distance; /* from the frame before; 0 for the first */
} AlarmComponent;

/* Starts zeroed: no alarm is on. */
typedef struct
{
  bool too_dark, too_bright, flat;
  bool scene_change; /* with this frame */
  bool changing;     /* the distance has not come down since a scene change */
  double level, spread, distance;
} Alarms;

/* The code at `level` of a nominal range. */
static inline double
alarms_code (double level, double black, double white)
{
  return black + level * (white - black);
}

/* Updates the alarms for the frame that these n >= 1 components belong to: level and
 * distance are the weighted means over the components, spread is the largest one. */
void alarms_update (Alarms *alarms, const AlarmSettings *settings,
    const AlarmComponent *components, int n);

#ifdef __cplusplus
}
#endif
