/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters a video file into another one: decode, filter, encode.
 *
 *   filter-file [--filter DESCRIPTION] [--picture FILE.png] INPUT OUTPUT
 *
 * A complete application around cudasepconv: it links a decoder whose pads
 * come late, follows the bus, counts frames with pad probes, takes one frame
 * from before and after the filter for the picture, and asks the element what
 * it ran on. Exit status: 0 when OUTPUT is complete, after Ctrl-C as far as it had
 * come, else 1 and one sentence on stderr, with OUTPUT as it was before. */

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#define PICTURE_TIMEOUT (10 * GST_SECOND)
#define TERMINAL_INTERVAL_MS 200
#define LOG_INTERVAL_MS 10000

/* Ways to write the filtered frames, best first. Where "even" crops, the
 * encoder wants whole 2x2 blocks of pixels. */
static const struct encoding
{
  const gchar *suffix;
  const gchar *element;
  const gchar *description;
} encodings[] = {
  { ".mp4", "x264enc",
      "videoconvert ! video/x-raw,format=I420 ! videocrop name=even"
      " ! x264enc speed-preset=veryfast pass=qual quantizer=21"
      " ! h264parse ! mp4mux" },
  { ".mp4", "openh264enc",
      "videoconvert ! video/x-raw,format=I420 ! videocrop name=even"
      " ! openh264enc rate-control=quality ! h264parse ! mp4mux" },
  { ".webm", "vp8enc",
      "videoconvert ! video/x-raw,format=I420"
      " ! vp8enc deadline=1 cpu-used=4 end-usage=cq cq-level=20"
      " target-bitrate=20000000 threads=4 ! webmmux" },
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
  gchar *missing; /* what a missing plugin would have decoded */
  gboolean terminal;
  gboolean interrupted;
  gboolean failed;

  /* The decoder's threads write these before the first frame; the main
   * thread reads them after the last. */
  gboolean have_video;
  gboolean have_audio;

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

/* Only the first failure is told: those after it follow from it. */
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

static void
on_pad_added (GstElement *decoder, GstPad *pad, gpointer data)
{
  struct app *app = data;
  GstCaps *caps = gst_pad_get_current_caps (pad);
  const gchar *name;

  (void) decoder;
  if (!caps)
    caps = gst_pad_query_caps (pad, NULL);
  name = gst_structure_get_name (gst_caps_get_structure (caps, 0));
  if (g_str_has_prefix (name, "audio/")) {
    app->have_audio = TRUE;
  } else if (g_str_has_prefix (name, "video/") && !app->have_video) {
    GstPad *sink = gst_element_get_static_pad (app->head, "sink");

    crop_to_even (app, caps);
    app->have_video = GST_PAD_LINK_SUCCESSFUL (gst_pad_link (pad, sink));
    gst_object_unref (sink);
  }
  gst_caps_unref (caps);
}

static void
on_no_more_pads (GstElement *decoder, gpointer data)
{
  struct app *app = data;

  if (!app->have_video)
    GST_ELEMENT_ERROR (decoder, STREAM, WRONG_TYPE,
        ("There is no video in it that can be decoded."), (NULL));
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

/* Ctrl-C ends the file properly; a second one kills. */
static gboolean
on_interrupt (gpointer data)
{
  struct app *app = data;

  app->interrupted = TRUE;
  gst_element_send_event (app->pipeline, gst_event_new_eos ());
  return G_SOURCE_REMOVE;
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

static gboolean
map_rgb (GstSample *sample, GstVideoFrame *frame, GstMapFlags flags)
{
  GstVideoInfo info;

  return gst_video_info_from_caps (&info, gst_sample_get_caps (sample))
      && gst_video_frame_map (
          frame, &info, gst_sample_get_buffer (sample), flags);
}

/* Left half of one sample, right half of the other, a white line between. */
static gboolean
join_halves (GstSample *left, GstSample *right)
{
  GstVideoFrame to, from;
  gboolean ok;

  if (!map_rgb (left, &to, GST_MAP_READWRITE))
    return FALSE;
  if (!map_rgb (right, &from, GST_MAP_READ)) {
    gst_video_frame_unmap (&to);
    return FALSE;
  }
  ok = to.info.width == from.info.width && to.info.height == from.info.height;
  for (gint y = 0; ok && y < to.info.height; y++) {
    gsize half = (gsize) to.info.width / 2 * 3;
    guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&to, 0)
        + (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&to, 0);
    const guint8 *other = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&from, 0)
        + (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&from, 0);

    memcpy (row + half, other + half, (gsize) to.info.width * 3 - half);
    memset (row + half, 255, 3);
  }
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  return ok;
}

static GstSample *
convert (GstSample *sample, const gchar *to, GError **error)
{
  GstCaps *caps = gst_caps_from_string (to);
  GstCaps *from = gst_caps_copy (gst_sample_get_caps (sample));
  GstSample *plain, *result;

  /* Frames of a decoder on the GPU are in its memory, which can be mapped, but has no
   * converters everywhere. */
  gst_caps_set_features_simple (from, NULL);
  plain = gst_sample_new (gst_sample_get_buffer (sample), from, NULL, NULL);
  result = gst_video_convert_sample (plain, caps, PICTURE_TIMEOUT, error);
  gst_sample_unref (plain);
  gst_caps_unref (from);
  gst_caps_unref (caps);
  return result;
}

static gboolean
write_picture (struct app *app, const gchar *path)
{
  GstSample *before = NULL, *after = NULL, *png = NULL;
  GError *error = NULL;
  GstMapInfo map;
  gboolean ok = FALSE;

  if (!app->before)
    goto done;
  before = convert (app->before, "video/x-raw,format=RGB", &error);
  if (!before)
    goto done;
  after = convert (app->after, "video/x-raw,format=RGB", &error);
  if (!after || !join_halves (before, after))
    goto done;
  png = convert (before, "image/png", &error);
  if (!png || !gst_buffer_map (gst_sample_get_buffer (png), &map, GST_MAP_READ))
    goto done;
  ok = g_file_set_contents (
      path, (const gchar *) map.data, (gssize) map.size, &error);
  gst_buffer_unmap (gst_sample_get_buffer (png), &map);

done:
  if (!ok)
    fail (app, "%s could not be made: %s", path,
        error ? error->message : "the filter changes the frame size");
  g_clear_pointer (&before, gst_sample_unref);
  g_clear_pointer (&after, gst_sample_unref);
  g_clear_pointer (&png, gst_sample_unref);
  g_clear_error (&error);
  return ok;
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
    const gchar *output)
{
  static const gchar *const common[] = { "filesrc", "decodebin", "videoconvert",
    "queue", "filesink" };
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

  app->head = made[2];
  g_object_set (made[0], "location", app->input, NULL);
  g_object_set (made[4], "location", output, NULL);
  g_signal_connect (made[1], "pad-added", G_CALLBACK (on_pad_added), app);
  g_signal_connect (made[1], "no-more-pads", G_CALLBACK (on_no_more_pads), app);
  ok = gst_element_link (made[0], made[1])
      && gst_element_link_many (
          app->head, app->filter, made[3], app->encoder, made[4], NULL)
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

int
main (int argc, char **argv)
{
  struct app app = { .terminal = isatty (STDOUT_FILENO) };
  gchar *filter = NULL, *picture = NULL, *output = NULL, *unfinished = NULL;
  const GOptionEntry options[] = { { "filter", 'f', 0, G_OPTION_ARG_STRING,
                                       &filter,
                                       "the filter, as gst-launch-1.0 takes it,"
                                       " an element first and last"
                                       " (default: cudasepconv sigma=6)",
                                       "DESCRIPTION" },
    { "picture", 'p', 0, G_OPTION_ARG_FILENAME, &picture,
        "write a frame, half before and half after the filter", "FILE.png" },
    { 0 } };
  const struct encoding *encoding;
  GOptionContext *context = g_option_context_new ("INPUT OUTPUT");
  GError *error = NULL;
  gboolean known;

  g_option_context_set_summary (context,
      "Filters the video of INPUT into OUTPUT, named *.mp4 (H.264), *.webm (VP8)"
      " or\n*.raw (frames as they leave the filter); any other name gets the"
      " suffix of the first\nof these that can be written here.");
  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fail (&app, "%s", error->message);
    goto done;
  }
  if (argc != 3) {
    fail (&app, "it takes INPUT and OUTPUT; --help tells more");
    goto done;
  }
  app.input = argv[1];
  if (g_access (app.input, R_OK) != 0) {
    fail (&app, "%s: %s", app.input, g_strerror (errno));
    goto done;
  }
  encoding = choose_encoding (argv[2], &known);
  if (!encoding) {
    fail (&app, "no encoder for %s is installed", argv[2]);
    goto done;
  }
  output = g_strconcat (argv[2], known ? "" : encoding->suffix, NULL);
  unfinished = g_strconcat (output, ".part", NULL);
  if (!filter)
    filter = g_strdup ("cudasepconv sigma=6");

  if (!build_pipeline (&app, filter, encoding->description, unfinished))
    goto done;
  run_pipeline (&app);
  if (!app.failed && app.frames_out == 0)
    fail (&app,
        app.interrupted ? "%s: interrupted before the first frame"
                        : "%s: no frame could be decoded",
        app.input);
  if (!app.failed)
    show_backends (&app);
  gst_element_set_state (app.pipeline, GST_STATE_NULL);
  if (app.failed)
    goto done;

  if (app.have_audio)
    g_print ("audio    left out\n");
  g_print ("frames   %" G_GUINT64_FORMAT ", %.1f frames/s"
           " (decode, filter, %s)\n",
      app.frames_out, frame_rate (&app), encoding->element);
  if (g_rename (unfinished, output) != 0) {
    fail (&app, "%s: %s", output, g_strerror (errno));
    goto done;
  }
  g_print ("result   %s\n", output);
  if (picture && write_picture (&app, picture))
    g_print ("picture  %s\n", picture);

done:
  if (app.failed && unfinished)
    g_unlink (unfinished);
  g_clear_pointer (&app.candidate, gst_sample_unref);
  g_clear_pointer (&app.before, gst_sample_unref);
  g_clear_pointer (&app.after, gst_sample_unref);
  if (app.pipeline) {
    gst_element_set_state (app.pipeline, GST_STATE_NULL);
    gst_object_unref (app.pipeline);
  }
  g_option_context_free (context);
  g_clear_error (&error);
  g_free (app.missing);
  g_free (filter);
  g_free (picture);
  g_free (output);
  g_free (unfinished);
  return app.failed ? 1 : 0;
}
