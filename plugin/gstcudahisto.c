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
 * With post-messages=true, each reported frame gives an element message whose
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
 * * #gboolean `too-dark`, `too-bright`, `flat`, `scene-change`: alarms, and the
 *   numbers that they follow from: #gdouble `level` (mean brightness, 0 black,
 *   1 white), `spread` (standard deviation in the same unit) and `distance` (0 to 1,
 *   from the last counted frame)
 *
 * With attach-meta=true, reported frames carry a GstCudaHistogramMeta.
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

struct _GstCudaHisto
{
  GstGpuFilter parent;

  GstHistoCounter counter; /* its header says which thread owns which field */

  /* Settings; protected by the object lock. */
  GstHistoModes modes;
  gboolean touched; /* a property has changed since the last frame */

  /* Owned by the streaming thread. */
  GstCudaHistoMode mode;
  GstHistoModes made;     /* the settings that the plans below were made for */
  EqualizePlan *equalize; /* NULL unless mode is equalize */
  OverlayPlan *overlay;   /* NULL unless mode is overlay */
  OverlaySpec *overlay_spec; /* too large for a stack */
};

G_DEFINE_TYPE (GstCudaHisto, gst_cuda_histo, GST_TYPE_GPU_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    cudahisto, "cudahisto", GST_RANK_NONE, GST_TYPE_CUDA_HISTO)

/* GstGpuFilter */

static GstGpuFilterBackend
gst_cuda_histo_needed_backend (GstGpuFilter *filter)
{
  return gst_histo_counter_needed_backend (&GST_CUDA_HISTO (filter)->counter);
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

/* Updates the plan of the mode to the current settings, or makes one if there is none. */
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

static const gchar *
mode_text (GstCudaHistoMode mode)
{
  switch (mode) {
    case GST_CUDA_HISTO_EQUALIZE:
      return "equalize: frames are equalised, and the result is counted";
    case GST_CUDA_HISTO_OVERLAY:
      return "overlay: frames are counted, and the histogram is drawn into them";
    default:
      return "analyze: frames are counted only";
  }
}

/* Frees the plan of the current mode, and changes to `mode`. */
static void
change_mode (GstCudaHisto *self, GstCudaHistoMode mode)
{
  gst_gpu_filter_drain (GST_GPU_FILTER (self));
  release_mode (GST_GPU_FILTER (self));
  if ((mode == GST_CUDA_HISTO_EQUALIZE)
      != (self->mode == GST_CUDA_HISTO_EQUALIZE))
    gst_histo_counter_forget (&self->counter);
  self->mode = mode;
  GST_INFO_OBJECT (self, "mode %s", mode_text (mode));
}

static gboolean
has_plans (const GstCudaHisto *self)
{
  return self->counter.plan != NULL
      && (self->mode == GST_CUDA_HISTO_ANALYZE || self->equalize != NULL
          || self->overlay != NULL);
}

/* Makes or updates the plans for the current settings. */
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
    change_mode (self, modes.mode);
    self->made = modes;
  }
  if (!touched && has_plans (self))
    return TRUE;
  if (follow_mode (self, &modes, &thresholds, fault))
    return TRUE;
  /* The next frame tries again. */
  gst_gpu_filter_drain (filter);
  release_mode (filter);
  return FALSE;
}

/* With the object lock held: whether frames are counted, or changed by their histogram. */
static gboolean
is_active (const GstCudaHisto *self)
{
  return self->modes.mode != GST_CUDA_HISTO_ANALYZE
      || gst_histo_counter_has_reports (&self->counter);
}

/* With the object lock held: the planes that a format must have. Every format has color. */
static GstFramePlanes
needed_planes (const GstCudaHisto *self)
{
  const GstFramePlanes planes = self->counter.settings.planes;

  return !is_active (self)
          || (planes & GST_FRAME_PLANES_COLOR) == GST_FRAME_PLANES_COLOR
      ? GST_FRAME_PLANES_COLOR
      : planes;
}

static gboolean
gst_cuda_histo_takes_format (
    GstGpuFilter *filter, const GstVideoFormatInfo *format, Fault *why)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  GstFramePlanes planes;

  GST_OBJECT_LOCK (self);
  planes = needed_planes (self);
  GST_OBJECT_UNLOCK (self);
  return gst_histo_components_check (planes, format, why);
}

/* Leaves frames untouched and uncounted. */
static void
pass_frames (GstCudaHisto *self, GstGpuFilterUse *use)
{
  if (self->mode != GST_CUDA_HISTO_ANALYZE)
    change_mode (self, GST_CUDA_HISTO_ANALYZE);
  *use = GST_GPU_FILTER_PASS;
  gst_gpu_filter_set_active_method (GST_GPU_FILTER (self), "none");
}

static gboolean
gst_cuda_histo_prepare (
    GstGpuFilter *filter, GstGpuFilterUse *use, Fault *fault)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  GstGpuFilterFit fit = gst_gpu_filter_check_caps (filter, fault);
  gboolean reports, active;
  Fault why;

  GST_OBJECT_LOCK (self);
  reports = gst_histo_counter_has_reports (&self->counter);
  active = is_active (self);
  GST_OBJECT_UNLOCK (self);
  gst_histo_counter_set_reports (&self->counter, reports);
  if (active && fit != GST_GPU_FILTER_AWAITS_CAPS
      && !follow_settings (self, fault)) {
    /* Have the settings changed since the check? */
    if (fit == GST_GPU_FILTER_FITS)
      fit = gst_gpu_filter_check_caps (filter, &why);
    if (fit != GST_GPU_FILTER_AWAITS_CAPS)
      return FALSE;
  }
  if (!active || (fit == GST_GPU_FILTER_AWAITS_CAPS && !has_plans (self))) {
    pass_frames (self, use);
    return TRUE;
  }
  if (fit == GST_GPU_FILTER_AWAITS_CAPS
      && !gst_histo_counter_keep (&self->counter, fault))
    return FALSE;
  if (self->mode == GST_CUDA_HISTO_ANALYZE)
    *use = GST_GPU_FILTER_READ;
  gst_gpu_filter_set_reports (filter, reports);
  gst_gpu_filter_set_active_method (
      filter, histo_plan_method (self->counter.plan)->name);
  return TRUE;
}

