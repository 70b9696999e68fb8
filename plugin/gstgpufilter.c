/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpufilter.h"

#include "gstframequeue.h"
#include "gstgpucaps.h"
#include "gstgpudevice.h"
#include "gstgpumemory.h"
#include "gsthistogrammeta.h"
#include "gstpinnedallocator.h"

GST_DEBUG_CATEGORY_STATIC (gst_gpu_filter_debug);
#define GST_CAT_DEFAULT gst_gpu_filter_debug

#define DEFAULT_BACKEND GST_GPU_FILTER_BACKEND_AUTO
#define DEFAULT_DEVICE_ID -1

#define DEFAULT_TRANSFER GST_GPU_FILTER_TRANSFER_AUTO
/* Frames in flight, unless it is set: four keep the bus busy; those that stay in the
 * GPU's memory take less time than handing them over, which more of them hide. */
#define DEPTH_ACROSS 4
#define DEPTH_ON_GPU 8

enum
{
  PROP_0,
  PROP_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_TRANSFER,
  PROP_RING_DEPTH,
  PROP_ACTIVE_BACKEND,
  PROP_ACTIVE_METHOD,
  PROP_STATS,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/* One frame between submit and push; one for each slot of the ring. */
typedef struct
{
  GstGpuFilter *self;
  RingSlot *slot;
  guint place;
  GstBuffer *in; /* held as long as it is read; else NULL */
  RingPlace in_place, out_place;
  /* Where what writes `in` may be queued, and what `out` belongs to, or NULL. */
  GpuStream in_stream, out_stream;
  gboolean computes; /* else the frame only goes to another memory */
  gboolean reports;  /* the subclass finishes it */
  gboolean writes;   /* out_frame is mapped */
  GstVideoFrame in_frame, out_frame;
} Flight;

typedef struct
{
  /* Settings; protected by the object lock. */
  GstGpuFilterBackend backend;
  gint device_id;
  GstGpuFilterTransfer transfer;
  guint ring_depth;
  guint slices;

  /* What the read-only properties tell; protected by the object lock. */
  const gchar *active_backend;
  const gchar *active_method;
  RingStats stats;   /* of rings that are gone */
  guint64 untouched; /* frames that passed as they were */
  Ring *ring;        /* made and freed with the lock held */

  GstGpuDevice device;

  /* Of the streaming thread, and of start and stop while it rests. */
  GstFrameQueue *queue;
  gint started;     /* atomic: caps may be set */
  gint answers;     /* atomic: serialized queries are not refused at once */
  gboolean discont; /* a frame was skipped: mark the next */
  gint told;    /* atomic: upstream or the application knows of a bad flow */
  gint patient; /* atomic: upstream says that it is not live */
  guint64 processed;      /* frames since the last flush, for QoS messages */
  gboolean pageable;      /* no pinned pools */
  guint depth;            /* of the ring, and of the queue */
  gboolean ring_computes; /* what the ring was made for */
  gboolean ring_writes;
  gboolean in_parts;     /* results can come so */
  gboolean reports;      /* frames are finished by the subclass */
  gboolean pushed_early; /* the last frame, before it was computed */
  Flight *flights;       /* [depth], used in turn */
  guint next_flight;
  gint opened_id;    /* the device-id that the device was opened for */
  gboolean resolved; /* backend and device are those of the settings */
  GstGpuFilterBackend resolved_demand;
  gboolean warned; /* of the CPU taking over, since start */
  gboolean have_layout;
  gboolean in_gpu, out_gpu; /* the caps say: in the GPU's memory */
  GstVideoInfo info;
  GstFrameLayout layout;
  GstGpuFilterUse use;
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

GstGpuFilterBackend
gst_gpu_filter_backend_of (Backend backend)
{
  return backend == BACKEND_CPU ? GST_GPU_FILTER_BACKEND_CPU
                                : GST_GPU_FILTER_BACKEND_CUDA;
}

GType
gst_gpu_filter_transfer_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = { { GST_GPU_FILTER_TRANSFER_AUTO,
                                           "The fastest for the frame's size",
                                           "auto" },
    { GST_GPU_FILTER_TRANSFER_PINNED, "Copy engines and pinned memory",
        "pinned" },
    { GST_GPU_FILTER_TRANSFER_MAPPED,
        "Kernels read and write pinned host memory themselves (zero-copy)",
        "mapped" },
    { GST_GPU_FILTER_TRANSFER_PAGEABLE,
        "Copy engines and ordinary memory, for comparison", "pageable" },
    { 0, NULL, NULL } };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstGpuFilterTransfer", values));
  return type;
}

GType
gst_gpu_filter_register_methods (const gchar *type_name, gint n,
    void (*describe) (gint i, GstGpuFilterMethod *method))
{
  GEnumValue *values = g_new0 (GEnumValue, n + 2);

  values[0] = (GEnumValue){ GST_GPU_FILTER_METHOD_AUTO,
    "The fastest that is exact enough", "auto" };
  for (gint i = 0; i < n; i++) {
    GstGpuFilterMethod method;

    describe (i, &method);
    values[i + 1].value = i + 1;
    values[i + 1].value_nick = method.name;
    values[i + 1].value_name = g_strdup_printf ("%s: %s",
        method.backend == BACKEND_CPU ? "CPU" : "GPU", method.description);
  }
  return g_enum_register_static (type_name, values);
}

Gpu *
gst_gpu_filter_get_gpu (GstGpuFilter *self)
{
  return PRIVATE (self)->device.gpu;
}

Backend
gst_gpu_filter_get_backend (GstGpuFilter *self)
{
  return PRIVATE (self)->device.gpu != NULL ? BACKEND_CUDA : BACKEND_CPU;
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
  changed = g_strcmp0 (*field, name) != 0;
  *field = name;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

/* Whether the caps have frames in the GPU's memory on both sides. */
static gboolean
stays_on_gpu (const GstGpuFilterPrivate *priv)
{
  return priv->in_gpu && priv->out_gpu;
}

guint
gst_gpu_filter_get_depth (GstGpuFilter *self)
{
  return PRIVATE (self)->depth;
}

GpuOrder
gst_gpu_filter_get_order (GstGpuFilter *self)
{
  const GstGpuFilterPrivate *priv = PRIVATE (self);
  const gboolean whole = !GST_GPU_FILTER_GET_CLASS (self)->fields_apart
      || !GST_VIDEO_INFO_IS_INTERLACED (&priv->info);

  return stays_on_gpu (priv) && priv->device.stream == NULL && whole
      ? ring_order ((int) priv->depth)
      : GPU_AFTER_KERNELS;
}

void
gst_gpu_filter_set_slices (GstGpuFilter *self, guint slices)
{
  PRIVATE (self)->slices = slices;
}

guint
gst_gpu_filter_get_slices (GstGpuFilter *self)
{
  return PRIVATE (self)->slices;
}

void
gst_gpu_filter_set_in_parts (GstGpuFilter *self, gboolean in_parts)
{
  PRIVATE (self)->in_parts = in_parts;
}

void
gst_gpu_filter_set_reports (GstGpuFilter *self, gboolean reports)
{
  PRIVATE (self)->reports = reports;
}

gboolean
gst_gpu_filter_get_reported (GstGpuFilter *self, guint place)
{
  return PRIVATE (self)->flights[place].reports;
}

void
gst_gpu_filter_drain (GstGpuFilter *self)
{
  gst_frame_queue_drain (PRIVATE (self)->queue);
}

void
gst_gpu_filter_set_active_method (GstGpuFilter *self, const gchar *name)
{
  set_active (self, &PRIVATE (self)->active_method, name, PROP_ACTIVE_METHOD);
}

/* A fault as the element's error. */
static GstMessage *
fault_message (GstGpuFilter *self, const Fault *fault)
{
  GQuark domain = GST_RESOURCE_ERROR;
  gint code = GST_RESOURCE_ERROR_FAILED;
  gchar *path, *debug;
  GstMessage *message;
  GError *error;

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
  path = gst_object_get_path_string (GST_OBJECT (self));
  debug = g_strdup_printf ("%s:\n%s", path, fault->detail);
  error = g_error_new_literal (domain, code, fault->message);
  message = gst_message_new_error (GST_OBJECT (self), error, debug);
  g_error_free (error);
  g_free (debug);
  g_free (path);
  return message;
}

static void
post_fault (GstGpuFilter *self, const Fault *fault)
{
  gst_element_post_message (GST_ELEMENT (self), fault_message (self, fault));
}

/* Life cycle of backend, ring and what the subclass made */

static gboolean
enter (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  return priv->device.gpu == NULL || gpu_push (priv->device.gpu, fault);
}

static void
leave (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (priv->device.gpu != NULL)
    gpu_pop (priv->device.gpu);
}

/* Frees the ring and keeps its count. No frame is in flight. */
static void
release_ring (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  Ring *ring;
  RingStats stats;

  GST_OBJECT_LOCK (self);
  ring = priv->ring;
  priv->ring = NULL;
  if (ring != NULL) {
    ring_stats (ring, &stats);
    ring_stats_add (&priv->stats, &stats);
  }
  GST_OBJECT_UNLOCK (self);
  ring_free (ring);
  g_clear_pointer (&priv->flights, g_free);
}

/* Frees all that was made for the caps and the backend. */
static void
release_frames (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  gboolean entered;

  gst_frame_queue_drain (priv->queue);
  entered = enter (self, NULL);
  release_ring (self);
  GST_GPU_FILTER_GET_CLASS (self)->release (self);
  if (entered)
    leave (self);
}

static void
close_backend (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  release_frames (self);
  gst_gpu_device_close (&priv->device);
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
      ("No usable CUDA device: computing on the CPU. %s", fault->message),
      ("%s", fault->detail));
}

static void
show_backend (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  set_active (self, &priv->active_backend,
      priv->device.gpu != NULL ? "cuda" : "cpu", PROP_ACTIVE_BACKEND);
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

  if (backend == GST_GPU_FILTER_BACKEND_CPU
      || wanted == GST_GPU_FILTER_BACKEND_CPU) {
    gst_gpu_device_open_none (&priv->device);
  } else if (!gst_gpu_device_open (&priv->device, device_id, fault)) {
    if (backend == GST_GPU_FILTER_BACKEND_CUDA)
      return FALSE;
    warn_of_cpu (self, fault);
    gst_gpu_device_open_none (&priv->device);
  }
  show_backend (self);
  return TRUE;
}

/* Pools were chosen for another backend or transfer. */
static void
renegotiate_buffers (GstGpuFilter *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);

