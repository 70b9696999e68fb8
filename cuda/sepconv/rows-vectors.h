/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-vectors: the vector instructions that rows-codes.h is made of, for the instruction set
 * that the including file is compiled for. Ints is a vector of VECTOR_BYTES: SUMS 32-bit
 * integers, or SHORTS 16-bit ones.
 *
 * Products come in pairs: a 32-bit lane of ADD_PRODUCTS() holds two 16-bit factors, and both
 * products are added to its sum. */
#if defined __aarch64__
#include "rows-neon.h"
#else
#include <immintrin.h>

#define SHORTS (VECTOR_BYTES / 2)
#define SUMS (VECTOR_BYTES / 4)

#if VECTOR_BYTES == 64
typedef __m512i Ints;
#define LOAD(p) _mm512_loadu_si512 (p)
#define STORE(p, a) _mm512_storeu_si512 (p, a)
#define SPREAD(x) _mm512_set1_epi32 (x)
#ifdef __AVX512VNNI__
#define ADD_PRODUCTS(sum, a, b) _mm512_dpwssd_epi32 (sum, a, b)
#else
#define ADD_PRODUCTS(sum, a, b) _mm512_add_epi32 (sum, _mm512_madd_epi16 (a, b))
#endif
#define SHIFT(a, count) _mm512_srav_epi32 (a, count)
#define PACK(a, b) _mm512_packs_epi32 (a, b)

#elif VECTOR_BYTES == 32
typedef __m256i Ints;
#define LOAD(p) _mm256_loadu_si256 ((const __m256i *) (p))
#define STORE(p, a) _mm256_storeu_si256 ((__m256i *) (p), a)
#define SPREAD(x) _mm256_set1_epi32 (x)
#define ADD_PRODUCTS(sum, a, b) _mm256_add_epi32 (sum, _mm256_madd_epi16 (a, b))
#define SHIFT(a, count) _mm256_srav_epi32 (a, count)
#define PACK(a, b) _mm256_packs_epi32 (a, b)

#else
typedef __m128i Ints;
#define LOAD(p) _mm_loadu_si128 ((const __m128i *) (p))
#define STORE(p, a) _mm_storeu_si128 ((__m128i *) (p), a)
#define SPREAD(x) _mm_set1_epi32 (x)
#define ADD_PRODUCTS(sum, a, b) _mm_add_epi32 (sum, _mm_madd_epi16 (a, b))
#define SHIFT(a, count) _mm_sra_epi32 (a, _mm_srli_epi64 (count, 32))
#define PACK(a, b) _mm_packs_epi32 (a, b)
#endif
#define LOAD_SUMS(p) LOAD (p)
#define LOAD_PAIRS(p) LOAD (p)
#define STORE_SHORTS(p, a) STORE (p, a)
/* The count for SHIFT(), a right shift, in each lane: to shift all lanes by one number would
 * take two instructions. */
#define COUNT(x) SPREAD (x)

/* Pairs each of SHORTS bytes of a row with the byte below it, as 16-bit factors in the order
 * that shorts_of_sums() takes. */
static inline void
pairs_of_rows (
    const uint8_t *upper, const uint8_t *lower, Ints *low, Ints *high)
{
#if VECTOR_BYTES == 64
  const __m256i a = _mm256_loadu_si256 ((const __m256i *) upper);
  const __m256i b = _mm256_loadu_si256 ((const __m256i *) lower);

  *low = _mm512_cvtepu8_epi16 (_mm256_unpacklo_epi8 (a, b));
  *high = _mm512_cvtepu8_epi16 (_mm256_unpackhi_epi8 (a, b));
#elif VECTOR_BYTES == 32
  const __m128i a = _mm_loadu_si128 ((const __m128i *) upper);
  const __m128i b = _mm_loadu_si128 ((const __m128i *) lower);

  *low = _mm256_cvtepu8_epi16 (_mm_unpacklo_epi8 (a, b));
  *high = _mm256_cvtepu8_epi16 (_mm_unpackhi_epi8 (a, b));
#else
  const __m128i pairs =
      _mm_unpacklo_epi8 (_mm_loadl_epi64 ((const __m128i *) upper),
          _mm_loadl_epi64 ((const __m128i *) lower));

  *low = _mm_unpacklo_epi8 (pairs, _mm_setzero_si128 ());
  *high = _mm_unpackhi_epi8 (pairs, _mm_setzero_si128 ());
#endif
}

