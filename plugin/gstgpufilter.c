/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpufilter.h"

GST_DEBUG_CATEGORY_STATIC (gst_gpu_filter_debug);
#define GST_CAT_DEFAULT gst_gpu_filter_debug

#define DEFAULT_BACKEND GST_GPU_FILTER_BACKEND_AUTO
#define DEFAULT_DEVICE_ID -1

/* Frames are waited for one by one. */
#define RING_DEPTH 1

enum
{
  PROP_0,
  PROP_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_ACTIVE_BACKEND,
  PROP_ACTIVE_METHOD,
  PROP_STATS,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

typedef struct
{
  /* Settings; protected by the object lock. */
  GstGpuFilterBackend backend;
  gint device_id;

  /* What the read-only properties tell; protected by the object lock. */
  const gchar *active_backend;
  const gchar *active_method;
  RingStats stats;   /* of rings that are gone */
  guint64 untouched; /* frames that passed as they were */
  Ring *ring;        /* made and freed with the lock held */

  /* Of the streaming thread, and of start and stop while it rests. */
  Gpu *gpu;
  gint opened_id;    /* the device-id that gpu was opened for */
  gboolean resolved; /* backend and gpu are those of the settings */
  GstGpuFilterBackend resolved_backend, resolved_wanted;
  gboolean warned; /* of the CPU taking over, since start */
  gboolean have_layout;
  GstVideoInfo info;
  GstFrameLayout layout;
  gboolean failed; /* the last prepare; its error is posted */
  Fault fault;     /* of the last prepare, if it failed */
} GstGpuFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstGpuFilter, gst_gpu_filter, GST_TYPE_VIDEO_FILTER)

#define PRIVATE(self) \
  ((GstGpuFilterPrivate *) gst_gpu_filter_get_instance_private (self))

GType
gst_gpu_filter_backend_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_GPU_FILTER_BACKEND_AUTO,
        "The GPU where there is one, else the CPU and a warning", "auto" },
    { GST_GPU_FILTER_BACKEND_CUDA, "The GPU, or an error", "cuda" },
    { GST_GPU_FILTER_BACKEND_CPU, "The CPU", "cpu" }, { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstGpuFilterBackend", values));
  return type;
}

Gpu *
gst_gpu_filter_get_gpu (GstGpuFilter *self)
{
  return PRIVATE (self)->gpu;
}

const GstFrameLayout *
gst_gpu_filter_get_layout (GstGpuFilter *self)
{
  return &PRIVATE (self)->layout;
}

const GstVideoInfo *
gst_gpu_filter_get_info (GstGpuFilter *self)
{
  return &PRIVATE (self)->info;
}

static void
set_active (
    GstGpuFilter *self, const gchar **field, const gchar *name, guint property)
{
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = *field != name;
  *field = name;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

void
gst_gpu_filter_set_active_method (GstGpuFilter *self, const gchar *name)
{
  set_active (self, &PRIVATE (self)->active_method, name, PROP_ACTIVE_METHOD);
}

/* Posts a fault as the element's error. */
static void
post_fault (GstGpuFilter *self, const Fault *fault)
{
  GQuark domain = GST_RESOURCE_ERROR;
  gint code = GST_RESOURCE_ERROR_FAILED;

  switch (fault->kind) {
    case FAULT_SETTINGS:
    case FAULT_UNSUPPORTED:
      code = GST_RESOURCE_ERROR_SETTINGS;
      break;
    case FAULT_FORMAT:
      domain = GST_STREAM_ERROR;
      code = GST_STREAM_ERROR_FORMAT;
      break;
    case FAULT_NOT_FOUND:
      code = GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    case FAULT_NO_SPACE:
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    default:
      break;
  }
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, domain, code,
      g_strdup (fault->message), g_strdup (fault->detail), __FILE__,
      GST_FUNCTION, __LINE__);
}

/* Life cycle of backend, ring and what the subclass made */

static gboolean
enter (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  return priv->gpu == NULL || gpu_push (priv->gpu, fault);
}

static void
leave (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (priv->gpu != NULL)
    gpu_pop (priv->gpu);
}

/* Frees all that was made for the caps and the backend. */
static void
release_frames (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  Ring *ring;
  RingStats stats;
  gboolean entered = enter (self, NULL);

  GST_OBJECT_LOCK (self);
  ring = priv->ring;
  priv->ring = NULL;
  if (ring != NULL) {
    ring_stats (ring, &stats);
    ring_stats_add (&priv->stats, &stats);
  }
  GST_OBJECT_UNLOCK (self);

  /* The ring first: it waits for kernels that use what the subclass made. */
  ring_free (ring);
  klass->release (self);
  if (entered)
    leave (self);
}

