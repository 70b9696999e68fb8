/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A player whose picture is blurred while it plays:
 *
 *   play FILE-OR-URI [SINK]
 *
 * A number on stdin is the new sigma, from 0, which is sharp, to 500. SINK is where the video
 * goes, as in a launch line; without it a window shows it. Exit status: 0 at the end of the
 * video; 1 and a sentence on stderr. */

#include <gst/gst.h>

struct app
{
  GMainLoop *loop;
  GstElement *player, *blur;
  gboolean failed;
};

/* A property may be set at any time, on any thread; the next frame takes it. */
static gboolean
on_line (GIOChannel *input, GIOCondition condition, gpointer data)
{
  struct app *app = data;
  gchar *line = NULL, *end;
  gdouble sigma;

  (void) condition;
  if (g_io_channel_read_line (input, &line, NULL, NULL, NULL)
      != G_IO_STATUS_NORMAL)
    return G_SOURCE_REMOVE;
  sigma = g_ascii_strtod (line, &end);
  if (end == line || !(sigma >= 0 && sigma <= 500))
    g_printerr ("play: sigma is a number from 0 to 500\n");
  else
    g_object_set (app->blur, "sigma", sigma, NULL);
  g_free (line);
  return G_SOURCE_CONTINUE;
}

static void
on_error (GstBus *bus, GstMessage *message, gpointer data)
{
  struct app *app = data;
  GError *error = NULL;

  (void) bus;
  gst_message_parse_error (message, &error, NULL);
  g_printerr ("play: %s\n", error->message);
  g_error_free (error);
  app->failed = TRUE;
  g_main_loop_quit (app->loop);
}

/* While the pipeline still plays: what was in use is known. */
static void
on_end (GstBus *bus, GstMessage *message, gpointer data)
{
  struct app *app = data;
  GstStructure *stats = NULL;
  guint64 frames = 0;
  gchar *method = NULL;
  gdouble sigma;

  (void) bus;
  (void) message;
  g_object_get (app->blur, "stats", &stats, "active-method", &method, "sigma",
      &sigma, NULL);
  gst_structure_get_uint64 (stats, "frames-out", &frames);
  g_print ("frames   %" G_GUINT64_FORMAT ", method %s, sigma %g at the end\n",
      frames, method, sigma);
  gst_structure_free (stats);
  g_free (method);
  g_main_loop_quit (app->loop);
}

static void
run (struct app *app)
{
  GstBus *bus = gst_element_get_bus (app->player);
  GIOChannel *input = g_io_channel_unix_new (0);

  g_io_add_watch (input, G_IO_IN | G_IO_HUP, on_line, app);
  gst_bus_add_signal_watch (bus);
  g_signal_connect (bus, "message::error", G_CALLBACK (on_error), app);
  g_signal_connect (bus, "message::eos", G_CALLBACK (on_end), app);
  app->loop = g_main_loop_new (NULL, FALSE);
  gst_element_set_state (app->player, GST_STATE_PLAYING);
  g_main_loop_run (app->loop);
  gst_element_set_state (app->player, GST_STATE_NULL);
  g_main_loop_unref (app->loop);
  gst_bus_remove_signal_watch (bus);
  g_io_channel_unref (input);
  gst_object_unref (bus);
}

/* playbin decodes, converts and synchronises; its video filter is one element. */
static gboolean
make_player (struct app *app, const gchar *name, const gchar *sink)
{
  gchar *uri = gst_uri_is_valid (name) ? g_strdup (name)
                                       : gst_filename_to_uri (name, NULL);

  app->player = gst_element_factory_make ("playbin", NULL);
  app->blur = gst_element_factory_make ("cudasepconv", NULL);
  if (uri == NULL || app->player == NULL || app->blur == NULL) {
    g_printerr (
        "play: GStreamer has no playbin or no cudasepconv; set GST_PLUGIN_PATH\n");
    g_free (uri);
    return FALSE;
  }
  g_object_set (app->player, "uri", uri, "video-filter", app->blur, NULL);
  g_free (uri);
  if (sink != NULL) {
    GError *error = NULL;
    GstElement *output = gst_parse_bin_from_description (sink, TRUE, &error);

    if (error != NULL) {
      g_printerr ("play: %s: %s\n", sink, error->message);
      g_error_free (error);
      gst_clear_object (&output);
      return FALSE;
    }
    g_object_set (app->player, "video-sink", output, NULL);
  }
  return TRUE;
}

int
main (int argc, char **argv)
{
  struct app app = { 0 };

  gst_init (&argc, &argv);
  if (argc < 2 || argc > 3) {
    g_printerr ("usage: play FILE-OR-URI [SINK]\n");
    return 1;
  }
  if (make_player (&app, argv[1], argv[2]))
    run (&app);
  else
    app.failed = TRUE;
  gst_clear_object (&app.player); /* and its filter */
  return app.failed ? 1 : 0;
}
