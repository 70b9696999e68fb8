/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane: every lane counts in a shared-memory bank that no other lane of its warp
 * uses at that moment, so no content makes conflicts. Here is where a pattern's
 * samples lie in the source, and its counters in shared memory.
 *
 * A counter is one word, and 32 of them stand side by side for each bin, one a bank:
 * word bin * 32 + bank. The warps of a block share them. For one channel the bank is
 * the lane. Channels that alternate sample by sample need no more room than one:
 * in a pattern of 2 or 4 samples, neighbouring lanes take turns,
 *
 *   step   lane 0  1  2  3   4  5  6  7        bank = group of lanes | channel
 *      0        R  G  B  A   R  G  B  A  ...
 *      1        G  B  A  R   G  B  A  R
 *      2        B  A  R  G   B  A  R  G
 *
 * each by turning its own vector first. So RGBA at 256 bins takes 32 KiB a block, to
 * clear and to add up, and not 128. Turns of three would leave lanes of different phase
 * in one bank: a pattern of 3 has three sets of counters, 96 KiB. Counters of 16 bits
 * would halve that, but the sum would have to be watched. */
#pragma once

#include "counters.cuh"
#include "pattern.h"

#include "../gpu-launch.cuh"

/* Of the one block that a multiprocessor has of a run, so that there is one set of
 * counters to clear and to add up. */
#define THREADS 1024

/* A pattern in the source of a run. Positions are bytes from a row's start.
 *
 * The pattern's threads take its units in turn, row by row: whole vectors, or samples
 * where rows have no pattern. */
struct LanePattern
{
  const uint8_t *data;
  ptrdiff_t stride;
  int rows;
  /* A byte in the first unit of row 0: for vectors the 16th from inner_first on, as
   * the one at the 16-byte address at or below it is the row's first whole vector. */
  const uint8_t *anchor;
  int first_block, n_blocks;
  uint32_t units;               /* that every row has */
  uint32_t reciprocal;          /* UINT32_MAX / units */
  uint32_t row_step, unit_step; /* from a thread's unit to its next */
  /* Every thread has `rounds` units, and the first `rest` threads one more. */
  uint32_t rounds, rest;
  /* All vectors of a thread begin with the same sample of the pattern; that, and
   * there is one row. */
  bool is_in_phase, is_steady;
  int channel[HISTO_MAX_PERIOD]; /* as in HistoPattern */
  int period, sample_bytes;
  /* For the lanes that add up a bin, 4 bits each: bit 0, it is the last of those that
   * add for one channel; bit i, the lane i below is another of them. */
  uint32_t joins;
  int first, last; /* all samples lie in [first, last) */
  /* All that lies in [inner_first, inner_last) and belongs to a channel is a sample
   * of it. */
  int inner_first, inner_last;
  int begin[HISTO_MAX_PERIOD]; /* first sample of channel[k] */
  int end[HISTO_MAX_PERIOD];   /* where its sample after the last would be */
  bool edges; /* there may be samples outside the whole vectors */
  uint32_t mask;
  int shift; /* depth and shift */
  /* The bins are a power of two: a word turned right by `rotation` has the bits of
   * its first sample that are the bin where `address_mask` is, the bin's bits in the
   * address of its counters. */
  bool is_bits;
  uint32_t rotation, address_mask;
  int pixel_stride; /* of rows without a pattern */
};

struct LaneFrame
{
  Counters counters;
  int bins;
  int n_patterns;
  LanePattern pattern[HISTO_MAX_CHANNELS];
};
static_assert (sizeof (LaneFrame) <= 4096, "a kernel can have it as parameter");

/* Sets of 32 counters a bin: period 3 has one a channel. */
static __host__ __device__ __forceinline__ int
counter_sets (int period)
{
  return period == 3 ? 3 : 1;
}

/* The channels that share a set: period 3, and what has no pattern, one. */
static __host__ __device__ __forceinline__ int
set_channels (int period)
{
  return period == 2 || period == 4 ? period : 1;
}

/* A bin's counters take 1 << BIN_SHIFT bytes. */
#define BIN_SHIFT 7
static_assert (32 * sizeof (uint32_t) == 1 << BIN_SHIFT, "one counter a bank");

/* Position of the first address from `from` on that vectors lie at. */
static __host__ __device__ __forceinline__ int
first_vector (int from, const uint8_t *row)
{
  const int before = (int) ((uintptr_t) row % 16);

  return ((from + before + 15) & ~15) - before;
}
