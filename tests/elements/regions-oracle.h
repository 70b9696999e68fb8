/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regions-oracle: expected frames with covered regions, or with everything outside the
 * regions covered.
 *
 * Written from the definition of the properties, in double precision, pixel by pixel,
 * independently of the engine. */
#pragma once

#include "picture-oracle.h"

/* A box in pixels of the frame, which it may exceed. The right and bottom edges are
 * exclusive. */
typedef struct
{
  int left, top, right, bottom;
} Box;

/* Attaches boxes to a buffer as regions of interest. The buffer must be writable; no
 * box may begin left of it or above it. */
void regions_report (
    GstBuffer *buffer, const char *type, const Box *boxes, int n);

/* Expects `out` to be the result of `settings` for `in` when exactly these boxes are
 * the regions; keeps both buffers. Supports roi-mode roi-fill roi-shape roi-grow
 * roi-strength roi-feather roi-color, and all settings of picture_compare(). */
void regions_expect (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, const Box *boxes, int n, gboolean fields);
