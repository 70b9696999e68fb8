/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-shape: the sizes of each variant of the kernel: its tiles, its window and its shared
 * memory. Plain numbers for the host and the kernel; many were found by trial. */
#pragma once

#include "tensor.cuh"

#include "strip.cuh"

#define MAX_STEPS 9 /* 129 taps */

/* The fragments of one axis, [step][part][lane]. A plane has those for x and for y, and
 * then those of the last place, if that has its own. */
#define AXIS_FRAGMENTS (MAX_STEPS * TENSOR_MAX_PARTS * TENSOR_LANES)

/* The places in arithmetic of a pixel's channels that have fragments of their own: of
 * four, the last one has, for a channel that stays as it is, as alpha does. */
static constexpr int
count_sets (int channels)
{
  return channels == 4 ? 2 : 1;
}

/* The steps along x where there are so many along y: windows begin with 16 bytes of a
 * row, which are as many pixels of one byte. */
static constexpr int
steps_along_x (int steps, int pixel)
{
  return steps == 2 && pixel == 1 ? 3 : steps;
}

/* Whether two warps have two of four channels each of the same pixels, whose sums otherwise
 * would take too many registers. No channel that is kept has fragments of its own then. */
static constexpr bool
pairs_channels (int steps, int channels, bool deep)
{
  return deep && channels == 4 && steps > 3;
}

/* How many tiles a warp has and how many blocks with the registers for that run on a
 * multiprocessor: found by trial. */
static constexpr int
tiles_of_warp (int steps, int bytes, bool four, bool wide, bool deep)
{
  if (deep)
    return four && !pairs_channels (steps, 4, deep) ? 4 : 2;
  if (steps == 3)
    return four && wide ? 8 : bytes == 1 ? 4 : 2;
  return steps == 9 && !four && !wide ? 2 : 4;
}

static constexpr int
blocks_at_once (int steps, int bytes, bool four, bool wide, bool deep)
{
  if (deep)
    return steps > 3 || (four && steps == 3) ? 2 : steps == 2 && !four ? 4 : 3;
  if (wide || (four && steps > 3))
    return 2;
  if (bytes == 1)
    return 3;
  return steps == 3 ? 4 : steps == 5 ? 2 : 3;
}

/* Whether there are kernels that count results when they are put: where warps have all
 * channels of their pixels, and the registers that it takes. */
static constexpr bool
counts_put (int steps)
{
  return steps == 2 || steps == 3;
}

/* Whether warps beyond the rows' ends put zeros, if results are counted then: else there
 * are none. It takes starts in registers. */
static constexpr bool
puts_zeros (int channels)
{
  return channels < 4;
}

/* Whether the warps of a block have one channel each of the same pixels, and not all
 * channels of pixels of their own: there are as many, of a byte, and many taps. A warp's
 * window is then 3 times as wide as its result with 129 taps instead of 9 times, and its
 * fragments serve as many products of one channel. */
static constexpr bool
splits_channels (int steps, int channels, int bytes)
{
  return channels == STRIP_WARPS && bytes == 1 && steps > 3;
}

/* Bytes from one row of so many chunks to the next. BY_PIXELS: of more than a register, a lane reads and
 * writes two of them at a time, and four lanes eight, of 64 bytes; the next row's must lie in other banks:
 * the pitch is an odd multiple of that, if chunks are a multiple of 8. */
static constexpr int
tensor_pitch (int chunks, bool by_pixels)
{
  return by_pixels ? 16 * (chunks | 4) : strip_pitch (chunks);
}

/* What the sizes of a strip are for KS steps, PARTS halves a tap, samples of BYTES
 * and C channels. WIDE ones are for frames that have many: the more tiles a warp has, the
 * less it does for its window and its fragments, and the fewer blocks there are. DEEP ones
 * are for samples that are sums of two halves. */
template <int STEPS, int TAP_PARTS, int SAMPLE_BYTES, int CHANNELS, bool WIDE,
    bool IS_DEEP>
