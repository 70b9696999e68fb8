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
 * derivative kernels it becomes neutral unless neutral-chroma is FALSE.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudasepconv sigma=5 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudasepconv kernel=sobel-x scale=0.125 bias=0.5 ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudasepconv kernel=custom taps-x="<0.25,0.5,0.25>" border=reflect-101 ! videoconvert ! autovideosink
 * ]|
 */
#include "gstcudasepconv.h"

#include "gsthistocounter.h"
#include "gstsepconvhints.h"
#include "sepconv.h"

#include <math.h>

GST_DEBUG_CATEGORY_STATIC (gst_cuda_sepconv_debug);
#define GST_CAT_DEFAULT gst_cuda_sepconv_debug

/* 3 * sigma must fit the longest kernel. */
#define MAX_SIGMA 500.0
#define MAX_SCALE 1e4
#define MAX_BIAS SEPCONV_MAX_BIAS

#define DEFAULT_KERNEL TAPS_GAUSSIAN
#define DEFAULT_SIGMA 2.0
#define DEFAULT_SIGMA_Y -1.0
#define DEFAULT_RADIUS -1
#define DEFAULT_NORMALIZE FALSE
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
  PROP_KERNEL = 1,
  PROP_SIGMA = 2,
  PROP_SIGMA_Y = 3,
  PROP_RADIUS = 4,
  PROP_RADIUS_Y = 5,
  PROP_TAPS_X = 6,
  PROP_TAPS_Y = 7,
  PROP_NORMALIZE = 8,
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

/* The taps of luma, or of planes at full size, and those of chroma. */
typedef struct
{
  Taps x, y;
} PlaneTaps;

struct _GstCudaSepconv
{
  GstGpuFilter parent;

  /* Settings; protected by the object lock. */
  TapsSettings taps;       /* without the custom taps */
  GArray *taps_x, *taps_y; /* of gdouble */
  gdouble scale, bias;
  SepconvBorder border;
  guint border_color;
  GstFramePlanes planes;
  gboolean scale_chroma, neutral_chroma;
  guint method;
  gboolean dirty; /* changed since the last frame */
  gboolean histogram;
  GstSepconvHints hints;

  GstHistoCounter counter; /* of results; with settings of its own */

  /* Of the streaming thread. */
  GstFrameLayout
      layout; /* that the spec is for: chroma may have planes of its own */
  SepconvSpec spec;      /* of the settings, its taps in plane_taps */
  PlaneTaps *plane_taps; /* [IMAGE_MAX_PLANES] */
  gboolean have_spec;
  GpuOrder order; /* that the plan's method was chosen for */
  guint spec_method;
  gboolean identity;
  SepconvPlan *plan;
  Image planned;    /* the layout that the plan was made for */
  gboolean counted; /* the frame that is being submitted, on the way */
};

G_DEFINE_TYPE (GstCudaSepconv, gst_cuda_sepconv, GST_TYPE_GPU_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    cudasepconv, "cudasepconv", GST_RANK_NONE, GST_TYPE_CUDA_SEPCONV)

/* Enumerations */

#define GST_TYPE_CUDA_SEPCONV_KERNEL (kernel_get_type ())
static GType
kernel_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { TAPS_GAUSSIAN, "Gaussian blur of width sigma", "gaussian" },
    { TAPS_BOX, "Average over a box", "box" },
    { TAPS_BINOMIAL, "Blur by binomial coefficients", "binomial" },
    { TAPS_SOBEL_X, "Sobel derivative along x (vertical edges)", "sobel-x" },
    { TAPS_SOBEL_Y, "Sobel derivative along y (horizontal edges)", "sobel-y" },
    { TAPS_SCHARR_X, "Scharr derivative along x", "scharr-x" },
    { TAPS_SCHARR_Y, "Scharr derivative along y", "scharr-y" },
    { TAPS_PREWITT_X, "Prewitt derivative along x", "prewitt-x" },
    { TAPS_PREWITT_Y, "Prewitt derivative along y", "prewitt-y" },
    { TAPS_CUSTOM, "The taps of taps-x and taps-y", "custom" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvKernel", values));
  return type;
}

