/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions: the parts of a frame that are covered, and their look. */
#ifdef HAVE_GSTANALYTICS
#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>
#endif

#include "flight-fixture.h"
#include "regions-oracle.h"

#include <string.h>

#define MSECOND GST_MSECOND

/* Odd positions on subsampled chroma, two that overlap, and one partly outside. Strengths up to
 * 0.18 keep sigma at most 6; above 6 the element's gaussians are wider than the oracle's. */
static const Box odd_boxes[] = { { 5, 3, 18, 14 }, { 9, 7, 12, 26 },
  { 27, 17, 60, 50 }, { 0, 0, 1, 1 } };

static const char *const odd_formats[] = { "GRAY8", "NV12", "I420", "YUY2",
  "YVYU", "YUV9", "RGBA", "RGBx", "P010_10LE", "A444_10LE", "ARGB64", "AYUV",
  "RGB16", "BGR15" };

/* Pushes a picture with boxes, and expects them to be covered. */
static void
check_boxes (Filter *filter, const GstVideoInfo *info, guint32 seed,
    const char *settings, const Box *boxes, int n)
{
  GstBuffer *in = picture_new (info, seed), *out;

  regions_report (in, "face", boxes, n);
  out = filter_process (filter, gst_buffer_ref (in));
  regions_expect (
      in, out, info, settings, boxes, n, GST_VIDEO_INFO_IS_INTERLACED (info));
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

static void
check_look (const char *format, int width, int height, const char *more,
    const char *settings)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, settings, &info, format, width, height, more);
  for (guint32 seed = 1; seed < 4; seed++)
    check_boxes (&filter, &info, seed, settings, odd_boxes,
        (int) G_N_ELEMENTS (odd_boxes));
  filter_expect_silence (&filter);
  filter_close (&filter);
}

static void
check_looks (const char *const *looks, guint n)
{
  for (guint l = 0; l < n; l++)
    for (guint f = 0; f < G_N_ELEMENTS (odd_formats); f++)
      check_look (odd_formats[f], 37, 29, NULL, looks[l]);
}

static void
regions_inside (void)
{
  static const char *const looks[] = {
    "sigma=3 roi-mode=inside",
    "sigma=3 roi-mode=inside roi-shape=ellipse roi-feather=0.5 roi-grow=0.25",
    "roi-mode=inside roi-strength=0.15 roi-feather=0.25",
    "kernel=box radius=2 roi-mode=inside border=wrap roi-grow=0.5",
    "kernel=sobel-x scale=0.2 bias=0.3 roi-mode=inside roi-feather=1",
  };

  check_looks (looks, G_N_ELEMENTS (looks));
}

static void
regions_outside (void)
{
  static const char *const looks[] = {
    "sigma=3 roi-mode=outside",
    "sigma=2 roi-mode=outside roi-shape=ellipse roi-feather=0.5",
    "roi-mode=outside roi-fill=solid roi-color=0xff2060a0 roi-feather=0.5",
  };

  check_looks (looks, G_N_ELEMENTS (looks));
}

static void
regions_pixelate (void)
{
  static const char *const looks[] = {
    "sigma=1.2 roi-mode=inside roi-fill=pixelate",
    "sigma=2 roi-mode=inside roi-fill=pixelate roi-shape=ellipse roi-feather=1",
    "roi-mode=inside roi-fill=pixelate roi-strength=0.125 roi-grow=0.25",
  };

  check_looks (looks, G_N_ELEMENTS (looks));
}

static void
regions_solid (void)
{
  static const char *const looks[] = {
    "roi-mode=inside roi-fill=solid",
    "roi-mode=inside roi-fill=solid roi-color=0x80c01050 roi-shape=ellipse",
    "roi-mode=inside roi-fill=solid roi-color=0xff30ff50 roi-feather=0.75",
  };

  check_looks (looks, G_N_ELEMENTS (looks));
}

/* The other components are copied. */
static void
regions_planes (void)
{
  static const char *const fills[] = { "roi-fill=blur sigma=2",
    "roi-fill=pixelate sigma=1", "roi-fill=solid roi-color=0x40ff8000" };
  static const struct
  {
    const char *format, *planes;
  } cases[] = { { "NV12", "luma" }, { "NV12", "chroma" }, { "YUY2", "luma" },
    { "RGBA", "all" }, { "RGBA", "alpha" }, { "AYUV", "luma" },
    { "ARGB64", "all" } };

  for (guint f = 0; f < G_N_ELEMENTS (fills); f++)
    for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
      char *settings = g_strdup_printf (
          "roi-mode=inside planes=%s %s", cases[c].planes, fills[f]);

      check_look (cases[c].format, 37, 29, NULL, settings);
      g_free (settings);
    }
}

