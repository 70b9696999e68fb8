/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stress as in deployments: many pipelines at once, files with seeks and stops at any time, caps
 * that change with every frame, thousands of starts and stops, a fork.
 *
 * Environment: STRESS_FACTOR (default 1) multiplies the length of each test. STRESS_SEED seeds the
 * random choices. tests/stress.sh sets both. */
#include "fault-fixture.h"
#include "picture-oracle.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static guint
number_from_environment (const char *name, guint otherwise)
{
  const char *text = g_getenv (name);

  return text != NULL ? (guint) atoi (text) : otherwise;
}

static guint
factor (void)
{
  return MAX (number_from_environment ("STRESS_FACTOR", 1), 1);
}

static guint32
seed (void)
{
  return number_from_environment ("STRESS_SEED", 20240817);
}

/* The line with each "BACKEND" replaced by the backend under test. */
static GstElement *
launch (const char *line)
{
  char **parts = g_strsplit (line, "BACKEND", -1);
  char *whole = g_strjoinv (test_backend (), parts);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (whole, &error);

  expect (pipeline != NULL && error == NULL, "%s: %s", whole,
      error != NULL ? error->message : "no pipeline");
  g_free (whole);
  g_strfreev (parts);
  return pipeline;
}

/* Waits for the next of these messages; ends the test on an error or a timeout. */
static void
await_message (GstElement *pipeline, GstMessageType type)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, test_patience (), type | GST_MESSAGE_ERROR);
  GError *error = NULL;
  char *debug = NULL;

  expect (message != NULL, "no %s", gst_message_type_get_name (type));
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, &debug);
  expect (error == NULL, "%s (%s)", error->message, debug);
  gst_message_unref (message);
  gst_object_unref (bus);
}

static void
stop (GstElement *pipeline)
{
  expect (gst_element_set_state (pipeline, GST_STATE_NULL)
          == GST_STATE_CHANGE_SUCCESS,
      "going to NULL failed");
}

static void
await_state (GstElement *pipeline, GstState state)
{
  gst_element_set_state (pipeline, state);
  expect (gst_element_get_state (pipeline, NULL, NULL, test_patience ())
          == GST_STATE_CHANGE_SUCCESS,
      "it does not go to %s", gst_element_state_get_name (state));
}

/* ---- many pipelines at once ----------------------------------------------- */

#define AT_ONCE 32
#define FRAMES_AT_ONCE 12

static void
stress_at_once (void)
{
  static const char *const lines[] = {
    "videotestsrc num-buffers=12 ! video/x-raw,format=NV12,width=160,height=120 ! "
    "cudasepconv backend=BACKEND sigma=2 ! fakesink name=sink",
    "videotestsrc num-buffers=12 ! video/x-raw,format=RGBA,width=99,height=55 ! "
    "cudasepconv backend=BACKEND kernel=sobel histogram=true ! fakesink name=sink",
    "videotestsrc num-buffers=12 ! video/x-raw,format=I420,width=64,height=48 ! "
    "cudahisto backend=BACKEND mode=equalize ! queue ! "
    "cudahisto backend=BACKEND mode=overlay ! fakesink name=sink",
    "videotestsrc num-buffers=12 ! video/x-raw,format=GRAY8,width=31,height=3 ! "
    "cudahisto backend=BACKEND interval=0 ! fakesink name=sink",
  };
  GstElement *pipelines[AT_ONCE];
  gint counts[AT_ONCE];

  for (guint round = 0; round < factor (); round++) {
    memset (counts, 0, sizeof counts);
    for (guint i = 0; i < AT_ONCE; i++) {
      pipelines[i] = launch (lines[i % G_N_ELEMENTS (lines)]);
      watch_sink (pipelines[i], "sink", count_buffer, &counts[i]);
    }
    for (guint i = 0; i < AT_ONCE; i++)
      gst_element_set_state (pipelines[i], GST_STATE_PLAYING);
    for (guint i = 0; i < AT_ONCE; i++) {
      test_context ("round %u, pipeline %u", round, i);
      await_message (pipelines[i], GST_MESSAGE_EOS);
      expect (g_atomic_int_get (&counts[i]) == FRAMES_AT_ONCE, "%d frames came",
          counts[i]);
    }
    for (guint i = 0; i < AT_ONCE; i++) {
      stop (pipelines[i]);
      gst_object_unref (pipelines[i]);
    }
  }
}

/* ---- a file --------------------------------------------------------------- */

