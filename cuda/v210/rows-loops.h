/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loops of rows.h. The includer defines V210_LOOPS, and is compiled for an instruction set.
 *
 * The samples of a row follow each other as in UYVY: all words are taken apart first, into a row
 * of such samples, and that into planes. Each of the two is a plain loop that compilers make
 * vectors of. */
#include "rows.h"

#include "../divide.h"
#include "../v210.h"

#include <string.h>

#define V210_WORDS (V210_GROUP_BYTES / 4)
#define V210_MASK 0x3ffu

static int
v210_words (int pixels)
{
  return divide_up (pixels, V210_GROUP_PIXELS) * V210_WORDS;
}

/* Words lie lowest byte first, which is the host's order too, as image.h has it. */
static void
v210_take_apart (
    uint16_t *restrict samples, const uint8_t *restrict packed, int words)
{
  for (int i = 0; i < words; i++) {
    uint32_t word;

    memcpy (&word, packed + 4 * i, sizeof word);
    samples[3 * i] = (uint16_t) (word & V210_MASK);
    samples[3 * i + 1] = (uint16_t) (word >> 10 & V210_MASK);
    samples[3 * i + 2] = (uint16_t) (word >> 20 & V210_MASK);
  }
}

static void
v210_join (
    uint8_t *restrict packed, const uint16_t *restrict samples, int words)
{
  for (int i = 0; i < words; i++) {
    const uint32_t word = samples[3 * i] | (uint32_t) samples[3 * i + 1] << 10
        | (uint32_t) samples[3 * i + 2] << 20;

    memcpy (packed + 4 * i, &word, sizeof word);
  }
}

static void
v210_unpack_row (const V210Row *row, uint8_t *packed, uint16_t *samples)
{
  const uint16_t *restrict from = samples;
  uint16_t *restrict y = row->y, *restrict u = row->u, *restrict v = row->v;
  const int pairs = row->width / 2;

  v210_take_apart (samples, packed, v210_words (row->width));
  for (int i = 0; i < pairs; i++) {
    u[i] = from[4 * i];
    y[2 * i] = from[4 * i + 1];
    v[i] = from[4 * i + 2];
    y[2 * i + 1] = from[4 * i + 3];
  }
  if (row->width % 2 != 0) {
    u[pairs] = from[4 * pairs];
    y[2 * pairs] = from[4 * pairs + 1];
    v[pairs] = from[4 * pairs + 2];
  }
}

static void
v210_pack_row (const V210Row *row, uint8_t *packed, uint16_t *samples)
{
  const uint16_t *restrict y = row->y, *restrict u = row->u,
                           *restrict v = row->v;
  const int pairs = row->width / 2, words = v210_words (row->width);
  uint16_t *restrict to = samples;

  for (int i = 0; i < pairs; i++) {
    to[4 * i] = u[i];
    to[4 * i + 1] = y[2 * i];
    to[4 * i + 2] = v[i];
    to[4 * i + 3] = y[2 * i + 1];
  }
  memset (to + 4 * pairs, 0,
      ((size_t) words * 3 - (size_t) pairs * 4) * sizeof *to);
  if (row->width % 2 != 0) {
    to[4 * pairs] = u[pairs];
    to[4 * pairs + 1] = y[2 * pairs];
    to[4 * pairs + 2] = v[pairs];
  }
  v210_join (packed, samples, words);
}

extern const V210Loops V210_LOOPS;
const V210Loops V210_LOOPS = { v210_unpack_row, v210_pack_row };
