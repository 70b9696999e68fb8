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
 *            lowest code to black and the highest to white. A picture of one code
 *            keeps it: T[i] = black + i.
 *   CLAHE    T[i] = black + (n - 1) H'[i] / N
 *            with H' the sums of h'[i] = min (h[i], clip) + (what was clipped off,
 *            shared among the bins), for each tile.
 *
 * rounded to nearest, halves to even, from a quotient in single precision, which is
 * off by less than 0.02 code at 16 bits. The table that is used follows it,
 *
 *   S <- smoothing S + (1 - smoothing) T
 *
 * so that a video does not flicker; the first frame, and the first after a reset,
 * has S = T. S has 16 bits behind the code, and stops within
 * 2^-17 / (1 - smoothing) of a T that stays. Then
 *
 *   F[Y] = Y + strength (S[i] - Y)                       rounded to nearest
 *
 * is the new code Y' of a global table. With tiles it is interpolated, along x and
 * along y, between the F of four: pixel x lies x / tile width - 1/2 tiles from the
 * centre of the first (half a pixel from where it should, as in OpenCV), and beyond
 * the outer centres the outer tiles count alone. The result goes to the nearest code,
 * halves to even ones. kr, kb, strength and smoothing are rounded to multiples of
 * 2^-16, weights of tiles to 2^-24. A luma channel becomes Y'. Of red, green and blue
 * each becomes
 *
 *   R' = min (max (R + Y' - Y, min (R, black)), max (R, white))
 *
 * which keeps the differences of the three as far as codes reach, and takes no sample
 * out of [black, white]. Channels to be copied are, bit by bit; so are the bits of a
 * mapped sample that are no part of its code. With strength 0 every bit stays.
 *
 * With full range, strength 1 and no smoothing, CLAHE gives what OpenCV's does
 * within one code, at 8 and 16 bits, as observed in its version 5.0.0: pictures that
 * the tiles do not divide are extended on the right and at the bottom by reflection
 * about the last sample, to the next multiple along both axes, and by a whole
 * multiple more along the axis that was one. clip is the integer part of
 * clip_limit N / n, but no less than 1, or no limit where clip_limit is 0 (OpenCV's
 * is 1 from 2^31 on). Of c clipped samples each bin gets floor (c / n), and one more
 * each of the bins 0, s, 2 s... with s = max (floor (n / r), 1), for the remaining r.
 *
 * Sources: R. A. Hummel, Image Enhancement by Histogram Transformation, Computer
 * Graphics and Image Processing 6, 1977 (global); K. Zuiderveld, Contrast Limited
 * Adaptive Histogram Equalization, Graphics Gems IV, 1994 (CLAHE).
 *
 *   allowed     range
 *   size        1x1 to EQUALIZE_MAX_SAMPLES luma samples, with their extension
 *   depth       1 to 16 bits, samples shifted by any number of bits
 *   channels    all that image.h can tell; red, green and blue of one size and depth
 *   black       0 to white - 1
 *   white       to 2^depth - 1
 *   kr, kb      0 to 1, also their sum
 *   strength    0 to 1
 *   smoothing   0 to less than 1
 *   tiles       1 to EQUALIZE_MAX_TILES an axis
 *   clip_limit  0 to EQUALIZE_MAX_CLIP_LIMIT
 *
 * CPU and GPU give the same result, bit by bit: they compute by the same text, in
 * integers but for one quotient and one product of single precision, which IEEE 754
 * defines. */
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

/* What a channel is. */
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
  int tiles_x, tiles_y; /* used for CLAHE only, like the next */
  double clip_limit;    /* in mean counts of a bin; 0: none */
} EqualizeSpec;

/* Checks all ranges above. */
bool equalize_validate (
    const EqualizeSpec *spec, const Image *layout, Fault *fault);

/* A validated spec, its buffers, and the tables that follow the frames. */
typedef struct EqualizePlan EqualizePlan;

/* `layout` gives planes and size; its addresses are not used. `gpu` is needed for
 * BACKEND_CUDA, must outlive the plan, and its context must be pushed here and for
 * every call below but equalize_plan_reset(). The caller owns the plan. Faults:
 * FAULT_SETTINGS, FAULT_UNSUPPORTED (a build without CUDA), FAULT_NO_SPACE (a tile
 * takes up to 10 bytes a code), FAULT_FAILED. */
EqualizePlan *equalize_plan_new (const EqualizeSpec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);
/* No run of the plan may be unfinished. NULL is allowed. */
void equalize_plan_free (EqualizePlan *plan);

/* Changes strength, smoothing and clip limit from the next run on, without waiting
 * for earlier ones and without allocating. FAULT_UNSUPPORTED where anything else
 * differs, with the plan as it was: make a new one then. */
bool equalize_plan_update (
    EqualizePlan *plan, const EqualizeSpec *spec, Fault *fault);

/* The next run starts a new stream: its tables follow nothing. */
void equalize_plan_reset (EqualizePlan *plan);

/* Equalises src into dst, which must not overlap it; both have the plan's planes and
 * sizes. CPU: the addresses are the host's, and the call returns when the work is
 * done. CUDA: they are the device's, and the work is queued on `stream`, the same for
 * all runs of a plan; samples of two bytes lie at even addresses. Runs are the frames
 * of one video, in order: whole frames, also of interlaced video, since fields would
 * make tables of their own. Never allocates nor waits for the GPU. After FAULT_FAILED
 * the plan can only be freed. One thread at a time for all calls of one plan. */
bool equalize_plan_run (EqualizePlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
