/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudasepconv
 * @title: cudasepconv
 * @short_description: filters video with a separable kernel
 *
 * cudasepconv blurs, finds edges, or applies any separable kernel to raw video,
 * on an NVIDIA GPU, or on the CPU where there is none, with the same result.
 * It takes the common 8 to 16-bit formats, with every stride, and filters
 * interlaced frames field by field.
 *
 * For each selected component, with the taps tx and ty, correlated, not flipped,
 * and anchored at their middle:
 *
 * |[
 * out(x,y) = zero + bias * full + scale *
 *     sum_j sum_i ty[j] * tx[i] * (in(x + i - nx/2, y + j - ny/2) - zero)
 * ]|
 *
 * where `zero` is the component's zero level (black for luma, grey for chroma),
 * and `full` its largest code; rounded and clamped. Chroma gets no bias, and with the
 * kernels that find edges it becomes neutral unless neutral-chroma is FALSE.
 *
 * kernel=terms takes the sum of up to eight such kernels, kernel=unsharp sharpens, and
 * kernel=sobel, scharr and prewitt give the gradient of both axes.
 *
 * With roi-mode=inside or outside, only a part of each frame is covered: faces and number
 * plates, say, that a detector upstream reports as GstVideoRegionOfInterestMeta or
 * GstAnalyticsRelationMeta, and the rectangles of the property zones. They are blurred by the
 * kernel, pixelated, or filled with a colour. With roi-mode=inside, frames without regions pass
 * untouched.
 *
 * gamma=linear filters light instead of codes, so that blurred lights stay bright, and
 * alpha-mode=premultiply weighs colour by alpha.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudasepconv sigma=5 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudasepconv kernel=unsharp amount=1.5 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudasepconv kernel=sobel-x scale=0.125 bias=0.5 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudasepconv kernel=custom taps-x="<0.25,0.5,0.25>" border=reflect-101 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudasepconv sigma=12 roi-mode=inside roi-shape=ellipse zones="<<0.1,0.2,0.3,0.4>>" ! videoconvert ! autovideosink
 * ]|
 */
#include "gstcudasepconv.h"

#include "gstframeregions.h"
#include "gsthistocounter.h"
#include "gstregionsplan.h"
#include "gstsepconvhints.h"
#include "gstsepconvkernel.h"
#include "gstsepconvlight.h"
#include "sepconv.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_sepconv_debug);
#define GST_CAT_DEFAULT gst_cuda_sepconv_debug

#define MAX_SCALE 1e4
#define MAX_BIAS SEPCONV_MAX_BIAS

#define DEFAULT_SCALE 1.0
#define DEFAULT_BIAS 0.0
#define DEFAULT_BORDER SEPCONV_REPLICATE
#define DEFAULT_BORDER_COLOR 0xff000000
#define DEFAULT_PLANES GST_FRAME_PLANES_COLOR
#define DEFAULT_SCALE_CHROMA TRUE
#define DEFAULT_NEUTRAL_CHROMA TRUE
#define DEFAULT_SLICES 0

enum
{
  PROP_SCALE = 9,
  PROP_BIAS = 10,
  PROP_BORDER = 11,
  PROP_BORDER_COLOR = 12,
  PROP_PLANES = 13,
  PROP_SCALE_CHROMA = 14,
  PROP_NEUTRAL_CHROMA = 15,
  PROP_METHOD = 16,
  PROP_SLICES = 17,
  PROP_HISTOGRAM = 18,
};

struct _GstCudaSepconv
{
  GstGpuFilter parent;

  /* Settings; protected by the object lock. */
  GstSepconvKernel kernel;
  GstSepconvRegions regions;
  GstSepconvLight light; /* also has the plan that its settings need */
  gdouble scale, bias;
  SepconvBorder border;
  guint border_color;
  GstFramePlanes planes;
  gboolean scale_chroma, neutral_chroma;
  guint method;
  gboolean dirty; /* changed since the last frame */
  gboolean histogram;
  GstSepconvHints hints;

  GstHistoCounter counter; /* of results; has its own settings */

  /* Owned by the streaming thread. */
  GstFrameLayout layout;      /* of the spec; may split chroma from luma */
  SepconvSpec spec;           /* of the settings, its taps in plane_taps */
  GstSepconvTaps *plane_taps; /* [IMAGE_MAX_PLANES] */
  gboolean have_spec;
  GpuOrder order; /* the plan's method was chosen for this order */
  guint spec_method;
  gboolean identity; /* the spec changes no sample */
  gboolean lights;   /* the plan of `light` takes the place of plan */
  /* [sepconv_n_methods ()]: one plan for each method that has been used with the layout, so
   * that settings that change from frame to frame need no new plan. */
  SepconvPlan **plans;
  SepconvPlan *plan; /* the one of `plans` for the next frame */
  Image planned;     /* the layout that the plans were made for */
  gboolean counted;  /* the kernels of the frame being submitted also count */
  gboolean covers;   /* regions_plan takes the place of plan */
  gboolean reports;  /* results may be counted */
  GstRegionsPlan regions_plan;
  GstFrameRegions frame_regions; /* of the last frame that has begun */
};

G_DEFINE_TYPE (GstCudaSepconv, gst_cuda_sepconv, GST_TYPE_GPU_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    cudasepconv, "cudasepconv", GST_RANK_NONE, GST_TYPE_CUDA_SEPCONV)

/* Enumerations */

