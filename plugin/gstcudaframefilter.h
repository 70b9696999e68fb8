/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstcudaframefilter: base class for elements of other projects that compute video frames on an
 * NVIDIA GPU, the CPU, or both. */
#pragma once

#include <gst/video/gstvideofilter.h>

G_BEGIN_DECLS

/**
 * SECTION:gstcudaframefilter
 * @title: GstCudaFrameFilter
 *
 * The base class chooses the backend, brings each frame to where it is computed and its result to
 * where downstream wants it, and keeps several frames in flight: while one is computed, the next
 * one is uploaded and the one before is downloaded. The subclass only queues kernels.
 *
 * Subclasses inherit from it:
 *
 * - the pad templates: raw video in system memory and in memory:CUDAMemory, in any
 *   combination on the two pads. Bit-packed formats, such as v210, and big-endian formats, such
 *   as GRAY16_BE, are refused; @takes_format may refuse others;
 * - the properties backend, cuda-device-id, transfer, ring-depth, active-backend,
 *   active-method and stats, as cudasepconv has them;
 * - order and loss: events wait for the frames before them, a flush drops those in flight, errors
 *   reach upstream, metas and times are kept;
 * - the fallback to the CPU with backend=auto, if the subclass has @compute_cpu.
 *
 * A subclass brings at least @compute_cuda or @compute_cpu. It may override functions of
 * #GstBaseTransformClass only if it calls those of its parent class.
 *
 * Since: 0.1
 */

#define GST_TYPE_CUDA_FRAME_FILTER (gst_cuda_frame_filter_get_type ())
#define GST_CUDA_FRAME_FILTER(object) \
  (G_TYPE_CHECK_INSTANCE_CAST ( \
      (object), GST_TYPE_CUDA_FRAME_FILTER, GstCudaFrameFilter))
#define GST_CUDA_FRAME_FILTER_CLASS(klass) \
  (G_TYPE_CHECK_CLASS_CAST ( \
      (klass), GST_TYPE_CUDA_FRAME_FILTER, GstCudaFrameFilterClass))
#define GST_IS_CUDA_FRAME_FILTER(object) \
  (G_TYPE_CHECK_INSTANCE_TYPE ((object), GST_TYPE_CUDA_FRAME_FILTER))
#define GST_IS_CUDA_FRAME_FILTER_CLASS(klass) \
  (G_TYPE_CHECK_CLASS_TYPE ((klass), GST_TYPE_CUDA_FRAME_FILTER))
#define GST_CUDA_FRAME_FILTER_GET_CLASS(object) \
  (G_TYPE_INSTANCE_GET_CLASS ( \
      (object), GST_TYPE_CUDA_FRAME_FILTER, GstCudaFrameFilterClass))

typedef struct _GstCudaFrame GstCudaFrame;
typedef struct _GstCudaFrameFilter GstCudaFrameFilter;
typedef struct _GstCudaFrameFilterClass GstCudaFrameFilterClass;

/* The type behind cudaStream_t and CUstream, without CUDA's headers. */
struct CUstream_st;

/**
 * GstCudaFrameUse:
 * @GST_CUDA_FRAME_WRITE: a result is computed and pushed in place of each frame
 * @GST_CUDA_FRAME_READ: frames are read and pushed as they are
 * @GST_CUDA_FRAME_PASS: frames are pushed as they are, and not computed
 *
 * How an element uses frames.
 *
 * Since: 0.1
 */
typedef enum
{
  GST_CUDA_FRAME_WRITE,
  GST_CUDA_FRAME_READ,
  GST_CUDA_FRAME_PASS,
} GstCudaFrameUse;

/**
 * GstCudaFrame:
 * @n_planes: number of planes of the format, as #GstVideoFormatInfo counts them
 * @data: the first byte of each plane's row 0: an address that kernels of the current context
 *     reach for @compute_cuda, a host address for @compute_cpu. Samples of two bytes lie at even
 *     addresses on a GPU; more than that is not promised, since a frame may be a part of its
 *     buffer
 * @stride: bytes from a row of a plane to the next one; may be negative
 * @row_bytes: bytes of a row that belong to the picture
 * @rows: rows of each plane: at least 1, or 0 for a field without rows (see
 *     gst_cuda_frame_filter_class_set_fields_apart())
 *
 * The memory of a frame, or of a field of one. The base class owns it. A kernel must not touch
 * bytes between rows.
 *
 * Since: 0.1
 */
