/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistomodes.h"

#define DEFAULT_MODE GST_CUDA_HISTO_ANALYZE
#define DEFAULT_EQUALIZER EQUALIZE_GLOBAL
#define DEFAULT_STRENGTH 1.0
#define DEFAULT_SMOOTHING 0.8
#define DEFAULT_TILES 8
#define DEFAULT_CLIP_LIMIT 3.0
#define DEFAULT_POSITION OVERLAY_BOTTOM_RIGHT
#define DEFAULT_WIDTH 0.35
#define DEFAULT_HEIGHT 0.35
#define DEFAULT_MARGIN 0.03
#define DEFAULT_OPACITY 0.75
#define DEFAULT_BACKGROUND_OPACITY 0.75
#define DEFAULT_SCALE OVERLAY_LINEAR
#define DEFAULT_ARRANGEMENT OVERLAY_OVERLAID
#define DEFAULT_CLIP_SHARE 0.01

#define BACKGROUND 0xff101014u
#define LINE 0xffc8c8d0u
/* Opacity of the grid, as a fraction of the opacity of the bars. */
#define GRID_OPACITY 0.25

/* Ids below 100 are the element's own; gsthistosettings has those from 200 on. */
enum
{
  PROP_MODE = 100,
  PROP_EQUALIZER = 101,
  PROP_STRENGTH = 102,
  PROP_SMOOTHING = 103,
  PROP_CLIP_LIMIT = 104,
  PROP_TILES_X = 105,
  PROP_TILES_Y = 106,
  PROP_POSITION = 107,
  PROP_WIDTH = 108,
  PROP_HEIGHT = 109,
  PROP_MARGIN = 110,
  PROP_OPACITY = 111,
  PROP_BACKGROUND_OPACITY = 112,
  PROP_SCALE = 113,
  PROP_ARRANGEMENT = 114,
  PROP_CLIP_SHARE = 115,
};

#define DEFINE_ENUM(function, name, ...) \
  static GType function (void) \
  { \
    static gsize type = 0; \
    static const GEnumValue values[] = { __VA_ARGS__, { 0, NULL, NULL } }; \
\
    if (g_once_init_enter (&type)) \
      g_once_init_leave (&type, g_enum_register_static (name, values)); \
    return type; \
  }

DEFINE_ENUM (mode_get_type, "GstCudaHistoMode",
    { GST_CUDA_HISTO_ANALYZE, "Frames pass as they are", "analyze" },
    { GST_CUDA_HISTO_EQUALIZE, "The contrast of frames is equalised",
        "equalize" },
    { GST_CUDA_HISTO_OVERLAY, "The histogram is drawn into frames", "overlay" })

DEFINE_ENUM (equalizer_get_type, "GstCudaHistoEqualizer",
    { EQUALIZE_GLOBAL, "One lookup table for the whole frame", "global" },
    { EQUALIZE_CLAHE, "A lookup table for each tile, with limited contrast",
        "clahe" })

DEFINE_ENUM (position_get_type, "GstCudaHistoPosition",
    { OVERLAY_TOP_LEFT, "Top left", "top-left" }, { OVERLAY_TOP, "Top", "top" },
    { OVERLAY_TOP_RIGHT, "Top right", "top-right" },
    { OVERLAY_LEFT, "Left", "left" }, { OVERLAY_CENTER, "Centre", "center" },
    { OVERLAY_RIGHT, "Right", "right" },
    { OVERLAY_BOTTOM_LEFT, "Bottom left", "bottom-left" },
    { OVERLAY_BOTTOM, "Bottom", "bottom" },
    { OVERLAY_BOTTOM_RIGHT, "Bottom right", "bottom-right" })

DEFINE_ENUM (scale_get_type, "GstCudaHistoScale",
    { OVERLAY_LINEAR, "The height of a bar is its count", "linear" },
    { OVERLAY_LOG, "The height of a bar is the logarithm of its count", "log" })

DEFINE_ENUM (arrangement_get_type, "GstCudaHistoArrangement",
    { OVERLAY_STACKED, "A graph for each component", "stacked" },
    { OVERLAY_OVERLAID, "All components in one graph", "overlaid" })

