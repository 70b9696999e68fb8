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
 *   DIRECTION   out = atan2 (T_1, T_0), the angle from the x axis, in units of 2^-depth turns and
 *               modulo 2^depth; (0, 0) gives the zero level. Zero level, bias and scale have no
 *               other effect
 *
 * with full = 2^depth - 1, rounded to nearest and clamped to [0, full]. Channels in `unbiased` get
 * no bias. Channels that are not selected are copied bit by bit.
 *
 *   allowed     range
 *   size        any >= 1x1, also smaller than the kernel
 *   depth       1 to 16 bits, samples shifted by any number of bits
 *   channels    1 to 4 interleaved, any pixel and row stride
 *   taps        1 to TAPS_MAX an axis, odd or even
 *   terms       1 to TAPS_MAX_TERMS of SUM, 1 of UNSHARP, 2 of the others
 *   borders     all five, also where a reflection or a wrap repeats
 *   gain        |scale| * sum|tx| * sum|ty|, summed over the terms, <= SEPCONV_MAX_GAIN;
 *               DIRECTION: the same with a scale of 1;
 *               UNSHARP: |scale| * (1 + |amount| * (1 + sum|tx| * sum|ty|))
 *               and sum|tx| * sum|ty| of each term, without scale, <=
 *               SEPCONV_MAX_UNSCALED_GAIN
 *   threshold   0 to 1
 *
 * Every method keeps the error against that formula in exact arithmetic below
 * 0.75 code value up to 12 bits and 1.0 above, or reports that it does not support
 * the spec. A difference within that error of UNSHARP's threshold may fall on either side of it.
 * DIRECTION is as exact as its two terms. One method gives the same output for the same input on
 * every run. */
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
/* Limit of a term's gain without the scale, which may be 0: sums and their squares stay
 * finite. */
#define SEPCONV_MAX_UNSCALED_GAIN 1e100
#define SEPCONV_MAX_BIAS 1e3

/* Samples outside the image abcd. Reflections repeat as often as needed. */
typedef enum
{
  SEPCONV_REPLICATE,   /* aaa|abcd|ddd */
  SEPCONV_REFLECT,     /* cba|abcd|dcb, edge sample repeated */
  SEPCONV_REFLECT_101, /* dcb|abcd|cba, edge sample not repeated */
  SEPCONV_WRAP,        /* bcd|abcd|abc */
  SEPCONV_CONSTANT,    /* vvv|abcd|vvv, v = border_value */
} SepconvBorder;

/* How the terms of a plane are combined: formulas above. */
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

/* Filter settings of one plane. Values are per channel, in codes. */
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

/* One implementation of the filter: a row of sepconv/methods.def. */
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

/* The least compute capability that the method's kernels need, 10 * major + minor;
 * 0: any, or the method is not in this build. */
int sepconv_method_min_capability (const SepconvMethod *method);

/* Whether runs with GPU_BESIDE_KERNELS overlap other kernels on this GPU. */
bool sepconv_method_overlaps (const SepconvMethod *method, const Gpu *gpu);

/* Whether a method supports the spec, within the accuracy above; if not, `why` gives
 * the reason. Addresses and sizes in `layout` do not matter. `gpu`: the GPU to run on;
 * NULL: assume one that can run every method. */
bool sepconv_method_supports (const SepconvMethod *method,
    const SepconvSpec *spec, const Image *layout, const Gpu *gpu, Fault *why);

/* The method that a plan of `backend` takes: `method` itself if it supports the spec,
 * or for NULL the one that is expected to be fastest for runs in `order`, which has no
 * other effect. Returns NULL and a fault if there is none. */
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
/* True when every selected channel stays unchanged, for any content. */
bool sepconv_is_identity (const SepconvSpec *spec, const Image *layout);

/* A validated spec, the method that computes it, and its buffers. */
typedef struct SepconvPlan SepconvPlan;

/* `backend` and `method` as for sepconv_choose_method(), with GPU_AFTER_KERNELS. `layout`
 * gives the planes and the largest size to be filtered; its addresses are not used.
 * `gpu` is needed for BACKEND_CUDA and must outlive the plan; its context must be pushed
 * here and for every call below. The caller owns the plan. */
SepconvPlan *sepconv_plan_new (const SepconvSpec *spec, const Image *layout,
    Backend backend, const SepconvMethod *method, Gpu *gpu, Fault *fault);
/* All runs of the plan must have finished. NULL is allowed. */
void sepconv_plan_free (SepconvPlan *plan);

