/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* equalize: contrast equalisation of an image's luma, by one table for the whole
 * picture or by a grid of them.
 *
 * The spec gives every channel a role. Either one channel is luma, Y; or three are
 * red, green and blue, and
 *
 *   Y = floor (kr R + kg G + kb B + 1/2),  kg = 1 - kr - kb
 *
 * With n = white - black + 1 bins, a sample counts in bin
 * i = min (max (Y, black), white) - black. Of the counts h[i] of a table's N samples,
 * and their sums H[i] = h[0] + ... + h[i], the frame's own table is
 *
 *   global   T[i] = black + (n - 1) (H[i] - h[m]) / (N - h[m])
 *            with m the lowest bin that occurs, T = black where i < m. It takes the
 *            lowest code to black and the highest to white. A picture of a single
 *            code stays unchanged: T[i] = black + i.
 *   CLAHE    T[i] = black + (n - 1) H'[i] / N
 *            with H' the sums of h'[i] = min (h[i], clip) + (the bin's share of the
 *            clipped counts), for each tile.
 *
 * rounded to nearest, halves to even, from a quotient in single precision, whose error
 * is less than 0.02 code at 16 bits. The table S that is applied follows T,
 *
 *   S <- smoothing S + (1 - smoothing) T
 *
 * so that a video does not flicker; the first frame, and the first after a reset,
 * has S = T. S has 16 fraction bits. If T stays constant, S comes to rest within
 * 2^-17 / (1 - smoothing) of it. Then
 *
 *   F[Y] = Y + strength (S[i] - Y)                       rounded to nearest
 *
 * is the new code Y' with a global table. With tiles, Y' is interpolated along x and y
 * between the F of the four nearest tiles: pixel x lies x / tile width - 1/2 tiles from
 * the centre of the first tile (half a pixel off, as in OpenCV); beyond the outer
 * centres only the outer tiles count. Y' is rounded to nearest, halves to even. kr, kb,
 * strength and smoothing are rounded to multiples of 2^-16, weights of tiles to 2^-24.
 * A luma channel becomes Y'. Red, green and blue each become
 *
 *   R' = min (max (R + Y' - Y, min (R, black)), max (R, white))
 *
 * which keeps the differences of the three where the range allows it, and moves no
 * sample out of [black, white]. EQUALIZE_COPY channels are copied bit by bit, as are
 * the bits of a mapped sample outside its code. With strength 0 every bit stays.
 *
 * With full range, strength 1 and no smoothing, CLAHE gives what OpenCV's does
 * within one code, at 8 and 16 bits, as observed in its version 5.0.0. A picture whose
 * size is not a multiple of the tiles on both axes is extended on both, to the right
 * and at the bottom, by reflection about the last sample, to the next larger multiple,
 * also if the axis was a multiple. clip is the integer part of clip_limit N / n, but at
 * least 1, or no limit if clip_limit is 0 (in OpenCV, clip is 1 from 2^31 on). Of c
 * clipped samples each bin gets floor (c / n); the remaining r go one each to the bins
 * 0, s, 2 s... with s = max (floor (n / r), 1).
 *
 * Sources: R. A. Hummel, Image Enhancement by Histogram Transformation, Computer
 * Graphics and Image Processing 6, 1977 (global); K. Zuiderveld, Contrast Limited
 * Adaptive Histogram Equalization, Graphics Gems IV, 1994 (CLAHE).
 *
 *   allowed     range
 *   size        1x1 to EQUALIZE_MAX_SAMPLES luma samples, with their extension
 *   depth       1 to 16 bits, samples shifted by any number of bits
 *   channels    all that image.h can describe; red, green and blue of one size and depth
 *   black       0 to white - 1
 *   white       to 2^depth - 1
 *   kr, kb      0 to 1, also their sum
 *   strength    0 to 1
 *   smoothing   0 to less than 1
 *   tiles       1 to EQUALIZE_MAX_TILES an axis
 *   clip_limit  0 to EQUALIZE_MAX_CLIP_LIMIT
 *
 * CPU and GPU give the same result, bit by bit: they share the source code, which uses
 * integers except for one quotient and one product in single precision, as IEEE 754
 * defines them. */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counters have 32 bits. */
#define EQUALIZE_MAX_SAMPLES UINT32_MAX
#define EQUALIZE_MAX_TILES 64
#define EQUALIZE_MAX_CLIP_LIMIT 1e6

typedef enum
{
  EQUALIZE_GLOBAL,
  EQUALIZE_CLAHE
} EqualizeKind;

/* The content of a channel. */
typedef enum
{
  EQUALIZE_COPY, /* chroma, alpha, padding */
  EQUALIZE_LUMA,
  EQUALIZE_RED,
  EQUALIZE_GREEN,
  EQUALIZE_BLUE
} EqualizeRole;

typedef struct
{
  EqualizeKind kind;
  EqualizeRole role[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS];
  int black, white; /* codes */
  double kr, kb;    /* used with red, green and blue only */
  double strength;
  double smoothing;
  int tiles_x, tiles_y; /* used for CLAHE only, as is clip_limit */
  double clip_limit;    /* in mean counts of a bin; 0: no limit */
} EqualizeSpec;

/* Checks all ranges above. */
bool equalize_validate (
    const EqualizeSpec *spec, const Image *layout, Fault *fault);

/* A validated spec, its buffers, and the smoothed tables S. */
typedef struct EqualizePlan EqualizePlan;

/* `layout` gives planes and size; its addresses are not used. `gpu` is needed for
 * BACKEND_CUDA and must outlive the plan; its context must be pushed here and for every
 * call below except equalize_plan_reset(). The caller owns the plan. Faults:
 * FAULT_SETTINGS, FAULT_UNSUPPORTED (a build without CUDA), FAULT_NO_SPACE (a tile
 * takes up to 10 bytes a code), FAULT_FAILED. */
EqualizePlan *equalize_plan_new (const EqualizeSpec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);
/* All runs of the plan must have finished. NULL is allowed. */
void equalize_plan_free (EqualizePlan *plan);

/* Changes strength, smoothing and clip limit from the next run on, without waiting
 * for earlier runs and without allocating. FAULT_UNSUPPORTED if anything else differs;
 * the plan stays unchanged: make a new one then. */
bool equalize_plan_update (
    EqualizePlan *plan, const EqualizeSpec *spec, Fault *fault);

/* The next run starts a new video: its tables do not follow earlier ones. */
void equalize_plan_reset (EqualizePlan *plan);

/* Equalises src into dst. They must not overlap, and both have the plan's planes and
 * sizes. CPU: addresses are the host's, and the call returns when the work is done.
 * CUDA: addresses are the device's, and the work is queued on `stream`, the same one for
 * all runs of a plan; samples of two bytes lie at even addresses. Runs are the frames of
 * one video, in order: whole frames, also of interlaced video, since single fields would
 * give tables of their own. Never allocates, and never waits for the GPU. After
 * FAULT_FAILED the plan can only be freed. One thread at a time for all calls of one
 * plan. */
bool equalize_plan_run (EqualizePlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
