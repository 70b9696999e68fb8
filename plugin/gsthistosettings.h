/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistosettings: what is counted and how it is reported, as properties of both
 * elements. */
#pragma once

#include "gstframeplanes.h"
#include "gsthistomessage.h"
#include "gsthistostatistics.h"

G_BEGIN_DECLS

typedef struct
{
  gint bins;
  GstFramePlanes planes;
  GstClockTime interval;
  gboolean post_messages, attach_meta;
  GstHistoMessageBins message_bins;
  GstHistoThresholds thresholds;
  guint method; /* GST_GPU_FILTER_METHOD_AUTO, or that of the engine + 1 */
} GstHistoSettings;

/* Sets the defaults. */
void gst_histo_settings_init (GstHistoSettings *self);

/* Installs all properties under their own names, for cudahisto. */
void gst_histo_settings_install (GObjectClass *object_class, GParamFlags flags);
/* Installs those that say how much is reported, as histogram-*, for an element that does
 * something else in the first place. */
void gst_histo_settings_install_prefixed (
    GObjectClass *object_class, GParamFlags flags);

/* For the element's own functions, with the object lock held. FALSE: the id is none of
 * these properties. */
gboolean gst_histo_settings_set (
    GstHistoSettings *self, guint id, const GValue *value);
gboolean gst_histo_settings_get (
    const GstHistoSettings *self, guint id, GValue *value);

/* Whether both count the same in the same way, so that a plan serves both. */
gboolean gst_histo_settings_count_alike (
    const GstHistoSettings *a, const GstHistoSettings *b);

G_END_DECLS