  if (PRIVATE (self)->have_layout) {
    gst_base_transform_reconfigure_sink (trans);
    gst_base_transform_reconfigure_src (trans);
  }
}

/* What property and method come to; -1 if they contradict each other. */
static gint
combined_demand (GstGpuFilterBackend backend, GstGpuFilterBackend wanted)
{
  if (wanted == GST_GPU_FILTER_BACKEND_AUTO || wanted == backend)
    return backend;
  if (backend != GST_GPU_FILTER_BACKEND_AUTO)
    return -1;
  /* Where there is no GPU, auto takes the CPU for its methods too. */
  return wanted == GST_GPU_FILTER_BACKEND_CPU ? wanted : backend;
}

/* Makes the backend that of the settings, closing another one if need be. */
static gboolean
resolve_backend (GstGpuFilter *self, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  const GstGpuFilterBackend wanted = klass->wanted_backend (self);
  GstGpuFilterBackend backend;
  gint device_id, demand;

  GST_OBJECT_LOCK (self);
  backend = priv->backend;
  device_id = priv->device_id;
  GST_OBJECT_UNLOCK (self);

  demand = combined_demand (backend, wanted);
  if (priv->resolved && demand == (gint) priv->resolved_demand
      && device_id == priv->opened_id)
    return TRUE;
  close_backend (self);
  renegotiate_buffers (self);
  if (!open_backend (self, backend, wanted, device_id, fault))
    return FALSE;
  priv->resolved = TRUE;
  priv->resolved_demand = (GstGpuFilterBackend) demand;
  priv->opened_id = device_id;
  return TRUE;
}

