/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "picture-oracle.h"

#include <math.h>

enum
{
  LUMA = 1,
  CHROMA = 2,
  ALPHA = 4,
  COLOR = LUMA | CHROMA
};

/* One component of a mapped frame. */
typedef struct
{
  guint8 *data; /* sample (0, 0) */
  int stride, pixel_stride, width, height;
  GstVideoFormat packed; /* format with bit-packed samples, or UNKNOWN */
  gboolean high_first;   /* the more significant byte of a sample comes first */
  int index;
  int depth, shift; /* of codes */
  int bits; /* of stored codes; fewer than `depth` if codes repeat them */
  int sub_x, sub_y;
  int kind;      /* LUMA, CHROMA, ALPHA; COLOR in RGB */
  double zero;   /* level of black or of no colour; 0 in grey and RGB */
  double border; /* border-color in codes */
} Component;

typedef struct
{
  double *tap;
  int n;
} TapRow;

/* ---- components ---------------------------------------------------------- */

static int
component_kind (const GstVideoFormatInfo *format, int c)
{
  if (c == GST_VIDEO_COMP_A)
    return ALPHA;
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (format))
    return COLOR;
  return c == 0 ? LUMA : CHROMA;
}

/* border-color as a code of the component, by the definition of the caps' matrix and range. */
static double
border_code (const GstVideoInfo *info, int c, int kind, int depth, guint32 argb)
{
  const double full = (1 << depth) - 1, step = ldexp (1.0, depth - 8);
  const double alpha = (argb >> 24) / 255.0;
  const double rgb[] = { (argb >> 16 & 255) / 255.0, (argb >> 8 & 255) / 255.0,
    (argb & 255) / 255.0 };
  const gboolean limited =
      info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
  double kr = 0.299, kb = 0.114, y, difference;

  if (kind == ALPHA)
    return alpha * full;
  if (kind == COLOR)
    return rgb[c] * full;
  gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &kr, &kb);
  y = kr * rgb[0] + (1.0 - kr - kb) * rgb[1] + kb * rgb[2];
  if (kind == LUMA)
    return limited ? (16.0 + 219.0 * y) * step : full * y;
  difference = c == 1 ? (rgb[2] - y) / (2.0 * (1.0 - kb))
                      : (rgb[0] - y) / (2.0 * (1.0 - kr));
  return (limited ? 224.0 * step : full) * difference + 128.0 * step;
}

/* Component offsets of packed YUV in the high bits of 16-bit words, which are wrong in GStreamer's
 * table of formats; NULL for all other formats. */
static const int *
high_offsets (const GstVideoInfo *info)
{
  static const int yuyv[] = { 0, 2, 6 }, uyva[] = { 2, 0, 4, 6 };

  switch (GST_VIDEO_INFO_FORMAT (info)) {
    case GST_VIDEO_FORMAT_Y210:
    case GST_VIDEO_FORMAT_Y212_LE:
    case GST_VIDEO_FORMAT_Y212_BE:
#if GST_CHECK_VERSION(1, 26, 0)
    case GST_VIDEO_FORMAT_Y216_LE:
    case GST_VIDEO_FORMAT_Y216_BE:
#endif
      return yuyv;
    case GST_VIDEO_FORMAT_Y412_LE:
    case GST_VIDEO_FORMAT_Y412_BE:
#if GST_CHECK_VERSION(1, 26, 0)
    case GST_VIDEO_FORMAT_Y416_LE:
    case GST_VIDEO_FORMAT_Y416_BE:
#endif
      return uyva;
    default:
      return NULL;
  }
}

/* Returns the format if its samples are packed across byte boundaries. */
static GstVideoFormat
packed_format (const GstVideoInfo *info)
{
  switch (GST_VIDEO_INFO_FORMAT (info)) {
    case GST_VIDEO_FORMAT_v210:
    case GST_VIDEO_FORMAT_UYVP:
    case GST_VIDEO_FORMAT_Y410:
    case GST_VIDEO_FORMAT_RGB10A2_LE:
    case GST_VIDEO_FORMAT_BGR10A2_LE:
    case GST_VIDEO_FORMAT_r210:
    case GST_VIDEO_FORMAT_RGB16:
    case GST_VIDEO_FORMAT_BGR16:
    case GST_VIDEO_FORMAT_RGB15:
    case GST_VIDEO_FORMAT_BGR15:
    case GST_VIDEO_FORMAT_GRAY10_LE32:
    case GST_VIDEO_FORMAT_NV12_10LE32:
    case GST_VIDEO_FORMAT_NV16_10LE32:
    case GST_VIDEO_FORMAT_NV12_10LE40:
      return GST_VIDEO_INFO_FORMAT (info);
    default:
      return GST_VIDEO_FORMAT_UNKNOWN;
  }
}

/* The same for all components of a format that the elements take. Packed samples are read
 * without the bits below them. */
int
picture_shift (const GstVideoInfo *info)
{
  if (packed_format (info) != GST_VIDEO_FORMAT_UNKNOWN)
    return 0;
  return high_offsets (info) != NULL
      ? 16 - (int) GST_VIDEO_FORMAT_INFO_DEPTH (info->finfo, 0)
      : (int) GST_VIDEO_FORMAT_INFO_SHIFT (info->finfo, 0);
}

static gboolean
has_high_byte_first (const GstVideoInfo *info)
{
  return packed_format (info) == GST_VIDEO_FORMAT_UYVP
      || packed_format (info) == GST_VIDEO_FORMAT_r210
      || g_str_has_suffix (GST_VIDEO_INFO_NAME (info), "BE");
}

/* The depth of the codes of a component in the filter: 8 if it has 5 or 6 bits. */
static int
filter_depth (const GstVideoInfo *info, guint component)
{
  const int bits = (int) GST_VIDEO_FORMAT_INFO_DEPTH (info->finfo, component);

  return bits == 5 || bits == 6 ? 8 : bits;
}