struct _GstCudaFrame
{
  guint n_planes;
  guint8 *data[GST_VIDEO_MAX_PLANES];
  gssize stride[GST_VIDEO_MAX_PLANES];
  gsize row_bytes[GST_VIDEO_MAX_PLANES];
  gint rows[GST_VIDEO_MAX_PLANES];

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

struct _GstCudaFrameFilter
{
  GstVideoFilter parent;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * GstCudaFrameFilterClass:
 * @takes_format: whether the current settings can work on frames of a format. If not, @why,
 *     which may be %NULL, gets the reason. Not called for bit-packed and big-endian formats,
 *     which no subclass gets. A setter that changes the answer must call
 *     gst_base_transform_reconfigure_sink(). Any thread. %NULL: all other formats of the
 *     templates
 * @prepare: gets ready for the next frame under the current settings: allocates memory, makes
 *     tables. Called before each frame, and when caps are set or the backend changes;
 *     @info describes the frames. *@use is %GST_CUDA_FRAME_WRITE unless this function sets it.
 *     Frames may be in flight: it must call gst_cuda_frame_filter_drain() before it changes
 *     anything that they use. %NULL: there is nothing to prepare
 * @compute_cuda: queues the work on one frame on @stream, in order, and does not wait for it.
 *     The result in @dst is complete once the stream has done that work. @dst is %NULL where
 *     frames are only read. %NULL: the element needs backend=cpu
 * @compute_cpu: the same on the CPU, which has done the work when it returns. %NULL: the element
 *     needs a GPU
 * @finish: called once the work on a frame has ended, before it is pushed, frame by frame in
 *     order, on the thread that pushes. It may attach metas to *@buffer (after
 *     gst_buffer_make_writable(), whose result it stores there), and returns a message to
 *     post, or %NULL. It must not post messages itself. %NULL: there is nothing to finish
 * @release: frees everything that @prepare made, before caps or backend change and when the
 *     element stops. No frame is in flight. Also called when nothing was made. May be %NULL
 *
 * All functions but @takes_format and @finish are called on the streaming thread. If a GPU is
 * used, its context is current during @prepare, @compute_cuda and @release, for the CUDA runtime
 * and the driver API. The functions must leave it current, and must not use the legacy default
 * stream, cudaSetDevice() or cudaDeviceSynchronize(). No context is current during @finish: it
 * reads results from pinned host memory (cudaMallocHost()), to which the stream has copied them.
 *
 * @slot is the slot index of a frame in flight, less than gst_cuda_frame_filter_get_depth(). Each
 * slot can have memory of its own, for example for the sums of a kernel, from @compute_cuda to
 * @finish.
 *
 * Functions that can fail return %FALSE and set an error, whose message is a sentence for the
 * user; the base class posts it. With backend=auto, an error of
 * GST_RESOURCE_ERROR_FAILED, GST_RESOURCE_ERROR_NO_SPACE_LEFT or GST_RESOURCE_ERROR_NOT_FOUND
 * from the GPU makes the element continue on the CPU, with a warning, if there is @compute_cpu.
 *
 * Since: 0.1
 */
struct _GstCudaFrameFilterClass
{
  GstVideoFilterClass parent_class;

  /*< private >*/
  gpointer _base[32];

  /*< public >*/
  gboolean (*takes_format) (GstCudaFrameFilter *self,
      const GstVideoFormatInfo *format, GError **why);
  gboolean (*prepare) (GstCudaFrameFilter *self, const GstVideoInfo *info,
      GstCudaFrameUse *use, GError **error);
  gboolean (*compute_cuda) (GstCudaFrameFilter *self, const GstCudaFrame *src,
      const GstCudaFrame *dst, guint slot, struct CUstream_st *stream,
      GError **error);
  gboolean (*compute_cpu) (GstCudaFrameFilter *self, const GstCudaFrame *src,
      const GstCudaFrame *dst, guint slot, GError **error);
  GstMessage *(*finish) (
      GstCudaFrameFilter *self, guint slot, GstBuffer **buffer);
  void (*release) (GstCudaFrameFilter *self);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING_LARGE];
};

#ifndef GST_CUDA_FRAME_FILTER_API
#define GST_CUDA_FRAME_FILTER_API extern
#endif

GST_CUDA_FRAME_FILTER_API GType gst_cuda_frame_filter_get_type (void);

/**
 * gst_cuda_frame_filter_class_set_fields_apart:
 * @klass: the class of a subclass
 * @fields_apart: %TRUE: each field of an interlaced frame is computed as a frame of its own, with
 *     twice the stride and half the rows, one call after the other. A plane of one row has only
 *     the first field. %FALSE, the default: frames are computed whole
 *
 * For the class_init function of a subclass.
 *
 * Since: 0.1
 */
GST_CUDA_FRAME_FILTER_API void gst_cuda_frame_filter_class_set_fields_apart (
    GstCudaFrameFilterClass *klass, gboolean fields_apart);

/**
 * gst_cuda_frame_filter_get_info:
 * @self: a #GstCudaFrameFilter
 *
 * Returns: (transfer none): the format and size of the frames. For @prepare and the functions
 *     after it, on the streaming thread
 *
 * Since: 0.1
 */
GST_CUDA_FRAME_FILTER_API const GstVideoInfo *gst_cuda_frame_filter_get_info (
    GstCudaFrameFilter *self);

/**
 * gst_cuda_frame_filter_get_depth:
 * @self: a #GstCudaFrameFilter
 *
 * Returns: the number of frames that may be in flight, 1 to 64. It changes only while no frame
 *     is in flight, before @prepare. For @prepare and the functions after it
 *
 * Since: 0.1
 */
GST_CUDA_FRAME_FILTER_API guint gst_cuda_frame_filter_get_depth (
    GstCudaFrameFilter *self);

/**
 * gst_cuda_frame_filter_uses_gpu:
 * @self: a #GstCudaFrameFilter
 *
 * Returns: whether @compute_cuda is called for the next frame, not @compute_cpu. For @prepare
 *     and @release
 *
 * Since: 0.1
 */
GST_CUDA_FRAME_FILTER_API gboolean gst_cuda_frame_filter_uses_gpu (
    GstCudaFrameFilter *self);

/**
 * gst_cuda_frame_filter_drain:
 * @self: a #GstCudaFrameFilter
 *
 * Waits until every frame in flight has been pushed or dropped. For @prepare only.
 *
 * Since: 0.1
 */
GST_CUDA_FRAME_FILTER_API void gst_cuda_frame_filter_drain (
    GstCudaFrameFilter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstCudaFrameFilter, gst_object_unref)

G_END_DECLS
