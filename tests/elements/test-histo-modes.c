/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto's modes: the reports of each mode, their rate, and frames in flight when
 * the mode changes. */
#include "flight-fixture.h"
#include "histo-oracle.h"

/* The frame that a message of this mode is about. */
static GstBuffer *
told_of (const char *mode, GstBuffer *in, GstBuffer *out)
{
  return g_str_equal (mode, "equalize") ? out : in;
}

/* Expects frames to pass untouched or to be changed, depending on the mode. */
static void
expect_use (
    const char *mode, GstBuffer *in, GstBuffer *out, const GstVideoInfo *info)
{
  char *problem;

  if (g_str_equal (mode, "analyze")) {
    expect (in == out, "another buffer comes out");
    return;
  }
  expect (gst_buffer_peek_memory (in, 0) != gst_buffer_peek_memory (out, 0),
      "the frame was changed where it lay");
  problem = picture_compare (in, out, info, "planes=", FALSE);
  expect (problem != NULL, "mode=%s changes nothing", mode);
  g_free (problem);
}

static void
set_mode (Filter *filter, const char *mode)
{
  gst_util_set_object_arg (G_OBJECT (filter->element), "mode", mode);
}

static const char *const modes[] = { "analyze", "equalize", "overlay" };

/* ---- what is told -------------------------------------------------------- */

/* Message and meta have the same contents, for the same frame. */
static void
histo_modes_messages (void)
{
  static const char *const settings[] = { "", "bins=16 planes=all", "bins=5000",
    "equalizer=clahe overlay-scale=log threshold-dark=0.3" };

  for (guint m = 0; m < G_N_ELEMENTS (modes); m++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
      for (int f = 0; video_formats[f]; f++) {
        char *all = g_strdup_printf (
            "cudahisto interval=0 mode=%s %s", modes[m], settings[s]);
        const gboolean of_result = g_str_equal (modes[m], "equalize");
        GstBuffer *in, *out, *told;
        char *problem = NULL;
        GstMessage *message;
        GstVideoInfo info;
        Filter filter;

        filter_start (&filter, all, &info, video_formats[f], 122, 61, NULL);
        in = picture_new (&info, 2 * s + 1);
        out = filter_process (&filter, gst_buffer_ref (in));
        told = told_of (modes[m], in, out);
        expect_use (modes[m], in, out, &info);
        message = histo_message (&filter);
        if (!of_result || !picture_is_rounded (&info))
          problem =
              histo_compare_statistics (message, told, &info, settings[s]);
        expect (problem == NULL, "%s", problem);
        (of_result ? histo_expect_result : histo_expect) (
            message, told, &info, settings[s]);
        histo_expect_silence (&filter);
        gst_buffer_unref (in);
        gst_buffer_unref (out);
        filter_close (&filter);
        g_free (all);
      }
}

static void
histo_modes_metas (void)
{
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    char *settings = g_strdup_printf (
        "cudahisto interval=0 attach-meta=true post-messages=false mode=%s",
        modes[m]);
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings, &info, "NV12", 122, 61, NULL);
    for (guint32 n = 1; n < 6; n++) {
      GstBuffer *in = picture_new (&info, n);
      GstBuffer *out = filter_process (&filter, gst_buffer_ref (in));
      GstCudaHistogramMeta *meta = gst_buffer_get_cuda_histogram_meta (out);
      char *problem;

      expect (meta != NULL, "no meta");
      expect (gst_buffer_get_cuda_histogram_meta (in) == NULL,
          "a meta on a buffer of upstream");
      problem =
          histo_compare_meta (meta, told_of (modes[m], in, out), &info, "");
      expect (problem == NULL, "%s", problem);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    histo_expect_silence (&filter);
    filter_close (&filter);
    g_free (settings);
  }
}

/* Frames are processed even if nothing is reported. */
static void
histo_modes_silent (void)
{
  for (guint m = 1; m < G_N_ELEMENTS (modes); m++) {
    char *settings =
        g_strdup_printf ("cudahisto post-messages=false mode=%s", modes[m]);
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings, &info, "NV12", 122, 61, NULL);
    for (guint32 n = 1; n < 6; n++) {
      GstBuffer *in = picture_new (&info, n);
      GstBuffer *out = filter_process (&filter, gst_buffer_ref (in));

      expect_use (modes[m], in, out, &info);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    histo_expect_silence (&filter);
    filter_close (&filter);
    g_free (settings);
  }
}

