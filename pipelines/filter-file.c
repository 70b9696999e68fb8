/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters a video file into another one: decode, filter, encode.
 *
 *   filter-file [--filter DESCRIPTION] [--picture FILE.png] [--force] INPUT OUTPUT
 *   filter-file [--filter DESCRIPTION] --list-parts SECONDS INPUT
 *   filter-file [--filter DESCRIPTION] --part FROM:TO INPUT OUTPUT.gdp
 *   filter-file --join INPUT OUTPUT PART.gdp...
 *
 * A complete application around cudasepconv: it links a parser and a decoder whose
 * pads come late, passes sound and subtitles on, follows the bus, counts frames with
 * pad probes, takes one frame from before and after the filter for the picture, and
 * asks the element for the backend it used. A long file may be filtered in parts, by
 * several machines, and joined. Exit status:
 *
 *   0    OUTPUT is complete
 *   1    it failed: one sentence on stderr, and OUTPUT is as it was before
 *   130  Ctrl-C ended it: one sentence on stderr. OUTPUT is a playable file of the
 *        frames until then; a file that --force was to replace is as it was before.
 *        With --part and --join OUTPUT is as it was before */

#define _GNU_SOURCE /* sched_getaffinity */
#include <errno.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "before-after.h"
#include "frame-memory.h"
#include "input-part.h"
#include "input-streams.h"
#include "joined-parts.h"
#include "mp4-tracks.h"
#include "result-file.h"

#define TERMINAL_INTERVAL_MS 200
#define LOG_INTERVAL_MS 10000
#define STATUS_INTERRUPTED 130 /* as shells report SIGINT */

/* The H.264 format that muxers get; parts of a video have it, too. */
#define H264 "video/x-h264,stream-format=avc,alignment=au"
/* Muxers need a constant frame size and pixel aspect ratio: the capsfilter "size" is
 * set to those of the first frame. */
#define I420 \
  "videoconvert ! video/x-raw,format=I420" \
  " ! videoscale add-borders=true ! capsfilter name=size"
#define X264 \
  I420 \
  " ! videocrop name=even" \
  " ! x264enc speed-preset=veryfast pass=qual quantizer=21 ! h264parse"
#define OPENH264 \
  I420 \
  " ! videocrop name=even" \
  " ! openh264enc rate-control=quality ! h264parse"
#define VP8 \
  I420 \
  " ! vp8enc name=vp8 deadline=1 cpu-used=4 end-usage=cq cq-level=20" \
  " target-bitrate=20000000"
#define VP8_MOST_THREADS 4

/* Ways to write the filtered frames, best first. The videocrop "even" is for encoders
 * that need whole 2x2 blocks of pixels. The muxer also takes the other streams;
 * without a muxer the file holds the frames alone. */
