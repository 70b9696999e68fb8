/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light: the filter of sepconv.h in linear light, or with colour weighted by alpha, or both.
 *
 * A run converts the picture to a work picture: planes of 16-bit codes at full resolution, one each
 * for red, green and blue, or one for grey; and one for alpha, if colour is weighted by alpha or
 * alpha is written. It filters these planes as sepconv.h says, and converts the result back.
 *
 * Below, M = 65535 and round (x) = floor (x + 1/2). The table `decode` of N = 2^decode_bits entries
 * gives the linear code of R', G' or B' = i / (N - 1), and T[i] is the largest of its entries 0 to
 * i: BT.709 descends a little where its two curves meet. Without a table, for codes as they are,
 * T[i] = i and N = 65536.
 *
 * To the work picture:
 *
 *   RGB, grey   v = (code - black) / range, for each channel
 *   YUV         y = (Y - black) / range, cb = (Cb - neutral) / chroma_range, likewise cr, and
 *                 R' = y + 2 (1 - kr) cr
 *                 G' = y - (2 kr (1 - kr) cr + 2 kb (1 - kb) cb) / kg,  kg = 1 - kr - kb
 *                 B' = y + 2 (1 - kb) cb
 *   colour      c = T[i], i = round ((N - 1) v), no less than 0 and no more than N - 1
 *   alpha       a = round (M A / full), full its largest code
 *   premultiply c = round (c a / M)
 *
 * Chroma sample (i, j) stands for the pixels (x, y) with floor (x / subsampling_x) = i and
 * floor (y / subsampling_y) = j. In a field, rows of pixels below the last chroma row take that
 * row, and chroma is neutral if there is none. For the index i of YUV, five factors are rounded to
 * multiples of 2^-F: (N - 1) / range of Y - black, and those of Cb - neutral and Cr - neutral, such
 * as (N - 1) 2 (1 - kr) / chroma_range. F = 29 - decode_bits up to 12 bits of depth, else 32
 * (decode_bits is 16 for codes as they are). The sum is exact; the total error is less than 0.04
 * code.
 *
 * Filtering: `filter` for every plane, with zero level 0. A border colour becomes codes by the same
 * formulas, from its R', G', B' and alpha; grey has y = kr R' + kg G' + kb B'. So scale, bias and
 * threshold apply to linear light; with premultiply they also apply to alpha, by which colour is
 * divided afterwards.
 *
 * Back from results q, with p (q) the inverse of T: 0 for q <= T[0], N - 1 for q >= T[N - 1], else
 * the middle of the indices whose entries equal q, or if there are none,
 * i + (q - T[i]) / (T[i + 1] - T[i]) for the last entry T[i] below q.
 *
 *   premultiply q = round (M q / qa), at most M; 0 where qa = 0. qa is the filtered alpha, also
 *               where alpha itself is copied
 *   RGB, grey   code = round (black + range p (q) / (N - 1)); for DIRECTION, an angle, it is
 *               round (2^depth q / 65536) modulo 2^depth instead
 *   YUV         g = round (M p (q) / (N - 1)) for red, green and blue; gy = kr gr + kg gg + kb gb;
 *               Y = black + range gy / M
 *               Cb = neutral + chroma_range mean (gb - gy) / (2 (1 - kb) M)
 *               Cr = neutral + chroma_range mean (gr - gy) / (2 (1 - kr) M)
 *               with means over the pixels that the sample stands for, or 0 with `neutral_chroma`;
 *               rounded to the nearest code, from sums with an error of less than 0.02 code
 *   alpha       round (full qa / M) if it is written
 *
 * clamped to [0, full]. Other channels are copied bit by bit.
 *
 * CPU and GPU compute q from the same work picture, each within sepconv.h's accuracy of 1 in 16-bit
 * codes; the conversions are exact but for that 0.02. The following bounds hold for the transfer
 * function of sRGB, whose inverse has a slope of 12.92 at black, and for one that is no steeper,
 * such as BT.709, with a SUM of taps whose absolute values sum to 1 or less. The result differs
 * from the same filter without any rounding by less than
 *
 *   depth       8     10    12    16
 *   codes       0.8   1.0   2.0   30      at black; above half the code range 0.8, 0.8, 0.8, 3
 *
 * and with premultiply the part of these bounds above 0.5 is multiplied by 65535 / qa. The taps [1]
 * return RGB and grey unchanged wherever T ascends, between black and black + range; elsewhere
 * within half the number of codes that share an entry, or all of it at black and white. They return
 * YUV within 1 code up to 12 bits of depth, within 10 codes above, for colours whose R', G' and B'
 * are within [0, 1]. With premultiply this holds where alpha is full.
 *
 *   allowed     range
 *   size        any; red, green, blue, Y and alpha of one size
 *   depth       8 to 16 bits, the same of all colour channels
 *   subsampling of chroma: 1, 2 or 4 an axis
 *   T           2^8 to 2^16 entries; at most 1 in 64 of them have the same code, unlike in PQ
 *   black       0 to full / 8
 *   range       0.8 full to full, also chroma_range; black + range <= full
 *   neutral     2^(depth - 1)
 *   kr, kb      0 or more, and kr + kb <= 0.75
 *   filter      all that sepconv.h allows; DIRECTION not of YUV, nor if alpha is written;
 *               MAGNITUDE and DIRECTION not with premultiply */
