/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpucaps.h"

#include "gstgpumemory.h"

/* Formats that newer versions of GStreamer have. */
#if GST_CHECK_VERSION(1, 24, 0)
#define YUV_8_OF_1_24 "A422, A444, "
#define RGB_8_OF_1_24 "RBGA, "
#define YUV_12_OF_1_24 "A420_12LE, A422_12LE, A444_12LE, "
#define YUV_16_OF_1_24 "A420_16LE, A422_16LE, A444_16LE, "
#define RGB_16_OF_1_24 "GBR_16LE, "
#define SWAPPED_12_OF_1_24 "A420_12BE, A422_12BE, A444_12BE, "
#define SWAPPED_16_OF_1_24 "A420_16BE, A422_16BE, A444_16BE, GBR_16BE, "
#else
#define YUV_8_OF_1_24 ""
#define RGB_8_OF_1_24 ""
#define YUV_12_OF_1_24 ""
#define YUV_16_OF_1_24 ""
#define RGB_16_OF_1_24 ""
#define SWAPPED_12_OF_1_24 ""
#define SWAPPED_16_OF_1_24 ""
#endif
#if GST_CHECK_VERSION(1, 26, 0)
#define GRAY_10 "GRAY10_LE16, "
#define YUV_16_OF_1_26 "Y216_LE, Y416_LE, "
#define SWAPPED_16_OF_1_26 "Y216_BE, Y416_BE, "
#else
#define GRAY_10 ""
#define YUV_16_OF_1_26 ""
#define SWAPPED_16_OF_1_26 ""
#endif

#define SWAPPED \
  "P010_10BE, I420_10BE, I422_10BE, Y444_10BE, A420_10BE, A422_10BE, " \
  "A444_10BE, GBR_10BE, GBRA_10BE, P012_BE, I420_12BE, I422_12BE, Y212_BE, " \
  "Y444_12BE, Y412_BE, " SWAPPED_12_OF_1_24 "GBR_12BE, GBRA_12BE, " \
  "P016_BE, Y444_16BE, " SWAPPED_16_OF_1_24 SWAPPED_16_OF_1_26 \
  "ARGB64_BE, ABGR64_BE, RGBA64_BE, BGRA64_BE, GRAY16_BE"

/* Formats that the elements take. Sources without a preference choose the first one, so that
 * the cheapest and most usual formats come first: sorted by bits, then YUV before RGB before
 * grey. Formats of fewer than 8 bits come after those of 8, and big-endian formats last. */
#define FORMATS \
  "{ I420, NV12, YV12, NV21, YUY2, UYVY, YVYU, VYUY, Y42B, NV16, NV61, " \
  "Y444, NV24, Y41B, YUV9, YVU9, A420, AV12, " YUV_8_OF_1_24 \
  "AYUV, VUYA, v308, IYU2, " \
  "BGRx, RGBx, xRGB, xBGR, BGRA, RGBA, ARGB, ABGR, " RGB_8_OF_1_24 \
  "RGB, BGR, RGBP, BGRP, GBR, GBRA, GRAY8, " \
  "RGB16, BGR16, RGB15, BGR15, " \
  "P010_10LE, I420_10LE, I422_10LE, Y210, v210, UYVP, Y444_10LE, " \
  "A420_10LE, A422_10LE, A444_10LE, Y410, NV12_10LE32, NV16_10LE32, " \
  "NV12_10LE40, GBR_10LE, GBRA_10LE, RGB10A2_LE, BGR10A2_LE, r210, " GRAY_10 \
  "GRAY10_LE32, " \
  "P012_LE, I420_12LE, I422_12LE, Y212_LE, Y444_12LE, Y412_LE, " YUV_12_OF_1_24 \
  "GBR_12LE, GBRA_12LE, " \
  "P016_LE, v216, Y444_16LE, AYUV64, " YUV_16_OF_1_24 YUV_16_OF_1_26 \
  "ARGB64, ARGB64_LE, ABGR64_LE, RGBA64_LE, BGRA64_LE, " RGB_16_OF_1_24 \
  "GRAY16_LE, " SWAPPED " }"

