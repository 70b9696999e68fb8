/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffers with a GstVideoCropMeta: only a part of the picture is the frame. */
#include "picture-oracle.h"

#include <gstcudahistogrammeta.h>

#define WIDE 96
#define HIGH 64
#define WIDTH 48
#define HEIGHT 36

static const char *const formats[] = { "I420", "NV12", "YUY2", "Y41B", "RGBA",
  "RGB", "GRAY8", "GRAY16_LE", "AYUV" };

/* Makes a buffer of the part alone, by GStreamer's converter. */
static GstBuffer *
cut_out (GstBuffer *whole, const GstVideoInfo *from, const GstVideoInfo *to,
    guint x, guint y)
{
  GstBuffer *part =
      gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (to), NULL);
  GstVideoConverter *converter = gst_video_converter_new (from, to,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT,
          (int) x, GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, (int) y,
          GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, WIDTH,
          GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, HEIGHT, NULL));
  GstVideoFrame in, out;

  gst_buffer_memset (part, 0, 0, GST_VIDEO_INFO_SIZE (to));
  gst_video_frame_map (&in, from, whole, GST_MAP_READ);
  gst_video_frame_map (&out, to, part, GST_MAP_WRITE);
  gst_video_converter_frame (converter, &in, &out);
  gst_video_frame_unmap (&out);
  gst_video_frame_unmap (&in);
  gst_video_converter_free (converter);
  return part;
}

/* Makes a buffer in which the part at x, y is the frame, and a buffer of that part alone. */
static void
make_cropped (const char *format, guint x, guint y, GstVideoInfo *info,
    GstBuffer **cropped, GstBuffer **part)
{
  GstVideoCropMeta *crop;
  GstVideoInfo whole;

  video_info (&whole, format, WIDE, HIGH, NULL);
  video_info (info, format, WIDTH, HEIGHT, NULL);
  *cropped = picture_new (&whole, 5);
  *part = cut_out (*cropped, &whole, info, x, y);
  if (gst_buffer_get_video_meta (*cropped) == NULL)
    gst_buffer_add_video_meta_full (*cropped, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (&whole), WIDE, HIGH,
        GST_VIDEO_INFO_N_PLANES (&whole), whole.offset, whole.stride);
  crop = gst_buffer_add_video_crop_meta (*cropped);
  crop->x = x;
  crop->y = y;
  crop->width = WIDTH;
  crop->height = HEIGHT;
}

static void
crop_is_filtered (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstBuffer *in, *out, *part;
    GstVideoInfo info;
    Filter filter;

    test_context ("format=%s", formats[f]);
    filter_start (&filter, "sigma=1.5", &info, formats[f], WIDTH, HEIGHT, NULL);
    make_cropped (formats[f], 20, 10, &info, &in, &part);
    out = filter_process (&filter, in);
    expect (
        gst_buffer_get_video_crop_meta (out) == NULL, "still to be cropped");
    picture_expect (part, out, &info, "sigma=1.5", FALSE);
    filter_expect_silence (&filter);
    gst_buffer_unref (out);
    gst_buffer_unref (part);
    filter_close (&filter);
  }
}

static void
expect_group_error (Filter *filter)
{
  GstMessage *message = gst_bus_pop_filtered (filter->bus, GST_MESSAGE_ERROR);
  GError *error;
  char *debug;

  expect (message != NULL, "no error");
  message_parse (message, &error, &debug);
  expect (strstr (error->message, "group of six pixels") != NULL,
      "the error is \"%s\"", error->message);
  g_error_free (error);
  g_free (debug);
  gst_message_unref (message);
}

/* A part must begin at a group of pixels (v210 has groups of six), or it is refused. GStreamer's
 * converter cannot make the part: it ignores x, or changes codes. */
