/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate: shared parts of the CUDA kernels of the method multirate. multirate-plan.h has the
 * formula.
 *
 *   kernel        reads                          writes
 *   decimate      the frame                      parts of low[], the small picture
 *   along_x       the parts, which it adds up    sums along x, by the fitted taps
 *   along_y       the sums along x               sum[], along both axes
 *   along_both    the parts, which it adds up    sum[]; replaces along_x and along_y if there are
 *                                                few taps. Planes of bytes have their own version
 *   add_sums      sum[] of two terms             their total. Only if there are two terms, for each
 *                                                of which the along_ kernels run
 *   interpolate   sum[]                          the result
 *
 * The pictures between the kernels are floats, and planar: a row has one line for each channel.
 *
 * The kernels use programmatic dependent launch: all but add_sums and interpolate let the next
 * kernel begin at once, which then waits for their end with its blocks already in place. With
 * GPU_BESIDE_KERNELS, decimate waits for no kernel, but ends after all kernels before it
 * (gpu_end_in_turn()): a kernel that waits for decimate comes after those, too. interpolate lets
 * the next frame's decimate, which overwrites the parts, begin only after its own wait: the kernels
 * that read the parts have ended by then.
 *
 * One launch takes all planes of a frame that have samples of one size; its blocks are numbered
 * plane by plane. Most planes of bytes have kernels of their own (multirate-bytes.cuh).
 *
 * A row of a frame is a line of samples in which the channels of a pixel follow each other,
 * wherever they lie in memory. A thread of decimate or interpolate has MULTIRATE_GROUPS groups of
 * MULTIRATE_SAMPLES neighbouring samples. A warp's groups are neighbours, so that it reads and
 * writes whole lines of 128 bytes or more. */
#pragma once

#include "multirate-plan.h"

#include "../gpu-launch.cuh"
#include "border.h"

#define MULTIRATE_SAMPLES 4
#define MULTIRATE_GROUPS 2
#define MULTIRATE_OWN (MULTIRATE_GROUPS * MULTIRATE_SAMPLES)

#define MULTIRATE_WARP 32
/* Samples from a thread's first group to its second, and from one warp to the next. */
#define MULTIRATE_GROUP_STEP (MULTIRATE_WARP * MULTIRATE_SAMPLES)
#define MULTIRATE_WARP_STEP (MULTIRATE_GROUPS * MULTIRATE_GROUP_STEP)

/* Threads of decimate, or of interpolate, for which a multiprocessor has registers. */
#define MULTIRATE_THREADS_AT_ONCE 768

/* Results of a thread of along_y, which are neighbours along y. */
#define MULTIRATE_COLUMN_SUMS 8

/* along_both: the most fitted taps along either axis, and the most rows of a tile. */
#define MULTIRATE_BOTH_MOST_TAPS 40
#define MULTIRATE_BOTH_MOST_ROWS 64

/* along_both for bytes: steps of 16 samples (TENSOR_STEP) in the window of an axis. */
#define MULTIRATE_LEAST_STEPS 3
#define MULTIRATE_MOST_STEPS 4

/* Room for the taps of an axis, padded with zeros to whole blocks of MULTIRATE_SUM_BLOCK. */
#define MULTIRATE_PADDED_TAPS 4144
static_assert (MULTIRATE_PADDED_TAPS % MULTIRATE_SUM_BLOCK == 0
        && MULTIRATE_PADDED_TAPS
            >= TAPS_MAX + 2 * MULTIRATE_COLUMN_SUMS + MULTIRATE_SUM_BLOCK,
    "A plane's taps do not fit.");

/* Sizes of the weights for the decimation of bytes: multirate-decimate-bytes.cuh. */
#define MULTIRATE_MOST_SLOT_TILES 3
#define MULTIRATE_WINDOW_PAIRS 184

/* Fragments of the weights for the interpolation of bytes: multirate-interpolate-bytes.cuh. */
#define MULTIRATE_RESULT_X 12
#define MULTIRATE_RESULT_Y 2