/* The formats of this list that GPU memory can hold with the newest known GStreamer. */
#define DOCUMENTED_GPU_FORMATS \
  "{ I420, NV12, YV12, NV21, YUY2, UYVY, Y42B, Y444, VUYA, RGBx, BGRx, RGBA, " \
  "BGRA, ARGB, ABGR, RGB, BGR, RGBP, BGRP, GBR, GBRA, P010_10LE, I420_10LE, " \
  "I422_10LE, Y444_10LE, GBR_10LE, RGB10A2_LE, BGR10A2_LE, P012_LE, " \
  "I420_12LE, I422_12LE, Y444_12LE, GBR_12LE, P016_LE, Y444_16LE, ARGB64 }"

/* Least number of these formats in the caps of neighbours that have no preference. */
#define ANY_FORMAT 24

/* Modes that store each field or view as a picture of its own, which the elements do not
 * take. Caps queries leave them out. The templates cannot: if they listed the other modes,
 * caps without the field would not be a subset of them. */
#define SEPARATE_FIELDS "fields"
#define SEPARATE_VIEWS "separated"

/* The formats as a list of strings, made once. */
static const GValue *
all_formats (void)
{
  static GstStructure *structure = NULL;
  static gsize made = 0;

  if (g_once_init_enter (&made)) {
    structure =
        gst_structure_from_string ("formats, format=(string)" FORMATS, NULL);
    g_once_init_leave (&made, 1);
  }
  return gst_structure_get_value (structure, "format");
}

typedef enum
{
  KIND_SYSTEM,
  KIND_FIELDS, /* in system memory, with one field of an interlaced frame in each buffer */
  KIND_GPU,
  KIND_EITHER, /* the features are ANY */
  KIND_OTHER,
} Kind;

/* The features of caps with interlace-mode=alternate, made once. */
static const GstCapsFeatures *
fields_feature (void)
{
  static GstCapsFeatures *features = NULL;
  static gsize made = 0;

  if (g_once_init_enter (&made)) {
    features = gst_caps_features_new (GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL);
    g_once_init_leave (&made, 1);
  }
  return features;
}

