/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto's properties and pads, as gst-inspect-1.0 shows them. */
#include "filter-fixture.h"

static void
histo_templates_formats (void)
{
  element_expect_formats ("cudahisto");
}

static void
histo_templates_metadata (void)
{
  element_expect_metadata ("cudahisto", "Filter/Analyzer/Video/Hardware");
}

/* Properties, their defaults, and another value that they accept; NULL: read-only. */
static const struct
{
  const char *name, *initial, *other;
} properties[] = {
  { "bins", "256", "65536" },
  { "planes", "color", "alpha" },
  { "interval", "100000000", "0" },
  { "post-messages", "true", "false" },
  { "message-bins", "both", "bytes" },
  { "attach-meta", "false", "true" },
  { "threshold-dark", "0.02", "0.25" },
  { "threshold-bright", "0.98", "0.75" },
  { "alarm-dark", "0.05", "0.125" },
  { "alarm-bright", "0.95", "0.5" },
  { "alarm-flat", "0.01", "0" },
  { "alarm-scene", "0.5", "1" },
  { "alarm-hysteresis", "0.02", "0.0625" },
  { "mode", "analyze", "overlay" },
  { "equalizer", "global", "clahe" },
  { "strength", "1", "0.5" },
  { "smoothing", "0.8", "0.999" },
  { "clip-limit", "3", "0" },
  { "tiles-x", "8", "64" },
  { "tiles-y", "8", "1" },
  { "overlay-position", "bottom-right", "center" },
  { "overlay-width", "0.35", "1" },
  { "overlay-height", "0.35", "0.5" },
  { "overlay-margin", "0.03", "0.5" },
  { "overlay-opacity", "0.75", "0" },
  { "overlay-background-opacity", "0.75", "1" },
  { "overlay-scale", "linear", "log" },
  { "overlay-arrangement", "overlaid", "stacked" },
  { "overlay-clip-share", "0.01", "0.25" },
  { "method", "auto", "reference" },
  { "backend", "auto", "cpu" },
  { "transfer", "auto", "mapped" },
  { "ring-depth", "0", "8" },
  { "cuda-device-id", "-1", "0" },
  { "active-backend", "none", NULL },
  { "active-method", "none", NULL },
  { "stats", NULL, NULL },
};

/* Doubles are compared as numbers: they can be written in several ways. */
static gboolean
is_value (GParamSpec *spec, const char *value, const char *want)
{
  return G_IS_PARAM_SPEC_DOUBLE (spec)
      ? g_ascii_strtod (value, NULL) == g_ascii_strtod (want, NULL)
      : g_strcmp0 (value, want) == 0;
}

static void
expect_value (GstElement *element, const char *name, const char *want)
{
  Filter filter = { .element = element };
  char *value = filter_get (&filter, name);

  expect (is_value (element_spec (element, name), value, want),
      "%s is %s instead of %s", name, value, want);
  g_free (value);
}

static void
histo_templates_properties (void)
{
  GstElement *element = element_make ("cudahisto");

  for (guint i = 0; i < G_N_ELEMENTS (properties); i++) {
    const char *name = properties[i].name;
    GParamSpec *spec = element_spec (element, name);

    test_context ("property %s", name);
    expect ((spec->flags & G_PARAM_READABLE) != 0, "unreadable");
    expect (!!(spec->flags & G_PARAM_WRITABLE) == (properties[i].other != NULL),
        "writable is %d", !!(spec->flags & G_PARAM_WRITABLE));
    expect (properties[i].other == NULL
            || (spec->flags & GST_PARAM_MUTABLE_PLAYING) != 0,
        "it does not say that it may change while playing");
    expect (g_param_spec_get_blurb (spec) && *g_param_spec_get_blurb (spec)
            && g_param_spec_get_nick (spec) && *g_param_spec_get_nick (spec),
        "no description");
    if (properties[i].initial != NULL)
      expect_value (element, name, properties[i].initial);
    if (properties[i].other == NULL)
      continue;
    gst_util_set_object_arg (G_OBJECT (element), name, properties[i].other);
    expect_value (element, name, properties[i].other);
  }
  gst_object_unref (element);
}

/* Every property is in the table. */
static void
histo_templates_no_other_properties (void)
{
  static const char *const of_base[] = { "name", "parent", "qos" };
  GstElement *element = element_make ("cudahisto");
  guint n;
  GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    gboolean known = FALSE;

    for (guint b = 0; b < G_N_ELEMENTS (of_base); b++)
      known = known || g_str_equal (specs[i]->name, of_base[b]);
    for (guint p = 0; p < G_N_ELEMENTS (properties); p++)
      known = known || g_str_equal (specs[i]->name, properties[p].name);
    expect (known, "property %s is not tested", specs[i]->name);
  }
  g_free (specs);
  gst_object_unref (element);
}

