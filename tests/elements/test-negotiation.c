/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Caps negotiation through the filter, in both directions, and caps changes. */
#include "picture-oracle.h"

static void
negotiation_caps_go_through (void)
{
  const char *more = "colorimetry=(string)bt709, pixel-aspect-ratio=(fraction)"
                     "4/3, chroma-site=(string)mpeg2, multiview-mode=(string)"
                     "mono, x-custom=(int)7";
  GstVideoInfo info;
  GstCaps *sent, *got;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "I420", 36, 20, more);
  picture_check_frame (&filter, &info, 1, "sigma=1");
  sent = video_caps ("I420", 36, 20, more);
  got = gst_pad_get_current_caps (filter.harness->sinkpad);
  expect (got && gst_caps_is_strictly_equal (sent, got),
      "%" GST_PTR_FORMAT " became %" GST_PTR_FORMAT, (gpointer) sent,
      (gpointer) got);
  gst_caps_unref (sent);
  gst_caps_unref (got);
  filter_close (&filter);
}

static void
negotiation_changes (void)
{
  static const struct
  {
    const char *format;
    int width, height;
  } steps[] = {
    { "I420", 64, 48 },
    { "I420", 320, 240 }, /* larger */
    { "I420", 16, 16 },   /* smaller */
    { "NV12", 16, 16 },   /* another format */
    { "P010_10LE", 16, 16 },
    { "RGBA", 31, 7 },
    { "GRAY8", 1, 1 },
    { "I420", 64, 48 },
  };
  GstVideoInfo info;
  Filter filter;

  filter_open (&filter, "sigma=2");
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("step %u: format=%s size=%dx%d sigma=2", s, steps[s].format,
        steps[s].width, steps[s].height);
    video_info (&info, steps[s].format, steps[s].width, steps[s].height, NULL);
    expect (filter_caps (&filter,
                video_caps (
                    steps[s].format, steps[s].width, steps[s].height, NULL)),
        "caps refused");
    for (guint32 i = 0; i < 3; i++)
      picture_check_frame (&filter, &info, s * 3 + i, "sigma=2");
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* Frames in flight when caps change come out before the change. */
static void
negotiation_changes_without_waiting (void)
{
  static const int widths[] = { 64, 32, 48, 64, 16 };
  GstVideoInfo info;
  Filter filter;

  test_context ("format=NV12 several widths, sigma=1");
  filter_open (&filter, "sigma=1");
  for (guint s = 0; s < G_N_ELEMENTS (widths); s++) {
    expect (filter_caps (&filter, video_caps ("NV12", widths[s], 40, NULL)),
        "caps refused");
    video_info (&info, "NV12", widths[s], 40, NULL);
    for (guint32 i = 0; i < 3; i++)
      expect (gst_harness_push (filter.harness, picture_new (&info, i))
              == GST_FLOW_OK,
          "pushing failed");
  }
  for (guint s = 0; s < G_N_ELEMENTS (widths); s++) {
    video_info (&info, "NV12", widths[s], 40, NULL);
    for (guint32 i = 0; i < 3; i++) {
      GstBuffer *in = picture_new (&info, i);
      GstBuffer *out = gst_harness_pull (filter.harness);

      expect (out != NULL, "frame %u of step %u is missing", i, s);
      picture_expect (in, out, &info, "sigma=1", FALSE);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
  }
  filter_close (&filter);
}

static void
negotiation_same_caps_again (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 40, 30, NULL);
  for (guint32 i = 0; i < 4; i++) {
    picture_check_frame (&filter, &info, i, "sigma=1");
    expect (filter_caps (&filter, video_caps ("NV12", 40, 30, NULL)),
        "the same caps are refused");
  }
  picture_check_frame (&filter, &info, 9, "sigma=1");
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* A change of colorimetry alone changes the zero level. */
static void
negotiation_colorimetry_change (void)
{
  const char *settings = "kernel=sobel-x scale=0.25";
  static const char *const ranges[] = { "2:4:16:4", "1:4:16:4", "2:4:16:4" };
  GstVideoInfo info;
  Filter filter;

  filter_open (&filter, settings);
  for (guint r = 0; r < G_N_ELEMENTS (ranges); r++) {
    char *more = g_strdup_printf ("colorimetry=(string)%s", ranges[r]);

    test_context ("format=I420 size=24x18 %s settings=%s", more, settings);
    video_info (&info, "I420", 24, 18, more);
    expect (filter_caps (&filter, video_caps ("I420", 24, 18, more)),
        "caps refused");
    picture_check_frame (&filter, &info, r, settings);
    g_free (more);
  }
  filter_close (&filter);
}

/* Memory that the filter cannot read is refused in the caps query, not when frames
 * arrive. */
static void
negotiation_features (void)
{
  static const char *const features[] = { "memory:GLMemory", "memory:DMABuf",
    "memory:VASurface", "memory:Unheard" };
  Filter filter;

  filter_open (&filter, "sigma=1");
  for (guint f = 0; f < G_N_ELEMENTS (features); f++) {
    GstCaps *caps = video_caps ("NV12", 64, 48, NULL), *got;

    test_context ("format=NV12 %s", features[f]);
    gst_caps_set_features (caps, 0, gst_caps_features_new (features[f], NULL));
    expect (!gst_pad_peer_query_accept_caps (filter.harness->srcpad, caps),
        "accepted");
    got = gst_pad_peer_query_caps (filter.harness->srcpad, caps);
    expect (gst_caps_is_empty (got), "the answer is %" GST_PTR_FORMAT,
        (gpointer) got);
    gst_caps_unref (got);
    expect (!filter_caps (&filter, caps), "the event is accepted");
  }
  filter_close (&filter);
}

static void
negotiation_explicit_system_memory (void)
{
  GstCaps *caps = video_caps ("NV12", 64, 48, NULL);
  GstVideoInfo info;
  Filter filter;

  test_context ("format=NV12 memory:SystemMemory");
  video_info (&info, "NV12", 64, 48, NULL);
  gst_caps_set_features (caps, 0,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, NULL));
  filter_open (&filter, "sigma=1");
  expect (filter_caps (&filter, caps), "caps refused");
  picture_check_frame (&filter, &info, 1, "sigma=1");
  filter_close (&filter);
}

static void
negotiation_unsupported_format (void)
{
  static const char *const formats[] = { "NV12_4L4", "IYU1", "RGB8P",
    "NV12_64Z32", "ENCODED" };
  Filter filter;

  filter_open (&filter, "sigma=1");
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstCaps *caps = video_caps (formats[f], 64, 48, NULL);

    test_context ("format=%s", formats[f]);
    expect (!gst_pad_peer_query_accept_caps (filter.harness->srcpad, caps),
        "accepted");
    gst_caps_unref (caps);
  }
  filter_close (&filter);
}