static const struct encoding
{
  const gchar *suffix;
  const gchar *element;
  const gchar *description;
  const gchar *caps;
  const gchar *muxer;
} encodings[] = {
  { ".mp4", "x264enc", X264, H264, "mp4mux" },
  { ".mp4", "openh264enc", OPENH264, H264, "mp4mux" },
  { ".webm", "vp8enc", VP8, "video/x-vp8", "webmmux" },
  { ".mkv", "x264enc", X264, H264, "matroskamux" },
  { ".mkv", "openh264enc", OPENH264, H264, "matroskamux" },
  { ".mkv", "vp8enc", VP8, "video/x-vp8", "matroskamux" },
  { ".raw", "identity", "identity", "video/x-raw", NULL },
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
  struct input_part *part; /* NULL: all of the input */
  /* A pad that a probe blocks. With --part: the video pad of the parser, until the
   * main thread has sought to the part. With --join: the pad of the joined parts,
   * until the muxer has all its pads. */
  GstPad *waiting;
  gulong waiting_probe;
  gchar **joined; /* files of parts, with NULL behind; NULL: filter the input */
  gchar *missing; /* name of the format whose plugin is missing */
  gboolean terminal;
  gboolean interrupted;
  gboolean failed;
  gboolean stuck; /* no data has come: the pipeline cannot be stopped */

  gint begun; /* data flows; atomic */
  /* Written by the parser's thread before `begun` is set, read by the main thread
   * after the last frame. */
  struct input_streams streams;

  /* Protects the fields below: the filter's two sides may run on two threads, and the
   * main thread shows progress. */
  GMutex lock;
  guint64 frames_in, frames_out;
  gint64 started, ended; /* monotonic, microseconds */
  GstClockTime first_pts, last_pts;
  GstClockTime stamped;      /* time of the newest frame that went in */
  GstSample *candidate;      /* has entered the filter, but not left it */
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

/* Returns the encoding for a file name; a name with no known suffix takes the first
 * encoding that is installed. NULL: none is installed. */
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

/* Encoders and muxers need rising timestamps. Some decoders give the last frames of a
 * file no timestamp, or that of the frame before. Such a frame gets the time of the
 * frame before plus its own duration, or plus 1 ms if the duration is unknown. */
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

/* Posts an application message, for the main thread to act on. */
static void
post (struct app *app, const gchar *name)
{
  gst_element_post_message (app->pipeline,
      gst_message_new_application (
          GST_OBJECT (app->pipeline), gst_structure_new_empty (name)));
}

static gboolean
is_in_part (struct app *app, const GstBuffer *buffer)
{
  const gboolean ended = app->part->ended;
  const enum input_part_place place = input_part_place (app->part, buffer);

  if (app->part->ended && !ended)
    post (app, "part-ends");
  return place == INPUT_PART_INSIDE;
}

/* Copies each frame whose number is a power of two. The picture shows the newest of
 * them: it lies in the second half of a clip of any length, known or not, and only a
 * handful of frames is copied. */
static GstPadProbeReturn
on_frame_in (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct app *app = data;
  GstBuffer *buffer;
  guint64 number;

  if (app->part && !is_in_part (app, GST_PAD_PROBE_INFO_BUFFER (info)))
    return GST_PAD_PROBE_DROP;
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

/* Runs before the first frame reaches the encoder: later frames get its size, pixel
 * aspect ratio and colours. Frames of 4:2:0 H.264 have even sizes: an odd one loses a
 * column or row. */
static GstPadProbeReturn
on_encoder_event (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  struct app *app = data;
  GstElement *crop, *size;
  GstVideoInfo video;
  GstCaps *caps;

  (void) pad;
  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  if (!gst_video_info_from_caps (&video, caps))
    return GST_PAD_PROBE_OK;
  crop = gst_bin_get_by_name (GST_BIN (app->encoder), "even");
  size = gst_bin_get_by_name (GST_BIN (app->encoder), "size");
  if (crop)
    g_object_set (
        crop, "right", video.width & 1, "bottom", video.height & 1, NULL);
  if (size) {
    gchar *colors = gst_video_colorimetry_to_string (&video.colorimetry);

    caps = gst_caps_new_simple ("video/x-raw", "width", G_TYPE_INT, video.width,
        "height", G_TYPE_INT, video.height, "pixel-aspect-ratio",
        GST_TYPE_FRACTION, video.par_n, video.par_d, NULL);
    if (colors)
      gst_caps_set_simple (caps, "colorimetry", G_TYPE_STRING, colors, NULL);
    g_object_set (size, "caps", caps, NULL);
    g_free (colors);
    gst_caps_unref (caps);
  }
  gst_clear_object (&size);
  gst_clear_object (&crop);
  return GST_PAD_PROBE_REMOVE;
}

/* Prints one sentence for each kind of stream that OUTPUT will not have. */
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

/* Runs when data flows through a pad, or ends without any: the parser has then added
 * all pads of the file. */
static GstPadProbeReturn
on_begin (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct app *app = data;
  gboolean have_video = app->streams.have_video;

  if (!input_streams_begin (info))
    return GST_PAD_PROBE_OK;
  /* With --part, the video is only linked when its data flows. */
  if (app->part)
    have_video =
        app->waiting && (app->waiting != pad || gst_pad_is_linked (pad));
  if (!have_video)
    GST_ELEMENT_ERROR (GST_OBJECT_PARENT (pad), STREAM, WRONG_TYPE,
        (INPUT_STREAMS_NO_VIDEO), (NULL));
  if (app->part
      || !g_atomic_int_compare_and_exchange (&app->begun, FALSE, TRUE))
    return GST_PAD_PROBE_REMOVE;
  if (have_video)
    warn_of_losses (app);
  if (app->joined)
    gst_pad_remove_probe (app->waiting, app->waiting_probe);
  return GST_PAD_PROBE_REMOVE;
}

static GstPadProbeReturn
on_waiting (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  (void) pad;
  (void) info;
  (void) data;
  return GST_PAD_PROBE_OK;
}

/* With --part: the video begins, and waits until the main thread has sought and links
 * the pad. */
static GstPadProbeReturn
on_part_begin (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct app *app = data;

  (void) info;
  if (!g_atomic_int_compare_and_exchange (&app->begun, FALSE, TRUE))
    return GST_PAD_PROBE_OK;
  post (app, input_part_begin (app->part, pad) ? "part-seeks" : "part-begins");
  return GST_PAD_PROBE_OK;
}

/* A part holds the first video alone; a file without one has no parts. */
static void
on_part_stream (struct app *app, GstPad *pad)
{
  if (app->waiting || !input_streams_is_video (pad))
    return;
  app->waiting = gst_object_ref (pad);
  app->waiting_probe = gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER
          | GST_PAD_PROBE_TYPE_BUFFER_LIST,
      on_part_begin, app, NULL);
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
  if (app->part)
    on_part_stream (app, pad);
  else
    input_streams_link (&app->streams, pad);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_DATA_DOWNSTREAM, on_begin, app,
      NULL);
}