/* The interval selects the frames that are reported; all are processed. */
static void
histo_modes_interval (void)
{
  for (guint m = 1; m < G_N_ELEMENTS (modes); m++) {
    char *settings = g_strdup_printf (
        "cudahisto interval=100000000 attach-meta=true mode=%s", modes[m]);
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings, &info, "NV12", 122, 61, NULL);
    for (guint32 n = 0; n < 30; n++) {
      GstBuffer *in = picture_new (&info, n), *out;

      GST_BUFFER_PTS (in) = n * GST_SECOND / 30;
      out = filter_process (&filter, gst_buffer_ref (in));
      test_context ("%s frame %u", settings, n);
      expect_use (modes[m], in, out, &info);
      expect (
          (gst_buffer_get_cuda_histogram_meta (out) != NULL) == (n % 3 == 0),
          "a meta, or none");
      if (n % 3 == 0)
        histo_expect (
            histo_message (&filter), told_of (modes[m], in, out), &info, "");
      histo_expect_silence (&filter);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    filter_close (&filter);
    g_free (settings);
  }
}

/* All frames are uploaded and downloaded, whether reported or not. */
static void
histo_modes_stats (void)
{
  for (guint m = 1; m < G_N_ELEMENTS (modes); m++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=3600000000000 mode=%s", modes[m]);
    Flight *flight = flight_open (settings, "NV12", 64, 48, NULL);
    const guint64 size = test_on_cuda () ? 30 * flight->info.size : 0;
    const char *const ways[] = { "bytes-up", "bytes-down" };

    for (guint64 n = 0; n < 30; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n < 30; n++)
      gst_buffer_unref (flight_pull (flight));
    flight_send (flight, gst_event_new_eos ());
    test_context ("%s", settings);
    expect (flight_count (flight, "frames-in") == 30
            && flight_count (flight, "frames-out") == 30,
        "not all frames went through");
    for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
      expect (flight_count (flight, ways[w]) >= size
              && flight_count (flight, ways[w]) <= 2 * size,
          "%s is %" G_GUINT64_FORMAT, ways[w], flight_count (flight, ways[w]));
    flight_close (flight);
    g_free (settings);
  }
}

/* Only the flag GAP is removed, since the frame has contents. */
static void
histo_modes_flags (void)
{
  for (guint m = 1; m < G_N_ELEMENTS (modes); m++) {
    char *settings = g_strdup_printf ("cudahisto mode=%s", modes[m]);
    GstVideoInfo info;
    GstBuffer *in, *out;
    Filter filter;

    filter_start (&filter, settings, &info, "NV12", 64, 48, NULL);
    in = picture_new (&info, 1);
    GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_GAP);
    GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_MARKER);
    GST_BUFFER_FLAG_SET (in, GST_VIDEO_BUFFER_FLAG_TFF);
    out = filter_process (&filter, in);
    expect (!GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_GAP),
        "the frame is still a gap");
    expect (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_MARKER)
            && GST_BUFFER_FLAG_IS_SET (out, GST_VIDEO_BUFFER_FLAG_TFF),
        "flags are lost");
    gst_buffer_unref (out);
    filter_close (&filter);
    g_free (settings);
  }
}

/* A seek restarts running time: the first frame is reported at once. */
static void
histo_modes_interval_after_seek (void)
{
  for (guint m = 1; m < G_N_ELEMENTS (modes); m++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=1000000000 mode=%s", modes[m]);
    Flight *flight = flight_open (settings, "NV12", 122, 61, NULL);

    test_context ("%s", settings);
    for (guint64 n = 0; n < 20; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n < 20; n++)
      gst_buffer_unref (flight_pull (flight));
    expect (filter_drain_bus (&flight->filter, GST_MESSAGE_ELEMENT, NULL) == 1,
        "not one message a second");
    flight_flush (flight);
    for (guint64 n = 0; n < 20; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n < 20; n++)
      gst_buffer_unref (flight_pull (flight));
    expect (filter_drain_bus (&flight->filter, GST_MESSAGE_ELEMENT, NULL) == 1,
        "after the seek no frame was told of, or more than one");
    flight_close (flight);
    g_free (settings);
  }
}

