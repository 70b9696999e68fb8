/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* overlay-painter: what overlay.h promises, painted the long way: layer over layer,
 * each a rectangle, a column or a triangle, on a canvas of the frame's size.
 * Nothing is shared with the engine but its structs. */
#pragma once

#include "overlay.h"

/* Draws into dst, which holds the source's samples. `counts` are the components'. */
void overlay_painter_draw (const OverlaySpec *spec,
    const uint64_t *const counts[OVERLAY_MAX_COMPONENTS], const Image *dst);
