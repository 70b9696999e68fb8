/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsepconvregions.h"

#include <math.h>

#define MAX_SHARE 10.0

#define DEFAULT_MODE GST_CUDA_SEPCONV_ROI_OFF
#define DEFAULT_GROW 0.0
#define DEFAULT_STRENGTH 0.0
#define DEFAULT_SHAPE REGIONS_RECTANGLE
#define DEFAULT_FEATHER 0.0
#define DEFAULT_FILL REGIONS_FILTER
#define DEFAULT_COLOR 0xff000000
#define DEFAULT_HOLD 0

/* gsthistosettings has the ids from 200 on, gstsepconvkernel those from 400 on. */
enum
{
  PROP_MODE = 500,
  PROP_TYPES = 501,
  PROP_GROW = 502,
  PROP_STRENGTH = 503,
  PROP_SHAPE = 504,
  PROP_FEATHER = 505,
  PROP_FILL = 506,
  PROP_COLOR = 507,
  PROP_HOLD = 508,
  PROP_ZONES = 509,
};

#define GST_TYPE_CUDA_SEPCONV_ROI_MODE (mode_get_type ())
static GType
mode_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_CUDA_SEPCONV_ROI_OFF, "The whole frame is filtered", "off" },
    { GST_CUDA_SEPCONV_ROI_INSIDE,
        "Only the regions are covered; the rest of the frame is kept",
        "inside" },
    { GST_CUDA_SEPCONV_ROI_OUTSIDE,
        "All of the frame but the regions is covered", "outside" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvRoiMode", values));
  return type;
}

#define GST_TYPE_CUDA_SEPCONV_ROI_SHAPE (shape_get_type ())
static GType
shape_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = { { REGIONS_RECTANGLE,
                                           "The whole rectangle", "rectangle" },
    { REGIONS_ELLIPSE, "The ellipse that touches the sides of the rectangle",
        "ellipse" },
    { 0, NULL, NULL } };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvRoiShape", values));
  return type;
}

#define GST_TYPE_CUDA_SEPCONV_ROI_FILL (fill_get_type ())
static GType
fill_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { REGIONS_FILTER, "The result of the kernel, whichever that is", "blur" },
    { REGIONS_PIXELATE, "Blocks of one colour each", "pixelate" },
    { REGIONS_SOLID, "The colour of roi-color", "solid" }, { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvRoiFill", values));
  return type;
}

void
gst_sepconv_regions_init (GstSepconvRegions *self)
{
  *self = (GstSepconvRegions){ .mode = DEFAULT_MODE,
    .types = g_array_new (FALSE, FALSE, sizeof (GQuark)),
    .grow = DEFAULT_GROW,
    .strength = DEFAULT_STRENGTH,
    .feather = DEFAULT_FEATHER,
    .shape = DEFAULT_SHAPE,
    .fill = DEFAULT_FILL,
    .color = DEFAULT_COLOR,
    .hold = DEFAULT_HOLD,
    .zones = g_array_new (FALSE, FALSE, sizeof (GstSepconvZone)) };
}

void
gst_sepconv_regions_clear (GstSepconvRegions *self)
{
  g_array_unref (self->types);
  g_array_unref (self->zones);
}

/* Installing */

static void
install_choice (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_MODE,
      g_param_spec_enum ("roi-mode", "Regions",
          "The part of each frame that is covered. Regions are the zones of the "
          "property zones and the objects that an upstream detector reports on "
          "the buffers, as GstVideoRegionOfInterestMeta and, from GStreamer "
          "1.24 on, as GstAnalyticsRelationMeta",
          GST_TYPE_CUDA_SEPCONV_ROI_MODE, DEFAULT_MODE, flags));
  /* With a spec for the elements: GStreamer would take the label t for a boolean. */
  g_object_class_install_property (object_class, PROP_TYPES,
      gst_param_spec_array ("roi-types", "Types of regions",
          "Labels of the reported objects to take, as in \"<face,person>\" "
          "(empty = all objects)",
          g_param_spec_string (
              "type", "Type", "The label of an object", NULL, flags),
          flags));
  /* Without a spec for the elements, which would turn integers, as in <<0,0,1,1>>, into zeros. */
  g_object_class_install_property (object_class, PROP_ZONES,
      gst_param_spec_array ("zones", "Zones",
          "Fixed regions, as in \"<<0.1,0.2,0.3,0.4>>\": left, top, width and "
          "height of each rectangle in fractions of the frame, rounded outward "
          "to whole pixels. They need roi-mode=inside or roi-mode=outside",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_HOLD,
      g_param_spec_uint64 ("roi-hold", "Hold of regions",
          "Time in nanoseconds that a region stays covered after an object was "
          "last reported there, so that a detector may miss it in some frames "
          "(0 = only frames that report it)",
          0, G_MAXUINT64, DEFAULT_HOLD, flags | GST_PARAM_CONTROLLABLE));
}