static void
on_decoded (GstElement *decoder, GstPad *pad, gpointer data)
{
  struct app *app = data;
  GstPad *sink = gst_element_get_static_pad (app->head, "sink");

  (void) decoder;
  if (!gst_pad_is_linked (sink)
      && GST_PAD_LINK_FAILED (gst_pad_link (pad, sink)))
    GST_ELEMENT_ERROR (decoder, STREAM, WRONG_TYPE,
        ("There is no video in it that can be filtered."), (NULL));
  gst_object_unref (sink);
}

static void
on_part_message (struct app *app, GstMessage *message)
{
  if (gst_message_has_name (message, "part-ends")) {
    gst_element_send_event (app->pipeline, gst_event_new_eos ());
    return;
  }
  if (gst_message_has_name (message, "part-seeks")
      && !input_part_seek (app->part, app->waiting)) {
    fail (app, "%s: seeking to the part failed", app->input);
    return;
  }
  input_streams_link (&app->streams, app->waiting);
  gst_pad_remove_probe (app->waiting, app->waiting_probe);
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
    case GST_MESSAGE_APPLICATION:
      on_part_message (app, message);
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

/* Whether no data has come: perhaps none will, and the pipeline cannot be stopped. */
static gboolean
is_stuck (struct app *app)
{
  app->stuck = !g_atomic_int_get (&app->begun);
  return app->stuck;
}

static gboolean
on_late (gpointer data)
{
  struct app *app = data;

  if (is_stuck (app))
    fail (app, "%s: " INPUT_STREAMS_LATE, app->input);
  return G_SOURCE_REMOVE;
}

/* The first Ctrl-C ends the file in such a way that it can be played; the second one
 * ends the program at once. */
static gboolean
on_interrupt (gpointer data)
{
  struct app *app = data;

  if (is_stuck (app))
    fail (app, "%s: interrupted before the first frame", app->input);
  else if (app->part || app->joined)
    fail (app, "interrupted: nothing of %s is kept", app->output);
  else if (app->interrupted)
    fail (app, "interrupted twice: nothing of %s is kept", app->output);
  app->interrupted = TRUE;
  gst_element_send_event (app->pipeline, gst_event_new_eos ());
  return G_SOURCE_CONTINUE;
}

static gboolean
on_termination (gpointer data)
{
  (void) is_stuck (data);
  fail (data, "ended by a signal");
  return G_SOURCE_CONTINUE; /* timeout(1) sends two: the second is not to kill */
}

static gdouble
frame_rate (const struct app *app)
{
  gint64 elapsed = app->ended - app->started;

  return elapsed > 0 ? app->frames_out * 1e6 / elapsed : 0.0;
}

/* Prints a line that rewrites itself on a terminal, or a new line at intervals in a
 * log. */
static gboolean
show_progress (gpointer data)
{
  struct app *app = data;
  GstPad *pad = gst_element_get_static_pad (app->streams.decoder, "sink");
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

/* Prints the backend and method of an element that has such properties, and its mean
 * times. */
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
add_probe (struct app *app, GstElement *element, const gchar *pad_name,
    GstPadProbeType type, GstPadProbeCallback callback)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  if (!pad)
    return FALSE;
  gst_pad_add_probe (pad, type, callback, app, NULL);
  gst_object_unref (pad);
  return TRUE;
}

/* Adds an element to the pipeline. NULL: it is not installed. */
static GstElement *
add_element (struct app *app, const gchar *factory)
{
  GstElement *element = gst_element_factory_make (factory, NULL);

  if (element)
    gst_bin_add (GST_BIN (app->pipeline), element);
  else
    fail (app, "the element %s is not installed", factory);
  return element;
}

static GstElement *
add_bin (struct app *app, const gchar *description)
{
  GError *error = NULL;
  GstElement *bin = gst_parse_bin_from_description_full (
      description, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);

  if (bin)
    gst_bin_add (GST_BIN (app->pipeline), bin);
  else
    fail (app, "%s", error->message);
  g_clear_error (&error);
  return bin;
}

/* Adds the elements from the file to its streams, and the element that takes the first
 * video. */
static gboolean
add_input (struct app *app, const gchar *video_taker)
{
  GstElement *source = add_element (app, "filesrc");
  GstElement *parser = add_element (app, "parsebin");
  GstElement *queue = add_element (app, "multiqueue");
  GstElement *taker = add_element (app, video_taker);

  if (app->failed)
    return FALSE;
  app->streams.queue = queue;
  app->streams.decoder = taker;
  /* An encoder takes seconds of video before its first frame comes out; sound
   * and subtitles wait for that. */
  g_object_set (queue, "max-size-time", (guint64) 0, NULL);
  g_object_set (source, "location", app->input, NULL);
  g_signal_connect (parser, "pad-added", G_CALLBACK (on_stream), app);
  return gst_element_link (source, parser);
}

static gboolean
add_filtering (struct app *app, const gchar *filter)
{
  GstElement *queue;

  if (!add_input (app, "decodebin"))
    return FALSE;
  g_signal_connect (
      app->streams.decoder, "pad-added", G_CALLBACK (on_decoded), app);
  app->head = add_element (app, "videoconvert");
  queue = add_element (app, "queue");
  app->filter = app->failed ? NULL : add_bin (app, filter);
  if (app->failed)
    return FALSE;
  if (app->part) {
    GstPad *pad = gst_element_get_static_pad (app->head, "sink");

    input_part_prepare_events (app->part, pad);
    gst_object_unref (pad);
  }
  if (gst_element_link_many (app->head, app->filter, queue, app->encoder, NULL)
      && add_probe (app, app->filter, "sink", GST_PAD_PROBE_TYPE_BUFFER,
          on_frame_in)
      && add_probe (app, app->filter, "src", GST_PAD_PROBE_TYPE_BUFFER,
          on_frame_out)
      && add_probe (app, app->encoder, "sink",
          GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_encoder_event))
    return TRUE;
  fail (app, "\"%s\" does not filter raw video", filter);
  return FALSE;
}

/* The parts take the place of the input's video, which has been filtered already. */
static gboolean
add_joining (struct app *app)
{
  GstElement *parts = gst_bin_get_by_name (GST_BIN (app->encoder), "parts");
  gboolean ok = add_input (app, "fakesink");

  if (ok) {
    g_object_set (app->streams.decoder, "sync", FALSE, NULL);
    app->waiting = gst_element_get_static_pad (parts, "src");
    app->waiting_probe = gst_pad_add_probe (app->waiting,
        GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER, on_waiting, NULL,
        NULL);
    ok = joined_parts_add (GST_BIN (app->encoder), parts, app->joined)
        && add_probe (app, parts, "src", GST_PAD_PROBE_TYPE_BUFFER,
            on_frame_out);
    if (!ok)
      fail (app, "the element gdpdepay is not installed");
  }
  gst_object_unref (parts);
  return ok;
}

/* Returns a description of the elements from raw frames, or from encoded parts, to the
 * bytes of the file; to be freed. */
static gchar *
describe_output (const struct app *app, const struct encoding *encoding)
{
  const gchar *frames = app->joined ? "concat name=parts adjust-base=false"
                                    : encoding->description;

  if (app->part)
    return g_strconcat (frames, " ! ", encoding->caps, " ! " PART_WRITER, NULL);
  if (!encoding->muxer)
    return g_strdup (frames);
  return g_strconcat (frames, " ! ", encoding->caps, " ! ", encoding->muxer,
      " name=muxer", NULL);
}

/* The encoder's threads spin while they wait for each other: two that share a
 * processor core take 14 times as long as one. */
static void
limit_threads (struct app *app)
{
  GstElement *vp8 = gst_bin_get_by_name (GST_BIN (app->encoder), "vp8");
  cpu_set_t cores;
  gint n = 1;

  if (!vp8)
    return;
  /* Counts the cores that this process may use; g_get_num_processors() of GLib 2.74
   * counts all. */
  if (sched_getaffinity (0, sizeof cores, &cores) == 0)
    n = MIN (CPU_COUNT (&cores), VP8_MOST_THREADS);
  g_object_set (vp8, "threads", n, NULL);
  gst_object_unref (vp8);
}

static gboolean
build_pipeline (struct app *app, const gchar *filter,
    const struct encoding *encoding, const gchar *unfinished)
{
  gchar *description = describe_output (app, encoding);
  GstElement *sink;

  app->pipeline = gst_pipeline_new (NULL);
  app->encoder = add_bin (app, description);
  g_free (description);
  sink = add_element (app, "filesink");
  if (app->failed)
    return FALSE;
  g_object_set (sink, "location", unfinished, NULL);
  limit_threads (app);
  app->streams.muxer = gst_bin_get_by_name (GST_BIN (app->encoder), "muxer");
  if (!(app->joined ? add_joining (app) : add_filtering (app, filter)))
    return FALSE;
  if (!gst_element_link (app->encoder, sink)) {
    fail (app, "\"%s\" does not filter raw video", filter);
    return FALSE;
  }
  return TRUE;
}

/* Runs to the end of the input or to the first error. */
static void
run_pipeline (struct app *app)
{
  GstBus *bus = gst_element_get_bus (app->pipeline);
  guint watch = gst_bus_add_watch (bus, on_message, app);
  /* No progress for --join: the times of each part count from its beginning, and
   * joining is quick. */
  guint timer = app->joined
      ? 0
      : g_timeout_add (app->terminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS,
          show_progress, app);

  /* The reader of the progress may close the pipe before the result is there. */
  signal (SIGPIPE, SIG_IGN);
  g_unix_signal_add (SIGINT, on_interrupt, app);
  g_unix_signal_add (SIGTERM, on_termination, app);
  g_unix_signal_add (SIGHUP, on_termination, app);
  g_timeout_add_seconds (INPUT_STREAMS_LIMIT, on_late, app);
  app->loop = g_main_loop_new (NULL, FALSE);
  gst_element_set_state (app->pipeline, GST_STATE_PLAYING);
  g_main_loop_run (app->loop);
  app->ended = g_get_monotonic_time (); /* the encoder's last frame counts */
  if (app->terminal)
    g_print ("\r\033[K");

  if (timer)
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
  if (app->joined)
    g_print ("frames   %" G_GUINT64_FORMAT ", joined\n", app->frames_out);
  else
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

/* Checks all files before any work begins. */
static gboolean
check_files (struct app *app, const gchar *unfinished, const gchar *picture,
    gboolean force)
{
  GError *error = NULL;

  if (g_access (app->input, R_OK) != 0) {
    fail (app, "%s: %s", app->input, g_strerror (errno));
    return FALSE;
  }
  for (gchar **joined = app->joined; joined && *joined; joined++)
    if (g_access (*joined, R_OK) != 0) {
      fail (app, "%s: %s", *joined, g_strerror (errno));
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

/* Ends a run that Ctrl-C has cut short. Keeps a file that was complete before: it is
 * worth more than the beginning of another. */
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

/* The settings of a run, as the command line gives them. */
struct settings
{
  gchar *filter, *picture, *part;
  gdouble list_parts; /* seconds; 0: filter */
  gboolean join, force;
};

static GOptionContext *
describe_options (struct settings *settings)
{
  const GOptionEntry options[] = { { "filter", 'f', 0, G_OPTION_ARG_STRING,
                                       &settings->filter,
                                       "the filter, as gst-launch-1.0 takes it,"
                                       " an element first and last"
                                       " (default: cudasepconv sigma=6)",
                                       "DESCRIPTION" },
    { "picture", 'p', 0, G_OPTION_ARG_FILENAME, &settings->picture,
        "write a frame, half before and half after the filter", "FILE.png" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &settings->force,
        "replace OUTPUT and FILE.png where they exist", NULL },
    { "list-parts", 0, 0, G_OPTION_ARG_DOUBLE, &settings->list_parts,
        "print parts of about so long that INPUT may be filtered in, and end",
        "SECONDS" },
    { "part", 0, 0, G_OPTION_ARG_STRING, &settings->part,
        "filter one of them, of video alone, into OUTPUT.gdp", "FROM:TO" },
    { "join", 0, 0, G_OPTION_ARG_NONE, &settings->join,
        "join such parts, named behind OUTPUT, and the sound of INPUT", NULL },
    { 0 } };
  GOptionContext *context = g_option_context_new ("INPUT OUTPUT");

  g_option_context_set_summary (context,
      "Filters the video of INPUT into OUTPUT, named *.mp4 (H.264), *.webm (VP8),"
      " *.mkv\n(H.264 or VP8) or *.raw (the bare frames as they leave the filter)."
      " Any other name gets\nthe suffix of the first of these that can be written"
      " here. Sound and subtitles pass\nuntouched where OUTPUT can hold them;"
      " streams that it cannot hold are named at the start.\n"
      "Frames whose size changes on the way get that of the first one, but for bare frames.\n\n"
      "Ctrl-C ends OUTPUT early, as a playable file, with exit status 130.");
  g_option_context_set_description (context,
      "Example:\n"
      "  filter-file --filter \"cudasepconv sigma=6\" in.mp4 out.mp4\n");
  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  return context;
}

/* Checks that the options and the file names go together. */
static gboolean
check_settings (struct app *app, const struct settings *settings, int n_names)
{
  if ((settings->part != NULL) + settings->join + (settings->list_parts != 0)
          > 1
      || (settings->picture && (settings->join || settings->part)))
    fail (app,
        "of --list-parts, --part and --join it takes one, without "
        "--picture");
  else if (settings->list_parts != 0
      && !(settings->list_parts >= 1 && settings->list_parts <= 1e6))
    fail (app, "--list-parts takes 1 to 1000000 seconds");
  else if (settings->list_parts != 0 && n_names != 1)
    fail (app, "--list-parts takes INPUT alone; --help explains it");
  else if (settings->join && n_names < 3)
    fail (app, "--join takes INPUT, OUTPUT and parts; --help explains it");
  else if (settings->list_parts == 0 && !settings->join && n_names != 2)
    fail (app, "it takes INPUT and OUTPUT; --help explains them");
  else if (settings->part && !input_part_parse (app->part, settings->part))
    fail (
        app, "\"%s\" is not FROM:TO as --list-parts prints it", settings->part);
  return !app->failed;
}

static void
list_parts (struct app *app, const struct settings *settings)
{
  GError *error = NULL;
  GArray *cuts;
  gchar *element;

  app->pipeline = gst_pipeline_new (NULL);
  app->filter = add_bin (app, settings->filter);
  if (app->failed)
    return;
  cuts = input_part_find_cuts (
      app->input, (GstClockTime) (settings->list_parts * GST_SECOND), &error);
  if (!cuts) {
    fail (app, "%s: %s", app->input, error->message);
    g_error_free (error);
    return;
  }
  element = frame_memory_find (GST_BIN (app->filter));
  if (element && cuts->len > 0) {
    g_printerr ("filter-file: long files are not cut, since frames that leave "
                "%s may depend on earlier ones\n",
        element);
    g_array_set_size (cuts, 0);
  }
  input_part_print_all (cuts);
  g_free (element);
  g_array_unref (cuts);
}

/* Runs the pipeline, and gives a complete file its name. */
static void
make_file (struct app *app, const struct settings *settings,
    const struct encoding *encoding, const gchar *unfinished)
{
  GError *error = NULL;
  gboolean ours = TRUE; /* the unfinished file is removed on failure */

  if (build_pipeline (app, settings->filter, encoding, unfinished))
    run_pipeline (app);
  if (!app->failed && app->frames_out == 0)
    fail (app,
        app->interrupted ? "%s: interrupted before the first frame"
                         : "%s: no frame could be decoded",
        app->input);
  if (!app->failed && app->part && !input_part_is_exact (app->part))
    fail (app,
        "%s: the part %s does not begin and end at frames of these times",
        app->input, settings->part);
  if (!app->failed && !app->interrupted && !app->joined)
    show_backends (app);
  if (!app->stuck)
    gst_element_set_state (app->pipeline, GST_STATE_NULL);
  if (!app->failed && app->interrupted) {
    keep_beginning (app, unfinished);
  } else if (!app->failed) {
    ours = FALSE;
    if (result_file_publish (
            unfinished, app->output, settings->force, &error)) {
      show_result (app, encoding);
      if (settings->picture)
        show_picture (app, settings->picture);
    } else {
      fail (app, "%s", error->message);
      g_error_free (error);
    }
  }
  if (app->failed && ours)
    g_unlink (unfinished);
}

/* Chooses the encoding by OUTPUT's name, and makes the file. */
static void
filter_to (struct app *app, const struct settings *settings, const gchar *name)
{
  const gchar *suffix = app->part ? PART_SUFFIX : "";
  const struct encoding *encoding;
  gchar *stem, *output, *unfinished;
  gboolean known;

  if (!g_str_has_suffix (name, suffix)) {
    fail (app, "%s: the name of a part ends with " PART_SUFFIX, name);
    return;
  }
  stem = g_strndup (name, strlen (name) - strlen (suffix));
  encoding = choose_encoding (stem, &known);
  if (encoding) {
    output = g_strconcat (stem, known ? "" : encoding->suffix, suffix, NULL);
    unfinished = g_strconcat (output, ".part", NULL);
    app->output = output;
    if (check_files (app, unfinished, settings->picture, settings->force))
      make_file (app, settings, encoding, unfinished);
    g_free (unfinished);
    g_free (output);
  } else {
    fail (app, "no encoder for %s is installed", stem);
  }
  g_free (stem);
}

static void
clear (struct app *app, struct settings *settings)
{
  g_clear_pointer (&app->candidate, gst_sample_unref);
  g_clear_pointer (&app->before, gst_sample_unref);
  g_clear_pointer (&app->after, gst_sample_unref);
  if (app->pipeline) {
    gst_element_set_state (app->pipeline, GST_STATE_NULL);
    gst_object_unref (app->pipeline);
  }
  gst_clear_object (&app->waiting);
  input_streams_clear (&app->streams);
  g_free (app->missing);
  g_free (settings->filter);
  g_free (settings->picture);
  g_free (settings->part);
}

int
main (int argc, char **argv)
{
  struct app app = { .terminal = isatty (STDOUT_FILENO) };
  struct settings settings = { 0 };
  struct input_part part = { 0 };
  GOptionContext *context;
  GError *error = NULL;

  /* For file names in other scripts. LC_CTYPE alone, so that numbers keep their
   * decimal point. */
  setlocale (LC_CTYPE, "");
  context = describe_options (&settings);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fail (&app, "%s", error->message);
    g_error_free (error);
  }
  app.part = settings.part ? &part : NULL;
  if (!settings.filter)
    settings.filter = g_strdup ("cudasepconv sigma=6");
  if (!app.failed && check_settings (&app, &settings, argc - 1)) {
    app.input = argv[1];
    app.joined = settings.join ? argv + 3 : NULL;
    if (settings.list_parts != 0)
      list_parts (&app, &settings);
    else
      filter_to (&app, &settings, argv[2]);
  }
  g_option_context_free (context);
  /* A pipeline that cannot be stopped still has threads. They use memory that clear()
   * frees, and libraries that exit handlers unload. */
  if (app.stuck) {
    fflush (stdout);
    _exit (app.failed);
  }
  clear (&app, &settings);
  return app.interrupted ? STATUS_INTERRUPTED : app.failed;
}
