/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpupools.h"

#include "gstgpucaps.h"
#include "gstgpulog.h"
#include "gstgpumemory.h"
#include "gstpinnedpool.h"

#define GST_CAT_DEFAULT gst_gpu_log_memory

/* Minimum for pools of pinned memory, which allocate more when frames in flight hold all of
 * these. */
#define MIN_BUFFERS 2

gboolean
gst_gpu_pools_suit (const GstGpuPools *self, GstCaps *caps)
{
  return gst_gpu_caps_are_on_gpu (caps) ? self->context != NULL
                                        : self->pinned != NULL;
}

static GstBufferPool *
new_pinned_pool (const GstGpuPools *self, GstCaps *caps,
    const GstAllocationParams *params, guint size)
{
  GstBufferPool *pool = gst_pinned_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, size, 0, 0);
  gst_buffer_pool_config_set_allocator (config, self->pinned, params);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config))
    gst_clear_object (&pool);
  return pool;
}

gboolean
gst_gpu_pools_propose (const GstGpuPools *self, GstQuery *query, guint min)
{
  GstAllocationParams params;
  GstBufferPool *pool = NULL;
  GstVideoInfo info;
  GstCaps *caps;
  gboolean need_pool, on_gpu;
  guint size;

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (caps == NULL || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  on_gpu = gst_gpu_caps_are_on_gpu (caps);
  size = (guint) GST_VIDEO_INFO_SIZE (&info);
  gst_allocation_params_init (&params);
  if (need_pool)
    pool = on_gpu
        ? gst_gpu_memory_pool_new (self->context, self->stream, caps, 0, &size)
        : new_pinned_pool (self, caps, &params, size);
  gst_query_add_allocation_pool (
      query, pool, size, on_gpu ? min : MIN_BUFFERS, 0);
  GST_INFO ("offers upstream %s of %s memory, %u bytes a buffer",
      pool != NULL ? "a pool" : "an allocator", on_gpu ? "GPU" : "pinned",
      size);
  gst_clear_object (&pool);
  if (!on_gpu)
    gst_query_add_allocation_param (query, self->pinned, &params);
  return TRUE;
}

/* Whether the pool only allocates system memory, so that it may be replaced. */
static gboolean
is_plain_pool (GstQuery *query, GstBufferPool *pool)
{
  GstAllocator *allocator = NULL;
  gboolean plain;

  if (gst_query_get_n_allocation_params (query) > 0)
    gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  plain = (allocator == NULL
              || g_strcmp0 (allocator->mem_type, GST_ALLOCATOR_SYSMEM) == 0)
      && (pool == NULL || G_OBJECT_TYPE (pool) == GST_TYPE_BUFFER_POOL
          || G_OBJECT_TYPE (pool) == GST_TYPE_VIDEO_BUFFER_POOL);
  gst_clear_object (&allocator);
  return plain;
}

/* Returns a pool for pinned memory, with the alignment of `model`, which may be NULL. */
static GstBufferPool *
new_pool_like (GstBufferPool *model)
{
  GstBufferPool *pool = gst_pinned_pool_new ();
  GstStructure *config, *model_config;
  GstVideoAlignment align;

  if (model == NULL)
    return pool;
  config = gst_buffer_pool_get_config (pool);
  model_config = gst_buffer_pool_get_config (model);
  if (gst_buffer_pool_config_get_video_alignment (model_config, &align)) {
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment (config, &align);
  }
  gst_structure_free (model_config);
  gst_buffer_pool_set_config (pool, config);
  return pool;
}

static void
set_first_pool (GstQuery *query, GstBufferPool *pool, guint size, guint min)
{
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, min, 0);
  else
    gst_query_add_allocation_pool (query, pool, size, min, 0);
}

/* Answers with a pool and an allocator: the base class sets the allocator when it completes the
 * configuration of the pool. */
