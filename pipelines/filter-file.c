/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters a video file into another one: decode, filter, encode.
 *
 *   filter-file [--filter DESCRIPTION] [--picture FILE.png] [--force] INPUT OUTPUT
 *
 * A complete application around cudasepconv: it links a parser and a decoder whose
 * pads come late, passes sound and subtitles on, follows the bus, counts frames with
 * pad probes, takes one frame from before and after the filter for the picture, and
 * asks the element for the backend it used. Exit status:
 *
 *   0    OUTPUT is complete
 *   1    it failed: one sentence on stderr, and OUTPUT is as it was before
 *   130  Ctrl-C ended it: one sentence on stderr. OUTPUT is a playable file of the
 *        frames up to then; one that --force was to replace is as it was before */

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "before-after.h"
#include "input-streams.h"
#include "mp4-tracks.h"
#include "result-file.h"

#define TERMINAL_INTERVAL_MS 200
#define LOG_INTERVAL_MS 10000
#define STATUS_INTERRUPTED 130 /* as shells report SIGINT */

#define X264 \
  "videoconvert ! video/x-raw,format=I420 ! videocrop name=even" \
  " ! x264enc speed-preset=veryfast pass=qual quantizer=21 ! h264parse"
#define OPENH264 \
  "videoconvert ! video/x-raw,format=I420 ! videocrop name=even" \
  " ! openh264enc rate-control=quality ! h264parse"
#define VP8 \
  "videoconvert ! video/x-raw,format=I420" \
  " ! vp8enc deadline=1 cpu-used=4 end-usage=cq cq-level=20" \
  " target-bitrate=20000000 threads=4"

/* Ways to write the filtered frames, best first. Where "even" crops, the
 * encoder wants whole 2x2 blocks of pixels. "muxer" takes the other streams. */
static const struct encoding
{
  const gchar *suffix;
  const gchar *element;
  const gchar *description;
} encodings[] = {
  { ".mp4", "x264enc", X264 " ! mp4mux name=muxer" },
  { ".mp4", "openh264enc", OPENH264 " ! mp4mux name=muxer" },
  { ".webm", "vp8enc", VP8 " ! webmmux name=muxer" },
  { ".mkv", "x264enc", X264 " ! matroskamux name=muxer" },
  { ".mkv", "openh264enc", OPENH264 " ! matroskamux name=muxer" },
  { ".mkv", "vp8enc", VP8 " ! matroskamux name=muxer" },
  { ".raw", "identity", "identity" },
};

struct app
{
  GMainLoop *loop;
  GstElement *pipeline;
  GstElement *head; /* takes the decoded video */
  GstElement *filter;
  GstElement *encoder;
  const gchar *input;
  const gchar *output;
  gchar *missing; /* name of the format whose plugin is missing */
  gboolean terminal;
  gboolean interrupted;
  gboolean failed;

  gint begun; /* data flows; atomic */
  /* The parser's thread writes these before that, the main thread reads
   * them after the last frame. */
  struct input_streams streams;

  /* Protects what follows: the filter's two sides may run on two threads, and
   * the main thread shows progress. */
  GMutex lock;
  guint64 frames_in, frames_out;
  gint64 started, ended; /* monotonic, microseconds */
  GstClockTime first_pts, last_pts;
  GstClockTime stamped;      /* time of the newest frame that went in */
  GstSample *candidate;      /* went in, has not come out */
  GstSample *before, *after; /* the same frame */
};

static void fail (struct app *app, const gchar *format, ...)
    G_GNUC_PRINTF (2, 3);

/* Only the first failure is reported: those after it follow from it. */
static void
fail (struct app *app, const gchar *format, ...)
{
  if (!app->failed) {
    va_list args;
    gchar *text;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    g_printerr ("%sfilter-file: %s\n", app->terminal ? "\r\033[K" : "", text);
    g_free (text);
  }
  app->failed = TRUE;
  if (app->loop)
    g_main_loop_quit (app->loop);
}

/* The encoding for a file name; a name with no known suffix takes the first
 * encoding that is installed. NULL if none is. */
