/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpufilter.h"

#include "gstcudahistogrammeta.h"
#include "gstframecrop.h"
#include "gstgpucaps.h"
#include "gstgpuevents.h"
#include "gstgpufault.h"
#include "gstgpufilter-private.h"
#include "gstgpulog.h"
#include "gstgpuprepare.h"

#define GST_CAT_DEFAULT gst_gpu_log_base

#define DEFAULT_BACKEND GST_GPU_FILTER_BACKEND_AUTO
#define DEFAULT_DEVICE_ID (-1)
#define DEFAULT_TRANSFER GST_GPU_FILTER_TRANSFER_AUTO
#define DEFAULT_RING_DEPTH 0

enum
{
  PROP_BACKEND = 1,
  PROP_CUDA_DEVICE_ID = 2,
  PROP_TRANSFER = 3,
  PROP_RING_DEPTH = 4,
  PROP_ACTIVE_BACKEND = 5,
  PROP_ACTIVE_METHOD = 6,
  PROP_STATS = 7,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstGpuFilter, gst_gpu_filter, GST_TYPE_VIDEO_FILTER)

GstGpuFilterPrivate *
gst_gpu_filter_get_private (GstGpuFilter *self)
{
  return gst_gpu_filter_get_instance_private (self);
}

#define PRIVATE(self) gst_gpu_filter_get_private (self)

/* For subclasses */

Gpu *
gst_gpu_filter_get_gpu (GstGpuFilter *self)
{
  return PRIVATE (self)->backend.device.gpu;
}

Backend
gst_gpu_filter_get_backend (GstGpuFilter *self)
{
  return gst_gpu_filter_get_gpu (self) != NULL ? BACKEND_CUDA : BACKEND_CPU;
}

const GstFrameLayout *
gst_gpu_filter_get_layout (GstGpuFilter *self)
{
  return &PRIVATE (self)->flights.format.layout;
}

const GstVideoInfo *
gst_gpu_filter_get_info (GstGpuFilter *self)
{
  return &PRIVATE (self)->flights.format.info;
}

gboolean
gst_gpu_filter_get_in_gpu_memory (GstGpuFilter *self)
{
  return PRIVATE (self)->flights.format.in_gpu;
}

gboolean
gst_gpu_filter_may_change_in_place (GstGpuFilter *self)
{
  const GstGpuFilterPrivate *priv = PRIVATE (self);

  return priv->flights.format.layout.packing == BITPACK_NONE
      && (priv->flights.device->gpu == NULL || priv->flights.format.in_gpu
          || !priv->pageable);
}

guint
gst_gpu_filter_get_depth (GstGpuFilter *self)
{
  return PRIVATE (self)->flights.depth;
}

GpuOrder
gst_gpu_filter_get_order (GstGpuFilter *self)
{
  const GstGpuFilterPrivate *priv = PRIVATE (self);
  const gboolean whole = !GST_GPU_FILTER_GET_CLASS (self)->fields_apart
      || !GST_VIDEO_INFO_IS_INTERLACED (&priv->flights.format.info);

  return gst_gpu_flights_stay_on_gpu (&priv->flights)
          && priv->backend.device.stream == NULL && whole
          && priv->flights.format.layout.packing == BITPACK_NONE
      ? ring_order ((int) priv->flights.depth)
      : GPU_AFTER_KERNELS;
}

void
gst_gpu_filter_set_slices (GstGpuFilter *self, guint slices)
{
  PRIVATE (self)->flights.settings.slices = slices;
}

guint
gst_gpu_filter_get_slices (GstGpuFilter *self)
{
  return PRIVATE (self)->flights.settings.slices;
}

void
gst_gpu_filter_set_in_parts (GstGpuFilter *self, gboolean in_parts)
{
  PRIVATE (self)->flights.in_parts = in_parts;
}

void
gst_gpu_filter_set_turns (GstGpuFilter *self, gint turns)
{
  PRIVATE (self)->flights.turns = turns;
}

void
gst_gpu_filter_set_reports (GstGpuFilter *self, gboolean reports)
{
  PRIVATE (self)->reports = reports;
}

void
gst_gpu_filter_set_may_pass (GstGpuFilter *self, gboolean may_pass)
{
  PRIVATE (self)->may_pass = may_pass;
}

gint
gst_gpu_filter_get_rows_apart (GstGpuFilter *self, guint slot_index)
{
  return gst_gpu_flights_has_fields (&PRIVATE (self)->flights, slot_index) ? 2
                                                                           : 1;
}

gboolean
gst_gpu_filter_get_reported (GstGpuFilter *self, guint slot_index)
{
  return gst_gpu_flights_get_reported (&PRIVATE (self)->flights, slot_index);
}

GstGpuFilterFit
gst_gpu_filter_check_caps (GstGpuFilter *self, Fault *why)
{
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  GstCaps *caps;
  gboolean possible;

  if (klass->takes_format == NULL
      || klass->takes_format (self, gst_gpu_filter_get_info (self)->finfo, why))
    return GST_GPU_FILTER_FITS;
  caps = gst_pad_get_allowed_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  possible = caps != NULL && !gst_caps_is_empty (caps);
  gst_clear_caps (&caps);
  GST_INFO_OBJECT (self, "%s Upstream %s", why->message,
      possible ? "can send another format: the old settings are used until then"
               : "cannot send another format");
  return possible ? GST_GPU_FILTER_AWAITS_CAPS : GST_GPU_FILTER_REFUSES;
}

