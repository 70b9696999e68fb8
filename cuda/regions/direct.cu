/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "direct-decimate.cuh"
#include "direct-host.cuh"
#include "direct-low-filter.cuh"
#include "direct-tile.cuh"
#include "in-place.cuh"
#include "table.cuh"

#include "../divide.h"
#include "../gpu-check.h"

#include <math.h>
#include <string.h>

#define MOST_TILES 65535 /* of a memory, along an axis */
#define MOST_BLOCKS (1 << 30)
/* Blocks of threads that each multiprocessor should have at least. */
#define LEAST_BLOCKS 2
#define MOST_LOWS (1 << 26) /* low samples and sums of all regions */
/* Sums that a sample of each channel of a plane is made of. */
#define LEAST_LOWS (MULTIRATE_REACH * MULTIRATE_REACH * IMAGE_MAX_CHANNELS)
#define MOST_PARTS (2 * IMAGE_MAX_PLANES * IMAGE_MAX_CHANNELS) /* of a tile */
/* PIXELATE: most samples of a block along an axis. Each tile reads its blocks in full, so samples
 * of larger blocks would be read too often. */
#define MOST_BLOCK 128
/* The tiles of all regions together are at most MOST_SHARING times the picture's and FEW_TILES
 * more: a tile that several regions touch starts a block of threads for each, and all but one
 * only exit. */
#define MOST_SHARING 4
#define FEW_TILES 4096

/* Least resident blocks of a multiprocessor. */
#define BLOCKS_AT_ONCE(kind) \
  ((kind) == DIRECT_COMBINED ? 2 : (kind) == DIRECT_MEANS ? 4 : 3)

/* Parts of a tile for one block of threads: kinds whose work takes longer than finding the tile are
 * spread over several blocks. */
static const int parts_together[DIRECT_N_KINDS] = {
  MOST_PARTS, /* DIRECT_PLAIN */
  1,          /* DIRECT_SUM */
  4,          /* DIRECT_RATES */
  1,          /* DIRECT_MIXED */
  1,          /* DIRECT_COMBINED */
  2,          /* DIRECT_MEANS */
};

/* A block of threads finishes parts of a tile, or copies. */
template <DirectKind KIND>
static __global__ void
__launch_bounds__ (DIRECT_THREADS, BLOCKS_AT_ONCE (KIND))
    direct_kernel (GPU_PARAMETER DirectFrame frame)
{
  GPU_DYNAMIC_SHARED (float4, shared);
  __shared__ DirectJob job;
  const bool copies = (int) blockIdx.x >= frame.blocks;
  int block = (int) blockIdx.x - frame.blocks, m = 0;
  bool mine = true;

  if (direct_me () < DIRECT_MASKS)
    job.touched[direct_me ()] = 0;
  if (direct_me () == 0)
    job.filter = -1;
  __syncthreads ();
  if (copies) {
    m = direct_find_copy (frame, &job, &block);
    __syncthreads ();
  } else {
    mine = direct_find_parts (
        frame, &job, (int) blockIdx.x, direct_is_filter (KIND));
  }
  gpu_admit_next ();
  if (!frame.beside)
    gpu_await_previous ();
  if (copies)
    direct_copy (frame, job, m, block);
  else if (mine)
    direct_finish_parts<KIND> (frame, &job, shared);
  /* Does the same as gpu_end_in_turn(), whose call would cost registers here. */
  if (frame.beside && blockIdx.x == gridDim.x - 1)
    gpu_await_previous ();
}

static void (*const kernels[DIRECT_N_KINDS]) (DirectFrame) = {
  direct_kernel<DIRECT_PLAIN>,
  direct_kernel<DIRECT_SUM>,
  direct_kernel<DIRECT_RATES>,
  direct_kernel<DIRECT_MIXED>,
  direct_kernel<DIRECT_COMBINED>,
  direct_kernel<DIRECT_MEANS>,
};

/* The kernel's table of the regions of a run, kept for further runs with the same regions. Its
 * filters stay valid as long: they are dropped only when regions or spec change. */
