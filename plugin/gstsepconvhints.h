/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstsepconvhints: warnings about settings of cudasepconv that have no effect because of other
 * settings. */
#pragma once

#include <gst/gst.h>

#include "gstframeplanes.h"
#include "gstsepconvkernel.h"
#include "gstsepconvregions.h"

G_BEGIN_DECLS

/* The settings that decide whether others have an effect. */
typedef struct
{
  TapsKernel kernel;
  GstCudaSepconvGradient gradient;
  gint radius_x, radius_y;
  GstFramePlanes planes;
  gboolean has_alpha; /* the video */
  gboolean light;     /* red, green and blue are filtered, not the planes of the video */
  SepconvBorder border;
  GstCudaSepconvRoiMode roi_mode;
  RegionsFill roi_fill;
  gboolean histogram, histogram_used;
} GstSepconvChoice;

/* Plain data; each bit stands for a setting. Protected by the object lock of the element, with
 * which all functions but the last are called. */
typedef struct
{
  guint64 changed; /* settings that were set since the last take */
  guint64
      warned; /* settings that a warning was posted about since the restart */
} GstSepconvHints;

/* The element starts: all settings are checked again. */
void gst_sepconv_hints_restart (GstSepconvHints *self);

/* A property has been set: it is checked at the next gst_sepconv_hints_take(). Other settings
 * that lose their effect by the change are not checked: an application may change the kernel
 * many times while playing. */
void gst_sepconv_hints_change (GstSepconvHints *self, const gchar *property);

/* Returns the settings to check that have no effect with this choice and have had no warning
 * yet: for gst_sepconv_hints_post(). */
guint64 gst_sepconv_hints_take (
    GstSepconvHints *self, const GstSepconvChoice *choice);

/* Posts a warning about each of these settings whose value is not the default. */
void gst_sepconv_hints_post (
    GstSepconvHints *self, GstElement *element, guint64 settings);

G_END_DECLS
