/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpumemory: frames in the GPU's memory, memory:CUDAMemory, and the contexts that
 * elements share for it. The only code that knows GStreamer's CUDA library, libgstcuda;
 * in a build without it nothing is available and no memory is of that kind.
 *
 * A context is a GstCudaContext, a stream a GstCudaStream; neither type shows here.
 * Memory of libgstcuda before 1.24 belongs to no stream: elements hand it over
 * complete (but for gst_buffer_copy_deep() of that version, which the legacy stream
 * may still be at). Later, work may be queued on its stream, and what is queued there
 * comes after. The version is the one found at run time. Any thread. */
#pragma once

#include <gst/video/video.h>

#include "gpu.h"

G_BEGIN_DECLS

#define GST_GPU_MEMORY_FEATURE "memory:CUDAMemory"

/* For gst_video_frame_map(): device addresses instead of a copy on the host. */
#define GST_GPU_MEMORY_MAP (GST_MAP_FLAG_LAST << 1)

/* Whether the library is there and finds a driver. */
gboolean gst_gpu_memory_available (void);
/* Whether it has frames of the format, which none but these may be asked for: versions
 * of old end the process. */
gboolean gst_gpu_memory_has_format (GstVideoFormat format);
/* Whether it makes or copies frames of the format wrongly where their height is odd, so
 * that these must not be asked for either. */
gboolean gst_gpu_memory_wants_even_height (GstVideoFormat format);

/* Has the element given a context, unless *context is set already: one of those it
 * was given before, its neighbours', the application's, or else the device's primary
 * one, which all are then told of, and which all elements of the process share that
 * find no other. `device_id` -1: of any device that runs this build's kernels. The
 * element has to pass what it is given, and asked, to the two functions below, which
 * fill *context. FALSE: it is still NULL. */
gboolean gst_gpu_memory_find_context (
    GstElement *element, gint device_id, GstObject *const *context);
/* For GstElement.set_context(): fills *context, if it is empty, with what is offered,
 * if that is of the right device. The caller owns the reference. */
void gst_gpu_memory_take_context (GstElement *element, GstContext *offered,
    gint device_id, GstObject **context);
/* Answers a GST_QUERY_CONTEXT, if it is for such a context. `context` may be NULL. */
gboolean gst_gpu_memory_answer_query (
    GstElement *element, GstQuery *query, GstObject *context);
gint gst_gpu_memory_context_device (GstObject *context);
/* The engine's handle of it, which holds it; NULL and a fault if kernels of this build
 * do not run there. */
Gpu *gst_gpu_memory_open (GstObject *context, Fault *fault);

/* A stream to compute on, which memory can belong to; NULL before 1.24, or if it
 * cannot be had. */
GstMiniObject *gst_gpu_memory_stream_new (GstObject *context);
GpuStream gst_gpu_memory_stream_handle (GstMiniObject *stream);

/* The context of a buffer all of which lies in one piece of such memory, else NULL.
 * Borrowed from the buffer. */
GstObject *gst_gpu_memory_get_context (GstBuffer *buffer);
/* The stream that such a buffer's memory belongs to, or NULL. Borrowed likewise. */
GpuStream gst_gpu_memory_get_stream (GstBuffer *buffer);
/* The same, but NULL also if nothing that writes the memory is queued there. To be
 * asked before it is mapped, since who waits for the stream says at once that there
 * is nothing, and mapping then waits with them; and after, since mapping may queue a
 * copy. */
GpuStream gst_gpu_memory_get_pending (GstBuffer *buffer);
/* Says that all that was queued has been waited for. By whoever has the memory to
 * itself. */
void gst_gpu_memory_set_complete (GstBuffer *buffer);
/* Gives `info` the strides and offsets of a buffer's frame, which it has to be told by
 * if there is no GstVideoMeta. Nothing for other memory or other frames. */
void gst_gpu_memory_lay_out (GstBuffer *buffer, GstVideoInfo *info);

/* A pool of frames for `caps`, whose memory belongs to `stream` (may be NULL); *size
 * becomes that of its buffers. NULL: there is no memory for them. */
GstBufferPool *gst_gpu_memory_pool_new (GstObject *context,
    GstMiniObject *stream, GstCaps *caps, guint min_buffers, guint *size);
/* Whether a pool makes such memory in the context. */
gboolean gst_gpu_memory_is_pool (GstBufferPool *pool, GstObject *context);

G_END_DECLS
