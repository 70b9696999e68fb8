/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstframeimage.h"

#include "color.h"

/* Returns GStreamer's info of a format, corrected to agree with its pack and unpack functions:
 * the table has wrong offsets for packed YUV of more than 8 bits, and wrong shifts for Y210. */
static GstVideoFormatInfo
true_format (const GstVideoInfo *info)
{
  static const guint yuyv[GST_VIDEO_MAX_COMPONENTS] = { 0, 2, 6 };
  static const guint uyva[GST_VIDEO_MAX_COMPONENTS] = { 2, 0, 4, 6 };
  GstVideoFormatInfo format = *info->finfo;
  const guint *offset = NULL;

  switch (GST_VIDEO_INFO_FORMAT (info)) {
    case GST_VIDEO_FORMAT_Y210:
    case GST_VIDEO_FORMAT_Y212_LE:
#if GST_CHECK_VERSION(1, 26, 0)
    case GST_VIDEO_FORMAT_Y216_LE:
#endif
      offset = yuyv;
      break;
    case GST_VIDEO_FORMAT_Y412_LE:
#if GST_CHECK_VERSION(1, 26, 0)
    case GST_VIDEO_FORMAT_Y416_LE:
#endif
      offset = uyva;
      break;
    default:
      break;
  }
  for (guint c = 0; offset != NULL && c < format.n_components; c++) {
    format.poffset[c] = offset[c];
    format.shift[c] = 16 - format.depth[c];
  }
  return format;
}

GstFrameChannelRole
gst_frame_component_role (const GstVideoFormatInfo *format, gint component)
{
  if (component == GST_VIDEO_COMP_A)
    return GST_FRAME_CHANNEL_ALPHA;
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (format))
    return GST_FRAME_CHANNEL_RGB;
  return component == GST_VIDEO_COMP_Y ? GST_FRAME_CHANNEL_LUMA
                                       : GST_FRAME_CHANNEL_CHROMA;
}

/* The zero level of grey and RGB is code 0, also in limited range. */
static gint
component_zero (const GstVideoInfo *info, gint component)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];

  if (component == GST_VIDEO_COMP_A || !GST_VIDEO_INFO_IS_YUV (info))
    return 0;
  gst_video_color_range_offsets (
      info->colorimetry.range, info->finfo, offset, scale);
  return offset[component];
}

/* Whether two components belong to one image plane: they have the same memory and grid. */
static gboolean
same_plane (const GstVideoFormatInfo *f, gint a, gint b)
{
  return f->plane[a] == f->plane[b] && f->w_sub[a] == f->w_sub[b]
      && f->h_sub[a] == f->h_sub[b] && f->pixel_stride[a] == f->pixel_stride[b];
}

/* Fills image plane p with all components that share a plane with `first`. */
static void
add_plane (GstFrameLayout *self, const GstVideoInfo *info,
    const GstVideoFormatInfo *f, gint first)
{
  const gint p = self->layout.n_planes++;
  ImagePlane *plane = &self->layout.plane[p];
  gint order[GST_VIDEO_MAX_COMPONENTS], n = 0, bytes;
  gboolean padded;

  for (gint c = 0; c < (gint) f->n_components; c++) {
    gint at = n;

    if (!same_plane (f, first, c))
      continue;
    for (; at > 0 && f->poffset[order[at - 1]] > f->poffset[c]; at--)
      order[at] = order[at - 1];
    order[at] = c;
    n++;
  }

  bytes = (gint) (f->depth[first] + f->shift[first]) <= 8 ? 1 : 2;
  /* Three samples in the space of four: the fourth is padding. */
  padded = n == 3 && f->pixel_stride[first] == 4 * bytes;

  plane->memory = (gint) f->plane[first];
  plane->width = GST_VIDEO_INFO_COMP_WIDTH (info, first);
  plane->channels = padded ? 4 : n;
  plane->pixel_stride = f->pixel_stride[first];
  /* Not computed from the offsets of the components: the offset of V in P010 is wrong by one
   * byte in every version of GStreamer so far. */
  plane->channel_stride = plane->pixel_stride / plane->channels;
  plane->offset = padded ? 0 : (gint) f->poffset[order[0]];
  plane->depth = (gint) f->depth[first];
  plane->shift = (gint) f->shift[first];
  self->subsampling_x[p] = 1 << f->w_sub[first];
  self->subsampling_y[p] = 1 << f->h_sub[first];

  /* A channel that no component fills stays GST_FRAME_CHANNEL_PADDING, which is 0. */
  for (gint i = 0; i < n; i++) {
    const gint slot = padded ? (gint) f->poffset[order[i]] / bytes : i;

    self->channel[p][slot] =
        (GstFrameChannel){ gst_frame_component_role (f, order[i]), order[i],
          component_zero (info, order[i]) };
  }
}