static const struct encoding *
choose_encoding (const gchar *name, gboolean *known)
{
  *known = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (encodings); i++)
    *known |= g_str_has_suffix (name, encodings[i].suffix);

  for (gsize i = 0; i < G_N_ELEMENTS (encodings); i++) {
    GstElementFactory *factory =
        gst_element_factory_find (encodings[i].element);

    if (!factory)
      continue;
    gst_object_unref (factory);
    if (!*known || g_str_has_suffix (name, encodings[i].suffix))
      return &encodings[i];
  }
  return NULL;
}

static GstSample *
copy_frame (GstPad *pad, GstBuffer *buffer)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstBuffer *copy = gst_buffer_copy_deep (buffer);
  GstSample *sample = gst_sample_new (copy, caps, NULL, NULL);

  gst_buffer_unref (copy);
  gst_clear_caps (&caps);
  return sample;
}

/* Encoders and muxers want times that rise; some decoders leave the last frames
 * of a file with none or with the one before's. Such a frame follows that one. */
static GstBuffer *
stamp_frame (struct app *app, GstBuffer *buffer)
{
  GstClockTime pts = GST_BUFFER_PTS (buffer);
  GstClockTime step =
      GST_BUFFER_DURATION_IS_VALID (buffer) && GST_BUFFER_DURATION (buffer) > 0
      ? GST_BUFFER_DURATION (buffer)
      : GST_MSECOND;

  if (!GST_CLOCK_TIME_IS_VALID (pts)
      || (app->frames_in > 0 && pts <= app->stamped)) {
    buffer = gst_buffer_make_writable (buffer);
    pts = app->frames_in > 0 ? app->stamped + step : 0;
    GST_BUFFER_PTS (buffer) = pts;
  }
  app->stamped = pts;
  return buffer;
}

/* The picture shows the newest frame whose number is a power of two: from the
 * second half of a clip of any length, known or not, for a handful of copies. */