/* A low-contrast grey picture, which equalization changes. */
static GstBuffer *
pale (const GstVideoInfo *info)
{
  GstBuffer *picture = picture_new (info, 1);
  gsize n;
  guint16 *codes = picture_samples (picture, info, 0, &n);

  for (gsize i = 0; i < n; i++)
    codes[i] = 200 + codes[i] / 16;
  picture_put_samples (picture, info, 0, codes);
  g_free (codes);
  return picture;
}

/* The scene continues: original frames are not compared with equalized ones, and no
 * alarm is raised. */
static void
histo_modes_scene (void)
{
  GstVideoInfo info;
  GstBuffer *in;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0", &info, "GRAY8", 122, 61, NULL);
  in = pale (&info);
  for (guint n = 0; n < 12; n++) {
    GstMessage *message;

    set_mode (&filter, modes[n / 2 % G_N_ELEMENTS (modes)]);
    gst_buffer_unref (filter_process (&filter, gst_buffer_ref (in)));
    message = histo_message (&filter);
    test_context ("frame %u mode=%s", n, modes[n / 2 % G_N_ELEMENTS (modes)]);
    expect (!histo_flag (message, "scene-change"), "a scene change");
    expect (
        histo_number (gst_message_get_structure (message), "distance") == 0.0,
        "a distance of %g",
        histo_number (gst_message_get_structure (message), "distance"));
    gst_message_unref (message);
  }
  gst_buffer_unref (in);
  filter_close (&filter);
}

/* An interval is reported once, even if several modes share it. */
static void
histo_modes_interval_across (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "cudahisto interval=1000000000", &info, "NV12", 122, 61, NULL);
  for (guint32 n = 0; n < 24; n++) {
    GstBuffer *in = picture_new (&info, n);

    GST_BUFFER_PTS (in) = n * GST_SECOND / 8;
    set_mode (&filter, modes[n % G_N_ELEMENTS (modes)]);
    gst_buffer_unref (filter_process (&filter, in));
    test_context ("frame %u mode=%s", n, modes[n % G_N_ELEMENTS (modes)]);
    if (n % 8 == 0)
      gst_message_unref (histo_message (&filter));
    histo_expect_silence (&filter);
  }
  filter_close (&filter);
}

/* ---- frames in flight ---------------------------------------------------- */

#define A_MODE 5 /* frames */
#define N_FRAMES (18 * A_MODE)

static const char *
mode_of (guint n)
{
  /* Each mode after each other mode. */
  static const guint order[] = { 0, 1, 2, 0, 2, 1 };

  return modes[order[n / A_MODE % G_N_ELEMENTS (order)]];
}

static void
expect_message (
    Flight *flight, guint64 number, const char *mode, GstBuffer *picture)
{
  GstMessage *message = histo_message (&flight->filter);

  test_context ("frame %" G_GUINT64_FORMAT " mode=%s", number, mode);
  expect (histo_time (message, "timestamp") == number * GST_SECOND / 30,
      "a message of another frame");
  histo_expect (message, picture, &flight->info, "");
}