static void
close_backend (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  release_frames (self);
  gpu_close (priv->gpu);
  priv->gpu = NULL;
  priv->resolved = FALSE;
  set_active (self, &priv->active_backend, "none", PROP_ACTIVE_BACKEND);
  set_active (self, &priv->active_method, "none", PROP_ACTIVE_METHOD);
}

static void
warn_of_cpu (GstGpuFilter *self, const Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (priv->warned)
    return;
  priv->warned = TRUE;
  GST_ELEMENT_WARNING (self, RESOURCE, NOT_FOUND,
      ("No usable CUDA device: filtering on the CPU. %s", fault->message),
      ("%s", fault->detail));
}

/* Opens the backend that property and method ask for. */
static gboolean
open_backend (GstGpuFilter *self, GstGpuFilterBackend backend,
    GstGpuFilterBackend wanted, gint device_id, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (backend == GST_GPU_FILTER_BACKEND_CPU
      && wanted == GST_GPU_FILTER_BACKEND_CUDA)
    return fault_set (fault, FAULT_SETTINGS,
        "The method asked for runs on the GPU only, but backend=cpu.");
  if (backend == GST_GPU_FILTER_BACKEND_CUDA
      && wanted == GST_GPU_FILTER_BACKEND_CPU)
    return fault_set (fault, FAULT_SETTINGS,
        "The method asked for runs on the CPU only, but backend=cuda.");

  if (backend != GST_GPU_FILTER_BACKEND_CPU
      && wanted != GST_GPU_FILTER_BACKEND_CPU) {
    priv->gpu = gpu_open (device_id, fault);
    if (priv->gpu == NULL) {
      if (backend == GST_GPU_FILTER_BACKEND_CUDA)
        return FALSE;
      warn_of_cpu (self, fault);
    }
  }
  if (priv->gpu != NULL)
    GST_INFO_OBJECT (
        self, "using %s (device %d)", gpu_name (priv->gpu), gpu_id (priv->gpu));
  set_active (self, &priv->active_backend, priv->gpu != NULL ? "cuda" : "cpu",
      PROP_ACTIVE_BACKEND);
  return TRUE;
}

/* Makes the backend that of the settings, closing another one if need be. */
static gboolean
resolve_backend (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  const GstGpuFilterBackend wanted = klass->wanted_backend (self);
  GstGpuFilterBackend backend;
  gint device_id;

  GST_OBJECT_LOCK (self);
  backend = priv->backend;
  device_id = priv->device_id;
  GST_OBJECT_UNLOCK (self);

  if (priv->resolved && backend == priv->resolved_backend
      && wanted == priv->resolved_wanted && device_id == priv->opened_id)
    return TRUE;
  close_backend (self);
  if (!open_backend (self, backend, wanted, device_id, fault))
    return FALSE;
  priv->resolved = TRUE;
  priv->resolved_backend = backend;
  priv->resolved_wanted = wanted;
  priv->opened_id = device_id;
  return TRUE;
}

static gboolean
ensure_ring (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  const Image *layout = &priv->layout.layout;
  Ring *ring;

  if (priv->ring != NULL)
    return TRUE;
  ring = ring_new (priv->gpu, layout, layout, RING_DEPTH, fault);
  if (ring == NULL)
    return FALSE;
  GST_OBJECT_LOCK (self);
  priv->ring = ring;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

/* Gets everything ready for a frame under the settings of now. */
static gboolean
prepare (GstGpuFilter *self, gboolean *untouched, Fault *fault)
{
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  gboolean ok;

  if (!resolve_backend (self, fault) || !enter (self, fault))
    return FALSE;
  ok = klass->prepare (self, untouched, fault)
      && (*untouched || ensure_ring (self, fault));
  leave (self);
  return ok;
}

static gboolean
prepare_or_post (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  gboolean untouched = FALSE;
  Fault fault;

  if (prepare (self, &untouched, &fault)) {
    priv->failed = FALSE;
  } else {
    /* Frames that keep coming meet the same fault: it is told once. */
    if (!priv->failed || strcmp (fault.message, priv->fault.message) != 0)
      post_fault (self, &fault);
    priv->failed = TRUE;
    priv->fault = fault;
    untouched = FALSE;
  }
  if (untouched != gst_base_transform_is_passthrough (trans)) {
    GST_DEBUG_OBJECT (self, "passthrough: %d", untouched);
    gst_base_transform_set_passthrough (trans, untouched);
    /* Buffers to filter into are not negotiated for passthrough. */
    gst_base_transform_reconfigure_src (trans);
  }
  return !priv->failed;
}

/* GstBaseTransform and GstVideoFilter */

static gboolean
gst_gpu_filter_start (GstBaseTransform *trans)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  Fault fault;

  GST_OBJECT_LOCK (self);
  memset (&priv->stats, 0, sizeof priv->stats);
  priv->untouched = 0;
  GST_OBJECT_UNLOCK (self);
  priv->warned = FALSE;
  priv->have_layout = FALSE;
  priv->failed = FALSE;
  if (!resolve_backend (self, &fault)) {
    post_fault (self, &fault);
    return FALSE;
  }
  return TRUE;
}

