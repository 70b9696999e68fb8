/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto with mode=overlay: the position of the overlay, its contents, and that everything
 * else is unchanged. */
#include "histo-oracle.h"

#include <math.h>

#define MODE "cudahisto mode=overlay interval=0 "
/* The picture does not show through. */
#define OPAQUE "overlay-opacity=1 overlay-background-opacity=1 "

/* ---- rectangles ---------------------------------------------------------- */

/* Columns [left, right) and rows [top, bottom). */
typedef struct
{
  int left, top, right, bottom;
} Box;

/* Bounding box of all samples of a component that differ; empty if there are none. */
static Box
changed_box (
    GstBuffer *a, GstBuffer *b, const GstVideoInfo *info, guint c, gsize *n)
{
  const int width = GST_VIDEO_INFO_COMP_WIDTH (info, c);
  gsize count;
  guint16 *before = picture_samples (a, info, c, &count);
  guint16 *after = picture_samples (b, info, c, &count);
  Box box = { G_MAXINT, G_MAXINT, 0, 0 };

  *n = 0;
  for (int i = 0; i < (int) count; i++) {
    if (before[i] == after[i])
      continue;
    ++*n;
    box.left = MIN (box.left, i % width);
    box.right = MAX (box.right, i % width + 1);
    box.top = MIN (box.top, i / width);
    box.bottom = MAX (box.bottom, i / width + 1);
  }
  g_free (before);
  g_free (after);
  return box;
}

/* A grey picture of a code that the overlay never draws. */
static GstBuffer *
grey (const GstVideoInfo *info)
{
  GstBuffer *picture = picture_new (info, 1);

  gst_buffer_memset (picture, 0, 128, info->size);
  return picture;
}

/* The rectangle of the overlay for these settings and this frame size, measured as the area
 * that an opaque overlay changes. */
static Box
rectangle_of (int width, int height, const char *settings)
{
  char *all = g_strconcat (MODE OPAQUE, settings, NULL);
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;
  gsize n;
  Box box;

  filter_start (&filter, all, &info, "GRAY8", width, height, NULL);
  in = grey (&info);
  out = filter_process (&filter, gst_buffer_ref (in));
  box = changed_box (in, out, &info, 0, &n);
  expect (n == (gsize) (box.right - box.left) * (gsize) (box.bottom - box.top),
      "%" G_GSIZE_FORMAT " pixels of %dx%d are drawn", n, box.right - box.left,
      box.bottom - box.top);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
  g_free (all);
  return box;
}

/* Expected position of a side: at the start, in the middle, or at the end, with the margin. */
static void
expect_aligned (int third, int first, int last, int frame, int margin)
{
  const int want = third == 0 ? margin
      : third == 1            ? (frame - (last - first)) / 2
                              : frame - margin - (last - first);

  expect (first == want, "from %d to %d of %d, a margin of %d", first, last,
      frame, margin);
}

