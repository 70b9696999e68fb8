/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "joined-parts.h"

gboolean
joined_parts_add (GstBin *bin, GstElement *concat, gchar **files)
{
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
