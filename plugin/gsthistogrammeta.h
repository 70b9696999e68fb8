/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistogrammeta: registers and attaches the meta of gstcudahistogrammeta.h. */
#pragma once

#include "gsthistocomponents.h"
#include "gstcudahistogrammeta.h"

G_BEGIN_DECLS

GType gst_cuda_histogram_meta_api_get_type (void);
const GstMetaInfo *gst_cuda_histogram_meta_get_info (void);

/* Attaches a meta with these counters to a writable buffer, and removes the histogram metas
 * that earlier elements have attached. */
void gst_histogram_meta_attach (
    GstBuffer *buffer, const GstHistoComponents *components, GBytes *counts);

G_END_DECLS
