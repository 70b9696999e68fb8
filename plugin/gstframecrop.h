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

/* Gets the pixel of the buffer at which the frame begins: the origin of the meta, rounded down
 * to a whole pair for formats with packed pairs of pixels. */
void gst_frame_crop_get_origin (const GstVideoCropMeta *crop,
    const GstVideoFormatInfo *format, gint *x, gint *y);

/* Whether the format stores pixels in groups of more than two, as v210 does. A frame cannot
 * begin within a group. */
gboolean gst_frame_crop_has_groups (const GstVideoInfo *info);

/* Whether the frame of a buffer begins within such a group. */
gboolean gst_frame_crop_cuts_group (
    GstBuffer *buffer, const GstVideoInfo *info);

/* Crops a mapped frame to the part that the meta selects. For subsampled components and packed
 * pairs of pixels, coordinates are rounded down to a whole sample or pair. FALSE: the part is
 * not inside the frame, not in mapped memory, or begins within a group of pixels. */
gboolean gst_frame_crop (GstVideoFrame *frame, const GstVideoCropMeta *crop);

G_END_DECLS
