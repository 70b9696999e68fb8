/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpuflight.h"

#include "gstframecrop.h"
#include "gstgpufault.h"
#include "gstgpulog.h"
#include "gstgpumemory.h"
#include "gstpinnedallocator.h"
#include "trace.h"

#define GST_CAT_DEFAULT gst_gpu_log_flight

/* Numbers of frames in flight with ring-depth=0. Four keep the bus busy. For a frame that
 * stays in GPU memory, handing it over takes longer than computing it, and eight hide that
 * time. */
#define DEPTH_ACROSS 4
#define DEPTH_ON_GPU 8

/* One frame between submit and push; there is one for each slot of the ring. */
struct _GstGpuFlight
{
  GstGpuFlights *all;
  guint slot_index;
  RingSlot *slot;
  GstBuffer *in; /* held while the GPU reads it; else NULL */
  RingPlace in_memory, out_memory;
  GpuStream in_stream;  /* writes to `in` may be queued there; or NULL */
  GpuStream out_stream; /* owner of the result's memory, or NULL */
  gboolean computes;    /* FALSE: the frame is only copied to another memory */
  gboolean reports;     /* the subclass finishes the frame */
  gboolean writes;      /* the frame has a result, and out_frame is mapped */
  gboolean in_place;    /* the result is in_frame, and out_frame is not used */
  GstVideoFrame in_frame, out_frame;
};

/* The ring */

gboolean
gst_gpu_flights_stay_on_gpu (const GstGpuFlights *self)
{
  return self->format.in_gpu && self->format.out_gpu;
}

void
gst_gpu_flights_release_ring (GstGpuFlights *self)
{
  Ring *ring;

  GST_OBJECT_LOCK (self->filter);
  ring = self->ring;
  self->ring = NULL;
  if (ring != NULL)
    gst_gpu_stats_add_ring (&self->stats, ring);
  GST_OBJECT_UNLOCK (self->filter);
  ring_free (ring);
  g_clear_pointer (&self->bitpack, bitpack_plan_free);
  g_clear_pointer (&self->flights, g_free);
}

void
gst_gpu_flights_follow_depth (GstGpuFlights *self)
{
  gboolean by_setting;
  guint depth;

  GST_OBJECT_LOCK (self->filter);
  depth = self->settings.ring_depth;
  GST_OBJECT_UNLOCK (self->filter);
  by_setting = depth > 0;
  if (!by_setting)
    depth = gst_gpu_flights_stay_on_gpu (self) ? DEPTH_ON_GPU : DEPTH_ACROSS;
  if (depth == self->depth)
    return;
  gst_frame_queue_drain (self->queue, "the depth of the ring changes");
  gst_gpu_flights_release_ring (self);
  GST_DEBUG_OBJECT (self->filter, "%u frames in flight: %s", depth,
      by_setting                               ? "ring-depth"
          : gst_gpu_flights_stay_on_gpu (self) ? "frames stay in GPU memory"
                                               : "frames come from or go to "
                                                 "system memory");
  self->depth = depth;
}

