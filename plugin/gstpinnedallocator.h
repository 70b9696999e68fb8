/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstpinnedallocator: GstMemory that the GPU's copy engines reach.
 *
 * Ordinary system memory to everybody else: mapping it is free, and it is
 * cached. Memories keep their allocator and its GPU alive, so they may outlive
 * every element and be freed on any thread. */
#pragma once

#include <gst/gst.h>

#include "gpu.h"

G_BEGIN_DECLS

#define GST_TYPE_PINNED_ALLOCATOR (gst_pinned_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstPinnedAllocator, gst_pinned_allocator, GST,
    PINNED_ALLOCATOR, GstAllocator)

/* Holds the GPU. Full reference returned. */
GstAllocator *gst_pinned_allocator_new (Gpu *gpu);

/* Whether all of a buffer lies in one piece of such memory. */
gboolean gst_pinned_buffer_is_one_block (GstBuffer *buffer);

G_END_DECLS
