/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault-run.h"

#include <string.h>
#include <unistd.h>

static gboolean
is_ours (GstObject *source)
{
  GstElementFactory *factory = GST_IS_ELEMENT (source)
      ? gst_element_get_factory (GST_ELEMENT (source))
      : NULL;

  return factory != NULL
      && (g_str_has_prefix (GST_OBJECT_NAME (factory), "cuda")
          || g_str_has_prefix (GST_OBJECT_NAME (factory), "own"));
}

static void
forget_alive (gpointer user, GObject *object)
{
  FaultRun *run = user;

  (void) object;
  g_atomic_int_add (&run->alive, -1);
}

static void
forget_buffer (gpointer user, GstMiniObject *buffer)
{
  FaultRun *run = user;

  (void) buffer;
  g_atomic_int_add (&run->alive, -1);
}

static void
watch_buffer (FaultRun *run, GstBuffer *buffer)
{
  g_atomic_int_inc (&run->alive);
  gst_mini_object_weak_ref (GST_MINI_OBJECT_CAST (buffer), forget_buffer, run);
}

static GstPadProbeReturn
on_input (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  (void) pad;
  watch_buffer (user, GST_PAD_PROBE_INFO_BUFFER (info));
  return GST_PAD_PROBE_OK;
}

static void
on_frame (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer user)
{
  FaultRun *run = user;
  const GstClockTime time = GST_BUFFER_PTS (buffer);
  gpointer bytes;
  gsize size;

  (void) sink;
  (void) pad;
  watch_buffer (run, buffer);
  gst_buffer_extract_dup (buffer, 0, (gsize) -1, &bytes, &size);
  g_mutex_lock (&run->lock);
  g_ptr_array_add (run->frames, g_bytes_new_take (bytes, size));
  g_array_append_val (run->times, time);
  g_mutex_unlock (&run->lock);
}

/* The sentence and the debug text of an error or a warning. */
static char *
message_text (GstMessage *message)
{
  GError *error;
  char *debug, *text;

  message_parse (message, &error, &debug);
  text = g_strdup_printf ("%s\n%s", error->message, debug ? debug : "");
  g_error_free (error);
  g_free (debug);
  return text;
}

static GstBusSyncReply
on_message (GstBus *bus, GstMessage *message, gpointer user)
{
  const GstStructure *structure = gst_message_get_structure (message);
  FaultRun *run = user;

  (void) bus;
  g_mutex_lock (&run->lock);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    run->failures++;
    if (is_ours (GST_MESSAGE_SRC (message)))
      g_ptr_array_add (run->errors, message_text (message));
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
    g_ptr_array_add (run->warnings, message_text (message));
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT
      && gst_structure_has_name (structure, "cudahisto")) {
    g_ptr_array_add (run->reports, gst_structure_to_string (structure));
  }
  g_mutex_unlock (&run->lock);
  return GST_BUS_PASS;
}

static void
watch_elements (FaultRun *run)
{
  GstIterator *elements = gst_bin_iterate_elements (GST_BIN (run->pipeline));
  GValue item = G_VALUE_INIT;

  while (gst_iterator_next (elements, &item) == GST_ITERATOR_OK) {
    GstElement *element = g_value_get_object (&item);
    GstPad *pad = gst_element_get_static_pad (element, "sink");

    g_atomic_int_inc (&run->alive);
    g_object_weak_ref (G_OBJECT (element), forget_alive, run);
    if (is_ours (GST_OBJECT (element)))
      gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_input, run, NULL);
    gst_clear_object (&pad);
    g_value_reset (&item);
  }
  g_value_unset (&item);
  gst_iterator_free (elements);
}

FaultRun *
fault_run_new (const char *description)
{
  FaultRun *run = g_new0 (FaultRun, 1);
  GError *error = NULL;
  GstElement *sink;

  run->of_v210 = strstr (description, "format=v210") != NULL;
  run->pipeline = gst_parse_launch (description, &error);
  expect (error == NULL, "%s: %s", description, error->message);
  g_mutex_init (&run->lock);
  run->frames = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  run->times = g_array_new (FALSE, FALSE, sizeof (GstClockTime));
  run->reports = g_ptr_array_new_with_free_func (g_free);
  run->errors = g_ptr_array_new_with_free_func (g_free);
  run->warnings = g_ptr_array_new_with_free_func (g_free);
  run->bus = gst_element_get_bus (run->pipeline);
  gst_bus_set_sync_handler (run->bus, on_message, run, NULL);
  watch_elements (run);
  sink = gst_bin_get_by_name (GST_BIN (run->pipeline), "sink");
  g_object_set (sink, "signal-handoffs", TRUE, NULL);
  g_signal_connect (sink, "handoff", G_CALLBACK (on_frame), run);
  gst_object_unref (sink);
  return run;
}

/* A hung process cannot continue: the signal's handler prints the test and its
 * context. */
void
fault_run_play (FaultRun *run)
{
  const GstMessageType ends = GST_MESSAGE_EOS | GST_MESSAGE_ERROR;
  GstMessage *end = NULL;

  g_ptr_array_set_size (run->frames, 0);
  g_array_set_size (run->times, 0);
  g_ptr_array_set_size (run->reports, 0);
  g_ptr_array_set_size (run->errors, 0);
  g_ptr_array_set_size (run->warnings, 0);
  run->failures = 0;
  alarm (FAULT_RUN_SECONDS);
  if (gst_element_set_state (run->pipeline, GST_STATE_PLAYING)
      != GST_STATE_CHANGE_FAILURE)
    end = gst_bus_timed_pop_filtered (run->bus, GST_CLOCK_TIME_NONE, ends);
  g_clear_pointer (&end, gst_message_unref);
  expect (gst_element_set_state (run->pipeline, GST_STATE_NULL)
          == GST_STATE_CHANGE_SUCCESS,
      "going to NULL failed");
}

void
fault_run_end (FaultRun *run)
{
  gst_bus_set_sync_handler (run->bus, NULL, NULL, NULL);
  gst_object_unref (run->bus);
  gst_object_unref (run->pipeline);
  /* Threads of GStreamer's pool may be about to release objects that they ran for. */
  for (int i = 0; i < 200 && g_atomic_int_get (&run->alive) != 0; i++)
    g_usleep (10000);
  expect (g_atomic_int_get (&run->alive) == 0,
      "%d elements and buffers are left", g_atomic_int_get (&run->alive));
}

void
fault_run_free (FaultRun *run)
{
  g_ptr_array_unref (run->warnings);
  g_ptr_array_unref (run->errors);
  g_ptr_array_unref (run->reports);
  g_array_unref (run->times);
  g_ptr_array_unref (run->frames);
  g_mutex_clear (&run->lock);
  g_free (run);
}
