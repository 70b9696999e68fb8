/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto with mode=equalize, compared with the formulas of equalize.h, computed
 * again here in double precision. */
#include "flight-fixture.h"
#include "histo-oracle.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include <math.h>

#define MODE "cudahisto mode=equalize interval=0 "

/* ---- the oracle ---------------------------------------------------------- */

/* Tolerances in codes: ties and single precision; and values that are rounded twice,
 * such as an even table with a strength. */
#define ROUNDED_ONCE 0.53
#define ROUNDED_TWICE 1.03

typedef struct
{
  int black, white;
  double *code; /* [white - black + 1] */
  guint frames; /* frames seen so far */
} Table;

static void
table_init (Table *table, const GstVideoInfo *info)
{
  const int depth = picture_depth (info, 0);
  const gboolean limited =
      info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;

  table->black = limited ? 16 << (depth - 8) : 0;
  table->white = limited ? 235 << (depth - 8) : (1 << depth) - 1;
  table->code = g_new0 (double, (gsize) (table->white - table->black) + 1);
  table->frames = 0;
}

static int
bin_of (const Table *table, int luma)
{
  return CLAMP (luma, table->black, table->white) - table->black;
}

/* The luma of pixels of red, green and blue. */
static int
mix_luma (const GstVideoInfo *info, const guint16 *const rgb[3], gsize i)
{
  gdouble kr, kb;
  guint32 red, green, blue;

  if (!gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &kr, &kb))
    gst_video_color_matrix_get_Kr_Kb (GST_VIDEO_COLOR_MATRIX_BT709, &kr, &kb);
  red = (guint32) lrint (kr * 65536.0);
  blue = (guint32) lrint (kb * 65536.0);
  green = 65536 - red - blue;
  return (int) (((guint64) red * rgb[0][i] + (guint64) green * rgb[1][i]
                    + (guint64) blue * rgb[2][i] + 32768)
      >> 16);
}

static guint16 *
luma_of (GstBuffer *picture, const GstVideoInfo *info, gsize *n)
{
  guint16 *rgb[3], *luma;

  if (!GST_VIDEO_INFO_IS_RGB (info))
    return picture_samples (picture, info, 0, n);
  for (guint c = 0; c < 3; c++)
    rgb[c] = picture_samples (picture, info, c, n);
  luma = g_new (guint16, *n);
  for (gsize i = 0; i < *n; i++)
    luma[i] = (guint16) mix_luma (info, (const guint16 *const *) rgb, i);
  for (guint c = 0; c < 3; c++)
    g_free (rgb[c]);
  return luma;
}

/* Cuts each bin at the limit and distributes the excess. */
static void
limit_counts (double *counts, int bins, double limit)
{
  double clipped = 0.0;
  int each, rest, step;

  for (int i = 0; i < bins; i++) {
    clipped += fmax (counts[i] - limit, 0.0);
    counts[i] = fmin (counts[i], limit);
  }
  each = (int) clipped / bins;
  rest = (int) clipped % bins;
  step = rest > 0 ? MAX (bins / rest, 1) : 1;
  for (int i = 0; i < bins; i++)
    counts[i] += each + (i % step == 0 && i / step < rest);
}

/* A frame's own table, from all its samples. limit < 0: without clipping, as global
 * equalization. */
static double *
own_table (const Table *table, const guint16 *luma, gsize n, double clip_limit)
{
  const int bins = table->white - table->black + 1;
  double *counts = g_new0 (double, bins), sum = 0.0, lowest = 0.0;
  int first = 0;

  for (gsize i = 0; i < n; i++)
    counts[bin_of (table, luma[i])]++;
  if (clip_limit > 0.0)
    limit_counts (counts, bins,
        fmax (floor (clip_limit * (double) n / (double) bins), 1.0));
  for (first = 0; counts[first] == 0.0;)
    first++;
  if (clip_limit < 0.0)
    lowest = counts[first];
  for (int i = 0; i < bins; i++) {
    sum += counts[i];
    counts[i] = clip_limit < 0.0 && lowest == (double) n ? i
        : i < first && clip_limit < 0.0
        ? 0.0
        : (bins - 1) * (sum - lowest) / ((double) n - lowest);
    counts[i] += table->black;
  }
  return counts;
}