void
gst_gpu_filter_drain (GstGpuFilter *self)
{
  gst_frame_queue_drain (PRIVATE (self)->flights.queue,
      "the element changes what frames in flight use");
}

static void
set_active (
    GstGpuFilter *self, const gchar **field, const gchar *name, guint property)
{
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = g_strcmp0 (*field, name) != 0;
  *field = name;
  GST_OBJECT_UNLOCK (self);
  if (!changed)
    return;
  GST_CAT_INFO_OBJECT (gst_gpu_log_of_element (GST_ELEMENT (self)), self,
      "%s is %s", properties[property]->name, name);
  g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

void
gst_gpu_filter_set_active_backend (GstGpuFilter *self, const gchar *name)
{
  set_active (self, &PRIVATE (self)->active_backend, name, PROP_ACTIVE_BACKEND);
}

void
gst_gpu_filter_set_active_method (GstGpuFilter *self, const gchar *name)
{
  set_active (self, &PRIVATE (self)->active_method, name, PROP_ACTIVE_METHOD);
}

/* GstBaseTransform and GstVideoFilter */

/* Refuses settings that cannot work with any caps, so that the change of state fails. */
static gboolean
check_settings (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);

  return klass->check_settings == NULL || klass->check_settings (self, fault);
}

static gboolean
gst_gpu_filter_start (GstBaseTransform *trans)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  gboolean started;
  Fault fault;

  gst_gpu_backend_start (&priv->backend);
  gst_gpu_flights_reset (&priv->flights);
  priv->pageable = gst_gpu_prepare_is_pageable (self);
  priv->have_layout = FALSE;
  priv->use = GST_GPU_FILTER_WRITE;
  gst_base_transform_set_passthrough (trans, FALSE);
  priv->failed = priv->discont = FALSE;
  priv->processed = 0;
  if (!check_settings (self, &fault)
      || !gst_gpu_prepare_backend (self, &fault)) {
    gst_gpu_fault_post (GST_ELEMENT (self), &fault);
    return FALSE;
  }
  started = gst_gpu_flights_start (&priv->flights);
  if (!started) {
    gst_gpu_prepare_close_backend (self);
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED,
        ("The system has no thread to push frames from."), (NULL));
  }
  GST_DEBUG_OBJECT (self, "started");
  g_atomic_int_set (&priv->started, started);
  g_atomic_int_set (&priv->answers, started);
  return started;
}

static gboolean
gst_gpu_filter_stop (GstBaseTransform *trans)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  gst_frame_queue_stop (priv->flights.queue);
  g_atomic_int_set (&priv->answers, FALSE);
  /* Another thread may still be in a serialized query, which makes the base class negotiate. */
  GST_PAD_STREAM_LOCK (trans->sinkpad);
  g_atomic_int_set (&priv->started, FALSE);
  gst_gpu_prepare_close_backend (self);
  gst_gpu_flights_log_stats (&priv->flights);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  return TRUE;
}

static gboolean
gst_gpu_filter_set_info (GstVideoFilter *filter, GstCaps *incaps,
    GstVideoInfo *in_info, GstCaps *outcaps, GstVideoInfo *out_info)
{
  GstGpuFilter *self = GST_GPU_FILTER (filter);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFlightFormat *format = &priv->flights.format;

  (void) out_info;
  if (!g_atomic_int_get (&priv->started))
    return FALSE;
  gst_gpu_prepare_release (self);
  format->info = *in_info;
  format->in_gpu = gst_gpu_caps_are_on_gpu (incaps);
  format->out_gpu = gst_gpu_caps_are_on_gpu (outcaps);
  GST_INFO_OBJECT (self,
      "caps: frames come in %s and leave in %s memory: %" GST_PTR_FORMAT,
      format->in_gpu ? "GPU" : "system", format->out_gpu ? "GPU" : "system",
      (gpointer) incaps);
  priv->have_layout = gst_frame_layout_init (&format->layout, in_info);
  /* With interlace-mode=fields, each field is stored as a picture of its own, described by its
   * own GstVideoMeta. */
  if (!priv->have_layout
      || GST_VIDEO_INFO_INTERLACE_MODE (in_info)
          == GST_VIDEO_INTERLACE_MODE_FIELDS) {
    Fault fault;

    fault_set (&fault, FAULT_FORMAT,
        "Video of format %s, %dx%d, interlace-mode %s, is not supported%s.",
        gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (in_info)),
        GST_VIDEO_INFO_WIDTH (in_info), GST_VIDEO_INFO_HEIGHT (in_info),
        gst_video_interlace_mode_to_string (
            GST_VIDEO_INFO_INTERLACE_MODE (in_info)),
        gst_frame_rows_are_short (in_info)
            ? ": its rows end before their last pixel does"
            : "");
    gst_gpu_prepare_fail (self, &fault);
    return priv->have_layout = FALSE;
  }
  priv->have_layout = gst_gpu_prepare_frame (self);
  if (priv->have_layout)
    GST_INFO_OBJECT (self, "ready: %d x %d %s, %d planes in %d blocks%s",
        GST_VIDEO_INFO_WIDTH (in_info), GST_VIDEO_INFO_HEIGHT (in_info),
        gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (in_info)),
        format->layout.layout.n_planes, format->layout.layout.n_memories,
        gst_base_transform_is_passthrough (GST_BASE_TRANSFORM (self))
            ? ", passthrough"
            : "");
  return priv->have_layout;
}

