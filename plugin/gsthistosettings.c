/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistosettings.h"

#include "gstgpufilter.h"
#include "histo.h"

#define DEFAULT_BINS 256
#define DEFAULT_PLANES GST_FRAME_PLANES_COLOR
#define DEFAULT_INTERVAL (100 * GST_MSECOND)
#define DEFAULT_POST_MESSAGES TRUE
#define DEFAULT_MESSAGE_BINS GST_HISTO_MESSAGE_BINS_BOTH
#define DEFAULT_ATTACH_META FALSE
#define DEFAULT_THRESHOLD_DARK 0.02
#define DEFAULT_THRESHOLD_BRIGHT 0.98
#define DEFAULT_ALARM_DARK 0.05
#define DEFAULT_ALARM_BRIGHT 0.95
#define DEFAULT_ALARM_FLAT 0.01
#define DEFAULT_ALARM_SCENE 0.5
#define DEFAULT_ALARM_HYSTERESIS 0.02
#define DEFAULT_METHOD GST_GPU_FILTER_METHOD_AUTO

/* Ids below 100 are the element's own; gsthistomodes has those from 100 to 199. */
enum
{
  PROP_BINS = 200,
  PROP_PLANES = 201,
  PROP_INTERVAL = 202,
  PROP_POST_MESSAGES = 203,
  PROP_MESSAGE_BINS = 204,
  PROP_ATTACH_META = 205,
  PROP_THRESHOLD_DARK = 206,
  PROP_THRESHOLD_BRIGHT = 207,
  PROP_ALARM_DARK = 208,
  PROP_ALARM_BRIGHT = 209,
  PROP_ALARM_FLAT = 210,
  PROP_ALARM_SCENE = 211,
  PROP_ALARM_HYSTERESIS = 212,
  PROP_METHOD = 213,
};

static GType
message_bins_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = { { GST_HISTO_MESSAGE_BINS_BOTH,
                                           "Both fields", "both" },
    { GST_HISTO_MESSAGE_BINS_ARRAY,
        "The field bins, an array of one value for each bin", "array" },
    { GST_HISTO_MESSAGE_BINS_BYTES,
        "The field counts, a block of native 64-bit integers", "bytes" },
    { 0, NULL, NULL } };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaHistoMessageBins", values));
  return type;
}

/* Describes method i of the engine's table. */
static void
describe_method (gint i, GstGpuFilterMethod *method)
{
  method->name = histo_method (i)->name;
  method->description = histo_method (i)->description;
  method->backend = histo_method (i)->backend;
}

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

void
gst_histo_settings_init (GstHistoSettings *self)
{
  *self = (GstHistoSettings){ .bins = DEFAULT_BINS,
    .planes = DEFAULT_PLANES,
    .interval = DEFAULT_INTERVAL,
    .post_messages = DEFAULT_POST_MESSAGES,
    .attach_meta = DEFAULT_ATTACH_META,
    .message_bins = DEFAULT_MESSAGE_BINS,
    .thresholds = { DEFAULT_THRESHOLD_DARK, DEFAULT_THRESHOLD_BRIGHT,
        { DEFAULT_ALARM_DARK, DEFAULT_ALARM_BRIGHT, DEFAULT_ALARM_FLAT,
            DEFAULT_ALARM_SCENE, DEFAULT_ALARM_HYSTERESIS } },
    .method = DEFAULT_METHOD };
}

/* The properties of both elements */

/* Not controllable: another number of bins needs another plan, waits for the frames in flight,
 * and leaves nothing to compare the next frame with. */
static void
install_bins (GObjectClass *object_class, const gchar *name, const gchar *nick,
    GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_BINS,
      g_param_spec_int (name, nick,
          "Number of counters of a component. A sample of code v and d bits "
          "counts in bin (v * bins) >> d",
          HISTO_MIN_BINS, HISTO_MAX_BINS, DEFAULT_BINS, flags));
}

/* Not controllable: the interval is longer than a frame, and a change begins a new one. */
static void
install_interval (GObjectClass *object_class, const gchar *name,
    const gchar *nick, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_INTERVAL,
      g_param_spec_uint64 (name, nick,
          "Length of an interval of running time in nanoseconds, of which only "
          "the first frame is reported (0 = report every frame)",
          0, G_MAXUINT64, DEFAULT_INTERVAL, flags));
}

