/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistocounter.h"

#include "gsthistogrammeta.h"

#define LOG(level, self, ...) \
  GST_CAT_LEVEL_LOG ( \
      (self)->category, GST_LEVEL_##level, (self)->filter, __VA_ARGS__)

void
gst_histo_counter_init (
    GstHistoCounter *self, GstGpuFilter *filter, GstDebugCategory *category)
{
  memset (self, 0, sizeof *self);
  self->filter = filter;
  self->category = category;
  gst_histo_counter_restart (self);
  self->last_interval = GST_CLOCK_TIME_NONE;
  gst_histo_settings_init (&self->settings);
}

gboolean
gst_histo_counter_set_property (
    GstHistoCounter *self, guint id, const GValue *value)
{
  const GstHistoSettings before = self->settings;

  if (!gst_histo_settings_set (&self->settings, id, value))
    return FALSE;
  self->dirty |= !gst_histo_settings_count_alike (&before, &self->settings);
  return TRUE;
}

gboolean
gst_histo_counter_get_property (
    const GstHistoCounter *self, guint id, GValue *value)
{
  return gst_histo_settings_get (&self->settings, id, value);
}

gboolean
gst_histo_counter_has_reports (const GstHistoCounter *self)
{
  return self->settings.post_messages || self->settings.attach_meta;
}

/* Returns the method that a value of the property names; NULL: auto. */
static const HistoMethod *
method_of (guint setting)
{
  return setting == GST_GPU_FILTER_METHOD_AUTO
      ? NULL
      : histo_method ((gint) setting - 1);
}

GstGpuFilterBackend
gst_histo_counter_needed_backend (GstHistoCounter *self)
{
  const HistoMethod *method;

  GST_OBJECT_LOCK (self->filter);
  method = method_of (self->settings.method);
  GST_OBJECT_UNLOCK (self->filter);
  return method == NULL ? GST_GPU_FILTER_BACKEND_AUTO
                        : gst_gpu_filter_backend_of (method->backend);
}

/* No frame is in flight. */
static void
release_results (GstHistoCounter *self)
{
  for (guint i = 0; i < self->n_results; i++)
    histo_result_free (self->results[i]);
  g_clear_pointer (&self->results, g_free);
  g_clear_pointer (&self->result_settings, g_free);
  self->n_results = 0;
}

static void
release_plan (GstHistoCounter *self)
{
  release_results (self);
  histo_plan_free (self->plan);
  self->plan = NULL;
}

void
gst_histo_counter_begin_anew (GstHistoCounter *self)
{
  gst_histo_counter_forget (self);
  gst_histo_counter_restart (self);
}

void
gst_histo_counter_release (GstHistoCounter *self)
{
  release_plan (self);
  gst_histo_counter_begin_anew (self);
}

void
gst_histo_counter_restart (GstHistoCounter *self)
{
  self->have_index = FALSE;
  self->last_arrival = GST_CLOCK_TIME_NONE;
}

void
gst_histo_counter_forget (GstHistoCounter *self)
{
  g_clear_pointer (&self->last, g_bytes_unref);
  memset (&self->statistics, 0, sizeof self->statistics);
}

void
gst_histo_counter_set_reports (GstHistoCounter *self, gboolean reports)
{
  if (self->reports && !reports) {
    gst_gpu_filter_drain (self->filter);
    gst_histo_counter_forget (self);
  }
  if (self->reports != reports)
    LOG (INFO, self, "frames are %sreported from now on",
        reports ? "" : "no longer ");
  self->reports = reports;
}

/* Logs a new plan: the counted components, the method, and for each other method of the backend
 * whether it could be used. */
static void
log_plan (GstHistoCounter *self, const HistoSpec *spec, const Image *layout,
    Gpu *gpu, gboolean by_setting)
{
  const HistoMethod *method = histo_plan_method (self->plan);
  GString *text = g_string_new (NULL);
  Fault why;

  for (gint i = 0; i < self->components.n_components; i++)
    g_string_append_printf (
        text, "%s%s", i == 0 ? "" : ", ", self->components.component[i].name);
  LOG (INFO, self, "counts %s of %s, %d bins each", text->str,
      self->components.format, self->components.bins);
  g_string_truncate (text, 0);
  for (gint i = 0; i < histo_n_methods (); i++) {
    const HistoMethod *other = histo_method (i);

    if (other == method || other->backend != method->backend)
      continue;
    if (histo_method_supports (other, spec, layout, gpu, &why))
      g_string_append_printf (text, " %s could;", other->name);
    else
      g_string_append_printf (
          text, " %s cannot: %s;", other->name, why.message);
  }
  LOG (INFO, self, "counts by method %s, %s%s%s", method->name,
      by_setting ? "which the property names"
                 : "which auto expects to be fastest",
      text->len > 0 ? "; of the others," : "; the backend has no other",
      text->str);
  g_string_free (text, TRUE);
}

static gboolean
make_plan (GstHistoCounter *self, guint setting, Fault *fault)
{
  const Image *layout = &gst_gpu_filter_get_layout (self->filter)->layout;
  Gpu *gpu = gst_gpu_filter_get_gpu (self->filter);
  const Backend backend = gst_gpu_filter_get_backend (self->filter);
  const HistoMethod *method = method_of (setting);
  HistoSpec spec;

  /* After a fallback to the CPU, a method of the GPU becomes auto. */
  if (method != NULL && backend == BACKEND_CPU
      && method->backend == BACKEND_CUDA) {
    LOG (DEBUG, self, "method %s needs a GPU: as method=auto", method->name);
    method = NULL;
  }
  gst_histo_components_get_spec (&self->components, &spec);
  self->plan = histo_plan_new (&spec, layout, backend, method, gpu, fault);
  if (self->plan != NULL)
    log_plan (self, &spec, layout, gpu, method != NULL);
  return self->plan != NULL;
}

static gboolean
make_results (GstHistoCounter *self, Fault *fault)
{
  const guint depth = gst_gpu_filter_get_depth (self->filter);

  self->results = g_new0 (HistoResult *, depth);
  self->result_settings = g_new0 (GstHistoSettings, depth);
  self->n_results = depth;
  for (guint i = 0; i < depth; i++) {
    self->results[i] = histo_result_new (self->plan, fault);
    if (self->results[i] == NULL)
      return FALSE;
  }
  return TRUE;
}

/* Replaces the plan by one for these components. */
static gboolean
remake (GstHistoCounter *self, const GstHistoComponents *components,
    guint method, void (*before_remake) (GstGpuFilter *filter), Fault *fault)
{
  gst_gpu_filter_drain (self->filter);
  if (before_remake != NULL)
    before_remake (self->filter);
  release_plan (self);
  if (!gst_histo_components_equal (components, &self->components))
    gst_histo_counter_begin_anew (self);
  self->components = *components;
  return make_plan (self, method, fault);
}

gboolean
gst_histo_counter_follow (GstHistoCounter *self,
    void (*before_remake) (GstGpuFilter *filter), Fault *fault)
{
  GstHistoComponents components;
  gboolean changed, ok = TRUE;
  guint method;

  GST_OBJECT_LOCK (self->filter);
  changed = self->dirty || self->plan == NULL;
  method = self->settings.method;
  if (changed)
    ok = gst_histo_components_init (&components,
        gst_gpu_filter_get_layout (self->filter),
        gst_gpu_filter_get_info (self->filter), self->settings.planes,
        self->settings.bins, fault);
  if (ok)
    self->dirty = FALSE;
  GST_OBJECT_UNLOCK (self->filter);
  return ok
      && (!changed || remake (self, &components, method, before_remake, fault))
      && gst_histo_counter_keep (self, fault);
}

gboolean
gst_histo_counter_keep (GstHistoCounter *self, Fault *fault)
{
  if (self->n_results == gst_gpu_filter_get_depth (self->filter))
    return TRUE;
  gst_gpu_filter_drain (self->filter);
  release_results (self);
  if (make_results (self, fault))
    return TRUE;
  release_results (self);
  return FALSE;
}

/* Computes the running time of a timestamp, also for one outside the segment; *sign is -1 if it
 * is negative. FALSE: there is no running time. */
static gboolean
get_running_time (
    const GstSegment *segment, GstClockTime pts, guint64 *time, gint *sign)
{
  /* Reverse playback counts from the segment's end, which must be known. */
  if (segment->format != GST_FORMAT_TIME
      || (segment->rate < 0.0
          && (segment->stop == GST_CLOCK_TIME_NONE
              || segment->stop < segment->offset)))
    return FALSE;
  *sign =
      gst_segment_to_running_time_full (segment, GST_FORMAT_TIME, pts, time);
  return *sign != 0;
}

/* Whether a frame with a timestamp is in another interval than the frame before it. */
static gboolean
begins_interval (GstHistoCounter *self, GstClockTime pts, GstClockTime interval)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self->filter)->segment;
  guint64 time = pts, index;
  gboolean begins;
  gint sign = 1;

  if (!get_running_time (segment, pts, &time, &sign)) {
    time = pts;
    sign = 1;
  }
  /* Negative times are rounded down, as positive ones are: ~i is -1 - i. */
  index = sign > 0 || time == 0 ? time / interval : ~((time - 1) / interval);
  begins = !self->have_index || index != self->last_index;
  LOG (LOG, self,
      "frame at %" GST_TIME_FORMAT " is %s interval %" G_GINT64_FORMAT,
      GST_TIME_ARGS (pts),
      begins ? "reported: the first in" : "not reported: not the first in",
      (gint64) index);
  self->have_index = TRUE;
  self->last_index = index;
  return begins;
}