/* The smoothed table after another frame. */
static void
table_follow (Table *table, GstBuffer *picture, const GstVideoInfo *info,
    const char *settings)
{
  const double smoothing =
      table->frames++ == 0 ? 0.0 : setting_number (settings, "smoothing", 0.8);
  char *equalizer = settings_get (settings, "equalizer");
  const double limit = g_strcmp0 (equalizer, "clahe") == 0
      ? setting_number (settings, "clip-limit", 3.0)
      : -1.0;
  gsize n;
  guint16 *luma = luma_of (picture, info, &n);
  double *own = own_table (table, luma, n, limit);

  for (int i = 0; i <= table->white - table->black; i++)
    table->code[i] = smoothing * table->code[i] + (1.0 - smoothing) * own[i];
  g_free (own);
  g_free (luma);
  g_free (equalizer);
}

/* Expects all samples but luma, or red, green and blue, to be unchanged, and padding
 * too. */
static void
expect_rest (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info)
{
  GstBuffer *copy = gst_buffer_copy_deep (out);
  gsize n;

  for (guint c = 0; c < (GST_VIDEO_INFO_IS_RGB (info) ? 3u : 1u); c++) {
    guint16 *codes = picture_samples (in, info, c, &n);

    picture_put_samples (copy, info, c, codes);
    g_free (codes);
  }
  picture_expect_same (in, copy, info);
  gst_buffer_unref (copy);
}

/* Expects `out` to be `in` mapped by the table, within a tolerance in codes. */
static void
expect_mapped (const Table *table, GstBuffer *in, GstBuffer *out,
    const GstVideoInfo *info, double strength, double tolerance)
{
  gsize n;
  guint16 *luma = luma_of (in, info, &n);

  for (guint c = 0; c < (GST_VIDEO_INFO_IS_RGB (info) ? 3u : 1u); c++) {
    guint16 *from = picture_samples (in, info, c, &n);
    guint16 *to = picture_samples (out, info, c, &n);

    for (gsize i = 0; i < n; i++) {
      const double moved =
          strength * (table->code[bin_of (table, luma[i])] - luma[i]);
      double want = from[i] + moved;

      if (GST_VIDEO_INFO_IS_RGB (info))
        want = CLAMP (
            want, MIN (from[i], table->black), MAX (from[i], table->white));
      expect (picture_error (info, c, to[i], want) <= tolerance,
          "component %u sample %" G_GSIZE_FORMAT
          ": code %u became %u instead of %.2f",
          c, i, from[i], to[i], want);
    }
    g_free (from);
    g_free (to);
  }
  g_free (luma);
  expect_rest (in, out, info);
}

/* ---- pictures ------------------------------------------------------------ */

static gboolean
is_mapped (const GstVideoInfo *info, guint c)
{
  return GST_VIDEO_INFO_IS_RGB (info) ? c < 3 : c == 0;
}

/* Noise whose luma, or red, green and blue, covers `span` from `low` on, as shares of
 * full scale. */
static GstBuffer *
low_contrast (const GstVideoInfo *info, guint32 seed, double low, double span)
{
  GstBuffer *picture = picture_new (info, 2 * seed + 1);

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    const double full = ldexp (1.0, picture_depth (info, c)) - 1.0;
    guint16 *codes;
    gsize n;

    if (!is_mapped (info, c))
      continue;
    codes = picture_samples (picture, info, c, &n);
    for (gsize i = 0; i < n; i++)
      codes[i] = (guint16) (full * low + span * codes[i]);
    picture_put_samples (picture, info, c, codes);
    g_free (codes);
  }
  return picture;
}

/* Luma that rises from left to right over an eighth of all codes. */
static GstBuffer *
ramp (const GstVideoInfo *info)
{
  const guint full = (1u << picture_depth (info, 0)) - 1;
  const guint width = (guint) GST_VIDEO_INFO_WIDTH (info);
  GstBuffer *picture = picture_new (info, 1);

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    guint16 *codes;
    gsize n;

    if (!is_mapped (info, c))
      continue;
    codes = picture_samples (picture, info, c, &n);
    for (gsize i = 0; i < n; i++)
      codes[i] = (guint16) (full / 3 + full / 8 * (i % width) / width);
    picture_put_samples (picture, info, c, codes);
    g_free (codes);
  }
  return picture;
}

