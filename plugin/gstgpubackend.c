/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpubackend.h"

#include "gstgpufault.h"
#include "gstgpulog.h"

#define GST_CAT_DEFAULT gst_gpu_log_device

void
gst_gpu_backend_init (GstGpuBackend *self, GstElement *element)
{
  memset (self, 0, sizeof *self);
  gst_gpu_device_init (&self->device, element);
}

void
gst_gpu_backend_clear (GstGpuBackend *self)
{
  gst_gpu_device_clear (&self->device);
}

void
gst_gpu_backend_start (GstGpuBackend *self)
{
  g_atomic_int_set (&self->warned, FALSE);
}

/* Combines the property and the method to one backend. FALSE and a fault: they contradict each
 * other. */
static gboolean
combine (const GstGpuBackendDemand *demand, GstGpuFilterBackend *combined,
    Fault *fault)
{
  *combined = demand->backend;
  if (demand->method == GST_GPU_FILTER_BACKEND_AUTO
      || demand->method == demand->backend)
    return TRUE;
  if (demand->backend == GST_GPU_FILTER_BACKEND_CPU)
    return fault_set (fault, FAULT_SETTINGS,
        "The selected method runs on the GPU only, but backend=cpu.");
  if (demand->backend == GST_GPU_FILTER_BACKEND_CUDA)
    return fault_set (fault, FAULT_SETTINGS,
        "The selected method runs on the CPU only, but backend=cuda.");
  /* Without a GPU, backend=auto falls back to the CPU for a GPU method too. */
  if (demand->method == GST_GPU_FILTER_BACKEND_CPU)
    *combined = GST_GPU_FILTER_BACKEND_CPU;
  return TRUE;
}

gboolean
gst_gpu_backend_meets (
    const GstGpuBackend *self, const GstGpuBackendDemand *demand)
{
  GstGpuFilterBackend combined;

  return self->open && combine (demand, &combined, NULL)
      && combined == self->opened_for && demand->device_id == self->opened_id;
}

static void
warn_of_cpu (GstGpuBackend *self, const Fault *fault)
{
  GST_WARNING_OBJECT (self->device.element,
      "backend=auto falls back to the CPU: %s (%s)", fault->message,
      fault->detail);
  if (!g_atomic_int_compare_and_exchange (&self->warned, FALSE, TRUE))
    return;
  GST_ELEMENT_WARNING (self->device.element, RESOURCE, NOT_FOUND,
      ("No usable CUDA device: computing on the CPU. %s", fault->message),
      ("%s", fault->detail));
}

static const gchar *
backend_nick (GstGpuFilterBackend backend)
{
  return backend == GST_GPU_FILTER_BACKEND_CPU ? "cpu"
      : backend == GST_GPU_FILTER_BACKEND_CUDA ? "cuda"
                                               : "auto";
}

gboolean
gst_gpu_backend_open (
    GstGpuBackend *self, const GstGpuBackendDemand *demand, Fault *fault)
{
  GstGpuFilterBackend combined;

  if (!combine (demand, &combined, fault))
    return FALSE;
  if (combined == GST_GPU_FILTER_BACKEND_CPU) {
    gst_gpu_device_open_none (&self->device);
  } else if (!gst_gpu_device_open (&self->device, demand->device_id, fault)) {
    if (combined == GST_GPU_FILTER_BACKEND_CUDA)
      return FALSE;
    warn_of_cpu (self, fault);
    gst_gpu_device_open_none (&self->device);
  }
  self->open = TRUE;
  GST_INFO_OBJECT (self->device.element,
      "backend %s: property backend=%s, method needs %s, cuda-device-id=%d",
      gst_gpu_backend_name (self), backend_nick (demand->backend),
      demand->method == GST_GPU_FILTER_BACKEND_AUTO
          ? "any"
          : backend_nick (demand->method),
      demand->device_id);
  self->opened_for = combined;
  self->opened_id = demand->device_id;
  return TRUE;
}

void
gst_gpu_backend_close (GstGpuBackend *self)
{
  if (self->open)
    GST_DEBUG_OBJECT (self->device.element, "backend %s is closed",
        gst_gpu_backend_name (self));
  gst_gpu_device_close (&self->device);
  self->open = FALSE;
}

gboolean
gst_gpu_backend_may_fall_back (const GstGpuBackend *self, const Fault *fault)
{
  return self->open && self->device.gpu != NULL
      && self->opened_for == GST_GPU_FILTER_BACKEND_AUTO
      && (fault->kind == FAULT_FAILED || fault->kind == FAULT_NO_SPACE
          || fault->kind == FAULT_NOT_FOUND);
}

GstMessage *
gst_gpu_backend_take_warning (GstGpuBackend *self, const Fault *fault)
{
  if (!g_atomic_int_compare_and_exchange (&self->warned, FALSE, TRUE))
    return NULL;
  return gst_gpu_fault_to_warning (self->device.element, fault,
      "The GPU cannot go on: computing on the CPU from now on.");
}

void
gst_gpu_backend_fall_back (GstGpuBackend *self)
{
  gst_gpu_backend_close (self);
  gst_gpu_device_open_none (&self->device);
  self->open = TRUE;
}

const gchar *
gst_gpu_backend_name (const GstGpuBackend *self)
{
  return !self->open ? "none" : self->device.gpu != NULL ? "cuda" : "cpu";
}
