/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpubackend: the backend that an element computes on: the settings ask for it, the
 * machine may not have it, and backend=auto then falls back to the CPU. */
#pragma once

#include "gstgpudevice.h"
#include "gstgpuenums.h"

G_BEGIN_DECLS

/* What the settings ask for. */
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
  GstGpuFilterBackend opened_for; /* the backend that was asked for */
  gint opened_id;                 /* the device that was asked for */
  gboolean warned;                /* of the CPU, since start */
} GstGpuBackend;

void gst_gpu_backend_init (GstGpuBackend *self, GstElement *element);
/* Must be closed. */
void gst_gpu_backend_clear (GstGpuBackend *self);

/* The element starts: its next fallback to the CPU posts a warning again. */
void gst_gpu_backend_start (GstGpuBackend *self);

/* Whether the open backend is the one that the settings ask for. */
gboolean gst_gpu_backend_meets (
    const GstGpuBackend *self, const GstGpuBackendDemand *demand);
/* Opens that backend; it must be closed. Posts one warning if the CPU takes over.
 * FALSE and a fault: the settings contradict each other, or there is no such device. */
gboolean gst_gpu_backend_open (
    GstGpuBackend *self, const GstGpuBackendDemand *demand, Fault *fault);
void gst_gpu_backend_close (GstGpuBackend *self);

/* The value of the property active-backend; static. */
const gchar *gst_gpu_backend_name (const GstGpuBackend *self);

G_END_DECLS
