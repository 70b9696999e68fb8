/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufilter: base class of the elements. It chooses the backend, owns the
 * GPU and the ring, walks each frame through it, from and to system memory or the
 * GPU's, and keeps count. Subclasses say what to compute. */
#pragma once

#include <gst/video/gstvideofilter.h>

#include "backend.h"
#include "gstframeimage.h"
#include "ring.h"

G_BEGIN_DECLS

typedef enum
{
  GST_GPU_FILTER_TRANSFER_AUTO,
  GST_GPU_FILTER_TRANSFER_PINNED,
  GST_GPU_FILTER_TRANSFER_MAPPED,
  GST_GPU_FILTER_TRANSFER_PAGEABLE,
} GstGpuFilterTransfer;

#define GST_TYPE_GPU_FILTER_TRANSFER (gst_gpu_filter_transfer_get_type ())
GType gst_gpu_filter_transfer_get_type (void);

typedef enum
{
  GST_GPU_FILTER_BACKEND_AUTO,
  GST_GPU_FILTER_BACKEND_CUDA,
  GST_GPU_FILTER_BACKEND_CPU,
} GstGpuFilterBackend;

#define GST_TYPE_GPU_FILTER_BACKEND (gst_gpu_filter_backend_get_type ())
GType gst_gpu_filter_backend_get_type (void);

/* The value of the property that stands for one of the engine's. */
GstGpuFilterBackend gst_gpu_filter_backend_of (Backend backend);

/* Value 0 of a `method` property is auto; method i of the engine is i + 1. */
#define GST_GPU_FILTER_METHOD_AUTO 0

typedef struct
{
  const gchar *name, *description; /* static */
  Backend backend;
} GstGpuFilterMethod;

/* Registers the enumeration of auto and n methods, each told by `describe`. */
GType gst_gpu_filter_register_methods (const gchar *type_name, gint n,
    void (*describe) (gint i, GstGpuFilterMethod *method));

#define GST_TYPE_GPU_FILTER (gst_gpu_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstGpuFilter, gst_gpu_filter, GST, GPU_FILTER, GstVideoFilter)

/* What is to be done with frames. */
typedef enum
{
  GST_GPU_FILTER_PASS,  /* they pass as they are */
  GST_GPU_FILTER_READ,  /* those to be finished go up; all pass as they are */
  GST_GPU_FILTER_WRITE, /* results of theirs pass */
} GstGpuFilterUse;

/* All but wanted_backend and finish are called on the streaming thread, with the
 * GPU's context pushed where there is one. Frames may be in flight meanwhile: each
 * has a place, below gst_gpu_filter_get_depth(), until it has been pushed. */
struct _GstGpuFilterClass
{
  GstVideoFilterClass parent_class;

  /* Whether the fields of interlaced frames are computed by themselves. */
  gboolean fields_apart;

  /* The backend that the element's own settings need, or AUTO for any. */
  GstGpuFilterBackend (*wanted_backend) (GstGpuFilter *self);

  /* Gets ready for the next frame with the settings of now; called before each
   * frame and when caps are set. *use is GST_GPU_FILTER_WRITE unless it says
   * otherwise. What frames in flight may use is freed only after
   * gst_gpu_filter_drain(). */
  gboolean (*prepare) (GstGpuFilter *self, GstGpuFilterUse *use, Fault *fault);

  /* Whether the next frame is to be finished; asked once for each, before it is
   * computed, where gst_gpu_filter_set_reports() is TRUE. NULL: all are. */
  gboolean (*wants) (GstGpuFilter *self, GstBuffer *buffer);

  /* Queues the work on one part of an image, as RingCompute does. Frames that are
   * only read have a dst without memories. */
  gboolean (*compute) (
      GstGpuFilter *self, const RingPart *part, guint place, Fault *fault);

  /* Queues what comes after the last part of a frame, and of both of its fields; dst
   * holds the result by then. May be NULL. */
  gboolean (*conclude) (
      GstGpuFilter *self, const RingPart *frame, guint place, Fault *fault);

  /* The work on a frame is done; *buffer is about to be pushed, and may be replaced
   * by another of the same frame. On the pusher; in order. Only for frames that were
   * wanted while gst_gpu_filter_set_reports() was TRUE. Returns a message to post ahead of
   * it (which must not be done here: its receiver may seek), or NULL. */
  GstMessage *(*finish) (GstGpuFilter *self, guint place, GstBuffer **buffer);

  /* After a flush: running time may start anew, and no frame is on its way. May be
   * NULL. */
  void (*flushed) (GstGpuFilter *self);

  /* Frees what was made in prepare(), before backend or caps change. No frame
   * is in flight. */
  void (*release) (GstGpuFilter *self);
};

/* For subclasses, on the streaming thread. NULL: frames are computed on the
 * CPU. */
Gpu *gst_gpu_filter_get_gpu (GstGpuFilter *self);
Backend gst_gpu_filter_get_backend (GstGpuFilter *self);
/* Valid once caps are set. */
const GstFrameLayout *gst_gpu_filter_get_layout (GstGpuFilter *self);
const GstVideoInfo *gst_gpu_filter_get_info (GstGpuFilter *self);

/* Frames that may be in flight; changes only before prepare(), with none. */
guint gst_gpu_filter_get_depth (GstGpuFilter *self);
/* What the kernels of most frames wait for. Those of whole frames overlap that stay in
 * the GPU's memory, where that belongs to no stream. */
GpuOrder gst_gpu_filter_get_order (GstGpuFilter *self);

/* Parts that a frame is cut into; 0: by its size, if it comes alone where that may be
 * waited for. 1 unless set. With the object lock held; for subclasses whose results
 * can come in parts. */
void gst_gpu_filter_set_slices (GstGpuFilter *self, guint slices);
guint gst_gpu_filter_get_slices (GstGpuFilter *self);
/* Whether those of frames to come can: 0 cuts no others. Streaming thread. */
void gst_gpu_filter_set_in_parts (GstGpuFilter *self, gboolean in_parts);

/* Whether frames to come are to be finished, if wanted, each before it is pushed. Others
 * are pushed before they are computed where downstream can wait for the GPU by itself.
 * Streaming thread. */
void gst_gpu_filter_set_reports (GstGpuFilter *self, gboolean reports);
/* Whether the frame in this place is one that is finished; for compute() and
 * conclude(). */
gboolean gst_gpu_filter_get_reported (GstGpuFilter *self, guint place);

/* Waits until every frame in flight has been pushed or dropped. Streaming
 * thread. */
void gst_gpu_filter_drain (GstGpuFilter *self);

/* Names the method in use, for the property active-method. Any thread; `name`
 * must be static. */
void gst_gpu_filter_set_active_method (GstGpuFilter *self, const gchar *name);

G_END_DECLS
