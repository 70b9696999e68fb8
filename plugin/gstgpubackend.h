/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpubackend: the backend that an element computes on. The settings ask for one; if the
 * machine has no such device, backend=auto falls back to the CPU. */
#pragma once

#include "gstgpudevice.h"
#include "gstgpuenums.h"

G_BEGIN_DECLS

/* The demand of the settings. */
typedef struct
{
  GstGpuFilterBackend backend; /* the property */
  GstGpuFilterBackend method;  /* the backend of the method; AUTO: any */
  gint device_id;              /* -1: any */
} GstGpuBackendDemand;

typedef struct
{
  GstGpuDevice device; /* closed, or open with or without a GPU */

  /* Owned by the thread that opens and closes. */
  gboolean open;
  GstGpuFilterBackend opened_for; /* the requested backend */
  gint opened_id;                 /* the requested device */

  gint warned; /* the fallback has been warned about since the start; atomic */
} GstGpuBackend;

void gst_gpu_backend_init (GstGpuBackend *self, GstElement *element);
/* Frees a backend, which must be closed. */
void gst_gpu_backend_clear (GstGpuBackend *self);

/* The element starts: the next fallback to the CPU posts a warning again. */
void gst_gpu_backend_start (GstGpuBackend *self);

/* Whether the open backend meets the demand. */
gboolean gst_gpu_backend_meets (
    const GstGpuBackend *self, const GstGpuBackendDemand *demand);
/* Opens the backend of the demand; it must be closed. Posts a warning at the first fallback to
 * the CPU. FALSE and a fault: the settings contradict each other, or there is no such device. */
gboolean gst_gpu_backend_open (
    GstGpuBackend *self, const GstGpuBackendDemand *demand, Fault *fault);
void gst_gpu_backend_close (GstGpuBackend *self);

/* Whether the CPU may continue after a fault of the GPU: with backend=auto, and unless the
 * settings or the format are to blame. May also be called on the pusher, while frames are in
 * flight. */
gboolean gst_gpu_backend_may_fall_back (
    const GstGpuBackend *self, const Fault *fault);
/* Returns the warning about such a fallback, or NULL if there has been a warning since the
 * start. Any thread. */
GstMessage *gst_gpu_backend_take_warning (
    GstGpuBackend *self, const Fault *fault);
/* Closes the backend, and opens it on the CPU for the same demand. */
void gst_gpu_backend_fall_back (GstGpuBackend *self);

/* Returns the value of the property active-backend; static. */
const gchar *gst_gpu_backend_name (const GstGpuBackend *self);

G_END_DECLS