static GstBuffer *
uniform (const GstVideoInfo *info, guint code)
{
  GstBuffer *picture = picture_new (info, 1);

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    guint16 *codes;
    gsize n;

    if (!is_mapped (info, c))
      continue;
    codes = picture_samples (picture, info, c, &n);
    for (gsize i = 0; i < n; i++)
      codes[i] = (guint16) code;
    picture_put_samples (picture, info, c, codes);
    g_free (codes);
  }
  return picture;
}

/* ---- one table ----------------------------------------------------------- */

static const struct
{
  const char *format, *more;
} cases[] = {
  { "I420", NULL },
  { "I420", "colorimetry=1:3:5:1" }, /* full range */
  { "I420", "interlace-mode=interleaved" },
  { "NV12", NULL },
  { "GRAY8", NULL },
  { "GRAY16_LE", NULL },
  { "I420_10LE", NULL },
  { "P010_10LE", NULL },
  { "RGB", NULL },
  { "RGBA", NULL },
  { "BGR15", "colorimetry=2:1:5:1" }, /* limited range */
  { "RGB16", NULL },
};

/* Filters one frame, which it takes, with a new filter. */
static void
check_frame (Filter *filter, const GstVideoInfo *info, GstBuffer *in,
    const char *settings)
{
  const double strength = setting_number (settings, "strength", 1.0);
  GstBuffer *out = filter_process (filter, gst_buffer_ref (in));
  Table table;

  table_init (&table, info);
  table_follow (&table, in, info, settings);
  expect_mapped (&table, in, out, info, strength,
      strength == 1.0 ? ROUNDED_ONCE : ROUNDED_TWICE);
  /* The report is about the frame that leaves. */
  histo_expect_result (histo_message (filter), out, info, settings);
  histo_expect_silence (filter);
  g_free (table.code);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

/* The first frame of each kind, by its own table. */
static void
histo_equalize_global (void)
{
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    for (guint picture = 0; picture < 4; picture++) {
      GstVideoInfo info;
      Filter filter;

      filter_start (
          &filter, MODE, &info, cases[c].format, 66, 36, cases[c].more);
      check_frame (&filter, &info,
          picture == 0       ? ramp (&info)
              : picture == 1 ? low_contrast (&info, 1, 0.4, 0.125)
                             : picture_new (&info, picture),
          "");
      filter_close (&filter);
    }
}

/* Expects the cumulative counts to rise in proportion to the codes. */
static void
expect_flat (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info)
{
  gsize n, sum = 0, *counts = g_new0 (gsize, 65536);
  guint16 *before = picture_samples (in, info, 0, &n);
  guint16 *after = picture_samples (out, info, 0, &n);
  guint16 low = 65535;
  double lowest = 0.0;
  Table table;

  table_init (&table, info);
  for (gsize i = 0; i < n; i++)
    low = MIN (low, before[i]);
  for (gsize i = 0; i < n; i++) {
    lowest += before[i] == low;
    counts[after[i]]++;
  }
  for (int code = 0; code < 65536; code++) {
    sum += counts[code];
    if (counts[code] == 0)
      continue;
    expect (fabs (code - table.black
                - (table.white - table.black) * ((double) sum - lowest)
                    / ((double) n - lowest))
            <= ROUNDED_ONCE,
        "%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " samples up to code %d", sum,
        n, code);
  }
  expect (counts[table.black] > 0 && counts[table.white] > 0,
      "not all of the range is used");
  g_free (table.code);
  g_free (counts);
  g_free (before);
  g_free (after);
}

static void
histo_equalize_flat (void)
{
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    for (guint picture = 0; picture < 2; picture++) {
      GstVideoInfo info;
      GstBuffer *in, *out;
      Filter filter;

      filter_start (
          &filter, MODE, &info, cases[c].format, 66, 36, cases[c].more);
      if (!GST_VIDEO_INFO_IS_RGB (&info)) {
        in = picture == 0 ? ramp (&info) : low_contrast (&info, 3, 0.5, 0.1);
        out = filter_process (&filter, gst_buffer_ref (in));
        expect_flat (in, out, &info);
        gst_buffer_unref (in);
        gst_buffer_unref (out);
      }
      filter_close (&filter);
    }
}

/* Red, green and blue of a pixel change by the same amount, unless one would leave the
 * code range. */
static void
histo_equalize_colors (void)
{
  static const char *const formats[] = { "RGB", "BGRx", "GBRA", "ARGB64" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    guint16 *from[3], *to[3];
    gsize n, whole = 0;
    GstVideoInfo info;
    GstBuffer *in, *out;
    guint full;
    Filter filter;

    filter_start (
        &filter, MODE "strength=0.5", &info, formats[f], 66, 36, NULL);
    full = (1u << GST_VIDEO_FORMAT_INFO_DEPTH (info.finfo, 0)) - 1;
    in = low_contrast (&info, 5, 0.4, 0.2);
    out = filter_process (&filter, gst_buffer_ref (in));
    for (guint c = 0; c < 3; c++) {
      from[c] = picture_samples (in, &info, c, &n);
      to[c] = picture_samples (out, &info, c, &n);
    }
    for (gsize i = 0; i < n; i++) {
      gboolean clamped = FALSE;

      for (guint c = 0; c < 3; c++)
        clamped = clamped || to[c][i] == 0 || to[c][i] == full;
      whole += !clamped;
      expect (clamped
              || (to[0][i] - from[0][i] == to[1][i] - from[1][i]
                  && to[1][i] - from[1][i] == to[2][i] - from[2][i]),
          "pixel %" G_GSIZE_FORMAT " has another colour", i);
    }
    expect (whole > n / 2, "only %" G_GSIZE_FORMAT " pixels tell", whole);
    for (guint c = 0; c < 3; c++) {
      g_free (from[c]);
      g_free (to[c]);
    }
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    filter_close (&filter);
  }
}

/* Codes outside of the nominal range are counted and mapped as its ends. */
static void
histo_equalize_range (void)
{
  static const char *const formats[] = { "I420", "NV12", "YUY2", "I420_10LE",
    "P010_10LE", "AYUV" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint32 seed = 1; seed <= 2; seed++) {
      GstVideoInfo info;
      GstBuffer *out;
      guint16 *codes;
      Filter filter;
      Table table;
      gsize n;

      filter_start (&filter, MODE, &info, formats[f], 67, 35, NULL);
      expect (info.colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235,
          "not of limited range");
      out = filter_process (&filter, picture_new (&info, seed));
      codes = picture_samples (out, &info, 0, &n);
      table_init (&table, &info);
      for (gsize i = 0; i < n; i++)
        expect (codes[i] >= table.black && codes[i] <= table.white, "code %u",
            codes[i]);
      g_free (table.code);
      g_free (codes);
      gst_buffer_unref (out);
      filter_close (&filter);
    }
}

/* ---- all formats, and sizes ---------------------------------------------- */

static const int sizes[][2] = { { 1, 1 }, { 17, 11 }, { 2, 90 }, { 325, 241 } };

/* A frame in an unusual layout, with a region and times, which the result must have,
 * too. */
static void
check_in_place (Filter *filter, const GstVideoInfo *info, const char *settings)
{
  for (guint32 l = 0; l < N_ODD_LAYOUTS; l++) {
    GstBuffer *in;
    GstBuffer *out = picture_process_laid_out (filter, info, l + 1, l, &in);

    expect_rest (in, out, info);
    histo_expect_result (histo_message (filter), out, info, settings);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  histo_expect_silence (filter);
}

static void
check_formats (const char *settings)
{
  for (int f = 0; video_formats[f]; f++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
      GstVideoInfo info;
      Filter filter;

      filter_start (&filter, settings, &info, video_formats[f], sizes[s][0],
          sizes[s][1], NULL);
      check_in_place (&filter, &info, settings);
      filter_close (&filter);
    }
}

static void
histo_equalize_formats (void)
{
  for (int f = 0; video_formats[f]; f++)
    for (guint s = 0; s + 1 < G_N_ELEMENTS (sizes); s++) {
      GstVideoInfo info;
      Filter filter;

      filter_start (&filter, MODE, &info, video_formats[f], sizes[s][0],
          sizes[s][1], NULL);
      check_frame (&filter, &info, picture_new (&info, s + 1), "");
      filter_close (&filter);
    }
  check_formats (MODE);
}

static void
histo_equalize_clahe_formats (void)
{
  check_formats (MODE "equalizer=clahe");
}

/* ---- strength ------------------------------------------------------------ */

static void
histo_equalize_strength_zero (void)
{
  static const char *const settings[] = { MODE "strength=0",
    MODE "strength=0 equalizer=clahe" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    for (int f = 0; video_formats[f]; f++) {
      GstVideoInfo info;
      Filter filter;

      filter_start (
          &filter, settings[s], &info, video_formats[f], 37, 21, NULL);
      for (guint32 n = 1; n <= 3; n++) {
        GstBuffer *in = picture_new (&info, n);
        GstBuffer *out = filter_process (&filter, gst_buffer_ref (in));

        picture_expect_same (in, out, &info);
        gst_buffer_unref (in);
        gst_buffer_unref (out);
      }
      filter_close (&filter);
    }
}

static void
histo_equalize_strength (void)
{
  static const char *const settings[] = { "strength=0.25", "strength=0.5",
    "strength=0.875" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
      char *all = g_strconcat (MODE, settings[s], NULL);
      GstVideoInfo info;
      Filter filter;

      filter_start (
          &filter, all, &info, cases[c].format, 66, 36, cases[c].more);
      check_frame (&filter, &info, picture_new (&info, 3), settings[s]);
      filter_close (&filter);
      g_free (all);
    }
}

static void
attach_ramp (GstElement *element)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *timed = GST_TIMED_VALUE_CONTROL_SOURCE (source);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set (timed, 0, 0.0);
  gst_timed_value_control_source_set (timed, 8 * GST_SECOND, 1.0);
  expect (gst_object_add_control_binding (GST_OBJECT (element),
              gst_direct_control_binding_new_absolute (
                  GST_OBJECT (element), "strength", source)),
      "strength cannot be controlled");
  gst_object_unref (source);
}

/* A controller sets a strength for every frame. */
static void
histo_equalize_strength_controlled (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, MODE "smoothing=0", &info, "NV12", 66, 36, NULL);
  attach_ramp (filter.element);
  for (guint n = 0; n <= 8; n++) {
    char *settings = g_strdup_printf ("strength=0.%03u", n * 125);
    GstBuffer *in = low_contrast (&info, n, 0.3, 0.2);

    GST_BUFFER_PTS (in) = n * GST_SECOND;
    check_frame (&filter, &info, in, n < 8 ? settings : "strength=1");
    g_free (settings);
  }
  filter_close (&filter);
}

/* ---- frames after one another -------------------------------------------- */

/* Filters a picture, updates the table with it, and expects the result of that
 * table. */
static void
check_followed (Filter *filter, Table *table, GstBuffer *in,
    const GstVideoInfo *info, const char *settings)
{
  GstBuffer *out = filter_process (filter, gst_buffer_ref (in));

  table_follow (table, in, info, settings);
  expect_mapped (table, in, out, info, 1.0, ROUNDED_TWICE);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

/* Events after which the table starts anew. */
typedef enum
{
  CUT_FLUSH,
  CUT_STREAM
} Cut;

static void
push_cut (Filter *filter, Cut cut)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  if (cut == CUT_FLUSH) {
    gst_harness_push_event (filter->harness, gst_event_new_flush_start ());
    gst_harness_push_event (filter->harness, gst_event_new_flush_stop (TRUE));
  } else {
    gst_harness_push_event (
        filter->harness, gst_event_new_stream_start ("another"));
  }
  gst_harness_push_event (filter->harness, gst_event_new_segment (&segment));
}

/* Pushes frames that are brighter from `step` on, and expects a table that follows
 * them, and that starts anew with the cut before frame `at`. */
static void
check_smoothing (
    const char *format, const char *settings, guint step, guint at, Cut cut)
{
  char *all = g_strconcat (MODE, settings, NULL);
  Table table = { 0 };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, all, &info, format, 66, 36, NULL);
  table_init (&table, &info);
  for (guint n = 0; n < 12; n++) {
    GstBuffer *in = low_contrast (&info, n, n < step ? 0.1 : 0.6, 0.2);

    if (n == at) {
      push_cut (&filter, cut);
      table.frames = 0;
    }
    check_followed (&filter, &table, in, &info, settings);
  }
  filter_close (&filter);
  g_free (table.code);
  g_free (all);
}

