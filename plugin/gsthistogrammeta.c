/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistogrammeta.h"

#include <gst/video/gstvideometa.h>

GType
gst_cuda_histogram_meta_api_get_type (void)
{
  static gsize type = 0;
  /* The counters are wrong once the colours or the size change, so elements that change either drop
   * the meta by these tags. Only videoscale of GStreamer 1.20 needs the tag for the size. */
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR,
    GST_META_TAG_VIDEO_COLORSPACE_STR, GST_META_TAG_VIDEO_SIZE_STR, NULL };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type,
        gst_meta_api_type_register (GST_CUDA_HISTOGRAM_META_API_NAME, tags));
  return type;
}

static gboolean
init_meta (GstMeta *meta, gpointer params, GstBuffer *buffer)
{
  GstCudaHistogramMeta *self = (GstCudaHistogramMeta *) meta;

  (void) params;
  (void) buffer;
  memset (
      (guint8 *) self + sizeof self->meta, 0, sizeof *self - sizeof self->meta);
  return TRUE;
}

static void
free_meta (GstMeta *meta, GstBuffer *buffer)
{
  (void) buffer;
  g_clear_pointer (&((GstCudaHistogramMeta *) meta)->data, g_bytes_unref);
}

static GstCudaHistogramMeta *add_meta (GstBuffer *buffer, guint bins);

/* Copies the meta to a copy of the whole buffer, but not to a copy of a part of it. */
static gboolean
transform_meta (
    GstBuffer *to, GstMeta *meta, GstBuffer *from, GQuark type, gpointer data)
{
  const GstCudaHistogramMeta *self = (const GstCudaHistogramMeta *) meta;
  GstCudaHistogramMeta *copy;

  (void) from;
  if (!GST_META_TRANSFORM_IS_COPY (type)
      || ((const GstMetaTransformCopy *) data)->region)
    return FALSE;
  copy = add_meta (to, self->bins);
  if (copy == NULL)
    return FALSE;
  copy->n_components = self->n_components;
  memcpy (copy->component, self->component, sizeof copy->component);
  copy->data = self->data == NULL ? NULL : g_bytes_ref (self->data);
  return TRUE;
}

const GstMetaInfo *
gst_cuda_histogram_meta_get_info (void)
{
  static const GstMetaInfo *info = NULL;

  if (g_once_init_enter (&info)) {
    const GstMetaInfo *registered =
        gst_meta_register (gst_cuda_histogram_meta_api_get_type (),
            GST_CUDA_HISTOGRAM_META_IMPL_NAME, sizeof (GstCudaHistogramMeta),
            init_meta, free_meta, transform_meta);

    g_once_init_leave (&info, registered);
  }
  return info;
}

static void
remove_metas (GstBuffer *buffer)
{
  GstMeta *meta;

  while ((meta = gst_buffer_get_meta (
              buffer, gst_cuda_histogram_meta_api_get_type ()))
          != NULL
      && gst_buffer_remove_meta (buffer, meta))
    continue;
}

static GstCudaHistogramMeta *
add_meta (GstBuffer *buffer, guint bins)
{
  GstCudaHistogramMeta *self = (GstCudaHistogramMeta *) gst_buffer_add_meta (
      buffer, gst_cuda_histogram_meta_get_info (), NULL);

  if (self != NULL)
    self->bins = bins;
  return self;
}

void
gst_histogram_meta_attach (
    GstBuffer *buffer, const GstHistoComponents *components, GBytes *counts)
{
  GstCudaHistogramMeta *meta;

  remove_metas (buffer);
  meta = add_meta (buffer, (guint) components->bins);
  meta->data = g_bytes_ref (counts);
  meta->n_components = (guint) components->n_components;
  for (gint i = 0; i < components->n_components; i++) {
    GstCudaHistogramComponent *component = &meta->component[i];

    component->name = components->component[i].name;
    component->component = (guint) components->component[i].component;
    component->depth = (guint) components->component[i].depth;
    component->counts = gst_histo_components_counts_of (components, i, counts);
  }
}