struct DirectTable
{
  RegionsOrigin origin;
  unsigned revision;  /* of the table, from 1 */
  bool fits;          /* the kernels can do it */
  DirectKind kind;
  int shared, blocks; /* as DirectFrame has them */
  size_t bytes;
  /* direct_has_lows(): blocks of threads that make low samples, and sums */
  int decimating, filtering;
  int filtering_shared; /* bytes of the latter */
  size_t lows;          /* low samples and sums */
  int low_rows;         /* as DirectFrame has it */
  uint64_t table[DIRECT_MOST_REGIONS
      * (sizeof (DirectRegion) + IMAGE_MAX_MEMORIES * sizeof (DirectTiles)
          + IMAGE_MAX_PLANES * sizeof (DirectLows))
      / sizeof (uint64_t)];
};

struct RegionsDirect
{
  bool possible; /* with this GPU and these planes */
  int multiprocessors;
  int tile_bytes[IMAGE_MAX_MEMORIES], across[IMAGE_MAX_MEMORIES];
  int parts[IMAGE_MAX_MEMORIES]; /* of a tile */
  int loose[IMAGE_MAX_MEMORIES]; /* as DirectMemory has it */
  int tiles;                     /* of the layout's memories */
  RegionsFilters *filters;
  DirectTable last;
  /* For each run in flight: the table on the GPU, where it does not fit the kernel's parameter. */
  RegionsTable sent[REGIONS_OVERLAPPING];
};

/* A run. Its table is RegionsDirect.last. */
struct DirectRun
{
  DirectFrame frame;
  DirectKind kind;
  const RegionsPlan *plan;
  const RegionsRun *of;
  int blocks; /* of threads that copy */
};

/* The largest pixel stride of the planes in memory m, in bytes; 0: its planes cannot be cut into
 * tiles. */
static int
find_cell (const Image *layout, int m)
{
  int cell = 1;

  for (int p = 0; p < layout->n_planes; p++)
    if (layout->plane[p].memory == m && cell < layout->plane[p].pixel_stride)
      cell = layout->plane[p].pixel_stride;
  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    if (plane->memory != m)
      continue;
    if ((cell != plane->pixel_stride && cell != 2 * plane->pixel_stride)
        || plane->offset < 0 || plane->channel_stride < 0
        || image_plane_row_bytes (plane)
            > (size_t) plane->width * (size_t) plane->pixel_stride)
      return 0;
  }
  return cell;
}

/* Whether each byte of a cell belongs to a sample of some plane in memory m. */
static bool
is_full (const Image *layout, int m, int cell)
{
  for (int byte = 0; byte < cell; byte++) {
    bool found = false;

    for (int p = 0; p < layout->n_planes && !found; p++) {
      const ImagePlane *plane = &layout->plane[p];

      for (int c = 0; plane->memory == m && c < plane->channels && !found;
           c++) {
        const ptrdiff_t first = plane->offset + c * plane->channel_stride;

        found = byte >= first
            && (byte - first) % plane->pixel_stride
                < image_sample_bytes (plane);
      }
    }
    if (!found)
      return false;
  }
  return true;
}

/* Counts the parts of a tile of memory m, and finds `loose`: the byte of a row from which on some
 * bytes belong to no sample. */
static void
find_parts (RegionsDirect *direct, const Image *layout, int m, int cell)
{
  int cells = (int) (layout->memory[m].row_bytes / (size_t) cell);

  direct->parts[m] = 0;
  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    const int halves = cell / plane->pixel_stride;

    if (plane->memory != m)
      continue;
    direct->parts[m] += halves * plane->channels;
    cells = cells < plane->width / halves ? cells : plane->width / halves;
  }
  direct->loose[m] = is_full (layout, m, cell) ? cells * cell : 0;
}

/* Cuts memories into tiles; returns whether that is possible. */
static bool
cut_tiles (RegionsDirect *direct, const Image *layout)
{
  for (int m = 0; m < layout->n_memories; m++) {
    const int cell = find_cell (layout, m);
    const int down = divide_up (layout->memory[m].height, REGIONS_TILE);

    direct->tile_bytes[m] = REGIONS_TILE * cell;
    if (cell == 0)
      return false;
    find_parts (direct, layout, m, cell);
    for (int p = 0; p < layout->n_planes; p++) {
      const ImagePlane *plane = &layout->plane[p];
      const int across =
          divide_up (plane->width, REGIONS_TILE * cell / plane->pixel_stride);

      if (plane->memory == m && direct->across[m] < across)
        direct->across[m] = across;
    }
    if (direct->across[m] > MOST_TILES || down > MOST_TILES
        || (int64_t) direct->across[m] * down > MOST_BLOCKS / MOST_SHARING / 8)
      return false;
    direct->tiles += direct->across[m] * down;
  }
  return true;
}

