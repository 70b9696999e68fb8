/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* taps: the coefficients of a separable kernel, in double precision.
 *
 * Pure mathematics: no image, no device. All functions are reentrant. */
#pragma once

#include "fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of taps on one axis; the largest radius of a generated kernel
 * is half of it. */
#define TAPS_MAX 4097
#define TAPS_MAX_RADIUS (TAPS_MAX / 2)
/* Largest number of separable kernels whose sum is one kernel. */
#define TAPS_MAX_TERMS 8

/* The taps of one axis. Tap i weighs the sample at distance i - n/2. */
typedef struct
{
  int n; /* 1..TAPS_MAX */
  double tap[TAPS_MAX];
} Taps;

typedef enum
{
  TAPS_GAUSSIAN,
  TAPS_BOX,
  TAPS_BINOMIAL,
  TAPS_SOBEL_X,
  TAPS_SOBEL_Y,
  TAPS_SCHARR_X,
  TAPS_SCHARR_Y,
  TAPS_PREWITT_X,
  TAPS_PREWITT_Y,
  TAPS_CUSTOM,
  /* The following need taps_make_terms(): they have several terms, or are combined with the
   * picture. */
  TAPS_UNSHARP,
  TAPS_SOBEL,
  TAPS_SCHARR,
  TAPS_PREWITT,
  TAPS_LAPLACIAN,
  TAPS_LOG,
  TAPS_DOG,
  TAPS_TERMS,
} TapsKernel;

/* One of the terms of TAPS_TERMS; borrowed. n_y == 0: the taps of x also on y. */
typedef struct
{
  const double *x, *y;
  int n_x, n_y;
} TapsCustomTerm;

/* A two-dimensional separable kernel as a user describes it. */
typedef struct
{
  TapsKernel kernel;
  /* Gaussian width per axis, in pixels of the finest plane, >= 0; a negative
   * sigma_y means sigma_x. */
  double sigma_x, sigma_y;
  /* Half length per axis, 0..TAPS_MAX_RADIUS. A negative radius_y means radius_x; if
   * that is negative too, the kernel's default:
   *   box, binomial  ceil(3 sigma) of the axis
   *   gaussian, unsharp
   *                  ceil(3 sigma) up to sigma 6, growing to ceil(4 sigma) at sigma 8
   *                  and, for a depth of more than 12 bits, to ceil(5 sigma) at sigma
   *                  15; beyond 3 sigma at most TAPS_MAX_RADIUS
   *   derivatives    1 */
  int radius_x, radius_y;
  int depth; /* bits of the samples to be filtered; 0: not known, as 8 */
  /* TAPS_CUSTOM: the taps, borrowed. n_y == 0 means the same taps as on x. */
  const double *custom_x, *custom_y;
  int n_x, n_y;
  bool
      normalize; /* divide custom taps by their sum, TAPS_TERMS by the sum over all terms */
  double
      sigma_outer; /* TAPS_DOG: of the wider gaussian; <= 0: 1.6 sigma of the axis */
  const TapsCustomTerm *term; /* TAPS_TERMS: [n_terms], borrowed */
  int n_terms;                /* 1..TAPS_MAX_TERMS */
} TapsSettings;

/* Makes both axes' taps for a plane that is subsampled by sub_x and sub_y (>= 1;
 * 1: not at all). Blurs (gaussian, box, binomial) shrink with the subsampling so
 * that they cover the same part of the picture: the gaussian's sigma, the box's
 * width and the binomial's standard deviation are divided by it, and so is the
 * radius, rounded up. Derivatives and custom taps stay as they are. FAULT_SETTINGS:
 * empty, too long, NaN or infinite taps, a sum of 0 with `normalize`, a radius that the
 * kernel does not have. */
bool taps_make (const TapsSettings *settings, int sub_x, int sub_y, Taps *x,
    Taps *y, Fault *fault);

/* The same for every kernel: fills terms 0 to *n - 1 of x and y.
 *
 *   unsharp     the gaussian that is subtracted from the picture: 1 term
 *   sobel, scharr, prewitt
 *               the derivatives along x and along y: 2 terms, for the gradient
 *   laplacian   radius 1: second differences [1, -2, 1] along x plus those along y; larger
 *               radii: each is smoothed by binomials as OpenCV's Laplacian() does
 *   log         Laplacian of the gaussian: g''(x) g(y) + g(x) g''(y), with
 *               g''(i) = (i^2 / sigma^4 - 1 / sigma^2) g(i), minus the multiple of g that makes
 *               it sum to 0; otherwise as scipy.ndimage.gaussian_laplace(). sigma >= 0.01
 *   dog         difference of gaussians: that of sigma less that of sigma_outer
 *   terms       the terms as they are
 *
 * The terms of laplacian, log and dog are to be summed. unsharp, log and dog shrink with the
 * subsampling as the gaussian does; log is not rescaled for that: its taps are those of the
 * smaller sigma. */
bool taps_make_terms (const TapsSettings *settings, int sub_x, int sub_y,
    Taps x[TAPS_MAX_TERMS], Taps y[TAPS_MAX_TERMS], int *n, Fault *fault);

/* The radius in samples of a blur that taps_make() makes with the default radius, or one more;
 * sigma >= 0 in pixels, subsampling `sub` >= 1. */
int taps_blur_reach (const TapsSettings *settings, double sigma, int sub);

/* Whether the kernel is a single term, which taps_make() can make. */
bool taps_is_one_term (TapsKernel kernel);

/* The generators. Each fills 2*radius+1 taps; radius 0..TAPS_MAX_RADIUS.
 *
 * gaussian: exp(-i^2 / 2 sigma^2), divided by their sum; sigma 0 gives 1 tap. */
void taps_gaussian (Taps *taps, double sigma, int radius);
/* box: the average over `width` pixels, 2*radius-1 < width <= 2*radius+1; the
 * two outermost taps take the fraction that is left. */
void taps_box (Taps *taps, double width, int radius);
/* binomial: [q, 1-2q, q] convolved `radius` times with itself. q = 1/4 gives the
 * binomial coefficients of order 2*radius; the variance is 2*q*radius. */
void taps_binomial (Taps *taps, double q, int radius);
/* sobel: central difference [-1, 0, 1] and binomial smoothing, as integers; for
 * a larger radius the difference is smoothed by the binomial of order
 * 2*radius-2, as OpenCV's getDerivKernels() does. radius >= 1. */
void taps_sobel_derivative (Taps *taps, int radius);
void taps_sobel_smooth (Taps *taps, int radius);
/* second_derivative: [1, -2, 1], for a larger radius smoothed by the binomial of order
 * 2*radius-2. radius >= 1. */
void taps_second_derivative (Taps *taps, int radius);
/* The integer taps of sobel and laplacian sum to up to 4^radius: larger radii are useless. */
#define TAPS_MAX_SOBEL_RADIUS 15
/* prewitt: the ramp -radius..radius and the box of ones, whose product is the
 * least-squares slope over the window, unnormalised. radius >= 1. */
void taps_prewitt_derivative (Taps *taps, int radius);
void taps_prewitt_smooth (Taps *taps, int radius);

/* Sum of the taps, and of their absolute values. */
double taps_sum (const Taps *taps);
double taps_norm (const Taps *taps);

/* True when the taps copy their input: one tap of 1 at the anchor, zeros
 * elsewhere. */
bool taps_is_identity (const Taps *taps);

#ifdef __cplusplus
}
#endif