#define GST_TYPE_CUDA_SEPCONV_BORDER (border_get_type ())
static GType
border_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { SEPCONV_REPLICATE, "The edge sample goes on (aaa|abcd|ddd)",
        "replicate" },
    { SEPCONV_REFLECT, "Mirrored with the edge sample (cba|abcd|dcb)",
        "reflect" },
    { SEPCONV_REFLECT_101, "Mirrored at the edge sample (dcb|abcd|cba)",
        "reflect-101" },
    { SEPCONV_WRAP, "The opposite side (bcd|abcd|abc)", "wrap" },
    { SEPCONV_CONSTANT, "The colour of border-color", "constant" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvBorder", values));
  return type;
}

/* The engine's table of methods, behind auto. */
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

static const SepconvMethod *
chosen_method (guint method)
{
  return method == GST_GPU_FILTER_METHOD_AUTO
      ? NULL
      : sepconv_method ((gint) method - 1);
}

/* With the object lock held: the settings of the kernel; borrows the custom taps. */
static TapsSettings
get_taps_settings (GstCudaSepconv *self)
{
  TapsSettings taps = self->taps;

  taps.custom_x = (const gdouble *) self->taps_x->data;
  taps.n_x = (gint) self->taps_x->len;
  taps.custom_y = (const gdouble *) self->taps_y->data;
  taps.n_y = (gint) self->taps_y->len;
  return taps;
}

static gboolean
is_derivative (TapsKernel kernel)
{
  return kernel >= TAPS_SOBEL_X && kernel <= TAPS_PREWITT_Y;
}

/* Whether chroma becomes neutral, so that edges are grey. Who selects chroma without luma
 * wants to see its edges. */
static gboolean
neutralizes_chroma (const GstCudaSepconv *self)
{
  return self->neutral_chroma && is_derivative (self->taps.kernel)
      && (self->planes & GST_FRAME_PLANES_COLOR) == GST_FRAME_PLANES_COLOR;
}

static void
set_single_tap (Taps *taps, gdouble tap)
{
  taps->n = 1;
  taps->tap[0] = tap;
}

/* Fills the spec for one plane; `taps` are the settings with custom taps. */
static gboolean
build_plane (GstCudaSepconv *self, const GstFrameLayout *layout, gint p,
    const TapsSettings *taps, Fault *fault)
{
  SepconvPlane *plane = &self->spec.plane[p];
  const gint channels = layout->layout.plane[p].channels;
  gboolean chroma = FALSE;

  plane->channels = plane->unbiased = 0;
  for (gint c = 0; c < channels; c++) {
    plane->zero[c] = layout->channel[p][c].zero;
    if (gst_frame_planes_select (self->planes, layout->channel[p][c].role))
      plane->channels |= 1u << c;
    /* A bias is light; added to chroma, it would be a tint. */
    if (layout->channel[p][c].role == GST_FRAME_CHANNEL_CHROMA) {
      plane->unbiased |= 1u << c;
      chroma = TRUE;
    }
  }
  plane->x = &self->plane_taps[p].x;
  plane->y = &self->plane_taps[p].y;
  if (chroma && neutralizes_chroma (self)) {
    /* Nothing is left of a difference to zero but the zero level. */
    set_single_tap (&self->plane_taps[p].x, 0.0);
    set_single_tap (&self->plane_taps[p].y, 0.0);
    return TRUE;
  }
  return taps_make (taps, self->scale_chroma ? layout->subsampling_x[p] : 1,
      self->scale_chroma ? layout->subsampling_y[p] : 1, &self->plane_taps[p].x,
      &self->plane_taps[p].y, fault);
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

/* With the object lock held: the spec of the settings, for the caps. */
static gboolean
build_spec (GstCudaSepconv *self, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  const GstFrameLayout *layout = &self->layout;
  const GstVideoInfo *info = gst_gpu_filter_get_info (filter);
  const TapsSettings taps = get_taps_settings (self);

  self->layout = *gst_gpu_filter_get_layout (filter);
  if (neutralizes_chroma (self))
    gst_frame_layout_split_chroma (&self->layout);

  if (!gst_frame_planes_check (self->planes, info, fault))
    return FALSE;
  self->spec.scale = self->scale;
  self->spec.bias = self->bias;
  self->spec_method = self->method;
  for (gint p = 0; p < layout->layout.n_planes; p++)
    if (!build_plane (self, layout, p, &taps, fault))
      return FALSE;
  build_border (self, layout, info);
  return sepconv_validate (&self->spec, &layout->layout, fault);
}

/* GstGpuFilter */

static GstGpuFilterBackend
gst_cuda_sepconv_wanted_backend (GstGpuFilter *filter)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const SepconvMethod *method;

  GST_OBJECT_LOCK (self);
  method = chosen_method (self->method);
  GST_OBJECT_UNLOCK (self);
  return method == NULL ? GST_GPU_FILTER_BACKEND_AUTO
                        : gst_gpu_filter_backend_of (method->backend);
}

