/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstpinnedpool.h"

struct _GstPinnedPool
{
  GstVideoBufferPool parent;

  GMutex lock;       /* protects all below */
  GPtrArray *recent; /* free buffers; the last one was released last */
  guint waiting;     /* threads that wait in the parent class for a buffer */
};

G_DEFINE_TYPE (GstPinnedPool, gst_pinned_pool, GST_TYPE_VIDEO_BUFFER_POOL)

#define PARENT GST_BUFFER_POOL_CLASS (gst_pinned_pool_parent_class)

static GstFlowReturn
gst_pinned_pool_acquire_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstPinnedPool *self = GST_PINNED_POOL (pool);
  GstFlowReturn flow;

  if (GST_BUFFER_POOL_IS_FLUSHING (pool))
    return GST_FLOW_FLUSHING;
  g_mutex_lock (&self->lock);
  if (self->recent->len > 0) {
    *buffer =
        g_ptr_array_steal_index_fast (self->recent, self->recent->len - 1);
    g_mutex_unlock (&self->lock);
    return GST_FLOW_OK;
  }
  self->waiting++;
  g_mutex_unlock (&self->lock);
  /* Allocates a buffer, or waits for one. */
  flow = PARENT->acquire_buffer (pool, buffer, params);
  g_mutex_lock (&self->lock);
  self->waiting--;
  g_mutex_unlock (&self->lock);
  return flow;
}

/* Whether the buffer still has its own memory, shared with no other buffer. The parent class
 * frees other buffers. The size of the buffer has been reset. */
static gboolean
is_whole (GstBuffer *buffer)
{
  return !GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_TAG_MEMORY)
      && gst_buffer_is_all_memory_writable (buffer);
}

static void
gst_pinned_pool_release_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  GstPinnedPool *self = GST_PINNED_POOL (pool);
  const gboolean whole = is_whole (buffer);
  gboolean keep;

  g_mutex_lock (&self->lock);
  /* Threads wait for a buffer in the parent class. */
  keep = whole && self->waiting == 0;
  if (keep)
    g_ptr_array_add (self->recent, buffer);
  g_mutex_unlock (&self->lock);
  if (!keep)
    PARENT->release_buffer (pool, buffer);
}

/* Gives the free buffers back to the parent class, which frees them. */
static gboolean
gst_pinned_pool_stop (GstBufferPool *pool)
{
  GstPinnedPool *self = GST_PINNED_POOL (pool);

  g_mutex_lock (&self->lock);
  while (self->recent->len > 0)
    PARENT->release_buffer (pool,
        g_ptr_array_steal_index_fast (self->recent, self->recent->len - 1));
  g_mutex_unlock (&self->lock);
  return PARENT->stop (pool);
}

static void
gst_pinned_pool_finalize (GObject *object)
{
  GstPinnedPool *self = GST_PINNED_POOL (object);

  g_ptr_array_unref (self->recent);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gst_pinned_pool_parent_class)->finalize (object);
}

static void
gst_pinned_pool_init (GstPinnedPool *self)
{
  g_mutex_init (&self->lock);
  self->recent = g_ptr_array_new ();
}

static void
gst_pinned_pool_class_init (GstPinnedPoolClass *klass)
{
  GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_pinned_pool_finalize;
  pool_class->acquire_buffer = gst_pinned_pool_acquire_buffer;
  pool_class->release_buffer = gst_pinned_pool_release_buffer;
  pool_class->stop = gst_pinned_pool_stop;
}

GstBufferPool *
gst_pinned_pool_new (void)
{
  return gst_object_ref_sink (g_object_new (GST_TYPE_PINNED_POOL, NULL));
}