#pragma once

#include "sepconv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LIGHT_MIN_DECODE_BITS 8
#define LIGHT_MAX_DECODE_BITS 16

/* The content of a channel. Y without CB and CR is grey. */
typedef enum
{
  LIGHT_COPY, /* copied: padding, or alpha that takes no part */
  LIGHT_RED,
  LIGHT_GREEN,
  LIGHT_BLUE,
  LIGHT_Y,
  LIGHT_CB,
  LIGHT_CR,
  LIGHT_ALPHA,
  LIGHT_N_ROLES
} LightRole;

typedef struct
{
  LightRole role[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS];
  /* Pixels of the picture for each sample of a plane. */
  int subsampling_x[IMAGE_MAX_PLANES], subsampling_y[IMAGE_MAX_PLANES];
  const uint16_t *decode; /* borrowed; NULL: codes as they are */
  int decode_bits;
  int black, range;          /* codes; of red, green, blue and Y */
  int neutral, chroma_range; /* codes; YUV */
  double kr, kb;             /* YUV, and grey's border colour */
  bool premultiply;          /* needs alpha */
  bool write_alpha;          /* else alpha is copied */
  bool neutral_chroma;       /* YUV: the result is grey */
  double border_color[4];    /* R', G', B', alpha, 0 to 1 */
  /* Borrowed. The terms of its plane 0 apply to every work plane; its channels, zero levels and
   * border values are not used. */
  const SepconvSpec *filter;
} LightSpec;

/* Checks all ranges above. FAULT_SETTINGS or FAULT_FORMAT names the reason. */
bool light_validate (const LightSpec *spec, const Image *layout, Fault *fault);

/* A validated spec, the plan of its filter, the work picture and its result. */
typedef struct LightPlan LightPlan;

/* `layout`, `backend`, `method` and `gpu` as for sepconv_plan_new(); `method` filters the work
 * picture. The spec is borrowed only for the call. */
LightPlan *light_plan_new (const LightSpec *spec, const Image *layout,
    Backend backend, const SepconvMethod *method, Gpu *gpu, Fault *fault);
/* All runs must have finished. NULL is allowed. */
void light_plan_free (LightPlan *plan);

/* Changes the filter and the border colour from the next run on, as sepconv_plan_update() does.
 * FALSE with FAULT_UNSUPPORTED: the conversion, the number of terms, their combination or the
 * method would change; the plan is unchanged, and a new plan is needed. */
bool light_plan_update (LightPlan *plan, const LightSpec *spec,
    const SepconvMethod *method, Fault *fault);

/* Writes all samples of dst, which must not overlap src. CPU and CUDA as for sepconv_plan_run().
 * Runs of a single kernel keep to `order`; runs of several kernels follow all work that is queued
 * on `stream`. */
bool light_plan_run (LightPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, GpuOrder order, Fault *fault);

/* The name of the method that filters; static. "tensor" is a single kernel that also converts, on
 * tensor cores. It is used unless the plan was made for a method, for one term of up to 33 taps and
 * these 8-bit formats: grey; RGB in planes or in pixels of four bytes; YUV in pixels of four bytes,
 * or in planes with 4:2:0, 4:2:2 or 4:4:4. YUV also needs a work picture without alpha, and a table
 * of at most 2^12 entries that line segments approximate closely enough, as for BT.709 in limited
 * range. */
const char *light_plan_method_name (const LightPlan *plan);

#ifdef __cplusplus
}
#endif
