/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels, borders, levels and methods, compared with the oracle. */
#include "picture-oracle.h"

#include <math.h>

static void
kernels_generated (void)
{
  static const char *const settings[] = {
    "kernel=gaussian sigma=0.4",
    "kernel=gaussian sigma=5 sigma-y=1",
    "kernel=gaussian sigma=0 sigma-y=3",
    "kernel=gaussian sigma=3 radius=2",
    "kernel=gaussian sigma=3 radius=2 radius-y=9",
    "kernel=gaussian sigma=1 radius-y=5",
    "kernel=box radius=3",
    "kernel=box radius=0 radius-y=4",
    "kernel=box",
    "kernel=box radius=5 scale-chroma=false",
    "kernel=binomial radius=1",
    "kernel=binomial radius=6 radius-y=2",
    "kernel=binomial",
    "kernel=sobel-x scale=0.25",
    "kernel=sobel-y scale=0.25 bias=0.5",
    "kernel=sobel-x radius=2 scale=0.015625 bias=0.5",
    "kernel=sobel-y radius=1 radius-y=3 scale=0.01",
    "kernel=scharr-x scale=0.0625",
    "kernel=scharr-y scale=0.0625 bias=0.5",
    "kernel=prewitt-x scale=0.3333",
    "kernel=prewitt-y radius=2 scale=0.04 bias=0.5",
  };
  static const char *const formats[] = { "GRAY8", "I420", "P010_10LE", "RGBA" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
      picture_check (formats[f], 37, 22, NULL, settings[s]);
}

static void
kernels_custom (void)
{
  static const char *const settings[] = {
    "kernel=custom taps-x=<0.5,0.5>",
    "kernel=custom taps-x=<0.25,0.25,0.25,0.25> taps-y=<0.7,0.3>",
    "kernel=custom taps-x=<1.0,2.0,1.0> normalize=true",
    "kernel=custom taps-x=<1,2,3> normalize=true",
    "kernel=custom taps-x=<-1.0,3.0,-1.0> taps-y=<0.0,1.0,0.0>",
    "kernel=custom taps-x=<0.0,0.0,1.0> taps-y=<1.0>",
    "kernel=custom taps-x=<2.0> taps-y=<1.0>",
    "kernel=custom taps-x=<0.0>",
    "kernel=custom taps-x=<0.5,0.5> scale=2 bias=-0.5",
    "kernel=custom taps-x=<-1.0> taps-y=<1.0> bias=1",
  };
  static const char *const formats[] = { "GRAY8", "NV12", "Y444_16LE", "BGRx" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
      picture_check (formats[f], 23, 15, NULL, settings[s]);
}

/* "<t0,t1,...>": n taps that sum to about 1, with changing signs. */
static char *
long_taps (int n)
{
  GString *text = g_string_new ("<");
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  for (int i = 0; i < n; i++) {
    const double tap = (1.0 + cos (i * 0.7) * 1.5) / n;

    g_ascii_formatd (number, sizeof number, "%.17e", tap);
    g_string_append_printf (text, "%s%s", i ? "," : "", number);
  }
  g_string_append_c (text, '>');
  return g_string_free (text, FALSE);
}

static void
kernels_long (void)
{
  static const char *const borders[] = { "replicate", "reflect", "reflect-101",
    "wrap", "constant" };
  static const int lengths[] = { 64, 129, 1024, 1025 };

  for (guint l = 0; l < G_N_ELEMENTS (lengths); l++) {
    char *taps = long_taps (lengths[l]);

    for (guint b = 0; b < G_N_ELEMENTS (borders); b++) {
      char *settings = g_strdup_printf (
          "border=%s kernel=custom taps-x=%s", borders[b], taps);

      picture_check ("GRAY8", 70, 33, NULL, settings);
      picture_check ("P010_10LE", 33, 20, NULL, settings);
      g_free (settings);
    }
    g_free (taps);
  }
}

static void
kernels_borders (void)
{
  static const char *const borders[] = { "replicate", "reflect", "reflect-101",
    "wrap", "constant" };
  static const char *const formats[] = { "GRAY8", "I420", "YUY2", "RGB",
    "GRAY16_LE" };
  /* The last three are smaller than the kernel, so that borders repeat. */
  static const struct
  {
    int width, height;
  } sizes[] = { { 40, 30 }, { 5, 4 }, { 1, 9 }, { 3, 1 } };

  for (guint b = 0; b < G_N_ELEMENTS (borders); b++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
      for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
        char *settings = g_strdup_printf (
            "border=%s border-color=0xff20a0e0 kernel=custom "
            "taps-x=<0.05,0.3,0.2,0.05,0.1,0.1,0.1,0.05,0.05,0.1,-0.1> "
            "taps-y=<0.1,0.2,0.3,0.1,0.1,0.1,0.1,-0.2,0.2>",
            borders[b]);

        picture_check (
            formats[f], sizes[s].width, sizes[s].height, NULL, settings);
        g_free (settings);
      }
}

/* A border colour that is a code of every component is exact: a picture of that colour
 * keeps it. */
static void
kernels_border_color_exact (void)
{
  static const struct
  {
    const char *format, *color;
    guint8 code[4];
  } rows[] = {
    { "RGBA", "0x40102030", { 0x10, 0x20, 0x30, 0x40 } },
    { "BGRA", "0x40102030", { 0x30, 0x20, 0x10, 0x40 } },
    { "AYUV", "0xff000000", { 255, 16, 128, 128 } },
    { "AYUV", "0x00ffffff", { 0, 235, 128, 128 } },
    { "VUYA", "0xff000000", { 128, 128, 16, 255 } },
    { "AYUV", "0xffff0000", { 255, 81, 90, 240 } },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    char *settings = g_strdup_printf (
        "border=constant border-color=%s planes=all kernel=box radius=4",
        rows[r].color);
    const char *more = rows[r].format[0] == 'A' || rows[r].format[0] == 'V'
        ? "colorimetry=(string)bt601"
        : NULL;
    guint8 byte[4 * 6 * 5];
    GstBuffer *out;
    Filter filter;

    test_context ("format=%s settings=%s", rows[r].format, settings);
    for (guint i = 0; i < sizeof byte; i++)
      byte[i] = rows[r].code[i % 4];
    filter_open (&filter, settings);
    expect (filter_caps (&filter, video_caps (rows[r].format, 6, 5, more)),
        "caps refused");
    out = filter_process (&filter, gst_buffer_new_memdup (byte, sizeof byte));
    expect (gst_buffer_memcmp (out, 0, byte, sizeof byte) == 0,
        "the border shows in a picture of its own colour");
    gst_buffer_unref (out);
    filter_close (&filter);
    g_free (settings);
  }
}

/* Codes are clamped at both ends, not wrapped. */
static void
kernels_clamping (void)
{
  static const char *const formats[] = { "GRAY8", "I420", "P010_10LE",
    "I420_12LE", "RGBA", "ARGB64", "GRAY16_LE" };
  static const char *const settings[] = {
    "kernel=custom taps-x=<8.0>",
    "kernel=custom taps-x=<-8.0>",
    "kernel=sobel-x scale=20",
    "kernel=box radius=1 bias=0.9",
    "kernel=box radius=1 bias=-0.9",
    "kernel=box radius=1 scale=-1 bias=1",
  };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
      picture_check (formats[f], 16, 9, NULL, settings[s]);
}

/* Every method, selected by name, gives the defined result and reports itself as
 * active. */
static void
kernels_methods (void)
{
  static const char *const cuda_methods[] = { "global", "shared" };
  static const char *const cpu_methods[] = { "reference", "simd" };
  const char *const *methods = test_on_cuda () ? cuda_methods : cpu_methods;
  const guint n = test_on_cuda () ? G_N_ELEMENTS (cuda_methods)
                                  : G_N_ELEMENTS (cpu_methods);
  static const char *const formats[] = { "GRAY8", "NV12", "RGBA", "P010_10LE",
    "Y444_16LE" };

  for (guint m = 0; m < n; m++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
      char *settings =
          g_strdup_printf ("method=%s sigma=2.5 border=reflect", methods[m]);
      GstVideoInfo info;
      GstBuffer *in, *out;
      Filter filter;
      char *method;

      test_context ("format=%s settings=%s", formats[f], settings);
      video_info (&info, formats[f], 131, 67, NULL);
      filter_open (&filter, settings);
      expect (filter_caps (&filter, video_caps (formats[f], 131, 67, NULL)),
          "caps refused");
      in = picture_new (&info, 5);
      out = filter_process (&filter, gst_buffer_ref (in));
      picture_expect (in, out, &info, settings, FALSE);
      method = filter_get (&filter, "active-method");
      expect (
          g_strcmp0 (method, methods[m]) == 0, "active-method is %s", method);
      filter_expect_silence (&filter);
      g_free (method);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
      filter_close (&filter);
      g_free (settings);
    }
}

/* The same picture always gives the same bytes. */
static void
kernels_repeatable (void)
{
  GstVideoInfo info;
  GstBuffer *in, *first;
  Filter filter;

  test_context ("format=NV12 size=321x241 sigma=3");
  video_info (&info, "NV12", 321, 241, NULL);
  filter_open (&filter, "sigma=3");
  expect (filter_caps (&filter, video_caps ("NV12", 321, 241, NULL)),
      "caps refused");
  in = picture_new (&info, 3);
  first = filter_process (&filter, gst_buffer_ref (in));
  picture_expect (in, first, &info, "sigma=3", FALSE);
  for (int i = 0; i < 20; i++) {
    GstBuffer *again = filter_process (&filter, gst_buffer_ref (in));

    picture_expect_same (first, again, &info);
    gst_buffer_unref (again);
  }
  gst_buffer_unref (first);
  gst_buffer_unref (in);
  filter_close (&filter);
}

const Test tests_kernels[] = {
  { "kernels-generated", kernels_generated, VARIANT_BOTH },
  { "kernels-custom", kernels_custom, VARIANT_BOTH },
  { "kernels-long", kernels_long, VARIANT_BOTH },
  { "kernels-borders", kernels_borders, VARIANT_BOTH },
  { "kernels-border-color-exact", kernels_border_color_exact, VARIANT_BOTH },
  { "kernels-clamping", kernels_clamping, VARIANT_BOTH },
  { "kernels-methods", kernels_methods, VARIANT_BOTH },
  { "kernels-repeatable", kernels_repeatable, VARIANT_BOTH },
  { 0 },
};
