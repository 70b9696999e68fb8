/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sepconv: separable convolution of an image, by any of several methods.
 *
 * For each selected channel, with levels in(x, y) as code less zero level (correlation, taps not
 * flipped; anchors at nx/2 and ny/2), a term is
 *
 *   T(x,y) = sum_j sum_i ty[j] * tx[i] * in(x + i - nx/2, y + j - ny/2)
 *
 * and the result is
 *
 *   out(x,y) = zero + bias * full + scale * combined
 *
 *   SUM         combined = T_0 + T_1 + ...
 *   UNSHARP     combined = in + amount * (in - T_0) where |in - T_0| > threshold * full, else in
 *   MAGNITUDE   combined = sqrt (T_0^2 + T_1^2)
 *   DIRECTION   out = the angle of (T_0, T_1) from the x axis on, as atan2 (T_1, T_0) counts it:
 *               0 at 0, 2^depth for a whole turn, modulo 2^depth, without zero level, bias and
 *               scale; but the zero level for (0, 0)
 *
 * with full = 2^depth - 1, and without the bias in channels that leave it out, rounded to nearest
 * and clamped to [0, full]. Channels that are not selected are copied bit by bit.
 *
 *   allowed     range
 *   size        any >= 1x1, also smaller than the kernel
 *   depth       1 to 16 bits, samples shifted by any number of bits
 *   channels    1 to 4 interleaved, any pixel and row stride
 *   taps        1 to TAPS_MAX an axis, odd or even
 *   terms       1 to TAPS_MAX_TERMS of SUM, 1 of UNSHARP, 2 of the others
 *   borders     all five, also where they repeat
 *   gain        |scale| * sum|tx| * sum|ty|, summed over the terms, <= SEPCONV_MAX_GAIN;
 *               DIRECTION: the same with a scale of 1;
 *               UNSHARP: |scale| * (1 + |amount| * (1 + sum|tx| * sum|ty|))
 *               without scale, of each term, <= SEPCONV_MAX_UNSCALED_GAIN
 *   threshold   0 to 1
 *
 * Every method keeps the error against that formula in exact arithmetic below
 * 0.75 code value up to 12 bits and 1.0 above, or says it does not support the
 * spec. A difference that lies within that error of UNSHARP's threshold counts as either side of
 * it, and DIRECTION is as exact as the two terms are. The same input gives the same output on
 * every run of one method. */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "histo.h"
#include "image.h"
#include "taps.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SEPCONV_MAX_GAIN 1e6
/* Of a term without scale, which may be 0: sums and their squares stay finite. */
#define SEPCONV_MAX_UNSCALED_GAIN 1e100
#define SEPCONV_MAX_BIAS 1e3

/* What lies outside the image abcd. Reflections repeat as often as needed. */
typedef enum
{
  SEPCONV_REPLICATE,   /* aaa|abcd|ddd */
  SEPCONV_REFLECT,     /* cba|abcd|dcb, edge sample repeated */
  SEPCONV_REFLECT_101, /* dcb|abcd|cba, edge sample not repeated */
  SEPCONV_WRAP,        /* bcd|abcd|abc */
  SEPCONV_CONSTANT,    /* vvv|abcd|vvv, v = border_value */
} SepconvBorder;

/* How the terms of a plane make up its result; see above. */
typedef enum
{
  SEPCONV_SUM,
  SEPCONV_UNSHARP,
  SEPCONV_MAGNITUDE,
  SEPCONV_DIRECTION,
} SepconvCombine;

/* A separable kernel: the taps of both axes, borrowed. */
typedef struct
{
  const Taps *x, *y;
} SepconvTerm;

/* What to do with one plane. Values are per channel, in codes. */
typedef struct
{
  const Taps *x,
      *y;     /* the first term; borrowed; must be set if channels != 0 */
  int n_more; /* terms after the first */
  SepconvTerm more[TAPS_MAX_TERMS - 1];
  unsigned channels; /* bit c set: filter channel c, else copy it */
  unsigned unbiased; /* bit c set: channel c gets no bias */
  double zero[IMAGE_MAX_CHANNELS];         /* zero level */
  double border_value[IMAGE_MAX_CHANNELS]; /* in [0, 2^depth - 1] */
} SepconvPlane;

typedef struct
{
  SepconvBorder border;
  SepconvCombine combine;
  double amount, threshold; /* UNSHARP */
  double scale, bias;
  SepconvPlane plane[IMAGE_MAX_PLANES]; /* of the image's n_planes */
} SepconvSpec;

/* One way to compute it: a row of sepconv/methods.def. */
typedef struct
{
  const char *name;
  const char *description; /* a phrase, for menus and tables */
  Backend backend;
  const struct SepconvMethodOps *ops; /* NULL: not in this build */
} SepconvMethod;

/* All known methods, built or not, in a fixed order. */
int sepconv_n_methods (void);
const SepconvMethod *sepconv_method (int index);
const SepconvMethod *sepconv_method_by_name (const char *name);

/* The compute capability, 10 * major + minor, that its kernels need; 0: any, or
 * it is not in this build. */
int sepconv_method_min_capability (const SepconvMethod *method);

/* Whether runs overlap others on this GPU if they may (GPU_BESIDE_KERNELS). */
bool sepconv_method_overlaps (const SepconvMethod *method, const Gpu *gpu);

/* Whether a method can do this, within the accuracy above; `why` says what it
 * cannot. Addresses and sizes in `layout` do not matter. `gpu`: on this one; NULL: on
 * one that can run every method. */
bool sepconv_method_supports (const SepconvMethod *method,
    const SepconvSpec *spec, const Image *layout, const Gpu *gpu, Fault *why);

