/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in GPU memory on both sides, or on one side only. */
#include "fault-fixture.h"
#include "gpu-memory-fixture.h"
#include "histo-oracle.h"
#include "regions-oracle.h"

#include <string.h>

/* The picture of a number, in GPU memory. */
static GstBuffer *
picture_on_gpu (GstBufferPool *pool, const GstVideoInfo *info, guint32 number)
{
  GstBuffer *picture = picture_new (info, number);
  GstBuffer *copy = gpu_copy (pool, picture, info);

  gst_buffer_unref (picture);
  return copy;
}

/* Expects a buffer to be the filtered picture of a number. Takes the buffer. */
static void
expect_filtered (GstBuffer *out, const GstVideoInfo *info, guint32 number,
    const char *settings)
{
  GstBuffer *picture = picture_new (info, number);

  out = gpu_fetch (out, info);
  picture_expect (picture, out, info, settings, FALSE);
  gst_buffer_unref (out);
  gst_buffer_unref (picture);
}

/* ---- from and to every memory -------------------------------------------- */

/* Opens a filter between memory kinds, with a context that its neighbours can share. */
static void
open_between (Filter *filter, const char *settings, GstObject *context,
    const char *out_caps)
{
  GstContext *wrapped = gpu_context_wrap (context);

  filter_make (filter, settings);
  gst_element_set_context (filter->element, wrapped);
  gst_context_unref (wrapped);
  filter_plug (filter);
  gst_harness_set_sink_caps_str (filter->harness, out_caps);
}

static const char *
caps_of_memory (gboolean gpu)
{
  return gpu ? "video/x-raw(" GPU_MEMORY ")" : "video/x-raw";
}

/* A filter between memory kinds, and the objects that it needs; checks pictures. */
typedef struct
{
  Filter filter;
  GstObject *context;
  const char *settings;
  gboolean in_gpu, out_gpu;
} Bridge;

static void
bridge_open (
    Bridge *bridge, const char *settings, gboolean in_gpu, gboolean out_gpu)
{
  memset (bridge, 0, sizeof *bridge);
  bridge->context = gpu_context_new ();
  bridge->settings = settings;
  bridge->in_gpu = in_gpu;
  bridge->out_gpu = out_gpu;
  open_between (
      &bridge->filter, settings, bridge->context, caps_of_memory (out_gpu));
}

static void
bridge_close (Bridge *bridge)
{
  filter_expect_silence (&bridge->filter);
  filter_close (&bridge->filter);
  gst_object_unref (bridge->context);
}

/* Filters a picture of this format; returns a description of the difference, or NULL. */
static char *
bridge_check (Bridge *bridge, const char *format, int width, int height,
    const char *more, guint32 seed)
{
  GstCaps *caps =
      (bridge->in_gpu ? gpu_caps : video_caps) (format, width, height, more);
  GstBufferPool *pool = NULL;
  GstBuffer *in, *out;
  char *problem = NULL;
  GstVideoInfo info;

  test_context ("format=%s size=%dx%d caps=%s in %s out %s settings=%.400s",
      format, width, height, more ? more : "-", caps_of_memory (bridge->in_gpu),
      caps_of_memory (bridge->out_gpu), bridge->settings);
  video_info (&info, format, width, height, more);
  if (bridge->in_gpu)
    pool = gpu_pool_new (bridge->context, caps, 0, seed % 2);
  expect (filter_caps (&bridge->filter, caps), "caps refused");
  in = picture_new (&info, seed);
  out = filter_process (&bridge->filter,
      pool != NULL ? gpu_copy (pool, in, &info) : gst_buffer_ref (in));
  expect ((gpu_buffer_context (out) != NULL) == bridge->out_gpu,
      "the result is in the wrong memory");
  expect (!bridge->out_gpu || gpu_buffer_context (out) == bridge->context,
      "the result is in another context");
  out = gpu_fetch (out, &info);
  if (setting_number (bridge->settings, "sigma", 2.0) > 0.0)
    problem = picture_compare (
        in, out, &info, bridge->settings, GST_VIDEO_INFO_IS_INTERLACED (&info));
  else
    picture_expect_same (in, out, &info);
  gst_buffer_unref (out);
  gst_buffer_unref (in);
  if (pool != NULL)
    gpu_pool_free (pool);
  return problem;
}

static void
check_formats (const char *settings, gboolean in_gpu, gboolean out_gpu)
{
  static const int sizes[][2] = { { 33, 17 }, { 64, 36 }, { 1, 1 }, { 2, 3 } };
  GString *problems = g_string_new (NULL);
  int tried = 0;
  Bridge bridge;

  bridge_open (&bridge, settings, in_gpu, out_gpu);
  for (int f = 0; video_formats[f]; f++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
      char *problem;

      if (!gpu_has_format (video_formats[f], sizes[s][0], sizes[s][1]))
        continue;
      problem = bridge_check (&bridge, video_formats[f], sizes[s][0],
          sizes[s][1], NULL, (guint32) tried);
      if (problem != NULL)
        g_string_append_printf (problems, "\n  %s", problem);
      g_free (problem);
      tried++;
    }
  expect (problems->len == 0, "%s", problems->str);
  expect (tried >= 80, "only %d formats and sizes", tried);
  expect ((element_count (bridge.filter.element, "bytes-up") == 0) == in_gpu
          && (element_count (bridge.filter.element, "bytes-down") == 0)
              == out_gpu,
      "%" G_GUINT64_FORMAT " bytes went up, and %" G_GUINT64_FORMAT " down",
      element_count (bridge.filter.element, "bytes-up"),
      element_count (bridge.filter.element, "bytes-down"));
  g_string_free (problems, TRUE);
  bridge_close (&bridge);
}