static void
crop_packed (void)
{
  static const struct
  {
    const char *format;
    guint group; /* pixels of a group, if more than two */
  } packed[] = { { "v210", 6 }, { "UYVP", 1 }, { "RGB10A2_LE", 1 },
    { "r210", 1 }, { "RGB16", 1 }, { "BGR15", 1 }, { "NV12_10LE32", 6 },
    { "NV16_10LE32", 6 }, { "NV12_10LE40", 4 }, { "GRAY10_LE32", 3 },
    { "I420_10BE", 1 }, { "ARGB64_BE", 1 } };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (packed); i++) {
    const char *format = packed[i / 2].format;
    const guint x = i % 2 == 0 ? 10 : 12;
    GstBuffer *whole, *part, *out;
    GstVideoCropMeta *crop;
    GstVideoInfo from, info;
    GstFlowReturn flow;
    Filter filter;

    test_context ("format=%s x=%u", format, x);
    video_info (&from, format, WIDE, HIGH, NULL);
    filter_start (&filter, "sigma=1.5", &info, format, WIDTH, HEIGHT, NULL);
    whole = picture_new (&from, 5);
    part = picture_new (&info, 6);
    for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++) {
      const gsize sub = (gsize) 1
          << GST_VIDEO_FORMAT_INFO_W_SUB (info.finfo, c);
      const gsize sub_y = (gsize) 1
          << GST_VIDEO_FORMAT_INFO_H_SUB (info.finfo, c);
      gsize n, n_part;
      guint16 *all = picture_samples (whole, &from, c, &n);
      guint16 *some = picture_samples (part, &info, c, &n_part);

      for (gsize s = 0; s < n_part; s++)
        some[s] = all[(10 / sub_y + s / (WIDTH / sub)) * (WIDE / sub) + x / sub
            + s % (WIDTH / sub)];
      picture_put_samples (part, &info, c, some);
      g_free (all);
      g_free (some);
    }
    gst_buffer_add_video_meta_full (whole, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (&from), WIDE, HIGH,
        GST_VIDEO_INFO_N_PLANES (&from), from.offset, from.stride);
    crop = gst_buffer_add_video_crop_meta (whole);
    crop->x = x;
    crop->y = 10;
    crop->width = WIDTH;
    crop->height = HEIGHT;
    if (x % packed[i / 2].group == 0) {
      out = filter_process (&filter, whole);
      picture_expect (part, out, &info, "sigma=1.5", FALSE);
      filter_expect_silence (&filter);
      gst_buffer_unref (out);
    } else {
      flow = gst_harness_push (filter.harness, whole);
      expect (flow == GST_FLOW_ERROR, "it was taken");
      expect_group_error (&filter);
    }
    gst_buffer_unref (part);
    filter_close (&filter);
  }
}

/* A part that exceeds its buffer is an error, and nothing outside the buffer is read. */
static void
crop_outside (void)
{
  static const char *const settings[] = { "sigma=1",
    "sigma=1 roi-mode=inside zones=<<0.1,0.1,0.5,0.5>>" };
  static const guint starts[] = { WIDE - WIDTH + 2, G_MAXINT, 0x80000001u,
    G_MAXUINT };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (starts); i++) {
    GstBuffer *in, *part;
    GstVideoInfo info;
    Filter filter;

    test_context ("%s, x %u", settings[i % 2], starts[i / 2]);
    filter_start (&filter, settings[i % 2], &info, "I420", WIDTH, HEIGHT, NULL);
    make_cropped ("I420", 0, 0, &info, &in, &part);
    gst_buffer_get_video_crop_meta (in)->x = starts[i / 2];
    expect (gst_harness_push (filter.harness, in) == GST_FLOW_ERROR,
        "it was taken");
    filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
    gst_buffer_unref (part);
    filter_close (&filter);
  }
}

/* The buffer's own GstVideoMeta claims a frame larger than the memory. */
static void
crop_beyond_memory (void)
{
  static const gint strides[] = { G_MAXINT, G_MININT };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (strides); i++) {
    GstBuffer *in, *part;
    GstVideoMeta *meta;
    GstVideoCropMeta *crop;
    GstVideoInfo info;
    Filter filter;

    test_context ("stride %d, case %u", strides[i / 2], i % 2);
    filter_start (&filter, "sigma=1", &info, "GRAY8", WIDTH, HEIGHT, NULL);
    make_cropped ("GRAY8", 0, 0, &info, &in, &part);
    meta = gst_buffer_get_video_meta (in);
    meta->width = meta->height = G_MAXINT;
    meta->stride[0] = strides[i / 2];
    crop = gst_buffer_get_video_crop_meta (in);
    crop->x = i % 2 == 0 ? 0 : G_MAXINT - WIDTH;
    crop->y = G_MAXINT - HEIGHT;
    expect (gst_harness_push (filter.harness, in) == GST_FLOW_ERROR,
        "it was taken");
    filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
    gst_buffer_unref (part);
    filter_close (&filter);
  }
}

