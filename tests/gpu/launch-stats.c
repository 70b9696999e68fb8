/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a pipeline, and prints the statistics of this plugin's elements.
 *
 *   launch-stats PIPELINE-DESCRIPTION
 *
 * The description is as for gst-launch-1.0. At EOS prints one line for each element:
 * its name and its `stats`. Exit status: 0, 1 after an error, 2 for an invalid
 * description. */

#include <gst/gst.h>

#define STATS "application/x-gpu-filter-stats"

/* Sinks have a property `stats` of another kind. */
static void
print_stats (const GValue *item, gpointer user)
{
  GstElement *element = g_value_get_object (item);
  GstStructure *stats = NULL;

  (void) user;
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), "stats"))
    g_object_get (element, "stats", &stats, NULL);
  if (stats != NULL && gst_structure_has_name (stats, STATS)) {
    gchar *text = gst_structure_to_string (stats);

    g_print ("%s: %s\n", GST_ELEMENT_NAME (element), text);
    g_free (text);
  }
  g_clear_pointer (&stats, gst_structure_free);
}

/* Waits for EOS; returns FALSE after an error. */
static gboolean
run (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  GError *error = NULL;
  gchar *detail = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (
      bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, &detail);
    g_printerr ("%s: %s (%s)\n", GST_MESSAGE_SRC_NAME (message), error->message,
        detail != NULL ? detail : "");
    g_free (detail);
  }
  gst_message_unref (message);
  gst_object_unref (bus);
  if (error == NULL)
    return TRUE;
  g_error_free (error);
  return FALSE;
}

int
main (int argc, char **argv)
{
  GstIterator *elements;
  GstElement *pipeline;
  GError *error = NULL;
  gboolean ok;

  gst_init (&argc, &argv);
  pipeline = gst_parse_launchv_full (
      (const gchar **) argv + 1, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (pipeline == NULL || !GST_IS_PIPELINE (pipeline)) {
    g_printerr ("launch-stats: %s\n",
        error != NULL ? error->message : "one element is no pipeline");
    return 2;
  }
  gst_object_ref_sink (pipeline);
  elements = gst_bin_iterate_recurse (GST_BIN (pipeline));
  ok = run (pipeline);
  if (ok)
    gst_iterator_foreach (elements, print_stats, NULL);
  gst_iterator_free (elements);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  return ok ? 0 : 1;
}