static GstPadProbeReturn
on_frame_in (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct app *app = data;
  GstBuffer *buffer;
  guint64 number;

  g_mutex_lock (&app->lock);
  buffer = stamp_frame (app, GST_PAD_PROBE_INFO_BUFFER (info));
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  number = ++app->frames_in;
  if (number == 1)
    app->started = g_get_monotonic_time ();
  if ((number & (number - 1)) == 0) {
    g_clear_pointer (&app->candidate, gst_sample_unref);
    app->candidate = copy_frame (pad, buffer);
  }
  g_mutex_unlock (&app->lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
on_frame_out (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct app *app = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GstClockTime pts = GST_BUFFER_PTS (buffer);

  g_mutex_lock (&app->lock);
  if (app->frames_out++ == 0)
    app->first_pts = pts;
  app->last_pts = pts;
  app->ended = g_get_monotonic_time ();
  if (app->candidate
      && GST_BUFFER_PTS (gst_sample_get_buffer (app->candidate)) == pts) {
    g_clear_pointer (&app->before, gst_sample_unref);
    g_clear_pointer (&app->after, gst_sample_unref);
    app->before = g_steal_pointer (&app->candidate);
    app->after = copy_frame (pad, buffer);
  }
  g_mutex_unlock (&app->lock);
  return GST_PAD_PROBE_OK;
}

/* Frames of 4:2:0 H.264 have even sizes: an odd one loses a column or row. */
static void
crop_to_even (struct app *app, GstCaps *caps)
{
  GstElement *crop = gst_bin_get_by_name (GST_BIN (app->encoder), "even");
  GstVideoInfo video;

  if (crop && gst_caps_is_fixed (caps)
      && gst_video_info_from_caps (&video, caps))
    g_object_set (
        crop, "right", video.width & 1, "bottom", video.height & 1, NULL);
  gst_clear_object (&crop);
}

/* One sentence for each kind of stream that OUTPUT will not have. */
static void
warn_of_losses (const struct app *app)
{
  const guint tracks = mp4_count_sound_tracks (app->input);

  if (app->streams.left_out)
    g_printerr (
        "filter-file: %s cannot take these streams as they are, so that "
        "they are left out: %s\n",
        app->output, app->streams.left_out);
  if (tracks > app->streams.n_audio)
    g_printerr (
        "filter-file: %u of the %u sound tracks of %s are left out, since "
        "GStreamer does not read tracks that are much shorter than the video\n",
        tracks - app->streams.n_audio, tracks, app->input);
}

/* The parser adds all pads of a file before data flows through any. */
static GstPadProbeReturn
on_begin (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct app *app = data;

  (void) info;
  if (!g_atomic_int_compare_and_exchange (&app->begun, FALSE, TRUE))
    return GST_PAD_PROBE_REMOVE;
  if (!app->streams.have_video)
    GST_ELEMENT_ERROR (GST_OBJECT_PARENT (pad), STREAM, WRONG_TYPE,
        ("There is no video in it that can be decoded."), (NULL));
  else
    warn_of_losses (app);
  return GST_PAD_PROBE_REMOVE;
}

static void
on_stream (GstElement *parser, GstPad *pad, gpointer data)
{
  struct app *app = data;

  (void) parser;
  if (g_atomic_int_get (&app->begun)) {
    g_printerr ("filter-file: %s gets other streams on the way, which are left "
                "out\n",
        app->input);
    return;
  }
  input_streams_link (&app->streams, pad);
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_begin, app,
      NULL);
}

static void
on_decoded (GstElement *decoder, GstPad *pad, gpointer data)
{
  struct app *app = data;
  GstPad *sink = gst_element_get_static_pad (app->head, "sink");
  GstCaps *caps = gst_pad_get_current_caps (pad);

  (void) decoder;
  if (!caps)
    caps = gst_pad_query_caps (pad, NULL);
  crop_to_even (app, caps);
  if (!gst_pad_is_linked (sink)
      && GST_PAD_LINK_FAILED (gst_pad_link (pad, sink)))
    GST_ELEMENT_ERROR (decoder, STREAM, WRONG_TYPE,
        ("There is no video in it that can be filtered."), (NULL));
  gst_caps_unref (caps);
  gst_object_unref (sink);
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  struct app *app = data;
  GError *error = NULL;

  (void) bus;
  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_EOS:
      g_main_loop_quit (app->loop);
      break;
    case GST_MESSAGE_ERROR:
      gst_message_parse_error (message, &error, NULL);
      if (app->missing)
        fail (app, "%s: %s (no decoder for %s)", app->input, error->message,
            app->missing);
      else
        fail (app, "%s: %s", app->input, error->message);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning (message, &error, NULL);
      g_printerr ("%s%s: %s\n", app->terminal ? "\r\033[K" : "",
          GST_MESSAGE_SRC_NAME (message), error->message);
      break;
    case GST_MESSAGE_ELEMENT:
      if (gst_message_has_name (message, "missing-plugin") && !app->missing)
        app->missing = g_strdup (gst_structure_get_string (
            gst_message_get_structure (message), "name"));
      break;
    default:
      break;
  }
  g_clear_error (&error);
  return G_SOURCE_CONTINUE;
}

/* The first Ctrl-C ends the file so that it can be played, the second at once. */
static gboolean
on_interrupt (gpointer data)
{
  struct app *app = data;

  if (app->interrupted)
    fail (app, "interrupted twice: nothing of %s is kept", app->output);
  app->interrupted = TRUE;
  gst_element_send_event (app->pipeline, gst_event_new_eos ());
  return G_SOURCE_CONTINUE;
}

static gboolean
on_termination (gpointer data)
{
  fail (data, "ended by a signal");
  return G_SOURCE_REMOVE;
}

static gdouble
frame_rate (const struct app *app)
{
  gint64 elapsed = app->ended - app->started;

  return elapsed > 0 ? app->frames_out * 1e6 / elapsed : 0.0;
}

