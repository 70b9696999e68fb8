/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pack.cuh"

#include "../divide.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_ALIGNMENT 64 /* bytes, of each list in a block */
/* Blocks of samples of one job, if they have at most LARGE_BLOCK samples each. */
#define MEANS_EACH 8
#define LARGE_BLOCK 2048 /* samples */

static int
tiles_of_plane (const Image *image, int p)
{
  return divide_up (image->plane[p].width, REGIONS_TILE)
      * divide_up (image_plane_height (image, p), REGIONS_TILE);
}

RegionsPack *
regions_pack_new (const Image *layout, RegionsFilters *filters, Fault *fault)
{
  RegionsPack *pack = (RegionsPack *) calloc (1, sizeof *pack);

  if (pack == NULL) {
    regions_no_memory (fault);
    return NULL;
  }
  for (int p = 0; p < layout->n_planes; p++)
    pack->n_tiles_of += tiles_of_plane (layout, p);
  pack->tile_of =
      (int *) malloc (sizeof *pack->tile_of * (size_t) pack->n_tiles_of);
  if (pack->tile_of == NULL) {
    free (pack);
    regions_no_memory (fault);
    return NULL;
  }
  memset (
      pack->tile_of, 0xff, sizeof *pack->tile_of * (size_t) pack->n_tiles_of);
  pack->parts.item = sizeof (RegionsDevicePart);
  pack->filters = filters;
  pack->sum_jobs.item = sizeof (RegionsSumJob);
  pack->code_jobs.item = sizeof (RegionsCodeJob);
  pack->mean_jobs.item = sizeof (RegionsMeanJob);
  pack->tiles.item = sizeof (RegionsTile);
  pack->list.item = sizeof (int);
  return pack;
}

void
regions_pack_free (RegionsPack *pack)
{
  if (pack == NULL)
    return;
  free (pack->parts.data);
  free (pack->sum_jobs.data);
  free (pack->code_jobs.data);
  free (pack->mean_jobs.data);
  free (pack->tiles.data);
  free (pack->list.data);
  free (pack->tile_of);
  free (pack);
}

void
regions_pack_clear (RegionsPack *pack)
{
  pack->parts.n = pack->sum_jobs.n = pack->code_jobs.n = pack->mean_jobs.n = 0;
  pack->tiles.n = pack->list.n = 0;
  pack->n_sums = pack->n_codes = pack->n_means = 0;
  pack->float_holds = true;
  pack->revision++;
}

/* The rows within the picture that the taps of `rows` read, with the rows that a border repeats. */
static RegionsSpan
rows_under (
    const RegionsTaps *taps, RegionsSpan rows, int height, SepconvBorder border)
{
  RegionsSpan under;
  int reach = 1;

  for (int t = 0; t < taps->n_terms; t++)
    if (reach < taps->term[t].ny / 2 + 1)
      reach = taps->term[t].ny / 2 + 1;
  under.first = rows.first - reach;
  under.last = rows.last + reach;
  if (border == SEPCONV_WRAP && (under.first < 0 || under.last > height)) {
    under.first = 0;
    under.last = height;
  }
  under.first = under.first < 0 ? 0 : under.first;
  under.last = under.last > height ? height : under.last;
  return under;
}

static bool
append_sums (RegionsPack *pack, const RegionsPlan *plan, const RegionsRun *run,
    const RegionsPlace *place, RegionsDevicePart *part, Fault *fault)
{
  const RegionsTaps *taps;
  const int width = regions_span_size (part->area.x);
  const int height = regions_span_size (part->area.y);
  RegionsFilterOf filter;
  RegionsSpan rows;
  int order = 0;

  if (!regions_filters_find (pack->filters, plan, place, &filter, fault))
    return false;
  pack->float_holds = pack->float_holds && filter.float_holds;
  part->source = REGIONS_FROM_CODES;
  part->taps = filter.first + part->plane;
  part->at = pack->n_sums;
  part->codes_at = pack->n_codes;
  taps = regions_filters_taps (pack->filters, part->taps);
  rows = rows_under (taps, part->area.y,
      image_plane_height (run->src, part->plane), plan->spec.filter->border);
  part->first_row = rows.first;
  part->n_rows = regions_span_size (rows);
  for (int c = 0; c < run->src->plane[part->plane].channels; c++) {
    if (!regions_treats (&plan->spec, part->plane, c))
      continue;
    for (int t = 0; t < taps->n_terms; t++)
      for (int y = 0; y < part->n_rows; y += FILL_HEIGHT)
        for (int x = 0; x < width; x += FILL_WIDTH) {
          const RegionsSumJob job = { (int) pack->parts.n, c, order, t, x, y };

          if (!regions_append (&pack->sum_jobs, job, fault))
            return false;
        }
    for (int y = 0; y < height; y += REGIONS_TILE)
      for (int x = 0; x < width; x += REGIONS_TILE) {
        const RegionsCodeJob job = { (int) pack->parts.n, c, order, x, y };

        if (!regions_append (&pack->code_jobs, job, fault))
          return false;
      }
    order++;
  }
  pack->n_codes += (size_t) order * (size_t) height * (size_t) width;
  pack->n_sums += (size_t) order * (size_t) taps->n_terms
      * (size_t) part->n_rows * (size_t) width;
  return true;
}

