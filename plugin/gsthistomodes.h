/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistomodes: the settings of cudahisto's modes equalize and overlay, as properties and
 * as the engine's specs. */
#pragma once

#include "equalize.h"
#include "gsthistostatistics.h"
#include "overlay.h"

G_BEGIN_DECLS

typedef enum
{
  GST_CUDA_HISTO_ANALYZE,
  GST_CUDA_HISTO_EQUALIZE,
  GST_CUDA_HISTO_OVERLAY,
} GstCudaHistoMode;

typedef struct
{
  GstCudaHistoMode mode;

  EqualizeKind equalizer;
  gdouble strength, smoothing, clip_limit;
  gint tiles_x, tiles_y;

  OverlayPosition position;
  gdouble width, height, margin; /* fractions of the frame */
  gdouble opacity, background_opacity;
  OverlayScale scale;
  OverlayArrangement arrangement;
  gdouble clip_share;
} GstHistoModes;

void gst_histo_modes_init (GstHistoModes *self);

/* Installs all properties. */
void gst_histo_modes_install (GObjectClass *object_class, GParamFlags flags);
/* For the element's set_property() and get_property(), with the object lock held. FALSE: the
 * id is of another property. */
gboolean gst_histo_modes_set (
    GstHistoModes *self, guint id, const GValue *value);
gboolean gst_histo_modes_get (
    const GstHistoModes *self, guint id, GValue *value);

/* Whether a plan that was made for `a` can be updated to `b`. */
gboolean gst_histo_modes_fit (const GstHistoModes *a, const GstHistoModes *b);

/* Fill the specs of the two modes for frames of a format. */
void gst_histo_modes_get_equalize (const GstHistoModes *self,
    const GstFrameLayout *layout, const GstVideoInfo *info, EqualizeSpec *spec);
void gst_histo_modes_get_overlay (const GstHistoModes *self,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    const GstFrameLayout *layout, const GstVideoInfo *info, OverlaySpec *spec);

G_END_DECLS
