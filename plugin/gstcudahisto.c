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
 * With post-messages=true, each frame that is told of gives an element message whose
 * structure is named `cudahisto`:
 *
 * * #GstClockTime `timestamp`, `stream-time`, `running-time`, `duration`: of the
 *   frame
 * * #gint `width`, `height`, #gchararray `format`: of the frame
 * * #GST_TYPE_ARRAY `components`: of #GstStructure, each with `name`, `depth`,
 *   `samples`, `bins` (#GST_TYPE_ARRAY of #guint64), `counts` (the same counters
 *   as #GBytes, native #guint64), and #gdouble `min`, `max`,
 *   `mean`, `stddev`, `median`, `p1`, `p99` (codes), `entropy` (bits a sample),
 *   `dark`, `bright` (shares of the samples beyond threshold-dark and
 *   threshold-bright)
 * * #gboolean `too-dark`, `too-bright`, `flat`, `scene-change`: alarms, and what
 *   they go by: #gdouble `level` (mean brightness, 0 black, 1 white), `spread`
 *   (standard deviation in the same unit) and `distance` (0 to 1, from the frame
 *   counted before)
 *
 * With attach-meta=true, frames that are told of carry a GstVideoHistogramMeta.
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

#include "gsthistocounter.h"
#include "gsthistogrammeta.h"
#include "gsthistomodes.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_histo_debug);
#define GST_CAT_DEFAULT gst_cuda_histo_debug

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

  GstHistoCounter counter; /* with settings and fields of either thread */

  /* Settings; protected by the object lock. */
  GstHistoModes modes;
  gboolean touched; /* something that the mode's plan follows has changed */

  /* Of the streaming thread. */
  GstCudaHistoMode mode;
  GstHistoModes made;        /* what the plans below are made for */
  EqualizePlan *equalize;    /* of that mode, else NULL */
  OverlayPlan *overlay;      /* likewise */
  OverlaySpec *overlay_spec; /* too large for a stack */
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
  method->backend = histo_method (i)->backend;
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

/* GstGpuFilter */

static GstGpuFilterBackend
gst_cuda_histo_wanted_backend (GstGpuFilter *filter)
{
  return gst_histo_counter_wanted_backend (&GST_CUDA_HISTO (filter)->counter);
}

/* No frame is in flight. */
static void
release_mode (GstGpuFilter *filter)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);

  equalize_plan_free (self->equalize);
  overlay_plan_free (self->overlay);
  self->equalize = NULL;
  self->overlay = NULL;
}

static void
gst_cuda_histo_release (GstGpuFilter *filter)
{
  release_mode (filter);
  gst_histo_counter_release (&GST_CUDA_HISTO (filter)->counter);
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
        gst_gpu_filter_get_backend (filter), gpu, fault);
    return self->equalize != NULL;
  }
  if (self->mode == GST_CUDA_HISTO_OVERLAY) {
    gst_histo_modes_get_overlay (modes, &self->counter.components, thresholds,
        layout, info, self->overlay_spec);
    if (self->overlay != NULL)
      return overlay_plan_update (self->overlay, self->overlay_spec, fault);
    self->overlay = overlay_plan_new (self->overlay_spec, &layout->layout,
        gst_gpu_filter_get_backend (filter), gpu, fault);
    return self->overlay != NULL;
  }
  return TRUE;
}

/* Frees the mode's plan; frames are of this mode from now on. */
static void
leave_mode (GstCudaHisto *self, GstCudaHistoMode mode)
{
  gst_gpu_filter_drain (GST_GPU_FILTER (self));
  release_mode (GST_GPU_FILTER (self));
  if ((mode == GST_CUDA_HISTO_EQUALIZE)
      != (self->mode == GST_CUDA_HISTO_EQUALIZE))
    gst_histo_counter_forget (&self->counter);
  self->mode = mode;
}

