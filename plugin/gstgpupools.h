/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpupools: the pools of an allocation query: of pinned memory for frames in system memory,
 * and of GPU memory for memory:CUDAMemory. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* The sources of memory for pools. The owner holds the references. */
typedef struct
{
  GstAllocator
      *pinned; /* NULL: no pinned memory, since ordinary memory is as good */
  GstObject *context;    /* NULL: no GPU memory */
  GstMiniObject *stream; /* owner of the GPU memory; may be NULL */
} GstGpuPools;

/* Whether there is a source of memory for frames of the caps. */
gboolean gst_gpu_pools_suit (const GstGpuPools *self, GstCaps *caps);

/* Offers upstream a pool for the query's caps. `min`: the number of buffers in GPU memory that
 * the element holds. FALSE: the caps are not of video. */
gboolean gst_gpu_pools_propose (
    const GstGpuPools *self, GstQuery *query, guint min);

/* Replaces the pool that downstream offers for the query's caps, of frames of `size` bytes, if
 * a pool of this element is better and downstream does not need its own. On return a pool of
 * GPU memory in this element's context is configured; other pools are left to the base class.
 * FALSE: neither side has memory for such frames. */
gboolean gst_gpu_pools_decide (
    const GstGpuPools *self, GstQuery *query, guint size);

G_END_DECLS
