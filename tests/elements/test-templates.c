/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudasepconv's pads, metadata and properties, as gst-inspect-1.0 shows them. */
#include "filter-fixture.h"

#include <string.h>

static void
templates_formats (void)
{
  element_expect_formats ("cudasepconv");
}

/* The documented pad templates are the same on every machine; the caps that the pads
 * accept here are a subset. */
static void
templates_documentation (void)
{
  static const char *const names[] = { "cudasepconv", "cudahisto" };
  static const char *const pads[] = { "sink", "src" };

  for (int i = 0; i < 4; i++) {
    GstElement *element = element_make (names[i / 2]);
    GstPadTemplate *template =
        gst_element_get_pad_template (element, pads[i % 2]);
    GstCaps *documented = gst_pad_template_get_documentation_caps (template);
    GstCaps *caps = gst_pad_template_get_caps (template);
    gboolean on_gpu = FALSE;

    test_context ("%s, %s pad", names[i / 2], pads[i % 2]);
    for (guint s = 0; s < gst_caps_get_size (documented); s++)
      on_gpu = on_gpu
          || gst_caps_features_contains (
              gst_caps_get_features (documented, s), "memory:CUDAMemory");
    expect (on_gpu, "no frames in the GPU's memory");
    expect (gst_caps_is_subset (caps, documented),
        "%" GST_PTR_FORMAT " is not documented", (gpointer) caps);
    gst_caps_unref (documented);
    gst_caps_unref (caps);
    gst_object_unref (element);
  }
}

static void
templates_metadata (void)
{
  element_expect_metadata ("cudasepconv", "Filter/Effect/Video/Hardware");
}

/* Properties, their defaults as gst-inspect prints them, and their ranges. */
static const struct
{
  const char *name, *initial;
  gboolean writable, controllable;
} properties[] = {
  { "kernel", "gaussian", TRUE, FALSE },
  { "sigma", "2", TRUE, TRUE },
  { "sigma-y", "-1", TRUE, FALSE },
  { "radius", "-1", TRUE, FALSE },
  { "radius-y", "-1", TRUE, FALSE },
  { "taps-x", "<  >", TRUE, FALSE },
  { "taps-y", "<  >", TRUE, FALSE },
  { "normalize", "false", TRUE, FALSE },
  { "scale", "1", TRUE, TRUE },
  { "bias", "0", TRUE, TRUE },
  { "border", "replicate", TRUE, FALSE },
  { "border-color", "4278190080", TRUE, FALSE },
  { "scale-chroma", "true", TRUE, FALSE },
  { "neutral-chroma", "true", TRUE, FALSE },
  { "method", "auto", TRUE, FALSE },
  { "backend", "auto", TRUE, FALSE },
  { "cuda-device-id", "-1", TRUE, FALSE },
  { "active-backend", NULL, FALSE, FALSE },
  { "active-method", NULL, FALSE, FALSE },
  { "stats", NULL, FALSE, FALSE },
};

static void
templates_properties (void)
{
  Filter filter = { .element = element_make ("cudasepconv") };

  for (guint i = 0; i < G_N_ELEMENTS (properties); i++) {
    const char *name = properties[i].name;
    GParamSpec *spec = element_spec (filter.element, name);
    char *value;

    expect ((spec->flags & G_PARAM_READABLE) != 0, "%s is unreadable", name);
    expect (!!(spec->flags & G_PARAM_WRITABLE) == properties[i].writable,
        "%s: writable is %d", name, !!(spec->flags & G_PARAM_WRITABLE));
    expect (
        !!(spec->flags & GST_PARAM_CONTROLLABLE) >= properties[i].controllable,
        "%s is not controllable", name);
    expect (g_param_spec_get_blurb (spec) && *g_param_spec_get_blurb (spec),
        "%s has no description", name);
    if (properties[i].initial == NULL)
      continue;
    value = filter_get (&filter, name);
    expect (g_strcmp0 (value, properties[i].initial) == 0
            || (properties[i].initial[0] == '<' && value[0] == '<'
                && strspn (value, "< >") == strlen (value)),
        "%s is %s instead of %s", name, value, properties[i].initial);
    g_free (value);
  }
  gst_object_unref (filter.element);
}