gboolean
gst_gpu_flights_ensure_ring (
    GstGpuFlights *self, GstGpuFilterUse use, Fault *fault)
{
  const GstGpuFlightFormat *format = &self->format;
  const Image *layout = &format->layout.memory;
  const gboolean computes = use != GST_GPU_FILTER_PASS;
  const gboolean crosses = format->in_gpu != format->out_gpu;
  const gboolean writes = use == GST_GPU_FILTER_WRITE || crosses;
  Ring *ring;

  if ((!computes && !writes)
      || (self->ring != NULL && computes == self->ring_computes
          && writes == self->ring_writes))
    return TRUE;
  gst_frame_queue_drain (self->queue, "a new ring");
  gst_gpu_flights_release_ring (self);
  ring = ring_new (self->device->gpu, layout, writes ? layout : NULL,
      (int) self->depth, gst_gpu_memory_stream_handle (self->device->stream),
      fault);
  /* Frames in system memory need device memory in the slots. Frames that only pass from one
   * memory to the other do not. */
  if (ring == NULL
      || !ring_reserve (ring,
          !format->in_gpu && (use == GST_GPU_FILTER_WRITE || !crosses),
          !format->out_gpu && use == GST_GPU_FILTER_WRITE, fault)) {
    ring_free (ring);
    return FALSE;
  }
  if (computes && format->layout.packing != BITPACK_NONE) {
    self->bitpack = bitpack_plan_new (format->layout.packing,
        &format->layout.layout, writes,
        gst_gpu_filter_get_backend (self->filter), self->device->gpu, fault);
    if (self->bitpack == NULL) {
      ring_free (ring);
      return FALSE;
    }
  }
  GST_OBJECT_LOCK (self->filter);
  self->ring = ring;
  GST_OBJECT_UNLOCK (self->filter);
  GST_INFO_OBJECT (self->filter,
      "ring of %u slots on the %s, for frames that %s", self->depth,
      self->device->gpu != NULL ? "GPU" : "CPU",
      !computes    ? "pass from one memory to the other"
          : writes ? "have a result"
                   : "are only read");
  self->ring_computes = computes;
  self->ring_writes = writes;
  self->flights = g_new0 (GstGpuFlight, self->depth);
  self->next_slot_index = 0;
  return TRUE;
}

/* The computing of one frame */

/* Computes one field as an image of its own, whole. */
static gboolean
compute_field (const GstGpuFlight *flight, const RingPart *frame, gint parity,
    Fault *fault)
{
  GstGpuFilter *filter = flight->all->filter;
  gint done[IMAGE_MAX_MEMORIES] = { 0 };
  Image src, dst;
  RingPart field = { .src = &src,
    .dst = &dst,
    .first = true,
    .last = true,
    .stream = frame->stream,
    .done = done };

  if (!image_field (frame->src, parity, &src)
      || !image_field (frame->dst, parity, &dst))
    return TRUE;
  for (gint m = 0; m < src.n_memories; m++)
    field.fresh[m].last = src.memory[m].height;
  return GST_GPU_FILTER_GET_CLASS (filter)->compute (
      filter, &field, flight->slot_index, fault);
}

/* Computes a part of a frame. Fields are computed, one after the other, with the last part. */
static gboolean
compute_frame (const GstGpuFlight *flight, const RingPart *part, Fault *fault)
{
  GstGpuFilter *filter = flight->all->filter;
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (filter);

  if (!gst_gpu_flights_has_fields (flight->all, flight->slot_index))
    return klass->compute (filter, part, flight->slot_index, fault);
  return !part->last
      || (compute_field (flight, part, 0, fault)
          && compute_field (flight, part, 1, fault));
}

static gboolean
compute_and_conclude (
    const GstGpuFlight *flight, const RingPart *part, Fault *fault)
{
  GstGpuFilter *filter = flight->all->filter;
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (filter);

  return compute_frame (flight, part, fault)
      && (!part->last || klass->conclude == NULL
          || klass->conclude (filter, part, flight->slot_index, fault));
}

/* Computes a whole bit-packed frame: unpacks it to planes, computes, and packs the result. All
 * frames share these planes, so that their kernels run back to back. */
static gboolean
compute_packed (const GstGpuFlight *flight, const RingPart *frame, Fault *fault)
{
  BitpackPlan *plan = flight->all->bitpack;
  const gboolean writes = frame->dst->n_memories > 0;
  gint done[IMAGE_MAX_MEMORIES] = { 0 };
  const Image none = { 0 };
  RingPart planes = { .src = bitpack_plan_source (plan),
    .dst = writes ? bitpack_plan_result (plan) : &none,
    .first = true,
    .last = true,
    .stream = frame->stream,
    .order = GPU_AFTER_KERNELS,
    .done = done };

  for (gint m = 0; m < planes.src->n_memories; m++)
    planes.fresh[m].last = planes.src->memory[m].height;
  return bitpack_unpack (plan, frame->src, planes.src, frame->stream, fault)
      && compute_and_conclude (flight, &planes, fault)
      && (!writes
          || bitpack_pack (plan, planes.dst, frame->dst, frame->stream, fault));
}