#define GST_TYPE_CUDA_SEPCONV_BORDER (border_get_type ())
static GType
border_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { SEPCONV_REPLICATE, "The edge sample is repeated (aaa|abcd|ddd)",
        "replicate" },
    { SEPCONV_REFLECT,
        "The picture is mirrored, with its edge sample (cba|abcd|dcb)",
        "reflect" },
    { SEPCONV_REFLECT_101,
        "The picture is mirrored at its edge sample (dcb|abcd|cba)",
        "reflect-101" },
    { SEPCONV_WRAP, "The picture is repeated (bcd|abcd|abc)", "wrap" },
    { SEPCONV_CONSTANT, "The colour of border-color", "constant" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvBorder", values));
  return type;
}

/* Describes method i of the engine's table. */
static void
describe_method (gint i, GstGpuFilterMethod *method)
{
  method->name = sepconv_method (i)->name;
  method->description = sepconv_method (i)->description;
  method->backend = sepconv_method (i)->backend;
}

#define GST_TYPE_CUDA_SEPCONV_METHOD (method_get_type ())
static GType
method_get_type (void)
{
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type,
        gst_gpu_filter_register_methods (
            "GstCudaSepconvMethod", sepconv_n_methods (), describe_method));
  return type;
}

/* From settings to a spec */

/* Returns the method that a value of the property names; NULL: auto. */
static const SepconvMethod *
method_of (guint setting)
{
  return setting == GST_GPU_FILTER_METHOD_AUTO
      ? NULL
      : sepconv_method ((gint) setting - 1);
}

/* Whether chroma becomes neutral, so that edges are grey. With planes=chroma the edges of
 * chroma are the purpose. */
static gboolean
neutralizes_chroma (const GstCudaSepconv *self)
{
  return self->neutral_chroma
      && gst_sepconv_kernel_finds_edges (self->kernel.taps.kernel)
      && (self->planes & GST_FRAME_PLANES_COLOR) == GST_FRAME_PLANES_COLOR;
}

static void
set_single_tap (Taps *taps, gdouble tap)
{
  taps->n = 1;
  taps->tap[0] = tap;
}

/* Makes the taps of a plane; returns the number of terms, or 0 and a fault. */
static gint
make_taps (GstCudaSepconv *self, const GstFrameLayout *layout, gint p,
    gboolean neutral, Fault *fault)
{
  GstSepconvTaps *taps = &self->plane_taps[p];
  const gint n =
      gst_sepconv_kernel_make (&self->kernel, layout->layout.plane[p].depth,
          self->scale_chroma ? layout->subsampling_x[p] : 1,
          self->scale_chroma ? layout->subsampling_y[p] : 1, taps, fault);

  /* Taps of 0 leave nothing but the zero level. */
  for (gint t = 0; neutral && t < n; t++) {
    set_single_tap (&taps->x[t], 0.0);
    set_single_tap (&taps->y[t], 0.0);
  }
  return n;
}

/* Fills the spec of one plane. */
static gboolean
build_plane (
    GstCudaSepconv *self, const GstFrameLayout *layout, gint p, Fault *fault)
{
  SepconvPlane *plane = &self->spec.plane[p];
  const GstSepconvTaps *taps = &self->plane_taps[p];
  gboolean chroma = FALSE;
  gint n;

  plane->channels = plane->unbiased = 0;
  for (gint c = 0; c < layout->layout.plane[p].channels; c++) {
    plane->zero[c] = layout->channel[p][c].zero;
    if (gst_frame_planes_select (self->planes, layout->channel[p][c].role))
      plane->channels |= 1u << c;
    /* A bias brightens; on chroma it would tint the picture. */
    if (layout->channel[p][c].role == GST_FRAME_CHANNEL_CHROMA) {
      plane->unbiased |= 1u << c;
      chroma = TRUE;
    }
  }
  n = make_taps (self, layout, p, chroma && neutralizes_chroma (self), fault);
  plane->x = &taps->x[0];
  plane->y = &taps->y[0];
  plane->n_more = n - 1;
  for (gint t = 1; t < n; t++)
    plane->more[t - 1] = (SepconvTerm){ &taps->x[t], &taps->y[t] };
  return n > 0;
}

static void
build_border (GstCudaSepconv *self, const GstFrameLayout *layout,
    const GstVideoInfo *info)
{
  gdouble codes[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS] = { { 0 } };

  self->spec.border = self->border;
  gst_frame_layout_convert_color (layout, info, self->border_color, codes);
  for (gint p = 0; p < layout->layout.n_planes; p++)
    memcpy (self->spec.plane[p].border_value, codes[p], sizeof codes[p]);
}

/* Fills the spec of the work picture of linear light, whose planes are alike and not subsampled,
 * and the spec of its conversions. */
static gboolean
build_light (GstCudaSepconv *self, Fault *fault)
{
  const GstVideoInfo *info = gst_gpu_filter_get_info (GST_GPU_FILTER (self));
  const gboolean edges =
      gst_sepconv_kernel_finds_edges (self->kernel.taps.kernel);
  SepconvPlane *plane = &self->spec.plane[0];
  GstSepconvTaps *taps = &self->plane_taps[0];
  const gint n = gst_sepconv_kernel_make (&self->kernel, 16, 1, 1, taps, fault);

  if (n == 0)
    return FALSE;
  *plane = (SepconvPlane){
    .x = &taps->x[0], .y = &taps->y[0], .n_more = n - 1, .channels = 1
  };
  for (gint t = 1; t < n; t++)
    plane->more[t - 1] = (SepconvTerm){ &taps->x[t], &taps->y[t] };
  for (gint p = 1; p < self->layout.layout.n_planes; p++)
    self->spec.plane[p].channels = 0;
  self->spec.border = self->border;
  if (!gst_sepconv_light_describe (&self->light, &self->spec, self->planes,
          self->border_color,
          GST_VIDEO_INFO_IS_YUV (info) && neutralizes_chroma (self), fault))
    return FALSE;
  return !edges || !self->light.spec.premultiply
      || fault_set (fault, FAULT_SETTINGS,
          "alpha-mode=premultiply divides colour by the filtered alpha, which is "
          "no alpha with a kernel that finds edges.");
}

