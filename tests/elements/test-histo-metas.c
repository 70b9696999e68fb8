/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GstCudaHistogramMeta, as an application sees it: through its header. */
#include "gstvideohistogrammeta.h"
#include "histo-oracle.h"

#include <string.h>

/* One frame with its meta, and its counters. */
typedef struct
{
  GstVideoInfo info;
  Filter filter;
  GstBuffer *out;
  GstCudaHistogramMeta *meta;
} Counted;

static void
counted_start (Counted *counted, const char *format, const char *settings)
{
  char *all =
      g_strdup_printf ("cudahisto interval=0 attach-meta=true %s", settings);

  filter_start (&counted->filter, all, &counted->info, format, 37, 21, NULL);
  counted->out =
      filter_process (&counted->filter, picture_new (&counted->info, 5));
  counted->meta = gst_buffer_get_cuda_histogram_meta (counted->out);
  expect (counted->meta != NULL, "no meta");
  g_free (all);
}

static void
counted_end (Counted *counted)
{
  gst_buffer_unref (counted->out);
  filter_close (&counted->filter);
}

static void
expect_counts (const GstCudaHistogramMeta *meta, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings)
{
  char *problem = histo_compare_meta (meta, picture, info, settings);

  expect (problem == NULL, "%s", problem);
}

/* Compares component by component and bin by bin. */
static void
expect_as_told (const GstCudaHistogramMeta *meta, GstMessage *message)
{
  expect (meta->n_components == histo_n_components (message),
      "%u components instead of %u", meta->n_components,
      histo_n_components (message));
  for (guint i = 0; i < meta->n_components; i++) {
    const GstStructure *component = histo_component (message, i);
    guint bins, depth = 0;
    guint64 *counts = histo_bins (component, &bins);

    gst_structure_get_uint (component, "depth", &depth);
    expect (bins == meta->bins && depth == meta->component[i].depth,
        "%u bins and depth %u", meta->bins, meta->component[i].depth);
    expect (g_strcmp0 (gst_structure_get_string (component, "name"),
                meta->component[i].name)
            == 0,
        "component %u is called %s", i, meta->component[i].name);
    expect (
        memcmp (counts, meta->component[i].counts, bins * sizeof *counts) == 0,
        "component %u has other counts", i);
    g_free (counts);
  }
}

static void
histo_metas_are_the_message (void)
{
  static const int bins[] = { 2, 256, 1000 };

  for (int f = 0; video_formats[f]; f++) {
    char *settings = g_strdup_printf ("planes=all bins=%d", bins[f % 3]);
    GstMessage *message;
    Counted counted;

    counted_start (&counted, video_formats[f], settings);
    message = histo_message (&counted.filter);
    expect_as_told (counted.meta, message);
    expect_counts (counted.meta, counted.out, &counted.info, settings);
    gst_message_unref (message);
    counted_end (&counted);
    g_free (settings);
  }
}

/* Checks a meta without a message. */
static void
histo_metas_alone (void)
{
  Counted counted;

  counted_start (&counted, "NV12", "post-messages=false planes=chroma bins=16");
  histo_expect_silence (&counted.filter);
  expect_counts (
      counted.meta, counted.out, &counted.info, "planes=chroma bins=16");
  counted_end (&counted);
}

/* ---- copies -------------------------------------------------------------- */

static void
histo_metas_copy (void)
{
  GstCudaHistogramMeta *meta;
  GstBuffer *copy, *deep;
  Counted counted;

  counted_start (&counted, "I420", "");
  copy = gst_buffer_copy (counted.out);
  deep = gst_buffer_copy_deep (copy);
  meta = gst_buffer_get_cuda_histogram_meta (copy);
  expect (meta && meta != counted.meta, "the copy has no meta of its own");
  expect (meta->data == counted.meta->data, "the counts are copied");
  for (guint i = 0; i < meta->n_components; i++)
    expect (meta->component[i].counts == counted.meta->component[i].counts,
        "the counts of %u are copied", i);
  /* The copy of a copy outlives both, and the filter. */
  gst_buffer_unref (copy);
  counted_end (&counted);
  meta = gst_buffer_get_cuda_histogram_meta (deep);
  expect (meta != NULL, "the copy of the copy has no meta");
  expect_counts (meta, deep, &counted.info, "");
  gst_buffer_unref (deep);
}

