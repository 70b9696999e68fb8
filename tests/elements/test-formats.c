/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every format at every kind of size, compared with the oracle. */
#include "picture-oracle.h"

static const struct
{
  int width, height;
} sizes[] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 17, 13 }, { 64, 36 },
  { 325, 241 } };

/* Runs all formats and sizes through one filter, so that each is a change of caps, and reports all
 * that differ. */
static void
check_formats (const char *settings, const char *more)
{
  GString *problems = g_string_new (NULL);
  guint32 seed = 1;
  Filter filter;

  filter_open (&filter, settings);
  for (int f = 0; video_formats[f]; f++) {
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++, seed++) {
      const int width = sizes[s].width, height = sizes[s].height;
      GstBuffer *in, *out;
      GstVideoInfo info;
      char *problem;

      test_context ("format=%s size=%dx%d caps=%s settings=%.400s",
          video_formats[f], width, height, more ? more : "-", settings);
      video_info (&info, video_formats[f], width, height, more);
      expect (filter_caps (
                  &filter, video_caps (video_formats[f], width, height, more)),
          "caps refused");
      in = picture_new (&info, seed);
      out = filter_process (&filter, gst_buffer_ref (in));
      problem = picture_compare (in, out, &info, settings, FALSE);
      if (problem)
        g_string_append_printf (problems, "\n  %s", problem);
      g_free (problem);
      gst_buffer_unref (out);
      gst_buffer_unref (in);
    }
  }
  expect (problems->len == 0, "%s", problems->str);
  g_string_free (problems, TRUE);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

static void
formats_defaults (void)
{
  check_formats ("kernel=gaussian", NULL);
}

static void
formats_custom_taps (void)
{
  check_formats (
      "kernel=custom taps-x=<0.1,-0.2,0.9,0.4> taps-y=<0.5,0.3,0.1>", NULL);
}

static void
formats_chroma_unscaled (void)
{
  check_formats ("sigma=1.3 sigma-y=2.6 scale-chroma=false", NULL);
}

static void
formats_all_planes (void)
{
  check_formats ("sigma=1.5 planes=all", NULL);
}

/* A derivative of a flat picture is the zero level plus the bias. */
static void
formats_derivative (void)
{
  check_formats ("kernel=sobel-x scale=0.25 bias=0.125", NULL);
}

static void
formats_border_constant (void)
{
  check_formats (
      "sigma=1.2 border=constant border-color=0x80ff8000 planes=all", NULL);
}

/* Only one kind of plane is filtered; the others are copied. Formats without such a plane pass
 * untouched; RGB has no luma or chroma to select. */
static void
check_selection (const char *planes)
{
  char *settings = g_strdup_printf ("sigma=2 planes=%s", planes);
  GString *problems = g_string_new (NULL);

  for (int f = 0; video_formats[f]; f++) {
    GstVideoInfo info;
    GstBuffer *in, *out;
    Filter filter;
    char *problem;

    test_context ("format=%s settings=%s", video_formats[f], settings);
    video_info (&info, video_formats[f], 37, 18, NULL);
    if (GST_VIDEO_INFO_IS_RGB (&info) && !g_str_equal (planes, "alpha"))
      continue;
    filter_open (&filter, settings);
    expect (filter_caps (&filter, video_caps (video_formats[f], 37, 18, NULL)),
        "caps refused");
    in = picture_new (&info, 7);
    out = filter_process (&filter, gst_buffer_ref (in));
    problem = picture_compare (in, out, &info, settings, FALSE);
    if (problem)
      g_string_append_printf (problems, "\n  %s", problem);
    g_free (problem);
    filter_expect_silence (&filter);
    gst_buffer_unref (out);
    gst_buffer_unref (in);
    filter_close (&filter);
  }
  expect (problems->len == 0, "%s", problems->str);
  g_string_free (problems, TRUE);
  g_free (settings);
}

static void
formats_planes_luma (void)
{
  check_selection ("luma");
}

static void
formats_planes_chroma (void)
{
  check_selection ("chroma");
}

static void
formats_planes_alpha (void)
{
  check_selection ("alpha");
}

/* Zero levels follow the range of the caps. */
static void
formats_colorimetry (void)
{
  static const char *const formats[] = { "GRAY8", "GRAY16_LE", "I420", "NV12",
    "AYUV", "P010_10LE", "I420_12LE", "Y444_16LE" };
  /* range:matrix:transfer:primaries; 1 is full range, 2 limited; matrices 3
   * (BT.709), 4 (BT.601) and 6 (BT.2020). */
  static const char *const colorimetry[] = { "1:3:5:1", "2:3:5:1", "1:4:0:4",
    "2:4:16:4", "1:6:14:7", "2:6:14:7" };
  static const char *const settings[] = {
    "kernel=sobel-y scale=0.125",
    "kernel=prewitt-x scale=0.5 bias=0.25",
    "kernel=custom taps-x=<1.5> scale=0.8",
    "kernel=box radius=2 border=constant border-color=0xff3060c0",
  };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint c = 0; c < G_N_ELEMENTS (colorimetry); c++) {
      char *more = g_strdup_printf ("colorimetry=(string)%s", colorimetry[c]);

      for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
        picture_check (formats[f], 19, 11, more, settings[s]);
      g_free (more);
    }
}

