/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A window in which a filter and the histogram of its result are seen at work:
 *
 *   window [FILE-OR-URI]
 *
 * The video plays over and over, without its sound; without an argument it is a test picture. The
 * kernel and sigma are chosen in the window. Exit status: 0 once the window is closed, 1 after an
 * error, which both the window and stderr state in a sentence. */

#include <math.h>

#include <glib-unix.h>
#include <gst/gst.h>
#include <gtk/gtk.h>

#define TEST_PICTURE \
  "videotestsrc pattern=zone-plate kx2=20 ky2=20 kt=2" \
  " ! video/x-raw,width=640,height=480,framerate=30/1"
#define VIDEO "uridecodebin name=in caps=video/x-raw"

/* gtksink takes BGRx or BGRA, and so videoconvert comes first: exactly what the window shows is
 * filtered and counted. */
#define FILTER \
  " ! videoconvert ! cudasepconv name=filter" \
  " ! cudahisto bins=64 interval=0 message-bins=bytes ! gtksink name=sink"

struct app
{
  GtkWidget *bar, *sentence, *histogram;
  GstElement *pipeline, *filter;
  GstStructure *counted; /* the newest frame's; NULL before the first */
  const gchar *name;     /* of what is played */
  gboolean failed;
};

static void
show_error (struct app *app, GError *error)
{
  gchar *sentence = g_strdup_printf ("%s: %s", app->name, error->message);

  g_printerr ("window: %s\n", sentence);
  gtk_label_set_text (GTK_LABEL (app->sentence), sentence);
  gtk_widget_show_all (app->bar);
  app->failed = TRUE;
  g_free (sentence);
  g_error_free (error);
}

/* Fills the area under the counts of a component. Heights are square roots of the counts, so that
 * the few high peaks of most pictures leave the rest visible. */
static void
draw_component (
    cairo_t *cairo, const GstStructure *component, double width, double height)
{
  const GValue *field = gst_structure_get_value (component, "counts");
  gsize size;
  const guint64 *counts = g_bytes_get_data (g_value_get_boxed (field), &size);
  const gsize bins = size / sizeof *counts;
  const double bar = width / (double) bins;
  guint64 most = 1;

  for (gsize i = 0; i < bins; i++)
    most = MAX (most, counts[i]);
  for (gsize i = 0; i < bins; i++) {
    const double tall = height * sqrt ((double) counts[i] / (double) most);

    cairo_rectangle (cairo, bar * (double) i, height - tall, bar, tall);
  }
  cairo_fill (cairo);
}

/* Red, green and blue add up to grey where they overlap. */
static gboolean
on_draw (GtkWidget *area, cairo_t *cairo, gpointer data)
{
  struct app *app = data;
  const GValue *components;

  cairo_set_source_rgb (cairo, 0.1, 0.1, 0.1);
  cairo_paint (cairo);
  if (app->counted == NULL)
    return TRUE;
  cairo_set_operator (cairo, CAIRO_OPERATOR_ADD);
  components = gst_structure_get_value (app->counted, "components");
  for (guint i = 0; i < gst_value_array_get_size (components); i++) {
    const GstStructure *component =
        gst_value_get_structure (gst_value_array_get_value (components, i));
    const gchar name = gst_structure_get_string (component, "name")[0];

    cairo_set_source_rgb (cairo, name == 'R' ? 0.6 : 0.05,
        name == 'G' ? 0.6 : 0.05, name == 'B' ? 0.6 : 0.05);
    draw_component (cairo, component, gtk_widget_get_allocated_width (area),
        gtk_widget_get_allocated_height (area));
  }
  return TRUE;
}

/* The main loop calls this, so that it may change widgets. */
static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  struct app *app = data;
  GError *error = NULL;

  (void) bus;
  if (gst_message_has_name (message, "cudahisto")) {
    gst_clear_structure (&app->counted);
    app->counted = gst_structure_copy (gst_message_get_structure (message));
    gtk_widget_queue_draw (app->histogram);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS) {
    gst_element_seek_simple (
        app->pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, NULL);
    show_error (app, error);
    gst_element_set_state (app->pipeline, GST_STATE_NULL);
    return G_SOURCE_REMOVE;
  }
  return G_SOURCE_CONTINUE;
}

/* Returns FALSE and shows an error if there is no such file or an element is missing. */
static gboolean
make_pipeline (struct app *app, const gchar *file)
{
  GError *error = NULL;
  gchar *uri = NULL;

  if (file != NULL)
    uri = gst_uri_is_valid (file) ? g_strdup (file)
                                  : gst_filename_to_uri (file, &error);
  if (error == NULL)
    app->pipeline = gst_parse_launch (
        uri != NULL ? VIDEO FILTER : TEST_PICTURE FILTER, &error);
  if (error != NULL)
    show_error (app, error);
  else
    app->filter = gst_bin_get_by_name (GST_BIN (app->pipeline), "filter");
  if (app->filter != NULL && uri != NULL)
    gst_child_proxy_set (GST_CHILD_PROXY (app->pipeline), "in::uri", uri, NULL);
  g_free (uri);
  return app->filter != NULL;
}