/* A part of a picture has other counters. */
static void
histo_metas_region (void)
{
  GstBuffer *part, *whole;
  Counted counted;

  counted_start (&counted, "GRAY8", "");
  part = gst_buffer_copy_region (counted.out, GST_BUFFER_COPY_ALL, 0, 100);
  expect (gst_buffer_get_cuda_histogram_meta (part) == NULL,
      "the first rows have all counts");
  gst_buffer_unref (part);
  part = gst_buffer_copy_region (counted.out, GST_BUFFER_COPY_ALL, 100,
      gst_buffer_get_size (counted.out) - 100);
  expect (gst_buffer_get_cuda_histogram_meta (part) == NULL,
      "the last rows have all counts");
  gst_buffer_unref (part);
  whole = gst_buffer_copy_region (
      counted.out, GST_BUFFER_COPY_ALL, 0, gst_buffer_get_size (counted.out));
  expect (gst_buffer_get_cuda_histogram_meta (whole) != NULL,
      "all of it has no counts");
  gst_buffer_unref (whole);
  counted_end (&counted);
}

/* Counters that are kept longer than the buffer. */
static void
histo_metas_keep_counts (void)
{
  const guint64 *counts;
  guint64 sum = 0;
  Counted counted;
  GBytes *data;
  guint bins;

  counted_start (&counted, "GRAY8", "bins=1000");
  data = g_bytes_ref (counted.meta->data);
  counts = counted.meta->component[0].counts;
  bins = counted.meta->bins;
  counted_end (&counted);
  for (guint bin = 0; bin < bins; bin++)
    sum += counts[bin];
  expect (sum == 37 * 21, "%" G_GUINT64_FORMAT " samples", sum);
  g_bytes_unref (data);
}

#define KEPT 14
#define RECOUNTED 8 /* from this frame on, with other bins */

static void
expect_kept (GstBuffer *const *kept, const GstVideoInfo *info, int first)
{
  for (int i = first; i < KEPT; i++)
    expect_counts (gst_buffer_get_cuda_histogram_meta (kept[i]), kept[i], info,
        i < RECOUNTED ? "planes=all bins=256" : "planes=all bins=100");
}

/* Metas of more frames than can be in flight are kept, while other frames are counted, with other
 * bins or not at all. */
static void
histo_metas_keep_many (void)
{
  static const char *const formats[] = { "NV12", "BGRA", "GRAY16_LE" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstBuffer *kept[KEPT];
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter,
        "cudahisto interval=0 attach-meta=true ring-depth=3 planes=all", &info,
        formats[f], 37, 21, NULL);
    for (int i = 0; i < KEPT; i++) {
      if (i == RECOUNTED)
        settings_apply (filter.element, "bins=100");
      kept[i] = filter_process (&filter, picture_new (&info, (guint) i));
    }
    expect_kept (kept, &info, 0);
    /* Some are released, in another order than they came in. */
    for (int i = 0; i < RECOUNTED / 2; i++) {
      gst_buffer_unref (kept[i * 5 % (RECOUNTED / 2)]);
      gst_buffer_unref (filter_process (&filter, picture_new (&info, 50)));
    }
    expect_kept (kept, &info, RECOUNTED / 2);
    filter_close (&filter);
    expect_kept (kept, &info, RECOUNTED / 2);
    for (int i = RECOUNTED / 2; i < KEPT; i++)
      gst_buffer_unref (kept[i]);
  }
}

/* Metas requested and not, alternating by frame. */
static void
histo_metas_by_turns (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0 ring-depth=2", &info, "I420", 37,
      21, NULL);
  for (int i = 0; i < 12; i++) {
    GstCudaHistogramMeta *meta;
    GstBuffer *out;

    settings_apply (
        filter.element, i % 3 == 1 ? "attach-meta=true" : "attach-meta=false");
    out = filter_process (&filter, picture_new (&info, (guint) i));
    meta = gst_buffer_get_cuda_histogram_meta (out);
    expect ((meta != NULL) == (i % 3 == 1), "meta of frame %d: %p", i,
        (void *) meta);
    if (meta != NULL)
      expect_counts (meta, out, &info, "");
    gst_message_unref (histo_message (&filter));
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

static void
histo_metas_none (void)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoInfo info;
  GstBuffer *out;
  Filter filter;

  expect (gst_buffer_get_cuda_histogram_meta (buffer) == NULL,
      "a meta on a new buffer");
  gst_buffer_unref (buffer);
  filter_start (&filter, "cudahisto interval=0", &info, "NV12", 16, 8, NULL);
  out = filter_process (&filter, picture_new (&info, 1));
  expect (gst_buffer_get_cuda_histogram_meta (out) == NULL,
      "a meta that was not asked for");
  gst_buffer_unref (out);
  filter_close (&filter);
}