/* Whether the sink pad accepts frames in such memory. */
static gboolean
filter_promises (Filter *filter, const char *memory)
{
  GstCaps *caps = gst_pad_template_get_caps (
      gst_element_get_pad_template (filter->element, "sink"));
  gboolean promised = FALSE;

  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    promised = promised
        || gst_caps_features_contains (gst_caps_get_features (caps, i), memory);
  gst_caps_unref (caps);
  return promised;
}

/* Each side sees the caps of the other side through the filter. */
static void
negotiation_queries (void)
{
  static const char downstream[] =
      "video/x-raw, format=(string){ NV12, RGBA, RGB8P }, width=(int)[1, 640], "
      "height=(int)480, framerate=(fraction)[0/1, 60/1]";
  static const char expected[] =
      "video/x-raw, format=(string){ NV12, RGBA }, width=(int)[1, 640], "
      "height=(int)480, framerate=(fraction)[0/1, 60/1]";
  static const char on_gpu[] = "memory:CUDAMemory";
  GstCaps *want = gst_caps_from_string (expected), *got, *filter_by;
  Filter filter;

  test_context ("caps queries with downstream %s", downstream);
  filter_open (&filter, "sigma=1");
  if (test_on_cuda () && filter_promises (&filter, on_gpu)) {
    GstCaps *same = gst_caps_copy (want);

    gst_caps_set_features_simple (want, gst_caps_features_new (on_gpu, NULL));
    gst_caps_append (want, same);
  }
  gst_harness_set_sink_caps_str (filter.harness, downstream);
  got = gst_pad_peer_query_caps (filter.harness->srcpad, NULL);
  expect (gst_caps_is_equal (got, want), "upstream sees %" GST_PTR_FORMAT,
      (gpointer) got);
  gst_caps_unref (got);

  filter_by = gst_caps_from_string (
      "video/x-raw, format=(string)RGBA, width=(int)[100, 1000]");
  got = gst_pad_peer_query_caps (filter.harness->srcpad, filter_by);
  gst_caps_unref (want);
  want = gst_caps_from_string (
      "video/x-raw, format=(string)RGBA, width=(int)[100, 640], "
      "height=(int)480, framerate=(fraction)[0/1, 60/1]");
  expect (gst_caps_is_equal (got, want), "filtered, it sees %" GST_PTR_FORMAT,
      (gpointer) got);
  gst_caps_unref (got);
  gst_caps_unref (filter_by);
  gst_caps_unref (want);
  filter_close (&filter);
}

