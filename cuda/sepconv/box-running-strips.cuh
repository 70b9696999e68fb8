/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-strips: declarations that the parts of box-running for strips share.
 *
 * Samples of a row are counted over all its channels. A block has a tile of each row of its strip,
 * and sums the columns of a window: the tile with its halo on the left and the right. It goes down
 * the strip in stages of BOX_ROWS rows:
 *
 *   box-running-columns   the running sums of the window's columns go to shared memory, as 16-bit
 *                         integers, their low bytes apart from their high ones
 *   box-running-rows      from these, running sums along the rows, and the result
 *
 * A place is a sample of the window, counted from its first one. */
#pragma once

#include "border.h"
#include "instructions.cuh"
#include "strip.cuh"

#define BOX_WARP 32
#define BOX_ROWS STRIP_ROWS
/* Bytes of a row, a group, that a thread sums along y. */
#define BOX_GROUP_BYTES 8
/* Samples of a row that a warp makes at a time. */
#define BOX_STEP 32
/* Samples of a row that ldmatrix loads, a byte of each sum. Windows begin at multiples of it. */
#define BOX_UNIT 16

#define BOX_MOST_THREADS 640

/* The most rows of a box for which column sums of 8-bit samples fit 16 bits: 257 * 255 = 65535. */
#define BOX_NARROW_ROWS 257

struct BoxStripPlane
{
  StripPlane strip;
  int n_samples;  /* of a row */
  int tile, lead; /* samples; the window begins `lead` left of the tile */
  int needed;     /* samples of the window */
  int rows, above, below; /* of the box: all, and above and below the result */
  /* Places of the first samples that leave, and that enter, the box of the tile's first pixel. */
  int leaving, entering;
  uint2 border;       /* a group of the constant border */
  uint32_t mask;      /* of the significant bits of a word */
  uint32_t factor;    /* scale of column sums in a WIDE kernel, at most 64 */
  uint32_t low, high; /* selectors for __byte_perm() of two such sums */
  /* A result is start + unit * sum, in units of the largest code. */
  float unit, start[IMAGE_MAX_CHANNELS], full;
  /* Whether groups are read at once, and eight samples written. */
  bool src_direct, dst_direct;
};

struct BoxStripFrame
{
  SepconvBorder border;
  GpuOrder order;
  int pitch; /* bytes of a row of column sums in shared memory */
  int n_planes;
  BoxStripPlane plane[IMAGE_MAX_PLANES];
};

/* Sums, integers of up to 22 bits and a sign, are added to this one: the result is the bits of the
 * float 1.5 * 2^23 + sum. */
#define BOX_MAGIC_BITS 0x4b400000
#define BOX_MAGIC 12582912.0f

/* The words of weights of a lane: for a step, for the ends of a whole box, and both together; see
 * box-running-rows. */
#define BOX_STEP_WORDS 24
#define BOX_END_WORDS 4
#define BOX_WEIGHT_WORDS (BOX_STEP_WORDS + BOX_END_WORDS)

/* Entries of BoxMemory.row. */
#define BOX_LOOKED_UP 64

/* The shared memory of a block. */
struct BoxMemory
{
  uint8_t *low, *high; /* [BOX_ROWS][pitch] */
  uint32_t *weights;   /* [BOX_WEIGHT_WORDS / 4][BOX_WARP][4] */
  int *row;            /* [BOX_LOOKED_UP]: see BoxRows */
  int *from;           /* [place]: see BOX_NOT_READ */
};

static __host__ __device__ constexpr int
box_pitch (int threads, int sample_bytes)
{
  return strip_pitch (threads * (BOX_GROUP_BYTES / sample_bytes) / 16);
}

static __host__ __device__ constexpr int
box_shared (int threads, int sample_bytes)
{
  return 2 * BOX_ROWS * box_pitch (threads, sample_bytes)
      + 4 * BOX_WEIGHT_WORDS * BOX_WARP + (int) sizeof (int) * BOX_LOOKED_UP
      + (int) sizeof (int) * threads * (BOX_GROUP_BYTES / sample_bytes);
}

__device__ __forceinline__ BoxMemory
box_memory (uint8_t *shared, int pitch)
{
  BoxMemory memory;

  memory.low = shared;
  memory.high = memory.low + BOX_ROWS * pitch;
  memory.weights = (uint32_t *) (memory.high + BOX_ROWS * pitch);
  memory.row = (int *) (memory.weights + BOX_WEIGHT_WORDS * BOX_WARP);
  memory.from = memory.row + BOX_LOOKED_UP;
  return memory;
}
