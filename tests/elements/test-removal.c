/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removing the element from a playing pipeline and inserting it, as the documentation
 * shows: no frame is lost, repeated or out of order. */
#include "filter-fixture.h"

#define FRAMES 60
#define CHANGE_AT 20

typedef struct
{
  GstElement *pipeline, *filter;
  GstPad *before, *after; /* source and sink pad of the neighbours */
  gint change;            /* done or in progress */
  gint changed;           /* the pipeline has its new form */
  GstClockTime last;
  gint frames, disorder;
} Change;

static GstPadProbeReturn
count_frame (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  const GstClockTime pts = GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (probe));
  Change *change = user;

  (void) pad;
  if (change->frames > 0 && pts <= change->last)
    change->disorder++;
  change->last = pts;
  g_atomic_int_inc (&change->frames);
  return GST_PAD_PROBE_OK;
}

/* When EOS comes out of the filter, all its frames have come out. */
static GstPadProbeReturn
take_out (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  Change *change = user;

  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (probe)) != GST_EVENT_EOS)
    return GST_PAD_PROBE_PASS;
  gst_pad_remove_probe (pad, GST_PAD_PROBE_INFO_ID (probe));
  gst_element_set_state (change->filter, GST_STATE_NULL);
  gst_bin_remove (GST_BIN (change->pipeline), change->filter);
  g_atomic_int_set (&change->changed,
      gst_pad_link (change->before, change->after) == GST_PAD_LINK_OK);
  return GST_PAD_PROBE_DROP;
}

static GstPadProbeReturn
begin_to_take_out (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  Change *change = user;
  GstPad *sink, *src;

  gst_pad_remove_probe (pad, GST_PAD_PROBE_INFO_ID (probe));
  src = gst_element_get_static_pad (change->filter, "src");
  gst_pad_add_probe (src,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, take_out,
      change, NULL);
  gst_object_unref (src);
  sink = gst_element_get_static_pad (change->filter, "sink");
  gst_pad_unlink (pad, sink);
  gst_pad_send_event (sink, gst_event_new_eos ());
  gst_object_unref (sink);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
put_in (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  Change *change = user;
  GstPad *sink = gst_element_get_static_pad (change->filter, "sink");
  GstPad *src = gst_element_get_static_pad (change->filter, "src");

  gst_pad_remove_probe (pad, GST_PAD_PROBE_INFO_ID (probe));
  gst_pad_unlink (pad, change->after);
  gst_bin_add (GST_BIN (change->pipeline), change->filter);
  g_atomic_int_set (&change->changed,
      gst_pad_link (pad, sink) == GST_PAD_LINK_OK
          && gst_pad_link (src, change->after) == GST_PAD_LINK_OK
          && gst_element_sync_state_with_parent (change->filter));
  gst_object_unref (src);
  gst_object_unref (sink);
  return GST_PAD_PROBE_OK;
}

/* Runs 60 frames; `begin` is called on the streaming thread before frame 20, with the pad
 * before the filter's place blocked. */
static void
check_change (
    const char *line, const char *filter_settings, GstPadProbeCallback begin)
{
  Change change = { .last = GST_CLOCK_TIME_NONE };
  GstElement *before, *after;
  GstMessage *message;
  GstBus *bus;

  test_context ("%s", line);
  change.pipeline = gst_parse_launch (line, NULL);
  expect (change.pipeline != NULL, "no pipeline");
  before = gst_bin_get_by_name (GST_BIN (change.pipeline), "before");
  after = gst_bin_get_by_name (GST_BIN (change.pipeline), "after");
  change.filter = gst_bin_get_by_name (GST_BIN (change.pipeline), "filter");
  if (change.filter == NULL) {
    change.filter = gst_element_factory_make ("cudasepconv", "filter");
    gst_object_ref_sink (change.filter);
    gst_util_set_object_arg (
        G_OBJECT (change.filter), "backend", filter_settings);
  }
  change.before = gst_element_get_static_pad (before, "src");
  change.after = gst_element_get_static_pad (after, "sink");
  gst_pad_add_probe (
      change.after, GST_PAD_PROBE_TYPE_BUFFER, count_frame, &change, NULL);

  bus = gst_element_get_bus (change.pipeline);
  gst_element_set_state (change.pipeline, GST_STATE_PLAYING);
  while (g_atomic_int_get (&change.frames) < CHANGE_AT)
    g_usleep (500);
  gst_pad_add_probe (change.before,
      GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM | GST_PAD_PROBE_TYPE_BUFFER, begin,
      &change, NULL);
  message = gst_bus_timed_pop_filtered (
      bus, test_patience (), GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  expect (message != NULL, "no end in time");
  expect (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS, "it ended by %s",
      GST_MESSAGE_TYPE_NAME (message));
  gst_message_unref (message);
  gst_element_set_state (change.pipeline, GST_STATE_NULL);
  expect (g_atomic_int_get (&change.changed), "nothing was changed");
  expect (change.frames == FRAMES && change.disorder == 0,
      "%d frames came, %d out of order", change.frames, change.disorder);

  gst_object_unref (bus);
  gst_object_unref (change.before);
  gst_object_unref (change.after);
  gst_object_unref (before);
  gst_object_unref (after);
  gst_object_unref (change.pipeline);
  ASSERT_OBJECT_REFCOUNT (change.filter, "cudasepconv", 1);
  gst_object_unref (change.filter);
}

#define SOURCE \
  "videotestsrc num-buffers=60 ! " \
  "video/x-raw,format=I420,width=96,height=72,framerate=1000/1 ! " \
  "identity sleep-time=1000 name=before "
#define SINK " ! identity name=after ! fakesink"

static void
removal_takes_out (void)
{
  for (int round = 0; round < 10; round++) {
    char *line = g_strdup_printf (SOURCE
        "! cudasepconv name=filter sigma=4 ring-depth=%d backend=%s" SINK,
        1 + round % 5, test_backend ());

    check_change (line, NULL, begin_to_take_out);
    g_free (line);
  }
}

static void
removal_puts_in (void)
{
  for (int round = 0; round < 10; round++)
    check_change (SOURCE SINK, test_backend (), put_in);
}

const Test tests_removal[] = {
  { "removal-takes-out", removal_takes_out, VARIANT_BOTH },
  { "removal-puts-in", removal_puts_in, VARIANT_BOTH },
  { 0 },
};
