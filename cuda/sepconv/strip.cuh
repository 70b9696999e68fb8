/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strip: planes cut into columns and strips, for the methods that do both passes in one
 * kernel.
 *
 * All planes of a frame go into one launch. A plane is cut into columns, and each
 * column into strips; a block marches down its strip, a stage of rows at a time.
 * Stages come from the source by strip-reader.cuh, and results leave by strip-writer.cuh.
 *
 * Planes must be packed: the pixels of a row follow each other without a gap, and so
 * do the channels of a pixel. */
#pragma once

#include "method.h"

#include "../gpu-launch.cuh"

#define STRIP_WARPS 4
#define STRIP_THREADS (32 * STRIP_WARPS)
#define STRIP_ROWS 16
/* Stages in flight: enough for the latency of memory with a few blocks. */
#define STRIP_STAGES 4

/* The pattern of unfiltered bytes in a row repeats after this many times eight bytes, whatever
 * the size of a pixel. */
#define STRIP_KEEP 3

/* Members are in the order in which a block needs them: kernels get this as constants, which
 * come in lines of 64 bytes. */
struct StripPlane
{
  int first_block; /* of the launch */
  int columns;     /* blocks side by side */
  int strip_rows;  /* rows of one strip, a multiple of StripLoad's unit */
  int sides;       /* first and last column, which have other strips */
  int side_blocks; /* blocks of the sides, which come before all others */
  int side_rows;
  ImageRows result;
  int width, height; /* pixels, rows of the source */
  int row_bytes;     /* of a row that belong to the plane */
  const uint8_t *src;
  ptrdiff_t src_stride;
  int margin;  /* pixels left and right of the image that results depend on */
  bool filter; /* any channel; else the plane is copied */
  bool src_aligned; /* to 16 bytes, all rows */
  bool dst_aligned; /* likewise */
  bool keeps;       /* some bits of `keep` are set */

  uint8_t *dst;
  ptrdiff_t dst_stride;
  int channels, sample_bytes, shift, max_code;
  uint32_t keep[STRIP_KEEP][2]; /* 24 bytes: mask of unfiltered bits */
  /* The pixel outside the image for SEPCONV_CONSTANT, repeated as often as there is room. */
  alignas (8) uint8_t border[8];
};

/* The size of a stage: rows of `chunks` times 16 bytes, `pitch` bytes apart, which are whole
 * pixels. `rows` is a multiple of STRIP_WARPS, and at most STRIP_ROWS. */
struct StripStage
{
  int rows, chunks, pitch;
};

static __host__ __device__ constexpr int
strip_round_up (int value, int unit)
{
  return (value + unit - 1) / unit * unit;
}

/* An odd multiple of 16 bytes, so that ldmatrix finds 8 rows in different banks. */
static __host__ __device__ constexpr int
strip_pitch (int chunks)
{
  return 16 * (chunks | 1);
}

/* The part of a plane that a block has. */
struct StripPlace
{
  int column;
  int first, last; /* rows of the result */
};

__device__ __forceinline__ StripPlace
strip_place (const StripPlane &plane)
{
  int block = blockIdx.x - plane.first_block;
  const bool side = block < plane.side_blocks;
  const int columns = side ? plane.sides : plane.columns - plane.sides;
  const int rows = side ? plane.side_rows : plane.strip_rows;
  StripPlace place;
  int strip;

  if (!side)
    block -= plane.side_blocks;
  strip = block / columns;
  place.column = block - strip * columns;
  if (side)
    place.column *= plane.columns - 1;
  else if (plane.sides > 0)
    place.column++;
  place.first = plane.result.first + strip * rows;
  place.last = min (place.first + rows, plane.result.last);
  return place;
}

/* The index of the plane that the block belongs to. */
template <typename Frame>
__device__ __forceinline__ int
strip_find_plane (const Frame &frame)
{
  int p = 0;

  while (p + 1 < frame.n_planes
      && (int) blockIdx.x >= frame.plane[p + 1].strip.first_block)
    p++;
  return p;
}

__device__ __forceinline__ void
strip_copy_bytes (uint8_t *to, const uint8_t *from, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = from[i];
}

/* Whether a plane is packed; if not, sets `why`. */
bool strip_is_packed (const ImagePlane *plane, Fault *why);

/* Whether plane p of a plan is filtered. */
static inline bool
strip_filters (const SepconvPlan *plan, int p)
{
  return plan->taps[p].x.n > 0;
}

/* Whether a constant border has a whole number for a code, as StripPlane needs it; true for
 * other borders. */
bool strip_border_is_code (
    const SepconvPlan *plan, const SepconvChannel *channel);

/* Fills in all members but those that strip_lay_out() sets, and `columns`. */
void strip_describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, StripPlane *plane);

/* Blocks of a kernel that run on a multiprocessor at once, as found last. */
struct StripOccupancy
{
  const void *kernel;
  int shared; /* bytes of a block */
  int blocks;
};

/* Updates `last` if the kernel or its bytes of shared memory are others. */
bool strip_occupancy (
    StripOccupancy *last, const void *kernel, int shared, Fault *fault);

/* The parameters of a launch on which its time depends. */
struct StripLoad
{
  GpuOrder order;
  int counts;    /* whether blocks count, and add the counts at their ends */
  int above;     /* rows that a strip sums above those of its result */
  int unit;      /* rows that strips are multiples of; 0: STRIP_ROWS */
  int most_rows; /* of a strip, at least the unit; 0: any */
  int at_once;   /* blocks on a multiprocessor */
  int multiprocessors;
};

/* All that the heights of strips depend on: only integers, since memcmp() compares it. */
struct StripTask
{
  StripLoad load;
  int n_planes;
  int columns[IMAGE_MAX_PLANES], rows[IMAGE_MAX_PLANES];
};

/* The heights that were found last, and for which task. Must start zeroed. */
struct StripHeights
{
  StripTask task;
  int strip_rows, side_rows;
};

/* Cuts planes, whose columns are known, into strips of the heights that are expected to
 * take least time. Returns the number of blocks. */
int strip_lay_out (StripPlane *const *planes, int n_planes,
    const StripLoad *load, StripHeights *last);
