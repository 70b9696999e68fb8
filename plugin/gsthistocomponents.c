/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistocomponents.h"

void
gst_histo_rgb_weights (const GstVideoInfo *info, gdouble weight[3])
{
  gdouble kr, kb;

  if (!gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &kr, &kb))
    gst_video_color_matrix_get_Kr_Kb (GST_VIDEO_COLOR_MATRIX_BT709, &kr, &kb);
  weight[GST_VIDEO_COMP_R] = kr;
  weight[GST_VIDEO_COMP_G] = 1.0 - kr - kb;
  weight[GST_VIDEO_COMP_B] = kb;
}

static void
add_component (GstHistoComponents *self, const GstFrameLayout *layout,
    const GstVideoInfo *info, gint p, gint c)
{
  static const gchar *const rgb[] = { "R", "G", "B", "A" };
  static const gchar *const yuv[] = { "Y", "U", "V", "A" };
  const GstFrameChannel *channel = &layout->channel[p][c];
  const gboolean is_rgb = GST_VIDEO_INFO_IS_RGB (info);
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  gint at = self->n_components++;
  gdouble weight[3] = { 1.0, 0.0, 0.0 };

  for (; at > 0 && self->component[at - 1].component > channel->component; at--)
    self->component[at] = self->component[at - 1];
  gst_frame_get_code_range (info, offset, scale);
  if (is_rgb)
    gst_histo_rgb_weights (info, weight);
  self->component[at].name = (is_rgb ? rgb : yuv)[channel->component];
  self->component[at].component = channel->component;
  self->selected |= 1u << channel->component;
  self->component[at].plane = p;
  self->component[at].channel = c;
  self->component[at].depth = layout->layout.plane[p].depth;
  self->component[at].weight = 0.0;
  if (channel->role == GST_FRAME_CHANNEL_ALPHA) {
    self->component[at].black = 0.0;
    self->component[at].white = image_full_code (&layout->layout.plane[p]);
    return;
  }
  self->component[at].black = offset[channel->component];
  /* GStreamer's offset of chroma is the middle of its range. */
  if (channel->role == GST_FRAME_CHANNEL_CHROMA)
    self->component[at].black -= scale[channel->component] / 2.0;
  else
    self->component[at].weight = weight[channel->component];
  self->component[at].white =
      self->component[at].black + scale[channel->component];
}

gboolean
gst_histo_components_check (
    GstFramePlanes planes, const GstVideoFormatInfo *format, Fault *fault)
{
  if (!gst_frame_planes_check (planes, format, fault))
    return FALSE;
  for (guint c = 0; c < format->n_components; c++)
    if (gst_frame_planes_select (
            planes, gst_frame_component_role (format, (gint) c)))
      return TRUE;
  return fault_set (fault, FAULT_FORMAT,
      "planes selects no component that %s video has.",
      GST_VIDEO_FORMAT_INFO_NAME (format));
}

gboolean
gst_histo_components_init (GstHistoComponents *self,
    const GstFrameLayout *layout, const GstVideoInfo *info,
    GstFramePlanes planes, gint bins, Fault *fault)
{
  memset (self, 0, sizeof *self);
  if (!gst_histo_components_check (planes, info->finfo, fault))
    return FALSE;
  self->format = gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info));
  self->width = GST_VIDEO_INFO_WIDTH (info);
  self->height = GST_VIDEO_INFO_HEIGHT (info);
  self->bins = bins;
  for (gint p = 0; p < layout->layout.n_planes; p++)
    for (gint c = 0; c < layout->layout.plane[p].channels; c++)
      if (gst_frame_planes_select (planes, layout->channel[p][c].role))
        add_component (self, layout, info, p, c);
  return TRUE;
}

gboolean
gst_histo_components_equal (
    const GstHistoComponents *a, const GstHistoComponents *b)
{
  return a->bins == b->bins && a->selected == b->selected;
}

void
gst_histo_components_get_spec (const GstHistoComponents *self, HistoSpec *spec)
{
  memset (spec, 0, sizeof *spec);
  spec->bins = self->bins;
  for (gint i = 0; i < self->n_components; i++)
    spec->channels[self->component[i].plane] |= 1u
        << self->component[i].channel;
}

GBytes *
gst_histo_components_get_counts (
    const GstHistoComponents *self, const HistoResult *result)
{
  const gsize size = (gsize) self->bins * sizeof (guint64);
  guint8 *counts = g_malloc ((gsize) self->n_components * size);

  for (gint i = 0; i < self->n_components; i++)
    memcpy (counts + (gsize) i * size,
        histo_result_counts (
            result, self->component[i].plane, self->component[i].channel),
        size);
  return g_bytes_new_take (counts, (gsize) self->n_components * size);
}

const guint64 *
gst_histo_components_counts_of (
    const GstHistoComponents *self, gint i, GBytes *counts)
{
  return (const guint64 *) g_bytes_get_data (counts, NULL)
      + (gsize) i * (gsize) self->bins;
}