/* With the object lock held: see gst_cuda_sepconv_takes_format(). */
static gboolean
takes_format (
    GstCudaSepconv *self, const GstVideoFormatInfo *format, Fault *why)
{
  return gst_frame_planes_check (self->planes, format, why)
      && gst_sepconv_light_check (&self->light, self->planes, format, why);
}

/* With the object lock held: builds the spec from settings and caps. */
static gboolean
build_spec (GstCudaSepconv *self, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  const GstFrameLayout *layout = &self->layout;
  const GstVideoInfo *info = gst_gpu_filter_get_info (filter);

  self->layout = *gst_gpu_filter_get_layout (filter);
  self->lights =
      gst_sepconv_light_is_used (&self->light, self->planes, info->finfo);
  if (neutralizes_chroma (self) && !self->lights)
    gst_frame_layout_split_chroma (&self->layout);

  if (!takes_format (self, info->finfo, fault))
    return FALSE;
  gst_sepconv_kernel_get_combine (&self->kernel, &self->spec);
  self->spec.scale = self->scale;
  self->spec.bias = self->bias;
  self->spec_method = self->method;
  self->covers = self->regions.mode != GST_CUDA_SEPCONV_ROI_OFF;
  if (self->lights && self->covers)
    return fault_set (fault, FAULT_SETTINGS,
        "roi-mode=inside and roi-mode=outside need gamma=as-is and "
        "alpha-mode=straight.");
  if (self->lights)
    return build_light (self, fault);
  for (gint p = 0; p < layout->layout.n_planes; p++)
    if (!build_plane (self, layout, p, fault))
      return FALSE;
  build_border (self, layout, info);
  if (self->covers)
    gst_regions_plan_describe (&self->regions_plan, &self->regions,
        &self->kernel.taps, &self->spec, layout, self->scale_chroma);
  return sepconv_validate (&self->spec, &layout->layout, fault);
}

/* GstGpuFilter */

static GstGpuFilterBackend
gst_cuda_sepconv_needed_backend (GstGpuFilter *filter)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const SepconvMethod *method;

  GST_OBJECT_LOCK (self);
  method = method_of (self->method);
  GST_OBJECT_UNLOCK (self);
  return method == NULL ? GST_GPU_FILTER_BACKEND_AUTO
                        : gst_gpu_filter_backend_of (method->backend);
}

/* Makes the taps for a plane at full size, which are the longest. */
static gboolean
gst_cuda_sepconv_check_settings (GstGpuFilter *filter, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  GstSepconvTaps *made = g_new (GstSepconvTaps, 1);
  gboolean ok;

  GST_OBJECT_LOCK (self);
  ok = gst_sepconv_kernel_make (&self->kernel, 8, 1, 1, made, fault) > 0
      && gst_sepconv_regions_check (&self->regions, fault);
  GST_OBJECT_UNLOCK (self);
  g_free (made);
  return ok;
}

/* Logs a new plan: its taps, its method, and for each other method of the backend whether it
 * could be used. */
static void
log_plan (GstCudaSepconv *self, const Image *layout, Gpu *gpu)
{
  const SepconvMethod *method = sepconv_plan_method (self->plan);
  GString *others = g_string_new (NULL);
  Fault why;

  for (gint p = 0; p < layout->n_planes; p++)
    GST_INFO_OBJECT (self,
        "plan, plane %d: %d x %d taps, terms: %d, channels 0x%x of %d filtered",
        p, self->spec.plane[p].x->n, self->spec.plane[p].y->n,
        sepconv_n_terms (&self->spec.plane[p]), self->spec.plane[p].channels,
        layout->plane[p].channels);
  for (gint i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *other = sepconv_method (i);

    if (other == method || other->backend != method->backend)
      continue;
    if (sepconv_method_supports (other, &self->spec, layout, gpu, &why))
      g_string_append_printf (others, " %s could;", other->name);
    else
      g_string_append_printf (
          others, " %s cannot: %s;", other->name, why.message);
  }
  GST_INFO_OBJECT (self, "plan: method %s, %s%s%s", method->name,
      self->spec_method == GST_GPU_FILTER_METHOD_AUTO
          ? "which auto expects to be fastest"
          : "which the property names",
      others->len > 0 ? "; of the others," : "; the backend has no other",
      others->str);
  g_string_free (others, TRUE);
}

static gboolean
gst_cuda_sepconv_takes_format (
    GstGpuFilter *filter, const GstVideoFormatInfo *format, Fault *why)
{
  gboolean ok;

  GST_OBJECT_LOCK (filter);
  ok = takes_format (GST_CUDA_SEPCONV (filter), format, why);
  GST_OBJECT_UNLOCK (filter);
  return ok;
}

