/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframeimage: GStreamer's video frames as the engine's images. */
#pragma once

#include <gst/video/video.h>

#include "bitpack.h"
#include "image.h"

G_BEGIN_DECLS

/* The content of a channel of an image plane. */
typedef enum
{
  GST_FRAME_CHANNEL_PADDING, /* the x of RGBx */
  GST_FRAME_CHANNEL_LUMA,    /* Y, also grey */
  GST_FRAME_CHANNEL_CHROMA,  /* U, V */
  GST_FRAME_CHANNEL_RGB,     /* R, G, B */
  GST_FRAME_CHANNEL_ALPHA,
} GstFrameChannelRole;

typedef struct
{
  GstFrameChannelRole role;
  gint component; /* in GstVideoFormatInfo's order; 0 for padding, too */
  gint zero;      /* the code of the zero level: black, or neutral chroma */
} GstFrameChannel;

/* Returns the role of a component of a format. */
GstFrameChannelRole gst_frame_component_role (
    const GstVideoFormatInfo *format, gint component);

/* The layout of all frames of one GstVideoInfo; plain data. */
typedef struct
{
  /* As frames are computed; without addresses. */
  Image layout;
  /* As they lie in memory, with the info's strides: the same, but for formats that are unpacked to be
   * computed. */
  Image memory;
  BitpackFormat packing; /* BITPACK_NONE: `memory` is `layout` */
  GstFrameChannel channel[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS];
  gint subsampling_x[IMAGE_MAX_PLANES]; /* frame pixels per plane pixel */
  gint subsampling_y[IMAGE_MAX_PLANES];
} GstFrameLayout;

/* Returns how the samples of a format are packed, or that the higher byte of each comes first. */
BitpackFormat gst_frame_format_packing (GstVideoFormat format);

/* Whether GStreamer's rows of a bit-packed format end before their last pixel does, as those of UYVP
 * with 3, 11, 19 pixels and so on, and those of NV12_10LE32 with 3, 9, 15. */
gboolean gst_frame_rows_are_short (const GstVideoInfo *info);

/* Describes frames of `info`. FALSE: the format is not one of BitpackFormat, nor are its samples whole
 * bytes at regular distances; or its rows are short. All other formats of the templates are taken. */
gboolean gst_frame_layout_init (GstFrameLayout *self, const GstVideoInfo *info);

/* Splits planes that hold both luma and chroma, as in AYUV, into image planes that hold one of
 * them, so that they can be filtered with different taps. The memories stay the same. */
void gst_frame_layout_split_chroma (GstFrameLayout *self);

/* Whether the frame holds two fields of different times, row by row. Where each field comes in a
 * buffer of its own, it is a picture like any other. */
gboolean gst_frame_is_interleaved (const GstVideoFrame *frame);

/* Returns the map of the memory that a plane of a mapped frame lies in: planes without a GstVideoMeta
 * share one. It is the frame's. */
const GstMapInfo *gst_frame_get_plane_map (
    const GstVideoFrame *frame, gint plane);

/* Gets the image of a mapped frame as it lies in memory, which is valid as long as the mapping.
 * FALSE: its rows do not all lie in the memory that is mapped, whatever GstVideoMeta says. */
gboolean gst_frame_layout_get_image (
    const GstFrameLayout *self, const GstVideoFrame *frame, Image *image);

/* Converts a colour (0xAARRGGBB) to the codes of frames of `info`, by the matrix and range of
 * its colorimetry. */
void gst_frame_layout_convert_color (const GstFrameLayout *self,
    const GstVideoInfo *info, guint argb,
    gdouble codes[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS]);

G_END_DECLS
