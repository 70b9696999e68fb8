/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistogrammeta: making what gstvideohistogrammeta.h describes. */
#pragma once

#include "gstvideohistogrammeta.h"

G_BEGIN_DECLS

GType gst_video_histogram_meta_api_get_type (void);
const GstMetaInfo *gst_video_histogram_meta_get_info (void);

/* Removes all; the buffer must be writable. */
void gst_buffer_remove_video_histogram_metas (GstBuffer *buffer);
/* Adds one without components; the buffer must be writable. */
GstVideoHistogramMeta *gst_buffer_add_video_histogram_meta (
    GstBuffer *buffer, guint bins);

G_END_DECLS