static void
gst_gpu_filter_before_transform (GstBaseTransform *trans, GstBuffer *buffer)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);

  if (trans->segment.format == GST_FORMAT_TIME) {
    const GstClockTime time = gst_segment_to_stream_time (
        &trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));

    if (GST_CLOCK_TIME_IS_VALID (time))
      gst_object_sync_values (GST_OBJECT (self), time);
  }
  if (!PRIVATE (self)->have_layout)
    return;
  gst_gpu_prepare_context (self, buffer);
  gst_gpu_prepare_frame (self);
}

static GstFlowReturn
gst_gpu_filter_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));
  GstFlowReturn flow;

  /* The base class is about to negotiate a buffer pool, while frames in flight still use
   * buffers of the old one. */
  if (gst_pad_needs_reconfigure (trans->srcpad))
    gst_frame_queue_drain (
        priv->flights.queue, "downstream negotiates buffers anew");
  flow = GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
             ->submit_input_buffer (trans, is_discont, input);
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED) {
    GST_LOG_OBJECT (trans, "the base class dropped a frame, for QoS");
    priv->discont = TRUE;
  }
  return flow;
}

/* Whether the buffer has the strides and offsets that the caps imply without a GstVideoMeta. */
static gboolean
is_laid_out_plainly (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  for (guint p = 0; meta != NULL && p < meta->n_planes; p++)
    if (meta->stride[p] != GST_VIDEO_INFO_PLANE_STRIDE (info, p)
        || meta->offset[p] != GST_VIDEO_INFO_PLANE_OFFSET (info, p))
      return FALSE;
  return TRUE;
}

/* Whether downstream can take an input buffer in place of a result. */
static gboolean
suits_downstream (GstGpuFilter *self, GstBuffer *in)
{
  const GstGpuFilterPrivate *priv = PRIVATE (self);
  const GstGpuFlightFormat *format = &priv->flights.format;

  return format->in_gpu == format->out_gpu
      && gst_frame_crop_find (in, &format->info) == NULL
      && (format->in_gpu || priv->takes_video_meta
          || is_laid_out_plainly (in, &format->info));
}

/* Posts an error if the pool has no memory for one more buffer, which the pool only logs. For
 * a pool that cannot be activated, the base class has posted an error. */
static void
explain_missing_buffer (GstGpuFilter *self, GstBuffer *in)
{
  GstBufferPool *pool =
      gst_base_transform_get_buffer_pool (GST_BASE_TRANSFORM (self));

  if (pool != NULL && gst_buffer_pool_is_active (pool)
      && gst_gpu_flights_claim_error (&PRIVATE (self)->flights))
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("There is no buffer for a result: the pool has no memory."),
        ("for %" GST_PTR_FORMAT, (gpointer) in));
  gst_clear_object (&pool);
}

/* Whether a buffer and its memories are writable, and shared with no other buffer or element. */
static gboolean
is_ours (GstBuffer *buffer)
{
  if (!gst_buffer_is_writable (buffer)
      || !gst_buffer_is_all_memory_writable (buffer)
      || gst_buffer_get_meta (buffer, GST_PARENT_BUFFER_META_API_TYPE) != NULL)
    return FALSE;
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++)
    if (GST_MEMORY_IS_READONLY (gst_buffer_peek_memory (buffer, i)))
      return FALSE;
  return TRUE;
}

/* Whether no two rows of a frame share memory. A plane of one colour may store a single row
 * for all of its rows. */
static gboolean
lies_apart (GstGpuFilter *self, GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  Image image = PRIVATE (self)->flights.format.layout.memory;

  for (gint p = 0; meta != NULL && p < image.n_memories; p++) {
    image.memory[p].data = GSIZE_TO_POINTER (meta->offset[p]);
    image.memory[p].stride = meta->stride[p];
  }
  return meta == NULL || image_is_apart (&image);
}

/* Whether a frame can be changed in place, and its buffer pushed. */
static gboolean
suits_place (GstGpuFilter *self, GstBuffer *in)
{
  return gst_gpu_filter_may_change_in_place (self)
      && suits_downstream (self, in) && is_ours (in) && lies_apart (self, in);
}

/* Decides how the frame is used, waits for room in the queue, and gets the buffer to push, which
 * may be `in` itself. */
static GstFlowReturn
get_output_buffer (GstBaseTransform *trans, GstBuffer *in, GstGpuFilterUse *use,
    GstBuffer **out)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  GstGpuFilterResult result = GST_GPU_FILTER_RESULT_APART;
  GstFlowReturn flow;

  if (priv->failed)
    return GST_FLOW_ERROR;
  flow = gst_frame_queue_wait_for_room (
      priv->flights.queue, MAX (priv->flights.depth, 1));
  if (flow != GST_FLOW_OK)
    return flow;
  *use = priv->use;
  if (*use == GST_GPU_FILTER_WRITE && klass->begin_frame != NULL)
    result = klass->begin_frame (self, in);
  if (result == GST_GPU_FILTER_RESULT_NONE)
    *use = GST_GPU_FILTER_READ;
  if ((result == GST_GPU_FILTER_RESULT_NONE && suits_downstream (self, in))
      || (result == GST_GPU_FILTER_RESULT_IN_PLACE && suits_place (self, in))) {
    *out = in;
    return GST_FLOW_OK;
  }
  priv->copies = *use != GST_GPU_FILTER_WRITE;
  flow = GST_BASE_TRANSFORM_GET_CLASS (trans)->prepare_output_buffer (
      trans, in, out);
  if (flow == GST_FLOW_ERROR)
    explain_missing_buffer (self, in);
  return flow;
}

