/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistocounter: counts the histograms of an element's frames and reports them, as
 * messages and metas. */
#pragma once

#include "gstgpufilter.h"
#include "gsthistosettings.h"

G_BEGIN_DECLS

typedef struct
{
  GstGpuFilter *filter; /* the element; it owns the counter */

  /* Protected by the filter's object lock. */
  GstHistoSettings settings;
  gboolean dirty; /* the plan does not fit the settings any more */

  /* Streaming thread. The pusher reads the components, and the result of the frame that
   * it finishes. */
  GstHistoComponents components;
  HistoPlan *plan;       /* fits the settings, unless dirty */
  HistoResult **results; /* [n_results], one for each frame in flight */
  guint n_results;
  gboolean told;              /* frames are reported */
  GstClockTime last_interval; /* the property interval at the last frame */
  gboolean have_index;        /* a frame with a timestamp has come */
  guint64 last_index;         /* number of the interval of this frame */
  GstClockTime last_arrival;  /* when the last reported frame arrived, on the
                               * monotonic clock, or GST_CLOCK_TIME_NONE */

  /* Pusher; any thread while no frame is in flight. */
  GstHistoStatistics statistics; /* of the last frame with a message */
  GBytes *last; /* counters of this frame, or NULL before the first */
} GstHistoCounter;

/* Sets the defaults of all settings. */
void gst_histo_counter_init (GstHistoCounter *self, GstGpuFilter *filter);

/* For the element's own functions, with the filter's object lock held. FALSE: the id is
 * none of the properties that gst_histo_settings_install() or its sibling installs. */
gboolean gst_histo_counter_set_property (
    GstHistoCounter *self, guint id, const GValue *value);
gboolean gst_histo_counter_get_property (
    const GstHistoCounter *self, guint id, GValue *value);

/* With the filter's object lock held: whether messages or metas are switched on. */
gboolean gst_histo_counter_is_wanted (const GstHistoCounter *self);

/* The backend that the setting `method` needs, or AUTO; for a vfunc wanted_backend. */
GstGpuFilterBackend gst_histo_counter_wanted_backend (GstHistoCounter *self);

/* Streaming thread, with the GPU's context pushed. Makes plan and results anew if they do
 * not fit the settings; before that it drains and calls *before_remake, which may be NULL.
 * After a failure the next call tries again. */
gboolean gst_histo_counter_follow (GstHistoCounter *self,
    void (*before_remake) (GstGpuFilter *filter), Fault *fault);
/* Frees plan and results, and begins anew. No frame is in flight. */
void gst_histo_counter_release (GstHistoCounter *self);

/* Begins a new interval with the next frame, since running time may start again. No frame
 * is in flight. */
void gst_histo_counter_restart (GstHistoCounter *self);
/* Forgets alarms and counters, so that the next frame compares with none. Called by the
 * pusher, or while no frame is in flight. */
void gst_histo_counter_forget (GstHistoCounter *self);
/* Does both: the next frame is the first of another stream. No frame is in flight. */
void gst_histo_counter_begin_anew (GstHistoCounter *self);

/* Streaming thread: whether frames are reported from now on. A frame that follows ones
 * without reports compares with none. */
void gst_histo_counter_set_told (GstHistoCounter *self, gboolean told);

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
/* For an element whose own kernels count. gst_histo_counter_follow() makes both. */
HistoPlan *gst_histo_counter_get_plan (GstHistoCounter *self);
HistoResult *gst_histo_counter_get_result (GstHistoCounter *self, guint place);
/* Pusher: reports the counted frame of this slot. Attaches a meta to *buffer, and returns
 * the message that the caller posts; each if it is switched on. */
GstMessage *gst_histo_counter_tell (
    GstHistoCounter *self, guint place, GstBuffer **buffer);

G_END_DECLS
