/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistosettings: the properties of both elements that choose the counted components, the
 * method and the form of the reports. */
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
  guint method; /* GST_GPU_FILTER_METHOD_AUTO, or the engine's number + 1 */
} GstHistoSettings;

/* Sets the defaults. */
void gst_histo_settings_init (GstHistoSettings *self);

/* Installs all properties under their own names, for cudahisto. */
void gst_histo_settings_install (GObjectClass *object_class, GParamFlags flags);
/* Installs the number of bins and the form of the reports as histogram-*, for an element whose
 * main purpose is another one. */
void gst_histo_settings_install_prefixed (
    GObjectClass *object_class, GParamFlags flags);

/* For the element's set_property() and get_property(), with the object lock held. FALSE: the
 * id is of another property. */
gboolean gst_histo_settings_set (
    GstHistoSettings *self, guint id, const GValue *value);
gboolean gst_histo_settings_get (
    const GstHistoSettings *self, guint id, GValue *value);

/* Whether one plan can count with either of the settings. */
gboolean gst_histo_settings_count_alike (
    const GstHistoSettings *a, const GstHistoSettings *b);

G_END_DECLS