/* The base class updates the position only for buffers that this element returns to it. */
static void
advance_position (GstSegment *segment, GstBuffer *in)
{
  if (segment->format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (in))
    segment->position = GST_BUFFER_PTS (in)
        + (GST_BUFFER_DURATION_IS_VALID (in) ? GST_BUFFER_DURATION (in) : 0);
}

/* Whether the frame is passed to finish(). */
static gboolean
is_reported (GstGpuFilter *self, GstBuffer *buffer)
{
  const GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);

  return priv->use != GST_GPU_FILTER_PASS && priv->reports
      && (klass->is_due == NULL || klass->is_due (self, buffer));
}

/* Returns a deep copy of the buffer, or the buffer itself if there is no memory for a copy.
 * Takes the buffer. */
static GstBuffer *
copy_apart (GstBuffer *buffer)
{
  GstBuffer *copy = gst_buffer_copy_deep (buffer);

  if (copy == NULL)
    return buffer;
  gst_buffer_unref (buffer);
  return copy;
}

/* Sends a frame, to the CPU if the GPU cannot take it and backend=auto. Takes both buffers. */
static GstFlowReturn
send_frame (GstGpuFilter *self, GstGpuFilterUse use, GstBuffer *in,
    GstBuffer *out, gboolean reports)
{
  GstGpuFlights *flights = &PRIVATE (self)->flights;
  GstFlowReturn flow;
  Fault fault;

  flow = gst_gpu_flights_send (flights, use, in, out, reports, &fault);
  if (flow != GST_GPU_FLIGHTS_AGAIN)
    return flow;
  /* The GPU may still write to `out`. A frame that was to be changed in place gets a separate
   * result, since the settings may have changed meanwhile. */
  if (out == in && use == GST_GPU_FILTER_WRITE)
    in = copy_apart (in);
  if (out != in || use == GST_GPU_FILTER_WRITE)
    out = copy_apart (out);
  if (gst_gpu_prepare_fall_back (self, &fault) && gst_gpu_prepare_frame (self))
    return gst_gpu_flights_send (flights, use, in, out, reports, &fault);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  return GST_FLOW_ERROR;
}

static gboolean
is_histogram (const GstMeta *meta)
{
  return g_strcmp0 (
             g_type_name (meta->info->api), GST_CUDA_HISTOGRAM_META_API_NAME)
      == 0;
}

/* A GstBufferForeachMetaFunc, for frames that are changed in place. */
static gboolean
drop_histogram (GstBuffer *buffer, GstMeta **meta, gpointer user)
{
  (void) buffer;
  (void) user;
  if (is_histogram (*meta))
    *meta = NULL;
  return TRUE;
}

/* Hands the frame to the pusher instead of returning a buffer. */
static GstFlowReturn
gst_gpu_filter_generate_output (GstBaseTransform *trans, GstBuffer **outbuf)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstBuffer *in = trans->queued_buf, *out = NULL;
  GstGpuFilterUse use;
  GstFlowReturn flow;
  gboolean reports, passes;

  *outbuf = NULL;
  trans->queued_buf = NULL;
  if (in == NULL)
    return GST_FLOW_OK;
  flow = get_output_buffer (trans, in, &use, &out);
  if (flow != GST_FLOW_OK) {
    g_atomic_int_set (&priv->flights.flow_reported, TRUE);
    gst_buffer_unref (in);
    return flow;
  }

  priv->processed++;
  advance_position (&trans->segment, in);
  passes = out == in;
  if (g_atomic_int_compare_and_exchange (&priv->flights.lost, TRUE, FALSE))
    priv->discont = TRUE;
  if (priv->discont) {
    out = gst_buffer_make_writable (out);
    GST_BUFFER_FLAG_SET (out, GST_BUFFER_FLAG_DISCONT);
    if (passes)
      in = out;
    priv->discont = FALSE;
  }
  reports = is_reported (self, in);
  if (passes && use == GST_GPU_FILTER_WRITE)
    gst_buffer_foreach_meta (in, drop_histogram, NULL);
  else if (passes && !reports) {
    gst_gpu_flights_pass (&priv->flights, out);
    return GST_FLOW_OK;
  }
  if (passes)
    gst_buffer_ref (in);
  return send_frame (self, use, in, out, reports);
}

/* Events and queries */

static gboolean
gst_gpu_filter_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  const gboolean ends_flush = GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP;
  gboolean forwarded;

  if (gst_gpu_events_take (self, event))
    return TRUE;
  forwarded = GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
                  ->sink_event (trans, event);
  if (ends_flush)
    gst_frame_queue_store_lost_events (PRIVATE (self)->flights.queue);
  return forwarded;
}

