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

/* The S of one table. */
typedef struct
{
  uint32_t *state; /* [entries] */
  bool known;      /* has those of the frame before; else they are in F */
  bool kept;       /* gets those of this frame; not if they are what F has */
} RemapStates;

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
  /* The codes of n samples of two bytes in a row, at any address: bits shift and up, as
   * `full`, the largest code, has them. */
  void (*load_words) (
      uint16_t *codes, const uint8_t *src, int n, int shift, int full);
  /* Changes these codes in a copy of the samples, and no other bit. */
  void (*store_words) (uint8_t *dst, const uint8_t *src, const uint16_t *codes,
      const uint16_t *mapped, int n, int shift);
  /* The luma of n pixels whose red, green and blue are bytes, each `apart` from the
   * next. */
  void (*load_luma) (uint8_t *luma, const uint8_t *const color[3],
      ptrdiff_t apart, int n, const EqualizeNumbers *numbers);
  /* Samples of red, green and blue whose luma changes so. */
  void (*shift_samples) (uint8_t *dst, const uint8_t *src,
      const int16_t *change, int n, const EqualizeNumbers *numbers);
  /* Makes S and F [full + 1] of equalize.h from the counts of their bins, which become
   * zero. Where S is not kept, it is what F has: S of the next frame follows F then. */
  void (*make_table) (const EqualizeNumbers *numbers, uint32_t *counts,
      uint32_t follow, const RemapStates *states, uint16_t *table);
} RemapLoops;

/* For the best instruction set that the processor has, or what caps it. */
const RemapLoops *remap_loops (void);
