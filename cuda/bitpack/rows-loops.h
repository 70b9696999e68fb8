/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-loops: the loops of rows.h for the instruction set that the including file is compiled
 * for. It defines BITPACK_LOOPS, the name of the BitpackLoops.
 *
 * Rows of 4:2:2 are unpacked in two steps: first to a row of samples in the order of UYVY, then
 * from there to planes. Both are plain loops that compilers vectorize. */
#include "rows.h"

#include "../divide.h"

#include <string.h>

#define BITPACK_MASK 0x3ffu
#define BITPACK_GROUP_BYTES 5 /* of a pair of pixels, or of four samples */

/* Three samples in a word. Words are little-endian, as is the host; see image.h. */

static inline void
bitpack_take_threes_apart (uint16_t *restrict samples,
    const uint8_t *restrict packed, int words, int shift)
{
  for (int i = 0; i < words; i++) {
    uint32_t word;

    memcpy (&word, packed + 4 * i, sizeof word);
    samples[3 * i] = (uint16_t) ((word & BITPACK_MASK) << shift);
    samples[3 * i + 1] = (uint16_t) ((word >> 10 & BITPACK_MASK) << shift);
    samples[3 * i + 2] = (uint16_t) ((word >> 20 & BITPACK_MASK) << shift);
  }
}

static inline void
bitpack_join_threes (uint8_t *restrict packed, const uint16_t *restrict samples,
    int words, int shift)
{
  for (int i = 0; i < words; i++) {
    const uint32_t word = (uint32_t) samples[3 * i] >> shift
        | (uint32_t) samples[3 * i + 1] >> shift << 10
        | (uint32_t) samples[3 * i + 2] >> shift << 20;

    memcpy (packed + 4 * i, &word, sizeof word);
  }
}

/* The last word may have fewer than three samples. */
static void
bitpack_unpack_threes (
    const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  const int words = row->width / 3, left = row->width % 3;
  uint16_t *to = row->color[0], last[3];

  (void) samples;
  bitpack_take_threes_apart (to, packed, words, row->shift);
  if (left == 0)
    return;
  bitpack_take_threes_apart (last, packed + 4 * words, 1, row->shift);
  memcpy (to + 3 * words, last, (size_t) left * sizeof *last);
}

static void
bitpack_pack_threes (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  const int words = row->width / 3, left = row->width % 3;
  const uint16_t *from = row->color[0];
  uint16_t last[3] = { 0 };

  (void) samples;
  bitpack_join_threes (packed, from, words, row->shift);
  if (left == 0)
    return;
  memcpy (last, from + 3 * words, (size_t) left * sizeof *last);
  bitpack_join_threes (packed + 4 * words, last, 1, row->shift);
}

/* v210 */

static int
bitpack_words (int pixels)
{
  return divide_up (pixels, 6) * 4;
}

/* UYVP */

/* Unpacks the samples of a pair of pixels, of which only the first `n` bytes exist. */
static void
bitpack_take_pair_apart (uint16_t *samples, const uint8_t *packed, int n)
{
  uint64_t bits = 0;

  for (int i = 0; i < n; i++)
    bits |= (uint64_t) packed[i] << (32 - 8 * i);
  for (int i = 0; i < 4; i++)
    samples[i] = (uint16_t) (bits >> (30 - 10 * i) & BITPACK_MASK);
}

static void
bitpack_join_pair (uint8_t *packed, const uint16_t *samples, int n)
{
  const uint64_t bits = (uint64_t) samples[0] << 30
      | (uint64_t) samples[1] << 20 | (uint64_t) samples[2] << 10 | samples[3];

  for (int i = 0; i < n; i++)
    packed[i] = (uint8_t) (bits >> (32 - 8 * i));
}

/* Two pairs at a time: eight samples in the first ten of sixteen bytes. Only for instruction
 * sets with byte shuffles: for others, compilers emulate them slowly. gcc has the built-in
 * function from version 12 on. */
#if (defined(__SSSE3__) || defined(__aarch64__)) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define BITPACK_TWO_GROUPS
#endif
#endif

#ifdef BITPACK_TWO_GROUPS

typedef uint8_t BitpackBytes __attribute__ ((vector_size (16)));
typedef uint16_t BitpackShorts __attribute__ ((vector_size (16)));
typedef uint32_t BitpackWords __attribute__ ((vector_size (16)));
typedef uint64_t BitpackLongs __attribute__ ((vector_size (16)));

