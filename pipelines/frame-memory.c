/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "frame-memory.h"

static const gchar *const independent[] = { "alpha", "alphacolor", "bin",
  "capsfilter", "cudadownload", "cudaupload", "cudasepconv", "gamma", "queue",
  "videobalance", "videobox", "videoconvert", "videoconvertscale", "videocrop",
  "videoflip", "videoscale", NULL };

static gboolean
has_memory (GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  const gchar *name =
      factory ? gst_plugin_feature_get_name (GST_PLUGIN_FEATURE (factory)) : "";
  guint64 hold = 0;

  if (!g_strv_contains (independent, name))
    return TRUE;
  if (g_str_equal (name, "cudasepconv"))
    g_object_get (element, "roi-hold", &hold, NULL);
  return hold > 0;
}

gchar *
frame_memory_find (GstBin *filter)
{
  GstIterator *iterator = gst_bin_iterate_recurse (filter);
  GValue item = G_VALUE_INIT;
  gchar *found = NULL;

  while (!found && gst_iterator_next (iterator, &item) == GST_ITERATOR_OK) {
    GstElement *element = g_value_get_object (&item);

    if (has_memory (element))
      found = gst_element_get_name (element);
    g_value_unset (&item);
  }
  gst_iterator_free (iterator);
  return found;
}