static gboolean
gst_cuda_histo_is_due (GstGpuFilter *filter, GstBuffer *buffer)
{
  return gst_histo_counter_is_due (&GST_CUDA_HISTO (filter)->counter, buffer);
}

static gboolean
gst_cuda_histo_compute (
    GstGpuFilter *filter, const RingPart *part, guint slot_index, Fault *fault)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);
  const gboolean equalizes = self->mode == GST_CUDA_HISTO_EQUALIZE;
  const HistoResult *result;

  /* Counting, equalising and drawing need the whole frame. */
  if (!part->last)
    return TRUE;
  if (equalizes
      && !equalize_plan_run (
          self->equalize, part->src, part->dst, part->stream, fault))
    return FALSE;
  /* An equalised frame is counted only if it is reported. */
  if (equalizes && !gst_gpu_filter_get_reported (filter, slot_index))
    return TRUE;
  result = gst_histo_counter_count (&self->counter,
      equalizes ? part->dst : part->src, slot_index, part->stream,
      equalizes ? GPU_AFTER_KERNELS : part->order, fault);
  if (result == NULL)
    return FALSE;
  return self->mode != GST_CUDA_HISTO_OVERLAY
      || overlay_plan_run (
          self->overlay, result, part->src, part->dst, part->stream, fault);
}

static GstMessage *
gst_cuda_histo_finish (
    GstGpuFilter *filter, guint slot_index, GstBuffer **buffer)
{
  return gst_histo_counter_report (
      &GST_CUDA_HISTO (filter)->counter, slot_index, buffer);
}

/* The stream goes on, so that alarms still compare with the frames before the flush. */
static void
gst_cuda_histo_flushed (GstGpuFilter *filter)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);

  gst_histo_counter_restart (&self->counter);
  if (self->equalize != NULL)
    equalize_plan_reset (self->equalize);
}

/* Alarms and the equaliser's tables do not continue from the frames of another stream. */
static void
gst_cuda_histo_new_stream (GstGpuFilter *filter)
{
  GstCudaHisto *self = GST_CUDA_HISTO (filter);

  gst_histo_counter_begin_anew (&self->counter);
  if (self->equalize != NULL)
    equalize_plan_reset (self->equalize);
}

/* Properties */

static void
gst_cuda_histo_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaHisto *self = GST_CUDA_HISTO (object);
  GstFramePlanes before;
  gboolean renegotiates;

  GST_OBJECT_LOCK (self);
  before = needed_planes (self);
  self->touched = TRUE;
  if (!gst_histo_counter_set_property (&self->counter, id, value)
      && !gst_histo_modes_set (&self->modes, id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  renegotiates = needed_planes (self) != before;
  GST_OBJECT_UNLOCK (self);
  /* See gst_cuda_histo_takes_format(). */
  if (renegotiates)
    gst_base_transform_reconfigure_sink (GST_BASE_TRANSFORM (self));
}

static void
gst_cuda_histo_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaHisto *self = GST_CUDA_HISTO (object);

  GST_OBJECT_LOCK (self);
  if (!gst_histo_counter_get_property (&self->counter, id, value)
      && !gst_histo_modes_get (&self->modes, id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
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
  gst_histo_counter_init (
      &self->counter, GST_GPU_FILTER (self), GST_CAT_DEFAULT);
  gst_histo_modes_init (&self->modes);
  self->overlay_spec = g_new0 (OverlaySpec, 1);
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
  gst_histo_settings_install (object_class, flags);
  gst_histo_modes_install (object_class, flags);

  gst_element_class_set_static_metadata (element_class,
      "Histogram, equalize, CLAHE (CUDA or CPU)",
      "Filter/Analyzer/Video/Hardware",
      "Counts the histogram of each video frame and reports frames that are too "
      "dark, too bright, flat or of a new scene. Can equalize the contrast "
      "(global or CLAHE) or draw the histogram into the frame",
      "gst-cudasepconv developers");

  filter_class->takes_format = GST_DEBUG_FUNCPTR (gst_cuda_histo_takes_format);
  filter_class->needed_backend =
      GST_DEBUG_FUNCPTR (gst_cuda_histo_needed_backend);
  filter_class->prepare = GST_DEBUG_FUNCPTR (gst_cuda_histo_prepare);
  filter_class->is_due = GST_DEBUG_FUNCPTR (gst_cuda_histo_is_due);
  filter_class->compute = GST_DEBUG_FUNCPTR (gst_cuda_histo_compute);
  filter_class->finish = GST_DEBUG_FUNCPTR (gst_cuda_histo_finish);
  filter_class->flushed = GST_DEBUG_FUNCPTR (gst_cuda_histo_flushed);
  filter_class->new_stream = GST_DEBUG_FUNCPTR (gst_cuda_histo_new_stream);
  filter_class->release = GST_DEBUG_FUNCPTR (gst_cuda_histo_release);

  /* Applications look the types up by name, even before the first meta is attached. */
  (void) gst_cuda_histogram_meta_get_info ();
}