/* Loads SHORTS 16-bit samples, shifted right. */
static inline Ints
load_shorts (const uint8_t *row, int shift)
{
  const __m128i count = _mm_cvtsi32_si128 (shift);

#if VECTOR_BYTES == 64
  return _mm512_srl_epi16 (LOAD (row), count);
#elif VECTOR_BYTES == 32
  return _mm256_srl_epi16 (LOAD (row), count);
#else
  return _mm_srl_epi16 (LOAD (row), count);
#endif
}

static inline void
pairs_of_long_rows (const uint8_t *upper, const uint8_t *lower, int shift,
    Ints *low, Ints *high)
{
  const Ints a = load_shorts (upper, shift), b = load_shorts (lower, shift);

#if VECTOR_BYTES == 64
  *low = _mm512_unpacklo_epi16 (a, b);
  *high = _mm512_unpackhi_epi16 (a, b);
#elif VECTOR_BYTES == 32
  *low = _mm256_unpacklo_epi16 (a, b);
  *high = _mm256_unpackhi_epi16 (a, b);
#else
  *low = _mm_unpacklo_epi16 (a, b);
  *high = _mm_unpackhi_epi16 (a, b);
#endif
}

/* The sums of SHORTS columns as 16-bit integers, in the columns' order, which depends on the
 * bytes of the samples. */
static inline Ints
shorts_of_sums (Ints low, Ints high, int bytes)
{
#if VECTOR_BYTES == 64
  const Ints shorts = PACK (low, high);

  return bytes == 2 ? shorts
                    : _mm512_permutex_epi64 (shorts, _MM_SHUFFLE (3, 1, 2, 0));
#elif VECTOR_BYTES == 32
  const Ints shorts = PACK (low, high);

  return bytes == 2
      ? shorts
      : _mm256_permute4x64_epi64 (shorts, _MM_SHUFFLE (3, 1, 2, 0));
#else
  (void) bytes;
  return PACK (low, high);
#endif
}

#if VECTOR_BYTES > 16
/* Reorders the bytes within each 16 bytes. */
static inline Ints
in_order (Ints a, __m128i order)
{
#if VECTOR_BYTES == 64
  return _mm512_shuffle_epi8 (a, _mm512_broadcast_i32x4 (order));
#else
  return _mm256_shuffle_epi8 (a, _mm256_broadcastsi128_si256 (order));
#endif
}
#endif

/* Arranges pixels of 1, 2 or 4 samples as pairs of pixels: elements 2 i and 2 i + 1 belong to
 * the same channel, and i goes through the channels. */
