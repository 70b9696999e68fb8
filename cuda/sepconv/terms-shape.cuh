/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-shape: the sizes of each variant of terms-tensor's kernel: its tiles, its window and its
 * shared memory. Names have the meaning that they have in tensor-shape.cuh. */
#pragma once

#include "tensor-shape.cuh"
#include "terms-tensor.cuh"

/* Tiles of a warp: found by trial. */
static constexpr int
terms_tiles (int steps, int parts, int channels, TermsMode mode, bool deep)
{
  const bool two = terms_of_mode (mode) == 2;

  if (deep)
    return channels == 4 && !two ? 4 : 2;
  if (channels == 4 || (!two && (steps == 2 || parts == 1))
      || (steps == 2 && parts == 1 && channels == 1 && mode != TERMS_ANGLE))
    return 4;
  return 2;
}

/* Blocks on a multiprocessor at once with the registers for that. FOUR: four channels. */
static constexpr int
terms_blocks_at_once (bool four, TermsMode mode, bool deep)
{
  const bool two = terms_of_mode (mode) == 2;

  if (deep)
    return four || two ? 2 : 3;
  return mode == TERMS_ANGLE || (four && two) ? 2 : 3;
}

template <int STEPS, int TAP_PARTS, int SAMPLE_BYTES, int CHANNELS,
    TermsMode KIND, bool IS_DEEP>
struct TermsShape
{
  static constexpr bool DEEP = IS_DEEP;
  static constexpr TermsMode MODE = KIND;
  static constexpr int KS = STEPS, PARTS = TAP_PARTS;
  static constexpr int BYTES = SAMPLE_BYTES, C = CHANNELS;
  static constexpr int PIXEL = C * BYTES; /* bytes */
  static constexpr int TERMS = terms_of_mode (MODE);
  static constexpr int SUMS = sums_of_mode (MODE);
  static constexpr bool ADDS = adds_to_result (MODE);
  static constexpr int KX = steps_along_x (KS, PIXEL);
  static constexpr bool FOLDED = KX > KS;
  static constexpr int PX = FOLDED ? 2 : KX;
  /* Two warps share the same pixels, with two of four channels each. */
  static constexpr bool PAIRED = DEEP && C == 4;
  static constexpr int OWN = PAIRED ? 2 : C; /* channels of a warp */
  static constexpr int WARPS_OF_PIXEL = PAIRED ? 2 : 1;
  static constexpr int TILES = terms_tiles (KS, PARTS, C, MODE, DEEP);
  static constexpr int BLOCKS = TILES / OWN; /* of 16 pixels, of a warp */
  static constexpr int BLOCK_CHUNKS = PIXEL;
  static constexpr int WARP_CHUNKS = BLOCKS * BLOCK_CHUNKS;
  static constexpr int OUT_BLOCKS = STRIP_WARPS / WARPS_OF_PIXEL * BLOCKS;
  static constexpr int OUT_CHUNKS = OUT_BLOCKS * BLOCK_CHUNKS;
  static constexpr int CHUNKS = OUT_CHUNKS + (KX - 1) * BLOCK_CHUNKS;
  static constexpr bool BY_PIXELS = PIXEL > 4;
  static constexpr int PITCH = tensor_pitch (CHUNKS, BY_PIXELS);
  static constexpr int OUT_PITCH = tensor_pitch (OUT_CHUNKS, BY_PIXELS);
  static_assert (!BY_PIXELS || (CHUNKS % 8 == 0 && OUT_CHUNKS % 8 == 0),
      "the pitch is an odd multiple of 64 bytes");
  static constexpr int PIXELS = OUT_BLOCKS * TENSOR_STEP;
  /* Stages, and how many are loaded before one is taken: about the same number of bytes with few
   * tiles as with many. The stage before the one that is taken is kept, for the samples. */
  static constexpr int STAGES = BY_PIXELS ? 4 : 8;
  static constexpr int AHEAD = BY_PIXELS ? 2 : TILES == 4 ? 4 : 6;
  static_assert (AHEAD + 2 <= STAGES, "one is loaded, and two are read");
  static constexpr int STAGE_BYTES = STRIP_ROWS * PITCH;
  static constexpr int OUT_BYTES = STRIP_ROWS * OUT_PITCH;
  /* Tiles whose results are in registers at a time, and the number of chunks that these are. */
  static constexpr int GROUP =
      C == 4 || (TERMS == 1 && TILES == 4 && BYTES == 1) ? 4 : 2;
  static constexpr int PUT_CHUNKS = DEEP ? WARP_CHUNKS : GROUP * BYTES;
  static constexpr int PUT_COLUMNS = PUT_CHUNKS < 4 ? PUT_CHUNKS : 4;
  static constexpr bool PUT_AT_ONCE = true;
  static_assert (
      !DEEP || PUT_CHUNKS == 2 || PUT_CHUNKS % 4 == 0, "four at a time");
  static constexpr bool X_SHARED = DEEP || TERMS * PX * PARTS > 4;
  static constexpr int X_FRAGMENTS = TERMS * PX * PARTS;
  static constexpr int Y_FRAGMENTS = TERMS * KS * PARTS;
  /* Whether starts of results are kept in registers. */
  static constexpr bool KEEPS_STARTS = SUMS * C <= 2;
  static constexpr int STARTS =
      TERMS + SUMS * C + 1; /* + 1: threshold and amount */
  static constexpr int SHARED = STAGES * STAGE_BYTES + 2 * OUT_BYTES
      + (((X_SHARED ? X_FRAGMENTS : 0) + Y_FRAGMENTS) * TENSOR_LANES + STARTS)
          * (int) sizeof (uint4);
};
