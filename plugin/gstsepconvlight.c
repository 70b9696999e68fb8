/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsepconvlight.h"

#include "color.h"

#define LOG(level, self, ...) \
  GST_CAT_LEVEL_LOG ( \
      (self)->category, GST_LEVEL_##level, (self)->filter, __VA_ARGS__)

#define DEFAULT_GAMMA GST_CUDA_SEPCONV_GAMMA_AS_IS
#define DEFAULT_ALPHA_MODE GST_CUDA_SEPCONV_ALPHA_STRAIGHT

enum
{
  PROP_GAMMA = 600,
  PROP_ALPHA_MODE = 601,
};

#define GST_TYPE_CUDA_SEPCONV_GAMMA (gamma_get_type ())
static GType
gamma_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_CUDA_SEPCONV_GAMMA_AS_IS, "The codes of the video, as they are",
        "as-is" },
    { GST_CUDA_SEPCONV_GAMMA_LINEAR,
        "Linear light, by the transfer function of the caps", "linear" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvGamma", values));
  return type;
}

#define GST_TYPE_CUDA_SEPCONV_ALPHA_MODE (alpha_mode_get_type ())
static GType
alpha_mode_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = { { GST_CUDA_SEPCONV_ALPHA_STRAIGHT,
                                           "Colour regardless of alpha",
                                           "straight" },
    { GST_CUDA_SEPCONV_ALPHA_PREMULTIPLY,
        "Colour weighted by alpha, so that transparent pixels have none",
        "premultiply" },
    { 0, NULL, NULL } };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvAlphaMode", values));
  return type;
}

void
gst_sepconv_light_init (
    GstSepconvLight *self, GstGpuFilter *filter, GstDebugCategory *category)
{
  *self = (GstSepconvLight){ .filter = filter,
    .category = category,
    .gamma = DEFAULT_GAMMA,
    .alpha_mode = DEFAULT_ALPHA_MODE };
}

void
gst_sepconv_light_clear (GstSepconvLight *self)
{
  g_free (self->decode);
}

/* Properties */

void
gst_sepconv_light_install (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_GAMMA,
      g_param_spec_enum ("gamma", "Gamma",
          "The values that are filtered. In linear light, bright spots stay "
          "bright when they are blurred, as behind a lens",
          GST_TYPE_CUDA_SEPCONV_GAMMA, DEFAULT_GAMMA, flags));
  g_object_class_install_property (object_class, PROP_ALPHA_MODE,
      g_param_spec_enum ("alpha-mode", "Alpha mode",
          "How alpha counts when colour is filtered. With premultiply, no dark "
          "fringes appear around transparent parts",
          GST_TYPE_CUDA_SEPCONV_ALPHA_MODE, DEFAULT_ALPHA_MODE, flags));
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_GAMMA, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_ALPHA_MODE, 0);
}

gboolean
gst_sepconv_light_set (GstSepconvLight *self, guint id, const GValue *value)
{
  switch (id) {
    case PROP_GAMMA:
      self->gamma = (GstCudaSepconvGamma) g_value_get_enum (value);
      return TRUE;
    case PROP_ALPHA_MODE:
      self->alpha_mode = (GstCudaSepconvAlphaMode) g_value_get_enum (value);
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_sepconv_light_get (const GstSepconvLight *self, guint id, GValue *value)
{
  switch (id) {
    case PROP_GAMMA:
      g_value_set_enum (value, (gint) self->gamma);
      return TRUE;
    case PROP_ALPHA_MODE:
      g_value_set_enum (value, (gint) self->alpha_mode);
      return TRUE;
    default:
      return FALSE;
  }
}

/* From settings to a spec */

static gboolean
premultiplies (const GstSepconvLight *self, const GstVideoFormatInfo *format)
{
  return self->alpha_mode == GST_CUDA_SEPCONV_ALPHA_PREMULTIPLY
      && GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format);
}

/* Of grey video, luma is all of the colour. */
static guint
all_colors (const GstVideoFormatInfo *format)
{
  return GST_VIDEO_FORMAT_INFO_IS_GRAY (format) ? GST_FRAME_PLANES_LUMA
                                                : GST_FRAME_PLANES_COLOR;
}

gboolean
gst_sepconv_light_is_used (const GstSepconvLight *self, GstFramePlanes planes,
    const GstVideoFormatInfo *format)
{
  return (planes & all_colors (format)) != 0
      && (self->gamma == GST_CUDA_SEPCONV_GAMMA_LINEAR
          || premultiplies (self, format));
}

gboolean
gst_sepconv_light_check (const GstSepconvLight *self, GstFramePlanes planes,
    const GstVideoFormatInfo *format, Fault *fault)
{
  const guint all = all_colors (format);

  if (!gst_sepconv_light_is_used (self, planes, format)
      || (planes & all) == all)
    return TRUE;
  return fault_set (fault, FAULT_FORMAT,
      "%s filters red, green and blue, which luma and chroma of %s video make "
      "up together; planes selects one of the two alone.",
      self->gamma == GST_CUDA_SEPCONV_GAMMA_LINEAR ? "gamma=linear"
                                                   : "alpha-mode=premultiply",
      GST_VIDEO_FORMAT_INFO_NAME (format));
}

static LightRole
role_of (const GstFrameChannel *channel)
{
  static const LightRole rgb[] = { LIGHT_RED, LIGHT_GREEN, LIGHT_BLUE };
  static const LightRole yuv[] = { LIGHT_Y, LIGHT_CB, LIGHT_CR };

  switch (channel->role) {
    case GST_FRAME_CHANNEL_RGB:
      return rgb[channel->component];
    case GST_FRAME_CHANNEL_LUMA:
    case GST_FRAME_CHANNEL_CHROMA:
      return yuv[channel->component];
    case GST_FRAME_CHANNEL_ALPHA:
      return LIGHT_ALPHA;
    default:
      return LIGHT_COPY;
  }
}

/* Returns the transfer function of the caps, or the most usual one if the caps name none. */
static GstVideoTransferFunction
transfer_of (const GstVideoInfo *info)
{
  if (info->colorimetry.transfer != GST_VIDEO_TRANSFER_UNKNOWN)
    return info->colorimetry.transfer;
  return GST_VIDEO_INFO_IS_YUV (info) ? GST_VIDEO_TRANSFER_BT709
                                      : GST_VIDEO_TRANSFER_SRGB;
}

/* Fills the table of linear light for codes of `depth` bits. Full-range RGB and grey have one
 * entry for each code. Other codes lie between entries, so that the table has up to four bits more
 * than the codes. */
static void
fill_decode (GstSepconvLight *self, const GstVideoInfo *info, gint depth)
{
  const gboolean full = self->spec.range == (1 << depth) - 1;
  const gint bits = full && !GST_VIDEO_INFO_IS_YUV (info)
      ? depth
      : MIN (depth + 4, LIGHT_MAX_DECODE_BITS);
  const gint last = (1 << bits) - 1;
  const GstVideoTransferFunction transfer = transfer_of (info);

  self->spec.decode = NULL;
  if (self->gamma != GST_CUDA_SEPCONV_GAMMA_LINEAR)
    return;
  if (self->decode == NULL)
    self->decode = g_new (guint16, 1 << LIGHT_MAX_DECODE_BITS);
  for (gint i = 0; i <= last; i++)
    self->decode[i] = (guint16) (CLAMP (gst_video_transfer_function_decode (
                                            transfer, i / (gdouble) last),
                                     0.0, 1.0)
            * G_MAXUINT16
        + 0.5);
  self->spec.decode = self->decode;
  self->spec.decode_bits = bits;
}

static void
fill_levels (LightSpec *spec, const GstVideoInfo *info)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];

  gst_frame_get_code_range (info, offset, scale);
  spec->black = offset[GST_VIDEO_COMP_Y];
  spec->range = scale[GST_VIDEO_COMP_Y];
  spec->neutral = offset[GST_VIDEO_COMP_U];
  spec->chroma_range = scale[GST_VIDEO_COMP_U];
  /* BT.601, for grey and where the caps name no matrix. */
  spec->kr = 0.299;
  spec->kb = 0.114;
  gst_video_color_matrix_get_Kr_Kb (
      info->colorimetry.matrix, &spec->kr, &spec->kb);
}

