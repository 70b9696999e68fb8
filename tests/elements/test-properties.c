/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties: set while playing, controlled, and read back. */
#include "picture-oracle.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

/* Each step is the full list of settings from there on; those that it names change from
 * the step before. */
static void
properties_while_playing (void)
{
  static const char *const steps[] = {
    "kernel=gaussian sigma=1",
    "kernel=gaussian sigma=4",
    "kernel=gaussian sigma=4 sigma-y=0.5",
    "kernel=gaussian sigma=0.7 sigma-y=-1 radius=1",
    "kernel=box sigma=0.7 radius=4",
    "kernel=box radius=4 radius-y=1",
    "kernel=box radius=4 radius-y=1 border=wrap",
    "kernel=box radius=4 radius-y=1 border=constant border-color=0xff405060",
    "kernel=box radius=4 radius-y=1 border=constant border-color=0xffc0b0a0",
    "kernel=box radius=4 radius-y=1 border=reflect scale=0.5",
    "kernel=box radius=4 radius-y=1 border=reflect scale=0.5 bias=0.25",
    "kernel=box radius=4 radius-y=1 border=reflect scale=1 bias=0 planes=luma",
    "kernel=box radius=4 radius-y=1 border=reflect planes=chroma",
    "kernel=box radius=4 radius-y=1 border=reflect planes=all",
    "planes=color scale-chroma=false",
    "kernel=custom taps-x=<0.2,0.3,0.5> scale-chroma=true",
    "kernel=custom taps-x=<0.2,0.3,0.5> taps-y=<1.0>",
    "kernel=custom taps-x=<0.2,0.3,0.5> taps-y=<2.0,1.0> normalize=true",
    "kernel=sobel-x radius=-1 radius-y=-1 normalize=false scale=0.2 bias=0.1",
    "kernel=gaussian sigma=2 scale=1 bias=0",
  };
  static const char *const formats[] = { "AYUV", "NV12" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    char *settings = g_strdup ("border=replicate");
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, steps[0], &info, formats[f], 45, 30, NULL);
    for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
      /* The oracle uses the last value of each property. */
      char *all = g_strdup_printf ("%s %s", settings, steps[s]);

      g_free (settings);
      settings = all;
      test_context (
          "format=%s size=45x30 step %u settings=%s", formats[f], s, steps[s]);
      settings_apply (filter.element, steps[s]);
      picture_check_frame (&filter, &info, s, settings);
      picture_check_frame (&filter, &info, s + 100, settings);
    }
    filter_expect_silence (&filter);
    g_free (settings);
    filter_close (&filter);
  }
}

