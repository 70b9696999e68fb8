/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API

#include "gpu-memory-fixture.h"

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

/* Since 1.24. */
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

GstCaps *
gpu_caps (const char *format, int width, int height, const char *more)
{
  GstCaps *caps = video_caps (format, width, height, more);

  gst_caps_set_features_simple (caps, gst_caps_features_new (GPU_MEMORY, NULL));
  return caps;
}

gboolean
gpu_has_format (const char *format, int width, int height)
{
  GstElement *element = element_make ("cudasepconv");
  GstCaps *caps = gpu_caps (format, width, height, NULL);
  GstCaps *all = gst_pad_template_get_caps (
      gst_element_get_pad_template (element, "sink"));
  const gboolean has = gst_caps_is_subset (caps, all);

  gst_caps_unref (all);
  gst_caps_unref (caps);
  gst_object_unref (element);
  return has;
}

GstObject *
gpu_context_new_on (guint device)
{
  GstCudaContext *context;

  expect (gst_cuda_load_library (), "no CUDA library");
  gst_cuda_memory_init_once ();
  context = gst_cuda_context_new (device);
  return context == NULL ? NULL : GST_OBJECT (context);
}

int
gpu_major_capability (void)
{
  int major = 0;

  expect (gst_cuda_load_library ()
          && CuDeviceGetAttribute (
                 &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0)
              == CUDA_SUCCESS,
      "the GPU does not tell its compute capability");
  return major;
}

gboolean
gpu_is_emulated (void)
{
  return g_getenv ("EMULATED_GPU_DEVICES") != NULL;
}

GstObject *
gpu_context_new (void)
{
  GstObject *context = gpu_context_new_on (0);

  expect (context != NULL, "no CUDA context");
  return context;
}

GstContext *
gpu_context_wrap (GstObject *context)
{
  return gst_context_new_cuda_context (GST_CUDA_CONTEXT (context));
}

GstObject *
gpu_context_of (GstElement *element)
{
  GstQuery *query = gst_query_new_context (GST_CUDA_CONTEXT_TYPE);
  GstPad *pad = gst_element_get_static_pad (element, "src");
  GstCudaContext *context = NULL;
  GstContext *answer = NULL;

  if (gst_pad_query (pad, query))
    gst_query_parse_context (query, &answer);
  if (answer != NULL)
    gst_structure_get (gst_context_get_structure (answer),
        GST_CUDA_CONTEXT_TYPE, GST_TYPE_CUDA_CONTEXT, &context, NULL);
  gst_object_unref (pad);
  gst_query_unref (query);
  return context == NULL ? NULL : GST_OBJECT (context);
}

GstBufferPool *
gpu_pool_new (GstObject *context, GstCaps *caps, guint most, gboolean streams)
{
  GstBufferPool *pool = gst_cuda_buffer_pool_new (GST_CUDA_CONTEXT (context));
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstVideoInfo info;

  expect (gst_video_info_from_caps (&info, caps), "no video info");
  gst_buffer_pool_config_set_params (config, caps, (guint) info.size, 0, most);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (streams && gst_cuda_stream_new != NULL) {
    GstCudaStream *stream = gst_cuda_stream_new (GST_CUDA_CONTEXT (context));

    expect (stream != NULL, "no CUDA stream");
    gst_buffer_pool_config_set_cuda_stream (config, stream);
    gst_mini_object_unref ((GstMiniObject *) stream);
  }
  expect (gst_buffer_pool_set_config (pool, config), "the pool takes no caps");
  expect (gst_buffer_pool_set_active (pool, TRUE), "the pool does not start");
  return pool;
}

void
gpu_pool_free (GstBufferPool *pool)
{
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

static CUstream
stream_of (GstBuffer *buffer)
{
  return gpu_buffer_has_stream (buffer)
      ? gst_cuda_stream_get_handle (gst_cuda_memory_get_stream (
          GST_CUDA_MEMORY_CAST (gst_buffer_peek_memory (buffer, 0))))
      : NULL;
}

/* The pitch of a plane, in bytes. */
static gsize
row_distance (const GstVideoFrame *frame, guint plane)
{
  return (gsize) ABS (GST_VIDEO_FRAME_PLANE_STRIDE (frame, plane));
}

/* Bytes of a row that hold pixels, including all of a group that is used only in
 * part. */
static gsize
row_bytes (const GstVideoInfo *info, guint plane)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gsize most = 0;

  gst_video_format_info_component (info->finfo, plane, components);
  for (guint c = 0; c < GST_VIDEO_MAX_COMPONENTS && components[c] >= 0; c++) {
    const gint bytes = GST_VIDEO_INFO_COMP_WIDTH (info, components[c])
        * GST_VIDEO_INFO_COMP_PSTRIDE (info, components[c]);

    most = MAX (most, (gsize) bytes);
  }
  return most;
}

