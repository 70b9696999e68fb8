/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-split: `terms` for RGB and YUY2, whose pixels its kernels on tensor cores cannot read in
 * place. */
#include "split.cuh"
#include "instructions.cuh"

extern "C" const SepconvMethodOps sepconv_terms_ops;

extern "C" const SepconvMethodOps sepconv_terms_split_ops = {
  .min_capability = INSTRUCTIONS_CAPABILITY,
  .in_parts = false,
  .combines = true,
  .supports = Split<sepconv_terms_ops>::supports,
  .cost = Split<sepconv_terms_ops>::cost,
  .prepare = Split<sepconv_terms_ops>::prepare,
  .release = Split<sepconv_terms_ops>::release,
  .run = Split<sepconv_terms_ops>::run,
  .overlaps = false,
  .turns = Split<sepconv_terms_ops>::turns,
  .counts = NULL,
};
