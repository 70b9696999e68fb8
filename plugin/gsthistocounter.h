/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistocounter: counts the histograms of an element's frames and reports them, as
 * messages and metas. */
#pragma once

#include "gstgpufilter.h"
#include "gsthistosettings.h"

G_BEGIN_DECLS

typedef struct
{
  /* Constant. */
  GstGpuFilter *filter;       /* the element; it owns the counter */
  GstDebugCategory *category; /* of the element */

  /* Protected by the filter's object lock. */
  GstHistoSettings settings;
  gboolean dirty; /* the settings have changed since the plan was made */

  /* Owned by the streaming thread. The pusher reads the components, and result and settings of the
   * frame that it finishes. */
  GstHistoComponents components;
  HistoPlan *plan;       /* fits the settings, unless dirty */
  HistoResult **results; /* [n_results], one for each slot of the ring */
  /* [n_results], as they were when the frame was counted */
  GstHistoSettings *result_settings;
  guint n_results;
  gboolean reports;           /* some frames are reported */
  GstClockTime last_interval; /* the property interval at the last frame */
  gboolean have_index;        /* a frame with a timestamp has come */
  guint64 last_index;         /* number of the interval of this frame */
  GstClockTime last_arrival;  /* when the last reported frame arrived, on the
                               * monotonic clock, or GST_CLOCK_TIME_NONE */

  /* Owned by the pusher; by any thread while no frame is in flight. */
  GstHistoStatistics statistics; /* of the last frame with a message */
  GBytes *last; /* counters of this frame, or NULL before the first */
} GstHistoCounter;

/* Sets the defaults of all settings. */
void gst_histo_counter_init (
    GstHistoCounter *self, GstGpuFilter *filter, GstDebugCategory *category);

/* For the element's set_property() and get_property(), with the filter's object lock held.
 * FALSE: the id is none of the properties that gst_histo_settings_install() or
 * gst_histo_settings_install_prefixed() installs. */
gboolean gst_histo_counter_set_property (
    GstHistoCounter *self, guint id, const GValue *value);
gboolean gst_histo_counter_get_property (
    const GstHistoCounter *self, guint id, GValue *value);

/* With the filter's object lock held: whether messages or metas are switched on. */
gboolean gst_histo_counter_has_reports (const GstHistoCounter *self);

/* Returns the backend that the setting `method` needs, or AUTO; for the function
 * needed_backend of a class. */
GstGpuFilterBackend gst_histo_counter_needed_backend (GstHistoCounter *self);

/* Streaming thread, with the GPU's context pushed. Makes a new plan and new results if the old
 * ones do not fit the settings. Before it makes a plan, it drains and calls *before_remake,
 * which may be NULL. After a failure the next call tries again. */
gboolean gst_histo_counter_follow (GstHistoCounter *self,
    void (*before_remake) (GstGpuFilter *filter), Fault *fault);
/* Makes new results likewise, but keeps a plan that does not fit the settings. There must be a
 * plan. */
gboolean gst_histo_counter_keep (GstHistoCounter *self, Fault *fault);
/* Frees plan and results; the next frame then counts as the first one. No frame is in flight. */
void gst_histo_counter_release (GstHistoCounter *self);

/* Begins a new interval with the next frame, since running time may start again. No frame
 * is in flight. */
void gst_histo_counter_restart (GstHistoCounter *self);
/* Resets the alarms and forgets the last counters: the next frame is compared with none.
 * Called by the pusher, or while no frame is in flight. */
void gst_histo_counter_forget (GstHistoCounter *self);
/* Restarts and forgets: the next frame is the first of another stream. No frame is in
 * flight. */
void gst_histo_counter_begin_anew (GstHistoCounter *self);

/* Streaming thread: sets whether frames are reported from now on. After a time without reports
 * the first reported frame is compared with none. */
void gst_histo_counter_set_reports (GstHistoCounter *self, gboolean reports);

/* Streaming thread, once for each frame: decides whether the frame is reported, as the first
 * one in its interval of running time, or of timestamps if there is no running time. A frame
 * without a timestamp is reported if the interval has passed since the last reported frame
 * arrived. */
gboolean gst_histo_counter_is_due (
    GstHistoCounter *self, const GstBuffer *buffer);
/* Queues the counting of an image, as the function compute of a class does. NULL and a fault:
 * it failed. */
const HistoResult *gst_histo_counter_count (GstHistoCounter *self,
    const Image *image, guint slot_index, GpuStream stream, GpuOrder order,
    Fault *fault);
/* Returns the plan, for an element whose own kernels count. Valid after
 * gst_histo_counter_follow(). */
HistoPlan *gst_histo_counter_get_plan (GstHistoCounter *self);
/* Returns the result of a slot for such kernels to write. The frame will be reported under the
 * current settings, even if they change before its work has ended. */
HistoResult *gst_histo_counter_begin_result (
    GstHistoCounter *self, guint slot_index);
/* Pusher: reports the counted frame of a slot. Attaches the meta to *buffer if metas are
 * switched on. Returns the message that the caller posts, or NULL if messages are off. */
GstMessage *gst_histo_counter_report (
    GstHistoCounter *self, guint slot_index, GstBuffer **buffer);

G_END_DECLS
