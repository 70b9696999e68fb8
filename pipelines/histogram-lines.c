/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints the histograms of a video as JSON, one object a line.
 *
 *   histogram-lines [--bins N] [--interval SECONDS | --every-frame]
 *       [--planes PLANES] [--backend BACKEND] [INPUT]
 *
 * A complete application around cudahisto: it plays a file, a URI, a camera or a
 * test picture, and turns each message of the element into a line, with all the
 * fields that the message has. Exit status: 0 when INPUT has ended, else 1 and one
 * sentence on stderr.
 *
 * Messages are taken where they are posted, on a thread of the pipeline: a slow reader
 * of the lines slows the pipeline down, and nothing piles up on the bus. */

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <gst/gst.h>

#include "input-streams.h"

struct app
{
  GstElement *pipeline; /* NULL again if it is left to the end of the process */
  const gchar *input;   /* as errors name it */
  gchar *missing;       /* name of the format whose plugin is missing */
  gboolean failed;

  /* Owned by the thread that posts; the main thread reads them after the last message
   * of cudahisto. */
  guint64 lines;
  gint write_error; /* errno; 0: none */
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
    g_printerr ("histogram-lines: %s\n", text);
    g_free (text);
  }
  app->failed = TRUE;
}

/* JSON */

static void
append_string (GString *line, const gchar *text)
{
  g_string_append_c (line, '"');
  for (const gchar *c = text; *c != '\0'; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_printf (line, "\\%c", *c);
    else if ((guchar) *c < 0x20)
      g_string_append_printf (line, "\\u%04x", (guint) *c);
    else
      g_string_append_c (line, *c);
  }
  g_string_append_c (line, '"');
}

/* Appends the shorter of two notations that reads back as the same number. The locale
 * has no effect. */
static void
append_double (GString *line, gdouble number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (number)) {
    g_string_append (line, "null");
    return;
  }
  g_ascii_formatd (text, sizeof text, "%.15g", number);
  if (g_ascii_strtod (text, NULL) < number
      || g_ascii_strtod (text, NULL) > number)
    g_ascii_formatd (text, sizeof text, "%.17g", number);
  g_string_append (line, text);
}

static void append_structure (GString *line, const GstStructure *structure);

static void
append_value (GString *line, const GValue *value)
{
  if (GST_VALUE_HOLDS_ARRAY (value)) {
    g_string_append_c (line, '[');
    for (guint i = 0; i < gst_value_array_get_size (value); i++) {
      g_string_append (line, i > 0 ? "," : "");
      append_value (line, gst_value_array_get_value (value, i));
    }
    g_string_append_c (line, ']');
  } else if (GST_VALUE_HOLDS_STRUCTURE (value)) {
    append_structure (line, gst_value_get_structure (value));
  } else if (G_VALUE_HOLDS_BOOLEAN (value)) {
    g_string_append (line, g_value_get_boolean (value) ? "true" : "false");
  } else if (G_VALUE_HOLDS_INT (value)) {
    g_string_append_printf (line, "%d", g_value_get_int (value));
  } else if (G_VALUE_HOLDS_UINT (value)) {
    g_string_append_printf (line, "%u", g_value_get_uint (value));
  } else if (G_VALUE_HOLDS_UINT64 (value)) {
    const guint64 number = g_value_get_uint64 (value);

    /* An unknown time; counts never reach this value. */
    if (number == GST_CLOCK_TIME_NONE)
      g_string_append (line, "null");
    else
      g_string_append_printf (line, "%" G_GUINT64_FORMAT, number);
  } else if (G_VALUE_HOLDS_DOUBLE (value)) {
    append_double (line, g_value_get_double (value));
  } else {
    gchar *text = G_VALUE_HOLDS_STRING (value) ? g_value_dup_string (value)
                                               : gst_value_serialize (value);

    append_string (line, text != NULL ? text : "");
    g_free (text);
  }
}

static void
append_structure (GString *line, const GstStructure *structure)
{
  g_string_append_c (line, '{');
  for (gint i = 0; i < gst_structure_n_fields (structure); i++) {
    const gchar *name = gst_structure_nth_field_name (structure, (guint) i);

    g_string_append (line, i > 0 ? "," : "");
    append_string (line, name);
    g_string_append_c (line, ':');
    append_value (line, gst_structure_get_value (structure, name));
  }
  g_string_append_c (line, '}');
}

/* Messages */

/* On the thread that posts. */
static GstBusSyncReply
on_posted (GstBus *bus, GstMessage *message, gpointer data)
{
  struct app *app = data;
  GString *line;

  if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_ELEMENT
      || !gst_message_has_name (message, "cudahisto"))
    return GST_BUS_PASS;

  if (app->write_error == 0) {
    line = g_string_new (NULL);
    append_structure (line, gst_message_get_structure (message));
    g_string_append_c (line, '\n');
    if (fwrite (line->str, 1, line->len, stdout) == line->len
        && fflush (stdout) == 0) {
      app->lines++;
    } else {
      app->write_error = errno;
      gst_bus_post (bus,
          gst_message_new_application (
              NULL, gst_structure_new_empty ("cannot-write")));
    }
    g_string_free (line, TRUE);
  }
  gst_message_unref (message);
  return GST_BUS_DROP;
}