/* Pictures smaller than a region, and pictures of one row. */
static void
regions_small_pictures (void)
{
  static const struct
  {
    int width, height;
  } sizes[] = { { 1, 1 }, { 2, 2 }, { 31, 1 }, { 1, 31 }, { 10, 7 } };

  for (guint f = 0; f < G_N_ELEMENTS (odd_formats); f++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
      check_look (odd_formats[f], sizes[s].width, sizes[s].height, NULL,
          "sigma=2 roi-mode=inside roi-feather=0.5");
}

static void
regions_interlaced (void)
{
  static const char *const looks[] = { "sigma=2 roi-mode=inside",
    "sigma=2 roi-mode=inside roi-shape=ellipse roi-feather=0.5",
    "sigma=1.5 roi-mode=inside roi-fill=pixelate",
    "sigma=2 roi-mode=outside roi-feather=0.25" };

  for (guint l = 0; l < G_N_ELEMENTS (looks); l++)
    for (guint f = 0; f < G_N_ELEMENTS (odd_formats); f++)
      check_look (
          odd_formats[f], 37, 29, "interlace-mode=interleaved", looks[l]);
}

/* A field in its own buffer is a picture: boxes are in its pixels. */
static void
regions_alternate (void)
{
  static const char *const settings =
      "sigma=2 roi-mode=inside zones=<<0.5,0.5,0.5,0.5>>";
  const Box boxes[] = { { 5, 3, 18, 11 }, { 17, 7, 34, 14 } };
  GstCaps *caps = video_caps ("NV12", 34, 27, "interlace-mode=alternate");
  GstVideoInfo info;
  Filter filter;

  gst_caps_set_features_simple (
      caps, gst_caps_features_new (GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL));
  expect (gst_video_info_from_caps (&info, caps), "no info");
  filter_open (&filter, settings);
  expect (filter_caps (&filter, caps), "caps refused");
  for (guint32 i = 0; i < 4; i++) {
    GstBuffer *in = picture_new (&info, i), *out;

    GST_BUFFER_FLAG_SET (in,
        GST_VIDEO_BUFFER_FLAG_INTERLACED
            | (i % 2 ? GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD
                     : GST_VIDEO_BUFFER_FLAG_TOP_FIELD));
    regions_report (in, "face", boxes, 1);
    out = filter_process (&filter, gst_buffer_ref (in));
    regions_expect (in, out, &info, settings, boxes, 2, FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* ---- which regions ------------------------------------------------------- */

#define SOLID "roi-mode=inside roi-fill=solid"

/* A filter of GRAY8 frames whose regions are covered with black. */
typedef struct
{
  Filter filter;
  GstVideoInfo info;
  const char *settings;
} Stage;

static void
stage_open (Stage *stage, const char *settings)
{
  stage->settings = settings;
  filter_start (&stage->filter, settings, &stage->info, "GRAY8", 64, 48, NULL);
}

static void
stage_close (Stage *stage)
{
  filter_expect_silence (&stage->filter);
  filter_close (&stage->filter);
}

static GstBuffer *
stage_frame (const Stage *stage, GstClockTime pts)
{
  GstBuffer *frame = picture_new (&stage->info, 7);

  GST_BUFFER_PTS (frame) = pts;
  return frame;
}

static void
report_id (GstBuffer *frame, const char *type, int id, const Box *box)
{
  gst_buffer_add_video_region_of_interest_meta (frame, type, (guint) box->left,
      (guint) box->top, (guint) (box->right - box->left),
      (guint) (box->bottom - box->top))
      ->id = id;
}

/* Pushes a frame (taken) and expects these boxes to be covered. */
static void
stage_expect (Stage *stage, GstBuffer *frame, const Box *boxes, int n)
{
  GstBuffer *out = filter_process (&stage->filter, gst_buffer_ref (frame));

  regions_expect (frame, out, &stage->info, stage->settings, boxes, n, FALSE);
  gst_buffer_unref (out);
  gst_buffer_unref (frame);
}

/* The same for frames one after the other, without objects. */
static void
stage_expect_held (Stage *stage, GstClockTime pts, const Box *boxes, int n)
{
  test_context ("frame at %" GST_TIME_FORMAT, GST_TIME_ARGS (pts));
  stage_expect (stage, stage_frame (stage, pts), boxes, n);
}

/* The same with one object. */
static void
stage_expect_box (Stage *stage, GstClockTime pts, const char *type,
    const Box *box, const Box *boxes, int n)
{
  GstBuffer *frame = stage_frame (stage, pts);

  test_context ("%s at %" GST_TIME_FORMAT, type, GST_TIME_ARGS (pts));
  regions_report (frame, type, box, 1);
  stage_expect (stage, frame, boxes, n);
}

static const Box box_a = { 4, 6, 20, 18 }, box_b = { 30, 20, 50, 40 };
static const Box both_boxes[] = { { 4, 6, 20, 18 }, { 30, 20, 50, 40 } };

static GstBuffer *
frame_of_two (const Stage *stage)
{
  GstBuffer *frame = stage_frame (stage, 0);

  regions_report (frame, "face", &box_a, 1);
  regions_report (frame, "plate", &box_b, 1);
  return frame;
}

static void
regions_types (void)
{
  Stage stage;

  stage_open (&stage, SOLID);
  stage_expect (&stage, frame_of_two (&stage), both_boxes, 2);
  settings_apply (stage.filter.element, "roi-types=<face>");
  stage_expect (&stage, frame_of_two (&stage), &box_a, 1);
  settings_apply (stage.filter.element, "roi-types=<person,plate>");
  stage_expect (&stage, frame_of_two (&stage), &box_b, 1);
  settings_apply (stage.filter.element, "roi-types=<t>");
  stage_expect (&stage, frame_of_two (&stage), NULL, 0);
  settings_apply (stage.filter.element, "roi-types=<>");
  stage_expect (&stage, frame_of_two (&stage), both_boxes, 2);
  stage_close (&stage);
}

static void
regions_types_read_back (void)
{
  GstElement *element = element_make ("cudasepconv");
  GValue types = G_VALUE_INIT;

  settings_apply (element, "roi-types=<face,t,12>");
  g_value_init (&types, GST_TYPE_ARRAY);
  g_object_get_property (G_OBJECT (element), "roi-types", &types);
  expect (gst_value_array_get_size (&types) == 3, "%u types",
      gst_value_array_get_size (&types));
  for (guint i = 0; i < 3; i++) {
    static const char *const want[] = { "face", "t", "12" };
    const char *type =
        g_value_get_string (gst_value_array_get_value (&types, i));

    expect (g_strcmp0 (type, want[i]) == 0, "type %u is %s", i, type);
  }
  g_value_unset (&types);
  gst_object_unref (element);
}

#ifdef HAVE_GSTANALYTICS
/* Detections of gst-analytics, some partly left of the frame or above it, beside other
 * objects. */
static void
regions_detections (void)
{
  const Box boxes[] = { { -4, -6, 20, 18 }, { 30, 20, 50, 40 } };
  GstAnalyticsODMtd added;
  Stage stage;

  stage_open (&stage, SOLID);
  for (int i = 0; i < 4; i++) {
    GstBuffer *frame = stage_frame (&stage, 0);
    GstAnalyticsRelationMeta *meta =
        gst_buffer_add_analytics_relation_meta (frame);

    test_context ("frame %d", i);
    if (i & 1)
      gst_analytics_relation_meta_add_od_mtd (meta,
          g_quark_from_static_string ("face"), -4, -6, 24, 24, 0.5f, &added);
    /* An object without a size covers nothing. */
    gst_analytics_relation_meta_add_od_mtd (
        meta, g_quark_from_static_string ("face"), 9, 9, 0, 5, 0.5f, &added);
    if (i & 2)
      regions_report (frame, "plate", &boxes[1], 1);
    stage_expect (&stage, frame, i & 1 ? boxes : boxes + 1, (i & 1) + i / 2);
  }
  settings_apply (stage.filter.element, "roi-types=<face> roi-hold=5");
  for (int i = 0; i < 2; i++) {
    GstBuffer *frame = stage_frame (&stage, 0);

    if (i == 0) {
      GstAnalyticsRelationMeta *meta =
          gst_buffer_add_analytics_relation_meta (frame);

      gst_analytics_relation_meta_add_od_mtd (
          meta, g_quark_from_static_string ("car"), 9, 9, 5, 5, 0.5f, &added);
      gst_analytics_relation_meta_add_od_mtd (meta,
          g_quark_from_static_string ("face"), -4, -6, 24, 24, 0.5f, &added);
    }
    stage_expect (&stage, frame, boxes, 1);
  }
  stage_close (&stage);
}
#endif

/* Zones are covered in every frame, in addition to the objects. */
static void
regions_zones (void)
{
  /* In a frame of 64 x 48: rounded outward, except for edges that are integers up to rounding
   * errors. */
  const Box zones[] = { { 6, 9, 26, 29 }, { -7, 43, 7, 53 } };
  const Box both[] = { zones[0], zones[1], { 30, 20, 50, 40 } };
  Stage stage;

  stage_open (&stage, SOLID " zones=<<0.1,0.2,0.3,0.4>,<-0.1,0.9,0.2,0.2>>");
  stage_expect_held (&stage, 0, zones, 2);
  stage_expect_box (&stage, 0, "face", &box_b, both, 3);
  settings_apply (stage.filter.element, "zones=<<0.25,0.5,0.5,0.25>>");
  stage_expect_held (&stage, 0, &(Box){ 16, 24, 48, 36 }, 1);
  /* A zone without a size covers nothing. */
  settings_apply (stage.filter.element, "zones=<<0.25,0.5,0,0.25>>");
  stage_expect_held (&stage, 0, NULL, 0);
  settings_apply (stage.filter.element, "zones=<<0,0,1,1>>");
  stage_expect_held (&stage, 0, &(Box){ 0, 0, 64, 48 }, 1);
  settings_apply (
      stage.filter.element, "zones=<<1e300,0,1,1>,<-9,-9,1e300,20>>");
  stage_expect_held (&stage, 0, &(Box){ -1000, -1000, 1000, 1000 }, 1);
  settings_apply (stage.filter.element, "zones=<>");
  stage_expect_held (&stage, 0, NULL, 0);
  stage_close (&stage);
}

static void
regions_zones_read_back (void)
{
  GstElement *element = element_make ("cudasepconv");
  GValue zones = G_VALUE_INIT;
  const GValue *zone;

  settings_apply (element, "zones=<<0,0.2,0.3,1>,<0.5,0.5,0.25,0.25>>");
  g_value_init (&zones, GST_TYPE_ARRAY);
  g_object_get_property (G_OBJECT (element), "zones", &zones);
  expect (gst_value_array_get_size (&zones) == 2, "%u zones",
      gst_value_array_get_size (&zones));
  zone = gst_value_array_get_value (&zones, 0);
  expect (gst_value_array_get_size (zone) == 4, "%u numbers",
      gst_value_array_get_size (zone));
  for (guint i = 0; i < 4; i++) {
    static const double want[] = { 0.0, 0.2, 0.3, 1.0 };
    const double number =
        g_value_get_double (gst_value_array_get_value (zone, i));

    expect (number == want[i], "number %u is %g", i, number);
  }
  g_value_unset (&zones);
  gst_object_unref (element);
}

/* ---- holding ------------------------------------------------------------- */

#define HOLD SOLID " roi-hold=100000000"

static void
regions_hold (void)
{
  const Box moved = { 8, 8, 24, 20 };
  Stage stage;

  stage_open (&stage, HOLD);
  stage_expect_box (&stage, 0, "face", &box_a, &box_a, 1);
  stage_expect_held (&stage, 50 * MSECOND, &box_a, 1);
  stage_expect_held (&stage, 100 * MSECOND, &box_a, 1);
  stage_expect_held (&stage, 101 * MSECOND, NULL, 0);
  /* Another object beside it, then that object and the first one at another place. */
  stage_expect_box (&stage, 200 * MSECOND, "face", &box_a, &box_a, 1);
  stage_expect_box (&stage, 250 * MSECOND, "face", &box_b, both_boxes, 2);
  stage_expect_box (&stage, 290 * MSECOND, "face", &moved,
      ((const Box[]){ { 8, 8, 24, 20 }, { 30, 20, 50, 40 } }), 2);
  stage_expect_held (&stage, 350 * MSECOND,
      ((const Box[]){ { 8, 8, 24, 20 }, { 30, 20, 50, 40 } }), 2);
  stage_expect_held (&stage, 380 * MSECOND, &moved, 1);
  stage_expect_held (&stage, 391 * MSECOND, NULL, 0);
  stage_close (&stage);
}

/* An object of another type does not replace it; one with the same id does. */
static void
regions_hold_ids (void)
{
  GstBuffer *frame;
  Stage stage;

  stage_open (&stage, HOLD);
  stage_expect_box (&stage, 0, "face", &box_a, &box_a, 1);
  stage_expect_box (&stage, 10 * MSECOND, "plate", &(Box){ 8, 8, 24, 20 },
      ((const Box[]){ { 4, 6, 20, 18 }, { 8, 8, 24, 20 } }), 2);
  stage_expect_held (&stage, 300 * MSECOND, NULL, 0);

  frame = stage_frame (&stage, 400 * MSECOND);
  report_id (frame, "face", 5, &box_a);
  stage_expect (&stage, frame, &box_a, 1);
  frame = stage_frame (&stage, 410 * MSECOND);
  report_id (frame, "face", 6, &box_b);
  stage_expect (&stage, frame, both_boxes, 2);
  frame = stage_frame (&stage, 420 * MSECOND);
  report_id (frame, "face", 5, &(Box){ 50, 0, 60, 10 });
  stage_expect (&stage, frame,
      ((const Box[]){ { 50, 0, 60, 10 }, { 30, 20, 50, 40 } }), 2);
  stage_close (&stage);
}

/* A change of settings also applies to held objects. */
static void
regions_hold_settings (void)
{
  Stage stage;

  stage_open (&stage, HOLD);
  stage_expect_box (&stage, 0, "face", &box_a, &box_a, 1);
  settings_apply (stage.filter.element, "roi-types=<plate>");
  stage_expect_held (&stage, 10 * MSECOND, NULL, 0);
  settings_apply (stage.filter.element, "roi-types=<>");
  stage_expect_box (&stage, 20 * MSECOND, "face", &box_a, &box_a, 1);
  settings_apply (stage.filter.element, "roi-hold=0");
  stage_expect_held (&stage, 30 * MSECOND, NULL, 0);
  settings_apply (stage.filter.element, "roi-hold=100000000");
  stage_expect_box (&stage, 40 * MSECOND, "face", &box_a, &box_a, 1);
  settings_apply (stage.filter.element, "roi-mode=off sigma=0");
  stage_expect_held (&stage, 50 * MSECOND, NULL, 0);
  settings_apply (stage.filter.element, "roi-mode=inside");
  stage_expect_held (&stage, 60 * MSECOND, NULL, 0);
  stage_close (&stage);
}

static void
push_segment (Stage *stage, double rate, GstClockTime start, GstClockTime time)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.rate = rate;
  segment.start = segment.position = start;
  segment.time = time;
  segment.stop = start + 100 * GST_SECOND;
  gst_harness_push_event (
      stage->filter.harness, gst_event_new_segment (&segment));
}

/* Seeks with and without a flush, and reverse playback. */
static void
regions_hold_seeks (void)
{
  Stage stage;

  stage_open (&stage, HOLD);
  stage_expect_box (&stage, GST_SECOND, "face", &box_a, &box_a, 1);
  gst_harness_push_event (stage.filter.harness, gst_event_new_flush_start ());
  gst_harness_push_event (
      stage.filter.harness, gst_event_new_flush_stop (TRUE));
  push_segment (&stage, 1.0, 0, 0);
  stage_expect_held (&stage, GST_SECOND, NULL, 0);

  /* Back by less than the hold time, without a flush. */
  stage_expect_box (&stage, 2 * GST_SECOND, "face", &box_a, &box_a, 1);
  push_segment (&stage, 1.0, 0, 0);
  stage_expect_held (&stage, 2 * GST_SECOND - 50 * MSECOND, NULL, 0);

  /* The same picture with another timestamp. */
  stage_expect_box (&stage, 3 * GST_SECOND, "face", &box_a, &box_a, 1);
  push_segment (&stage, 1.0, 50 * GST_SECOND, 3 * GST_SECOND);
  stage_expect_held (&stage, 50 * GST_SECOND + 50 * MSECOND, &box_a, 1);

  push_segment (&stage, -1.0, 0, 0);
  stage_expect_box (&stage, 9 * GST_SECOND, "face", &box_b, &box_b, 1);
  stage_expect_held (&stage, 9 * GST_SECOND - 60 * MSECOND, &box_b, 1);
  stage_expect_held (&stage, 9 * GST_SECOND - 101 * MSECOND, NULL, 0);
  stage_close (&stage);
}

/* Another stream; another size. */
static void
regions_hold_streams (void)
{
  Stage stage;

  stage_open (&stage, HOLD);
  stage_expect_box (&stage, 0, "face", &box_a, &box_a, 1);
  gst_harness_push_event (
      stage.filter.harness, gst_event_new_stream_start ("another"));
  filter_caps (&stage.filter, video_caps ("GRAY8", 64, 48, NULL));
  stage_expect_held (&stage, 10 * MSECOND, NULL, 0);
  stage_expect_box (&stage, 20 * MSECOND, "face", &box_a, &box_a, 1);
  filter_caps (&stage.filter, video_caps ("GRAY8", 80, 60, NULL));
  video_info (&stage.info, "GRAY8", 80, 60, NULL);
  stage_expect_held (&stage, 30 * MSECOND, NULL, 0);
  stage_close (&stage);
}

/* Without timestamps the arrival time counts. */
static void
regions_hold_untimed (void)
{
  Stage stage;

  stage_open (&stage, SOLID " roi-hold=3600000000000");
  stage_expect_box (&stage, GST_CLOCK_TIME_NONE, "face", &box_a, &box_a, 1);
  stage_expect_held (&stage, GST_CLOCK_TIME_NONE, &box_a, 1);
  settings_apply (stage.filter.element, "roi-hold=1000000");
  g_usleep (5000);
  stage_expect_held (&stage, GST_CLOCK_TIME_NONE, NULL, 0);
  stage_close (&stage);
}

/* ---- frames without regions ---------------------------------------------- */

/* Expects the same buffer, or a copy, at the frame's place. */
static void
expect_untouched (
    Filter *filter, const GstVideoInfo *info, GstBuffer *frame, gboolean same)
{
  GstBuffer *out = filter_process (filter, gst_buffer_ref (frame));

  expect (
      (out == frame) == same, "it is %s buffer", same ? "another" : "the same");
  picture_expect_same (frame, out, info);
  gst_buffer_unref (out);
}

static void
regions_none (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (odd_formats); f++) {
    const PictureLayout padded = { .stride_padding = 32, .plane_padding = 16 };
    GstVideoInfo info;
    GstBuffer *frame;
    Filter filter;

    filter_start (&filter, "sigma=3 roi-mode=inside", &info, odd_formats[f], 37,
        29, NULL);
    frame = picture_new (&info, 3);
    expect_untouched (&filter, &info, frame, TRUE);
    gst_buffer_unref (frame);
    check_boxes (&filter, &info, 5, "sigma=3 roi-mode=inside", odd_boxes, 2);
    frame = picture_new (&info, 4);
    expect_untouched (&filter, &info, frame, TRUE);
    gst_buffer_unref (frame);
    /* The harness's sink does not support GstVideoMeta. */
    frame = picture_new_laid_out (&info, 4, &padded);
    expect_untouched (&filter, &info, frame, FALSE);
    gst_buffer_unref (frame);
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* Frames that pass keep their place among the frames in flight. */
static void
regions_in_flight (void)
{
  Flight *flight = flight_open (
      "sigma=1 roi-mode=inside ring-depth=4", "NV12", 160, 120, NULL);

  flight_set_jitter (flight, 3000, 1);
  for (guint64 n = 0; n < 24; n++) {
    settings_apply (
        flight->filter.element, n % 3 == 1 ? "zones=<>" : "zones=<<0,0,1,1>>");
    flight_push (flight, n);
  }
  for (guint64 n = 0; n < 24; n++)
    flight_expect (flight, n, n % 3 == 1 ? "planes=" : "sigma=1");
  flight_close (flight);
}

/* A sink that supports GstVideoMeta accepts every layout. */
static void
regions_none_laid_out (void)
{
  const PictureLayout padded = { .stride_padding = 32, .plane_padding = 16 };
  GstVideoInfo info;
  GstBuffer *frame;
  Filter filter;

  filter_open (&filter, "sigma=3 roi-mode=inside");
  gst_harness_add_propose_allocation_meta (
      filter.harness, GST_VIDEO_META_API_TYPE, NULL);
  filter_caps (&filter, video_caps ("NV12", 37, 29, NULL));
  video_info (&info, "NV12", 37, 29, NULL);
  frame = picture_new_laid_out (&info, 4, &padded);
  expect_untouched (&filter, &info, frame, TRUE);
  gst_buffer_unref (frame);
  filter_close (&filter);
}

static guint64
count_message (GstMessage *message, const char *what)
{
  const GstStructure *structure = gst_message_get_structure (message);
  const GValue *components = gst_structure_get_value (structure, "components");
  const GstStructure *first =
      gst_value_get_structure (gst_value_array_get_value (components, 0));
  const GValue *bins = gst_structure_get_value (first, "bins");

  expect (gst_value_array_get_size (bins) == 256, "%s: %u bins", what,
      gst_value_array_get_size (bins));
  return g_value_get_uint64 (gst_value_array_get_value (bins, 200));
}

/* The histogram is that of the output frame, even if the frame passes. */
static void
regions_histogram (void)
{
  guint64 counts[3];
  GstMessage *message;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter,
      SOLID " roi-color=0xffc8c8c8 histogram=true histogram-interval=0", &info,
      "GRAY8", 64, 48, NULL);
  for (int i = 0; i < 3; i++) {
    GstBuffer *frame = picture_new (&info, 0), *out;

    gst_buffer_memset (frame, 0, 10, gst_buffer_get_size (frame));
    if (i == 1)
      regions_report (frame, "face", &box_a, 1);
    out = filter_process (&filter, gst_buffer_ref (frame));
    expect ((out == frame) == (i != 1), "frame %d", i);
    gst_buffer_unref (frame);
    gst_buffer_unref (out);
    message = gst_bus_pop_filtered (filter.bus, GST_MESSAGE_ELEMENT);
    expect (message != NULL, "no message for frame %d", i);
    counts[i] = count_message (message, "histogram");
    gst_message_unref (message);
  }
  expect (counts[0] == 0 && counts[2] == 0, "frames that pass: %d and %d",
      (int) counts[0], (int) counts[2]);
  expect (counts[1] == 16 * 12, "the region has %d samples", (int) counts[1]);
  filter_close (&filter);
}

static void
regions_keep_metas (void)
{
  GstVideoRegionOfInterestMeta *meta;
  GstBuffer *frame, *out;
  Stage stage;

  stage_open (&stage, SOLID " roi-grow=1");
  frame = stage_frame (&stage, 33 * MSECOND);
  regions_report (frame, "face", &box_a, 1);
  out = filter_process (&stage.filter, frame);
  meta = gst_buffer_get_video_region_of_interest_meta_id (out, 0);
  expect (meta != NULL && meta->x == 4 && meta->y == 6 && meta->w == 16
          && meta->h == 12,
      "the region has changed");
  expect (GST_BUFFER_PTS (out) == 33 * MSECOND, "the time has changed");
  gst_buffer_unref (out);
  stage_close (&stage);
}

/* ---- crops --------------------------------------------------------------- */

/* Expects the samples of the whole picture from pixel (x, y) on. */
static void
expect_cut_out (GstBuffer *frame, const GstVideoInfo *info, GstBuffer *in,
    const GstVideoInfo *whole, int x, int y)
{
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    const int width = GST_VIDEO_INFO_COMP_WIDTH (info, c);
    const int x0 = x >> GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c);
    const int y0 = y >> GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c);
    gsize n, all;
    guint16 *got = picture_samples (frame, info, c, &n);
    guint16 *want = picture_samples (in, whole, c, &all);

    for (int i = 0; i < (int) n; i++)
      expect (got[i]
              == want[(i / width + y0) * GST_VIDEO_INFO_COMP_WIDTH (whole, c)
                  + i % width + x0],
          "component %u, sample (%d,%d) is %u", c, i % width, i / width,
          got[i]);
    g_free (got);
    g_free (want);
  }
}

