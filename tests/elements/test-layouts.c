/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffers with another layout than GstVideoInfo's. */
#include "picture-oracle.h"

static const char *const layout_formats[] = { "GRAY8", "I420", "YV12", "NV12",
  "YUY2", "NV24", "A420", "P010_10LE", "I422_10LE", "Y210", "Y212_LE", "RGB",
  "RGBA", "GBRA", "AYUV64", "Y444_16LE" };

static void
check_layout (const PictureLayout *layout, const char *what)
{
  static const char settings[] = "sigma=1.5 planes=all";

  for (guint f = 0; f < G_N_ELEMENTS (layout_formats); f++) {
    const char *format = layout_formats[f];
    GstBuffer *in, *before, *out;
    GstVideoInfo info;
    Filter filter;

    test_context (
        "format=%s size=37x21 %s settings=%s", format, what, settings);
    video_info (&info, format, 37, 21, NULL);
    filter_open (&filter, settings);
    expect (filter_caps (&filter, video_caps (format, 37, 21, NULL)),
        "caps refused");
    for (guint32 seed = 1; seed <= 3; seed++) {
      in = picture_new_laid_out (&info, seed, layout);
      before = gst_buffer_copy_deep (in);
      out = filter_process (&filter, gst_buffer_ref (in));
      picture_expect (in, out, &info, settings, FALSE);
      /* The filter does not change its input. */
      picture_expect_same (before, in, &info);
      gst_buffer_unref (in);
      gst_buffer_unref (before);
      gst_buffer_unref (out);
    }
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

static void
layouts_padded_strides (void)
{
  check_layout (&(PictureLayout){ .stride_padding = 32 }, "padded strides");
}

/* 16-bit samples may lie at odd addresses when a stride is odd. */
static void
layouts_odd_strides (void)
{
  check_layout (&(PictureLayout){ .stride_padding = 7 }, "odd strides");
}

static void
layouts_plane_offsets (void)
{
  check_layout (&(PictureLayout){ .stride_padding = 64, .plane_padding = 100 },
      "plane offsets");
}

static void
layouts_memory_a_plane (void)
{
  check_layout (&(PictureLayout){ .split = TRUE }, "a memory a plane");
}

static void
layouts_memory_a_plane_padded (void)
{
  check_layout (
      &(PictureLayout){
          .split = TRUE, .stride_padding = 16, .plane_padding = 48 },
      "a padded memory a plane");
}

static void
layouts_read_only (void)
{
  check_layout (&(PictureLayout){ .read_only = TRUE }, "read-only");
  check_layout (&(PictureLayout){ .read_only = TRUE, .split = TRUE },
      "read-only, a memory a plane");
}

/* Each buffer may have another layout than the one before. */
static void
layouts_changing (void)
{
  static const PictureLayout layouts[] = { { 0 }, { .stride_padding = 12 },
    { .split = TRUE }, { .plane_padding = 64 }, { 0 },
    { .stride_padding = 100, .split = TRUE, .read_only = TRUE } };
  GstVideoInfo info;
  Filter filter;

  video_info (&info, "I420", 50, 38, NULL);
  filter_open (&filter, "sigma=1");
  expect (
      filter_caps (&filter, video_caps ("I420", 50, 38, NULL)), "caps refused");
  for (guint l = 0; l < G_N_ELEMENTS (layouts); l++) {
    GstBuffer *in = l == 0 ? picture_new (&info, 9)
                           : picture_new_laid_out (&info, l, &layouts[l]);
    GstBuffer *out;

    test_context ("format=I420 size=50x38 layout number %u sigma=1", l);
    out = filter_process (&filter, gst_buffer_ref (in));
    picture_expect (in, out, &info, "sigma=1", FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* ---- downstream's own pool ----------------------------------------------- */

typedef struct
{
  GstBufferPool *pool;
  guint size;
} OfferedPool;

static GstPadProbeReturn
offer_pool (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  OfferedPool *offered = user;
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (probe);

  (void) pad;
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, offered->pool, offered->size, 0, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

/* A pool that pads: 32 bytes on the left and right, rows aligned to 64. */
static OfferedPool
padding_pool (GstCaps *caps, const GstVideoInfo *info)
{
  OfferedPool offered = { .pool = gst_video_buffer_pool_new (),
    .size = (guint) info->size * 2 + 65536 };
  GstStructure *config = gst_buffer_pool_get_config (offered.pool);
  GstVideoAlignment alignment;

  gst_video_alignment_reset (&alignment);
  alignment.padding_left = alignment.padding_right = 32;
  alignment.padding_top = 4;
  for (int p = 0; p < GST_VIDEO_MAX_PLANES; p++)
    alignment.stride_align[p] = 63;
  gst_buffer_pool_config_set_params (config, caps, offered.size, 0, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (
      config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  expect (gst_buffer_pool_set_config (offered.pool, config),
      "the pool refuses its configuration");
  return offered;
}

static void
layouts_downstream_pool (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (layout_formats); f++) {
    const char *format = layout_formats[f];
    GstCaps *caps = video_caps (format, 39, 22, NULL);
    OfferedPool offered;
    GstVideoInfo info;
    Filter filter;

    test_context ("format=%s size=39x22 padded pool, sigma=2", format);
    video_info (&info, format, 39, 22, NULL);
    offered = padding_pool (caps, &info);
    filter_open (&filter, "sigma=2");
    gst_pad_add_probe (filter.harness->sinkpad,
        GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool, &offered, NULL);
    expect (filter_caps (&filter, caps), "caps refused");
    for (guint32 seed = 1; seed < 8; seed++) {
      picture_check_frame (&filter, &info, seed, "sigma=2");
    }
    filter_expect_silence (&filter);
    filter_close (&filter);
    gst_buffer_pool_set_active (offered.pool, FALSE);
    gst_object_unref (offered.pool);
  }
}

/* Downstream without support for GstVideoMeta gets rows with GstVideoInfo's strides. */
static void
layouts_downstream_without_meta (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (layout_formats); f++) {
    const PictureLayout padded = { .stride_padding = 20, .plane_padding = 8 };
    GstVideoInfo info;
    GstBuffer *in, *out;
    GstVideoMeta *meta;
    Filter filter;

    test_context ("format=%s size=39x22 sigma=2", layout_formats[f]);
    video_info (&info, layout_formats[f], 39, 22, NULL);
    filter_open (&filter, "sigma=2");
    expect (filter_caps (&filter, video_caps (layout_formats[f], 39, 22, NULL)),
        "caps refused");
    in = picture_new_laid_out (&info, 1, &padded);
    out = filter_process (&filter, gst_buffer_ref (in));
    expect (gst_buffer_get_size (out) >= info.size,
        "%" G_GSIZE_FORMAT " bytes instead of %" G_GSIZE_FORMAT,
        gst_buffer_get_size (out), info.size);
    meta = gst_buffer_get_video_meta (out);
    for (guint p = 0; meta && p < GST_VIDEO_INFO_N_PLANES (&info); p++)
      expect (meta->stride[p] == GST_VIDEO_INFO_PLANE_STRIDE (&info, p)
              && meta->offset[p] == GST_VIDEO_INFO_PLANE_OFFSET (&info, p),
          "plane %u has stride %d at %" G_GSIZE_FORMAT, p, meta->stride[p],
          meta->offset[p]);
    picture_expect (in, out, &info, "sigma=2", FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    filter_close (&filter);
  }
}

/* A buffer that is too small for its caps is refused with an error; nothing beyond its
 * end is read. */
static void
layouts_short_buffer (void)
{
  Filter filter;
  GstFlowReturn flow;

  test_context ("format=NV12 size=64x48, 100 bytes");
  filter_open (&filter, "sigma=2");
  expect (
      filter_caps (&filter, video_caps ("NV12", 64, 48, NULL)), "caps refused");
  flow = gst_harness_push (
      filter.harness, gst_buffer_new_allocate (NULL, 100, NULL));
  for (int i = 0; i < 16 && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (
        filter.harness, gst_buffer_new_allocate (NULL, 100, NULL));
  expect (flow == GST_FLOW_ERROR, "flow is %s", gst_flow_get_name (flow));
  expect (filter_drain_bus (&filter, GST_MESSAGE_ERROR, NULL) == 1,
      "not exactly one error message");
  filter_close (&filter);
}

const Test tests_layouts[] = {
  { "layouts-padded-strides", layouts_padded_strides, VARIANT_BOTH },
  { "layouts-odd-strides", layouts_odd_strides, VARIANT_BOTH },
  { "layouts-plane-offsets", layouts_plane_offsets, VARIANT_BOTH },
  { "layouts-memory-a-plane", layouts_memory_a_plane, VARIANT_BOTH },
  { "layouts-memory-a-plane-padded", layouts_memory_a_plane_padded,
      VARIANT_BOTH },
  { "layouts-read-only", layouts_read_only, VARIANT_BOTH },
  { "layouts-changing", layouts_changing, VARIANT_BOTH },
  { "layouts-downstream-pool", layouts_downstream_pool, VARIANT_BOTH },
  { "layouts-downstream-without-meta", layouts_downstream_without_meta,
      VARIANT_BOTH },
  { "layouts-short-buffer", layouts_short_buffer, VARIANT_BOTH },
  { 0 },
};