static gboolean
gst_gpu_filter_stop (GstBaseTransform *trans)
{
  close_backend (GST_GPU_FILTER (trans));
  return TRUE;
}

static gboolean
gst_gpu_filter_set_info (GstVideoFilter *filter, GstCaps *incaps,
    GstVideoInfo *in_info, GstCaps *outcaps, GstVideoInfo *out_info)
{
  GstGpuFilter *self = GST_GPU_FILTER (filter);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  (void) outcaps;
  (void) out_info;
  release_frames (self);
  priv->info = *in_info;
  priv->have_layout = gst_frame_layout_init (&priv->layout, in_info);
  if (!priv->have_layout) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("Video of format %s cannot be filtered.",
            gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (in_info))),
        ("caps %" GST_PTR_FORMAT, (gpointer) incaps));
    return FALSE;
  }
  priv->have_layout = prepare_or_post (self);
  return priv->have_layout;
}

static void
gst_gpu_filter_before_transform (GstBaseTransform *trans, GstBuffer *buffer)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (trans->segment.format == GST_FORMAT_TIME) {
    const GstClockTime time = gst_segment_to_stream_time (
        &trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));

    if (GST_CLOCK_TIME_IS_VALID (time))
      gst_object_sync_values (GST_OBJECT (self), time);
  }
  if (!priv->have_layout)
    return;
  prepare_or_post (self);
  if (gst_base_transform_is_passthrough (trans)) {
    GST_OBJECT_LOCK (self);
    priv->untouched++;
    GST_OBJECT_UNLOCK (self);
  }
}

typedef struct
{
  GstGpuFilter *self;
  gboolean interlaced;
} FrameJob;

/* A RingCompute: the whole frame, or each of its fields. */
static bool
compute_frame (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  const FrameJob *job = user;
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (job->self);
  Image src_field, dst_field;

  if (!job->interlaced)
    return klass->compute (job->self, src, dst, stream, fault);
  for (gint parity = 0; parity < 2; parity++)
    if (image_field (src, parity, &src_field)
        && image_field (dst, parity, &dst_field)
        && !klass->compute (job->self, &src_field, &dst_field, stream, fault))
      return FALSE;
  return TRUE;
}

static gboolean
filter_frame (
    GstGpuFilter *self, GstVideoFrame *in, GstVideoFrame *out, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  FrameJob job = { self, GST_VIDEO_FRAME_IS_INTERLACED (in) };
  RingSlot *slot;
  Image src, dst;
  gboolean ok;

  gst_frame_layout_get_image (&priv->layout, in, &src);
  gst_frame_layout_get_image (&priv->layout, out, &dst);
  if (!enter (self, fault))
    return FALSE;
  slot = ring_acquire (priv->ring);
  ok = ring_submit (priv->ring, slot, &src, &dst, compute_frame, &job, fault)
      && ring_wait (priv->ring, slot, fault);
  ring_release (priv->ring, slot);
  leave (self);
  return ok;
}

