/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* histo-oracle: what cudahisto should say of a picture.
 *
 * Written from the definitions, over the samples that picture-oracle reads. Knows
 * nothing of the engine. Settings are those of the element: bins planes
 * threshold-dark threshold-bright. */
#pragma once

#include "gstcudahistogrammeta.h"
#include "picture-oracle.h"

/* Takes the filter's next message, which must be a cudahisto and there. */
GstMessage *histo_message (Filter *filter);
/* Expects that the filter has said nothing more: no message, error or warning. */
void histo_expect_silence (Filter *filter);

/* What a message says; component i belongs to it. */
guint histo_n_components (GstMessage *message);
const GstStructure *histo_component (GstMessage *message, guint i);
GstClockTime histo_time (GstMessage *message, const char *field);
gboolean histo_flag (GstMessage *message, const char *field);
double histo_number (const GstStructure *structure, const char *field);
/* The bins of a component, to be freed. */
guint64 *histo_bins (const GstStructure *component, guint *n);

/* NULL or, to be freed, what is wrong. The samples of the picture are taken away
 * from the counters one by one, which leaves nothing. */
char *histo_compare (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);
char *histo_compare_meta (const GstCudaHistogramMeta *meta, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);
/* The same of the statistics, of level and of spread. */
char *histo_compare_statistics (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);

/* Whether the settings' planes are some that frames of `info` have. */
gboolean histo_has_planes (const GstVideoInfo *info, const char *settings);

/* Expects that comparison to find nothing, and takes the message. */
void histo_expect (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);