RegionsDirect *
regions_direct_new (
    const Image *layout, const Gpu *gpu, RegionsFilters *filters, Fault *fault)
{
  RegionsDirect *direct = (RegionsDirect *) calloc (1, sizeof *direct);
  struct cudaFuncAttributes attributes;

  if (direct == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for regions.");
    return NULL;
  }
  direct->filters = filters;
  direct->multiprocessors = gpu_multiprocessors (gpu);
  direct->possible =
      gpu_capability (gpu) >= DIRECT_CAPABILITY && cut_tiles (direct, layout);
  /* Loads the kernels, so that no frame waits for that. */
  for (auto kernel : { direct_decimate, direct_filter_lows })
    GPU_CHECK (
        cudaFuncGetAttributes (&attributes, (const void *) kernel), fault);
  for (auto kernel : kernels)
    GPU_CHECK (
        cudaFuncGetAttributes (&attributes, (const void *) kernel), fault);
  return direct;
done:
  regions_direct_free (direct);
  return NULL;
}

void
regions_direct_free (RegionsDirect *direct)
{
  if (direct == NULL)
    return;
  for (RegionsTable &sent : direct->sent)
    staging_clear (&sent.staging);
  free (direct);
}

/* Bytes of shared memory for a filter, at most DIRECT_SHARED: with less than it asks for, the
 * kernel loads samples in shorter strips. */
static int
filter_bytes (const RegionsTaps *taps)
{
  int most = 0;

  for (int t = 0; t < taps->n_terms; t++) {
    const int rows = REGIONS_TILE + (taps->term[t].ny + 3) / 4 * 4;
    const int columns = REGIONS_TILE + (taps->term[t].nx + 3) / 4 * 4;
    const int bytes =
        (2 * DIRECT_MOST_TAPS + rows * REGIONS_TILE + rows * columns)
        * (int) sizeof (float);

    most = most < bytes ? bytes : most;
  }
  return most < DIRECT_SHARED ? most : DIRECT_SHARED;
}

/* Bytes of shared memory that direct_pixelate() needs for blocks of `block` pixels a side; more
 * than DIRECT_SHARED: the blocks are too many or too large. */
static int
means_bytes (int block, int pixels_x, int pixels_y)
{
  const int width = divide_up (block > 0 ? block : 1, pixels_x);
  const int height = divide_up (block > 0 ? block : 1, pixels_y);

  if (width > MOST_BLOCK || height > MOST_BLOCK)
    return DIRECT_SHARED + 1;
  return (REGIONS_TILE * REGIONS_TILE
             + (REGIONS_TILE + 2 * (width - 1))
                 * ((REGIONS_TILE - 2) / height + 2))
      * (int) sizeof (uint32_t);
}

/* Bytes of shared memory for a plane's filter; more than DIRECT_SHARED: the kernel cannot compute
 * it. */
static int
plane_bytes (const RegionsTaps *taps, bool float_holds)
{
  if (taps->rate_x.factor > 0)
    return direct_interpolate_bytes (taps->rate_y);
  for (int t = 0; t < taps->n_terms; t++)
    if (!float_holds || taps->term[t].nx > DIRECT_MOST_TAPS
        || taps->term[t].ny > DIRECT_MOST_TAPS)
      return DIRECT_SHARED + 1;
  return filter_bytes (taps);
}

/* Takes a filter at lower rates; *fits: windows of a pixel's samples and sums have room in shared
 * memory. */
static void
find_rates (DirectTable *table, const RegionsTaps *taps, int pixel, bool *fits)
{
  const int bytes = direct_low_filter_floats (taps->rate_x, taps->rate_y)
      * (int) sizeof (float);

  if (table->filtering_shared < bytes)
    table->filtering_shared = bytes;
  *fits = *fits && bytes <= DIRECT_SHARED
      && (4 * DIRECT_THREADS - 3) / (pixel * taps->rate_x.factor)
          >= MULTIRATE_REACH;
}

