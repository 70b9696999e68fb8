/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframecrop: frames of which only a part is shown, as GstVideoCropMeta says. Where it
 * has the size that the caps have, that part is the frame: the rest of the buffer is as
 * good as not there. Any other such meta is about how frames are to be displayed, and is
 * left to downstream. Any thread. */
#pragma once

#include <gst/video/video.h>

G_BEGIN_DECLS

/* The meta that says which part of a buffer is the frame of these caps, or NULL. */
const GstVideoCropMeta *gst_frame_crop_find (
    GstBuffer *buffer, const GstVideoInfo *info);

/* Makes a mapped frame that part of itself. Coordinates that lie within the samples of
 * subsampled components, or within a packed pair of pixels, are rounded down for those.
 * FALSE: the part does not lie in the frame. */
gboolean gst_frame_crop (GstVideoFrame *frame, const GstVideoCropMeta *crop);

G_END_DECLS
