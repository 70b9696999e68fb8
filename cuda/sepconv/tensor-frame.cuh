/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-frame: the parameter of the kernels of `tensor`, which describes one
 * launch. */
#pragma once

#include "tensor.cuh"

#include "../histo/tally.cuh"
#include "strip.cuh"

struct TensorPlane
{
  int reach; /* pixels from the start of a block's window to its result */
  int above; /* rows from the start of the window to its result */
  StripPlane strip;
  TensorOrder order;      /* of four channels */
  const uint4 *fragments; /* plane_fragments() of them */
  /* Start of row sums, of each set of taps: subtracts 1024 and the center from each
   * sample; for deep samples, tensor_deep_start(). */
  float sums_start[2];
  float result_start[IMAGE_MAX_CHANNELS];  /* the offset; if deep, / max_code */
  TensorDeepPlane deep;                    /* of deep samples */
  signed char counter[IMAGE_MAX_CHANNELS]; /* for tally_end() */
  signed char skipped;                     /* for TallyLane::begin() */
};

struct TensorFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  TensorPlane plane[IMAGE_MAX_PLANES];
  HistoTally tally; /* for a launch that counts */
};
