/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Linear light and premultiplied alpha: pictures of every format, compared with a filter of light
 * in double precision without intermediate rounding. */
#include "picture-oracle.h"

#include <math.h>
#include <string.h>

#define N_COMPONENTS 4

/* Settings of a filter. */
typedef struct
{
  const char *settings;
  gboolean linear, premultiply, alpha; /* alpha: it is filtered, too */
  double sigma;
  const char *border;
  guint border_color;
} Way;

/* A picture, or one of its fields. */
typedef struct
{
  const GstVideoInfo *info;
  const Way *way;
  int first, apart; /* rows first, first + apart and so on */
  guint16 *in[N_COMPONENTS], *out[N_COMPONENTS];
  int black[N_COMPONENTS], range[N_COMPONENTS];
  int width, height; /* pixels */
  double *light
      [N_COMPONENTS]; /* [height][width]: red, green, blue or grey; alpha */
} Scene;

/* ---- colour ---- */

static double
decode (const Scene *scene, double v)
{
  GstVideoTransferFunction transfer = scene->info->colorimetry.transfer;

  if (!scene->way->linear)
    return v;
  if (transfer == GST_VIDEO_TRANSFER_UNKNOWN)
    transfer = GST_VIDEO_INFO_IS_YUV (scene->info) ? GST_VIDEO_TRANSFER_BT709
                                                   : GST_VIDEO_TRANSFER_SRGB;
  if (transfer == GST_VIDEO_TRANSFER_SRGB)
    return v <= 0.04045 ? v / 12.92 : pow ((v + 0.055) / 1.055, 2.4);
  return v < 0.081 ? v / 4.5 : pow ((v + 0.099) / 1.099, 1.0 / 0.45);
}

/* The inverse of any increasing function, by bisection. */
static double
encode (const Scene *scene, double light)
{
  double low = 0.0, high = 1.0;

  for (int i = 0; i < 40; i++) {
    const double middle = (low + high) / 2.0;

    if (decode (scene, middle) < light)
      low = middle;
    else
      high = middle;
  }
  return high;
}

static gboolean
is_grey (const Scene *scene)
{
  return GST_VIDEO_INFO_IS_GRAY (scene->info);
}

static void
get_weights (const Scene *scene, double *kr, double *kb)
{
  const GstVideoColorMatrix matrix = scene->info->colorimetry.matrix;

  *kr = matrix == GST_VIDEO_COLOR_MATRIX_BT709  ? 0.2126
      : matrix == GST_VIDEO_COLOR_MATRIX_BT2020 ? 0.2627
                                                : 0.299;
  *kb = matrix == GST_VIDEO_COLOR_MATRIX_BT709  ? 0.0722
      : matrix == GST_VIDEO_COLOR_MATRIX_BT2020 ? 0.0593
                                                : 0.114;
}

static int
component_rows (const Scene *scene, guint c)
{
  const int rows = GST_VIDEO_INFO_COMP_HEIGHT (scene->info, c);

  return (rows - scene->first + scene->apart - 1) / scene->apart;
}

/* Level of a component at a pixel: about 0 to 1; chroma about -1/2 to 1/2. */
static double
level_at (const Scene *scene, guint c, int x, int y)
{
  const GstVideoFormatInfo *format = scene->info->finfo;
  const int column = x >> format->w_sub[c], rows = component_rows (scene, c);
  int row = y >> format->h_sub[c];

  if (rows == 0)
    return 0.0;
  row = MIN (row, rows - 1);
  row = scene->first + row * scene->apart;
  return (scene->in[c]
                   [row * GST_VIDEO_INFO_COMP_WIDTH (scene->info, c) + column]
             - scene->black[c])
      / (double) scene->range[c];
}

/* Red, green and blue, or grey, as linear light. */
static void
colors_at (const Scene *scene, int x, int y, double v[3])
{
  double kr, kb;

  for (guint c = 0; c < (is_grey (scene) ? 1 : 3); c++)
    v[c] = level_at (scene, c, x, y);
  if (GST_VIDEO_INFO_IS_YUV (scene->info)) {
    const double luma = v[0], cb = v[1], cr = v[2];

    get_weights (scene, &kr, &kb);
    v[0] = luma + 2.0 * (1.0 - kr) * cr;
    v[2] = luma + 2.0 * (1.0 - kb) * cb;
    v[1] = (luma - kr * v[0] - kb * v[2]) / (1.0 - kr - kb);
  }
  for (guint c = 0; c < (is_grey (scene) ? 1 : 3); c++)
    v[c] = decode (scene, CLAMP (v[c], 0.0, 1.0));
}

