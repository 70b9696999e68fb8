/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-three: two terms of three taps each, in one kernel, that are small integers times a factor:
 *
 *   MAGNITUDE and DIRECTION of gradients, as Sobel's, Scharr's and Prewitt's kernels make them:
 *   [-1 0 1] along one axis, [a b a] along the other
 *
 *   SUM, where the matrix that both are together is the same upside down and from right to left, as the
 *   laplacian's
 *
 * Bytes are summed in half precision, two at a time, samples of two bytes in single precision. */
#pragma once

#include "strip.cuh"

/* [outer middle outer]: integers. */
struct TermsRow
{
  int outer, middle;
};

struct TermsThreePlane
{
  StripPlane strip;
  /* Of gradients [a b a] of the term that is a difference along x, and of the one along y, with the sign of
   * the difference; of SUM the matrix's middle row, and the ones above and below. */
  TermsRow row[2];
  float scale; /* what sums or roots of them are multiplied by */
  /* Added to that, in codes of bytes and parts of the largest code of others; or of DIRECTION the
   * result where there is none, as a part of a turn. */
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

/* What a plan keeps for it; starts zeroed. */
struct TermsThree
{
  unsigned chosen; /* the plan's revision that `suits` is of */
  bool suits;
  TermsRow row[IMAGE_MAX_PLANES][2];
  double unit[IMAGE_MAX_PLANES]; /* what the integers are multiplied by */
  StripOccupancy occupancy;
  StripHeights heights;
};

/* Whether the kernels keep the promised accuracy for the plan's spec. */
bool terms_three_suits (const SepconvPlan *plan, TermsThree *three);

/* Queues a part of a frame of a plan that they suit. */
bool terms_three_run (const SepconvPlan *plan, TermsThree *three,
    const SepconvPart *part, Fault *fault);