/* A ring for the layout and the use, of the depth that is set now. */
static gboolean
ensure_ring (GstGpuFilter *self, GstGpuFilterUse use, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  const Image *layout = &priv->layout.layout;
  const gboolean computes = use != GST_GPU_FILTER_PASS;
  const gboolean crosses = priv->in_gpu != priv->out_gpu;
  const gboolean writes = use == GST_GPU_FILTER_WRITE || crosses;
  Ring *ring;

  if ((!computes && !writes)
      || (priv->ring != NULL && computes == priv->ring_computes
          && writes == priv->ring_writes))
    return TRUE;
  gst_frame_queue_drain (priv->queue);
  release_ring (self);
  ring = ring_new (priv->device.gpu, layout, writes ? layout : NULL,
      (int) priv->depth, gst_gpu_memory_stream_handle (priv->device.stream),
      fault);
  /* Device memory for frames that the caps promise on the host; those that pass from
   * one memory to the other need none. */
  if (ring == NULL
      || !ring_reserve (ring,
          !priv->in_gpu && (use == GST_GPU_FILTER_WRITE || !crosses),
          !priv->out_gpu && use == GST_GPU_FILTER_WRITE, fault)) {
    ring_free (ring);
    return FALSE;
  }
  GST_OBJECT_LOCK (self);
  priv->ring = ring;
  GST_OBJECT_UNLOCK (self);
  priv->ring_computes = computes;
  priv->ring_writes = writes;
  priv->flights = g_new0 (Flight, priv->depth);
  priv->next_flight = 0;
  return TRUE;
}

/* Follows ring-depth and transfer. */
static void
resolve_ring (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  guint depth;
  gboolean pageable;

  GST_OBJECT_LOCK (self);
  depth = priv->ring_depth;
  if (depth == 0)
    depth = stays_on_gpu (priv) ? DEPTH_ON_GPU : DEPTH_ACROSS;
  pageable = priv->transfer == GST_GPU_FILTER_TRANSFER_PAGEABLE;
  GST_OBJECT_UNLOCK (self);
  if (pageable != priv->pageable) {
    priv->pageable = pageable;
    renegotiate_buffers (self);
  }
  if (depth == priv->depth)
    return;
  gst_frame_queue_drain (priv->queue);
  release_ring (self);
  priv->depth = depth;
}

/* Gets everything ready for a frame under the settings of now. */
static gboolean
prepare (GstGpuFilter *self, GstGpuFilterUse *use, Fault *fault)
{
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  gboolean ok;

  if (!resolve_backend (self, fault) || !enter (self, fault))
    return FALSE;
  resolve_ring (self);
  ok = klass->prepare (self, use, fault) && ensure_ring (self, *use, fault);
  leave (self);
  return ok;
}

/* Frames, and caps, that keep coming meet the same fault: it is told once. */
static void
fail (GstGpuFilter *self, const Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  if (!priv->failed || strcmp (fault->message, priv->fault.message) != 0)
    post_fault (self, fault);
  priv->failed = TRUE;
  priv->fault = *fault;
}

static gboolean
prepare_or_post (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstGpuFilterUse use = GST_GPU_FILTER_WRITE;
  gboolean passes;
  Fault fault;

  if (prepare (self, &use, &fault)) {
    priv->failed = FALSE;
  } else {
    fail (self, &fault);
    use = GST_GPU_FILTER_WRITE;
  }
  passes = use != GST_GPU_FILTER_WRITE && priv->in_gpu == priv->out_gpu;
  if (use != priv->use || passes != gst_base_transform_is_passthrough (trans)) {
    GST_DEBUG_OBJECT (self, "use of frames: %d", (gint) use);
    priv->use = use;
    gst_base_transform_set_passthrough (trans, passes);
    /* Passthrough negotiates buffers past this element. */
    if (use == GST_GPU_FILTER_PASS)
      gst_base_transform_reconfigure_src (trans);
    else
      renegotiate_buffers (self);
  }
  return !priv->failed;
}

/* GstBaseTransform and GstVideoFilter */