static inline Ints
pairs_of_pixels (Ints pixels, int channels)
{
#if VECTOR_BYTES == 16
  switch (channels) {
    case 2:
      return _mm_shufflehi_epi16 (
          _mm_shufflelo_epi16 (pixels, _MM_SHUFFLE (3, 1, 2, 0)),
          _MM_SHUFFLE (3, 1, 2, 0));
    case 4:
      return _mm_unpacklo_epi16 (pixels, _mm_srli_si128 (pixels, 8));
    default:
      return pixels;
  }
#else
  return in_order (pixels,
      channels == 1
          ? _mm_setr_epi8 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
          : channels == 2
          ? _mm_setr_epi8 (0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15)
          : _mm_setr_epi8 (
              0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
#endif
}

/* The inverse: sums of the first and of the second pixels of pairs become SHORTS samples, pixel
 * after pixel, where there are 1, 2 or 4 channels. With 3 channels, samples of the first and of
 * the second pixel alternate, as with 1. */
static inline Ints
pixels_of_pairs (Ints first, Ints second, int channels)
{
#if VECTOR_BYTES == 16
  const Ints both = PACK (first, second);

  switch (channels) {
    case 2:
      return _mm_unpacklo_epi32 (both, _mm_srli_si128 (both, 8));
    case 4:
      return both;
    default:
      return _mm_unpacklo_epi16 (both, _mm_srli_si128 (both, 8));
  }
#else
  return in_order (PACK (first, second),
      channels == 4
          ? _mm_setr_epi8 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
          : channels == 2
          ? _mm_setr_epi8 (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)
          : _mm_setr_epi8 (
              0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
#endif
}

/* Stores two vectors of samples as bytes, clamped. */
static inline void
store_bytes (uint8_t *to, Ints a, Ints b)
{
#if VECTOR_BYTES == 64
  STORE (to,
      _mm512_permutexvar_epi64 (_mm512_setr_epi64 (0, 2, 4, 6, 1, 3, 5, 7),
          _mm512_packus_epi16 (a, b)));
#elif VECTOR_BYTES == 32
  STORE (to,
      _mm256_permute4x64_epi64 (
          _mm256_packus_epi16 (a, b), _MM_SHUFFLE (3, 1, 2, 0)));
#else
  STORE (to, _mm_packus_epi16 (a, b));
#endif
}

/* Stores samples clamped to [0, top], shifted left. */
static inline void
store_codes (uint8_t *to, Ints a, int top, int shift)
{
  const __m128i count = _mm_cvtsi32_si128 (shift);

#if VECTOR_BYTES == 64
  a = _mm512_min_epi16 (_mm512_max_epi16 (a, _mm512_setzero_si512 ()),
      _mm512_set1_epi16 ((short) top));
  STORE (to, _mm512_sll_epi16 (a, count));
#elif VECTOR_BYTES == 32
  a = _mm256_min_epi16 (_mm256_max_epi16 (a, _mm256_setzero_si256 ()),
      _mm256_set1_epi16 ((short) top));
  STORE (to, _mm256_sll_epi16 (a, count));
#else
  a = _mm_min_epi16 (
      _mm_max_epi16 (a, _mm_setzero_si128 ()), _mm_set1_epi16 ((short) top));
  STORE (to, _mm_sll_epi16 (a, count));
#endif
}

#if VECTOR_BYTES > 16
/* 16 bytes, of which the first 12 are two pixels of shorts, or two pairs of pixels of bytes. */
typedef __m128i Threes;
#define LOAD_THREES(p) _mm_loadu_si128 ((const __m128i *) (p))
#define STORE_THREES(p, a) _mm_storeu_si128 ((__m128i *) (p), a)
#define THREES_IN_ORDER(a, order) _mm_shuffle_epi8 (a, LOAD_THREES (order))
#endif
#endif

/* Arranges n samples of three channels as pairs of pixels, in place; the pairs cross vectors. */
static inline void
pair_threes (int16_t *line, int n)
{
#ifdef THREES_IN_ORDER
  /* The four bytes behind a pair stay where they are. */
  static const uint8_t order[] = { 0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, 12, 13,
    14, 15 };
  Threes next = LOAD_THREES (line);

  /* The load comes before the store: a load of bytes that were partly just stored would wait. */
  for (int i = 0; i < n; i += 6) {
    const Threes pixels = next;

    next = LOAD_THREES (line + i + 6);
    STORE_THREES (line + i, THREES_IN_ORDER (pixels, order));
  }
#else
  for (int i = 0; i < n; i += 6) {
    const int16_t green = line[i + 1], blue = line[i + 2];

    line[i + 1] = line[i + 3];
    line[i + 2] = green;
    line[i + 3] = line[i + 4];
    line[i + 4] = blue;
  }
#endif
}

/* Position in pairs of pixels of sample i of pixels of three channels. */
static inline int
paired_three (int i)
{
  return i / 6 * 6 + i % 3 * 2 + i / 3 % 2;
}

/* pair_threes() for n bytes, from `from` to `to`. */
static inline void
pair_three_bytes (uint8_t *to, const uint8_t *from, int n)
{
  int i = 0;

#ifdef THREES_IN_ORDER
  static const uint8_t order[] = { 0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, 12, 13,
    14, 15 };

  for (; i + 16 <= n; i += 12)
    STORE_THREES (to + i, THREES_IN_ORDER (LOAD_THREES (from + i), order));
#else
  for (; i + 6 <= n; i += 6)
    for (int c = 0; c < 3; c++) {
      to[i + 2 * c] = from[i + c];
      to[i + 2 * c + 1] = from[i + 3 + c];
    }
#endif
  for (; i < n; i++)
    to[paired_three (i)] = from[i];
}

/* The inverse of pair_three_bytes(); writes n bytes. */
static inline void
unpair_threes (uint8_t *to, const uint8_t *from, int n)
{
  int i = 0;

#ifdef THREES_IN_ORDER
  static const uint8_t order[] = { 0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11, 12, 13,
    14, 15 };

  for (; i + 16 <= n; i += 12)
    STORE_THREES (to + i, THREES_IN_ORDER (LOAD_THREES (from + i), order));
#else
  for (; i + 6 <= n; i += 6)
    for (int c = 0; c < 3; c++) {
      to[i + c] = from[i + 2 * c];
      to[i + 3 + c] = from[i + 2 * c + 1];
    }
#endif
  for (; i < n; i++)
    to[i] = from[paired_three (i)];
}
