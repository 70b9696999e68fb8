/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuflight: the frames in flight of a GstGpuFilter: their buffers are mapped, submitted
 * to a slot of the ring, waited for and pushed. Also makes and frees that ring. */
#pragma once

#include "gstframequeue.h"
#include "gstgpudevice.h"
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

/* The frames that the caps promise. */
typedef struct
{
  GstVideoInfo info;
  GstFrameLayout layout;
  gboolean in_gpu, out_gpu; /* in GPU memory, on the sink and the source pad */
} GstGpuFlightFormat;

typedef struct
{
  /* Constant. */
  GstGpuFilter *filter; /* that this is a part of */
  GstGpuDevice *device;
  GstFrameQueue *queue; /* has its own lock */

  /* Protected by the object lock of the filter. */
  GstGpuFlightSettings settings;
  GstGpuStats stats;
  Ring *
      ring; /* the streaming thread sets it, and may read it without the lock */

  /* Atomic, for any thread. */
  gint
      flow_reported; /* upstream or the application knows of the last bad flow */
  gint live_upstream; /* until a latency query says otherwise */

  /* Owned by the streaming thread; the thread that starts and stops has them while the
   * streaming thread is idle. */
  GstGpuFlightFormat format;
  guint depth; /* slots of the ring, and frames that the queue takes */
  gboolean ring_computes; /* the ring was made for frames that are computed */
  gboolean ring_writes;   /* the ring was made for frames that have a result */
  gboolean in_parts; /* slices of a frame can be computed one after the other */
  gboolean pushed_early; /* the last frame was pushed before it was computed */
  GstGpuFlight
      *flights; /* [depth], used in turn; the pusher reads those queued */
  guint next_slot_index;
} GstGpuFlights;

/* `src_pad` gets the frames. */
void gst_gpu_flights_init (GstGpuFlights *self, GstGpuFilter *filter,
    GstGpuDevice *device, GstPad *src_pad);
/* Must be stopped. */
void gst_gpu_flights_clear (GstGpuFlights *self);

/* The element starts: forgets the stats and the flow of the last time. */
void gst_gpu_flights_reset (GstGpuFlights *self);
/* Starts the pusher. FALSE: the system gives no thread. */
gboolean gst_gpu_flights_start (GstGpuFlights *self);

/* The functions below are for the streaming thread. */

/* Whether both pads have frames in GPU memory. */
gboolean gst_gpu_flights_stay_on_gpu (const GstGpuFlights *self);
/* Takes the depth of the settings; the old ring is freed if it has another depth. */
void gst_gpu_flights_follow_depth (GstGpuFlights *self);
/* Makes a ring for the format and the use, unless there is one. The context is pushed. */
gboolean gst_gpu_flights_ensure_ring (
    GstGpuFlights *self, GstGpuFilterUse use, Fault *fault);
/* Frees the ring. No frame is in flight, and the context is pushed. */
void gst_gpu_flights_release_ring (GstGpuFlights *self);

/* Sends a frame on its way: `in` and `out` are taken, and are two references to one buffer
 * if the frame is only read. `reports`: the subclass finishes the frame. */
GstFlowReturn gst_gpu_flights_send (GstGpuFlights *self, GstGpuFilterUse use,
    GstBuffer *in, GstBuffer *out, gboolean reports);
/* Passes a buffer on as it is, behind the frames in flight. Takes it. */
void gst_gpu_flights_pass (GstGpuFlights *self, GstBuffer *buffer);

/* Puts a serialized event behind the frames in flight. FALSE: it is to be pushed at once,
 * and not taken. */
gboolean gst_gpu_flights_queue_event (GstGpuFlights *self, GstEvent *event);

/* Whether the subclass finishes the frame of this slot. */
gboolean gst_gpu_flights_get_reported (
    const GstGpuFlights *self, guint slot_index);

/* Logs what was done since the reset. */
void gst_gpu_flights_log_stats (GstGpuFlights *self);

/* Any thread: the value of the property stats. */
GstStructure *gst_gpu_flights_get_stats (GstGpuFlights *self);

G_END_DECLS
