/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include <gst/video/video.h>

#include "before-after.h"

#define PICTURE_TIMEOUT (10 * GST_SECOND)

static gboolean
map_rgb (GstSample *sample, GstVideoFrame *frame, GstMapFlags flags)
{
  GstVideoInfo info;

  return gst_video_info_from_caps (&info, gst_sample_get_caps (sample))
      && gst_video_frame_map (
          frame, &info, gst_sample_get_buffer (sample), flags);
}

/* Joins the left half of one sample and the right half of the other, with a white line
 * between. */
static gboolean
join_halves (GstSample *left, GstSample *right)
{
  GstVideoFrame to, from;
  gboolean ok;

  if (!map_rgb (left, &to, GST_MAP_READWRITE))
    return FALSE;
  if (!map_rgb (right, &from, GST_MAP_READ)) {
    gst_video_frame_unmap (&to);
    return FALSE;
  }
  ok = to.info.width == from.info.width && to.info.height == from.info.height;
  for (gint y = 0; ok && y < to.info.height; y++) {
    gsize half = (gsize) to.info.width / 2 * 3;
    guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&to, 0)
        + (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&to, 0);
    const guint8 *other = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&from, 0)
        + (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&from, 0);

    memcpy (row + half, other + half, (gsize) to.info.width * 3 - half);
    memset (row + half, 255, 3);
  }
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  return ok;
}

static GstSample *
convert (GstSample *sample, const gchar *to, GError **error)
{
  GstCaps *caps = gst_caps_from_string (to);
  GstCaps *from = gst_caps_copy (gst_sample_get_caps (sample));
  GstSample *plain, *result;

  /* Frames of a GPU decoder are in GPU memory. It can be mapped, but not every machine
   * has converters for it. */
  gst_caps_set_features_simple (from, NULL);
  plain = gst_sample_new (gst_sample_get_buffer (sample), from, NULL, NULL);
  result = gst_video_convert_sample (plain, caps, PICTURE_TIMEOUT, error);
  gst_sample_unref (plain);
  gst_caps_unref (from);
  gst_caps_unref (caps);
  return result;
}

gboolean
before_after_write (
    GstSample *before, GstSample *after, const gchar *path, GError **error)
{
  GstSample *left = convert (before, "video/x-raw,format=RGB", error);
  GstSample *right =
      left ? convert (after, "video/x-raw,format=RGB", error) : NULL;
  GstSample *png = NULL;
  GstMapInfo map;
  gboolean ok = FALSE;

  if (!right)
    goto done;
  if (!join_halves (left, right)) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "the filter changes the frame size");
    goto done;
  }
  png = convert (left, "image/png", error);
  if (!png)
    goto done;
  if (!gst_buffer_map (gst_sample_get_buffer (png), &map, GST_MAP_READ)) {
    g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "its bytes cannot be read");
    goto done;
  }
  ok = g_file_set_contents (
      path, (const gchar *) map.data, (gssize) map.size, error);
  gst_buffer_unmap (gst_sample_get_buffer (png), &map);

done:
  g_clear_pointer (&left, gst_sample_unref);
  g_clear_pointer (&right, gst_sample_unref);
  g_clear_pointer (&png, gst_sample_unref);
  return ok;
}
