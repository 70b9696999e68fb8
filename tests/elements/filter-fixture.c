/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter-fixture.h"

#include <string.h>

const char *const video_formats[] = { "GRAY8", "GRAY16_LE", "I420", "YV12",
  "NV12", "NV21", "Y42B", "NV16", "NV61", "Y444", "NV24", "Y41B", "YUV9",
  "YVU9", "YUY2", "UYVY", "YVYU", "VYUY", "A420", "AV12", "AYUV", "VUYA",
  "v308", "IYU2", "Y412_LE", "I420_10LE", "I422_10LE", "Y444_10LE", "A420_10LE",
  "A422_10LE", "A444_10LE", "Y210", "v210", "UYVP", "Y410", "v216", "I420_12LE",
  "I422_12LE", "Y444_12LE", "Y212_LE", "P010_10LE", "P012_LE", "P016_LE",
  "Y444_16LE", "AYUV64", "RGB", "BGR", "RGBA", "BGRA", "ARGB", "ABGR", "RGBx",
  "BGRx", "xRGB", "xBGR", "RGBP", "BGRP", "GBR", "GBRA", "GBR_10LE",
  "GBRA_10LE", "RGB10A2_LE", "BGR10A2_LE", "r210", "RGB16", "BGR16", "RGB15",
  "BGR15", "GBR_12LE", "GBRA_12LE", "ARGB64", "ARGB64_LE", "ABGR64_LE",
  "RGBA64_LE", "BGRA64_LE", "GRAY10_LE32", "NV12_10LE32", "NV16_10LE32",
  "NV12_10LE40", "P010_10BE", "I420_10BE", "I422_10BE", "Y444_10BE",
  "A420_10BE", "A422_10BE", "A444_10BE", "GBR_10BE", "GBRA_10BE", "P012_BE",
  "I420_12BE", "I422_12BE", "Y212_BE", "Y444_12BE", "Y412_BE", "GBR_12BE",
  "GBRA_12BE", "P016_BE", "Y444_16BE", "ARGB64_BE", "ABGR64_BE", "RGBA64_BE",
  "BGRA64_BE", "GRAY16_BE",
#if GST_CHECK_VERSION(1, 24, 0)
  "A422", "A444", "RBGA", "A420_12LE", "A422_12LE", "A444_12LE", "A420_16LE",
  "A422_16LE", "A444_16LE", "GBR_16LE", "A420_12BE", "A422_12BE", "A444_12BE",
  "A420_16BE", "A422_16BE", "A444_16BE", "GBR_16BE",
#endif
#if GST_CHECK_VERSION(1, 26, 0)
  "GRAY10_LE16", "Y216_LE", "Y416_LE", "Y216_BE", "Y416_BE",
#endif
  NULL };

GstElement *
element_make (const char *name)
{
  GstElement *element = gst_element_factory_make (name, NULL);

  expect (element != NULL, "%s cannot be made", name);
  return gst_object_ref_sink (element);
}

GParamSpec *
element_spec (GstElement *element, const char *property)
{
  GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), property);

  expect (spec != NULL, "no property %s", property);
  return spec;
}

GstStructure *
element_stats (GstElement *element)
{
  GstStructure *stats = NULL;

  g_object_get (element, "stats", &stats, NULL);
  expect (stats != NULL, "no stats");
  return stats;
}

guint64
element_count (GstElement *element, const char *stat)
{
  GstStructure *stats = element_stats (element);
  guint64 value = 0;

  expect (gst_structure_get_uint64 (stats, stat, &value),
      "stats have no 64-bit %s", stat);
  gst_structure_free (stats);
  return value;
}

char *
settings_get (const char *settings, const char *key)
{
  const gsize length = strlen (key);
  char *value = NULL;

  for (const char *pair = settings; pair != NULL;) {
    const char *end = strchr (pair, ' ');

    if (strncmp (pair, key, length) == 0 && pair[length] == '=') {
      const char *text = pair + length + 1;

      g_free (value);
      value = end ? g_strndup (text, (gsize) (end - text)) : g_strdup (text);
    }
    pair = end ? end + 1 : NULL;
  }
  return value;
}

void
settings_apply (GstElement *element, const char *settings)
{
  char **pairs = g_strsplit (settings, " ", -1);

  for (int i = 0; pairs[i]; i++) {
    char *value = strchr (pairs[i], '=');

    if (value == NULL)
      continue;
    *value++ = '\0';
    element_spec (element, pairs[i]);
    gst_util_set_object_arg (G_OBJECT (element), pairs[i], value);
  }
  g_strfreev (pairs);
}

/* The element name at the start of settings; the caller frees it. */
static char *
element_name (const char *settings)
{
  const gsize length = strcspn (settings, " =");

  return length > 0 && settings[length] != '=' ? g_strndup (settings, length)
                                               : g_strdup ("cudasepconv");
}

