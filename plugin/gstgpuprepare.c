/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpuprepare.h"

#include "gstgpufault.h"
#include "gstgpufilter-private.h"
#include "gstgpulog.h"

#define GST_CAT_DEFAULT gst_gpu_log_base

#define PRIVATE(self) gst_gpu_filter_get_private (self)

void
gst_gpu_prepare_release (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  gboolean pushed;

  gst_frame_queue_drain (priv->flights.queue, "caps or backend change");
  pushed = gst_gpu_device_push (&priv->backend.device, NULL);
  gst_gpu_flights_release_ring (&priv->flights);
  GST_GPU_FILTER_GET_CLASS (self)->release (self);
  if (pushed)
    gst_gpu_device_pop (&priv->backend.device);
}

static void
show_backend (GstGpuFilter *self)
{
  gst_gpu_filter_set_active_backend (
      self, gst_gpu_backend_name (&PRIVATE (self)->backend));
}

void
gst_gpu_prepare_close_backend (GstGpuFilter *self)
{
  gst_gpu_prepare_release (self);
  gst_gpu_backend_close (&PRIVATE (self)->backend);
  show_backend (self);
  gst_gpu_filter_set_active_method (self, "none");
}

/* Makes both neighbours negotiate pools again, after a change of backend or transfer. */
static void
renegotiate_buffers (GstGpuFilter *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);

  if (PRIVATE (self)->have_layout) {
    gst_base_transform_reconfigure_sink (trans);
    gst_base_transform_reconfigure_src (trans);
  }
}

gboolean
gst_gpu_prepare_backend (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuBackendDemand demand;

  demand.method = GST_GPU_FILTER_GET_CLASS (self)->needed_backend (self);
  GST_OBJECT_LOCK (self);
  demand.backend = priv->backend_setting;
  demand.device_id = priv->device_id;
  GST_OBJECT_UNLOCK (self);

  if (gst_gpu_backend_meets (&priv->backend, &demand))
    return TRUE;
  gst_gpu_prepare_close_backend (self);
  renegotiate_buffers (self);
  if (!gst_gpu_backend_open (&priv->backend, &demand, fault))
    return FALSE;
  show_backend (self);
  return TRUE;
}

gboolean
gst_gpu_prepare_is_pageable (GstGpuFilter *self)
{
  gboolean pageable;

  GST_OBJECT_LOCK (self);
  pageable = PRIVATE (self)->flights.settings.transfer
      == GST_GPU_FILTER_TRANSFER_PAGEABLE;
  GST_OBJECT_UNLOCK (self);
  return pageable;
}

static void
follow_transfer (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  const gboolean pageable = gst_gpu_prepare_is_pageable (self);

  if (pageable == priv->pageable)
    return;
  GST_INFO_OBJECT (self,
      "transfer has changed: pools are %s memory from now on",
      pageable ? "of ordinary" : "of pinned");
  priv->pageable = pageable;
  renegotiate_buffers (self);
}

/* Brings backend, depth, plans and ring up to date for a frame. */
static gboolean
prepare (GstGpuFilter *self, GstGpuFilterUse *use, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  gboolean ok;

  if (!gst_gpu_prepare_backend (self, fault)
      || !gst_gpu_device_push (&priv->backend.device, fault))
    return FALSE;
  follow_transfer (self);
  gst_gpu_flights_follow_depth (&priv->flights);
  ok = GST_GPU_FILTER_GET_CLASS (self)->prepare (self, use, fault)
      && gst_gpu_flights_ensure_ring (&priv->flights, *use, fault);
  gst_gpu_device_pop (&priv->backend.device);
  return ok;
}

static void
fall_back (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  gst_gpu_prepare_release (self);
  gst_gpu_backend_fall_back (&priv->backend);
  g_atomic_int_set (&priv->flights.gpu_failed, FALSE);
  show_backend (self);
  renegotiate_buffers (self);
}

gboolean
gst_gpu_prepare_fall_back (GstGpuFilter *self, const Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstMessage *warning;

  if (!gst_gpu_flights_may_fall_back (&priv->flights, fault))
    return FALSE;
  warning = gst_gpu_backend_take_warning (&priv->backend, fault);
  fall_back (self);
  if (warning != NULL)
    gst_element_post_message (GST_ELEMENT (self), warning);
  return TRUE;
}

void
gst_gpu_prepare_fail (GstGpuFilter *self, const Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  const gboolean of_settings = fault->kind == FAULT_SETTINGS
      || fault->kind == FAULT_FORMAT || fault->kind == FAULT_UNSUPPORTED;
  const gboolean is_new =
      priv->failed && strcmp (fault->message, priv->fault.message) != 0;

  if (gst_gpu_flights_claim_error (&priv->flights) || (is_new && of_settings))
    gst_gpu_fault_post (GST_ELEMENT (self), fault);
  else
    GST_LOG_OBJECT (self, "fails again: %s", fault->message);
  priv->failed = TRUE;
  priv->fault = *fault;
}

static const gchar *
use_text (GstGpuFilterUse use)
{
  switch (use) {
    case GST_GPU_FILTER_PASS:
      return "left untouched";
    case GST_GPU_FILTER_READ:
      return "only read";
    default:
      return "replaced by results";
  }
}

gboolean
gst_gpu_prepare_frame (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  const GstGpuFlightFormat *format = &priv->flights.format;
  GstGpuFilterUse use = GST_GPU_FILTER_WRITE;
  gboolean passes;
  Fault fault;

  if (g_atomic_int_get (&priv->flights.gpu_failed))
    fall_back (self);
  if (!prepare (self, &use, &fault)
      && !(gst_gpu_prepare_fall_back (self, &fault)
          && prepare (self, &use, &fault))) {
    gst_gpu_prepare_fail (self, &fault);
    return FALSE;
  }
  if (priv->failed)
    gst_gpu_flights_forget_error (&priv->flights);
  priv->failed = FALSE;
  passes = use != GST_GPU_FILTER_WRITE && format->in_gpu == format->out_gpu;
  if (use != priv->use || passes != gst_base_transform_is_passthrough (trans)) {
    GST_INFO_OBJECT (self, "frames are %s%s", use_text (use),
        passes ? ": passthrough"
            : use != GST_GPU_FILTER_WRITE
            ? ": copied, since they change their memory"
            : "");
    priv->use = use;
    gst_base_transform_set_passthrough (trans, passes);
    /* In passthrough, upstream and downstream negotiate pools directly, without this element. */
    if (use == GST_GPU_FILTER_PASS)
      gst_base_transform_reconfigure_src (trans);
    else
      renegotiate_buffers (self);
  }
  return TRUE;
}

void
gst_gpu_prepare_context (GstGpuFilter *self, GstBuffer *buffer)
{
  GstGpuDevice *device = &PRIVATE (self)->backend.device;
  Gpu *gpu = gst_gpu_device_open_other (device, buffer);

  if (gpu == NULL)
    return;
  gst_gpu_prepare_release (self);
  gst_gpu_device_adopt (device, buffer, gpu);
  show_backend (self);
  renegotiate_buffers (self);
}
