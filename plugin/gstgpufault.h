/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufault: a fault of the engine as an element's error or warning message. */
#pragma once

#include <gst/gst.h>

#include "fault.h"

G_BEGIN_DECLS

/* Any thread. The caller owns the message. */
GstMessage *gst_gpu_fault_to_message (GstElement *element, const Fault *fault);

/* Posts that message. Any thread. */
void gst_gpu_fault_post (GstElement *element, const Fault *fault);

/* Returns the fault as a warning of an element that continues without the GPU: the sentence
 * `consequence` comes before that of the fault. Any thread. The caller owns the message. */
GstMessage *gst_gpu_fault_to_warning (
    GstElement *element, const Fault *fault, const gchar *consequence);

G_END_DECLS
