/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpulog: the debug categories of the parts that both elements share. A file selects its
 * category by GST_CAT_DEFAULT.
 *
 * Each decision is logged once, with its reason: at INFO if it can be seen from outside, at
 * DEBUG if it is a step on the way, at WARNING or ERROR if it is a fault. Each frame has one or
 * two lines at LOG, and further ones at TRACE. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (
    gst_gpu_log_base); /* settings, caps, use of frames */
GST_DEBUG_CATEGORY_EXTERN (gst_gpu_log_device); /* backend, device, context */
GST_DEBUG_CATEGORY_EXTERN (
    gst_gpu_log_flight); /* ring, frames in flight, drains */
GST_DEBUG_CATEGORY_EXTERN (gst_gpu_log_memory); /* memory and pools */

/* Registers the categories; must be called before any class of an element is made. May be
 * called again. */
void gst_gpu_log_init (void);

/* Returns the category that has the name of the element, for decisions about its method. */
GstDebugCategory *gst_gpu_log_of_element (GstElement *element);

G_END_DECLS