/* Takes the object lock. The returned answer holds for the settings under this lock. */
static GstGpuFilterFit
lock_settings (GstCudaSepconv *self)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);

  for (;;) {
    Fault why;
    const GstGpuFilterFit fit = gst_gpu_filter_check_caps (filter, &why);

    GST_OBJECT_LOCK (self);
    if ((fit == GST_GPU_FILTER_FITS)
        == takes_format (self, gst_gpu_filter_get_info (filter)->finfo, &why))
      return fit;
    GST_OBJECT_UNLOCK (self);
  }
}

/* Drains before a plan is freed: frames in flight on a GPU still use it, while frames on the
 * CPU are computed already. */
static void
drain_gpu (GstCudaSepconv *self)
{
  if (gst_gpu_filter_get_backend (GST_GPU_FILTER (self)) == BACKEND_CUDA)
    gst_gpu_filter_drain (GST_GPU_FILTER (self));
}

static void
free_plans (GstCudaSepconv *self)
{
  for (gint i = 0; i < sepconv_n_methods (); i++)
    g_clear_pointer (&self->plans[i], sepconv_plan_free);
  self->plan = NULL;
}

/* Returns the entry of `plans` for the method. Frees its plan if that cannot be updated to the
 * spec. */
static SepconvPlan **
find_plan (GstCudaSepconv *self, const SepconvMethod *method)
{
  SepconvPlan **plan = self->plans;

  if (!image_same_layout (&self->layout.layout, &self->planned)) {
    drain_gpu (self);
    free_plans (self);
    self->planned = self->layout.layout;
  }
  for (gint i = 0; sepconv_method (i) != method; i++)
    plan++;
  if (*plan != NULL && !sepconv_plan_has_terms (*plan, &self->spec)) {
    drain_gpu (self);
    g_clear_pointer (plan, sepconv_plan_free);
  }
  return plan;
}

/* Returns the method of the setting, or NULL for auto. After a fallback to the CPU, a method of
 * the GPU becomes auto. */
static const SepconvMethod *
usable_method (GstCudaSepconv *self)
{
  const Backend backend = gst_gpu_filter_get_backend (GST_GPU_FILTER (self));
  const SepconvMethod *method = method_of (self->spec_method);

  if (method == NULL || backend != BACKEND_CPU
      || method->backend != BACKEND_CUDA)
    return method;
  GST_DEBUG_OBJECT (
      self, "method %s needs a GPU: as method=auto", method->name);
  return NULL;
}

/* Updates the plan to the spec, or makes a new one. */
static gboolean
update_plan (GstCudaSepconv *self, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  const Image *layout = &self->layout.layout;
  Gpu *gpu = gst_gpu_filter_get_gpu (filter);
  const Backend backend = gst_gpu_filter_get_backend (filter);
  const SepconvMethod *method = sepconv_choose_method (&self->spec, layout,
      backend, usable_method (self), gpu, self->order, fault);
  SepconvPlan **plan;

  self->plan = NULL;
  if (method == NULL)
    return FALSE;
  plan = find_plan (self, method);
  if (*plan != NULL) {
    GST_LOG_OBJECT (self,
        "settings have changed: the plan of %s is kept, %d x %d taps",
        method->name, self->spec.plane[0].x->n, self->spec.plane[0].y->n);
    if (!sepconv_plan_update (*plan, &self->spec, fault))
      return FALSE;
    self->plan = *plan;
    return TRUE;
  }
  self->plan = *plan =
      sepconv_plan_new (&self->spec, layout, backend, method, gpu, fault);
  if (self->plan != NULL
      && gst_debug_category_get_threshold (GST_CAT_DEFAULT) >= GST_LEVEL_INFO)
    log_plan (self, layout, gpu);
  return self->plan != NULL;
}

/* Updates the plan of regions likewise. Only the kernel's result as a fill has a method. */
static gboolean
update_regions_plan (GstCudaSepconv *self, Fault *fault)
{
  GstRegionsPlan *plan = &self->regions_plan;

  return gst_regions_plan_follow (plan, &self->layout.layout,
      plan->spec.fill == REGIONS_FILTER ? usable_method (self) : NULL, fault);
}

/* Whether frames stay as they are, whatever their regions. */
static gboolean
is_identity (const GstCudaSepconv *self)
{
  return sepconv_is_identity (&self->spec, &self->layout.layout)
      && (!self->covers || gst_regions_plan_only_filters (&self->regions_plan));
}

/* The number of turns that frames of the plan take; 1 if there is no memory for more. */
static gint
reserve_turns (GstCudaSepconv *self)
{
  const gint turns =
      self->order == GPU_BESIDE_KERNELS ? sepconv_plan_turns (self->plan) : 1;

  return sepconv_plan_reserve_turns (self->plan, turns, NULL) ? turns : 1;
}

/* Updates the plan that computes frames, or makes a new one; `changed`: the spec has changed. */
static gboolean
follow_spec (GstCudaSepconv *self, gboolean changed, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);

  gst_gpu_filter_set_may_pass (filter, self->covers);
  if (self->covers) {
    if ((changed || self->regions_plan.plan == NULL)
        && !update_regions_plan (self, fault))
      return FALSE;
    gst_gpu_filter_set_in_parts (filter, FALSE);
    gst_gpu_filter_set_turns (filter, 1);
    gst_gpu_filter_set_active_method (
        filter, regions_plan_method_name (self->regions_plan.plan));
    return TRUE;
  }
  if (self->lights) {
    if ((changed || self->light.plan == NULL)
        && !gst_sepconv_light_follow (
            &self->light, usable_method (self), fault))
      return FALSE;
    gst_gpu_filter_set_in_parts (filter, FALSE);
    gst_gpu_filter_set_turns (filter, 1);
    gst_gpu_filter_set_active_method (
        filter, light_plan_method_name (self->light.plan));
    return TRUE;
  }
  if (changed || self->plan == NULL) {
    if (!update_plan (self, fault))
      return FALSE;
    gst_gpu_filter_set_turns (filter, reserve_turns (self));
  }
  gst_gpu_filter_set_in_parts (filter, sepconv_plan_in_parts (self->plan));
  gst_gpu_filter_set_active_method (
      filter, sepconv_plan_method (self->plan)->name);
  return TRUE;
}