static void
check_switching (guint depth, const char *format)
{
  char *settings =
      g_strdup_printf ("cudahisto interval=0 smoothing=0 ring-depth=%u", depth);
  Flight *flight = flight_open (settings, format, 122, 61, NULL);
  GstBuffer *in[N_FRAMES], *out[N_FRAMES];

  flight_set_jitter (flight, 300, depth);
  for (guint n = 0; n < N_FRAMES; n++) {
    in[n] = flight_frame (flight, n);
    set_mode (&flight->filter, mode_of (n));
    expect (gst_harness_push (flight->filter.harness, gst_buffer_ref (in[n]))
            == GST_FLOW_OK,
        "not taken");
  }
  for (guint n = 0; n < N_FRAMES; n++) {
    out[n] = flight_pull (flight);
    test_context ("ring-depth=%u frame %u mode=%s", depth, n, mode_of (n));
    expect (GST_BUFFER_OFFSET (out[n]) == n
            && GST_BUFFER_PTS (out[n]) == n * GST_SECOND / 30,
        "frame %" G_GUINT64_FORMAT " instead", GST_BUFFER_OFFSET (out[n]));
    expect_use (mode_of (n), in[n], out[n], &flight->info);
  }
  for (guint n = 0; n < N_FRAMES; n++)
    expect_message (
        flight, n, mode_of (n), told_of (mode_of (n), in[n], out[n]));
  histo_expect_silence (&flight->filter);
  for (guint n = 0; n < N_FRAMES; n++) {
    gst_buffer_unref (in[n]);
    gst_buffer_unref (out[n]);
  }
  flight_close (flight);
  g_free (settings);
}

/* No frame is lost or reported twice, and each is of one mode. */
static void
histo_modes_switching (void)
{
  for (guint depth = 1; depth <= 8; depth++) {
    check_switching (depth, "NV12");
    check_switching (depth, "RGB");
  }
}

/* Settings that a plan can follow, with frames in flight: the result is the same as for
 * frames that come alone. */
static void
histo_modes_settings_in_flight (void)
{
  static const char *const settings[] = { "strength=0.5", "clip-limit=9",
    "overlay-position=top", "strength=1 overlay-opacity=1",
    "overlay-width=0.6 clip-limit=1", "threshold-dark=0.5" };
  static const char *const starts[] = {
    "cudahisto mode=equalize equalizer=clahe interval=0 ",
    "cudahisto mode=overlay interval=0 "
  };

  for (guint t = 0; t < G_N_ELEMENTS (starts); t++) {
    Flight *together = flight_open (starts[t], "NV12", 122, 61, NULL);
    Flight *alone = flight_open (starts[t], "NV12", 122, 61, NULL);
    GstBuffer *out[30];

    flight_set_jitter (together, 300, 1);
    for (guint n = 0; n < 30; n++) {
      const char *change = settings[n % G_N_ELEMENTS (settings)];

      settings_apply (together->filter.element, change);
      settings_apply (alone->filter.element, change);
      flight_push (together, n);
      flight_push (alone, n);
      out[n] = flight_pull (alone);
    }
    for (guint n = 0; n < 30; n++) {
      GstBuffer *same = flight_pull (together);

      test_context ("%s frame %u", starts[t], n);
      picture_expect_same (out[n], same, &alone->info);
      gst_buffer_unref (same);
      gst_buffer_unref (out[n]);
    }
    flight_close (together);
    flight_close (alone);
  }
}

typedef struct
{
  GstElement *element;
  gint stop;
} Switcher;

static gpointer
switch_modes (gpointer user)
{
  Switcher *switcher = user;

  for (guint n = 0; !g_atomic_int_get (&switcher->stop); n++)
    gst_util_set_object_arg (
        G_OBJECT (switcher->element), "mode", modes[n % G_N_ELEMENTS (modes)]);
  return NULL;
}

/* The results of new filters for a picture, by mode. */
static void
process_alone (GstBuffer *in, const GstVideoInfo *info, GstBuffer *out[3])
{
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    char *settings = g_strdup_printf ("cudahisto interval=0 mode=%s", modes[m]);

    out[m] = filter_process_alone (settings, info, in);
    g_free (settings);
  }
}

/* Returns a description of the difference between a frame and its message and those of
 * this mode, or NULL. */
static char *
compare_any (GstBuffer *out, GstMessage *message, GstBuffer *in,
    GstBuffer *const alone[3], const GstVideoInfo *info)
{
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    char *problem = picture_compare (alone[m], out, info, "planes=", FALSE);
    const gboolean same = problem == NULL;

    g_free (problem);
    if (same)
      return histo_compare (
          message, told_of (modes[m], in, alone[m]), info, "");
  }
  return g_strdup ("the frame is that of no mode");
}

