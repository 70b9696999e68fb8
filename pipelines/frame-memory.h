/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* The name of an element of a bin whose frames may depend on earlier ones, to be freed; NULL: each
 * frame that leaves the bin depends on one that went in, so that a video may be filtered in
 * parts. Elements count as independent by a list: cudasepconv that holds no regions, and GStreamer's
 * converters. */
gchar *frame_memory_find (GstBin *filter);
