/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufault: a fault of the engine as an error message of an element. */
#pragma once

#include <gst/gst.h>

#include "fault.h"

G_BEGIN_DECLS

/* Any thread. The caller owns the message. */
GstMessage *gst_gpu_fault_to_message (GstElement *element, const Fault *fault);

/* Posts that message. Any thread. */
void gst_gpu_fault_post (GstElement *element, const Fault *fault);

G_END_DECLS
