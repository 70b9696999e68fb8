/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpulog: the debug categories of the parts that both elements share. A file takes its
 * category by GST_CAT_DEFAULT.
 *
 * Decisions are logged once, with their reason: INFO for what a run looks like from outside,
 * DEBUG for the steps to it, WARNING and ERROR for faults. LOG has a line or two a frame,
 * TRACE the rest. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (
    gst_gpu_log_base); /* settings, caps, use of frames */
GST_DEBUG_CATEGORY_EXTERN (gst_gpu_log_device); /* backend, device, context */
GST_DEBUG_CATEGORY_EXTERN (
    gst_gpu_log_flight); /* ring, frames in flight, drains */
GST_DEBUG_CATEGORY_EXTERN (gst_gpu_log_memory); /* memory and pools */

/* Registers them; called once, before any element is made. */
void gst_gpu_log_init (void);

/* The category named like the element, for decisions that belong to what it computes. */
GstDebugCategory *gst_gpu_log_of_element (GstElement *element);

G_END_DECLS