/* A frame of 40 x 30 at (x, y) of a larger buffer, with a region. */
static void
check_crop (const char *format, guint x, guint y, const Box *reported,
    const Box *covered)
{
  static const char *const settings =
      "roi-mode=inside roi-fill=solid roi-color=0xff10a0f0";
  const int pairs = g_str_equal (format, "YUY2"); /* not to be split */
  GstVideoInfo info, whole;
  GstBuffer *in, *out, *frame;
  GstVideoCropMeta *crop;
  Filter filter;

  filter_start (&filter, settings, &info, format, 40, 30, NULL);
  test_context ("format=%s crop at %u,%u", format, x, y);
  video_info (&whole, format, 96, 64, NULL);
  in = picture_new (&whole, 5);
  if (gst_buffer_get_video_meta (in) == NULL)
    gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (&whole), 96, 64,
        GST_VIDEO_INFO_N_PLANES (&whole), whole.offset, whole.stride);
  crop = gst_buffer_add_video_crop_meta (in);
  crop->x = x;
  crop->y = y;
  crop->width = 40;
  crop->height = 30;
  /* Without a region the output is still the frame, not the whole buffer. */
  frame = filter_process (&filter, gst_buffer_ref (in));
  expect (
      gst_buffer_get_video_crop_meta (frame) == NULL, "still to be cropped");
  expect_cut_out (frame, &info, in, &whole, (int) x >> pairs << pairs, (int) y);
  regions_report (in, "face", reported, 1);
  out = filter_process (&filter, in);
  regions_expect (frame, out, &info, settings, covered, 1, FALSE);
  filter_expect_silence (&filter);
  gst_buffer_unref (frame);
  gst_buffer_unref (out);
  filter_close (&filter);
}