/* The formats that every version of the library from 1.22 on supports. */
static void
gpu_memory_formats_offered (void)
{
  static const char *const formats[] = { "I420", "YV12", "NV12", "NV21", "Y42B",
    "Y444", "YUY2", "UYVY", "I420_10LE", "I422_10LE", "I422_12LE", "P010_10LE",
    "P016_LE", "Y444_16LE", "RGB", "BGR", "RGBA", "BGRA", "ARGB", "ABGR",
    "RGBx", "BGRx", "RGBP", "BGRP", "GBR", "GBRA" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    expect (gpu_has_format (formats[f], 64, 36), "no %s", formats[f]);
}

static void
gpu_memory_formats_through (void)
{
  check_formats ("sigma=1.2 planes=all", TRUE, TRUE);
}

static void
gpu_memory_formats_down (void)
{
  check_formats ("sigma=1.2", TRUE, FALSE);
}

static void
gpu_memory_formats_up (void)
{
  check_formats ("sigma=1.2", FALSE, TRUE);
}

/* Nothing is computed, but the memory kind changes. */
static void
gpu_memory_formats_untouched (void)
{
  check_formats ("sigma=0", TRUE, FALSE);
  check_formats ("sigma=0", FALSE, TRUE);
}

/* All transfers over the bus, and all kinds of work. */
static void
gpu_memory_settings (void)
{
  static const char *const settings[] = { "sigma=1 transfer=mapped",
    "sigma=1 transfer=pageable", "sigma=1 slices=5", "sigma=0 transfer=mapped",
    "sigma=0 transfer=pageable", "kernel=sobel-x bias=0.5 planes=luma",
    "sigma=1 ring-depth=1", "sigma=1 histogram=true histogram-interval=0",
    "sigma=0 histogram=true histogram-interval=0" };

  for (guint i = 0; i < 4 * G_N_ELEMENTS (settings); i++) {
    Bridge bridge;

    bridge_open (&bridge, settings[i / 4], i & 1, (i & 2) != 0);
    for (guint32 n = 0; n < 3; n++) {
      char *problem = bridge_check (&bridge, "NV12", 51, 31,
          n == 2 ? "interlace-mode=interleaved" : NULL, n);

      expect (problem == NULL, "%s", problem);
    }
    bridge_close (&bridge);
  }
}

/* The memory kind of the buffer counts, not that of the caps. */
static void
gpu_memory_mislabelled (void)
{
  for (int i = 0; i < 4; i++) {
    const gboolean caps_gpu = i & 1, out_gpu = (i & 2) != 0;
    GstCaps *caps = gpu_caps ("NV12", 33, 17, NULL);
    GstBufferPool *pool;
    GstVideoInfo info;
    Bridge bridge;

    bridge_open (&bridge, "sigma=1", caps_gpu, out_gpu);
    test_context ("a buffer in %s for caps %s, out %s",
        caps_gpu ? "system memory" : GPU_MEMORY, caps_of_memory (caps_gpu),
        caps_of_memory (out_gpu));
    video_info (&info, "NV12", 33, 17, NULL);
    pool = gpu_pool_new (bridge.context, caps, 0, FALSE);
    expect (filter_caps (&bridge.filter,
                (caps_gpu ? gpu_caps : video_caps) ("NV12", 33, 17, NULL)),
        "caps refused");
    for (guint32 n = 0; n < 4; n++)
      expect_filtered (filter_process (&bridge.filter,
                           caps_gpu ? picture_new (&info, n)
                                    : picture_on_gpu (pool, &info, n)),
          &info, n, "sigma=1");
    gst_caps_unref (caps);
    gpu_pool_free (pool);
    bridge_close (&bridge);
  }
}

/* Buffers whose strides only their memory knows. */
static void
gpu_memory_without_meta (void)
{
  for (int i = 0; i < 4; i++) {
    const gboolean other = i & 1, out_gpu = (i & 2) != 0;
    GstCaps *caps = gpu_caps ("NV12", 66, 48, NULL);
    GstObject *context;
    GstBufferPool *pool;
    GstVideoInfo info;
    Bridge bridge;

    bridge_open (
        &bridge, other ? "sigma=1 backend=cpu" : "sigma=1", !other, out_gpu);
    test_context ("%s, out %s", other ? "on the CPU" : "on the GPU",
        caps_of_memory (out_gpu));
    if (other)
      gst_harness_set_sink_caps_str (bridge.filter.harness, "video/x-raw");
    context = gst_object_ref (bridge.context);
    pool = gpu_pool_new (context, caps, 0, TRUE);
    video_info (&info, "NV12", 66, 48, NULL);
    gst_caps_unref (caps);
    expect (filter_caps (&bridge.filter,
                (other ? video_caps : gpu_caps) ("NV12", 66, 48, NULL)),
        "caps refused");
    for (guint32 n = 0; n < 4; n++) {
      GstBuffer *in = picture_on_gpu (pool, &info, n);
      GstBuffer *bare = gst_buffer_new ();

      gst_buffer_append_memory (bare, gst_buffer_get_memory (in, 0));
      gst_buffer_unref (in);
      expect_filtered (
          filter_process (&bridge.filter, bare), &info, n, "sigma=1");
    }
    gpu_pool_free (pool);
    gst_object_unref (context);
    bridge_close (&bridge);
  }
}

/* Large enough for in-place regions in GPU memory, too. */
#define LARGE_WIDTH 8192
#define LARGE_HEIGHT 2048

/* Frames with and without regions alternate. Frames without keep their memory unless it must
 * change. Frames with regions keep it, too, if nobody holds them and, with `in_place`, the settings
 * and the size allow it. */
static void
check_regions (const char *settings, gboolean in_gpu, gboolean out_gpu,
    gboolean held, gboolean in_place, gboolean large)
{
  const int width = large ? LARGE_WIDTH : 160;
  const int height = large ? LARGE_HEIGHT : 120;
  static const Box boxes[] = { { 5, 3, 18, 14 }, { 9, 7, 12, 26 } };
  GstCaps *caps =
      (in_gpu ? gpu_caps : video_caps) ("NV12", width, height, NULL);
  GstBufferPool *pool;
  GstVideoInfo info;
  Bridge bridge;

  bridge_open (&bridge, settings, in_gpu, out_gpu);
  video_info (&info, "NV12", width, height, NULL);
  pool = in_gpu ? gpu_pool_new (bridge.context, caps, 0, TRUE) : NULL;
  expect (filter_caps (&bridge.filter, caps), "caps refused");
  for (guint32 n = 0; n < (large ? 2 : 12); n++) {
    const int n_boxes = n % 3 == 1 ? 0 : 2;
    GstBuffer *picture = picture_new (&info, n), *out;
    GstBuffer *in = in_gpu ? gpu_copy (pool, picture, &info)
                           : gst_buffer_copy_deep (picture);
    /* Only compared, not read: it may have been freed. */
    const GstBuffer *const pushed = in;
    const gboolean same = in_gpu == out_gpu
        && (n_boxes == 0 || (in_place && !held && (large || !in_gpu)));

    test_context ("frame %u in %s out %s%s settings=%s", n,
        caps_of_memory (in_gpu), caps_of_memory (out_gpu), held ? " held" : "",
        settings);
    regions_report (in, "face", boxes, n_boxes);
    out = filter_process (&bridge.filter, held ? gst_buffer_ref (in) : in);
    expect ((out == pushed) == same, "it is %s buffer",
        out == pushed ? "the same" : "another");
    if (held) {
      if (out != pushed) {
        in = gpu_fetch (in, &info);
        picture_expect_same (picture, in, &info);
      }
      gst_buffer_unref (in);
    }
    out = gpu_fetch (out, &info);
    regions_expect (picture, out, &info, settings, boxes, n_boxes, FALSE);
    gst_buffer_unref (out);
    gst_buffer_unref (picture);
  }
  if (pool != NULL)
    gpu_pool_free (pool);
  bridge_close (&bridge);
}

static void
gpu_memory_regions (void)
{
  static const struct
  {
    const char *settings;
    gboolean in_place;
  } cases[] = { { "sigma=1.5 roi-mode=inside", TRUE },
    { "sigma=1.5 roi-mode=inside histogram=true histogram-interval=0", FALSE },
    { "roi-mode=inside roi-fill=solid transfer=mapped", TRUE },
    { "roi-mode=inside roi-fill=pixelate roi-strength=0.25 slices=4", TRUE } };

  for (guint i = 0; i < 8 * G_N_ELEMENTS (cases); i++)
    check_regions (cases[i / 8].settings, i & 1, (i & 2) != 0, (i & 4) != 0,
        cases[i / 8].in_place, FALSE);
  check_regions (cases[0].settings, TRUE, TRUE, FALSE, TRUE, TRUE);
}

/* ---- memory kinds -------------------------------------------------------- */

/* Caps from upstream, caps that downstream accepts, and the expected outcome. */
static void
gpu_memory_negotiation (void)
{
  static const struct
  {
    gboolean in_gpu;
    const char *downstream;
    gboolean out_gpu;
  } cases[] = {
    { FALSE, "ANY", FALSE },
    { TRUE, "ANY", FALSE },
    { TRUE, "video/x-raw", FALSE },
    { FALSE, "video/x-raw(" GPU_MEMORY ")", TRUE },
    { TRUE, "video/x-raw(" GPU_MEMORY "); video/x-raw", TRUE },
    { TRUE, "video/x-raw, format=NV12", FALSE },
    { FALSE, "video/x-raw(" GPU_MEMORY "), format=RGBA; video/x-raw", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstCaps *caps =
        (cases[i].in_gpu ? gpu_caps : video_caps) ("NV12", 64, 48, NULL);
    GstCaps *got;
    Filter filter;

    test_context ("in %s, downstream takes %s",
        caps_of_memory (cases[i].in_gpu), cases[i].downstream);
    filter_open (&filter, "sigma=1");
    gst_harness_set_sink_caps_str (filter.harness, cases[i].downstream);
    expect (filter_caps (&filter, caps), "caps refused");
    got = gst_pad_get_current_caps (filter.harness->sinkpad);
    expect (got != NULL
            && gst_caps_features_contains (
                   gst_caps_get_features (got, 0), GPU_MEMORY)
                == cases[i].out_gpu,
        "the caps are %" GST_PTR_FORMAT, (gpointer) got);
    gst_caps_unref (got);
    filter_close (&filter);
  }
}

/* Whether system memory is the last memory kind of the caps of whole frames. */
static gboolean
ends_with_system_memory (GstCaps *caps)
{
  guint last = gst_caps_get_size (caps) - 1;

  while (last > 0
      && gst_caps_features_contains (gst_caps_get_features (caps, last),
          GST_CAPS_FEATURE_FORMAT_INTERLACED))
    last--;
  return gst_caps_features_is_equal (gst_caps_get_features (caps, last),
      GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
}

/* Upstream is asked for GPU memory first, regardless of downstream, and never for formats that GPU
 * memory does not support. */
static void
gpu_memory_preferred (void)
{
  static const char *const downstream[] = { "ANY", "video/x-raw",
    "video/x-raw(" GPU_MEMORY ")" };

  for (guint i = 0; i < G_N_ELEMENTS (downstream); i++) {
    GstCaps *grey = gpu_caps ("GRAY8", 64, 48, NULL), *got;
    Filter filter;

    test_context ("downstream takes %s", downstream[i]);
    filter_open (&filter, "sigma=1");
    gst_harness_set_sink_caps_str (filter.harness, downstream[i]);
    got = gst_pad_peer_query_caps (filter.harness->srcpad, NULL);
    expect (gst_caps_get_size (got) >= 2
            && gst_caps_features_contains (
                gst_caps_get_features (got, 0), GPU_MEMORY)
            && ends_with_system_memory (got),
        "upstream is asked for %" GST_PTR_FORMAT, (gpointer) got);
    gst_caps_unref (got);
    expect (!gst_pad_peer_query_accept_caps (filter.harness->srcpad, grey),
        "GRAY8 is accepted");
    expect (!filter_caps (&filter, grey), "caps of GRAY8 are accepted");
    filter_close (&filter);
  }
}

/* Every format with GPU memory on input and backend=cpu: GStreamer's library copies the frames. */
static void
check_formats_on_cpu (GstObject *context)
{
  for (int f = 0; video_formats[f]; f++) {
    GstBufferPool *pool;
    GstVideoInfo info;
    Filter filter;
    GstCaps *caps;

    if (!gpu_has_format (video_formats[f], 33, 17))
      continue;
    filter_start (
        &filter, "sigma=1 backend=cpu", &info, video_formats[f], 33, 17, NULL);
    caps = gpu_caps (video_formats[f], 33, 17, NULL);
    pool = gpu_pool_new (context, caps, 0, FALSE);
    expect_filtered (
        filter_process (&filter, picture_on_gpu (pool, &info, (guint32) f)),
        &info, (guint32) f, "sigma=1");
    filter_close (&filter);
    gpu_pool_free (pool);
    gst_caps_unref (caps);
  }
}

/* With backend=cpu the filter asks for no GPU memory, but accepts it. */
static void
gpu_memory_and_the_cpu (void)
{
  GstCaps *caps = gpu_caps ("NV12", 33, 17, NULL), *got;
  GstObject *context = gpu_context_new ();
  GstBufferPool *pool = gpu_pool_new (context, caps, 0, FALSE);
  GstVideoInfo info;
  Filter filter;

  test_context ("backend=cpu");
  filter_open (&filter, "sigma=1 backend=cpu");
  got = gst_pad_peer_query_caps (filter.harness->srcpad, NULL);
  for (guint i = 0; i < gst_caps_get_size (got); i++)
    expect (!gst_caps_features_contains (
                gst_caps_get_features (got, i), GPU_MEMORY),
        "upstream is asked for %" GST_PTR_FORMAT, (gpointer) got);
  gst_caps_unref (got);
  filter_close (&filter);

  check_formats_on_cpu (context);
  video_info (&info, "NV12", 33, 17, NULL);
  filter_open (&filter, "sigma=1");
  expect (filter_caps (&filter, gst_caps_ref (caps)), "caps refused");
  for (guint32 n = 0; n < 12; n++) {
    test_context ("frame %u, backend=cpu from 4 to 7", n);
    if (n == 4)
      settings_apply (filter.element, "backend=cpu");
    if (n == 8)
      settings_apply (filter.element, "backend=cuda");
    expect_filtered (filter_process (&filter, picture_on_gpu (pool, &info, n)),
        &info, n, "sigma=1");
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
  gpu_pool_free (pool);
  gst_object_unref (context);
  gst_caps_unref (caps);
}

/* ---- pipelines ----------------------------------------------------------- */

static GstElement *
parse_pipeline (const char *text)
{
  GError *error = NULL;
  GstElement *pipeline;

  test_context ("%s", text);
  pipeline = gst_parse_launch (text, &error);
  expect (
      pipeline != NULL && error == NULL, "%s", error ? error->message : "?");
  return pipeline;
}

static gboolean
pad_is_on_gpu (GstElement *pipeline, const char *element, const char *name)
{
  GstElement *found = gst_bin_get_by_name (GST_BIN (pipeline), element);
  GstPad *pad = gst_element_get_static_pad (found, name);
  GstCaps *caps = gst_pad_get_current_caps (pad);
  gboolean on_gpu;

  expect (caps != NULL, "%s.%s has no caps", element, name);
  on_gpu =
      gst_caps_features_contains (gst_caps_get_features (caps, 0), GPU_MEMORY);
  gst_caps_unref (caps);
  gst_object_unref (pad);
  gst_object_unref (found);
  return on_gpu;
}

/* Consecutive filters keep frames on the GPU and share its context. A neighbour that accepts any
 * memory gets system memory, as a file sink should. */
static void
gpu_memory_row (void)
{
  GstElement *pipeline = parse_pipeline (
      "videotestsrc num-buffers=6 ! video/x-raw,format=NV12,width=64,height=48 "
      "! cudasepconv name=a sigma=1 ! cudahisto name=b interval=0 ! queue "
      "! cudasepconv name=c sigma=1 ! fakesink");
  GstElement *a = gst_bin_get_by_name (GST_BIN (pipeline), "a");
  GstElement *b = gst_bin_get_by_name (GST_BIN (pipeline), "b");
  GstElement *c = gst_bin_get_by_name (GST_BIN (pipeline), "c");
  const guint64 bytes = 6 * 64 * 48 * 3 / 2;
  GstObject *contexts[3];

  pipeline_run_to_end (pipeline, 60 * GST_SECOND, GST_MESSAGE_ERROR);
  expect (pad_is_on_gpu (pipeline, "a", "src")
          && pad_is_on_gpu (pipeline, "b", "src")
          && pad_is_on_gpu (pipeline, "c", "sink"),
      "frames leave the GPU");
  expect (!pad_is_on_gpu (pipeline, "c", "src"), "the last one keeps them");
  expect (element_count (a, "bytes-up") == bytes
          && element_count (a, "bytes-down") == 0
          && element_count (b, "bytes-up") == 0
          && element_count (b, "bytes-down") == 0
          && element_count (c, "bytes-up") == 0
          && element_count (c, "bytes-down") == bytes,
      "frames do not go up once and down once");
  contexts[0] = gpu_context_of (a);
  contexts[1] = gpu_context_of (b);
  contexts[2] = gpu_context_of (c);
  expect (contexts[0] != NULL && contexts[0] == contexts[1]
          && contexts[1] == contexts[2],
      "contexts %p, %p and %p", (gpointer) contexts[0], (gpointer) contexts[1],
      (gpointer) contexts[2]);
  for (int i = 0; i < 3; i++)
    gst_object_unref (contexts[i]);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (a);
  gst_object_unref (b);
  gst_object_unref (c);
  gst_object_unref (pipeline);
}

/* Several pipelines at once; some end while others continue. */
static void
gpu_memory_pipelines (void)
{
  enum
  {
    N = 4
  };
  GstElement *pipelines[N];

  for (int i = 0; i < N; i++)
    pipelines[i] = parse_pipeline (
        "videotestsrc is-live=true "
        "! video/x-raw,format=RGBA,width=16,height=12,framerate=25/1 "
        "! cudasepconv sigma=1 ! cudahisto interval=0 post-messages=false "
        "attach-meta=true ! cudasepconv sigma=2 ! video/x-raw ! fakesink");
  for (int i = 0; i < N; i++)
    gst_element_set_state (pipelines[i], GST_STATE_PLAYING);
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < N; i++) {
      g_usleep (60000);
      gst_element_set_state (pipelines[i], GST_STATE_NULL);
      if (round < 2)
        gst_element_set_state (pipelines[i], GST_STATE_PLAYING);
    }
  for (int i = 0; i < N; i++) {
    GstBus *bus = gst_element_get_bus (pipelines[i]);
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);

    expect (message == NULL, "pipeline %d: %" GST_PTR_FORMAT, i,
        (gpointer) message);
    gst_object_unref (bus);
    gst_object_unref (pipelines[i]);
  }
}

static char *
method_taken (const char *settings, gboolean on_gpu, const char *caps)
{
  Bridge bridge;
  char *problem, *method;

  bridge_open (&bridge, settings, on_gpu, on_gpu);
  problem = bridge_check (&bridge, "P010_10LE", 64, 48, caps, 1);
  expect (problem == NULL, "%s", problem);
  method = filter_get (&bridge.filter, "active-method");
  bridge_close (&bridge);
  return method;
}

/* The fastest method may depend on whether frames overlap: on some GPUs whole frames in GPU memory
 * that belongs to no stream do, if the build has code for those GPUs. */
static void
gpu_memory_method (void)
{
  static const char few[] = "kernel=custom taps-x=<0.1,0.2,0.4,0.2,0.1>";
  static const char one_by_one[] =
      "kernel=custom taps-x=<0.1,0.2,0.4,0.2,0.1> ring-depth=1";
  char *across = method_taken (few, FALSE, NULL);
  char *others[] = { method_taken (one_by_one, TRUE, NULL),
    method_taken (few, TRUE, "interlace-mode=interleaved"),
    method_taken (few, TRUE, NULL) };
  const gboolean same = g_str_equal (others[2], across);

  for (int i = 0; i < 2; i++)
    expect (g_str_equal (others[i], across), "%s %s, but %s across the bus",
        others[i], i == 0 ? "one by one" : "for fields", across);
  if (gpu_major_capability () < 9 || gpu_can_have_streams ())
    expect (
        same, "%s in the GPU's memory, %s across the bus", others[2], across);
  else if (gpu_is_emulated ())
    expect (!same, "%s in the GPU's memory, too", across);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    g_free (others[i]);
  g_free (across);
}

/* ---- frames in flight ---------------------------------------------------- */

/* Frames of a small pool return to it only if the filter releases them, and must not return before
 * it has read them. */
static void
gpu_memory_in_flight (void)
{
  for (int i = 0; i < 4; i++) {
    const gboolean out_gpu = i & 1, streams = i & 2;
    GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);
    GstBuffer *outs[40];
    GstBufferPool *pool;
    GstVideoInfo info;
    Bridge bridge;

    bridge_open (&bridge, "sigma=1", TRUE, out_gpu);
    test_context ("NV12 out %s, %s streams", caps_of_memory (out_gpu),
        streams ? "with" : "without");
    video_info (&info, "NV12", 64, 48, NULL);
    pool = gpu_pool_new (bridge.context, caps, 3, streams);
    expect (filter_caps (&bridge.filter, caps), "caps refused");
    for (guint32 n = 0; n < G_N_ELEMENTS (outs); n++) {
      GstBuffer *in = picture_on_gpu (pool, &info, n);

      GST_BUFFER_OFFSET (in) = n;
      expect (gst_harness_push (bridge.filter.harness, in) == GST_FLOW_OK,
          "frame %u is not taken", n);
    }
    for (guint32 n = 0; n < G_N_ELEMENTS (outs); n++) {
      outs[n] = gst_harness_pull (bridge.filter.harness);
      expect (outs[n] != NULL && GST_BUFFER_OFFSET (outs[n]) == n,
          "frame %u does not come, or another", n);
      expect_filtered (gst_buffer_ref (outs[n]), &info, n, "sigma=1");
    }
    /* Some frames outlive everything else. */
    for (guint32 n = 0; n + 2 < G_N_ELEMENTS (outs); n++)
      gst_buffer_unref (outs[n]);
    gpu_pool_free (pool);
    bridge_close (&bridge);
    gst_buffer_unref (outs[G_N_ELEMENTS (outs) - 2]);
    gst_buffer_unref (outs[G_N_ELEMENTS (outs) - 1]);
  }
}

/* Filters numbered pictures that all are in flight at once. */
static void
filter_all (const char *settings, GstCaps *caps, const GstVideoInfo *info,
    GstBuffer **outs, guint32 n)
{
  GstBufferPool *pool;
  Bridge bridge;

  bridge_open (&bridge, settings, TRUE, TRUE);
  test_context ("settings=%s", settings);
  pool = gpu_pool_new (bridge.context, caps, 0, FALSE);
  expect (filter_caps (&bridge.filter, caps), "caps refused");
  for (guint32 i = 0; i < n; i++)
    expect (
        gst_harness_push (bridge.filter.harness, picture_on_gpu (pool, info, i))
            == GST_FLOW_OK,
        "frame %u is not taken", i);
  for (guint32 i = 0; i < n; i++) {
    GstBuffer *out = gst_harness_pull (bridge.filter.harness);

    expect (out != NULL, "frame %u does not come", i);
    outs[i] = gpu_fetch (out, info);
  }
  gpu_pool_free (pool);
  bridge_close (&bridge);
}

/* Frames of a long kernel that are large enough for the GPU take turns on several streams, once
 * eight frames have been timed. They are the same as frames that come one by one. */
static void
gpu_memory_turns (void)
{
  const gboolean small = gpu_is_emulated ();
  const int width = small ? 400 : 3840, height = small ? 300 : 2160;
  GstCaps *caps = gpu_caps ("NV12", width, height, NULL);
  GstBuffer *apart[16], *in_turn[16];
  GstVideoInfo info;

  video_info (&info, "NV12", width, height, NULL);
  filter_all ("sigma=16 method=multirate ring-depth=1", gst_caps_ref (caps),
      &info, apart, G_N_ELEMENTS (apart));
  filter_all ("sigma=16 method=multirate", caps, &info, in_turn,
      G_N_ELEMENTS (in_turn));
  for (guint i = 0; i < G_N_ELEMENTS (apart); i++) {
    picture_expect_same (apart[i], in_turn[i], &info);
    gst_buffer_unref (apart[i]);
    gst_buffer_unref (in_turn[i]);
  }
}

/* Frames that are reported, which the filter waits for, and others, which it may not wait for: all
 * come out in order and equal `filter`'s result, and each report belongs to its frame. */
static void
check_told_of (const char *settings, const char *filter, gboolean streams)
{
  enum
  {
    N_FRAMES = 24,
    TOLD = 3 /* the first of every TOLD frames */
  };
  GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);
  GstBufferPool *pool;
  GstVideoInfo info;
  Bridge bridge;

  bridge_open (&bridge, settings, TRUE, TRUE);
  test_context ("%s, %s streams", settings, streams ? "with" : "without");
  video_info (&info, "NV12", 64, 48, NULL);
  pool = gpu_pool_new (bridge.context, caps, 0, streams);
  expect (filter_caps (&bridge.filter, caps), "caps refused");
  for (guint32 n = 0; n < N_FRAMES; n++) {
    GstBuffer *in = picture_on_gpu (pool, &info, n);

    GST_BUFFER_PTS (in) = n * 100 * GST_MSECOND / TOLD;
    GST_BUFFER_OFFSET (in) = n;
    expect (gst_harness_push (bridge.filter.harness, in) == GST_FLOW_OK,
        "frame %u is not taken", n);
  }
  for (guint32 n = 0; n < N_FRAMES; n++) {
    GstBuffer *out = gst_harness_pull (bridge.filter.harness);
    const GstCudaHistogramMeta *meta =
        out != NULL ? gst_buffer_get_cuda_histogram_meta (out) : NULL;

    expect (out != NULL && GST_BUFFER_OFFSET (out) == n,
        "frame %u does not come, or another", n);
    expect ((meta != NULL) == (n % TOLD == 0), "frame %u is %s of", n,
        meta != NULL ? "told" : "not told");
    if (meta != NULL) {
      GstBuffer *here = gpu_fetch (gst_buffer_ref (out), &info);
      char *problem = histo_compare_meta (meta, here, &info, settings);

      expect (problem == NULL, "frame %u: %s", n, problem);
      gst_buffer_unref (here);
    }
    expect_filtered (out, &info, n, filter);
  }
  gpu_pool_free (pool);
  bridge_close (&bridge);
}