static gboolean
gst_cuda_sepconv_start (GstBaseTransform *trans)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (trans);

  GST_OBJECT_LOCK (self);
  gst_sepconv_hints_restart (&self->hints);
  GST_OBJECT_UNLOCK (self);
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_sepconv_parent_class)
      ->start (trans);
}

/* With the object lock held: returns the settings to warn about. */
static guint64
take_hints (GstCudaSepconv *self)
{
  const GstVideoInfo *info = gst_gpu_filter_get_info (GST_GPU_FILTER (self));
  const GstSepconvChoice choice = { .kernel = self->kernel.taps.kernel,
    .radius_x = self->kernel.taps.radius_x,
    .radius_y = self->kernel.taps.radius_y,
    .gradient = self->kernel.gradient,
    .roi_mode = self->regions.mode,
    .roi_fill = self->regions.fill,
    .planes = self->planes,
    .has_alpha = GST_VIDEO_INFO_HAS_ALPHA (info),
    .light =
        gst_sepconv_light_is_used (&self->light, self->planes, info->finfo),
    .border = self->border,
    .histogram = self->histogram,
    .histogram_used = gst_histo_counter_has_reports (&self->counter) };

  return gst_sepconv_hints_take (&self->hints, &choice);
}

static gboolean
gst_cuda_sepconv_prepare (
    GstGpuFilter *filter, GstGpuFilterUse *use, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const GpuOrder order = gst_gpu_filter_get_order (filter);
  const gboolean awaits =
      lock_settings (self) == GST_GPU_FILTER_AWAITS_CAPS && self->have_spec;
  gboolean changed, reports, ok = TRUE;
  guint64 useless;

  useless = take_hints (self);
  changed =
      !awaits && (self->dirty || !self->have_spec || self->order != order);
  self->order = order;
  if (changed) {
    ok = build_spec (self, fault);
    self->have_spec = TRUE;
    self->dirty = FALSE;
  }
  ok = ok && gst_sepconv_regions_check (&self->regions, fault);
  reports = self->histogram && gst_histo_counter_has_reports (&self->counter);
  GST_OBJECT_UNLOCK (self);
  gst_sepconv_hints_post (&self->hints, GST_ELEMENT (self), useless);
  self->reports = reports;
  gst_gpu_filter_set_reports (filter, reports);
  gst_histo_counter_set_reports (&self->counter, reports);
  if (!ok
      || (reports && !gst_histo_counter_follow (&self->counter, NULL, fault))) {
    self->have_spec = FALSE;
    return FALSE;
  }

  if (changed)
    self->identity = is_identity (self);
  /* The regions of these frames are not collected. */
  if (self->identity || !self->covers)
    gst_frame_regions_forget (&self->frame_regions);
  if (self->identity) {
    if (changed)
      GST_INFO_OBJECT (
          self, "the settings change no sample: nothing to filter");
    *use = reports ? GST_GPU_FILTER_READ : GST_GPU_FILTER_PASS;
    gst_gpu_filter_set_active_method (filter, "none");
    return TRUE;
  }
  if (!follow_spec (self, changed, fault))
    self->have_spec = FALSE;
  return self->have_spec;
}

/* Finds the boxes that are read and written if the regions of the frame are covered in place. */
static gboolean
find_boxes (
    GstCudaSepconv *self, gint rows_apart, RegionsBoxes *boxes, Fault *fault)
{
  const GArray *regions = self->frame_regions.regions;

  return regions_plan_find_boxes (self->regions_plan.plan,
      (const Region *) regions->data, (gint) regions->len, rows_apart, boxes,
      fault);
}

static gboolean
gst_cuda_sepconv_find_boxes (GstGpuFilter *filter, guint slot_index,
    GstGpuFilterBoxes *boxes, Fault *fault)
{
  RegionsBoxes found;

  if (!find_boxes (GST_CUDA_SEPCONV (filter),
          gst_gpu_filter_get_rows_apart (filter, slot_index), &found, fault))
    return FALSE;
  *boxes = (GstGpuFilterBoxes){ found.read, found.written, found.n };
  return TRUE;
}

/* Whether to cover the regions of the frame in place: only if they are a small part of it. Not
 * if a GPU counts the result, since counting needs the whole result. */
static gboolean
covers_in_place (GstCudaSepconv *self)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  RegionsBoxes boxes;

  return self->regions_plan.in_place
      && !(self->reports && gst_gpu_filter_get_gpu (filter) != NULL)
      && find_boxes (self, 1, &boxes, NULL)
      && regions_plan_suits_place (self->regions_plan.plan, &boxes,
          gst_gpu_filter_get_in_gpu_memory (filter));
}