static void
histo_equalize_smoothing (void)
{
  static const char *const settings[] = { "smoothing=0", "smoothing=0.5",
    "smoothing=0.8", "smoothing=0.999" };
  static const char *const formats[] = { "I420", "GRAY8", "I420_10LE", "RGBA" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
      check_smoothing (formats[f], settings[s], 4, G_MAXUINT, CUT_FLUSH);
}

static void
check_cut (Cut cut)
{
  check_smoothing ("I420", "smoothing=0.9", 5, 5, cut);
  check_smoothing ("I420", "smoothing=0.9", 5, 7, cut);
  check_smoothing (
      "GRAY8", "equalizer=clahe tiles-x=1 tiles-y=1 smoothing=0.9", 5, 7, cut);
}

static void
histo_equalize_flush (void)
{
  check_cut (CUT_FLUSH);
}

static void
histo_equalize_new_stream (void)
{
  check_cut (CUT_STREAM);
}

/* A frame of another size starts anew, too. */
static void
histo_equalize_new_caps (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, MODE "smoothing=0.9", &info, "I420", 66, 36, NULL);
  check_frame (&filter, &info, low_contrast (&info, 1, 0.1, 0.2), "");
  for (int width = 64; width < 70; width += 2) {
    video_info (&info, "I420", width, 36, NULL);
    expect (filter_caps (&filter, video_caps ("I420", width, 36, NULL)),
        "caps refused");
    check_frame (&filter, &info, low_contrast (&info, 2, 0.6, 0.2), "");
  }
  filter_close (&filter);
}