/* The method that a plan of `backend` takes: `method` itself if it can do the
 * spec, or for NULL the one that is expected to be fastest in runs of that order, which
 * else does not matter. NULL and a fault when there is none. */
const SepconvMethod *sepconv_choose_method (const SepconvSpec *spec,
    const Image *layout, Backend backend, const SepconvMethod *method,
    const Gpu *gpu, GpuOrder order, Fault *fault);

/* Number of terms of a plane, and the taps of one of them. */
static inline int
sepconv_n_terms (const SepconvPlane *plane)
{
  return 1 + plane->n_more;
}

static inline SepconvTerm
sepconv_term (const SepconvPlane *plane, int i)
{
  const SepconvTerm first = { plane->x, plane->y };

  return i == 0 ? first : plane->more[i - 1];
}

/* Whether the spec is a plain sum of one term, which every method can compute. */
bool sepconv_is_plain (const SepconvSpec *spec, const Image *layout);

/* Checks all ranges above. */
bool sepconv_validate (
    const SepconvSpec *spec, const Image *layout, Fault *fault);
/* True when every selected channel comes out as it went in, for any content. */
bool sepconv_is_identity (const SepconvSpec *spec, const Image *layout);

/* A validated spec, the method that computes it, and its buffers. */
typedef struct SepconvPlan SepconvPlan;

/* `backend` and `method` as for sepconv_choose_method(), with GPU_AFTER_KERNELS. `layout`
 * gives planes and the largest size to be filtered; its addresses are not used. `gpu` is
 * needed for BACKEND_CUDA, must outlive the plan, and its context must be pushed here
 * and for every call below. The caller owns the plan. */
SepconvPlan *sepconv_plan_new (const SepconvSpec *spec, const Image *layout,
    Backend backend, const SepconvMethod *method, Gpu *gpu, Fault *fault);
/* No run of the plan may be unfinished. NULL is allowed. */
void sepconv_plan_free (SepconvPlan *plan);

/* Changes taps, amounts, borders and levels from the next run on, without waiting for
 * earlier ones and without allocating, but for the first spec that needs double
 * sums after some that did not, and, in the first run with them, for taps that need more
 * memory than all before. Returns false with FAULT_UNSUPPORTED and
 * leaves the plan as it was when its method cannot do the new spec, or when that has other
 * terms or combines them otherwise: make a new plan then. */
bool sepconv_plan_update (
    SepconvPlan *plan, const SepconvSpec *spec, Fault *fault);
/* Whether the spec has as many terms as the plan's, and combines them alike. */
bool sepconv_plan_has_terms (const SepconvPlan *plan, const SepconvSpec *spec);

/* From the next run on the plan's pictures have the widths and at most the heights of `layout`,
 * which has the plan's planes and memories but for these, none larger than those that the plan was
 * made for. Only on the CPU; else FAULT_UNSUPPORTED. */
bool sepconv_plan_reshape (
    SepconvPlan *plan, const Image *layout, Fault *fault);

const SepconvMethod *sepconv_plan_method (const SepconvPlan *plan);
/* Whether sepconv_plan_advance() finishes rows before the last part. */
bool sepconv_plan_in_parts (const SepconvPlan *plan);

/* Filters src into dst, which must not overlap it and have the plan's planes; no
 * memory may be larger than in the plan's layout. CPU: the addresses are the
 * host's, and the call returns when the work is done. CUDA: they are the
 * device's, and the work is queued on `stream`, the same for all runs of a plan, in
 * `order` with what is there. One thread at a time. */
bool sepconv_plan_run (SepconvPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, GpuOrder order, Fault *fault);

/* Pixels [left, right) x [top, bottom) of a plane; not empty. */
typedef struct
{
  int left, top, right, bottom;
} SepconvWindow;

/* Like sepconv_plan_run(), on the CPU alone, where no more than a window of each plane of dst is
 * needed, which lies in it; what is outside of it has any value afterwards. Methods may save the
 * work. Planes whose memory has no rows need no window. */
bool sepconv_plan_run_window (SepconvPlan *plan, const Image *src,
    const Image *dst, const SepconvWindow window[IMAGE_MAX_PLANES],
    Fault *fault);

/* Like sepconv_plan_run(), part by part while src is still coming in: rows fresh[m]
 * of each memory, of some perhaps none, have come in since the last part, when the
 * stream gets here, and those before them earlier. Finishes the rows of dst that need
 * no others: [0, done[m]) are finished by then, where `done` is 0 before the first
 * part and as the last part left it before the others. With the last part no row is
 * left. The parts of one frame follow each other; no other run of the plan comes
 * between. `order` is that with the kernels before the frame: its parts are of one
 * order, and keep the one that they need among themselves. */
bool sepconv_plan_advance (SepconvPlan *plan, const Image *src,
    const Image *dst, const ImageRows fresh[IMAGE_MAX_MEMORIES],
    int done[IMAGE_MAX_MEMORIES], GpuStream stream, GpuOrder order,
    Fault *fault);

/* Whether sepconv_plan_run_counting() can count for this plan, with the taps that the
 * filter has now. If not, histo_plan_run() on the result does. */
bool sepconv_plan_counts (SepconvPlan *plan, const HistoPlan *histo);

/* Like sepconv_plan_run(), and counts dst into `result`, which was made from `histo`, on
 * the way: what histo_plan_run() on dst would do afterwards, for less. Only where
 * sepconv_plan_counts(). Runs of `histo` are all on this stream. */
bool sepconv_plan_run_counting (SepconvPlan *plan, const Image *src,
    const Image *dst, HistoPlan *histo, HistoResult *result, GpuStream stream,
    GpuOrder order, Fault *fault);

#ifdef __cplusplus
}
#endif
