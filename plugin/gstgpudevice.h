/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpudevice: the GPU that an element computes on, and what goes with its context:
 * pinned memory, and the memory and stream that elements share. A part of the
 * element, whose object lock protects what several threads want.
 *
 * The context is one that elements share, where GStreamer's CUDA library is available;
 * else it is the engine's own, and frames are in system memory only. */
#pragma once

#include "gstgpupools.h"

#include "gpu.h"

G_BEGIN_DECLS

typedef struct
{
  GstElement *element; /* that it is a part of */

  /* Written with the object lock held. A GstCudaContext; `gpu` is open on it, if both
   * are set. */
  GstObject *context;
  gint state; /* whether it is open, and has a context; atomic for readers */

  /* Of the thread that opens and closes. */
  Gpu *gpu;                /* NULL: the CPU */
  GstAllocator *allocator; /* of pinned memory, with gpu */
  GstMiniObject *stream;   /* that GPU memory of ours belongs to, or NULL */
  gint device_id;          /* that was asked for */
  gconstpointer refused;   /* a context that cannot be ours; only compared */
} GstGpuDevice;

/* Closed. */
void gst_gpu_device_init (GstGpuDevice *self, GstElement *element);
/* Not open. */
void gst_gpu_device_clear (GstGpuDevice *self);

/* Opens device `device_id`, -1 any. FALSE and a fault: there is none that will do. */
gboolean gst_gpu_device_open (GstGpuDevice *self, gint device_id, Fault *fault);
/* Instead: there will be no GPU until it is closed. */
void gst_gpu_device_open_none (GstGpuDevice *self);
void gst_gpu_device_close (GstGpuDevice *self);

/* Frames may come in another context than ours: opens that, for
 * gst_gpu_device_adopt(). NULL: there is nothing to do, or it is of another device
 * than was asked for, or runs no kernels of ours; then GStreamer's library puts such
 * frames into system memory. */
Gpu *gst_gpu_device_open_other (GstGpuDevice *self, GstBuffer *buffer);
/* Closes, and goes on in the context of the buffer, with what was opened for it. */
void gst_gpu_device_adopt (GstGpuDevice *self, GstBuffer *buffer, Gpu *gpu);

/* Make the context current on the calling thread until the pop; without a GPU they do
 * nothing. FALSE and a fault, which may be NULL: the context is lost. */
gboolean gst_gpu_device_push (GstGpuDevice *self, Fault *fault);
void gst_gpu_device_pop (GstGpuDevice *self);

/* Whether a buffer is in the GPU's memory, where kernels reach it. */
gboolean gst_gpu_device_reaches (GstGpuDevice *self, GstBuffer *buffer);

/* What to make buffers of. */
GstGpuPools gst_gpu_device_get_pools (GstGpuDevice *self, gboolean pinned);

/* Any thread: whether caps may have frames in the GPU's memory. While it is closed, if
 * that could be. */
gboolean gst_gpu_device_has_memory (GstGpuDevice *self);
/* For GstElement.set_context(), which may be called on any thread. `device_id` as for
 * the next gst_gpu_device_open(). */
void gst_gpu_device_offer_context (
    GstGpuDevice *self, GstContext *offered, gint device_id);
/* Any thread: answers a GST_QUERY_CONTEXT, if it is for our context. */
gboolean gst_gpu_device_answer_query (GstGpuDevice *self, GstQuery *query);

G_END_DECLS
