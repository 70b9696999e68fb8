/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistoreport.h"

#include "gsthistogrammeta.h"

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
  gst_video_color_range_offsets (
      info->colorimetry.range, info->finfo, offset, scale);
  if (is_rgb)
    gst_histo_rgb_weights (info, weight);
  g_strlcpy (self->component[at].name, (is_rgb ? rgb : yuv)[channel->component],
      sizeof self->component->name);
  self->component[at].component = channel->component;
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
  /* Chroma lies around its offset. */
  if (channel->role == GST_FRAME_CHANNEL_CHROMA)
    self->component[at].black -= scale[channel->component] / 2.0;
  else
    self->component[at].weight = weight[channel->component];
  self->component[at].white =
      self->component[at].black + scale[channel->component];
}

gboolean
gst_histo_components_init (GstHistoComponents *self,
    const GstFrameLayout *layout, const GstVideoInfo *info,
    GstFramePlanes planes, gint bins, Fault *fault)
{
  memset (self, 0, sizeof *self);
  if (!gst_frame_planes_check (planes, info, fault))
    return FALSE;
  self->format = gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info));
  self->width = GST_VIDEO_INFO_WIDTH (info);
  self->height = GST_VIDEO_INFO_HEIGHT (info);
  self->bins = bins;
  for (gint p = 0; p < layout->layout.n_planes; p++)
    for (gint c = 0; c < layout->layout.plane[p].channels; c++)
      if (gst_frame_planes_select (planes, layout->channel[p][c].role))
        add_component (self, layout, info, p, c);
  return self->n_components > 0
      || fault_set (fault, FAULT_FORMAT,
          "planes selects nothing that %s video has.", self->format);
}

gboolean
gst_histo_components_equal (
    const GstHistoComponents *a, const GstHistoComponents *b)
{
  gboolean equal = a->bins == b->bins && a->n_components == b->n_components;

  for (gint i = 0; i < a->n_components && equal; i++)
    equal = a->component[i].component == b->component[i].component;
  return equal;
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

static const guint64 *
component_counts (const GstHistoComponents *self, gint i, GBytes *counts)
{
  return (const guint64 *) g_bytes_get_data (counts, NULL)
      + (gsize) i * (gsize) self->bins;
}

void
gst_histo_report_update (GstHistoReport *report,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    GBytes *counts, GBytes *last)
{
  const gint bins = components->bins;
  AlarmComponent bright[GST_VIDEO_MAX_COMPONENTS];
  gint n = 0;

  for (gint i = 0; i < components->n_components; i++) {
    const guint64 *now = component_counts (components, i, counts);
    const gdouble black = components->component[i].black;
    const gdouble white = components->component[i].white;

    report->statistics[i] =
        histo_statistics (now, bins, components->component[i].depth,
            alarms_code (thresholds->dark, black, white),
            alarms_code (thresholds->bright, black, white));
    if (components->component[i].weight == 0.0)
      continue;
    bright[n++] = (AlarmComponent){ components->component[i].weight, black,
      white, report->statistics[i],
      last == NULL ? 0.0
                   : histo_distance (
                       now, component_counts (components, i, last), bins) };
  }
  if (n > 0)
    alarms_update (&report->alarms, &thresholds->alarms, bright, n);
}

static void
take_array (GstStructure *structure, const guint64 *counts, gint bins)
{
  GValue array = G_VALUE_INIT, zero = G_VALUE_INIT;

  gst_value_array_init (&array, (guint) bins);
  g_value_init (&zero, G_TYPE_UINT64);
  for (gint i = 0; i < bins; i++) {
    GValue value = zero;

    g_value_set_uint64 (&value, counts[i]);
    gst_value_array_append_and_take_value (&array, &value);
  }
  gst_structure_take_value (structure, "bins", &array);
}

/* A part of the block, which is shared. */
static void
take_bytes (GstStructure *structure, const GstHistoComponents *components,
    gint i, GBytes *counts)
{
  const gsize size = (gsize) components->bins * sizeof (guint64);
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_BYTES);
  g_value_take_boxed (
      &value, g_bytes_new_from_bytes (counts, (gsize) i * size, size));
  gst_structure_take_value (structure, "counts", &value);
}

static GstStructure *
component_structure (const GstHistoReport *report,
    const GstHistoComponents *components, gint i, GBytes *counts,
    GstHistoMessageBins bins)
{
  const HistoStatistics *s = &report->statistics[i];
  GstStructure *structure = gst_structure_new ("component", "name",
      G_TYPE_STRING, components->component[i].name, "depth", G_TYPE_UINT,
      (guint) components->component[i].depth, "samples", G_TYPE_UINT64,
      (guint64) s->samples, "min", G_TYPE_DOUBLE, s->min, "max", G_TYPE_DOUBLE,
      s->max, "mean", G_TYPE_DOUBLE, s->mean, "stddev", G_TYPE_DOUBLE,
      s->stddev, "median", G_TYPE_DOUBLE, s->median, "p1", G_TYPE_DOUBLE, s->p1,
      "p99", G_TYPE_DOUBLE, s->p99, "entropy", G_TYPE_DOUBLE, s->entropy,
      "dark", G_TYPE_DOUBLE, s->dark, "bright", G_TYPE_DOUBLE, s->bright, NULL);

  if (bins != GST_HISTO_MESSAGE_BINS_BYTES)
    take_array (
        structure, component_counts (components, i, counts), components->bins);
  if (bins != GST_HISTO_MESSAGE_BINS_ARRAY)
    take_bytes (structure, components, i, counts);
  return structure;
}

GstStructure *
gst_histo_report_to_structure (const GstHistoReport *report,
    const GstHistoComponents *components, GBytes *counts,
    GstHistoMessageBins bins)
{
  const Alarms *alarms = &report->alarms;
  GstStructure *structure = gst_structure_new ("cudahisto", "width", G_TYPE_INT,
      components->width, "height", G_TYPE_INT, components->height, "format",
      G_TYPE_STRING, components->format, "level", G_TYPE_DOUBLE, alarms->level,
      "spread", G_TYPE_DOUBLE, alarms->spread, "distance", G_TYPE_DOUBLE,
      alarms->distance, "too-dark", G_TYPE_BOOLEAN, (gboolean) alarms->too_dark,
      "too-bright", G_TYPE_BOOLEAN, (gboolean) alarms->too_bright, "flat",
      G_TYPE_BOOLEAN, (gboolean) alarms->flat, "scene-change", G_TYPE_BOOLEAN,
      (gboolean) alarms->scene_change, NULL);
  GValue array = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  for (gint i = 0; i < components->n_components; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (
        &value, component_structure (report, components, i, counts, bins));
    gst_value_array_append_and_take_value (&array, &value);
  }
  gst_structure_take_value (structure, "components", &array);
  return structure;
}

void
gst_histo_components_attach (
    const GstHistoComponents *self, GBytes *counts, GstBuffer *buffer)
{
  GstVideoHistogramMeta *meta;

  gst_buffer_remove_video_histogram_metas (buffer);
  meta = gst_buffer_add_video_histogram_meta (buffer, (guint) self->bins);
  meta->data = g_bytes_ref (counts);
  meta->n_components = (guint) self->n_components;
  for (gint i = 0; i < self->n_components; i++) {
    GstVideoHistogramComponent *component = &meta->component[i];

    g_strlcpy (
        component->name, self->component[i].name, sizeof component->name);
    component->component = (guint) self->component[i].component;
    component->depth = (guint) self->component[i].depth;
    component->counts = component_counts (self, i, counts);
  }
}
