/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels of several terms, and kernels that are combined with the picture. */
#include "picture-oracle.h"

#define GAUSS_AND_SHIFT \
  "terms-x=<<0.25,0.5,0.25>,<0.0,0.0,0.5>> terms-y=<<0.3,0.7>,<1.0>>"

static const char *const kernels[] = {
  "kernel=unsharp",
  "kernel=unsharp sigma=4 amount=2.5 threshold=0.0371",
  "kernel=unsharp sigma=1 sigma-y=3 amount=-0.7",
  "kernel=unsharp radius=2 scale=0.7 bias=0.1",
  "kernel=sobel scale=0.25",
  "kernel=sobel radius=2 radius-y=1 scale=0.01 bias=0.2",
  "kernel=scharr scale=-0.05 bias=0.9",
  "kernel=prewitt radius=3 scale=0.02",
  "kernel=sobel scale=0.25 neutral-chroma=false border=wrap",
  "kernel=sobel gradient=direction",
  "kernel=scharr gradient=direction border=reflect",
  "kernel=laplacian scale=0.5 bias=0.5",
  "kernel=laplacian radius=2 scale=0.02 bias=0.5 border=reflect-101",
  "kernel=laplacian neutral-chroma=false bias=0.5",
  "kernel=log sigma=1.5 scale=8 bias=0.5",
  "kernel=log sigma=3 sigma-y=2 radius=5 scale=20 bias=0.5",
  "kernel=log sigma=2 neutral-chroma=false scale=8",
  "kernel=dog scale=4 bias=0.5",
  "kernel=dog sigma=1 sigma-outer=3 scale=2 neutral-chroma=false",
  "kernel=dog sigma=1 sigma-y=2 scale=2 border=constant border-color=0xffffffff",
  "kernel=terms " GAUSS_AND_SHIFT,
  "kernel=terms terms-x=<<1,2,1>,<0,1,0>,<0.5>> scale=0.0625 bias=0.1",
  "kernel=terms " GAUSS_AND_SHIFT " border=constant border-color=0xff20a0e0",
};

static void
terms_pictures (void)
{
  static const char *const formats[] = { "GRAY8", "I420", "YUY2", "P010_10LE",
    "RGBA", "AYUV", "GRAY16_LE" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint k = 0; k < G_N_ELEMENTS (kernels); k++)
      picture_check (formats[f], 37, 22, NULL, kernels[k]);
}

static void
terms_fields (void)
{
  for (guint k = 0; k < G_N_ELEMENTS (kernels); k++)
    picture_check ("NV12", 26, 19, "interlace-mode=interleaved", kernels[k]);
}

/* Eight terms are the maximum; together they equal this single kernel. */
static void
terms_eight (void)
{
  picture_check ("GRAY8", 31, 17, NULL,
      "kernel=terms terms-x=<<0.125,0,0>,<0,0.125,0>,<0,0,0.125>,<0.125>,"
      "<0.1,0.1>,<0.05,0.05>,<-0.125>,<0.2,0.1>> "
      "terms-y=<<1>,<1>,<1>,<0,0,1>,<1,0>,<0,1,0>,<1,0,0>,<>>");
}

/* Divided by the sum over all terms: 4 * 4 + 1. */
static void
terms_normalized (void)
{
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;

  test_context ("format=I420 size=21x13");
  filter_start (&filter,
      "kernel=terms terms-x=<<1,2,1>,<0,1,0>> normalize=true", &info, "I420",
      21, 13, NULL);
  in = picture_new (&info, 3);
  out = filter_process (&filter, gst_buffer_ref (in));
  picture_expect (in, out, &info,
      "kernel=terms terms-x=<<1,2,1>,<0,1,0>> scale=0.058823529411764705",
      FALSE);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
}

/* The kernel changes while playing, so that plans with different terms follow one
 * another. */
static void
terms_while_playing (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 40, 30, NULL);
  for (guint round = 0; round < 2; round++)
    for (guint k = 0; k < G_N_ELEMENTS (kernels); k++) {
      char *all =
          g_strdup_printf ("sigma=2 sigma-y=-1 sigma-outer=-1 radius=-1 "
                           "radius-y=-1 amount=1 threshold=0 scale=1 "
                           "bias=0 border=replicate neutral-chroma=true "
                           "gradient=magnitude terms-y=<> %s",
              kernels[k]);

      settings_apply (filter.element, all);
      picture_check_frame (&filter, &info, 100 * round + k, kernels[k]);
      g_free (all);
    }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* amount and threshold change from frame to frame; the plan is kept. */