/* One line that rewrites itself on a terminal, a line now and then in a log. */
static gboolean
show_progress (gpointer data)
{
  struct app *app = data;
  GstPad *pad = gst_element_get_static_pad (app->filter, "sink");
  gint64 duration = 0;

  gst_pad_peer_query_duration (pad, GST_FORMAT_TIME, &duration);
  gst_object_unref (pad);

  g_mutex_lock (&app->lock);
  if (app->frames_out > 0) {
    g_print ("%s", app->terminal ? "\r" : "");
    if (duration > 0 && GST_CLOCK_TIME_IS_VALID (app->first_pts)
        && app->last_pts >= app->first_pts)
      g_print ("%3.0f %%  ",
          MIN (100.0, 100.0 * (app->last_pts - app->first_pts) / duration));
    g_print ("frame %" G_GUINT64_FORMAT "  %.0f frames/s%s", app->frames_out,
        frame_rate (app), app->terminal ? "\033[K" : "\n");
  }
  g_mutex_unlock (&app->lock);
  return G_SOURCE_CONTINUE;
}

/* What an element that knows about backends ran on, and its mean times. */
static void
show_backend (GObject *element)
{
  GstStructure *stats = NULL;
  gchar *backend = NULL, *method = NULL;
  guint64 up = 0, compute = 0, down = 0;

  g_object_get (element, "active-backend", &backend, "active-method", &method,
      "stats", &stats, NULL);
  g_print ("backend  %s, method %s\n", backend, method);
  if (stats
      && gst_structure_get (stats, "up-time", G_TYPE_UINT64, &up,
          "compute-time", G_TYPE_UINT64, &compute, "down-time", G_TYPE_UINT64,
          &down, NULL)
      && up + down > 0)
    g_print ("a frame  %.3f ms up, %.3f ms filtered, %.3f ms down\n", up / 1e6,
        compute / 1e6, down / 1e6);
  g_free (backend);
  g_free (method);
  g_clear_pointer (&stats, gst_structure_free);
}

static void
show_backends (const struct app *app)
{
  GstIterator *iterator = gst_bin_iterate_recurse (GST_BIN (app->filter));
  GValue item = G_VALUE_INIT;

  while (gst_iterator_next (iterator, &item) == GST_ITERATOR_OK) {
    GObject *element = g_value_get_object (&item);

    if (g_object_class_find_property (
            G_OBJECT_GET_CLASS (element), "active-backend"))
      show_backend (element);
    g_value_unset (&item);
  }
  gst_iterator_free (iterator);
}

static gboolean
add_probe (struct app *app, const gchar *pad_name, GstPadProbeCallback callback)
{
  GstPad *pad = gst_element_get_static_pad (app->filter, pad_name);

  if (!pad)
    return FALSE;
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, app, NULL);
  gst_object_unref (pad);
  return TRUE;
}

