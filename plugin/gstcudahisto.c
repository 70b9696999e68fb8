/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudahisto
 * @title: cudahisto
 * @short_description: counts, equalises or draws the histograms of video frames
 *
 * cudahisto counts how often each code occurs in each component of raw video, on
 * an NVIDIA GPU, or on the CPU where there is none, with the same result. With
 * mode=analyze, frames pass as they are, in the very same memory; mode=equalize
 * spreads their contrast, and counts the result; mode=overlay draws the histogram
 * into them.
 *
 * A sample of code v and `depth` bits counts in bin (v * bins) >> depth, so that
 * the bins of a component add up to its number of samples.
 *
 * With post-messages=true, each counted frame gives an element message whose
 * structure is named `cudahisto`:
 *
 * * #GstClockTime `timestamp`, `stream-time`, `running-time`, `duration`: of the
 *   frame
 * * #gint `width`, `height`, #gchararray `format`: of the frame
 * * #GST_TYPE_ARRAY `components`: of #GstStructure, each with `name`, `depth`,
 *   `samples`, `bins` (#GST_TYPE_ARRAY of #guint64), and #gdouble `min`, `max`,
 *   `mean`, `stddev`, `median`, `p1`, `p99` (codes), `entropy` (bits a sample),
 *   `dark`, `bright` (shares of the samples beyond threshold-dark and
 *   threshold-bright)
 * * #gboolean `too-dark`, `too-bright`, `flat`, `scene-change`: alarms, and what
 *   they go by: #gdouble `level` (mean brightness, 0 black, 1 white), `spread`
 *   (standard deviation in the same unit) and `distance` (0 to 1, from the frame
 *   counted before)
 *
 * With attach-meta=true, counted frames carry a GstVideoHistogramMeta.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 -m videotestsrc ! cudahisto bins=16 ! autovideosink
 * gst-launch-1.0 videotestsrc pattern=ball ! cudahisto mode=overlay ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc ! cudahisto mode=equalize equalizer=clahe ! videoconvert ! autovideosink
 * gst-launch-1.0 -m v4l2src ! cudahisto interval=1000000000 planes=luma alarm-dark=0.1 ! autovideosink
 * ]|
 */
#include "gstcudahisto.h"

#include "gsthistogrammeta.h"
#include "gsthistomodes.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_histo_debug);
#define GST_CAT_DEFAULT gst_cuda_histo_debug

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_VIDEO_CAPS_MAKE (GST_GPU_FILTER_FORMATS)));

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_VIDEO_CAPS_MAKE (GST_GPU_FILTER_FORMATS)));

#define DEFAULT_BINS 256
#define DEFAULT_PLANES GST_FRAME_PLANES_COLOR
#define DEFAULT_INTERVAL (100 * GST_MSECOND)
#define DEFAULT_POST_MESSAGES TRUE
#define DEFAULT_ATTACH_META FALSE
#define DEFAULT_THRESHOLD_DARK 0.02
#define DEFAULT_THRESHOLD_BRIGHT 0.98
#define DEFAULT_ALARM_DARK 0.05
#define DEFAULT_ALARM_BRIGHT 0.95
#define DEFAULT_ALARM_FLAT 0.01
#define DEFAULT_ALARM_SCENE 0.5
#define DEFAULT_ALARM_HYSTERESIS 0.02

enum
{
  PROP_0,
  PROP_BINS,
  PROP_PLANES,
  PROP_INTERVAL,
  PROP_POST_MESSAGES,
  PROP_ATTACH_META,
  PROP_THRESHOLD_DARK,
  PROP_THRESHOLD_BRIGHT,
  PROP_ALARM_DARK,
  PROP_ALARM_BRIGHT,
  PROP_ALARM_FLAT,
  PROP_ALARM_SCENE,
  PROP_ALARM_HYSTERESIS,
  PROP_METHOD,
};

struct _GstCudaHisto
{
  GstGpuFilter parent;