static void
make_light (Scene *scene)
{
  const gboolean alpha = GST_VIDEO_INFO_HAS_ALPHA (scene->info);

  for (int i = 0; i < N_COMPONENTS; i++)
    scene->light[i] =
        g_new0 (double, (gsize) scene->width *(gsize) scene->height);
  for (int y = 0; y < scene->height; y++)
    for (int x = 0; x < scene->width; x++) {
      const double a = alpha ? level_at (scene, 3, x, y) : 1.0;
      double v[3] = { 0.0, 0.0, 0.0 };

      colors_at (scene, x, y, v);
      for (int i = 0; i < 3; i++)
        scene->light[i][y * scene->width + x] =
            scene->way->premultiply ? v[i] * a : v[i];
      scene->light[3][y * scene->width + x] = a;
    }
}

/* ---- the filter ---- */

/* The index in [0, n) that stands for one outside; -1: border colour. */
static int
place_of (const char *border, int at, int n)
{
  if (at >= 0 && at < n)
    return at;
  if (g_str_equal (border, "constant"))
    return -1;
  if (g_str_equal (border, "wrap"))
    return place_of (border, at < 0 ? at + n : at - n, n);
  if (g_str_equal (border, "reflect"))
    return place_of (border, at < 0 ? -1 - at : 2 * n - 1 - at, n);
  if (g_str_equal (border, "reflect-101"))
    return n == 1 ? 0 : place_of (border, at < 0 ? -at : 2 * n - 2 - at, n);
  return at < 0 ? 0 : n - 1;
}

static double
border_light (const Scene *scene, int plane)
{
  const guint argb = scene->way->border_color;
  const double a = (argb >> 24) / 255.0;
  const double red = (argb >> 16 & 255) / 255.0;
  const double green = (argb >> 8 & 255) / 255.0, blue = (argb & 255) / 255.0;
  const double v[] = { red, green, blue };
  const double light = decode (scene,
      is_grey (scene) ? 0.299 * red + 0.587 * green + 0.114 * blue
                      : v[plane % 3]);

  return plane == 3 ? a : scene->way->premultiply ? light * a : light;
}

/* Filters along one axis: n values, `step` apart. */
static void
filter_line (const Scene *scene, double *line, int n, int step, double border)
{
  const double sigma = scene->way->sigma;
  const int radius = (int) ceil (3.0 * sigma);
  double *result = g_new0 (double, (gsize) n), sum = 0.0;

  for (int i = -radius; i <= radius; i++) {
    const double tap = exp (-i * i / (2.0 * sigma * sigma));

    sum += tap;
    for (int x = 0; x < n; x++) {
      const int at = place_of (scene->way->border, x + i, n);

      result[x] += tap * (at < 0 ? border : line[at * step]);
    }
  }
  for (int x = 0; x < n; x++)
    line[x * step] = result[x] / sum;
  g_free (result);
}

static void
filter_light (Scene *scene)
{
  for (int i = 0; i < N_COMPONENTS; i++) {
    const double border = border_light (scene, i);

    for (int y = 0; y < scene->height; y++)
      filter_line (
          scene, scene->light[i] + y * scene->width, scene->width, 1, border);
    for (int x = 0; x < scene->width; x++)
      filter_line (
          scene, scene->light[i] + x, scene->height, scene->width, border);
  }
}

/* ---- expected results ---- */

/* Allowed error in codes, where linear 16-bit codes are coarse: see light.h. */
static double
allowed_error (int depth)
{
  return depth <= 8 ? 0.8 : depth <= 10 ? 1.0 : depth <= 12 ? 2.0 : 30.0;
}

/* Levels of a pixel's components from filtered light, and the additional error that alpha
 * allows. */
