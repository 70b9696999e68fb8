/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsthistomessage.h"

static void
take_array (GstStructure *structure, const guint64 *counts, gint bins)
{
  GValue array = G_VALUE_INIT, zero = G_VALUE_INIT;

  gst_value_array_init (&array, (guint) bins);
  g_value_init (&zero, G_TYPE_UINT64);
  for (gint i = 0; i < bins; i++) {
    GValue value = zero;

    g_value_set_uint64 (&value, counts[i]);
    gst_value_array_append_and_take_value (&array, &value);
  }
  gst_structure_take_value (structure, "bins", &array);
}

/* Adds the counters of component i as a part of the block, which is shared, not copied. */
static void
take_bytes (GstStructure *structure, const GstHistoComponents *components,
    gint i, GBytes *counts)
{
  const gsize size = (gsize) components->bins * sizeof (guint64);
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_BYTES);
  g_value_take_boxed (
      &value, g_bytes_new_from_bytes (counts, (gsize) i * size, size));
  gst_structure_take_value (structure, "counts", &value);
}

static GstStructure *
component_structure (const GstHistoStatistics *statistics,
    const GstHistoComponents *components, gint i, GBytes *counts,
    GstHistoMessageBins bins)
{
  const HistoStatistics *s = &statistics->component[i];
  GstStructure *structure = gst_structure_new ("component", "name",
      G_TYPE_STRING, components->component[i].name, "depth", G_TYPE_UINT,
      (guint) components->component[i].depth, "samples", G_TYPE_UINT64,
      (guint64) s->samples, "min", G_TYPE_DOUBLE, s->min, "max", G_TYPE_DOUBLE,
      s->max, "mean", G_TYPE_DOUBLE, s->mean, "stddev", G_TYPE_DOUBLE,
      s->stddev, "median", G_TYPE_DOUBLE, s->median, "p1", G_TYPE_DOUBLE, s->p1,
      "p99", G_TYPE_DOUBLE, s->p99, "entropy", G_TYPE_DOUBLE, s->entropy,
      "dark", G_TYPE_DOUBLE, s->dark, "bright", G_TYPE_DOUBLE, s->bright, NULL);

  if (bins != GST_HISTO_MESSAGE_BINS_BYTES)
    take_array (structure,
        gst_histo_components_counts_of (components, i, counts),
        components->bins);
  if (bins != GST_HISTO_MESSAGE_BINS_ARRAY)
    take_bytes (structure, components, i, counts);
  return structure;
}

/* Returns the structure of the message without the times. */
static GstStructure *
frame_structure (const GstHistoStatistics *statistics,
    const GstHistoComponents *components, GBytes *counts,
    GstHistoMessageBins bins)
{
  const Alarms *alarms = &statistics->alarms;
  GstStructure *structure = gst_structure_new ("cudahisto", "width", G_TYPE_INT,
      components->width, "height", G_TYPE_INT, components->height, "format",
      G_TYPE_STRING, components->format, "level", G_TYPE_DOUBLE, alarms->level,
      "spread", G_TYPE_DOUBLE, alarms->spread, "distance", G_TYPE_DOUBLE,
      alarms->distance, "too-dark", G_TYPE_BOOLEAN, (gboolean) alarms->too_dark,
      "too-bright", G_TYPE_BOOLEAN, (gboolean) alarms->too_bright, "flat",
      G_TYPE_BOOLEAN, (gboolean) alarms->flat, "scene-change", G_TYPE_BOOLEAN,
      (gboolean) alarms->scene_change, NULL);
  GValue array = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  for (gint i = 0; i < components->n_components; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (
        &value, component_structure (statistics, components, i, counts, bins));
    gst_value_array_append_and_take_value (&array, &value);
  }
  gst_structure_take_value (structure, "components", &array);
  return structure;
}

GstMessage *
gst_histo_message_new (GstBaseTransform *element, const GstBuffer *buffer,
    const GstHistoComponents *components, const GstHistoStatistics *statistics,
    GBytes *counts, GstHistoMessageBins bins)
{
  const GstSegment *segment = &element->segment;
  const GstClockTime time = GST_BUFFER_PTS (buffer);
  GstStructure *structure =
      frame_structure (statistics, components, counts, bins);
  GstClockTime stream_time = GST_CLOCK_TIME_NONE;
  GstClockTime running_time = GST_CLOCK_TIME_NONE;

  if (segment->format == GST_FORMAT_TIME) {
    stream_time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, time);
    running_time = gst_segment_to_running_time (segment, GST_FORMAT_TIME, time);
  }
  gst_structure_set (structure, "timestamp", GST_TYPE_CLOCK_TIME, time,
      "stream-time", GST_TYPE_CLOCK_TIME, stream_time, "running-time",
      GST_TYPE_CLOCK_TIME, running_time, "duration", GST_TYPE_CLOCK_TIME,
      GST_BUFFER_DURATION (buffer), NULL);
  return gst_message_new_element (GST_OBJECT (element), structure);
}