static gboolean
gst_gpu_filter_src_event (GstBaseTransform *trans, GstEvent *event)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));

  if (GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE) {
    gst_frame_queue_forget (priv->flights.queue, GST_FLOW_NOT_LINKED);
    g_atomic_int_set (&priv->flights.flow_reported, FALSE);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
      ->src_event (trans, event);
}

/* A thread of this element pushes the frames, so that downstream cannot pull them. */
static void
answer_scheduling (GstQuery *query)
{
  gst_query_set_scheduling (query, GST_SCHEDULING_FLAG_SEQUENTIAL, 1, -1, 0);
  gst_query_add_scheduling_mode (query, GST_PAD_MODE_PUSH);
}

static gboolean
gst_gpu_filter_activate_src (
    GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  (void) parent;
  if (mode == GST_PAD_MODE_PUSH)
    return TRUE;
  GST_DEBUG_OBJECT (pad, "no %s in mode %s",
      active ? "activation" : "deactivation", gst_pad_mode_get_name (mode));
  return FALSE;
}

static gboolean
gst_gpu_filter_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));
  gboolean answered;

  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT
      && gst_gpu_device_answer_query (&priv->backend.device, query))
    return TRUE;
  if (direction == GST_PAD_SRC
      && GST_QUERY_TYPE (query) == GST_QUERY_SCHEDULING) {
    answer_scheduling (query);
    return TRUE;
  }
  if (direction == GST_PAD_SINK && GST_QUERY_IS_SERIALIZED (query)) {
    if (!g_atomic_int_get (&priv->answers))
      return FALSE;
    gst_frame_queue_drain (priv->flights.queue, GST_QUERY_TYPE_NAME (query));
  }
  answered = GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
                 ->query (trans, direction, query);
  if (answered && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY) {
    gboolean live;

    gst_query_parse_latency (query, &live, NULL, NULL);
    if (g_atomic_int_get (&priv->flights.live_upstream) != live)
      GST_DEBUG_OBJECT (trans,
          "upstream is %slive: a frame that comes alone is "
          "%scut into slices, if slices=0",
          live ? "" : "not ", live ? "" : "not ");
    g_atomic_int_set (&priv->flights.live_upstream, live);
  }
  /* The base class lists first the caps that need no copy between system and GPU memory in
   * this element. An upstream that has frames in GPU memory should send these instead. */
  if (answered && direction == GST_PAD_SINK
      && GST_QUERY_TYPE (query) == GST_QUERY_CAPS) {
    GstCaps *caps;

    gst_query_parse_caps_result (query, &caps);
    if (caps != NULL && !gst_caps_is_any (caps)) {
      caps = gst_gpu_caps_prefer_gpu (gst_caps_ref (caps));
      caps = gst_gpu_caps_prefer_usual (caps);
      gst_query_set_caps_result (query, caps);
      gst_caps_unref (caps);
    }
  }
  return answered;
}

/* Whether these are the current caps. The element accepts them until upstream has chosen
 * others, even while the settings refuse their format: the last frames of these caps are still
 * on the way, and neighbours may negotiate again meanwhile. */
static gboolean
has_caps (GstGpuFilter *self, GstCaps *caps)
{
  GstCaps *current =
      gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  const gboolean same = current != NULL && gst_caps_is_equal (current, caps);

  gst_clear_caps (&current);
  return same;
}

/* Posts the reason why caps are refused. Refused caps never reach set_info(): the pad refuses
 * them, and upstream would only report that it was not negotiated. */
static GstPadProbeReturn
explain_refused_caps (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  GstGpuFilter *self = user;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (probe);
  GstCaps *caps;
  Fault fault;

  (void) pad;
  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  if (!has_caps (self, caps)
      && !gst_gpu_caps_check (caps,
          (GstGpuCapsTakes) GST_GPU_FILTER_GET_CLASS (self)->takes_format, self,
          &fault))
    gst_gpu_prepare_fail (self, &fault);
  return GST_PAD_PROBE_OK;
}

static GstCaps *
gst_gpu_filter_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));
  GstCaps *other = gst_gpu_caps_transform (
      caps, direction, gst_gpu_device_has_memory (&priv->backend.device));

  if (direction == GST_PAD_SRC || !has_caps (GST_GPU_FILTER (trans), caps))
    other = gst_gpu_caps_restrict (other,
        (GstGpuCapsTakes) GST_GPU_FILTER_GET_CLASS (trans)->takes_format,
        trans);
  if (filter != NULL) {
    GstCaps *both =
        gst_caps_intersect_full (other, filter, GST_CAPS_INTERSECT_FIRST);

    gst_caps_unref (other);
    other = both;
  }
  GST_TRACE_OBJECT (trans,
      "%s caps %" GST_PTR_FORMAT " become %" GST_PTR_FORMAT,
      direction == GST_PAD_SINK ? "sink" : "src", (gpointer) caps,
      (gpointer) other);
  return other;
}

/* A downstream element that accepts any caps, such as filesink, may not know that rows in GPU
 * memory are padded: it gets system memory, as from GStreamer's decoders. */
