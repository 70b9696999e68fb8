/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remap-loops: the loops of remap.h for the instruction set that the including file is
 * compiled for. It defines REMAP_LOOPS, the name of the RemapLoops. */
#include "remap.h"

#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* Pixels that are interpolated at a time. */
#define BLOCK 64
/* Bytes ahead that a destination is asked to come near: hardware does not look beyond a
 * page, in which there are two rows, and stores would wait for that. */
#define AHEAD 1024

#define INNER static inline __attribute__ ((always_inline))

/* Eight bytes by shifts: loads and stores of single ones would be the limit. */
static void
by_table_words (
    uint8_t *dst, const uint8_t *src, int n, const uint8_t table[256])
{
  int i = 0;

  for (; i + 8 <= n; i += 8) {
    uint64_t in, out = 0;

    memcpy (&in, src + i, sizeof in);
    for (int bit = 0; bit < 64; bit += 8)
      out |= (uint64_t) table[in >> bit & 255] << bit;
    memcpy (dst + i, &out, sizeof out);
  }
  for (; i < n; i++)
    dst[i] = table[src[i]];
}

#ifdef __AVX512VBMI__
/* The table is in registers: two permutations see a half of it each. */
static void
by_table (uint8_t *dst, const uint8_t *src, int n, const uint8_t table[256])
{
  const __m512i a = _mm512_loadu_si512 (table);
  const __m512i b = _mm512_loadu_si512 (table + 64);
  const __m512i c = _mm512_loadu_si512 (table + 128);
  const __m512i d = _mm512_loadu_si512 (table + 192);
  int i = 0;

  for (; i + 64 <= n; i += 64) {
    const __m512i in = _mm512_loadu_si512 (src + i);
    const __m512i low = _mm512_permutex2var_epi8 (a, in, b);
    const __m512i high = _mm512_permutex2var_epi8 (c, in, d);

    __builtin_prefetch (dst + i + AHEAD, 1);
    _mm512_storeu_si512 (
        dst + i, _mm512_mask_blend_epi8 (_mm512_movepi8_mask (in), low, high));
  }
  by_table_words (dst + i, src + i, n - i, table);
}
#else
static void
by_table (uint8_t *dst, const uint8_t *src, int n, const uint8_t table[256])
{
  by_table_words (dst, src, n, table);
}
#endif

/* equalize_interpolate() in 32 bits, as codes have 8: the sums of the upper and of the
 * lower two are below 2^32, and the product with weight_y is taken by halves of 12
 * bits. Shifts of negative numbers round down. */
INNER uint8_t
interpolate_quad (
    uint32_t quad, uint32_t weight_x, int32_t weight_high, int32_t weight_low)
{
  const uint32_t top_left = quad & 255, top_right = quad >> 8 & 255;
  const uint32_t bottom_left = quad >> 16 & 255, bottom_right = quad >> 24;
  const int32_t top =
      (int32_t) (((top_left << 24) + (top_right - top_left) * weight_x
                     + (1u << 15))
          >> 16);
  const int32_t bottom =
      (int32_t) (((bottom_left << 24) + (bottom_right - bottom_left) * weight_x
                     + (1u << 15))
          >> 16);
  const int32_t down = bottom - top;
  const int32_t result = top
      + ((down * weight_high + ((down * weight_low + (1 << 23)) >> 12)) >> 12);

  return (uint8_t) ((result + 127 + (result >> 8 & 1)) >> 8);
}

/* Of pixels that are together: as many as vectors hold several times, so that there
 * is no rest to be done one by one. */
INNER void
lookup_block (uint32_t *quad, const uint8_t *src, const uint32_t *quads)
{
#ifdef __AVX512F__
  for (int i = 0; i < BLOCK; i += 16)
    _mm512_storeu_si512 (quad + i,
        _mm512_i32gather_epi32 (_mm512_cvtepu8_epi32 (_mm_loadu_si128 (
                                    (const __m128i *) (src + i))),
            quads, sizeof *quads));
#else
  for (int i = 0; i < BLOCK; i++)
    quad[i] = quads[src[i]];
#endif
}

INNER void
interpolate_block (uint8_t *dst, const uint8_t *src, const uint32_t *quads,
    const uint32_t *weight_x, uint32_t weight_y)
{
  const int32_t high = (int32_t) (weight_y >> 12);
  const int32_t low = (int32_t) (weight_y & 4095);
  uint32_t quad[BLOCK];

  lookup_block (quad, src, quads);
  for (int i = 0; i < BLOCK; i++)
    dst[i] = interpolate_quad (quad[i], weight_x[i], high, low);
}