static Component
component_of (const GstVideoFrame *frame, int c, guint32 argb)
{
  const GstVideoFormatInfo *format = frame->info.finfo;
  const int plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
  int offset = GST_VIDEO_FORMAT_INFO_POFFSET (format, c);
  Component r = {
    .stride = GST_VIDEO_FRAME_PLANE_STRIDE (frame, plane),
    .pixel_stride = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c),
    .width = GST_VIDEO_FRAME_COMP_WIDTH (frame, c),
    .height = GST_VIDEO_FRAME_COMP_HEIGHT (frame, c),
    .depth = filter_depth (&frame->info, (guint) c),
    .bits = (int) GST_VIDEO_FORMAT_INFO_DEPTH (format, c),
    .shift = picture_shift (&frame->info),
    .sub_x = 1 << GST_VIDEO_FORMAT_INFO_W_SUB (format, c),
    .sub_y = 1 << GST_VIDEO_FORMAT_INFO_H_SUB (format, c),
    .kind = component_kind (format, c),
    .packed = packed_format (&frame->info),
    .high_first = has_high_byte_first (&frame->info),
    .index = c,
  };

  /* GStreamer's table has V of P010, P012 and P016 one byte after U; the formats have it one
   * two-byte sample after U. */
  if (offset % 2 == 1 && r.depth > 8)
    offset++;
  if (high_offsets (&frame->info) != NULL)
    offset = high_offsets (&frame->info)[c];
  if (r.packed != GST_VIDEO_FORMAT_UNKNOWN)
    offset = 0;
  r.data = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (frame, plane) + offset;
  if (r.kind == CHROMA)
    r.zero = 1 << (r.depth - 1);
  else if (GST_VIDEO_FORMAT_INFO_IS_YUV (format) && r.kind == LUMA
      && frame->info.colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235)
    r.zero = 16 << (r.depth - 8);
  r.border = border_code (&frame->info, c, r.kind, r.depth, argb);
  return r;
}

static guint8 *
sample_address (const Component *c, int x, int y)
{
  return c->data + (gssize) y * c->stride + (gssize) x * c->pixel_stride;
}

/* Index of the first bit of a packed sample in its row. */
static int
packed_bit (const Component *c, int x)
{
  static const int yuv[] = { 10, 0, 20, 30 }, rgb[] = { 0, 10, 20, 30 },
                   bgr[] = { 20, 10, 0, 30 }, from_high[] = { 2, 12, 22 },
                   rgb16[] = { 11, 5, 0 }, bgr16[] = { 0, 5, 11 },
                   rgb15[] = { 10, 5, 0 }, bgr15[] = { 0, 5, 10 };
  /* Order U Y V Y. */
  const int i = c->index == 0 ? 2 * x + 1 : 4 * x + 2 * (c->index - 1);
  /* Order Y Y, or U V. */
  const int in_plane = c->index == 0 ? x : 2 * x + c->index - 1;

  switch (c->packed) {
    case GST_VIDEO_FORMAT_GRAY10_LE32:
    case GST_VIDEO_FORMAT_NV12_10LE32:
    case GST_VIDEO_FORMAT_NV16_10LE32:
      return in_plane / 3 * 32 + in_plane % 3 * 10;
    case GST_VIDEO_FORMAT_NV12_10LE40:
      return in_plane * 10;
    case GST_VIDEO_FORMAT_v210:
      return i / 3 * 32 + i % 3 * 10;
    case GST_VIDEO_FORMAT_UYVP:
      return 10 * i;
    case GST_VIDEO_FORMAT_Y410:
      return 32 * x + yuv[c->index];
    case GST_VIDEO_FORMAT_RGB10A2_LE:
      return 32 * x + rgb[c->index];
    case GST_VIDEO_FORMAT_BGR10A2_LE:
      return 32 * x + bgr[c->index];
    case GST_VIDEO_FORMAT_RGB16:
      return 16 * x + rgb16[c->index];
    case GST_VIDEO_FORMAT_BGR16:
      return 16 * x + bgr16[c->index];
    case GST_VIDEO_FORMAT_RGB15:
      return 16 * x + rgb15[c->index];
    case GST_VIDEO_FORMAT_BGR15:
      return 16 * x + bgr15[c->index];
    default:
      return 32 * x + from_high[c->index];
  }
}

/* Address of the one or two bytes that hold a packed sample; *shift is the position of its lowest
 * bit in them. */
static guint8 *
packed_bytes (const Component *c, int x, int y, int *n, int *shift)
{
  const int bit = packed_bit (c, x), in_byte = bit % 8;

  *n = in_byte + c->bits > 8 ? 2 : 1;
  *shift = c->high_first ? 8 * *n - in_byte - c->bits : in_byte;
  return c->data + (gssize) y * c->stride + bit / 8;
}

static guint
packed_raw (const Component *c, int x, int y)
{
  int n, shift;
  const guint8 *p = packed_bytes (c, x, y, &n, &shift);
  const guint bits = n == 1 ? p[0]
      : c->high_first       ? GST_READ_UINT16_BE (p)
                            : GST_READ_UINT16_LE (p);

  return bits >> shift & ((1u << c->bits) - 1);
}

static void
put_packed (const Component *c, int x, int y, guint code)
{
  int n, shift;
  guint8 *p = packed_bytes (c, x, y, &n, &shift);
  const guint mask = ((1u << c->bits) - 1) << shift;

  for (int i = 0; i < n; i++) {
    const int at = 8 * (c->high_first ? n - 1 - i : i);

    p[i] = (guint8) ((p[i] & ~(mask >> at)) | (code << shift >> at));
  }
}

static guint
sample_raw (const Component *c, int x, int y)
{
  const guint8 *p;

  if (c->packed != GST_VIDEO_FORMAT_UNKNOWN)
    return packed_raw (c, x, y);
  p = sample_address (c, x, y);
  if (c->depth + c->shift <= 8)
    return p[0];
  return c->high_first ? GST_READ_UINT16_BE (p) : GST_READ_UINT16_LE (p);
}

static guint
stored_code (const Component *c, int x, int y)
{
  return sample_raw (c, x, y) >> c->shift & ((1u << c->bits) - 1);
}

/* Repeats the bits of a code to make `depth`, which is less than three times as many. */
static guint
repeat_bits (guint code, int bits, int depth)
{
  return code << (depth - bits) | code >> (2 * bits - depth);
}

static guint
sample_code (const Component *c, int x, int y)
{
  const guint code = stored_code (c, x, y);

  return c->bits == c->depth ? code : repeat_bits (code, c->bits, c->depth);
}

/* Codes per stored code. */
static double
code_step (int bits, int depth)
{
  return (double) ((1 << depth) - 1) / ((1 << bits) - 1);
}