static gboolean
gst_gpu_filter_start (GstBaseTransform *trans)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  gboolean started;
  Fault fault;
  gchar *name;

  GST_OBJECT_LOCK (self);
  priv->depth = 0;
  priv->pageable = priv->transfer == GST_GPU_FILTER_TRANSFER_PAGEABLE;
  memset (&priv->stats, 0, sizeof priv->stats);
  priv->untouched = 0;
  GST_OBJECT_UNLOCK (self);
  priv->warned = FALSE;
  priv->have_layout = FALSE;
  priv->use = GST_GPU_FILTER_WRITE;
  priv->pushed_early = FALSE;
  gst_base_transform_set_passthrough (trans, FALSE);
  priv->failed = priv->discont = FALSE;
  priv->processed = 0;
  g_atomic_int_set (&priv->told, FALSE);
  g_atomic_int_set (&priv->patient, FALSE);
  if (!resolve_backend (self, &fault)) {
    post_fault (self, &fault);
    return FALSE;
  }
  name = g_strdup_printf ("%s:src", GST_OBJECT_NAME (self));
  started = gst_frame_queue_start (priv->queue, name);
  g_free (name);
  if (!started) {
    close_backend (self);
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED,
        ("The system gives no thread to push frames from."), (NULL));
  }
  g_atomic_int_set (&priv->started, started);
  g_atomic_int_set (&priv->answers, started);
  return started;
}

static gboolean
gst_gpu_filter_stop (GstBaseTransform *trans)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);

  gst_frame_queue_stop (PRIVATE (self)->queue);
  g_atomic_int_set (&PRIVATE (self)->answers, FALSE);
  /* A serialized query may just be making the base class negotiate. */
  GST_PAD_STREAM_LOCK (trans->sinkpad);
  g_atomic_int_set (&PRIVATE (self)->started, FALSE);
  close_backend (self);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  return TRUE;
}

static gboolean
gst_gpu_filter_set_info (GstVideoFilter *filter, GstCaps *incaps,
    GstVideoInfo *in_info, GstCaps *outcaps, GstVideoInfo *out_info)
{
  GstGpuFilter *self = GST_GPU_FILTER (filter);
  GstGpuFilterPrivate *priv = PRIVATE (self);

  (void) out_info;
  if (!g_atomic_int_get (&priv->started))
    return FALSE;
  release_frames (self);
  priv->info = *in_info;
  priv->in_gpu = gst_gpu_caps_are_on_gpu (incaps);
  priv->out_gpu = gst_gpu_caps_are_on_gpu (outcaps);
  priv->have_layout = gst_frame_layout_init (&priv->layout, in_info);
  /* Fields that lie apart would have to be found through several metas. */
  if (!priv->have_layout
      || GST_VIDEO_INFO_INTERLACE_MODE (in_info)
          == GST_VIDEO_INTERLACE_MODE_FIELDS) {
    Fault fault;

    fault_set (&fault, FAULT_FORMAT,
        "Video of format %s, interlace-mode %s, is not supported.",
        gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (in_info)),
        gst_video_interlace_mode_to_string (
            GST_VIDEO_INFO_INTERLACE_MODE (in_info)));
    fail (self, &fault);
    return priv->have_layout = FALSE;
  }
  priv->have_layout = prepare_or_post (self);
  return priv->have_layout;
}

/* Frames may come in another context, which we then go on in. */
static void
follow_context (GstGpuFilter *self, GstBuffer *buffer)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  Gpu *gpu = gst_gpu_device_open_other (&priv->device, buffer);

  if (gpu == NULL)
    return;
  release_frames (self);
  gst_gpu_device_adopt (&priv->device, buffer, gpu);
  show_backend (self);
  renegotiate_buffers (self);
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
  follow_context (self, buffer);
  prepare_or_post (self);
}

/* One field as an image of its own, whole. */
static gboolean
compute_field (
    const Flight *flight, const RingPart *frame, gint parity, Fault *fault)
{
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (flight->self);
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
  return klass->compute (flight->self, &field, flight->place, fault);
}

/* A part of a frame, or both fields with the last part. */
static gboolean
compute_frame (const Flight *flight, const RingPart *part, Fault *fault)
{
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (flight->self);

  if (!klass->fields_apart
      || !GST_VIDEO_FRAME_IS_INTERLACED (&flight->in_frame))
    return klass->compute (flight->self, part, flight->place, fault);
  return !part->last
      || (compute_field (flight, part, 0, fault)
          && compute_field (flight, part, 1, fault));
}

/* A RingCompute. */
static bool
compute_part (void *user, const RingPart *part, Fault *fault)
{
  const Flight *flight = user;
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (flight->self);

  return compute_frame (flight, part, fault)
      && (!part->last || klass->conclude == NULL
          || klass->conclude (flight->self, part, flight->place, fault));
}

/* Whether the next frame's own time counts, and slices would shorten it. Where frames
 * overlap each other they only cost calls; so they do where upstream is not live,
 * unless it has to wait for each frame, as with a single slot. */
static gboolean
is_awaited (GstGpuFilterPrivate *priv)
{
  return priv->in_parts && gst_frame_queue_length (priv->queue) == 0
      && (priv->depth == 1 || !g_atomic_int_get (&priv->patient));
}

/* How a frame is to travel, by the settings and by what is under way. */
static void
choose_route (GstGpuFilter *self, const Flight *flight, RingFrame *frame)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterTransfer transfer;
  guint slices;

  GST_OBJECT_LOCK (self);
  transfer = priv->transfer;
  slices = priv->slices;
  GST_OBJECT_UNLOCK (self);

  switch (transfer) {
    case GST_GPU_FILTER_TRANSFER_MAPPED:
      frame->transfer = RING_MAPPED;
      break;
    case GST_GPU_FILTER_TRANSFER_PAGEABLE:
      frame->transfer = RING_PAGEABLE;
      break;
    default:
      frame->transfer = RING_PINNED;
  }
  /* Fields need all of the frame, and without a way up and one down there is nothing
   * to overlap. */
  if (GST_VIDEO_FRAME_IS_INTERLACED (&flight->in_frame) || !flight->writes
      || frame->src_place == RING_DEVICE || frame->dst_place == RING_DEVICE)
    slices = 1;
  else if (slices == 0)
    slices = is_awaited (priv) ? (guint) ring_slices_alone (&frame->src) : 1;
  frame->slices = (int) slices;
}