/* Settings whose result is a derivative of chroma, around grey. */
static void
formats_derivative_chroma (void)
{
  check_formats (
      "kernel=sobel-y scale=0.25 bias=0.25 neutral-chroma=false", NULL);
}

/* The same with planes=all, which includes alpha; some formats have it in the same plane. */
static void
formats_derivative_all (void)
{
  check_formats (
      "kernel=prewitt-x radius=2 scale=0.05 bias=0.5 planes=all", NULL);
}

/* Edges are grey by default, as the element's page shows, in all kinds of formats, even where only
 * the colours of the picture change. */
static void
formats_derivative_is_grey (void)
{
  static const char *const formats[] = { "I420", "NV12", "YUY2", "AYUV", "VUYA",
    "AYUV64", "Y210" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstVideoInfo info;
    GstBuffer *out;
    Filter filter;

    filter_start (&filter, "kernel=sobel-x scale=0.125 bias=0.5", &info,
        formats[f], 33, 17, NULL);
    out = filter_process (&filter, picture_new (&info, 3));
    for (guint c = 1; c < 3; c++) {
      const guint grey = 1u
          << (GST_VIDEO_FORMAT_INFO_DEPTH (info.finfo, c) - 1);
      gsize n;
      guint16 *codes = picture_samples (out, &info, c, &n);

      for (gsize i = 0; i < n; i++)
        expect (codes[i] == grey, "chroma %u is %u at %" G_GSIZE_FORMAT, c,
            codes[i], i);
      g_free (codes);
    }
    gst_buffer_unref (out);
    filter_close (&filter);
  }
}

/* A bias changes brightness, but not the tint. */
static void
formats_bias_without_tint (void)
{
  static const char *const formats[] = { "I420", "NV12", "AYUV", "RGB",
    "GRAY8" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    picture_check (formats[f], 21, 12, NULL, "sigma=0 bias=0.25");
    picture_check (formats[f], 21, 12, NULL, "sigma=1.5 bias=-0.1 planes=all");
  }
}

/* The engine's planes for a format may differ from kernel to kernel, also from frame to frame. */
static void
formats_kernel_changes (void)
{
  static const char *const steps[] = { "kernel=gaussian", "kernel=sobel-x",
    "kernel=sobel-x histogram=true histogram-interval=0", "kernel=box radius=2",
    "kernel=sobel-y radius=1 neutral-chroma=false",
    "kernel=sobel-y neutral-chroma=true", "kernel=sobel-y planes=luma" };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "kernel=gaussian", &info, "AYUV", 30, 20, NULL);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("format=AYUV size=30x20 %s", steps[s]);
    settings_apply (filter.element, steps[s]);
    picture_check_frame (&filter, &info, s + 1, steps[s]);
  }
  filter_close (&filter);
}

/* Takes the positions of components from GStreamer's unpack functions, not from its table of
 * formats or from the oracle. Scaling by a half must halve a flat picture's distance from the zero
 * levels. */
static void
check_packing (const char *format)
{
  enum
  {
    WIDTH = 8,
    HEIGHT = 2
  };
  /* A, Y, U, V of 16 bits. In limited range, Y is 16 * 256 from black, and U and V are 128 * 256
   * from their zero level. */
  static const guint16 colour[] = { 0xffff, 0x9000, 0x6000, 0xa000 };
  static const guint16 halved[] = { 0xffff, 0x5000, 0x7000, 0x9000 };
  guint16 pixels[4 * WIDTH * HEIGHT];
  GstVideoFrame frame;
  GstBuffer *in, *out;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "kernel=custom taps-x=<0.25,0.25,0.25,0.25> scale=0.5",
      &info, format, WIDTH, HEIGHT, "colorimetry=(string)2:4:16:4");
  in = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_memset (in, 0, 0, info.size);
  for (guint i = 0; i < G_N_ELEMENTS (pixels); i++)
    pixels[i] = colour[i % 4];
  expect (gst_video_frame_map (&frame, &info, in, GST_MAP_WRITE), "no mapping");
  for (int y = 0; y < HEIGHT; y++)
    info.finfo->pack_func (info.finfo, GST_VIDEO_PACK_FLAG_NONE, pixels, 0,
        frame.data, frame.info.stride, GST_VIDEO_CHROMA_SITE_UNKNOWN, y, WIDTH);
  gst_video_frame_unmap (&frame);
  out = filter_process (&filter, in);
  expect (gst_video_frame_map (&frame, &info, out, GST_MAP_READ), "no mapping");
  for (int y = 0; y < HEIGHT; y++) {
    info.finfo->unpack_func (info.finfo, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE,
        pixels, frame.data, frame.info.stride, 0, y, WIDTH);
    for (guint i = 0; i < 4 * WIDTH; i++)
      expect (i % 4 == 0 || pixels[i] == halved[i % 4],
          "component %u of pixel (%u,%d) is 0x%04x instead of 0x%04x", i % 4,
          i / 4, y, pixels[i], halved[i % 4]);
  }
  gst_video_frame_unmap (&frame);
  gst_buffer_unref (out);
  filter_close (&filter);
}