static void
gpu_memory_told_of (void)
{
  static const struct
  {
    const char *settings, *filter;
  } rows[] = {
    { "sigma=1 histogram=true histogram-interval=100000000 histogram-meta=true",
        "sigma=1" },
    { "sigma=0 histogram=true histogram-interval=100000000 histogram-meta=true",
        "sigma=0" },
    { "cudahisto interval=100000000 attach-meta=true", "sigma=0" },
    { "cudahisto interval=100000000 attach-meta=true mode=equalize strength=0",
        "sigma=0" },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (rows); i++)
    check_told_of (rows[i / 2].settings, rows[i / 2].filter, i % 2);
}

/* Flushes, EOS and changes of settings between frames that nothing waits for. */
static void
gpu_memory_events (void)
{
  static const char *const steps[] = { "sigma=2", "sigma=0", "sigma=1",
    "ring-depth=2", "histogram=true", "sigma=0", "sigma=2", "histogram=false",
    "transfer=mapped", "backend=cpu", "backend=cuda", "transfer=auto" };
  GString *settings = g_string_new ("sigma=1");
  GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);
  GstBufferPool *pool;
  GstVideoInfo info;
  guint32 number = 0;
  Bridge bridge;

  bridge_open (&bridge, settings->str, TRUE, TRUE);
  /* For a while the GPU computes nothing. */
  gst_harness_set_sink_caps_str (
      bridge.filter.harness, "video/x-raw(" GPU_MEMORY "); video/x-raw");
  video_info (&info, "NV12", 64, 48, NULL);
  pool = gpu_pool_new (bridge.context, caps, 0, TRUE);
  expect (filter_caps (&bridge.filter, caps), "caps refused");
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("settings=%s", settings->str);
    for (guint32 n = 0; n < 6; n++)
      expect (gst_harness_push (bridge.filter.harness,
                  picture_on_gpu (pool, &info, number + n))
              == GST_FLOW_OK,
          "not taken");
    for (guint32 n = 0; n < 6; n++, number++)
      expect_filtered (gst_harness_pull (bridge.filter.harness), &info, number,
          settings->str);
    if (s % 3 == 1) {
      gst_harness_push_event (
          bridge.filter.harness, gst_event_new_flush_start ());
      gst_harness_push_event (
          bridge.filter.harness, gst_event_new_flush_stop (TRUE));
      expect (filter_caps (&bridge.filter, gpu_caps ("NV12", 64, 48, NULL)),
          "caps refused");
    }
    g_string_append_printf (settings, " %s", steps[s]);
    settings_apply (bridge.filter.element, steps[s]);
  }
  gst_harness_push_event (bridge.filter.harness, gst_event_new_eos ());
  gpu_pool_free (pool);
  g_string_free (settings, TRUE);
  bridge_close (&bridge);
}

