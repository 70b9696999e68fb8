/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* Encoded parts of one video, as files in the format of GStreamer's gdppay, which
 * keeps buffers with their times to the nanosecond. */

/* The element that writes such files, and the suffix of their names. */
#define PART_WRITER "gdppay"
#define PART_SUFFIX ".gdp"

/* Adds readers of these files to a bin; its element "concat" plays them one after the
 * other. FALSE: an element is not installed. */
gboolean joined_parts_add (GstBin *bin, GstElement *concat, gchar **files);