static guint
plane_rows (const GstVideoInfo *info, guint plane)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, components);
  return (guint) GST_VIDEO_INFO_COMP_HEIGHT (info, components[0]);
}

/* A copy of a plane on the host with the pitch that it has in GPU memory. The padding is
 * not zero, since it may be anything. */
static guint8 *
plane_staged (const GstVideoFrame *frame, guint plane, gsize distance)
{
  const GstVideoInfo *info = &frame->info;
  const guint8 *rows = GST_VIDEO_FRAME_PLANE_DATA (frame, plane);
  const guint n = plane_rows (info, plane);
  guint8 *staged = g_malloc (n * distance);

  memset (staged, 0xa5, n * distance);
  for (guint y = 0; y < n; y++)
    memcpy (staged + y * distance, rows + y * row_distance (frame, plane),
        row_bytes (info, plane));
  return staged;
}

/* Copies all planes between a buffer on the host and one on the GPU, on the stream of
 * the GPU memory. The library's own copies, which mapping for the CPU makes, omit a part
 * of planes of odd heights before 1.24. */
static void
copy_planes (
    GstBuffer *host, GstBuffer *gpu, const GstVideoInfo *info, gboolean up)
{
  const CUstream stream = stream_of (gpu);
  GstCudaContext *context = GST_CUDA_CONTEXT (gpu_buffer_context (gpu));
  GstVideoFrame here, there;

  expect (
      gst_video_frame_map (&here, info, host, up ? GST_MAP_READ : GST_MAP_WRITE)
          && gst_video_frame_map (&there, info, gpu,
              (GstMapFlags) ((up ? GST_MAP_WRITE : GST_MAP_READ)
                  | GST_MAP_CUDA)),
      "a buffer cannot be mapped");
  expect (gst_cuda_context_push (context), "no context");
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&here); p++) {
    const gsize distance = row_distance (&there, p);
    guint8 *staged = up ? plane_staged (&here, p, distance) : NULL;
    CUDA_MEMCPY2D copy = { .WidthInBytes = up ? distance : row_bytes (info, p),
      .Height = plane_rows (info, p) };

    copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = staged;
    copy.dstHost = GST_VIDEO_FRAME_PLANE_DATA (&here, p);
    copy.srcDevice = copy.dstDevice =
        (CUdeviceptr) (guintptr) GST_VIDEO_FRAME_PLANE_DATA (&there, p);
    copy.srcPitch = distance;
    copy.dstPitch = up ? distance : row_distance (&here, p);
    expect (CuMemcpy2DAsync (&copy, stream) == CUDA_SUCCESS,
        "plane %u cannot be copied", p);
    g_free (staged); /* the driver has already read pageable memory */
  }
  expect (
      (up && stream != NULL) || CuStreamSynchronize (stream) == CUDA_SUCCESS,
      "the copy failed");
  gst_cuda_context_pop (NULL);
  gst_video_frame_unmap (&there);
  gst_video_frame_unmap (&here);
}

GstBuffer *
gpu_copy (GstBufferPool *pool, GstBuffer *picture, const GstVideoInfo *info)
{
  GstBuffer *buffer = NULL;

  expect (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == GST_FLOW_OK,
      "no buffer in the GPU's memory");
  copy_planes (picture, buffer, info, TRUE);
  gst_buffer_copy_into (buffer, picture,
      GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, (gsize) -1);
  return buffer;
}

GstBuffer *
gpu_fetch (GstBuffer *buffer, const GstVideoInfo *info)
{
  GstBuffer *fetched;

  if (gpu_buffer_context (buffer) == NULL)
    return buffer;
  fetched = gst_buffer_new_allocate (NULL, info->size, NULL);
  gst_buffer_copy_into (fetched, buffer,
      GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, (gsize) -1);
  copy_planes (fetched, buffer, info, FALSE);
  gst_buffer_unref (buffer);
  return fetched;
}

GstObject *
gpu_buffer_context (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return gst_buffer_n_memory (buffer) == 1 && gst_is_cuda_memory (memory)
      ? GST_OBJECT (GST_CUDA_MEMORY_CAST (memory)->context)
      : NULL;
}

gboolean
gpu_buffer_has_stream (GstBuffer *buffer)
{
  return gpu_buffer_context (buffer) != NULL
      && gst_cuda_memory_get_stream != NULL
      && gst_cuda_memory_get_stream (
             GST_CUDA_MEMORY_CAST (gst_buffer_peek_memory (buffer, 0)))
      != NULL;
}

gboolean
gpu_can_have_streams (void)
{
  return gst_cuda_stream_new != NULL;
}