/* A RingCompute. */
static bool
compute_part (void *user, const RingPart *part, Fault *fault)
{
  const GstGpuFlight *flight = user;

  return flight->all->bitpack != NULL
      ? compute_packed (flight, part, fault)
      : compute_and_conclude (flight, part, fault);
}

/* Buffers */

static RingPlace
memory_kind (const GstGpuFlights *self, GstBuffer *buffer)
{
  return gst_gpu_device_reaches (self->device, buffer) ? RING_DEVICE
      : gst_pinned_buffer_is_one_block (buffer)        ? RING_HOST_PINNED
                                                       : RING_HOST;
}

static gboolean
map_frame (const GstGpuFlights *self, GstVideoFrame *frame, GstBuffer *buffer,
    RingPlace memory, GstMapFlags flags)
{
  GstVideoInfo info = self->format.info;
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  /* gst_video_frame_map() would log such a meta as critical, as a bug of the element. */
  if (meta != NULL
      && (meta->format != GST_VIDEO_INFO_FORMAT (&info)
          || meta->n_planes != GST_VIDEO_INFO_N_PLANES (&info)
          || meta->width < (guint) GST_VIDEO_INFO_WIDTH (&info)
          || meta->height < (guint) GST_VIDEO_INFO_HEIGHT (&info)))
    return FALSE;
  if (meta == NULL)
    gst_gpu_memory_lay_out (buffer, &info);
  flags |= (GstMapFlags) GST_VIDEO_FRAME_MAP_FLAG_NO_REF;
  if (memory == RING_DEVICE)
    flags |= (GstMapFlags) GST_GPU_MEMORY_MAP;
  return gst_video_frame_map (frame, &info, buffer, flags);
}

static gboolean
map_input (GstGpuFlight *flight, GstBuffer *buffer)
{
  const GstVideoCropMeta *crop =
      gst_frame_crop_find (buffer, &flight->all->format.info);
  GpuStream pending;

  flight->in_memory = memory_kind (flight->all, buffer);
  /* Before and after mapping: see gst_gpu_memory_get_pending(). */
  pending = gst_gpu_memory_get_pending (buffer);
  if (!map_frame (flight->all, &flight->in_frame, buffer, flight->in_memory,
          flight->in_place ? GST_MAP_READWRITE : GST_MAP_READ))
    return FALSE;
  if (crop != NULL && !gst_frame_crop (&flight->in_frame, crop)) {
    gst_video_frame_unmap (&flight->in_frame);
    return FALSE;
  }
  if (pending == NULL)
    pending = gst_gpu_memory_get_pending (buffer);
  flight->in_stream = flight->in_memory == RING_DEVICE ? pending : NULL;
  return TRUE;
}

static gboolean
map_output (GstGpuFlight *flight, GstBuffer *buffer)
{
  flight->out_memory = memory_kind (flight->all, buffer);
  flight->out_stream = flight->out_memory == RING_DEVICE
      ? gst_gpu_memory_get_stream (buffer)
      : NULL;
  return map_frame (flight->all, &flight->out_frame, buffer, flight->out_memory,
      GST_MAP_WRITE);
}

static void
release_input (GstGpuFlight *flight)
{
  if (flight->in == NULL)
    return;
  gst_video_frame_unmap (&flight->in_frame);
  gst_clear_buffer (&flight->in);
}

/* Releases the buffers of a frame whose work has ended. */
static void
land (GstGpuFlight *flight)
{
  if (flight->writes && !flight->in_place)
    gst_video_frame_unmap (&flight->out_frame);
  release_input (flight);
}

/* Submitting and finishing one frame */

/* Whether the next frame is waited for, so that slices let it arrive earlier. Slices cost
 * calls, and gain nothing for frames that overlap others or come from an upstream that is not
 * live; but with a single slot, upstream waits for each frame, live or not. */
static gboolean
is_awaited (const GstGpuFlights *self)
{
  return self->in_parts && gst_frame_queue_length (self->queue) == 0
      && (self->depth == 1 || g_atomic_int_get (&self->live_upstream));
}