void
filter_make (Filter *filter, const char *settings)
{
  char *backend = settings_get (settings, "backend");
  char *name = element_name (settings);

  memset (filter, 0, sizeof *filter);
  filter->element = element_make (name);
  g_free (name);
  filter->bus = gst_bus_new ();
  gst_bus_set_sync_handler (filter->bus, bus_drop_hints, NULL, NULL);
  gst_element_set_bus (filter->element, filter->bus);
  if (backend == NULL)
    gst_util_set_object_arg (
        G_OBJECT (filter->element), "backend", test_backend ());
  settings_apply (filter->element, settings);
  g_free (backend);
}

GstBusSyncReply
bus_drop_hints (GstBus *bus, GstMessage *message, gpointer user)
{
  GstBusSyncReply reply = GST_BUS_PASS;

  (void) bus;
  (void) user;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
    GError *error = NULL;

    gst_message_parse_warning (message, &error, NULL);
    if (strstr (error->message, " has no effect: ") != NULL) {
      gst_message_unref (message);
      reply = GST_BUS_DROP;
    }
    g_error_free (error);
  }
  return reply;
}

void
filter_let_hints_through (Filter *filter)
{
  gst_bus_set_sync_handler (filter->bus, NULL, NULL, NULL);
}

void
filter_plug (Filter *filter)
{
  filter->harness =
      gst_harness_new_with_element (filter->element, "sink", "src");
}

void
filter_open (Filter *filter, const char *settings)
{
  filter_make (filter, settings);
  filter_plug (filter);
}

void
filter_close (Filter *filter)
{
  gst_element_set_state (filter->element, GST_STATE_NULL);
  if (filter->harness)
    gst_harness_teardown (filter->harness);
  gst_element_set_bus (filter->element, NULL);
  gst_bus_set_flushing (filter->bus, TRUE);
  gst_object_unref (filter->bus);
  ASSERT_OBJECT_REFCOUNT (filter->element, "the filter", 1);
  gst_object_unref (filter->element);
  memset (filter, 0, sizeof *filter);
}

GstCaps *
video_caps (const char *format, int width, int height, const char *more)
{
  char *text = g_strdup_printf (
      "video/x-raw, format=%s, width=%d, height=%d, framerate=30/1%s%s", format,
      width, height, more ? ", " : "", more ? more : "");
  GstCaps *caps = gst_caps_from_string (text);

  expect (caps != NULL, "no caps: %s", text);
  g_free (text);
  return caps;
}

void
video_info (GstVideoInfo *info, const char *format, int width, int height,
    const char *more)
{
  GstCaps *caps = video_caps (format, width, height, more);

  expect (
      gst_video_info_from_caps (info, caps), "no video info for %s", format);
  gst_caps_unref (caps);
}

void
element_expect_formats (const char *name)
{
  static const char *const pads[] = { "sink", "src" };
  GstElement *element = element_make (name);

  for (int p = 0; p < 2; p++) {
    GstPadTemplate *template = gst_element_get_pad_template (element, pads[p]);
    GstCaps *caps;

    expect (template != NULL, "no template %s", pads[p]);
    caps = gst_pad_template_get_caps (template);
    for (int f = 0; video_formats[f]; f++) {
      GstCaps *one = video_caps (video_formats[f], 321, 241, NULL);

      expect (gst_caps_is_subset (one, caps), "%s: no %s", pads[p],
          video_formats[f]);
      gst_caps_unref (one);
    }
    gst_caps_unref (caps);
  }
  gst_object_unref (element);
}

void
element_expect_metadata (const char *name, const char *klass)
{
  static const char *const keys[] = { GST_ELEMENT_METADATA_LONGNAME,
    GST_ELEMENT_METADATA_DESCRIPTION, GST_ELEMENT_METADATA_AUTHOR };
  GstElementFactory *factory = gst_element_factory_find (name);
  const char *seen;

  expect (factory != NULL, "no factory %s", name);
  seen = gst_element_factory_get_metadata (factory, GST_ELEMENT_METADATA_KLASS);
  expect (g_strcmp0 (seen, klass) == 0, "klass is %s", seen);
  for (guint k = 0; k < G_N_ELEMENTS (keys); k++) {
    const char *text = gst_element_factory_get_metadata (factory, keys[k]);

    expect (text && *text, "no %s", keys[k]);
  }
  /* Never chosen by autoplugging. */
  expect (gst_plugin_feature_get_rank (GST_PLUGIN_FEATURE (factory))
          == GST_RANK_NONE,
      "the rank is %u",
      gst_plugin_feature_get_rank (GST_PLUGIN_FEATURE (factory)));
  gst_object_unref (factory);
}