static GstCaps *
gst_gpu_filter_fixate_caps (GstBaseTransform *trans, GstPadDirection direction,
    GstCaps *caps, GstCaps *other)
{
  if (direction == GST_PAD_SINK) {
    GstCaps *taken = gst_pad_peer_query_caps (trans->srcpad, NULL);

    if (gst_caps_is_any (taken)) {
      GST_DEBUG_OBJECT (
          trans, "downstream takes anything: system memory, if it may be");
      other = gst_gpu_caps_prefer_system (other);
    }
    gst_caps_unref (taken);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
      ->fixate_caps (trans, direction, caps, other);
}

static void
gst_gpu_filter_set_context (GstElement *element, GstContext *context)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (element));
  gint device_id;

  GST_OBJECT_LOCK (element);
  device_id = priv->device_id;
  GST_OBJECT_UNLOCK (element);
  gst_gpu_device_offer_context (&priv->backend.device, context, device_id);
  GST_ELEMENT_CLASS (gst_gpu_filter_parent_class)
      ->set_context (element, context);
}

static GstStateChangeReturn
gst_gpu_filter_change_state (GstElement *element, GstStateChange transition)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (element));

  /* The pads are about to wait for the stream lock, so that the streaming thread must not block
   * in the queue. Queries are refused from here on: the lock is not fair, and a thread that
   * sends query after query, each of which makes a pool, could keep it for seconds. */
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    g_atomic_int_set (&priv->answers, FALSE);
    gst_frame_queue_set_flushing (priv->flights.queue, TRUE);
  }
  return GST_ELEMENT_CLASS (gst_gpu_filter_parent_class)
      ->change_state (element, transition);
}

/* Corrects the statistics of QoS messages: the base class counts the buffers that this element
 * returns to it, which are none. */
static gboolean
gst_gpu_filter_post_message (GstElement *element, GstMessage *message)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (element));

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_QOS
      && GST_MESSAGE_SRC (message) == GST_OBJECT (element)) {
    guint64 dropped;

    gst_message_parse_qos_stats (message, NULL, NULL, &dropped);
    gst_message_set_qos_stats (
        message, GST_FORMAT_BUFFERS, priv->processed, dropped);
  }
  return GST_ELEMENT_CLASS (gst_gpu_filter_parent_class)
      ->post_message (element, message);
}

/* Allocation queries */

static void
offer_meta (GstQuery *query, GType api, const GstStructure *params)
{
  if (!gst_query_find_allocation_meta (query, api, NULL))
    gst_query_add_allocation_meta (query, api, params);
}

/* Offers upstream the metas that downstream accepts, and the two that this element handles
 * itself: GstVideoMeta, since frames may have any layout, and GstVideoCropMeta, since a frame
 * may be a part of its buffer. */
static void
offer_metas (GstQuery *query, GstQuery *decide_query)
{
  offer_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  offer_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  for (guint i = 0; i < gst_query_get_n_allocation_metas (decide_query); i++) {
    const GstStructure *params;
    const GType api =
        gst_query_parse_nth_allocation_meta (decide_query, i, &params);

    offer_meta (query, api, params);
  }
}

static void
log_proposal (
    GstGpuFilter *self, gboolean passes, gboolean suit, gboolean on_gpu)
{
  const gchar *why = passes
      ? "that of downstream, since frames pass as they are"
      : suit   ? "one of this element"
      : on_gpu ? "none, there is no context for GPU memory"
      : PRIVATE (self)->pageable
      ? "none, transfer=pageable asks for ordinary memory"
      : "none, the CPU reads any memory as well";

  GST_CAT_INFO_OBJECT (gst_gpu_log_memory, self, "pool for upstream: %s", why);
}

/* Returns the number of buffers that downstream asks for. */
static guint
kept_by_downstream (GstQuery *decide_query)
{
  guint min = 0;

  if (gst_query_get_n_allocation_pools (decide_query) > 0)
    gst_query_parse_nth_allocation_pool (
        decide_query, 0, NULL, NULL, &min, NULL);
  return min;
}

/* Offers upstream a pool of pinned memory, which copy engines read, or of GPU memory. */
static gboolean
propose (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  const GstGpuPools pools =
      gst_gpu_device_get_pools (&priv->backend.device, !priv->pageable);
  gboolean suit, on_gpu;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (caps == NULL)
    return FALSE;
  suit = gst_gpu_pools_suit (&pools, caps);
  on_gpu = gst_gpu_caps_are_on_gpu (caps);
  log_proposal (self, decide_query == NULL, suit, on_gpu);
  if (decide_query == NULL) {
    /* In passthrough, downstream's answer comes first. This element offers pinned memory
     * if downstream offers nothing, as a fakesink does. It does not offer GPU memory:
     * decoders rely on the number of buffers in the offer, and this element does not know
     * how many of them downstream keeps. */
    const gboolean answered =
        GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
            ->propose_allocation (trans, decide_query, query);

    if (priv->use != GST_GPU_FILTER_READ || !suit || on_gpu
        || gst_query_get_n_allocation_pools (query) > 0
        || gst_query_get_n_allocation_params (query) > 0)
      return answered;
    return gst_gpu_pools_propose (&pools, query, 0);
  }
  if (!suit && !on_gpu
      && !GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
              ->propose_allocation (trans, decide_query, query))
    return FALSE;
  offer_metas (query, decide_query);
  /* Frames in flight hold their inputs; downstream holds those that pass. */
  return !suit
      || gst_gpu_pools_propose (&pools, query,
          priv->flights.depth + 1
              + (priv->may_pass ? kept_by_downstream (decide_query) : 0));
}

