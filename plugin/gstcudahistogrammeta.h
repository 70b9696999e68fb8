/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstcudahistogrammeta: the histograms of a video frame, on its buffer. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GST_CUDA_HISTOGRAM_META_API_NAME:
 *
 * Name of the API type of the meta, for g_type_from_name().
 *
 * Since: 0.1
 */
#define GST_CUDA_HISTOGRAM_META_API_NAME "GstCudaHistogramMetaAPI"

/**
 * GST_CUDA_HISTOGRAM_META_IMPL_NAME:
 *
 * Name of the meta for gst_meta_get_info(), once the plugin is loaded.
 *
 * Since: 0.1
 */
#define GST_CUDA_HISTOGRAM_META_IMPL_NAME "GstCudaHistogramMeta"

/**
 * GST_CUDA_HISTOGRAM_MAX_COMPONENTS:
 *
 * The most components that a meta holds.
 *
 * Since: 0.1
 */
#define GST_CUDA_HISTOGRAM_MAX_COMPONENTS 4

typedef struct _GstCudaHistogramComponent GstCudaHistogramComponent;
typedef struct _GstCudaHistogramMeta GstCudaHistogramMeta;

/**
 * GstCudaHistogramComponent:
 * @name: Y, U, V, R, G, B or A
 * @component: number of the component in the #GstVideoFormatInfo of the frame's format
 * @depth: bits of a code; 10 also for alpha of 2 bits, which are repeated to 10 bits
 * @counts: one counter for each of the meta's bins. Counter i holds the number
 *     of samples whose code v gives (v * bins) >> depth == i; all counters add up to the
 *     number of samples. See gst_cuda_histogram_meta_get_counts()
 *
 * The histogram of one component of a frame.
 *
 * Since: 0.1
 */
struct _GstCudaHistogramComponent
{
  const gchar *name;
  guint component;
  guint depth;
  const guint64 *counts;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * GstCudaHistogramMeta:
 * @meta: the parent
 * @bins: number of counters of a component, 2 to 65536
 * @n_components: number of counted components
 * @data: the counters of all components, one component after the other, as native
 *     #guint64; take a reference to keep them longer than the buffer
 * @component: the first @n_components are valid. See
 *     gst_cuda_histogram_meta_get_component()
 *
 * The histograms of a frame. cudahisto with attach-meta=true, and cudasepconv with
 * histogram-meta=true, attach this meta to the frames that they have counted. It is
 * read-only and lives as long as its buffer. Copies of the buffer share the counters.
 *
 * A C application needs this header and no library: the plugin registers the types, and
 * the functions of the header look them up by name. Other languages use the typelib
 * GstCudaSepconv-1.0.
 *
 * |[
 * GstCudaHistogramMeta *meta = gst_buffer_get_cuda_histogram_meta (buffer);
 *
 * if (meta != NULL)
 *   for (guint i = 0; i < meta->n_components; i++)
 *     g_print ("%s: %" G_GUINT64_FORMAT " samples in bin 0\n",
 *         meta->component[i].name, meta->component[i].counts[0]);
 * ]|
 *
 * Since: 0.1
 */
struct _GstCudaHistogramMeta
{
  GstMeta meta;

  guint bins;
  guint n_components;
  GBytes *data;
  GstCudaHistogramComponent component[GST_CUDA_HISTOGRAM_MAX_COMPONENTS];

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

#ifdef __GI_SCANNER__
/* The library of the typelib exports these functions. They return pointers to constant
 * structures, since a typelib allows no others to plain structures. */

/**
 * gst_buffer_get_cuda_histogram_meta:
 * @buffer: a #GstBuffer
 *
 * Finds the histograms of a frame.
 *
 * Returns: (transfer none) (nullable): the newest meta of its kind on the buffer
 *
 * Since: 0.1
 */
const GstCudaHistogramMeta *gst_buffer_get_cuda_histogram_meta (
    GstBuffer *buffer);

/**
 * gst_cuda_histogram_meta_get_component:
 * @self: a #GstCudaHistogramMeta
 * @i: number of the counted component, from 0 on
 *
 * Gets name and depth of a component.
 *
 * Returns: (transfer none) (nullable): the component, or %NULL if there is no such component
 *
 * Since: 0.1
 */
const GstCudaHistogramComponent *gst_cuda_histogram_meta_get_component (
    const GstCudaHistogramMeta *self, guint i);

/**
 * gst_cuda_histogram_meta_get_counts:
 * @self: a #GstCudaHistogramMeta
 * @i: number of the counted component, from 0 on
 *
 * Gets the counters of a component as one block of native #guint64, one for each bin.
 *
 * Returns: (transfer full) (nullable): a part of @self's data, which may be kept longer
 *     than the buffer, or %NULL if there is no such component
 *
 * Since: 0.1
 */
GBytes *gst_cuda_histogram_meta_get_counts (
    const GstCudaHistogramMeta *self, guint i);

#else

#ifndef GST_CUDA_HISTOGRAM_META_FUNCTION
#define GST_CUDA_HISTOGRAM_META_FUNCTION static inline
#endif

GST_CUDA_HISTOGRAM_META_FUNCTION GstCudaHistogramMeta *
gst_buffer_get_cuda_histogram_meta (GstBuffer *buffer)
{
  const GType api = g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME);
  GstMeta *meta, *newest = NULL;
  gpointer state = NULL;

  if (api == 0)
    return NULL;
  while (
      (meta = gst_buffer_iterate_meta_filtered (buffer, &state, api)) != NULL)
    if (newest == NULL || gst_meta_compare_seqnum (newest, meta) < 0)
      newest = meta;
  return (GstCudaHistogramMeta *) newest;
}

GST_CUDA_HISTOGRAM_META_FUNCTION const GstCudaHistogramComponent *
gst_cuda_histogram_meta_get_component (
    const GstCudaHistogramMeta *self, guint i)
{
  return i < self->n_components ? &self->component[i] : NULL;
}

GST_CUDA_HISTOGRAM_META_FUNCTION GBytes *
gst_cuda_histogram_meta_get_counts (const GstCudaHistogramMeta *self, guint i)
{
  const gsize size = (gsize) self->bins * sizeof (guint64);

  return i < self->n_components
      ? g_bytes_new_from_bytes (self->data, i * size, size)
      : NULL;
}

#endif

G_END_DECLS
