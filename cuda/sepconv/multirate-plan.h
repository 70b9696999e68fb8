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
 * Processing Magazine 16(6), 1999). The taps in between are fitted, for the least squares of
 * the difference from the wanted taps over all phases. In effect a result of phase p has taps
 * of its own; the largest sum |effective - wanted| of all phases bounds the error for any
 * picture. A factor of 1 leaves an axis as it is.
 *
 * A window may be made of bytes: its weights are whole multiples of 1 / (M weight_sum), from 0 to
 * 255 of them, such that the weights of each phase still sum to 1 / M. The weights by which results
 * are interpolated are halves then. */
#pragma once

#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MULTIRATE_MAX_FACTOR 32
#define MULTIRATE_REACH 4 /* low samples that a sample belongs to, at most */
/* tap[] is summed in blocks of this many, then the blocks: SEPCONV_SUM_BLOCK. */
#define MULTIRATE_SUM_BLOCK 16

/* Fitted taps of planes of bytes that tensor cores sum, at most, along each axis; more are summed in single
 * precision. */
#define MULTIRATE_MOST_TENSOR_TAPS 49

/* What windows and factors an axis may have. */
typedef enum
{
  MULTIRATE_ANY_FACTOR,
  /* Windows of bytes, and factors that are powers of two up to 16, for planes of up to 8 bits;
   * others as MULTIRATE_ANY_FACTOR. */
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
  /* By sum |wanted|: the largest sum |effective - wanted| of all phases, and sum |tap|. */
  double error, norm;
  float tap[TAPS_MAX];
} MultirateAxis;

#define MULTIRATE_MAX_TERMS 2

/* Both axes of a plane. Of a sum of two kernels, the second one's axes have the factors, `first` and `n` of
 * the first one's. */
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
  /* That an error of each counts by, with its norms. */
  double gain[MULTIRATE_MAX_TERMS];
} MultirateTerms;

/* The samples of a line of `n` that sum[] has, from -1 on. */
static inline int
multirate_sums (const MultirateAxis *axis, int n)
{
  return (n - 1) / axis->factor + MULTIRATE_REACH;
}

/* The samples of low[] for those, from axis->first - 1 on. */
static inline int
multirate_lows (const MultirateAxis *axis, int n)
{
  return multirate_sums (axis, n) + axis->n - 1;
}

/* Samples of low[]. */
typedef struct
{
  int first, n;
} MultirateLows;

/* Those of multirate_lows() that may differ from each other: all before them are the same as the
 * first one, all behind them as the last one. */
MultirateLows multirate_distinct_lows (
    const MultirateAxis *axis, int n, SepconvBorder border);

/* What is lost at most, in codes before the final rounding, by a plane of so many bits whose
 * taps and scale amplify by `gain`, with all stages in single precision. */
double multirate_loss (const MultiratePlane *plane, int depth, double gain);

/* Finds the largest factors for the taps of a plane with which no more is lost than the
 * promised accuracy leaves. `x` and `y` may be multiples of those that `gain` is of. Returns
 * false, with factors all the same, if that leaves both axes as they are or loses too much. */
bool multirate_plan (MultiratePlane *plane, const Taps *x, const Taps *y,
    int depth, double gain, MultirateWindows windows);
/* The same for several kernels that are summed. Taps that are all 0, as those of chroma that becomes
 * neutral, take next to nothing. */
bool multirate_plan_terms (MultiratePlane *plane, const MultirateTerms *terms,
    int depth, MultirateWindows windows);

/* What a method that computes by these plans makes of sums and of the sample itself, for UNSHARP:
 *
 *   d = offset + weight * (in - center) + sum
 *   out = (|d| > threshold ? d : 0) + keep * (in - center) + last
 *
 * where the taps of y are multiplied by `of_sum` before they are planned. Without a threshold, weight is
 * scale (1 + amount), keep and last are 0, and d is always taken. With one, d is what is added to the
 * picture. Of single kernels and sums of two, out = offset + sum. */
typedef struct
{
  bool adds; /* anything to the sum and the offset */
  bool compares;
  double weight, of_sum, keep;
  double gain; /* what an error of the sums counts */
} MultirateMix;

MultirateMix multirate_mix (
    SepconvCombine combine, double scale, double amount, double threshold);
MultirateMix multirate_plan_mix (const SepconvPlan *plan);

/* Those of a channel of a plan of that mix; the threshold in codes, < 0 if d is always taken. */
double multirate_offset (
    const SepconvPlan *plan, const SepconvChannel *channel);
double multirate_last (const SepconvPlan *plan, const SepconvChannel *channel);
double multirate_threshold (
    const SepconvPlan *plan, const SepconvChannel *channel);

/* Plans all planes that are filtered, for a plan whose spec multirate_supports(). `planes` has
 * layout.n_planes. */
void multirate_plan_planes (
    MultiratePlane *planes, const SepconvPlan *plan, MultirateWindows windows);

/* What SepconvMethodOps.supports is of a method that computes by these plans: whether each plane
 * that is filtered has one, of single kernels, of sums of two
 * and of UNSHARP. */
bool multirate_supports (const SepconvSpec *spec, const Image *layout,
    MultirateWindows windows, Fault *why);

#ifdef __cplusplus
}
#endif
