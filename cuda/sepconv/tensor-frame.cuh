/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-frame: what a launch of tensor is about, as the parameter of its kernel. */
#pragma once

#include "tensor.cuh"

#include "../histo/tally.cuh"
#include "strip.cuh"

struct TensorPlane
{
  int reach; /* pixels that a block's window begins left of its result */
  int above; /* rows that it begins above */
  StripPlane strip;
  TensorOrder order;                       /* of four channels */
  const uint4 *fragments;                  /* plane_fragments() */
  float sums_start[2];                     /* takes 1024 and the centre off */
  float result_start[IMAGE_MAX_CHANNELS];  /* the offset */
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
  HistoTally tally; /* of a launch that counts */
};