/* Whether a frame without a timestamp arrives late enough after the last reported one. */
static gboolean
arrives_due (GstHistoCounter *self, GstClockTime arrival, GstClockTime interval)
{
  const gboolean due = self->last_arrival == GST_CLOCK_TIME_NONE
      || arrival - self->last_arrival >= interval;

  LOG (LOG, self, "frame without timestamp is %sreported, by its arrival",
      due ? "" : "not ");
  return due;
}

gboolean
gst_histo_counter_is_due (GstHistoCounter *self, const GstBuffer *buffer)
{
  const GstClockTime arrival =
      (GstClockTime) g_get_monotonic_time () * GST_USECOND;
  GstClockTime interval;
  gboolean due;

  GST_OBJECT_LOCK (self->filter);
  interval = self->settings.interval;
  GST_OBJECT_UNLOCK (self->filter);
  if (interval != self->last_interval) {
    LOG (DEBUG, self, "interval %" GST_TIME_FORMAT ": %s",
        GST_TIME_ARGS (interval),
        interval == 0 ? "every frame is reported"
                      : "the first frame of each is reported");
    gst_histo_counter_restart (self);
    self->last_interval = interval;
  }
  if (interval == 0)
    return TRUE;
  if (GST_BUFFER_PTS_IS_VALID (buffer))
    due = begins_interval (self, GST_BUFFER_PTS (buffer), interval);
  else
    due = arrives_due (self, arrival, interval);
  if (due)
    self->last_arrival = arrival;
  return due;
}

