/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpumemory: frames in GPU memory (memory:CUDAMemory), and the CUDA contexts that elements
 * share for them. The only code that uses GStreamer's CUDA library, libgstcuda. In a build
 * without libgstcuda, gst_gpu_memory_available() is FALSE and no buffer is in GPU memory.
 *
 * Contexts are of type GstCudaContext and streams of type GstCudaStream; this header uses
 * neither type. The version of libgstcuda that is found at run time decides:
 *
 *   before 1.24   memory belongs to no stream. Elements hand it over complete, except after
 *                 gst_buffer_copy_deep(), whose copy the legacy stream may still be running
 *   from 1.24 on  memory may belong to a stream, with work queued there that writes it. Later
 *                 work on that stream comes after
 *
 * Any thread. */
#pragma once

#include <gst/video/video.h>

#include "gpu.h"

G_BEGIN_DECLS

#define GST_GPU_MEMORY_FEATURE "memory:CUDAMemory"

/* For gst_video_frame_map(): device addresses instead of a copy on the host. */
#define GST_GPU_MEMORY_MAP (GST_MAP_FLAG_LAST << 1)

/* Whether this build uses libgstcuda, and libgstcuda finds a driver. */
gboolean gst_gpu_memory_available (void);
/* Whether libgstcuda can allocate frames of the format. No other format may be requested: old
 * versions then end the process. */
gboolean gst_gpu_memory_has_format (GstVideoFormat format);
/* Whether libgstcuda has a fault with frames of the format and an odd height: it allocates or
 * copies them wrongly. Such frames must not be requested either. */
gboolean gst_gpu_memory_wants_even_height (GstVideoFormat format);

/* Finds a context for the element, unless *context is set, in this order: a context that the
 * element was given before, that of a neighbour, that of the application, or the primary
 * context of the device. The primary context is announced to application and neighbours, and
 * is shared by all elements of the process that find no other. `device_id` -1: any device that
 * runs the kernels of this build. The context arrives through GstElement.set_context(), which
 * must call gst_gpu_memory_take_context(). FALSE: *context is still NULL; the fault says why
 * the device has none, or is FAULT_NONE if no context can be shared at all. */
gboolean gst_gpu_memory_find_context (GstElement *element, gint device_id,
    GstObject *const *context, Fault *fault);
/* For GstElement.set_context(): sets *context, if it is NULL, to the offered context, if that
 * is of the right device. The caller owns the reference. */
void gst_gpu_memory_take_context (GstElement *element, GstContext *offered,
    gint device_id, GstObject **context);
/* Answers a GST_QUERY_CONTEXT for a CUDA context with `context`, which may be NULL. */
gboolean gst_gpu_memory_answer_query (
    GstElement *element, GstQuery *query, GstObject *context);
/* Returns the number of the context's device. */
gint gst_gpu_memory_context_device (GstObject *context);
/* Opens the engine on the context; the returned GPU holds a reference to it. NULL and a fault:
 * the kernels of this build do not run there. */
Gpu *gst_gpu_memory_open (GstObject *context, Fault *fault);

/* Returns a new stream, to compute on and for memory to belong to. NULL: libgstcuda is older
 * than 1.24, or the driver refuses. */
GstMiniObject *gst_gpu_memory_stream_new (GstObject *context);
GpuStream gst_gpu_memory_stream_handle (GstMiniObject *stream);

/* Returns the context of a buffer that lies in one block of GPU memory, else NULL. The buffer
 * owns it. */
GstObject *gst_gpu_memory_get_context (GstBuffer *buffer);
/* Returns the stream that the memory of such a buffer belongs to, or NULL. The buffer owns it. */
GpuStream gst_gpu_memory_get_stream (GstBuffer *buffer);
/* Returns that stream if work that writes the memory may be queued there, else NULL. Must be
 * called twice: before the memory is mapped, since another thread that waits for the stream
 * clears the flag first and only mapping waits for that thread; and after, since mapping may
 * queue a copy. */
GpuStream gst_gpu_memory_get_pending (GstBuffer *buffer);
/* Declares that all work that writes the memory has ended. No other thread may use the buffer
 * meanwhile. */
void gst_gpu_memory_set_complete (GstBuffer *buffer);
/* Copies the strides and offsets of a frame in GPU memory to `info`, for buffers that have no
 * GstVideoMeta. Does nothing for other memory, or if size or format differ. */
void gst_gpu_memory_lay_out (GstBuffer *buffer, GstVideoInfo *info);

/* Returns a pool of frames for `caps`, whose memory belongs to `stream` (may be NULL). *size is
 * set to the size of a buffer. NULL: GPU memory cannot hold such frames. */
GstBufferPool *gst_gpu_memory_pool_new (GstObject *context,
    GstMiniObject *stream, GstCaps *caps, guint min_buffers, guint *size);
/* Whether the pool allocates GPU memory in the context. */
gboolean gst_gpu_memory_is_pool (GstBufferPool *pool, GstObject *context);

G_END_DECLS
