/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remap: the equaliser's inner loops on the CPU, for each instruction set. Results are
 * bit-exact to arithmetic.h. Not a public header. */
#pragma once

#include "arithmetic.h"

#include <stddef.h>

/* Entries of a table of quads. A quad packs the codes to which four tiles map a byte: top left
 * in the lowest 8 bits, then top right, bottom left, bottom right. */
#define REMAP_QUADS 256

/* The tables of the four tiles around a pixel, for codes of two bytes. Two bytes past the end
 * of each table may be read. */
typedef struct
{
  const uint16_t *top_left, *top_right, *bottom_left, *bottom_right;
} RemapCorners;

typedef struct
{
  /* dst[i] = table[src[i]]; dst may be src. */
  void (*by_table) (
      uint8_t *dst, const uint8_t *src, int n, const uint8_t table[256]);
  /* Interpolates between four tiles: weight_x[n] are the weights of the right tiles, weight_y
   * is that of the lower tiles. dst may be src. */
  void (*by_quads) (uint8_t *dst, const uint8_t *src, int n,
      const uint32_t *quads, const uint32_t *weight_x, uint32_t weight_y);
  /* The same for codes of two bytes, which have no quads. */
  void (*by_corners) (uint16_t *dst, const uint16_t *src, int n,
      const RemapCorners *corners, const uint32_t *weight_x, uint32_t weight_y);
  /* Loads the codes of n adjacent samples of two bytes, at any address: sample >> shift & full;
   * `full` is the largest code. */
  void (*load_words) (
      uint16_t *codes, const uint8_t *src, int n, int shift, int full);
  /* Copies the samples from src to dst with their codes changed from `codes` to `mapped`; all
   * other bits stay. */
  void (*store_words) (uint8_t *dst, const uint8_t *src, const uint16_t *codes,
      const uint16_t *mapped, int n, int shift);
  /* Loads the luma of n pixels whose red, green and blue are bytes, `apart` bytes from pixel to
   * pixel. */
  void (*load_luma) (uint8_t *luma, const uint8_t *const color[3],
      ptrdiff_t apart, int n, const EqualizeNumbers *numbers);
  /* Applies equalize_shifted() to n samples of red, green and blue, with change[n] of luma. */
  void (*shift_samples) (uint8_t *dst, const uint8_t *src,
      const int16_t *change, int n, const EqualizeNumbers *numbers);
  /* Makes S, `states` [entries], and F, `table` [full + 1], of equalize.h from the counts of the
   * bins, which become zero. S is stored only if remap_keeps_states(). `known`: `states` has the
   * previous frame's S; else that frame's table has it. */
  void (*make_table) (const EqualizeNumbers *numbers, uint32_t *counts,
      uint32_t follow, uint32_t *states, bool known, uint16_t *table);
} RemapLoops;

/* Whether a run stores S. Without smoothing and at full strength F equals S. */
static inline bool
remap_keeps_states (const EqualizeNumbers *numbers, uint32_t follow)
{
  return follow != EQUALIZE_ONE || numbers->strength != EQUALIZE_ONE;
}

/* The loops for isa_best(): the best instruction set that the processor has and no cap
 * excludes. */
const RemapLoops *remap_loops (void);