/* Returns the little-endian counterpart of a big-endian format; UNKNOWN for all others. */
static GstVideoFormat
little_endian_of (GstVideoFormat format)
{
  const gchar *name = gst_video_format_to_string (format);
  GstVideoFormat other = GST_VIDEO_FORMAT_UNKNOWN;

  if (name != NULL && g_str_has_suffix (name, "BE")) {
    gchar *swapped = g_strdup (name);

    swapped[strlen (name) - 2] = 'L';
    other = gst_video_format_from_string (swapped);
    g_free (swapped);
  }
  return other;
}

BitpackFormat
gst_frame_format_packing (GstVideoFormat format)
{
  switch (format) {
    case GST_VIDEO_FORMAT_v210:
      return BITPACK_V210;
    case GST_VIDEO_FORMAT_UYVP:
      return BITPACK_UYVP;
    case GST_VIDEO_FORMAT_Y410:
      return BITPACK_Y410;
    case GST_VIDEO_FORMAT_RGB10A2_LE:
      return BITPACK_RGB10A2_LE;
    case GST_VIDEO_FORMAT_BGR10A2_LE:
      return BITPACK_BGR10A2_LE;
    case GST_VIDEO_FORMAT_r210:
      return BITPACK_R210;
    case GST_VIDEO_FORMAT_RGB16:
      return BITPACK_RGB16;
    case GST_VIDEO_FORMAT_BGR16:
      return BITPACK_BGR16;
    case GST_VIDEO_FORMAT_RGB15:
      return BITPACK_RGB15;
    case GST_VIDEO_FORMAT_BGR15:
      return BITPACK_BGR15;
    case GST_VIDEO_FORMAT_GRAY10_LE32:
      return BITPACK_GRAY10_LE32;
    case GST_VIDEO_FORMAT_NV12_10LE32:
      return BITPACK_NV12_10LE32;
    case GST_VIDEO_FORMAT_NV16_10LE32:
      return BITPACK_NV16_10LE32;
    case GST_VIDEO_FORMAT_NV12_10LE40:
      return BITPACK_NV12_10LE40;
    default:
      return little_endian_of (format) != GST_VIDEO_FORMAT_UNKNOWN
          ? BITPACK_BIG_ENDIAN
          : BITPACK_NONE;
  }
}

/* Returns a format whose planes hold the samples of a packed format, or more samples: see
 * fit_planes(). */
static GstVideoFormat
planes_of (GstVideoFormat format)
{
  switch (gst_frame_format_packing (format)) {
    case BITPACK_V210:
    case BITPACK_UYVP:
      return GST_VIDEO_FORMAT_I422_10LE;
    case BITPACK_Y410:
      return GST_VIDEO_FORMAT_A444_10LE;
    case BITPACK_RGB10A2_LE:
    case BITPACK_BGR10A2_LE:
      return GST_VIDEO_FORMAT_GBRA_10LE;
    case BITPACK_R210:
      return GST_VIDEO_FORMAT_GBR_10LE;
    case BITPACK_RGB16:
    case BITPACK_BGR16:
    case BITPACK_RGB15:
    case BITPACK_BGR15:
      return GST_VIDEO_FORMAT_GBR;
    case BITPACK_GRAY10_LE32:
    case BITPACK_NV12_10LE32:
    case BITPACK_NV16_10LE32:
    case BITPACK_NV12_10LE40:
      return GST_VIDEO_FORMAT_P010_10LE;
    case BITPACK_BIG_ENDIAN:
      return little_endian_of (format);
    case BITPACK_NONE:
      break;
  }
  return GST_VIDEO_FORMAT_UNKNOWN;
}

void
gst_frame_get_code_range (const GstVideoInfo *info,
    gint offset[GST_VIDEO_MAX_COMPONENTS], gint scale[GST_VIDEO_MAX_COMPONENTS])
{
  const GstVideoFormatInfo *format = info->finfo;

  /* GStreamer has no ranges of fewer than 8 bits, and their samples are unpacked to 8. */
  if (format->depth[0] < 8)
    format = gst_video_format_get_info (planes_of (format->format));
  gst_video_color_range_offsets (
      info->colorimetry.range, format, offset, scale);
}