/* From 1.24 on results belong to a stream, and need not be waited for. */
static void
gpu_memory_streams (void)
{
  GstCaps *caps = gpu_caps ("RGBA", 64, 48, NULL);
  GstBufferPool *pool;
  GstBuffer *out;
  GstVideoInfo info;
  Bridge bridge;

  bridge_open (&bridge, "sigma=1", TRUE, TRUE);
  video_info (&info, "RGBA", 64, 48, NULL);
  pool = gpu_pool_new (bridge.context, caps, 0, TRUE);
  expect (filter_caps (&bridge.filter, caps), "caps refused");
  out = filter_process (&bridge.filter, picture_on_gpu (pool, &info, 1));
  expect (gpu_buffer_has_stream (out) == gpu_can_have_streams (),
      "the result %s a stream", gpu_buffer_has_stream (out) ? "has" : "lacks");
  gst_buffer_unref (out);
  gpu_pool_free (pool);
  bridge_close (&bridge);
}

/* ---- cudahisto ----------------------------------------------------------- */

/* A frame that is only read passes in the same memory, if downstream accepts it. */
static void
gpu_memory_analyze (void)
{
  for (int out_gpu = 0; out_gpu < 2; out_gpu++)
    for (int counts = 0; counts < 2; counts++) {
      GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);
      GstBufferPool *pool;
      GstVideoInfo info;
      Bridge bridge;

      bridge_open (&bridge,
          counts ? "cudahisto interval=0" : "cudahisto post-messages=false",
          TRUE, out_gpu);
      test_context ("%s, out %s", counts ? "counting" : "not counting",
          caps_of_memory (out_gpu));
      video_info (&info, "NV12", 64, 48, NULL);
      pool = gpu_pool_new (bridge.context, caps, 0, TRUE);
      expect (filter_caps (&bridge.filter, caps), "caps refused");
      for (guint32 n = 0; n < 5; n++) {
        GstBuffer *picture = picture_new (&info, n);
        GstBuffer *in = gpu_copy (pool, picture, &info), *out;
        gpointer memory = gst_buffer_peek_memory (in, 0);

        out = filter_process (&bridge.filter, in);
        expect ((gst_buffer_peek_memory (out, 0) == memory) == out_gpu,
            "the memory is %s", out_gpu ? "another" : "the same");
        out = gpu_fetch (out, &info);
        picture_expect_same (picture, out, &info);
        gst_buffer_unref (out);
        gst_buffer_unref (picture);
      }
      expect (filter_drain_bus (&bridge.filter, GST_MESSAGE_ELEMENT, NULL)
              == (counts ? 5 : 0),
          "not one message a frame");
      expect (element_count (bridge.filter.element, "bytes-up") == 0,
          "frames went up");
      gpu_pool_free (pool);
      bridge_close (&bridge);
    }
}

