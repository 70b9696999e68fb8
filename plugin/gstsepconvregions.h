/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstsepconvregions: the properties of cudasepconv that choose the parts of a frame to cover, and
 * how they are covered. */
#pragma once

#include <gst/gst.h>

#include "regions.h"

G_BEGIN_DECLS

typedef enum
{
  GST_CUDA_SEPCONV_ROI_OFF,
  GST_CUDA_SEPCONV_ROI_INSIDE,
  GST_CUDA_SEPCONV_ROI_OUTSIDE,
} GstCudaSepconvRoiMode;

/* A rectangle in fractions of the frame; NaN for a value that is not a number. */
typedef struct
{
  gdouble left, top, width, height;
} GstSepconvZone;

typedef struct
{
  GstCudaSepconvRoiMode mode;
  GArray *types; /* of GQuark; empty: all */
  gdouble grow, strength, feather;
  RegionsShape shape;
  RegionsFill fill;
  guint color;
  GstClockTime hold;
  GArray *zones; /* of GstSepconvZone */
} GstSepconvRegions;

void gst_sepconv_regions_init (GstSepconvRegions *self);
void gst_sepconv_regions_clear (GstSepconvRegions *self);

/* Installs all properties. */
void gst_sepconv_regions_install (
    GObjectClass *object_class, GParamFlags flags);

/* The functions below are called with the object lock held. */

/* For the element's set_property() and get_property(). FALSE: the id is of another property. */
gboolean gst_sepconv_regions_set (
    GstSepconvRegions *self, guint id, const GValue *value);
gboolean gst_sepconv_regions_get (
    const GstSepconvRegions *self, guint id, GValue *value);
/* Whether the property changes the way regions are covered. The others only choose regions. */
gboolean gst_sepconv_regions_is_of_spec (guint id);

/* FALSE and a fault: a zone is not a rectangle. With roi-mode=off, zones are not checked. */
gboolean gst_sepconv_regions_check (
    const GstSepconvRegions *self, Fault *fault);
/* Whether regions with this label are chosen. */
gboolean gst_sepconv_regions_choose (
    const GstSepconvRegions *self, GQuark type);
/* Whether roi-strength has an effect with this kernel. */
gboolean gst_sepconv_regions_use_strength (
    GstCudaSepconvRoiMode mode, RegionsFill fill, TapsKernel kernel);

G_END_DECLS