static bool
append_means (RegionsPack *pack, const RegionsRun *run, RegionsDevicePart *part,
    const RegionsPart *from, Fault *fault)
{
  const bool large =
      (int64_t) from->block_width * from->block_height > LARGE_BLOCK;
  const int each = large ? 1 : MEANS_EACH;
  int n;

  part->source = REGIONS_FROM_MEANS;
  part->block_width = from->block_width;
  part->block_height = from->block_height;
  part->block_x = from->block_x;
  part->block_y = from->block_y;
  part->blocks.x.first =
      regions_block_of (part->area.x.first, from->block_x, from->block_width);
  part->blocks.x.last =
      regions_block_of (part->area.x.last - 1, from->block_x, from->block_width)
      + 1;
  part->blocks.y.first =
      regions_block_of (part->area.y.first, from->block_y, from->block_height);
  part->blocks.y.last = regions_block_of (part->area.y.last - 1, from->block_y,
                            from->block_height)
      + 1;
  part->at = pack->n_means;
  n = regions_span_size (part->blocks.x) * regions_span_size (part->blocks.y);
  for (int first = 0; first < n; first += each) {
    const RegionsMeanJob job = { (int) pack->parts.n, first,
      first + each < n ? each : n - first };

    if (!regions_append (&pack->mean_jobs, job, fault))
      return false;
  }
  pack->n_means += (size_t) n * (size_t) run->src->plane[part->plane].channels;
  return true;
}

static void
set_color (RegionsDevicePart *part, const RegionsSpec *spec, const Image *image)
{
  part->source = REGIONS_FROM_COLOR;
  for (int c = 0; c < image->plane[part->plane].channels; c++)
    if (regions_treats (spec, part->plane, c))
      part->color[c] = (uint16_t) (spec->color[part->plane][c] + 0.5);
}

bool
regions_pack_color (RegionsPack *pack, const RegionsPlan *plan,
    const RegionsRun *run, Fault *fault)
{
  RegionsSpec spec = plan->spec;
  const RegionsPlace all = { 0, 0, REGIONS_MAX_EDGE, REGIONS_MAX_EDGE, 0.0 };

  spec.shape = REGIONS_RECTANGLE;
  spec.feather = 0.0;
  for (int p = 0; p < run->src->n_planes; p++) {
    RegionsPart from;
    RegionsDevicePart part;

    if (plan->spec.filter->plane[p].channels == 0)
      continue;
    /* Makes one pixel one sample: no plane has more than REGIONS_MAX_EDGE. */
    spec.subsampling_x[p] = spec.subsampling_y[p] = 1;
    from = regions_part (&spec, &all, run->src, p, 1);
    memset (&part, 0, sizeof part);
    part.shape = from.shape;
    part.area = from.area;
    part.plane = p;
    set_color (&part, &plan->spec, run->src);
    if (!regions_area_is_empty (&part.area)
        && !regions_append (&pack->parts, part, fault))
      return false;
  }
  return true;
}

bool
regions_pack_place (RegionsPack *pack, RegionsPlan *plan, const RegionsRun *run,
    const RegionsPlace *place, Fault *fault)
{
  const RegionsSpec *spec = &plan->spec;
  const bool filters = !spec->outside && spec->fill == REGIONS_FILTER;

  for (int p = 0; p < run->src->n_planes; p++) {
    const RegionsPart from =
        regions_part (spec, place, run->src, p, run->rows_apart);
    RegionsDevicePart part;
    bool ok = true;

    if (spec->filter->plane[p].channels == 0
        || regions_area_is_empty (&from.area))
      continue;
    memset (&part, 0, sizeof part);
    part.shape = from.shape;
    part.area = from.area;
    part.plane = p;
    part.source = REGIONS_FROM_SRC;
    if (filters)
      ok = append_sums (pack, plan, run, place, &part, fault);
    else if (!spec->outside && spec->fill == REGIONS_PIXELATE)
      ok = append_means (pack, run, &part, &from, fault);
    else if (!spec->outside)
      set_color (&part, spec, run->src);
    if (!ok || !regions_append (&pack->parts, part, fault))
      return false;
  }
  return true;
}

