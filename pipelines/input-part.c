/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "input-part.h"
#include "input-streams.h"

#define SEEK_FLAGS \
  (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT | GST_SEEK_FLAG_SNAP_BEFORE)
#define PREROLL_LIMIT (INPUT_STREAMS_LIMIT * GST_SECOND)

gboolean
input_part_parse (struct input_part *part, const gchar *text)
{
  gchar **times = g_strsplit (text, ":", 2);
  gboolean ok;

  part->to = GST_CLOCK_TIME_NONE;
  ok = g_strv_length (times) == 2
      && g_ascii_string_to_unsigned (
          times[0], 10, 0, G_MAXINT64, &part->from, NULL)
      && (times[1][0] == '\0'
          || g_ascii_string_to_unsigned (
              times[1], 10, part->from + 1, G_MAXINT64, &part->to, NULL));
  part->saw_from = part->from == 0;
  g_strfreev (times);
  return ok;
}

static void
take_segment (GstPad *pad, GstSegment *segment)
{
  GstEvent *event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);

  gst_segment_init (segment, GST_FORMAT_TIME);
  if (event)
    gst_event_copy_segment (event, segment);
  gst_clear_event (&event);
}

gboolean
input_part_begin (struct input_part *part, GstPad *pad)
{
  take_segment (pad, &part->segment);
  return part->from > 0;
}

/* Seeks to the key frame before the part, since decoders such as libav of FFmpeg 7
 * drop the first frame of an open group of pictures. The frames before the part are
 * decoded, and dropped. */
gboolean
input_part_seek (const struct input_part *part, GstPad *pad)
{
  return gst_pad_send_event (pad,
      gst_event_new_seek (1.0, GST_FORMAT_TIME, SEEK_FLAGS, GST_SEEK_TYPE_SET,
          (gint64) part->from - 1, GST_SEEK_TYPE_NONE, -1));
}

static GstPadProbeReturn
on_event (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const struct input_part *part = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  const gchar *id;

  (void) pad;
  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_COLLECTION)
    return GST_PAD_PROBE_DROP;
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    GST_PAD_PROBE_INFO_DATA (info) = gst_event_new_segment (&part->segment);
    gst_event_unref (event);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START) {
    /* Without its GstStream: a file can hold neither a GstStream nor a stream
     * collection. */
    gst_event_parse_stream_start (event, &id);
    GST_PAD_PROBE_INFO_DATA (info) = gst_event_new_stream_start (id);
    gst_event_unref (event);
  }
  return GST_PAD_PROBE_OK;
}

void
input_part_prepare_events (struct input_part *part, GstPad *pad)
{
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, part, NULL);
}

enum input_part_place
input_part_place (struct input_part *part, const GstBuffer *buffer)
{
  const GstClockTime at = gst_segment_to_stream_time (
      &part->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));

  if (GST_CLOCK_TIME_IS_VALID (at)) {
    part->saw_from |= at == part->from;
    part->ended |= at == part->to;
    if (at < part->from)
      return INPUT_PART_BEFORE;
    if (at >= part->to)
      return INPUT_PART_AFTER;
  }
  /* A frame without a time belongs where the frame before it lies. */
  if (part->ended)
    return INPUT_PART_AFTER;
  return part->saw_from ? INPUT_PART_INSIDE : INPUT_PART_BEFORE;
}

gboolean
input_part_is_exact (const struct input_part *part)
{
  return part->saw_from && (part->ended || !GST_CLOCK_TIME_IS_VALID (part->to));
}

/* The first frame after a seek. Written by the streaming thread before the pipeline
 * has prerolled, read by the main thread after that. */
struct arrival
{
  gboolean here, is_key;
  GstClockTime at;        /* stream time */
  GstClockTimeDiff shift; /* timestamps of the buffers minus stream time */
};

/* A probe in front of the sink, since the sink drops frames whose decoding time lies
 * before the time of the seek. */
static GstPadProbeReturn
on_data (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  struct arrival *arrival = data;
  GstSegment segment;
  GstBuffer *buffer;

  if (!(info->type & GST_PAD_PROBE_TYPE_BUFFER)) {
    if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info))
        == GST_EVENT_FLUSH_STOP)
      arrival->here = FALSE;
    return GST_PAD_PROBE_OK;
  }
  if (arrival->here)
    return GST_PAD_PROBE_OK;
  buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  take_segment (pad, &segment);
  arrival->here = TRUE;
  arrival->shift = GST_CLOCK_DIFF (segment.time, segment.start);
  arrival->at = GST_BUFFER_PTS (buffer) - (GstClockTime) arrival->shift;
  arrival->is_key = GST_BUFFER_PTS_IS_VALID (buffer)
      && !GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  return GST_PAD_PROBE_OK;
}

/* Runs when data flows through a pad, or it ends without any. Posts an error if no pad
 * has been linked to the sink by then. */
static GstPadProbeReturn
on_begin (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstPad *takes;

  if (!input_streams_begin (info))
    return GST_PAD_PROBE_OK;
  takes = gst_element_get_static_pad (data, "sink");
  if (!gst_pad_is_linked (takes))
    GST_ELEMENT_ERROR (GST_OBJECT_PARENT (pad), STREAM, WRONG_TYPE,
        (INPUT_STREAMS_NO_VIDEO), (NULL));
  gst_object_unref (takes);
  return GST_PAD_PROBE_REMOVE;
}

