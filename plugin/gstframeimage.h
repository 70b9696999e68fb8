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
  /* The planes that frames are computed in; without addresses. */
  Image layout;
  /* The planes as they lie in memory, with the strides of the GstVideoInfo. Equal to `layout`,
   * except for formats that are unpacked for computing. */
  Image memory;
  BitpackFormat packing; /* BITPACK_NONE: `memory` is `layout` */
  GstFrameChannel channel[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS];
  gint subsampling_x[IMAGE_MAX_PLANES]; /* frame pixels per plane pixel */
  gint subsampling_y[IMAGE_MAX_PLANES];
} GstFrameLayout;

/* Returns the bit packing of a format, BITPACK_BIG_ENDIAN for samples of two bytes with the
 * higher byte first, or BITPACK_NONE. */
BitpackFormat gst_frame_format_packing (GstVideoFormat format);

/* Whether GStreamer's stride of a bit-packed format is less than the bytes of a row, as for
 * UYVP with widths of 3, 11, 19 and so on, and for NV12_10LE32 with widths of 3, 9, 15. */
gboolean gst_frame_rows_are_short (const GstVideoInfo *info);

/* Describes frames of `info`. FALSE: the format is neither in BitpackFormat nor made of whole
 * bytes at regular distances; or gst_frame_rows_are_short(). All other formats of the
 * templates are accepted. */
gboolean gst_frame_layout_init (GstFrameLayout *self, const GstVideoInfo *info);

/* Splits planes that hold both luma and chroma, as in AYUV, into image planes that hold one of
 * them, so that they can be filtered with different taps. The memories stay the same. */
void gst_frame_layout_split_chroma (GstFrameLayout *self);

/* Whether the frame holds two fields of different times, row by row. Where each field comes in a
 * buffer of its own, it is a picture like any other. */
gboolean gst_frame_is_interleaved (const GstVideoFrame *frame);

/* Returns the map of the memory in which a plane of a mapped frame lies; the frame owns it.
 * Without a GstVideoMeta, all planes share one map. */
const GstMapInfo *gst_frame_get_plane_map (
    const GstVideoFrame *frame, gint plane);

/* Gets the image of a mapped frame as it lies in memory, which is valid as long as the
 * mapping. FALSE: some rows lie outside of the mapped memory, which a wrong GstVideoMeta may
 * cause. */
gboolean gst_frame_layout_get_image (
    const GstFrameLayout *self, const GstVideoFrame *frame, Image *image);

/* Gets the zero level and the range of each component's codes, as they are computed in, of frames
 * of `info`. Not of alpha. */
void gst_frame_get_code_range (const GstVideoInfo *info,
    gint offset[GST_VIDEO_MAX_COMPONENTS],
    gint scale[GST_VIDEO_MAX_COMPONENTS]);

/* Converts a colour (0xAARRGGBB) to the codes of frames of `info`, by the matrix and range of
 * its colorimetry. */
void gst_frame_layout_convert_color (const GstFrameLayout *self,
    const GstVideoInfo *info, guint argb,
    gdouble codes[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS]);

G_END_DECLS