static double
levels_of (const Scene *scene, int x, int y, double v[3])
{
  const gsize at = (gsize) y * (gsize) scene->width + (gsize) x;
  const double a = scene->way->premultiply ? scene->light[3][at] : 1.0;
  double kr, kb, luma;

  for (int i = 0; i < 3; i++)
    v[i] = encode (scene, a > 0.0 ? MIN (scene->light[i][at] / a, 1.0) : 0.0);
  if (GST_VIDEO_INFO_IS_YUV (scene->info)) {
    get_weights (scene, &kr, &kb);
    luma = kr * v[0] + (1.0 - kr - kb) * v[1] + kb * v[2];
    v[1] = (v[2] - luma) / (2.0 * (1.0 - kb));
    v[2] = (v[0] - luma) / (2.0 * (1.0 - kr));
    v[0] = luma;
  }
  return 1.0 / MAX (a, 1e-4);
}

/* Mean of component c over the pixels of a sample; *excess is the factor of errors due to
 * alpha. */
static double
mean_level (const Scene *scene, guint c, int column, int row, double *excess)
{
  const GstVideoFormatInfo *format = scene->info->finfo;
  const int sub_x = 1 << format->w_sub[c], sub_y = 1 << format->h_sub[c];
  double sum = 0.0;
  int n = 0;

  *excess = 0.0;
  for (int y = row * sub_y; y < MIN ((row + 1) * sub_y, scene->height); y++)
    for (int x = column * sub_x; x < MIN ((column + 1) * sub_x, scene->width);
         x++, n++) {
      double v[3];

      *excess = MAX (*excess, levels_of (scene, x, y, v));
      sum += v[c];
    }
  return sum / n;
}

static void
expect_component (const Scene *scene, guint c)
{
  const int depth = picture_depth (scene->info, c);
  const int width = GST_VIDEO_INFO_COMP_WIDTH (scene->info, c);
  const double full = (1 << depth) - 1;

  for (int row = 0; row < component_rows (scene, c); row++)
    for (int x = 0; x < width; x++) {
      const int at = (scene->first + row * scene->apart) * width + x;
      double level, code, allowed = allowed_error (depth), excess;

      if (c == 3 && !scene->way->alpha) {
        expect (scene->out[c][at] == scene->in[c][at],
            "alpha at %d,%d is %u, and was %u", x, row, scene->out[c][at],
            scene->in[c][at]);
        continue;
      }
      level = c == 3 ? scene->light[3][row * scene->width + x]
                     : mean_level (scene, c, x, row, &excess);
      if (c < 3)
        allowed = 0.5 + (allowed - 0.5) * excess;
      else if (GST_VIDEO_INFO_COMP_DEPTH (scene->info, c) == 2)
        allowed += 0.5 * full / 3.0;
      code = CLAMP (scene->black[c] + scene->range[c] * level, 0.0, full);
      expect (picture_error (scene->info, c, scene->out[c][at], code) < allowed,
          "component %u at %d,%d of field %d is %u where %.3f was expected "
          "within %.2f",
          c, x, row, scene->first, scene->out[c][at], code, allowed);
    }
}

static void
fill_levels (Scene *scene)
{
  const gboolean limited =
      scene->info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (scene->info); c++) {
    const int depth = picture_depth (scene->info, c);
    const gboolean chroma =
        GST_VIDEO_INFO_IS_YUV (scene->info) && (c == 1 || c == 2);

    scene->range[c] = limited && c < 3 ? (chroma ? 224 : 219) << (depth - 8)
                                       : (1 << depth) - 1;
    scene->black[c] = chroma ? 1 << (depth - 1)
        : limited && c < 3   ? 16 << (depth - 8)
                             : 0;
  }
}

/* Expects `out` to be the result of these settings for `in`. */
static void
expect_light (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const Way *way, gboolean fields)
{
  const guint n = GST_VIDEO_INFO_N_COMPONENTS (info);
  Scene scene = { .info = info, .way = way, .apart = fields ? 2 : 1 };
  gsize size;

  fill_levels (&scene);
  for (guint c = 0; c < n; c++) {
    scene.in[c] = picture_samples (in, info, c, &size);
    scene.out[c] = picture_samples (out, info, c, &size);
  }
  for (; scene.first < scene.apart; scene.first++) {
    scene.width = GST_VIDEO_INFO_WIDTH (info);
    scene.height = component_rows (&scene, 0);
    make_light (&scene);
    filter_light (&scene);
    for (guint c = 0; c < n; c++)
      expect_component (&scene, c);
    for (int i = 0; i < N_COMPONENTS; i++)
      g_free (scene.light[i]);
  }
  for (guint c = 0; c < n; c++) {
    g_free (scene.in[c]);
    g_free (scene.out[c]);
  }
}