/* Lets go of a frame that is no longer read or written. */
static void
land (Flight *flight)
{
  if (flight->writes)
    gst_video_frame_unmap (&flight->out_frame);
  if (flight->in != NULL) {
    gst_video_frame_unmap (&flight->in_frame);
    gst_clear_buffer (&flight->in);
  }
}

static RingPlace
place_of (GstGpuFilter *self, GstBuffer *buffer)
{
  return gst_gpu_device_reaches (&PRIVATE (self)->device, buffer) ? RING_DEVICE
      : gst_pinned_buffer_is_one_block (buffer) ? RING_HOST_PINNED
                                                : RING_HOST;
}

/* Submits a mapped frame; on success the flight ends in finish_frame(). */
static gboolean
submit (GstGpuFilter *self, Flight *flight, Fault *fault)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  RingFrame frame = { .src_place = flight->in_place,
    .dst_place = flight->out_place,
    .src_stream = flight->in_stream,
    .dst_stream = flight->out_stream,
    .passes = flight->writes && priv->use != GST_GPU_FILTER_WRITE,
    .compute = flight->computes ? compute_part : NULL,
    .user = flight };

  gst_frame_layout_get_image (&priv->layout, &flight->in_frame, &frame.src);
  if (flight->writes)
    gst_frame_layout_get_image (&priv->layout, &flight->out_frame, &frame.dst);
  choose_route (self, flight, &frame);
  if (!enter (self, fault))
    return FALSE;
  flight->slot = ring_acquire (priv->ring);
  if (!ring_submit (priv->ring, flight->slot, &frame, fault)) {
    /* Slots are released in order. */
    gst_frame_queue_drain (priv->queue);
    ring_release (priv->ring, flight->slot);
    leave (self);
    return FALSE;
  }
  leave (self);
  /* What has been copied or computed by now need not wait for the rest. */
  if (priv->device.gpu == NULL
      || (frame.transfer != RING_PAGEABLE && frame.src_place == RING_HOST)) {
    gst_video_frame_unmap (&flight->in_frame);
    gst_clear_buffer (&flight->in);
  }
  return TRUE;
}

/* A GstFrameQueueFinish. */
static gboolean
finish_frame (gpointer frame, GstBuffer **buffer, GstMessage **message,
    gpointer user_data)
{
  GstGpuFilter *self = user_data;
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);
  Flight *flight = frame;
  Fault fault;
  gboolean ok = enter (self, &fault);

  if (ok) {
    ok = ring_wait (priv->ring, flight->slot, &fault);
    leave (self);
  }
  land (flight);
  ring_release (priv->ring, flight->slot);
  if (!ok) {
    *message = fault_message (self, &fault);
    g_atomic_int_set (&priv->told, TRUE);
    return FALSE;
  }
  if (buffer == NULL)
    return TRUE;
  if (flight->writes)
    gst_gpu_memory_set_complete (*buffer);
  if (flight->reports)
    *message = klass->finish (self, flight->place, buffer);
  return TRUE;
}

static gboolean
map_frame (GstGpuFilter *self, GstVideoFrame *frame, GstBuffer *buffer,
    RingPlace place, GstMapFlags flags)
{
  GstVideoInfo info = PRIVATE (self)->info;

  if (gst_buffer_get_video_meta (buffer) == NULL)
    gst_gpu_memory_lay_out (buffer, &info);
  flags |= (GstMapFlags) GST_VIDEO_FRAME_MAP_FLAG_NO_REF;
  if (place == RING_DEVICE)
    flags |= (GstMapFlags) GST_GPU_MEMORY_MAP;
  return gst_video_frame_map (frame, &info, buffer, flags);
}

static gboolean
map_input (GstGpuFilter *self, Flight *flight, GstBuffer *buffer)
{
  GpuStream pending;

  flight->in_place = place_of (self, buffer);
  /* Asked before and after mapping: see gst_gpu_memory_get_pending(). */
  pending = gst_gpu_memory_get_pending (buffer);
  if (!map_frame (
          self, &flight->in_frame, buffer, flight->in_place, GST_MAP_READ))
    return FALSE;
  if (pending == NULL)
    pending = gst_gpu_memory_get_pending (buffer);
  flight->in_stream = flight->in_place == RING_DEVICE ? pending : NULL;
  return TRUE;
}

static gboolean
map_output (GstGpuFilter *self, Flight *flight, GstBuffer *buffer)
{
  flight->out_place = place_of (self, buffer);
  flight->out_stream = flight->out_place == RING_DEVICE
      ? gst_gpu_memory_get_stream (buffer)
      : NULL;
  return map_frame (
      self, &flight->out_frame, buffer, flight->out_place, GST_MAP_WRITE);
}