  /* Settings; protected by the object lock. */
  gint bins;
  GstFramePlanes planes;
  GstClockTime interval;
  gboolean post_messages, attach_meta;
  GstHistoThresholds thresholds;
  guint method;
  GstHistoModes modes;
  gboolean dirty; /* what plans are made for has changed since the last frame */
  gboolean touched; /* so has something that plans can follow */

  /* Of the streaming thread; the pusher reads mode, components and results. */
  GstCudaHistoMode mode;
  GstHistoComponents components;
  HistoPlan *plan;           /* of the settings, unless dirty */
  EqualizePlan *equalize;    /* of that mode, else NULL */
  OverlayPlan *overlay;      /* likewise */
  OverlaySpec *overlay_spec; /* too large for a stack */
  HistoResult **results;     /* [n_results], by the frame's place */
  guint n_results;
  guint64 last_slot; /* the interval that the last counted frame was in, + 1 */

  /* Of the pusher, and of release() while no frame is in flight. */
  guint64 told_slot; /* likewise, of frames that are not only counted */
  GstHistoReport report;
  guint64 *last; /* counters of the last frame, or NULL */
};

G_DEFINE_TYPE (GstCudaHisto, gst_cuda_histo, GST_TYPE_GPU_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    cudahisto, "cudahisto", GST_RANK_NONE, GST_TYPE_CUDA_HISTO)

/* The engine's table of methods, behind auto. */
static void
describe_method (gint i, GstGpuFilterMethod *method)
{
  method->name = histo_method (i)->name;
  method->description = histo_method (i)->description;
  method->on_cpu = histo_method (i)->backend == HISTO_CPU;
}

#define GST_TYPE_CUDA_HISTO_METHOD (method_get_type ())
static GType
method_get_type (void)
{
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type,
        gst_gpu_filter_register_methods (
            "GstCudaHistoMethod", histo_n_methods (), describe_method));
  return type;
}

static const HistoMethod *
chosen_method (guint method)
{
  return method == GST_GPU_FILTER_METHOD_AUTO
      ? NULL
      : histo_method ((gint) method - 1);
}

/* GstGpuFilter */

static GstGpuFilterBackend
gst_cuda_histo_wanted_backend (GstGpuFilter *filter)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  const HistoMethod *method;

  GST_OBJECT_LOCK (self);
  method = chosen_method (self->method);
  GST_OBJECT_UNLOCK (self);
  if (method == NULL)
    return GST_GPU_FILTER_BACKEND_AUTO;
  return method->backend == HISTO_CPU ? GST_GPU_FILTER_BACKEND_CPU
                                      : GST_GPU_FILTER_BACKEND_CUDA;
}

/* No frame is in flight. */
static void
release_results (GstCudaHisto *self)
{
  for (guint i = 0; i < self->n_results; i++)
    histo_result_free (self->results[i]);
  g_clear_pointer (&self->results, g_free);
  self->n_results = 0;
}

static void
release_plan (GstCudaHisto *self)
{
  release_results (self);
  histo_plan_free (self->plan);
  equalize_plan_free (self->equalize);
  overlay_plan_free (self->overlay);
  self->plan = NULL;
  self->equalize = NULL;
  self->overlay = NULL;
}

/* What there was of frames that others do not compare with. */
static void
forget_frames (GstCudaHisto *self)
{
  g_clear_pointer (&self->last, g_free);
  memset (&self->report, 0, sizeof self->report);
  self->last_slot = self->told_slot = 0;
}

static void
gst_cuda_histo_release (GstGpuFilter *filter)
{
  release_plan (GST_CUDA_HISTO (filter));
  forget_frames (GST_CUDA_HISTO (filter));
}

