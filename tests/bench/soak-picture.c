/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "soak-picture.h"

#include <stdlib.h>

/* Codes 16..215, for two digits of base 200. */
#define BASE 200
#define FIRST_CODE 16
#define GREY 128
/* Rounding error of a blur. */
#define TOLERANCE 1

static gint
code (guint64 number, gboolean right)
{
  return FIRST_CODE + (gint) ((right ? number / BASE : number) % BASE);
}

gboolean
soak_picture_write (const GstVideoInfo *info, GstBuffer *buffer, guint64 number)
{
  const gint width = GST_VIDEO_INFO_COMP_WIDTH (info, 0);
  GstVideoFrame frame;

  if (!gst_video_frame_map (&frame, info, buffer, GST_MAP_WRITE))
    return FALSE;
  for (gint c = 1; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&frame, c); y++) {
      guint8 *row = (guint8 *) GST_VIDEO_FRAME_COMP_DATA (&frame, c)
          + y * GST_VIDEO_FRAME_COMP_STRIDE (&frame, c);

      for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (&frame, c); x++)
        row[x * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, c)] = GREY;
    }
  for (gint y = 0; y < GST_VIDEO_INFO_HEIGHT (info); y++) {
    guint8 *row = (guint8 *) GST_VIDEO_FRAME_COMP_DATA (&frame, 0)
        + y * GST_VIDEO_FRAME_COMP_STRIDE (&frame, 0);

    for (gint x = 0; x < width; x++)
      row[x * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, 0)] =
          (guint8) code (number, x >= width / 2);
  }
  gst_video_frame_unmap (&frame);
  return TRUE;
}

gboolean
soak_picture_shows (const GstVideoInfo *info, GstBuffer *buffer, guint64 number)
{
  const gint width = GST_VIDEO_INFO_WIDTH (info);
  const gint height = GST_VIDEO_INFO_HEIGHT (info);
  const gint rows[] = { 0, height / 2, height - 1 };
  GstVideoFrame frame;
  gboolean ok = TRUE;

  if (!gst_video_frame_map (&frame, info, buffer, GST_MAP_READ))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gint right = 0; right < 2; right++) {
      const gint x = width / 4 + right * (width / 2);
      const guint8 *sample = (guint8 *) GST_VIDEO_FRAME_COMP_DATA (&frame, 0)
          + rows[i] * GST_VIDEO_FRAME_COMP_STRIDE (&frame, 0)
          + x * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, 0);

      ok = ok && abs (*sample - code (number, right)) <= TOLERANCE;
    }
  gst_video_frame_unmap (&frame);
  return ok;
}