/* Adapts the planes of P010 to packed formats for which GStreamer has no unpacked one. */
static void
fit_planes (GstFrameLayout *self)
{
  Image *layout = &self->layout;

  if (self->packing == BITPACK_GRAY10_LE32) {
    layout->n_planes = layout->n_memories = 1;
    self->channel[0][0].zero = 0;
  } else if (self->packing == BITPACK_NV16_10LE32) {
    layout->memory[1].height = layout->memory[0].height;
    self->subsampling_y[1] = 1;
  }
}

/* Whether GStreamer's rows hold all samples of packed frames. */
static gboolean
rows_are_long (const Image *packed, const GstVideoInfo *info)
{
  for (gint m = 0; m < packed->n_memories; m++)
    if (GST_VIDEO_INFO_PLANE_STRIDE (info, m)
        < (gint) packed->memory[m].row_bytes)
      return FALSE;
  return TRUE;
}

/* Describes the planes and the packed memory of a packed format, without a check of
 * GStreamer's strides. */
static gboolean
describe_packed (GstFrameLayout *self, const GstVideoInfo *info)
{
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT (info);
  const BitpackFormat packing = gst_frame_format_packing (format);
  const gint width = GST_VIDEO_INFO_WIDTH (info);
  const gint height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
  GstVideoInfo planes;

  if (packing == BITPACK_NONE || width > bitpack_max_width (packing)
      || !gst_video_info_set_format (
          &planes, planes_of (format), (guint) width, (guint) height))
    return FALSE;
  planes.colorimetry = info->colorimetry;
  if (!gst_frame_layout_init (self, &planes))
    return FALSE;
  self->packing = packing;
  fit_planes (self);
  bitpack_layout (packing, &self->layout, &self->memory);
  return TRUE;
}

gboolean
gst_frame_rows_are_short (const GstVideoInfo *info)
{
  GstFrameLayout layout;

  return describe_packed (&layout, info)
      && !rows_are_long (&layout.memory, info);
}

static gboolean
init_packed (GstFrameLayout *self, const GstVideoInfo *info)
{
  if (!describe_packed (self, info) || !rows_are_long (&self->memory, info))
    return FALSE;
  for (gint m = 0; m < self->memory.n_memories; m++)
    self->memory.memory[m].stride = GST_VIDEO_INFO_PLANE_STRIDE (info, m);
  return image_validate (&self->memory, NULL);
}

gboolean
gst_frame_layout_init (GstFrameLayout *self, const GstVideoInfo *info)
{
  const GstVideoFormatInfo format = true_format (info), *f = &format;
  Image *layout = &self->layout;

  memset (self, 0, sizeof *self);
  if (gst_frame_format_packing (GST_VIDEO_INFO_FORMAT (info)) != BITPACK_NONE)
    return init_packed (self, info);
  if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (f) || GST_VIDEO_FORMAT_INFO_IS_TILED (f)
      || GST_VIDEO_FORMAT_INFO_HAS_PALETTE (f))
    return FALSE;

  layout->n_memories = (gint) GST_VIDEO_INFO_N_PLANES (info);
  for (gint c = 0; c < (gint) f->n_components; c++) {
    gint earlier = 0;

    while (!same_plane (f, c, earlier))
      earlier++;
    if (earlier == c)
      add_plane (self, info, f, c);
    layout->memory[f->plane[c]].height = GST_VIDEO_INFO_COMP_HEIGHT (info, c);
    layout->memory[f->plane[c]].stride =
        GST_VIDEO_INFO_PLANE_STRIDE (info, f->plane[c]);
  }
  /* A row ends with its last sample: buffers may have no padding after it. */
  for (gint p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    ImageMemory *memory = &layout->memory[plane->memory];

    memory->row_bytes = MAX (memory->row_bytes, image_plane_row_bytes (plane));
  }
  self->memory = *layout;
  return image_validate (layout, NULL);
}

static gboolean
has_role (const GstFrameChannel *channel, gint n, GstFrameChannelRole role)
{
  for (gint c = 0; c < n; c++)
    if (channel[c].role == role)
      return TRUE;
  return FALSE;
}

static gboolean
mixes (const GstFrameChannel *channel, gint n)
{
  return has_role (channel, n, GST_FRAME_CHANNEL_LUMA)
      && has_role (channel, n, GST_FRAME_CHANNEL_CHROMA);
}

/* A mixed plane is split into the two halves of its pixels where that separates luma from
 * chroma, else into single channels. There is room for the new planes: formats that mix both
 * in one plane have no other plane. */