/* Pushes a picture again and again, until a result is wrong. */
static char *
push_many (Flight *flight, GstBuffer *in, GstBuffer *const alone[3])
{
  char *problem = NULL;

  for (guint n = 0; n < 1000 && problem == NULL; n++) {
    const GstFlowReturn flow =
        gst_harness_push (flight->filter.harness, gst_buffer_copy (in));
    GstMessage *message;
    GstBuffer *out;

    if (flow != GST_FLOW_OK)
      return g_strdup_printf (
          "pushing frame %u gave %s", n, gst_flow_get_name (flow));
    out = flight_pull (flight);
    message = gst_bus_pop_filtered (flight->filter.bus, GST_MESSAGE_ELEMENT);
    problem = message == NULL
        ? g_strdup ("no message")
        : compare_any (out, message, in, alone, &flight->info);
    g_clear_pointer (&message, gst_message_unref);
    gst_buffer_unref (out);
  }
  return problem;
}

/* A mode that changes at any moment, even while a frame is being prepared: each frame
 * is of one mode, which its message reports. */
static void
check_any_moment (const char *settings)
{
  Flight *flight = flight_open (settings, "GRAY8", 40, 30, NULL);
  Switcher switcher = { .element = flight->filter.element };
  GstBuffer *in = flight_frame (flight, 1), *alone[3];
  char *problem;
  Task *task;

  process_alone (in, &flight->info, alone);
  test_context ("%s", settings);
  task = task_start (switch_modes, &switcher);
  problem = push_many (flight, in, alone);
  g_atomic_int_set (&switcher.stop, TRUE);
  task_end (task, "switching modes");
  filter_expect_silence (&flight->filter);
  expect (problem == NULL, "%s", problem);
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++)
    gst_buffer_unref (alone[m]);
  gst_buffer_unref (in);
  flight_close (flight);
}

static void
histo_modes_at_any_moment (void)
{
  check_any_moment ("cudahisto interval=0 smoothing=0 ring-depth=1");
  check_any_moment ("cudahisto interval=0 smoothing=0 ring-depth=4");
}

/* EOS comes after all frames, and a flush drops those in flight. */
static void
histo_modes_events (void)
{
  for (guint m = 1; m < G_N_ELEMENTS (modes); m++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=0 ring-depth=4 mode=%s", modes[m]);
    Flight *flight = flight_open (settings, "NV12", 122, 61, NULL);

    test_context ("%s", settings);
    flight_set_jitter (flight, 500, 1);
    for (guint64 n = 0; n < 4; n++)
      flight_push (flight, n);
    flight_hold (flight);
    flight_flush (flight);
    flight_let_go (flight);
    flight_clear_log (flight);
    for (guint64 n = 10; n < 14; n++)
      flight_push (flight, n);
    flight_send (flight, gst_event_new_eos ());
    flight_expect_log (flight, "10 11 12 13 eos");
    flight_close (flight);
    g_free (settings);
  }
}

const Test tests_histo_modes[] = {
  { "histo-modes-messages", histo_modes_messages, VARIANT_BOTH },
  { "histo-modes-metas", histo_modes_metas, VARIANT_BOTH },
  { "histo-modes-silent", histo_modes_silent, VARIANT_BOTH },
  { "histo-modes-interval", histo_modes_interval, VARIANT_BOTH },
  { "histo-modes-interval-across", histo_modes_interval_across, VARIANT_BOTH },
  { "histo-modes-interval-after-seek", histo_modes_interval_after_seek,
      VARIANT_BOTH },
  { "histo-modes-stats", histo_modes_stats, VARIANT_BOTH },
  { "histo-modes-flags", histo_modes_flags, VARIANT_BOTH },
  { "histo-modes-scene", histo_modes_scene, VARIANT_BOTH },
  { "histo-modes-switching", histo_modes_switching, VARIANT_BOTH },
  { "histo-modes-settings-in-flight", histo_modes_settings_in_flight,
      VARIANT_BOTH },
  { "histo-modes-at-any-moment", histo_modes_at_any_moment, VARIANT_BOTH },
  { "histo-modes-events", histo_modes_events, VARIANT_BOTH },
  { 0 },
};
