/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstpinnedallocator: GstMemory in pinned host memory, which the GPU's copy engines can use.
 *
 * For other elements it is system memory like any other: mapping costs nothing, and the CPU
 * caches it. Each memory holds a reference to its allocator and GPU, so that it may outlive all
 * elements and be freed on any thread. */
#pragma once

#include <gst/gst.h>

#include "gpu.h"

G_BEGIN_DECLS

#define GST_TYPE_PINNED_ALLOCATOR (gst_pinned_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstPinnedAllocator, gst_pinned_allocator, GST,
    PINNED_ALLOCATOR, GstAllocator)

/* Returns a new allocator, which holds a reference to the GPU. The caller owns it. */
GstAllocator *gst_pinned_allocator_new (Gpu *gpu);

/* Whether a buffer lies in one block of pinned memory. */
gboolean gst_pinned_buffer_is_one_block (GstBuffer *buffer);

G_END_DECLS