static void
install_post_messages (GObjectClass *object_class, const gchar *name,
    const gchar *nick, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_POST_MESSAGES,
      g_param_spec_boolean (name, nick,
          "Post an element message with histograms and statistics for each "
          "reported frame",
          DEFAULT_POST_MESSAGES, flags));
}

static void
install_message_bins (GObjectClass *object_class, const gchar *name,
    const gchar *nick, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_MESSAGE_BINS,
      g_param_spec_enum (name, nick,
          "The fields of a message that carry the counters. With thousands of "
          "bins, the array takes half of the time that a message needs",
          message_bins_get_type (), DEFAULT_MESSAGE_BINS, flags));
}

static void
install_attach_meta (GObjectClass *object_class, const gchar *name,
    const gchar *nick, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_ATTACH_META,
      g_param_spec_boolean (name, nick,
          "Attach a GstCudaHistogramMeta to the buffer of each reported frame",
          DEFAULT_ATTACH_META, flags));
}

void
gst_histo_settings_install_prefixed (
    GObjectClass *object_class, GParamFlags flags)
{
  install_bins (object_class, "histogram-bins", "Histogram bins", flags);
  install_interval (
      object_class, "histogram-interval", "Histogram interval", flags);
  install_post_messages (
      object_class, "histogram-messages", "Histogram messages", flags);
  install_message_bins (object_class, "histogram-message-bins",
      "Bins in histogram messages", flags);
  install_attach_meta (object_class, "histogram-meta", "Histogram meta", flags);
  gst_type_mark_as_plugin_api (message_bins_get_type (), 0);
}

/* The properties of cudahisto alone */

static void
install_level (GObjectClass *object_class, guint id, const gchar *name,
    const gchar *nick, const gchar *blurb, gdouble value, GParamFlags flags)
{
  g_object_class_install_property (object_class, id,
      g_param_spec_double (
          name, nick, blurb, 0.0, 1.0, value, flags | GST_PARAM_CONTROLLABLE));
}

static void
install_thresholds (GObjectClass *object_class, GParamFlags flags)
{
  install_level (object_class, PROP_THRESHOLD_DARK, "threshold-dark",
      "Dark threshold",
      "Samples up to this level of the nominal range count as dark "
      "(0 = black, 1 = white)",
      DEFAULT_THRESHOLD_DARK, flags);
  install_level (object_class, PROP_THRESHOLD_BRIGHT, "threshold-bright",
      "Bright threshold",
      "Samples from this level of the nominal range on count as bright "
      "(0 = black, 1 = white)",
      DEFAULT_THRESHOLD_BRIGHT, flags);
  install_level (object_class, PROP_ALARM_DARK, "alarm-dark", "Dark alarm",
      "The alarm too-dark is on while the mean brightness is below this level",
      DEFAULT_ALARM_DARK, flags);
  install_level (object_class, PROP_ALARM_BRIGHT, "alarm-bright",
      "Bright alarm",
      "The alarm too-bright is on while the mean brightness is above this "
      "level",
      DEFAULT_ALARM_BRIGHT, flags);
  install_level (object_class, PROP_ALARM_FLAT, "alarm-flat", "Flat alarm",
      "The alarm flat is on while the standard deviation of the brightness is "
      "below this, as with a covered camera",
      DEFAULT_ALARM_FLAT, flags);
  install_level (object_class, PROP_ALARM_SCENE, "alarm-scene", "Scene alarm",
      "The alarm scene-change is on when the histogram differs from the one "
      "before by more than this (0 = equal, 1 = nothing in common)",
      DEFAULT_ALARM_SCENE, flags);
  install_level (object_class, PROP_ALARM_HYSTERESIS, "alarm-hysteresis",
      "Alarm hysteresis",
      "An alarm goes off where the value has come back beyond the alarm's level "
      "by this much",
      DEFAULT_ALARM_HYSTERESIS, flags);
}