static void
expect_range (GstElement *element, const char *name, double least, double most)
{
  GParamSpec *spec = element_spec (element, name);

  if (G_IS_PARAM_SPEC_INT (spec))
    expect (G_PARAM_SPEC_INT (spec)->minimum == (int) least
            && G_PARAM_SPEC_INT (spec)->maximum == (int) most,
        "%s does not go from %g to %g", name, least, most);
  else
    expect (G_IS_PARAM_SPEC_DOUBLE (spec)
            && G_PARAM_SPEC_DOUBLE (spec)->minimum == least
            && G_PARAM_SPEC_DOUBLE (spec)->maximum == most,
        "%s does not go from %g to %g", name, least, most);
}

static void
histo_templates_ranges (void)
{
  static const char *const shares[] = { "threshold-dark", "threshold-bright",
    "alarm-dark", "alarm-bright", "alarm-flat", "alarm-scene",
    "alarm-hysteresis", "strength", "overlay-width", "overlay-height",
    "overlay-opacity", "overlay-background-opacity", "overlay-clip-share" };
  GstElement *element = element_make ("cudahisto");
  GParamSpec *spec;

  for (guint s = 0; s < G_N_ELEMENTS (shares); s++)
    expect_range (element, shares[s], 0.0, 1.0);
  expect_range (element, "overlay-margin", 0.0, 0.5);
  /* With 1, new frames would never count. */
  expect_range (element, "smoothing", 0.0, 0.999);
  expect_range (element, "clip-limit", 0.0, 1e6);
  expect_range (element, "tiles-x", 1.0, 64.0);
  expect_range (element, "tiles-y", 1.0, 64.0);
  expect_range (element, "bins", 2.0, 65536.0);
  spec = element_spec (element, "interval");
  expect (G_IS_PARAM_SPEC_UINT64 (spec)
          && G_PARAM_SPEC_UINT64 (spec)->minimum == 0
          && G_PARAM_SPEC_UINT64 (spec)->maximum == G_MAXUINT64,
      "interval is not of all nanoseconds");
  gst_object_unref (element);
}

static void
histo_templates_enums (void)
{
  static const char *const methods[] = { "auto", "reference", "global",
    "shared", "warp", "lane", "pairs", NULL };
  static const char *const backends[] = { "auto", "cuda", "cpu", NULL };
  static const char *const transfers[] = { "auto", "pinned", "mapped",
    "pageable", NULL };
  static const char *const modes[] = { "analyze", "equalize", "overlay", NULL };
  static const char *const equalizers[] = { "global", "clahe", NULL };
  static const char *const positions[] = { "top-left", "top", "top-right",
    "left", "center", "right", "bottom-left", "bottom", "bottom-right", NULL };
  static const char *const scales[] = { "linear", "log", NULL };
  static const char *const arrangements[] = { "stacked", "overlaid", NULL };
  static const char *const planes[] = { "luma", "chroma", "alpha", "color",
    "all" };
  GstElement *element = element_make ("cudahisto");
  GParamSpec *spec = element_spec (element, "planes");

  element_expect_nicks (element, "method", methods);
  element_expect_nicks (element, "backend", backends);
  element_expect_nicks (element, "transfer", transfers);
  element_expect_nicks (element, "mode", modes);
  element_expect_nicks (element, "equalizer", equalizers);
  element_expect_nicks (element, "overlay-position", positions);
  element_expect_nicks (element, "overlay-scale", scales);
  element_expect_nicks (element, "overlay-arrangement", arrangements);
  expect (G_IS_PARAM_SPEC_FLAGS (spec), "planes are no flags");
  for (guint p = 0; p < G_N_ELEMENTS (planes); p++)
    expect (g_flags_get_value_by_nick (
                G_PARAM_SPEC_FLAGS (spec)->flags_class, planes[p]),
        "planes: no %s", planes[p]);
  gst_object_unref (element);
}

/* The properties that a GstController may control. */
static void
histo_templates_controllable (void)
{
  GstElement *element = element_make ("cudahisto");

  expect (
      (element_spec (element, "strength")->flags & GST_PARAM_CONTROLLABLE) != 0,
      "strength cannot be controlled");
  gst_object_unref (element);
}

/* The enumeration of methods is this element's own. */
static void
histo_templates_types (void)
{
  GstElement *histo = element_make ("cudahisto");
  GstElement *sepconv = element_make ("cudasepconv");

  expect (element_spec (histo, "method")->value_type
          != element_spec (sepconv, "method")->value_type,
      "both elements have the same methods");
  expect (element_spec (histo, "planes")->value_type
          == element_spec (sepconv, "planes")->value_type,
      "planes are of two types");
  gst_object_unref (sepconv);
  gst_object_unref (histo);
}

const Test tests_histo_templates[] = {
  { "histo-templates-formats", histo_templates_formats, VARIANT_ANY },
  { "histo-templates-metadata", histo_templates_metadata, VARIANT_ANY },
  { "histo-templates-properties", histo_templates_properties, VARIANT_ANY },
  { "histo-templates-no-other-properties", histo_templates_no_other_properties,
      VARIANT_ANY },
  { "histo-templates-ranges", histo_templates_ranges, VARIANT_ANY },
  { "histo-templates-enums", histo_templates_enums, VARIANT_ANY },
  { "histo-templates-controllable", histo_templates_controllable, VARIANT_ANY },
  { "histo-templates-types", histo_templates_types, VARIANT_ANY },
  { 0 },
};