static void
check_frame (
    Filter *filter, const GstVideoInfo *info, guint32 seed, const Way *way)
{
  GstBuffer *in = picture_new (info, seed), *out;

  test_context ("format=%s size=%dx%d settings=%s seed=%u",
      GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info), way->settings, seed);
  out = filter_process (filter, gst_buffer_ref (in));
  expect_light (in, out, info, way, GST_VIDEO_INFO_IS_INTERLACED (info));
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

/* Noise and extremes. */
static void
check_way (
    const char *format, int width, int height, const char *more, const Way *way)
{
  GstVideoInfo info;
  Filter filter;

  test_context ("format=%s size=%dx%d %s settings=%s", format, width, height,
      more == NULL ? "" : more, way->settings);
  filter_start (&filter, way->settings, &info, format, width, height, more);
  for (guint32 seed = 1; seed <= 2; seed++)
    check_frame (&filter, &info, seed, way);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

static const Way linear = { "gamma=linear sigma=1.5", TRUE, FALSE, FALSE, 1.5,
  "replicate", 0 };
static const Way weighted = { "alpha-mode=premultiply sigma=1.5", FALSE, TRUE,
  FALSE, 1.5, "replicate", 0 };
static const Way both = {
  "gamma=linear alpha-mode=premultiply planes=all sigma=1.2", TRUE, TRUE, TRUE,
  1.2, "replicate", 0
};

static gboolean
has_alpha (const char *format)
{
  return GST_VIDEO_FORMAT_INFO_HAS_ALPHA (
      gst_video_format_get_info (gst_video_format_from_string (format)));
}

static void
light_linear_formats (void)
{
  for (guint f = 0; video_formats[f] != NULL; f++)
    /* A width for which rows of UYVP and NV12_10LE32 are long enough. */
    check_way (video_formats[f], 25, 13, NULL, &linear);
}

static void
light_premultiplied_formats (void)
{
  for (guint f = 0; video_formats[f] != NULL; f++)
    if (has_alpha (video_formats[f])) {
      check_way (video_formats[f], 17, 11, NULL, &weighted);
      check_way (video_formats[f], 17, 11, NULL, &both);
    }
}

static void
light_colorimetries (void)
{
  static const struct
  {
    const char *format, *colorimetry;
  } rows[] = {
    { "I420", "bt601" },
    { "I420", "bt709" },
    { "NV12", "sRGB" },
    { "Y444", "1:4:0:0" },
    { "NV12", "1:3:7:1" },
    { "AYUV", "bt709" },
    { "I420_10LE", "bt2020-10" },
    { "P010_10LE", "bt709" },
    { "RGB", "sRGB" },
    { "RGBA", "2:1:7:1" },
    { "GBR_10LE", "2:1:5:1" },
    { "RGB16", "2:1:5:1" },
    { "ARGB64", "1:1:5:1" },
    { "GRAY8", "1:0:5:0" },
    { "GRAY8", "2:0:7:0" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    char *more = g_strdup_printf ("colorimetry=%s", rows[r].colorimetry);

    check_way (rows[r].format, 21, 10, more, &linear);
    g_free (more);
  }
}

static void
light_fields (void)
{
  static const char *const formats[] = { "I420", "NV12", "Y41B", "AYUV",
    "RGB", "P010_10LE", "A420_10LE", "GBRA_12LE" };
  static const int heights[] = { 2, 3, 9, 14 };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint h = 0; h < G_N_ELEMENTS (heights); h++)
      check_way (
          formats[f], 15, heights[h], "interlace-mode=interleaved", &linear);
}

static void
light_borders (void)
{
  static const char *const borders[] = { "replicate", "reflect", "reflect-101",
    "wrap", "constant" };
  static const char *const formats[] = { "I420", "ARGB", "GRAY8" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint b = 0; b < G_N_ELEMENTS (borders); b++) {
      char *settings = g_strdup_printf ("gamma=linear alpha-mode=premultiply "
                                        "sigma=2 border=%s "
                                        "border-color=0x80f0a040",
          borders[b]);
      const Way way = { settings, TRUE, has_alpha (formats[f]), FALSE, 2.0,
        borders[b], 0x80f0a040 };

      check_way (formats[f], 14, 9, NULL, &way);
      g_free (settings);
    }
}

/* Rows with other strides than GstVideoInfo's, and separate memories. */
static void
light_layouts (void)
{
  static const char *const formats[] = { "I420", "NV12", "P010_10LE", "RGB",
    "RGBx", "ARGB64" };
  static const PictureLayout layouts[] = { { .stride_padding = 7 },
    { .stride_padding = 64, .plane_padding = 100 }, { .split = TRUE },
    { .read_only = TRUE } };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint l = 0; l < G_N_ELEMENTS (layouts); l++) {
      GstBuffer *in, *out;
      GstVideoInfo info;
      Filter filter;

      filter_start (&filter, linear.settings, &info, formats[f], 27, 12, NULL);
      test_context ("format=%s layout number %u", formats[f], l);
      in = picture_new_laid_out (&info, 1, &layouts[l]);
      out = filter_process (&filter, gst_buffer_ref (in));
      expect_light (in, out, &info, &linear, FALSE);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
      filter_close (&filter);
    }
}