/* Finds the filters of all places; *fits: the kernels can compute them. */
static bool
find_filters (RegionsDirect *direct, DirectRun *run, DirectRegion *regions,
    bool *fits, Fault *fault)
{
  const RegionsPlan *plan = run->plan;
  bool at_rates = false, plain = false;

  regions_filters_begin (direct->filters, plan);
  /* The largest sigma first: it has the most taps. */
  for (int i = run->of->n - 1; i >= 0 && *fits; i--) {
    RegionsFilterOf filter;

    if (!regions_filters_find (
            direct->filters, plan, &run->of->place[i], &filter, fault))
      return false;
    regions[i].amount = filter.first;
    for (int p = 0; p < run->frame.n_planes && *fits; p++) {
      const RegionsTaps *taps =
          regions_filters_taps (direct->filters, filter.first + p);
      const int bytes = plane_bytes (taps, filter.float_holds);

      if (run->frame.shared < bytes)
        run->frame.shared = bytes;
      *fits = bytes <= DIRECT_SHARED;
      if (taps->rate_x.factor > 0)
        find_rates (&direct->last, taps,
            direct_pixel_samples (run->frame.plane[p].of), fits);
      at_rates = at_rates || taps->rate_x.factor > 0;
      plain = plain || (taps->n_terms > 0 && taps->rate_x.factor == 0);
    }
  }
  if (at_rates)
    run->kind = plain ? DIRECT_MIXED : DIRECT_RATES;
  return true;
}

/* Sets the width of blocks in pixels; *fits: their means have room in shared memory. */
static void
find_block (
    DirectRun *run, const RegionsPlace *place, DirectRegion *region, bool *fits)
{
  region->amount = regions_block_pixels (place->sigma);
  for (int p = 0; p < run->frame.n_planes && *fits; p++) {
    const DirectPlane *plane = &run->frame.plane[p];
    const int bytes =
        means_bytes (region->amount, plane->pixels_x, plane->pixels_y);

    if (run->frame.shared < bytes)
      run->frame.shared = bytes;
    *fits = bytes <= DIRECT_SHARED;
  }
}

static DirectKind
find_kind (const RegionsSpec *spec)
{
  if (spec->outside || spec->fill == REGIONS_SOLID)
    return DIRECT_PLAIN;
  if (spec->fill == REGIONS_PIXELATE)
    return DIRECT_MEANS;
  return spec->filter->combine == SEPCONV_SUM ? DIRECT_SUM : DIRECT_COMBINED;
}

static bool
is_covered_outside (const RegionsPlan *plan)
{
  return plan->spec.outside && plan->whole == NULL;
}

/* Fills in the table's regions; *fits: the kernel can do all of them. */
static bool
describe_regions (
    RegionsDirect *direct, DirectRun *run, bool *fits, Fault *fault)
{
  const bool outside = run->plan->spec.outside;
  DirectRegion *region = (DirectRegion *) direct->last.table;

  *fits = true;
  if (is_covered_outside (run->plan)) {
    memset (region, 0, sizeof *region);
    region++;
  }
  for (int i = 0; i < run->of->n && *fits; i++) {
    const RegionsPlace *place = &run->of->place[i];

    region[i].left = place->left;
    region[i].top = place->top;
    region[i].width = place->width;
    region[i].height = place->height;
    region[i].of_source = outside;
    region[i].amount = 0;
    if (run->kind == DIRECT_MEANS)
      find_block (run, place, &region[i], fits);
  }
  return !direct_is_filter (run->kind) || run->of->n == 0
      || find_filters (direct, run, region, fits, fault);
}

/* The samples of plane p that region i may reach. */
static RegionsArea
area_of (const DirectRun *run, int i, int p)
{
  const int first = is_covered_outside (run->plan) ? 1 : 0;
  RegionsArea area;

  if (i >= first)
    return regions_part (&run->plan->spec, &run->of->place[i - first],
        run->of->src, p, run->of->rows_apart)
        .area;
  area.x.first = area.y.first = 0;
  area.x.last = run->of->src->plane[p].width;
  area.y.last = image_plane_height (run->of->src, p);
  return area;
}