static void
histo_overlay_positions (void)
{
  static const char *const positions[] = { "top-left", "top", "top-right",
    "left", "center", "right", "bottom-left", "bottom", "bottom-right" };
  static const struct
  {
    int width, height;
    const char *settings;
    int margin;
  } rows[] = {
    { 320, 240, "", 7 },
    { 640, 480, "overlay-margin=0", 0 },
    { 1280, 720, "overlay-margin=0.1", 72 },
    { 240, 320, "overlay-width=0.6 overlay-height=0.2", 7 },
    { 1280, 720, "overlay-width=0.5 overlay-height=0.5", 22 },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    for (int p = 0; p < 9; p++) {
      char *settings = g_strdup_printf (
          "%s overlay-position=%s", rows[r].settings, positions[p]);
      const Box box = rectangle_of (rows[r].width, rows[r].height, settings);
      const double width =
          setting_number (settings, "overlay-width", 0.35) * rows[r].width;
      const double height =
          setting_number (settings, "overlay-height", 0.35) * rows[r].height;

      expect_aligned (
          p % 3, box.left, box.right, rows[r].width, rows[r].margin);
      expect_aligned (
          p / 3, box.top, box.bottom, rows[r].height, rows[r].margin);
      expect (fabs (box.right - box.left - width) <= 0.25 * width,
          "%d pixels wide instead of about %g", box.right - box.left, width);
      expect (fabs (box.bottom - box.top - height) <= 1.0,
          "%d pixels tall instead of %g", box.bottom - box.top, height);
      g_free (settings);
    }
}

/* ---- what is drawn ------------------------------------------------------- */

#define WIDTH 1280
#define HEIGHT 720

/* The graph in a drawn frame, found by its axis: the lowest row of lines above the border. */
typedef struct
{
  guint16 *samples;
  int left, right; /* columns [left, right) */
  int floor;       /* row on which the bars stand */
  int top;         /* of the rectangle */
  guint16 line, background;
} Graph;

static guint16
sample_at (const Graph *graph, int x, int y)
{
  return graph->samples[y * WIDTH + x];
}

static Graph
find_graph (GstBuffer *out, const GstVideoInfo *info, const Box *box)
{
  const int middle = (box->left + box->right) / 2;
  gsize n;
  Graph graph = { .samples = picture_samples (out, info, 0, &n),
    .top = box->top };
  int y = box->bottom - 1;

  graph.line = sample_at (&graph, box->left, y);
  while (sample_at (&graph, middle, y) == graph.line)
    y--;
  graph.background = sample_at (&graph, middle, y);
  expect (graph.background < graph.line, "the background is not dark");
  while (y > box->top && sample_at (&graph, middle, y) != graph.line)
    y--;
  expect (y > box->top, "no axis");
  graph.left = graph.right = middle;
  while (sample_at (&graph, graph.left - 1, y) == graph.line)
    graph.left--;
  while (sample_at (&graph, graph.right, y) == graph.line)
    graph.right++;
  while (sample_at (&graph, middle, y) == graph.line)
    y--;
  graph.floor = y;
  return graph;
}

/* Number of rows of a column that bars cover. Bars are bright, the grid is dark. */
static int
bar_height (const Graph *graph, int x)
{
  const int bright = (graph->background + graph->line) / 2;
  int y = graph->floor;

  while (y > graph->top && sample_at (graph, x, y) > bright)
    y--;
  return graph->floor - y;
}

/* Grey of two codes; 7 of 10 pixels have the first. */
static GstBuffer *
two_codes (const GstVideoInfo *info, guint16 first, guint16 second)
{
  GstBuffer *picture = picture_new (info, 1);
  gsize n;
  guint16 *codes = picture_samples (picture, info, 0, &n);

  for (gsize i = 0; i < n; i++)
    codes[i] = i % 10 < 7 ? first : second;
  picture_put_samples (picture, info, 0, codes);
  g_free (codes);
  return picture;
}

static void
expect_near (int got, double want, const char *what)
{
  expect (
      fabs (got - want) <= 1.0, "%s is %d tall instead of %g", what, got, want);
}

/* Expects a bar for one code, and a shorter one for the other, at the columns of their bins,
 * and bare background above all other bins. */
static void
check_bars (const char *format, guint first, guint second, const char *settings,
    double ratio)
{
  char *all = g_strconcat (
      MODE OPAQUE "overlay-clip-share=1 planes=luma ", settings, NULL);
  const Box box = rectangle_of (WIDTH, HEIGHT, settings);
  const gint64 bins = (gint64) setting_number (settings, "bins", 256);
  int tallest = 0, shorter = 0, depth;
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;
  Graph graph;

  filter_start (&filter, all, &info, format, WIDTH, HEIGHT, NULL);
  depth = (int) GST_VIDEO_FORMAT_INFO_DEPTH (info.finfo, 0);
  in = two_codes (&info, (guint16) first, (guint16) second);
  out = filter_process (&filter, gst_buffer_ref (in));
  graph = find_graph (out, &info, &box);
  expect (graph.right - graph.left >= bins, "%d columns for the bins",
      graph.right - graph.left);
  for (int x = graph.left; x < graph.right; x++) {
    const gint64 step =
        (2 * (x - graph.left) + 1) * bins / (2 * (graph.right - graph.left));
    const int rows = bar_height (&graph, x);

    if (step == (gint64) first * bins >> depth)
      tallest = rows;
    else if (step == (gint64) second * bins >> depth)
      shorter = rows;
    else
      expect (rows == 0, "step %d has a bar of %d rows", (int) step, rows);
  }
  expect (tallest > (box.bottom - box.top) / 2, "the tallest bar has %d rows",
      tallest);
  expect_near (shorter, ratio * tallest, "the other bar");
  g_free (graph.samples);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
  g_free (all);
}

/* The logarithmic share of a height, linear between powers of two. */
static double
log_part (double part)
{
  int exponent;
  const double mantissa = frexp (1.0 + 1023.0 * part, &exponent);

  return (exponent - 1 + 2.0 * mantissa - 1.0) / 10.0;
}

static void
histo_overlay_bars (void)
{
  const double part = 3.0 / 7.0;

  check_bars ("GRAY8", 40, 200, "", part);
  check_bars ("GRAY8", 0, 255, "", part);
  check_bars ("GRAY8", 255, 1, "", part);
  check_bars ("GRAY8", 40, 200, "bins=16", part);
  check_bars ("GRAY8", 40, 200, "overlay-position=top-left", part);
  check_bars ("GRAY8", 40, 200, "overlay-scale=log", log_part (part));
  check_bars ("NV12", 40, 200, "overlay-arrangement=stacked", part);
  check_bars ("GRAY16_LE", 10000, 50000, "", part);
  check_bars ("P010_10LE", 100, 900, "", part);
}

/* Bars change with the picture, and nothing else does. */
static void
histo_overlay_follows (void)
{
  GstVideoInfo info;
  GstBuffer *out[3];
  Filter filter;
  gsize n;

  filter_start (&filter, MODE OPAQUE, &info, "GRAY8", WIDTH, HEIGHT, NULL);
  for (guint i = 0; i < 3; i++)
    out[i] =
        filter_process (&filter, two_codes (&info, 40, i == 1 ? 100 : 200));
  changed_box (out[0], out[2], &info, 0, &n);
  expect (n == 0, "the same picture has another graph");
  gst_buffer_unref (out[0]);
  gst_buffer_unref (out[1]);
  gst_buffer_unref (out[2]);
  filter_close (&filter);
}

/* One code in all components, another one in component c. */
static GstBuffer *
one_code_but (const GstVideoInfo *info, guint c)
{
  GstBuffer *picture = picture_new (info, 1);

  for (guint i = 0; i < GST_VIDEO_INFO_N_COMPONENTS (info); i++) {
    gsize n;
    guint16 *codes = picture_samples (picture, info, i, &n);

    for (gsize at = 0; at < n; at++)
      codes[at] = (guint16) ((i == c ? 3u : 1u)
          << (GST_VIDEO_FORMAT_INFO_DEPTH (info->finfo, i) - 2));
    picture_put_samples (picture, info, i, codes);
    g_free (codes);
  }
  return picture;
}

/* Whether any sample differs outside of the top and bottom eighths. */
static gboolean
middle_differs (GstBuffer *a, GstBuffer *b, const GstVideoInfo *info)
{
  gboolean differs = FALSE;

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    gsize n;
    guint16 *before = picture_samples (a, info, c, &n);
    guint16 *after = picture_samples (b, info, c, &n);

    for (gsize i = n / 8; i < n * 7 / 8; i++)
      differs = differs || before[i] != after[i];
    g_free (before);
    g_free (after);
  }
  return differs;
}

