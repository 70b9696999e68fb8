/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remap: the equaliser's inner loops on the CPU, for each instruction set. They give the
 * bits of arithmetic.h. Not a public header. */
#pragma once

#include "arithmetic.h"

#include <stddef.h>

/* For each byte the codes that four tiles have for it: top left in the lowest bits, then
 * top right, bottom left, bottom right. */
#define REMAP_QUADS 256

/* The tables of the tiles around a place, of codes of two bytes. Two bytes behind each
 * may be read. */
typedef struct
{
  const uint16_t *top_left, *top_right, *bottom_left, *bottom_right;
} RemapCorners;

typedef struct
{
  /* dst[i] = table[src[i]]; dst may be src. */
  void (*by_table) (
      uint8_t *dst, const uint8_t *src, int n, const uint8_t table[256]);
  /* Interpolates between four tiles: weight_x [n] is that of the right ones, weight_y
   * of the lower ones. dst may be src. */
  void (*by_quads) (uint8_t *dst, const uint8_t *src, int n,
      const uint32_t *quads, const uint32_t *weight_x, uint32_t weight_y);
  /* The same for codes of two bytes, which have no quads. */
  void (*by_corners) (uint16_t *dst, const uint16_t *src, int n,
      const RemapCorners *corners, const uint32_t *weight_x, uint32_t weight_y);
  /* The luma of n pixels whose red, green and blue are bytes, each `apart` from the
   * next. */
  void (*load_luma) (uint8_t *luma, const uint8_t *const color[3],
      ptrdiff_t apart, int n, const EqualizeNumbers *numbers);
  /* Samples of red, green and blue whose luma changes so. */
  void (*shift_samples) (uint8_t *dst, const uint8_t *src,
      const int16_t *change, int n, const EqualizeNumbers *numbers);
  /* Makes S of equalize.h from the counts of its bins, which are lost. */
  void (*make_states) (const EqualizeNumbers *numbers, uint32_t *counts,
      uint32_t follow, uint32_t *states);
  /* Makes F [full + 1] from S. */
  void (*make_table) (
      const EqualizeNumbers *numbers, const uint32_t *states, uint16_t *table);
} RemapLoops;

/* For the best instruction set that the processor has, or what caps it. */
const RemapLoops *remap_loops (void);