/* Widens a range of tiles, each `columns` samples wide, to those that an area touches. */
static void
add_area (DirectTiles *tiles, const RegionsArea *area, int columns)
{
  const int left = area->x.first / columns;
  const int right = (area->x.last - 1) / columns + 1;
  const int top = area->y.first / REGIONS_TILE;
  const int bottom = (area->y.last - 1) / REGIONS_TILE + 1;
  const bool none = tiles->right == 0;

  tiles->left = (uint16_t) (none || left < tiles->left ? left : tiles->left);
  tiles->right = (uint16_t) (right > tiles->right ? right : tiles->right);
  tiles->top = (uint16_t) (none || top < tiles->top ? top : tiles->top);
  tiles->bottom = (uint16_t) (bottom > tiles->bottom ? bottom : tiles->bottom);
}

/* Fills in the tiles of all regions, and numbers their blocks of threads; returns false if there
 * are too many. */
static bool
describe_tiles (RegionsDirect *direct, DirectRun *run)
{
  DirectFrame *frame = &run->frame;
  DirectTiles *tiles =
      (DirectTiles *) ((DirectRegion *) direct->last.table + frame->n_regions);
  int64_t tiles_left = (int64_t) MOST_SHARING * direct->tiles + FEW_TILES;
  int64_t n = 0;

  memset (tiles, 0,
      sizeof *tiles * (size_t) (frame->n_memories * frame->n_regions));
  for (int p = 0; p < frame->n_planes; p++) {
    const DirectPlane *plane = &frame->plane[p];

    for (int i = 0; plane->of.treated != 0 && i < frame->n_regions; i++) {
      const RegionsArea area = area_of (run, i, p);

      if (!regions_area_is_empty (&area))
        add_area (&tiles[plane->memory * frame->n_regions + i], &area,
            plane->halves * REGIONS_TILE);
    }
  }
  for (int i = 0; i < frame->n_memories * frame->n_regions; i++) {
    tiles[i].first = (int) n;
    tiles_left -=
        (tiles[i].right - tiles[i].left) * (tiles[i].bottom - tiles[i].top);
    n += (int64_t) (tiles[i].right - tiles[i].left)
        * (tiles[i].bottom - tiles[i].top)
        * frame->memory[i / frame->n_regions].blocks;
    if (tiles_left < 0 || n > MOST_BLOCKS)
      return false;
  }
  frame->blocks = (int) n;
  return true;
}

static int
count_channels (unsigned treated)
{
  int n = 0;

  for (; treated != 0; treated &= treated - 1)
    n++;
  return n;
}

/* The blocks of threads that make the low samples of all regions, if groups make `group_rows` rows
 * each. Numbers them, too. */
static int64_t
count_decimating (const RegionsDirect *direct, const DirectRun *run,
    DirectLows *lows, int group_rows)
{
  const DirectRegion *region = (const DirectRegion *) direct->last.table;
  int64_t n = 0;

  for (int p = 0; p < run->frame.n_planes; p++)
    for (int i = 0; i < run->frame.n_regions; i++, lows++) {
      const RegionsTaps *taps =
          regions_filters_taps (direct->filters, region[i].amount + p);
      DirectLowTiles tiles;

      if (lows->filter.n == 0)
        continue;
      tiles = direct_low_tiles (taps->rate_x, taps->rate_y,
          direct_pixel_samples (run->frame.plane[p].of),
          direct_low_span (taps->rate_x, lows->area.x),
          direct_low_span (taps->rate_y, lows->area.y), group_rows);
      lows->decimate.first = (int) n;
      lows->decimate.n = tiles.across * tiles.down;
      n += lows->decimate.n;
    }
  return n;
}