/* Opaque, as wide as the frame, one column per bin, almost as high as the frame: the middle
 * shows only the histogram, of the counted components. */
static void
check_components (const char *format, const char *settings, guint counted)
{
  char *all = g_strconcat (MODE OPAQUE
      "overlay-width=1 overlay-height=1 overlay-margin=0 ",
      settings, NULL);
  GstVideoInfo info;
  GstBuffer *plain;
  Filter filter;
  guint n_components;

  filter_start (&filter, all, &info, format, 264, 240, NULL);
  n_components = GST_VIDEO_INFO_N_COMPONENTS (&info);
  plain = filter_process (&filter, one_code_but (&info, G_MAXUINT));
  for (guint c = 0; c < n_components; c++) {
    GstBuffer *out = filter_process (&filter, one_code_but (&info, c));
    const gboolean told = middle_differs (plain, out, &info);

    expect (told == !!(counted >> c & 1), "component %u is%s drawn", c,
        told ? "" : " not");
    gst_buffer_unref (out);
  }
  gst_buffer_unref (plain);
  filter_close (&filter);
  g_free (all);
}

static void
histo_overlay_components (void)
{
  static const char *const arrangements[] = { "overlay-arrangement=overlaid ",
    "overlay-arrangement=stacked " };
  static const struct
  {
    const char *format, *settings;
    guint counted;
  } rows[] = {
    { "NV12", "", 7 },
    { "NV12", "planes=luma", 1 },
    { "I420_10LE", "planes=chroma", 6 },
    { "RGB", "", 7 },
    { "AYUV", "planes=all", 15 },
    { "AYUV", "planes=alpha", 8 },
    { "GBRA", "", 7 },
    { "ARGB64", "planes=all", 15 },
  };

  for (guint a = 0; a < G_N_ELEMENTS (arrangements); a++)
    for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
      char *settings = g_strconcat (arrangements[a], rows[r].settings, NULL);

      check_components (rows[r].format, settings, rows[r].counted);
      g_free (settings);
    }
}