static RingTransfer
ring_transfer (GstGpuFilterTransfer transfer)
{
  switch (transfer) {
    case GST_GPU_FILTER_TRANSFER_MAPPED:
      return RING_MAPPED;
    case GST_GPU_FILTER_TRANSFER_PAGEABLE:
      return RING_PAGEABLE;
    default:
      return RING_PINNED;
  }
}

/* Chooses transfer and slices of a frame, from the settings and the frames in flight. */
static void
choose_route (const GstGpuFlight *flight, RingFrame *frame)
{
  GstGpuFlights *self = flight->all;
  GstGpuFlightSettings settings;

  GST_OBJECT_LOCK (self->filter);
  settings = self->settings;
  GST_OBJECT_UNLOCK (self->filter);

  frame->transfer = ring_transfer (settings.transfer);
  /* One slice: fields are computed from the whole frame, bit-packed frames are unpacked whole,
   * and a frame that is not copied in both directions has no copies that could overlap. */
  if (gst_frame_is_interleaved (&flight->in_frame) || self->bitpack != NULL
      || !flight->writes || frame->src_place == RING_DEVICE
      || frame->dst_place == RING_DEVICE)
    frame->slices = 1;
  else if (settings.slices == 0)
    frame->slices = is_awaited (self) ? ring_slices_alone (&frame->src) : 1;
  else
    frame->slices = (int) settings.slices;
}

static const gchar *
memory_text (RingPlace memory)
{
  return memory == RING_DEVICE     ? "GPU memory"
      : memory == RING_HOST_PINNED ? "pinned memory"
                                   : "ordinary memory";
}

static const gchar *
route_text (const GstGpuFlights *self, RingTransfer transfer)
{
  if (self->device->gpu == NULL)
    return "computed on the CPU";
  switch (transfer) {
    case RING_MAPPED:
      return "transfer mapped";
    case RING_PAGEABLE:
      return "transfer pageable";
    default:
      return "transfer pinned";
  }
}

/* Asks the subclass for the boxes that it reads and writes in a frame that is changed in
 * place. */
static gboolean
find_boxes (const GstGpuFlight *flight, RingFrame *frame, Fault *fault)
{
  GstGpuFilter *filter = flight->all->filter;
  GstGpuFilterBoxes boxes;

  if (!GST_GPU_FILTER_GET_CLASS (filter)->find_boxes (
          filter, flight->slot_index, &boxes, fault))
    return FALSE;
  /* Fields are computed in a copy of the boxes: if the second field cannot be queued, another
   * backend may have to compute both, from a frame that the first field has not changed. */
  if (frame->src_place == RING_HOST_PINNED
      && gst_gpu_flights_has_fields (flight->all, flight->slot_index))
    frame->src_place = RING_HOST;
  frame->read = boxes.read;
  frame->written = boxes.written;
  frame->n_boxes = boxes.n;
  return TRUE;
}

static gboolean
takes_turns (const GstGpuFlight *flight, GstGpuFilterUse use)
{
  const GstGpuFlights *self = flight->all;

  return use == GST_GPU_FILTER_WRITE && self->bitpack == NULL
      && !flight->reports
      && !gst_gpu_flights_has_fields (self, flight->slot_index);
}