static inline void
bitpack_take_two_pairs_apart (uint16_t *samples, const uint8_t *packed)
{
  /* Factors that shift left, to drop the bits above each sample, before one shift right. */
  static const BitpackShorts left = { 1, 4, 16, 64, 1, 4, 16, 64 };
  BitpackBytes bytes;
  BitpackShorts both;

  memcpy (&bytes, packed, sizeof bytes);
  /* The two bytes that each sample lies in; the second one becomes the low byte. */
  both = (BitpackShorts) __builtin_shufflevector (
      bytes, bytes, 1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8);
  both = both * left >> 6;
  memcpy (samples, &both, sizeof both);
}

static inline void
bitpack_join_two_pairs (uint8_t *packed, const uint16_t *samples)
{
  BitpackWords twos;
  BitpackLongs fours;
  BitpackBytes bytes;

  memcpy (&twos, samples, sizeof twos);
  twos = (twos & 0xffff) << 10 | twos >> 16;
  fours = (BitpackLongs) twos;
  fours = (fours & 0xffffffff) << 20 | fours >> 32;
  bytes = (BitpackBytes) fours;
  bytes = __builtin_shufflevector (
      bytes, bytes, 4, 3, 2, 1, 0, 12, 11, 10, 9, 8, 0, 0, 0, 0, 0, 0);
  memcpy (packed, &bytes, sizeof bytes);
}
#endif

/* Two pairs are read as sixteen bytes. The last pairs, up to three, are read one by one, since
 * the row may end before sixteen bytes. */
static void
bitpack_take_pairs_apart (
    uint16_t *restrict samples, const uint8_t *restrict packed, int width)
{
  const int pairs = width / 2;
  int i = 0;

#ifdef BITPACK_TWO_GROUPS
  for (; i < pairs - 3; i += 2)
    bitpack_take_two_pairs_apart (
        samples + 4 * i, packed + BITPACK_GROUP_BYTES * i);
#endif
  for (; i < pairs; i++)
    bitpack_take_pair_apart (
        samples + 4 * i, packed + BITPACK_GROUP_BYTES * i, BITPACK_GROUP_BYTES);
  if (width % 2 != 0)
    bitpack_take_pair_apart (samples + 4 * i, packed + BITPACK_GROUP_BYTES * i,
        BITPACK_GROUP_BYTES - 1);
}

/* Two pairs are written as sixteen bytes; those after the pairs are overwritten by the next
 * pairs. */
static void
bitpack_join_pairs (
    uint8_t *restrict packed, const uint16_t *restrict samples, int width)
{
  const int pairs = width / 2;
  int i = 0;

#ifdef BITPACK_TWO_GROUPS
  for (; i < pairs - 3; i += 2)
    bitpack_join_two_pairs (packed + BITPACK_GROUP_BYTES * i, samples + 4 * i);
#endif
  for (; i < pairs; i++)
    bitpack_join_pair (
        packed + BITPACK_GROUP_BYTES * i, samples + 4 * i, BITPACK_GROUP_BYTES);
  if (width % 2 != 0)
    bitpack_join_pair (packed + BITPACK_GROUP_BYTES * i, samples + 4 * i,
        BITPACK_GROUP_BYTES - 1);
}

/* 4:2:2 */