/* Does not offer GstVideoCropMeta for formats whose pixels lie in groups of more than two,
 * even if downstream accepts it: a frame cannot begin within a group, so that upstream must
 * crop. */
static gboolean
gst_gpu_filter_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  const gboolean proposed = propose (trans, decide_query, query);
  guint i;

  if (gst_frame_crop_has_groups (
          &PRIVATE (GST_GPU_FILTER (trans))->flights.format.info))
    while (gst_query_find_allocation_meta (
        query, GST_VIDEO_CROP_META_API_TYPE, &i))
      gst_query_remove_nth_allocation_meta (query, i);
  return proposed;
}

static void
remove_pools (GstQuery *query)
{
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
}

/* Hides a pool of GPU memory from the base class. gst_gpu_pools_decide() has configured the
 * pool; the base class would configure it again, which may allocate GPU memory, and would post
 * an error of its own if that fails. */
static gboolean
decide_the_rest (
    GstBaseTransform *trans, GstQuery *query, const GstGpuPools *pools)
{
  GstBaseTransformClass *parent_class =
      GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class);
  GstBufferPool *pool;
  guint size, min, max;
  GstCaps *caps;
  gboolean ok;

  gst_query_parse_allocation (query, &caps, NULL);
  if (!gst_gpu_caps_are_on_gpu (caps) || pools->context == NULL)
    return parent_class->decide_allocation (trans, query);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  remove_pools (query);
  ok = parent_class->decide_allocation (trans, query);
  /* GstVideoFilter adds a pool of system memory. */
  remove_pools (query);
  gst_query_add_allocation_pool (query, pool, size, min, max);
  gst_object_unref (pool);
  return ok;
}

static gboolean
gst_gpu_filter_decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  const GstGpuPools pools = gst_gpu_device_get_pools (
      &PRIVATE (self)->backend.device, !PRIVATE (self)->pageable);

  PRIVATE (self)->takes_video_meta =
      gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (gst_gpu_pools_decide (&pools, query,
          (guint) GST_VIDEO_INFO_SIZE (&PRIVATE (self)->flights.format.info)))
    return decide_the_rest (trans, query, &pools);
  /* Upstream would only report that it was not negotiated. */
  if (gst_gpu_flights_claim_error (&PRIVATE (self)->flights))
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("There is no pool of GPU memory for results; the GPU may be out of "
         "memory."),
        ("in the allocation query"));
  return FALSE;
}

/* Metas */

/* Copies all metas, since frames keep their size and time, except the histogram of an input
 * that is changed, and the crop that selects the frame within the input buffer. The base class
 * has already left out the metas that describe memory. */
static gboolean
gst_gpu_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  const GstVideoInfo *info = gst_gpu_filter_get_info (GST_GPU_FILTER (trans));

  (void) outbuf;
  return (PRIVATE (GST_GPU_FILTER (trans))->copies || !is_histogram (meta))
      && (const GstMeta *) gst_frame_crop_find (inbuf, info) != meta;
}

/* Passes on all metas that downstream asks upstream to attach, for the same reason. */
static gboolean
gst_gpu_filter_filter_meta (GstBaseTransform *trans, GstQuery *query, GType api,
    const GstStructure *params)
{
  (void) trans;
  (void) query;
  (void) api;
  (void) params;
  return TRUE;
}

/* Properties */

static void
gst_gpu_filter_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstGpuFilter *self = GST_GPU_FILTER (object);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      priv->backend_setting = g_value_get_enum (value);
      break;
    case PROP_CUDA_DEVICE_ID:
      priv->device_id = g_value_get_int (value);
      break;
    case PROP_TRANSFER:
      priv->flights.settings.transfer = g_value_get_enum (value);
      break;
    case PROP_RING_DEPTH:
      priv->flights.settings.ring_depth = g_value_get_uint (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_gpu_filter_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstGpuFilter *self = GST_GPU_FILTER (object);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, gst_gpu_flights_get_stats (&priv->flights));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      g_value_set_enum (value, priv->backend_setting);
      break;
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, priv->device_id);
      break;
    case PROP_TRANSFER:
      g_value_set_enum (value, priv->flights.settings.transfer);
      break;
    case PROP_RING_DEPTH:
      g_value_set_uint (value, priv->flights.settings.ring_depth);
      break;
    case PROP_ACTIVE_BACKEND:
      g_value_set_static_string (value, priv->active_backend);
      break;
    case PROP_ACTIVE_METHOD:
      g_value_set_static_string (value, priv->active_method);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_gpu_filter_finalize (GObject *object)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (object));

  gst_gpu_flights_clear (&priv->flights);
  gst_gpu_backend_clear (&priv->backend);
  G_OBJECT_CLASS (gst_gpu_filter_parent_class)->finalize (object);
}