/* Submits a mapped frame. After a success the flight ends in finish_frame(). */
static gboolean
submit (GstGpuFlight *flight, GstGpuFilterUse use, Fault *fault)
{
  GstGpuFlights *self = flight->all;
  RingFrame frame = { .src_place = flight->in_memory,
    .dst_place = flight->out_memory,
    .src_stream = flight->in_stream,
    .dst_stream = flight->out_stream,
    .passes = flight->writes && use != GST_GPU_FILTER_WRITE,
    .in_place = flight->in_place,
    .turns = takes_turns (flight, use) ? self->turns : 1,
    .compute = flight->computes ? compute_part : NULL,
    .user = flight };

  if (!gst_frame_layout_get_image (
          &self->format.layout, &flight->in_frame, &frame.src)
      || (flight->writes && !flight->in_place
          && !gst_frame_layout_get_image (
              &self->format.layout, &flight->out_frame, &frame.dst))) {
    fault_set (fault, FAULT_FORMAT,
        "A buffer is shorter than its frame, by its layout.");
    fault_detail (fault, "%" G_GSIZE_FORMAT " bytes come in",
        gst_buffer_get_size (flight->in));
    return FALSE;
  }
  if (flight->in_place && !find_boxes (flight, &frame, fault))
    return FALSE;
  choose_route (flight, &frame);
  GST_LOG_OBJECT (self->filter, "slot %u: input in %s, %s%s, %s, %d slice%s%s",
      flight->slot_index, memory_text (frame.src_place),
      flight->in_place     ? "changed in place"
          : flight->writes ? "result in "
                           : "no result",
      flight->writes && !flight->in_place ? memory_text (frame.dst_place) : "",
      route_text (self, frame.transfer), frame.slices,
      frame.slices == 1 ? "" : "s", flight->reports ? ", reported" : "");
  if (!gst_gpu_device_push (self->device, fault))
    return FALSE;
  flight->slot = ring_acquire (self->ring);
  if (!ring_submit (self->ring, flight->slot, &frame, fault)) {
    /* Slots are released in order. */
    gst_frame_queue_drain (self->queue, "a frame cannot be submitted");
    ring_release (self->ring, flight->slot);
    gst_gpu_device_pop (self->device);
    return FALSE;
  }
  gst_gpu_device_pop (self->device);
  /* Nothing reads the input any more if the CPU has computed or copied it. */
  if (self->device->gpu == NULL
      || (frame.transfer != RING_PAGEABLE && frame.src_place == RING_HOST
          && !flight->in_place))
    release_input (flight);
  return TRUE;
}

gboolean
gst_gpu_flights_claim_error (GstGpuFlights *self)
{
  return g_atomic_int_compare_and_exchange (&self->error_posted, FALSE, TRUE);
}

void
gst_gpu_flights_forget_error (GstGpuFlights *self)
{
  g_atomic_int_set (&self->error_posted, FALSE);
}

gboolean
gst_gpu_flights_may_fall_back (const GstGpuFlights *self, const Fault *fault)
{
  return !self->format.in_gpu && !self->format.out_gpu
      && gst_gpu_backend_may_fall_back (self->backend, fault);
}

/* Handles a fault of a frame in flight. FALSE: there is no fallback, and *message is an error,
 * or NULL after an earlier one. TRUE: the CPU computes the next frames, and *message is a
 * warning, or NULL after an earlier one; the frame is lost if it has a result, else only its
 * report. */
static gboolean
fail_frame (GstGpuFlight *flight, const Fault *fault, GstBuffer **buffer,
    GstMessage **message)
{
  GstGpuFlights *self = flight->all;

  if (!gst_gpu_flights_may_fall_back (self, fault)) {
    if (gst_gpu_flights_claim_error (self))
      *message = gst_gpu_fault_to_message (GST_ELEMENT (self->filter), fault);
    g_atomic_int_set (&self->flow_reported, TRUE);
    return FALSE;
  }
  *message = gst_gpu_backend_take_warning (self->backend, fault);
  g_atomic_int_set (&self->gpu_failed, TRUE);
  if (flight->writes) {
    g_atomic_int_set (&self->lost, TRUE);
    if (buffer != NULL)
      gst_clear_buffer (buffer);
  }
  return TRUE;
}

/* Waits for the frame's work. If the context cannot be pushed, tries that once more, only to
 * wait. After a failure with a lost context, the GPU may still work on the frame for a while. */
static gboolean
wait_for_frame (GstGpuFlight *flight, Fault *fault)
{
  GstGpuFlights *self = flight->all;
  gboolean ok = gst_gpu_device_push (self->device, fault);

  if (ok) {
    ok = ring_wait (self->ring, flight->slot, fault);
    gst_gpu_device_pop (self->device);
  } else if (gst_gpu_device_push (self->device, NULL)) {
    ring_quiesce (self->ring);
    gst_gpu_device_pop (self->device);
  }
  return ok;
}

/* Keeps a pool from handing the buffer out again, since the GPU may still write to it. */
static void
retire_result (GstBuffer *buffer)
{
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_TAG_MEMORY);
}

