/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz-element.h"

#include <stdio.h>

/* Defined by GST_PLUGIN_DEFINE. */
void gst_plugin_cudasepconv_register (void);

gint fuzz_parses;

/* Warnings are allowed: they are for values out of range. */
static void
on_log (const gchar *domain, GLogLevelFlags level, const gchar *message,
    gpointer user)
{
  (void) user;
  if (g_atomic_int_get (&fuzz_parses))
    return;
  FUZZ_EXPECT ((level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) == 0,
      "%s: %s", domain, message);
}

void
fuzz_set_up (void)
{
  static gsize done;

  if (!g_once_init_enter (&done))
    return;
  g_setenv ("GST_REGISTRY_DISABLE", "yes", FALSE);
  gst_init (NULL, NULL);
  gst_plugin_cudasepconv_register ();
  g_log_set_default_handler (on_log, NULL);
  g_once_init_leave (&done, 1);
}

GstHarness *
fuzz_harness_new (const char *factory)
{
  GstElement *element;
  GstHarness *harness;

  fuzz_set_up ();
  element = gst_element_factory_make (factory, NULL);
  FUZZ_EXPECT (element != NULL, "no %s", factory);
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cpu");
  harness = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  return harness;
}

gboolean
fuzz_send_caps (GstHarness *harness, GstCaps *caps)
{
  GstSegment segment;
  GstPad *pad = gst_element_get_static_pad (harness->element, "sink");
  gboolean taken;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_send_event (pad, gst_event_new_stream_start ("fuzz"));
  taken = gst_pad_send_event (pad, gst_event_new_caps (caps));
  gst_pad_send_event (pad, gst_event_new_segment (&segment));
  gst_caps_unref (caps);
  gst_object_unref (pad);
  return taken;
}

GstFlowReturn
fuzz_push (GstHarness *harness, GstBuffer *buffer)
{
  GstPad *pad = gst_element_get_static_pad (harness->element, "sink");
  const GstFlowReturn flow = gst_pad_chain (pad, buffer);

  gst_object_unref (pad);
  return flow;
}

void
fuzz_harness_free (GstHarness *harness)
{
  GstBuffer *buffer;
  GstPad *pad = gst_element_get_static_pad (harness->element, "sink");

  gst_pad_send_event (pad, gst_event_new_eos ());
  gst_object_unref (pad);
  while ((buffer = gst_harness_try_pull (harness)) != NULL)
    gst_buffer_unref (buffer);
  gst_harness_teardown (harness);
}