/* ---- contexts ------------------------------------------------------------ */

/* Frames may arrive in any context, and change contexts. */
static void
gpu_memory_other_contexts (void)
{
  for (int i = 0; i < 4; i++) {
    const gboolean out_gpu = i & 1, streams = i & 2;
    GstObject *contexts[3];
    GstBufferPool *pools[3];
    GstVideoInfo info;
    Bridge bridge;

    bridge_open (&bridge, "sigma=1", TRUE, out_gpu);
    test_context ("out %s, %s streams", caps_of_memory (out_gpu),
        streams ? "with" : "without");
    video_info (&info, "NV12", 64, 48, NULL);
    for (int c = 0; c < 3; c++) {
      GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);

      contexts[c] =
          c == 0 ? gst_object_ref (bridge.context) : gpu_context_new ();
      pools[c] = gpu_pool_new (contexts[c], caps, 0, streams);
      gst_caps_unref (caps);
    }
    expect (filter_caps (&bridge.filter, gpu_caps ("NV12", 64, 48, NULL)),
        "caps refused");
    for (guint32 n = 0; n < 30; n++) {
      const guint32 c = n < 20 ? n / 4 % 3 : n % 2;

      expect (gst_harness_push (
                  bridge.filter.harness, picture_on_gpu (pools[c], &info, n))
              == GST_FLOW_OK,
          "frame %u is not taken", n);
    }
    for (guint32 n = 0; n < 30; n++)
      expect_filtered (
          gst_harness_pull (bridge.filter.harness), &info, n, "sigma=1");
    for (int c = 0; c < 3; c++) {
      gpu_pool_free (pools[c]);
      gst_object_unref (contexts[c]);
    }
    bridge_close (&bridge);
  }
}