/* Describes the low samples and sums of all regions; returns false if there are too many. */
static bool
describe_lows (RegionsDirect *direct, DirectRun *run)
{
  const DirectFrame *frame = &run->frame;
  DirectTable *table = &direct->last;
  const DirectRegion *region = (const DirectRegion *) table->table;
  DirectLows *const first =
      (DirectLows *) ((DirectTiles *) (region + frame->n_regions)
          + frame->n_memories * frame->n_regions);
  DirectLows *lows = first;
  int64_t blocks = 0, n = 0;

  memset (
      lows, 0, sizeof *lows * (size_t) (frame->n_planes * frame->n_regions));
  for (int p = 0; p < frame->n_planes; p++)
    for (int i = 0; i < frame->n_regions; i++, lows++) {
      const RegionsTaps *taps =
          regions_filters_taps (direct->filters, region[i].amount + p);
      const int channels = count_channels (frame->plane[p].of.treated);
      DirectLowSpan x, y;

      lows->area = area_of (run, i, p);
      if (regions_area_is_empty (&lows->area)) {
        /* Tiles of another plane in the same memory may still read sums here. */
        lows->area = { { 0, 1 }, { 0, 1 } };
        continue;
      }
      if (taps->rate_x.factor == 0 || channels == 0)
        continue;
      if (lows->area.x.last > REGIONS_RATE_SAMPLES
          || lows->area.y.last > REGIONS_RATE_SAMPLES)
        return false;
      x = direct_low_span (taps->rate_x, lows->area.x);
      y = direct_low_span (taps->rate_y, lows->area.y);
      lows->lows_at = (int) n;
      n += (int64_t) channels * x.lows * y.lows;
      lows->sums_at = (int) n;
      n += (int64_t) channels * x.sums * y.sums;
      lows->filter.first = (int) blocks;
      lows->filter.n = channels * divide_up (x.sums, DIRECT_SUM_COLUMNS)
          * divide_up (y.sums, DIRECT_SUM_ROWS);
      blocks += lows->filter.n;
      if (n > MOST_LOWS)
        return false;
    }
  table->lows = (size_t) (n > LEAST_LOWS ? n : LEAST_LOWS);
  table->filtering = (int) blocks;
  /* More rows need fewer loads, but more blocks of threads occupy more of the GPU. */
  table->low_rows = DIRECT_LOW_ROWS;
  blocks = count_decimating (direct, run, first, table->low_rows);
  while (
      table->low_rows > 1 && blocks < LEAST_BLOCKS * direct->multiprocessors) {
    table->low_rows /= 2;
    blocks = count_decimating (direct, run, first, table->low_rows);
  }
  table->decimating = (int) blocks;
  return true;
}

/* The number of pixels of a row that direct_load_fours() can load: none unless they have 1, 2 or 4
 * bytes and four of them are aligned to their size. Samples lie within their pixels, as find_cell()
 * requires. */
static int
pixels_by_fours (const ImageMemory *src, const RegionsDevicePlane *plane)
{
  const int pixel = plane->pixel_stride;
  const size_t pixels = src->row_bytes / (size_t) pixel;

  if (4 % pixel != 0 || !image_is_aligned (src->data, src->stride, 4 * pixel))
    return 0;
  return pixels < (size_t) plane->width ? (int) pixels : plane->width;
}

static DirectPlane
describe_plane (const RegionsDirect *direct, const DirectRun *run, int p)
{
  const RegionsSpec *spec = &run->plan->spec;
  const ImagePlane *from = &run->of->src->plane[p];
  DirectPlane plane;

  plane.of = regions_device_plane (run->plan, run->of, p);
  plane.memory = from->memory;
  plane.halves =
      direct->tile_bytes[from->memory] / (REGIONS_TILE * from->pixel_stride);
  plane.by_fours =
      pixels_by_fours (&run->of->src->memory[from->memory], &plane.of);
  plane.pixels_x = spec->subsampling_x[p];
  plane.pixels_y = spec->subsampling_y[p] * run->of->rows_apart;
  for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
    plane.color[c] = spec->fill == REGIONS_SOLID && c < from->channels
            && regions_treats (spec, p, c)
        ? (uint16_t) (spec->color[p][c] + 0.5)
        : 0;
  return plane;
}

/* Whether a memory has bytes that are not of a sample that regions treat. */
static bool
has_gaps (const RegionsPlan *plan, const Image *image, int m)
{
  const size_t row_bytes = image->memory[m].row_bytes;

  for (int p = 0; p < image->n_planes; p++) {
    const ImagePlane *plane = &image->plane[p];

    if (plane->memory == m && image_is_packed (plane)
        && row_bytes == image_plane_row_bytes (plane)
        && plan->spec.filter->plane[p].channels == (1u << plane->channels) - 1)
      return false;
  }
  return true;
}

/* The b for which n == 1 << b, or -1. */
static int
find_bits (int n)
{
  int bits = 0;

  while (bits < 30 && 1 << bits < n)
    bits++;
  return 1 << bits == n ? bits : -1;
}

