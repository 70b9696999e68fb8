/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufilter: base class of the elements. It chooses the backend, owns the GPU and the
 * ring, takes each frame through the ring, from and to system memory or GPU memory, and keeps
 * statistics. Subclasses compute. */
#pragma once

#include <gst/video/gstvideofilter.h>

#include "gstframeimage.h"
#include "gstgpuenums.h"
#include "ring.h"

G_BEGIN_DECLS

#define GST_TYPE_GPU_FILTER (gst_gpu_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstGpuFilter, gst_gpu_filter, GST, GPU_FILTER, GstVideoFilter)

/* How an element uses frames. */
typedef enum
{
  GST_GPU_FILTER_PASS, /* all pass untouched */
  GST_GPU_FILTER_READ, /* reported ones are computed from; all pass untouched */
  GST_GPU_FILTER_WRITE, /* a result of each is pushed in its place */
} GstGpuFilterUse;

/* All functions but wanted_backend, check_settings and finish are called on the streaming thread, with the
 * context of the GPU pushed if there is one. Frames may be in flight meanwhile. Each of them
 * has a slot index, less than gst_gpu_filter_get_depth(), until it has been pushed. */
struct _GstGpuFilterClass
{
  GstVideoFilterClass parent_class;

  /* Whether each field of an interlaced frame is computed as an image of its own. */
  gboolean fields_apart;

  /* Whether the settings of now can work on frames of a format; if not, `why` (or NULL)
   * says it in a sentence. Caps are restricted to formats for which it returns TRUE: a
   * setting that it depends on calls gst_base_transform_reconfigure_sink() when it
   * changes. Any thread. NULL: all formats of the templates. */
  gboolean (*takes_format) (
      GstGpuFilter *self, const GstVideoFormatInfo *format, Fault *why);

  /* Returns the backend that the element's own settings need; AUTO: any. */
  GstGpuFilterBackend (*wanted_backend) (GstGpuFilter *self);

  /* Whether the current settings can work with any caps; called on the way to PAUSED. FALSE
   * and a fault: they can't. May be NULL. */
  gboolean (*check_settings) (GstGpuFilter *self, Fault *fault);

  /* Gets ready for the next frame under the current settings. Called before each frame and
   * when caps are set. *use is GST_GPU_FILTER_WRITE unless this function sets it. It must
   * call gst_gpu_filter_drain() before it frees anything that frames in flight may use. */
  gboolean (*prepare) (GstGpuFilter *self, GstGpuFilterUse *use, Fault *fault);

  /* Whether the next frame is to be reported, that is, finished below. Called once for each
   * frame, before it is computed, while gst_gpu_filter_set_reports() is TRUE. NULL: all
   * frames are reported. */
  gboolean (*wants) (GstGpuFilter *self, GstBuffer *buffer);

  /* Queues the work on one part of an image, as RingCompute does. For frames that are only
   * read, dst has no memories. */
  gboolean (*compute) (
      GstGpuFilter *self, const RingPart *part, guint slot_index, Fault *fault);

  /* Queues the work that follows the last part of a frame, or both of its fields; dst then
   * holds the result. May be NULL. */
  gboolean (*conclude) (GstGpuFilter *self, const RingPart *frame,
      guint slot_index, Fault *fault);

  /* Called on the pusher, in order, for reported frames whose work is done. *buffer is
   * about to be pushed; the function may replace it by another buffer of the same frame.
   * Returns a message to post before the push, or NULL. It must not post that message
   * itself, since a receiver may seek. */
  GstMessage *(*finish) (
      GstGpuFilter *self, guint slot_index, GstBuffer **buffer);

  /* Called after a flush: running time may start anew, and no frame is in flight. May be
   * NULL. */
  void (*flushed) (GstGpuFilter *self);

  /* Another stream begins: its frames have nothing to do with those before. No frame is
   * in flight. May be NULL. */
  void (*new_stream) (GstGpuFilter *self);

  /* Frees everything that prepare() made, before backend or caps change. No frame is in
   * flight. */
  void (*release) (GstGpuFilter *self);
};

/* For subclasses, on the streaming thread. */

/* NULL: frames are computed on the CPU. */
Gpu *gst_gpu_filter_get_gpu (GstGpuFilter *self);
Backend gst_gpu_filter_get_backend (GstGpuFilter *self);
/* Both are valid once caps are set. */
const GstFrameLayout *gst_gpu_filter_get_layout (GstGpuFilter *self);
const GstVideoInfo *gst_gpu_filter_get_info (GstGpuFilter *self);

/* Number of frames that may be in flight; it changes only before prepare(), with none. */
guint gst_gpu_filter_get_depth (GstGpuFilter *self);
/* Launch order for most frames: whole frames in GPU memory that no other stream owns may
 * overlap; all others run back to back. */
GpuOrder gst_gpu_filter_get_order (GstGpuFilter *self);

/* Sets the number of slices of a frame, 1 by default. 0: the size of the frame decides, if
 * something waits for it, else 1. With the object lock held; for subclasses that can compute
 * slices one after the other. */
void gst_gpu_filter_set_slices (GstGpuFilter *self, guint slices);
guint gst_gpu_filter_get_slices (GstGpuFilter *self);
/* Whether the frames to come can be computed so. Otherwise slices=0 does not cut them. */
void gst_gpu_filter_set_in_parts (GstGpuFilter *self, gboolean in_parts);

/* Whether frames to come may be reported, each before it is pushed. A frame that is not
 * reported is pushed before it is computed if downstream can wait for the GPU by itself. */
void gst_gpu_filter_set_reports (GstGpuFilter *self, gboolean reports);
/* Whether the frame of this slot is reported; for compute() and conclude(). */
gboolean gst_gpu_filter_get_reported (GstGpuFilter *self, guint slot_index);

/* Waits until every frame in flight has been pushed or dropped. */
void gst_gpu_filter_drain (GstGpuFilter *self);

/* Sets the property active-method. Any thread; `name` must be static. */
void gst_gpu_filter_set_active_method (GstGpuFilter *self, const gchar *name);

G_END_DECLS
