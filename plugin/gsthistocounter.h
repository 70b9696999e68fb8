/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistocounter: the histograms of an element's frames: what is counted, the
 * results of those in flight, and telling them, as message and meta. */
#pragma once

#include "gstgpufilter.h"
#include "gsthistosettings.h"

G_BEGIN_DECLS

typedef struct
{
  GstGpuFilter *filter; /* that it is a part of */

  /* Protected by the filter's object lock. */
  GstHistoSettings settings;
  gboolean dirty; /* what is counted has changed */

  /* Of the streaming thread; the pusher reads components, and the results of its
   * frame's place. */
  GstHistoComponents components;
  HistoPlan *plan; /* of the settings, unless dirty */
  HistoResult **results;
  guint n_results;
  gboolean told;
  GstClockTime last_interval; /* the setting, for the last frame */
  gboolean have_index;        /* a frame with a timestamp has come */
  guint64 last_index;         /* of the interval that this frame lies in */
  GstClockTime last_arrival;  /* of the last wanted frame, on the monotonic
                               * clock, or GST_CLOCK_TIME_NONE */

  /* Of the pusher, and of others while no frame is in flight. */
  GstHistoStatistics statistics;
  GBytes *last; /* counters of the frame of the last message, or NULL */
} GstHistoCounter;

/* With the settings' defaults. */
void gst_histo_counter_init (GstHistoCounter *self, GstGpuFilter *filter);

/* For the element's own functions, with the filter's object lock held. FALSE: the id is
 * none of the properties that gst_histo_settings_install() or its sibling installs. */
gboolean gst_histo_counter_set_property (
    GstHistoCounter *self, guint id, const GValue *value);
gboolean gst_histo_counter_get_property (
    const GstHistoCounter *self, guint id, GValue *value);

/* With the filter's object lock held: whether what is counted is told at all. */
gboolean gst_histo_counter_is_wanted (const GstHistoCounter *self);

/* For a vfunc wanted_backend. */
GstGpuFilterBackend gst_histo_counter_wanted_backend (GstHistoCounter *self);

/* Streaming thread, GPU's context pushed. Makes plan and results for the settings if
 * they are for others, after *before_remake (may be NULL) with no frame in flight.
 * After a failure the next call tries anew. */
gboolean gst_histo_counter_follow (GstHistoCounter *self,
    void (*before_remake) (GstGpuFilter *filter), Fault *fault);
/* Frees them and forgets the frames before; none is in flight. */
void gst_histo_counter_release (GstHistoCounter *self);
/* Running time starts anew; no frame is in flight. */
void gst_histo_counter_restart (GstHistoCounter *self);

/* Frames from now on do not compare with those before. The pusher, or no frame is in
 * flight. */
void gst_histo_counter_forget (GstHistoCounter *self);
/* Streaming thread: whether the frames from now on are told of at all. Those before ones
 * that are not are forgotten. */
void gst_histo_counter_set_told (GstHistoCounter *self, gboolean told);

/* Forgets both. No frame is in flight. */
void gst_histo_counter_begin_anew (GstHistoCounter *self);

/* Streaming thread; called once for each frame: whether it is reported. It is if it is
 * the first in its interval of running time, or of its timestamp if there is no running
 * time. A frame without a timestamp is reported when the interval has passed since the
 * last reported frame arrived. */
gboolean gst_histo_counter_wants (
    GstHistoCounter *self, const GstBuffer *buffer);
/* Queues the counting of an image, as a vfunc compute does. NULL: it failed. */
const HistoResult *gst_histo_counter_count (GstHistoCounter *self,
    const Image *image, guint place, GpuStream stream, GpuOrder order,
    Fault *fault);
/* For who counts it otherwise; they are made by gst_histo_counter_follow(). */
HistoPlan *gst_histo_counter_get_plan (GstHistoCounter *self);
HistoResult *gst_histo_counter_get_result (GstHistoCounter *self, guint place);
/* Pusher: tells of the frame in this place, which has been counted. Returns the message
 * that is to be posted, or NULL. */
GstMessage *gst_histo_counter_tell (
    GstHistoCounter *self, guint place, GstBuffer **buffer);

G_END_DECLS