/* The meta's tags tell elements when it stays valid. */
static void
histo_metas_are_registered (void)
{
  GstElement *element = gst_element_factory_make ("cudahisto", NULL);
  const GstMetaInfo *info =
      gst_meta_get_info (GST_CUDA_HISTOGRAM_META_IMPL_NAME);

  expect (element != NULL, "cudahisto cannot be made");
  expect (info != NULL, "no meta is registered");
  expect (info->api == g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME),
      "of another interface");
  expect (info->size == sizeof (GstCudaHistogramMeta), "of another size");
  expect (gst_meta_api_type_has_tag (
              info->api, g_quark_from_string (GST_META_TAG_VIDEO_STR))
          && gst_meta_api_type_has_tag (info->api,
              g_quark_from_string (GST_META_TAG_VIDEO_COLORSPACE_STR))
          && gst_meta_api_type_has_tag (
              info->api, g_quark_from_string (GST_META_TAG_VIDEO_SIZE_STR)),
      "it does not say that it depends on colours and size");
  expect (!gst_meta_api_type_has_tag (
              info->api, g_quark_from_string (GST_META_TAG_MEMORY_STR)),
      "it says that it describes memory");
  gst_object_unref (element);
}

/* A second meta of the same kind, as another vendor's element may leave. */
static GstCudaHistogramMeta *
add_foreign_meta (GstBuffer *buffer, guint bins)
{
  GstCudaHistogramMeta *meta = (GstCudaHistogramMeta *) gst_buffer_add_meta (
      buffer, gst_meta_get_info (GST_CUDA_HISTOGRAM_META_IMPL_NAME), NULL);

  meta->bins = bins;
  return meta;
}

/* Wherever it is on the buffer and on its copies. */
static void
histo_metas_newest (void)
{
  GstBuffer *buffer, *copy;
  Counted counted;

  counted_start (&counted, "GRAY8", "");
  buffer = gst_buffer_copy (counted.out);
  add_foreign_meta (buffer, 3);
  expect (gst_buffer_get_cuda_histogram_meta (buffer)->bins == 3,
      "the older of two metas");
  copy = gst_buffer_copy (buffer);
  expect (gst_buffer_get_cuda_histogram_meta (copy)->bins == 3,
      "the older of two copied metas");
  gst_buffer_unref (copy);
  add_foreign_meta (buffer, 5);
  expect (gst_buffer_get_cuda_histogram_meta (buffer)->bins == 5,
      "an older one of three metas");
  gst_buffer_unref (buffer);
  counted_end (&counted);
}

/* A meta of an earlier element is replaced; on buffers that others hold it stays. */
static void
histo_metas_replace_older (void)
{
  static const char *const settings[] = { "cudahisto interval=0 bins=16 ",
    "sigma=0 histogram=true histogram-interval=0 histogram-bins=16 "
    "histogram-meta=true" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    char *all =
        g_strconcat (settings[s], s == 0 ? "attach-meta=true" : "", NULL);
    GstBuffer *held, *out;
    Counted counted;
    Filter filter;

    counted_start (&counted, "I420", "bins=100");
    add_foreign_meta (counted.out, 5);
    held = gst_buffer_ref (counted.out);
    filter_start (&filter, all, &counted.info, "I420", 37, 21, NULL);
    out = filter_process (&filter, counted.out);
    expect (gst_buffer_get_n_meta (
                out, g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME))
            == 1,
        "not one meta");
    expect_counts (gst_buffer_get_cuda_histogram_meta (out), out, &counted.info,
        "bins=16");
    expect (gst_buffer_get_n_meta (
                held, g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME))
            == 2,
        "a buffer that is held elsewhere has changed");
    gst_buffer_unref (out);
    filter_close (&filter);
    counted.out = held;
    counted_end (&counted);
    g_free (all);
  }
}

