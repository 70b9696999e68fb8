/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings and caps from text, in launch-line syntax. The first line is an element, a blank and
 * the fields of its caps; each other line is a property and its value, or "!" for a frame. With
 * any settings, frames must be accepted or refused without a crash or critical message. */
#include "fuzz-element.h"

#include <string.h>

#define MAX_PIXELS 1024

/* Returns the caps if they describe frames that are small enough; else NULL. */
static GstCaps *
parse_caps (const char *fields, GstVideoInfo *info)
{
  char *text = g_strconcat ("video/x-raw, ", fields, NULL);
  gboolean parsed;
  GstCaps *caps;

  g_atomic_int_set (&fuzz_parses, TRUE);
  caps = gst_caps_from_string (text);
  parsed = caps != NULL && gst_caps_is_fixed (caps)
      && gst_video_info_from_caps (info, caps);
  g_atomic_int_set (&fuzz_parses, FALSE);
  g_free (text);
  if (parsed && GST_VIDEO_INFO_WIDTH (info) <= MAX_PIXELS
      && GST_VIDEO_INFO_HEIGHT (info) <= MAX_PIXELS
      && GST_VIDEO_INFO_WIDTH (info) * GST_VIDEO_INFO_HEIGHT (info)
          <= MAX_PIXELS)
    return caps;
  gst_clear_caps (&caps);
  return NULL;
}

static void
push_frame (GstHarness *harness, const GstVideoInfo *info, guint number)
{
  GstBuffer *buffer =
      gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = (guint8) (i * 37 + number * 11);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = number * GST_SECOND / 30;
  fuzz_push (harness, buffer);
}

static void
set_property (GstElement *element, char *line)
{
  char *value = strchr (line, '=');

  if (value == NULL)
    return;
  *value++ = '\0';
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), line) != NULL)
    gst_util_set_object_arg (G_OBJECT (element), line, value);
}

static void
run_lines (char **lines)
{
  const gboolean counts = g_str_has_prefix (lines[0], "cudahisto ");
  const char *fields = strchr (lines[0], ' ');
  GstHarness *harness;
  GstVideoInfo info;
  GstCaps *caps;
  guint frames = 0;
  gboolean sent = FALSE;

  caps = fields == NULL ? NULL : parse_caps (fields + 1, &info);
  if (caps == NULL)
    return;
  harness = fuzz_harness_new (counts ? "cudahisto" : "cudasepconv");
  for (int i = 1; lines[i] != NULL; i++) {
    if (lines[i][0] != '!') {
      set_property (harness->element, lines[i]);
      continue;
    }
    if (!sent && frames == 0) {
      gst_harness_play (harness);
      sent = fuzz_send_caps (harness, gst_caps_ref (caps));
    }
    if (sent && frames < 4)
      push_frame (harness, &info, frames);
    frames++;
  }
  gst_caps_unref (caps);
  fuzz_harness_free (harness);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char *text = g_strndup ((const char *) data, size);
  char **lines = g_strsplit (text, "\n", 40);

  fuzz_set_up ();
  if (g_utf8_validate (text, -1, NULL) && lines[0] != NULL)
    run_lines (lines);
  g_strfreev (lines);
  g_free (text);
  return 0;
}
