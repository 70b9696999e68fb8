/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpudevice.h"

#include "gstgpulog.h"
#include "gstgpumemory.h"
#include "gstpinnedallocator.h"
#include "trace.h"

#define GST_CAT_DEFAULT gst_gpu_log_device

enum
{
  CLOSED,
  OPEN_WITHOUT_CONTEXT,
  OPEN_IN_CONTEXT,
};

void
gst_gpu_device_init (GstGpuDevice *self, GstElement *element)
{
  memset (self, 0, sizeof *self);
  self->element = element;
}

/* Takes `context`, and releases the old one. */
static void
set_context (GstGpuDevice *self, GstObject *context, gint state)
{
  GstObject *old;

  GST_OBJECT_LOCK (self->element);
  old = self->context;
  self->context = context;
  g_atomic_int_set (&self->state, state);
  GST_OBJECT_UNLOCK (self->element);
  gst_clear_object (&old);
}

void
gst_gpu_device_clear (GstGpuDevice *self)
{
  set_context (self, NULL, CLOSED);
}

/* Takes the GPU, or NULL for the CPU. If self->context is set, the GPU is open in it. */
static void
use_gpu (GstGpuDevice *self, Gpu *gpu)
{
  if (gpu != NULL)
    GST_INFO_OBJECT (self->element,
        "device %d (%s), context %" GST_PTR_FORMAT "%s", gpu_id (gpu),
        gpu_name (gpu), (gpointer) self->context,
        self->context != NULL ? ""
                              : ": the device's own, since no element shares "
                                "one; frames are in system memory only");
  self->gpu = gpu;
  if (gpu != NULL)
    self->allocator = gst_pinned_allocator_new (gpu);
  if (self->context != NULL)
    self->stream = gst_gpu_memory_stream_new (self->context);
  if (self->stream != NULL)
    trace_name_stream (
        gst_gpu_memory_stream_handle (self->stream), "gst-cudasepconv compute");
  if (gpu != NULL)
    GST_DEBUG_OBJECT (self->element, "GPU memory of this element %s",
        self->stream != NULL
            ? "belongs to a stream: downstream may wait for the GPU itself"
            : "belongs to no stream: frames are handed over complete");
}

/* Opens the device in the context that elements share. NULL and FAULT_NONE: there is none. NULL
 * and FAULT_NOT_FOUND with a context: this build has no kernels for its device. */
static Gpu *
open_shared (GstGpuDevice *self, gint device_id, Fault *fault)
{
  Gpu *gpu;

  if (!gst_gpu_memory_find_context (
          self->element, device_id, &self->context, fault))
    return NULL;
  gpu = gst_gpu_memory_open (self->context, fault);
  if (gpu != NULL)
    g_atomic_int_set (&self->state, OPEN_IN_CONTEXT);
  return gpu;
}

/* Opens a device in the engine's own context instead of a shared one. If there is a shared
 * context, `fault` says why it was refused, and only another device will do. */
static Gpu *
open_unshared (GstGpuDevice *self, gint device_id, Fault *fault)
{
  const gint refused = self->context == NULL
      ? -1
      : gst_gpu_memory_context_device (self->context);
  const Fault refusal = *fault;
  Gpu *gpu;

  set_context (self, NULL, OPEN_WITHOUT_CONTEXT);
  gpu = gpu_open (device_id, fault);
  if (gpu == NULL || refused < 0)
    return gpu;
  if (gpu_id (gpu) == refused) {
    gpu_close (gpu);
    *fault = refusal;
    return NULL;
  }
  /* Caps of GPU memory will be refused, and upstream only reports that it was not negotiated. */
  GST_ELEMENT_WARNING (self->element, RESOURCE, NOT_FOUND,
      ("GPU %d, which the pipeline shares, cannot be used: computing on GPU %d, "
       "and only with frames in system memory. %s",
          refused, gpu_id (gpu), refusal.message),
      ("%s", refusal.detail));
  return gpu;
}

