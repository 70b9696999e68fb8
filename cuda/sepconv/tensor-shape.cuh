/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-shape: the sizes of each variant of the kernel: its tiles, its window and its shared
 * memory. Compile-time numbers for the host and the kernel; many were found by trial. */
#pragma once

#include "tensor.cuh"

#include "strip.cuh"

#define MAX_STEPS 9 /* 129 taps */

/* The fragments of one axis, [step][part][lane]. A plane has the fragments of x, then those of y,
 * and then, if the last place has taps of its own, x and y for that place. */
#define AXIS_FRAGMENTS (MAX_STEPS * TENSOR_MAX_PARTS * TENSOR_LANES)

/* Number of sets of fragments of a pixel's channels. The last of four channels, by its place in
 * arithmetic, has a set of its own, for a channel that is copied, such as alpha. */
static constexpr int
count_sets (int channels)
{
  return channels == 4 ? 2 : 1;
}

/* Steps along x where there are `steps` along y. Windows begin at multiples of 16 bytes, which are
 * 16 pixels if a pixel is one byte: then 2 steps do not suffice. */
static constexpr int
steps_along_x (int steps, int pixel)
{
  return steps == 2 && pixel == 1 ? 3 : steps;
}

/* Whether two warps share the same pixels, with two of four channels each, because the sums of all
 * four would take too many registers. Then a copied channel has no fragments of its own. */
static constexpr bool
pairs_channels (int steps, int channels, bool deep)
{
  return deep && channels == 4 && steps > 3;
}

/* Tiles of a warp, and blocks on a multiprocessor at once with the registers for that: found by
 * trial. */
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

/* Whether there are kernels that count results when they are put: where warps have all channels of
 * their pixels, and enough registers are left. */
static constexpr bool
counts_put (int steps)
{
  return steps == 2 || steps == 3;
}

/* Whether warps beyond the rows' ends put zeros where results are counted when put; it needs starts
 * in registers. Otherwise results are counted so only at widths without such warps. */
static constexpr bool
puts_zeros (int channels)
{
  return channels < 4;
}

/* Whether the warps of a block share the same pixels, with one channel each, instead of all
 * channels of their own pixels: with as many channels as warps, of one byte, and many taps. With
 * 129 taps, a warp's window then is 3 times as wide as its result instead of 9 times, and its
 * fragments serve as many products of one channel. */
static constexpr bool
splits_channels (int steps, int channels, int bytes)
{
  return channels == STRIP_WARPS && bytes == 1 && steps > 3;
}

/* Bytes from one row of `chunks` to the next. BY_PIXELS, for pixels larger than a register: a lane
 * reads and writes two pixels at a time, and four lanes eight pixels, 64 bytes of which the next
 * row's must lie in other banks. So the pitch is an odd multiple of 64 bytes, if chunks are a
 * multiple of 8. */
static constexpr int
tensor_pitch (int chunks, bool by_pixels)
{
  return by_pixels ? 16 * (chunks | 4) : strip_pitch (chunks);
}

/* The sizes of a strip for KS steps, PARTS FP16 values a tap, and C channels of BYTES a sample.
 * WIDE variants are for frames of many samples: with more tiles a warp does less for its window and
 * its fragments, but there are fewer blocks. DEEP ones are for samples that are sums of two FP16
 * values. */
template <int STEPS, int TAP_PARTS, int SAMPLE_BYTES, int CHANNELS, bool WIDE,
    bool IS_DEEP>