/* Planes at full size have the longest kernels. */
static gboolean
gst_cuda_sepconv_check_settings (GstGpuFilter *filter, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  PlaneTaps *made = g_new (PlaneTaps, 1);
  TapsSettings taps;
  gboolean ok;

  GST_OBJECT_LOCK (self);
  taps = get_taps_settings (self);
  ok = taps_make (&taps, 1, 1, &made->x, &made->y, fault);
  GST_OBJECT_UNLOCK (self);
  g_free (made);
  return ok;
}

/* Logs a new plan: its taps, its method, and why the other methods of the backend are not
 * taken. */
static void
log_plan (GstCudaSepconv *self, const Image *layout, Gpu *gpu)
{
  const SepconvMethod *method = sepconv_plan_method (self->plan);
  GString *others = g_string_new (NULL);
  Fault why;

  for (gint p = 0; p < layout->n_planes; p++)
    GST_INFO_OBJECT (self,
        "plan, plane %d: %d x %d taps, channels 0x%x of %d filtered", p,
        self->spec.plane[p].x->n, self->spec.plane[p].y->n,
        self->spec.plane[p].channels, layout->plane[p].channels);
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
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  GstFramePlanes planes;

  GST_OBJECT_LOCK (self);
  planes = self->planes;
  GST_OBJECT_UNLOCK (self);
  return gst_frame_planes_check_format (planes, format, why);
}

/* Gives the plan the spec of now, in place if its method can take it. */
static gboolean
update_plan (GstCudaSepconv *self, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  const Image *layout = &self->layout.layout;
  Gpu *gpu = gst_gpu_filter_get_gpu (filter);
  const Backend backend = gst_gpu_filter_get_backend (filter);
  const SepconvMethod *method = chosen_method (self->spec_method);

  /* backend=auto fell back to the CPU: so does the method. */
  if (method != NULL && backend == BACKEND_CPU
      && method->backend == BACKEND_CUDA) {
    GST_DEBUG_OBJECT (
        self, "method %s needs a GPU: as method=auto", method->name);
    method = NULL;
  }
  method = sepconv_choose_method (
      &self->spec, layout, backend, method, gpu, self->order, fault);
  if (method == NULL)
    return FALSE;
  if (self->plan != NULL && sepconv_plan_method (self->plan) == method
      && image_same_layout (layout, &self->planned)) {
    GST_LOG_OBJECT (self,
        "settings have changed: the plan is kept, %d x %d taps",
        self->spec.plane[0].x->n, self->spec.plane[0].y->n);
    return sepconv_plan_update (self->plan, &self->spec, fault);
  }
  /* Frames in flight use the old one. */
  gst_gpu_filter_drain (filter);
  sepconv_plan_free (self->plan);
  self->planned = *layout;
  self->plan =
      sepconv_plan_new (&self->spec, layout, backend, method, gpu, fault);
  if (self->plan != NULL
      && gst_debug_category_get_threshold (GST_CAT_DEFAULT) >= GST_LEVEL_INFO)
    log_plan (self, layout, gpu);
  return self->plan != NULL;
}