/* The stored code that is nearest to a code. */
static guint
nearest_stored (guint code, int bits, int depth)
{
  return (guint) floor (code / code_step (bits, depth) + 0.5);
}

/* ---- taps ---------------------------------------------------------------- */

double
setting_number (const char *settings, const char *key, double otherwise)
{
  char *text = settings_get (settings, key);

  if (text)
    otherwise = g_ascii_strtod (text, NULL);
  g_free (text);
  return otherwise;
}

static gboolean
setting_flag (const char *settings, const char *key, gboolean otherwise)
{
  char *text = settings_get (settings, key);

  if (text)
    otherwise = g_str_equal (text, "true");
  g_free (text);
  return otherwise;
}

static char *
setting_name (const char *settings, const char *key, const char *otherwise)
{
  char *text = settings_get (settings, key);

  return text ? text : g_strdup (otherwise);
}

static TapRow
taps_zeroed (int n)
{
  return (TapRow){ .tap = g_new0 (double, n), .n = n };
}

static void
taps_divide_by_sum (TapRow *taps)
{
  double sum = 0.0;

  for (int i = 0; i < taps->n; i++)
    sum += taps->tap[i];
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] /= sum;
}

static TapRow
taps_from_text (const char *text, gboolean normalize)
{
  char **parts = g_strsplit_set (text, "<>,", -1);
  TapRow taps = taps_zeroed ((int) g_strv_length (parts));
  int n = 0;

  for (int i = 0; parts[i]; i++)
    if (*parts[i])
      taps.tap[n++] = g_ascii_strtod (parts[i], NULL);
  taps.n = n;
  g_strfreev (parts);
  if (normalize)
    taps_divide_by_sum (&taps);
  return taps;
}

static TapRow
taps_convolved (TapRow a, const double b[3])
{
  TapRow r = taps_zeroed (a.n + 2);

  for (int i = 0; i < a.n; i++)
    for (int j = 0; j < 3; j++)
      r.tap[i + j] += a.tap[i] * b[j];
  g_free (a.tap);
  return r;
}

/* The taps [q, 1-2q, q] convolved `times` times. */
static TapRow
taps_smooth (const double b[3], int times)
{
  TapRow r = taps_zeroed (1);

  r.tap[0] = 1.0;
  while (times-- > 0)
    r = taps_convolved (r, b);
  return r;
}

static TapRow
taps_blur (const char *kernel, double sigma, int radius, int sub)
{
  const int full = radius >= 0 ? radius : (int) ceil (3.0 * sigma);
  TapRow r;

  if (g_str_equal (kernel, "box")) {
    const double width = (2.0 * full + 1.0) / sub;
    const int n = width <= 1.0 ? 0 : (int) ceil ((width - 1.0) / 2.0);

    r = taps_zeroed (2 * n + 1);
    /* Overlap of each plane pixel with the window around the middle one. */
    for (int i = -n; i <= n; i++)
      r.tap[n + i] = CLAMP (width / 2.0 - (abs (i) - 0.5), 0.0, 1.0);
  } else if (g_str_equal (kernel, "binomial")) {
    const int n = (full + sub - 1) / sub;
    /* The full-size kernel has the variance full/2. */
    const double q = n ? full / 2.0 / (sub * sub) / (2.0 * n) : 0.0;

    r = taps_smooth ((double[]){ q, 1.0 - 2.0 * q, q }, n);
  } else {
    const int n = sigma <= 0.0 ? 0
        : radius >= 0          ? (radius + sub - 1) / sub
                               : (int) ceil (3.0 * sigma / sub);

    r = taps_zeroed (2 * n + 1);
    for (int i = -n; i <= n; i++)
      r.tap[n + i] =
          i == 0 ? 1.0 : exp (-0.5 * i * i / (sigma / sub) / (sigma / sub));
  }
  taps_divide_by_sum (&r);
  return r;
}

static TapRow
taps_derivative (const char *kernel, int radius)
{
  TapRow r;

  if (g_str_has_prefix (kernel, "prewitt")) {
    r = taps_zeroed (2 * radius + 1);
    for (int i = 0; i < r.n; i++)
      r.tap[i] = i - radius;
    return r;
  }
  r = taps_smooth ((double[]){ 1.0, 2.0, 1.0 }, radius - 1);
  return taps_convolved (r, (double[]){ -1.0, 0.0, 1.0 });
}

static TapRow
taps_across (const char *kernel, int radius)
{
  TapRow r;

  if (g_str_has_prefix (kernel, "sobel"))
    return taps_smooth ((double[]){ 1.0, 2.0, 1.0 }, radius);
  if (g_str_has_prefix (kernel, "scharr"))
    return taps_smooth ((double[]){ 3.0, 10.0, 3.0 }, 1);
  r = taps_zeroed (2 * radius + 1);
  for (int i = 0; i < r.n; i++)
    r.tap[i] = 1.0;
  return r;
}

/* Taps of axis 0 (x) or 1 (y) for a component. */
static TapRow
taps_for (const char *settings, int axis, const Component *c)
{
  const gboolean scale_chroma =
      c->kind == CHROMA && setting_flag (settings, "scale-chroma", TRUE);
  const int sub = scale_chroma ? (axis ? c->sub_y : c->sub_x) : 1;
  char *kernel = setting_name (settings, "kernel", "gaussian");
  double sigma = setting_number (settings, "sigma", 2.0);
  int radius = (int) setting_number (settings, "radius", -1);
  const double sigma_y = setting_number (settings, "sigma-y", -1.0);
  const int radius_y = (int) setting_number (settings, "radius-y", -1);
  TapRow taps;

  if (axis && sigma_y >= 0.0)
    sigma = sigma_y;
  if (axis && radius_y >= 0)
    radius = radius_y;
  if (g_str_equal (kernel, "custom")) {
    char *text = settings_get (settings, axis ? "taps-y" : "taps-x");

    if (text == NULL)
      text = settings_get (settings, "taps-x");
    taps = taps_from_text (text, setting_flag (settings, "normalize", FALSE));
    g_free (text);
  } else if (g_str_has_suffix (kernel, "-x")
      || g_str_has_suffix (kernel, "-y")) {
    radius = radius < 0 ? 1 : radius;
    taps = g_str_has_suffix (kernel, axis ? "-y" : "-x")
        ? taps_derivative (kernel, radius)
        : taps_across (kernel, radius);
  } else {
    taps = taps_blur (kernel, sigma, radius, sub);
  }
  g_free (kernel);
  return taps;
}