static void
decide_pinned (const GstGpuPools *self, GstQuery *query, GstBufferPool *offered,
    guint size, guint min)
{
  GstBufferPool *pool = new_pool_like (offered);
  GstAllocationParams params;

  set_first_pool (query, pool, size, min);
  gst_object_unref (pool);
  if (gst_query_get_n_allocation_params (query) > 0) {
    gst_query_parse_nth_allocation_param (query, 0, NULL, &params);
    gst_query_set_nth_allocation_param (query, 0, self->pinned, &params);
  } else {
    gst_allocation_params_init (&params);
    gst_query_add_allocation_param (query, self->pinned, &params);
  }
}

/* Configures a pool that downstream offers, as the base class would. FALSE: it cannot be used. */
static gboolean
configure (
    GstBufferPool *pool, GstCaps *caps, guint *size, guint min, guint max)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gboolean ok;

  gst_buffer_pool_config_set_params (config, caps, *size, min, max);
  ok = gst_buffer_pool_set_config (pool, config);
  config = gst_buffer_pool_get_config (pool);
  if (!ok
      && gst_buffer_pool_config_validate_params (
          config, caps, *size, min, max))
    ok = gst_buffer_pool_set_config (pool, gst_structure_copy (config));
  if (ok)
    gst_buffer_pool_config_get_params (config, NULL, size, NULL, NULL);
  gst_structure_free (config);
  return ok;
}

/* Answers with the pool that downstream offers in this element's context, or a new one. */
static gboolean
decide_gpu (const GstGpuPools *self, GstQuery *query, GstCaps *caps,
    GstBufferPool *offered, guint size, guint min, guint max)
{
  GstBufferPool *pool;

  if (offered != NULL && gst_gpu_memory_is_pool (offered, self->context)
      && configure (offered, caps, &size, min, max)) {
    gst_query_set_nth_allocation_pool (query, 0, offered, size, min, max);
    return TRUE;
  }
  pool = gst_gpu_memory_pool_new (
      self->context, self->stream, caps, min + 1, &size);
  if (pool == NULL)
    return FALSE;
  set_first_pool (query, pool, size, min + 1);
  gst_object_unref (pool);
  return TRUE;
}

/* Logs the origin of the memory of results, and the reason. */
static void
log_decision (const GstGpuPools *self, GstQuery *query, GstCaps *caps,
    GstBufferPool *offered)
{
  const gchar *from = offered != NULL ? "the pool that downstream offers"
                                      : "a pool of the base class";

  if (gst_gpu_caps_are_on_gpu (caps)) {
    if (self->context == NULL)
      GST_INFO ("results are in GPU memory of %s: there is no context", from);
    else if (offered != NULL && gst_gpu_memory_is_pool (offered, self->context))
      GST_INFO ("results are in GPU memory of %s", from);
    else
      GST_INFO ("results are in GPU memory of a pool of this element: "
                "downstream offers none in its context");
  } else if (self->pinned == NULL) {
    GST_INFO ("results are in memory of %s, not pinned: the CPU computes, or "
              "transfer=pageable",
        from);
  } else if (is_plain_pool (query, offered)) {
    GST_INFO ("results are in pinned memory of a pool of this element: "
              "downstream offers %s",
        offered != NULL ? "a plain pool" : "no pool");
  } else {
    GST_INFO ("results are in memory of %s, not pinned: that may be memory "
              "that downstream needs, %" GST_PTR_FORMAT,
        from, (gpointer) offered);
  }
}

gboolean
gst_gpu_pools_decide (const GstGpuPools *self, GstQuery *query, guint size)
{
  GstBufferPool *offered = NULL;
  GstCaps *caps;
  guint min = 0, max = 0;
  gboolean ok = TRUE;

  gst_query_parse_allocation (query, &caps, NULL);
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &offered, &size, &min, &max);
  log_decision (self, query, caps, offered);
  if (!gst_gpu_caps_are_on_gpu (caps)) {
    if (self->pinned != NULL && is_plain_pool (query, offered))
      decide_pinned (self, query, offered, size, min + 1);
  } else if (self->context != NULL) {
    ok = decide_gpu (self, query, caps, offered, size, min, max);
  } else {
    ok = offered != NULL;
  }
  gst_clear_object (&offered);
  return ok;
}