/* Switching the method in mid-stream. */
static void
properties_method_while_playing (void)
{
  static const char *const cuda_methods[] = { "global", "shared", "auto",
    "global" };
  static const char *const cpu_methods[] = { "reference", "auto", "simd" };
  const char *const *methods = test_on_cuda () ? cuda_methods : cpu_methods;
  const guint n = test_on_cuda () ? G_N_ELEMENTS (cuda_methods)
                                  : G_N_ELEMENTS (cpu_methods);
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=2", &info, "NV12", 45, 30, NULL);
  for (guint m = 0; m < n; m++) {
    char *settings = g_strdup_printf ("method=%s sigma=2", methods[m]);

    test_context ("format=NV12 size=45x30 settings=%s", settings);
    settings_apply (filter.element, settings);
    picture_check_frame (&filter, &info, m, settings);
    if (!g_str_equal (methods[m], "auto")) {
      char *method = filter_get (&filter, "active-method");

      expect (g_str_equal (method, methods[m]), "active-method is %s", method);
      g_free (method);
    }
    g_free (settings);
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* ---- under control ------------------------------------------------------- */

typedef struct
{
  const char *property;
  double at_start, after_ten_seconds;
} Ramp;

static void
attach_ramp (GstElement *element, const Ramp *ramp)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *timed = GST_TIMED_VALUE_CONTROL_SOURCE (source);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set (timed, 0, ramp->at_start);
  gst_timed_value_control_source_set (
      timed, 10 * GST_SECOND, ramp->after_ten_seconds);
  expect (gst_object_add_control_binding (GST_OBJECT (element),
              gst_direct_control_binding_new_absolute (
                  GST_OBJECT (element), ramp->property, source)),
      "%s cannot be controlled", ramp->property);
  gst_object_unref (source);
}

/* The value is that at the stream time of each buffer, not of the buffer before. */
static void
check_ramp (const Ramp *ramp, const char *base, GstClockTime segment_start)
{
  static const int tenths[] = { 0, 25, 50, 51, 10, 100, 73 };
  GstVideoInfo info;
  GstSegment segment;
  Filter filter;

  filter_start (&filter, base, &info, "GRAY8", 40, 25, NULL);
  attach_ramp (filter.element, ramp);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.position = segment_start;
  gst_harness_push_event (filter.harness, gst_event_new_segment (&segment));
  for (guint i = 0; i < G_N_ELEMENTS (tenths); i++) {
    char number[G_ASCII_DTOSTR_BUF_SIZE], *settings;
    GstBuffer *in = picture_new (&info, i), *out;
    double value = ramp->at_start
        + (ramp->after_ten_seconds - ramp->at_start) * tenths[i] / 100.0;

    g_ascii_dtostr (number, sizeof number, value);
    settings = g_strdup_printf ("%s %s=%s", base, ramp->property, number);
    test_context ("format=GRAY8 size=40x25 at %.1f s settings=%s",
        tenths[i] / 10.0, settings);
    GST_BUFFER_PTS (in) =
        segment_start + (GstClockTime) tenths[i] * GST_SECOND / 10;
    out = filter_process (&filter, gst_buffer_ref (in));
    picture_expect (in, out, &info, settings, FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    g_free (settings);
  }
  filter_close (&filter);
}

static void
properties_controlled_sigma (void)
{
  const Ramp ramp = { "sigma", 0.5, 6.0 };

  check_ramp (&ramp, "kernel=gaussian", 0);
}

static void
properties_controlled_scale (void)
{
  const Ramp ramp = { "scale", -1.0, 2.0 };

  check_ramp (&ramp, "kernel=box radius=1 bias=0.3", 0);
}

static void
properties_controlled_bias (void)
{
  const Ramp ramp = { "bias", -0.5, 0.5 };

  check_ramp (&ramp, "kernel=sobel-x scale=0.25", 0);
}

/* Control uses stream time: a segment may begin anywhere. */
static void
properties_controlled_by_stream_time (void)
{
  const Ramp ramp = { "sigma", 0.5, 6.0 };

  check_ramp (&ramp, "kernel=gaussian", 3600 * GST_SECOND);
}

/* ---- taps ---------------------------------------------------------------- */

static void
set_taps (GstElement *element, const char *property, const double *taps, int n)
{
  GValue array = G_VALUE_INIT, tap = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  g_value_init (&tap, G_TYPE_DOUBLE);
  for (int i = 0; i < n; i++) {
    g_value_set_double (&tap, taps[i]);
    gst_value_array_append_value (&array, &tap);
  }
  g_object_set_property (G_OBJECT (element), property, &array);
  g_value_unset (&tap);
  g_value_unset (&array);
}

static void
expect_taps (
    GstElement *element, const char *property, const double *taps, guint n)
{
  GValue array = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  g_object_get_property (G_OBJECT (element), property, &array);
  expect (gst_value_array_get_size (&array) == n, "%s has %u taps", property,
      gst_value_array_get_size (&array));
  for (guint i = 0; i < n; i++) {
    const GValue *tap = gst_value_array_get_value (&array, i);

    expect (G_VALUE_HOLDS_DOUBLE (tap), "%s[%u] is a %s", property, i,
        G_VALUE_TYPE_NAME (tap));
    expect (g_value_get_double (tap) == taps[i], "%s[%u] is %g", property, i,
        g_value_get_double (tap));
  }
  g_value_unset (&array);
}

static void
properties_taps_by_value (void)
{
  static const double x[] = { 0.25, -0.5, 1.25 }, y[] = { 0.1, 0.9 };
  static const char settings[] =
      "kernel=custom taps-x=<0.25,-0.5,1.25> taps-y=<0.1,0.9>";
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "kernel=gaussian", &info, "RGB", 21, 14, NULL);
  set_taps (filter.element, "taps-x", x, 3);
  set_taps (filter.element, "taps-y", y, 2);
  expect_taps (filter.element, "taps-x", x, 3);
  expect_taps (filter.element, "taps-y", y, 2);
  settings_apply (filter.element, "kernel=custom");
  picture_check_frame (&filter, &info, 1, settings);
  /* Empty again: the same taps as along x. */
  set_taps (filter.element, "taps-y", NULL, 0);
  expect_taps (filter.element, "taps-y", NULL, 0);
  picture_check_frame (
      &filter, &info, 2, "kernel=custom taps-x=<0.25,-0.5,1.25>");
  filter_close (&filter);
}

/* As on a command line, where numbers may have no decimal point. */
static void
properties_taps_by_launch_line (void)
{
  static const struct
  {
    const char *text;
    double taps[3];
    guint n;
  } rows[] = {
    { "<0.25,0.5,0.25>", { 0.25, 0.5, 0.25 }, 3 },
    { "< 0.25, 0.5, 0.25 >", { 0.25, 0.5, 0.25 }, 3 },
    { "<1,2,1>", { 1.0, 2.0, 1.0 }, 3 },
    { "<-1,0.5>", { -1.0, 0.5 }, 2 },
    { "<1>", { 1.0 }, 1 },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    char *line = g_strdup_printf (
        "fakesrc ! cudasepconv name=filter kernel=custom taps-x=\"%s\" ! "
        "fakesink",
        rows[r].text);
    GError *error = NULL;
    GstElement *pipeline, *element;

    test_context ("%s", line);
    pipeline = gst_parse_launch (line, &error);
    expect (pipeline && !error, "%s", error ? error->message : "no pipeline");
    element = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
    expect_taps (element, "taps-x", rows[r].taps, rows[r].n);
    gst_object_unref (element);
    gst_object_unref (pipeline);
    g_free (line);
  }
}

static void
properties_read_back (void)
{
  static const char settings[] =
      "kernel=scharr-y sigma=3.5 sigma-y=1.25 radius=7 radius-y=3 "
      "normalize=true scale=-0.5 bias=0.75 border=reflect-101 "
      "border-color=305419896 planes=alpha scale-chroma=false "
      "method=reference backend=cpu cuda-device-id=0";
  char **pairs = g_strsplit (settings, " ", -1);
  Filter filter;

  filter_make (&filter, settings);
  for (int i = 0; pairs[i]; i++) {
    char **pair = g_strsplit (pairs[i], "=", 2);
    char *value = filter_get (&filter, pair[0]);

    expect (g_strcmp0 (value, pair[1]) == 0, "%s is %s instead of %s", pair[0],
        value, pair[1]);
    g_free (value);
    g_strfreev (pair);
  }
  g_strfreev (pairs);
  filter_close (&filter);
}

/* ---- identity ------------------------------------------------------------ */

static void
check_untouched (Filter *filter, const GstVideoInfo *info, guint32 seed)
{
  GstBuffer *in = picture_new (info, seed), *out;

  out = filter_process (filter, gst_buffer_ref (in));
  expect (in == out, "another buffer comes out");
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

static void
properties_identity (void)
{
  static const struct
  {
    const char *settings, *format;
  } rows[] = {
    { "sigma=0", "NV12" },
    { "sigma=0 planes=all", "RGBA" },
    { "kernel=custom taps-x=<1.0>", "I420" },
    { "kernel=custom taps-x=<0.0,1.0,0.0> taps-y=<1.0>", "GRAY8" },
    { "kernel=custom taps-x=<3.0> normalize=true", "RGB" },
    { "kernel=box radius=0", "P010_10LE" },
    { "sigma=3 planes=chroma", "GRAY8" },
    { "sigma=3 planes=alpha", "I420" },
    { "sigma=3 planes=alpha", "RGBx" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    GstVideoInfo info;
    Filter filter;

    filter_start (
        &filter, rows[r].settings, &info, rows[r].format, 24, 16, NULL);
    check_untouched (&filter, &info, 1);
    check_untouched (&filter, &info, 2);
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* A filter close to the identity is not the identity. */
static void
properties_not_identity (void)
{
  static const char *const settings[] = {
    "kernel=custom taps-x=<1.0> scale=0.5",
    "kernel=custom taps-x=<1.0> bias=0.1",
    "kernel=custom taps-x=<1.0,0.0>",
    "kernel=custom taps-x=<1.0> taps-y=<-1.0>",
    "kernel=custom taps-x=<0.0>",
  };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    picture_check ("NV12", 24, 16, NULL, settings[s]);
}

static void
properties_identity_and_back (void)
{
  static const char *const steps[] = { "sigma=2", "sigma=0", "sigma=1",
    "sigma=0", "sigma=3" };
  GstVideoInfo info;
  Filter filter;
  char *method;

  filter_start (&filter, "sigma=0", &info, "NV12", 24, 16, NULL);
  check_untouched (&filter, &info, 1);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("format=NV12 size=24x16 step %u %s", s, steps[s]);
    settings_apply (filter.element, steps[s]);
    for (guint32 i = 0; i < 2; i++) {
      if (g_str_equal (steps[s], "sigma=0"))
        check_untouched (&filter, &info, i);
      else
        picture_check_frame (&filter, &info, i, steps[s]);
    }
    g_object_get (filter.element, "active-method", &method, NULL);
    expect (g_str_equal (steps[s], "sigma=0") == g_str_equal (method, "none"),
        "active-method is %s", method);
    g_free (method);
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* ---- settings without effect --------------------------------------------- */

/* Pops one warning, which must be about this setting and state the reason; NULL:
 * expects none. */
static void
expect_hint (Filter *filter, const char *setting)
{
  GstMessage *message = gst_bus_pop_filtered (
      filter->bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  GError *error = NULL;
  char *start;

  if (setting == NULL) {
    expect (message == NULL, "%" GST_PTR_FORMAT, (gpointer) message);
    return;
  }
  expect (message != NULL, "no warning of %s", setting);
  expect (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING, "%" GST_PTR_FORMAT,
      (gpointer) message);
  gst_message_parse_warning (message, &error, NULL);
  start = g_strdup_printf ("%s has no effect: ", setting);
  expect (g_str_has_prefix (error->message, start)
          && strlen (error->message) > strlen (start) + 10,
      "\"%s\" is not of %s", error->message, setting);
  expect (
      g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
      "another code than SETTINGS");
  g_free (start);
  g_error_free (error);
  gst_message_unref (message);
}

static void
properties_without_effect (void)
{
  static const struct
  {
    const char *settings, *useless; /* NULL: all have an effect */
  } rows[] = {
    { "sigma=3", NULL },
    { "sigma=2 kernel=box radius=3", NULL }, /* the default */
    { "sigma=3 kernel=box radius=3", "sigma" },
    { "sigma=3 kernel=box", NULL },
    { "sigma=3 kernel=sobel-x", "sigma" },
    { "sigma-y=3 kernel=box radius-y=3", "sigma-y" },
    { "sigma-y=3 kernel=box", NULL },
    { "radius=2 kernel=sobel-x", NULL },
    { "radius=2 kernel=custom taps-x=<0.5,0.5>", "radius" },
    { "radius-y=2 kernel=custom taps-x=<0.5,0.5>", "radius-y" },
    { "taps-x=<0.5,0.5>", "taps-x" },
    { "taps-y=<0.5,0.5>", "taps-y" },
    { "normalize=true", "normalize" },
    { "normalize=true kernel=custom taps-x=<1,1>", NULL },
    { "border-color=0xff00ff00", "border-color" },
    { "border-color=0xff00ff00 border=constant", NULL },
    { "scale-chroma=false", NULL },
    { "scale-chroma=false kernel=scharr-y", "scale-chroma" },
    { "neutral-chroma=false", "neutral-chroma" },
    { "neutral-chroma=false kernel=sobel-y", NULL },
    { "neutral-chroma=false kernel=sobel-y planes=luma", "neutral-chroma" },
    { "sigma=3 kernel=unsharp", NULL },
    { "sigma=3 kernel=laplacian", "sigma" },
    { "radius=2 kernel=terms terms-x=<<1>>", "radius" },
    { "taps-x=<0.5,0.5> kernel=terms terms-x=<<1>>", "taps-x" },
    { "terms-x=<<1>>", "terms-x" },
    { "terms-y=<<1>>", "terms-y" },
    { "normalize=true kernel=terms terms-x=<<2>>", NULL },
    { "amount=2", "amount" },
    { "amount=2 threshold=0.1 kernel=unsharp", NULL },
    { "threshold=0.1 kernel=sobel", "threshold" },
    { "sigma-outer=3 kernel=log", "sigma-outer" },
    { "sigma-outer=3 kernel=dog", NULL },
    { "gradient=direction", "gradient" },
    { "gradient=direction kernel=scharr", NULL },
    { "gradient=direction kernel=scharr scale=0.5", "scale" },
    { "gradient=direction kernel=prewitt bias=0.5", "bias" },
    { "scale-chroma=false kernel=dog", NULL },
    { "neutral-chroma=false kernel=laplacian", NULL },
    { "bias=0.1", NULL },
    { "bias=0.1 planes=chroma", "bias" },
    { "histogram-bins=16", "histogram-bins" },
    { "histogram-meta=true", "histogram-meta" },
    { "histogram=true histogram-messages=false", "histogram" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    Filter filter;
    GstVideoInfo info;

    test_context ("format=NV12 size=24x16 %s", rows[r].settings);
    video_info (&info, "NV12", 24, 16, NULL);
    filter_make (&filter, rows[r].settings);
    filter_let_hints_through (&filter);
    filter_plug (&filter);
    for (int round = 0; round < 2; round++) {
      expect (filter_caps (&filter, video_caps ("NV12", 24, 16, NULL)),
          "caps refused");
      for (guint32 i = 0; i < 3; i++)
        gst_buffer_unref (filter_process (&filter, picture_new (&info, i)));
      expect_hint (&filter, rows[r].useless);
      expect_hint (&filter, NULL);
      filter_restart (&filter);
    }
    filter_close (&filter);
  }
}

/* While playing, a warning is posted when a setting is set that has no effect at that
 * time, but not when another setting takes its effect away; and only once. */
static void
properties_without_effect_while_playing (void)
{
  static const struct
  {
    const char *settings, *useless;
  } steps[] = {
    { "kernel=custom taps-x=<0.5,0.5>", NULL },
    { "kernel=gaussian", NULL },
    { "taps-y=<1.0>", "taps-y" },
    { "taps-y=<0.5>", NULL },
    { "border-color=0xff102030", "border-color" },
    { "border=constant", NULL },
  };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "I420", 24, 16, NULL);
  filter_let_hints_through (&filter);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("format=I420 size=24x16 step %u: %s", s, steps[s].settings);
    settings_apply (filter.element, steps[s].settings);
    gst_buffer_unref (filter_process (&filter, picture_new (&info, s)));
    expect_hint (&filter, steps[s].useless);
    expect_hint (&filter, NULL);
  }
  filter_close (&filter);
}

const Test tests_properties[] = {
  { "properties-while-playing", properties_while_playing, VARIANT_BOTH },
  { "properties-method-while-playing", properties_method_while_playing,
      VARIANT_BOTH },
  { "properties-controlled-sigma", properties_controlled_sigma, VARIANT_BOTH },
  { "properties-controlled-scale", properties_controlled_scale, VARIANT_BOTH },
  { "properties-controlled-bias", properties_controlled_bias, VARIANT_BOTH },
  { "properties-controlled-by-stream-time",
      properties_controlled_by_stream_time, VARIANT_BOTH },
  { "properties-taps-by-value", properties_taps_by_value, VARIANT_BOTH },
  { "properties-taps-by-launch-line", properties_taps_by_launch_line,
      VARIANT_ANY },
  { "properties-read-back", properties_read_back, VARIANT_ANY },
  { "properties-identity", properties_identity, VARIANT_BOTH },
  { "properties-not-identity", properties_not_identity, VARIANT_BOTH },
  { "properties-identity-and-back", properties_identity_and_back,
      VARIANT_BOTH },
  { "properties-without-effect", properties_without_effect, VARIANT_BOTH },
  { "properties-without-effect-while-playing",
      properties_without_effect_while_playing, VARIANT_BOTH },
  { 0 },
};
