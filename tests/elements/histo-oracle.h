/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* histo-oracle: the report that cudahisto should give for a picture.
 *
 * Written from the definitions, over the samples that picture-oracle reads,
 * independently of the engine. Settings are those of the element: bins planes
 * threshold-dark threshold-bright. */
#pragma once

#include "gstcudahistogrammeta.h"
#include "picture-oracle.h"

/* Takes the filter's next message, which must exist and be a cudahisto message. */
GstMessage *histo_message (Filter *filter);
/* Expects no further message, error or warning of the filter. */
void histo_expect_silence (Filter *filter);

/* Parts of a message; the message owns component i. */
guint histo_n_components (GstMessage *message);
const GstStructure *histo_component (GstMessage *message, guint i);
GstClockTime histo_time (GstMessage *message, const char *field);
gboolean histo_flag (GstMessage *message, const char *field);
double histo_number (const GstStructure *structure, const char *field);
/* Returns the bins of a component; the caller frees them. */
guint64 *histo_bins (const GstStructure *component, guint *n);

/* Compares a message's counters with a picture: subtracting its samples one by one must
 * leave zeros. Returns NULL, or a description of the difference, which the caller
 * frees. */
char *histo_compare (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);
char *histo_compare_meta (const GstCudaHistogramMeta *meta, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);
/* The same for the statistics of level and spread. */
char *histo_compare_statistics (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);

/* Whether frames of `info` have the planes that the settings select. */
gboolean histo_has_planes (const GstVideoInfo *info, const char *settings);

/* Expects that comparison to find no difference, and takes the message. */
void histo_expect (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings);
/* The same for a message about a result, which is counted before it is rounded to 5 or 6 bits.
 * Formats of so few bits are compared if each code has a bin. */
void histo_expect_result (GstMessage *message, GstBuffer *result,
    const GstVideoInfo *info, const char *settings);