static void
install_share (GObjectClass *object_class, guint id, const gchar *name,
    const gchar *nick, const gchar *blurb, gdouble value, GParamFlags flags)
{
  g_object_class_install_property (object_class, id,
      g_param_spec_double (name, nick, blurb, 0.0, MAX_SHARE, value,
          flags | GST_PARAM_CONTROLLABLE));
}

static void
install_cover (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_FILL,
      g_param_spec_enum ("roi-fill", "Fill of regions",
          "The picture that regions are covered with",
          GST_TYPE_CUDA_SEPCONV_ROI_FILL, DEFAULT_FILL, flags));
  g_object_class_install_property (object_class, PROP_SHAPE,
      g_param_spec_enum ("roi-shape", "Shape of regions",
          "The part of a region's rectangle that is covered",
          GST_TYPE_CUDA_SEPCONV_ROI_SHAPE, DEFAULT_SHAPE, flags));
  g_object_class_install_property (object_class, PROP_COLOR,
      g_param_spec_uint ("roi-color", "Colour of regions",
          "The colour (0xAARRGGBB) of roi-fill=solid", 0, G_MAXUINT32,
          DEFAULT_COLOR, flags | GST_PARAM_CONTROLLABLE));
  install_share (object_class, PROP_GROW, "roi-grow", "Growth of regions",
      "Grow regions on each side by this fraction of their own width or height",
      DEFAULT_GROW, flags);
  install_share (object_class, PROP_STRENGTH, "roi-strength",
      "Strength of regions",
      "Blur or pixelate each region by its size: sigma is this fraction of the "
      "region's smaller side (0 = the sigma of the kernel for all regions)",
      DEFAULT_STRENGTH, flags);
  install_share (object_class, PROP_FEATHER, "roi-feather",
      "Feather of regions",
      "Width of the soft edge around each region, as a fraction of its smaller "
      "side; the region itself is covered whole (0 = a hard edge)",
      DEFAULT_FEATHER, flags);
}

void
gst_sepconv_regions_install (GObjectClass *object_class, GParamFlags flags)
{
  install_choice (object_class, flags);
  install_cover (object_class, flags);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_ROI_MODE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_ROI_SHAPE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_ROI_FILL, 0);
}

/* Setting and getting */

static void
set_types (GArray *types, const GValue *value)
{
  g_array_set_size (types, 0);
  for (guint i = 0; i < gst_value_array_get_size (value); i++) {
    const gchar *text =
        g_value_get_string (gst_value_array_get_value (value, i));
    const GQuark type = g_quark_from_string (text);

    if (type != 0)
      g_array_append_val (types, type);
  }
}

static void
get_types (const GArray *types, GValue *value)
{
  for (guint i = 0; i < types->len; i++) {
    GValue text = G_VALUE_INIT;

    g_value_init (&text, G_TYPE_STRING);
    g_value_set_static_string (
        &text, g_quark_to_string (g_array_index (types, GQuark, i)));
    gst_value_array_append_and_take_value (value, &text);
  }
}

/* Returns NaN for a value that is not a number. */
static gdouble
get_number (const GValue *value)
{
  GValue number = G_VALUE_INIT;
  gdouble result;

  g_value_init (&number, G_TYPE_DOUBLE);
  result =
      g_value_transform (value, &number) ? g_value_get_double (&number) : NAN;
  g_value_unset (&number);
  return result;
}

static GstSepconvZone
get_zone (const GValue *value)
{
  if (!GST_VALUE_HOLDS_ARRAY (value) || gst_value_array_get_size (value) != 4)
    return (GstSepconvZone){ NAN, NAN, NAN, NAN };
  return (GstSepconvZone){ get_number (gst_value_array_get_value (value, 0)),
    get_number (gst_value_array_get_value (value, 1)),
    get_number (gst_value_array_get_value (value, 2)),
    get_number (gst_value_array_get_value (value, 3)) };
}

static void
set_zones (GArray *zones, const GValue *value)
{
  const guint n = gst_value_array_get_size (value);

  g_array_set_size (zones, n);
  for (guint i = 0; i < n; i++)
    g_array_index (zones, GstSepconvZone, i) =
        get_zone (gst_value_array_get_value (value, i));
}

static void
append_number (GValue *array, gdouble number)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_DOUBLE);
  g_value_set_double (&value, number);
  gst_value_array_append_and_take_value (array, &value);
}