static void
regions_crop (void)
{
  static const char *const formats[] = { "I420", "NV12", "RGBA", "GRAY8",
    "AYUV" };
  const Box reported = { 11, 9, 31, 25 };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    check_crop (formats[f], 20, 10, &reported, &(Box){ -9, -1, 11, 15 });
    check_crop (formats[f], 3, 5, &reported, &(Box){ 8, 4, 28, 20 });
  }
  check_crop ("YUY2", 20, 10, &reported, &(Box){ -9, -1, 11, 15 });
  check_crop ("YUY2", 3, 5, &reported, &(Box){ 9, 4, 29, 20 });
}

/* ---- changes ------------------------------------------------------------- */

static void
regions_while_playing (void)
{
  static const char *const steps[] = {
    "sigma=2",
    "sigma=2 roi-mode=inside",
    "sigma=5 roi-mode=inside",
    "sigma=5 roi-mode=inside roi-feather=0.5",
    "sigma=5 roi-mode=inside roi-feather=0.5 roi-shape=ellipse",
    "sigma=5 roi-mode=inside roi-strength=0.15 roi-shape=ellipse",
    "sigma=5 roi-mode=inside roi-strength=0.1 roi-grow=0.5",
    "sigma=1 roi-mode=inside roi-fill=pixelate",
    "sigma=2 roi-mode=inside roi-fill=pixelate",
    "sigma=2 roi-mode=inside roi-fill=solid roi-color=0xff804020",
    "sigma=2 roi-mode=outside roi-fill=solid roi-color=0xff208040",
    "sigma=2 roi-mode=outside",
    "sigma=4 roi-mode=outside roi-feather=0.5",
    "kernel=sobel-y scale=0.25 roi-mode=inside",
    "kernel=unsharp amount=2 sigma=2 roi-mode=inside",
    "sigma=2 roi-mode=inside planes=luma",
    "sigma=2 roi-mode=inside method=auto",
    "sigma=2",
  };
  static const char *const defaults =
      "kernel=gaussian scale=1 roi-mode=off roi-feather=0 roi-shape=rectangle "
      "roi-strength=0 roi-grow=0 roi-fill=blur planes=color";
  static const char *const formats[] = { "AYUV", "NV12" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, steps[0], &info, formats[f], 37, 29, NULL);
    for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
      char *settings = g_strdup_printf ("%s %s", defaults, steps[s]);

      test_context ("format=%s step %u settings=%s", formats[f], s, steps[s]);
      settings_apply (filter.element, settings);
      for (guint32 seed = s; seed < s + 2; seed++)
        if (strstr (steps[s], "roi-mode") == NULL)
          picture_check_frame (&filter, &info, seed, settings);
        else
          check_boxes (&filter, &info, seed, settings, odd_boxes, 3);
      g_free (settings);
    }
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* Other formats and sizes in mid-stream, with the same filter. */
static void
regions_renegotiation (void)
{
  static const char *const settings = "sigma=2 roi-mode=inside roi-feather=0.5";
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, settings, &info, "NV12", 37, 29, NULL);
  for (guint f = 0; f < G_N_ELEMENTS (odd_formats); f++) {
    const int width = 21 + 7 * (int) f, height = 50 - 3 * (int) f;

    test_context ("format=%s size=%dx%d", odd_formats[f], width, height);
    video_info (&info, odd_formats[f], width, height, NULL);
    expect (
        filter_caps (&filter, video_caps (odd_formats[f], width, height, NULL)),
        "caps refused");
    check_boxes (&filter, &info, f, settings, odd_boxes, 4);
  }
  filter_restart (&filter);
  video_info (&info, "I420", 37, 29, NULL);
  filter_caps (&filter, video_caps ("I420", 37, 29, NULL));
  check_boxes (&filter, &info, 3, settings, odd_boxes, 4);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* Each frame has another number of regions, sometimes many. */