/* A GstFrameQueueFinish. */
static gboolean
finish_frame (gpointer frame, GstBuffer **buffer, GstMessage **message,
    gpointer user_data)
{
  GstGpuFlights *self = user_data;
  GstGpuFlight *flight = frame;
  Fault fault;
  const gboolean ok = wait_for_frame (flight, &fault);

  if (!ok && flight->writes)
    retire_result (
        flight->in_place ? flight->in_frame.buffer : flight->out_frame.buffer);
  land (flight);
  ring_release (self->ring, flight->slot);
  GST_TRACE_OBJECT (
      self->filter, "slot %u: %s", flight->slot_index, ok ? "done" : "failed");
  if (!ok)
    return fail_frame (flight, &fault, buffer, message);
  if (buffer == NULL)
    return TRUE;
  if (flight->writes)
    gst_gpu_memory_set_complete (*buffer);
  if (flight->reports)
    *message = GST_GPU_FILTER_GET_CLASS (self->filter)
                   ->finish (self->filter, flight->slot_index, buffer);
  return TRUE;
}

/* Pushes the result of a submitted frame at once: downstream itself waits for the stream of the
 * memory. The pusher then only waits until the input can be released. */
static GstFlowReturn
push_early (GstGpuFlight *flight, GstBuffer *out, gboolean was_early)
{
  GstGpuFlights *self = flight->all;

  /* The addresses of GPU memory stay valid as long as the buffer lives. */
  gst_video_frame_unmap (&flight->out_frame);
  flight->writes = FALSE;
  if (!was_early) {
    const GstFlowReturn flow = gst_frame_queue_drain (
        self->queue, "frames are pushed before they are computed from now on");

    if (flow != GST_FLOW_OK) {
      self->pushed_early = FALSE;
      g_atomic_int_set (&self->flow_reported, TRUE);
      gst_frame_queue_put (self->queue, out, flight);
      return flow;
    }
  }
  gst_frame_queue_put (self->queue, NULL, flight);
  TRACE_BLOCK (TRACE_PUSH, 0);
  return gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (self->filter), out);
}

GstFlowReturn
gst_gpu_flights_send (GstGpuFlights *self, GstGpuFilterUse use, GstBuffer *in,
    GstBuffer *out, gboolean reports, Fault *fault)
{
  GstGpuFlight *flight = &self->flights[self->next_slot_index];
  const gboolean was_early = self->pushed_early;
  gboolean mapped;

  flight->all = self;
  flight->slot_index = self->next_slot_index;
  flight->computes = reports || use == GST_GPU_FILTER_WRITE;
  flight->reports = reports;
  flight->in_place = out == in && use == GST_GPU_FILTER_WRITE;
  flight->writes = out != in || flight->in_place;
  flight->out_memory = RING_HOST;
  flight->out_stream = NULL;

  /* Only a buffer with a single reference can be mapped for writing. */
  if (flight->in_place)
    gst_buffer_unref (out);
  mapped = map_input (flight, in);
  if (flight->in_place)
    gst_buffer_ref (out);
  if (!mapped)
    goto invalid_input;
  if (flight->in_place && flight->in_memory == RING_DEVICE)
    flight->out_stream = gst_gpu_memory_get_stream (in);
  else if (flight->writes && !flight->in_place && !map_output (flight, out))
    goto invalid_output;
  flight->in = in;
  if (!submit (flight, use, fault))
    goto not_submitted;
  self->next_slot_index = (self->next_slot_index + 1) % self->depth;
  /* A frame that is changed in place is never pushed early: it stays mapped until its work
   * ends. */
  self->pushed_early =
      flight->out_stream != NULL && !flight->reports && !flight->in_place;
  if (self->pushed_early)
    return push_early (flight, out, was_early);
  gst_frame_queue_put (self->queue, out, flight);
  return GST_FLOW_OK;

not_submitted:
  if (flight->writes)
    retire_result (out);
  gst_buffer_ref (in);
  land (flight);
  if (gst_gpu_flights_may_fall_back (self, fault))
    return GST_GPU_FLIGHTS_AGAIN;
  if (gst_gpu_flights_claim_error (self))
    gst_gpu_fault_post (GST_ELEMENT (self->filter), fault);
  goto drop;
invalid_input:
  GST_ELEMENT_ERROR (self->filter, STREAM, FORMAT,
      ("%s",
          gst_frame_crop_cuts_group (in, &self->format.info)
              ? "The part of a buffer that is the frame begins within a "
                "group of six pixels."
              : "A buffer does not hold a frame of the negotiated format."),
      ("%" GST_PTR_FORMAT, (gpointer) in));
  goto drop;
invalid_output:
  gst_video_frame_unmap (&flight->in_frame);
  GST_ELEMENT_ERROR (self->filter, RESOURCE, WRITE,
      ("A buffer for the result cannot be written."),
      ("%" GST_PTR_FORMAT, (gpointer) out));
drop:
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  return GST_FLOW_ERROR;
}

