/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library exports only the symbols of the header. It is built on GstGpuFilter, as the
 * plugin is, but under another name: see gstcudaframefilter-names.h. */
#define GST_CUDA_FRAME_FILTER_API __attribute__ ((visibility ("default"))) extern
#include "gstcudaframefilter.h"

#include "gstgpufilter.h"
#include "gstgpulog.h"

#define GST_CAT_DEFAULT gst_gpu_log_base

typedef struct
{
  /* Owned by the streaming thread, and while that is idle by the thread that starts and
   * stops. */
  gboolean prepared;
  GstCudaFrameUse use; /* as the last prepare() of the subclass left it */
} GstCudaFrameFilterPrivate;

/* The header shows neither the instance nor the class of the parent type. */
G_STATIC_ASSERT (sizeof (GstGpuFilter) == sizeof (GstVideoFilter));
G_STATIC_ASSERT (sizeof (GstGpuFilterClass)
    <= G_STRUCT_OFFSET (GstCudaFrameFilterClass, takes_format));

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstCudaFrameFilter, gst_cuda_frame_filter, GST_TYPE_GPU_FILTER)

#define PRIVATE(self) \
  ((GstCudaFrameFilterPrivate *) \
          gst_cuda_frame_filter_get_instance_private (self))

/* For subclasses */

const GstVideoInfo *
gst_cuda_frame_filter_get_info (GstCudaFrameFilter *self)
{
  return gst_gpu_filter_get_info (GST_GPU_FILTER (self));
}

guint
gst_cuda_frame_filter_get_depth (GstCudaFrameFilter *self)
{
  return gst_gpu_filter_get_depth (GST_GPU_FILTER (self));
}

gboolean
gst_cuda_frame_filter_uses_gpu (GstCudaFrameFilter *self)
{
  return gst_gpu_filter_get_gpu (GST_GPU_FILTER (self)) != NULL;
}

void
gst_cuda_frame_filter_class_set_fields_apart (
    GstCudaFrameFilterClass *klass, gboolean fields_apart)
{
  GST_GPU_FILTER_CLASS (klass)->fields_apart = fields_apart;
}

void
gst_cuda_frame_filter_drain (GstCudaFrameFilter *self)
{
  gst_gpu_filter_drain (GST_GPU_FILTER (self));
}

/* Errors */

static FaultKind
kind_of_error (const GError *error)
{
  if (error->domain == GST_STREAM_ERROR)
    return FAULT_FORMAT;
  if (error->domain != GST_RESOURCE_ERROR)
    return FAULT_FAILED;
  switch (error->code) {
    case GST_RESOURCE_ERROR_SETTINGS:
      return FAULT_SETTINGS;
    case GST_RESOURCE_ERROR_NOT_FOUND:
      return FAULT_NOT_FOUND;
    case GST_RESOURCE_ERROR_NO_SPACE_LEFT:
      return FAULT_NO_SPACE;
    default:
      return FAULT_FAILED;
  }
}

/* Converts the subclass's error to a fault, and frees the error; `fault` may be NULL. Returns
 * FALSE. */
static gboolean
take_error (GstCudaFrameFilter *self, GError *error, const gchar *task,
    Fault *fault)
{
  if (error == NULL)
    return fault_set (fault, FAULT_FAILED,
        "%s could not %s, and does not say why.", G_OBJECT_TYPE_NAME (self),
        task);
  fault_set (fault, kind_of_error (error), "%s", error->message);
  fault_detail (
      fault, "%s, code %d", g_quark_to_string (error->domain), error->code);
  g_error_free (error);
  return FALSE;
}

/* GstGpuFilter */

static gboolean
gst_cuda_frame_filter_takes_format (
    GstGpuFilter *filter, const GstVideoFormatInfo *format, Fault *why)
{
  GstCudaFrameFilter *self = GST_CUDA_FRAME_FILTER (filter);
  GstCudaFrameFilterClass *klass = GST_CUDA_FRAME_FILTER_GET_CLASS (self);
  GError *error = NULL;

  if (gst_frame_format_packing (GST_VIDEO_FORMAT_INFO_FORMAT (format))
      != BITPACK_NONE)
    return fault_set (why, FAULT_FORMAT,
        "%s takes video whose samples are whole bytes in the host's order, unlike "
        "those of %s.",
        G_OBJECT_TYPE_NAME (self), GST_VIDEO_FORMAT_INFO_NAME (format));
  if (klass->takes_format == NULL || klass->takes_format (self, format, &error)) {
    g_clear_error (&error);
    return TRUE;
  }
  take_error (self, error, "take this format", why);
  if (why != NULL)
    why->kind = FAULT_FORMAT;
  return FALSE;
}

static GstGpuFilterBackend
gst_cuda_frame_filter_needed_backend (GstGpuFilter *filter)
{
  GstCudaFrameFilterClass *klass = GST_CUDA_FRAME_FILTER_GET_CLASS (filter);

  return klass->compute_cuda == NULL ? GST_GPU_FILTER_BACKEND_CPU
      : klass->compute_cpu == NULL   ? GST_GPU_FILTER_BACKEND_CUDA
                                     : GST_GPU_FILTER_BACKEND_AUTO;
}

static void
gst_cuda_frame_filter_release (GstGpuFilter *filter)
{
  GstCudaFrameFilter *self = GST_CUDA_FRAME_FILTER (filter);
  GstCudaFrameFilterClass *klass = GST_CUDA_FRAME_FILTER_GET_CLASS (self);

  PRIVATE (self)->prepared = FALSE;
  if (klass->release != NULL)
    klass->release (self);
}

