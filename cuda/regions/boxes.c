/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boxes.h"

#define LOADED 8 /* bytes of four samples, at most */

/* As regions_taps_reach(), also for the taps that strength > 0 makes. */
static int
reach_of (const RegionsPlan *plan, const RegionsPlace *place,
    const Image *layout, int p, bool along_y)
{
  const RegionsSpec *spec = &plan->spec;
  TapsSettings settings;
  int sub = 1;

  if (!(spec->strength > 0.0))
    return regions_taps_reach (&spec->filter->plane[p], along_y);
  settings = *spec->taps;
  settings.depth = layout->plane[p].depth;
  if (spec->scale_taps)
    sub = along_y ? spec->subsampling_y[p] : spec->subsampling_x[p];
  return taps_blur_reach (&settings, place->sigma, sub) + 1;
}

static RegionsSpan
blocks_around (RegionsSpan span, int first, int size, int n)
{
  const RegionsSpan blocks = { regions_block_span (
                                   regions_block_of (span.first, first, size),
                                   first, size, n)
                                   .first,
    regions_block_span (
        regions_block_of (span.last - 1, first, size), first, size, n)
        .last };

  return blocks;
}

RegionsArea
regions_read_area (const RegionsPlan *plan, const RegionsPlace *place,
    const RegionsPart *part, const Image *layout, int p)
{
  const SepconvBorder border = plan->spec.filter->border;
  const int width = layout->plane[p].width;
  const int height = image_plane_height (layout, p);
  RegionsArea area = part->area;

  if (plan->spec.fill == REGIONS_FILTER) {
    area.x = regions_grow_span (
        area.x, reach_of (plan, place, layout, p, false), width, border);
    area.y = regions_grow_span (
        area.y, reach_of (plan, place, layout, p, true), height, border);
  } else if (plan->spec.fill == REGIONS_PIXELATE) {
    area.x = blocks_around (area.x, part->block_x, part->block_width, width);
    area.y = blocks_around (area.y, part->block_y, part->block_height, height);
  }
  return area;
}

/* Widens a box to the samples of an area that is not empty. */
static void
add_area (ImageBox *box, const ImagePlane *plane, const RegionsArea *area,
    size_t row_bytes)
{
  const int channels = (plane->channels - 1) * plane->channel_stride;
  const int64_t first = plane->offset
      + (int64_t) area->x.first * plane->pixel_stride
      + (channels < 0 ? channels : 0);
  const int64_t last = plane->offset
      + (int64_t) (area->x.last - 1) * plane->pixel_stride
      + (channels > 0 ? channels : 0) + image_sample_bytes (plane);
  const int left = first < 0 ? 0 : (int) first;
  const int right = last > (int64_t) row_bytes ? (int) row_bytes : (int) last;
  const bool none = box->right == 0;

  box->left = none || left < box->left ? left : box->left;
  box->right = none || right > box->right ? right : box->right;
  box->top = none || area->y.first < box->top ? area->y.first : box->top;
  box->bottom = none || area->y.last > box->bottom ? area->y.last : box->bottom;
}

/* Widens a box to whole groups of four samples, which a GPU loads together. */
static void
widen_box (ImageBox *box, size_t row_bytes)
{
  const size_t right = ((size_t) box->right + LOADED - 1) / LOADED * LOADED;

  box->left = box->left / LOADED * LOADED;
  box->right = (int) (right < row_bytes ? right : row_bytes);
}

void
regions_find_boxes (const RegionsPlan *plan, const RegionsPlace *place,
    const Image *layout, int rows_apart, ImageBox *read, ImageBox *written)
{
  for (int m = 0; m < layout->n_memories; m++)
    read[m] = written[m] = (ImageBox){ .memory = m };
  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    const int m = plane->memory;
    const RegionsPart part =
        regions_part (&plan->spec, place, layout, p, rows_apart);
    RegionsArea area;

    if (plan->spec.filter->plane[p].channels == 0
        || regions_area_is_empty (&part.area))
      continue;
    area = regions_read_area (plan, place, &part, layout, p);
    add_area (&written[m], plane, &part.area, layout->memory[m].row_bytes);
    add_area (&read[m], plane, &area, layout->memory[m].row_bytes);
  }
  if (plan->backend == BACKEND_CUDA && plan->spec.fill == REGIONS_FILTER)
    for (int m = 0; m < layout->n_memories; m++)
      widen_box (&read[m], layout->memory[m].row_bytes);
}