/* Changes of settings, with plain frames in between. */
static void
light_while_playing (void)
{
  static const Way ways[] = {
    { "gamma=linear alpha-mode=straight sigma=1 planes=color", TRUE, FALSE,
        FALSE, 1.0, "replicate", 0 },
    { "gamma=linear alpha-mode=straight sigma=3 planes=color", TRUE, FALSE,
        FALSE, 3.0, "replicate", 0 },
    { "gamma=as-is alpha-mode=premultiply sigma=1 planes=all", FALSE, TRUE,
        TRUE, 1.0, "replicate", 0 },
    { "gamma=linear alpha-mode=premultiply sigma=2 planes=color", TRUE, TRUE,
        FALSE, 2.0, "replicate", 0 },
    { "gamma=linear alpha-mode=straight sigma=2 planes=all", TRUE, FALSE, TRUE,
        2.0, "replicate", 0 },
  };
  static const char plain[] =
      "gamma=as-is alpha-mode=straight sigma=1.5 planes=color";
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "RGBA", 30, 20, NULL);
  for (guint round = 0; round < 3; round++)
    for (guint w = 0; w < G_N_ELEMENTS (ways); w++) {
      settings_apply (filter.element, ways[w].settings);
      check_frame (&filter, &info, 10 * round + w, &ways[w]);
      if (round == 1)
        continue;
      settings_apply (filter.element, plain);
      picture_check_frame (&filter, &info, w, plain);
    }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* Another method, slices, and a histogram of the result do not change the picture. */
static void
light_beside_other_settings (void)
{
  static const char *const more[] = { "slices=4", "histogram=true",
    "ring-depth=1" };

  for (guint m = 0; m < G_N_ELEMENTS (more); m++) {
    char *settings = g_strdup_printf ("%s %s", linear.settings, more[m]);
    Way way = linear;

    way.settings = settings;
    check_way ("I420", 41, 30, NULL, &way);
    g_free (settings);
  }
}

static void
light_method (void)
{
  Way way = linear;
  GstVideoInfo info;
  Filter filter;
  char *method;

  way.settings = "gamma=linear sigma=1.5 backend=cpu method=reference";
  filter_start (&filter, way.settings, &info, "NV12", 24, 16, NULL);
  check_frame (&filter, &info, 1, &way);
  method = filter_get (&filter, "active-method");
  expect (g_str_equal (method, "reference"), "active-method is %s", method);
  g_free (method);
  filter_close (&filter);
}

/* A filter that changes nothing passes frames untouched. */
static void
light_identity (void)
{
  static const char *const formats[] = { "I420", "ARGB64" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstBuffer *in, *out;
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, "gamma=linear alpha-mode=premultiply sigma=0", &info,
        formats[f], 20, 10, NULL);
    in = picture_new (&info, 1);
    out = filter_process (&filter, gst_buffer_ref (in));
    picture_expect_same (in, out, &info);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    filter_close (&filter);
  }
}

