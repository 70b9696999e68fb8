/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: how the kernels describe a picture and its filter, and the lists for regions that
 * direct.cuh does not take. These are sent as one block of arrays, which at most three kernels
 * read: up to two make fills, from sums along x and then along y or as means of blocks, and the
 * last one lays them over dst, tile by tile. */
#pragma once

#include "plan.h"

#include "../sepconv/combine.h"

#include <string.h>

#define REGIONS_TILE 32 /* samples a side, of dst */
/* Size of the area of sums that a block of threads makes. */
#define FILL_WIDTH 64
#define FILL_HEIGHT 16

/* Where a part takes its fill from. */
enum RegionsSource
{
  REGIONS_FROM_CODES,
  REGIONS_FROM_MEANS,
  REGIONS_FROM_COLOR,
  REGIONS_FROM_SRC,
};

/* The taps of one term, as in SepconvPlaneTaps: nx taps from x on and ny from y on, in an array
 * of all taps. */
struct RegionsTerm
{
  int nx, ny, x, y;
  double sum_x; /* of the taps of x */
};

/* The taps of an axis at a lower sampling rate: the first four members as in MultirateAxis, its
 * window, phases and taps in the array of all taps, from multiples of four on. */
struct RegionsRate
{
  int factor, weight_sum, first, n;
  int window, phase, tap;
  unsigned reciprocal; /* for regions_cell() */
};

/* Samples of an axis, at most. */
#define REGIONS_RATE_SAMPLES (1 << 21)
#define REGIONS_RECIPROCAL_BITS 26

static inline unsigned
regions_reciprocal (int factor)
{
  return ((1u << REGIONS_RECIPROCAL_BITS) + (unsigned) factor - 1)
      / (unsigned) factor;
}

/* sample / factor, for a sample of [0, REGIONS_RATE_SAMPLES): the product is too large by less
 * than 1 / MULTIRATE_MAX_FACTOR. */
__host__ __device__ __forceinline__ int
regions_cell (const RegionsRate &rate, int sample)
{
  return (int) ((uint64_t) (unsigned) sample * rate.reciprocal
      >> REGIONS_RECIPROCAL_BITS);
}

/* The filter of one plane. */
struct RegionsTaps
{
  Combination how;
  int n_terms;
  RegionsTerm term[TAPS_MAX_TERMS];
  /* The only term at lower sampling rates; factors 0: it is not computed so. */
  RegionsRate rate_x, rate_y;
  SepconvChannel channel[IMAGE_MAX_CHANNELS];
};

/* One region in one plane. Sums are [filtered channel][term][n_rows][area.x], from row first_row
 * of the plane on; codes are [filtered channel][area.y][area.x]; means are
 * [blocks.y][blocks.x][channel of the plane]. */
struct RegionsDevicePart
{
  RegionsShapeInPlane shape;
  RegionsArea area;
  int plane, source;
  int taps;              /* index of its RegionsTaps */
  int first_row, n_rows; /* of sums */
  /* numbers of its blocks, as regions_block_of() counts them */
  RegionsArea blocks;
  int block_width, block_height, block_x, block_y;
  size_t at; /* of its first sum or mean */
  size_t codes_at;
  uint16_t color[IMAGE_MAX_CHANNELS];
};

/* FILL_WIDTH x FILL_HEIGHT sums of one term of one channel, from (x, y) of the part's sums on. */
struct RegionsSumJob
{
  int part, channel, order; /* `order`: index among the filtered channels */
  int term, x, y;
};

/* REGIONS_TILE x REGIONS_TILE codes of one channel, from (x, y) of the part's area on. */
struct RegionsCodeJob
{
  int part, channel, order; /* `order`: index among the filtered channels */
  int x, y;
};

/* Means of `n` blocks of a part, from `first` on; blocks are numbered row by row. */
struct RegionsMeanJob
{
  int part, first, n;
};

/* A tile of dst from sample (x, y) on, and the parts that touch it, in their order: n entries of
 * RegionsFrame.list from `first` on. */
struct RegionsTile
{
  int plane, x, y;
  int first, n;
};

struct RegionsDevicePlane
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int width, height;
  int pixel_stride, channel_stride, channels;
  unsigned treated; /* bit c: channel c */
  int sample_bytes, shift;
};

/* The widest vector, in bytes, to which the rows of both memories are aligned. */
static inline int
regions_choose_vector (const ImageMemory *a, const ImageMemory *b)
{
  for (int bytes : { 16, 4 })
    if (image_is_aligned (a->data, a->stride, bytes)
        && image_is_aligned (b->data, b->stride, bytes))
      return bytes;
  return 1;
}

/* Plane p of a run. */
static inline RegionsDevicePlane
regions_device_plane (const RegionsPlan *plan, const RegionsRun *run, int p)
{
  const ImagePlane *from = &run->src->plane[p];
  const ImageMemory *src = &run->src->memory[from->memory];
  const ImageMemory *dst = &run->dst->memory[from->memory];
  RegionsDevicePlane plane;

  plane.src = src->data + from->offset;
  plane.dst = dst->data + from->offset;
  plane.src_stride = src->stride;
  plane.dst_stride = dst->stride;
  plane.width = from->width;
  plane.height = src->height;
  plane.pixel_stride = from->pixel_stride;
  plane.channel_stride = from->channel_stride;
  plane.channels = from->channels;
  plane.treated = plan->spec.filter->plane[p].channels;
  plane.sample_bytes = image_sample_bytes (from);
  plane.shift = from->shift;
  return plane;
}

/* The index of the memory that a run uses, of the REGIONS_OVERLAPPING sets. */
static inline int
regions_set (const RegionsRun *run)
{
  return run->beside != NULL ? run->beside->set : 0;
}

/* The key of data made for a run: the data holds for all runs with the same key. */
struct RegionsOrigin
{
  unsigned placements; /* the plan's; 0: nothing was worked out */
  int rows_apart;
  int height[IMAGE_MAX_MEMORIES];
};

static inline RegionsOrigin
regions_origin (const RegionsPlan *plan, const RegionsRun *run)
{
  RegionsOrigin origin = {};

  origin.placements = plan->placements;
  origin.rows_apart = run->rows_apart;
  for (int m = 0; m < run->src->n_memories; m++)
    origin.height[m] = run->src->memory[m].height;
  return origin;
}

static inline bool
regions_is_origin (
    const RegionsOrigin *origin, const RegionsPlan *plan, const RegionsRun *run)
{
  const RegionsOrigin other = regions_origin (plan, run);

  return memcmp (origin, &other, sizeof other) == 0;
}

/* The parameter of the kernels of packed runs; Real is float or double. */
template <typename Real> struct RegionsFrame
{
  SepconvBorder border;
  RegionsDevicePlane plane[IMAGE_MAX_PLANES];
  const RegionsDevicePart *parts;
  const RegionsTaps *taps;
  const Real *tap;
  const RegionsSumJob *sum_jobs;
  const RegionsCodeJob *code_jobs;
  const RegionsMeanJob *mean_jobs;
  const RegionsTile *tiles;
  const int *list;
  Real *sums;
  uint16_t *codes, *means;
};
