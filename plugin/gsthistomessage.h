/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gsthistomessage: the message that reports a counted frame. */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "gsthistostatistics.h"

G_BEGIN_DECLS

/* The fields that carry the counters. */
typedef enum
{
  GST_HISTO_MESSAGE_BINS_BOTH,
  GST_HISTO_MESSAGE_BINS_ARRAY,
  GST_HISTO_MESSAGE_BINS_BYTES,
} GstHistoMessageBins;

/* Returns the message of a frame; its times follow from the segment of the element. The caller
 * owns it. */
GstMessage *gst_histo_message_new (GstBaseTransform *element,
    const GstBuffer *buffer, const GstHistoComponents *components,
    const GstHistoStatistics *statistics, GBytes *counts,
    GstHistoMessageBins bins);

G_END_DECLS