/* Frames of another device than the requested one go through system memory. If no device is
 * requested, the filter uses the device of the frames. */
static void
gpu_memory_other_devices (void)
{
  static const char *const settings[] = { "sigma=1", "sigma=1 cuda-device-id=0",
    "sigma=1 cuda-device-id=1" };
  GstObject *other = gpu_context_new_on (1);

  if (other == NULL) {
    test_skip ("there is one CUDA device");
    return;
  }
  for (guint i = 0; i < 2 * G_N_ELEMENTS (settings); i++) {
    const gboolean out_gpu = i % 2;
    GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);
    GstBufferPool *pools[2];
    GstVideoInfo info;
    Bridge bridge;

    bridge_open (&bridge, settings[i / 2], TRUE, out_gpu);
    test_context (
        "settings=%s out %s", settings[i / 2], caps_of_memory (out_gpu));
    video_info (&info, "NV12", 64, 48, NULL);
    pools[0] = gpu_pool_new (bridge.context, caps, 0, TRUE);
    pools[1] = gpu_pool_new (other, caps, 0, TRUE);
    expect (filter_caps (&bridge.filter, caps), "caps refused");
    for (guint32 n = 0; n < 12; n++) {
      expect_filtered (filter_process (&bridge.filter,
                           picture_on_gpu (pools[n / 3 % 2], &info, n)),
          &info, n, "sigma=1");
    }
    gpu_pool_free (pools[0]);
    gpu_pool_free (pools[1]);
    bridge_close (&bridge);
  }
  gst_object_unref (other);
}

