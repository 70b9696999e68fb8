/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframeplanes: the property `planes`, which selects components of a frame. */
#pragma once

#include "gstframeimage.h"

G_BEGIN_DECLS

typedef enum
{
  GST_FRAME_PLANES_LUMA = 1 << 0,
  GST_FRAME_PLANES_CHROMA = 1 << 1,
  GST_FRAME_PLANES_ALPHA = 1 << 2,
  GST_FRAME_PLANES_COLOR = GST_FRAME_PLANES_LUMA | GST_FRAME_PLANES_CHROMA,
  GST_FRAME_PLANES_ALL = GST_FRAME_PLANES_COLOR | GST_FRAME_PLANES_ALPHA,
} GstFramePlanes;

#define GST_TYPE_FRAME_PLANES (gst_frame_planes_get_type ())
GType gst_frame_planes_get_type (void);

/* Whether the planes include a channel. R, G and B belong to `color` only as a whole. */
gboolean gst_frame_planes_select (
    GstFramePlanes planes, GstFrameChannelRole role);

/* FALSE and a fault, which may be NULL: the planes name luma or chroma alone, which RGB does
 * not have. */
gboolean gst_frame_planes_check (
    GstFramePlanes planes, const GstVideoFormatInfo *format, Fault *fault);

G_END_DECLS