#define FILE_FRAMES 60
#define FILE_STEPS 150

/* A clip in its own folder. */
typedef struct
{
  char *folder, *path;
} Clip;

/* FALSE: this machine lacks elements for it. */
static gboolean
write_clip (const char *path)
{
  char *line = g_strdup_printf (
      "videotestsrc num-buffers=%d ! video/x-raw,format=I420,width=96,height=64,"
      "framerate=30/1 ! jpegenc ! matroskamux ! filesink location=%s",
      FILE_FRAMES, path);
  GstElement *pipeline =
      gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, NULL);

  g_free (line);
  if (pipeline == NULL)
    return FALSE;
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  await_message (pipeline, GST_MESSAGE_EOS);
  stop (pipeline);
  gst_object_unref (pipeline);
  return TRUE;
}

/* FALSE: the clip cannot be made here, and the test is skipped. To be removed in any case. */
static gboolean
clip_make (Clip *clip)
{
  clip->folder = g_dir_make_tmp ("stress-XXXXXX", NULL);
  clip->path = g_build_filename (clip->folder, "clip.mkv", NULL);
  if (write_clip (clip->path))
    return TRUE;
  test_skip ("there is no jpegenc or matroskamux");
  return FALSE;
}

static void
clip_remove (Clip *clip)
{
  unlink (clip->path);
  rmdir (clip->folder);
  g_free (clip->path);
  g_free (clip->folder);
}

/* Links a new pad of the demuxer each time that it finds the stream; gst_parse_launch() does so
 * only once. */
static void
link_decoder (GstElement *demuxer, GstPad *from, gpointer user)
{
  GstPad *to = gst_element_get_static_pad (user, "sink");

  (void) demuxer;
  gst_pad_link (from, to);
  gst_object_unref (to);
}

static GstElement *
play_clip (const char *path)
{
  char *line = g_strdup_printf (
      "filesrc location=%s ! matroskademux name=demuxer jpegdec name=decoder ! "
      "cudasepconv name=filter backend=BACKEND sigma=1 ! queue ! "
      "cudahisto backend=BACKEND mode=equalize ! fakesink name=sink",
      path);
  GstElement *pipeline = launch (line);
  GstElement *demuxer = gst_bin_get_by_name (GST_BIN (pipeline), "demuxer");
  GstElement *decoder = gst_bin_get_by_name (GST_BIN (pipeline), "decoder");

  g_signal_connect_object (
      demuxer, "pad-added", G_CALLBACK (link_decoder), decoder, 0);
  gst_object_unref (decoder);
  gst_object_unref (demuxer);
  g_free (line);
  return pipeline;
}

static void
seek (GstElement *pipeline, GRand *random)
{
  const gint64 at = g_rand_int_range (random, 0, FILE_FRAMES) * GST_SECOND / 30;
  const gdouble rate = g_rand_int_range (random, 0, 4) == 0 ? 2.0 : 1.0;

  /* Refused if the file has not been opened yet. Without FLUSH a seek would wait in PAUSED for
   * ever. */
  gst_element_seek (pipeline, rate, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, at, GST_SEEK_TYPE_NONE, -1);
}

/* One of the operations of an application on a pipeline. */
static void
disturb (GstElement *pipeline, GRand *random)
{
  static const GstState states[] = { GST_STATE_PLAYING, GST_STATE_PLAYING,
    GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL };
  GstElement *filter = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  gint64 position;

  switch (g_rand_int_range (random, 0, 7)) {
    case 0:
    case 1:
      seek (pipeline, random);
      break;
    case 2: /* a burst of seeks */
      for (int i = 0; i < 10; i++)
        seek (pipeline, random);
      break;
    case 3:
      gst_element_query_position (pipeline, GST_FORMAT_TIME, &position);
      break;
    case 4:
      g_object_set (
          filter, "sigma", g_rand_double_range (random, 0.0, 4.0), NULL);
      break;
    case 5:
      gst_element_send_event (filter, gst_event_new_reconfigure ());
      break;
    default:
      expect (gst_element_set_state (pipeline,
                  states[g_rand_int_range (
                      random, 0, (gint32) G_N_ELEMENTS (states))])
              != GST_STATE_CHANGE_FAILURE,
          "a change of state failed");
  }
  g_usleep ((gulong) g_rand_int_range (random, 0, 4000));
  gst_object_unref (filter);
}

