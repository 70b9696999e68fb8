/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metas of a buffer are kept. */
#include "picture-oracle.h"

#include <gst/video/video-anc.h>
#include <gst/video/gstvideotimecode.h>
#include <string.h>

typedef struct
{
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;
} Passage;

static void
passage_start (Passage *passage, const char *settings)
{
  filter_start (
      &passage->filter, settings, &passage->info, "NV12", 48, 36, NULL);
  passage->in = picture_new (&passage->info, 3);
}

/* Filters the buffer, to which the test has added metas. */
static void
passage_go (Passage *passage, const char *settings)
{
  passage->out =
      filter_process (&passage->filter, gst_buffer_ref (passage->in));
  picture_expect (passage->in, passage->out, &passage->info, settings, FALSE);
}

static void
passage_end (Passage *passage)
{
  filter_expect_silence (&passage->filter);
  gst_buffer_unref (passage->in);
  gst_buffer_unref (passage->out);
  filter_close (&passage->filter);
}

static guint
count_metas (GstBuffer *buffer, GType api)
{
  return gst_buffer_get_n_meta (buffer, api);
}

static void
metas_regions_of_interest (void)
{
  GstVideoRegionOfInterestMeta *meta;
  gpointer state = NULL;
  GstStructure *params;
  Passage passage;
  double confidence;
  int found = 0;

  passage_start (&passage, "sigma=1");
  meta = gst_buffer_add_video_region_of_interest_meta (
      passage.in, "face", 3, 4, 10, 11);
  meta->id = 17;
  meta->parent_id = 5;
  gst_video_region_of_interest_meta_add_param (meta,
      gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, 0.75, NULL));
  gst_video_region_of_interest_meta_add_param (
      meta, gst_structure_new ("extra", "text", G_TYPE_STRING, "words", NULL));
  gst_buffer_add_video_region_of_interest_meta (
      passage.in, "plate", 20, 21, 6, 7);
  passage_go (&passage, "sigma=1");
  while ((meta = (GstVideoRegionOfInterestMeta *)
                 gst_buffer_iterate_meta_filtered (passage.out, &state,
                     GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      != NULL) {
    found++;
    if (meta->roi_type == g_quark_from_string ("plate")) {
      expect (meta->x == 20 && meta->y == 21 && meta->w == 6 && meta->h == 7,
          "the plate is at %u,%u %ux%u", meta->x, meta->y, meta->w, meta->h);
      continue;
    }
    expect (meta->roi_type == g_quark_from_string ("face"), "type %s",
        g_quark_to_string (meta->roi_type));
    expect (meta->x == 3 && meta->y == 4 && meta->w == 10 && meta->h == 11,
        "the face is at %u,%u %ux%u", meta->x, meta->y, meta->w, meta->h);
    expect (meta->id == 17 && meta->parent_id == 5, "ids %d and %d", meta->id,
        meta->parent_id);
    params = gst_video_region_of_interest_meta_get_param (meta, "detection");
    expect (params
            && gst_structure_get_double (params, "confidence", &confidence)
            && confidence == 0.75,
        "the parameters are lost");
    params = gst_video_region_of_interest_meta_get_param (meta, "extra");
    expect (params
            && g_strcmp0 (gst_structure_get_string (params, "text"), "words")
                == 0,
        "the second parameters are lost");
  }
  expect (found == 2, "%d regions came out", found);
  passage_end (&passage);
}

static void
metas_time_code (void)
{
  GstVideoTimeCodeMeta *meta;
  Passage passage;

  passage_start (&passage, "sigma=1");
  gst_buffer_add_video_time_code_meta_full (passage.in, 30000, 1001, NULL,
      GST_VIDEO_TIME_CODE_FLAGS_DROP_FRAME, 10, 11, 12, 13, 0);
  passage_go (&passage, "sigma=1");
  meta = gst_buffer_get_video_time_code_meta (passage.out);
  expect (meta != NULL, "lost");
  expect (meta->tc.hours == 10 && meta->tc.minutes == 11
          && meta->tc.seconds == 12 && meta->tc.frames == 13
          && meta->tc.config.fps_n == 30000,
      "it is %u:%u:%u.%u", meta->tc.hours, meta->tc.minutes, meta->tc.seconds,
      meta->tc.frames);
  passage_end (&passage);
}

static void
metas_reference_timestamp (void)
{
  GstCaps *clock = gst_caps_new_empty_simple ("timestamp/x-ntp");
  GstReferenceTimestampMeta *meta;
  Passage passage;

  passage_start (&passage, "sigma=1");
  gst_buffer_add_reference_timestamp_meta (passage.in, clock, 12345, 678);
  passage_go (&passage, "sigma=1");
  meta = gst_buffer_get_reference_timestamp_meta (passage.out, clock);
  expect (meta != NULL, "lost");
  expect (meta->timestamp == 12345 && meta->duration == 678,
      "it is %" G_GUINT64_FORMAT " for %" G_GUINT64_FORMAT, meta->timestamp,
      meta->duration);
  gst_caps_unref (clock);
  passage_end (&passage);
}

static void
metas_caption (void)
{
  static const guint8 text[] = { 0x96, 0x69, 0x0b, 1, 2, 3, 4, 5 };
  GstVideoCaptionMeta *meta;
  Passage passage;

  passage_start (&passage, "sigma=1");
  gst_buffer_add_video_caption_meta (
      passage.in, GST_VIDEO_CAPTION_TYPE_CEA708_CDP, text, sizeof text);
  passage_go (&passage, "sigma=1");
  meta = gst_buffer_get_video_caption_meta (passage.out);
  expect (meta != NULL, "lost");
  expect (meta->caption_type == GST_VIDEO_CAPTION_TYPE_CEA708_CDP
          && meta->size == sizeof text
          && memcmp (meta->data, text, sizeof text) == 0,
      "changed");
  passage_end (&passage);
}

static void
metas_afd_and_bar (void)
{
  GstVideoAFDMeta *afd;
  GstVideoBarMeta *bar;
  Passage passage;

  passage_start (&passage, "sigma=1");
  gst_buffer_add_video_afd_meta (passage.in, 0, GST_VIDEO_AFD_SPEC_ATSC_A53,
      GST_VIDEO_AFD_16_9_LETTER_14_9_CENTER);
  gst_buffer_add_video_bar_meta (passage.in, 0, TRUE, 4, 6);
  passage_go (&passage, "sigma=1");
  afd = (GstVideoAFDMeta *) gst_buffer_get_meta (
      passage.out, GST_VIDEO_AFD_META_API_TYPE);
  expect (afd && afd->afd == GST_VIDEO_AFD_16_9_LETTER_14_9_CENTER,
      "the active format is lost");
  bar = (GstVideoBarMeta *) gst_buffer_get_meta (
      passage.out, GST_VIDEO_BAR_META_API_TYPE);
  expect (
      bar && bar->is_letterbox && bar->bar_data1 == 4 && bar->bar_data2 == 6,
      "the bars are lost");
  passage_end (&passage);
}

static void
metas_custom (void)
{
  static const char *const no_tags[] = { NULL };
  GstCustomMeta *meta;
  GstStructure *structure;
  Passage passage;
  int number = 0;

  if (!gst_meta_get_info ("ElementsTestMeta"))
    gst_meta_register_custom (
        "ElementsTestMeta", (const gchar **) no_tags, NULL, NULL, NULL);
  passage_start (&passage, "sigma=1");
  meta = gst_buffer_add_custom_meta (passage.in, "ElementsTestMeta");
  structure = gst_custom_meta_get_structure (meta);
  gst_structure_set (structure, "number", G_TYPE_INT, 99, NULL);
  passage_go (&passage, "sigma=1");
  meta = gst_buffer_get_custom_meta (passage.out, "ElementsTestMeta");
  expect (meta != NULL, "lost");
  gst_structure_get_int (
      gst_custom_meta_get_structure (meta), "number", &number);
  expect (number == 99, "its number is %d", number);
  passage_end (&passage);
}

/* A crop meta whose rectangle has another size than the caps does not select the frame: it
 * describes the visible part, which is left to downstream. */
static void
metas_crop (void)
{
  GstVideoCropMeta *meta;
  Passage passage;

  passage_start (&passage, "sigma=1");
  meta = gst_buffer_add_video_crop_meta (passage.in);
  meta->x = 4;
  meta->y = 6;
  meta->width = 20;
  meta->height = 10;
  passage_go (&passage, "sigma=1");
  meta = gst_buffer_get_video_crop_meta (passage.out);
  expect (meta != NULL, "lost");
  expect (
      meta->x == 4 && meta->y == 6 && meta->width == 20 && meta->height == 10,
      "it is %u,%u %ux%u", meta->x, meta->y, meta->width, meta->height);
  passage_end (&passage);
}

/* A meta about the input's memory does not apply to the output. */
static void
metas_of_memory (void)
{
  const PictureLayout padded = { .stride_padding = 33, .plane_padding = 5 };
  GstBuffer *parent = gst_buffer_new_allocate (NULL, 8, NULL);
  Passage passage;

  passage_start (&passage, "sigma=1");
  gst_buffer_unref (passage.in);
  passage.in = picture_new_laid_out (&passage.info, 5, &padded);
  gst_buffer_add_parent_buffer_meta (passage.in, parent);
  passage_go (&passage, "sigma=1");
  expect (count_metas (passage.out, GST_VIDEO_META_API_TYPE) <= 1,
      "%u GstVideoMetas", count_metas (passage.out, GST_VIDEO_META_API_TYPE));
  expect (count_metas (passage.out, GST_PARENT_BUFFER_META_API_TYPE) == 0,
      "the output is said to be part of the input's parent");
  passage_end (&passage);
  ASSERT_BUFFER_REFCOUNT (parent, "parent", 1);
  gst_buffer_unref (parent);
}

/* Untouched frames keep their metas, and pooled outputs do not collect those of earlier
 * frames. */
static void
metas_do_not_pile_up (void)
{
  static const char *const steps[] = { "sigma=1", "sigma=0", "sigma=2" };
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 48, 36, NULL);
  for (guint i = 0; i < 30; i++) {
    const gboolean with_meta = i % 2 == 0;
    GstBuffer *in = picture_new (&info, i), *out;

    if (i % 10 == 0)
      settings_apply (filter.element, steps[i / 10]);
    test_context ("format=NV12 buffer %u %s", i, steps[i / 10]);
    if (with_meta)
      gst_buffer_add_video_region_of_interest_meta (in, "face", i, 2, 3, 4);
    out = filter_process (&filter, in);
    expect (count_metas (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
            == (with_meta ? 1 : 0),
        "%u regions",
        count_metas (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
    if (with_meta)
      expect (gst_buffer_get_video_region_of_interest_meta (out)->x == i,
          "the region of another buffer");
    expect (count_metas (out, GST_VIDEO_META_API_TYPE) <= 1, "%u GstVideoMetas",
        count_metas (out, GST_VIDEO_META_API_TYPE));
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* Upstream is offered all metas that downstream supports, with their parameters. */
static void
metas_offered (void)
{
  const GType apis[] = { GST_VIDEO_CAPTION_META_API_TYPE,
    GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE,
    GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE };
  GstVideoInfo info;
  Filter filter;
  GstCaps *caps = video_caps ("I420", 64, 48, NULL);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);

  expect (gst_video_info_from_caps (&info, caps), "no format");
  filter_open (&filter, "sigma=1");
  for (guint i = 0; i < G_N_ELEMENTS (apis); i++) {
    GstStructure *params =
        gst_structure_new ("params", "number", G_TYPE_UINT, i, NULL);

    gst_harness_add_propose_allocation_meta (filter.harness, apis[i], params);
    gst_structure_free (params);
  }
  expect (filter_caps (&filter, caps), "the caps are refused");
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
  expect (gst_pad_peer_query (filter.harness->srcpad, query), "no answer");
  for (guint i = 0; i < G_N_ELEMENTS (apis); i++) {
    const GstStructure *params = NULL;
    guint index, number = 99;

    expect (gst_query_find_allocation_meta (query, apis[i], &index),
        "%s is not offered", g_type_name (apis[i]));
    gst_query_parse_nth_allocation_meta (query, index, &params);
    expect (params != NULL && gst_structure_get_uint (params, "number", &number)
            && number == i,
        "%s: its parameters are of number %u", g_type_name (apis[i]), number);
  }
  gst_query_unref (query);
  filter_close (&filter);
}

const Test tests_metas[] = {
  { "metas-regions-of-interest", metas_regions_of_interest, VARIANT_BOTH },
  { "metas-time-code", metas_time_code, VARIANT_BOTH },
  { "metas-reference-timestamp", metas_reference_timestamp, VARIANT_BOTH },
  { "metas-caption", metas_caption, VARIANT_BOTH },
  { "metas-afd-and-bar", metas_afd_and_bar, VARIANT_BOTH },
  { "metas-custom", metas_custom, VARIANT_BOTH },
  { "metas-crop", metas_crop, VARIANT_BOTH },
  { "metas-of-memory", metas_of_memory, VARIANT_BOTH },
  { "metas-offered", metas_offered, VARIANT_BOTH },
  { "metas-do-not-pile-up", metas_do_not_pile_up, VARIANT_BOTH },
  { 0 },
};