static gboolean
build_pipeline (struct app *app, const gchar *filter, const gchar *encoding,
    const gchar *unfinished)
{
  enum
  {
    SOURCE,
    PARSER,
    STREAMS_QUEUE,
    DECODER,
    HEAD,
    FRAMES_QUEUE,
    SINK
  };
  static const gchar *const common[] = { "filesrc", "parsebin", "multiqueue",
    "decodebin", "videoconvert", "queue", "filesink" };
  GstElement *made[G_N_ELEMENTS (common)];
  GError *error = NULL;
  gboolean ok;

  app->pipeline = gst_pipeline_new (NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (common); i++) {
    made[i] = gst_element_factory_make (common[i], NULL);
    if (!made[i]) {
      fail (app, "the element %s is not installed", common[i]);
      return FALSE;
    }
    gst_bin_add (GST_BIN (app->pipeline), made[i]);
  }
  app->filter = gst_parse_bin_from_description_full (
      filter, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (app->filter) {
    gst_bin_add (GST_BIN (app->pipeline), app->filter);
    app->encoder = gst_parse_bin_from_description_full (
        encoding, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  }
  if (!app->encoder) {
    fail (app, "%s", error->message);
    g_clear_error (&error);
    return FALSE;
  }
  gst_bin_add (GST_BIN (app->pipeline), app->encoder);

  app->head = made[HEAD];
  app->streams.queue = made[STREAMS_QUEUE];
  app->streams.decoder = made[DECODER];
  app->streams.muxer = gst_bin_get_by_name (GST_BIN (app->encoder), "muxer");
  /* An encoder takes seconds of video before its first frame comes out; sound
   * and subtitles wait for that. */
  g_object_set (made[STREAMS_QUEUE], "max-size-time", (guint64) 0, NULL);
  g_object_set (made[SOURCE], "location", app->input, NULL);
  g_object_set (made[SINK], "location", unfinished, NULL);
  g_signal_connect (made[PARSER], "pad-added", G_CALLBACK (on_stream), app);
  g_signal_connect (made[DECODER], "pad-added", G_CALLBACK (on_decoded), app);
  ok = gst_element_link (made[SOURCE], made[PARSER])
      && gst_element_link_many (app->head, app->filter, made[FRAMES_QUEUE],
          app->encoder, made[SINK], NULL)
      && add_probe (app, "sink", on_frame_in)
      && add_probe (app, "src", on_frame_out);
  if (!ok)
    fail (app, "\"%s\" does not filter raw video", filter);
  return ok;
}

/* Runs to the end of the input or to the first error. */
static void
run_pipeline (struct app *app)
{
  GstBus *bus = gst_element_get_bus (app->pipeline);
  guint watch = gst_bus_add_watch (bus, on_message, app);
  guint timer =
      g_timeout_add (app->terminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS,
          show_progress, app);

  /* Who reads the progress may leave before the result is there. */
  signal (SIGPIPE, SIG_IGN);
  g_unix_signal_add (SIGINT, on_interrupt, app);
  g_unix_signal_add (SIGTERM, on_termination, app);
  g_unix_signal_add (SIGHUP, on_termination, app);
  app->loop = g_main_loop_new (NULL, FALSE);
  gst_element_set_state (app->pipeline, GST_STATE_PLAYING);
  g_main_loop_run (app->loop);
  app->ended = g_get_monotonic_time (); /* the encoder's last frame counts */
  if (app->terminal)
    g_print ("\r\033[K");

  g_source_remove (timer);
  g_source_remove (watch);
  gst_object_unref (bus);
  g_main_loop_unref (app->loop);
  app->loop = NULL;
}

static void
show_result (const struct app *app, const struct encoding *encoding)
{
  if (app->streams.passed)
    g_print ("passed   %s\n", app->streams.passed);
  g_print ("frames   %" G_GUINT64_FORMAT ", %.1f frames/s"
           " (decode, filter, %s)\n",
      app->frames_out, frame_rate (app), encoding->element);
  g_print ("result   %s\n", app->output);
}

static void
show_picture (struct app *app, const gchar *path)
{
  GError *error = NULL;

  if (!app->before)
    fail (app, "%s could not be made: the filter changes the frames' times",
        path);
  else if (before_after_write (app->before, app->after, path, &error))
    g_print ("picture  %s\n", path);
  else
    fail (app, "%s could not be made: %s", path, error->message);
  g_clear_error (&error);
}

/* All files must be fit for use before any work begins. */
static gboolean
check_files (struct app *app, const gchar *unfinished, const gchar *picture,
    gboolean force)
{
  GError *error = NULL;

  if (g_access (app->input, R_OK) != 0) {
    fail (app, "%s: %s", app->input, g_strerror (errno));
    return FALSE;
  }
  if (picture && g_str_equal (picture, app->output)) {
    fail (app, "%s cannot be both OUTPUT and the picture", picture);
    return FALSE;
  }
  if (!result_file_check (app->output, app->input, force, &error)
      || !result_file_check (unfinished, app->input, force, &error)
      || (picture && !result_file_check (picture, app->input, force, &error))) {
    fail (app, "%s", error->message);
    g_error_free (error);
    return FALSE;
  }
  return TRUE;
}

/* The end of a run that Ctrl-C has cut short: a file that was complete before
 * is worth more than the beginning of another. */
static void
keep_beginning (struct app *app, const gchar *unfinished)
{
  GError *error = NULL;

  if (g_file_test (app->output, G_FILE_TEST_EXISTS)) {
    fail (app, "interrupted: %s is as it was before", app->output);
  } else if (!result_file_publish (unfinished, app->output, FALSE, &error)) {
    g_printerr ("filter-file: interrupted: %s\n", error->message);
    g_error_free (error);
  } else {
    g_printerr (
        "filter-file: interrupted: %s holds the first %" G_GUINT64_FORMAT
        " frames (%.1f s)\n",
        app->output, app->frames_out,
        (gdouble) (app->last_pts - app->first_pts) / GST_SECOND);
  }
}

int
main (int argc, char **argv)
{
  struct app app = { .terminal = isatty (STDOUT_FILENO) };
  gchar *filter = NULL, *picture = NULL, *output = NULL, *unfinished = NULL;
  gboolean force = FALSE, ours = FALSE; /* the unfinished file is this run's */
  const GOptionEntry options[] = { { "filter", 'f', 0, G_OPTION_ARG_STRING,
                                       &filter,
                                       "the filter, as gst-launch-1.0 takes it,"
                                       " an element first and last"
                                       " (default: cudasepconv sigma=6)",
                                       "DESCRIPTION" },
    { "picture", 'p', 0, G_OPTION_ARG_FILENAME, &picture,
        "write a frame, half before and half after the filter", "FILE.png" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &force,
        "replace OUTPUT and FILE.png where they exist", NULL },
    { 0 } };
  const struct encoding *encoding;
  GOptionContext *context = g_option_context_new ("INPUT OUTPUT");
  GError *error = NULL;
  gboolean known;

  /* For names in other scripts; numbers keep their point. */
  setlocale (LC_CTYPE, "");
  g_option_context_set_summary (context,
      "Filters the video of INPUT into OUTPUT, named *.mp4 (H.264), *.webm (VP8),"
      " *.mkv\n(H.264 or VP8) or *.raw (the bare frames as they leave the filter)."
      " Any other name gets\nthe suffix of the first of these that can be written"
      " here. Sound and subtitles pass\nuntouched where OUTPUT can hold them;"
      " streams that it cannot hold are named at the start.\n\n"
      "Ctrl-C ends OUTPUT early, as a playable file, with exit status 130.");
  g_option_context_set_description (context,
      "Example:\n"
      "  filter-file --filter \"cudasepconv sigma=6\" in.mp4 out.mp4\n");
  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fail (&app, "%s", error->message);
    goto done;
  }
  if (argc != 3) {
    fail (&app, "it takes INPUT and OUTPUT; --help explains them");
    goto done;
  }
  app.input = argv[1];
  encoding = choose_encoding (argv[2], &known);
  if (!encoding) {
    fail (&app, "no encoder for %s is installed", argv[2]);
    goto done;
  }
  output = g_strconcat (argv[2], known ? "" : encoding->suffix, NULL);
  unfinished = g_strconcat (output, ".part", NULL);
  app.output = output;
  if (!check_files (&app, unfinished, picture, force))
    goto done;
  if (!filter)
    filter = g_strdup ("cudasepconv sigma=6");

  ours = TRUE;
  if (!build_pipeline (&app, filter, encoding->description, unfinished))
    goto done;
  run_pipeline (&app);
  if (!app.failed && app.frames_out == 0)
    fail (&app,
        app.interrupted ? "%s: interrupted before the first frame"
                        : "%s: no frame could be decoded",
        app.input);
  if (!app.failed && !app.interrupted)
    show_backends (&app);
  gst_element_set_state (app.pipeline, GST_STATE_NULL);
  if (app.failed)
    goto done;

  if (app.interrupted) {
    keep_beginning (&app, unfinished);
    goto done;
  }
  ours = FALSE;
  if (!result_file_publish (unfinished, output, force, &error)) {
    fail (&app, "%s", error->message);
    goto done;
  }
  show_result (&app, encoding);
  if (picture)
    show_picture (&app, picture);

done:
  if (app.failed && ours)
    g_unlink (unfinished);
  g_clear_pointer (&app.candidate, gst_sample_unref);
  g_clear_pointer (&app.before, gst_sample_unref);
  g_clear_pointer (&app.after, gst_sample_unref);
  if (app.pipeline) {
    gst_element_set_state (app.pipeline, GST_STATE_NULL);
    gst_object_unref (app.pipeline);
  }
  input_streams_clear (&app.streams);
  g_option_context_free (context);
  g_clear_error (&error);
  g_free (app.missing);
  g_free (filter);
  g_free (picture);
  g_free (output);
  g_free (unfinished);
  return app.interrupted ? STATUS_INTERRUPTED : app.failed;
}
