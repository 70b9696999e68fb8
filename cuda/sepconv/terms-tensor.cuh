/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-tensor: one or two terms of up to 33 taps, and their combination, on tensor cores in one
 * kernel. terms-strip.cuh has the arithmetic, terms-deep.cuh the arithmetic for samples as sums of
 * two FP16 values, and terms-march.cuh the kernel; both passes are those of tensor.cuh. */
#pragma once

#include "strip.cuh"
#include "tensor.cuh"

#include "staging.cuh"

/* How a kernel combines a plane's terms. */
enum TermsMode
{
  TERMS_SHARPEN,       /* UNSHARP without threshold: term + sample * weight */
  TERMS_SHARPEN_ABOVE, /* UNSHARP with a threshold */
  TERMS_ADD,           /* SUM of two terms */
  TERMS_GRADIENT,      /* MAGNITUDE */
  TERMS_ANGLE,         /* DIRECTION */
};

/* The number of terms of a plane, and of sums that a result is computed from. */
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

/* Whether a sum is the result, except for its offset. */
static constexpr bool
adds_to_result (TermsMode mode)
{
  return mode == TERMS_SHARPEN || mode == TERMS_ADD;
}

#define TERMS_MAX_SUMS 2
#define TERMS_MAX_STEPS 3 /* 33 taps */

/* Most fragments of a plane: [term][step][part][lane] of x, then of y. */
#define TERMS_MAX_FRAGMENTS \
  (2 * TERMS_MAX_SUMS * TERMS_MAX_STEPS * TENSOR_MAX_PARTS * TENSOR_LANES)

/* Rows from the start of a window to its result. They do not depend on the number of taps, but only
 * on the steps. */
static constexpr int
terms_above (int steps)
{
  return TENSOR_STEP / 2 * (steps - 1);
}

struct TermsTensorPlane
{
  int reach; /* pixels from the start of a block's window to its result */
  StripPlane strip;
  const uint4 *fragments;
  float sums_start
      [TERMS_MAX_SUMS]; /* of each term: subtracts 1024 and the center */
  /* Start of column sums: [sum][channel]. */
  float start[TERMS_MAX_SUMS * IMAGE_MAX_CHANNELS];
  /* For SHARPEN: the weight of the sample, as the sum of two FP16 values. */
  uint32_t weight[2];
  /* For SHARPEN_ABOVE and GRADIENT: added last. For ANGLE: the result where there is no
   * direction. */
  float offset[IMAGE_MAX_CHANNELS];
  float threshold;
  uint32_t keep; /* mask of copied bits, for each four bytes of a row */
  uint32_t kept; /* one bit per channel: it is copied */
  /* For deep samples, sums of two FP16 values. Constants that are then added to results, `start` or
   * `offset`, are fractions of the largest code. */
  TensorDeepPlane deep;
};

struct TermsTensorFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  float scale, amount; /* `amount` includes the scale */
  TermsTensorPlane plane[IMAGE_MAX_PLANES];
};

/* One of the kernels. */
struct TermsTensorVariant
{
  void (*kernel) (TermsTensorFrame);
  int steps, parts, sample_bytes;
  bool four; /* four channels; else one or two in each plane */
  TermsMode mode;
  bool deep;                          /* as TermsShape has it */
  int shared;                         /* bytes per block */
  int pixels[IMAGE_MAX_CHANNELS + 1]; /* per block, by channels; or 0 */
};

/* State of a plan for these kernels; must be zeroed at first. */
struct TermsTensor
{
  Staging fragments;
  unsigned chosen;   /* the plan's revision that the variant belongs to */
  unsigned revision; /* the same for the fragments */
  const TermsTensorVariant
      *variant; /* NULL: the plan is not for tensor cores */
  StripOccupancy occupancy;
  StripHeights heights;
};

/* Allocates what plans of this layout need, if any of their specs can run on tensor cores.
 * terms_tensor_release() frees it. */
bool terms_tensor_prepare (
    const SepconvPlan *plan, TermsTensor *tensor, Fault *fault);
void terms_tensor_release (TermsTensor *tensor);

/* Whether the kernels support the plan's spec with the promised accuracy. */
bool terms_tensor_suits (const SepconvPlan *plan, TermsTensor *tensor);

/* Queues a part of a frame; terms_tensor_suits() must be true for the plan. */
bool terms_tensor_run (SepconvPlan *plan, TermsTensor *tensor,
    const SepconvPart *part, Fault *fault);

/* Whether a variant of the plan's mode has the promised accuracy in all planes. */
bool terms_tensor_is_exact (
    const SepconvPlan *plan, const TermsTensorVariant *variant);
/* Writes the fragments of a plane, at most TERMS_MAX_FRAGMENTS. */
void terms_tensor_write_taps (const SepconvPlan *plan,
    const TermsTensorVariant *variant, int p, uint4 *to);
/* Fills in the members that a plane's arithmetic depends on: all except `strip` and `fragments`. */
void terms_tensor_describe (const SepconvPlan *plan,
    const TermsTensorVariant *variant, int p, TermsTensorPlane *plane);