static void
by_quads (uint8_t *dst, const uint8_t *src, int n, const uint32_t *quads,
    const uint32_t *weight_x, uint32_t weight_y)
{
  uint8_t rest[BLOCK] = { 0 };
  uint32_t rest_weight[BLOCK] = { 0 };
  int x = 0;

  for (; x + BLOCK <= n; x += BLOCK) {
    __builtin_prefetch (dst + x + AHEAD, 1);
    interpolate_block (dst + x, src + x, quads, weight_x + x, weight_y);
  }
  if (x == n)
    return;
  memcpy (rest, src + x, (size_t) (n - x));
  memcpy (rest_weight, weight_x + x, (size_t) (n - x) * sizeof *weight_x);
  interpolate_block (rest, rest, quads, rest_weight, weight_y);
  memcpy (dst + x, rest, (size_t) (n - x));
}

/* What a tile has for the codes of a block. */
INNER void
lookup_words (uint32_t *codes, const uint16_t *src, const uint16_t *table)
{
#ifdef __AVX512F__
  for (int i = 0; i < BLOCK; i += 16)
    _mm512_storeu_si512 (codes + i,
        _mm512_and_si512 (
            _mm512_i32gather_epi32 (_mm512_cvtepu16_epi32 (_mm256_loadu_si256 (
                                        (const __m256i *) (src + i))),
                table, sizeof *table),
            _mm512_set1_epi32 (0xffff)));
#else
  for (int i = 0; i < BLOCK; i++)
    codes[i] = table[src[i]];
#endif
}

/* equalize_between() of two codes of 16 bits along x, with the product by halves of 12
 * bits. */
INNER int32_t
between_words (uint32_t left, uint32_t right, uint32_t weight)
{
  const int32_t way = (int32_t) right - (int32_t) left;
  const int32_t high = (int32_t) (weight >> 12);
  const int32_t low = (int32_t) (weight & 4095);

  return ((int32_t) left << EQUALIZE_RESULT_BITS)
      + ((way * high + ((way * low + (1 << 15)) >> 12)) >> 4);
}

INNER void
interpolate_words (uint16_t *dst, const uint16_t *src,
    const RemapCorners *corners, const uint32_t *weight_x, uint32_t weight_y)
{
  uint32_t top_left[BLOCK], top_right[BLOCK];
  uint32_t bottom_left[BLOCK], bottom_right[BLOCK];

  lookup_words (top_left, src, corners->top_left);
  lookup_words (top_right, src, corners->top_right);
  lookup_words (bottom_left, src, corners->bottom_left);
  lookup_words (bottom_right, src, corners->bottom_right);
  for (int i = 0; i < BLOCK; i++) {
    const int32_t top = between_words (top_left[i], top_right[i], weight_x[i]);
    const int32_t bottom =
        between_words (bottom_left[i], bottom_right[i], weight_x[i]);
    const int32_t result = (int32_t) equalize_between (
        (uint32_t) top, (uint32_t) bottom, weight_y);

    dst[i] = (uint16_t) ((result + 127 + (result >> 8 & 1)) >> 8);
  }
}

static void
by_corners (uint16_t *dst, const uint16_t *src, int n,
    const RemapCorners *corners, const uint32_t *weight_x, uint32_t weight_y)
{
  uint16_t rest[BLOCK] = { 0 };
  uint32_t rest_weight[BLOCK] = { 0 };
  int x = 0;

  for (; x + BLOCK <= n; x += BLOCK)
    interpolate_words (dst + x, src + x, corners, weight_x + x, weight_y);
  if (x == n)
    return;
  memcpy (rest, src + x, (size_t) (n - x) * sizeof *src);
  memcpy (rest_weight, weight_x + x, (size_t) (n - x) * sizeof *weight_x);
  interpolate_words (rest, rest, corners, rest_weight, weight_y);
  memcpy (dst + x, rest, (size_t) (n - x) * sizeof *dst);
}

/* Each product of the weights fits 32 bits, and so does their sum. */
INNER void
load_luma_as (uint8_t *luma, const uint8_t *red, const uint8_t *green,
    const uint8_t *blue, ptrdiff_t apart, int n, const EqualizeNumbers *numbers)
{
  const EqualizeNumbers own = *numbers;

  for (ptrdiff_t x = 0; x < n; x++)
    luma[x] = (uint8_t) equalize_luma (
        &own, red[x * apart], green[x * apart], blue[x * apart]);
}

