/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-split: `box-running` for RGB and YUY2: one kernel filters, two more split and
 * merge. */
#include "split.cuh"

extern "C" const SepconvMethodOps sepconv_box_running_ops;

extern "C" const SepconvMethodOps sepconv_box_running_split_ops = {
  .min_capability = 0,
  .in_parts = false,
  .combines = false,
  .supports = Split<sepconv_box_running_ops>::supports,
  .cost = Split<sepconv_box_running_ops>::cost,
  .prepare = Split<sepconv_box_running_ops>::prepare,
  .release = Split<sepconv_box_running_ops>::release,
  .run = Split<sepconv_box_running_ops>::run,
  .overlaps = false,
  .turns = Split<sepconv_box_running_ops>::turns,
  .counts = NULL,
};
