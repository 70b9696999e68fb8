/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufilter: base class of the elements. It chooses the backend, owns the GPU and the ring,
 * sends each frame through the ring, from and to system or GPU memory, and keeps statistics.
 * Subclasses compute. */
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
  GST_GPU_FILTER_PASS, /* frames pass untouched */
  GST_GPU_FILTER_READ, /* frames pass untouched, and the reported ones are read */
  GST_GPU_FILTER_WRITE, /* a result is pushed in place of each frame */
} GstGpuFilterUse;

/* Where the result of a frame goes. */
typedef enum
{
  GST_GPU_FILTER_RESULT_NONE, /* the frame stays as it is */
  /* Only small parts of the frame change: into the frame itself where its memory can be
   * written and downstream can take it, else into another buffer. */
  GST_GPU_FILTER_RESULT_IN_PLACE,
  GST_GPU_FILTER_RESULT_APART, /* into another buffer */
} GstGpuFilterResult;

/* The boxes of a frame that compute() reads and writes in place, as in RingFrame. */
typedef struct
{
  const ImageBox *read, *written; /* [n] each */
  gint n;
} GstGpuFilterBoxes;

/* All functions but takes_format, needed_backend, check_settings and finish are called on the
 * streaming thread, with the context of the GPU pushed if there is one. Frames may be in flight
 * meanwhile. Each frame has a slot index, less than gst_gpu_filter_get_depth(), until it has
 * been pushed. */
struct _GstGpuFilterClass
{
  GstVideoFilterClass parent_class;

  /* Whether each field of an interlaced frame is computed as an image of its own. */
  gboolean fields_apart;

  /* Whether the current settings can work on frames of a format. If not, `why`, which may be
   * NULL, is set to a sentence that says why. Caps are restricted to these formats: a setter
   * that changes the answer must call gst_base_transform_reconfigure_sink(). Any thread. NULL:
   * all formats of the templates. */
  gboolean (*takes_format) (
      GstGpuFilter *self, const GstVideoFormatInfo *format, Fault *why);

  /* Returns the backend that the element's own settings need; AUTO: any. */
  GstGpuFilterBackend (*needed_backend) (GstGpuFilter *self);

  /* Whether the current settings can work with any caps; called on the way to PAUSED. FALSE
   * and a fault: they can't. May be NULL. */
  gboolean (*check_settings) (GstGpuFilter *self, Fault *fault);

  /* Gets ready for the next frame under the current settings. Called before each frame and
   * when caps are set. *use is GST_GPU_FILTER_WRITE unless this function sets it. It must
   * call gst_gpu_filter_drain() before it frees anything that frames in flight may use. */
  gboolean (*prepare) (GstGpuFilter *self, GstGpuFilterUse *use, Fault *fault);

  /* Called once for each frame of use GST_GPU_FILTER_WRITE, between prepare() and is_due().
   * Returns where the result of the frame goes. With GST_GPU_FILTER_RESULT_NONE the frame is
   * treated as with GST_GPU_FILTER_READ: it is computed only if it is reported, and the buffer
   * itself is pushed where downstream can take it, else a copy. NULL: always
   * GST_GPU_FILTER_RESULT_APART. */
  GstGpuFilterResult (*begin_frame) (GstGpuFilter *self, GstBuffer *buffer);

  /* Finds the boxes that compute() reads and writes in the frame of the last begin_frame();
   * compute() is then called with src and dst at the same addresses. The boxes must stay valid
   * until compute(). Required if begin_frame() may return GST_GPU_FILTER_RESULT_IN_PLACE. */
  gboolean (*find_boxes) (GstGpuFilter *self, guint slot_index,
      GstGpuFilterBoxes *boxes, Fault *fault);

  /* Whether the next frame is reported, that is, passed to finish(). Called once for each
   * frame, before it is computed, while gst_gpu_filter_set_reports() is TRUE. NULL: all
   * frames are reported. */
  gboolean (*is_due) (GstGpuFilter *self, GstBuffer *buffer);

  /* Queues the work on one part of an image, as RingCompute does. dst has no memories if the
   * frame is only read; src and dst are the same memory if the frame is changed in place. */
  gboolean (*compute) (
      GstGpuFilter *self, const RingPart *part, guint slot_index, Fault *fault);

  /* Queues the work that follows the last part of a frame, or both of its fields; dst then
   * holds the result. May be NULL. */
  gboolean (*conclude) (GstGpuFilter *self, const RingPart *frame,
      guint slot_index, Fault *fault);

  /* Called on the pusher, in order, for reported frames whose work has ended. *buffer is
   * pushed next; the function may replace it by another buffer of the same frame. Returns a
   * message to post before the push, or NULL. The function must not post the message itself,
   * since a receiver may seek. */
  GstMessage *(*finish) (
      GstGpuFilter *self, guint slot_index, GstBuffer **buffer);