/* Caps that downstream refuses are refused at once. */
static void
negotiation_downstream_refuses (void)
{
  Filter filter;
  GstCaps *caps = video_caps ("RGBA", 64, 48, NULL);

  test_context ("format=RGBA, downstream takes NV12");
  filter_open (&filter, "sigma=1");
  gst_harness_set_sink_caps_str (
      filter.harness, "video/x-raw, format=(string)NV12");
  expect (!gst_pad_peer_query_accept_caps (filter.harness->srcpad, caps)
          || !filter_caps (&filter, gst_caps_ref (caps)),
      "accepted");
  gst_caps_unref (caps);
  filter_close (&filter);
}

/* The allocation query offers upstream GstVideoMeta. */
static void
negotiation_allocation (void)
{
  GstVideoInfo info;
  GstCaps *caps = video_caps ("NV12", 64, 48, NULL);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 64, 48, NULL);
  expect (gst_pad_peer_query (filter.harness->srcpad, query),
      "the allocation query fails");
  expect (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL),
      "GstVideoMeta is not offered");
  for (guint i = 0; i < gst_query_get_n_allocation_pools (query); i++) {
    GstBufferPool *pool;
    guint size, least, most;

    gst_query_parse_nth_allocation_pool (query, i, &pool, &size, &least, &most);
    expect (size >= info.size,
        "pool %u has %u bytes instead of %" G_GSIZE_FORMAT, i, size, info.size);
    if (pool)
      gst_object_unref (pool);
  }
  gst_query_unref (query);
  gst_caps_unref (caps);
  filter_close (&filter);
}

/* ---- negotiated formats -------------------------------------------------- */

/* The format that a pipeline with an element named e has negotiated, or NULL after an
 * error, which is then stored in `*error`. The caller frees both. FILTER stands for
 * cudasepconv and HISTO for cudahisto, with the backend under test. */
static char *
settled_format (const char *line, char **error)
{
  char *filter =
      g_strdup_printf ("cudasepconv name=e backend=%s", test_backend ());
  char *histo =
      g_strdup_printf ("cudahisto name=e backend=%s", test_backend ());
  GString *whole = g_string_new (line);
  GError *problem = NULL;
  GstElement *pipeline, *element;
  GstMessage *message;
  char *format = NULL;
  GstCaps *caps;
  GstPad *pad;
  GstBus *bus;

  g_string_replace (whole, "FILTER", filter, 0);
  g_string_replace (whole, "HISTO", histo, 0);
  pipeline = gst_parse_launch (whole->str, &problem);
  expect (pipeline != NULL && problem == NULL, "%s",
      problem ? problem->message : "no pipeline");
  bus = gst_element_get_bus (pipeline);
  element = gst_bin_get_by_name (GST_BIN (pipeline), "e");
  pad = gst_element_get_static_pad (element, "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (
      bus, 20 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  expect (message != NULL, "no end after 20 s");
  *error = NULL;
  caps = gst_pad_get_current_caps (pad);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &problem, NULL);
    *error = g_strdup_printf (
        "%s: %s", GST_OBJECT_NAME (message->src), problem->message);
    g_error_free (problem);
  } else if (caps != NULL) {
    format = g_strdup (
        gst_structure_get_string (gst_caps_get_structure (caps, 0), "format"));
  }
  gst_caps_replace (&caps, NULL);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_string_free (whole, TRUE);
  g_free (filter);
  g_free (histo);
  return format;
}