static void
gst_gpu_filter_init (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  gst_gpu_backend_init (&priv->backend, GST_ELEMENT (self));
  gst_gpu_flights_init (
      &priv->flights, self, &priv->backend, GST_BASE_TRANSFORM_SRC_PAD (self));
  gst_pad_add_probe (GST_BASE_TRANSFORM_SINK_PAD (self),
      GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, explain_refused_caps, self, NULL);
  priv->backend_setting = DEFAULT_BACKEND;
  priv->device_id = DEFAULT_DEVICE_ID;
  priv->flights.settings.transfer = DEFAULT_TRANSFER;
  priv->flights.settings.ring_depth = DEFAULT_RING_DEPTH;
  priv->active_backend = priv->active_method = "none";
  gst_pad_set_activatemode_function (GST_BASE_TRANSFORM_SRC_PAD (self),
      GST_DEBUG_FUNCPTR (gst_gpu_filter_activate_src));
}

static void
add_pad_templates (GstElementClass *element_class)
{
  GstCaps *caps = gst_gpu_caps_template ();

  GstPadTemplate *templates[] = { gst_pad_template_new ("sink", GST_PAD_SINK,
                                      GST_PAD_ALWAYS, caps),
    gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps) };

  for (guint i = 0; i < G_N_ELEMENTS (templates); i++) {
    gst_pad_template_set_documentation_caps (
        templates[i], gst_gpu_caps_documentation ());
    gst_element_class_add_pad_template (element_class, templates[i]);
  }
  gst_caps_unref (caps);
}

static void
gst_gpu_filter_class_init (GstGpuFilterClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstVideoFilterClass *filter_class = GST_VIDEO_FILTER_CLASS (klass);
  const GParamFlags writable =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /* Must come first: making the pad templates logs, and in an application that uses the
   * library no plugin has initialised the debug categories. */
  gst_gpu_log_init ();
  object_class->set_property = gst_gpu_filter_set_property;
  object_class->get_property = gst_gpu_filter_get_property;
  object_class->finalize = gst_gpu_filter_finalize;
  element_class->post_message = GST_DEBUG_FUNCPTR (gst_gpu_filter_post_message);
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_gpu_filter_change_state);
  element_class->set_context = GST_DEBUG_FUNCPTR (gst_gpu_filter_set_context);
  add_pad_templates (element_class);

  /* Not controllable: a change of device or depth waits for the frames in flight and makes
   * ring and plans anew, while the pictures stay the same. */
  properties[PROP_BACKEND] = g_param_spec_enum ("backend", "Backend",
      "The processor that computes frames; the result is the same",
      GST_TYPE_GPU_FILTER_BACKEND, DEFAULT_BACKEND, writable);
  properties[PROP_CUDA_DEVICE_ID] =
      g_param_spec_int ("cuda-device-id", "CUDA device ID",
          "Number of the GPU to use (-1 = the GPU of the application or of "
          "neighbours, else the first usable one)",
          -1, G_MAXINT, DEFAULT_DEVICE_ID, writable);
  properties[PROP_TRANSFER] = g_param_spec_enum ("transfer", "Transfer",
      "How frames in system memory reach the GPU and come back",
      GST_TYPE_GPU_FILTER_TRANSFER, DEFAULT_TRANSFER, writable);
  properties[PROP_RING_DEPTH] = g_param_spec_uint ("ring-depth", "Ring depth",
      "Number of frames that are copied, computed and pushed at the same time "
      "(0 = 4, or 8 where frames stay in GPU memory)",
      0, RING_MAX_DEPTH, DEFAULT_RING_DEPTH, writable);
  properties[PROP_ACTIVE_BACKEND] =
      g_param_spec_string ("active-backend", "Active backend",
          "The backend in use: cuda, cpu, or none while the element is stopped",
          "none", readable);
  properties[PROP_ACTIVE_METHOD] =
      g_param_spec_string ("active-method", "Active method",
          "The method in use, or none while the element is stopped or computes "
          "nothing",
          "none", readable);
  properties[PROP_STATS] = g_param_spec_boxed ("stats", "Statistics",
      "Counts since start: frames-in, frames-out, slices (the parts of all "
      "frames), bytes-up and bytes-down (over the bus), mean up-time, "
      "compute-time and down-time of a frame in nanoseconds, in-flight-peak "
      "(the largest number of frames in flight)",
      GST_TYPE_STRUCTURE, readable);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  trans_class->start = GST_DEBUG_FUNCPTR (gst_gpu_filter_start);
  trans_class->stop = GST_DEBUG_FUNCPTR (gst_gpu_filter_stop);
  trans_class->before_transform =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_before_transform);
  trans_class->submit_input_buffer =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_submit_input_buffer);
  trans_class->generate_output =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_generate_output);
  trans_class->sink_event = GST_DEBUG_FUNCPTR (gst_gpu_filter_sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR (gst_gpu_filter_src_event);
  trans_class->query = GST_DEBUG_FUNCPTR (gst_gpu_filter_query);
  trans_class->transform_caps =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_transform_caps);
  trans_class->fixate_caps = GST_DEBUG_FUNCPTR (gst_gpu_filter_fixate_caps);
  trans_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_propose_allocation);
  trans_class->decide_allocation =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_decide_allocation);
  /* GstVideoFilter sets transform_ip, with which the base class would work in place. */
  trans_class->transform_ip = NULL;
  trans_class->transform_meta =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_transform_meta);
  trans_class->filter_meta = GST_DEBUG_FUNCPTR (gst_gpu_filter_filter_meta);
  filter_class->set_info = GST_DEBUG_FUNCPTR (gst_gpu_filter_set_info);

  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER_BACKEND, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER_TRANSFER, 0);
}