/* A frame in which nothing is covered needs no result. */
static GstGpuFilterResult
gst_cuda_sepconv_begin_frame (GstGpuFilter *filter, GstBuffer *buffer)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);

  if (!self->covers)
    return GST_GPU_FILTER_RESULT_APART;
  GST_OBJECT_LOCK (self);
  gst_frame_regions_collect (&self->frame_regions, buffer,
      gst_gpu_filter_get_info (filter), &GST_BASE_TRANSFORM (self)->segment,
      &self->regions);
  GST_OBJECT_UNLOCK (self);
  GST_LOG_OBJECT (self, "%u regions", self->frame_regions.regions->len);
  if (!self->regions_plan.spec.outside && self->frame_regions.regions->len == 0)
    return GST_GPU_FILTER_RESULT_NONE;
  return covers_in_place (self) ? GST_GPU_FILTER_RESULT_IN_PLACE
                                : GST_GPU_FILTER_RESULT_APART;
}

static gboolean
gst_cuda_sepconv_is_due (GstGpuFilter *filter, GstBuffer *buffer)
{
  return gst_histo_counter_is_due (&GST_CUDA_SEPCONV (filter)->counter, buffer);
}

/* Returns the image of a frame with the planes of the plan. */
static Image
planned_image (const Image *plan, const Image *image)
{
  Image planned = *image;

  planned.n_planes = plan->n_planes;
  memcpy (planned.plane, plan->plane, sizeof planned.plane);
  return planned;
}

/* Covers all regions of the frame at once, with the last part of the frame. */
static gboolean
compute_regions (GstCudaSepconv *self, const RingPart *part, guint slot_index,
    gboolean reported, Fault *fault)
{
  const GArray *regions = self->frame_regions.regions;
  const GstRegionsPlan *plan = &self->regions_plan;
  const Image src = planned_image (&plan->layout, part->src);
  const Image dst = planned_image (&plan->layout, part->dst);

  if (part->src->memory[0].data == part->dst->memory[0].data)
    return regions_plan_run_in_place (plan->plan,
        (const Region *) regions->data, (gint) regions->len, &dst,
        gst_gpu_filter_get_rows_apart (GST_GPU_FILTER (self), slot_index),
        part->stream, part->order, fault);
  return !part->last
      || regions_plan_run (plan->plan, (const Region *) regions->data,
          (gint) regions->len, &src, &dst,
          gst_gpu_filter_get_rows_apart (GST_GPU_FILTER (self), slot_index),
          part->stream, reported ? GPU_AFTER_KERNELS : part->order, fault);
}

static gboolean
gst_cuda_sepconv_compute (
    GstGpuFilter *filter, const RingPart *part, guint slot_index, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const gboolean reported = gst_gpu_filter_get_reported (filter, slot_index);
  Image src, dst;

  /* The frame is only read: conclude() counts it. */
  if (part->dst->n_memories == 0)
    return TRUE;
  if (self->covers)
    return compute_regions (self, part, slot_index, reported, fault);
  /* The picture is filtered as a whole. */
  if (self->lights)
    return !part->last
        || light_plan_run (self->light.plan, part->src, part->dst, part->stream,
            reported ? GPU_AFTER_KERNELS : part->order, fault);
  src = planned_image (&self->planned, part->src);
  dst = planned_image (&self->planned, part->dst);
  /* The filter's kernels count only whole frames whose kernels may overlap those of other
   * frames. For frames that run back to back, a separate histogram kernel ends earlier. */
  self->counted = reported && part->order == GPU_BESIDE_KERNELS
      && sepconv_plan_counts (
          self->plan, gst_histo_counter_get_plan (&self->counter));
  if (self->counted)
    return sepconv_plan_run_counting (self->plan, &src, &dst,
        gst_histo_counter_get_plan (&self->counter),
        gst_histo_counter_begin_result (&self->counter, slot_index),
        part->stream, part->order, fault);
  if (part->turn != 0)
    return sepconv_plan_run_in_turn (
        self->plan, &src, &dst, part->turn, part->stream, part->order, fault);
  /* A reported frame does not overlap: running beside the histogram kernel of the frame before
   * is slower. */
  return sepconv_plan_advance (self->plan, &src, &dst, part->fresh, part->done,
      part->stream, reported ? GPU_AFTER_KERNELS : part->order, fault);
}

static gboolean
gst_cuda_sepconv_conclude (
    GstGpuFilter *filter, const RingPart *frame, guint slot_index, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const Image *result = frame->dst->n_memories == 0 ? frame->src : frame->dst;
  const gboolean counted = self->counted;

  self->counted = FALSE;
  return counted || !gst_gpu_filter_get_reported (filter, slot_index)
      || gst_histo_counter_count (&self->counter, result, slot_index,
             frame->stream,
             frame->dst->n_memories == 0 ? frame->order : GPU_AFTER_KERNELS,
             fault)
      != NULL;
}

static GstMessage *
gst_cuda_sepconv_finish (
    GstGpuFilter *filter, guint slot_index, GstBuffer **buffer)
{
  return gst_histo_counter_report (
      &GST_CUDA_SEPCONV (filter)->counter, slot_index, buffer);
}

static void
gst_cuda_sepconv_flushed (GstGpuFilter *filter)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);

  gst_histo_counter_restart (&self->counter);
  gst_frame_regions_forget (&self->frame_regions);
}

static void
gst_cuda_sepconv_new_stream (GstGpuFilter *filter)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);

  gst_histo_counter_begin_anew (&self->counter);
  gst_frame_regions_forget (&self->frame_regions);
}

static void
gst_cuda_sepconv_release (GstGpuFilter *filter)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);

  gst_histo_counter_release (&self->counter);
  free_plans (self);
  gst_regions_plan_release (&self->regions_plan);
  gst_sepconv_light_release (&self->light);
  self->have_spec = FALSE;
}

/* Properties */

