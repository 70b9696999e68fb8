/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What gst-inspect-1.0 shows of cudahisto. */
#include "filter-fixture.h"

static GstElement *
make_element (void)
{
  GstElement *element = gst_element_factory_make ("cudahisto", NULL);

  expect (element != NULL, "cudahisto cannot be made");
  return gst_object_ref_sink (element);
}

static GParamSpec *
spec_of (GstElement *element, const char *name)
{
  GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);

  expect (spec != NULL, "no property %s", name);
  return spec;
}

static void
histo_templates_formats (void)
{
  static const char *const pads[] = { "sink", "src" };
  GstElement *element = make_element ();

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

static void
histo_templates_metadata (void)
{
  static const char *const keys[] = { GST_ELEMENT_METADATA_LONGNAME,
    GST_ELEMENT_METADATA_DESCRIPTION, GST_ELEMENT_METADATA_AUTHOR };
  GstElementFactory *factory = gst_element_factory_find ("cudahisto");
  const char *klass;

  expect (factory != NULL, "no factory cudahisto");
  klass =
      gst_element_factory_get_metadata (factory, GST_ELEMENT_METADATA_KLASS);
  expect (g_strcmp0 (klass, "Filter/Analyzer/Video/Hardware") == 0,
      "klass is %s", klass);
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

/* Properties, their values at first, and another that they take; NULL: they are
 * read only. */
static const struct
{
  const char *name, *initial, *other;
} properties[] = {
  { "bins", "256", "65536" },
  { "planes", "color", "alpha" },
  { "interval", "100000000", "0" },
  { "post-messages", "true", "false" },
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
  { "ring-depth", "4", "8" },
  { "cuda-device-id", "-1", "0" },
  { "active-backend", "none", NULL },
  { "active-method", "none", NULL },
  { "stats", NULL, NULL },
};

/* Doubles are read back as numbers: they may be written in more ways than one. */
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

  expect (is_value (spec_of (element, name), value, want),
      "%s is %s instead of %s", name, value, want);
  g_free (value);
}

static void
histo_templates_properties (void)
{
  GstElement *element = make_element ();

  for (guint i = 0; i < G_N_ELEMENTS (properties); i++) {
    const char *name = properties[i].name;
    GParamSpec *spec = spec_of (element, name);

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

/* No property comes from nowhere. */
static void
histo_templates_no_other_properties (void)
{
  static const char *const of_base[] = { "name", "parent", "qos" };
  GstElement *element = make_element ();
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
  GParamSpec *spec = spec_of (element, name);

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
  GstElement *element = make_element ();
  GParamSpec *spec;

  for (guint s = 0; s < G_N_ELEMENTS (shares); s++)
    expect_range (element, shares[s], 0.0, 1.0);
  expect_range (element, "overlay-margin", 0.0, 0.5);
  /* With 1, no frame would ever count. */
  expect_range (element, "smoothing", 0.0, 0.999);
  expect_range (element, "clip-limit", 0.0, 1e6);
  expect_range (element, "tiles-x", 1.0, 64.0);
  expect_range (element, "tiles-y", 1.0, 64.0);
  expect_range (element, "bins", 2.0, 65536.0);
  spec = spec_of (element, "interval");
  expect (G_IS_PARAM_SPEC_UINT64 (spec)
          && G_PARAM_SPEC_UINT64 (spec)->minimum == 0
          && G_PARAM_SPEC_UINT64 (spec)->maximum == G_MAXUINT64,
      "interval is not of all nanoseconds");
  gst_object_unref (element);
}

static void
expect_nicks (
    GstElement *element, const char *property, const char *const *nicks)
{
  GParamSpec *spec = spec_of (element, property);
  GEnumClass *values;

  expect (G_IS_PARAM_SPEC_ENUM (spec), "%s is no enum", property);
  values = G_PARAM_SPEC_ENUM (spec)->enum_class;
  for (int i = 0; nicks[i]; i++)
    expect (g_enum_get_value_by_nick (values, nicks[i]), "%s: no %s", property,
        nicks[i]);
}

static void
histo_templates_enums (void)
{
  static const char *const methods[] = { "auto", "reference", "global",
    "shared", "warp", "lane", NULL };
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
  GstElement *element = make_element ();
  GParamSpec *spec = spec_of (element, "planes");

  expect_nicks (element, "method", methods);
  expect_nicks (element, "backend", backends);
  expect_nicks (element, "transfer", transfers);
  expect_nicks (element, "mode", modes);
  expect_nicks (element, "equalizer", equalizers);
  expect_nicks (element, "overlay-position", positions);
  expect_nicks (element, "overlay-scale", scales);
  expect_nicks (element, "overlay-arrangement", arrangements);
  expect (G_IS_PARAM_SPEC_FLAGS (spec), "planes are no flags");
  for (guint p = 0; p < G_N_ELEMENTS (planes); p++)
    expect (g_flags_get_value_by_nick (
                G_PARAM_SPEC_FLAGS (spec)->flags_class, planes[p]),
        "planes: no %s", planes[p]);
  gst_object_unref (element);
}

/* What a GstController may drive. */
static void
histo_templates_controllable (void)
{
  GstElement *element = make_element ();

  expect ((spec_of (element, "strength")->flags & GST_PARAM_CONTROLLABLE) != 0,
      "strength cannot be controlled");
  gst_object_unref (element);
}

/* The enumeration of methods is this element's own. */
static void
histo_templates_types (void)
{
  GstElement *histo = make_element ();
  GstElement *sepconv = gst_element_factory_make ("cudasepconv", NULL);

  expect (sepconv != NULL, "cudasepconv cannot be made");
  gst_object_ref_sink (sepconv);
  expect (spec_of (histo, "method")->value_type
          != spec_of (sepconv, "method")->value_type,
      "both elements have the same methods");
  expect (spec_of (histo, "planes")->value_type
          == spec_of (sepconv, "planes")->value_type,
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
