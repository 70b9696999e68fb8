/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-three: two terms of three taps each that are small integers times a factor, in one kernel:
 *
 *   MAGNITUDE and DIRECTION of gradients, such as the kernels of Sobel, Scharr and Prewitt:
 *   [-1 0 1] along one axis, [a b a] along the other
 *
 *   SUM, where the matrix of both terms together is symmetric upside down and from right to left,
 *   such as the laplacian's
 *
 * Samples of one byte are summed in FP16, two at a time; samples of two bytes in FP32. */
#pragma once

#include "strip.cuh"

/* The integers [outer middle outer]. */
struct TermsRow
{
  int outer, middle;
};

struct TermsThreePlane
{
  StripPlane strip;
  /* For gradients: [a b a] of the term that is a difference along x, and of the one along y, both
   * with the sign of the difference. For SUM: the middle row of the matrix, and the rows above and
   * below. */
  TermsRow row[2];
  float scale; /* factor of their sums or roots */
  /* Added to that, in codes for samples of one byte, else in fractions of the largest code. For
   * DIRECTION: the result where there is none, as a fraction of a turn. */
  float offset[IMAGE_MAX_CHANNELS];
  uint32_t mask; /* of the significant bits of two samples */
};

struct TermsThreeFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  TermsThreePlane plane[IMAGE_MAX_PLANES];
};

/* State of a plan for these kernels; must be zeroed at first. */
struct TermsThree
{
  unsigned chosen; /* the plan's revision that `suits` belongs to */
  bool suits;
  TermsRow row[IMAGE_MAX_PLANES][2];
  double unit[IMAGE_MAX_PLANES]; /* factor of the integers */
  StripOccupancy occupancy;
  StripHeights heights;
};

/* Whether the kernels suit the plan's spec, with the promised accuracy. */
bool terms_three_suits (const SepconvPlan *plan, TermsThree *three);

/* Queues a part of a frame; terms_three_suits() must be true for the plan. */
bool terms_three_run (const SepconvPlan *plan, TermsThree *three,
    const SepconvPart *part, Fault *fault);
