/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "subtitle-text.h"

/* The entities of g_markup_escape_text(). */
static const struct
{
  const gchar *entity;
  gchar character;
} entities[] = {
  { "&amp;", '&' },
  { "&lt;", '<' },
  { "&gt;", '>' },
  { "&quot;", '"' },
  { "&apos;", '\'' },
  { "&#39;", '\'' },
};

GstCaps *
subtitle_text_stored_caps (const GstCaps *caps)
{
  const GstStructure *structure =
      gst_caps_get_size (caps) == 1 ? gst_caps_get_structure (caps, 0) : NULL;
  GstCaps *stored;

  if (!structure || !gst_structure_has_name (structure, "text/x-raw")
      || g_strcmp0 (
             gst_structure_get_string (structure, "format"), "pango-markup")
          != 0)
    return NULL;
  stored = gst_caps_copy (caps);
  gst_caps_set_simple (stored, "format", G_TYPE_STRING, "utf8", NULL);
  return stored;
}

/* Replaces entities in place, and returns the length of the result, which is never
 * longer. */
static gsize
unescape (gchar *text, gsize length)
{
  gsize to = 0;

  for (gsize from = 0; from < length;) {
    gsize taken = 1;
    gchar character = text[from];

    for (gsize i = 0; i < G_N_ELEMENTS (entities); i++) {
      const gsize n = strlen (entities[i].entity);

      if (n <= length - from
          && memcmp (text + from, entities[i].entity, n) == 0) {
        character = entities[i].character;
        taken = n;
        break;
      }
    }
    text[to++] = character;
    from += taken;
  }
  return to;
}

static GstBuffer *
restore_buffer (GstBuffer *buffer, gboolean *has_tags)
{
  GstBuffer *restored;
  GstMapInfo map;
  gchar *text;
  gsize length;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return buffer;
  /* From the first tag on, matroskademux leaves the text as it is. */
  *has_tags = *has_tags || memchr (map.data, '<', map.size) != NULL;
  text = g_memdup2 (map.data, map.size);
  length = map.size;
  gst_buffer_unmap (buffer, &map);
  if (*has_tags || length == 0) {
    g_free (text);
    return buffer;
  }
  length = unescape (text, length);
  restored = gst_buffer_new_wrapped (text, length);
  gst_buffer_copy_into (restored, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  gst_buffer_unref (buffer);
  return restored;
}

static GstPadProbeReturn
on_text (GstPad *pad, GstPadProbeInfo *info, gpointer has_tags)
{
  (void) pad;
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    info->data = restore_buffer (GST_PAD_PROBE_INFO_BUFFER (info), has_tags);
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info))
      == GST_EVENT_CAPS) {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
    GstCaps *caps, *stored;

    gst_event_parse_caps (event, &caps);
    stored = subtitle_text_stored_caps (caps);
    if (stored) {
      info->data = gst_event_new_caps (stored);
      gst_event_unref (event);
      gst_caps_unref (stored);
    }
  }
  return GST_PAD_PROBE_OK;
}

void
subtitle_text_restore (GstPad *source)
{
  gst_pad_add_probe (source,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_text,
      g_new0 (gboolean, 1), g_free);
}