static void
get_zones (const GArray *zones, GValue *value)
{
  for (guint i = 0; i < zones->len; i++) {
    const GstSepconvZone *zone = &g_array_index (zones, GstSepconvZone, i);
    GValue array = G_VALUE_INIT;

    g_value_init (&array, GST_TYPE_ARRAY);
    append_number (&array, zone->left);
    append_number (&array, zone->top);
    append_number (&array, zone->width);
    append_number (&array, zone->height);
    gst_value_array_append_and_take_value (value, &array);
  }
}

gboolean
gst_sepconv_regions_set (GstSepconvRegions *self, guint id, const GValue *value)
{
  switch (id) {
    case PROP_MODE:
      self->mode = (GstCudaSepconvRoiMode) g_value_get_enum (value);
      return TRUE;
    case PROP_TYPES:
      set_types (self->types, value);
      return TRUE;
    case PROP_GROW:
      self->grow = g_value_get_double (value);
      return TRUE;
    case PROP_STRENGTH:
      self->strength = g_value_get_double (value);
      return TRUE;
    case PROP_SHAPE:
      self->shape = (RegionsShape) g_value_get_enum (value);
      return TRUE;
    case PROP_FEATHER:
      self->feather = g_value_get_double (value);
      return TRUE;
    case PROP_FILL:
      self->fill = (RegionsFill) g_value_get_enum (value);
      return TRUE;
    case PROP_COLOR:
      self->color = g_value_get_uint (value);
      return TRUE;
    case PROP_HOLD:
      self->hold = g_value_get_uint64 (value);
      return TRUE;
    case PROP_ZONES:
      set_zones (self->zones, value);
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_sepconv_regions_get (const GstSepconvRegions *self, guint id, GValue *value)
{
  switch (id) {
    case PROP_MODE:
      g_value_set_enum (value, (gint) self->mode);
      return TRUE;
    case PROP_TYPES:
      get_types (self->types, value);
      return TRUE;
    case PROP_GROW:
      g_value_set_double (value, self->grow);
      return TRUE;
    case PROP_STRENGTH:
      g_value_set_double (value, self->strength);
      return TRUE;
    case PROP_SHAPE:
      g_value_set_enum (value, (gint) self->shape);
      return TRUE;
    case PROP_FEATHER:
      g_value_set_double (value, self->feather);
      return TRUE;
    case PROP_FILL:
      g_value_set_enum (value, (gint) self->fill);
      return TRUE;
    case PROP_COLOR:
      g_value_set_uint (value, self->color);
      return TRUE;
    case PROP_HOLD:
      g_value_set_uint64 (value, self->hold);
      return TRUE;
    case PROP_ZONES:
      get_zones (self->zones, value);
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_sepconv_regions_is_of_spec (guint id)
{
  switch (id) {
    case PROP_MODE:
    case PROP_GROW:
    case PROP_STRENGTH:
    case PROP_SHAPE:
    case PROP_FEATHER:
    case PROP_FILL:
    case PROP_COLOR:
      return TRUE;
    default:
      return FALSE;
  }
}

/* Using */

gboolean
gst_sepconv_regions_check (const GstSepconvRegions *self, Fault *fault)
{
  if (self->mode == GST_CUDA_SEPCONV_ROI_OFF)
    return TRUE;
  for (guint i = 0; i < self->zones->len; i++) {
    const GstSepconvZone *zone =
        &g_array_index (self->zones, GstSepconvZone, i);

    if (!isfinite (zone->left) || !isfinite (zone->top)
        || !isfinite (zone->width) || !isfinite (zone->height))
      return fault_set (fault, FAULT_SETTINGS,
          "Rectangle %u of zones is not an array of four finite numbers: left, "
          "top, width, height, as in zones=\"<<0.1,0.2,0.3,0.4>>\".",
          i + 1);
    if (zone->width < 0.0 || zone->height < 0.0)
      return fault_set (fault, FAULT_SETTINGS,
          "Rectangle %u of zones has a negative size: width %g, height %g.",
          i + 1, zone->width, zone->height);
  }
  return TRUE;
}

gboolean
gst_sepconv_regions_choose (const GstSepconvRegions *self, GQuark type)
{
  for (guint i = 0; i < self->types->len; i++)
    if (g_array_index (self->types, GQuark, i) == type)
      return TRUE;
  return self->types->len == 0;
}

gboolean
gst_sepconv_regions_use_strength (
    GstCudaSepconvRoiMode mode, RegionsFill fill, TapsKernel kernel)
{
  if (mode != GST_CUDA_SEPCONV_ROI_INSIDE || fill == REGIONS_SOLID)
    return FALSE;
  return fill == REGIONS_PIXELATE || kernel == TAPS_GAUSSIAN
      || kernel == TAPS_BOX || kernel == TAPS_BINOMIAL
      || kernel == TAPS_UNSHARP;
}
