/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API

#include "gstgpumemory.h"

#include "gstgpulog.h"

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

#define GST_CAT_DEFAULT gst_gpu_log_memory

/* New in 1.24. NULL if the library found at run time is older, whatever the version of the
 * headers. */
typedef struct _GstCudaStream GstCudaStream;
GstCudaStream *gst_cuda_stream_new (GstCudaContext *context);
CUstream gst_cuda_stream_get_handle (GstCudaStream *stream);
GstCudaStream *gst_cuda_memory_get_stream (GstCudaMemory *memory);
void gst_buffer_pool_config_set_cuda_stream (
    GstStructure *config, GstCudaStream *stream);
#pragma weak gst_cuda_stream_new
#pragma weak gst_cuda_stream_get_handle
#pragma weak gst_cuda_memory_get_stream
#pragma weak gst_buffer_pool_config_set_cuda_stream
/* New in 1.26 and in 1.28. Not called: their presence shows the version, since later versions
 * have more formats. */
GType gst_cuda_memory_pool_get_type (void);
GstMemory *gst_cuda_allocator_alloc_stream_ordered (GstCudaAllocator *allocator,
    GstCudaContext *context, GstCudaStream *stream, const GstVideoInfo *info);
#pragma weak gst_cuda_memory_pool_get_type
#pragma weak gst_cuda_allocator_alloc_stream_ordered

/* GST_CUDA_MEMORY_TRANSFER_NEED_SYNC of 1.24: work that writes the memory may be queued on its
 * stream. */
#define NEED_SYNC (GST_MEMORY_FLAG_LAST << 2)

/* Number of devices whose primary context all elements of the process share. On further
 * devices, each pipeline has a context object of its own. */
#define MAX_DEVICES 64

G_STATIC_ASSERT (GST_GPU_MEMORY_MAP == GST_MAP_CUDA);

gboolean
gst_gpu_memory_available (void)
{
  static gsize state = 0;

  if (g_once_init_enter (&state)) {
    const gboolean loaded = gst_cuda_load_library ();

    if (loaded)
      gst_cuda_memory_init_once ();
    GST_INFO ("libgstcuda %s, %s streams",
        loaded ? "has a driver" : "finds no driver",
        gst_cuda_memory_get_stream != NULL ? "with" : "without");
    g_once_init_leave (&state, loaded ? 1 : 2);
  }
  return state == 1;
}

/* The formats of the elements that the allocator of libgstcuda knows, by its version. */
gboolean
gst_gpu_memory_has_format (GstVideoFormat format)
{
  switch (format) {
    case GST_VIDEO_FORMAT_I420:
    case GST_VIDEO_FORMAT_YV12:
    case GST_VIDEO_FORMAT_NV12:
    case GST_VIDEO_FORMAT_NV21:
    case GST_VIDEO_FORMAT_Y42B:
    case GST_VIDEO_FORMAT_Y444:
    case GST_VIDEO_FORMAT_YUY2:
    case GST_VIDEO_FORMAT_UYVY:
    case GST_VIDEO_FORMAT_I420_10LE:
    case GST_VIDEO_FORMAT_I422_10LE:
    case GST_VIDEO_FORMAT_I422_12LE:
    case GST_VIDEO_FORMAT_P010_10LE:
    case GST_VIDEO_FORMAT_P016_LE:
    case GST_VIDEO_FORMAT_Y444_16LE:
    case GST_VIDEO_FORMAT_RGB:
    case GST_VIDEO_FORMAT_BGR:
    case GST_VIDEO_FORMAT_RGBA:
    case GST_VIDEO_FORMAT_BGRA:
    case GST_VIDEO_FORMAT_ARGB:
    case GST_VIDEO_FORMAT_ABGR:
    case GST_VIDEO_FORMAT_RGBx:
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_RGBP:
    case GST_VIDEO_FORMAT_BGRP:
    case GST_VIDEO_FORMAT_GBR:
    case GST_VIDEO_FORMAT_GBRA:
    case GST_VIDEO_FORMAT_RGB10A2_LE:
    case GST_VIDEO_FORMAT_BGR10A2_LE:
      return TRUE;
    case GST_VIDEO_FORMAT_I420_12LE:
    case GST_VIDEO_FORMAT_P012_LE:
    case GST_VIDEO_FORMAT_Y444_10LE:
    case GST_VIDEO_FORMAT_Y444_12LE:
    case GST_VIDEO_FORMAT_GBR_10LE:
    case GST_VIDEO_FORMAT_GBR_12LE:
      return gst_cuda_memory_get_stream != NULL;
    case GST_VIDEO_FORMAT_VUYA:
      return gst_cuda_memory_pool_get_type != NULL;
    case GST_VIDEO_FORMAT_ARGB64:
      return gst_cuda_allocator_alloc_stream_ordered != NULL;
    default:
      return FALSE;
  }
}