void
element_expect_nicks (
    GstElement *element, const char *property, const char *const *nicks)
{
  GParamSpec *spec = element_spec (element, property);
  GEnumClass *values;

  expect (G_IS_PARAM_SPEC_ENUM (spec), "%s is no enum", property);
  values = G_PARAM_SPEC_ENUM (spec)->enum_class;
  for (int i = 0; nicks[i]; i++)
    expect (g_enum_get_value_by_nick (values, nicks[i]), "%s: no %s", property,
        nicks[i]);
}

gboolean
buffer_is_pinned (GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++)
    if (!gst_memory_is_type (
            gst_buffer_peek_memory (buffer, i), "PinnedHostMemory"))
      return FALSE;
  return TRUE;
}

gboolean
filter_caps (Filter *filter, GstCaps *caps)
{
  GstHarness *harness = filter->harness;
  GstPad *sink = GST_PAD_PEER (harness->srcpad);
  GstSegment segment;
  GstCaps *current;
  gboolean accepted;

  if (!gst_pad_has_current_caps (sink))
    gst_harness_push_event (harness, gst_event_new_stream_start ("elements"));
  gst_harness_push_event (harness, gst_event_new_caps (caps));
  /* The return value of pushing a sticky event is useless: the event is stored for
   * later. A pad has caps only after it accepted them. */
  current = gst_pad_get_current_caps (sink);
  accepted = current && gst_caps_is_strictly_equal (current, caps);
  gst_caps_replace (&current, NULL);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  gst_caps_unref (caps);
  return accepted;
}

GstBuffer *
filter_process (Filter *filter, GstBuffer *in)
{
  const GstFlowReturn flow = gst_harness_push (filter->harness, in);
  const gint64 end = g_get_monotonic_time ()
      + (gint64) GST_TIME_AS_USECONDS (test_patience ());
  GstBuffer *out;

  expect (flow == GST_FLOW_OK, "pushing gave %s", gst_flow_get_name (flow));
  /* A harness waits at most one minute. */
  do
    out = gst_harness_pull (filter->harness);
  while (out == NULL && g_get_monotonic_time () < end);
  expect (out != NULL, "nothing came out");
  return out;
}

void
filter_start (Filter *filter, const char *settings, GstVideoInfo *info,
    const char *format, int width, int height, const char *more)
{
  test_context ("format=%s size=%dx%d caps=%s settings=%.400s", format, width,
      height, more ? more : "-", settings);
  video_info (info, format, width, height, more);
  filter_open (filter, settings);
  expect (filter_caps (filter, video_caps (format, width, height, more)),
      "caps refused");
}

GstBuffer *
filter_process_alone (
    const char *settings, const GstVideoInfo *info, GstBuffer *in)
{
  GstVideoInfo same;
  GstBuffer *out;
  Filter filter;

  filter_start (&filter, settings, &same, GST_VIDEO_INFO_NAME (info),
      GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), NULL);
  out = filter_process (&filter, gst_buffer_ref (in));
  filter_close (&filter);
  return out;
}

void
filter_restart (Filter *filter)
{
  expect (gst_element_set_state (filter->element, GST_STATE_NULL)
          == GST_STATE_CHANGE_SUCCESS,
      "going to NULL failed");
  expect (gst_element_set_state (filter->element, GST_STATE_PLAYING)
          == GST_STATE_CHANGE_SUCCESS,
      "going to PLAYING failed");
}

int
filter_drain_bus (Filter *filter, GstMessageType type, GstMessage **first)
{
  GstMessage *message;
  int n = 0;

  if (first)
    *first = NULL;
  while ((message = gst_bus_pop (filter->bus)) != NULL) {
    if (!(GST_MESSAGE_TYPE (message) & type)) {
      gst_message_unref (message);
      continue;
    }
    n++;
    if (first && *first == NULL)
      *first = message;
    else
      gst_message_unref (message);
  }
  return n;
}

GstPadProbeReturn
count_buffer (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) probe;
  g_atomic_int_inc ((gint *) user);
  return GST_PAD_PROBE_OK;
}

void
watch_sink (GstElement *pipeline, const char *name,
    GstPadProbeCallback callback, gpointer user)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstPad *pad = gst_element_get_static_pad (sink, "sink");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, user, NULL);
  gst_object_unref (pad);
  gst_object_unref (sink);
}

void
pipeline_run_to_end (
    GstElement *pipeline, GstClockTime patience, GstMessageType complaints)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message =
      gst_bus_timed_pop_filtered (bus, patience, GST_MESSAGE_EOS | complaints);
  expect (message != NULL, "no end after %" G_GUINT64_FORMAT " s",
      (guint64) (patience / GST_SECOND));
  if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_EOS)
    message_parse (message, &error, NULL);
  expect (error == NULL, "%s", error->message);
  gst_message_unref (message);
  gst_object_unref (bus);
}