static gboolean
make_plan (GstCudaHisto *self, guint wanted, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  const Image *layout = &gst_gpu_filter_get_layout (filter)->layout;
  Gpu *gpu = gst_gpu_filter_get_gpu (filter);
  const HistoBackend backend = gpu != NULL ? HISTO_CUDA : HISTO_CPU;
  const HistoMethod *method = chosen_method (wanted);
  HistoSpec spec;

  /* backend=auto fell back to the CPU: so does the method. */
  if (method != NULL && backend == HISTO_CPU && method->backend == HISTO_CUDA)
    method = NULL;
  gst_histo_components_get_spec (&self->components, &spec);
  self->plan = histo_plan_new (&spec, layout, backend, method, gpu, fault);
  return self->plan != NULL;
}

/* Gives the plan of the mode the settings of now; makes it if there is none. */
static gboolean
follow_mode (GstCudaHisto *self, const GstHistoModes *modes,
    const GstHistoThresholds *thresholds, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  const GstFrameLayout *layout = gst_gpu_filter_get_layout (filter);
  const GstVideoInfo *info = gst_gpu_filter_get_info (filter);
  Gpu *gpu = gst_gpu_filter_get_gpu (filter);
  EqualizeSpec equalize;

  if (self->mode == GST_CUDA_HISTO_EQUALIZE) {
    gst_histo_modes_get_equalize (modes, layout, info, &equalize);
    if (self->equalize != NULL)
      return equalize_plan_update (self->equalize, &equalize, fault);
    self->equalize = equalize_plan_new (&equalize, &layout->layout,
        gpu != NULL ? EQUALIZE_CUDA : EQUALIZE_CPU, gpu, fault);
    return self->equalize != NULL;
  }
  if (self->mode == GST_CUDA_HISTO_OVERLAY) {
    gst_histo_modes_get_overlay (
        modes, &self->components, thresholds, layout, info, self->overlay_spec);
    if (self->overlay != NULL)
      return overlay_plan_update (self->overlay, self->overlay_spec, fault);
    self->overlay = overlay_plan_new (self->overlay_spec, &layout->layout,
        gpu != NULL ? OVERLAY_CUDA : OVERLAY_CPU, gpu, fault);
    return self->overlay != NULL;
  }
  return TRUE;
}

static gboolean
make_results (GstCudaHisto *self, Fault *fault)
{
  const guint depth = gst_gpu_filter_get_depth (GST_GPU_FILTER (self));

  self->results = g_new0 (HistoResult *, depth);
  self->n_results = depth;
  for (guint i = 0; i < depth; i++) {
    self->results[i] = histo_result_new (self->plan, fault);
    if (self->results[i] == NULL)
      return FALSE;
  }
  return TRUE;
}

/* Makes plan and results for the settings, if they are for others. */
static gboolean
follow_settings (GstCudaHisto *self, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  GstHistoComponents components;
  GstHistoThresholds thresholds;
  gboolean changed, touched, ok = TRUE;
  GstHistoModes modes;
  guint method;

  GST_OBJECT_LOCK (self);
  changed = self->dirty || self->plan == NULL;
  touched = changed || self->touched;
  method = self->method;
  modes = self->modes;
  thresholds = self->thresholds;
  if (changed)
    ok = gst_histo_components_init (&components,
        gst_gpu_filter_get_layout (filter), gst_gpu_filter_get_info (filter),
        self->planes, self->bins, fault);
  if (ok)
    self->dirty = self->touched = FALSE;
  GST_OBJECT_UNLOCK (self);
  if (!ok)
    return FALSE;

  if (changed) {
    gst_gpu_filter_drain (filter);
    release_plan (self);
    if (!gst_histo_components_equal (&components, &self->components))
      forget_frames (self);
    self->components = components;
    self->mode = modes.mode;
    if (!make_plan (self, method, fault))
      return FALSE;
  }
  if (touched && !follow_mode (self, &modes, &thresholds, fault))
    goto failed;
  if (self->n_results == gst_gpu_filter_get_depth (filter))
    return TRUE;
  gst_gpu_filter_drain (filter);
  release_results (self);
  if (make_results (self, fault))
    return TRUE;

failed:
  /* The next frame tries anew. */
  gst_gpu_filter_drain (filter);
  release_plan (self);
  return FALSE;
}

