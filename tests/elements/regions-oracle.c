/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "regions-oracle.h"

#include <math.h>
#include <string.h>

void
regions_report (GstBuffer *buffer, const char *type, const Box *boxes, int n)
{
  for (int i = 0; i < n; i++)
    gst_buffer_add_video_region_of_interest_meta (buffer, type,
        (guint) boxes[i].left, (guint) boxes[i].top,
        (guint) (boxes[i].right - boxes[i].left),
        (guint) (boxes[i].bottom - boxes[i].top));
}

/* Parameters of a region's look. */
typedef struct
{
  gboolean outside, ellipse;
  const char *fill; /* "blur", "pixelate" or "solid" */
  double grow, strength, feather;
  guint32 color;
} Look;

/* One component, its expected values so far, and the error that rounding may bring. */
typedef struct
{
  GstBuffer *in;
  const GstVideoInfo *info;
  const char *settings;
  guint component;
  int width, height; /* samples */
  int pixels_x, pixels_y; /* pixels per sample; with fields, rows of a field */
  gboolean fields;
  guint16 *source;
  double *value, *error; /* expected so far */
  gboolean *filled;      /* bits outside of the code are zeros */
  gboolean *mixed;       /* these bits may also be unchanged */
} Canvas;

static gboolean
setting_is (const char *settings, const char *key, const char *value)
{
  char *text = settings_get (settings, key);
  const gboolean is = g_strcmp0 (text, value) == 0;

  g_free (text);
  return is;
}

static Look
look_of (const char *settings)
{
  char *color = settings_get (settings, "roi-color");
  const Look look = {
    .outside = setting_is (settings, "roi-mode", "outside"),
    .ellipse = setting_is (settings, "roi-shape", "ellipse"),
    .fill = setting_is (settings, "roi-fill", "pixelate") ? "pixelate"
        : setting_is (settings, "roi-fill", "solid")      ? "solid"
                                                          : "blur",
    .grow = setting_number (settings, "roi-grow", 0.0),
    .strength = setting_number (settings, "roi-strength", 0.0),
    .feather = setting_number (settings, "roi-feather", 0.0),
    .color = color ? (guint32) g_ascii_strtoull (color, NULL, 0) : 0xff000000,
  };

  g_free (color);
  return look;
}

static Box
grown (Box box, double grow)
{
  const int x = (int) ceil (grow * (box.right - box.left));
  const int y = (int) ceil (grow * (box.bottom - box.top));

  return (Box){ box.left - x, box.top - y, box.right + x, box.bottom + y };
}

static int
smaller_side (const Box *box)
{
  return MIN (box->right - box->left, box->bottom - box->top);
}

/* ---- weights ------------------------------------------------------------- */

/* The pixel of sample i that is nearest to the middle of [first, last). */
static int
nearest_pixel (int i, int pixels, int first, int last)
{
  int nearest = i * pixels;

  for (int p = i * pixels; p < (i + 1) * pixels; p++)
    if (abs (2 * p + 1 - first - last) < abs (2 * nearest + 1 - first - last))
      nearest = p;
  return nearest;
}

/* A multiple of 1/65536; a smaller weight is 0. */
static double
weight_at (const Look *look, const Box *box, int x, int y)
{
  const double s = smaller_side (box);
  double d;

  if (look->ellipse) {
    const double w = box->right - box->left, h = box->bottom - box->top;

    d = hypot ((x + 0.5 - box->left - w / 2.0) / (w / 2.0),
        (y + 0.5 - box->top - h / 2.0) / (h / 2.0));
    d = MAX (0.0, d - 1.0) * s / 2.0;
  } else {
    d = hypot (x - CLAMP (x, box->left, box->right - 1),
        y - CLAMP (y, box->top, box->bottom - 1));
  }
  if (d == 0.0)
    return 1.0;
  if (look->feather == 0.0)
    return 0.0;
  return floor (65536.0 * MAX (0.0, 1.0 - d / (look->feather * s)) + 0.5)
      / 65536.0;
}

/* ---- fills --------------------------------------------------------------- */

/* The fill of a region, and its error. */
typedef struct
{
  double *value, error;
} Fill;

