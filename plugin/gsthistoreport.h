/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistoreport: what cudahisto tells of a frame: statistics, alarms, message and
 * meta. */
#pragma once

#include "alarms.h"
#include "gstframeplanes.h"

G_BEGIN_DECLS

/* The components that are counted, in GstVideoFormatInfo's order; plain data. */
typedef struct
{
  const gchar *format; /* static */
  gint width, height, bins;
  gint n_components;
  struct
  {
    gchar name[4];
    gint component, plane, channel, depth;
    gdouble black, white; /* codes of the nominal range */
    gdouble weight;       /* in the frame's brightness; 0: none */
  } component[GST_VIDEO_MAX_COMPONENTS];
} GstHistoComponents;

/* The weights of R, G and B in brightness, by the matrix of the colorimetry; RGB
 * seldom names one, and is BT.709's then. */
void gst_histo_rgb_weights (const GstVideoInfo *info, gdouble weight[3]);

/* Which components of frames of `info` the planes select. FALSE: none. */
gboolean gst_histo_components_init (GstHistoComponents *self,
    const GstFrameLayout *layout, const GstVideoInfo *info,
    GstFramePlanes planes, gint bins, Fault *fault);
/* Whether counters of both compare. */
gboolean gst_histo_components_equal (
    const GstHistoComponents *a, const GstHistoComponents *b);
/* The spec that counts them. */
void gst_histo_components_get_spec (
    const GstHistoComponents *self, HistoSpec *spec);

/* Codes from `dark` and `bright`, in units of the nominal range, are counted as
 * clipped. */
typedef struct
{
  gdouble dark, bright;
  AlarmSettings alarms;
} GstHistoThresholds;

/* What one frame's counters say. */
typedef struct
{
  HistoStatistics statistics[GST_VIDEO_MAX_COMPONENTS];
  Alarms alarms;
} GstHistoReport;

/* All counters of a result as one block of guint64, one component after the other.
 * Transfer full. */
GBytes *gst_histo_components_get_counts (
    const GstHistoComponents *self, const HistoResult *result);

/* For consecutive frames: `report` holds that of the last one, zeroed to begin with,
 * and `last` its counters, or NULL for a first frame. */
void gst_histo_report_update (GstHistoReport *report,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    GBytes *counts, GBytes *last);

/* How messages carry the counters; GType GstCudaHistoMessageBins. */
typedef enum
{
  GST_HISTO_MESSAGE_BINS_BOTH,
  GST_HISTO_MESSAGE_BINS_ARRAY,
  GST_HISTO_MESSAGE_BINS_BYTES,
} GstHistoMessageBins;

/* The message's structure but for the times. Transfer full. */
GstStructure *gst_histo_report_to_structure (const GstHistoReport *report,
    const GstHistoComponents *components, GBytes *counts,
    GstHistoMessageBins bins);

/* Attaches the counters to a writable buffer, in place of what is attached. */
void gst_histo_components_attach (
    const GstHistoComponents *self, GBytes *counts, GstBuffer *buffer);

G_END_DECLS