/* The constants of one plane, in device memory. */
struct MultirateTables
{
  /* [p]: the weights of sample p of a cell (`factor` samples) in the windows of four low samples.
   * window_x: x, y, z, w are the weights in the windows of which the cell is the first, second,
   * third and last one. window_y: in reverse order, so that the window that ends first is first. */
  float4 window_x[MULTIRATE_MAX_FACTOR], window_y[MULTIRATE_MAX_FACTOR];
  float4 phase_x[MULTIRATE_MAX_FACTOR], phase_y[MULTIRATE_MAX_FACTOR];
  float4 cell_y; /* the sum of window_y */
  /* For the kernels for bytes: fragments, in the order of the lanes. */
  uint4 byte_window_x[MULTIRATE_MOST_SLOT_TILES][2][MULTIRATE_WARP];
  uint4 byte_window_y[MULTIRATE_WINDOW_PAIRS];
  uint4 result_y[MULTIRATE_RESULT_Y][MULTIRATE_WARP];
  /* Each weight twice: for hi and lo of the FP16 split. */
  uint2 result_x[MULTIRATE_RESULT_X][MULTIRATE_WARP];
  /* The taps of multirate-filter-bytes.cuh, as fragments: [step][hi or lo of the FP16 split]. */
  uint4 pair_x[MULTIRATE_MOST_STEPS][2][MULTIRATE_WARP];
  uint4 pair_y[MULTIRATE_MOST_STEPS][2][MULTIRATE_WARP];
  float tap_x[MULTIRATE_PADDED_TAPS];
  /* Begins with MULTIRATE_COLUMN_SUMS zeros. Divided by the largest code, except for the kernels
   * for bytes. */
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
  /* For samples of two bytes: 2^23 + the raw sample in the middle of the range. */
  float middle;
  /* Turns sums of raw samples into codes; for samples of one byte, it also undoes the exponents. */
  float unit;
  float border[IMAGE_MAX_CHANNELS]; /* less the center */
  /* MultirateMix, restated for codes in place of levels. All are divided by the largest code,
   * except for the kernels for bytes. */
  float offset[IMAGE_MAX_CHANNELS], last[IMAGE_MAX_CHANNELS];
  bool compares;
  float weight, keep, threshold;

  /* the plane is taken by the kernels for bytes, which use these: */
  bool bytes;
  int src_unit,
      dst_unit; /* bytes of a chunk that may be read, or written, at once */
  uint32_t border_bytes; /* border constant, channel after channel */
  float byte_unit;       /* turns sums of bytes into codes */

  int factor_x, factor_y;
  int shift_x, shift_y; /* log2 of the factors, for the kernels for bytes */
  int first_x, taps_x, first_y, taps_y; /* of the fitted taps */
  const MultirateTables *tables;

  int first_block[MULTIRATE_N_KERNELS];

  /* low[]: multirate_distinct_lows(). */
  int first_row, low_rows, first_column, low_columns;
  int low_pitch; /* floats of a line: whole fours */
  /* decimate: a block makes `tile_lows` columns of each channel from `strip_cells` cells along y.
   * Windows reach across strips: each strip makes its parts of all low rows to which its cells
   * belong, strip_cells + 3 rows. */
  int tiles, tile_lows, strips, strip_cells, cells;
  int strips_at_once; /* of a block, one after the other: in the kernel for bytes */
  float *parts; /* [strip][row of the strip][channel][low_pitch] */

  /* sum[]; its first column and row have index -1. */
  int sum_columns, sum_rows;
  int pitch;        /* floats of a line */
  float *sums_x;    /* [low_rows][channel][pitch] */
  float *sums; /* [sum_rows][channel][pitch]; for bytes, FP16 hi/lo pairs */
  float *more_sums; /* the same for a second term; NULL: there is none */

  /* along_both, for bytes or not: tiles along x, rows of a tile; 0: the plane has too many taps. */
  int both_tiles, both_rows;
  int pair_steps; /* along_both for bytes: steps of a window; 0: another kernel takes the plane */
  int tap_skew; /* zeros before the first tap along x, which align the loads */
  float sum_unit; /* undoes the scale of both axes' taps */

  /* interpolate: result_cells are the cells along y of a block; of a plane that is only copied, its
   * rows; in the kernel for bytes, its groups of MULTIRATE_RESULT_ROWS rows. */
  int result_tiles, result_cells;
};

struct MultirateFrame
{
  SepconvBorder border;
  GpuOrder order;
  int n_planes;
  MultiratePart plane[IMAGE_MAX_PLANES];
};

/* How the kernels for bytes write a result. */
enum MultirateResultWay
{
  MULTIRATE_RESULT_ANY, /* by chunks, or by bytes where these are not whole */
  MULTIRATE_RESULT_PLAIN, /* all chunks are whole, are written at once, and keep no channel */
  MULTIRATE_RESULT_KEEPS, /* the same, but with kept channels, and four channels in all */
  MULTIRATE_N_RESULT_WAYS
};

/* Kernels of multirate-sharpen.cu: multirate_interpolate_bytes() that also adds the sample itself.
 */
extern void (*const multirate_sharpen_bytes[MULTIRATE_N_RESULT_WAYS]) (
    MultirateFrame);

/* The index of the plane to which the block belongs. */
template <MultirateKernel KERNEL>
__device__ __forceinline__ int
multirate_find_plane (const MultirateFrame &frame)
{
  int p = frame.n_planes - 1;

  while (p > 0 && (int) blockIdx.x < frame.plane[p].first_block[KERNEL])
    p--;
  return p;
}

/* The first sample of a thread's group, counted from the block's first sample. */
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

/* The raw samples of a group, as they lie in memory. */
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

/* Raw sample j of a group. */
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