static gboolean
gst_cuda_histo_prepare (
    GstGpuFilter *filter, GstGpuFilterUse *use, Fault *fault)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  gboolean idle;

  GST_OBJECT_LOCK (self);
  idle = self->modes.mode == GST_CUDA_HISTO_ANALYZE && !self->post_messages
      && !self->attach_meta;
  *use = idle                                      ? GST_GPU_FILTER_PASS
      : self->modes.mode == GST_CUDA_HISTO_ANALYZE ? GST_GPU_FILTER_READ
                                                   : GST_GPU_FILTER_WRITE;
  GST_OBJECT_UNLOCK (self);
  if (idle) {
    gst_gpu_filter_set_active_method (filter, "none");
    return TRUE;
  }
  if (!follow_settings (self, fault))
    return FALSE;
  gst_gpu_filter_set_active_method (
      filter, histo_plan_method (self->plan)->name);
  return TRUE;
}

/* Whether a frame is the first in its interval of running time, of which *last_slot
 * is the last number, + 1. */
static gboolean
is_due (GstCudaHisto *self, const GstBuffer *buffer, guint64 *last_slot)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  GstClockTime interval, time = GST_CLOCK_TIME_NONE;
  guint64 slot;

  GST_OBJECT_LOCK (self);
  interval = self->interval;
  GST_OBJECT_UNLOCK (self);
  if (segment->format == GST_FORMAT_TIME)
    time = gst_segment_to_running_time (
        segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  if (interval == 0 || !GST_CLOCK_TIME_IS_VALID (time))
    return TRUE;
  slot = time / interval + 1;
  if (slot == *last_slot)
    return FALSE;
  *last_slot = slot;
  return TRUE;
}

static gboolean
gst_cuda_histo_wants (GstGpuFilter *filter, GstBuffer *buffer)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);

  return is_due (self, buffer, &self->last_slot);
}

static gboolean
gst_cuda_histo_compute (
    GstGpuFilter *filter, const RingPart *part, guint place, Fault *fault)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  HistoResult *result = self->results[place];

  /* All of the frame is needed for any of it. */
  if (!part->last)
    return TRUE;
  if (self->mode == GST_CUDA_HISTO_EQUALIZE)
    return equalize_plan_run (
               self->equalize, part->src, part->dst, part->stream, fault)
        && histo_plan_run (self->plan, part->dst, result, part->stream, fault);
  if (!histo_plan_run (self->plan, part->src, result, part->stream, fault))
    return FALSE;
  return self->mode == GST_CUDA_HISTO_ANALYZE
      || overlay_plan_run (
          self->overlay, result, part->src, part->dst, part->stream, fault);
}

static void
post_report (
    GstCudaHisto *self, const HistoResult *result, const GstBuffer *buffer)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  const GstClockTime time = GST_BUFFER_PTS (buffer);
  GstStructure *structure =
      gst_histo_report_to_structure (&self->report, &self->components, result);
  GstClockTime stream_time = GST_CLOCK_TIME_NONE;
  GstClockTime running_time = GST_CLOCK_TIME_NONE;

  if (segment->format == GST_FORMAT_TIME) {
    stream_time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, time);
    running_time = gst_segment_to_running_time (segment, GST_FORMAT_TIME, time);
  }
  gst_structure_set (structure, "timestamp", GST_TYPE_CLOCK_TIME, time,
      "stream-time", GST_TYPE_CLOCK_TIME, stream_time, "running-time",
      GST_TYPE_CLOCK_TIME, running_time, "duration", GST_TYPE_CLOCK_TIME,
      GST_BUFFER_DURATION (buffer), NULL);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self), structure));
}