/* Before 1.24, the third plane of an odd height begins in the middle of a row, and copies made
 * by the library leave it out. From 1.24 on, the second plane of NV21 has too few rows, since
 * the library rounds half the height down. */
gboolean
gst_gpu_memory_wants_even_height (GstVideoFormat format)
{
  switch (format) {
    case GST_VIDEO_FORMAT_I420:
    case GST_VIDEO_FORMAT_YV12:
    case GST_VIDEO_FORMAT_I420_10LE:
      return gst_cuda_memory_get_stream == NULL;
    case GST_VIDEO_FORMAT_NV21:
      return gst_cuda_memory_get_stream != NULL;
    default:
      return FALSE;
  }
}

/* Contexts */

/* Returns the device's primary context as one object for the whole process, or NULL and a fault;
 * the caller owns the reference. The last reference releases the device. */
static GstCudaContext *
get_primary (gint device_id, Fault *fault)
{
  static GMutex lock;
  static GWeakRef contexts[MAX_DEVICES];
  Gpu *gpu = gpu_open (device_id, fault);
  GstCudaContext *context = NULL;
  gint id;

  if (gpu == NULL)
    return NULL;
  id = gpu_id (gpu);
  g_mutex_lock (&lock);
  if (id < MAX_DEVICES)
    context = g_weak_ref_get (&contexts[id]);
  if (context == NULL) {
    context = gst_cuda_context_new_wrapped (gpu_context (gpu), id);
    if (context != NULL) {
      g_object_set_data_full (G_OBJECT (context), "cudasepconv-gpu",
          gpu_ref (gpu), (GDestroyNotify) gpu_close);
      if (id < MAX_DEVICES)
        g_weak_ref_set (&contexts[id], context);
    } else {
      fault_set (fault, FAULT_FAILED,
          "GStreamer's CUDA library cannot use the context of the GPU.");
      fault_detail (fault, "gst_cuda_context_new_wrapped");
    }
  }
  g_mutex_unlock (&lock);
  gpu_close (gpu);
  return context;
}

static void
ask_neighbour (GstElement *element, const gchar *pad_name)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);
  GstQuery *query = gst_query_new_context (GST_CUDA_CONTEXT_TYPE);
  GstContext *answer = NULL;

  if (gst_pad_peer_query (pad, query))
    gst_query_parse_context (query, &answer);
  if (answer != NULL)
    gst_element_set_context (element, answer);
  gst_query_unref (query);
  gst_object_unref (pad);
}

static void
share_primary (GstElement *element, gint device_id, Fault *fault)
{
  GstCudaContext *primary = get_primary (device_id, fault);
  GstContext *context;

  if (primary == NULL)
    return;
  context = gst_context_new_cuda_context (primary);
  gst_element_set_context (element, context);
  gst_element_post_message (
      element, gst_message_new_have_context (GST_OBJECT (element), context));
  gst_object_unref (primary);
}

/* Does not use gst_cuda_ensure_element_context(), which would make a context for each
 * pipeline: that takes more GPU memory, and kernels of different contexts wait for each other. */
gboolean
gst_gpu_memory_find_context (GstElement *element, gint device_id,
    GstObject *const *context, Fault *fault)
{
  GstContext *own;

  fault->kind = FAULT_NONE;
  if (!gst_gpu_memory_available ())
    return FALSE;
  own = gst_element_get_context (element, GST_CUDA_CONTEXT_TYPE);
  if (own != NULL) {
    gst_element_set_context (element, own);
    gst_context_unref (own);
  }
  if (*context == NULL)
    ask_neighbour (element, "src");
  if (*context == NULL)
    ask_neighbour (element, "sink");
  if (*context == NULL)
    gst_element_post_message (element,
        gst_message_new_need_context (
            GST_OBJECT (element), GST_CUDA_CONTEXT_TYPE));
  if (*context == NULL)
    share_primary (element, device_id, fault);
  return *context != NULL;
}

void
gst_gpu_memory_take_context (GstElement *element, GstContext *offered,
    gint device_id, GstObject **context)
{
  if (gst_gpu_memory_available ())
    gst_cuda_handle_set_context (
        element, offered, device_id, (GstCudaContext **) context);
}

gboolean
gst_gpu_memory_answer_query (
    GstElement *element, GstQuery *query, GstObject *context)
{
  return context != NULL
      && gst_cuda_handle_context_query (
          element, query, GST_CUDA_CONTEXT (context));
}

gint
gst_gpu_memory_context_device (GstObject *context)
{
  guint id = 0;

  g_object_get (context, "cuda-device-id", &id, NULL);
  return (gint) id;
}

Gpu *
gst_gpu_memory_open (GstObject *context, Fault *fault)
{
  Gpu *gpu = gpu_open_context (
      gst_cuda_context_get_handle (GST_CUDA_CONTEXT (context)),
      gst_gpu_memory_context_device (context), gst_object_unref, context,
      fault);

  if (gpu != NULL)
    gst_object_ref (context);
  return gpu;
}