typedef struct
{
  const char *line, *format;
} Settled;

static void
check_settled (const Settled *rows, guint n)
{
  for (guint r = 0; r < n; r++) {
    char *error, *format;

    test_context ("%s", rows[r].line);
    format = settled_format (rows[r].line, &error);
    expect (error == NULL, "%s", error);
    expect (g_strcmp0 (format, rows[r].format) == 0,
        "the format is %s instead of %s", format, rows[r].format);
    g_free (format);
  }
}

#define SOURCE "videotestsrc num-buffers=2 ! "

/* Flexible neighbours negotiate the cheapest format, and a neighbour's preference is
 * respected. */
static void
negotiation_neighbours (void)
{
  static const Settled rows[] = {
    { SOURCE "FILTER ! fakesink", "I420" },
    { SOURCE "HISTO ! fakesink", "I420" },
    { SOURCE "FILTER ! videoconvert ! fakesink", "I420" },
    { SOURCE "HISTO ! videoconvert ! fakesink", "I420" },
    { SOURCE "videoconvert ! FILTER ! videoconvert ! fakesink", "I420" },
    { SOURCE "videoconvert ! HISTO ! videoscale ! fakesink", "I420" },
    { SOURCE "FILTER ! queue ! videoscale ! fakesink", "I420" },
    /* As after a decoder. */
    { SOURCE "video/x-raw,format=NV12 ! videoconvert ! FILTER ! videoconvert ! "
             "fakesink",
        "NV12" },
    { SOURCE "video/x-raw,format=I420 ! FILTER ! videoconvert ! "
             "video/x-raw,format=BGRA ! fakesink",
        "I420" },
    { SOURCE "video/x-raw,format={RGB,I420} ! FILTER ! fakesink", "RGB" },
    { SOURCE "FILTER ! video/x-raw,format={RGBA,NV12} ! fakesink", "RGBA" },
  };

  check_settled (rows, G_N_ELEMENTS (rows));
}

/* Formats that the settings cannot process are not offered, so that a flexible neighbour
 * chooses another one. */
static void
negotiation_settings_restrict (void)
{
  static const Settled rows[] = {
    { SOURCE "video/x-raw,format={RGB,I420} ! FILTER planes=luma ! fakesink",
        "I420" },
    { SOURCE "video/x-raw,format={RGB,NV12} ! FILTER planes=chroma ! fakesink",
        "NV12" },
    { SOURCE "FILTER planes=luma ! video/x-raw,format={RGB,NV12} ! fakesink",
        "NV12" },
    { SOURCE "FILTER planes=luma+alpha ! videoconvert ! "
             "video/x-raw,format=RGB ! fakesink",
        "I420" },
    { SOURCE "video/x-raw,format=RGB ! videoconvert ! FILTER planes=luma ! "
             "video/x-raw,format={RGB,Y444} ! fakesink",
        "Y444" },
    { SOURCE "video/x-raw,format={RGB,I420} ! FILTER planes=alpha ! fakesink",
        "RGB" },
    { SOURCE "video/x-raw,format={RGB,I420} ! HISTO planes=luma ! fakesink",
        "I420" },
    { SOURCE "HISTO planes=luma ! video/x-raw,format={RGB,NV12} ! fakesink",
        "NV12" },
    { SOURCE "video/x-raw,format={GRAY8,NV12} ! HISTO planes=chroma ! fakesink",
        "NV12" },
    { SOURCE "video/x-raw,format={I420,AYUV} ! HISTO planes=alpha ! fakesink",
        "AYUV" },
    { SOURCE
        "video/x-raw,format={RGB,I420} ! HISTO planes=luma mode=equalize ! "
        "fakesink",
        "I420" },
    /* Nothing is counted, so that any format will do. */
    { SOURCE "video/x-raw,format={RGB,I420} ! HISTO planes=luma "
             "post-messages=false ! fakesink",
        "RGB" },
  };

  check_settled (rows, G_N_ELEMENTS (rows));
}

