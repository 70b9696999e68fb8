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
/* Distance in bytes of the software prefetch of a destination: the hardware does not prefetch
 * beyond a page, which has about two rows, and stores would wait for memory. */
#define AHEAD 1024

#define INNER static inline __attribute__ ((always_inline))

/* Maps eight bytes at a time, by shifts: loads and stores of single bytes would be the limit. */
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
/* The table is in registers; each of two permutations looks up one half of it. */
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

/* equalize_interpolate() in 32 bits, for codes of 8 bits: the weighted sums of the upper two
 * and of the lower two codes are below 2^32, and the product with weight_y is computed in
 * halves of 12 bits. Shifts of negative numbers round down. */
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

/* Looks up the quads of a block of pixels. A block is a multiple of all vector sizes, so that the
 * loop has no remainder. */
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

/* Looks up a tile's table for the codes of a block. */
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

/* equalize_between() of two codes of 16 bits along x; the product is computed in halves of
 * 12 bits. */
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

static void
load_words (uint16_t *codes, const uint8_t *src, int n, int shift, int full)
{
  for (int i = 0; i < n; i++) {
    uint16_t raw;

    memcpy (&raw, src + 2 * i, sizeof raw);
    codes[i] = (uint16_t) (raw >> shift & full);
  }
}

static void
store_words (uint8_t *dst, const uint8_t *src, const uint16_t *codes,
    const uint16_t *mapped, int n, int shift)
{
  for (int i = 0; i < n; i++) {
    uint16_t raw;

    memcpy (&raw, src + 2 * i, sizeof raw);
    raw = (uint16_t) (raw ^ (codes[i] ^ mapped[i]) << shift);
    memcpy (dst + 2 * i, &raw, sizeof raw);
  }
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

/* The count of the lowest bin that occurs, for a global table, where one always does; else 0. */
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

/* Common values of all blocks of a table; copies, so that the compiler knows that no store
 * changes them. */
typedef struct
{
  EqualizeNumbers numbers;
  EqualizeCurve curve;
  EqualizeShares shares;
  float per_step; /* 1 / shares.step */
  uint32_t follow;
  uint32_t *states;
  bool known, keeps; /* S of the previous frame; S of this one */
} RemapMaking;

/* Replaces n values by their inclusive prefix sums plus `sum`; returns the last one. */
INNER uint32_t
sum_up (uint32_t *value, int n, uint32_t sum)
{
  int i = 0;

#ifdef __AVX512F__
  const __m512i zero = _mm512_setzero_si512 ();
  const __m512i last = _mm512_set1_epi32 (15);
  __m512i before = _mm512_set1_epi32 ((int) sum);

  for (; i + 16 <= n; i += 16) {
    __m512i sums = _mm512_loadu_si512 (value + i);

    sums = _mm512_add_epi32 (sums, _mm512_alignr_epi32 (sums, zero, 15));
    sums = _mm512_add_epi32 (sums, _mm512_alignr_epi32 (sums, zero, 14));
    sums = _mm512_add_epi32 (sums, _mm512_alignr_epi32 (sums, zero, 12));
    sums = _mm512_add_epi32 (sums, _mm512_alignr_epi32 (sums, zero, 8));
    sums = _mm512_add_epi32 (sums, before);
    before = _mm512_permutexvar_epi32 (last, sums);
    _mm512_storeu_si512 (value + i, sums);
  }
  sum = (uint32_t) _mm_cvtsi128_si32 (_mm512_castsi512_si128 (before));
#endif
  for (; i < n; i++)
    value[i] = sum += value[i];
  return sum;
}

/* The prefix sums of h' of equalize.h for n bins from `first` on. *sum is the sum of
 * min (count, clip) over all bins below the block, and becomes that over all bins below the next
 * block. Leaves the counts zero. */
INNER void
sum_block (const RemapMaking *making, uint32_t *counts, int first, int n,
    uint32_t *sum, uint32_t *sums)
{
  const EqualizeShares shares = making->shares;
  const uint32_t clip = making->numbers.clip;
  const float per_step = making->per_step;

  for (int i = 0; i < n; i++) {
    const uint32_t count = counts[first + i];

    sums[i] = count < clip ? count : clip;
    counts[first + i] = 0;
  }
  *sum = sum_up (sums, n, *sum);
  /* Bins 0, step, 2 step... have one count more; `more` is the number of them up to this bin.
   * Bins are below 2^16: the quotient is further from the next integer than its rounding error. */
  for (int i = 0; i < n; i++) {
    const int bin = first + i;
    const uint32_t more = 1 + (uint32_t) (((float) bin + 0.5f) * per_step);

    sums[i] += shares.each * (uint32_t) (bin + 1)
        + (more < shares.rest ? more : shares.rest);
  }
}

/* S and F of n bins from `first` on, where S is kept. */
INNER void
follow_block (const RemapMaking *making, int first, int n, const uint32_t *sums,
    uint16_t *table)
{
  const EqualizeNumbers numbers = making->numbers;
  const EqualizeCurve curve = making->curve;
  const uint32_t follow = making->follow;
  uint32_t *state = making->states + first;

  if (!making->known)
    for (int i = 0; i < n; i++)
      state[i] = (uint32_t) table[i] << EQUALIZE_BITS;
  for (int i = 0; i < n; i++) {
    state[i] = equalize_follow (state[i],
        equalize_frame_code (&numbers, &curve, sums[i], first + i), follow);
    table[i] =
        (uint16_t) equalize_mix (&numbers, numbers.black + first + i, state[i]);
  }
}

/* Makes F, and S where it is kept, of n bins from `first` on. */
INNER void
make_block (const RemapMaking *making, uint32_t *counts, int first, int n,
    uint32_t *sum, uint16_t *table)
{
  const EqualizeNumbers numbers = making->numbers;
  const EqualizeCurve curve = making->curve;
  uint32_t sums[BLOCK];

  table += numbers.black + first;
  sum_block (making, counts, first, n, sum, sums);
  if (making->keeps)
    follow_block (making, first, n, sums, table);
  else
    for (int i = 0; i < n; i++)
      table[i] =
          (uint16_t) equalize_frame_code (&numbers, &curve, sums[i], first + i);
}

/* S of a bin whose block has been made. */
static uint32_t
state_of (const RemapMaking *making, int bin, const uint16_t *table)
{
  return making->keeps
      ? making->states[bin]
      : (uint32_t) table[making->numbers.black + bin] << EQUALIZE_BITS;
}

/* F of codes [first, last), all of which have the bin with this state. */
static void
mix_codes (const EqualizeNumbers *numbers, int first, int last, uint32_t state,
    uint16_t *table)
{
  const EqualizeNumbers own = *numbers;

  for (int code = first; code < last; code++)
    table[code] = (uint16_t) equalize_mix (&own, code, state);
}

static void
make_table (const EqualizeNumbers *numbers, uint32_t *counts, uint32_t follow,
    uint32_t *states, bool known, uint16_t *table)
{
  const int entries = numbers->entries, blocks = entries / BLOCK * BLOCK;
  const EqualizeShares shares = equalize_share_out (
      numbers, count_clipped (entries, numbers->clip, counts));
  const RemapMaking making = {
    .numbers = *numbers,
    .curve = equalize_curve (numbers, lowest_count (numbers, counts)),
    .shares = shares,
    .per_step = 1.0f / (float) shares.step,
    .follow = follow,
    .states = states,
    .known = known,
    .keeps = remap_keeps_states (numbers, follow),
  };
  uint32_t sum = 0;

  for (int bin = 0; bin < blocks; bin += BLOCK)
    make_block (&making, counts, bin, BLOCK, &sum, table);
  make_block (&making, counts, blocks, entries - blocks, &sum, table);
  mix_codes (numbers, 0, numbers->black, state_of (&making, 0, table), table);
  mix_codes (numbers, numbers->white + 1, numbers->full + 1,
      state_of (&making, entries - 1, table), table);
}

const RemapLoops REMAP_LOOPS = {
  .by_table = by_table,
  .by_quads = by_quads,
  .by_corners = by_corners,
  .load_words = load_words,
  .store_words = store_words,
  .load_luma = load_luma,
  .shift_samples = shift_samples,
  .make_table = make_table,
};
