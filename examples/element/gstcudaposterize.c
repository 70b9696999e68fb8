/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudaposterize
 *
 * Leaves a few levels of each component of a video frame, on the GPU or the CPU. Pinned memory,
 * frames in flight, memory:CUDAMemory and the fallback to the CPU come from the base class.
 *
 * |[
 * gst-launch-1.0 videotestsrc ! cudaposterize levels=4 ! videoconvert ! autovideosink
 * ]|
 */
#include <gst/cudasepconv/gstcudaframefilter.h>

#include "posterize.h"

#define DEFAULT_LEVELS 4

G_DECLARE_FINAL_TYPE (GstCudaPosterize, gst_cuda_posterize, GST,
    CUDA_POSTERIZE, GstCudaFrameFilter)

struct _GstCudaPosterize
{
  GstCudaFrameFilter parent;

  guint levels; /* protected by the object lock */

  /* Owned by the streaming thread. A launch copies it, so that frames in flight keep theirs. */
  PosterizeTable table;
};

enum
{
  PROP_0,
  PROP_LEVELS,
};

G_DEFINE_TYPE (
    GstCudaPosterize, gst_cuda_posterize, GST_TYPE_CUDA_FRAME_FILTER)
GST_ELEMENT_REGISTER_DEFINE (cudaposterize, "cudaposterize", GST_RANK_NONE,
    gst_cuda_posterize_get_type ())

/* Any thread: every byte of a frame must be a sample, and none of them alpha. */
static gboolean
gst_cuda_posterize_takes_format (
    GstCudaFrameFilter *filter, const GstVideoFormatInfo *format, GError **why)
{
  (void) filter;
  for (guint c = 0; c < format->n_components; c++)
    if (format->depth[c] != 8) {
      g_set_error (why, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
          "cudaposterize takes 8 bits a sample; %s has %u.", format->name,
          format->depth[c]);
      return FALSE;
    }
  if (GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format)
      || (GST_VIDEO_FORMAT_INFO_IS_RGB (format)
          && format->n_planes == 1 && format->pixel_stride[0] != 3)) {
    g_set_error (why, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "cudaposterize takes no alpha and no padding, as in %s.", format->name);
    return FALSE;
  }
  return TRUE;
}

static gboolean
gst_cuda_posterize_prepare (GstCudaFrameFilter *filter,
    const GstVideoInfo *info, GstCudaFrameUse *use, GError **error)
{
  GstCudaPosterize *self = GST_CUDA_POSTERIZE (filter);
  guint steps;

  (void) info;
  (void) error;
  GST_OBJECT_LOCK (self);
  steps = self->levels - 1;
  GST_OBJECT_UNLOCK (self);
  if (steps == 255) {
    *use = GST_CUDA_FRAME_PASS;
    return TRUE;
  }
  /* The nearest of steps + 1 codes from 0 to 255. */
  for (guint code = 0; code < 256; code++) {
    const guint level = (code * steps * 2 + 255) / 510;

    self->table.code[code] = (guint8) ((level * 510 + steps) / (2 * steps));
  }
  return TRUE;
}

#ifdef HAVE_CUDA
static gboolean
gst_cuda_posterize_compute_cuda (GstCudaFrameFilter *filter,
    const GstCudaFrame *src, const GstCudaFrame *dst, guint slot,
    struct CUstream_st *stream, GError **error)
{
  (void) slot;
  for (guint p = 0; p < src->n_planes; p++) {
    const char *problem = posterize_plane (&GST_CUDA_POSTERIZE (filter)->table,
        src->data[p], src->stride[p], dst->data[p], dst->stride[p],
        src->row_bytes[p], src->rows[p], stream);

    if (problem != NULL) {
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
          "The GPU did not take the kernel: %s.", problem);
      return FALSE;
    }
  }
  return TRUE;
}
#endif

static gboolean
gst_cuda_posterize_compute_cpu (GstCudaFrameFilter *filter,
    const GstCudaFrame *src, const GstCudaFrame *dst, guint slot,
    GError **error)
{
  const guint8 *code = GST_CUDA_POSTERIZE (filter)->table.code;

  (void) slot;
  (void) error;
  for (guint p = 0; p < src->n_planes; p++)
    for (gint y = 0; y < src->rows[p]; y++) {
      const guint8 *from = src->data[p] + y * src->stride[p];
      guint8 *to = dst->data[p] + y * dst->stride[p];

      for (gsize x = 0; x < src->row_bytes[p]; x++)
        to[x] = code[from[x]];
    }
  return TRUE;
}

static void
gst_cuda_posterize_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstCudaPosterize *self = GST_CUDA_POSTERIZE (object);

  GST_OBJECT_LOCK (self);
  if (id == PROP_LEVELS)
    self->levels = g_value_get_uint (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_cuda_posterize_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstCudaPosterize *self = GST_CUDA_POSTERIZE (object);

  GST_OBJECT_LOCK (self);
  if (id == PROP_LEVELS)
    g_value_set_uint (value, self->levels);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_cuda_posterize_class_init (GstCudaPosterizeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstCudaFrameFilterClass *filter_class = GST_CUDA_FRAME_FILTER_CLASS (klass);

  object_class->set_property = gst_cuda_posterize_set_property;
  object_class->get_property = gst_cuda_posterize_get_property;
  g_object_class_install_property (object_class, PROP_LEVELS,
      g_param_spec_uint ("levels", "Levels",
          "Number of codes that each component keeps (256 = all: frames pass)",
          2, 256, DEFAULT_LEVELS,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_CONTROLLABLE));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass),
      "Posterize (CUDA or CPU)", "Filter/Effect/Video/Hardware",
      "Leaves a few levels of each component",
      "gst-cudasepconv developers");
  filter_class->takes_format = gst_cuda_posterize_takes_format;
  filter_class->prepare = gst_cuda_posterize_prepare;
#ifdef HAVE_CUDA
  filter_class->compute_cuda = gst_cuda_posterize_compute_cuda;
#endif
  filter_class->compute_cpu = gst_cuda_posterize_compute_cpu;
}

static void
gst_cuda_posterize_init (GstCudaPosterize *self)
{
  self->levels = DEFAULT_LEVELS;
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (cudaposterize, plugin);
}

#define PACKAGE "cudaposterize"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, cudaposterize,
    "Posterizes video", plugin_init, "1.0", "LGPL", PACKAGE,
    "Unknown package origin")