static void
formats_packing (void)
{
  for (int f = 0; video_formats[f]; f++) {
    GstVideoInfo info;

    video_info (&info, video_formats[f], 8, 2, NULL);
    if (GST_VIDEO_INFO_IS_YUV (&info)
        && info.finfo->unpack_format == GST_VIDEO_FORMAT_AYUV64)
      check_packing (video_formats[f]);
  }
}

/* Expects the samples of `packed` to be those that GStreamer finds when it unpacks the picture into
 * planes. */
static void
expect_unpacked (const char *format, const char *planar, int width)
{
  GstVideoInfo packed, planes;
  GstVideoConverter *converter;
  GstVideoFrame from, to;
  GstBuffer *in, *out;

  video_info (&packed, format, width, 3, NULL);
  video_info (&planes, planar, width, 3, NULL);
  in = picture_new (&packed, (guint32) width);
  out = gst_buffer_new_allocate (NULL, planes.size, NULL);
  converter = gst_video_converter_new (&packed, &planes,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE,
          GST_VIDEO_CONVERTER_OPT_CHROMA_MODE, GST_TYPE_VIDEO_CHROMA_MODE,
          GST_VIDEO_CHROMA_MODE_NONE, NULL));
  expect (gst_video_frame_map (&from, &packed, in, GST_MAP_READ)
          && gst_video_frame_map (&to, &planes, out, GST_MAP_WRITE),
      "no mapping");
  gst_video_converter_frame (converter, &from, &to);
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&planes); c++) {
    gsize n, m;
    guint16 *a = picture_samples (in, &packed, c, &n);
    guint16 *b = picture_samples (out, &planes, c, &m);

    /* GStreamer does not replicate the 2 bits of alpha in all formats. */
    for (gsize i = 0; c == GST_VIDEO_COMP_A && i < MIN (n, m); i++) {
      a[i] >>= 8;
      b[i] >>= 8;
    }
    expect (n == m && memcmp (a, b, n * sizeof *a) == 0,
        "component %u has other samples", c);
    g_free (a);
    g_free (b);
  }
  gst_video_converter_free (converter);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

static void
formats_packed (void)
{
  static const char *const formats[][2] = { { "v210", "I422_10LE" },
    { "UYVP", "I422_10LE" }, { "Y410", "A444_10LE" },
    { "RGB10A2_LE", "GBRA_10LE" }, { "BGR10A2_LE", "GBRA_10LE" },
    { "r210", "GBR_10LE" }, { "RGB16", "GBR" }, { "BGR16", "GBR" },
    { "RGB15", "GBR" }, { "BGR15", "GBR" }, { "NV12_10LE32", "P010_10LE" },
    { "NV16_10LE32", "I422_10LE" }, { "NV12_10LE40", "P010_10LE" },
    { "P010_10BE", "P010_10LE" }, { "I420_12BE", "I420_12LE" },
    { "A422_10BE", "A422_10LE" }, { "GBRA_12BE", "GBRA_12LE" },
    { "Y412_BE", "Y412_LE" }, { "ARGB64_BE", "ARGB64" },
    { "GRAY16_BE", "GRAY16_LE" } };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (int width = 1; width <= 20; width++) {
      test_context ("format=%s width=%d", formats[f][0], width);
      /* For UYVP of odd width, GStreamer reads beyond the rows. */
      if (width % 2 == 0 || !g_str_equal (formats[f][0], "UYVP"))
        expect_unpacked (formats[f][0], formats[f][1], width);
    }
}