static void
on_pad (GstElement *parser, GstPad *pad, gpointer data)
{
  GstElement *sink = data;
  GstPad *takes = gst_element_get_static_pad (sink, "sink");

  (void) parser;
  if (!gst_pad_is_linked (takes) && input_streams_is_video (pad))
    gst_pad_link (pad, takes);
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_DATA_DOWNSTREAM, on_begin, sink, NULL);
  gst_object_unref (takes);
}

/* Whether the demuxer gives buffers the same times after a seek as without one. */
static gboolean
seeks_exactly (GstElement *parser)
{
  static const gchar *const demuxers[] = { "qtdemux", "matroskademux", NULL };
  GstIterator *iterator = gst_bin_iterate_recurse (GST_BIN (parser));
  GValue item = G_VALUE_INIT;
  gboolean found = FALSE;

  while (gst_iterator_next (iterator, &item) == GST_ITERATOR_OK) {
    GstElementFactory *factory =
        gst_element_get_factory (g_value_get_object (&item));

    found |= factory
        && g_strv_contains (demuxers,
            gst_plugin_feature_get_name (GST_PLUGIN_FEATURE (factory)));
    g_value_unset (&item);
  }
  gst_iterator_free (iterator);
  return found;
}

/* Waits until the first frame or the end comes. FALSE with an error: the pipeline has
 * failed; without: nothing came within PREROLL_LIMIT. */
static gboolean
prerolls (GstElement *pipeline, GError **error)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, PREROLL_LIMIT, GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR);
  const gboolean ok =
      message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ASYNC_DONE;

  if (message && !ok)
    gst_message_parse_error (message, error, NULL);
  g_clear_pointer (&message, gst_message_unref);
  gst_object_unref (bus);
  return ok;
}

/* Seeks and waits for the first frame there. FALSE: that is no key frame, or does not
 * come. */
static gboolean
arrives (GstElement *pipeline, GstClockTime at, const struct arrival *arrival,
    GError **error)
{
  return gst_element_seek_simple (
             pipeline, GST_FORMAT_TIME, SEEK_FLAGS, (gint64) at)
      && prerolls (pipeline, error) && arrival->here && arrival->is_key;
}

/* Adds the times of the key frames to cut at. Adds none if the distance between
 * timestamps and stream time changes within the file, as with edit lists. */
static void
find_cuts (GstElement *pipeline, const struct arrival *arrival,
    GstClockTime length, GArray *cuts, GError **error)
{
  const GstClockTimeDiff shift = arrival->shift;
  GstClockTime last = 0;
  gint64 duration = 0;

  if (!gst_element_query_duration (pipeline, GST_FORMAT_TIME, &duration))
    return;
  /* A last part of less than half the length is not worth a cut. */
  for (GstClockTime wanted = length; wanted + length / 2 < (guint64) duration;
       wanted += length) {
    if (!arrives (pipeline, wanted, arrival, error))
      return;
    if (arrival->shift != shift) {
      g_array_set_size (cuts, 0);
      return;
    }
    if (arrival->at > last) {
      last = arrival->at;
      g_array_append_val (cuts, last);
    }
  }
}

void
input_part_print_all (const GArray *cuts)
{
  g_print ("0:");
  for (guint i = 0; i < cuts->len; i++) {
    const GstClockTime at = g_array_index (cuts, GstClockTime, i);

    g_print ("%" G_GUINT64_FORMAT "\n%" G_GUINT64_FORMAT ":", at, at);
  }
  g_print ("\n");
}

GArray *
input_part_find_cuts (const gchar *path, GstClockTime length, GError **error)
{
  GArray *cuts = g_array_new (FALSE, FALSE, sizeof (GstClockTime));
  struct arrival arrival = { 0 };
  GstElement *pipeline, *parser, *source, *sink;
  gboolean stuck = FALSE;
  GError *found = NULL;
  GstPad *pad;

  pipeline = gst_parse_launch (
      "filesrc name=source ! parsebin name=parser  fakesink name=sink", error);
  if (!pipeline) {
    g_array_unref (cuts);
    return NULL;
  }
  source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  parser = gst_bin_get_by_name (GST_BIN (pipeline), "parser");
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  pad = gst_element_get_static_pad (sink, "sink");
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM
          | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
      on_data, &arrival, NULL);
  gst_object_unref (pad);
  g_object_set (source, "location", path, NULL);
  g_signal_connect (parser, "pad-added", G_CALLBACK (on_pad), sink);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  if (!prerolls (pipeline, &found)) {
    stuck = !found;
    if (stuck)
      g_set_error_literal (&found, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
          INPUT_STREAMS_LATE);
  } else if (arrival.here && seeks_exactly (parser)) {
    find_cuts (pipeline, &arrival, length, cuts, &found);
  }
  if (found) {
    g_propagate_error (error, found);
    g_clear_pointer (&cuts, g_array_unref);
  }
  gst_object_unref (sink);
  gst_object_unref (parser);
  gst_object_unref (source);
  if (!stuck) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
  return cuts;
}
