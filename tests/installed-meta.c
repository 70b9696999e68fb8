/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads GstCudaHistogramMeta as an application does: with the installed header, without
 * linking to the plugin. Exit status 0: all frames have counts that add up to the
 * number of samples of their component. */
#include <gst/cudasepconv/gstcudahistogrammeta.h>

#define WIDTH 33
#define HEIGHT 21
#define FRAMES 3

static guint good_frames;

static gboolean
adds_up (const GstCudaHistogramMeta *meta, guint i)
{
  const guint64 samples = meta->component[i].component == 0
      ? WIDTH * HEIGHT
      : ((WIDTH + 1) / 2) * ((HEIGHT + 1) / 2);
  guint64 sum = 0;

  for (guint bin = 0; bin < meta->bins; bin++)
    sum += meta->component[i].counts[bin];
  return sum == samples && meta->component[i].depth == 8;
}

static void
on_frame (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer data)
{
  GstCudaHistogramMeta *meta = gst_buffer_get_cuda_histogram_meta (buffer);

  (void) sink;
  (void) pad;
  (void) data;
  if (meta != NULL && meta->bins == 100 && meta->n_components == 3
      && adds_up (meta, 0) && adds_up (meta, 1) && adds_up (meta, 2))
    good_frames++;
}

int
main (int argc, char **argv)
{
  GstElement *pipeline, *sink;
  GstBus *bus;
  GstMessage *message;
  gboolean ended;

  gst_init (&argc, &argv);
  pipeline = gst_parse_launch (
      "videotestsrc num-buffers=" G_STRINGIFY (FRAMES) " ! video/x-raw,format=NV12,width=" G_STRINGIFY (
          WIDTH) ",height=" G_STRINGIFY (HEIGHT) " ! cudahisto bins=100 interval=0 post-messages=false"
                                                 " attach-meta=true ! fakesink name=sink signal-handoffs=true",
      NULL);
  if (pipeline == NULL)
    return 1;
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_signal_connect (sink, "handoff", G_CALLBACK (on_frame), NULL);
  gst_object_unref (sink);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (
      bus, 30 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  ended = message != NULL && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
  gst_clear_message (&message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_print ("%u of %d frames carry counts that add up\n", good_frames, FRAMES);
  return ended && good_frames == FRAMES ? 0 : 1;
}
