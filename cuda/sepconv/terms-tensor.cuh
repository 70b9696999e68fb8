/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-tensor: one or two terms and their combination on tensor cores, in one kernel: of up to
 * 33 taps. terms-strip.cuh has the arithmetic, terms-deep.cuh that of samples as sums of two halves, and
 * terms-march.cuh the kernel; both passes are those of tensor.cuh. */
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

/* Whether sums are results, but for their offset. */
static constexpr bool
adds_to_result (TermsMode mode)
{
  return mode == TERMS_SHARPEN || mode == TERMS_ADD;
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
  /* What sums along y begin with: of each sum, its channels. */
  float start[TERMS_MAX_SUMS * IMAGE_MAX_CHANNELS];
  /* Of SHARPEN: two halves whose sum weighs the sample. */
  uint32_t weight[2];
  /* Of SHARPEN_ABOVE and GRADIENT, added last; of ANGLE, the result where there is none. */
  float offset[IMAGE_MAX_CHANNELS];
  float threshold;
  uint32_t keep; /* bits of each four bytes of a row that are copied */
  uint32_t kept; /* a bit for each channel that is copied */
  /* Of samples that are sums of two halves; what is added to results then, by `start` or `offset`, is a
   * part of the largest code. */
  TensorDeepPlane deep;
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

/* One of the kernels. */
struct TermsTensorVariant
{
  void (*kernel) (TermsTensorFrame);
  int steps, parts, sample_bytes;
  bool four; /* channels; else one or two in each plane */
  TermsMode mode;
  bool deep;                          /* as TermsShape is */
  int shared;                         /* bytes of a block */
  int pixels[IMAGE_MAX_CHANNELS + 1]; /* of a block, by channels; or 0 */
};

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

/* Whether a variant of the plan's mode keeps the accuracy of all planes. */
bool terms_tensor_is_exact (
    const SepconvPlan *plan, const TermsTensorVariant *variant);
/* Writes the fragments of a plane, up to TERMS_MAX_FRAGMENTS. */
void terms_tensor_write_taps (const SepconvPlan *plan,
    const TermsTensorVariant *variant, int p, uint4 *to);
/* Fills in what a plane's arithmetic depends on: all but `strip` and `fragments`. */
void terms_tensor_describe (const SepconvPlan *plan,
    const TermsTensorVariant *variant, int p, TermsTensorPlane *plane);