/* ---- terms --------------------------------------------------------------- */

/* Appends "kernel=custom taps-x=<...> taps-y=<...>" to the settings: the last value of a property
 * counts. */
static char *
settings_with_taps (const char *settings, const TapRow *x, const TapRow *y)
{
  GString *text = g_string_new (settings);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (text, " kernel=custom normalize=false");
  for (int axis = 0; axis < 2; axis++) {
    const TapRow *taps = axis ? y : x;

    g_string_append_printf (text, " taps-%c=<", "xy"[axis]);
    for (int i = 0; i < taps->n; i++)
      g_string_append_printf (text, "%s%s", i ? "," : "",
          g_ascii_formatd (number, sizeof number, "%.17g", taps->tap[i]));
    g_string_append_c (text, '>');
  }
  return g_string_free (text, FALSE);
}

/* Term t of a kernel that sums a second derivative along each axis. */
static char *
second_derivative_term (
    const char *settings, const char *kernel, int t, const Component *c)
{
  const gboolean is_log = g_str_equal (kernel, "log");
  const double sigma = setting_number (settings, "sigma", 2.0);
  const double sigma_y = setting_number (settings, "sigma-y", -1.0);
  const int radius = (int) setting_number (settings, "radius", -1);
  const double ones[] = { 1.0, 2.0, 1.0 }, second[] = { 1.0, -2.0, 1.0 };
  TapRow axes[2];
  char *text;

  for (int axis = 0; axis < 2; axis++) {
    const double s = axis && sigma_y >= 0.0 ? sigma_y : sigma;
    const gboolean scaled =
        c->kind == CHROMA && setting_flag (settings, "scale-chroma", TRUE);
    const int sub = scaled ? (axis ? c->sub_y : c->sub_x) : 1;
    const int r = radius < 1 ? 1 : radius;
    double variance = (s / sub) * (s / sub), sum = 0.0;
    TapRow *taps = &axes[axis];

    if (!is_log) {
      *taps = axis == t ? taps_convolved (taps_smooth (ones, r - 1), second)
                        : taps_smooth (ones, r == 1 ? 0 : r);
      continue;
    }
    *taps = taps_blur (
        "gaussian", s, radius < 0 ? (int) ceil (4.0 * s) : radius, sub);
    for (int i = 0; axis == t && i < taps->n; i++) {
      const int at = i - taps->n / 2;

      sum += taps->tap[i] * (at * at - variance) / (variance * variance);
    }
    for (int i = 0; axis == t && i < taps->n; i++) {
      const int at = i - taps->n / 2;

      taps->tap[i] *= (at * at - variance) / (variance * variance) - sum;
    }
  }
  text = settings_with_taps (settings, &axes[0], &axes[1]);
  g_free (axes[0].tap);
  g_free (axes[1].tap);
  return text;
}

/* Number t of the lists in "<<...>,<...>>"; NULL: there are fewer. */
static char *
nth_array (const char *arrays, int t)
{
  char **parts = g_strsplit (arrays + 1, ">", -1);
  char *found = NULL;

  for (int i = 0; parts[i] != NULL && strchr (parts[i], '<') != NULL; i++)
    if (i == t)
      found = g_strconcat (strchr (parts[i], '<'), ">", NULL);
  g_strfreev (parts);
  return found;
}

static char *
custom_term (const char *settings, int t)
{
  char *all_x = setting_name (settings, "terms-x", "<>");
  char *all_y = setting_name (settings, "terms-y", "<>");
  char *x = nth_array (all_x, t), *y = nth_array (all_y, t);
  char *text = x == NULL
      ? NULL
      : g_strdup_printf ("%s kernel=custom taps-x=%s taps-y=%s", settings, x,
          y == NULL || g_str_equal (y, "<>") ? x : y);

  g_free (all_x);
  g_free (all_y);
  g_free (x);
  g_free (y);
  return text;
}

static char *
gaussian_term (const char *settings, int t)
{
  const double sigma = setting_number (settings, "sigma", 2.0);
  const double sigma_y = setting_number (settings, "sigma-y", -1.0);
  const double outer = setting_number (settings, "sigma-outer", -1.0);

  if (t == 0)
    return g_strconcat (settings, " kernel=gaussian", NULL);
  return g_strdup_printf ("%s kernel=gaussian sigma=%.17g sigma-y=%.17g",
      settings, outer > 0.0 ? outer : 1.6 * sigma,
      outer > 0.0 ? outer : 1.6 * (sigma_y < 0.0 ? sigma : sigma_y));
}

/* Settings that make term t alone, as a kernel of one term; NULL: there are fewer terms. */
static char *
term_settings (
    const char *settings, const char *kernel, int t, const Component *c)
{
  static const char *const gradients[] = { "sobel", "scharr", "prewitt" };

  for (guint g = 0; g < G_N_ELEMENTS (gradients); g++)
    if (g_str_equal (kernel, gradients[g]))
      return t == 2
          ? NULL
          : g_strdup_printf ("%s kernel=%s-%c", settings, kernel, "xy"[t]);
  if (g_str_equal (kernel, "terms"))
    return custom_term (settings, t);
  if (g_str_equal (kernel, "unsharp"))
    return t == 1 ? NULL : gaussian_term (settings, 0);
  if (g_str_equal (kernel, "dog"))
    return t == 2 ? NULL : gaussian_term (settings, t);
  if (g_str_equal (kernel, "log") || g_str_equal (kernel, "laplacian"))
    return t == 2 ? NULL : second_derivative_term (settings, kernel, t, c);
  return t == 1 ? NULL : g_strdup (settings);
}

static gboolean
is_gradient (const char *kernel)
{
  return g_str_equal (kernel, "sobel") || g_str_equal (kernel, "scharr")
      || g_str_equal (kernel, "prewitt");
}

static gboolean
finds_edges (const char *kernel)
{
  return is_gradient (kernel) || g_str_has_suffix (kernel, "-x")
      || g_str_has_suffix (kernel, "-y") || g_str_equal (kernel, "laplacian")
      || g_str_equal (kernel, "log") || g_str_equal (kernel, "dog");
}