/* After all operations, the pipeline still plays the whole file. */
static void
expect_whole_file (GstElement *pipeline, gint *count)
{
  stop (pipeline);
  await_state (pipeline, GST_STATE_PAUSED);
  g_atomic_int_set (count, 0);
  expect (gst_element_seek_simple (
              pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0),
      "it does not seek");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  await_message (pipeline, GST_MESSAGE_EOS);
  /* The preroll frame may have come once more. */
  expect (*count == FILE_FRAMES || *count == FILE_FRAMES + 1, "%d frames came",
      *count);
}

static void
stress_file (void)
{
  GRand *random = g_rand_new_with_seed (seed ());
  gint count = 0;
  Clip clip;

  if (clip_make (&clip)) {
    GstElement *pipeline = play_clip (clip.path);

    watch_sink (pipeline, "sink", count_buffer, &count);
    for (guint step = 1; step <= FILE_STEPS * factor (); step++) {
      test_context ("seed %u step %u", seed (), step);
      disturb (pipeline, random);
      if (step % (FILE_STEPS / 3) == 0)
        expect_whole_file (pipeline, &count);
    }
    stop (pipeline);
    gst_object_unref (pipeline);
  }
  clip_remove (&clip);
  g_rand_free (random);
}

/* ---- a player ------------------------------------------------------------- */

#define PLAYER_SEEKS 30

/* A player with the elements as its video filter; NULL: there is no playbin, and the test is
 * skipped. */
static GstElement *
player_new (const char *path)
{
  GstElement *player = gst_element_factory_make ("playbin", NULL);
  GstElement *sink = gst_element_factory_make ("fakesink", "sink");
  char *line = g_strdup_printf ("cudasepconv name=filter backend=%s sigma=1 ! "
                                "cudahisto backend=%s mode=equalize",
      test_backend (), test_backend ());
  char *uri = gst_filename_to_uri (path, NULL);

  if (player == NULL) {
    test_skip ("there is no playbin");
    gst_object_unref (gst_object_ref_sink (sink));
  } else {
    gst_util_set_object_arg (G_OBJECT (player), "flags", "video");
    g_object_set (player, "uri", uri, "video-sink", sink, "video-filter",
        gst_parse_bin_from_description (line, TRUE, NULL), NULL);
  }
  g_free (uri);
  g_free (line);
  return player;
}

/* Expects the sink to show the frame of this time. The container rounds times to milliseconds. */
static void
expect_frame_of (GstElement *sink, GstClockTime at)
{
  GstSample *sample = NULL;
  GstBuffer *buffer;

  g_object_get (sink, "last-sample", &sample, NULL);
  expect (sample != NULL, "the sink shows nothing");
  buffer = gst_sample_get_buffer (sample);
  expect (GST_BUFFER_PTS (buffer) <= at + GST_MSECOND
          && GST_BUFFER_PTS (buffer) + GST_SECOND / 30 + GST_MSECOND >= at,
      "it shows the frame of %" GST_TIME_FORMAT " instead of %" GST_TIME_FORMAT,
      GST_TIME_ARGS (GST_BUFFER_PTS (buffer)), GST_TIME_ARGS (at));
  gst_sample_unref (sample);
}

static void
forget_messages (GstElement *player)
{
  GstBus *bus = gst_element_get_bus (player);

  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  gst_object_unref (bus);
}

/* In PAUSED: while playing, the sink would show more frames than the sought one. */
static void
seek_accurately (GstElement *player, GstClockTime at)
{
  await_state (player, GST_STATE_PAUSED);
  expect (gst_element_seek_simple (player, GST_FORMAT_TIME,
              GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, (gint64) at),
      "it does not seek");
  await_state (player, GST_STATE_PAUSED);
}

/* Each seek shows the frame of its time, wherever the player was; then the file plays to its
 * end. */
static void
seek_and_play (GstElement *player)
{
  GRand *random = g_rand_new_with_seed (seed ());
  GstElement *sink;
  gint count = 0;

  await_state (player, GST_STATE_PAUSED);
  sink = gst_bin_get_by_name (GST_BIN (player), "sink");
  for (guint i = 0; i < PLAYER_SEEKS * factor (); i++) {
    const GstClockTime at =
        (GstClockTime) g_rand_int_range (random, 0, FILE_FRAMES) * GST_SECOND
        / 30;

    test_context ("seed %u seek %u", seed (), i);
    seek_accurately (player, at);
    expect_frame_of (sink, at);
    if (i % 4 == 0) {
      gst_element_set_state (player, GST_STATE_PLAYING);
      g_usleep ((gulong) g_rand_int_range (random, 0, 4000));
    }
  }
  seek_accurately (player, 0);
  forget_messages (player); /* it may have reached its end before */
  watch_sink (player, "sink", count_buffer, &count);
  gst_element_set_state (player, GST_STATE_PLAYING);
  await_message (player, GST_MESSAGE_EOS);
  /* The first frame came in PAUSED. */
  expect (count == FILE_FRAMES - 1, "%d frames came", count);
  gst_object_unref (sink);
  g_rand_free (random);
}