  /* Called after a flush: running time may start anew, and no frame is in flight. May be
   * NULL. */
  void (*flushed) (GstGpuFilter *self);

  /* Called when another stream begins, whose frames are unrelated to the frames before. No
   * frame is in flight. May be NULL. */
  void (*new_stream) (GstGpuFilter *self);

  /* Frees everything that prepare() made, before backend or caps change. No frame is in
   * flight. */
  void (*release) (GstGpuFilter *self);
};

/* For subclasses, on the streaming thread. */

/* Returns the GPU; NULL: frames are computed on the CPU. */
Gpu *gst_gpu_filter_get_gpu (GstGpuFilter *self);
Backend gst_gpu_filter_get_backend (GstGpuFilter *self);
/* Layout and info of the frames; both are valid once caps are set. */
const GstFrameLayout *gst_gpu_filter_get_layout (GstGpuFilter *self);
const GstVideoInfo *gst_gpu_filter_get_info (GstGpuFilter *self);

/* Whether frames come in GPU memory. */
gboolean gst_gpu_filter_get_in_gpu_memory (GstGpuFilter *self);

/* Whether frames may be changed in place at all. FALSE for bit-packed formats, which are
 * computed in planes of their own, and for host frames on a GPU with transfer=pageable, where
 * kernels must not access host memory. */
gboolean gst_gpu_filter_may_change_in_place (GstGpuFilter *self);

/* Returns the number of frames that may be in flight. It changes only before prepare(), while
 * no frame is in flight. */
guint gst_gpu_filter_get_depth (GstGpuFilter *self);
/* Returns the launch order of most frames: whole frames in GPU memory that no stream owns may
 * overlap; all others, and bit-packed ones, which share their planes, run back to back. */
GpuOrder gst_gpu_filter_get_order (GstGpuFilter *self);

/* Sets the number of slices of a frame, 1 by default. 0: a frame that is waited for is cut by
 * its size, other frames have one slice. The object lock must be held. For subclasses that can
 * compute slices one after the other. */
void gst_gpu_filter_set_slices (GstGpuFilter *self, guint slices);
guint gst_gpu_filter_get_slices (GstGpuFilter *self);
/* Sets whether the next frames can be computed slice by slice. If not, slices=0 means 1. */
void gst_gpu_filter_set_in_parts (GstGpuFilter *self, gboolean in_parts);
/* Sets the number of streams on which the next frames can be computed in turn: RingPart.turn. A
 * frame that is reported, or whose fields are computed apart, has turn 0. */
void gst_gpu_filter_set_turns (GstGpuFilter *self, gint turns);

/* Sets whether the next frames may be reported, each before it is pushed. A frame that is not
 * reported is pushed before it is computed if downstream itself can wait for the GPU. */
void gst_gpu_filter_set_reports (GstGpuFilter *self, gboolean reports);
/* Sets whether begin_frame() may return anything but GST_GPU_FILTER_RESULT_APART. Downstream
 * may then hold buffers of upstream, so that the next pool offered to upstream has more
 * buffers. */
void gst_gpu_filter_set_may_pass (GstGpuFilter *self, gboolean may_pass);
/* Returns the number of frame rows from one row of the computed image to the next: 1, or 2
 * while the fields of this slot's frame are computed one after the other. For find_boxes() and
 * compute(). */
gint gst_gpu_filter_get_rows_apart (GstGpuFilter *self, guint slot_index);
/* Whether the frame of this slot is reported; for compute() and conclude(). */
gboolean gst_gpu_filter_get_reported (GstGpuFilter *self, guint slot_index);

/* Whether the current settings fit the current caps, by takes_format(). The settings may
 * change right after: a subclass that reads them later must check that the answer still holds
 * for the settings that it has read. */
typedef enum
{
  GST_GPU_FILTER_FITS,
  /* The settings fit other caps that upstream can send. Upstream has been asked to
   * renegotiate, and frames of the old caps still arrive: the subclass treats them as before
   * the change. */
  GST_GPU_FILTER_AWAITS_CAPS,
  GST_GPU_FILTER_REFUSES, /* the settings fit no caps that upstream can send */
} GstGpuFilterFit;

/* `why`: the reason; not set with GST_GPU_FILTER_FITS. */
GstGpuFilterFit gst_gpu_filter_check_caps (GstGpuFilter *self, Fault *why);

/* Waits until every frame in flight has been pushed or dropped. */
void gst_gpu_filter_drain (GstGpuFilter *self);

/* Sets the property active-method. Any thread; `name` must be static. */
void gst_gpu_filter_set_active_method (GstGpuFilter *self, const gchar *name);

G_END_DECLS