static gboolean
gives_direction (const char *settings)
{
  char *kernel = setting_name (settings, "kernel", "gaussian");
  char *gradient = setting_name (settings, "gradient", "magnitude");
  const gboolean direction =
      is_gradient (kernel) && g_str_equal (gradient, "direction");

  g_free (kernel);
  g_free (gradient);
  return direction;
}

/* ---- the filter ---------------------------------------------------------- */

/* The index in [0, n) that position i stands for; -1: border colour. */
static int
border_index (const char *border, int i, int n)
{
  int period;

  if (i >= 0 && i < n)
    return i;
  if (g_str_equal (border, "constant"))
    return -1;
  if (g_str_equal (border, "replicate") || n == 1)
    return i < 0 ? 0 : n - 1;
  period = g_str_equal (border, "wrap") ? n
      : g_str_equal (border, "reflect") ? 2 * n
                                        : 2 * n - 2;
  i = (i % period + period) % period;
  if (i < n)
    return i;
  return g_str_equal (border, "reflect") ? 2 * n - 1 - i : 2 * n - 2 - i;
}

/* Correlates `lines` lines of n values along one axis; values outside are `outside`. Steps are in
 * values. */
static void
correlate (const double *in, double *out, int n, int step, int lines,
    int line_step, const TapRow *taps, const char *border, double outside)
{
  int *index = g_new (int, n * taps->n);

  for (int i = 0; i < n; i++)
    for (int k = 0; k < taps->n; k++)
      index[i * taps->n + k] = border_index (border, i + k - taps->n / 2, n);
  for (int line = 0; line < lines; line++) {
    const double *src = in + (gssize) line * line_step;
    double *dst = out + (gssize) line * line_step;

    for (int i = 0; i < n; i++) {
      double sum = 0.0;

      for (int k = 0; k < taps->n; k++) {
        const int at = index[i * taps->n + k];

        sum += taps->tap[k] * (at < 0 ? outside : src[(gssize) at * step]);
      }
      dst[(gssize) i * step] = sum;
    }
  }
  g_free (index);
}

static unsigned selected_planes (const char *settings);

/* Whether chroma is neutral: by default it is for derivatives. */
static gboolean
chroma_is_neutral (const char *settings)
{
  char *kernel = setting_name (settings, "kernel", "gaussian");
  const gboolean neutral = finds_edges (kernel)
      && (selected_planes (settings) & COLOR) == COLOR
      && setting_flag (settings, "neutral-chroma", TRUE);

  g_free (kernel);
  return neutral;
}

/* The result of one term for a component: levels of w x h samples. */
static double *
correlated (const Component *c, const char *settings, const double *in)
{
  const int w = c->width, h = c->height;
  char *border = setting_name (settings, "border", "replicate");
  TapRow x = taps_for (settings, 0, c), y = taps_for (settings, 1, c);
  double *out = g_new (double, w *h), *rows = g_new (double, w *h);
  double sum_x = 0.0;

  for (int i = 0; i < x.n; i++)
    sum_x += x.tap[i];
  correlate (in, rows, w, 1, h, w, &x, border, c->border - c->zero);
  correlate (rows, out, h, w, w, 1, &y, border, (c->border - c->zero) * sum_x);
  g_free (rows);
  g_free (x.tap);
  g_free (y.tap);
  g_free (border);
  return out;
}

/* How the terms' sums are combined into a sample; read from the settings once. */
typedef struct
{
  enum
  {
    ADDED,
    SUBTRACTED,
    MAGNITUDE,
    DIRECTION,
    SHARPENED
  } kind;
  double threshold, amount; /* of SHARPENED; the threshold is a level */
} Combination;

static Combination
combination_of (const char *settings, const char *kernel, double full)
{
  Combination r = { .kind = ADDED };

  if (g_str_equal (kernel, "unsharp")) {
    r.kind = SHARPENED;
    r.threshold = setting_number (settings, "threshold", 0.0) * full;
    r.amount = setting_number (settings, "amount", 1.0);
  } else if (g_str_equal (kernel, "dog")) {
    r.kind = SUBTRACTED;
  } else if (is_gradient (kernel)) {
    r.kind = gives_direction (settings) ? DIRECTION : MAGNITUDE;
  }
  return r;
}

/* Combines the terms for a sample of this level; the result is a level. Not for DIRECTION. */
static double
combined (const Combination *how, double in, double first, double second)
{
  if (how->kind == SHARPENED)
    return fabs (in - first) > how->threshold ? in + how->amount * (in - first)
                                              : in;
  if (how->kind == SUBTRACTED)
    return first - second;
  return how->kind == MAGNITUDE ? hypot (first, second) : first + second;
}

static double
angle_code (const Component *c, double x, double y)
{
  const double turns = atan2 (y, x) / (2.0 * G_PI);

  if (x == 0.0 && y == 0.0)
    return c->zero;
  return (turns < 0.0 ? turns + 1.0 : turns) * (1 << c->depth);
}

/* The expected values of a component, unrounded and not clamped. */
static double *
filtered (const Component *c, const char *settings)
{
  const int n = c->width * c->height;
  const double full = (1 << c->depth) - 1;
  const double scale = setting_number (settings, "scale", 1.0);
  const double bias =
      c->kind == CHROMA ? 0.0 : setting_number (settings, "bias", 0.0);
  const gboolean neutral = c->kind == CHROMA && chroma_is_neutral (settings);
  char *kernel = setting_name (settings, "kernel", "gaussian"), *term;
  const Combination how = combination_of (settings, kernel, full);
  double *in = g_new (double, n), *sums[2];

  for (int t = 0; t < 2; t++)
    sums[t] = g_new0 (double, n);
  for (int i = 0; i < n; i++)
    in[i] = sample_code (c, i % c->width, i / c->width) - c->zero;
  /* Further terms exist only for sums. */
  for (int t = 0; (term = term_settings (settings, kernel, t, c)) != NULL;
       t++) {
    double *values = correlated (c, term, in);

    for (int i = 0; i < n; i++)
      sums[MIN (t, 1)][i] += values[i];
    g_free (values);
    g_free (term);
  }
  for (int i = 0; i < n; i++)
    in[i] = neutral                 ? c->zero
        : how.kind == DIRECTION ? angle_code (c, sums[0][i], sums[1][i])
                                : c->zero + bias * full
            + scale * combined (&how, in[i], sums[0][i], sums[1][i]);
  g_free (sums[0]);
  g_free (sums[1]);
  g_free (kernel);
  return in;
}