/* Bars have exactly the colours that the element's page names. */
static void
check_colors (
    const char *format, const char *settings, const guint32 *colors, guint n)
{
  char *all = g_strconcat (MODE OPAQUE
      "overlay-width=1 overlay-height=1 overlay-margin=0 ",
      settings, NULL);
  guint16 *codes[GST_VIDEO_MAX_COMPONENTS];
  GstVideoInfo info;
  GstBuffer *out;
  Filter filter;
  guint n_components;
  gsize n_pixels;

  filter_start (&filter, all, &info, format, 264, 240, NULL);
  n_components = GST_VIDEO_INFO_N_COMPONENTS (&info);
  out = filter_process (&filter, one_code_but (&info, G_MAXUINT));
  for (guint c = 0; c < n_components; c++)
    codes[c] = picture_samples (out, &info, c, &n_pixels);
  for (guint k = 0; k < n; k++) {
    guint pixels = 0;

    for (gsize i = 0; i < n_pixels; i++) {
      gboolean same = TRUE;

      for (guint c = 0; c < n_components; c++)
        same = same
            && codes[c][i]
                == floor (picture_color_code (&info, c, colors[k]) + 0.5);
      pixels += same;
    }
    expect (pixels > 0, "no pixel of %s has colour %06x", format, colors[k]);
  }
  for (guint c = 0; c < n_components; c++)
    g_free (codes[c]);
  gst_buffer_unref (out);
  filter_close (&filter);
  g_free (all);
}

static void
histo_overlay_colors (void)
{
  static const guint32 rgb[] = { 0xffff4a4a, 0xff4ade5a, 0xff5a8cff };
  static const guint32 yuv[] = { 0xffe8e8e8, 0xff5a8cff, 0xffff4a4a };
  static const guint32 frame[] = { 0xff101014, 0xffc8c8d0 };

  check_colors ("RGB", "overlay-arrangement=stacked", rgb, 3);
  check_colors ("GBR", "overlay-arrangement=stacked", rgb, 3);
  check_colors ("Y444", "overlay-arrangement=stacked", yuv, 3);
  check_colors ("GRAY8", "", yuv, 1);
  check_colors ("RGB", "", frame, 2);
}

/* Marks of clipped pixels follow the thresholds, which may change while playing. */
static void
histo_overlay_marks (void)
{
  static const struct
  {
    const char *settings;
    gboolean marked;
  } steps[] = {
    { "overlay-clip-share=0.01", FALSE },
    { "threshold-dark=0.5", TRUE },
    { "overlay-clip-share=0.75", FALSE },
    { "overlay-clip-share=0.65", TRUE },
    { "threshold-dark=0.02", FALSE },
    { "threshold-bright=0.6 overlay-clip-share=0.25", TRUE },
    { "overlay-clip-share=1", FALSE },
  };
  GstBuffer *in, *bare = NULL;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, MODE OPAQUE, &info, "GRAY8", WIDTH, HEIGHT, NULL);
  in = two_codes (&info, 40, 200);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    GstBuffer *out;
    gsize n;

    test_context ("step %u %s", s, steps[s].settings);
    settings_apply (filter.element, steps[s].settings);
    out = filter_process (&filter, gst_buffer_ref (in));
    if (bare == NULL)
      bare = gst_buffer_ref (out);
    changed_box (bare, out, &info, 0, &n);
    expect (
        (n > 0) == steps[s].marked, "%" G_GSIZE_FORMAT " pixels of marks", n);
    gst_buffer_unref (out);
  }
  gst_buffer_unref (bare);
  gst_buffer_unref (in);
  filter_close (&filter);
}

/* ---- what is left alone -------------------------------------------------- */

/* Samples of pixels around the rectangle are unchanged; within it some samples of the first
 * component change. A rectangle may begin earlier, to be aligned to a sample of all planes. */