static GstFlowReturn
gst_gpu_filter_transform (
    GstBaseTransform *trans, GstBuffer *inbuf, GstBuffer *outbuf)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstVideoFrame in, out;
  Fault fault;
  gboolean ok;

  if (priv->failed)
    return GST_FLOW_ERROR;
  if (!gst_video_frame_map (&in, &priv->info, inbuf,
          GST_MAP_READ | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
    goto invalid_input;
  if (!gst_video_frame_map (&out, &priv->info, outbuf,
          GST_MAP_WRITE | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
    goto invalid_output;
  ok = filter_frame (self, &in, &out, &fault);
  gst_video_frame_unmap (&out);
  gst_video_frame_unmap (&in);
  if (!ok) {
    post_fault (self, &fault);
    return GST_FLOW_ERROR;
  }
  return GST_FLOW_OK;

invalid_input:
  GST_ELEMENT_ERROR (self, STREAM, FORMAT,
      ("A buffer does not hold a frame of the negotiated format."),
      ("%" GST_PTR_FORMAT, (gpointer) inbuf));
  return GST_FLOW_ERROR;
invalid_output:
  gst_video_frame_unmap (&in);
  GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
      ("A buffer for the result cannot be written."),
      ("%" GST_PTR_FORMAT, (gpointer) outbuf));
  return GST_FLOW_ERROR;
}

/* Frames keep their size, place and time, so everything said of them holds. The
 * base class has left out metas that describe memory. */
static gboolean
gst_gpu_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  (void) trans;
  (void) outbuf;
  (void) meta;
  (void) inbuf;
  return TRUE;
}

/* The same holds for metas that downstream wants and upstream could attach. */
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

static gdouble
mean (gdouble sum, guint64 n)
{
  return n == 0 ? 0.0 : sum / (gdouble) n;
}

static GstStructure *
make_stats (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  RingStats stats, current;
  guint64 untouched;

  GST_OBJECT_LOCK (self);
  stats = priv->stats;
  untouched = priv->untouched;
  if (priv->ring != NULL) {
    ring_stats (priv->ring, &current);
    ring_stats_add (&stats, &current);
  }
  GST_OBJECT_UNLOCK (self);

  return gst_structure_new ("application/x-gpu-filter-stats", "frames-in",
      G_TYPE_UINT64, (guint64) stats.frames_in + untouched, "frames-out",
      G_TYPE_UINT64, (guint64) stats.frames_out + untouched, "bytes-up",
      G_TYPE_UINT64, (guint64) stats.bytes_up, "bytes-down", G_TYPE_UINT64,
      (guint64) stats.bytes_down, "up-time", G_TYPE_UINT64,
      (guint64) mean (stats.up_ns, stats.frames_out), "compute-time",
      G_TYPE_UINT64, (guint64) mean (stats.compute_ns, stats.frames_out),
      "down-time", G_TYPE_UINT64,
      (guint64) mean (stats.down_ns, stats.frames_out), "in-flight-peak",
      G_TYPE_UINT, (guint) stats.in_flight_peak, NULL);
}

static void
gst_gpu_filter_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstGpuFilter *self = GST_GPU_FILTER (object);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      priv->backend = g_value_get_enum (value);
      break;
    case PROP_CUDA_DEVICE_ID:
      priv->device_id = g_value_get_int (value);
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
    g_value_take_boxed (value, make_stats (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BACKEND:
      g_value_set_enum (value, priv->backend);
      break;
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, priv->device_id);
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
gst_gpu_filter_init (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  priv->backend = DEFAULT_BACKEND;
  priv->device_id = DEFAULT_DEVICE_ID;
  priv->active_backend = priv->active_method = "none";
}

static void
gst_gpu_filter_class_init (GstGpuFilterClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstVideoFilterClass *filter_class = GST_VIDEO_FILTER_CLASS (klass);
  const GParamFlags writable =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  GST_DEBUG_CATEGORY_INIT (
      gst_gpu_filter_debug, "gpufilter", 0, "base of the CUDA video filters");

  object_class->set_property = gst_gpu_filter_set_property;
  object_class->get_property = gst_gpu_filter_get_property;

  properties[PROP_BACKEND] = g_param_spec_enum ("backend", "Backend",
      "Where frames are filtered; the result is the same",
      GST_TYPE_GPU_FILTER_BACKEND, DEFAULT_BACKEND, writable);
  properties[PROP_CUDA_DEVICE_ID] =
      g_param_spec_int ("cuda-device-id", "CUDA device ID",
          "Number of the GPU to use (-1 = the first that is usable)", -1,
          G_MAXINT, DEFAULT_DEVICE_ID, writable);
  properties[PROP_ACTIVE_BACKEND] = g_param_spec_string ("active-backend",
      "Active backend", "The backend in use: cuda, cpu, or none while stopped",
      "none", readable);
  properties[PROP_ACTIVE_METHOD] =
      g_param_spec_string ("active-method", "Active method",
          "The method in use, or none while stopped or nothing is computed",
          "none", readable);
  properties[PROP_STATS] = g_param_spec_boxed ("stats", "Statistics",
      "Since start: frames-in, frames-out, bytes-up and bytes-down (over the "
      "bus), mean up-time, compute-time and down-time of a frame in "
      "nanoseconds, in-flight-peak",
      GST_TYPE_STRUCTURE, readable);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  trans_class->start = GST_DEBUG_FUNCPTR (gst_gpu_filter_start);
  trans_class->stop = GST_DEBUG_FUNCPTR (gst_gpu_filter_stop);
  trans_class->before_transform =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_before_transform);
  /* GstVideoFilter would choose to work in place. */
  trans_class->transform_ip = NULL;
  trans_class->transform = GST_DEBUG_FUNCPTR (gst_gpu_filter_transform);
  trans_class->transform_meta =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_transform_meta);
  trans_class->filter_meta = GST_DEBUG_FUNCPTR (gst_gpu_filter_filter_meta);
  filter_class->set_info = GST_DEBUG_FUNCPTR (gst_gpu_filter_set_info);

  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER_BACKEND, 0);
}