static void
load_luma (uint8_t *luma, const uint8_t *const color[3], ptrdiff_t apart, int n,
    const EqualizeNumbers *numbers)
{
  if (apart == 4)
    load_luma_as (luma, color[0], color[1], color[2], 4, n, numbers);
  else if (apart == 3)
    load_luma_as (luma, color[0], color[1], color[2], 3, n, numbers);
  else if (apart == 1)
    load_luma_as (luma, color[0], color[1], color[2], 1, n, numbers);
  else
    load_luma_as (luma, color[0], color[1], color[2], apart, n, numbers);
}

static void
shift_samples (uint8_t *dst, const uint8_t *src, const int16_t *change, int n,
    const EqualizeNumbers *numbers)
{
  const EqualizeNumbers own = *numbers;

  for (int i = 0; i < n; i++)
    dst[i] = (uint8_t) equalize_shifted (&own, src[i], change[i]);
}

/* The lowest bin's count for a global table; there is one. */
static uint32_t
lowest_count (const EqualizeNumbers *numbers, const uint32_t *counts)
{
  int bin = 0;

  if (numbers->adaptive)
    return 0;
  while (counts[bin] == 0)
    bin++;
  return counts[bin];
}

static uint32_t
count_clipped (int entries, uint32_t clip, const uint32_t *counts)
{
  uint32_t clipped = 0;

  for (int bin = 0; bin < entries; bin++)
    clipped += counts[bin] > clip ? counts[bin] - clip : 0;
  return clipped;
}

/* h' of equalize.h in place of h: equalize_limited() of all bins. */
static void
limit_counts (const EqualizeNumbers *numbers, uint32_t *counts)
{
  const uint32_t clip = numbers->clip;
  const int entries = numbers->entries;
  const uint32_t clipped = count_clipped (entries, clip, counts);
  const EqualizeShares shares = equalize_share_out (numbers, clipped);

  if (clipped == 0)
    return;
  for (int bin = 0; bin < entries; bin++)
    counts[bin] = (counts[bin] < clip ? counts[bin] : clip) + shares.each;
  for (uint32_t i = 0; i < shares.rest; i++)
    counts[i * shares.step]++;
}

INNER void
follow_sums (const EqualizeNumbers *numbers, EqualizeCurve curve,
    const uint32_t *sums, uint32_t follow, uint32_t *states)
{
  const EqualizeNumbers own = *numbers; /* no store of a state can change it */

  for (int bin = 0; bin < own.entries; bin++)
    states[bin] = equalize_follow (follow == EQUALIZE_ONE ? 0 : states[bin],
        equalize_frame_code (&own, &curve, sums[bin], bin), follow);
}

static void
make_states (const EqualizeNumbers *numbers, uint32_t *counts, uint32_t follow,
    uint32_t *states)
{
  const EqualizeCurve curve =
      equalize_curve (numbers, lowest_count (numbers, counts));
  uint32_t sum = 0;

  limit_counts (numbers, counts);
  for (int bin = 0; bin < numbers->entries; bin++) {
    sum += counts[bin];
    counts[bin] = sum;
  }
  if (follow == EQUALIZE_ONE) /* a constant, for a loop without products */
    follow_sums (numbers, curve, counts, EQUALIZE_ONE, states);
  else
    follow_sums (numbers, curve, counts, follow, states);
}

INNER void
mix_codes (const EqualizeNumbers *numbers, uint32_t strength,
    const uint32_t *states, uint16_t *table)
{
  EqualizeNumbers own = *numbers;

  own.strength = strength;
  for (int code = 0; code < own.black; code++)
    table[code] = (uint16_t) equalize_mix (&own, code, states[0]);
  for (int code = own.black; code <= own.white; code++)
    table[code] =
        (uint16_t) equalize_mix (&own, code, states[code - own.black]);
  for (int code = own.white + 1; code <= own.full; code++)
    table[code] = (uint16_t) equalize_mix (&own, code, states[own.entries - 1]);
}

static void
make_table (
    const EqualizeNumbers *numbers, const uint32_t *states, uint16_t *table)
{
  if (numbers->strength == EQUALIZE_ONE)
    mix_codes (numbers, EQUALIZE_ONE, states, table);
  else
    mix_codes (numbers, numbers->strength, states, table);
}

const RemapLoops REMAP_LOOPS = {
  .by_table = by_table,
  .by_quads = by_quads,
  .by_corners = by_corners,
  .load_luma = load_luma,
  .shift_samples = shift_samples,
  .make_states = make_states,
  .make_table = make_table,
};