/* ---- comparing ----------------------------------------------------------- */

static char *
compare_filtered (
    const Component *in, const Component *out, const char *settings)
{
  /* Results are compared as stored. */
  const double step = code_step (in->bits, in->depth);
  const double full = (1 << in->bits) - 1, turn = (1 << in->depth) / step;
  double bound = in->depth > 12 ? 1.0 : 0.75;
  double *expected = filtered (in, settings);
  char *border = setting_name (settings, "border", "replicate");
  const gboolean circular = gives_direction (settings);
  char *problem = NULL;

  /* A border colour that is no code of the format may be rounded to the nearest code. */
  if (g_str_equal (border, "constant"))
    bound += fabs (in->border - rint (in->border)) / step;
  for (int y = 0; y < in->height && !problem; y++) {
    for (int x = 0; x < in->width && !problem; x++) {
      const double want = CLAMP (
          expected[y * in->width + x] / step, 0.0, circular ? turn : full);
      const guint raw = sample_raw (out, x, y);
      const guint got = stored_code (out, x, y);

      /* An angle just below a full turn is close to 0. */
      if (fabs (got - want) >= bound
          && !(circular && turn - fabs (got - want) < bound))
        problem = g_strdup_printf ("(%d,%d) is %u instead of %.3f (was %u)", x,
            y, got, want, stored_code (in, x, y));
      else if (raw != got << out->shift)
        problem = g_strdup_printf (
            "(%d,%d) has bits outside its %d significant ones: 0x%04x", x, y,
            out->bits, raw);
    }
  }
  g_free (border);
  g_free (expected);
  return problem;
}

static char *
compare_copied (const Component *in, const Component *out)
{
  for (int y = 0; y < in->height; y++)
    for (int x = 0; x < in->width; x++)
      if (sample_raw (in, x, y) != sample_raw (out, x, y))
        return g_strdup_printf ("(%d,%d) is 0x%x instead of a copy of 0x%x", x,
            y, sample_raw (out, x, y), sample_raw (in, x, y));
  return NULL;
}

/* Offset of the unused byte of a pixel, such as x in RGBx. */
static char *
compare_padding (const GstVideoFrame *in, const GstVideoFrame *out)
{
  const GstVideoFormatInfo *format = in->info.finfo;
  gboolean used[16] = { FALSE };
  const int pixel = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, 0);

  if (!GST_VIDEO_FORMAT_INFO_IS_RGB (format) || in->info.finfo->n_planes > 1
      || packed_format (&in->info) != GST_VIDEO_FORMAT_UNKNOWN)
    return NULL;
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++)
    for (guint b = 0; b < (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) + 7) / 8;
         b++)
      used[GST_VIDEO_FORMAT_INFO_POFFSET (format, c) + (int) b] = TRUE;
  for (int y = 0; y < GST_VIDEO_FRAME_HEIGHT (in); y++) {
    const guint8 *a = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (in, 0)
        + y * GST_VIDEO_FRAME_PLANE_STRIDE (in, 0);
    const guint8 *b = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (out, 0)
        + y * GST_VIDEO_FRAME_PLANE_STRIDE (out, 0);

    for (int i = 0; i < GST_VIDEO_FRAME_WIDTH (in) * pixel; i++)
      if (!used[i % pixel] && a[i] != b[i])
        return g_strdup_printf ("padding of pixel (%d,%d) is 0x%02x instead of "
                                "a copy of 0x%02x",
            i / pixel, y, b[i], a[i]);
  }
  return NULL;
}

static Component
component_field (const Component *whole, int parity)
{
  Component field = *whole;

  field.data += parity * whole->stride;
  field.stride *= 2;
  field.height = (whole->height + 1 - parity) / 2;
  return field;
}

static unsigned
selected_planes (const char *settings)
{
  char *names = setting_name (settings, "planes", "color");
  char **list = g_strsplit (names, "+", -1);
  unsigned planes = 0;

  for (int i = 0; list[i]; i++)
    planes |= g_str_equal (list[i], "luma") ? LUMA
        : g_str_equal (list[i], "chroma")   ? CHROMA
        : g_str_equal (list[i], "alpha")    ? ALPHA
        : g_str_equal (list[i], "all")      ? LUMA | CHROMA | ALPHA
                                            : COLOR;
  g_strfreev (list);
  g_free (names);
  return planes;
}

static char *
compare_component (const Component *in, const Component *out,
    const char *settings, gboolean fields)
{
  char *problem = NULL;

  if ((selected_planes (settings) & (unsigned) in->kind) == 0)
    return compare_copied (in, out);
  if (!fields)
    return compare_filtered (in, out, settings);
  for (int parity = 0; parity < 2 && !problem; parity++) {
    const Component a = component_field (in, parity);
    const Component b = component_field (out, parity);
    char *inner = a.height > 0 ? compare_filtered (&a, &b, settings) : NULL;

    if (inner)
      problem = g_strdup_printf ("field %d: %s", parity, inner);
    g_free (inner);
  }
  return problem;
}

double *
picture_filtered (GstBuffer *in, const GstVideoInfo *info, guint component,
    const char *settings, gboolean fields)
{
  char *color = setting_name (settings, "border-color", "0xff000000");
  const guint32 argb = (guint32) g_ascii_strtoull (color, NULL, 0);
  GstVideoFrame frame;
  Component whole;
  double *all;

  g_free (color);
  expect (gst_video_frame_map (&frame, info, in, GST_MAP_READ),
      "the input cannot be mapped");
  whole = component_of (&frame, (int) component, argb);
  all = g_new (double, whole.width *whole.height);
  for (int parity = 0; parity < (fields ? 2 : 1); parity++) {
    const Component part = fields ? component_field (&whole, parity) : whole;
    double *rows = part.height > 0 ? filtered (&part, settings) : NULL;

    for (int i = 0; i < part.width * part.height; i++)
      all[(i / part.width * (fields ? 2 : 1) + parity) * part.width
          + i % part.width] = CLAMP (rows[i], 0.0, (1 << part.depth) - 1);
    g_free (rows);
  }
  gst_video_frame_unmap (&frame);
  return all;
}

gboolean
picture_selects (
    const GstVideoInfo *info, guint component, const char *settings)
{
  return (selected_planes (settings)
             & (unsigned) component_kind (info->finfo, (int) component))
      != 0;
}