/* Takes both buffers; two references to one of a frame that is only read. */
static GstFlowReturn
send_frame (
    GstGpuFilter *self, GstBuffer *inbuf, GstBuffer *outbuf, gboolean reports)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);
  Flight *flight = &priv->flights[priv->next_flight];
  const gboolean was_early = priv->pushed_early;
  Fault fault;

  flight->self = self;
  flight->place = priv->next_flight;
  flight->computes = reports || priv->use == GST_GPU_FILTER_WRITE;
  flight->reports = reports;
  flight->writes = outbuf != inbuf;
  flight->out_place = RING_HOST;
  flight->out_stream = NULL;

  if (!map_input (self, flight, inbuf))
    goto invalid_input;
  if (flight->writes && !map_output (self, flight, outbuf))
    goto invalid_output;
  flight->in = inbuf;
  if (!submit (self, flight, &fault)) {
    land (flight);
    gst_buffer_unref (outbuf);
    post_fault (self, &fault);
    return GST_FLOW_ERROR;
  }
  priv->next_flight = (priv->next_flight + 1) % priv->depth;
  /* Downstream may have the result now: it waits for the memory's stream by itself. */
  priv->pushed_early = flight->out_stream != NULL && !flight->reports;
  if (!priv->pushed_early) {
    gst_frame_queue_put (priv->queue, outbuf, flight);
    return GST_FLOW_OK;
  }
  /* Its addresses hold as long as the buffer does. */
  gst_video_frame_unmap (&flight->out_frame);
  flight->writes = FALSE;
  if (!was_early) {
    const GstFlowReturn flow = gst_frame_queue_drain (priv->queue);

    if (flow != GST_FLOW_OK) {
      priv->pushed_early = FALSE;
      g_atomic_int_set (&priv->told, TRUE);
      gst_frame_queue_put (priv->queue, outbuf, flight);
      return flow;
    }
  }
  gst_frame_queue_put (priv->queue, NULL, flight);
  return gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (self), outbuf);

invalid_input:
  GST_ELEMENT_ERROR (self, STREAM, FORMAT,
      ("A buffer does not hold a frame of the negotiated format."),
      ("%" GST_PTR_FORMAT, (gpointer) inbuf));
  goto drop;
invalid_output:
  gst_video_frame_unmap (&flight->in_frame);
  GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
      ("A buffer for the result cannot be written."),
      ("%" GST_PTR_FORMAT, (gpointer) outbuf));
drop:
  gst_buffer_unref (inbuf);
  gst_buffer_unref (outbuf);
  return GST_FLOW_ERROR;
}

static GstFlowReturn
gst_gpu_filter_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstFlowReturn flow;

  /* The base class is about to negotiate buffers: not across frames. */
  if (gst_pad_needs_reconfigure (trans->srcpad))
    gst_frame_queue_drain (priv->queue);
  flow = GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
             ->submit_input_buffer (trans, is_discont, input);
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED)
    priv->discont = TRUE;
  return flow;
}

/* Whether the subclass is to finish a frame. */
static gboolean
is_wanted (GstGpuFilter *self, GstBuffer *buffer)
{
  const GstGpuFilterPrivate *priv = PRIVATE (self);
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (self);

  return priv->use != GST_GPU_FILTER_PASS && priv->reports
      && (klass->wants == NULL || klass->wants (self, buffer));
}

/* Hands the frame to the pusher instead of returning a buffer. */
static GstFlowReturn
gst_gpu_filter_generate_output (GstBaseTransform *trans, GstBuffer **outbuf)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  GstBuffer *in = trans->queued_buf, *out = NULL;
  GstFlowReturn flow;
  gboolean reports;

  *outbuf = NULL;
  trans->queued_buf = NULL;
  if (in == NULL)
    return GST_FLOW_OK;
  flow = priv->failed
      ? GST_FLOW_ERROR
      : gst_frame_queue_wait_for_room (priv->queue, MAX (priv->depth, 1));
  if (flow == GST_FLOW_OK)
    flow = GST_BASE_TRANSFORM_GET_CLASS (trans)->prepare_output_buffer (
        trans, in, &out);
  if (flow != GST_FLOW_OK) {
    g_atomic_int_set (&priv->told, TRUE);
    gst_buffer_unref (in);
    return flow;
  }

  priv->processed++;
  /* The base class keeps the position by what is returned to it. */
  if (trans->segment.format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (in))
    trans->segment.position = GST_BUFFER_PTS (in)
        + (GST_BUFFER_DURATION_IS_VALID (in) ? GST_BUFFER_DURATION (in) : 0);
  if (priv->discont) {
    out = gst_buffer_make_writable (out);
    GST_BUFFER_FLAG_SET (out, GST_BUFFER_FLAG_DISCONT);
    if (gst_base_transform_is_passthrough (trans))
      in = out;
    priv->discont = FALSE;
  }
  reports = is_wanted (self, in);
  if (out != in)
    return send_frame (self, in, out, reports);
  if (reports)
    return send_frame (self, gst_buffer_ref (in), out, reports);
  GST_OBJECT_LOCK (self);
  priv->untouched++;
  GST_OBJECT_UNLOCK (self);
  priv->pushed_early = FALSE;
  gst_frame_queue_put (priv->queue, out, NULL);
  return GST_FLOW_OK;
}

/* Events and queries: what is serialized goes behind the frames */

static gboolean
gst_gpu_filter_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));
  GstGpuFilterClass *klass = GST_GPU_FILTER_GET_CLASS (trans);
  GstFlowReturn flow;

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_EOS:
      /* There is no next buffer to tell upstream with. */
      flow = gst_frame_queue_drain (priv->queue);
      if ((flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS)
          && !g_atomic_int_get (&priv->told))
        GST_ELEMENT_FLOW_ERROR (trans, flow);
      break;
    case GST_EVENT_FLUSH_START:
      gst_frame_queue_set_flushing (priv->queue, TRUE);
      break;
    case GST_EVENT_FLUSH_STOP:
      gst_frame_queue_set_flushing (priv->queue, FALSE);
      priv->discont = FALSE;
      priv->processed = 0;
      g_atomic_int_set (&priv->told, FALSE);
      if (klass->flushed != NULL)
        klass->flushed (GST_GPU_FILTER (trans));
      break;
    case GST_EVENT_STREAM_START:
    case GST_EVENT_SEGMENT:
      gst_frame_queue_drain (priv->queue);
      /* Downstream may take frames again. */
      gst_frame_queue_forget (priv->queue, GST_FLOW_EOS);
      g_atomic_int_set (&priv->told, FALSE);
      break;
    default:
      if (GST_EVENT_IS_SERIALIZED (event))
        gst_frame_queue_drain (priv->queue);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
      ->sink_event (trans, event);
}