static GstCaps *
current_caps (GstElement *element)
{
  GstPad *pad = gst_element_get_static_pad (element, "sink");
  GstCaps *caps = gst_pad_get_current_caps (pad);

  gst_object_unref (pad);
  return caps;
}

/* Whether frames of a format arrive within a time limit, which is long under a
 * sanitizer. */
static gboolean
wait_for_format (GstElement *element, const char *format)
{
  gboolean found = FALSE;

  for (int i = 0; i < 3000 && !found; i++) {
    GstCaps *caps = current_caps (element);

    found = caps != NULL
        && g_str_equal (gst_structure_get_string (
                            gst_caps_get_structure (caps, 0), "format"),
            format);
    gst_caps_replace (&caps, NULL);
    g_usleep (10000);
  }
  return found;
}

typedef struct
{
  const char *setting, *format;
} SettingStep;

/* Changes settings of a playing element: upstream negotiates another format, and frames
 * in flight cause no error. */
static void
check_settings_while_playing (
    const char *description, const SettingStep *steps, guint n)
{
  char *line = g_strdup_printf (
      "videotestsrc ! video/x-raw,format={RGB,I420},width=32,height=24 ! "
      "queue ! %s name=e backend=%s ! fakesink",
      description, test_backend ());
  GstElement *pipeline = gst_parse_launch (line, NULL), *element;
  GstBus *bus = gst_element_get_bus (pipeline);

  element = gst_bin_get_by_name (GST_BIN (pipeline), "e");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint s = 0; s < n; s++) {
    GstMessage *message;
    GError *error = NULL;
    char *debug = NULL;
    gboolean arrives;

    test_context ("%s, step %u: %s", line, s, steps[s].setting);
    settings_apply (element, steps[s].setting);
    arrives = wait_for_format (element, steps[s].format);
    g_usleep (20000);
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    if (message != NULL)
      message_parse (message, &error, &debug);
    expect (message == NULL, "%s (%s)", error->message, debug);
    expect (arrives, "no %s arrives", steps[s].format);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (element);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (line);
}

static void
negotiation_setting_while_playing (void)
{
  static const SettingStep filter[] = { { "planes=color", "RGB" },
    { "planes=luma", "I420" }, { "planes=color", "RGB" },
    { "planes=chroma", "I420" } };
  static const SettingStep histo[] = { { "planes=color", "RGB" },
    { "planes=luma ring-depth=6", "I420" },
    { "planes=color mode=equalize", "RGB" }, { "planes=chroma", "I420" },
    { "mode=analyze post-messages=false", "RGB" },
    { "attach-meta=true", "I420" } };

  check_settings_while_playing ("cudasepconv", filter, G_N_ELEMENTS (filter));
  check_settings_while_playing (
      "cudahisto interval=0", histo, G_N_ELEMENTS (histo));
}

/* The current caps stay accepted when settings come to refuse them, since upstream
 * queries them while it still sends such frames; but they are no longer offered. */
static void
negotiation_refused_by_setting (void)
{
  static const char *const elements[] = { "cudasepconv sigma=1",
    "cudahisto interval=0" };

  for (guint e = 0; e < G_N_ELEMENTS (elements); e++) {
    GstCaps *had = video_caps ("RGB", 32, 24, NULL),
            *larger = video_caps ("RGB", 64, 24, NULL),
            *other = video_caps ("I420", 32, 24, NULL), *got;
    GstVideoInfo info;
    Filter filter;
    GstPad *pad;

    test_context ("%s format=RGB, then planes=chroma", elements[e]);
    filter_start (&filter, elements[e], &info, "RGB", 32, 24, NULL);
    gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
    pad = filter.harness->srcpad;
    settings_apply (filter.element, "planes=chroma");
    got = gst_pad_peer_query_caps (pad, NULL);
    expect (!gst_caps_can_intersect (got, had), "RGB is offered");
    expect (gst_pad_peer_query_accept_caps (pad, had),
        "the caps of frames on the way are refused");
    expect (!gst_pad_peer_query_accept_caps (pad, larger), "64x24 is accepted");
    expect (gst_pad_peer_query_accept_caps (pad, other), "I420 is refused");
    expect (filter_caps (&filter, gst_caps_ref (had)),
        "the caps of frames on the way are refused when they are sent again");
    filter_expect_silence (&filter);
    gst_caps_unref (got);
    gst_caps_unref (had);
    gst_caps_unref (larger);
    gst_caps_unref (other);
    filter_close (&filter);
  }
}

