/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane: every lane counts in a shared-memory bank that no other lane of its warp uses at the
 * same time, so that no content makes bank conflicts. This file describes where a pattern's
 * samples lie in the source, and its counters in shared memory.
 *
 * A counter is one word. Each bin has 32 counters side by side, one per bank: word
 * bin * 32 + bank. The warps of a block share them. For one channel the bank is the lane.
 * Channels that alternate sample by sample need no more memory than one channel: in a
 * pattern of 2 or 4 samples, neighbouring lanes take turns,
 *
 *   step   lane 0  1  2  3   4  5  6  7        bank = group of lanes | channel
 *      0        R  G  B  A   R  G  B  A  ...
 *      1        G  B  A  R   G  B  A  R
 *      2        B  A  R  G   B  A  R  G
 *
 * each by rotating its own vector first. So RGBA at 256 bins takes 32 KiB a block, to clear
 * and to sum, instead of 128. Turns of three would leave lanes of different phase in one
 * bank: a pattern of 3 has three sets of counters, 96 KiB. Counters of 16 bits would halve
 * that, but could overflow. */
#pragma once

#include "counters.cuh"
#include "pattern.h"

#include "../gpu-launch.cuh"

/* Threads of a block. A run has one block per multiprocessor, so that there is only one set of
 * counters to clear and to sum. */
#define THREADS 1024

/* A pattern in the source of a run. Positions are bytes from a row's start.
 *
 * The pattern's threads take its units in turn, row by row. Units are whole vectors, or
 * samples if rows have no pattern. */
struct LanePattern
{
  const uint8_t *data;
  ptrdiff_t stride;
  int rows;
  /* A byte in the first unit of row 0. For vectors it is the 16th from inner_first on: the
   * multiple of 16 at or below its address is the row's first whole vector. */
  const uint8_t *anchor;
  int first_block, n_blocks;
  uint32_t units;               /* of a row */
  uint32_t reciprocal;          /* UINT32_MAX / units */
  uint32_t row_step, unit_step; /* from a thread's unit to its next */
  /* Every thread has `rounds` units, and the first `rest` threads one more. */
  uint32_t rounds, rest;
  /* is_in_phase: all vectors of a thread begin with the same sample of the pattern.
   * is_steady: moreover, there is only one row. */
  bool is_in_phase, is_steady;
  int channel[HISTO_MAX_PERIOD]; /* as in HistoPattern */
  int period, sample_bytes;
  /* 4 bits for each of the lanes that sum a bin. Bit 0: the lane is the last of those that
   * sum its channel. Bit i: the lane i below it sums the same channel. */
  uint32_t joins;
  int first, last; /* all samples lie in [first, last) */
  /* Every position of a channel in [inner_first, inner_last) has a sample of the picture. */
  int inner_first, inner_last;
  int begin[HISTO_MAX_PERIOD]; /* first sample of channel[k] */
  int end[HISTO_MAX_PERIOD];   /* position of the sample after its last */
  bool edges; /* there may be samples outside the whole vectors */
  uint32_t mask;
  int shift; /* depth and shift */
  /* is_bits: the number of bins is a power of two. Then a word rotated right by `rotation` has
   * the bin of its first sample at `address_mask`: the bin's bits in the address of its
   * counters. */
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

/* Sets of 32 counters per bin: period 3 has one for each sample of the pattern. */
static __host__ __device__ __forceinline__ int
counter_sets (int period)
{
  return period == 3 ? 3 : 1;
}

/* The number of channels that share a set: one for period 3 and for rows without a pattern. */
static __host__ __device__ __forceinline__ int
set_channels (int period)
{
  return period == 2 || period == 4 ? period : 1;
}

/* A bin's counters take 1 << BIN_SHIFT bytes. */
#define BIN_SHIFT 7
static_assert (32 * sizeof (uint32_t) == 1 << BIN_SHIFT, "one counter a bank");

/* Position of the first multiple of 16 bytes, as an address, from position `from` on. */
static __host__ __device__ __forceinline__ int
first_vector (int from, const uint8_t *row)
{
  const int before = (int) ((uintptr_t) row % 16);

  return ((from + before + 15) & ~15) - before;
}