/* Changes taps, amounts, borders and levels from the next run on, without waiting for
 * earlier runs. Allocates only for the first spec that needs sums in double precision
 * and, in the next run, for taps that need more memory than all earlier ones. Returns
 * false with FAULT_UNSUPPORTED and leaves the plan unchanged if its method does not
 * support the new spec, or if not sepconv_plan_has_terms(): make a new plan then. */
bool sepconv_plan_update (
    SepconvPlan *plan, const SepconvSpec *spec, Fault *fault);
/* Whether the spec has the plan's number of terms in each plane, and its combination. */
bool sepconv_plan_has_terms (const SepconvPlan *plan, const SepconvSpec *spec);

/* Changes the size of pictures from the next run on: to the widths of `layout`, and at most its
 * heights. All else in its planes and memories must be the plan's, and no size may exceed the one
 * that the plan was made for. CPU only; else FAULT_UNSUPPORTED. */
bool sepconv_plan_reshape (
    SepconvPlan *plan, const Image *layout, Fault *fault);

const SepconvMethod *sepconv_plan_method (const SepconvPlan *plan);
/* Whether sepconv_plan_advance() finishes rows before the last part. */
bool sepconv_plan_in_parts (const SepconvPlan *plan);

/* Filters src into dst. They must not overlap, and both have the plan's planes; no
 * memory may be larger than in the plan's layout. CPU: addresses are the host's, and
 * the call returns when the work is done. CUDA: addresses are the device's, and the
 * work is queued on `stream`, the same one for all these runs of a plan; `order` is its order
 * with the kernels that are queued there. One thread at a time. */
bool sepconv_plan_run (SepconvPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, GpuOrder order, Fault *fault);

/* Pixels [left, right) x [top, bottom) of a plane; not empty. */
typedef struct
{
  int left, top, right, bottom;
} SepconvWindow;

/* The number of streams on which frames that are filtered in turn take the least time, at most
 * GPU_MAX_TURNS. 1: one stream is as good. */
int sepconv_plan_turns (const SepconvPlan *plan);
/* Allocates what runs of the turns 1 to `turns` - 1 need; else the first run of each turn does. */
bool sepconv_plan_reserve_turns (SepconvPlan *plan, int turns, Fault *fault);
/* Like sepconv_plan_run(), for a run of one of GPU_MAX_TURNS turns, each of which has a stream of
 * its own; all other runs have turn 0. Runs of different turns may overlap: the caller puts them in
 * order where one needs the result of another. */
bool sepconv_plan_run_in_turn (SepconvPlan *plan, const Image *src,
    const Image *dst, int turn, GpuStream stream, GpuOrder order, Fault *fault);

/* Like sepconv_plan_run(), for one window of each plane of dst, within the plane. Samples outside
 * the window are undefined afterwards: methods may skip their work. Planes whose memory has no rows
 * need no window. CPU only; else FAULT_UNSUPPORTED. */
bool sepconv_plan_run_window (SepconvPlan *plan, const Image *src,
    const Image *dst, const SepconvWindow window[IMAGE_MAX_PLANES],
    Fault *fault);

/* Like sepconv_plan_run(), part by part while src is still arriving. When the stream
 * reaches this part, rows fresh[m] of memory m, possibly none, have arrived since the
 * previous part, and the rows above them earlier. Finishes all rows of dst that need no
 * later rows of src, and sets done[m]: rows [0, done[m]) are finished. `done` is 0
 * before the first part; pass it on unchanged to the next one. The last part finishes
 * all rows.
 *
 * No other run of the plan comes between the parts of one frame. `order` is the order
 * with the kernels before the frame, the same for all its parts; among themselves, the
 * parts keep the order that they need. */
bool sepconv_plan_advance (SepconvPlan *plan, const Image *src,
    const Image *dst, const ImageRows fresh[IMAGE_MAX_MEMORIES],
    int done[IMAGE_MAX_MEMORIES], GpuStream stream, GpuOrder order,
    Fault *fault);

/* Whether sepconv_plan_run_counting() supports `histo` with the plan's present taps. If
 * not, run histo_plan_run() on the result. */
bool sepconv_plan_counts (SepconvPlan *plan, const HistoPlan *histo);

/* Like sepconv_plan_run(), and also counts dst into `result`, which was made from
 * `histo`: the same counts as by histo_plan_run() on dst afterwards, in less time.
 * FAULT_UNSUPPORTED unless sepconv_plan_counts(). All runs of `histo` are on this
 * stream. */
bool sepconv_plan_run_counting (SepconvPlan *plan, const Image *src,
    const Image *dst, HistoPlan *histo, HistoResult *result, GpuStream stream,
    GpuOrder order, Fault *fault);

#ifdef __cplusplus
}
#endif