static void
stress_playbin (void)
{
  Clip clip;

  if (clip_make (&clip)) {
    GstElement *player = player_new (clip.path);

    if (player != NULL) {
      seek_and_play (player);
      stop (player);
      gst_object_unref (player);
    }
  }
  clip_remove (&clip);
}

/* ---- caps ----------------------------------------------------------------- */

/* GStreamer's rows of UYVP are too short for widths of 3, 11, 19 and so on, and those of
 * NV12_10LE32 for 3, 9, 15. */
static int
width_with_room (const char *format, int width)
{
  if (g_str_equal (format, "UYVP"))
    return width + (width % 8 == 3);
  return width
      + (g_str_has_suffix (format, "_10LE32") && format[0] == 'N'
          && width % 6 == 3);
}

/* Each frame has its own caps: every format, sizes from 1x1 on; each result is correct. */
static void
check_changing_caps (const char *settings)
{
  GRand *random = g_rand_new_with_seed (seed ());
  Filter filter;
  guint32 frame = 0;

  filter_open (&filter, settings);
  for (guint round = 0; round < 3 * factor (); round++)
    for (guint f = 0; video_formats[f] != NULL; f++) {
      const int most = round == 0 ? 2 : 40;
      const int width = width_with_room (
          video_formats[f], g_rand_int_range (random, 1, most));
      const int height = g_rand_int_range (random, 1, most);
      GstVideoInfo info;

      test_context ("seed %u, %s, frame %u, %s %dx%d", seed (), settings, frame,
          video_formats[f], width, height);
      video_info (&info, video_formats[f], width, height, NULL);
      expect (filter_caps (
                  &filter, video_caps (video_formats[f], width, height, NULL)),
          "caps refused");
      picture_check_frame (&filter, &info, frame++, settings);
    }
  filter_expect_silence (&filter);
  filter_close (&filter);
  g_rand_free (random);
}

static void
stress_caps (void)
{
  check_changing_caps ("sigma=1.3");
  check_changing_caps ("kernel=box radius=4 border=reflect");
}

/* ---- sizes ---------------------------------------------------------------- */

#define WIDEST 16384
#define SAMPLES_LOOKED_AT 4000

static const double size_taps[] = { 0.125, 0.5, 0.25, 0.125 };

/* Filters a row along x at x; beyond its ends the end samples are repeated. */
static double
weighed_row (const guint8 *row, int width, int x)
{
  double sum = 0.0;

  for (int i = 0; i < (int) G_N_ELEMENTS (size_taps); i++)
    sum += size_taps[i] * row[CLAMP (x + i - 2, 0, width - 1)];
  return sum;
}

static void
expect_filtered_at (
    const guint8 *in, const guint8 *out, const GstVideoInfo *info, int x, int y)
{
  const int width = GST_VIDEO_INFO_WIDTH (info);
  const int height = GST_VIDEO_INFO_HEIGHT (info);
  const gsize stride = (gsize) GST_VIDEO_INFO_PLANE_STRIDE (info, 0);
  const int got = out[(gsize) y * stride + (gsize) x];
  double want = 0.0;

  for (int j = 0; j < (int) G_N_ELEMENTS (size_taps); j++)
    want += size_taps[j]
        * weighed_row (
            in + (gsize) CLAMP (y + j - 2, 0, height - 1) * stride, width, x);
  expect (ABS (got - want) < 0.75, "(%d,%d) is %d instead of %.3f", x, y, got,
      want);
}