static void
on_error (struct app *app, GstMessage *message)
{
  GError *error = NULL;

  gst_message_parse_error (message, &error, NULL);
  if (app->missing != NULL)
    fail (
        app, "%s: %s (missing: %s)", app->input, error->message, app->missing);
  else
    fail (app, "%s: %s", app->input, error->message);
  g_clear_error (&error);
}

static void
on_warning (struct app *app, GstMessage *message)
{
  GError *error = NULL;

  gst_message_parse_warning (message, &error, NULL);
  /* The decoder has shown all streams, and none of them could be linked. */
  if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_DELAYED_LINK))
    fail (app, "%s: there is no video in it that can be decoded%s%s%s",
        app->input, app->missing != NULL ? " (missing: " : "",
        app->missing != NULL ? app->missing : "",
        app->missing != NULL ? ")" : "");
  else
    g_printerr ("%s: %s\n", GST_MESSAGE_SRC_NAME (message), error->message);
  g_clear_error (&error);
}

/* Runs to the end of the input or to the first error. `limit`: time until the first
 * frame must have come. */
static void
run_pipeline (struct app *app, GstClockTime limit)
{
  GstBus *bus = gst_element_get_bus (app->pipeline);
  gboolean ended = FALSE;

  gst_bus_set_sync_handler (bus, on_posted, app, NULL);
  gst_element_set_state (app->pipeline, GST_STATE_PLAYING);
  while (!ended && !app->failed) {
    GstMessage *message = gst_bus_timed_pop_filtered (bus, limit,
        GST_MESSAGE_EOS | GST_MESSAGE_APPLICATION | GST_MESSAGE_ERROR
            | GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT
            | GST_MESSAGE_ASYNC_DONE);

    if (message == NULL) {
      fail (app, "%s: " INPUT_STREAMS_LATE, app->input);
      app->pipeline = NULL;
      break;
    }
    switch (GST_MESSAGE_TYPE (message)) {
      case GST_MESSAGE_ASYNC_DONE:
        limit = GST_CLOCK_TIME_NONE;
        break;
      case GST_MESSAGE_EOS:
      case GST_MESSAGE_APPLICATION:
        ended = TRUE;
        break;
      case GST_MESSAGE_ERROR:
        on_error (app, message);
        break;
      case GST_MESSAGE_WARNING:
        on_warning (app, message);
        break;
      case GST_MESSAGE_ELEMENT:
        if (gst_message_has_name (message, "missing-plugin") && !app->missing)
          app->missing = g_strdup (gst_structure_get_string (
              gst_message_get_structure (message), "name"));
        break;
      default:
        break;
    }
    gst_message_unref (message);
  }
  if (app->pipeline != NULL)
    gst_element_set_state (app->pipeline, GST_STATE_NULL);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_object_unref (bus);

  if (app->write_error != 0)
    fail (
        app, "the lines cannot be written: %s", g_strerror (app->write_error));
  else if (app->lines == 0)
    fail (app, "%s: no frame could be decoded", app->input);
}

/* Setting up */

/* Returns the URI of the input for uridecodebin, to be freed; cameras have URIs, too. */
static gchar *
input_uri (struct app *app, const gchar *input)
{
  GError *error = NULL;
  gchar *uri;

  if (gst_uri_is_valid (input))
    return g_strdup (input);
  if (g_access (input, R_OK) != 0) {
    fail (app, "%s: %s", input, g_strerror (errno));
    return NULL;
  }
  if (g_str_has_prefix (input, "/dev/video"))
    return g_strconcat ("v4l2://", input, NULL);
  uri = gst_filename_to_uri (input, &error);
  if (uri == NULL)
    fail (app, "%s: %s", input, error->message);
  g_clear_error (&error);
  return uri;
}

