/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak-picture: pictures that carry a number through blurs. The left half of the
 * first component is one flat code, the right half another. */
#pragma once

#include <gst/video/video.h>

/* For pictures no smaller than this, blurred over no more than
 * SOAK_PICTURE_REACH pixels, with any border but a constant colour. 8 bits. */
#define SOAK_PICTURE_WIDTH 64
#define SOAK_PICTURE_REACH 12

gboolean soak_picture_write (
    const GstVideoInfo *info, GstBuffer *buffer, guint64 number);
/* FALSE: the buffer shows another number, or none. */
gboolean soak_picture_shows (
    const GstVideoInfo *info, GstBuffer *buffer, guint64 number);