static void
on_kernel (GtkComboBox *kernels, gpointer data)
{
  struct app *app = data;

  gst_util_set_object_arg (
      G_OBJECT (app->filter), "kernel", gtk_combo_box_get_active_id (kernels));
}

static GtkWidget *
make_kernels (struct app *app)
{
  const gchar *const names[] = { "gaussian", "box", "unsharp", "sobel", "log" };
  GtkWidget *kernels = gtk_combo_box_text_new ();

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    gtk_combo_box_text_append (
        GTK_COMBO_BOX_TEXT (kernels), names[i], names[i]);
  g_signal_connect (kernels, "changed", G_CALLBACK (on_kernel), app);
  gtk_combo_box_set_active (GTK_COMBO_BOX (kernels), 0);
  return kernels;
}

/* The video on the left, in gtksink's own widget, and a column with everything else. A new sigma
 * may be set at any time: it is for the frames that come after it. */
static GtkWidget *
make_row (struct app *app)
{
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *video;
  GtkWidget *column = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *sigma =
      gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, 50, 0.1);

  g_object_bind_property (gtk_range_get_adjustment (GTK_RANGE (sigma)), "value",
      app->filter, "sigma", G_BINDING_SYNC_CREATE);
  gst_child_proxy_get (
      GST_CHILD_PROXY (app->pipeline), "sink::widget", &video, NULL);
  gtk_widget_set_size_request (video, 640, 480);
  app->histogram = gtk_drawing_area_new ();
  gtk_widget_set_size_request (app->histogram, 256, 128);
  g_signal_connect (app->histogram, "draw", G_CALLBACK (on_draw), app);
  gtk_container_add (GTK_CONTAINER (column), gtk_label_new ("kernel"));
  gtk_container_add (GTK_CONTAINER (column), make_kernels (app));
  gtk_container_add (GTK_CONTAINER (column), gtk_label_new ("sigma"));
  gtk_container_add (GTK_CONTAINER (column), sigma);
  gtk_box_pack_start (GTK_BOX (column), app->histogram, TRUE, TRUE, 0);
  gtk_box_pack_start (GTK_BOX (row), video, TRUE, TRUE, 0);
  gtk_container_add (GTK_CONTAINER (row), column);
  gtk_container_set_border_width (GTK_CONTAINER (row), 12);
  gtk_widget_show_all (row);
  g_object_unref (video);
  return row;
}

/* Also on Ctrl-C. The window stays until the pipeline, which draws in it, has stopped. */
static gboolean
on_close (void)
{
  gtk_main_quit ();
  return TRUE;
}

/* A window with an info bar, which is hidden, above the place for everything else. */
static GtkBox *
make_window (struct app *app)
{
  GtkWidget *window = gtk_window_new (GTK_WINDOW_TOPLEVEL);
  GtkWidget *page = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *content;

  app->bar = gtk_info_bar_new ();
  app->sentence = gtk_label_new (NULL);
  content = gtk_info_bar_get_content_area (GTK_INFO_BAR (app->bar));
  gtk_label_set_line_wrap (GTK_LABEL (app->sentence), TRUE);
  gtk_info_bar_set_message_type (GTK_INFO_BAR (app->bar), GTK_MESSAGE_ERROR);
  gtk_container_add (GTK_CONTAINER (content), app->sentence);
  gtk_container_add (GTK_CONTAINER (page), app->bar);
  gtk_container_add (GTK_CONTAINER (window), page);
  g_signal_connect (window, "delete-event", G_CALLBACK (on_close), NULL);
  gtk_widget_show (page);
  gtk_widget_show (window);
  return GTK_BOX (page);
}

int
main (int argc, char **argv)
{
  struct app app = { 0 };
  GtkBox *page;

  gst_init (&argc, &argv);
  if (!gtk_init_check (&argc, &argv) || argc > 2) {
    g_printerr ("usage, on a display: window [FILE-OR-URI]\n");
    return 1;
  }
  app.name = argc > 1 ? argv[1] : "test picture";
  page = make_window (&app);
  if (make_pipeline (&app, argv[1])) {
    GstBus *bus = gst_element_get_bus (app.pipeline);

    gtk_box_pack_start (page, make_row (&app), TRUE, TRUE, 0);
    gst_bus_add_watch (bus, on_message, &app);
    gst_object_unref (bus);
    gst_element_set_state (app.pipeline, GST_STATE_PLAYING);
  }
  g_unix_signal_add (SIGINT, G_SOURCE_FUNC (on_close), NULL);
  gtk_main ();
  if (app.pipeline != NULL)
    gst_element_set_state (app.pipeline, GST_STATE_NULL);
  gst_clear_object (&app.filter);
  gst_clear_object (&app.pipeline);
  gst_clear_structure (&app.counted);
  return app.failed ? 1 : 0;
}