gboolean
gst_sepconv_light_describe (GstSepconvLight *self, const SepconvSpec *filter,
    GstFramePlanes planes, guint border_color, gboolean neutral_chroma,
    Fault *fault)
{
  const GstFrameLayout *layout = gst_gpu_filter_get_layout (self->filter);
  const GstVideoInfo *info = gst_gpu_filter_get_info (self->filter);
  const Color color = color_from_argb (border_color);

  self->spec = (LightSpec){
    .premultiply = premultiplies (self, info->finfo),
    .write_alpha = (planes & GST_FRAME_PLANES_ALPHA) != 0
        && GST_VIDEO_INFO_HAS_ALPHA (info),
    .neutral_chroma = neutral_chroma,
    .border_color = { color.r, color.g, color.b, color.a },
    .filter = filter,
  };
  for (gint p = 0; p < layout->layout.n_planes; p++) {
    self->spec.subsampling_x[p] = layout->subsampling_x[p];
    self->spec.subsampling_y[p] = layout->subsampling_y[p];
    for (gint c = 0; c < layout->layout.plane[p].channels; c++)
      self->spec.role[p][c] = role_of (&layout->channel[p][c]);
  }
  fill_levels (&self->spec, info);
  fill_decode (self, info, layout->layout.plane[0].depth);
  return light_validate (&self->spec, &layout->layout, fault);
}

/* The plan */

static gboolean
make_plan (GstSepconvLight *self, const Image *layout,
    const SepconvMethod *method, Fault *fault)
{
  const Backend backend = gst_gpu_filter_get_backend (self->filter);

  /* Frames in flight on a GPU use the old plan; frames on the CPU are computed already. */
  if (backend == BACKEND_CUDA)
    gst_gpu_filter_drain (self->filter);
  gst_sepconv_light_release (self);
  self->layout = *layout;
  self->plan = light_plan_new (&self->spec, layout, backend, method,
      gst_gpu_filter_get_gpu (self->filter), fault);
  if (self->plan != NULL)
    LOG (INFO, self, "plan: %s%s, %d x %d taps, terms: %d, method %s",
        self->spec.decode != NULL ? "linear light" : "codes as they are",
        self->spec.premultiply ? " weighted by alpha" : "",
        self->spec.filter->plane[0].x->n, self->spec.filter->plane[0].y->n,
        sepconv_n_terms (&self->spec.filter->plane[0]),
        light_plan_method_name (self->plan));
  return self->plan != NULL;
}

gboolean
gst_sepconv_light_follow (
    GstSepconvLight *self, const SepconvMethod *method, Fault *fault)
{
  const Image *layout = &gst_gpu_filter_get_layout (self->filter)->layout;

  if (self->plan != NULL && image_same_layout (layout, &self->layout)) {
    if (light_plan_update (self->plan, &self->spec, method, fault))
      return TRUE;
    if (fault->kind != FAULT_UNSUPPORTED)
      return FALSE;
  }
  return make_plan (self, layout, method, fault);
}

void
gst_sepconv_light_release (GstSepconvLight *self)
{
  light_plan_free (self->plan);
  self->plan = NULL;
}
