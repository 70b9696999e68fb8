/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-plan: how long smooth kernels are computed at a lower sampling rate.
 *
 * Along an axis, with a factor M,
 *
 *   low[q] = sum over i in [0, 4M) of window[i] * in[M (q - 2) + i]
 *   sum[k] = sum over j in [0, n) of tap[j] * low[k + first + j]
 *   out[M k + p] = sum over t in [0, 4) of phase[p][t] * sum[k - 1 + t]
 *
 * The window is the cubic B-spline of width M, four boxes of M samples convolved, and so are
 * the phases (Unser, Splines: a perfect fit for signal and image processing, IEEE Signal
 * Processing Magazine 16(6), 1999). All three steps together give a result of phase p its
 * effective taps. The taps in between are fitted: they minimise the squared difference of the
 * effective taps from the wanted ones over all phases. The largest sum |effective - wanted| of
 * any phase bounds the error for any picture. A factor of 1 leaves an axis as it is.
 *
 * A window may be made of bytes: each weight is an integer from 0 to 255 times 1 / (M weight_sum),
 * and the weights of each phase still sum to 1 / M. The weights of the phases are then exact in
 * FP16. */
#pragma once

#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MULTIRATE_MAX_FACTOR 32
/* low samples whose windows contain a sample, at most */
#define MULTIRATE_REACH 4
/* tap[] is summed in blocks of this many taps, then the blocks are: as SEPCONV_SUM_BLOCK. */
#define MULTIRATE_SUM_BLOCK 16

/* The most fitted taps along an axis that tensor cores sum, in planes of bytes; more are summed in
 * single precision. */
#define MULTIRATE_MOST_TENSOR_TAPS 49

/* The windows and factors that an axis may have. */
typedef enum
{
  MULTIRATE_ANY_FACTOR,
  /* Planes of up to 8 bits: windows of bytes, and factors that are powers of two up to 16.
   * Other planes: as MULTIRATE_ANY_FACTOR. */
  MULTIRATE_BYTE_WINDOWS
} MultirateWindows;

typedef struct
{
  int factor;
  int weight_sum; /* 0: the window is not made of bytes */
  int first;
  int n;
  float window[MULTIRATE_REACH * MULTIRATE_MAX_FACTOR];
  float phase[MULTIRATE_MAX_FACTOR][MULTIRATE_REACH];
  /* Both divided by sum |wanted|: the largest sum |effective - wanted| of any phase; sum |tap|. */
  double error, norm;
  float tap[TAPS_MAX];
} MultirateAxis;

#define MULTIRATE_MAX_TERMS 2

/* Both axes of a plane. For a sum of two kernels, more_x and more_y are the second kernel's axes;
 * their factor, `first` and `n` are those of x and y. */
typedef struct
{
  MultirateAxis x, y;
  int n_terms;
  MultirateAxis more_x, more_y;
} MultiratePlane;

/* The kernels of a plane. */
typedef struct
{
  int n;
  const Taps *x[MULTIRATE_MAX_TERMS], *y[MULTIRATE_MAX_TERMS];
  /* Factor from an error of kernel t, relative to the norms of its taps, to one of the result. */
  double gain[MULTIRATE_MAX_TERMS];
} MultirateTerms;

/* The number of samples of sum[] for a line of n samples; the first one has index -1. */
static inline int
multirate_sums (const MultirateAxis *axis, int n)
{
  return (n - 1) / axis->factor + MULTIRATE_REACH;
}

/* The number of samples of low[] that these sums need; the first one has index axis->first - 1. */
static inline int
multirate_lows (const MultirateAxis *axis, int n)
{
  return multirate_sums (axis, n) + axis->n - 1;
}

/* A range of samples of low[]. */
typedef struct
{
  int first, n;
} MultirateLows;

/* The part of multirate_lows() in which samples may differ: all samples before it equal its first
 * one, and all samples behind it equal its last one. */
MultirateLows multirate_distinct_lows (
    const MultirateAxis *axis, int n, SepconvBorder border);

/* An upper bound of the error, in codes before the final rounding, for a plane of `depth` bits
 * whose taps and scale amplify by `gain`. It includes the roundings of all stages. */
double multirate_loss (const MultiratePlane *plane, int depth, double gain);

/* Finds the largest factors for a plane's taps with which the loss stays within the promised
 * accuracy. `gain` is the amplification by taps and scale; x and y may be these taps times any
 * number. Returns false if both factors are 1 or the loss is too large; `plane` is filled in then,
 * too. */
bool multirate_plan (MultiratePlane *plane, const Taps *x, const Taps *y,
    int depth, double gain, MultirateWindows windows);
/* The same for several kernels whose results are summed. Kernels of gain 0, whose taps are all 0
 * (as for chroma that becomes neutral), cost next to nothing. */
bool multirate_plan_terms (MultiratePlane *plane, const MultirateTerms *terms,
    int depth, MultirateWindows windows);

/* Plans plane p of a plan that was made from `spec`, with the combination SEPCONV_SUM and a single
 * kernel. Returns false if both factors are 1 or the loss, with that of the bias, is too large. */
bool multirate_plan_alone (MultiratePlane *plane, const SepconvPlan *plan,
    const SepconvSpec *spec, int p, MultirateWindows windows);

/* How sums and the sample itself make up a result. For UNSHARP:
 *
 *   d = offset + weight * (in - center) + sum
 *   out = (|d| > threshold ? d : 0) + keep * (in - center) + last
 *
 * The taps of y are multiplied by `of_sum` before they are planned. Without a threshold, weight is
 * scale (1 + amount), keep and last are 0, and d is always taken. With a threshold, d is the
 * difference that is added to the picture. For SUM, out = offset + sum. */
typedef struct
{
  bool adds;     /* the sample itself is added to sum and offset */
  bool compares; /* there is a threshold */
  double weight, of_sum, keep;
  double gain; /* factor from an error of the sums to one of the result */
} MultirateMix;

MultirateMix multirate_mix (
    SepconvCombine combine, double scale, double amount, double threshold);
MultirateMix multirate_plan_mix (const SepconvPlan *plan);

/* `offset`, `last` and `threshold` of a channel, for multirate_plan_mix(). The threshold is in
 * codes, and < 0 if d is always taken. */
double multirate_offset (
    const SepconvPlan *plan, const SepconvChannel *channel);
double multirate_last (const SepconvPlan *plan, const SepconvChannel *channel);
double multirate_threshold (
    const SepconvPlan *plan, const SepconvChannel *channel);

/* Plans all filtered planes of a plan whose spec multirate_supports() accepts. `planes` has
 * layout.n_planes elements. */
void multirate_plan_planes (
    MultiratePlane *planes, const SepconvPlan *plan, MultirateWindows windows);

/* For SepconvMethodOps.supports of a method that computes by these plans: whether there is a plan
 * for each filtered plane. Accepts single kernels, sums of two kernels, and UNSHARP. */
bool multirate_supports (const SepconvSpec *spec, const Image *layout,
    MultirateWindows windows, Fault *why);

#ifdef __cplusplus
}
#endif