/* Everything for the settings of now. */
static gboolean
follow_settings (GstCudaHisto *self, Fault *fault)
{
  GstGpuFilter *filter = GST_GPU_FILTER (self);
  GstHistoThresholds thresholds;
  GstHistoModes modes;
  gboolean touched;

  if (!gst_histo_counter_follow (&self->counter, release_mode, fault))
    return FALSE;
  GST_OBJECT_LOCK (self);
  touched = self->touched;
  self->touched = FALSE;
  modes = self->modes;
  thresholds = self->counter.settings.thresholds;
  GST_OBJECT_UNLOCK (self);

  if (modes.mode != self->mode || !gst_histo_modes_fit (&modes, &self->made)) {
    leave_mode (self, modes.mode);
    self->made = modes;
  }
  if (!touched
      && (self->mode == GST_CUDA_HISTO_ANALYZE || self->equalize != NULL
          || self->overlay != NULL))
    return TRUE;
  if (follow_mode (self, &modes, &thresholds, fault))
    return TRUE;
  /* The next frame tries anew. */
  gst_gpu_filter_drain (filter);
  release_mode (filter);
  return FALSE;
}

static gboolean
gst_cuda_histo_prepare (
    GstGpuFilter *filter, GstGpuFilterUse *use, Fault *fault)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  gboolean told, idle;

  GST_OBJECT_LOCK (self);
  told = gst_histo_counter_is_wanted (&self->counter);
  idle = self->modes.mode == GST_CUDA_HISTO_ANALYZE && !told;
  GST_OBJECT_UNLOCK (self);
  gst_histo_counter_set_told (&self->counter, told);
  if (idle) {
    if (self->mode != GST_CUDA_HISTO_ANALYZE)
      leave_mode (self, GST_CUDA_HISTO_ANALYZE);
    *use = GST_GPU_FILTER_PASS;
    gst_gpu_filter_set_active_method (filter, "none");
    return TRUE;
  }
  if (!follow_settings (self, fault))
    return FALSE;
  if (self->mode == GST_CUDA_HISTO_ANALYZE)
    *use = GST_GPU_FILTER_READ;
  gst_gpu_filter_set_reports (filter, told);
  gst_gpu_filter_set_active_method (
      filter, histo_plan_method (self->counter.plan)->name);
  return TRUE;
}

static gboolean
gst_cuda_histo_wants (GstGpuFilter *filter, GstBuffer *buffer)
{
  return gst_histo_counter_wants (&GST_CUDA_HISTO (filter)->counter, buffer);
}

static gboolean
gst_cuda_histo_compute (
    GstGpuFilter *filter, const RingPart *part, guint place, Fault *fault)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  const gboolean equalizes = self->mode == GST_CUDA_HISTO_EQUALIZE;
  const HistoResult *result;

  /* All of the frame is needed for any of it. */
  if (!part->last)
    return TRUE;
  if (equalizes
      && !equalize_plan_run (
          self->equalize, part->src, part->dst, part->stream, fault))
    return FALSE;
  /* What has been equalized is counted for messages and metas only. */
  if (equalizes && !gst_gpu_filter_get_reported (filter, place))
    return TRUE;
  result = gst_histo_counter_count (&self->counter,
      equalizes ? part->dst : part->src, place, part->stream,
      equalizes ? GPU_AFTER_KERNELS : part->order, fault);
  if (result == NULL)
    return FALSE;
  return self->mode != GST_CUDA_HISTO_OVERLAY
      || overlay_plan_run (
          self->overlay, result, part->src, part->dst, part->stream, fault);
}

static GstMessage *
gst_cuda_histo_finish (GstGpuFilter *filter, guint place, GstBuffer **buffer)
{
  return gst_histo_counter_tell (
      &GST_CUDA_HISTO (filter)->counter, place, buffer);
}

/* What running time was says nothing of what has been counted. */
static void
gst_cuda_histo_flushed (GstGpuFilter *filter)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);

  gst_histo_counter_restart (&self->counter);
  if (self->equalize != NULL)
    equalize_plan_reset (self->equalize);
}