/* Whether the settings no longer fit the frames that come, but would fit others that
 * upstream can send: it has been asked to, and frames of the old caps are on the way. */
static gboolean
awaits_caps (GstCudaSepconv *self)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  GstCaps *caps;
  gboolean possible;

  if (!self->have_spec
      || gst_cuda_sepconv_takes_format (
          filter, gst_gpu_filter_get_info (filter)->finfo, NULL))
    return FALSE;
  caps = gst_pad_get_allowed_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  possible = caps != NULL && !gst_caps_is_empty (caps);
  gst_clear_caps (&caps);
  GST_INFO_OBJECT (self, "the setting of planes does not fit %s; upstream %s",
      gst_video_format_to_string (
          GST_VIDEO_INFO_FORMAT (gst_gpu_filter_get_info (filter))),
      possible ? "can change: the setting before it stays until then"
               : "cannot change");
  return possible;
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

/* With the object lock held: the settings to warn of. */
static guint
take_hints (GstCudaSepconv *self)
{
  const GstSepconvChoice choice = { .kernel = self->taps.kernel,
    .radius_x = self->taps.radius_x,
    .radius_y = self->taps.radius_y,
    .planes = self->planes,
    .border = self->border,
    .histogram = self->histogram,
    .histogram_used = gst_histo_counter_is_wanted (&self->counter) };

  return gst_sepconv_hints_take (&self->hints, &choice);
}

static gboolean
gst_cuda_sepconv_prepare (
    GstGpuFilter *filter, GstGpuFilterUse *use, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const GpuOrder order = gst_gpu_filter_get_order (filter);
  const gboolean awaits = awaits_caps (self);
  gboolean changed, reports, ok = TRUE;
  guint useless;

  GST_OBJECT_LOCK (self);
  useless = take_hints (self);
  changed =
      !awaits && (self->dirty || !self->have_spec || self->order != order);
  self->order = order;
  if (changed) {
    ok = build_spec (self, fault);
    self->have_spec = TRUE;
    self->dirty = FALSE;
  }
  reports = self->histogram && gst_histo_counter_is_wanted (&self->counter);
  GST_OBJECT_UNLOCK (self);
  gst_sepconv_hints_post (&self->hints, GST_ELEMENT (self), useless);
  gst_gpu_filter_set_reports (filter, reports);
  gst_histo_counter_set_told (&self->counter, reports);
  if (!ok
      || (reports && !gst_histo_counter_follow (&self->counter, NULL, fault))) {
    self->have_spec = FALSE;
    return FALSE;
  }

  if (changed)
    self->identity = sepconv_is_identity (&self->spec, &self->layout.layout);
  if (self->identity) {
    if (changed)
      GST_INFO_OBJECT (
          self, "the settings change no sample: nothing to filter");
    *use = reports ? GST_GPU_FILTER_READ : GST_GPU_FILTER_PASS;
    gst_gpu_filter_set_active_method (filter, "none");
    return TRUE;
  }
  if ((changed || self->plan == NULL) && !update_plan (self, fault)) {
    self->have_spec = FALSE;
    return FALSE;
  }
  gst_gpu_filter_set_in_parts (filter, sepconv_plan_in_parts (self->plan));
  gst_gpu_filter_set_active_method (
      filter, sepconv_plan_method (self->plan)->name);
  return TRUE;
}

static gboolean
gst_cuda_sepconv_wants (GstGpuFilter *filter, GstBuffer *buffer)
{
  return gst_histo_counter_wants (&GST_CUDA_SEPCONV (filter)->counter, buffer);
}

/* A frame's image with the planes that the plan is for. */
static Image
planned_image (const GstCudaSepconv *self, const Image *image)
{
  Image planned = *image;

  planned.n_planes = self->planned.n_planes;
  memcpy (planned.plane, self->planned.plane, sizeof planned.plane);
  return planned;
}

