/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-split: `multirate` for RGB and YUY2, which are split into planes for its fast kernels
 * for bytes: those take pixels of one, two or four samples only. */
#include "split.cuh"

extern "C" const SepconvMethodOps sepconv_multirate_ops;

extern "C" const SepconvMethodOps sepconv_multirate_split_ops = {
  .min_capability = 0,
  .in_parts = false,
  .combines = true,
  .supports = Split<sepconv_multirate_ops>::supports,
  .cost = Split<sepconv_multirate_ops>::cost,
  .prepare = Split<sepconv_multirate_ops>::prepare,
  .release = Split<sepconv_multirate_ops>::release,
  .run = Split<sepconv_multirate_ops>::run,
  .overlaps = false,
  .turns = Split<sepconv_multirate_ops>::turns,
  .counts = NULL,
};
