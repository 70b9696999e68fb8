/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstpinnedpool: video buffers, of which the last that came back goes out first.
 *
 * GStreamer's own pools hand theirs out in turn, so that a source writes through all
 * the memory that there ever was need for, as when the first frames waited for
 * something; large frames are then never in a CPU's caches. Other than that it is a
 * GstVideoBufferPool. */
#pragma once

#include <gst/video/gstvideopool.h>

G_BEGIN_DECLS

#define GST_TYPE_PINNED_POOL (gst_pinned_pool_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPinnedPool, gst_pinned_pool, GST, PINNED_POOL, GstVideoBufferPool)

/* To be configured, with gst_pinned_allocator_new()'s allocator. Full reference
 * returned. */
GstBufferPool *gst_pinned_pool_new (void);

G_END_DECLS
