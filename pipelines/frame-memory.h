/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* Returns the name of an element of a bin whose output frames may depend on earlier
 * frames, to be freed. NULL: each frame that leaves the bin depends on one input frame
 * alone, so that a video may be filtered in parts. A list says which elements are
 * independent: cudasepconv that holds no regions, and converters of GStreamer. */
gchar *frame_memory_find (GstBin *filter);
