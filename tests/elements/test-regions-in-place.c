/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions that are covered in the input buffer, where they are small and nobody else holds the
 * buffer; in all other cases in another buffer. */
#include "flight-fixture.h"
#include "gstcudahistogrammeta.h"
#include "regions-oracle.h"

#define WIDTH 160
#define HEIGHT 120

static const char *const formats[] = { "GRAY8", "NV12", "I420", "YUY2", "YVYU",
  "YUV9", "RGBA", "RGBx", "P010_10LE", "A444_10LE", "ARGB64", "AYUV" };

/* Two that overlap, one partly outside, and one apart. */
static const Box boxes[] = { { 5, 3, 18, 14 }, { 9, 7, 20, 18 },
  { 150, 111, 170, 130 }, { 60, 70, 75, 83 } };
#define N_BOXES ((int) G_N_ELEMENTS (boxes))

/* Pushes a frame (taken) and expects the result for `want`, a copy of the frame: in the same buffer
 * or in another. */
static void
expect_covered (Filter *filter, const GstVideoInfo *info, const char *settings,
    GstBuffer *frame, GstBuffer *want, gboolean same)
{
  /* Only compared, not read: it may have been freed. */
  const GstBuffer *const pushed = frame;
  GstBuffer *out = filter_process (filter, frame);

  expect ((out == pushed) == same, "it is %s buffer",
      same ? "another" : "the same");
  regions_expect (want, out, info, settings, boxes, N_BOXES,
      GST_VIDEO_INFO_IS_INTERLACED (info));
  gst_buffer_unref (out);
}

static GstBuffer *
frame_new (const GstVideoInfo *info, guint32 seed)
{
  GstBuffer *frame = picture_new (info, seed);

  regions_report (frame, "face", boxes, N_BOXES);
  return frame;
}