/* A context is announced to the application, answered to neighbours, accepted from the application,
 * and released. */
static void
gpu_memory_context_sharing (void)
{
  GstObject *context = gpu_context_new (), *own;
  GstContext *wrapped = gpu_context_wrap (context);
  GstMessage *message;
  Filter filter;

  test_context ("a context of its own");
  filter_open (&filter, "sigma=1");
  own = gpu_context_of (filter.element);
  expect (own != NULL, "it shares no context");
  expect (own != context, "it has that of nobody");
  expect (filter_drain_bus (&filter, GST_MESSAGE_HAVE_CONTEXT, &message) == 1,
      "the application is not told of it");
  gst_message_unref (message);
  gst_object_unref (own);
  filter_close (&filter);

  test_context ("the application's context");
  filter_make (&filter, "sigma=1");
  gst_element_set_context (filter.element, wrapped);
  filter_plug (&filter);
  own = gpu_context_of (filter.element);
  expect (own == context, "it does not take it");
  gst_object_unref (own);
  expect (filter_drain_bus (&filter,
              GST_MESSAGE_HAVE_CONTEXT | GST_MESSAGE_NEED_CONTEXT, NULL)
          == 0,
      "it asks for another");
  filter_restart (&filter);
  own = gpu_context_of (filter.element);
  expect (own == context, "it has lost it after a restart");
  gst_object_unref (own);
  filter_close (&filter);

  gst_context_unref (wrapped);
  ASSERT_OBJECT_REFCOUNT (context, "the context", 1);
  gst_object_unref (context);
}

/* Starts a filter whose first kernel is reported as missing in this context. */
static GstStateChangeReturn
open_refused (Filter *filter, const FaultPoints *points, const char *settings,
    GstObject *context)
{
  GstContext *wrapped = gpu_context_wrap (context);
  GstStateChangeReturn result;
  unsigned kind;

  filter_make (filter, settings);
  gst_element_set_context (filter->element, wrapped);
  gst_context_unref (wrapped);
  points->arm (EMULATED_FAULT_LAUNCH, 1, FALSE);
  result = gst_element_set_state (filter->element, GST_STATE_PAUSED);
  expect (points->fired (&kind) != NULL, "no kernel is looked for");
  points->arm (0, 0, FALSE);
  return result;
}

/* A GPU with a shared context but without kernels in this build: another GPU computes, and a
 * warning says that frames must be in system memory. Without another GPU, or with that GPU
 * requested, starting fails with an error of the element; with backend=auto the CPU computes. */