/* Edges of red, green and blue become luma; chroma becomes neutral unless neutral-chroma=false. */
static void
light_neutral_chroma (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "gamma=linear kernel=sobel-x", &info, "I420", 24, 16, NULL);
  for (int neutral = 1; neutral >= 0; neutral--) {
    GstBuffer *out;
    guint16 *codes;
    gsize n, grey = 0;

    settings_apply (filter.element,
        neutral ? "neutral-chroma=true" : "neutral-chroma=false");
    out = filter_process (&filter, picture_new (&info, 1));
    codes = picture_samples (out, &info, 1, &n);
    for (gsize i = 0; i < n; i++)
      grey += codes[i] == 128;
    expect (neutral ? grey == n : grey < n / 2,
        "neutral-chroma=%d: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
        " samples are neutral",
        neutral, grey, n);
    g_free (codes);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* ---- visible effects ---- */

/* An RGBA picture: white with alpha 255 where `inside`, else black with alpha 0. */
static GstBuffer *
white_on_nothing (const GstVideoInfo *info, gboolean (*inside) (int x, int y))
{
  const int width = GST_VIDEO_INFO_WIDTH (info);
  const int height = GST_VIDEO_INFO_HEIGHT (info);
  guint16 *codes = g_new0 (guint16, (gsize) width * (gsize) height);
  GstBuffer *buffer = picture_new (info, 1);

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      codes[y * width + x] = inside (x, y) ? 255 : 0;
  for (guint c = 0; c < 4; c++)
    picture_put_samples (buffer, info, c, codes);
  g_free (codes);
  return buffer;
}

static gboolean
in_dot (int x, int y)
{
  return abs (x - 20) <= 1 && abs (y - 20) <= 1;
}

static gboolean
in_left_half (int x, int y)
{
  (void) y;
  return x < 20;
}

/* Red at one place of a picture filtered with these settings. */
static int
red_at (const char *settings, gboolean (*inside) (int x, int y), int x, int y)
{
  GstVideoInfo info;
  GstBuffer *out;
  Filter filter;
  guint16 *codes;
  gsize n;
  int red;

  filter_start (&filter, settings, &info, "RGBA", 41, 41, NULL);
  out = filter_process (&filter, white_on_nothing (&info, inside));
  codes = picture_samples (out, &info, 0, &n);
  red = codes[y * 41 + x];
  g_free (codes);
  gst_buffer_unref (out);
  filter_close (&filter);
  return red;
}

static void
light_dot_stays_bright (void)
{
  const int plain = red_at ("sigma=3", in_dot, 20, 20);
  const int light = red_at ("sigma=3 gamma=linear", in_dot, 20, 20);

  test_context ("format=RGBA a dot of 3x3");
  expect (plain > 20 && plain < 60, "a plain blur leaves %d", plain);
  expect (light > 2 * plain, "%d in linear light, %d in codes", light, plain);
}

static void
light_no_dark_fringe (void)
{
  const int plain = red_at ("sigma=3", in_left_half, 19, 20);
  const int weighed =
      red_at ("sigma=3 alpha-mode=premultiply", in_left_half, 19, 20);
  const int beyond =
      red_at ("sigma=3 alpha-mode=premultiply", in_left_half, 24, 20);

  test_context ("format=RGBA white beside nothing");
  expect (plain < 180, "a plain blur leaves %d", plain);
  expect (weighed == 255 && beyond == 255, "%d and %d with premultiply",
      weighed, beyond);
}

/* ---- refusals and hints ---- */

static void
expect_refusal (const char *settings, const char *format, const char *more,
    GQuark domain, int code, const char *sentence)
{
  GstFlowReturn flow = GST_FLOW_OK;
  GstMessage *message = NULL;
  GError *error = NULL;
  GstVideoInfo info;
  Filter filter;

  test_context (
      "format=%s %s settings=%s", format, more == NULL ? "" : more, settings);
  video_info (&info, format, 24, 16, more);
  filter_open (&filter, settings);
  if (filter_caps (&filter, video_caps (format, 24, 16, more)))
    for (int i = 0; i < 8 && flow == GST_FLOW_OK; i++)
      flow = gst_harness_push (filter.harness, picture_new (&info, 1));
  expect (filter_drain_bus (&filter, GST_MESSAGE_ERROR, &message) == 1,
      "not exactly one error");
  gst_message_parse_error (message, &error, NULL);
  expect (g_error_matches (error, domain, code), "another error: %s",
      error->message);
  expect (strstr (error->message, sentence) != NULL,
      "\"%s\" does not say \"%s\"", error->message, sentence);
  g_error_free (error);
  gst_message_unref (message);
  filter_close (&filter);
}

static void
light_refused (void)
{
  expect_refusal ("gamma=linear", "P010_10LE", "colorimetry=bt2100-pq",
      GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "transfer function");
  expect_refusal ("gamma=linear planes=luma", "I420", NULL, GST_STREAM_ERROR,
      GST_STREAM_ERROR_FORMAT, "gamma=linear filters red, green and blue");
  expect_refusal ("gamma=linear planes=chroma+alpha", "AYUV", NULL,
      GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "one of the two alone");
  expect_refusal ("alpha-mode=premultiply planes=luma", "A420", NULL,
      GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "alpha-mode=premultiply");
  expect_refusal ("gamma=linear kernel=sobel gradient=direction", "NV12", NULL,
      GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "direction");
  expect_refusal ("alpha-mode=premultiply kernel=sobel-x", "RGBA", NULL,
      GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "finds edges");
}

/* Parts of the colour that only other formats have. */
static void
light_planes_of_other_formats (void)
{
  Way way = linear;

  way.settings = "gamma=linear sigma=1.5 planes=luma";
  check_way ("GRAY8", 20, 10, NULL, &way);
  picture_check (
      "A420", 20, 10, NULL, "alpha-mode=premultiply planes=alpha sigma=1");
  picture_check ("I420", 20, 10, NULL, "alpha-mode=premultiply planes=luma");
}

static void
light_hints (void)
{
  static const struct
  {
    const char *format, *settings, *useless;
  } rows[] = {
    { "I420", "alpha-mode=premultiply", "alpha-mode" },
    { "RGBx", "alpha-mode=premultiply gamma=linear", "alpha-mode" },
    { "RGBA", "alpha-mode=premultiply planes=alpha", "alpha-mode" },
    { "RGBA", "gamma=linear planes=alpha", "gamma" },
    { "I420", "gamma=linear scale-chroma=false", "scale-chroma" },
    { "RGBA", "gamma=linear alpha-mode=premultiply", NULL },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    GstMessage *message = NULL;
    GError *error = NULL;
    GstVideoInfo info;
    Filter filter;
    int n;

    test_context ("format=%s settings=%s", rows[r].format, rows[r].settings);
    video_info (&info, rows[r].format, 24, 16, NULL);
    filter_make (&filter, rows[r].settings);
    filter_let_hints_through (&filter);
    filter_plug (&filter);
    expect (filter_caps (&filter, video_caps (rows[r].format, 24, 16, NULL)),
        "caps refused");
    for (guint32 i = 0; i < 3; i++)
      gst_buffer_unref (filter_process (&filter, picture_new (&info, i)));
    n = filter_drain_bus (&filter, GST_MESSAGE_WARNING, &message);
    expect (n == (rows[r].useless != NULL), "%d warnings", n);
    if (message != NULL) {
      gst_message_parse_warning (message, &error, NULL);
      expect (g_str_has_prefix (error->message, rows[r].useless),
          "the warning is: %s", error->message);
      g_error_free (error);
      gst_message_unref (message);
    }
    filter_close (&filter);
  }
}

const Test tests_light[] = {
  { "light-linear-formats", light_linear_formats, VARIANT_BOTH },
  { "light-premultiplied-formats", light_premultiplied_formats, VARIANT_BOTH },
  { "light-colorimetries", light_colorimetries, VARIANT_BOTH },
  { "light-fields", light_fields, VARIANT_BOTH },
  { "light-borders", light_borders, VARIANT_BOTH },
  { "light-layouts", light_layouts, VARIANT_BOTH },
  { "light-while-playing", light_while_playing, VARIANT_BOTH },
  { "light-beside-other-settings", light_beside_other_settings, VARIANT_BOTH },
  { "light-method", light_method, VARIANT_CPU },
  { "light-identity", light_identity, VARIANT_BOTH },
  { "light-neutral-chroma", light_neutral_chroma, VARIANT_BOTH },
  { "light-dot-stays-bright", light_dot_stays_bright, VARIANT_BOTH },
  { "light-no-dark-fringe", light_no_dark_fringe, VARIANT_BOTH },
  { "light-refused", light_refused, VARIANT_BOTH },
  { "light-planes-of-other-formats", light_planes_of_other_formats,
      VARIANT_BOTH },
  { "light-hints", light_hints, VARIANT_BOTH },
  { 0 },
};
