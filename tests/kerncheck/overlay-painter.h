/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* overlay-painter: the overlay that overlay.h promises, painted naively: layer over
 * layer, each a rectangle, a column or a triangle, on a canvas of the frame's size.
 * Only structs are shared with the engine. */
#pragma once

#include "overlay.h"

/* Draws into dst, which holds the source's samples. counts[i] are the counters of
 * component i. */
void overlay_painter_draw (const OverlaySpec *spec,
    const uint64_t *const counts[OVERLAY_MAX_COMPONENTS], const Image *dst);