static void
templates_enums (void)
{
  static const char *const kernels[] = { "gaussian", "box", "binomial",
    "sobel-x", "sobel-y", "scharr-x", "scharr-y", "prewitt-x", "prewitt-y",
    "custom", NULL };
  static const char *const borders[] = { "replicate", "reflect", "reflect-101",
    "wrap", "constant", NULL };
  static const char *const methods[] = { "auto", "reference", "simd",
    "multirate-simd", "box-running-simd", "terms-simd", "global", "shared", NULL };
  static const char *const backends[] = { "auto", "cuda", "cpu", NULL };
  static const char *const planes[] = { "luma", "chroma", "alpha", "color",
    "all", NULL };
  GstElement *element = element_make ("cudasepconv");
  GParamSpec *spec;
  GFlagsClass *flags;

  element_expect_nicks (element, "kernel", kernels);
  element_expect_nicks (element, "border", borders);
  element_expect_nicks (element, "method", methods);
  element_expect_nicks (element, "backend", backends);
  spec = element_spec (element, "planes");
  expect (G_IS_PARAM_SPEC_FLAGS (spec), "planes are no flags");
  flags = G_PARAM_SPEC_FLAGS (spec)->flags_class;
  for (int i = 0; planes[i]; i++)
    expect (g_flags_get_value_by_nick (flags, planes[i]), "planes: no %s",
        planes[i]);
  expect (G_PARAM_SPEC_FLAGS (spec)->default_value
          == g_flags_get_value_by_nick (flags, "color")->value,
      "planes is 0x%x at first", G_PARAM_SPEC_FLAGS (spec)->default_value);
  expect (g_flags_get_value_by_nick (flags, "color")->value
          == (g_flags_get_value_by_nick (flags, "luma")->value
              | g_flags_get_value_by_nick (flags, "chroma")->value),
      "color is not luma and chroma");
  gst_object_unref (element);
}

static void
expect_double_range (
    GstElement *element, const char *name, double least, double most)
{
  GParamSpec *spec = element_spec (element, name);

  expect (G_IS_PARAM_SPEC_DOUBLE (spec), "%s is no double", name);
  expect (G_PARAM_SPEC_DOUBLE (spec)->minimum == least
          && G_PARAM_SPEC_DOUBLE (spec)->maximum >= most,
      "%s goes from %g to %g", name, G_PARAM_SPEC_DOUBLE (spec)->minimum,
      G_PARAM_SPEC_DOUBLE (spec)->maximum);
}

static void
expect_int_range (GstElement *element, const char *name, int least, int most)
{
  GParamSpec *spec = element_spec (element, name);

  expect (G_IS_PARAM_SPEC_INT (spec), "%s is no int", name);
  expect (G_PARAM_SPEC_INT (spec)->minimum == least
          && G_PARAM_SPEC_INT (spec)->maximum >= most,
      "%s goes from %d to %d", name, G_PARAM_SPEC_INT (spec)->minimum,
      G_PARAM_SPEC_INT (spec)->maximum);
}

/* Negative widths and lengths are refused when they are set, and large kernels are
 * allowed. */
static void
templates_ranges (void)
{
  GstElement *element = element_make ("cudasepconv");

  expect_double_range (element, "sigma", 0.0, 250.0);
  expect_double_range (element, "sigma-y", -1.0, 250.0);
  expect_int_range (element, "radius", -1, 512);
  expect_int_range (element, "radius-y", -1, 512);
  expect_int_range (element, "cuda-device-id", -1, 15);
  gst_object_unref (element);
}

/* The plugin names its own project, not GStreamer, as its origin. */
static void
templates_origin (void)
{
  GstElement *element = element_make ("cudahisto");
  GstPlugin *plugin = gst_plugin_feature_get_plugin (
      GST_PLUGIN_FEATURE (gst_element_get_factory (element)));

  expect (plugin != NULL, "the element has no plugin");
  expect (g_str_equal (gst_plugin_get_package (plugin), "gst-cudasepconv")
          && g_str_equal (gst_plugin_get_source (plugin), "gst-cudasepconv"),
      "package %s, source %s", gst_plugin_get_package (plugin),
      gst_plugin_get_source (plugin));
  expect (
      g_str_equal (gst_plugin_get_origin (plugin), "Unknown package origin"),
      "origin %s", gst_plugin_get_origin (plugin));
  gst_object_unref (plugin);
  gst_object_unref (element);
}

const Test tests_templates[] = {
  { "templates-formats", templates_formats, VARIANT_ANY },
  { "templates-documentation", templates_documentation, VARIANT_ANY },
  { "templates-metadata", templates_metadata, VARIANT_ANY },
  { "templates-properties", templates_properties, VARIANT_ANY },
  { "templates-enums", templates_enums, VARIANT_ANY },
  { "templates-origin", templates_origin, VARIANT_ANY },
  { "templates-ranges", templates_ranges, VARIANT_ANY },
  { 0 },
};