/* Functions that take component indices, for bindings of other languages. */
static void
histo_metas_accessors (void)
{
  Counted counted;

  counted_start (&counted, "NV12", "bins=16");
  for (guint i = 0; i < 3; i++) {
    const GstCudaHistogramComponent *component =
        gst_cuda_histogram_meta_get_component (counted.meta, i);
    GBytes *counts = gst_cuda_histogram_meta_get_counts (counted.meta, i);
    gsize size;

    expect (component == &counted.meta->component[i], "another component");
    expect (g_bytes_get_data (counts, &size) == component->counts,
        "other counters of %s", component->name);
    expect (size == 16 * sizeof (guint64), "%" G_GSIZE_FORMAT " bytes", size);
    g_bytes_unref (counts);
  }
  expect (gst_cuda_histogram_meta_get_component (counted.meta, 3) == NULL
          && gst_cuda_histogram_meta_get_counts (counted.meta, 3) == NULL,
      "a fourth component");
  counted_end (&counted);
}

/* Sources with the former names compile, and read the same meta. */
static void
histo_metas_former_names (void)
{
  GstVideoHistogramMeta *meta;
  Counted counted;

  counted_start (&counted, "GRAY8", "");
  meta = gst_buffer_get_video_histogram_meta (counted.out);
  expect (meta == counted.meta, "another meta");
  counted_end (&counted);
}

/* ---- pipelines ----------------------------------------------------------- */

/* Counts at a sink. */
typedef struct
{
  GMutex lock; /* protects all, from the sink's thread and the test */
  int frames, metas;
  char *problem;
} Arrivals;

/* A meta must match the samples that it comes with. */
static GstPadProbeReturn
look_at_buffer (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (probe);
  GstCudaHistogramMeta *meta = gst_buffer_get_cuda_histogram_meta (buffer);
  GstCaps *caps = gst_pad_get_current_caps (pad);
  Arrivals *arrivals = user;
  GstVideoInfo info;

  g_mutex_lock (&arrivals->lock);
  arrivals->frames++;
  arrivals->metas += meta != NULL;
  if (!gst_video_info_from_caps (&info, caps) && !arrivals->problem)
    arrivals->problem = g_strdup ("no video");
  else if (meta && !arrivals->problem)
    arrivals->problem = histo_compare_meta (meta, buffer, &info, "");
  g_mutex_unlock (&arrivals->lock);
  gst_caps_unref (caps);
  return GST_PAD_PROBE_OK;
}

static void
await_arrivals (GstElement *pipeline, const char *name, Arrivals *arrivals)
{
  g_mutex_init (&arrivals->lock);
  watch_sink (pipeline, name, look_at_buffer, arrivals);
}

/* Expects this number of frames, and of metas on them. */
static void
expect_arrivals (Arrivals *arrivals, int frames, int metas)
{
  expect (arrivals->problem == NULL, "%s", arrivals->problem);
  expect (arrivals->frames == frames, "%d frames", arrivals->frames);
  expect (arrivals->metas == metas, "%d metas on %d frames", arrivals->metas,
      frames);
  g_mutex_clear (&arrivals->lock);
}

/* 12 frames of noise through cudahisto and the rest of the line. Rows are multiples of 16 bytes,
 * since initcheck would report the reads of kernels beyond the ends of other rows. */
static GstElement *
launch (const char *caps, const char *rest)
{
  char *line = g_strdup_printf (
      "videotestsrc num-buffers=12 pattern=snow ! video/x-raw,%s,width=48,"
      "height=30,framerate=30/1 ! cudahisto backend=%s interval=0 "
      "attach-meta=true ! %s",
      caps, test_backend (), rest);
  GError *error = NULL;
  GstElement *pipeline;

  test_context ("%s", line);
  pipeline = gst_parse_launch (line, &error);
  expect (pipeline && !error, "%s", error ? error->message : "no pipeline");
  g_free (line);
  return pipeline;
}