/* Calls the function prepare of the subclass. Not while frames of the old caps, whose format
 * the current settings refuse, are still computed with the settings from before. */
static gboolean
prepare (GstCudaFrameFilter *self, Fault *fault)
{
  GstCudaFrameFilterPrivate *priv = PRIVATE (self);
  GstCudaFrameFilterClass *klass = GST_CUDA_FRAME_FILTER_GET_CLASS (self);
  const GstVideoInfo *info = gst_cuda_frame_filter_get_info (self);
  const GstGpuFilterFit fit =
      gst_gpu_filter_check_caps (GST_GPU_FILTER (self), fault);
  GError *error = NULL;

  if (fit != GST_GPU_FILTER_FITS)
    return priv->prepared && fit == GST_GPU_FILTER_AWAITS_CAPS;
  priv->use = GST_CUDA_FRAME_WRITE;
  if (klass->prepare != NULL && !klass->prepare (self, info, &priv->use, &error))
    return take_error (self, error, "prepare", fault);
  g_clear_error (&error);
  priv->prepared = TRUE;
  return TRUE;
}

static GstGpuFilterUse
use_of_base (GstCudaFrameUse use)
{
  switch (use) {
    case GST_CUDA_FRAME_READ:
      return GST_GPU_FILTER_READ;
    case GST_CUDA_FRAME_PASS:
      return GST_GPU_FILTER_PASS;
    default:
      return GST_GPU_FILTER_WRITE;
  }
}

static gboolean
gst_cuda_frame_filter_prepare (
    GstGpuFilter *filter, GstGpuFilterUse *use, Fault *fault)
{
  GstCudaFrameFilter *self = GST_CUDA_FRAME_FILTER (filter);
  GstElementFactory *factory = gst_element_get_factory (GST_ELEMENT (self));

  if (!prepare (self, fault))
    return FALSE;
  *use = use_of_base (PRIVATE (self)->use);
  /* A frame that is only read is computed only if it is reported. */
  gst_gpu_filter_set_reports (filter,
      GST_CUDA_FRAME_FILTER_GET_CLASS (self)->finish != NULL
          || *use == GST_GPU_FILTER_READ);
  gst_gpu_filter_set_active_method (filter,
      *use == GST_GPU_FILTER_PASS ? "none"
          : factory != NULL       ? GST_OBJECT_NAME (factory) /* the class holds it */
                                  : G_OBJECT_TYPE_NAME (self));
  return TRUE;
}

static void
show_image (const Image *image, GstCudaFrame *frame)
{
  memset (frame, 0, sizeof *frame);
  frame->n_planes = (guint) image->n_memories;
  for (gint m = 0; m < image->n_memories; m++) {
    frame->data[m] = image->memory[m].data;
    frame->stride[m] = image->memory[m].stride;
    frame->row_bytes[m] = image->memory[m].row_bytes;
    frame->rows[m] = image->memory[m].height;
  }
}

static gboolean
gst_cuda_frame_filter_compute (
    GstGpuFilter *filter, const RingPart *part, guint slot_index, Fault *fault)
{
  GstCudaFrameFilter *self = GST_CUDA_FRAME_FILTER (filter);
  GstCudaFrameFilterClass *klass = GST_CUDA_FRAME_FILTER_GET_CLASS (self);
  GstCudaFrame src, result;
  const GstCudaFrame *dst = part->dst->n_memories > 0 ? &result : NULL;
  GError *error = NULL;
  gboolean ok;

  if (!part->last)
    return TRUE;
  if (part->stream == NULL && klass->compute_cpu == NULL)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "%s has no code for any backend.", G_OBJECT_TYPE_NAME (self));
  show_image (part->src, &src);
  show_image (part->dst, &result);
  ok = part->stream != NULL
      ? klass->compute_cuda (self, &src, dst, slot_index, part->stream, &error)
      : klass->compute_cpu (self, &src, dst, slot_index, &error);
  if (!ok)
    return take_error (self, error, "compute a frame", fault);
  g_clear_error (&error);
  return TRUE;
}

static GstMessage *
gst_cuda_frame_filter_finish (
    GstGpuFilter *filter, guint slot_index, GstBuffer **buffer)
{
  GstCudaFrameFilterClass *klass = GST_CUDA_FRAME_FILTER_GET_CLASS (filter);

  return klass->finish != NULL
      ? klass->finish (GST_CUDA_FRAME_FILTER (filter), slot_index, buffer)
      : NULL;
}

/* GObject */

static void
gst_cuda_frame_filter_init (GstCudaFrameFilter *self)
{
  (void) self;
}

static void
gst_cuda_frame_filter_class_init (GstCudaFrameFilterClass *klass)
{
  GstGpuFilterClass *filter_class = GST_GPU_FILTER_CLASS (klass);

  filter_class->takes_format =
      GST_DEBUG_FUNCPTR (gst_cuda_frame_filter_takes_format);
  filter_class->needed_backend =
      GST_DEBUG_FUNCPTR (gst_cuda_frame_filter_needed_backend);
  filter_class->prepare = GST_DEBUG_FUNCPTR (gst_cuda_frame_filter_prepare);
  filter_class->compute = GST_DEBUG_FUNCPTR (gst_cuda_frame_filter_compute);
  filter_class->finish = GST_DEBUG_FUNCPTR (gst_cuda_frame_filter_finish);
  filter_class->release = GST_DEBUG_FUNCPTR (gst_cuda_frame_filter_release);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_FRAME_FILTER, 0);
}
