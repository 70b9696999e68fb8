/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-split: `tensor` for RGB and YUY2, whose pixels its kernels cannot read in
 * place. */
#include "split.cuh"
#include "instructions.cuh"

extern "C" const SepconvMethodOps sepconv_tensor_ops;

extern "C" const SepconvMethodOps sepconv_tensor_split_ops = {
  .min_capability = INSTRUCTIONS_CAPABILITY,
  .in_parts = false,
  .combines = false,
  .supports = Split<sepconv_tensor_ops>::supports,
  .cost = Split<sepconv_tensor_ops>::cost,
  .prepare = Split<sepconv_tensor_ops>::prepare,
  .release = Split<sepconv_tensor_ops>::release,
  .run = Split<sepconv_tensor_ops>::run,
  .overlaps = false,
  .turns = Split<sepconv_tensor_ops>::turns,
  .counts = NULL,
};