/* Streams */

GstMiniObject *
gst_gpu_memory_stream_new (GstObject *context)
{
  if (gst_cuda_stream_new == NULL)
    return NULL;
  return (GstMiniObject *) gst_cuda_stream_new (GST_CUDA_CONTEXT (context));
}

GpuStream
gst_gpu_memory_stream_handle (GstMiniObject *stream)
{
  return stream == NULL ? NULL
                        : gst_cuda_stream_get_handle ((GstCudaStream *) stream);
}

/* Memory */

/* Returns the memory of a buffer if it has one block only, in GPU memory. */
static GstCudaMemory *
peek_memory (GstBuffer *buffer)
{
  GstMemory *memory;

  if (gst_buffer_n_memory (buffer) != 1)
    return NULL;
  memory = gst_buffer_peek_memory (buffer, 0);
  /* Without a driver, the type of GPU memory is not registered. */
  return gst_gpu_memory_available () && gst_is_cuda_memory (memory)
      ? GST_CUDA_MEMORY_CAST (memory)
      : NULL;
}

GstObject *
gst_gpu_memory_get_context (GstBuffer *buffer)
{
  GstCudaMemory *memory = peek_memory (buffer);

  return memory == NULL ? NULL : GST_OBJECT_CAST (memory->context);
}

GpuStream
gst_gpu_memory_get_stream (GstBuffer *buffer)
{
  GstCudaMemory *memory = peek_memory (buffer);

  return memory == NULL || gst_cuda_memory_get_stream == NULL
      ? NULL
      : gst_gpu_memory_stream_handle (
          (GstMiniObject *) gst_cuda_memory_get_stream (memory));
}

GpuStream
gst_gpu_memory_get_pending (GstBuffer *buffer)
{
  GstCudaMemory *memory = peek_memory (buffer);

  return memory == NULL || !GST_MEMORY_FLAG_IS_SET (memory, NEED_SYNC)
      ? NULL
      : gst_gpu_memory_get_stream (buffer);
}

void
gst_gpu_memory_set_complete (GstBuffer *buffer)
{
  GstCudaMemory *memory = peek_memory (buffer);

  if (memory != NULL)
    GST_MEMORY_FLAG_UNSET (memory, NEED_SYNC);
}

void
gst_gpu_memory_lay_out (GstBuffer *buffer, GstVideoInfo *info)
{
  const GstCudaMemory *memory = peek_memory (buffer);

  if (memory == NULL
      || GST_VIDEO_INFO_FORMAT (&memory->info) != GST_VIDEO_INFO_FORMAT (info)
      || GST_VIDEO_INFO_WIDTH (&memory->info) != GST_VIDEO_INFO_WIDTH (info)
      || GST_VIDEO_INFO_HEIGHT (&memory->info) != GST_VIDEO_INFO_HEIGHT (info))
    return;
  memcpy (info->stride, memory->info.stride, sizeof info->stride);
  memcpy (info->offset, memory->info.offset, sizeof info->offset);
  info->size = memory->info.size;
}

/* Pools */

GstBufferPool *
gst_gpu_memory_pool_new (GstObject *context, GstMiniObject *stream,
    GstCaps *caps, guint min_buffers, guint *size)
{
  GstBufferPool *pool;
  GstStructure *config;
  GstVideoInfo info;
  gboolean ok;

  if (!gst_video_info_from_caps (&info, caps)
      || !gst_gpu_memory_has_format (GST_VIDEO_INFO_FORMAT (&info))
      || (GST_VIDEO_INFO_HEIGHT (&info) % 2 != 0
          && gst_gpu_memory_wants_even_height (GST_VIDEO_INFO_FORMAT (&info))))
    return NULL;
  pool = gst_cuda_buffer_pool_new (GST_CUDA_CONTEXT (context));
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (
      config, caps, (guint) GST_VIDEO_INFO_SIZE (&info), min_buffers, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (stream != NULL)
    gst_buffer_pool_config_set_cuda_stream (config, (GstCudaStream *) stream);
  ok = gst_buffer_pool_set_config (pool, config);
  if (ok) {
    /* Rows of the pool are padded, so that its buffers are larger than the caps say. */
    config = gst_buffer_pool_get_config (pool);
    ok = gst_buffer_pool_config_get_params (config, NULL, size, NULL, NULL);
    gst_structure_free (config);
  }
  if (!ok)
    gst_clear_object (&pool);
  return pool;
}

gboolean
gst_gpu_memory_is_pool (GstBufferPool *pool, GstObject *context)
{
  return gst_gpu_memory_available () && GST_IS_CUDA_BUFFER_POOL (pool)
      && GST_OBJECT_CAST (GST_CUDA_BUFFER_POOL (pool)->context) == context;
}