void
gst_frame_layout_split_chroma (GstFrameLayout *self)
{
  Image *layout = &self->layout;
  const gint n_planes = layout->n_planes;

  for (gint p = 0; p < n_planes; p++) {
    const ImagePlane plane = layout->plane[p];
    const gint n = plane.channels;
    GstFrameChannel channel[IMAGE_MAX_CHANNELS];
    gint each = n / 2;

    if (!mixes (self->channel[p], n))
      continue;
    memcpy (channel, self->channel[p], sizeof channel);
    if (n % 2 != 0 || mixes (channel, each) || mixes (channel + each, each))
      each = 1;
    for (gint c = 0; c < n; c += each) {
      const gint q = c == 0 ? p : layout->n_planes++;

      g_assert (q < IMAGE_MAX_PLANES);
      layout->plane[q] = plane;
      layout->plane[q].channels = each;
      layout->plane[q].offset += c * plane.channel_stride;
      memcpy (self->channel[q], channel + c, sizeof *channel * (gsize) each);
      self->subsampling_x[q] = self->subsampling_x[p];
      self->subsampling_y[q] = self->subsampling_y[p];
    }
  }
}

gboolean
gst_frame_is_interleaved (const GstVideoFrame *frame)
{
  return GST_VIDEO_FRAME_IS_INTERLACED (frame)
      && GST_VIDEO_INFO_INTERLACE_MODE (&frame->info)
      != GST_VIDEO_INTERLACE_MODE_ALTERNATE;
}

const GstMapInfo *
gst_frame_get_plane_map (const GstVideoFrame *frame, gint plane)
{
  return &frame->map[frame->meta == NULL ? 0 : plane];
}

/* Whether all rows of a memory lie within the map. */
static gboolean
is_mapped (const ImageMemory *memory, const GstMapInfo *map)
{
  const guintptr start = (guintptr) map->data, data = (guintptr) memory->data;
  const gint64 first = (gint64) (data - start);
  const gint64 last = first + (gint64) (memory->height - 1) * memory->stride;

  return data >= start && data - start <= map->size && last >= 0
      && (guint64) MAX (first, last) + memory->row_bytes <= map->size;
}

gboolean
gst_frame_layout_get_image (
    const GstFrameLayout *self, const GstVideoFrame *frame, Image *image)
{
  *image = self->memory;
  for (gint m = 0; m < image->n_memories; m++) {
    image->memory[m].data = GST_VIDEO_FRAME_PLANE_DATA (frame, m);
    image->memory[m].stride = GST_VIDEO_FRAME_PLANE_STRIDE (frame, m);
    if (!is_mapped (&image->memory[m], gst_frame_get_plane_map (frame, m)))
      return FALSE;
  }
  return TRUE;
}

/* Does not use GstVideoConverter, which computes many formats in 8 bits and truncates: its
 * colours are wrong by one code, or by many in 16-bit formats. */
void
gst_frame_layout_convert_color (const GstFrameLayout *self,
    const GstVideoInfo *info, guint argb,
    gdouble codes[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS])
{
  const Color color = color_from_argb (argb);
  /* BT.601, for grey and where the caps name no matrix. */
  gdouble kr = 0.299, kb = 0.114;
  gdouble value[GST_VIDEO_MAX_COMPONENTS];
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];

  gst_frame_get_code_range (info, offset, scale);
  if (GST_VIDEO_INFO_IS_RGB (info)) {
    value[GST_VIDEO_COMP_R] = color.r;
    value[GST_VIDEO_COMP_G] = color.g;
    value[GST_VIDEO_COMP_B] = color.b;
  } else {
    ColorYcbcr ycbcr;

    gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &kr, &kb);
    ycbcr = color_to_ycbcr (color, kr, kb);
    value[GST_VIDEO_COMP_Y] = ycbcr.y;
    value[GST_VIDEO_COMP_U] = ycbcr.cb;
    value[GST_VIDEO_COMP_V] = ycbcr.cr;
  }

  for (gint p = 0; p < self->layout.n_planes; p++) {
    const ImagePlane *plane = &self->layout.plane[p];
    const gdouble full = image_full_code (plane);

    for (gint c = 0; c < plane->channels; c++) {
      const gint component = self->channel[p][c].component;

      if (component == GST_VIDEO_COMP_A)
        codes[p][c] = color_code (color.a, 0.0, full, full);
      else
        codes[p][c] = color_code (
            value[component], offset[component], scale[component], full);
    }
  }
}