/* Neither alarms nor tables go on from another stream's frames. */
static void
gst_cuda_histo_new_stream (GstGpuFilter *filter)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);

  gst_histo_counter_begin_anew (&self->counter);
  if (self->equalize != NULL)
    equalize_plan_reset (self->equalize);
}

/* Properties */

/* The setting behind a property of type double, or NULL. */
static gdouble *
find_level (GstHistoSettings *settings, guint id)
{
  switch (id) {
    case PROP_THRESHOLD_DARK:
      return &settings->thresholds.dark;
    case PROP_THRESHOLD_BRIGHT:
      return &settings->thresholds.bright;
    case PROP_ALARM_DARK:
      return &settings->thresholds.alarms.dark;
    case PROP_ALARM_BRIGHT:
      return &settings->thresholds.alarms.bright;
    case PROP_ALARM_FLAT:
      return &settings->thresholds.alarms.flat;
    case PROP_ALARM_SCENE:
      return &settings->thresholds.alarms.change;
    case PROP_ALARM_HYSTERESIS:
      return &settings->thresholds.alarms.hysteresis;
    default:
      return NULL;
  }
}

static void
gst_cuda_histo_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaHisto *self = GST_CUDA_HISTO (object);
  GstHistoSettings *settings = &self->counter.settings;
  gdouble *level = find_level (settings, id);

  GST_OBJECT_LOCK (self);
  self->touched = TRUE;
  switch (id) {
    case PROP_BINS:
      settings->bins = g_value_get_int (value);
      self->counter.dirty = TRUE;
      break;
    case PROP_PLANES:
      settings->planes = (GstFramePlanes) g_value_get_flags (value);
      self->counter.dirty = TRUE;
      break;
    case PROP_METHOD:
      settings->method = (guint) g_value_get_enum (value);
      self->counter.dirty = TRUE;
      break;
    case PROP_INTERVAL:
      settings->interval = g_value_get_uint64 (value);
      break;
    case PROP_POST_MESSAGES:
      settings->post_messages = g_value_get_boolean (value);
      break;
    case PROP_ATTACH_META:
      settings->attach_meta = g_value_get_boolean (value);
      break;
    default:
      if (level != NULL)
        *level = g_value_get_double (value);
      else if (!gst_histo_modes_set (&self->modes, id, value))
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
  GstHistoSettings *settings = &self->counter.settings;
  const gdouble *level = find_level (settings, id);

  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_BINS:
      g_value_set_int (value, settings->bins);
      break;
    case PROP_PLANES:
      g_value_set_flags (value, settings->planes);
      break;
    case PROP_METHOD:
      g_value_set_enum (value, (gint) settings->method);
      break;
    case PROP_INTERVAL:
      g_value_set_uint64 (value, settings->interval);
      break;
    case PROP_POST_MESSAGES:
      g_value_set_boolean (value, settings->post_messages);
      break;
    case PROP_ATTACH_META:
      g_value_set_boolean (value, settings->attach_meta);
      break;
    default:
      if (level != NULL)
        g_value_set_double (value, *level);
      else if (!gst_histo_modes_get (&self->modes, id, value))
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
  gst_histo_counter_init (&self->counter, GST_GPU_FILTER (self));
  gst_histo_modes_init (&self->modes);
  self->overlay_spec = g_new0 (OverlaySpec, 1);
}

