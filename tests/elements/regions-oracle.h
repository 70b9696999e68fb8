/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regions-oracle: frames of which only regions are covered, or all but those.
 *
 * Written from the definition of the properties, in double precision, pixel by
 * pixel. Knows nothing of the engine. */
#pragma once

#include "picture-oracle.h"

/* In pixels of the frame, which it may exceed; without its right and bottom edges. */
typedef struct
{
  int left, top, right, bottom;
} Box;

/* Reports boxes on a buffer, which has to be writable; none may lie left of it or
 * above. */
void regions_report (
    GstBuffer *buffer, const char *type, const Box *boxes, int n);

/* Expects `out` to be what `settings` make of `in` when exactly these boxes are
 * regions; keeps both buffers. Understands roi-mode roi-fill roi-shape roi-grow
 * roi-strength roi-feather roi-color, and all that picture_compare() does. */
void regions_expect (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, const Box *boxes, int n, gboolean fields);