static Kind
kind_of (GstCaps *caps, guint i)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, i);

  if (features == NULL
      || gst_caps_features_is_equal (
          features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    return KIND_SYSTEM;
  if (gst_caps_features_is_any (features))
    return KIND_EITHER;
  if (gst_caps_features_is_equal (features, fields_feature ()))
    return KIND_FIELDS;
  return gst_caps_features_get_size (features) == 1
          && gst_caps_features_contains (features, GST_GPU_MEMORY_FEATURE)
      ? KIND_GPU
      : KIND_OTHER;
}

/* Adds structure i of `from`, of frames or fields in one kind of memory. */
static void
append_as (GstCaps *to, GstCaps *from, guint i, Kind kind)
{
  GstCaps *one = gst_caps_new_full (
      gst_structure_copy (gst_caps_get_structure (from, i)), NULL);

  if (kind == KIND_GPU)
    gst_caps_set_features_simple (
        one, gst_caps_features_new (GST_GPU_MEMORY_FEATURE, NULL));
  if (kind == KIND_FIELDS)
    gst_caps_set_features_simple (
        one, gst_caps_features_copy (fields_feature ()));
  gst_caps_append (to, one);
}

/* Adds the caps of interlace-mode=alternate, where each field has a buffer of its own. */
static void
append_fields (GstCaps *to, GstCaps *system)
{
  GstCaps *caps = gst_caps_new_empty ();

  append_as (caps, system, 0, KIND_FIELDS);
  gst_caps_set_simple (
      caps, "interlace-mode", G_TYPE_STRING, "alternate", NULL);
  gst_caps_append (to, caps);
}

/* Adds those formats of `system` that GPU memory can hold: with `even`, the formats that need an
 * even height; else the other formats. */
static void
append_gpu_formats (GstCaps *to, GstCaps *system, gboolean even)
{
  const GValue *formats =
      gst_structure_get_value (gst_caps_get_structure (system, 0), "format");
  GstCaps *caps = gst_caps_new_empty ();
  GValue kept = G_VALUE_INIT;

  g_value_init (&kept, GST_TYPE_LIST);
  for (guint i = 0; i < gst_value_list_get_size (formats); i++) {
    const GValue *value = gst_value_list_get_value (formats, i);
    const GstVideoFormat format =
        gst_video_format_from_string (g_value_get_string (value));

    if (gst_gpu_memory_has_format (format)
        && gst_gpu_memory_wants_even_height (format) == even)
      gst_value_list_append_value (&kept, value);
  }
  append_as (caps, system, 0, KIND_GPU);
  gst_caps_set_value (caps, "format", &kept);
  if (even) {
    GValue heights = G_VALUE_INIT;

    g_value_init (&heights, GST_TYPE_INT_RANGE);
    gst_value_set_int_range_step (&heights, 2, G_MAXINT - 1, 2);
    gst_caps_set_value (caps, "height", &heights);
    g_value_unset (&heights);
  }
  if (gst_value_list_get_size (&kept) > 0)
    gst_caps_append (to, caps);
  else
    gst_caps_unref (caps);
  g_value_unset (&kept);
}

GstCaps *
gst_gpu_caps_documentation (void)
{
  return gst_caps_from_string (
      GST_VIDEO_CAPS_MAKE_WITH_FEATURES (GST_GPU_MEMORY_FEATURE, DOCUMENTED_GPU_FORMATS) "; " GST_VIDEO_CAPS_MAKE (
          FORMATS) "; " GST_VIDEO_CAPS_MAKE_WITH_FEATURES (GST_CAPS_FEATURE_FORMAT_INTERLACED,
          FORMATS) ", interlace-mode = (string) alternate");
}

GstCaps *
gst_gpu_caps_template (void)
{
  GstCaps *system = gst_caps_from_string (GST_VIDEO_CAPS_MAKE (FORMATS));
  GstCaps *caps = gst_caps_new_empty ();

  if (gst_gpu_memory_available ()) {
    append_gpu_formats (caps, system, FALSE);
    append_gpu_formats (caps, system, TRUE);
  }
  gst_caps_append (caps, gst_caps_copy (system));
  append_fields (caps, system);
  gst_caps_unref (system);
  return caps;
}

/* Restricting */

typedef struct
{
  GstGpuCapsTakes takes;
  gpointer element;
} Restriction;

/* Whether a value of a field may stay. */
typedef gboolean (*KeepsValue) (
    const gchar *value, const Restriction *restriction);

static gboolean
keeps_format (const gchar *value, const Restriction *restriction)
{
  const GstVideoFormat format = gst_video_format_from_string (value);

  return restriction->takes == NULL || format == GST_VIDEO_FORMAT_UNKNOWN
      || restriction->takes (
          restriction->element, gst_video_format_get_info (format), NULL);
}

static gboolean
keeps_interlace_mode (const gchar *value, const Restriction *restriction)
{
  (void) restriction;
  return !g_str_equal (value, SEPARATE_FIELDS);
}

static gboolean
keeps_multiview_mode (const gchar *value, const Restriction *restriction)
{
  (void) restriction;
  return !g_str_equal (value, SEPARATE_VIEWS);
}

/* Removes values from a field, which is a string or a list of strings. FALSE: none is left.
 * A structure without the field stays as it is. */
static gboolean
restrict_field (GstStructure *structure, const gchar *field, KeepsValue keeps,
    const Restriction *restriction)
{
  const GValue *value = gst_structure_get_value (structure, field);
  GValue kept = G_VALUE_INIT;
  guint n;

  if (value != NULL && G_VALUE_HOLDS_STRING (value))
    return keeps (g_value_get_string (value), restriction);
  if (value == NULL || !GST_VALUE_HOLDS_LIST (value))
    return TRUE;
  n = gst_value_list_get_size (value);
  g_value_init (&kept, GST_TYPE_LIST);
  for (guint i = 0; i < n; i++) {
    const GValue *one = gst_value_list_get_value (value, i);

    if (!G_VALUE_HOLDS_STRING (one)
        || keeps (g_value_get_string (one), restriction))
      gst_value_list_append_value (&kept, one);
  }
  n = gst_value_list_get_size (&kept);
  if (n == 1)
    gst_structure_set_value (
        structure, field, gst_value_list_get_value (&kept, 0));
  else
    gst_structure_set_value (structure, field, &kept);
  g_value_unset (&kept);
  return n > 0;
}

static gboolean
restrict_structure (
    GstCapsFeatures *features, GstStructure *structure, gpointer user)
{
  const Restriction *restriction = user;

  (void) features;
  if (!gst_structure_has_field (structure, "format"))
    gst_structure_set_value (structure, "format", all_formats ());
  return restrict_field (structure, "format", keeps_format, restriction)
      && restrict_field (
          structure, "interlace-mode", keeps_interlace_mode, restriction)
      && restrict_field (
          structure, "multiview-mode", keeps_multiview_mode, restriction);
}

GstCaps *
gst_gpu_caps_restrict (GstCaps *caps, GstGpuCapsTakes takes, gpointer element)
{
  Restriction restriction = { takes, element };

  caps = gst_caps_make_writable (caps);
  gst_caps_filter_and_map_in_place (caps, restrict_structure, &restriction);
  return caps;
}

gboolean
gst_gpu_caps_check (
    GstCaps *caps, GstGpuCapsTakes takes, gpointer element, Fault *why)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const gchar *format = gst_structure_get_string (structure, "format");
  const gchar *interlace =
      gst_structure_get_string (structure, "interlace-mode");
  const gchar *views = gst_structure_get_string (structure, "multiview-mode");
  const GstVideoFormat id = format == NULL
      ? GST_VIDEO_FORMAT_UNKNOWN
      : gst_video_format_from_string (format);

  if (interlace != NULL && !keeps_interlace_mode (interlace, NULL))
    return fault_set (why, FAULT_FORMAT,
        "Video of format %s, interlace-mode %s, is not supported: each field is "
        "stored as a picture of its own.",
        format, interlace);
  if (views != NULL && !keeps_multiview_mode (views, NULL))
    return fault_set (why, FAULT_FORMAT,
        "Video of format %s, multiview-mode %s, is not supported: each view is "
        "stored as a picture of its own.",
        format, views);
  return id == GST_VIDEO_FORMAT_UNKNOWN || takes == NULL
      || takes (element, gst_video_format_get_info (id), why);
}