static gboolean
build_pipeline (struct app *app, const gchar *uri)
{
  GError *error = NULL;
  GstElement *source;

  /* The parser links the decoder's pad when it comes. */
  app->pipeline = gst_parse_launch_full (uri == NULL
          ? "videotestsrc name=source ! video/x-raw,format=I420"
            " ! cudahisto name=histogram message-bins=array ! fakesink"
          : "uridecodebin name=source ! videoconvert"
            " ! cudahisto name=histogram message-bins=array ! fakesink",
      NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (app->pipeline == NULL) {
    fail (app, "%s", error->message);
    g_clear_error (&error);
    return FALSE;
  }
  if (uri != NULL) {
    source = gst_bin_get_by_name (GST_BIN (app->pipeline), "source");
    g_object_set (source, "uri", uri, NULL);
    gst_object_unref (source);
  }
  return TRUE;
}

/* Sets a property of cudahisto as gst-launch-1.0 would; NULL leaves it. */
static void
set_property (struct app *app, const gchar *name, const gchar *text)
{
  GstElement *histogram;
  GParamSpec *pspec;
  GValue value = G_VALUE_INIT;

  if (text == NULL)
    return;
  histogram = gst_bin_get_by_name (GST_BIN (app->pipeline), "histogram");
  pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (histogram), name);
  g_value_init (&value, G_PARAM_SPEC_VALUE_TYPE (pspec));
  if (gst_value_deserialize (&value, text)
      && !g_param_value_validate (pspec, &value))
    g_object_set_property (G_OBJECT (histogram), name, &value);
  else
    fail (app,
        "--%s takes no \"%s\"; gst-inspect-1.0 cudahisto tells what it takes",
        name, text);
  g_value_unset (&value);
  gst_object_unref (histogram);
}

/* Converts seconds to the text of the property, in nanoseconds, to be freed. NULL: not
 * a number of seconds. */
static gchar *
interval_text (struct app *app, const gchar *seconds)
{
  gchar *end;
  const gdouble interval = g_ascii_strtod (seconds, &end);

  if (end == seconds || *end != '\0' || !(interval >= 0.0)
      || interval * GST_SECOND >= (gdouble) G_MAXINT64) {
    fail (app, "--interval takes seconds, not \"%s\"", seconds);
    return NULL;
  }
  return g_strdup_printf (
      "%" G_GUINT64_FORMAT, (guint64) (interval * GST_SECOND));
}

int
main (int argc, char **argv)
{
  struct app app = { .input = "videotestsrc" };
  /* Checked first: a file that is opened later may get the same descriptor. */
  const gboolean writable = fcntl (STDOUT_FILENO, F_GETFD) != -1;
  gchar *bins = NULL, *seconds = NULL, *planes = NULL, *backend = NULL;
  gchar *uri = NULL, *interval = NULL;
  gboolean every_frame = FALSE;
  const GOptionEntry options[] = { { "bins", 'b', 0, G_OPTION_ARG_STRING, &bins,
                                       "counters a component (default: 256)",
                                       "N" },
    { "interval", 'i', 0, G_OPTION_ARG_STRING, &seconds,
        "time between counted frames (default: 0.1)", "SECONDS" },
    { "every-frame", 'e', 0, G_OPTION_ARG_NONE, &every_frame,
        "count all frames, as --interval 0 does", NULL },
    { "planes", 'p', 0, G_OPTION_ARG_STRING, &planes,
        "color (default), luma, chroma, alpha or all", "PLANES" },
    { "backend", 0, 0, G_OPTION_ARG_STRING, &backend,
        "auto (default), cuda or cpu", "BACKEND" },
    { 0 } };
  GOptionContext *context = g_option_context_new ("[INPUT]");
  GError *error = NULL;

  /* For file names in other scripts. LC_CTYPE alone, so that numbers stay as JSON has
   * them. */
  setlocale (LC_CTYPE, "");
  g_option_context_set_summary (context,
      "Prints the histograms of INPUT as JSON, one object a line. INPUT is a"
      " file, a URI\nor a camera such as /dev/video0; without one it is a test"
      " picture, without end.");
  g_option_context_set_description (context,
      "Example:\n"
      "  histogram-lines --every-frame in.mp4 >lines.json\n");
  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fail (&app, "%s", error->message);
    goto done;
  }
  if (!writable) {
    fail (&app, "there is nothing to write to");
    goto done;
  }
  if (argc > 2 || (every_frame && seconds != NULL)) {
    fail (&app,
        argc > 2 ? "it takes one INPUT; --help tells more"
                 : "--interval and --every-frame exclude each other");
    goto done;
  }
  if (argc == 2) {
    app.input = argv[1];
    uri = input_uri (&app, app.input);
    if (uri == NULL)
      goto done;
  }
  if (!build_pipeline (&app, uri))
    goto done;

  if (every_frame || seconds != NULL)
    interval = interval_text (&app, every_frame ? "0" : seconds);
  set_property (&app, "bins", bins);
  set_property (&app, "interval", interval);
  set_property (&app, "planes", planes);
  set_property (&app, "backend", backend);
  if (!app.failed)
    run_pipeline (&app,
        uri != NULL && gst_uri_has_protocol (uri, "file")
            ? INPUT_STREAMS_LIMIT * GST_SECOND
            : GST_CLOCK_TIME_NONE);

done:
  gst_clear_object (&app.pipeline);
  g_option_context_free (context);
  g_clear_error (&error);
  g_free (app.missing);
  g_free (uri);
  g_free (interval);
  g_free (bins);
  g_free (seconds);
  g_free (planes);
  g_free (backend);
  return app.failed ? 1 : 0;
}