static int
floor_divide (int a, int b)
{
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* The mean of the block that holds sample (x, y), over the rows of one field. */
static double
block_mean (const Canvas *canvas, const Box *box, int block, int x, int y)
{
  const int apart = canvas->fields ? 2 : 1, parity = y % apart;
  const int w = MAX (1, (block + canvas->pixels_x - 1) / canvas->pixels_x);
  const int h = MAX (1, (block + canvas->pixels_y - 1) / canvas->pixels_y);
  const int x0 = floor_divide (box->left, canvas->pixels_x);
  const int y0 = floor_divide (box->top, canvas->pixels_y);
  const int left = x0 + floor_divide (x - x0, w) * w;
  const int top = y0 + floor_divide (y / apart - y0, h) * h;
  double sum = 0.0;
  int n = 0;

  for (int j = MAX (top, 0); j < top + h; j++)
    for (int i = MAX (left, 0); i < MIN (left + w, canvas->width); i++)
      if (j * apart + parity < canvas->height) {
        sum += canvas->source[(j * apart + parity) * canvas->width + i];
        n++;
      }
  return floor (sum / n + 0.5);
}

static Fill
pixelated (const Canvas *canvas, const Box *box, double sigma)
{
  const int block = (int) ceil (sqrt (12.0) * sigma);
  Fill fill = { .value = g_new (double, canvas->width * canvas->height) };

  for (int y = 0; y < canvas->height; y++)
    for (int x = 0; x < canvas->width; x++)
      fill.value[y * canvas->width + x] = block_mean (canvas, box, block, x, y);
  return fill;
}

static Fill
colored (const Canvas *canvas, guint32 color)
{
  const double code =
      picture_color_code (canvas->info, canvas->component, color);
  Fill fill = { .value = g_new (double, canvas->width * canvas->height),
    .error = fabs (code - rint (code)) };

  for (int i = 0; i < canvas->width * canvas->height; i++)
    fill.value[i] = code;
  return fill;
}

static Fill
blurred (const Canvas *canvas, const char *settings)
{
  const int depth = picture_depth (canvas->info, canvas->component);
  Fill fill = { .error = depth > 12 ? 1.0 : 0.75 };

  fill.value = picture_filtered (
      canvas->in, canvas->info, canvas->component, settings, canvas->fields);
  return fill;
}

/* The fill of one region, or of everything outside all regions (NULL). */
static Fill
fill_of (const Canvas *canvas, const Look *look, const Box *box)
{
  /* The larger sigma of both axes sets the block width. */
  double sigma = MAX (setting_number (canvas->settings, "sigma", 2.0),
      setting_number (canvas->settings, "sigma-y", -1.0));
  char *settings;
  Fill fill;

  if (box != NULL && look->strength > 0.0)
    sigma = look->strength * smaller_side (box);
  if (g_str_equal (look->fill, "pixelate"))
    return pixelated (canvas, box, sigma);
  if (g_str_equal (look->fill, "solid"))
    return colored (canvas, look->color);
  if (box == NULL || look->strength == 0.0)
    return blurred (canvas, canvas->settings);
  settings = g_strdup_printf ("%s sigma=%.17g sigma-y=-1 radius=-1 radius-y=-1",
      canvas->settings, sigma);
  fill = blurred (canvas, settings);
  g_free (settings);
  return fill;
}

/* ---- composing ----------------------------------------------------------- */

static void
cover (Canvas *canvas, const Look *look, const Box *box, const Fill *fill)
{
  const int apart = canvas->fields ? 2 : 1;

  for (int y = 0; y < canvas->height; y++)
    for (int x = 0; x < canvas->width; x++) {
      const int i = y * canvas->width + x;
      const double weight = weight_at (look, box,
          nearest_pixel (x, canvas->pixels_x, box->left, box->right),
          nearest_pixel (y / apart, canvas->pixels_y, box->top, box->bottom));

      if (weight == 0.0)
        continue;
      canvas->filled[i] = weight < 1.0 || !look->outside;
      canvas->mixed[i] = weight < 1.0;
      canvas->value[i] += weight * (fill->value[i] - canvas->value[i]);
      canvas->error[i] =
          (1.0 - weight) * canvas->error[i] + weight * fill->error;
      /* Both the step and its weight are rounded. */
      if (weight < 1.0)
        canvas->error[i] += 0.5
            + (double) (1 << picture_depth (canvas->info, canvas->component))
                / 65536.0;
    }
}

/* The order in which regions are applied: a stable sort. */
static int *
order_of (const Box *boxes, int n)
{
  int *order = g_new (int, MAX (n, 1));

  for (int i = 0; i < n; i++) {
    int at = i;

    for (; at > 0
         && smaller_side (&boxes[order[at - 1]]) > smaller_side (&boxes[i]);
         at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  return order;
}

static void
compose (Canvas *canvas, const Look *look, const Box *boxes, int n)
{
  const int samples = canvas->width * canvas->height;
  int *order = order_of (boxes, n);
  Fill kept = { .value = g_new (double, samples) };

  for (int i = 0; i < samples; i++)
    canvas->value[i] = kept.value[i] = canvas->source[i];
  if (look->outside) {
    Fill fill = fill_of (canvas, look, NULL);

    memcpy (canvas->value, fill.value, sizeof (double) * (gsize) samples);
    for (int i = 0; i < samples; i++) {
      canvas->error[i] = fill.error;
      canvas->filled[i] = TRUE;
    }
    g_free (fill.value);
  }
  for (int i = 0; i < n; i++) {
    const Box *box = &boxes[order[i]];
    Fill fill = look->outside ? kept : fill_of (canvas, look, box);

    cover (canvas, look, box, &fill);
    if (!look->outside)
      g_free (fill.value);
  }
  g_free (kept.value);
  g_free (order);
}

/* Compares a component. Stores correct samples of `out` in `expected`, and clears bits of
 * `out` that may have any value. */
static void
check_component (Canvas *canvas, const Look *look, const Box *boxes, int n,
    GstBuffer *out, GstBuffer *expected)
{
  gsize samples;
  guint16 *got;

  canvas->source =
      picture_samples (canvas->in, canvas->info, canvas->component, &samples);
  got = picture_samples (out, canvas->info, canvas->component, &samples);
  canvas->value = g_new (double, samples);
  canvas->error = g_new0 (double, samples);
  canvas->filled = g_new0 (gboolean, samples);
  canvas->mixed = g_new0 (gboolean, samples);
  compose (canvas, look, boxes, n);
  for (gsize i = 0; i < samples; i++)
    expect (picture_error (
                canvas->info, canvas->component, got[i], canvas->value[i])
            <= canvas->error[i] + 1e-6,
        "component %u, sample (%d,%d) is %u instead of %.3f +- %.3f (was %u)",
        canvas->component, (int) i % canvas->width, (int) i / canvas->width,
        got[i], canvas->value[i], canvas->error[i], canvas->source[i]);
  picture_put_results (
      expected, canvas->info, canvas->component, got, canvas->filled);
  picture_put_results (
      out, canvas->info, canvas->component, got, canvas->mixed);
  g_free (canvas->source);
  g_free (canvas->value);
  g_free (canvas->error);
  g_free (canvas->filled);
  g_free (canvas->mixed);
  g_free (got);
}

void
regions_expect (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, const Box *boxes, int n, gboolean fields)
{
  const Look look = look_of (settings);
  GstBuffer *expected = gst_buffer_copy_deep (in);
  GstBuffer *result = gst_buffer_copy_deep (out);
  Box *all = g_new (Box, MAX (n, 1));

  for (int i = 0; i < n; i++)
    all[i] = grown (boxes[i], look.grow);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    Canvas canvas = { .in = in,
      .info = info,
      .settings = settings,
      .component = c,
      .width = GST_VIDEO_INFO_COMP_WIDTH (info, c),
      .height = GST_VIDEO_INFO_COMP_HEIGHT (info, c),
      .pixels_x = 1 << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c),
      .pixels_y = (1 << GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c))
          * (fields ? 2 : 1),
      .fields = fields };

    if (picture_selects (info, c, settings))
      check_component (&canvas, &look, all, n, result, expected);
  }
  picture_expect_same (expected, result, info);
  gst_buffer_unref (result);
  gst_buffer_unref (expected);
  g_free (all);
}