/* One frame of GRAY8, checked at some samples and at the corners. */
static void
check_size (int width, int height)
{
  GRand *random = g_rand_new_with_seed (seed ());
  GstMapInfo from, to;
  GstBuffer *in, *out;
  GstVideoInfo info;
  Filter filter;

  test_context ("seed %u, %dx%d", seed (), width, height);
  filter_start (&filter, "kernel=custom taps-x=<0.125,0.5,0.25,0.125>", &info,
      "GRAY8", width, height, NULL);
  in = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
  gst_buffer_map (in, &from, GST_MAP_WRITE);
  for (gsize i = 0; i < from.size; i++)
    from.data[i] = (guint8) ((i * 2654435761u) >> 13);
  gst_buffer_unmap (in, &from);
  out = filter_process (&filter, gst_buffer_ref (in));
  gst_buffer_map (in, &from, GST_MAP_READ);
  gst_buffer_map (out, &to, GST_MAP_READ);
  for (int i = 0; i < SAMPLES_LOOKED_AT; i++)
    expect_filtered_at (from.data, to.data, &info,
        i < 4 ? i % 2 * (width - 1) : g_rand_int_range (random, 0, width),
        i < 4 ? i / 2 * (height - 1) : g_rand_int_range (random, 0, height));
  gst_buffer_unmap (out, &to);
  gst_buffer_unmap (in, &from);
  gst_buffer_unref (out);
  gst_buffer_unref (in);
  filter_close (&filter);
  g_rand_free (random);
}

/* The emulated GPU takes minutes for the largest one. */
static void
stress_sizes (void)
{
  check_size (1, 1);
  check_size (WIDEST, 1);
  check_size (1, WIDEST);
  check_size (WIDEST, 3);
  if (fault_points () == NULL)
    check_size (WIDEST, WIDEST);
}

/* ---- no growth ------------------------------------------------------------ */

/* Threads of GStreamer and GLib come and go, and each keeps some memory. */
#define HEAP_SLACK (256 * 1024)
/* A real driver keeps memory with each context. */
#define HEAP_SLACK_OF_DRIVER (8 * 1024 * 1024)
#define DESCRIPTORS_SLACK 8
#define THREADS_SLACK 4
/* Pools allocate more while more frames are in flight. */
#define ON_GPU_SLACK 24

typedef struct
{
  gsize heap; /* bytes in use */
  guint descriptors, threads;
  long on_gpu; /* allocations, streams and events of the emulated GPU; else 0 */
} Footprint;

static guint
count_entries (const char *path)
{
  GDir *folder = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (folder != NULL && g_dir_read_name (folder) != NULL)
    n++;
  g_clear_pointer (&folder, g_dir_close);
  return n;
}

/* Any thread may call it. */
static Footprint
footprint (void)
{
  const struct mallinfo2 heap = mallinfo2 ();
  const FaultPoints *points = fault_points ();
  Footprint now = { .heap = heap.uordblks + heap.hblkhd,
    .descriptors = count_entries ("/proc/self/fd"),
    .threads = count_entries ("/proc/self/task") };

  if (points != NULL) {
    EmulatedLive live;

    points->live (&live);
    now.on_gpu =
        live.device_memory + live.pinned_memory + live.streams + live.events;
  }
  return now;
}

static void
expect_no_growth (const Footprint *before, const Footprint *after)
{
  const gsize slack = test_on_cuda () && fault_points () == NULL
      ? HEAP_SLACK_OF_DRIVER
      : HEAP_SLACK;

  expect (before->descriptors > 0, "nothing was measured");
  expect (after->heap <= before->heap + slack,
      "%" G_GSIZE_FORMAT " bytes of the heap became %" G_GSIZE_FORMAT,
      before->heap, after->heap);
  expect (after->descriptors <= before->descriptors + DESCRIPTORS_SLACK,
      "%u open files became %u", before->descriptors, after->descriptors);
  expect (after->threads <= before->threads + THREADS_SLACK,
      "%u threads became %u", before->threads, after->threads);
  expect (after->on_gpu <= before->on_gpu + ON_GPU_SLACK,
      "%ld things on the GPU became %ld", before->on_gpu, after->on_gpu);
}

#define CYCLES 1000

/* From NULL to PLAYING, with a few frames or none, and back to NULL. */
static void
stress_cycles (void)
{
  const guint cycles = (test_on_cuda () ? CYCLES / 10 : CYCLES) * factor ();
  const guint first = cycles / 5;
  GstElement *pipeline = launch (
      "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=32,height=18 ! "
      "cudasepconv backend=BACKEND sigma=1 ! "
      "cudahisto backend=BACKEND interval=0 post-messages=false ! fakesink");
  Footprint before = { 0 }, after;

  for (guint i = 0; i < cycles; i++) {
    test_context ("cycle %u of %u", i, cycles);
    if (i == first)
      before = footprint ();
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    if (i % 4 != 0)
      await_message (pipeline, GST_MESSAGE_EOS);
    stop (pipeline);
  }
  after = footprint ();
  expect_no_growth (&before, &after);
  gst_object_unref (pipeline);
}