void
gst_histo_settings_install (GObjectClass *object_class, GParamFlags flags)
{
  install_bins (object_class, "bins", "Bins", flags);
  g_object_class_install_property (object_class, PROP_PLANES,
      g_param_spec_flags ("planes", "Planes",
          "The components to count. RGB is counted as a whole: it has neither "
          "luma nor chroma",
          GST_TYPE_FRAME_PLANES, DEFAULT_PLANES, flags));
  install_interval (object_class, "interval", "Interval", flags);
  install_post_messages (object_class, "post-messages", "Post messages", flags);
  install_message_bins (
      object_class, "message-bins", "Bins in messages", flags);
  install_attach_meta (object_class, "attach-meta", "Attach meta", flags);
  install_thresholds (object_class, flags);
  g_object_class_install_property (object_class, PROP_METHOD,
      g_param_spec_enum ("method", "Method",
          "How to count; the result is the same", method_get_type (),
          DEFAULT_METHOD, flags));
  gst_type_mark_as_plugin_api (message_bins_get_type (), 0);
  gst_type_mark_as_plugin_api (method_get_type (), 0);
}

/* Returns the field of a property of type double, or NULL. */
static gdouble *
find_level (GstHistoSettings *self, guint id)
{
  switch (id) {
    case PROP_THRESHOLD_DARK:
      return &self->thresholds.dark;
    case PROP_THRESHOLD_BRIGHT:
      return &self->thresholds.bright;
    case PROP_ALARM_DARK:
      return &self->thresholds.alarms.dark;
    case PROP_ALARM_BRIGHT:
      return &self->thresholds.alarms.bright;
    case PROP_ALARM_FLAT:
      return &self->thresholds.alarms.flat;
    case PROP_ALARM_SCENE:
      return &self->thresholds.alarms.change;
    case PROP_ALARM_HYSTERESIS:
      return &self->thresholds.alarms.hysteresis;
    default:
      return NULL;
  }
}

gboolean
gst_histo_settings_set (GstHistoSettings *self, guint id, const GValue *value)
{
  gdouble *level = find_level (self, id);

  if (level != NULL) {
    *level = g_value_get_double (value);
    return TRUE;
  }
  switch (id) {
    case PROP_BINS:
      self->bins = g_value_get_int (value);
      return TRUE;
    case PROP_PLANES:
      self->planes = (GstFramePlanes) g_value_get_flags (value);
      return TRUE;
    case PROP_INTERVAL:
      self->interval = g_value_get_uint64 (value);
      return TRUE;
    case PROP_POST_MESSAGES:
      self->post_messages = g_value_get_boolean (value);
      return TRUE;
    case PROP_MESSAGE_BINS:
      self->message_bins = (GstHistoMessageBins) g_value_get_enum (value);
      return TRUE;
    case PROP_ATTACH_META:
      self->attach_meta = g_value_get_boolean (value);
      return TRUE;
    case PROP_METHOD:
      self->method = (guint) g_value_get_enum (value);
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_histo_settings_get (const GstHistoSettings *self, guint id, GValue *value)
{
  const gdouble *level = find_level ((GstHistoSettings *) self, id);

  if (level != NULL) {
    g_value_set_double (value, *level);
    return TRUE;
  }
  switch (id) {
    case PROP_BINS:
      g_value_set_int (value, self->bins);
      return TRUE;
    case PROP_PLANES:
      g_value_set_flags (value, self->planes);
      return TRUE;
    case PROP_INTERVAL:
      g_value_set_uint64 (value, self->interval);
      return TRUE;
    case PROP_POST_MESSAGES:
      g_value_set_boolean (value, self->post_messages);
      return TRUE;
    case PROP_MESSAGE_BINS:
      g_value_set_enum (value, (gint) self->message_bins);
      return TRUE;
    case PROP_ATTACH_META:
      g_value_set_boolean (value, self->attach_meta);
      return TRUE;
    case PROP_METHOD:
      g_value_set_enum (value, (gint) self->method);
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_histo_settings_count_alike (
    const GstHistoSettings *a, const GstHistoSettings *b)
{
  return a->bins == b->bins && a->planes == b->planes && a->method == b->method;
}
