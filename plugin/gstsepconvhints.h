/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstsepconvhints: warnings of cudasepconv's settings that have no effect under the
 * others. */
#pragma once

#include <gst/gst.h>

#include "gstframeplanes.h"
#include "sepconv.h"

G_BEGIN_DECLS

/* The settings that decide whether others have an effect. */
typedef struct
{
  TapsKernel kernel;
  gint radius_x, radius_y;
  GstFramePlanes planes;
  SepconvBorder border;
  gboolean histogram, histogram_used;
} GstSepconvChoice;

/* Plain data; a bit stands for a setting. Protected by the element's object lock, with
 * which all functions but the last are called. */
typedef struct
{
  guint changed; /* since it was looked at */
  guint warned;  /* of, since the restart */
} GstSepconvHints;

/* Every setting that is not the default is looked at anew. */
void gst_sepconv_hints_restart (GstSepconvHints *self);

/* A property has been set. Others that lose their effect by that are not looked at, lest
 * an application that goes through kernels while playing be warned of each. */
void gst_sepconv_hints_change (GstSepconvHints *self, const gchar *property);

/* Settings that have changed and have no effect with this choice, each once after a
 * restart: for gst_sepconv_hints_post(). */
guint gst_sepconv_hints_take (
    GstSepconvHints *self, const GstSepconvChoice *choice);

/* Posts a warning of each of these settings that is not at its default. */
void gst_sepconv_hints_post (
    GstSepconvHints *self, GstElement *element, guint settings);

G_END_DECLS
