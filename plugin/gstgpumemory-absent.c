/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpumemory in a build without libgstcuda. */
#include "gstgpumemory.h"

gboolean
gst_gpu_memory_available (void)
{
  return FALSE;
}

gboolean
gst_gpu_memory_has_format (GstVideoFormat format)
{
  (void) format;
  return FALSE;
}

gboolean
gst_gpu_memory_wants_even_height (GstVideoFormat format)
{
  (void) format;
  return FALSE;
}

gboolean
gst_gpu_memory_find_context (GstElement *element, gint device_id,
    GstObject *const *context, Fault *fault)
{
  (void) element;
  (void) device_id;
  (void) context;
  fault->kind = FAULT_NONE;
  return FALSE;
}

void
gst_gpu_memory_take_context (GstElement *element, GstContext *offered,
    gint device_id, GstObject **context)
{
  (void) element;
  (void) offered;
  (void) device_id;
  (void) context;
}

gboolean
gst_gpu_memory_answer_query (
    GstElement *element, GstQuery *query, GstObject *context)
{
  (void) element;
  (void) query;
  (void) context;
  return FALSE;
}

gint
gst_gpu_memory_context_device (GstObject *context)
{
  (void) context;
  return -1;
}

Gpu *
gst_gpu_memory_open (GstObject *context, Fault *fault)
{
  (void) context;
  fault_set (fault, FAULT_UNSUPPORTED, "This build has no %s.",
      GST_GPU_MEMORY_FEATURE);
  return NULL;
}

GstMiniObject *
gst_gpu_memory_stream_new (GstObject *context)
{
  (void) context;
  return NULL;
}

GpuStream
gst_gpu_memory_stream_handle (GstMiniObject *stream)
{
  (void) stream;
  return NULL;
}

GstObject *
gst_gpu_memory_get_context (GstBuffer *buffer)
{
  (void) buffer;
  return NULL;
}

GpuStream
gst_gpu_memory_get_stream (GstBuffer *buffer)
{
  (void) buffer;
  return NULL;
}

GpuStream
gst_gpu_memory_get_pending (GstBuffer *buffer)
{
  (void) buffer;
  return NULL;
}

void
gst_gpu_memory_set_complete (GstBuffer *buffer)
{
  (void) buffer;
}

void
gst_gpu_memory_lay_out (GstBuffer *buffer, GstVideoInfo *info)
{
  (void) buffer;
  (void) info;
}

GstBufferPool *
gst_gpu_memory_pool_new (GstObject *context, GstMiniObject *stream,
    GstCaps *caps, guint min_buffers, guint *size)
{
  (void) context;
  (void) stream;
  (void) caps;
  (void) min_buffers;
  (void) size;
  return NULL;
}

gboolean
gst_gpu_memory_is_pool (GstBufferPool *pool, GstObject *context)
{
  (void) pool;
  (void) context;
  return FALSE;
}