static void
bitpack_spread (const BitpackRow *row, const uint16_t *restrict from)
{
  uint16_t *restrict y = row->color[0], *restrict u = row->color[1],
                     *restrict v = row->color[2];
  const int pairs = row->width / 2;

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

/* Gathers the samples of a row from its planes, and fills the rest of `samples` with zeros. */
static void
bitpack_gather (const BitpackRow *row, uint16_t *restrict samples)
{
  const uint16_t *restrict y = row->color[0], *restrict u = row->color[1],
                           *restrict v = row->color[2];
  const int pairs = row->width / 2;

  for (int i = 0; i < pairs; i++) {
    samples[4 * i] = u[i];
    samples[4 * i + 1] = y[2 * i];
    samples[4 * i + 2] = v[i];
    samples[4 * i + 3] = y[2 * i + 1];
  }
  memset (samples + 4 * pairs, 0,
      (size_t) (BITPACK_ROW_SAMPLES (row->width) - 4 * pairs)
          * sizeof *samples);
  if (row->width % 2 != 0) {
    samples[4 * pairs] = u[pairs];
    samples[4 * pairs + 1] = y[2 * pairs];
    samples[4 * pairs + 2] = v[pairs];
  }
}

static void
bitpack_unpack_sixes (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  bitpack_take_threes_apart (samples, packed, bitpack_words (row->width), 0);
  bitpack_spread (row, samples);
}

static void
bitpack_pack_sixes (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  bitpack_gather (row, samples);
  bitpack_join_threes (packed, samples, bitpack_words (row->width), 0);
}

static void
bitpack_unpack_pairs (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  bitpack_take_pairs_apart (samples, packed, row->width);
  bitpack_spread (row, samples);
}

static void
bitpack_pack_pairs (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  bitpack_gather (row, samples);
  bitpack_join_pairs (packed, samples, row->width);
}

/* Four samples in five bytes: a number of 40 bits, lowest byte first. */

/* Unpacks four samples, of which only the first `n` bytes exist. */
static void
bitpack_take_four_apart (
    uint16_t *samples, const uint8_t *packed, int n, int shift)
{
  uint64_t bits = 0;

  for (int i = 0; i < n; i++)
    bits |= (uint64_t) packed[i] << 8 * i;
  for (int i = 0; i < 4; i++)
    samples[i] = (uint16_t) ((bits >> 10 * i & BITPACK_MASK) << shift);
}

static void
bitpack_join_four (uint8_t *packed, const uint16_t *samples, int n, int shift)
{
  uint64_t bits = 0;

  for (int i = 0; i < 4; i++)
    bits |= (uint64_t) (samples[i] >> shift) << 10 * i;
  for (int i = 0; i < n; i++)
    packed[i] = (uint8_t) (bits >> 8 * i);
}

#ifdef BITPACK_TWO_GROUPS

static inline void
bitpack_take_two_fours_apart (
    uint16_t *samples, const uint8_t *packed, int shift)
{
  /* Factors that shift left, to drop the bits above each sample, before one shift right. */
  static const BitpackShorts left = { 64, 16, 4, 1, 64, 16, 4, 1 };
  BitpackBytes bytes;
  BitpackShorts both;

  memcpy (&bytes, packed, sizeof bytes);
  both = (BitpackShorts) __builtin_shufflevector (
      bytes, bytes, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 6, 7, 7, 8, 8, 9);
  both = both * left >> 6 << shift;
  memcpy (samples, &both, sizeof both);
}

static inline void
bitpack_join_two_fours (uint8_t *packed, const uint16_t *samples, int shift)
{
  BitpackShorts both;
  BitpackWords twos;
  BitpackLongs fours;
  BitpackBytes bytes;

  memcpy (&both, samples, sizeof both);
  twos = (BitpackWords) (both >> shift);
  twos = (twos & 0xffff) | twos >> 16 << 10;
  fours = (BitpackLongs) twos;
  fours = (fours & 0xffffffff) | fours >> 32 << 20;
  bytes = (BitpackBytes) fours;
  bytes = __builtin_shufflevector (
      bytes, bytes, 0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 5, 5, 5, 5, 5, 5);
  memcpy (packed, &bytes, sizeof bytes);
}
#endif

/* Two groups of four are read and written as sixteen bytes; see bitpack_take_pairs_apart(). */
static void
bitpack_unpack_fours (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  const int fours = row->width / 4, left = row->width % 4;
  uint16_t *to = row->color[0], last[4];
  int i = 0;

  (void) samples;
#ifdef BITPACK_TWO_GROUPS
  for (; i < fours - 3; i += 2)
    bitpack_take_two_fours_apart (
        to + 4 * i, packed + BITPACK_GROUP_BYTES * i, row->shift);
#endif
  for (; i < fours; i++)
    bitpack_take_four_apart (to + 4 * i, packed + BITPACK_GROUP_BYTES * i,
        BITPACK_GROUP_BYTES, row->shift);
  if (left == 0)
    return;
  bitpack_take_four_apart (
      last, packed + BITPACK_GROUP_BYTES * i, (left * 10 + 7) / 8, row->shift);
  memcpy (to + 4 * i, last, (size_t) left * sizeof *last);
}

static void
bitpack_pack_fours (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  const int fours = row->width / 4, left = row->width % 4;
  const uint16_t *from = row->color[0];
  uint16_t last[4] = { 0 };
  int i = 0;

  (void) samples;
#ifdef BITPACK_TWO_GROUPS
  for (; i < fours - 3; i += 2)
    bitpack_join_two_fours (
        packed + BITPACK_GROUP_BYTES * i, from + 4 * i, row->shift);
#endif
  for (; i < fours; i++)
    bitpack_join_four (packed + BITPACK_GROUP_BYTES * i, from + 4 * i,
        BITPACK_GROUP_BYTES, row->shift);
  if (left == 0)
    return;
  memcpy (last, from + 4 * i, (size_t) left * sizeof *last);
  bitpack_join_four (
      packed + BITPACK_GROUP_BYTES * i, last, (left * 10 + 7) / 8, row->shift);
}

/* Each sample in two bytes, the higher one first. */

static void
bitpack_unpack_swapped (
    const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  uint16_t *restrict to = row->color[0];
  const uint8_t *restrict from = packed;
  const int n = row->width;

  (void) samples;
  for (int i = 0; i < n; i++) {
    uint16_t sample;

    memcpy (&sample, from + 2 * i, sizeof sample);
    to[i] = __builtin_bswap16 (sample);
  }
}

static void
bitpack_pack_swapped (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  const uint16_t *restrict from = row->color[0];
  uint8_t *restrict to = packed;
  const int n = row->width;

  (void) samples;
  for (int i = 0; i < n; i++) {
    const uint16_t sample = __builtin_bswap16 (from[i]);

    memcpy (to + 2 * i, &sample, sizeof sample);
  }
}

/* One word per pixel. The byte order is a constant in each loop, or compilers do not vectorize
 * it. */

static inline uint32_t
bitpack_order (uint32_t word, bool big_endian)
{
  return big_endian ? __builtin_bswap32 (word) : word;
}

static inline void
bitpack_unpack_words_of (const BitpackRow *row, const uint8_t *restrict packed,
    const bool big_endian)
{
  uint16_t *restrict a = row->color[0], *restrict b = row->color[1],
                     *restrict c = row->color[2];
  const int *bit = row->shape->bit;
  const int bit_a = bit[0], bit_b = bit[1], bit_c = bit[2], n = row->width;

  for (int x = 0; x < n; x++) {
    uint32_t word;

    memcpy (&word, packed + 4 * x, sizeof word);
    word = bitpack_order (word, big_endian);
    a[x] = (uint16_t) (word >> bit_a & BITPACK_MASK);
    b[x] = (uint16_t) (word >> bit_b & BITPACK_MASK);
    c[x] = (uint16_t) (word >> bit_c & BITPACK_MASK);
  }
}

static inline uint16_t
bitpack_shorten_alpha (uint16_t alpha)
{
  return (uint16_t) (alpha + BITPACK_ALPHA_STEP / 2) / BITPACK_ALPHA_STEP;
}

/* `alpha` may be NULL. */
static inline void
bitpack_pack_words_of (const BitpackRow *row, const uint16_t *restrict alpha,
    uint8_t *restrict packed, const bool big_endian)
{
  const uint16_t *restrict a = row->color[0], *restrict b = row->color[1],
                           *restrict c = row->color[2];
  const int *bit = row->shape->bit;
  const int bit_a = bit[0], bit_b = bit[1], bit_c = bit[2], n = row->width;

  for (int x = 0; x < n; x++) {
    uint32_t word = (uint32_t) a[x] << bit_a | (uint32_t) b[x] << bit_b
        | (uint32_t) c[x] << bit_c;

    if (alpha != NULL)
      word |= (uint32_t) bitpack_shorten_alpha (alpha[x]) << 30;
    word = bitpack_order (word, big_endian);
    memcpy (packed + 4 * x, &word, sizeof word);
  }
}

static inline void
bitpack_take_alpha (uint16_t *restrict alpha, const uint8_t *restrict packed,
    int n, const bool big_endian)
{
  for (int x = 0; x < n; x++) {
    uint32_t word;

    memcpy (&word, packed + 4 * x, sizeof word);
    word = bitpack_order (word, big_endian);
    alpha[x] = (uint16_t) ((word >> 30) * BITPACK_ALPHA_STEP);
  }
}

static void
bitpack_unpack_words (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  (void) samples;
  if (row->shape->big_endian)
    bitpack_unpack_words_of (row, packed, true);
  else
    bitpack_unpack_words_of (row, packed, false);
  if (row->alpha != NULL && row->shape->big_endian)
    bitpack_take_alpha (row->alpha, packed, row->width, true);
  else if (row->alpha != NULL)
    bitpack_take_alpha (row->alpha, packed, row->width, false);
}

static void
bitpack_pack_words (const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  (void) samples;
  if (row->shape->big_endian)
    bitpack_pack_words_of (row, row->alpha, packed, true);
  else
    bitpack_pack_words_of (row, row->alpha, packed, false);
}

/* One word of 16 bits per pixel. The bits of green are a constant in each loop, and all steps fit
 * 16 bits, or compilers vectorize them in fewer, wider lanes. */

/* The lowest bits of a word, repeated to make 8. */
static inline uint8_t
bitpack_repeat (uint16_t word, const int bits)
{
  const uint16_t code = (uint16_t) (word & ((1u << bits) - 1));

  return (uint8_t) (code << (8 - bits) | code >> (2 * bits - 8));
}

/* The reverse, rounded to nearest. The last line divides sums below 65535 by 255, exactly. */
static inline uint16_t
bitpack_shorten (uint8_t sample, const int bits)
{
  const uint16_t sum = (uint16_t) (sample * ((1u << bits) - 1) + 127);

  return (uint16_t) ((uint16_t) (sum + 1 + (sum >> 8)) >> 8);
}

/* The plane whose samples are in the highest bits: red, or blue. */
static inline int
bitpack_high_plane (const BitpackRow *row)
{
  return row->shape->bit[0] > 0 ? 0 : 2;
}

static inline void
bitpack_unpack_halfwords_of (
    const BitpackRow *row, const uint8_t *restrict packed, const int green_bits)
{
  const int p = bitpack_high_plane (row), n = row->width;
  uint8_t *restrict high = row->color[p], *restrict green = row->color[1],
                    *restrict low = row->color[2 - p];

  for (int x = 0; x < n; x++) {
    uint16_t word;

    memcpy (&word, packed + 2 * x, sizeof word);
    low[x] = bitpack_repeat (word, 5);
    green[x] = bitpack_repeat ((uint16_t) (word >> 5), green_bits);
    high[x] = bitpack_repeat ((uint16_t) (word >> (5 + green_bits)), 5);
  }
}

static inline void
bitpack_pack_halfwords_of (
    const BitpackRow *row, uint8_t *restrict packed, const int green_bits)
{
  const int p = bitpack_high_plane (row), n = row->width;
  const uint8_t *restrict high = row->color[p], *restrict green = row->color[1],
                          *restrict low = row->color[2 - p];

  for (int x = 0; x < n; x++) {
    const uint16_t word = (uint16_t) (bitpack_shorten (low[x], 5)
        | bitpack_shorten (green[x], green_bits) << 5
        | bitpack_shorten (high[x], 5) << (5 + green_bits));

    memcpy (packed + 2 * x, &word, sizeof word);
  }
}

static void
bitpack_unpack_halfwords (
    const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  (void) samples;
  if (row->shape->green_bits == 6)
    bitpack_unpack_halfwords_of (row, packed, 6);
  else
    bitpack_unpack_halfwords_of (row, packed, 5);
}

static void
bitpack_pack_halfwords (
    const BitpackRow *row, uint8_t *packed, uint16_t *samples)
{
  (void) samples;
  if (row->shape->green_bits == 6)
    bitpack_pack_halfwords_of (row, packed, 6);
  else
    bitpack_pack_halfwords_of (row, packed, 5);
}

extern const BitpackLoops BITPACK_LOOPS;
const BitpackLoops BITPACK_LOOPS = {
  .unpack = { [BITPACK_SIXES] = bitpack_unpack_sixes,
      [BITPACK_PAIRS] = bitpack_unpack_pairs,
      [BITPACK_WORDS] = bitpack_unpack_words,
      [BITPACK_HALFWORDS] = bitpack_unpack_halfwords,
      [BITPACK_THREES] = bitpack_unpack_threes,
      [BITPACK_FOURS] = bitpack_unpack_fours,
      [BITPACK_SWAPPED] = bitpack_unpack_swapped },
  .pack = { [BITPACK_SIXES] = bitpack_pack_sixes,
      [BITPACK_PAIRS] = bitpack_pack_pairs,
      [BITPACK_WORDS] = bitpack_pack_words,
      [BITPACK_HALFWORDS] = bitpack_pack_halfwords,
      [BITPACK_THREES] = bitpack_pack_threes,
      [BITPACK_FOURS] = bitpack_pack_fours,
      [BITPACK_SWAPPED] = bitpack_pack_swapped },
};