static void
regions_many (void)
{
  static const char *const settings = "sigma=1 roi-mode=inside";
  Box boxes[60];
  GstVideoInfo info;
  Filter filter;

  for (int i = 0; i < 60; i++) {
    boxes[i].left = i * 7 % 150;
    boxes[i].top = i * 11 % 110;
    boxes[i].right = boxes[i].left + 3 + i % 5;
    boxes[i].bottom = boxes[i].top + 3 + i % 7;
  }
  filter_start (&filter, settings, &info, "NV12", 160, 120, NULL);
  for (guint32 i = 0; i < 12; i++)
    check_boxes (&filter, &info, i, settings, boxes, (int) (i * 23 % 60) + 1);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

static void
regions_active_method (void)
{
  static const char *const settings = "sigma=2 roi-mode=inside";
  GstVideoInfo info;
  Filter filter;
  char *method;

  filter_start (&filter, settings, &info, "NV12", 37, 29, NULL);
  check_boxes (&filter, &info, 1, settings, odd_boxes, 2);
  method = filter_get (&filter, "active-method");
  expect (!g_str_equal (method, "none"), "active-method is %s", method);
  if (test_on_cuda ())
    expect (g_str_equal (method, "regions"), "active-method is %s", method);
  g_free (method);
  filter_close (&filter);
}

/* ---- errors and warnings ------------------------------------------------- */

static void
expect_refused (const char *settings)
{
  Filter filter;

  test_context ("settings=%s", settings);
  filter_make (&filter, settings);
  expect (gst_element_set_state (filter.element, GST_STATE_PAUSED)
          == GST_STATE_CHANGE_FAILURE,
      "it was taken");
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  filter_close (&filter);
}

static void
regions_bad_zones (void)
{
  GstVideoInfo info;
  Filter filter;

  expect_refused (SOLID " zones=<<0.1,0.2,0.3>>");
  expect_refused (SOLID " zones=<0.1,0.2,0.3,0.4>");
  expect_refused (SOLID " zones=<<0,0,1,1>,<0.1,0.2,-0.3,0.4>>");
  expect_refused (SOLID " zones=<<a,b,c,d>>");
  /* While playing, too. */
  filter_start (&filter, SOLID, &info, "GRAY8", 64, 48, NULL);
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
  settings_apply (filter.element, "zones=<<0.1,0.2,0.3,-0.4>>");
  expect (gst_harness_push (filter.harness, picture_new (&info, 2))
          == GST_FLOW_ERROR,
      "it was taken");
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  filter_close (&filter);
}

/* Settings that the engine does not support give an error with a sentence. */
static void
check_unsupported (const char *settings)
{
  Filter filter;

  test_context ("settings=%s", settings);
  filter_open (&filter, settings);
  filter_caps (&filter, video_caps ("NV12", 64, 48, NULL));
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  filter_close (&filter);
}

static void
regions_unsupported (void)
{
  check_unsupported ("roi-mode=outside roi-fill=pixelate");
  /* Regions of some sizes would amplify too much, even though no frame has one yet. */
  check_unsupported ("roi-mode=inside roi-strength=0.1 kernel=unsharp sigma=0 "
                     "amount=49.5 scale=10000");
  if (test_on_cuda ())
    check_unsupported ("roi-mode=inside method=global");
}

/* A method computes the kernel's result, where the kernel has one. */
static void
regions_methods (void)
{
  static const char *const looks[] = { "sigma=2 roi-mode=outside",
    "roi-mode=inside roi-fill=solid", "sigma=2 roi-mode=inside" };

  for (guint l = 0; l < G_N_ELEMENTS (looks) - test_on_cuda (); l++) {
    char *settings = g_strdup_printf (
        "%s method=%s", looks[l], test_on_cuda () ? "global" : "reference");

    check_look ("NV12", 37, 29, NULL, settings);
    g_free (settings);
  }
}

static void
expect_hint (const char *settings, const char *property)
{
  GError *error = NULL;
  GstMessage *message;
  GstVideoInfo info;
  Filter filter;

  test_context ("settings=%s", settings);
  filter_make (&filter, settings);
  filter_let_hints_through (&filter);
  filter_plug (&filter);
  filter_caps (&filter, video_caps ("GRAY8", 16, 12, NULL));
  video_info (&info, "GRAY8", 16, 12, NULL);
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
  expect (filter_drain_bus (&filter, GST_MESSAGE_WARNING, &message)
          == (property != NULL),
      "%s warning", message ? "a" : "no");
  if (message != NULL) {
    gst_message_parse_warning (message, &error, NULL);
    expect (g_str_has_prefix (error->message, property), "it is: %s",
        error->message);
    g_error_free (error);
    gst_message_unref (message);
  }
  filter_close (&filter);
}

static void
regions_hints (void)
{
  expect_hint ("roi-types=<face>", "roi-types has no effect");
  expect_hint ("zones=<<0,0,1,1>>", "zones has no effect");
  expect_hint ("roi-grow=1", "roi-grow has no effect");
  expect_hint ("roi-shape=ellipse", "roi-shape has no effect");
  expect_hint ("roi-feather=1", "roi-feather has no effect");
  expect_hint ("roi-fill=solid", "roi-fill has no effect");
  expect_hint ("roi-hold=1", "roi-hold has no effect");
  expect_hint ("roi-mode=inside roi-color=1", "roi-color has no effect");
  expect_hint (
      "roi-mode=outside roi-strength=0.1", "roi-strength has no effect");
  expect_hint ("roi-mode=inside kernel=sobel-x roi-strength=0.1",
      "roi-strength has no effect");
  expect_hint (SOLID " roi-strength=0.1", "roi-strength has no effect");
  expect_hint ("roi-mode=inside roi-strength=0.1 roi-hold=5", NULL);
  expect_hint (SOLID " roi-color=1 roi-types=<face> roi-feather=0.1", NULL);
  expect_hint (
      "roi-mode=inside roi-fill=pixelate kernel=sobel-x sigma=3", NULL);
}

static void
regions_defaults (void)
{
  static const struct
  {
    const char *property, *value;
  } defaults[] = { { "roi-mode", "off" }, { "roi-shape", "rectangle" },
    { "roi-fill", "blur" }, { "roi-grow", "0" }, { "roi-strength", "0" },
    { "roi-feather", "0" }, { "roi-color", "4278190080" },
    { "roi-hold", "0" } };
  static const char *const modes[] = { "off", "inside", "outside", NULL };
  static const char *const shapes[] = { "rectangle", "ellipse", NULL };
  static const char *const fills[] = { "blur", "pixelate", "solid", NULL };
  Filter filter;

  filter_make (&filter, "");
  for (guint i = 0; i < G_N_ELEMENTS (defaults); i++) {
    char *value = filter_get (&filter, defaults[i].property);

    expect (g_str_equal (value, defaults[i].value), "%s is %s",
        defaults[i].property, value);
    g_free (value);
  }
  element_expect_nicks (filter.element, "roi-mode", modes);
  element_expect_nicks (filter.element, "roi-shape", shapes);
  element_expect_nicks (filter.element, "roi-fill", fills);
  filter_close (&filter);
}

const Test tests_regions[] = {
  { "regions-inside", regions_inside, VARIANT_BOTH },
  { "regions-outside", regions_outside, VARIANT_BOTH },
  { "regions-pixelate", regions_pixelate, VARIANT_BOTH },
  { "regions-solid", regions_solid, VARIANT_BOTH },
  { "regions-planes", regions_planes, VARIANT_BOTH },
  { "regions-small-pictures", regions_small_pictures, VARIANT_BOTH },
  { "regions-interlaced", regions_interlaced, VARIANT_BOTH },
  { "regions-alternate", regions_alternate, VARIANT_BOTH },
  { "regions-types", regions_types, VARIANT_BOTH },
  { "regions-types-read-back", regions_types_read_back, VARIANT_ANY },
#ifdef HAVE_GSTANALYTICS
  { "regions-detections", regions_detections, VARIANT_BOTH },
#endif
  { "regions-zones", regions_zones, VARIANT_BOTH },
  { "regions-zones-read-back", regions_zones_read_back, VARIANT_ANY },
  { "regions-hold", regions_hold, VARIANT_BOTH },
  { "regions-hold-ids", regions_hold_ids, VARIANT_BOTH },
  { "regions-hold-settings", regions_hold_settings, VARIANT_BOTH },
  { "regions-hold-seeks", regions_hold_seeks, VARIANT_BOTH },
  { "regions-hold-streams", regions_hold_streams, VARIANT_BOTH },
  { "regions-hold-untimed", regions_hold_untimed, VARIANT_BOTH },
  { "regions-none", regions_none, VARIANT_BOTH },
  { "regions-in-flight", regions_in_flight, VARIANT_BOTH },
  { "regions-none-laid-out", regions_none_laid_out, VARIANT_BOTH },
  { "regions-histogram", regions_histogram, VARIANT_BOTH },
  { "regions-keep-metas", regions_keep_metas, VARIANT_BOTH },
  { "regions-crop", regions_crop, VARIANT_BOTH },
  { "regions-while-playing", regions_while_playing, VARIANT_BOTH },
  { "regions-renegotiation", regions_renegotiation, VARIANT_BOTH },
  { "regions-many", regions_many, VARIANT_BOTH },
  { "regions-active-method", regions_active_method, VARIANT_BOTH },
  { "regions-bad-zones", regions_bad_zones, VARIANT_BOTH },
  { "regions-unsupported", regions_unsupported, VARIANT_BOTH },
  { "regions-methods", regions_methods, VARIANT_BOTH },
  { "regions-hints", regions_hints, VARIANT_BOTH },
  { "regions-defaults", regions_defaults, VARIANT_ANY },
  { 0 },
};