/* The index in tile_of of plane p's first tile. */
static int
first_tile (const Image *image, int p)
{
  int first = 0;

  for (int i = 0; i < p; i++)
    first += tiles_of_plane (image, i);
  return first;
}

/* Calls `each (x, y, entry)` for all tiles that a part touches, with their entries of tile_of. */
template <typename Each>
static bool
for_tiles (RegionsPack *pack, const Image *image, const RegionsDevicePart *part,
    const Each &each)
{
  const int across = divide_up (image->plane[part->plane].width, REGIONS_TILE);
  int *entries = pack->tile_of + first_tile (image, part->plane);

  for (int y = part->area.y.first / REGIONS_TILE;
       y <= (part->area.y.last - 1) / REGIONS_TILE; y++)
    for (int x = part->area.x.first / REGIONS_TILE;
         x <= (part->area.x.last - 1) / REGIONS_TILE; x++)
      if (!each (x, y, &entries[y * across + x]))
        return false;
  return true;
}

/* Lists the touched tiles, and counts the parts that touch each. */
static bool
count_tiles (RegionsPack *pack, const Image *image, Fault *fault)
{
  const RegionsDevicePart *parts =
      regions_items<RegionsDevicePart> (pack->parts);

  for (size_t i = 0; i < pack->parts.n; i++) {
    const int plane = parts[i].plane;

    if (!for_tiles (pack, image, &parts[i], [&] (int x, int y, int *entry) {
          if (*entry < 0) {
            const RegionsTile tile = { plane, x * REGIONS_TILE,
              y * REGIONS_TILE, 0, 0 };

            if (!regions_append (&pack->tiles, tile, fault))
              return false;
            *entry = (int) pack->tiles.n - 1;
          }
          ((RegionsTile *) pack->tiles.data)[*entry].n++;
          return true;
        }))
      return false;
  }
  return true;
}

/* Lists the parts that touch each tile, in the order of the parts. */
static bool
list_parts (RegionsPack *pack, const Image *image, Fault *fault)
{
  RegionsTile *tiles = (RegionsTile *) pack->tiles.data;
  const RegionsDevicePart *parts =
      regions_items<RegionsDevicePart> (pack->parts);
  size_t n = 0;
  int *list;

  for (size_t i = 0; i < pack->tiles.n; i++) {
    tiles[i].first = (int) n;
    n += (size_t) tiles[i].n;
    tiles[i].n = 0;
  }
  list = (int *) regions_extend (&pack->list, n);
  if (list == NULL)
    return regions_no_memory (fault);
  for (size_t i = 0; i < pack->parts.n; i++)
    for_tiles (pack, image, &parts[i], [&] (int, int, int *entry) {
      RegionsTile *tile = &tiles[*entry];

      list[tile->first + tile->n++] = (int) i;
      return true;
    });
  return true;
}

/* Makes all entries of tile_of -1 again. */
static void
forget_tiles (RegionsPack *pack, const Image *image)
{
  const RegionsTile *tiles = regions_items<RegionsTile> (pack->tiles);

  for (size_t i = 0; i < pack->tiles.n; i++) {
    const int across =
        divide_up (image->plane[tiles[i].plane].width, REGIONS_TILE);

    pack->tile_of[first_tile (image, tiles[i].plane)
        + tiles[i].y / REGIONS_TILE * across + tiles[i].x / REGIONS_TILE] = -1;
  }
}

bool
regions_pack_finish (RegionsPack *pack, const RegionsRun *run, Fault *fault)
{
  RegionsList *const lists[] = { &pack->parts, &pack->sum_jobs,
    &pack->code_jobs, &pack->mean_jobs, &pack->tiles, &pack->list };
  const bool ok =
      count_tiles (pack, run->src, fault) && list_parts (pack, run->src, fault);

  forget_tiles (pack, run->src);
  pack->bytes = 0;
  for (RegionsList *list : lists) {
    list->at = pack->bytes;
    pack->bytes += (list->n * list->item + BLOCK_ALIGNMENT - 1)
        / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
  }
  return ok;
}

void
regions_pack_write (const RegionsPack *pack, uint8_t *block)
{
  const RegionsList *const lists[] = { &pack->parts, &pack->sum_jobs,
    &pack->code_jobs, &pack->mean_jobs, &pack->tiles, &pack->list };

  for (const RegionsList *list : lists)
    if (list->n > 0)
      memcpy (block + list->at, list->data, list->n * list->item);
}