static void
play (GstElement *pipeline)
{
  pipeline_run_to_end (
      pipeline, 30 * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

static void
histo_metas_through_tee (void)
{
  static const char *const caps[] = { "format=NV12", "format=GRAY8",
    "format=RGBA", "format=P010_10LE" };

  for (guint c = 0; c < G_N_ELEMENTS (caps); c++) {
    Arrivals arrivals[3] = { 0 };
    GstElement *pipeline = launch (caps[c],
        "tee name=t t. ! queue ! fakesink name=sink0 "
        "t. ! queue ! identity ! queue ! fakesink name=sink1 "
        "t. ! queue ! cudahisto backend=cpu interval=0 ! fakesink name=sink2");

    await_arrivals (pipeline, "sink0", &arrivals[0]);
    await_arrivals (pipeline, "sink1", &arrivals[1]);
    await_arrivals (pipeline, "sink2", &arrivals[2]);
    play (pipeline);
    for (int i = 0; i < 3; i++)
      expect_arrivals (&arrivals[i], 12, 12);
  }
}

/* Elements that change the samples must drop the meta. */
static void
histo_metas_of_changed_frames (void)
{
  static const char *const rest[] = {
    "cudasepconv backend=BACKEND sigma=3 ! fakesink name=sink0",
    "cudasepconv backend=BACKEND kernel=sobel-x ! fakesink name=sink0",
    "cudahisto backend=BACKEND mode=equalize ! fakesink name=sink0",
    "cudahisto backend=BACKEND mode=overlay ! fakesink name=sink0",
    "videoconvert ! video/x-raw,format=RGBA ! fakesink name=sink0",
    "videoscale ! video/x-raw,width=23 ! fakesink name=sink0",
  };

  for (guint r = 0; r < G_N_ELEMENTS (rest); r++) {
    char **parts = g_strsplit (rest[r], "BACKEND", -1);
    char *line = g_strjoinv (test_backend (), parts);
    Arrivals arrivals = { 0 };
    GstElement *pipeline = launch ("format=NV12", line);

    await_arrivals (pipeline, "sink0", &arrivals);
    play (pipeline);
    expect_arrivals (&arrivals, 12, 0);
    g_free (line);
    g_strfreev (parts);
  }
}

/* Frames that cudasepconv passes untouched keep theirs. */
static void
histo_metas_of_untouched_frames (void)
{
  char *rest = g_strdup_printf (
      "cudasepconv backend=%s sigma=0 ! fakesink name=sink0", test_backend ());
  GstElement *pipeline = launch ("format=NV12", rest);
  Arrivals arrivals = { 0 };

  await_arrivals (pipeline, "sink0", &arrivals);
  play (pipeline);
  expect_arrivals (&arrivals, 12, 12);
  g_free (rest);
}

const Test tests_histo_metas[] = {
  { "histo-metas-are-the-message", histo_metas_are_the_message, VARIANT_BOTH },
  { "histo-metas-alone", histo_metas_alone, VARIANT_BOTH },
  { "histo-metas-copy", histo_metas_copy, VARIANT_BOTH },
  { "histo-metas-region", histo_metas_region, VARIANT_BOTH },
  { "histo-metas-keep-counts", histo_metas_keep_counts, VARIANT_BOTH },
  { "histo-metas-keep-many", histo_metas_keep_many, VARIANT_BOTH },
  { "histo-metas-by-turns", histo_metas_by_turns, VARIANT_BOTH },
  { "histo-metas-none", histo_metas_none, VARIANT_BOTH },
  { "histo-metas-are-registered", histo_metas_are_registered, VARIANT_ANY },
  { "histo-metas-newest", histo_metas_newest, VARIANT_BOTH },
  { "histo-metas-replace-older", histo_metas_replace_older, VARIANT_BOTH },
  { "histo-metas-accessors", histo_metas_accessors, VARIANT_BOTH },
  { "histo-metas-former-names", histo_metas_former_names, VARIANT_BOTH },
  { "histo-metas-through-tee", histo_metas_through_tee, VARIANT_BOTH },
  { "histo-metas-of-changed-frames", histo_metas_of_changed_frames,
      VARIANT_BOTH },
  { "histo-metas-of-untouched-frames", histo_metas_of_untouched_frames,
      VARIANT_BOTH },
  { 0 },
};
