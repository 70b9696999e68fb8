/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Statistics in cudahisto's messages, compared with plain sums over the samples. */
#include "histo-oracle.h"

/* Counts one picture and compares the statistics; keeps the picture. */
static void
check_picture (Filter *filter, const GstVideoInfo *info, GstBuffer *picture,
    const char *settings)
{
  GstMessage *message;
  char *problem;

  gst_buffer_unref (filter_process (filter, gst_buffer_ref (picture)));
  message = histo_message (filter);
  problem = histo_compare_statistics (message, picture, info, settings);
  expect (problem == NULL, "%s", problem);
  gst_message_unref (message);
}

static void
check_noise (const char *format, const char *more, const char *settings)
{
  char *all = g_strdup_printf ("cudahisto interval=0 %s", settings);
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, all, &info, format, 43, 29, more);
  /* Odd seeds are noise of all codes, even ones of the two extremes. */
  for (guint32 seed = 1; seed <= 4; seed++) {
    GstBuffer *picture = picture_new (&info, seed);

    check_picture (&filter, &info, picture, all);
    gst_buffer_unref (picture);
  }
  filter_close (&filter);
  g_free (all);
}

/* Limited and full range, and matrices that weigh R, G and B differently. */
static const struct
{
  const char *format, *more, *exact; /* numbers of bins with one code each */
} rows[] = {
  { "I420", NULL, "bins=256" },
  { "I420", "colorimetry=(string)bt709", "bins=256" },
  { "I420", "colorimetry=(string)1:4:0:4", "bins=256" },
  { "NV12", "colorimetry=(string)1:3:5:1", "bins=256" },
  { "AYUV", NULL, "bins=256" },
  { "YUY2", NULL, "bins=256" },
  { "I420_10LE", NULL, "bins=1024" },
  { "I420_10LE", "colorimetry=(string)1:6:13:7", "bins=1024" },
  { "P010_10LE", "colorimetry=(string)bt2020", "bins=1024" },
  { "I420_12LE", NULL, "bins=4096" },
  { "P016_LE", NULL, "bins=65536" },
  { "GRAY8", NULL, "bins=256" },
  { "GRAY8", "colorimetry=(string)2:4:0:4", "bins=256" },
  { "GRAY16_LE", NULL, "bins=65536" },
  { "RGB", NULL, "bins=256" },
  { "RGBA", NULL, "bins=256" },
  { "BGRx", "colorimetry=(string)2:1:7:1", "bins=256" },
  { "GBR_10LE", NULL, "bins=1024" },
  { "ARGB64", NULL, "bins=65536" },
};

static void
histo_statistics_exact (void)
{
  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    char *settings = g_strdup_printf ("planes=all %s", rows[r].exact);

    check_noise (rows[r].format, rows[r].more, settings);
    g_free (settings);
  }
}

/* Fewer bins than codes, and more: each sample counts as the centre of its bin. */
static void
histo_statistics_of_bins (void)
{
  static const char *const settings[] = { "planes=all bins=2",
    "planes=all bins=7", "planes=all bins=255", "planes=all bins=1000",
    "planes=all bins=65536" };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
      check_noise (rows[r].format, rows[r].more, settings[s]);
}

/* Thresholds between codes. */
static void
histo_statistics_thresholds (void)
{
  static const char *const settings[] = {
    "planes=all bins=1024 threshold-dark=0.3333 threshold-bright=0.3334",
    "planes=all bins=1024 threshold-dark=0.9001 threshold-bright=0.0999",
    "planes=all bins=16 threshold-dark=0.2501 threshold-bright=0.7501",
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
      check_noise (rows[r].format, rows[r].more, settings[s]);
}

/* One sample, and pictures of one row or column. */
static void
histo_statistics_tiny (void)
{
  static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 1, 3 }, { 101, 1 },
    { 1, 100 } };

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, "cudahisto interval=0", &info, "I420", sizes[s][0],
        sizes[s][1], NULL);
    for (guint32 seed = 1; seed < 5; seed++) {
      GstBuffer *picture = picture_new (&info, seed);

      check_picture (&filter, &info, picture, "");
      gst_buffer_unref (picture);
    }
    filter_close (&filter);
  }
}

/* ---- numbers worked out by hand ------------------------------------------ */