double
picture_color_code (const GstVideoInfo *info, guint component, guint32 argb)
{
  return border_code (info, (int) component,
      component_kind (info->finfo, (int) component),
      filter_depth (info, component), argb);
}

char *
picture_compare (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, gboolean fields)
{
  char *color = setting_name (settings, "border-color", "0xff000000");
  const guint32 argb = (guint32) g_ascii_strtoull (color, NULL, 0);
  GstVideoFrame a, b;
  char *problem = NULL;

  g_free (color);
  if (!gst_video_frame_map (&a, info, in, GST_MAP_READ))
    return g_strdup ("the input cannot be mapped");
  if (!gst_video_frame_map (&b, info, out, GST_MAP_READ)) {
    gst_video_frame_unmap (&a);
    return g_strdup ("the output cannot be mapped");
  }
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS (&a) && !problem; c++) {
    const Component from = component_of (&a, (int) c, argb);
    const Component to = component_of (&b, (int) c, argb);
    char *inner = compare_component (&from, &to, settings, fields);

    if (inner)
      problem = g_strdup_printf ("%s %dx%d [%s]: component %u %s",
          GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
          GST_VIDEO_INFO_HEIGHT (info), settings, c, inner);
    g_free (inner);
  }
  if (!problem)
    problem = compare_padding (&a, &b);
  gst_video_frame_unmap (&b);
  gst_video_frame_unmap (&a);
  return problem;
}

void
picture_expect (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, gboolean fields)
{
  char *problem = picture_compare (in, out, info, settings, fields);

  expect (problem == NULL, "%s", problem);
}

void
picture_expect_same (GstBuffer *a, GstBuffer *b, const GstVideoInfo *info)
{
  /* With no planes selected, everything must be a copy. */
  char *problem = picture_compare (a, b, info, "planes=", FALSE);

  expect (problem == NULL, "%s", problem);
}

/* ---- pictures ------------------------------------------------------------ */

/* Clears bits that the format does not allow: a sample in the low bits of a 16-bit word has zeros
 * above it. */
static void
make_valid (GstBuffer *buffer, const GstVideoInfo *info)
{
  GstVideoFrame frame;

  expect (gst_video_frame_map (&frame, info, buffer, GST_MAP_READWRITE),
      "a new picture cannot be mapped");
  for (guint n = 0; n < GST_VIDEO_FRAME_N_COMPONENTS (&frame); n++) {
    const Component c = component_of (&frame, (int) n, 0);

    if (c.shift > 0 || c.depth == 8 || c.depth == 16
        || c.packed != GST_VIDEO_FORMAT_UNKNOWN)
      continue;
    for (int y = 0; y < c.height; y++)
      for (int x = 0; x < c.width; x++)
        sample_address (&c, x, y)[c.high_first ? 0 : 1] &=
            (guint8) ((1 << (c.depth - 8)) - 1);
  }
  gst_video_frame_unmap (&frame);
}

static void
fill_with_noise (GstBuffer *buffer, guint32 seed)
{
  GRand *random = g_rand_new_with_seed (seed);
  GstMapInfo map;

  expect (gst_buffer_map (buffer, &map, GST_MAP_WRITE),
      "a new buffer cannot be mapped");
  for (gsize i = 0; i < map.size; i += 4) {
    guint32 bits = g_rand_int (random);

    for (gsize b = 0; b < 4 && i + b < map.size; b++, bits >>= 8)
      map.data[i + b] = seed % 2 ? (guint8) bits : bits & 1 ? 255 : 0;
  }
  gst_buffer_unmap (buffer, &map);
  g_rand_free (random);
}

GstBuffer *
picture_new (const GstVideoInfo *info, guint32 seed)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, info->size, NULL);

  fill_with_noise (buffer, seed);
  make_valid (buffer, info);
  return buffer;
}

int
picture_depth (const GstVideoInfo *info, guint component)
{
  const int depth = filter_depth (info, component);

  return depth == 2 ? 10 : depth;
}

gboolean
picture_is_rounded (const GstVideoInfo *info)
{
  return GST_VIDEO_FORMAT_INFO_DEPTH (info->finfo, 0) < 8;
}

guint
picture_rounded (const GstVideoInfo *info, guint component, guint code)
{
  const int bits = (int) GST_VIDEO_FORMAT_INFO_DEPTH (info->finfo, component);
  const int depth = picture_depth (info, component);

  return picture_is_rounded (info)
      ? repeat_bits (nearest_stored (code, bits, depth), bits, depth)
      : code;
}

double
picture_error (
    const GstVideoInfo *info, guint component, guint code, double value)
{
  const guint full = (1u << picture_depth (info, component)) - 1;
  guint least = code, most = code;

  while (least > 0 && picture_rounded (info, component, least - 1) == code)
    least--;
  while (most < full && picture_rounded (info, component, most + 1) == code)
    most++;
  return fabs (CLAMP (rint (value), least, most) - value);
}

/* Expands a 2-bit alpha to 10 bits. */
static guint
repeats (const Component *c)
{
  return c->depth == 2 ? 0x155 : 1;
}

guint16 *
picture_samples (
    GstBuffer *buffer, const GstVideoInfo *info, guint component, gsize *n)
{
  GstVideoFrame frame;
  guint16 *samples, *at;
  Component c;

  expect (gst_video_frame_map (&frame, info, buffer, GST_MAP_READ),
      "a picture cannot be mapped");
  c = component_of (&frame, (int) component, 0);
  *n = (gsize) c.width * (gsize) c.height;
  at = samples = g_new (guint16, *n);
  for (int y = 0; y < c.height; y++)
    for (int x = 0; x < c.width; x++)
      *at++ = (guint16) (sample_code (&c, x, y) * repeats (&c));
  gst_video_frame_unmap (&frame);
  return samples;
}

static void
put_code (const Component *c, int x, int y, guint code)
{
  const guint mask = ((1u << c->bits) - 1) << c->shift;
  const guint raw = (sample_raw (c, x, y) & ~mask) | code << c->shift;
  guint8 *p = sample_address (c, x, y);

  if (c->packed != GST_VIDEO_FORMAT_UNKNOWN) {
    put_packed (c, x, y, nearest_stored (code, c->bits, c->depth));
    return;
  }
  if (c->depth + c->shift <= 8)
    p[0] = (guint8) raw;
  else if (c->high_first)
    GST_WRITE_UINT16_BE (p, raw);
  else
    GST_WRITE_UINT16_LE (p, raw);
}