/* So do frames after others that passed untouched and unreported. */
static void
histo_equalize_after_rest (void)
{
  static const char *const settings[] = { "smoothing=0.9",
    "smoothing=0.9 equalizer=clahe tiles-x=1 tiles-y=1" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    char *all = g_strconcat (MODE "post-messages=false ", settings[s], NULL);
    Table table = { 0 };
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, all, &info, "I420", 66, 36, NULL);
    table_init (&table, &info);
    for (guint n = 0; n < 9; n++) {
      GstBuffer *in = low_contrast (&info, n, n < 4 ? 0.1 : 0.6, 0.2);

      if (n % 4 == 3) {
        settings_apply (filter.element, "mode=analyze");
        gst_buffer_unref (filter_process (&filter, gst_buffer_ref (in)));
        settings_apply (filter.element, "mode=equalize");
        table.frames = 0;
      }
      check_followed (&filter, &table, in, &info, settings[s]);
    }
    filter_close (&filter);
    g_free (table.code);
    g_free (all);
  }
}

/* ---- tiles --------------------------------------------------------------- */

/* A single tile gives the global table. */
static void
histo_equalize_clahe_one_tile (void)
{
  static const char *const settings[] = { "clip-limit=0", "clip-limit=1",
    "clip-limit=3", "clip-limit=40" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
      char *all = g_strconcat (
          MODE "equalizer=clahe tiles-x=1 tiles-y=1 ", settings[s], NULL);
      GstVideoInfo info;
      Filter filter;

      filter_start (
          &filter, all, &info, cases[c].format, 66, 36, cases[c].more);
      check_frame (&filter, &info, low_contrast (&info, s, 0.3, 0.3), all);
      filter_close (&filter);
      g_free (all);
    }
}