HistoResult *
gst_histo_counter_begin_result (GstHistoCounter *self, guint slot_index)
{
  GST_OBJECT_LOCK (self->filter);
  self->result_settings[slot_index] = self->settings;
  GST_OBJECT_UNLOCK (self->filter);
  return self->results[slot_index];
}

const HistoResult *
gst_histo_counter_count (GstHistoCounter *self, const Image *image,
    guint slot_index, GpuStream stream, GpuOrder order, Fault *fault)
{
  HistoResult *result = gst_histo_counter_begin_result (self, slot_index);

  return histo_plan_run (self->plan, image, result, stream, order, fault)
      ? result
      : NULL;
}

HistoPlan *
gst_histo_counter_get_plan (GstHistoCounter *self)
{
  return self->plan;
}

static void
log_report (GstHistoCounter *self, const GstBuffer *buffer,
    const GstHistoSettings *settings)
{
  const Alarms *alarms = &self->statistics.alarms;

  LOG (LOG, self, "reports %" GST_TIME_FORMAT "%s%s",
      GST_TIME_ARGS (GST_BUFFER_PTS (buffer)),
      settings->post_messages ? ", message" : "",
      settings->attach_meta ? ", meta" : "");
  if (settings->post_messages)
    LOG (TRACE, self, "level %.3f, spread %.3f, distance %.3f%s%s%s%s",
        alarms->level, alarms->spread, alarms->distance,
        alarms->too_dark ? ", too-dark" : "",
        alarms->too_bright ? ", too-bright" : "", alarms->flat ? ", flat" : "",
        alarms->scene_change ? ", scene-change" : "");
}

/* The element drains before the segment changes, so the frame is of the current segment. */
GstMessage *
gst_histo_counter_report (
    GstHistoCounter *self, guint slot_index, GstBuffer **buffer)
{
  const GstHistoSettings *settings = &self->result_settings[slot_index];
  GstMessage *message = NULL;
  GBytes *counts = gst_histo_components_get_counts (
      &self->components, self->results[slot_index]);

  if (settings->post_messages) {
    gst_histo_statistics_update (&self->statistics, &self->components,
        &settings->thresholds, counts, self->last);
    g_clear_pointer (&self->last, g_bytes_unref);
    self->last = g_bytes_ref (counts);
    message = gst_histo_message_new (GST_BASE_TRANSFORM (self->filter), *buffer,
        &self->components, &self->statistics, counts, settings->message_bins);
  } else {
    /* Only messages carry statistics and alarms. */
    gst_histo_counter_forget (self);
  }
  if (settings->attach_meta) {
    /* A copy shares the memory of the buffer unless a flag of the memory forbids that. */
    *buffer = gst_buffer_make_writable (*buffer);
    gst_histogram_meta_attach (*buffer, &self->components, counts);
  }
  log_report (self, *buffer, settings);
  g_bytes_unref (counts);
  return message;
}