struct Shape
{
  static constexpr bool DEEP = IS_DEEP;
  static constexpr int KS = STEPS, PARTS = TAP_PARTS;
  static constexpr int BYTES = SAMPLE_BYTES, C = CHANNELS;
  static constexpr int PIXEL = C * BYTES; /* bytes */
  /* Steps of a window along x, and products that they take. FOLDED: up to 17 taps reach no
   * further than the nearer halves of the first and the last of three steps, and one product
   * has both. */
  static constexpr int KX = steps_along_x (KS, PIXEL);
  static constexpr bool FOLDED = KX > KS;
  static constexpr int PX = FOLDED ? 2 : KX;
  static constexpr bool SPLIT = splits_channels (KS, C, BYTES);
  static constexpr bool PAIRED = pairs_channels (KS, C, DEEP);
  static constexpr int OWN = SPLIT ? 1
      : PAIRED                     ? 2
                                   : C; /* channels of a warp */
  static constexpr int TILES = tiles_of_warp (KS, BYTES, C == 4, WIDE, DEEP);
  static constexpr int BLOCKS =
      TILES / OWN; /* of 16 pixels, of a warp's result */
  static constexpr int BLOCK_CHUNKS = PIXEL; /* of 16 bytes */
  /* Of a block's result, and from one warp's pixels to the next one's: */
  static constexpr int WARPS_OF_PIXEL = PAIRED ? 2 : 1; /* if not SPLIT */
  static constexpr int OUT_BLOCKS =
      SPLIT ? BLOCKS : STRIP_WARPS / WARPS_OF_PIXEL * BLOCKS;
  static constexpr int OUT_CHUNKS = OUT_BLOCKS * BLOCK_CHUNKS;
  static constexpr int WARP_CHUNKS = SPLIT ? 0 : BLOCKS * BLOCK_CHUNKS;
  static constexpr int CHUNKS = (OUT_BLOCKS + KX - 1) * BLOCK_CHUNKS;
  /* As tensor_pitch() has it. Those that are PAIRED write words, four lanes to a bank. */
  static constexpr bool BY_PIXELS = PIXEL > 4;
  static constexpr int PITCH = tensor_pitch (CHUNKS, BY_PIXELS);
  static constexpr int OUT_PITCH = tensor_pitch (OUT_CHUNKS, BY_PIXELS);
  static_assert (!BY_PIXELS || (CHUNKS % 8 == 0 && OUT_CHUNKS % 8 == 0),
      "the pitch is an odd multiple of 64 bytes");
  static constexpr int PIXELS = OUT_BLOCKS * TENSOR_STEP;  /* of a block */
  static constexpr int WARP_PIXELS = BLOCKS * TENSOR_STEP; /* of a warp */
  /* Of 16 bytes, that a warp puts out in 8 rows, and how many of them at a time. */
  static constexpr int PUT_CHUNKS = BLOCKS * (SPLIT ? 1 : BLOCK_CHUNKS);
  static constexpr int PUT_COLUMNS = PUT_CHUNKS < 4 ? PUT_CHUNKS : 4;
  static_assert (PUT_CHUNKS == 2 || PUT_CHUNKS % 4 == 0, "four at a time");
  static constexpr bool PUT_AT_ONCE = C < 4 || KS == 2; /* found by trial */
  /* As tensor.cuh has it. With 65 taps it would take 3 % less, but 6 % more where results are
   * counted; and both are to give the same result. */
  static constexpr bool PACKS = KS != 5 || SPLIT;
  /* Bytes from one channel's results to the next one's, if SPLIT. */
  static constexpr int APART = SPLIT ? PIXELS : 0;
  /* Stages of the window: windows that are much wider than their results have fewer, whose steps
   * take longer than memory does. */
  static constexpr int STAGES = PAIRED && KS == 9 ? 2 : STRIP_STAGES;
  static constexpr int STAGE_BYTES = STRIP_ROWS * PITCH;
  static constexpr int OUT_BYTES = STRIP_ROWS * OUT_PITCH;
  /* What follows was found by trial, lest registers be spilled. Fragments along y come
   * from shared memory each time, and those along x: */
  static constexpr bool X_SHARED = DEEP
      || (KS > 3 ? !SPLIT || KS > 5 || PARTS == 2
                 : (KS == 3) != (PARTS == 2) || (KS == 3 && C == 4));
  /* Starts of results are kept in registers: */
  static constexpr bool KEEPS_STARTS =
      OWN <= 2 && (KS <= 5 || (BYTES == 1 && !WIDE && !SPLIT));
  /* The products of former rows come between those of new ones, which are too few at a
   * time to hide each other's latency: */
  static constexpr bool BETWEEN = BYTES == 1 && OWN < 4 && KS <= 5;
  /* The first steps, which complete no rows, are apart from the others, and taken two
   * at a time: */
  static constexpr bool FIRST_APART = BYTES == 1
      ? PARTS == 1 && !WIDE && KS >= (C == 4 ? 3 : 5)
      : WIDE && KS == 9;
  /* Most steps are lean: */
  static constexpr bool LEAN = STAGES == STRIP_STAGES
      && (C == 4 || (BYTES == 1 ? WIDE || KS <= 3 : KS <= 5));
  /* So many at a time: sums move up by one place each step, but from register to
   * register only after all that are taken at a time. */
  static constexpr int LEAN_STEPS = SPLIT && KS == 5 ? 4 : 2;
  static constexpr bool PUTS_ZEROS = puts_zeros (C);
  static constexpr int SETS = PAIRED ? 1 : count_sets (C);
  static constexpr int OWN_SETS = SPLIT ? 1 : SETS; /* of a warp */
  /* Of a set, in shared memory. */
  static constexpr int X_FRAGMENTS = X_SHARED ? PX * PARTS * TENSOR_LANES : 0;
  static constexpr int Y_FRAGMENTS = KS * PARTS * TENSOR_LANES;
  /* After the fragments come the starts. */
  static constexpr int SHARED = STAGES * STAGE_BYTES + 2 * OUT_BYTES
      + (SETS * (X_FRAGMENTS + Y_FRAGMENTS + 1) + C) * (int) sizeof (uint4);
};