/* Separate views or fields are refused before frames arrive, with a sentence; a neighbour
 * that has an alternative uses it. */
static void
negotiation_apart (void)
{
  static const struct
  {
    const char *wrong, *choice, *right;
  } rows[] = {
    { "views=(int)2, multiview-mode=(string)separated",
        "views=(int)2, multiview-mode=(string){separated,side-by-side}",
        "views=(int)2, multiview-mode=(string)side-by-side" },
    { "interlace-mode=(string)fields",
        "interlace-mode=(string){fields,interleaved}",
        "interlace-mode=(string)interleaved" },
  };
  static const char *const elements[] = { "cudasepconv sigma=1",
    "cudahisto interval=0" };

  for (guint r = 0; r < 2 * G_N_ELEMENTS (rows); r++) {
    const char *wrong = rows[r / 2].wrong;
    GstCaps *caps = video_caps ("NV12", 32, 24, wrong), *got, *want;
    Filter filter;

    test_context ("%s, format=NV12 %s", elements[r % 2], wrong);
    filter_open (&filter, elements[r % 2]);
    expect (!gst_pad_peer_query_accept_caps (filter.harness->srcpad, caps),
        "accepted");
    expect (!filter_caps (&filter, caps), "the event is accepted");
    filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
    filter_close (&filter);

    filter_open (&filter, elements[r % 2]);
    caps = video_caps ("NV12", 32, 24, rows[r / 2].choice);
    want = video_caps ("NV12", 32, 24, rows[r / 2].right);
    got = gst_pad_peer_query_caps (filter.harness->srcpad, caps);
    for (guint i = 0; i < gst_caps_get_size (got); i++)
      gst_caps_set_features (got, i, NULL);
    expect (gst_caps_is_equal (got, want),
        "of a choice, %" GST_PTR_FORMAT " is left", (gpointer) got);
    gst_caps_unref (got);
    gst_caps_unref (want);
    gst_caps_unref (caps);
    filter_close (&filter);
  }
}

const Test tests_negotiation[] = {
  { "negotiation-caps-go-through", negotiation_caps_go_through, VARIANT_BOTH },
  { "negotiation-changes", negotiation_changes, VARIANT_BOTH },
  { "negotiation-changes-without-waiting", negotiation_changes_without_waiting,
      VARIANT_BOTH },
  { "negotiation-same-caps-again", negotiation_same_caps_again, VARIANT_BOTH },
  { "negotiation-colorimetry-change", negotiation_colorimetry_change,
      VARIANT_BOTH },
  { "negotiation-features", negotiation_features, VARIANT_BOTH },
  { "negotiation-explicit-system-memory", negotiation_explicit_system_memory,
      VARIANT_BOTH },
  { "negotiation-unsupported-format", negotiation_unsupported_format,
      VARIANT_BOTH },
  { "negotiation-queries", negotiation_queries, VARIANT_BOTH },
  { "negotiation-downstream-refuses", negotiation_downstream_refuses,
      VARIANT_BOTH },
  { "negotiation-allocation", negotiation_allocation, VARIANT_BOTH },
  { "negotiation-neighbours", negotiation_neighbours, VARIANT_BOTH },
  { "negotiation-settings-restrict", negotiation_settings_restrict,
      VARIANT_BOTH },
  { "negotiation-refused-by-setting", negotiation_refused_by_setting,
      VARIANT_BOTH },
  { "negotiation-setting-while-playing", negotiation_setting_while_playing,
      VARIANT_BOTH },
  { "negotiation-apart", negotiation_apart, VARIANT_BOTH },
  { 0 },
};
