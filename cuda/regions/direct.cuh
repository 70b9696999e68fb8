/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct: regions by one kernel. Some of its blocks of threads each finish parts of a tile of dst
 * that regions touch: they make the fills in shared memory and lay them over the samples in
 * registers. The other blocks copy the bytes between these tiles. The regions are in the kernel's
 * parameter if they fit; the taps of a spec are sent once. For long blurs, which are filtered at a
 * lower sampling rate, two more kernels come before: direct-lows.cuh.
 *
 * A tile is cut out of a memory, not of a plane, so that no two tiles share a byte. In each of
 * NV12's two memories it is 32 x 32 samples of a plane; in YUY2's it is 64 x 32 samples of Y with
 * the 32 x 32 of U and V between them. A part of a tile is 32 x 32 samples of one channel.
 *
 *   allowed                at most
 *   regions                DIRECT_MOST_REGIONS
 *   FILTER                 DIRECT_MOST_TAPS along each axis, whose sums floats hold; at lower
 *                          sampling rates, as many as shared memory has room for
 *   PIXELATE               blocks whose sums have room in shared memory, DIRECT_SHARED
 *   planes of a memory     pixels of one size, or of halves of it, whose samples lie within them
 *   compute capability     DIRECT_CAPABILITY at least
 *
 * All else is left to pack.cuh and its kernels. */
#pragma once

#include "device.cuh"

#include "../gpu-launch.cuh"

/* kernel parameters have addresses from there on */
#define DIRECT_CAPABILITY 70
#define DIRECT_MOST_REGIONS 256
#define DIRECT_MOST_TAPS 128
#define DIRECT_SHARED (46 << 10) /* bytes, beside DirectJob */

/* threads of a block: a warp for each row of threads */
#define DIRECT_COLUMNS 32
#define DIRECT_ROWS 8
#define DIRECT_THREADS (DIRECT_COLUMNS * DIRECT_ROWS)
#define DIRECT_EACH (REGIONS_TILE / DIRECT_ROWS) /* rows of a thread */
#define DIRECT_MASKS (DIRECT_MOST_REGIONS / 32)

/* Bytes of the table of regions in the parameter: room for 50 regions of NV12 or I420, without
 * DirectLows. */
#define DIRECT_TABLE 3072
#define DIRECT_MOST_PARAMETER 4096

/* The kinds of fills that the kernel is compiled for. */
enum DirectKind
{
  DIRECT_PLAIN,    /* a color, or the source */
  DIRECT_SUM,      /* filters of SEPCONV_SUM */
  DIRECT_RATES,    /* the same, at lower sampling rates */
  DIRECT_MIXED,    /* some as DIRECT_SUM and some as DIRECT_RATES */
  DIRECT_COMBINED, /* other filters */
  DIRECT_MEANS,
  DIRECT_N_KINDS
};

/* Whether some fills are sums of all taps; each block of threads then has one part of a tile. */
__host__ __device__ __forceinline__ constexpr bool
direct_is_filter (DirectKind kind)
{
  return kind == DIRECT_SUM || kind == DIRECT_MIXED || kind == DIRECT_COMBINED;
}

/* Whether fills are made of DirectLows. */
__host__ __device__ __forceinline__ constexpr bool
direct_has_lows (DirectKind kind)
{
  return kind == DIRECT_RATES || kind == DIRECT_MIXED;
}

/* A grown region, in pixels of the picture. Width 0 stands for the whole picture, with weight 1. */
struct DirectRegion
{
  int left, top, width, height;
  int of_source; /* the fill is the source */
  int amount; /* filters: index of plane 0's taps; means: pixels of a block */
};

/* The tiles of a memory that a region touches: [left, right) x [top, bottom). Each has
 * DirectMemory.blocks blocks of threads, numbered row by row from `first` on. */
struct DirectTiles
{
  int first;
  uint16_t left, top, right, bottom;
};

/* Work for blocks of threads with successive numbers; n 0: there is none. */
struct DirectBlockRange
{
  int first, n;
};