#define MANY_FRAMES 4000

typedef struct
{
  guint frames, first, last; /* frames so far; first and last that count */
  Footprint before, after;
} Watch;

static GstPadProbeReturn
measure (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  Watch *watch = user;

  (void) pad;
  (void) probe;
  watch->frames++;
  if (watch->frames == watch->first)
    watch->before = footprint ();
  if (watch->frames == watch->last)
    watch->after = footprint ();
  return GST_PAD_PROBE_OK;
}

/* Drops messages, which would pile up on the bus. */
static void
stress_frames (void)
{
  const guint frames =
      (test_on_cuda () ? MANY_FRAMES / 20 : MANY_FRAMES) * factor ();
  Watch watch = { .first = frames / 4, .last = frames - 10 };
  char *line = g_strdup_printf (
      "videotestsrc num-buffers=%u ! video/x-raw,format=NV12,width=32,height=18 ! "
      "cudasepconv backend=BACKEND sigma=1 histogram=true histogram-meta=true "
      "histogram-messages=false ! cudahisto backend=BACKEND mode=equalize "
      "attach-meta=true post-messages=false ! fakesink name=sink",
      frames);
  GstElement *pipeline = launch (line);

  test_context ("%u frames", frames);
  watch_sink (pipeline, "sink", measure, &watch);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  await_message (pipeline, GST_MESSAGE_EOS);
  stop (pipeline);
  expect (watch.frames == frames, "%u frames came", watch.frames);
  expect_no_growth (&watch.before, &watch.after);
  gst_object_unref (pipeline);
  g_free (line);
}

/* ---- after a fork --------------------------------------------------------- */

/* Exit statuses of the child. */
enum
{
  CHILD_REFUSES = 0,
  CHILD_STARTS = 1,
  CHILD_IS_UNCLEAR = 2,
};

/* Starts a filter on the GPU, in a forked process. */
static int
start_in_child (void)
{
  GstElement *element = gst_element_factory_make ("cudasepconv", NULL);
  GstBus *bus = gst_bus_new ();
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_bus (element, bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
  if (gst_element_set_state (element, GST_STATE_PAUSED)
      != GST_STATE_CHANGE_FAILURE)
    return CHILD_STARTS;
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  if (message == NULL)
    return CHILD_IS_UNCLEAR;
  gst_message_parse_error (message, &error, NULL);
  return strstr (error->message, "forked") != NULL ? CHILD_REFUSES
                                                   : CHILD_IS_UNCLEAR;
}

/* CUDA does not survive a fork. The child gets an error with a sentence at once, and the parent
 * continues. */
static void
stress_fork (void)
{
  GstVideoInfo info;
  Filter filter;
  pid_t child;
  int status;

  filter_start (&filter, "sigma=1", &info, "NV12", 34, 18, NULL);
  picture_check_frame (&filter, &info, 1, "sigma=1");
  child = fork ();
  expect (child >= 0, "no child");
  if (child == 0) {
    alarm (20);
    _exit (start_in_child ());
  }
  expect (waitpid (child, &status, 0) == child && WIFEXITED (status),
      "the child hangs or crashes");
  expect (WEXITSTATUS (status) == CHILD_REFUSES, "the child %s",
      WEXITSTATUS (status) == CHILD_STARTS ? "uses the GPU"
                                           : "has no clear error");
  picture_check_frame (&filter, &info, 2, "sigma=1");
  filter_expect_silence (&filter);
  filter_close (&filter);
}

const Test tests_stress[] = {
  { "stress-at-once", stress_at_once, VARIANT_BOTH },
  { "stress-file", stress_file, VARIANT_BOTH },
  { "stress-playbin", stress_playbin, VARIANT_BOTH },
  { "stress-caps", stress_caps, VARIANT_BOTH },
  { "stress-sizes", stress_sizes, VARIANT_BOTH },
  { "stress-cycles", stress_cycles, VARIANT_BOTH },
  { "stress-frames", stress_frames, VARIANT_BOTH },
  { "stress-fork", stress_fork, VARIANT_CUDA },
  { 0 },
};
