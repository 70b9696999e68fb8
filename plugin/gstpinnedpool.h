/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstpinnedpool: a GstVideoBufferPool that hands out the most recently released buffer first.
 *
 * GstBufferPool hands its buffers out in turn. If the first frames had to wait for something,
 * the pool has many buffers, and a source that writes to all of them in turn never finds a
 * large frame in the CPU's caches. */
#pragma once

#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_TYPE_PINNED_POOL (gst_pinned_pool_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPinnedPool, gst_pinned_pool, GST, PINNED_POOL, GstVideoBufferPool)

/* Returns a new pool, which the caller owns and configures with the allocator of
 * gst_pinned_allocator_new(). */
GstBufferPool *gst_pinned_pool_new (void);

G_END_DECLS
