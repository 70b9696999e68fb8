/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "joined-parts.h"

#include <gst/video/video.h>

gboolean
joined_parts_add (GstBin *bin, GstElement *concat, gchar **files)
{
  /* Caps in the parts name this type, and gdpdepay may read them before any element
   * has registered the type. */
  g_type_ensure (GST_TYPE_VIDEO_MULTIVIEW_FLAGSET);
  for (; *files; files++) {
    GstElement *source = gst_element_factory_make ("filesrc", NULL);
    GstElement *reader = gst_element_factory_make ("gdpdepay", NULL);

    if (!source || !reader) {
      gst_clear_object (&source);
      gst_clear_object (&reader);
      return FALSE;
    }
    g_object_set (source, "location", *files, NULL);
    gst_bin_add_many (bin, source, reader, NULL);
    if (!gst_element_link_many (source, reader, concat, NULL))
      return FALSE;
  }
  return TRUE;
}
