/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstregionsplan.h"

#define LOG(level, self, ...) \
  GST_CAT_LEVEL_LOG ( \
      (self)->category, GST_LEVEL_##level, (self)->filter, __VA_ARGS__)

void
gst_regions_plan_init (
    GstRegionsPlan *self, GstGpuFilter *filter, GstDebugCategory *category)
{
  *self = (GstRegionsPlan){ .filter = filter, .category = category };
}

void
gst_regions_plan_describe (GstRegionsPlan *self,
    const GstSepconvRegions *settings, const TapsSettings *taps,
    const SepconvSpec *filter, const GstFrameLayout *layout,
    gboolean scale_taps)
{
  RegionsSpec *spec = &self->spec;

  self->taps = *taps;
  /* The arrays are left out: other threads may change them, and no kernel with arrays uses a
   * strength. */
  self->taps.custom_x = self->taps.custom_y = NULL;
  self->taps.n_x = self->taps.n_y = self->taps.n_terms = 0;
  self->taps.term = NULL;
  *spec = (RegionsSpec){
    .outside = settings->mode == GST_CUDA_SEPCONV_ROI_OUTSIDE,
    .fill = settings->fill,
    .shape = settings->shape,
    .grow = settings->grow,
    .feather = settings->feather,
    .filter = filter,
    .taps = &self->taps,
    .scale_taps = scale_taps,
  };
  if (gst_sepconv_regions_use_strength (
          settings->mode, settings->fill, taps->kernel))
    spec->strength = settings->strength;
  memcpy (
      spec->subsampling_x, layout->subsampling_x, sizeof spec->subsampling_x);
  memcpy (
      spec->subsampling_y, layout->subsampling_y, sizeof spec->subsampling_y);
  gst_frame_layout_convert_color (layout,
      gst_gpu_filter_get_info (self->filter), settings->color, spec->color);
}

gboolean
gst_regions_plan_only_filters (const GstRegionsPlan *self)
{
  return self->spec.fill == REGIONS_FILTER && self->spec.strength == 0.0;
}

static void
log_plan (const GstRegionsPlan *self)
{
  static const gchar *const fills[] = { "the filter's result", "blocks",
    "a colour" };
  const RegionsSpec *spec = &self->spec;

  LOG (INFO, self,
      "regions: %s of them is covered with %s, %s, grown by %g, feather %g, "
      "strength %g, method %s",
      spec->outside ? "the outside" : "the inside", fills[spec->fill],
      spec->shape == REGIONS_ELLIPSE ? "ellipses" : "rectangles", spec->grow,
      spec->feather, spec->strength, regions_plan_method_name (self->plan));
}

static gboolean
make_plan (GstRegionsPlan *self, const Image *layout,
    const SepconvMethod *method, Fault *fault)
{
  const Backend backend = gst_gpu_filter_get_backend (self->filter);

  /* Frames in flight on a GPU use the old plan; frames on the CPU are computed already. */
  if (backend == BACKEND_CUDA)
    gst_gpu_filter_drain (self->filter);
  gst_regions_plan_release (self);
  self->layout = *layout;
  self->method = method;
  self->plan = regions_plan_new (&self->spec, layout, backend, method,
      gst_gpu_filter_get_gpu (self->filter), fault);
  if (self->plan == NULL)
    return FALSE;
  /* If there is no GPU memory for runs in place, frames are copied. */
  self->in_place = !self->spec.outside
      && gst_gpu_filter_may_change_in_place (self->filter)
      && regions_plan_reserve_in_place (self->plan,
          gst_gpu_filter_get_in_gpu_memory (self->filter),
          ring_order ((gint) gst_gpu_filter_get_depth (self->filter)), NULL);
  log_plan (self);
  return TRUE;
}

gboolean
gst_regions_plan_follow (GstRegionsPlan *self, const Image *layout,
    const SepconvMethod *method, Fault *fault)
{
  if (self->plan != NULL && self->method == method
      && image_same_layout (layout, &self->layout)) {
    if (regions_plan_update (self->plan, &self->spec, fault))
      return TRUE;
    if (fault->kind != FAULT_UNSUPPORTED)
      return FALSE;
  }
  return make_plan (self, layout, method, fault);
}

void
gst_regions_plan_release (GstRegionsPlan *self)
{
  regions_plan_free (self->plan);
  self->plan = NULL;
}