void
gst_gpu_flights_pass (GstGpuFlights *self, GstBuffer *buffer)
{
  GST_OBJECT_LOCK (self->filter);
  self->stats.untouched++;
  GST_OBJECT_UNLOCK (self->filter);
  self->pushed_early = FALSE;
  GST_LOG_OBJECT (
      self->filter, "untouched: %" GST_PTR_FORMAT, (gpointer) buffer);
  gst_frame_queue_put (self->queue, buffer, NULL);
}

gboolean
gst_gpu_flights_queue_event (GstGpuFlights *self, GstEvent *event)
{
  /* Results that are pushed early are not in the queue: downstream has them already. */
  return !self->pushed_early && gst_frame_queue_put_event (self->queue, event);
}

gboolean
gst_gpu_flights_get_reported (const GstGpuFlights *self, guint slot_index)
{
  return self->flights[slot_index].reports;
}

gboolean
gst_gpu_flights_has_fields (const GstGpuFlights *self, guint slot_index)
{
  return GST_GPU_FILTER_GET_CLASS (self->filter)->fields_apart
      && gst_frame_is_interleaved (&self->flights[slot_index].in_frame);
}

GstStructure *
gst_gpu_flights_get_stats (GstGpuFlights *self)
{
  GstStructure *structure;

  GST_OBJECT_LOCK (self->filter);
  structure = gst_gpu_stats_to_structure (&self->stats, self->ring);
  GST_OBJECT_UNLOCK (self->filter);
  return structure;
}

void
gst_gpu_flights_log_stats (GstGpuFlights *self)
{
  GstStructure *structure = gst_gpu_flights_get_stats (self);

  GST_INFO_OBJECT (
      self->filter, "stopped: %" GST_PTR_FORMAT, (gpointer) structure);
  gst_structure_free (structure);
}

/* Life cycle */

void
gst_gpu_flights_init (GstGpuFlights *self, GstGpuFilter *filter,
    GstGpuBackend *backend, GstPad *src_pad)
{
  memset (self, 0, sizeof *self);
  self->filter = filter;
  self->backend = backend;
  self->device = &backend->device;
  self->queue = gst_frame_queue_new (src_pad, finish_frame, self);
  self->settings.slices = 1;
}

void
gst_gpu_flights_clear (GstGpuFlights *self)
{
  gst_frame_queue_free (self->queue);
}

void
gst_gpu_flights_reset (GstGpuFlights *self)
{
  GST_OBJECT_LOCK (self->filter);
  memset (&self->stats, 0, sizeof self->stats);
  GST_OBJECT_UNLOCK (self->filter);
  self->depth = 0;
  self->pushed_early = FALSE;
  g_atomic_int_set (&self->flow_reported, FALSE);
  g_atomic_int_set (&self->live_upstream, TRUE);
  g_atomic_int_set (&self->gpu_failed, FALSE);
  g_atomic_int_set (&self->lost, FALSE);
  gst_gpu_flights_forget_error (self);
}

gboolean
gst_gpu_flights_start (GstGpuFlights *self)
{
  gchar *name = g_strdup_printf ("%s:src", GST_OBJECT_NAME (self->filter));
  const gboolean started = gst_frame_queue_start (self->queue, name);

  GST_DEBUG_OBJECT (self->filter, "%s %s",
      started ? "results are pushed by the thread" : "no thread", name);
  g_free (name);
  return started;
}
