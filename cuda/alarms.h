/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* alarms: what the histograms of a camera's frames warn of. Pure arithmetic. */
#pragma once

#include "histo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ALARMS_MAX_COMPONENTS 4

/* Where each alarm goes on. Levels and spreads are in units of the nominal range: 0 is
 * black, 1 is white. An alarm goes off again `hysteresis` beyond its threshold; that
 * of a scene no further than half of its threshold. */
typedef struct
{
  double dark;   /* mean level below this: too dark */
  double bright; /* mean level above this: too bright */
  double flat; /* standard deviation below this: flat, as of a covered camera */
  double
      change; /* histo_distance() to the frame before above this: another scene */
  double hysteresis;
} AlarmSettings;

/* One component of a frame, of those that make up its brightness. */
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

/* Brings the alarms up to the frame that these n >= 1 components are of: level and
 * distance are weighted means of theirs, spread is the largest. */
void alarms_update (Alarms *alarms, const AlarmSettings *settings,
    const AlarmComponent *components, int n);

#ifdef __cplusplus
}
#endif