/* Whether the spec depends on the property. */
static gboolean
is_of_spec (guint id)
{
  return id >= PROP_SCALE && id <= PROP_METHOD;
}

static void
gst_cuda_sepconv_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (object);
  gboolean renegotiates = FALSE;

  GST_OBJECT_LOCK (self);
  self->dirty = self->dirty || is_of_spec (id);
  gst_sepconv_hints_change (&self->hints, pspec->name);
  switch (id) {
    case PROP_HISTOGRAM:
      self->histogram = g_value_get_boolean (value);
      break;
    case PROP_SLICES:
      gst_gpu_filter_set_slices (
          GST_GPU_FILTER (self), g_value_get_uint (value));
      break;
    case PROP_SCALE:
      self->scale = g_value_get_double (value);
      break;
    case PROP_BIAS:
      self->bias = g_value_get_double (value);
      break;
    case PROP_BORDER:
      self->border = (SepconvBorder) g_value_get_enum (value);
      break;
    case PROP_BORDER_COLOR:
      self->border_color = g_value_get_uint (value);
      break;
    case PROP_PLANES:
      renegotiates = self->planes != (GstFramePlanes) g_value_get_flags (value);
      self->planes = (GstFramePlanes) g_value_get_flags (value);
      break;
    case PROP_SCALE_CHROMA:
      self->scale_chroma = g_value_get_boolean (value);
      break;
    case PROP_NEUTRAL_CHROMA:
      self->neutral_chroma = g_value_get_boolean (value);
      break;
    case PROP_METHOD:
      self->method = (guint) g_value_get_enum (value);
      break;
    default:
      if (gst_sepconv_kernel_set (&self->kernel, id, value))
        self->dirty = TRUE;
      else if (gst_sepconv_regions_set (&self->regions, id, value))
        self->dirty = self->dirty || gst_sepconv_regions_is_of_spec (id);
      else if (gst_sepconv_light_set (&self->light, id, value))
        self->dirty = renegotiates = TRUE;
      else if (!gst_histo_counter_set_property (&self->counter, id, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
  /* See gst_cuda_sepconv_takes_format(). */
  if (renegotiates)
    gst_base_transform_reconfigure_sink (GST_BASE_TRANSFORM (self));
}

static void
gst_cuda_sepconv_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_HISTOGRAM:
      g_value_set_boolean (value, self->histogram);
      break;
    case PROP_SLICES:
      g_value_set_uint (
          value, gst_gpu_filter_get_slices (GST_GPU_FILTER (self)));
      break;
    case PROP_SCALE:
      g_value_set_double (value, self->scale);
      break;
    case PROP_BIAS:
      g_value_set_double (value, self->bias);
      break;
    case PROP_BORDER:
      g_value_set_enum (value, (gint) self->border);
      break;
    case PROP_BORDER_COLOR:
      g_value_set_uint (value, self->border_color);
      break;
    case PROP_PLANES:
      g_value_set_flags (value, self->planes);
      break;
    case PROP_SCALE_CHROMA:
      g_value_set_boolean (value, self->scale_chroma);
      break;
    case PROP_NEUTRAL_CHROMA:
      g_value_set_boolean (value, self->neutral_chroma);
      break;
    case PROP_METHOD:
      g_value_set_enum (value, (gint) self->method);
      break;
    default:
      if (!gst_sepconv_kernel_get (&self->kernel, id, value)
          && !gst_sepconv_regions_get (&self->regions, id, value)
          && !gst_sepconv_light_get (&self->light, id, value)
          && !gst_histo_counter_get_property (&self->counter, id, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

/* GObject */

static void
gst_cuda_sepconv_finalize (GObject *object)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (object);

  gst_sepconv_kernel_clear (&self->kernel);
  gst_sepconv_regions_clear (&self->regions);
  gst_frame_regions_clear (&self->frame_regions);
  gst_sepconv_light_clear (&self->light);
  g_free (self->plans);
  g_free (self->plane_taps);
  G_OBJECT_CLASS (gst_cuda_sepconv_parent_class)->finalize (object);
}

static void
gst_cuda_sepconv_init (GstCudaSepconv *self)
{
  gst_sepconv_kernel_init (&self->kernel);
  gst_sepconv_regions_init (&self->regions);
  gst_sepconv_light_init (&self->light, GST_GPU_FILTER (self), GST_CAT_DEFAULT);
  self->scale = DEFAULT_SCALE;
  self->bias = DEFAULT_BIAS;
  self->border = DEFAULT_BORDER;
  self->border_color = DEFAULT_BORDER_COLOR;
  self->planes = DEFAULT_PLANES;
  self->scale_chroma = DEFAULT_SCALE_CHROMA;
  self->neutral_chroma = DEFAULT_NEUTRAL_CHROMA;
  gst_gpu_filter_set_slices (GST_GPU_FILTER (self), DEFAULT_SLICES);
  self->method = GST_GPU_FILTER_METHOD_AUTO;
  self->plans = g_new0 (SepconvPlan *, sepconv_n_methods ());
  self->plane_taps = g_new0 (GstSepconvTaps, IMAGE_MAX_PLANES);
  gst_regions_plan_init (
      &self->regions_plan, GST_GPU_FILTER (self), GST_CAT_DEFAULT);
  gst_frame_regions_init (&self->frame_regions);
  gst_histo_counter_init (
      &self->counter, GST_GPU_FILTER (self), GST_CAT_DEFAULT);
}

static void
install_filter_properties (GObjectClass *object_class, GParamFlags flags)
{
  const GParamFlags controllable = flags | GST_PARAM_CONTROLLABLE;

  g_object_class_install_property (object_class, PROP_SCALE,
      g_param_spec_double ("scale", "Scale",
          "Factor on the filtered values, around each component's zero level",
          -MAX_SCALE, MAX_SCALE, DEFAULT_SCALE, controllable));
  g_object_class_install_property (object_class, PROP_BIAS,
      g_param_spec_double ("bias", "Bias",
          "Added to the filtered values of luma, grey, RGB and alpha, but not of "
          "chroma, in units of full scale (0.5 = half the code range)",
          -MAX_BIAS, MAX_BIAS, DEFAULT_BIAS, controllable));
  g_object_class_install_property (object_class, PROP_BORDER,
      g_param_spec_enum ("border", "Border",
          "The samples beyond the edges of the picture",
          GST_TYPE_CUDA_SEPCONV_BORDER, DEFAULT_BORDER, flags));
  g_object_class_install_property (object_class, PROP_BORDER_COLOR,
      g_param_spec_uint ("border-color", "Border color",
          "Colour beyond the edges with border=constant, as 0xAARRGGBB. The "
          "default is 0xff000000, opaque black",
          0, G_MAXUINT32, DEFAULT_BORDER_COLOR, controllable));
  g_object_class_install_property (object_class, PROP_PLANES,
      g_param_spec_flags ("planes", "Planes",
          "The components to filter; the others are copied. RGB is filtered as "
          "a whole: it has neither luma nor chroma",
          GST_TYPE_FRAME_PLANES, DEFAULT_PLANES, flags));
  g_object_class_install_property (object_class, PROP_SCALE_CHROMA,
      g_param_spec_boolean ("scale-chroma", "Scale chroma",
          "Shrink blurs on subsampled planes so that they cover the same part "
          "of the picture",
          DEFAULT_SCALE_CHROMA, flags));
  g_object_class_install_property (object_class, PROP_NEUTRAL_CHROMA,
      g_param_spec_boolean ("neutral-chroma", "Neutral chroma",
          "With the kernels that find edges (sobel, scharr, prewitt, laplacian, "
          "log, dog), chroma that is selected together with luma becomes neutral, so that edges are grey; "
          "FALSE filters it like luma",
          DEFAULT_NEUTRAL_CHROMA, flags));
  g_object_class_install_property (object_class, PROP_METHOD,
      g_param_spec_enum ("method", "Method",
          "How to compute; the result is the same up to rounding",
          GST_TYPE_CUDA_SEPCONV_METHOD, GST_GPU_FILTER_METHOD_AUTO, flags));
  /* Not controllable: it changes the time of a frame, not the picture. */
  g_object_class_install_property (object_class, PROP_SLICES,
      g_param_spec_uint ("slices", "Slices",
          "Number of parts of a frame, which let its copies overlap its "
          "filtering (0 = by its size if the frame comes alone from a live "
          "source, else 1)",
          0, RING_MAX_SLICES, DEFAULT_SLICES, flags));
}

static void
install_histogram_properties (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_HISTOGRAM,
      g_param_spec_boolean ("histogram", "Histogram",
          "Count the histogram of the result and report it as cudahisto does",
          FALSE, flags));
  gst_histo_settings_install_prefixed (object_class, flags);
}

static void
gst_cuda_sepconv_class_init (GstCudaSepconvClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstGpuFilterClass *filter_class = GST_GPU_FILTER_CLASS (klass);
  const GParamFlags flags =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;

  GST_DEBUG_CATEGORY_INIT (
      gst_cuda_sepconv_debug, "cudasepconv", 0, "CUDA separable convolution");

  object_class->set_property = gst_cuda_sepconv_set_property;
  object_class->get_property = gst_cuda_sepconv_get_property;
  object_class->finalize = gst_cuda_sepconv_finalize;
  gst_sepconv_kernel_install (object_class, flags);
  install_filter_properties (object_class, flags);
  gst_sepconv_regions_install (object_class, flags);
  gst_sepconv_light_install (object_class, flags);
  install_histogram_properties (object_class, flags);

  gst_element_class_set_static_metadata (element_class,
      "Blur, sharpen, edge: separable filter (CUDA or CPU)",
      "Filter/Effect/Video/Hardware",
      "Blurs, sharpens, finds edges or applies any other separable kernel to "
      "video, on an NVIDIA GPU or on the CPU",
      "gst-cudasepconv developers");

  GST_BASE_TRANSFORM_CLASS (klass)->start =
      GST_DEBUG_FUNCPTR (gst_cuda_sepconv_start);
  filter_class->fields_apart = TRUE;
  filter_class->takes_format =
      GST_DEBUG_FUNCPTR (gst_cuda_sepconv_takes_format);
  filter_class->needed_backend =
      GST_DEBUG_FUNCPTR (gst_cuda_sepconv_needed_backend);
  filter_class->check_settings =
      GST_DEBUG_FUNCPTR (gst_cuda_sepconv_check_settings);
  filter_class->prepare = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_prepare);
  filter_class->begin_frame = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_begin_frame);
  filter_class->find_boxes = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_find_boxes);
  filter_class->is_due = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_is_due);
  filter_class->compute = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_compute);
  filter_class->conclude = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_conclude);
  filter_class->finish = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_finish);
  filter_class->flushed = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_flushed);
  filter_class->new_stream = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_new_stream);
  filter_class->release = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_release);

  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_BORDER, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_FRAME_PLANES, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_METHOD, 0);
}
