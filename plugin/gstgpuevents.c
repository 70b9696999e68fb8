/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpuevents.h"

#include "gstgpufilter-private.h"
#include "gstgpulog.h"

#define GST_CAT_DEFAULT gst_gpu_log_base

#define PRIVATE(self) gst_gpu_filter_get_private (self)

/* Whether the queue is drained before the event, since the event changes the frames that
 * follow. A segment does: a frame is reported with the segment in which it arrived. */
static gboolean
drains (GstEvent *event)
{
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_STREAM_START:
    case GST_EVENT_CAPS:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_EOS:
      return TRUE;
    default:
      return FALSE;
  }
}

static void
end_flush (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);

  gst_frame_queue_set_flushing (priv->flights.queue, FALSE);
  priv->discont = FALSE;
  priv->processed = 0;
  g_atomic_int_set (&priv->flights.flow_reported, FALSE);
  gst_gpu_flights_forget_error (&priv->flights);
  if (klass->flushed != NULL)
    klass->flushed (self);
}

/* Handles an event after the frames before it have been drained with the flow return `flow`. */
static void
follow_drained (GstGpuFilter *self, GstEvent *event, GstFlowReturn flow)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);

  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START
      && klass->new_stream != NULL)
    klass->new_stream (self);
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_EOS:
      /* No buffer follows that could return the bad flow to upstream. */
      if ((flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS)
          && !g_atomic_int_get (&priv->flights.flow_reported)
          && gst_gpu_flights_claim_error (&priv->flights))
        GST_ELEMENT_FLOW_ERROR (self, flow);
      break;
    case GST_EVENT_STREAM_START:
    case GST_EVENT_SEGMENT:
      /* After its EOS, downstream may take frames again. */
      gst_frame_queue_forget (priv->flights.queue, GST_FLOW_EOS);
      g_atomic_int_set (&priv->flights.flow_reported, FALSE);
      break;
    default:
      break;
  }
}

gboolean
gst_gpu_events_take (GstGpuFilter *self, GstEvent *event)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START) {
    GST_DEBUG_OBJECT (self, "flush: frames in flight are dropped");
    gst_frame_queue_set_flushing (priv->flights.queue, TRUE);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    end_flush (self);
  } else if (drains (event)) {
    follow_drained (self, event,
        gst_frame_queue_drain (
            priv->flights.queue, GST_EVENT_TYPE_NAME (event)));
  } else if (GST_EVENT_IS_SERIALIZED (event)) {
    return gst_gpu_flights_queue_event (&priv->flights, event);
  }
  return FALSE;
}
