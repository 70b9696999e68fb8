/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* boxes: which bytes of a picture the regions of a run read and write, for runs in place. */
#pragma once

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The samples of plane p that the fill of a place's part reads; there may be more than it reads. */
RegionsArea regions_read_area (const RegionsPlan *plan,
    const RegionsPlace *place, const RegionsPart *part, const Image *layout,
    int p);

/* Fills in the boxes that a place reads and writes in each of layout's memories, both
 * [n_memories]: at least all that its fill reads, and all that its weights reach. */
void regions_find_boxes (const RegionsPlan *plan, const RegionsPlace *place,
    const Image *layout, int rows_apart, ImageBox *read, ImageBox *written);

/* Whether two boxes share a byte. */
static inline bool
regions_boxes_meet (const ImageBox *a, const ImageBox *b)
{
  return a->memory == b->memory && a->left < b->right && b->left < a->right
      && a->top < b->bottom && b->top < a->bottom;
}

#ifdef __cplusplus
}
#endif