static gboolean
gst_cuda_sepconv_compute (
    GstGpuFilter *filter, const RingPart *part, guint slot_index, Fault *fault)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);
  const gboolean reported = gst_gpu_filter_get_reported (filter, slot_index);
  Image src, dst;

  /* Nothing to filter: the frame is only counted. */
  if (part->dst->n_memories == 0)
    return TRUE;
  src = planned_image (self, part->src);
  dst = planned_image (self, part->dst);
  /* Frames that may overlap others are whole. In order, a histogram of its own ends
   * earlier. */
  self->counted = reported && part->order == GPU_BESIDE_KERNELS
      && sepconv_plan_counts (
          self->plan, gst_histo_counter_get_plan (&self->counter));
  if (self->counted)
    return sepconv_plan_run_counting (self->plan, &src, &dst,
        gst_histo_counter_get_plan (&self->counter),
        gst_histo_counter_get_result (&self->counter, slot_index), part->stream,
        part->order, fault);
  /* Beside the histogram of the frame before it is slower than after it. */
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
  return gst_histo_counter_tell (
      &GST_CUDA_SEPCONV (filter)->counter, slot_index, buffer);
}

static void
gst_cuda_sepconv_flushed (GstGpuFilter *filter)
{
  gst_histo_counter_restart (&GST_CUDA_SEPCONV (filter)->counter);
}

static void
gst_cuda_sepconv_new_stream (GstGpuFilter *filter)
{
  gst_histo_counter_begin_anew (&GST_CUDA_SEPCONV (filter)->counter);
}

static void
gst_cuda_sepconv_release (GstGpuFilter *filter)
{
  GstCudaSepconv *self = GST_CUDA_SEPCONV (filter);

  gst_histo_counter_release (&self->counter);
  sepconv_plan_free (self->plan);
  self->plan = NULL;
  self->have_spec = FALSE;
}

/* Properties */

/* A number that is none becomes NaN, which the kernel's check then names. */
static void
set_taps (GArray *taps, const GValue *value)
{
  const guint n = gst_value_array_get_size (value);

  g_array_set_size (taps, n);
  for (guint i = 0; i < n; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_array_index (taps, gdouble, i) =
        g_value_transform (gst_value_array_get_value (value, i), &number)
        ? g_value_get_double (&number)
        : NAN;
    g_value_unset (&number);
  }
}

static void
get_taps (const GArray *taps, GValue *value)
{
  for (guint i = 0; i < taps->len; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number, g_array_index (taps, gdouble, i));
    gst_value_array_append_and_take_value (value, &number);
  }
}

