/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstregionsplan: the engine's plan that covers regions, for the settings of cudasepconv.
 * Streaming thread, with the GPU's context pushed if there is one. */
#pragma once

#include "gstgpufilter.h"
#include "gstsepconvregions.h"

G_BEGIN_DECLS

typedef struct
{
  GstGpuFilter *filter; /* the element; it owns the plan */
  GstDebugCategory *category;
  RegionsSpec spec;
  TapsSettings taps; /* of the spec; without arrays, which regions do not use */
  RegionsPlan *plan; /* or NULL */
  gboolean in_place; /* it can run in place, and has the memory for that */
  /* Layout and method that the plan was made for. */
  Image layout;
  const SepconvMethod *method;
} GstRegionsPlan;

void gst_regions_plan_init (
    GstRegionsPlan *self, GstGpuFilter *filter, GstDebugCategory *category);

/* With the object lock held: fills the spec for regions that are not off. `filter` stays
 * borrowed. */
void gst_regions_plan_describe (GstRegionsPlan *self,
    const GstSepconvRegions *settings, const TapsSettings *taps,
    const SepconvSpec *filter, const GstFrameLayout *layout,
    gboolean scale_taps);

/* Whether regions look like the rest of the frame if the filter changes nothing. */
gboolean gst_regions_plan_only_filters (const GstRegionsPlan *self);

/* Makes the plan follow the spec: updates it, or replaces it if method or layout change.
 * `method` as for regions_plan_new(). */
gboolean gst_regions_plan_follow (GstRegionsPlan *self, const Image *layout,
    const SepconvMethod *method, Fault *fault);

/* Frees the plan. No frame is in flight. */
void gst_regions_plan_release (GstRegionsPlan *self);

G_END_DECLS
