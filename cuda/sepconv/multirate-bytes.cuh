/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-bytes: shared parts of multirate's kernels for planes of bytes. They take packed planes
 * of 8 bits with 1, 2 or 4 channels, decimated by powers of two along both axes, and run on tensor
 * cores.
 *
 * A lane has a chunk of MULTIRATE_CHUNK neighbouring bytes of a row, which it reads or writes at
 * once if rows are aligned. The four chunks of a row that four neighbouring lanes have are whole
 * cells, of up to 16 pixels each. */
#pragma once

#include "multirate.cuh"
#include "tensor.cuh"

#include <string.h>

#define MULTIRATE_CHUNK 16
#define MULTIRATE_CHUNK_WORDS (MULTIRATE_CHUNK / 4)

static inline bool
multirate_takes_bytes (
    const MultirateAxis *x, const MultirateAxis *y, int channels)
{
  return x->weight_sum > 0 && y->weight_sum > 0 && channels != 3;
}

/* Two numbers as FP16 in a word, `low` in the low bits. */
static inline uint32_t
multirate_two_halves (float low, float high)
{
  const __half halves[] = { __double2half (low), __double2half (high) };
  uint32_t bits;

  memcpy (&bits, halves, sizeof bits);
  return bits;
}