static void
check_short_rows (const char *format, int width)
{
  GstElement *element = element_make ("cudasepconv");
  GstHarness *harness = gst_harness_new_with_element (element, "sink", "src");
  char *what = g_strdup_printf ("%s, %dx4", format, width);
  GstBus *bus = gst_bus_new ();
  GstMessage *message;
  GstVideoInfo info;
  GError *error;
  char *debug;

  test_context ("%s", what);
  video_info (&info, format, width, 4, NULL);
  gst_element_set_bus (element, bus);
  gst_harness_set_src_caps (harness, video_caps (format, width, 4, NULL));
  gst_harness_push (harness, gst_buffer_new_allocate (NULL, info.size, NULL));
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  expect (message != NULL, "no error");
  message_parse (message, &error, &debug);
  expect (strstr (error->message, what) != NULL
          && strstr (error->message, "last pixel") != NULL,
      "the error is \"%s\"", error->message);
  g_error_free (error);
  g_free (debug);
  g_free (what);
  gst_message_unref (message);
  gst_harness_teardown (harness);
  gst_object_unref (element);
  gst_object_unref (bus);
}

/* GStreamer's rows of such widths are too short for the last pixel. */
static void
formats_short_rows (void)
{
  check_short_rows ("UYVP", 11);
  check_short_rows ("NV12_10LE32", 9);
  check_short_rows ("NV16_10LE32", 15);
}

/* Sets, or clears, all bits of 16-bit words from bit `depth` on. */
static void
set_bits_above (GstBuffer *buffer, guint depth, gboolean set)
{
  const guint16 above = (guint16) (0xffffu << depth);
  GstMapInfo map;

  ck_assert (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  for (gsize i = 0; i + 1 < map.size; i += 2) {
    const guint16 code = GST_READ_UINT16_LE (map.data + i) & (guint16) ~above;

    GST_WRITE_UINT16_LE (map.data + i, set ? code | above : code);
  }
  gst_buffer_unmap (buffer, &map);
}

/* Expects the same result with these bits set, except for the bits themselves, which copied samples
 * keep. */
static void
check_stray_bits (const char *settings, const char *format)
{
  GstBuffer *in, *stray, *out, *other;
  GstVideoInfo info;
  Filter filter;
  guint depth;

  filter_start (&filter, settings, &info, format, 29, 12, NULL);
  test_context ("format=%s settings=%s", format, settings);
  depth = GST_VIDEO_INFO_COMP_DEPTH (&info, 0);
  in = picture_new (&info, 1);
  stray = gst_buffer_copy_deep (in);
  set_bits_above (stray, depth, TRUE);
  out = filter_process (&filter, in);
  other = gst_buffer_make_writable (filter_process (&filter, stray));
  set_bits_above (other, depth, FALSE);
  picture_expect_same (out, other, &info);
  gst_buffer_unref (out);
  gst_buffer_unref (other);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* Tables have no entries for bits of a sample above its depth, which should be 0. */
static void
formats_stray_bits (void)
{
  static const char *const formats[] = { "GBR_10LE", "GBRA_10LE", "GBR_12LE",
    "GBRA_12LE", "I420_10LE", "A420_10LE", "I422_12LE", "Y444_12LE" };
  static const char *const ways[] = { "gamma=linear sigma=1",
    "gamma=linear alpha-mode=premultiply sigma=1", "cudahisto mode=equalize",
    "cudahisto mode=equalize equalizer=clahe" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
      if (strstr (ways[w], "alpha-mode") == NULL
          || strchr (formats[f], 'A') != NULL)
        check_stray_bits (ways[w], formats[f]);
}

const Test tests_formats[] = {
  { "formats-defaults", formats_defaults, VARIANT_BOTH },
  { "formats-custom-taps", formats_custom_taps, VARIANT_BOTH },
  { "formats-chroma-unscaled", formats_chroma_unscaled, VARIANT_BOTH },
  { "formats-all-planes", formats_all_planes, VARIANT_BOTH },
  { "formats-derivative", formats_derivative, VARIANT_BOTH },
  { "formats-border-constant", formats_border_constant, VARIANT_BOTH },
  { "formats-planes-luma", formats_planes_luma, VARIANT_BOTH },
  { "formats-planes-chroma", formats_planes_chroma, VARIANT_BOTH },
  { "formats-planes-alpha", formats_planes_alpha, VARIANT_BOTH },
  { "formats-colorimetry", formats_colorimetry, VARIANT_BOTH },
  { "formats-derivative-chroma", formats_derivative_chroma, VARIANT_BOTH },
  { "formats-derivative-all", formats_derivative_all, VARIANT_BOTH },
  { "formats-derivative-is-grey", formats_derivative_is_grey, VARIANT_BOTH },
  { "formats-bias-without-tint", formats_bias_without_tint, VARIANT_BOTH },
  { "formats-kernel-changes", formats_kernel_changes, VARIANT_BOTH },
  { "formats-packing", formats_packing, VARIANT_BOTH },
  { "formats-packed", formats_packed, VARIANT_CPU },
  { "formats-short-rows", formats_short_rows, VARIANT_CPU },
  { "formats-stray-bits", formats_stray_bits, VARIANT_BOTH },
  { 0 },
};
