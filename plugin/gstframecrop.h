/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframecrop: the part of a buffer that is the frame, by GstVideoCropMeta. A meta with the
 * size of the caps selects that part, and the rest of the buffer is ignored. A meta of another
 * size only concerns the display of the frame, and is passed on. Any thread. */
#pragma once

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Returns the meta that selects the part of a buffer that is the frame of `info`, or NULL. */
const GstVideoCropMeta *gst_frame_crop_find (
    GstBuffer *buffer, const GstVideoInfo *info);

/* Returns the pixel of the buffer that is the frame's first one. It is that of the meta, but for
 * packed pairs of pixels. */
void gst_frame_crop_get_origin (const GstVideoCropMeta *crop,
    const GstVideoFormatInfo *format, gint *x, gint *y);

/* Whether pixels of the format lie in groups of more than two, as in v210, which no frame may begin
 * within. */
gboolean gst_frame_crop_has_groups (const GstVideoInfo *info);

/* Whether the frame of a buffer begins within such a group. */
gboolean gst_frame_crop_cuts_group (
    GstBuffer *buffer, const GstVideoInfo *info);

/* Reduces a mapped frame to that part. For subsampled components and packed pairs of pixels,
 * coordinates are rounded down to a whole sample or pair. FALSE: the part is not inside the
 * frame, or not in memory, or gst_frame_crop_cuts_group(). */
gboolean gst_frame_crop (GstVideoFrame *frame, const GstVideoCropMeta *crop);

G_END_DECLS