static gboolean
gst_gpu_filter_src_event (GstBaseTransform *trans, GstEvent *event)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));

  if (GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE) {
    gst_frame_queue_forget (priv->queue, GST_FLOW_NOT_LINKED);
    g_atomic_int_set (&priv->told, FALSE);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
      ->src_event (trans, event);
}

static gboolean
gst_gpu_filter_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));
  gboolean answered;

  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT
      && gst_gpu_device_answer_query (&priv->device, query))
    return TRUE;
  if (direction == GST_PAD_SINK && GST_QUERY_IS_SERIALIZED (query)) {
    if (!g_atomic_int_get (&priv->answers))
      return FALSE;
    gst_frame_queue_drain (priv->queue);
  }
  answered = GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
                 ->query (trans, direction, query);
  if (answered && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY) {
    gboolean live;

    gst_query_parse_latency (query, &live, NULL, NULL);
    g_atomic_int_set (&priv->patient, !live);
  }
  /* The base class puts first what needs no change of memory; but upstream's change
   * is as good as ours, and may be none. */
  if (answered && direction == GST_PAD_SINK
      && GST_QUERY_TYPE (query) == GST_QUERY_CAPS) {
    GstCaps *caps;

    gst_query_parse_caps_result (query, &caps);
    if (caps != NULL && !gst_caps_is_any (caps)) {
      caps = gst_gpu_caps_prefer_gpu (gst_caps_ref (caps));
      gst_query_set_caps_result (query, caps);
      gst_caps_unref (caps);
    }
  }
  return answered;
}

static GstCaps *
gst_gpu_filter_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (trans));
  GstCaps *other = gst_gpu_caps_transform (
      caps, direction, gst_gpu_device_has_memory (&priv->device));

  if (filter != NULL) {
    GstCaps *both =
        gst_caps_intersect_full (other, filter, GST_CAPS_INTERSECT_FIRST);

    gst_caps_unref (other);
    other = both;
  }
  return other;
}

static void
gst_gpu_filter_set_context (GstElement *element, GstContext *context)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (element));
  gint device_id;

  GST_OBJECT_LOCK (element);
  device_id = priv->device_id;
  GST_OBJECT_UNLOCK (element);
  gst_gpu_device_offer_context (&priv->device, context, device_id);
  GST_ELEMENT_CLASS (gst_gpu_filter_parent_class)
      ->set_context (element, context);
}

static GstStateChangeReturn
gst_gpu_filter_change_state (GstElement *element, GstStateChange transition)
{
  GstGpuFilterPrivate *priv = PRIVATE (GST_GPU_FILTER (element));

  /* Lets the streaming thread go, which the pads then wait for. They wait for the stream
   * lock, which is not fair: a thread that queries again and again, each time for as long
   * as it takes to make a pool, would keep it for seconds. */
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    g_atomic_int_set (&priv->answers, FALSE);
    gst_frame_queue_set_flushing (priv->queue, TRUE);
  }
  return GST_ELEMENT_CLASS (gst_gpu_filter_parent_class)
      ->change_state (element, transition);
}

/* The base class counts what is returned to it, which is nothing. */
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

/* Buffers: pinned or the GPU's wherever we may choose */

/* What downstream can take beside frames. */
static void
forward_metas (GstQuery *query, GstQuery *decide_query)
{
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  for (guint i = 0; i < gst_query_get_n_allocation_metas (decide_query); i++) {
    const GstStructure *params;
    const GType api =
        gst_query_parse_nth_allocation_meta (decide_query, i, &params);

    if (api != GST_VIDEO_META_API_TYPE)
      gst_query_add_allocation_meta (query, api, params);
  }
}

/* Offers upstream a pool that the copy engine reads from, or the GPU's own memory. */
static gboolean
gst_gpu_filter_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  GstGpuFilterPrivate *priv = PRIVATE (self);
  const GstGpuPools pools =
      gst_gpu_device_get_pools (&priv->device, !priv->pageable);
  gboolean suit, on_gpu;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (caps == NULL)
    return FALSE;
  suit = gst_gpu_pools_suit (&pools, caps);
  on_gpu = gst_gpu_caps_are_on_gpu (caps);
  if (decide_query == NULL) {
    /* In passthrough downstream's answer counts; what it leaves open is ours, and all
     * where it gives none, as a fakesink does. But not the GPU's memory: decoders
     * count on as many buffers as they are offered, and how many are kept downstream
     * is not known here. */
    const gboolean answered =
        GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
            ->propose_allocation (trans, decide_query, query);

    if (priv->use != GST_GPU_FILTER_READ || !suit || on_gpu
        || gst_query_get_n_allocation_pools (query) > 0
        || gst_query_get_n_allocation_params (query) > 0)
      return answered;
    return gst_gpu_pools_propose (&pools, query, 0);
  }
  if (!suit && !on_gpu)
    return GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
        ->propose_allocation (trans, decide_query, query);
  forward_metas (query, decide_query);
  /* Frames in flight hold their inputs. */
  return !suit || gst_gpu_pools_propose (&pools, query, priv->depth + 1);
}