void
gst_histo_modes_init (GstHistoModes *self)
{
  self->mode = DEFAULT_MODE;
  self->equalizer = DEFAULT_EQUALIZER;
  self->strength = DEFAULT_STRENGTH;
  self->smoothing = DEFAULT_SMOOTHING;
  self->clip_limit = DEFAULT_CLIP_LIMIT;
  self->tiles_x = self->tiles_y = DEFAULT_TILES;
  self->position = DEFAULT_POSITION;
  self->width = DEFAULT_WIDTH;
  self->height = DEFAULT_HEIGHT;
  self->margin = DEFAULT_MARGIN;
  self->opacity = DEFAULT_OPACITY;
  self->background_opacity = DEFAULT_BACKGROUND_OPACITY;
  self->scale = DEFAULT_SCALE;
  self->arrangement = DEFAULT_ARRANGEMENT;
  self->clip_share = DEFAULT_CLIP_SHARE;
}

/* Properties */

static void
install_double (GObjectClass *object_class, guint id, const gchar *name,
    const gchar *nick, const gchar *blurb, gdouble most, gdouble value,
    GParamFlags flags)
{
  g_object_class_install_property (object_class, id,
      g_param_spec_double (
          name, nick, blurb, 0.0, most, value, flags | GST_PARAM_CONTROLLABLE));
}

static void
install_enum (GObjectClass *object_class, guint id, const gchar *name,
    const gchar *nick, const gchar *blurb, GType type, gint value,
    GParamFlags flags)
{
  g_object_class_install_property (object_class, id,
      g_param_spec_enum (name, nick, blurb, type, value, flags));
}

static void
install_equalize (GObjectClass *object_class, GParamFlags flags)
{
  install_enum (object_class, PROP_EQUALIZER, "equalizer", "Equalizer",
      "The way in which mode=equalize spreads the contrast",
      equalizer_get_type (), DEFAULT_EQUALIZER, flags);
  install_double (object_class, PROP_STRENGTH, "strength", "Strength",
      "How far mode=equalize moves luma towards the equalised value (0 = frames "
      "stay as they are)",
      1.0, DEFAULT_STRENGTH, flags);
  install_double (object_class, PROP_SMOOTHING, "smoothing", "Smoothing",
      "Weight of earlier frames in mode=equalize, so that video does not flicker "
      "(0 = each frame is equalised by itself)",
      0.999, DEFAULT_SMOOTHING, flags);
  install_double (object_class, PROP_CLIP_LIMIT, "clip-limit", "Clip limit",
      "With equalizer=clahe, the part of a count that exceeds this multiple of "
      "the mean count is spread over all bins, which limits contrast (0 = no "
      "limit)",
      EQUALIZE_MAX_CLIP_LIMIT, DEFAULT_CLIP_LIMIT, flags);
  /* Not controllable: with another grid, the smoothing of the tables starts anew. */
  g_object_class_install_property (object_class, PROP_TILES_X,
      g_param_spec_int ("tiles-x", "Tiles along x",
          "Number of tiles side by side with equalizer=clahe", 1,
          EQUALIZE_MAX_TILES, DEFAULT_TILES, flags));
  g_object_class_install_property (object_class, PROP_TILES_Y,
      g_param_spec_int ("tiles-y", "Tiles along y",
          "Number of tiles one above the other with equalizer=clahe", 1,
          EQUALIZE_MAX_TILES, DEFAULT_TILES, flags));
}

static void
install_overlay (GObjectClass *object_class, GParamFlags flags)
{
  install_enum (object_class, PROP_POSITION, "overlay-position",
      "Overlay position", "Where mode=overlay draws the histogram",
      position_get_type (), DEFAULT_POSITION, flags);
  install_double (object_class, PROP_WIDTH, "overlay-width", "Overlay width",
      "Width of the overlay, as a part of the frame's width", 1.0,
      DEFAULT_WIDTH, flags);
  install_double (object_class, PROP_HEIGHT, "overlay-height", "Overlay height",
      "Height of the overlay, as a part of the frame's height", 1.0,
      DEFAULT_HEIGHT, flags);
  install_double (object_class, PROP_MARGIN, "overlay-margin", "Overlay margin",
      "Distance of the overlay from the edges, as a part of the frame's shorter "
      "side",
      0.5, DEFAULT_MARGIN, flags);
  install_double (object_class, PROP_OPACITY, "overlay-opacity",
      "Overlay opacity", "Opacity of the overlay's bars and lines", 1.0,
      DEFAULT_OPACITY, flags);
  install_double (object_class, PROP_BACKGROUND_OPACITY,
      "overlay-background-opacity", "Overlay background opacity",
      "Opacity of the overlay's background", 1.0, DEFAULT_BACKGROUND_OPACITY,
      flags);
  install_enum (object_class, PROP_SCALE, "overlay-scale", "Overlay scale",
      "How the height of a bar in the overlay follows its count",
      scale_get_type (), DEFAULT_SCALE, flags);
  install_enum (object_class, PROP_ARRANGEMENT, "overlay-arrangement",
      "Overlay arrangement", "How the overlay draws several components",
      arrangement_get_type (), DEFAULT_ARRANGEMENT, flags);
  install_double (object_class, PROP_CLIP_SHARE, "overlay-clip-share",
      "Overlay clip share",
      "The overlay marks a component if a larger part of its samples than this "
      "is dark or bright by threshold-dark and threshold-bright",
      1.0, DEFAULT_CLIP_SHARE, flags);
}

