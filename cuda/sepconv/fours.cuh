/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fours: loads floats from memory to registers, four at a time. */
#pragma once

/* Loads N floats; `from` is aligned to 16 bytes, and N is a multiple of 4. */
template <int N>
__device__ __forceinline__ void
load_fours (const float *from, float (&to)[N])
{
  static_assert (N % 4 == 0, "whole vectors");
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const float4 four = *(const float4 *) (from + i);

    to[i] = four.x;
    to[i + 1] = four.y;
    to[i + 2] = four.z;
    to[i + 3] = four.w;
  }
}
