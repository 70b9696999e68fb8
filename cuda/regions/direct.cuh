/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct: regions by one kernel. Some of its blocks of threads each finish a tile of dst that regions
 * touch, fill by fill in shared memory; the others copy what lies between these tiles. The regions
 * travel as the kernel's parameter, and the taps of a spec go up once.
 *
 * A tile is cut out of a memory, not of a plane, so that no two tiles share a byte: of NV12's
 * two memories it is 32 x 32 samples of the one plane; of YUY2's it is 64 x 32 of Y with the 32 x 32 of
 * U and V between them. A part of a tile is 32 x 32 samples of one channel.
 *
 *   allowed                at most
 *   regions                DIRECT_MOST_REGIONS
 *   FILTER                 DIRECT_MOST_TAPS along each axis, whose sums floats hold
 *   PIXELATE               blocks whose sums have room in shared memory, DIRECT_SHARED
 *   planes of a memory     pixels of one size, or of halves of it, whose samples lie within them
 *   compute capability     DIRECT_CAPABILITY at least
 *
 * All else is left to pack.cuh and its kernels. */
#pragma once

#include "device.cuh"

#include "../gpu-launch.cuh"

#define DIRECT_CAPABILITY 70 /* where parameters have addresses */
#define DIRECT_MOST_REGIONS 256
#define DIRECT_MOST_TAPS 128
#define DIRECT_SHARED (46 << 10) /* bytes, beside DirectJob */

#define DIRECT_COLUMNS \
  32 /* threads of a block: a warp for each row of threads */
#define DIRECT_ROWS 8
#define DIRECT_THREADS (DIRECT_COLUMNS * DIRECT_ROWS)
#define DIRECT_EACH (REGIONS_TILE / DIRECT_ROWS) /* rows of a thread */
#define DIRECT_MASKS (DIRECT_MOST_REGIONS / 32)

/* Bytes of regions in the parameter; there is room for 50 of NV12 and I420. */
#define DIRECT_TABLE 3072
#define DIRECT_MOST_PARAMETER 4096

/* What the kernel is compiled for: what the fills of a run are. */
enum DirectKind
{
  DIRECT_PLAIN,    /* a color, or the source */
  DIRECT_SUM,      /* filters of SEPCONV_SUM */
  DIRECT_COMBINED, /* other filters */
  DIRECT_MEANS,
  DIRECT_N_KINDS
};

/* A grown region, in pixels of the picture. Of width 0: all of the picture, with the weight 1. */
struct DirectRegion
{
  int left, top, width, height;
  int of_source; /* the fill is the source */
  int amount;    /* which taps of plane 0, or the pixels of a block */
};

/* The tiles of a memory that a region touches, [left, right) x [top, bottom), row by row, with
 * DirectMemory's blocks of threads each, from block `first` on. */
struct DirectTiles
{
  int first;
  uint16_t left, top, right, bottom;
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
  /* There are bytes that are not of a sample which regions treat: they are copied. From byte `loose`
   * of a row on some are of no sample at all. */
  bool has_gaps;
  int loose;
  /* How blocks copy it: vectors of so many bytes, `chunk` of them in a row of a block, of
   * `chunks` side by side; with `rows` rows each, `apart` at a time, from block `first` on of all
   * that copy. */
  int vector, chunk, chunks, apart, rows, first;
};

struct DirectPlane
{
  RegionsDevicePlane of;
  int memory;
  int halves; /* parts of REGIONS_TILE columns that a tile has */
  int pixels_x, pixels_y;
  uint16_t color[IMAGE_MAX_CHANNELS];
};

/* The kernel's parameter. */
struct DirectFrame
{
  SepconvBorder border;
  bool ellipse;
  bool covers; /* dst has the picture already: nothing is to be copied */
  bool beside; /* GPU_BESIDE_KERNELS */
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
  /* DirectRegion[n_regions], then DirectTiles[n_memories][n_regions]; NULL: they are in `table`. */
  const void *sent;
  uint64_t table[DIRECT_TABLE / sizeof (uint64_t)];
};

static_assert (sizeof (DirectFrame) <= DIRECT_MOST_PARAMETER,
    "kernels have no larger parameters");

/* A block of threads, in shared memory. */
struct DirectJob
{
  int memory, region; /* of a tile */
  int tile_x, tile_y;
  int part; /* the first one */
  unsigned
      touched[DIRECT_MASKS]; /* bit i: region i, of what the block writes */
};

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

/* Of memory m. */
__device__ __forceinline__ const DirectTiles *
direct_tiles (const DirectFrame &frame, int m)
{
  return (const DirectTiles *) (direct_regions (frame) + frame.n_regions)
      + m * frame.n_regions;
}

/* The masks of DirectJob that regions have bits in. */
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
