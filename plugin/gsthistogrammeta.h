/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistogrammeta: making what gstvideohistogrammeta.h describes. */
#pragma once

#include "gsthistocomponents.h"
#include "gstvideohistogrammeta.h"

G_BEGIN_DECLS

GType gst_video_histogram_meta_api_get_type (void);
const GstMetaInfo *gst_video_histogram_meta_get_info (void);

/* Attaches one with these counters to a writable buffer, in place of what elements before
 * have attached. */
void gst_histogram_meta_attach (
    GstBuffer *buffer, const GstHistoComponents *components, GBytes *counts);

G_END_DECLS
