/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak-picture: pictures that show a number, which stays readable after a blur. The
 * left half of the first component is one flat code, the right half another. */
#pragma once

#include <gst/video/video.h>

/* Limits: at least SOAK_PICTURE_WIDTH pixels wide, 8 bits, blurred over at most
 * SOAK_PICTURE_REACH pixels, with any border but a constant colour. */
#define SOAK_PICTURE_WIDTH 64
#define SOAK_PICTURE_REACH 12

gboolean soak_picture_write (
    const GstVideoInfo *info, GstBuffer *buffer, guint64 number);
/* FALSE: the buffer shows another number, or none. */
gboolean soak_picture_shows (
    const GstVideoInfo *info, GstBuffer *buffer, guint64 number);
