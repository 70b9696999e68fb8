/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpudevice: the GPU that an element computes on, with its context, its stream and the
 * allocator of pinned memory. A part of the element, whose object lock protects the fields that
 * several threads use.
 *
 * Where libgstcuda is available, elements share the context. Elsewhere the context is the
 * engine's own, and frames are in system memory only. */
#pragma once

#include "gstgpupools.h"

#include "gpu.h"

G_BEGIN_DECLS

typedef struct
{
  GstElement *element; /* the owner */

  /* Written with the object lock held. A GstCudaContext. If `gpu` is set too, it is open on
   * this context. */
  GstObject *context;
  gint state; /* closed, open, or open with a context; atomic for readers */

  /* Owned by the thread that opens and closes. */
  Gpu *gpu;                /* NULL: the CPU */
  GstAllocator *allocator; /* of pinned memory; NULL without gpu */
  GstMiniObject *stream;   /* of this element's GPU memory, or NULL */
  gint device_id;          /* the requested device */
  gconstpointer refused; /* a context that could not be opened; only compared */
} GstGpuDevice;

/* Initialises a closed device. */
void gst_gpu_device_init (GstGpuDevice *self, GstElement *element);
/* Frees a device, which must be closed. */
void gst_gpu_device_clear (GstGpuDevice *self);

/* Opens device `device_id`; -1: any. FALSE and a fault: no such device is usable. */
gboolean gst_gpu_device_open (GstGpuDevice *self, gint device_id, Fault *fault);
/* Opens it without a GPU: frames are computed on the CPU. */
void gst_gpu_device_open_none (GstGpuDevice *self);
void gst_gpu_device_close (GstGpuDevice *self);

/* Opens the context of a buffer for gst_gpu_device_adopt(), if it is another one than that of
 * the element. NULL: it is the same context, belongs to another device than the requested one,
 * or runs no kernels of this build. In the last two cases libgstcuda copies such frames to
 * system memory. */
Gpu *gst_gpu_device_open_other (GstGpuDevice *self, GstBuffer *buffer);
/* Closes the device and continues in the context of the buffer. Takes `gpu`, which is open on
 * that context. */
void gst_gpu_device_adopt (GstGpuDevice *self, GstBuffer *buffer, Gpu *gpu);

/* Make the context current on the calling thread until the pop. Without a GPU they do nothing.
 * FALSE and a fault, which may be NULL: the context is lost. */
gboolean gst_gpu_device_push (GstGpuDevice *self, Fault *fault);
void gst_gpu_device_pop (GstGpuDevice *self);

/* Whether a buffer is in GPU memory of the element's context, which kernels can use. */
gboolean gst_gpu_device_reaches (GstGpuDevice *self, GstBuffer *buffer);

/* Returns the sources of buffers for allocation queries. `pinned` FALSE: no pinned memory. */
GstGpuPools gst_gpu_device_get_pools (GstGpuDevice *self, gboolean pinned);

/* Any thread: whether caps may have frames in GPU memory. While the device is closed: whether
 * an open one might. */
gboolean gst_gpu_device_has_memory (GstGpuDevice *self);
/* For GstElement.set_context(), which may be called on any thread. `device_id` as for
 * the next gst_gpu_device_open(). */
void gst_gpu_device_offer_context (
    GstGpuDevice *self, GstContext *offered, gint device_id);
/* Any thread: answers a GST_QUERY_CONTEXT for CUDA, if the element has a context. */
gboolean gst_gpu_device_answer_query (GstGpuDevice *self, GstQuery *query);

G_END_DECLS
