/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframeimage: GStreamer's video frames as the engine's images. */
#pragma once

#include <gst/video/video.h>

#include "image.h"

G_BEGIN_DECLS

/* What a channel of an image plane holds. */
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
  gint component; /* in GstVideoFormatInfo's order; -1: padding */
  gint zero;      /* the code that stands for zero */
} GstFrameChannel;

/* The layout of all frames of one GstVideoInfo; plain data. */
typedef struct
{
  Image layout; /* without addresses; strides as in the info */
  GstFrameChannel channel[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS];
  gint subsampling_x[IMAGE_MAX_PLANES]; /* pixels of the frame per pixel */
  gint subsampling_y[IMAGE_MAX_PLANES];
} GstFrameLayout;

/* Describes frames of `info`. FALSE for formats whose samples are not whole
 * bytes at regular distances; all formats in the elements' templates are. */
gboolean gst_frame_layout_init (GstFrameLayout *self, const GstVideoInfo *info);

/* Lays planes of their own over chroma that shares one with luma, as in AYUV, so that
 * each can be filtered with other taps. The memories stay. */
void gst_frame_layout_split_chroma (GstFrameLayout *self);

/* The image of a mapped frame. Valid as long as the mapping. */
void gst_frame_layout_get_image (
    const GstFrameLayout *self, const GstVideoFrame *frame, Image *image);

/* The codes that frames of `info` hold a colour (0xAARRGGBB) in, by the matrix and
 * range of its colorimetry. */
void gst_frame_layout_convert_color (const GstFrameLayout *self,
    const GstVideoInfo *info, guint argb,
    gdouble codes[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS]);

G_END_DECLS