/* Segments change with no frame in flight, so the one of now is the frame's. */
static void
gst_cuda_histo_finish (GstGpuFilter *filter, guint place, GstBuffer **buffer)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  const HistoResult *result = self->results[place];
  GstHistoThresholds thresholds;
  gboolean post, attach;

  if (self->mode != GST_CUDA_HISTO_ANALYZE
      && !is_due (self, *buffer, &self->told_slot))
    return;
  GST_OBJECT_LOCK (self);
  thresholds = self->thresholds;
  post = self->post_messages;
  attach = self->attach_meta;
  GST_OBJECT_UNLOCK (self);

  gst_histo_report_update (
      &self->report, &self->components, &thresholds, result, self->last);
  if (self->last == NULL)
    self->last = g_new (guint64,
        (gsize) self->components.n_components * (gsize) self->components.bins);
  gst_histo_components_copy (&self->components, result, self->last);
  if (post)
    post_report (self, result, *buffer);
  if (attach) {
    /* The memory stays the same. */
    *buffer = gst_buffer_make_writable (*buffer);
    gst_histo_components_attach (&self->components, result, *buffer);
  }
}

/* Running time may start anew, so what it was says nothing of what has been
 * counted. No frame is on its way. */
static gboolean
gst_cuda_histo_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCudaHisto *self = GST_CUDA_HISTO (trans);

  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    self->last_slot = self->told_slot = 0;
    if (self->equalize != NULL)
      equalize_plan_reset (self->equalize);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_histo_parent_class)
      ->sink_event (trans, event);
}

/* Properties */

