/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistocounter.h"

#include "gsthistogrammeta.h"

void
gst_histo_counter_init (GstHistoCounter *self, GstGpuFilter *filter)
{
  memset (self, 0, sizeof *self);
  self->filter = filter;
  gst_histo_counter_restart (self);
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
gst_histo_counter_is_wanted (const GstHistoCounter *self)
{
  return self->settings.post_messages || self->settings.attach_meta;
}

static const HistoMethod *
chosen_method (guint method)
{
  return method == GST_GPU_FILTER_METHOD_AUTO
      ? NULL
      : histo_method ((gint) method - 1);
}

GstGpuFilterBackend
gst_histo_counter_wanted_backend (GstHistoCounter *self)
{
  const HistoMethod *method;

  GST_OBJECT_LOCK (self->filter);
  method = chosen_method (self->settings.method);
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
gst_histo_counter_set_told (GstHistoCounter *self, gboolean told)
{
  if (self->told && !told) {
    gst_gpu_filter_drain (self->filter);
    gst_histo_counter_forget (self);
  }
  self->told = told;
}

static gboolean
make_plan (GstHistoCounter *self, guint wanted, Fault *fault)
{
  const Image *layout = &gst_gpu_filter_get_layout (self->filter)->layout;
  Gpu *gpu = gst_gpu_filter_get_gpu (self->filter);
  const Backend backend = gst_gpu_filter_get_backend (self->filter);
  const HistoMethod *method = chosen_method (wanted);
  HistoSpec spec;

  /* backend=auto fell back to the CPU, and the method follows. */
  if (method != NULL && backend == BACKEND_CPU
      && method->backend == BACKEND_CUDA)
    method = NULL;
  gst_histo_components_get_spec (&self->components, &spec);
  self->plan = histo_plan_new (&spec, layout, backend, method, gpu, fault);
  return self->plan != NULL;
}

static gboolean
make_results (GstHistoCounter *self, Fault *fault)
{
  const guint depth = gst_gpu_filter_get_depth (self->filter);

  self->results = g_new0 (HistoResult *, depth);
  self->n_results = depth;
  for (guint i = 0; i < depth; i++) {
    self->results[i] = histo_result_new (self->plan, fault);
    if (self->results[i] == NULL)
      return FALSE;
  }
  return TRUE;
}

/* Makes another plan, for these components. */
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
  if (!ok
      || (changed && !remake (self, &components, method, before_remake, fault)))
    return FALSE;

  if (self->n_results == gst_gpu_filter_get_depth (self->filter))
    return TRUE;
  gst_gpu_filter_drain (self->filter);
  release_results (self);
  if (make_results (self, fault))
    return TRUE;
  release_results (self);
  return FALSE;
}

/* Running time goes on beyond both ends of the segment; *sign is -1 where it is negative.
 * FALSE: there is no running time. */
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

/* Whether a frame with a timestamp is the first in its interval. */
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
  /* Negative times round down, too: ~i is -1 - i. */
  index = sign > 0 || time == 0 ? time / interval : ~((time - 1) / interval);
  begins = !self->have_index || index != self->last_index;
  self->have_index = TRUE;
  self->last_index = index;
  return begins;
}

gboolean
gst_histo_counter_wants (GstHistoCounter *self, const GstBuffer *buffer)
{
  const GstClockTime arrival =
      (GstClockTime) g_get_monotonic_time () * GST_USECOND;
  GstClockTime interval;
  gboolean due;

  GST_OBJECT_LOCK (self->filter);
  interval = self->settings.interval;
  GST_OBJECT_UNLOCK (self->filter);
  if (interval == 0)
    return TRUE;
  if (interval != self->last_interval) {
    gst_histo_counter_restart (self);
    self->last_interval = interval;
  }
  if (GST_BUFFER_PTS_IS_VALID (buffer))
    due = begins_interval (self, GST_BUFFER_PTS (buffer), interval);
  else
    due = self->last_arrival == GST_CLOCK_TIME_NONE
        || arrival - self->last_arrival >= interval;
  if (due)
    self->last_arrival = arrival;
  return due;
}

const HistoResult *
gst_histo_counter_count (GstHistoCounter *self, const Image *image, guint place,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  return histo_plan_run (
             self->plan, image, self->results[place], stream, order, fault)
      ? self->results[place]
      : NULL;
}

HistoPlan *
gst_histo_counter_get_plan (GstHistoCounter *self)
{
  return self->plan;
}

HistoResult *
gst_histo_counter_get_result (GstHistoCounter *self, guint place)
{
  return self->results[place];
}

/* The element drains before the segment changes, so the frame belongs to the current
 * segment. */
GstMessage *
gst_histo_counter_tell (GstHistoCounter *self, guint place, GstBuffer **buffer)
{
  GstMessage *message = NULL;
  GstHistoSettings settings;
  GBytes *counts;

  GST_OBJECT_LOCK (self->filter);
  settings = self->settings;
  GST_OBJECT_UNLOCK (self->filter);

  counts =
      gst_histo_components_get_counts (&self->components, self->results[place]);
  if (settings.post_messages) {
    gst_histo_statistics_update (&self->statistics, &self->components,
        &settings.thresholds, counts, self->last);
    g_clear_pointer (&self->last, g_bytes_unref);
    self->last = g_bytes_ref (counts);
    message = gst_histo_message_new (GST_BASE_TRANSFORM (self->filter), *buffer,
        &self->components, &self->statistics, counts, settings.message_bins);
  } else {
    /* Only messages carry statistics and alarms. */
    gst_histo_counter_forget (self);
  }
  if (settings.attach_meta) {
    /* A copy of the buffer shares the memory where this is allowed. */
    *buffer = gst_buffer_make_writable (*buffer);
    gst_histogram_meta_attach (*buffer, &self->components, counts);
  }
  g_bytes_unref (counts);
  return message;
}
