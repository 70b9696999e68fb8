/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-tensor: one or two terms and their combination on tensor cores, in one kernel: of 8 to 10
 * bits, and of up to 33 taps. terms-strip.cuh has the arithmetic and terms-march.cuh the kernel; both
 * passes are those of tensor.cuh. */
#pragma once

#include "strip.cuh"
#include "tensor.cuh"

#include "staging.cuh"

/* What a kernel makes of a plane's terms. */
enum TermsMode
{
  TERMS_SHARPEN, /* UNSHARP without a threshold: a term, and the sample times a weight */
  TERMS_SHARPEN_ABOVE, /* UNSHARP with a threshold */
  TERMS_ADD,           /* SUM of two terms */
  TERMS_GRADIENT,      /* MAGNITUDE */
  TERMS_ANGLE,         /* DIRECTION */
};

/* The terms of a plane, and the sums that a result is made of. */
static constexpr int
terms_of_mode (TermsMode mode)
{
  return mode >= TERMS_ADD ? 2 : 1;
}

static constexpr int
sums_of_mode (TermsMode mode)
{
  return mode >= TERMS_GRADIENT ? 2 : 1;
}

#define TERMS_MAX_SUMS 2
#define TERMS_MAX_STEPS 3 /* 33 taps */

/* Fragments of a plane: [term][step][part][lane] of x, then of y. */
#define TERMS_MAX_FRAGMENTS \
  (2 * TERMS_MAX_SUMS * TERMS_MAX_STEPS * TENSOR_MAX_PARTS * TENSOR_LANES)

/* Rows that a window begins above its result: the row of a result in its window does not depend on the
 * number of taps. */
static constexpr int
terms_above (int steps)
{
  return TENSOR_STEP / 2 * (steps - 1);
}

struct TermsTensorPlane
{
  int reach; /* pixels that a block's window begins left of its result */
  StripPlane strip;
  const uint4 *fragments;
  float sums_start
      [TERMS_MAX_SUMS]; /* of each term: takes 1024 and the center off */
  /* What results begin with: of each sum, its channels. */
  float start[TERMS_MAX_SUMS * IMAGE_MAX_CHANNELS];
  /* Of SHARPEN: two halves whose sum weighs the sample. */
  uint32_t weight[2];
  float offset
      [IMAGE_MAX_CHANNELS]; /* of SHARPEN_ABOVE and GRADIENT: added last */
  float threshold;
  uint32_t keep; /* bits of each four bytes of a row that are copied */
};

struct TermsTensorFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  float scale, amount; /* the latter with the scale in it */
  TermsTensorPlane plane[IMAGE_MAX_PLANES];
};

struct TermsTensorVariant;

/* What a plan keeps for it; starts zeroed. */
struct TermsTensor
{
  Staging fragments;
  unsigned chosen;   /* the plan's revision that the variant is of */
  unsigned revision; /* that the fragments are of */
  const TermsTensorVariant
      *variant; /* NULL: the plan is not for tensor cores */
  StripOccupancy occupancy;
  StripHeights heights;
};

/* Allocates what plans of this layout take, if any of their specs can run on tensor cores. */
bool terms_tensor_prepare (
    const SepconvPlan *plan, TermsTensor *tensor, Fault *fault);
void terms_tensor_release (TermsTensor *tensor);

/* Whether tensor cores keep the promised accuracy for the plan's spec, and take it. */
bool terms_tensor_suits (const SepconvPlan *plan, TermsTensor *tensor);

/* Queues a part of a frame of a plan that it suits. */
bool terms_tensor_run (SepconvPlan *plan, TermsTensor *tensor,
    const SepconvPart *part, Fault *fault);
