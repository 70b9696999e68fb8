/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* Writes a PNG picture to the file "path": the left half of the frame "before", the
 * right half of the frame "after", and a white line between them. Both frames
 * must have one size. */
gboolean before_after_write (
    GstSample *before, GstSample *after, const gchar *path, GError **error);