void
picture_put_samples (GstBuffer *buffer, const GstVideoInfo *info,
    guint component, const guint16 *codes)
{
  GstVideoFrame frame;
  Component c;

  expect (gst_video_frame_map (&frame, info, buffer, GST_MAP_READWRITE),
      "a picture cannot be mapped");
  c = component_of (&frame, (int) component, 0);
  for (int y = 0; y < c.height; y++)
    for (int x = 0; x < c.width; x++)
      put_code (&c, x, y, *codes++ / repeats (&c));
  gst_video_frame_unmap (&frame);
}

void
picture_put_results (GstBuffer *buffer, const GstVideoInfo *info,
    guint component, const guint16 *codes, const gboolean *where)
{
  GstVideoFrame frame;
  Component c;

  expect (gst_video_frame_map (&frame, info, buffer, GST_MAP_READWRITE),
      "a picture cannot be mapped");
  c = component_of (&frame, (int) component, 0);
  for (int i = 0; i < c.width * c.height; i++)
    if (where[i]) {
      const int x = i % c.width, y = i / c.width;

      if (c.packed == GST_VIDEO_FORMAT_UNKNOWN)
        memset (sample_address (&c, x, y), 0, c.depth + c.shift > 8 ? 2 : 1);
      put_code (&c, x, y, codes[i] / repeats (&c));
    }
  gst_video_frame_unmap (&frame);
}

/* Bytes of plane p without padding between rows. */
static gsize
plane_rows (const GstVideoInfo *info, guint p)
{
  gint component[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, p, component);
  return (gsize) GST_VIDEO_INFO_COMP_HEIGHT (info, component[0]);
}

static void
make_read_only (GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++)
    GST_MINI_OBJECT_FLAG_SET (
        gst_buffer_peek_memory (buffer, i), GST_MEMORY_FLAG_READONLY);
}

/* Splits one block into one memory per plane, each with its own allocation. */
static GstBuffer *
split_planes (GstBuffer *whole, const gsize *start, const gsize *end, guint n)
{
  GstBuffer *buffer = gst_buffer_new ();

  for (guint p = 0; p < n; p++) {
    GstMemory *part = gst_allocator_alloc (NULL, end[p] - start[p], NULL);
    GstMapInfo map;

    expect (gst_memory_map (part, &map, GST_MAP_WRITE), "cannot map memory");
    gst_buffer_extract (whole, start[p], map.data, map.size);
    gst_memory_unmap (part, &map);
    gst_buffer_append_memory (buffer, part);
  }
  gst_buffer_unref (whole);
  return buffer;
}

GstBuffer *
picture_new_laid_out (
    const GstVideoInfo *info, guint32 seed, const PictureLayout *layout)
{
  const guint n = GST_VIDEO_INFO_N_PLANES (info);
  gsize start[GST_VIDEO_MAX_PLANES], end[GST_VIDEO_MAX_PLANES], at = 0;
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
  GstBuffer *buffer;

  for (guint p = 0; p < n; p++) {
    start[p] = at;
    offset[p] = at + (gsize) layout->plane_padding;
    stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (info, p) + layout->stride_padding
        + (layout->stride_padding ? (int) p : 0);
    at = offset[p] + plane_rows (info, p) * (gsize) stride[p]
        + (gsize) layout->plane_padding;
    end[p] = at;
  }
  buffer = gst_buffer_new_allocate (NULL, at, NULL);
  fill_with_noise (buffer, seed);
  if (layout->split)
    buffer = split_planes (buffer, start, end, n);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (info), (guint) GST_VIDEO_INFO_WIDTH (info),
      (guint) GST_VIDEO_INFO_HEIGHT (info), n, offset, stride);
  make_valid (buffer, info);
  if (layout->read_only)
    make_read_only (buffer);
  return buffer;
}

GstBuffer *
picture_process_laid_out (Filter *filter, const GstVideoInfo *info,
    guint32 seed, guint layout, GstBuffer **in)
{
  static const PictureLayout layouts[N_ODD_LAYOUTS] = { { 0 },
    { .stride_padding = 33, .plane_padding = 7 }, { .split = TRUE },
    { .stride_padding = 4, .read_only = TRUE } };
  GstBuffer *buffer = picture_new_laid_out (info, seed, &layouts[layout]);
  GstBuffer *copy = gst_buffer_copy_deep (buffer), *out;

  GST_BUFFER_PTS (buffer) = (layout + 1) * GST_SECOND;
  GST_BUFFER_DURATION (buffer) = 77;
  gst_buffer_add_video_region_of_interest_meta (
      buffer, "face", layout, 2, 3, 4);
  out = filter_process (filter, gst_buffer_ref (buffer));
  expect (out != buffer, "the frame was changed where it lay");
  expect (GST_BUFFER_PTS (out) == (layout + 1) * GST_SECOND
          && GST_BUFFER_DURATION (out) == 77,
      "the times changed");
  expect (
      gst_buffer_get_video_region_of_interest_meta (out), "the region is lost");
  expect (gst_buffer_get_size (buffer) == gst_buffer_get_size (copy),
      "the frame's size changed");
  picture_expect_same (copy, buffer, info);
  gst_buffer_unref (copy);
  *in = buffer;
  return out;
}

void
picture_check_frame (Filter *filter, const GstVideoInfo *info, guint32 seed,
    const char *settings)
{
  GstBuffer *in = picture_new (info, seed);
  GstBuffer *out = filter_process (filter, gst_buffer_ref (in));

  picture_expect (in, out, info, settings,
      GST_VIDEO_INFO_INTERLACE_MODE (info)
          == GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

void
picture_check (const char *format, int width, int height, const char *more,
    const char *settings)
{
  GstVideoInfo info;
  Filter filter;

  test_context ("format=%s size=%dx%d caps=%s settings=%.400s", format, width,
      height, more ? more : "-", settings);
  video_info (&info, format, width, height, more);
  filter_open (&filter, settings);
  expect (filter_caps (&filter, video_caps (format, width, height, more)),
      "caps refused");
  picture_check_frame (
      &filter, &info, (guint32) (width * 31 + height), settings);
  filter_expect_silence (&filter);
  filter_close (&filter);
}
