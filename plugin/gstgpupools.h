/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpupools: buffers that the GPU reaches, in allocation queries: pinned ones for
 * frames in system memory, the GPU's own for memory:CUDAMemory. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* What there is to make buffers of. Borrowed. */
typedef struct
{
  GstAllocator *pinned;  /* NULL: ordinary memory will do */
  GstObject *context;    /* NULL: none of the GPU's memory */
  GstMiniObject *stream; /* that the GPU's memory belongs to; may be NULL */
} GstGpuPools;

/* Whether there are buffers of our own for frames of the caps. */
gboolean gst_gpu_pools_suit (const GstGpuPools *self, GstCaps *caps);

/* Offers upstream a pool for the query's caps; upstream may count on `min` buffers of
 * the GPU's memory to come back while it makes more. FALSE: the caps are not video's. */
gboolean gst_gpu_pools_propose (
    const GstGpuPools *self, GstQuery *query, guint min);

/* Replaces what downstream offers for the query's caps, of frames of `size` bytes,
 * where ours is better and downstream doesn't care. FALSE: neither has memory for
 * such frames. */
gboolean gst_gpu_pools_decide (
    const GstGpuPools *self, GstQuery *query, guint size);

G_END_DECLS