static void
install_counting_properties (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_BINS,
      g_param_spec_int ("bins", "Bins",
          "Counters a component; code v of d bits counts in (v * bins) >> d",
          HISTO_MIN_BINS, HISTO_MAX_BINS, GST_HISTO_DEFAULT_BINS, flags));
  g_object_class_install_property (object_class, PROP_PLANES,
      g_param_spec_flags ("planes", "Planes",
          "The components to count. RGB has neither luma nor chroma alone",
          GST_TYPE_FRAME_PLANES, GST_HISTO_DEFAULT_PLANES, flags));
  g_object_class_install_property (object_class, PROP_INTERVAL,
      g_param_spec_uint64 ("interval", "Interval",
          "Running time between frames that are told of, in nanoseconds; "
          "mode=analyze counts no others (0 = every frame)",
          0, G_MAXUINT64, GST_HISTO_DEFAULT_INTERVAL, flags));
  g_object_class_install_property (object_class, PROP_POST_MESSAGES,
      g_param_spec_boolean ("post-messages", "Post messages",
          "Post an element message for each frame that is told of",
          GST_HISTO_DEFAULT_POST_MESSAGES, flags));
  g_object_class_install_property (object_class, PROP_ATTACH_META,
      g_param_spec_boolean ("attach-meta", "Attach meta",
          "Attach a GstVideoHistogramMeta to each frame that is told of",
          GST_HISTO_DEFAULT_ATTACH_META, flags));
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
      GST_HISTO_DEFAULT_THRESHOLD_DARK, flags);
  install_level (object_class, PROP_THRESHOLD_BRIGHT, "threshold-bright",
      "Bright threshold",
      "Samples from this level on count as bright, by the nominal range",
      GST_HISTO_DEFAULT_THRESHOLD_BRIGHT, flags);
  install_level (object_class, PROP_ALARM_DARK, "alarm-dark", "Dark alarm",
      "too-dark is on while the mean brightness is below this",
      GST_HISTO_DEFAULT_ALARM_DARK, flags);
  install_level (object_class, PROP_ALARM_BRIGHT, "alarm-bright",
      "Bright alarm",
      "too-bright is on while the mean brightness is above this",
      GST_HISTO_DEFAULT_ALARM_BRIGHT, flags);
  install_level (object_class, PROP_ALARM_FLAT, "alarm-flat", "Flat alarm",
      "flat is on while the standard deviation of the brightness is below "
      "this, as of a covered camera",
      GST_HISTO_DEFAULT_ALARM_FLAT, flags);
  install_level (object_class, PROP_ALARM_SCENE, "alarm-scene", "Scene alarm",
      "scene-change is on when the histogram differs from the last by more: "
      "0 = same, 1 = nothing in common",
      GST_HISTO_DEFAULT_ALARM_SCENE, flags);
  install_level (object_class, PROP_ALARM_HYSTERESIS, "alarm-hysteresis",
      "Alarm hysteresis", "How far beyond its level an alarm goes off again",
      GST_HISTO_DEFAULT_ALARM_HYSTERESIS, flags);
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

  gst_element_class_set_static_metadata (element_class, "CUDA histogram",
      "Filter/Analyzer/Video/Hardware",
      "Counts the histograms of video frames, tells when they are too dark, too "
      "bright, flat, or of another scene; equalises frames or draws into them",
      "gst-cudasepconv developers");

  filter_class->wanted_backend =
      GST_DEBUG_FUNCPTR (gst_cuda_histo_wanted_backend);
  filter_class->prepare = GST_DEBUG_FUNCPTR (gst_cuda_histo_prepare);
  filter_class->wants = GST_DEBUG_FUNCPTR (gst_cuda_histo_wants);
  filter_class->compute = GST_DEBUG_FUNCPTR (gst_cuda_histo_compute);
  filter_class->finish = GST_DEBUG_FUNCPTR (gst_cuda_histo_finish);
  filter_class->flushed = GST_DEBUG_FUNCPTR (gst_cuda_histo_flushed);
  filter_class->new_stream = GST_DEBUG_FUNCPTR (gst_cuda_histo_new_stream);
  filter_class->release = GST_DEBUG_FUNCPTR (gst_cuda_histo_release);

  /* For buffers that come before the first meta. */
  (void) gst_video_histogram_meta_get_info ();
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_HISTO_METHOD, 0);
}
