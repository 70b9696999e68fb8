/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "foreign-pool.h"

struct _ForeignPool
{
  GstVideoBufferPool parent;
};

G_DEFINE_TYPE (ForeignPool, foreign_pool, GST_TYPE_VIDEO_BUFFER_POOL)

static void
foreign_pool_class_init (ForeignPoolClass *klass)
{
  (void) klass;
}

static void
foreign_pool_init (ForeignPool *self)
{
  (void) self;
}

GstBufferPool *
foreign_pool_new (GstCaps *caps, guint size, guint min)
{
  GstBufferPool *pool = g_object_new (FOREIGN_TYPE_POOL, NULL);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_object_ref_sink (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config))
    gst_clear_object (&pool);
  return pool;
}