static void
gpu_memory_refused (void)
{
  static const struct
  {
    const char *settings, *active; /* NULL: the filter does not start */
    guint device;
  } rows[] = {
    { "sigma=1", "cuda", 1 },
    { "sigma=1", NULL, 0 },
    { "sigma=1 cuda-device-id=1", NULL, 1 },
    { "sigma=1 backend=auto", "cuda", 1 },
    { "sigma=1 backend=auto", "cpu", 0 },
  };
  const FaultPoints *points = fault_points ();

  if (points == NULL) {
    test_skip ("this GPU cannot be told to fail");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstObject *context = gpu_context_new_on (rows[i].device), *own;
    GstStateChangeReturn result;
    Filter filter;

    expect (context != NULL, "there is no device %u", rows[i].device);
    test_context ("%s, device %u refused", rows[i].settings, rows[i].device);
    result = open_refused (&filter, points, rows[i].settings, context);
    if (rows[i].active == NULL) {
      expect (result == GST_STATE_CHANGE_FAILURE, "it starts");
      filter_expect_error (
          &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    } else {
      char *active = filter_get (&filter, "active-backend");

      expect (result != GST_STATE_CHANGE_FAILURE, "it does not start");
      expect (g_str_equal (active, rows[i].active), "%s computes", active);
      expect (filter_drain_bus (&filter, GST_MESSAGE_WARNING, NULL) == 1,
          "not one warning");
      g_free (active);
      own = gpu_context_of (filter.element);
      expect (own == NULL, "it still shares a context");
    }
    filter_close (&filter);
    gst_object_unref (context);
  }
}

/* The pool offered upstream makes GPU memory in that context: one buffer for each frame in flight,
 * and one to be filled. */
static void
check_offered_pool (const char *settings, gboolean out_gpu, guint in_flight)
{
  GstCaps *caps = gpu_caps ("NV12", 65, 47, NULL);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool;
  GstVideoInfo info;
  guint size, least;
  Bridge bridge;

  bridge_open (&bridge, settings, TRUE, out_gpu);
  test_context ("%s, out %s", settings, caps_of_memory (out_gpu));
  video_info (&info, "NV12", 65, 47, NULL);
  expect (filter_caps (&bridge.filter, gst_caps_ref (caps)), "caps refused");
  expect (gst_pad_peer_query (bridge.filter.harness->srcpad, query)
          && gst_query_get_n_allocation_pools (query) == 1,
      "no pool is offered");
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, NULL);
  expect (pool != NULL && size >= info.size, "a pool of %u bytes", size);
  expect (least == in_flight + 1, "%u buffers for %u frames in flight", least,
      in_flight);
  expect (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL),
      "GstVideoMeta is not offered");
  expect (gst_buffer_pool_set_active (pool, TRUE), "the pool does not start");
  for (guint32 n = 0; n < 8; n++) {
    GstBuffer *in = picture_on_gpu (pool, &info, n);

    expect (gpu_buffer_context (in) == bridge.context, "in another context");
    expect_filtered (filter_process (&bridge.filter, in), &info, n, "sigma=1");
  }
  gpu_pool_free (pool);
  gst_query_unref (query);
  gst_caps_unref (caps);
  bridge_close (&bridge);
}

static void
gpu_memory_offered_pool (void)
{
  check_offered_pool ("sigma=1", TRUE, 8);
  check_offered_pool ("sigma=1", FALSE, 4);
  check_offered_pool ("sigma=1 ring-depth=3", TRUE, 3);
}

/* Downstream may keep any number of frames that pass: upstream must not rely on getting them
 * back. */
static void
gpu_memory_offers_nothing_of_others (void)
{
  GstCaps *caps = gpu_caps ("NV12", 64, 48, NULL);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  Bridge bridge;

  bridge_open (&bridge, "cudahisto interval=0", TRUE, TRUE);
  test_context ("cudahisto interval=0");
  expect (filter_caps (&bridge.filter, caps), "caps refused");
  gst_pad_peer_query (bridge.filter.harness->srcpad, query);
  expect (gst_query_get_n_allocation_pools (query) == 0, "a pool is offered");
  gst_query_unref (query);
  bridge_close (&bridge);
}

const Test tests_gpu_memory[] = {
  { "gpu-memory-formats-offered", gpu_memory_formats_offered, VARIANT_CUDA },
  { "gpu-memory-formats-through", gpu_memory_formats_through, VARIANT_CUDA },
  { "gpu-memory-formats-down", gpu_memory_formats_down, VARIANT_CUDA },
  { "gpu-memory-formats-up", gpu_memory_formats_up, VARIANT_CUDA },
  { "gpu-memory-formats-untouched", gpu_memory_formats_untouched,
      VARIANT_CUDA },
  { "gpu-memory-settings", gpu_memory_settings, VARIANT_CUDA },
  { "gpu-memory-regions", gpu_memory_regions, VARIANT_CUDA },
  { "gpu-memory-mislabelled", gpu_memory_mislabelled, VARIANT_CUDA },
  { "gpu-memory-negotiation", gpu_memory_negotiation, VARIANT_CUDA },
  { "gpu-memory-preferred", gpu_memory_preferred, VARIANT_CUDA },
  { "gpu-memory-and-the-cpu", gpu_memory_and_the_cpu, VARIANT_CUDA },
  { "gpu-memory-row", gpu_memory_row, VARIANT_CUDA },
  { "gpu-memory-pipelines", gpu_memory_pipelines, VARIANT_CUDA },
  { "gpu-memory-in-flight", gpu_memory_in_flight, VARIANT_CUDA },
  { "gpu-memory-turns", gpu_memory_turns, VARIANT_CUDA },
  { "gpu-memory-method", gpu_memory_method, VARIANT_CUDA },
  { "gpu-memory-told-of", gpu_memory_told_of, VARIANT_CUDA },
  { "gpu-memory-events", gpu_memory_events, VARIANT_CUDA },
  { "gpu-memory-streams", gpu_memory_streams, VARIANT_CUDA },
  { "gpu-memory-analyze", gpu_memory_analyze, VARIANT_CUDA },
  { "gpu-memory-other-contexts", gpu_memory_other_contexts, VARIANT_CUDA },
  { "gpu-memory-other-devices", gpu_memory_other_devices, VARIANT_CUDA },
  { "gpu-memory-context-sharing", gpu_memory_context_sharing, VARIANT_CUDA },
  { "gpu-memory-refused", gpu_memory_refused, VARIANT_CUDA },
  { "gpu-memory-offered-pool", gpu_memory_offered_pool, VARIANT_CUDA },
  { "gpu-memory-offers-nothing-of-others", gpu_memory_offers_nothing_of_others,
      VARIANT_CUDA },
  { "gpu-memory-without-meta", gpu_memory_without_meta, VARIANT_CUDA },
  { NULL, NULL, 0 },
};