/* The code that equalize.h gives to a flat picture. */
static double
uniform_code (const Table *table, int code, int samples, double clip_limit)
{
  guint16 *luma = g_new (guint16, samples);
  double *own, result;

  for (int i = 0; i < samples; i++)
    luma[i] = (guint16) code;
  own = own_table (table, luma, (gsize) samples, clip_limit);
  result = own[bin_of (table, code)];
  g_free (luma);
  g_free (own);
  return result;
}

/* All tiles have the same size, and each counts as many samples as a tile of a picture
 * that the tiles divide evenly. */
static void
check_uniform (const char *format, int code, int tiles, double clip_limit)
{
  const int width = 66, height = 36;
  const gboolean extended = width % tiles != 0 || height % tiles != 0;
  const int samples = (width / tiles + extended) * (height / tiles + extended);
  char *settings = g_strdup_printf (MODE
      "equalizer=clahe tiles-x=%d tiles-y=%d clip-limit=%g",
      tiles, tiles, clip_limit);
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;
  Table table;

  filter_start (&filter, settings, &info, format, width, height, NULL);
  table_init (&table, &info);
  in = uniform (&info, (guint) code);
  out = filter_process (&filter, gst_buffer_ref (in));
  for (int i = 0; i <= table.white - table.black; i++)
    table.code[i] = uniform_code (&table, code, samples, clip_limit);
  expect_mapped (&table, in, out, &info, 1.0, ROUNDED_ONCE);
  g_free (table.code);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
  g_free (settings);
}

