/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstpinnedallocator.h"

#include "gstgpulog.h"

#define GST_CAT_DEFAULT gst_gpu_log_memory

#define MEMORY_TYPE "PinnedHostMemory"

struct _GstPinnedAllocator
{
  GstAllocator parent;
  Gpu *gpu;
};

typedef struct
{
  GstMemory parent;
  guint8 *data; /* the parent's data, if this memory is a part of another */
} PinnedMemory;

G_DEFINE_TYPE (GstPinnedAllocator, gst_pinned_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *
gst_pinned_allocator_alloc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstPinnedAllocator *self = GST_PINNED_ALLOCATOR (allocator);
  const gsize maxsize = size + params->prefix + params->padding;
  PinnedMemory *memory;
  guint8 *data;
  Fault fault;

  if (!gpu_push (self->gpu, &fault))
    goto failed;
  /* Aligned to a page, which is more than GstAllocationParams ask for in practice. */
  data = gpu_malloc_host (maxsize, &fault);
  gpu_pop (self->gpu);
  if (data == NULL)
    goto failed;

  if (params->prefix > 0 && (params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED))
    memset (data, 0, params->prefix);
  if (params->padding > 0 && (params->flags & GST_MEMORY_FLAG_ZERO_PADDED))
    memset (data + params->prefix + size, 0, params->padding);
  memory = g_new0 (PinnedMemory, 1);
  gst_memory_init (GST_MEMORY_CAST (memory), params->flags, allocator, NULL,
      maxsize, params->align, params->prefix, size);
  memory->data = data;
  return GST_MEMORY_CAST (memory);

failed:
  /* Frames in ordinary memory are copied, but still filtered. */
  GST_WARNING_OBJECT (
      self, "%s (%s); using ordinary memory", fault.message, fault.detail);
  return gst_allocator_alloc (NULL, size, params);
}

static void
gst_pinned_allocator_free (GstAllocator *allocator, GstMemory *memory)
{
  GstPinnedAllocator *self = GST_PINNED_ALLOCATOR (allocator);
  PinnedMemory *pinned = (PinnedMemory *) memory;
  Fault fault;

  /* A shared part holds a reference to its parent, which owns the data. */
  if (memory->parent == NULL) {
    if (gpu_push (self->gpu, &fault)) {
      gpu_free_host (pinned->data);
      gpu_pop (self->gpu);
    } else {
      GST_WARNING_OBJECT (self, "%s (%s)", fault.message, fault.detail);
    }
  }
  g_free (pinned);
}

static gpointer
pinned_memory_map (GstMemory *memory, gsize maxsize, GstMapFlags flags)
{
  (void) maxsize;
  (void) flags;
  return ((PinnedMemory *) memory)->data;
}

static void
pinned_memory_unmap (GstMemory *memory)
{
  (void) memory;
}

static GstMemory *
pinned_memory_share (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *parent = memory->parent != NULL ? memory->parent : memory;
  PinnedMemory *shared = g_new0 (PinnedMemory, 1);

  if (size == -1)
    size = (gssize) memory->size - offset;
  gst_memory_init (GST_MEMORY_CAST (shared),
      GST_MINI_OBJECT_FLAGS (parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY,
      memory->allocator, parent, memory->maxsize, memory->align,
      memory->offset + (gsize) offset, (gsize) size);
  shared->data = ((PinnedMemory *) memory)->data;
  return GST_MEMORY_CAST (shared);
}

static void
gst_pinned_allocator_finalize (GObject *object)
{
  gpu_close (GST_PINNED_ALLOCATOR (object)->gpu);
  G_OBJECT_CLASS (gst_pinned_allocator_parent_class)->finalize (object);
}

static void
gst_pinned_allocator_init (GstPinnedAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  allocator->mem_type = MEMORY_TYPE;
  allocator->mem_map = pinned_memory_map;
  allocator->mem_unmap = pinned_memory_unmap;
  allocator->mem_share = pinned_memory_share;
}

static void
gst_pinned_allocator_class_init (GstPinnedAllocatorClass *klass)
{
  GstAllocatorClass *allocator_class = GST_ALLOCATOR_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_pinned_allocator_finalize;
  allocator_class->alloc = GST_DEBUG_FUNCPTR (gst_pinned_allocator_alloc);
  allocator_class->free = GST_DEBUG_FUNCPTR (gst_pinned_allocator_free);
}

GstAllocator *
gst_pinned_allocator_new (Gpu *gpu)
{
  GstPinnedAllocator *self = g_object_new (GST_TYPE_PINNED_ALLOCATOR, NULL);

  self->gpu = gpu_ref (gpu);
  return gst_object_ref_sink (self);
}

/* Accepts the allocators of the plugin and of the library of GstCudaFrameFilter, so that no
 * copy is needed between elements of both. Compares the names of GTypes, since another
 * allocator may use the same name for its memory type. */
static gboolean
is_pinned_allocator (GstAllocator *allocator)
{
  const gchar *type = G_OBJECT_TYPE_NAME (allocator);

  return strcmp (type, "GstPinnedAllocator") == 0
      || strcmp (type, "GstCudaFrameAllocator") == 0;
}

gboolean
gst_pinned_buffer_is_one_block (GstBuffer *buffer)
{
  return gst_buffer_n_memory (buffer) == 1
      && is_pinned_allocator (gst_buffer_peek_memory (buffer, 0)->allocator);
}