static void
expect_outside (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const Box *rectangle)
{
  GstBuffer *copy = gst_buffer_copy_deep (out);
  int most_x = 1, most_y = 1;

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    most_x = MAX (most_x, 1 << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c));
    most_y = MAX (most_y, 1 << GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c));
  }
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    const int sub_x = 1 << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c);
    const int sub_y = 1 << GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c);
    guint16 *codes;
    gsize n;
    const Box box = changed_box (in, out, info, c, &n);

    expect (c > 0 || n > 0, "nothing is drawn");
    expect (n == 0
            || (box.left >= MAX (rectangle->left - most_x + 1, 0) / sub_x
                && box.right <= (rectangle->right + sub_x - 1) / sub_x
                && box.top >= MAX (rectangle->top - most_y + 1, 0) / sub_y
                && box.bottom <= (rectangle->bottom + sub_y - 1) / sub_y),
        "component %u is drawn from %d,%d to %d,%d", c, box.left, box.top,
        box.right, box.bottom);
    codes = picture_samples (in, info, c, &n);
    picture_put_samples (copy, info, c, codes);
    g_free (codes);
  }
  /* All other bytes are padding; but bits below a drawn code become 0. */
  if (picture_shift (info) == 0)
    picture_expect_same (in, copy, info);
  gst_buffer_unref (copy);
}

/* Frames in all layouts, with a region and times, which the result must have, too. */
static void
check_in_place (Filter *filter, const GstVideoInfo *info, const Box *rectangle,
    const char *settings)
{
  for (guint32 l = 0; l < N_ODD_LAYOUTS; l++) {
    GstBuffer *in;
    GstBuffer *out = picture_process_laid_out (filter, info, 2 * l + 1, l, &in);

    expect_outside (in, out, info, rectangle);
    /* The report is about the frame before the overlay is drawn. */
    histo_expect (histo_message (filter), in, info, settings);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  histo_expect_silence (filter);
}

static const int sizes[][2] = { { 1, 1 }, { 17, 11 }, { 2, 90 }, { 325, 241 } };

static void
histo_overlay_formats (void)
{
  static const char *const settings[] = { "", "overlay-scale=log planes=all",
    "overlay-position=top-left overlay-margin=0.1 overlay-width=0" };

  for (guint t = 0; t < G_N_ELEMENTS (settings); t++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
      const Box rectangle =
          rectangle_of (sizes[s][0], sizes[s][1], settings[t]);
      char *all = g_strconcat (MODE OPAQUE, settings[t], NULL);

      for (int f = 0; video_formats[f]; f++) {
        GstVideoInfo info;
        Filter filter;

        filter_start (&filter, all, &info, video_formats[f], sizes[s][0],
            sizes[s][1], NULL);
        check_in_place (&filter, &info, &rectangle, settings[t]);
        filter_close (&filter);
      }
      g_free (all);
    }
}

/* All settings, at sizes with little room for them. */
static void
histo_overlay_settings (void)
{
  static const char *const settings[] = { "overlay-width=0 overlay-height=0",
    "overlay-width=1 overlay-height=1 overlay-margin=0",
    "overlay-width=1 overlay-height=1 overlay-margin=0.5",
    "overlay-arrangement=stacked overlay-clip-share=0",
    "overlay-arrangement=stacked overlay-scale=log planes=all bins=2",
    "bins=65536 overlay-opacity=1", "overlay-position=center bins=3" };
  static const char *const formats[] = { "NV12", "YUY2", "ARGB64",
    "I420_10LE" };

  for (guint t = 0; t < G_N_ELEMENTS (settings); t++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
      for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
        char *all = g_strconcat (MODE, settings[t], NULL);
        GstVideoInfo info;
        GstBuffer *in;
        Filter filter;

        filter_start (
            &filter, all, &info, formats[f], sizes[s][0], sizes[s][1], NULL);
        in = picture_new (&info, 1);
        gst_buffer_unref (filter_process (&filter, gst_buffer_ref (in)));
        histo_expect (histo_message (&filter), in, &info, settings[t]);
        histo_expect_silence (&filter);
        gst_buffer_unref (in);
        filter_close (&filter);
        g_free (all);
      }
}

/* An invisible overlay changes no bit. */
static void
histo_overlay_transparent (void)
{
  static const char *const settings[] = { "",
    "overlay-arrangement=stacked planes=all", "overlay-scale=log" };

  for (guint t = 0; t < G_N_ELEMENTS (settings); t++)
    for (int f = 0; video_formats[f]; f++) {
      char *all =
          g_strconcat (MODE "overlay-opacity=0 overlay-background-opacity=0 ",
              settings[t], NULL);
      GstVideoInfo info;
      Filter filter;

      filter_start (&filter, all, &info, video_formats[f], 161, 121, NULL);
      for (guint32 seed = 1; seed <= 2; seed++) {
        GstBuffer *in = picture_new (&info, seed);
        GstBuffer *out = filter_process (&filter, gst_buffer_ref (in));

        picture_expect_same (in, out, &info);
        gst_buffer_unref (in);
        gst_buffer_unref (out);
      }
      filter_close (&filter);
      g_free (all);
    }
}

/* A background at half opacity is half as far from the picture. */
static void
histo_overlay_opacity (void)
{
  static const char *const settings[] = { MODE
    "overlay-opacity=0 overlay-background-opacity=1",
    MODE "overlay-opacity=0 overlay-background-opacity=0.5",
    MODE "overlay-opacity=0 overlay-background-opacity=0.25" };
  guint16 code[G_N_ELEMENTS (settings)];

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    GstVideoInfo info;
    GstBuffer *in, *out;
    guint16 *samples;
    Filter filter;
    gsize n;
    Box box;

    filter_start (&filter, settings[s], &info, "GRAY8", 320, 240, NULL);
    in = grey (&info);
    out = filter_process (&filter, gst_buffer_ref (in));
    box = changed_box (in, out, &info, 0, &n);
    samples = picture_samples (out, &info, 0, &n);
    code[s] = samples[box.top * 320 + box.left];
    for (int y = box.top; y < box.bottom; y++)
      for (int x = box.left; x < box.right; x++)
        expect (samples[y * 320 + x] == code[s], "at %d,%d is %u", x, y,
            samples[y * 320 + x]);
    g_free (samples);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    filter_close (&filter);
  }
  expect_near (code[1], 128.0 + 0.5 * (code[0] - 128.0), "half of it");
  expect_near (code[2], 128.0 + 0.25 * (code[0] - 128.0), "a quarter of it");
}