/* Describes memory m. Its copying blocks of threads begin at number *n, which grows by them. */
static DirectMemory
describe_memory (
    const RegionsDirect *direct, const DirectRun *of, int m, int64_t *n)
{
  const RegionsRun *run = of->of;
  const ImageMemory *src = &run->src->memory[m], *dst = &run->dst->memory[m];
  DirectMemory memory;
  int vectors;

  memory.src = src->data;
  memory.dst = dst->data;
  memory.src_stride = src->stride;
  memory.dst_stride = dst->stride;
  memory.row_bytes = (int) src->row_bytes;
  memory.height = src->height;
  memory.tile_bytes = direct->tile_bytes[m];
  memory.tile_bits = find_bits (memory.tile_bytes);
  memory.across = direct->across[m];
  memory.parts = direct->parts[m];
  memory.blocks = divide_up (memory.parts, of->frame.together);
  memory.has_gaps = !of->frame.covers && has_gaps (of->plan, run->src, m);
  memory.loose = direct->loose[m];
  memory.vector = regions_choose_vector (src, dst);
  vectors = divide_up (memory.row_bytes, memory.vector);
  memory.chunks = divide_up (vectors, DIRECT_THREADS);
  memory.chunk = divide_up (vectors, memory.chunks);
  memory.apart = DIRECT_THREADS / memory.chunk;
  memory.rows = memory.apart * DIRECT_EACH;
  memory.first = (int) *n;
  *n += (int64_t) divide_up (memory.height, memory.rows) * memory.chunks;
  return memory;
}

/* Fills in the frame but for its regions; returns false if the picture is too large. */
static bool
describe_picture (const RegionsDirect *direct, DirectRun *run)
{
  const RegionsSpec *spec = &run->plan->spec;
  DirectFrame *frame = &run->frame;
  int64_t n = 0;

  frame->together = parts_together[run->kind];
  frame->border = spec->filter->border;
  frame->ellipse = spec->shape == REGIONS_ELLIPSE;
  frame->covers = run->plan->whole != NULL || run->of->in_place;
  frame->beside = !frame->covers
      && gpu_possible_order (run->plan->gpu, run->of->order)
          == GPU_BESIDE_KERNELS;
  frame->feather = spec->feather;
  frame->sharp = !frame->ellipse && !(spec->feather > 0.0);
  frame->n_planes = run->of->src->n_planes;
  frame->n_memories = run->of->src->n_memories;
  for (int p = 0; p < frame->n_planes; p++)
    frame->plane[p] = describe_plane (direct, run, p);
  for (int m = 0; m < frame->n_memories; m++) {
    frame->memory[m] = describe_memory (direct, run, m, &n);
    if (n > MOST_BLOCKS)
      return false;
  }
  run->blocks = frame->covers ? 0 : (int) n;
  return true;
}

/* Sends taps that are not on the GPU yet, and the table if it does not fit the kernel's
 * parameter. */
static bool
send (RegionsDirect *direct, DirectRun *run, Fault *fault)
{
  const DirectTable *table = &direct->last;
  RegionsTable *sent = &direct->sent[regions_set (run->of)];

  if ((direct_is_filter (run->kind) || direct_has_lows (run->kind))
      && !regions_filters_send (direct->filters, run->of, true, fault))
    return false;
  run->frame.taps = (const RegionsTaps *) direct->filters->sent_taps.device;
  run->frame.tap = (const float *) direct->filters->sent_tap[true].device;
  if (table->bytes <= sizeof run->frame.table) {
    memcpy (run->frame.table, table->table, table->bytes);
    return true;
  }
  if (!regions_send_table (
          sent, table->revision, table->bytes, run->of->stream,
          [table] (
              uint8_t *block) { memcpy (block, table->table, table->bytes); },
          fault))
    return false;
  run->frame.sent = sent->staging.device;
  return true;
}

/* Queues the kernels that make the low samples and sums of a run. */
static bool
launch_rates (const DirectTable *table, const DirectRun *run, Fault *fault)
{
  const dim3 block (DIRECT_COLUMNS, DIRECT_ROWS);
  bool ok = false;

  GPU_CHECK (gpu_launch_early (run->plan->gpu, direct_decimate,
                 dim3 ((unsigned) table->decimating), block, 0, run->of->stream,
                 run->frame),
      fault);
  GPU_CHECK (gpu_launch_early (run->plan->gpu, direct_filter_lows,
                 dim3 ((unsigned) table->filtering), block,
                 (size_t) table->filtering_shared, run->of->stream, run->frame),
      fault);
  ok = true;
done:
  return ok;
}