/* Whether the spec follows from the property. */
static gboolean
is_of_spec (guint id)
{
  return id >= PROP_KERNEL && id <= PROP_METHOD;
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
    case PROP_KERNEL:
      self->taps.kernel = (TapsKernel) g_value_get_enum (value);
      break;
    case PROP_SIGMA:
      self->taps.sigma_x = g_value_get_double (value);
      break;
    case PROP_SIGMA_Y:
      self->taps.sigma_y = g_value_get_double (value);
      break;
    case PROP_RADIUS:
      self->taps.radius_x = g_value_get_int (value);
      break;
    case PROP_RADIUS_Y:
      self->taps.radius_y = g_value_get_int (value);
      break;
    case PROP_TAPS_X:
      set_taps (self->taps_x, value);
      break;
    case PROP_TAPS_Y:
      set_taps (self->taps_y, value);
      break;
    case PROP_NORMALIZE:
      self->taps.normalize = g_value_get_boolean (value);
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
      if (!gst_histo_counter_set_property (&self->counter, id, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
  /* Other formats may do now: see gst_cuda_sepconv_takes_format(). */
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
    case PROP_KERNEL:
      g_value_set_enum (value, (gint) self->taps.kernel);
      break;
    case PROP_SIGMA:
      g_value_set_double (value, self->taps.sigma_x);
      break;
    case PROP_SIGMA_Y:
      g_value_set_double (value, self->taps.sigma_y);
      break;
    case PROP_RADIUS:
      g_value_set_int (value, self->taps.radius_x);
      break;
    case PROP_RADIUS_Y:
      g_value_set_int (value, self->taps.radius_y);
      break;
    case PROP_TAPS_X:
      get_taps (self->taps_x, value);
      break;
    case PROP_TAPS_Y:
      get_taps (self->taps_y, value);
      break;
    case PROP_NORMALIZE:
      g_value_set_boolean (value, self->taps.normalize);
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
      if (!gst_histo_counter_get_property (&self->counter, id, value))
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

  g_array_unref (self->taps_x);
  g_array_unref (self->taps_y);
  g_free (self->plane_taps);
  G_OBJECT_CLASS (gst_cuda_sepconv_parent_class)->finalize (object);
}

static void
gst_cuda_sepconv_init (GstCudaSepconv *self)
{
  self->taps.kernel = DEFAULT_KERNEL;
  self->taps.sigma_x = DEFAULT_SIGMA;
  self->taps.sigma_y = DEFAULT_SIGMA_Y;
  self->taps.radius_x = self->taps.radius_y = DEFAULT_RADIUS;
  self->taps.normalize = DEFAULT_NORMALIZE;
  self->taps_x = g_array_new (FALSE, FALSE, sizeof (gdouble));
  self->taps_y = g_array_new (FALSE, FALSE, sizeof (gdouble));
  self->scale = DEFAULT_SCALE;
  self->bias = DEFAULT_BIAS;
  self->border = DEFAULT_BORDER;
  self->border_color = DEFAULT_BORDER_COLOR;
  self->planes = DEFAULT_PLANES;
  self->scale_chroma = DEFAULT_SCALE_CHROMA;
  self->neutral_chroma = DEFAULT_NEUTRAL_CHROMA;
  gst_gpu_filter_set_slices (GST_GPU_FILTER (self), DEFAULT_SLICES);
  self->method = GST_GPU_FILTER_METHOD_AUTO;
  self->plane_taps = g_new0 (PlaneTaps, IMAGE_MAX_PLANES);
  gst_histo_counter_init (&self->counter, GST_GPU_FILTER (self));
}

static void
install_kernel_properties (GObjectClass *object_class, GParamFlags flags)
{
  const GParamFlags controllable = flags | GST_PARAM_CONTROLLABLE;

  g_object_class_install_property (object_class, PROP_KERNEL,
      g_param_spec_enum ("kernel", "Kernel", "The kernel to filter with",
          GST_TYPE_CUDA_SEPCONV_KERNEL, DEFAULT_KERNEL, flags));
  g_object_class_install_property (object_class, PROP_SIGMA,
      g_param_spec_double ("sigma", "Sigma",
          "Width (standard deviation) of the gaussian in luma pixels, "
          "0 = no blur; along x only if sigma-y is set",
          0.0, MAX_SIGMA, DEFAULT_SIGMA, controllable));
  g_object_class_install_property (object_class, PROP_SIGMA_Y,
      g_param_spec_double ("sigma-y", "Sigma along y",
          "Width of the gaussian along y in luma pixels (-1 = as sigma)", -1.0,
          MAX_SIGMA, DEFAULT_SIGMA_Y, controllable));
  g_object_class_install_property (object_class, PROP_RADIUS,
      g_param_spec_int ("radius", "Radius",
          "Half length of a generated kernel in luma pixels: it has "
          "2 * radius + 1 taps (-1 = 3 * sigma rounded up; 1 for derivatives)",
          -1, TAPS_MAX_RADIUS, DEFAULT_RADIUS, flags));
  g_object_class_install_property (object_class, PROP_RADIUS_Y,
      g_param_spec_int ("radius-y", "Radius along y",
          "Half length of a generated kernel along y in luma pixels "
          "(-1 = as radius)",
          -1, TAPS_MAX_RADIUS, DEFAULT_RADIUS, flags));
  /* Without a spec for the elements: GStreamer would turn integers, as in
   * <1,2,1>, into zeros. */
  g_object_class_install_property (object_class, PROP_TAPS_X,
      gst_param_spec_array ("taps-x", "Taps along x",
          "The taps of kernel=custom, 1 to 4097 numbers, in pixels of each "
          "plane; correlated, anchored at n/2",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_TAPS_Y,
      gst_param_spec_array ("taps-y", "Taps along y",
          "The taps of kernel=custom along y (empty = as taps-x)", NULL,
          flags));
  g_object_class_install_property (object_class, PROP_NORMALIZE,
      g_param_spec_boolean ("normalize", "Normalize",
          "Divide the taps of kernel=custom by their sum, on each axis",
          DEFAULT_NORMALIZE, flags));
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
          "What lies beyond the edges of the picture",
          GST_TYPE_CUDA_SEPCONV_BORDER, DEFAULT_BORDER, flags));
  g_object_class_install_property (object_class, PROP_BORDER_COLOR,
      g_param_spec_uint ("border-color", "Border color",
          "Colour beyond the edges with border=constant, as 0xAARRGGBB. The "
          "default is 0xff000000, opaque black",
          0, G_MAXUINT32, DEFAULT_BORDER_COLOR, flags));
  g_object_class_install_property (object_class, PROP_PLANES,
      g_param_spec_flags ("planes", "Planes",
          "The components to filter; the others are copied. RGB has neither "
          "luma nor chroma alone",
          GST_TYPE_FRAME_PLANES, DEFAULT_PLANES, flags));
  g_object_class_install_property (object_class, PROP_SCALE_CHROMA,
      g_param_spec_boolean ("scale-chroma", "Scale chroma",
          "Shrink blurs on subsampled planes so that they cover the same part "
          "of the picture",
          DEFAULT_SCALE_CHROMA, flags));
  g_object_class_install_property (object_class, PROP_NEUTRAL_CHROMA,
      g_param_spec_boolean ("neutral-chroma", "Neutral chroma",
          "With the derivative kernels (sobel, scharr, prewitt), chroma that is "
          "selected together with luma becomes neutral, so that edges are grey; "
          "FALSE filters it like luma",
          DEFAULT_NEUTRAL_CHROMA, flags));
  g_object_class_install_property (object_class, PROP_METHOD,
      g_param_spec_enum ("method", "Method",
          "How to compute; the result is the same up to rounding",
          GST_TYPE_CUDA_SEPCONV_METHOD, GST_GPU_FILTER_METHOD_AUTO, flags));
  g_object_class_install_property (object_class, PROP_SLICES,
      g_param_spec_uint ("slices", "Slices",
          "Parts that a frame is cut into so that its own copies overlap its "
          "filtering (0 = by its size if it comes alone and may be waited for, "
          "else 1)",
          0, RING_MAX_SLICES, DEFAULT_SLICES, flags));
}

static void
install_histogram_properties (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_HISTOGRAM,
      g_param_spec_boolean ("histogram", "Histogram",
          "Count the histogram of the result and tell it as cudahisto does",
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
  install_kernel_properties (object_class, flags);
  install_filter_properties (object_class, flags);
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
  filter_class->wanted_backend =
      GST_DEBUG_FUNCPTR (gst_cuda_sepconv_wanted_backend);
  filter_class->check_settings =
      GST_DEBUG_FUNCPTR (gst_cuda_sepconv_check_settings);
  filter_class->prepare = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_prepare);
  filter_class->wants = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_wants);
  filter_class->compute = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_compute);
  filter_class->conclude = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_conclude);
  filter_class->finish = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_finish);
  filter_class->flushed = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_flushed);
  filter_class->new_stream = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_new_stream);
  filter_class->release = GST_DEBUG_FUNCPTR (gst_cuda_sepconv_release);

  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_KERNEL, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_BORDER, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_FRAME_PLANES, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_METHOD, 0);
}
