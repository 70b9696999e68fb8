/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate: what the kernels of the method multirate share. multirate-plan.h has the formula.
 *
 *   kernel        reads                          writes
 *   decimate      the frame                      parts of low[], the small picture
 *   along_x       the parts, which it adds up    the taps' sums along x
 *   along_y       those                          sum[], along both axes
 *   along_both    the parts, which it adds up    sum[]: instead of the two, for few taps; a
 *                                                kernel of its own for planes of bytes
 *   add_sums      sum[] of two kernels           sum[] of both: the three before it run for
 *                                                each of them
 *   interpolate   sum[]                          the result
 *
 * The pictures between the kernels are floats, and planar: a row has one line for each channel.
 * Each kernel but the last two lets the next one begin at once, which then waits for its end: blocks are in
 * their places when they have something to do. With GPU_BESIDE_KERNELS, decimate waits for none, but ends
 * after those before it (gpu_end_in_turn()), and so what waits for its end comes after them, too.
 * Hence interpolate lets the next one begin only once it has waited itself: the kernels that read the
 * parts have ended then, which the next frame's decimate overwrites.
 *
 * One launch takes all planes of a frame that have samples of one size; its blocks are numbered
 * plane by plane. Most planes of bytes have kernels of their own (multirate-bytes.cuh).
 *
 * A row of a frame is a line of samples in which the channels of a pixel follow each other,
 * wherever they lie in memory. A thread of the first and the last kernel has MULTIRATE_GROUPS
 * groups of MULTIRATE_SAMPLES neighbouring samples; a warp's groups are neighbours, so that it
 * reads and writes whole lines of 128 bytes or more. */
#pragma once

#include "multirate-plan.h"

#include "../gpu-launch.cuh"
#include "border.h"

#define MULTIRATE_SAMPLES 4
#define MULTIRATE_GROUPS 2
#define MULTIRATE_OWN (MULTIRATE_GROUPS * MULTIRATE_SAMPLES)

#define MULTIRATE_WARP 32
/* Samples from a warp's group to its next one, and from a warp to the next one. */
#define MULTIRATE_GROUP_STEP (MULTIRATE_WARP * MULTIRATE_SAMPLES)
#define MULTIRATE_WARP_STEP (MULTIRATE_GROUPS * MULTIRATE_GROUP_STEP)

/* Threads of decimate, or of interpolate, that a multiprocessor has registers for at once. */
#define MULTIRATE_THREADS_AT_ONCE 768

/* Results of a thread of along_y, which are neighbours along y. */
#define MULTIRATE_COLUMN_SUMS 8

/* along_both: fitted taps along either axis, and rows of a tile, at most. */
#define MULTIRATE_BOTH_MOST_TAPS 40
#define MULTIRATE_BOTH_MOST_ROWS 64

/* along_both of bytes: products one after the other that a window of an axis takes. */
#define MULTIRATE_LEAST_STEPS 3
#define MULTIRATE_MOST_STEPS 4

/* The taps of an axis, up to whole blocks of the sums, with zeros. */
#define MULTIRATE_PADDED_TAPS 4144
static_assert (MULTIRATE_PADDED_TAPS % MULTIRATE_SUM_BLOCK == 0
        && MULTIRATE_PADDED_TAPS
            >= TAPS_MAX + 2 * MULTIRATE_COLUMN_SUMS + MULTIRATE_SUM_BLOCK,
    "A plane's taps do not fit.");

/* The weights by which bytes are decimated: multirate-decimate-bytes.cuh. */
#define MULTIRATE_MOST_SLOT_TILES 3
#define MULTIRATE_WINDOW_PAIRS 184

/* Registers of those by which results of bytes are interpolated: multirate-interpolate-bytes.cuh. */
#define MULTIRATE_RESULT_X 12
#define MULTIRATE_RESULT_Y 2

/* The constants of one plane, in device memory. */
struct MultirateTables
{
  /* [p]: the weights of sample p of a cell, `factor` samples, in the windows of four low
   * samples. Of x: x, y, z, w of the windows in which the cell is the first, second, third
   * and last one. Of y: the other way round, the window that ends first comes first. */
  float4 window_x[MULTIRATE_MAX_FACTOR], window_y[MULTIRATE_MAX_FACTOR];
  float4 phase_x[MULTIRATE_MAX_FACTOR], phase_y[MULTIRATE_MAX_FACTOR];
  float4 cell_y; /* the sum of window_y */
  /* Of planes that go by the kernels for bytes, in the order of the lanes. */
  uint4 byte_window_x[MULTIRATE_MOST_SLOT_TILES][2][MULTIRATE_WARP];
  uint4 byte_window_y[MULTIRATE_WINDOW_PAIRS];
  uint4 result_y[MULTIRATE_RESULT_Y][MULTIRATE_WARP];
  uint2 result_x[MULTIRATE_RESULT_X]
                [MULTIRATE_WARP]; /* each twice, as products take it */
  /* Those of multirate-filter-bytes.cuh, as fragments: [step][upper or lower halves]. */
  uint4 pair_x[MULTIRATE_MOST_STEPS][2][MULTIRATE_WARP];
  uint4 pair_y[MULTIRATE_MOST_STEPS][2][MULTIRATE_WARP];
  float tap_x[MULTIRATE_PADDED_TAPS];
  /* Behind MULTIRATE_COLUMN_SUMS zeros; divided by the largest code, but of bytes. */
  float tap_y[MULTIRATE_PADDED_TAPS];
};