/* ---- changes ------------------------------------------------------------- */

/* Settings that change while playing have the same result as from the start. */
static void
histo_overlay_changes (void)
{
  static const char *const steps[] = { "overlay-position=top",
    "overlay-scale=log", "overlay-width=0.7", "bins=64",
    "overlay-arrangement=stacked", "planes=all", "overlay-opacity=0.3",
    "overlay-height=0.9 overlay-margin=0.01", "threshold-dark=0.4",
    "overlay-background-opacity=0", "method=auto", "overlay-clip-share=0.5",
    "planes=color", "overlay-arrangement=overlaid" };
  static const char *const formats[] = { "NV12", "GRAY16_LE", "BGRA", "AYUV" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GString *settings = g_string_new (MODE);
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, MODE, &info, formats[f], 331, 167, NULL);
    for (guint32 s = 0; s < G_N_ELEMENTS (steps); s++) {
      GstBuffer *in = picture_new (&info, s), *out, *want;

      g_string_append_printf (settings, "%s ", steps[s]);
      settings_apply (filter.element, steps[s]);
      out = filter_process (&filter, gst_buffer_ref (in));
      want = filter_process_alone (settings->str, &info, in);
      picture_expect_same (want, out, &info);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
      gst_buffer_unref (want);
    }
    filter_expect_silence (&filter);
    filter_close (&filter);
    g_string_free (settings, TRUE);
  }
}

const Test tests_histo_overlay[] = {
  { "histo-overlay-positions", histo_overlay_positions, VARIANT_BOTH },
  { "histo-overlay-bars", histo_overlay_bars, VARIANT_BOTH },
  { "histo-overlay-follows", histo_overlay_follows, VARIANT_BOTH },
  { "histo-overlay-components", histo_overlay_components, VARIANT_BOTH },
  { "histo-overlay-colors", histo_overlay_colors, VARIANT_BOTH },
  { "histo-overlay-marks", histo_overlay_marks, VARIANT_BOTH },
  { "histo-overlay-formats", histo_overlay_formats, VARIANT_BOTH },
  { "histo-overlay-settings", histo_overlay_settings, VARIANT_BOTH },
  { "histo-overlay-transparent", histo_overlay_transparent, VARIANT_BOTH },
  { "histo-overlay-opacity", histo_overlay_opacity, VARIANT_BOTH },
  { "histo-overlay-changes", histo_overlay_changes, VARIANT_BOTH },
  { 0 },
};