static void
check_look (const char *format, const char *more, const char *settings)
{
  GstVideoInfo info;
  Filter filter;

  test_context ("format=%s %s settings=%s", format, more ? more : "", settings);
  filter_start (&filter, settings, &info, format, WIDTH, HEIGHT, more);
  for (guint32 seed = 1; seed < 4; seed++) {
    GstBuffer *frame = frame_new (&info, seed);
    GstBuffer *want = gst_buffer_copy_deep (frame);

    expect_covered (&filter, &info, settings, frame, want, TRUE);
    gst_buffer_unref (want);
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

static void
in_place_looks (void)
{
  static const char *const looks[] = {
    "sigma=3 roi-mode=inside",
    "sigma=2 roi-mode=inside roi-shape=ellipse roi-feather=0.5 roi-grow=0.25",
    "roi-mode=inside roi-strength=0.15 roi-feather=0.25",
    "kernel=box radius=2 roi-mode=inside border=reflect roi-grow=0.5",
    "kernel=sobel-x scale=0.2 bias=0.3 roi-mode=inside roi-feather=1",
    "sigma=2 roi-mode=inside roi-fill=pixelate roi-shape=ellipse roi-feather=1",
    "roi-mode=inside roi-fill=pixelate roi-strength=0.125 roi-grow=0.25",
    "roi-mode=inside roi-fill=solid roi-color=0xff30ff50 roi-feather=0.75",
  };

  for (guint l = 0; l < G_N_ELEMENTS (looks); l++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
      check_look (formats[f], NULL, looks[l]);
}

/* The other components are unchanged. */
static void
in_place_planes (void)
{
  static const struct
  {
    const char *format, *planes;
  } cases[] = { { "NV12", "luma" }, { "NV12", "chroma" }, { "YUY2", "luma" },
    { "RGBA", "all" }, { "RGBA", "alpha" }, { "AYUV", "luma" } };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    char *settings =
        g_strdup_printf ("sigma=2 roi-mode=inside planes=%s", cases[c].planes);

    check_look (cases[c].format, NULL, settings);
    g_free (settings);
  }
}

static void
in_place_interlaced (void)
{
  static const char *const looks[] = { "sigma=2 roi-mode=inside",
    "sigma=1.5 roi-mode=inside roi-fill=pixelate" };

  for (guint l = 0; l < G_N_ELEMENTS (looks); l++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
      check_look (formats[f], "interlace-mode=interleaved", looks[l]);
}

#define LOOK "sigma=2 roi-mode=inside"

/* A filter, a frame for it, and a copy of the frame before. */
typedef struct
{
  Filter filter;
  GstVideoInfo info;
  GstBuffer *frame, *want;
} Stage;

static void
stage_open (Stage *stage, const char *settings)
{
  filter_start (
      &stage->filter, settings, &stage->info, "NV12", WIDTH, HEIGHT, NULL);
  stage->frame = frame_new (&stage->info, 5);
  stage->want = gst_buffer_copy_deep (stage->frame);
}

static void
stage_close (Stage *stage)
{
  gst_buffer_unref (stage->want);
  filter_expect_silence (&stage->filter);
  filter_close (&stage->filter);
}

/* Expects that a frame that others hold is not changed. */
static void
stage_expect_kept (Stage *stage, GstBuffer *held)
{
  expect_covered (
      &stage->filter, &stage->info, LOOK, stage->frame, stage->want, FALSE);
  picture_expect_same (stage->want, held, &stage->info);
  gst_buffer_unref (held);
  stage_close (stage);
}

static void
in_place_not_if_held (void)
{
  Stage stage;

  stage_open (&stage, LOOK);
  stage_expect_kept (&stage, gst_buffer_ref (stage.frame));
}

/* Another buffer shares the memory, as decoders do for reference pictures. */
static void
in_place_not_if_shared (void)
{
  Stage stage;

  stage_open (&stage, LOOK);
  stage_expect_kept (&stage, gst_buffer_copy (stage.frame));
}

/* The buffer is a sub-buffer of another one's memory. */
static void
in_place_not_if_of_parent (void)
{
  GstBuffer *parent = gst_buffer_new ();
  Stage stage;

  stage_open (&stage, LOOK);
  gst_buffer_add_parent_buffer_meta (stage.frame, parent);
  expect_covered (
      &stage.filter, &stage.info, LOOK, stage.frame, stage.want, FALSE);
  gst_buffer_unref (parent);
  stage_close (&stage);
}

static void
in_place_not_if_read_only (void)
{
  Stage stage;

  stage_open (&stage, LOOK);
  GST_MINI_OBJECT_FLAG_SET (
      gst_buffer_peek_memory (stage.frame, 0), GST_MEMORY_FLAG_READONLY);
  expect_covered (
      &stage.filter, &stage.info, LOOK, stage.frame, stage.want, FALSE);
  stage_close (&stage);
}

/* With transfer=pageable a GPU works on a copy of the frame; it makes no difference on the CPU. */
static void
in_place_not_if_pageable (void)
{
  Stage stage;

  stage_open (&stage, LOOK " transfer=pageable");
  expect_covered (&stage.filter, &stage.info, LOOK, stage.frame, stage.want,
      !test_on_cuda ());
  stage_close (&stage);
}

/* Regions for which most of the frame is read. */
static void
in_place_not_if_large (void)
{
  Stage stage;

  stage_open (&stage, LOOK);
  regions_report (stage.frame, "face", &(Box){ 20, 20, 150, 90 }, 1);
  {
    GstBuffer *frame = stage.frame;
    const GstBuffer *const pushed = frame;
    GstBuffer *out = filter_process (&stage.filter, frame);

    expect (out != pushed, "it is the same buffer");
    gst_buffer_unref (out);
  }
  stage_close (&stage);
}

/* U and V in the same memory, as may be in grey pictures: a change of one changes the other. */
static void
in_place_not_if_overlapping (void)
{
  for (int same = 0; same < 2; same++) {
    gsize offset[GST_VIDEO_MAX_PLANES];
    gint stride[GST_VIDEO_MAX_PLANES];
    const GstBuffer *pushed;
    GstVideoInfo info;
    GstBuffer *in, *out;
    Filter filter;

    filter_open (&filter, LOOK);
    gst_harness_add_propose_allocation_meta (
        filter.harness, GST_VIDEO_META_API_TYPE, NULL);
    filter_caps (&filter, video_caps ("I420", WIDTH, HEIGHT, NULL));
    video_info (&info, "I420", WIDTH, HEIGHT, NULL);
    in = frame_new (&info, 5);
    for (guint p = 0; p < 3; p++) {
      offset[p] = GST_VIDEO_INFO_PLANE_OFFSET (&info, p);
      stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&info, p);
    }
    if (same)
      offset[2] = offset[1];
    gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT, 3, offset, stride);
    pushed = in;
    out = filter_process (&filter, in);
    expect ((out == pushed) == !same, "%s planes, %s buffer",
        same ? "overlapping" : "other", out == pushed ? "the same" : "another");
    gst_buffer_unref (out);
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* If the frame is a part of its buffer, the rest must not be visible. */
static void
in_place_not_if_cropped (void)
{
  GstVideoCropMeta *crop;
  GstVideoInfo info, whole;
  GstBuffer *in, *out;
  const GstBuffer *pushed;
  Filter filter;

  filter_start (&filter, LOOK, &info, "NV12", WIDTH, HEIGHT, NULL);
  video_info (&whole, "NV12", WIDTH + 16, HEIGHT + 8, NULL);
  in = frame_new (&whole, 5);
  if (gst_buffer_get_video_meta (in) == NULL)
    gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (&whole), WIDTH + 16, HEIGHT + 8,
        GST_VIDEO_INFO_N_PLANES (&whole), whole.offset, whole.stride);
  crop = gst_buffer_add_video_crop_meta (in);
  crop->width = WIDTH;
  crop->height = HEIGHT;
  pushed = in;
  out = filter_process (&filter, in);
  expect (out != pushed, "it is the same buffer");
  expect (gst_buffer_get_video_crop_meta (out) == NULL, "still to be cropped");
  gst_buffer_unref (out);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* The histogram is that of the result. Counting on a GPU needs the whole frame there. */
static void
in_place_histogram (void)
{
  const GValue *components, *bins;
  GstMessage *message;
  GstVideoInfo info;
  GstBuffer *frame, *out;
  const GstBuffer *pushed;
  guint64 count;
  Filter filter;

  filter_start (&filter,
      "roi-mode=inside roi-fill=solid roi-color=0xffc8c8c8 histogram=true "
      "histogram-interval=0",
      &info, "GRAY8", WIDTH, HEIGHT, NULL);
  frame = picture_new (&info, 0);
  gst_buffer_memset (frame, 0, 10, gst_buffer_get_size (frame));
  regions_report (frame, "face", &(Box){ 20, 30, 36, 42 }, 1);
  pushed = frame;
  out = filter_process (&filter, frame);
  expect ((out == pushed) == !test_on_cuda (), "the wrong buffer");
  gst_buffer_unref (out);
  message = gst_bus_pop_filtered (filter.bus, GST_MESSAGE_ELEMENT);
  expect (message != NULL, "no message");
  components = gst_structure_get_value (
      gst_message_get_structure (message), "components");
  bins = gst_structure_get_value (
      gst_value_get_structure (gst_value_array_get_value (components, 0)),
      "bins");
  count = g_value_get_uint64 (gst_value_array_get_value (bins, 200));
  expect (count == 16 * 12, "the region has %d samples", (int) count);
  gst_message_unref (message);
  filter_close (&filter);
}

/* Other metas of the buffer and its times stay, but not the histogram meta of the input. */
static void
in_place_metas (void)
{
  GstVideoRegionOfInterestMeta *meta;
  GstVideoInfo info;
  GstBuffer *frame, *out;
  const GstBuffer *pushed;
  Filter filter, first;

  filter_start (&first, "cudahisto attach-meta=true post-messages=false", &info,
      "NV12", WIDTH, HEIGHT, NULL);
  filter_start (&filter, LOOK, &info, "NV12", WIDTH, HEIGHT, NULL);
  frame = frame_new (&info, 5);
  GST_BUFFER_PTS (frame) = 7 * GST_MSECOND;
  frame = filter_process (&first, frame);
  expect (gst_buffer_get_meta (
              frame, g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME))
          != NULL,
      "cudahisto attaches nothing");
  pushed = frame;
  out = filter_process (&filter, frame);
  expect (out == pushed, "it is another buffer");
  meta = gst_buffer_get_video_region_of_interest_meta_id (out, 0);
  expect (meta != NULL && meta->x == (guint) boxes[0].left,
      "the region has changed");
  expect (GST_BUFFER_PTS (out) == 7 * GST_MSECOND, "the time has changed");
  expect (gst_buffer_get_meta (
              out, g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME))
          == NULL,
      "the histogram of the input is still there");
  gst_buffer_unref (out);
  filter_close (&filter);
  filter_close (&first);
}

/* Frames that are changed in place, pass, or get another buffer keep their order in flight, in
 * buffers of the filter's own pool and of others. */
static void
in_place_in_flight (void)
{
  static const char *const zones[] = { "zones=<>", "zones=<<0,0,1,1>>",
    "zones=<<0.1,0.2,0.1,0.15>,<0.15,0.25,0.1,0.1>>" };
  static const Box small[] = { { 16, 24, 32, 42 }, { 24, 30, 40, 42 } };
  Flight *flight =
      flight_open (LOOK " ring-depth=4", "NV12", WIDTH, HEIGHT, NULL);
  GstBufferPool *pool = flight_pool (flight);

  flight_set_jitter (flight, 3000, 1);
  for (guint64 n = 0; n < 36; n++) {
    GstBuffer *frame = n % 4 < 2 && pool != NULL
        ? flight_frame_in (flight, pool, n)
        : flight_frame (flight, n);

    settings_apply (flight->filter.element, zones[n % 3]);
    expect (gst_harness_push (flight->filter.harness, frame) == GST_FLOW_OK,
        "frame %d was not taken", (int) n);
  }
  for (guint64 n = 0; n < 36; n++) {
    if (n % 3 != 2) {
      flight_expect (flight, n, n % 3 == 0 ? "planes=" : "sigma=2");
    } else {
      GstBuffer *want = flight_frame (flight, n), *out = flight_pull (flight);

      test_context ("frame %d", (int) n);
      expect (GST_BUFFER_OFFSET (out) == n, "it is frame %d",
          (int) GST_BUFFER_OFFSET (out));
      regions_expect (want, out, &flight->info, LOOK, small, 2, FALSE);
      gst_buffer_unref (want);
      gst_buffer_unref (out);
    }
  }
  if (pool != NULL) {
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
  }
  flight_close (flight);
}

/* Only the bytes that are read and written cross the bus. */
static void
in_place_bytes (void)
{
  guint64 up, down;
  Stage stage;

  stage_open (&stage, "roi-mode=inside roi-fill=solid");
  expect_covered (&stage.filter, &stage.info, "roi-mode=inside roi-fill=solid",
      stage.frame, stage.want, TRUE);
  up = element_count (stage.filter.element, "bytes-up");
  down = element_count (stage.filter.element, "bytes-down");
  expect (up == down && (up > 0) == test_on_cuda () && up < WIDTH * HEIGHT / 8,
      "%d bytes up and %d down", (int) up, (int) down);
  stage_close (&stage);
}

const Test tests_regions_in_place[] = {
  { "regions-in-place-looks", in_place_looks, VARIANT_BOTH },
  { "regions-in-place-planes", in_place_planes, VARIANT_BOTH },
  { "regions-in-place-interlaced", in_place_interlaced, VARIANT_BOTH },
  { "regions-in-place-not-if-held", in_place_not_if_held, VARIANT_BOTH },
  { "regions-in-place-not-if-shared", in_place_not_if_shared, VARIANT_BOTH },
  { "regions-in-place-not-if-of-parent", in_place_not_if_of_parent,
      VARIANT_BOTH },
  { "regions-in-place-not-if-read-only", in_place_not_if_read_only,
      VARIANT_BOTH },
  { "regions-in-place-not-if-pageable", in_place_not_if_pageable,
      VARIANT_BOTH },
  { "regions-in-place-not-if-large", in_place_not_if_large, VARIANT_BOTH },
  { "regions-in-place-not-if-cropped", in_place_not_if_cropped, VARIANT_BOTH },
  { "regions-in-place-not-if-overlapping", in_place_not_if_overlapping,
      VARIANT_BOTH },
  { "regions-in-place-histogram", in_place_histogram, VARIANT_BOTH },
  { "regions-in-place-metas", in_place_metas, VARIANT_BOTH },
  { "regions-in-place-in-flight", in_place_in_flight, VARIANT_BOTH },
  { "regions-in-place-bytes", in_place_bytes, VARIANT_BOTH },
  { NULL, NULL, 0 },
};