/* direct_has_lows(): a region in a plane, and where its low samples and their sums are: both are
 * [treated channel][row][column], from DirectFrame.lows[lows_at] and [sums_at] on. */
struct DirectLows
{
  RegionsArea area;
  DirectBlockRange decimate, filter; /* of the two kernels that make them */
  int lows_at, sums_at;
};

struct DirectMemory
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int row_bytes, height;
  int tile_bytes;    /* of a row */
  int tile_bits;     /* tile_bytes is 1 << tile_bits; -1: it is no power of 2 */
  int across;        /* tiles; the last one has the rest of a row */
  int parts, blocks; /* of a tile */
  /* Some bytes belong to no sample that regions treat, and must be copied. From byte `loose` of a
   * row on, some belong to no sample at all. */
  bool has_gaps;
  int loose;
  /* How blocks of threads copy the memory. A row is `chunks` blocks wide; a block copies `chunk`
   * vectors of `vector` bytes of each of its `rows` rows, `apart` rows at a time. `first` is the
   * number of the first block. */
  int vector, chunk, chunks, apart, rows, first;
};

struct DirectPlane
{
  RegionsDevicePlane of;
  int memory;
  int halves; /* parts of REGIONS_TILE columns that a tile has */
  int pixels_x, pixels_y;
  /* Pixels of a row of src that loads of four, aligned to their size, may bring; 0: none. */
  int by_fours;
  uint16_t color[IMAGE_MAX_CHANNELS];
};

/* The kernel's parameter. */
struct DirectFrame
{
  SepconvBorder border;
  bool ellipse;
  bool covers; /* dst has the picture already: nothing is to be copied */
  bool beside; /* the order is GPU_BESIDE_KERNELS */
  double feather;
  bool sharp; /* rectangles without feather: a sample's weight is 0 or 1 */
  int n_planes, n_memories, n_regions;
  int together; /* parts of a tile that one block of threads has */
  int blocks;   /* of threads that have parts of tiles */
  int shared;   /* bytes */
  DirectPlane plane[IMAGE_MAX_PLANES];
  DirectMemory memory[IMAGE_MAX_MEMORIES];
  const RegionsTaps *taps; /* of each plane for a filter */
  const float *tap;
  /* direct_has_lows(): low samples and sums of all regions, and the rows of low samples that a
   * group of threads makes, at most DIRECT_LOW_ROWS. */
  float *lows;
  int low_rows;
  /* DirectRegion[n_regions], then DirectTiles[n_memories][n_regions], then, if
   * direct_has_lows(), DirectLows[n_planes][n_regions]; NULL: they are in `table`. */
  const void *sent;
  uint64_t table[DIRECT_TABLE / sizeof (uint64_t)];
};

static_assert (sizeof (DirectFrame) <= DIRECT_MOST_PARAMETER,
    "kernels have no larger parameters");

__device__ __forceinline__ const DirectRegion *
direct_regions (const DirectFrame &frame)
{
#if defined __CUDACC_VER_MAJOR__ && __CUDACC_VER_MAJOR__ < 12
  const void *table = frame.table;

  /* Without this, nvcc 11.8 ends with "Instruction does not dominate all uses!". With it, each
   * thread has a copy of the frame. */
  asm("" : "+l"(table));
  return (const DirectRegion *) (frame.sent != NULL ? frame.sent : table);
#else
  return (const DirectRegion *) (frame.sent != NULL ? frame.sent : frame.table);
#endif
}

/* The tiles of all regions in memory m, [n_regions]. */
__device__ __forceinline__ const DirectTiles *
direct_tiles (const DirectFrame &frame, int m)
{
  return (const DirectTiles *) (direct_regions (frame) + frame.n_regions)
      + m * frame.n_regions;
}

/* The number of DirectJob's masks that regions have bits in. */
__device__ __forceinline__ int
direct_masks (const DirectFrame &frame)
{
  return (frame.n_regions + 31) / 32;
}

__device__ __forceinline__ int
direct_me ()
{
  return threadIdx.y * DIRECT_COLUMNS + threadIdx.x;
}