gboolean
gst_gpu_caps_are_on_gpu (GstCaps *caps)
{
  return gst_caps_get_size (caps) > 0 && kind_of (caps, 0) == KIND_GPU;
}

GstCaps *
gst_gpu_caps_transform (GstCaps *caps, GstPadDirection direction, gboolean gpu)
{
  GstCaps *first = gst_caps_new_empty (), *second = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const Kind kind = kind_of (caps, i);
    const Kind better =
        direction == GST_PAD_SRC || kind == KIND_GPU ? KIND_GPU : KIND_SYSTEM;

    if (kind == KIND_OTHER)
      continue;
    if (kind == KIND_FIELDS) {
      append_as (second, caps, i, KIND_FIELDS);
      continue;
    }
    if (gpu) {
      append_as (first, caps, i, better);
      append_as (second, caps, i, better == KIND_GPU ? KIND_SYSTEM : KIND_GPU);
    } else if (direction == GST_PAD_SINK || kind != KIND_GPU) {
      /* If frames arrive in GPU memory nevertheless, they are read on the host. */
      append_as (first, caps, i, KIND_SYSTEM);
    }
  }
  /* Merging leaves out duplicates. */
  return gst_caps_merge (first, second);
}

static GstCaps *
prefer (GstCaps *caps, gboolean gpu)
{
  GstCaps *first = gst_caps_new_empty (), *rest = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    gst_caps_append ((kind_of (caps, i) == KIND_GPU) == gpu ? first : rest,
        gst_caps_copy_nth (caps, i));
  gst_caps_unref (caps);
  gst_caps_append (first, rest);
  return first;
}

GstCaps *
gst_gpu_caps_prefer_gpu (GstCaps *caps)
{
  return prefer (caps, TRUE);
}

GstCaps *
gst_gpu_caps_prefer_system (GstCaps *caps)
{
  return prefer (caps, FALSE);
}

/* Whether the neighbours have no preference, such as converters and scalers. Encoders and
 * sinks name fewer formats. */
static gboolean
is_any_format (const GValue *formats)
{
  return formats != NULL && GST_VALUE_HOLDS_LIST (formats)
      && gst_value_list_get_size (formats) >= ANY_FORMAT;
}

GstCaps *
gst_gpu_caps_prefer_usual (GstCaps *caps)
{
  caps = gst_caps_make_writable (caps);
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);
    const GValue *formats = gst_structure_get_value (structure, "format");
    GValue sorted = G_VALUE_INIT;

    /* The intersection is in the order of its first operand. */
    if (is_any_format (formats)
        && gst_value_intersect (&sorted, all_formats (), formats))
      gst_structure_take_value (structure, "format", &sorted);
  }
  return caps;
}