static gboolean
gst_gpu_filter_decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstGpuFilter *self = GST_GPU_FILTER (trans);
  const GstGpuPools pools = gst_gpu_device_get_pools (
      &PRIVATE (self)->device, !PRIVATE (self)->pageable);

  return gst_gpu_pools_decide (
             &pools, query, (guint) GST_VIDEO_INFO_SIZE (&PRIVATE (self)->info))
      && GST_BASE_TRANSFORM_CLASS (gst_gpu_filter_parent_class)
             ->decide_allocation (trans, query);
}

/* Metas */

/* Frames keep their size, place and time, so what is said of them holds, but for what
 * was counted in them. The base class has left out metas that describe memory. */
static gboolean
gst_gpu_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  (void) trans;
  (void) outbuf;
  (void) inbuf;
  return meta->info->api != gst_video_histogram_meta_api_get_type ();
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
      (guint64) stats.bytes_down, "slices", G_TYPE_UINT64,
      (guint64) stats.parts + untouched, "up-time", G_TYPE_UINT64,
      (guint64) mean (stats.up_ns, stats.frames_timed), "compute-time",
      G_TYPE_UINT64, (guint64) mean (stats.compute_ns, stats.frames_timed),
      "down-time", G_TYPE_UINT64,
      (guint64) mean (stats.down_ns, stats.frames_timed), "in-flight-peak",
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
    case PROP_TRANSFER:
      priv->transfer = g_value_get_enum (value);
      break;
    case PROP_RING_DEPTH:
      priv->ring_depth = g_value_get_uint (value);
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
    case PROP_TRANSFER:
      g_value_set_enum (value, priv->transfer);
      break;
    case PROP_RING_DEPTH:
      g_value_set_uint (value, priv->ring_depth);
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

  gst_frame_queue_free (priv->queue);
  gst_gpu_device_clear (&priv->device);
  G_OBJECT_CLASS (gst_gpu_filter_parent_class)->finalize (object);
}

static void
gst_gpu_filter_init (GstGpuFilter *self)
{
  GstGpuFilterPrivate *priv = PRIVATE (self);

  gst_gpu_device_init (&priv->device, GST_ELEMENT (self));
  priv->backend = DEFAULT_BACKEND;
  priv->device_id = DEFAULT_DEVICE_ID;
  priv->transfer = DEFAULT_TRANSFER;
  priv->slices = 1;
  priv->queue = gst_frame_queue_new (
      GST_BASE_TRANSFORM_SRC_PAD (self), finish_frame, self);
  priv->active_backend = priv->active_method = "none";
}

static void
add_pad_templates (GstElementClass *element_class)
{
  GstCaps *caps = gst_gpu_caps_template ();

  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
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

  GST_DEBUG_CATEGORY_INIT (
      gst_gpu_filter_debug, "gpufilter", 0, "base of the CUDA video filters");

  object_class->set_property = gst_gpu_filter_set_property;
  object_class->get_property = gst_gpu_filter_get_property;
  object_class->finalize = gst_gpu_filter_finalize;
  element_class->post_message = GST_DEBUG_FUNCPTR (gst_gpu_filter_post_message);
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_gpu_filter_change_state);
  element_class->set_context = GST_DEBUG_FUNCPTR (gst_gpu_filter_set_context);
  add_pad_templates (element_class);

  properties[PROP_BACKEND] = g_param_spec_enum ("backend", "Backend",
      "Where frames are computed; the result is the same",
      GST_TYPE_GPU_FILTER_BACKEND, DEFAULT_BACKEND, writable);
  properties[PROP_CUDA_DEVICE_ID] =
      g_param_spec_int ("cuda-device-id", "CUDA device ID",
          "Number of the GPU to use (-1 = that of the application or of "
          "neighbours, else the first that is usable)",
          -1, G_MAXINT, DEFAULT_DEVICE_ID, writable);
  properties[PROP_TRANSFER] = g_param_spec_enum ("transfer", "Transfer",
      "How frames in system memory reach the GPU and come back",
      GST_TYPE_GPU_FILTER_TRANSFER, DEFAULT_TRANSFER, writable);
  properties[PROP_RING_DEPTH] = g_param_spec_uint ("ring-depth", "Ring depth",
      "Frames in flight: copied, computed and pushed at the same time (0 = 4, "
      "or 8 where they stay in the GPU's memory)",
      0, RING_MAX_DEPTH, 0, writable);
  properties[PROP_ACTIVE_BACKEND] = g_param_spec_string ("active-backend",
      "Active backend", "The backend in use: cuda, cpu, or none while stopped",
      "none", readable);
  properties[PROP_ACTIVE_METHOD] =
      g_param_spec_string ("active-method", "Active method",
          "The method in use, or none while stopped or nothing is computed",
          "none", readable);
  properties[PROP_STATS] = g_param_spec_boxed ("stats", "Statistics",
      "Since start: frames-in, frames-out, slices (parts that frames came "
      "in), bytes-up and bytes-down (over the bus), mean up-time, "
      "compute-time and down-time of a frame in nanoseconds, in-flight-peak",
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
  trans_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_propose_allocation);
  trans_class->decide_allocation =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_decide_allocation);
  /* GstVideoFilter would choose to work in place. */
  trans_class->transform_ip = NULL;
  trans_class->transform_meta =
      GST_DEBUG_FUNCPTR (gst_gpu_filter_transform_meta);
  trans_class->filter_meta = GST_DEBUG_FUNCPTR (gst_gpu_filter_filter_meta);
  filter_class->set_info = GST_DEBUG_FUNCPTR (gst_gpu_filter_set_info);

  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER_BACKEND, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_GPU_FILTER_TRANSFER, 0);
}