static bool
launch (const DirectRun *run, Fault *fault)
{
  const DirectFrame *frame = &run->frame;
  const int blocks = frame->blocks + run->blocks;
  bool ok = false;

  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (run->plan->gpu, kernels[run->kind],
                   dim3 ((unsigned) blocks), dim3 (DIRECT_COLUMNS, DIRECT_ROWS),
                   (size_t) frame->shared, run->of->stream, *frame),
        fault);
  ok = true;
done:
  return ok;
}

bool
regions_direct_copy (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *of, bool *done, Fault *fault)
{
  DirectRun run;

  run.frame = DirectFrame ();
  run.kind = DIRECT_PLAIN;
  run.plan = plan;
  run.of = of;
  *done = direct->possible && describe_picture (direct, &run);
  return !*done || launch (&run, fault);
}

/* Makes the low samples and sums. The kernel of the tiles has to wait for that, and so for all
 * kernels before. */
static bool
make_lows (const DirectTable *table, DirectRun *run, RegionsScratch *scratch,
    Fault *fault)
{
  if (!regions_scratch_reserve (scratch, run->plan, run->of,
          table->lows * sizeof (float), (void **) &run->frame.lows, fault))
    return false;
  run->frame.low_rows = table->low_rows;
  run->frame.beside = false;
  return table->decimating == 0 || launch_rates (table, run, fault);
}

static bool
make_table (RegionsDirect *direct, DirectRun *run, Fault *fault)
{
  DirectTable *table = &direct->last;
  DirectFrame *frame = &run->frame;
  const DirectKind kind = run->kind;

  table->origin = RegionsOrigin ();
  table->revision++;
  table->filtering_shared = 0;
  if (!describe_regions (direct, run, &table->fits, fault))
    return false;
  /* How tiles are divided depends on the kind, which the filters may have changed. */
  table->fits = table->fits
      && (run->kind == kind || describe_picture (direct, run))
      && describe_tiles (direct, run)
      && (!direct_has_lows (run->kind) || describe_lows (direct, run));
  table->kind = run->kind;
  table->shared = frame->shared;
  table->blocks = frame->blocks;
  table->bytes = (size_t) frame->n_regions
      * (sizeof (DirectRegion)
          + (size_t) frame->n_memories * sizeof (DirectTiles)
          + (direct_has_lows (run->kind)
                  ? (size_t) frame->n_planes * sizeof (DirectLows)
                  : 0));
  table->origin = regions_origin (run->plan, run->of);
  return true;
}

/* Describes a run; its table is direct->last then. *fits: the kernels can do it. */
static bool
describe_run (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *of, DirectRun *run, bool *fits, Fault *fault)
{
  const int n = of->n + (is_covered_outside (plan) ? 1 : 0);
  const DirectTable *table = &direct->last;
  const bool known = regions_is_origin (&table->origin, plan, of);

  *fits = false;
  if (!direct->possible || n > DIRECT_MOST_REGIONS)
    return true;
  run->frame = DirectFrame ();
  run->kind = known ? table->kind : find_kind (&plan->spec);
  run->plan = plan;
  run->of = of;
  run->frame.n_regions = n;
  if (!describe_picture (direct, run))
    return true;
  if (!known && !make_table (direct, run, fault))
    return false;
  run->frame.shared = table->shared;
  run->frame.blocks = table->blocks;
  *fits = table->fits;
  return true;
}

bool
regions_direct_run (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *of, RegionsScratch *scratch, bool *done, Fault *fault)
{
  DirectRun run;

  if (!describe_run (direct, plan, of, &run, done, fault))
    return false;
  return !*done
      || (send (direct, &run, fault)
          && (!direct_has_lows (run.kind)
              || make_lows (&direct->last, &run, scratch, fault))
          && launch (&run, fault));
}

bool
regions_direct_reads_itself (RegionsDirect *direct, const RegionsPlan *plan,
    const RegionsRun *of, bool *reads, Fault *fault)
{
  DirectRun run;

  if (!describe_run (direct, plan, of, &run, reads, fault))
    return false;
  *reads = *reads && run.kind == DIRECT_RATES;
  return true;
}
