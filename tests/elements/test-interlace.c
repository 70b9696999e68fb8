/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each field of an interlaced frame is a picture of its own. */
#include "picture-oracle.h"

static const char *const interlace_formats[] = { "GRAY8", "I420", "NV12",
  "YUY2", "P010_10LE", "v210", "UYVP", "RGBA", "RGB10A2_LE", "Y444_16LE",
  "RGB16", "NV12_10LE40", "I420_10BE" };

static void
check_interlaced (const char *settings)
{
  static const struct
  {
    int width, height;
  } sizes[] = { { 16, 2 }, { 9, 3 }, { 31, 19 }, { 48, 32 }, { 65, 121 } };

  for (guint f = 0; f < G_N_ELEMENTS (interlace_formats); f++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
      picture_check (interlace_formats[f], sizes[s].width, sizes[s].height,
          "interlace-mode=interleaved", settings);
}

static void
interlace_blur (void)
{
  check_interlaced ("sigma=2");
}

static void
interlace_derivative (void)
{
  check_interlaced ("kernel=sobel-y scale=0.25 bias=0.25 border=wrap");
}

/* interlace-mode=mixed: each buffer's flags apply. */
static void
interlace_mixed (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (interlace_formats); f++) {
    GstVideoInfo info;
    Filter filter;

    video_info (&info, interlace_formats[f], 34, 28, "interlace-mode=mixed");
    filter_open (&filter, "sigma=2");
    expect (
        filter_caps (&filter,
            video_caps (interlace_formats[f], 34, 28, "interlace-mode=mixed")),
        "caps refused");
    for (guint32 i = 0; i < 6; i++) {
      const gboolean interlaced = i % 3 != 0;
      GstBuffer *in = picture_new (&info, i), *out;

      test_context ("format=%s size=34x28 mixed, buffer %u %s sigma=2",
          interlace_formats[f], i, interlaced ? "interlaced" : "progressive");
      if (interlaced)
        GST_BUFFER_FLAG_SET (in,
            GST_VIDEO_BUFFER_FLAG_INTERLACED
                | (i % 2 ? GST_VIDEO_BUFFER_FLAG_TFF : 0));
      out = filter_process (&filter, gst_buffer_ref (in));
      picture_expect (in, out, &info, "sigma=2", interlaced);
      expect (GST_BUFFER_FLAG_IS_SET (out, GST_VIDEO_BUFFER_FLAG_INTERLACED)
              == interlaced,
          "the flag got lost");
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    filter_close (&filter);
  }
}

/* Fields in separate memories are refused, not filtered as if they were interleaved. */
static void
interlace_fields (void)
{
  Filter filter;

  test_context ("format=NV12 size=32x24 interlace-mode=fields sigma=2");
  filter_open (&filter, "sigma=2");
  filter_caps (&filter, video_caps ("NV12", 32, 24, "interlace-mode=fields"));
  filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  filter_close (&filter);
}

/* Each field in its own buffer: a picture of half the rows, rounded up. */
static void
interlace_alternate (void)
{
  static const int heights[] = { 28, 27, 2 };

  for (guint f = 0; f < G_N_ELEMENTS (interlace_formats); f++)
    for (guint h = 0; h < G_N_ELEMENTS (heights); h++) {
      GstCaps *caps = video_caps (
          interlace_formats[f], 34, heights[h], "interlace-mode=alternate");
      GstVideoInfo info;
      Filter filter;

      test_context ("format=%s size=34x%d interlace-mode=alternate sigma=2",
          interlace_formats[f], heights[h]);
      gst_caps_set_features_simple (caps,
          gst_caps_features_new (GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL));
      expect (gst_video_info_from_caps (&info, caps), "no info");
      filter_open (&filter, "sigma=2");
      expect (filter_caps (&filter, caps), "caps refused");
      for (guint32 i = 0; i < 4; i++) {
        GstBuffer *in = picture_new (&info, i), *out;

        GST_BUFFER_FLAG_SET (in,
            GST_VIDEO_BUFFER_FLAG_INTERLACED
                | (i % 2 ? GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD
                         : GST_VIDEO_BUFFER_FLAG_TOP_FIELD));
        out = filter_process (&filter, gst_buffer_ref (in));
        picture_expect (in, out, &info, "sigma=2", FALSE);
        expect (GST_VIDEO_BUFFER_IS_BOTTOM_FIELD (out) == (i % 2 == 1),
            "the field's parity got lost");
        gst_buffer_unref (in);
        gst_buffer_unref (out);
      }
      filter_close (&filter);
    }
}

/* An overlay is also drawn into alternating fields, with a field's size. */
static void
interlace_alternate_overlay (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (interlace_formats); f++) {
    GstCaps *caps =
        video_caps (interlace_formats[f], 64, 96, "interlace-mode=alternate");
    GstBuffer *in, *out;
    GstVideoInfo info;
    Filter filter;

    test_context ("format=%s interlace-mode=alternate", interlace_formats[f]);
    gst_caps_set_features_simple (
        caps, gst_caps_features_new (GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL));
    expect (gst_video_info_from_caps (&info, caps), "no info");
    filter_open (
        &filter, "cudahisto mode=overlay interval=0 post-messages=false");
    expect (filter_caps (&filter, caps), "caps refused");
    in = picture_new (&info, f);
    GST_BUFFER_FLAG_SET (
        in, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TOP_FIELD);
    out = filter_process (&filter, gst_buffer_ref (in));
    expect (picture_compare (in, out, &info, "planes=", FALSE) != NULL,
        "nothing is drawn");
    filter_expect_silence (&filter);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    filter_close (&filter);
  }
}

/* Alternating black and white rows are two flat fields, and stay as they are; as a progressive
 * picture they become grey. */
static void
interlace_comb (void)
{
  static const char *const modes[] = { "interlace-mode=interleaved",
    "interlace-mode=progressive" };
  guint16 codes[24 * 48];

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    codes[i] = i / 24 % 2 ? 200 : 40;
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    GstVideoInfo info;
    GstBuffer *in, *out;
    guint16 *result;
    Filter filter;
    gsize n;

    test_context ("format=GRAY8 size=24x48 %s sigma=4", modes[m]);
    filter_start (&filter, "sigma=4", &info, "GRAY8", 24, 48, modes[m]);
    in = picture_new (&info, 1);
    picture_put_samples (in, &info, 0, codes);
    out = filter_process (&filter, in);
    result = picture_samples (out, &info, 0, &n);
    /* Away from the edges, whose rows are repeated. */
    for (gsize i = 24 * 16; i < n - 24 * 16; i++)
      expect (result[i] == (m == 0 ? codes[i] : 120),
          "sample %" G_GSIZE_FORMAT " is %u", i, result[i]);
    g_free (result);
    gst_buffer_unref (out);
    filter_close (&filter);
  }
}

const Test tests_interlace[] = {
  { "interlace-alternate", interlace_alternate, VARIANT_BOTH },
  { "interlace-alternate-overlay", interlace_alternate_overlay, VARIANT_BOTH },
  { "interlace-comb", interlace_comb, VARIANT_BOTH },
  { "interlace-blur", interlace_blur, VARIANT_BOTH },
  { "interlace-derivative", interlace_derivative, VARIANT_BOTH },
  { "interlace-fields", interlace_fields, VARIANT_BOTH },
  { "interlace-mixed", interlace_mixed, VARIANT_BOTH },
  { 0 },
};