static void
terms_amount_a_frame (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "kernel=unsharp sigma=1.5", &info, "I420", 40, 30, NULL);
  for (guint i = 0; i < 20; i++) {
    char *settings = g_strdup_printf ("kernel=unsharp sigma=1.5 amount=%.2f "
                                      "threshold=%.4f",
        i * 0.23 - 1.0, i % 5 * 0.0131);

    settings_apply (filter.element, settings);
    picture_check_frame (&filter, &info, i, settings);
    g_free (settings);
  }
  filter_close (&filter);
}

/* Expects that an element with these settings does not start, with this error. */
static void
expect_refusal (const char *settings, const char *sentence)
{
  GstMessage *message = NULL;
  GError *error = NULL;
  Filter filter;

  test_context ("%s", settings);
  filter_make (&filter, settings);
  expect (gst_element_set_state (filter.element, GST_STATE_PAUSED)
          == GST_STATE_CHANGE_FAILURE,
      "taken");
  filter_drain_bus (&filter, GST_MESSAGE_ERROR, &message);
  expect (message != NULL, "no error");
  gst_message_parse_error (message, &error, NULL);
  expect (
      g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
      "another code than SETTINGS");
  expect (strstr (error->message, sentence) != NULL,
      "\"%s\" does not say \"%s\"", error->message, sentence);
  g_error_free (error);
  gst_message_unref (message);
  filter_close (&filter);
}

static void
terms_refused (void)
{
  static const struct
  {
    const char *settings, *sentence;
  } rows[] = {
    { "kernel=terms", "needs 1 to 8 terms, but terms-x has 0" },
    { "kernel=terms terms-x=<<1>,<1>,<1>,<1>,<1>,<1>,<1>,<1>,<1>>",
        "needs 1 to 8 terms, but terms-x has 9" },
    { "kernel=terms terms-x=<<1>,<1>> terms-y=<<1>>",
        "terms-y has 1 terms, but terms-x has 2" },
    { "kernel=terms terms-x=<<1>,<>>", "Term 1 of terms-x has 0 taps" },
    { "kernel=terms terms-x=<<1>,1>", "Term 1 of terms-x has 0 taps" },
    { "kernel=terms terms-x=<<1,nan>>", "Term 0 of terms-x" },
    { "kernel=terms terms-x=<<1>,<-1>> terms-y=<<1>,<1>> normalize=true",
        "sum to zero" },
    { "kernel=log sigma=0", "sigma of at least 0.01" },
    { "kernel=laplacian radius=0", "radius of 1 to 15, not 0" },
    { "kernel=laplacian radius=16", "radius of 1 to 15, not 16" },
    { "kernel=laplacian radius=1 radius-y=16", "radius of 1 to 15, not 16" },
    { "kernel=scharr radius=2", "Scharr kernels are 3x3" },
    { "kernel=sobel radius=16", "radius of 1 to 15, not 16" },
    { "kernel=prewitt radius=0", "at least 1" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    expect_refusal (rows[r].settings, rows[r].sentence);
}

/* Nested arrays read back as they are written on a launch line. */
static void
terms_read_back (void)
{
  static const char *const rows[][2] = {
    { "<<1,2,1>,<0,1,0>>",
        "< (array)< (double)1, (double)2, (double)1 >, (array)< (double)0, "
        "(double)1, (double)0 > >" },
    { "<<0.5>>", "< (array)< (double)0.5 > >" },
    { "<>", "<  >" },
  };
  Filter filter;

  filter_make (&filter, "kernel=terms");
  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    char *text = g_strdup_printf ("terms-x=%s", rows[r][0]), *value;

    settings_apply (filter.element, text);
    value = filter_get (&filter, "terms-x");
    expect (g_str_equal (value, rows[r][1]), "%s reads as %s", text, value);
    g_free (value);
    g_free (text);
  }
  filter_close (&filter);
}

const Test tests_terms[] = {
  { "terms-pictures", terms_pictures, VARIANT_BOTH },
  { "terms-fields", terms_fields, VARIANT_BOTH },
  { "terms-eight", terms_eight, VARIANT_BOTH },
  { "terms-normalized", terms_normalized, VARIANT_BOTH },
  { "terms-while-playing", terms_while_playing, VARIANT_BOTH },
  { "terms-amount-a-frame", terms_amount_a_frame, VARIANT_BOTH },
  { "terms-refused", terms_refused, VARIANT_ANY },
  { "terms-read-back", terms_read_back, VARIANT_ANY },
  { 0 },
};
