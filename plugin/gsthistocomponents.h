/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistocomponents: the counted components of a frame, and their counters. */
#pragma once

#include "gstframeplanes.h"
#include "histo.h"

G_BEGIN_DECLS

/* The counted components in the order of GstVideoFormatInfo; plain data. */
typedef struct
{
  const gchar *format; /* static */
  gint width, height, bins;
  guint selected; /* bit i: component i of GstVideoFormatInfo */
  gint n_components;
  struct
  {
    const gchar *name; /* static */
    gint component, plane, channel, depth;
    gdouble black, white; /* codes of the nominal range */
    gdouble weight;       /* share in the brightness of the frame, or 0 */
  } component[GST_VIDEO_MAX_COMPONENTS];
} GstHistoComponents;

/* Returns the weights of R, G and B in brightness, from the matrix of the colorimetry, or from
 * BT.709 if the colorimetry names no matrix, as is usual with RGB. */
void gst_histo_rgb_weights (const GstVideoInfo *info, gdouble weight[3]);

/* Whether `planes` selects a component of a format. If not, `fault`, which may be NULL, is set
 * to a sentence that says why. */
gboolean gst_histo_components_check (
    GstFramePlanes planes, const GstVideoFormatInfo *format, Fault *fault);

/* Finds the components that `planes` selects in frames of `info`. FALSE and a fault: there are
 * none. */
gboolean gst_histo_components_init (GstHistoComponents *self,
    const GstFrameLayout *layout, const GstVideoInfo *info,
    GstFramePlanes planes, gint bins, Fault *fault);
/* Whether counters of `a` can be compared with counters of `b`. */
gboolean gst_histo_components_equal (
    const GstHistoComponents *a, const GstHistoComponents *b);
/* Fills the spec that counts these components. */
void gst_histo_components_get_spec (
    const GstHistoComponents *self, HistoSpec *spec);

/* Returns all counters of a result as one block of guint64, component after component. The
 * caller owns it. */
GBytes *gst_histo_components_get_counts (
    const GstHistoComponents *self, const HistoResult *result);

/* Returns the counters of component i in that block, [bins]. */
const guint64 *gst_histo_components_counts_of (
    const GstHistoComponents *self, gint i, GBytes *counts);

G_END_DECLS
