/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuprepare: makes backend, depth, plans and ring of a GstGpuFilter follow its settings,
 * in this order, and frees them again. Streaming thread, or the thread that starts and stops
 * while that one is idle. */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

/* Opens the backend that the settings ask for, unless it is open. */
gboolean gst_gpu_prepare_backend (GstGpuFilter *self, Fault *fault);
void gst_gpu_prepare_close_backend (GstGpuFilter *self);

/* Continues in the context of a frame in GPU memory, if that is another one. */
void gst_gpu_prepare_context (GstGpuFilter *self, GstBuffer *buffer);

/* Gets everything ready for a frame under the current settings, and switches passthrough.
 * FALSE: that failed, and the fault has been posted. */
gboolean gst_gpu_prepare_frame (GstGpuFilter *self);
/* Posts a fault, but not again for each frame that meets the same one. */
void gst_gpu_prepare_fail (GstGpuFilter *self, const Fault *fault);

/* Frees all that was made for the caps and the backend. */
void gst_gpu_prepare_release (GstGpuFilter *self);

/* Whether the settings ask for ordinary memory in pools. */
gboolean gst_gpu_prepare_is_pageable (GstGpuFilter *self);

G_END_DECLS