void
gst_histo_modes_install (GObjectClass *object_class, GParamFlags flags)
{
  install_enum (object_class, PROP_MODE, "mode", "Mode",
      "The use of the histogram: report it only, equalise the contrast of the "
      "frame, or draw it into the frame",
      mode_get_type (), DEFAULT_MODE, flags);
  install_equalize (object_class, flags);
  install_overlay (object_class, flags);
  gst_type_mark_as_plugin_api (mode_get_type (), 0);
  gst_type_mark_as_plugin_api (equalizer_get_type (), 0);
  gst_type_mark_as_plugin_api (position_get_type (), 0);
  gst_type_mark_as_plugin_api (scale_get_type (), 0);
  gst_type_mark_as_plugin_api (arrangement_get_type (), 0);
}

/* Returns the field of a property of type double, or NULL. */
static gdouble *
find_double (GstHistoModes *self, guint id)
{
  switch (id) {
    case PROP_STRENGTH:
      return &self->strength;
    case PROP_SMOOTHING:
      return &self->smoothing;
    case PROP_CLIP_LIMIT:
      return &self->clip_limit;
    case PROP_WIDTH:
      return &self->width;
    case PROP_HEIGHT:
      return &self->height;
    case PROP_MARGIN:
      return &self->margin;
    case PROP_OPACITY:
      return &self->opacity;
    case PROP_BACKGROUND_OPACITY:
      return &self->background_opacity;
    case PROP_CLIP_SHARE:
      return &self->clip_share;
    default:
      return NULL;
  }
}

