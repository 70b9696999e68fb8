/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:gstvideohistogrammeta
 * @title: GstVideoHistogramMeta
 * @short_description: histograms of a video frame, on its buffer
 *
 * cudahisto with attach-meta=true attaches it to the frames that it has counted.
 * This header is all that an application needs: the types are registered by the
 * plugin, and looked up by name.
 *
 * |[
 * GstVideoHistogramMeta *meta = gst_buffer_get_video_histogram_meta (buffer);
 *
 * if (meta != NULL)
 *   for (guint i = 0; i < meta->n_components; i++)
 *     g_print ("%s: %" G_GUINT64_FORMAT " samples in bin 0\n",
 *         meta->component[i].name, meta->component[i].counts[0]);
 * ]|
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_VIDEO_HISTOGRAM_META_API_NAME "GstVideoHistogramMetaAPI"
#define GST_VIDEO_HISTOGRAM_META_IMPL_NAME "GstVideoHistogramMeta"
#define GST_VIDEO_HISTOGRAM_MAX_COMPONENTS 4

/**
 * GstVideoHistogramComponent:
 * @name: of the component: Y, U, V, R, G, B or A
 * @component: its number in the GstVideoFormatInfo of the frame's format
 * @depth: bits of a sample
 * @counts: [bins of the meta] how many samples of code v have
 *     (v * bins) >> depth == i; they add up to the samples of the component
 */
typedef struct
{
  gchar name[4];
  guint component;
  guint depth;
  const guint64 *counts;
} GstVideoHistogramComponent;

/**
 * GstVideoHistogramMeta:
 * @meta: parent
 * @bins: counters a component, 2 to 65536
 * @n_components: counted components
 * @component: [n_components]
 * @data: (transfer none): holds all counts; take a reference to keep them beyond
 *     the buffer
 *
 * Read only. Copies of the buffer share the counts.
 */
typedef struct
{
  GstMeta meta;

  guint bins;
  guint n_components;
  GstVideoHistogramComponent component[GST_VIDEO_HISTOGRAM_MAX_COMPONENTS];
  GBytes *data;
} GstVideoHistogramMeta;

/**
 * gst_buffer_get_video_histogram_meta:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the newest meta of its kind on the buffer
 */
static inline GstVideoHistogramMeta *
gst_buffer_get_video_histogram_meta (GstBuffer *buffer)
{
  const GType api = g_type_from_name (GST_VIDEO_HISTOGRAM_META_API_NAME);
  GstMeta *meta, *newest = NULL;
  gpointer state = NULL;

  if (api == 0)
    return NULL;
  while (
      (meta = gst_buffer_iterate_meta_filtered (buffer, &state, api)) != NULL)
    if (newest == NULL || gst_meta_compare_seqnum (newest, meta) < 0)
      newest = meta;
  return (GstVideoHistogramMeta *) newest;
}

G_END_DECLS