gboolean
gst_gpu_device_open (GstGpuDevice *self, gint device_id, Fault *fault)
{
  Gpu *gpu;

  /* libgstcuda 1.22 logs a critical warning where there is no device. */
  if (gpu_count (fault) == 0)
    return FALSE;
  gpu = open_shared (self, device_id, fault);
  if (gpu == NULL
      && (fault->kind == FAULT_NONE
          || (fault->kind == FAULT_NOT_FOUND && self->context != NULL)))
    gpu = open_unshared (self, device_id, fault);
  if (gpu == NULL) {
    set_context (self, NULL, CLOSED);
    return FALSE;
  }
  self->device_id = device_id;
  use_gpu (self, gpu);
  return TRUE;
}

void
gst_gpu_device_open_none (GstGpuDevice *self)
{
  set_context (self, NULL, OPEN_WITHOUT_CONTEXT);
  use_gpu (self, NULL);
}

void
gst_gpu_device_close (GstGpuDevice *self)
{
  gst_clear_object (&self->allocator);
  gst_clear_mini_object (&self->stream);
  gpu_close (self->gpu);
  self->gpu = NULL;
  self->refused = NULL;
  set_context (self, NULL, CLOSED);
}

Gpu *
gst_gpu_device_open_other (GstGpuDevice *self, GstBuffer *buffer)
{
  GstObject *context = gst_gpu_memory_get_context (buffer);
  Fault fault;
  Gpu *gpu;

  if (context == NULL || context == self->context || self->gpu == NULL
      || context == self->refused)
    return NULL;
  if (self->device_id >= 0
      && gst_gpu_memory_context_device (context) != self->device_id)
    return NULL;
  gpu = gst_gpu_memory_open (context, &fault);
  if (gpu == NULL) {
    GST_WARNING_OBJECT (self->element,
        "cannot compute in the context of a frame, %" GST_PTR_FORMAT
        ": %s (%s)",
        (gpointer) context, fault.message, fault.detail);
    self->refused = context;
  }
  return gpu;
}

void
gst_gpu_device_adopt (GstGpuDevice *self, GstBuffer *buffer, Gpu *gpu)
{
  GST_INFO_OBJECT (
      self->element, "a frame is in another context: continuing in that one");
  gst_gpu_device_close (self);
  set_context (self, gst_object_ref (gst_gpu_memory_get_context (buffer)),
      OPEN_IN_CONTEXT);
  use_gpu (self, gpu);
}

gboolean
gst_gpu_device_push (GstGpuDevice *self, Fault *fault)
{
  return self->gpu == NULL || gpu_push (self->gpu, fault);
}

void
gst_gpu_device_pop (GstGpuDevice *self)
{
  if (self->gpu != NULL)
    gpu_pop (self->gpu);
}

gboolean
gst_gpu_device_reaches (GstGpuDevice *self, GstBuffer *buffer)
{
  return self->gpu != NULL && self->context != NULL
      && gst_gpu_memory_get_context (buffer) == self->context;
}

GstGpuPools
gst_gpu_device_get_pools (GstGpuDevice *self, gboolean pinned)
{
  return (GstGpuPools){ .pinned = pinned ? self->allocator : NULL,
    .context = self->context,
    .stream = self->stream };
}

gboolean
gst_gpu_device_has_memory (GstGpuDevice *self)
{
  const gint state = g_atomic_int_get (&self->state);

  return state == OPEN_IN_CONTEXT
      || (state == CLOSED && gst_gpu_memory_available ());
}

/* An open device keeps its context. */
void
gst_gpu_device_offer_context (
    GstGpuDevice *self, GstContext *offered, gint device_id)
{
  GstObject *context = NULL;

  gst_gpu_memory_take_context (self->element, offered, device_id, &context);
  GST_OBJECT_LOCK (self->element);
  if (self->context == NULL && g_atomic_int_get (&self->state) == CLOSED) {
    self->context = context;
    context = NULL;
  }
  GST_OBJECT_UNLOCK (self->element);
  gst_clear_object (&context);
}

gboolean
gst_gpu_device_answer_query (GstGpuDevice *self, GstQuery *query)
{
  GstObject *context;
  gboolean answered;

  GST_OBJECT_LOCK (self->element);
  context = self->context == NULL ? NULL : gst_object_ref (self->context);
  GST_OBJECT_UNLOCK (self->element);
  answered = gst_gpu_memory_answer_query (self->element, query, context);
  gst_clear_object (&context);
  return answered;
}