/* One number of the message about a grey picture with these codes in a row. */
static double
number_of (const char *settings, const char *more, const guint8 *codes, int n,
    const char *field)
{
  char *all = g_strdup_printf ("cudahisto interval=0 %s", settings);
  const GstStructure *structure;
  GstBuffer *picture;
  GstMessage *message;
  GstVideoInfo info;
  Filter filter;
  double number;

  filter_start (&filter, all, &info, "GRAY8", n, 1, more);
  picture = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_memset (picture, 0, 0xaa, info.size);
  gst_buffer_fill (picture, 0, codes, (gsize) n);
  gst_buffer_unref (filter_process (&filter, picture));
  message = histo_message (&filter);
  structure = histo_component (message, 0);
  if (!gst_structure_has_field (structure, field))
    structure = gst_message_get_structure (message);
  number = histo_number (structure, field);
  gst_message_unref (message);
  filter_close (&filter);
  g_free (all);
  return number;
}

static void
histo_statistics_by_hand (void)
{
  static const guint8 codes[] = { 10, 20, 20, 30, 40, 50, 60, 70 };
  static const struct
  {
    const char *settings, *field;
    double want;
  } numbers[] = {
    { "", "min", 10.0 },
    { "", "max", 70.0 },
    { "", "mean", 37.5 },
    /* Squares around 37.5: 756.25 + 2 * 306.25 + 56.25 + 6.25 + 156.25 + 506.25
     * + 1056.25 = 3150, over 8. */
    { "", "stddev", 19.843134832984430 },
    /* Four of the eight samples are not above it. */
    { "", "median", 30.0 },
    { "", "p1", 10.0 },
    { "", "p99", 70.0 },
    /* Six codes with a share of 1/8, one with 2/8. */
    { "", "entropy", 2.75 },
    { "", "level", 37.5 / 255.0 },
    { "", "spread", 19.843134832984430 / 255.0 },
    /* 0.1 is code 25.5, 0.2 is 51. */
    { "threshold-dark=0.1", "dark", 0.375 },
    { "threshold-bright=0.2", "bright", 0.25 },
    /* Codes 0 to 127 and 128 to 255: all samples count as 63.5. */
    { "bins=2", "mean", 63.5 },
    { "bins=2", "stddev", 0.0 },
    { "bins=2", "entropy", 0.0 },
    { "bins=2", "median", 63.5 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    const double got = number_of (numbers[i].settings, NULL, codes,
        G_N_ELEMENTS (codes), numbers[i].field);

    expect (ABS (got - numbers[i].want) < 1e-9, "%s [%s] is %.12g",
        numbers[i].field, numbers[i].settings, got);
  }
}

/* At level 0 only black itself is dark, at level 1 only white itself is bright. */
static void
histo_statistics_black_and_white (void)
{
  static const guint8 codes[] = { 0, 1, 15, 16, 17, 234, 235, 236, 254, 255 };
  static const char limited[] = "colorimetry=(string)2:4:0:4";
  static const struct
  {
    const char *more, *settings, *field;
    double want;
  } numbers[] = {
    { NULL, "threshold-dark=0", "dark", 0.1 },
    { NULL, "threshold-bright=1", "bright", 0.1 },
    { NULL, "threshold-dark=1", "dark", 1.0 },
    { NULL, "threshold-bright=0", "bright", 1.0 },
    { limited, "threshold-dark=0", "dark", 0.4 },
    { limited, "threshold-bright=1", "bright", 0.4 },
    { limited, "threshold-dark=1", "dark", 0.7 },
    { limited, "threshold-bright=0", "bright", 0.7 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    const double got = number_of (numbers[i].settings, numbers[i].more, codes,
        G_N_ELEMENTS (codes), numbers[i].field);

    expect (ABS (got - numbers[i].want) < 1e-9, "%s [%s, %s] is %.12g",
        numbers[i].field, numbers[i].settings,
        numbers[i].more ? numbers[i].more : "full", got);
  }
}

const Test tests_histo_statistics[] = {
  { "histo-statistics-exact", histo_statistics_exact, VARIANT_BOTH },
  { "histo-statistics-of-bins", histo_statistics_of_bins, VARIANT_BOTH },
  { "histo-statistics-thresholds", histo_statistics_thresholds, VARIANT_BOTH },
  { "histo-statistics-tiny", histo_statistics_tiny, VARIANT_BOTH },
  { "histo-statistics-by-hand", histo_statistics_by_hand, VARIANT_ANY },
  { "histo-statistics-black-and-white", histo_statistics_black_and_white,
      VARIANT_ANY },
  { 0 },
};