gboolean
gst_histo_modes_set (GstHistoModes *self, guint id, const GValue *value)
{
  gdouble *number = find_double (self, id);

  if (number != NULL) {
    *number = g_value_get_double (value);
    return TRUE;
  }
  switch (id) {
    case PROP_MODE:
      self->mode = (GstCudaHistoMode) g_value_get_enum (value);
      return TRUE;
    case PROP_EQUALIZER:
      self->equalizer = (EqualizeKind) g_value_get_enum (value);
      return TRUE;
    case PROP_TILES_X:
      self->tiles_x = g_value_get_int (value);
      return TRUE;
    case PROP_TILES_Y:
      self->tiles_y = g_value_get_int (value);
      return TRUE;
    case PROP_POSITION:
      self->position = (OverlayPosition) g_value_get_enum (value);
      return TRUE;
    case PROP_SCALE:
      self->scale = (OverlayScale) g_value_get_enum (value);
      return TRUE;
    case PROP_ARRANGEMENT:
      self->arrangement = (OverlayArrangement) g_value_get_enum (value);
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_histo_modes_get (const GstHistoModes *self, guint id, GValue *value)
{
  const gdouble *number = find_double ((GstHistoModes *) self, id);

  if (number != NULL) {
    g_value_set_double (value, *number);
    return TRUE;
  }
  switch (id) {
    case PROP_MODE:
      g_value_set_enum (value, (gint) self->mode);
      return TRUE;
    case PROP_EQUALIZER:
      g_value_set_enum (value, (gint) self->equalizer);
      return TRUE;
    case PROP_TILES_X:
      g_value_set_int (value, self->tiles_x);
      return TRUE;
    case PROP_TILES_Y:
      g_value_set_int (value, self->tiles_y);
      return TRUE;
    case PROP_POSITION:
      g_value_set_enum (value, (gint) self->position);
      return TRUE;
    case PROP_SCALE:
      g_value_set_enum (value, (gint) self->scale);
      return TRUE;
    case PROP_ARRANGEMENT:
      g_value_set_enum (value, (gint) self->arrangement);
      return TRUE;
    default:
      return FALSE;
  }
}

/* Specs */

gboolean
gst_histo_modes_fit (const GstHistoModes *a, const GstHistoModes *b)
{
  return a->equalizer == b->equalizer && a->tiles_x == b->tiles_x
      && a->tiles_y == b->tiles_y;
}

static EqualizeRole
equalize_role (const GstFrameChannel *channel)
{
  if (channel->role == GST_FRAME_CHANNEL_LUMA)
    return EQUALIZE_LUMA;
  if (channel->role != GST_FRAME_CHANNEL_RGB)
    return EQUALIZE_COPY;
  return channel->component == GST_VIDEO_COMP_R ? EQUALIZE_RED
      : channel->component == GST_VIDEO_COMP_G  ? EQUALIZE_GREEN
                                                : EQUALIZE_BLUE;
}

void
gst_histo_modes_get_equalize (const GstHistoModes *self,
    const GstFrameLayout *layout, const GstVideoInfo *info, EqualizeSpec *spec)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  gdouble weight[3];

  memset (spec, 0, sizeof *spec);
  spec->kind = self->equalizer;
  for (gint p = 0; p < layout->layout.n_planes; p++)
    for (gint c = 0; c < layout->layout.plane[p].channels; c++)
      spec->role[p][c] = equalize_role (&layout->channel[p][c]);
  gst_frame_get_code_range (info, offset, scale);
  spec->black = offset[0];
  spec->white = offset[0] + scale[0];
  gst_histo_rgb_weights (info, weight);
  spec->kr = weight[GST_VIDEO_COMP_R];
  spec->kb = weight[GST_VIDEO_COMP_B];
  spec->strength = self->strength;
  spec->smoothing = self->smoothing;
  spec->tiles_x = self->tiles_x;
  spec->tiles_y = self->tiles_y;
  spec->clip_limit = self->clip_limit;
}

/* The colour of a component's bars. */
static guint
component_color (const gchar *name)
{
  switch (name[0]) {
    case 'R':
    case 'V':
      return 0xffff4a4au;
    case 'G':
      return 0xff4ade5au;
    case 'B':
    case 'U':
      return 0xff5a8cffu;
    default:
      return 0xffe8e8e8u;
  }
}

static void
convert_color (const GstFrameLayout *layout, const GstVideoInfo *info,
    guint argb, OverlayColor *color)
{
  gst_frame_layout_convert_color (layout, info, argb, color->codes);
}

static void
get_component (OverlayComponent *to, const GstHistoComponents *components,
    gint i, const GstHistoThresholds *thresholds, const GstFrameLayout *layout,
    const GstVideoInfo *info)
{
  const gdouble black = components->component[i].black;
  const gdouble white = components->component[i].white;

  to->plane = components->component[i].plane;
  to->channel = components->component[i].channel;
  to->dark = alarms_code (thresholds->dark, black, white);
  to->bright = alarms_code (thresholds->bright, black, white);
  convert_color (layout, info, component_color (components->component[i].name),
      &to->color);
}

void
gst_histo_modes_get_overlay (const GstHistoModes *self,
    const GstHistoComponents *components, const GstHistoThresholds *thresholds,
    const GstFrameLayout *layout, const GstVideoInfo *info, OverlaySpec *spec)
{
  memset (spec, 0, sizeof *spec);
  spec->frame_width = GST_VIDEO_INFO_WIDTH (info);
  spec->frame_height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
  for (gint p = 0; p < layout->layout.n_planes; p++) {
    spec->subsampling_x[p] = layout->subsampling_x[p];
    spec->subsampling_y[p] = layout->subsampling_y[p];
    for (gint c = 0; c < layout->layout.plane[p].channels; c++)
      if (layout->channel[p][c].role != GST_FRAME_CHANNEL_PADDING)
        spec->channels[p] |= 1u << c;
  }
  spec->bins = components->bins;
  spec->n_components = components->n_components;
  for (gint i = 0; i < components->n_components; i++)
    get_component (
        &spec->component[i], components, i, thresholds, layout, info);
  spec->arrangement = self->arrangement;
  spec->scale = self->scale;
  spec->clip_share = self->clip_share;
  overlay_place (spec, &layout->layout, self->position, self->width,
      self->height, self->margin);
  convert_color (layout, info, BACKGROUND, &spec->background);
  convert_color (layout, info, LINE, &spec->line);
  spec->background_opacity = self->background_opacity;
  spec->bar_opacity = spec->line_opacity = self->opacity;
  spec->grid_opacity = GRID_OPACITY * self->opacity;
}