/* Upstream may leave cropping to the element, even if downstream would crop; but not for formats
 * with groups of pixels, such as v210. */
static void
crop_is_offered (void)
{
  static const char *const settings[] = { "sigma=1", "cudahisto interval=0" };

  static const char *const offered_formats[] = { "I420", "UYVP", "RGB10A2_LE",
    "I420_10BE", "v210", "NV12_10LE32", "NV12_10LE40", "GRAY10_LE32" };

  for (guint i = 0; i < 32; i++) {
    const char *format = offered_formats[i % 8];
    const gboolean has_groups = i % 8 >= 4;
    const gboolean downstream = i / 8 % 2 != 0, reads = i / 16 != 0;
    GstCaps *caps = video_caps (format, WIDTH, HEIGHT, NULL);
    GstQuery *query = gst_query_new_allocation (caps, TRUE);
    gboolean offered;
    GstVideoInfo info;
    Filter filter;

    test_context ("format=%s %s, downstream %s", format, settings[reads],
        downstream ? "crops" : "does not");
    gst_caps_unref (caps);
    filter_open (&filter, settings[reads]);
    if (downstream)
      gst_harness_add_propose_allocation_meta (
          filter.harness, GST_VIDEO_CROP_META_API_TYPE, NULL);
    video_info (&info, format, WIDTH, HEIGHT, NULL);
    expect (filter_caps (&filter, video_caps (format, WIDTH, HEIGHT, NULL)),
        "caps refused");
    gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
    expect (gst_pad_peer_query (filter.harness->srcpad, query) || reads,
        "no answer");
    offered = gst_query_find_allocation_meta (
        query, GST_VIDEO_CROP_META_API_TYPE, NULL);
    /* For a frame that is only read, downstream decides. */
    expect (offered == (!has_groups && (downstream || !reads)), "offered: %d",
        offered);
    gst_query_unref (query);
    filter_close (&filter);
  }
}

/* Only the frame's samples are counted, not those around it. */
static void
crop_is_counted (void)
{
  static const char *const settings =
      "cudahisto interval=0 post-messages=false attach-meta=true";

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstBuffer *in, *part, *out, *out_of_part;
    GstCudaHistogramMeta *meta, *expected;
    GstVideoInfo info;
    Filter filter;

    test_context ("format=%s", formats[f]);
    filter_start (&filter, settings, &info, formats[f], WIDTH, HEIGHT, NULL);
    make_cropped (formats[f], 20, 10, &info, &in, &part);
    out = filter_process (&filter, in);
    out_of_part = filter_process (&filter, part);
    meta = gst_buffer_get_cuda_histogram_meta (out);
    expected = gst_buffer_get_cuda_histogram_meta (out_of_part);
    expect (meta != NULL && expected != NULL, "no histogram");
    expect (meta->n_components == expected->n_components, "%u components",
        meta->n_components);
    for (guint c = 0; c < meta->n_components; c++)
      for (guint i = 0; i < meta->bins; i++)
        expect (
            meta->component[c].counts[i] == expected->component[c].counts[i],
            "component %u: %" G_GUINT64_FORMAT " in bin %u", c,
            meta->component[c].counts[i], i);
    expect (gst_buffer_get_video_crop_meta (out) != NULL,
        "the same buffer passes, which is still to be cropped");
    gst_buffer_unref (out);
    gst_buffer_unref (out_of_part);
    filter_close (&filter);
  }
}

const Test tests_crop[] = {
  { "crop-filtered", crop_is_filtered, VARIANT_BOTH },
  { "crop-packed", crop_packed, VARIANT_BOTH },
  { "crop-outside", crop_outside, VARIANT_BOTH },
  { "crop-beyond-memory", crop_beyond_memory, VARIANT_BOTH },
  { "crop-offered", crop_is_offered, VARIANT_BOTH },
  { "crop-counted", crop_is_counted, VARIANT_BOTH },
  { 0 },
};