enum MultirateKernel
{
  MULTIRATE_DECIMATE,
  MULTIRATE_DECIMATE_BYTES,
  MULTIRATE_ALONG_X,
  MULTIRATE_ALONG_Y,
  MULTIRATE_ALONG_BOTH,
  MULTIRATE_ALONG_BOTH_BYTES,
  MULTIRATE_INTERPOLATE,
  MULTIRATE_INTERPOLATE_BYTES,
  MULTIRATE_N_KERNELS
};

struct MultiratePart
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int width, height, n_samples; /* of a row */
  int channels, pixel_stride, channel_stride;
  unsigned kept;               /* bit c set: channel c is copied */
  bool src_direct, dst_direct; /* groups may be read, or written, at once */
  int shift, max_code;
  uint32_t mask; /* of the significant bits of a word */
  float center;
  /* Of samples of two bytes: the float 2^23 + raw for the middle of the range. */
  float middle;
  /* Turns sums of raw samples into codes; of bytes, it also undoes the exponents. */
  float unit;
  float border[IMAGE_MAX_CHANNELS]; /* less the center */
  /* What becomes of sums: MultirateMix, for codes in place of levels. All are divided by the largest
   * code, but of bytes. */
  float offset[IMAGE_MAX_CHANNELS], last[IMAGE_MAX_CHANNELS];
  bool compares;
  float weight, keep, threshold;

  /* Of planes that go by the kernels for bytes: how many bytes of a chunk may be read, or
   * written, at once, the border, channel after channel, and what turns sums of bytes into codes. */
  bool bytes;
  int src_unit, dst_unit;
  uint32_t border_bytes;
  float byte_unit;

  int factor_x, factor_y;
  int shift_x,
      shift_y; /* their logarithms, of planes that go by the kernels for bytes */
  int first_x, taps_x, first_y, taps_y; /* of the fitted taps */
  const MultirateTables *tables;

  int first_block[MULTIRATE_N_KERNELS];

  /* low[]: multirate_distinct_lows(). */
  int first_row, low_rows, first_column, low_columns;
  int low_pitch; /* floats of a line: whole fours */
  /* decimate: a block makes `tile_lows` columns of each channel, out of `strip_cells` cells
   * along y. Windows reach across strips: each strip has its parts of all low rows that its
   * cells belong to, strip_cells + 3 of them. */
  int tiles, tile_lows, strips, strip_cells, cells;
  float *parts; /* [strip][row of the strip][channel][low_pitch] */

  /* Of sum[], whose first column and row belong to low sample -1. */
  int sum_columns, sum_rows;
  int pitch;        /* floats of a line */
  float *sums_x;    /* [low_rows][channel][pitch] */
  float *sums;      /* [sum_rows][channel][pitch]; of bytes pairs of halves */
  float *more_sums; /* the same for a second kernel; NULL: there is none */

  /* along_both, of bytes or not: tiles along x, and rows of one; 0 if the plane has too many taps. */
  int both_tiles, both_rows;
  int pair_steps; /* of bytes: products along a window; 0: not along_both of bytes */
  int tap_skew; /* low columns before the first tap, by which loads are aligned */
  float sum_unit; /* undoes the scale of both axes' taps */

  /* interpolate: cells along y of a block; of a plane that is only copied, rows; of bytes
   * MULTIRATE_RESULT_ROWS rows each. */
  int result_tiles, result_cells;
};

struct MultirateFrame
{
  SepconvBorder border;
  GpuOrder order;
  int n_planes;
  MultiratePart plane[IMAGE_MAX_PLANES];
};

/* Kernels of multirate-sharpen.cu: the last one for bytes, PLAIN or not, where the sample is added. */
extern void (*const multirate_sharpen_bytes[2]) (MultirateFrame);

/* The plane that the block belongs to. */
template <MultirateKernel KERNEL>
__device__ __forceinline__ int
multirate_find_plane (const MultirateFrame &frame)
{
  int p = frame.n_planes - 1;

  while (p > 0 && (int) blockIdx.x < frame.plane[p].first_block[KERNEL])
    p--;
  return p;
}

/* The first sample of a thread's group, of the block's. */
__device__ __forceinline__ int
multirate_group (int group)
{
  return (int) threadIdx.x / MULTIRATE_WARP * MULTIRATE_WARP_STEP
      + group * MULTIRATE_GROUP_STEP
      + (int) threadIdx.x % MULTIRATE_WARP * MULTIRATE_SAMPLES;
}

__device__ __forceinline__ int
multirate_read_raw (const uint8_t *at, int sample_bytes)
{
  return sample_bytes == 1 ? *at : *(const uint16_t *) at;
}

/* A group as it lies in memory. */
template <int BYTES> struct MultirateGroup
{
  uint32_t word[BYTES];
};

template <int BYTES>
__device__ __forceinline__ MultirateGroup<BYTES>
multirate_load_group (const uint8_t *at)
{
  MultirateGroup<BYTES> group;

  if constexpr (BYTES == 1) {
    group.word[0] = gpu_load ((const uint32_t *) at);
  } else {
    const uint2 words = gpu_load ((const uint2 *) at);

    group.word[0] = words.x;
    group.word[1] = words.y;
  }
  return group;
}

/* Sample j of a group, as it lies in memory. */
template <int BYTES>
__device__ __forceinline__ uint32_t
multirate_raw_of (const MultirateGroup<BYTES> &group, int j)
{
  return BYTES == 1 ? group.word[0] >> 8 * j & 0xff
                    : group.word[j / 2] >> 16 * (j % 2) & 0xffff;
}

template <int BYTES>
__device__ __forceinline__ void
multirate_put_raw (MultirateGroup<BYTES> *group, int j, uint32_t raw)
{
  if (BYTES == 1)
    group->word[0] |= raw << 8 * j;
  else
    group->word[j / 2] |= raw << 16 * (j % 2);
}