static void
histo_equalize_clahe_uniform (void)
{
  static const char *const formats[] = { "I420", "GRAY8", "RGB" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (int tiles = 1; tiles <= 8; tiles++) {
      check_uniform (formats[f], 100, tiles, 0.0);
      check_uniform (formats[f], 100, tiles, 3.0);
      check_uniform (formats[f], 0, tiles, 1.0);
      check_uniform (formats[f], 255, tiles, 20.0);
    }
}

/* A flat picture keeps its code. */
static void
histo_equalize_uniform (void)
{
  static const int codes[] = { 16, 100, 235 };

  for (guint c = 0; c < G_N_ELEMENTS (codes); c++)
    for (int f = 0; video_formats[f]; f++) {
      GstVideoInfo info;
      GstBuffer *in, *out;
      Filter filter;

      filter_start (&filter, MODE, &info, video_formats[f], 37, 21, NULL);
      in = uniform (&info, (guint) codes[c] << (picture_depth (&info, 0) - 8));
      out = filter_process (&filter, gst_buffer_ref (in));
      picture_expect_same (in, out, &info);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
      filter_close (&filter);
    }
}

/* Settings that change while playing have the same result as from the start, where
 * earlier frames do not matter. */
static void
histo_equalize_changes (void)
{
  /* The empty one stands for the largest number of tiles. */
  static const char *const steps[] = { "equalizer=clahe", "tiles-x=3",
    "clip-limit=40", "tiles-y=1 clip-limit=1", "strength=0.5",
    "equalizer=global", "", "strength=1", "clip-limit=0" };
  /* A tile of 16 bits has a table of 65,536 codes: 64 by 64 tiles take minutes. */
  static const struct
  {
    const char *format, *most_tiles;
  } cases[] = { { "NV12", "equalizer=clahe tiles-x=64 tiles-y=64" },
    { "GRAY16_LE", "equalizer=clahe tiles-x=9 tiles-y=10" },
    { "BGRA", "equalizer=clahe tiles-x=64 tiles-y=64" } };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    GString *settings = g_string_new (MODE "smoothing=0");
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings->str, &info, cases[c].format, 131, 67, NULL);
    for (guint32 s = 0; s < G_N_ELEMENTS (steps); s++) {
      const char *step = *steps[s] != '\0' ? steps[s] : cases[c].most_tiles;
      GstBuffer *in = low_contrast (&info, s, 0.3, 0.3), *out, *want;

      g_string_append_printf (settings, " %s", step);
      settings_apply (filter.element, step);
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

const Test tests_histo_equalize[] = {
  { "histo-equalize-global", histo_equalize_global, VARIANT_BOTH },
  { "histo-equalize-flat", histo_equalize_flat, VARIANT_BOTH },
  { "histo-equalize-colors", histo_equalize_colors, VARIANT_BOTH },
  { "histo-equalize-range", histo_equalize_range, VARIANT_BOTH },
  { "histo-equalize-uniform", histo_equalize_uniform, VARIANT_BOTH },
  { "histo-equalize-formats", histo_equalize_formats, VARIANT_BOTH },
  { "histo-equalize-strength", histo_equalize_strength, VARIANT_BOTH },
  { "histo-equalize-strength-zero", histo_equalize_strength_zero,
      VARIANT_BOTH },
  { "histo-equalize-strength-controlled", histo_equalize_strength_controlled,
      VARIANT_BOTH },
  { "histo-equalize-smoothing", histo_equalize_smoothing, VARIANT_BOTH },
  { "histo-equalize-flush", histo_equalize_flush, VARIANT_BOTH },
  { "histo-equalize-new-stream", histo_equalize_new_stream, VARIANT_BOTH },
  { "histo-equalize-after-rest", histo_equalize_after_rest, VARIANT_BOTH },
  { "histo-equalize-new-caps", histo_equalize_new_caps, VARIANT_BOTH },
  { "histo-equalize-clahe-one-tile", histo_equalize_clahe_one_tile,
      VARIANT_BOTH },
  { "histo-equalize-clahe-uniform", histo_equalize_clahe_uniform,
      VARIANT_BOTH },
  { "histo-equalize-clahe-formats", histo_equalize_clahe_formats,
      VARIANT_BOTH },
  { "histo-equalize-changes", histo_equalize_changes, VARIANT_BOTH },
  { 0 },
};