void
message_parse (GstMessage *message, GError **error, char **debug)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, error, debug);
  else
    gst_message_parse_warning (message, error, debug);
}

/* Formats an error or warning message as "error <text> | <debug>". */
static char *
message_text (GstMessage *message, GError **error, char **debug)
{
  message_parse (message, error, debug);
  return g_strdup_printf ("%s \"%s\" | %s", GST_MESSAGE_TYPE_NAME (message),
      (*error)->message, *debug ? *debug : "-");
}

/* All errors and warnings that have arrived, one per line. */
static char *
drain_texts (Filter *filter, int *n)
{
  GString *all = g_string_new (NULL);
  GstMessage *message;

  *n = 0;
  while ((message = gst_bus_pop_filtered (
              filter->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))
      != NULL) {
    GError *error;
    char *debug, *text = message_text (message, &error, &debug);

    g_string_append_printf (all, "\n  %s", text);
    g_free (text);
    g_free (debug);
    g_error_free (error);
    gst_message_unref (message);
    ++*n;
  }
  return g_string_free (all, FALSE);
}

void
filter_expect_error (Filter *filter, GQuark domain, int code)
{
  GstMessage *message = gst_bus_pop_filtered (
      filter->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  GError *error;
  char *debug, *text, *more;
  int n;

  expect (message != NULL, "no error message on the bus");
  text = message_text (message, &error, &debug);
  more = drain_texts (filter, &n);
  expect (n == 0, "after %s came%s", text, more);
  expect (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR, "%s", text);
  expect (error->domain == domain && error->code == code,
      "domain %s code %d instead of %s %d: %s",
      g_quark_to_string (error->domain), error->code,
      g_quark_to_string (domain), code, text);
  /* A sentence for the user, and details of the cause. */
  expect (strlen (error->message) > 15 && strchr (error->message, ' '),
      "not a sentence: %s", text);
  expect (debug && *debug, "no debug text: %s", text);
  g_free (more);
  g_free (text);
  g_free (debug);
  g_error_free (error);
  gst_message_unref (message);
}

void
filter_expect_silence (Filter *filter)
{
  int n;
  char *texts = drain_texts (filter, &n);

  expect (n == 0, "on the bus:%s", texts);
  g_free (texts);
}

/* The nick of an enum or flags value. */
static char *
flags_nick (GParamSpec *spec, guint flags)
{
  GFlagsClass *values = G_PARAM_SPEC_FLAGS (spec)->flags_class;

  for (guint i = 0; i < values->n_values; i++)
    if (values->values[i].value == flags)
      return g_strdup (values->values[i].value_nick);
  return g_strdup_printf ("0x%x", flags);
}

char *
filter_get (Filter *filter, const char *property)
{
  GParamSpec *spec = element_spec (filter->element, property);
  GValue value = G_VALUE_INIT;
  char *text;

  g_value_init (&value, spec->value_type);
  g_object_get_property (G_OBJECT (filter->element), property, &value);
  if (G_VALUE_HOLDS_STRING (&value))
    text = g_value_dup_string (&value);
  else if (G_VALUE_HOLDS_FLAGS (&value))
    text = flags_nick (spec, g_value_get_flags (&value));
  else
    text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

/* Whether the bus has an error that says that there is no device. */
static gboolean
says_not_found (Filter *filter)
{
  GstMessage *message;
  gboolean result = FALSE;

  if (filter_drain_bus (filter, GST_MESSAGE_ERROR, &message) > 0) {
    GError *error = NULL;

    gst_message_parse_error (message, &error, NULL);
    result = g_error_matches (
        error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    g_error_free (error);
    gst_message_unref (message);
  }
  return result;
}

gboolean
filter_cuda_is_usable (void)
{
  GstElement *element = gst_element_factory_make ("cudasepconv", NULL);
  Filter filter = { .bus = gst_bus_new () };
  gboolean usable = TRUE;
  GstVideoInfo info;

  if (element == NULL)
    return TRUE;
  filter.element = gst_object_ref_sink (element);
  gst_element_set_bus (element, filter.bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
  if (gst_element_set_state (element, GST_STATE_PAUSED)
      == GST_STATE_CHANGE_FAILURE) {
    usable = !says_not_found (&filter);
  } else {
    GstCaps *caps = video_caps ("GRAY8", 16, 16, NULL);

    gst_video_info_from_caps (&info, caps);
    filter_plug (&filter);
    if (filter_caps (&filter, caps)) {
      GstBuffer *buffer = gst_buffer_new_allocate (NULL, info.size, NULL);

      gst_buffer_memset (buffer, 0, 0, info.size);
      gst_harness_push (filter.harness, buffer);
    }
    usable = !says_not_found (&filter);
  }
  filter_close (&filter);
  return usable;
}