static void
gst_cuda_histo_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaHisto *self = GST_CUDA_HISTO (object);

  GST_OBJECT_LOCK (self);
  self->touched = TRUE;
  switch (id) {
    case PROP_BINS:
      self->bins = g_value_get_int (value);
      self->dirty = TRUE;
      break;
    case PROP_PLANES:
      self->planes = (GstFramePlanes) g_value_get_flags (value);
      self->dirty = TRUE;
      break;
    case PROP_METHOD:
      self->method = (guint) g_value_get_enum (value);
      self->dirty = TRUE;
      break;
    case PROP_INTERVAL:
      self->interval = g_value_get_uint64 (value);
      break;
    case PROP_POST_MESSAGES:
      self->post_messages = g_value_get_boolean (value);
      break;
    case PROP_ATTACH_META:
      self->attach_meta = g_value_get_boolean (value);
      break;
    case PROP_THRESHOLD_DARK:
      self->thresholds.dark = g_value_get_double (value);
      break;
    case PROP_THRESHOLD_BRIGHT:
      self->thresholds.bright = g_value_get_double (value);
      break;
    case PROP_ALARM_DARK:
      self->thresholds.alarms.dark = g_value_get_double (value);
      break;
    case PROP_ALARM_BRIGHT:
      self->thresholds.alarms.bright = g_value_get_double (value);
      break;
    case PROP_ALARM_FLAT:
      self->thresholds.alarms.flat = g_value_get_double (value);
      break;
    case PROP_ALARM_SCENE:
      self->thresholds.alarms.change = g_value_get_double (value);
      break;
    case PROP_ALARM_HYSTERESIS:
      self->thresholds.alarms.hysteresis = g_value_get_double (value);
      break;
    default:
      if (!gst_histo_modes_set (&self->modes, id, value, &self->dirty))
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_cuda_histo_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaHisto *self = GST_CUDA_HISTO (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BINS:
      g_value_set_int (value, self->bins);
      break;
    case PROP_PLANES:
      g_value_set_flags (value, self->planes);
      break;
    case PROP_METHOD:
      g_value_set_enum (value, (gint) self->method);
      break;
    case PROP_INTERVAL:
      g_value_set_uint64 (value, self->interval);
      break;
    case PROP_POST_MESSAGES:
      g_value_set_boolean (value, self->post_messages);
      break;
    case PROP_ATTACH_META:
      g_value_set_boolean (value, self->attach_meta);
      break;
    case PROP_THRESHOLD_DARK:
      g_value_set_double (value, self->thresholds.dark);
      break;
    case PROP_THRESHOLD_BRIGHT:
      g_value_set_double (value, self->thresholds.bright);
      break;
    case PROP_ALARM_DARK:
      g_value_set_double (value, self->thresholds.alarms.dark);
      break;
    case PROP_ALARM_BRIGHT:
      g_value_set_double (value, self->thresholds.alarms.bright);
      break;
    case PROP_ALARM_FLAT:
      g_value_set_double (value, self->thresholds.alarms.flat);
      break;
    case PROP_ALARM_SCENE:
      g_value_set_double (value, self->thresholds.alarms.change);
      break;
    case PROP_ALARM_HYSTERESIS:
      g_value_set_double (value, self->thresholds.alarms.hysteresis);
      break;
    default:
      if (!gst_histo_modes_get (&self->modes, id, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

/* GObject */

static void
gst_cuda_histo_finalize (GObject *object)
{
  g_free (GST_CUDA_HISTO (object)->overlay_spec);
  G_OBJECT_CLASS (gst_cuda_histo_parent_class)->finalize (object);
}

static void
gst_cuda_histo_init (GstCudaHisto *self)
{
  gst_histo_modes_init (&self->modes);
  self->overlay_spec = g_new0 (OverlaySpec, 1);
  self->bins = DEFAULT_BINS;
  self->planes = DEFAULT_PLANES;
  self->interval = DEFAULT_INTERVAL;
  self->post_messages = DEFAULT_POST_MESSAGES;
  self->attach_meta = DEFAULT_ATTACH_META;
  self->thresholds.dark = DEFAULT_THRESHOLD_DARK;
  self->thresholds.bright = DEFAULT_THRESHOLD_BRIGHT;
  self->thresholds.alarms =
      (AlarmSettings){ DEFAULT_ALARM_DARK, DEFAULT_ALARM_BRIGHT,
        DEFAULT_ALARM_FLAT, DEFAULT_ALARM_SCENE, DEFAULT_ALARM_HYSTERESIS };
  self->method = GST_GPU_FILTER_METHOD_AUTO;
}

static void
install_counting_properties (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_BINS,
      g_param_spec_int ("bins", "Bins",
          "Counters a component; code v of d bits counts in (v * bins) >> d",
          HISTO_MIN_BINS, HISTO_MAX_BINS, DEFAULT_BINS, flags));
  g_object_class_install_property (object_class, PROP_PLANES,
      g_param_spec_flags ("planes", "Planes",
          "The components to count. RGB has neither luma nor chroma alone",
          GST_TYPE_FRAME_PLANES, DEFAULT_PLANES, flags));
  g_object_class_install_property (object_class, PROP_INTERVAL,
      g_param_spec_uint64 ("interval", "Interval",
          "Running time between counted frames in nanoseconds, the others pass "
          "untouched (0 = count every frame)",
          0, G_MAXUINT64, DEFAULT_INTERVAL, flags));
  g_object_class_install_property (object_class, PROP_POST_MESSAGES,
      g_param_spec_boolean ("post-messages", "Post messages",
          "Post an element message for each counted frame",
          DEFAULT_POST_MESSAGES, flags));
  g_object_class_install_property (object_class, PROP_ATTACH_META,
      g_param_spec_boolean ("attach-meta", "Attach meta",
          "Attach a GstVideoHistogramMeta to each counted frame",
          DEFAULT_ATTACH_META, flags));
  g_object_class_install_property (object_class, PROP_METHOD,
      g_param_spec_enum ("method", "Method",
          "How to count; the result is the same", GST_TYPE_CUDA_HISTO_METHOD,
          GST_GPU_FILTER_METHOD_AUTO, flags));
}

static void
install_level (GObjectClass *object_class, guint id, const gchar *name,
    const gchar *nick, const gchar *blurb, gdouble value, GParamFlags flags)
{
  g_object_class_install_property (object_class, id,
      g_param_spec_double (name, nick, blurb, 0.0, 1.0, value, flags));
}

static void
install_alarm_properties (GObjectClass *object_class, GParamFlags flags)
{
  install_level (object_class, PROP_THRESHOLD_DARK, "threshold-dark",
      "Dark threshold",
      "Samples up to this level count as dark, by the nominal range: "
      "0 = black, 1 = white",
      DEFAULT_THRESHOLD_DARK, flags);
  install_level (object_class, PROP_THRESHOLD_BRIGHT, "threshold-bright",
      "Bright threshold",
      "Samples from this level on count as bright, by the nominal range",
      DEFAULT_THRESHOLD_BRIGHT, flags);
  install_level (object_class, PROP_ALARM_DARK, "alarm-dark", "Dark alarm",
      "too-dark is on while the mean brightness is below this",
      DEFAULT_ALARM_DARK, flags);
  install_level (object_class, PROP_ALARM_BRIGHT, "alarm-bright",
      "Bright alarm",
      "too-bright is on while the mean brightness is above this",
      DEFAULT_ALARM_BRIGHT, flags);
  install_level (object_class, PROP_ALARM_FLAT, "alarm-flat", "Flat alarm",
      "flat is on while the standard deviation of the brightness is below "
      "this, as of a covered camera",
      DEFAULT_ALARM_FLAT, flags);
  install_level (object_class, PROP_ALARM_SCENE, "alarm-scene", "Scene alarm",
      "scene-change is on when the histogram differs from the last by more: "
      "0 = same, 1 = nothing in common",
      DEFAULT_ALARM_SCENE, flags);
  install_level (object_class, PROP_ALARM_HYSTERESIS, "alarm-hysteresis",
      "Alarm hysteresis", "How far beyond its level an alarm goes off again",
      DEFAULT_ALARM_HYSTERESIS, flags);
}

static void
gst_cuda_histo_class_init (GstCudaHistoClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstGpuFilterClass *filter_class = GST_GPU_FILTER_CLASS (klass);
  const GParamFlags flags =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;

  GST_DEBUG_CATEGORY_INIT (
      gst_cuda_histo_debug, "cudahisto", 0, "CUDA histogram");

  object_class->set_property = gst_cuda_histo_set_property;
  object_class->get_property = gst_cuda_histo_get_property;
  object_class->finalize = gst_cuda_histo_finalize;
  install_counting_properties (object_class, flags);
  install_alarm_properties (object_class, flags);
  gst_histo_modes_install (object_class, flags);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "CUDA histogram",
      "Filter/Analyzer/Video/Hardware",
      "Counts the histograms of video frames, tells when they are too dark, too "
      "bright, flat, or of another scene; equalises frames or draws into them",
      "gst-cudasepconv developers");

  GST_BASE_TRANSFORM_CLASS (klass)->sink_event =
      GST_DEBUG_FUNCPTR (gst_cuda_histo_sink_event);
  filter_class->wanted_backend =
      GST_DEBUG_FUNCPTR (gst_cuda_histo_wanted_backend);
  filter_class->prepare = GST_DEBUG_FUNCPTR (gst_cuda_histo_prepare);
  filter_class->wants = GST_DEBUG_FUNCPTR (gst_cuda_histo_wants);
  filter_class->compute = GST_DEBUG_FUNCPTR (gst_cuda_histo_compute);
  filter_class->finish = GST_DEBUG_FUNCPTR (gst_cuda_histo_finish);
  filter_class->release = GST_DEBUG_FUNCPTR (gst_cuda_histo_release);

  /* For buffers that come before the first meta. */
  (void) gst_video_histogram_meta_get_info ();
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_HISTO_METHOD, 0);
}