struct Shape
{
  static constexpr bool DEEP = IS_DEEP;
  static constexpr int KS = STEPS, PARTS = TAP_PARTS;
  static constexpr int BYTES = SAMPLE_BYTES, C = CHANNELS;
  static constexpr int PIXEL = C * BYTES; /* bytes */
  /* Steps of a window along x, and products that these take. FOLDED: up to 17 taps reach only the
   * nearer halves of the first and the last of three steps, so one product takes both halves. */
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
  /* Sizes of a block's result, and the distance from one warp's pixels to the next one's. */
  static constexpr int WARPS_OF_PIXEL = PAIRED ? 2 : 1; /* if not SPLIT */
  static constexpr int OUT_BLOCKS =
      SPLIT ? BLOCKS : STRIP_WARPS / WARPS_OF_PIXEL * BLOCKS;
  static constexpr int OUT_CHUNKS = OUT_BLOCKS * BLOCK_CHUNKS;
  static constexpr int WARP_CHUNKS = SPLIT ? 0 : BLOCKS * BLOCK_CHUNKS;
  static constexpr int CHUNKS = (OUT_BLOCKS + KX - 1) * BLOCK_CHUNKS;
  /* BY_PIXELS as in tensor_pitch(). PAIRED warps write single words, four lanes to a bank. */
  static constexpr bool BY_PIXELS = PIXEL > 4;
  static constexpr int PITCH = tensor_pitch (CHUNKS, BY_PIXELS);
  static constexpr int OUT_PITCH = tensor_pitch (OUT_CHUNKS, BY_PIXELS);
  static_assert (!BY_PIXELS || (CHUNKS % 8 == 0 && OUT_CHUNKS % 8 == 0),
      "the pitch is an odd multiple of 64 bytes");
  static constexpr int PIXELS = OUT_BLOCKS * TENSOR_STEP;  /* of a block */
  static constexpr int WARP_PIXELS = BLOCKS * TENSOR_STEP; /* of a warp */
  /* Chunks of 16 bytes that a warp puts in 8 rows, and how many of them at a time. */
  static constexpr int PUT_CHUNKS = BLOCKS * (SPLIT ? 1 : BLOCK_CHUNKS);
  static constexpr int PUT_COLUMNS = PUT_CHUNKS < 4 ? PUT_CHUNKS : 4;
  static_assert (PUT_CHUNKS == 2 || PUT_CHUNKS % 4 == 0, "four at a time");
  static constexpr bool PUT_AT_ONCE = C < 4 || KS == 2; /* found by trial */
  /* PACKS as in tensor.cuh. With 65 taps it would take 3 % less time, but 6 % more where results
   * are counted; and both must give the same result. */
  static constexpr bool PACKS = KS != 5 || SPLIT;
  /* Bytes from one channel's results to the next channel's, if SPLIT. */
  static constexpr int APART = SPLIT ? PIXELS : 0;
  /* Stages of the window. Windows much wider than their results have fewer: their steps take longer
   * than the latency of memory. */
  static constexpr int STAGES = PAIRED && KS == 9 ? 2 : STRIP_STAGES;
  static constexpr int STAGE_BYTES = STRIP_ROWS * PITCH;
  static constexpr int OUT_BYTES = STRIP_ROWS * OUT_PITCH;
  /* The following was found by trial, so that no registers are spilled. Fragments along y come from
   * shared memory each time; those along x do too, if: */
  static constexpr bool X_SHARED = DEEP
      || (KS > 3 ? !SPLIT || KS > 5 || PARTS == 2
                 : (KS == 3) != (PARTS == 2) || (KS == 3 && C == 4));
  /* Whether starts of results are kept in registers: */
  static constexpr bool KEEPS_STARTS =
      OWN <= 2 && (KS <= 5 || (BYTES == 1 && !WIDE && !SPLIT));
  /* Whether the products of former rows are interleaved with those of new ones, which are too few
   * at a time to hide each other's latency: */
  static constexpr bool BETWEEN = BYTES == 1 && OWN < 4 && KS <= 5;
  /* Whether the first steps, which complete no rows, have a loop of their own that takes two at a
   * time: */
  static constexpr bool FIRST_APART = BYTES == 1
      ? PARTS == 1 && !WIDE && KS >= (C == 4 ? 3 : 5)
      : WIDE && KS == 9;
  /* Whether most steps are lean: March::take_lean(). */
  static constexpr bool LEAN = STAGES == STRIP_STAGES
      && (C == 4 || (BYTES == 1 ? WIDE || KS <= 3 : KS <= 5));
  /* Lean steps at a time. Sums move up by one place each step, but are copied from register to
   * register only after all these steps. */
  static constexpr int LEAN_STEPS = SPLIT && KS == 5 ? 4 : 2;
  static constexpr bool PUTS_ZEROS = puts_zeros (C);
  static constexpr int SETS = PAIRED ? 1 : count_sets (C);
  static constexpr int OWN_SETS = SPLIT ? 1 : SETS; /* of a warp */
  /* Fragments of a set in shared memory. */
  static constexpr int X_FRAGMENTS = X_SHARED ? PX * PARTS * TENSOR_LANES : 0;
  static constexpr int Y_FRAGMENTS = KS * PARTS * TENSOR_LANES;
  /* Bytes; after the fragments come the starts. */
  static constexpr int SHARED = STAGES * STAGE_BYTES + 2 * OUT_BYTES
      + (SETS * (X_FRAGMENTS + Y_FRAGMENTS + 1) + C) * (int) sizeof (uint4);
};
