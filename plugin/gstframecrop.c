/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstframecrop.h"

#include "gstframeimage.h"

const GstVideoCropMeta *
gst_frame_crop_find (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);

  return crop != NULL && crop->width == (guint) GST_VIDEO_INFO_WIDTH (info)
          && crop->height == (guint) GST_VIDEO_INFO_HEIGHT (info)
      ? crop
      : NULL;
}

/* Returns the number of pixels that the format stores together. */
static guint
group_pixels (const GstVideoInfo *info)
{
  const BitpackFormat packing =
      gst_frame_format_packing (GST_VIDEO_INFO_FORMAT (info));

  return packing != BITPACK_NONE ? (guint) bitpack_group_pixels (packing) : 1;
}

/* Pairs do not count: coordinates are rounded down to whole pairs. */
gboolean
gst_frame_crop_has_groups (const GstVideoInfo *info)
{
  return group_pixels (info) > 2;
}

static gboolean
cuts_group (const GstVideoCropMeta *crop, const GstVideoInfo *info)
{
  return gst_frame_crop_has_groups (info) && crop->x % group_pixels (info) != 0;
}

gboolean
gst_frame_crop_cuts_group (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoCropMeta *crop = gst_frame_crop_find (buffer, info);

  return crop != NULL && cuts_group (crop, info);
}

/* Returns the component of a plane that has the fewest samples. */
static gint
coarsest_component (const GstVideoFormatInfo *format, guint plane)
{
  gint coarsest = -1;

  for (guint c = 0; c < format->n_components; c++)
    if (format->plane[c] == plane
        && (coarsest < 0 || format->w_sub[c] > format->w_sub[coarsest]))
      coarsest = (gint) c;
  return coarsest;
}

void
gst_frame_crop_get_origin (const GstVideoCropMeta *crop,
    const GstVideoFormatInfo *format, gint *x, gint *y)
{
  /* In plane 0, only packed pairs of pixels have a component that is coarser than a pixel. */
  const gint c = coarsest_component (format, 0);

  *x = (gint) (crop->x >> format->w_sub[c] << format->w_sub[c]);
  *y = (gint) (crop->y >> format->h_sub[c] << format->h_sub[c]);
}

/* Moves the first byte of a plane by `offset` bytes. FALSE: that leaves the mapped memory,
 * which wrong strides in a GstVideoMeta may cause. */
static gboolean
move_plane (GstVideoFrame *frame, guint p, gint64 offset)
{
  const GstMapInfo *map = gst_frame_get_plane_map (frame, (gint) p);
  guint8 *data = frame->data[p];
  const gint64 begin = data - map->data;

  if (offset < -begin || offset > (gint64) map->size - begin)
    return FALSE;
  frame->data[p] = data + offset;
  return TRUE;
}

gboolean
gst_frame_crop (GstVideoFrame *frame, const GstVideoCropMeta *crop)
{
  GstVideoInfo *info = &frame->info;
  const GstVideoFormatInfo *format = info->finfo;
  const BitpackFormat packing =
      gst_frame_format_packing (GST_VIDEO_INFO_FORMAT (info));
  /* Rows of the frame from one row of the buffer to the next. */
  const gint rows_apart =
      GST_VIDEO_INFO_FIELD_HEIGHT (info) == GST_VIDEO_INFO_HEIGHT (info) ? 1
                                                                         : 2;

  if ((guint64) crop->x + crop->width > (guint64) GST_VIDEO_INFO_WIDTH (info)
      || (guint64) crop->y + crop->height
          > (guint64) GST_VIDEO_INFO_HEIGHT (info)
      || cuts_group (crop, info))
    return FALSE;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    const gint c = coarsest_component (format, p);
    const gint x = (gint) crop->x >> format->w_sub[c];
    const gint y = (gint) crop->y / rows_apart >> format->h_sub[c];
    gint64 columns = (gint64) x * format->pixel_stride[c];

    if (packing != BITPACK_NONE && packing != BITPACK_BIG_ENDIAN)
      columns = (gint64) crop->x / bitpack_group_pixels (packing)
          * bitpack_group_bytes (packing);
    if (!move_plane (frame, p,
            (gint64) y * GST_VIDEO_INFO_PLANE_STRIDE (info, p) + columns))
      return FALSE;
  }
  GST_VIDEO_INFO_WIDTH (info) = (gint) crop->width;
  GST_VIDEO_INFO_HEIGHT (info) = (gint) crop->height;
  return TRUE;
}
