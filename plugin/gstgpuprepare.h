/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuprepare: brings backend, depth, plans and ring of a GstGpuFilter up to date with its
 * settings, in this order, and frees them. Called on the streaming thread, or on the thread
 * that starts and stops, while the streaming thread is idle. */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

/* Opens the backend that the settings ask for, if it is not open yet. */
gboolean gst_gpu_prepare_backend (GstGpuFilter *self, Fault *fault);
void gst_gpu_prepare_close_backend (GstGpuFilter *self);

/* Changes to the context of a frame in GPU memory, if that is another context. */
void gst_gpu_prepare_context (GstGpuFilter *self, GstBuffer *buffer);

/* Brings everything up to date for a frame, and switches passthrough. FALSE: a fault has been
 * posted. */
gboolean gst_gpu_prepare_frame (GstGpuFilter *self);
/* Marks the element as failed. Posts the fault if it is the first one of consecutive failures,
 * or another fault of the settings than the last one. After an error of a frame in flight, the
 * first fault is only logged: it is a consequence. */
void gst_gpu_prepare_fail (GstGpuFilter *self, const Fault *fault);

/* Continues on the CPU after a fault of the GPU, if the backend may fall back and frames are
 * in system memory; posts the warning, unless there has been one since the start. The next
 * gst_gpu_prepare_frame() makes ring and plans for the CPU. FALSE: nothing has changed. */
gboolean gst_gpu_prepare_fall_back (GstGpuFilter *self, const Fault *fault);

/* Frees ring and plans, which belong to the caps and the backend. */
void gst_gpu_prepare_release (GstGpuFilter *self);

/* Whether the settings ask for pools of ordinary memory. */
gboolean gst_gpu_prepare_is_pageable (GstGpuFilter *self);

G_END_DECLS
