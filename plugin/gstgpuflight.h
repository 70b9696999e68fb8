/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuflight: the frames in flight of a GstGpuFilter, and the ring that they go through. Each
 * frame's buffers are mapped and submitted to a slot of the ring; the pusher waits for the slot
 * and pushes the result. */
#pragma once

#include "bitpack.h"
#include "gstframequeue.h"
#include "gstgpubackend.h"
#include "gstgpufilter.h"
#include "gstgpustats.h"

G_BEGIN_DECLS

typedef struct _GstGpuFlight GstGpuFlight;

/* The settings that decide how frames travel. */
typedef struct
{
  GstGpuFilterTransfer transfer;
  guint ring_depth; /* 0: by the memory of the frames */
  guint slices;     /* 0: by the size of the frame */
} GstGpuFlightSettings;

/* The frames that the caps describe. */
typedef struct
{
  GstVideoInfo info;
  GstFrameLayout layout;
  gboolean in_gpu, out_gpu; /* in GPU memory, on the sink and the source pad */
} GstGpuFlightFormat;

typedef struct
{
  /* Constant. */
  GstGpuFilter *filter; /* the owner */
  GstGpuBackend *backend;
  GstGpuDevice *device; /* of the backend */
  GstFrameQueue *queue; /* has its own lock */

  /* Protected by the object lock of the filter. */
  GstGpuFlightSettings settings;
  GstGpuStats stats;
  Ring *
      ring; /* the streaming thread sets it, and may read it without the lock */

  /* Atomic, for any thread. */
  gint flow_reported; /* upstream or the bus has been given the bad flow */
  gint live_upstream; /* TRUE until a latency query reports otherwise */
  /* an error has been posted; later errors are its consequences */
  gint error_posted;
  gint gpu_failed;    /* the next frame falls back to the CPU */
  gint lost;          /* a result was lost since the last frame */

  /* Owned by the streaming thread; the thread that starts and stops has them while the
   * streaming thread is idle. */
  GstGpuFlightFormat format;
  guint depth; /* number of slots, and the largest number of frames queued */
  gboolean ring_computes; /* the ring is for frames that kernels work on */
  gboolean ring_writes;   /* the ring is for frames that have a result */
  gboolean in_parts; /* slices of a frame can be computed one after the other */
  gint turns; /* streams on which successive frames can be computed in turn */
  gboolean pushed_early; /* the last frame was pushed before it was computed */
  GstGpuFlight
      *flights; /* [depth], used in turn; the pusher reads those queued */
  guint next_slot_index;
  BitpackPlan *bitpack; /* unpacks frames, and packs results; or NULL */
} GstGpuFlights;

/* `src_pad` is the pad that frames are pushed on. */
void gst_gpu_flights_init (GstGpuFlights *self, GstGpuFilter *filter,
    GstGpuBackend *backend, GstPad *src_pad);
/* Frees the queue, which must be stopped. */
void gst_gpu_flights_clear (GstGpuFlights *self);

/* The element starts: resets the stats and the flow return. */
void gst_gpu_flights_reset (GstGpuFlights *self);
/* Starts the pusher. FALSE: the system gives no thread. */
gboolean gst_gpu_flights_start (GstGpuFlights *self);

/* Any thread. TRUE for the first error since the start or the last
 * gst_gpu_flights_forget_error(): the caller posts it. Later errors are its consequences, and
 * are not posted. */
gboolean gst_gpu_flights_claim_error (GstGpuFlights *self);
void gst_gpu_flights_forget_error (GstGpuFlights *self);
/* Whether the CPU can continue after the fault, which takes frames in system memory on both
 * pads. May also be called on the pusher, while frames are in flight. */
gboolean gst_gpu_flights_may_fall_back (
    const GstGpuFlights *self, const Fault *fault);

/* The functions below are for the streaming thread. */

/* Whether the frames of both pads are in GPU memory. */
gboolean gst_gpu_flights_stay_on_gpu (const GstGpuFlights *self);
/* Sets the depth that the settings ask for; frees the old ring if its depth is another. */
void gst_gpu_flights_follow_depth (GstGpuFlights *self);
/* Makes a ring for the format and the use, unless there is one. The context is pushed. */
gboolean gst_gpu_flights_ensure_ring (
    GstGpuFlights *self, GstGpuFilterUse use, Fault *fault);
/* Frees the ring. No frame is in flight, and the context is pushed. */
void gst_gpu_flights_release_ring (GstGpuFlights *self);

/* The frame has not been taken: the caller falls back to the CPU and sends the frame again,
 * with another buffer for the result, since the GPU may still write to the first one. */
#define GST_GPU_FLIGHTS_AGAIN GST_FLOW_CUSTOM_SUCCESS_1
/* Submits a frame. Takes `in` and `out`. They are two references to one buffer if the frame is
 * only read or, with GST_GPU_FILTER_WRITE, changed in place; a buffer that is changed in place
 * has no other references. `reports`: the frame is passed to finish(). Posts its errors,
 * except with GST_GPU_FLIGHTS_AGAIN: then `fault` has the reason. */
GstFlowReturn gst_gpu_flights_send (GstGpuFlights *self, GstGpuFilterUse use,
    GstBuffer *in, GstBuffer *out, gboolean reports, Fault *fault);
/* Passes a buffer on as it is, after the frames in flight. Takes the buffer. */
void gst_gpu_flights_pass (GstGpuFlights *self, GstBuffer *buffer);

/* Takes a serialized event, to push it after the frames in flight. FALSE: the caller keeps the
 * event and pushes it at once. */
gboolean gst_gpu_flights_queue_event (GstGpuFlights *self, GstEvent *event);

/* Whether the subclass finishes the frame of this slot. */
gboolean gst_gpu_flights_get_reported (
    const GstGpuFlights *self, guint slot_index);

/* Whether the fields of the frame of this slot are computed one after the other. */
gboolean gst_gpu_flights_has_fields (
    const GstGpuFlights *self, guint slot_index);

/* Logs the stats since the reset. */
void gst_gpu_flights_log_stats (GstGpuFlights *self);

/* Any thread: the value of the property stats. */
GstStructure *gst_gpu_flights_get_stats (GstGpuFlights *self);

G_END_DECLS
