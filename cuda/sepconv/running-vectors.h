/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* running-vectors: the vector instructions that running sums take, for the instruction set that
 * the including file is compiled for. A vector has LANES 32-bit sums, of interleaved channels
 * in turn. LANES is not defined for instruction sets without vectors. */

#if defined __AVX512BW__
#define LANES 16

typedef __m512i Lanes;
#define LOAD(p) _mm512_loadu_si512 (p)
#define STORE(p, a) _mm512_storeu_si512 (p, a)
#define ADD(a, b) _mm512_add_epi32 (a, b)
#define SUB(a, b) _mm512_sub_epi32 (a, b)
#define LOAD_BYTES(p) \
  _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *) (p)))

/* Moves lanes up by `by` and fills the lowest ones with zeros. */
INLINE Lanes
move_up (Lanes a, const int by)
{
  const __m512i lane =
      _mm512_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

  return _mm512_maskz_permutexvar_epi32 ((__mmask16) (0xffffu << by),
      _mm512_sub_epi32 (lane, _mm512_set1_epi32 (by)), a);
}

/* Repeats the samples of the last pixel in the order in which the channels go on in the next
 * vector. */
INLINE Lanes
repeat_last (Lanes a, const int channels)
{
  const int first = LANES - channels;

  return _mm512_permutexvar_epi32 (
      _mm512_setr_epi32 (first, first + 1 % channels, first + 2 % channels,
          first + 3 % channels, first + 4 % channels, first + 5 % channels,
          first + 6 % channels, first + 7 % channels, first + 8 % channels,
          first + 9 % channels, first + 10 % channels, first + 11 % channels,
          first + 12 % channels, first + 13 % channels, first + 14 % channels,
          first + 15 % channels),
      a);
}

#define PACK_LONGS(a, b) _mm512_packus_epi32 (a, b)
#define PACK_SHORTS(a, b) _mm512_packus_epi16 (a, b)
#define MIN_SHORTS(a, b) _mm512_min_epu16 (a, b)
#define SPREAD_SHORT(x) _mm512_set1_epi16 ((short) (x))
#define SHIFT_SHORTS(a, count) _mm512_sll_epi16 (a, count)
#define CUT_OFF(p) _mm512_cvttps_epi32 (_mm512_loadu_ps (p))
/* Instructions pack within lanes of 128 bits: these restore the order of two packed vectors,
 * and of two pairs of them. */
#define ORDER_SHORTS(a) \
  _mm512_permutexvar_epi64 (_mm512_setr_epi64 (0, 2, 4, 6, 1, 3, 5, 7), a)
#define ORDER_BYTES(a) \
  _mm512_permutexvar_epi32 (_mm512_setr_epi32 (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, \
                                10, 14, 3, 7, 11, 15), \
      a)

#elif defined __AVX2__
#define LANES 8

typedef __m256i Lanes;
#define LOAD(p) _mm256_loadu_si256 ((const __m256i *) (p))
#define STORE(p, a) _mm256_storeu_si256 ((__m256i *) (p), a)
#define ADD(a, b) _mm256_add_epi32 (a, b)
#define SUB(a, b) _mm256_sub_epi32 (a, b)
#define LOAD_BYTES(p) \
  _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *) (p)))

INLINE Lanes
move_up (Lanes a, const int by)
{
  const __m256i from = _mm256_sub_epi32 (
      _mm256_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32 (by));

  return _mm256_andnot_si256 (
      _mm256_srai_epi32 (from, 31), _mm256_permutevar8x32_epi32 (a, from));
}

INLINE Lanes
repeat_last (Lanes a, const int channels)
{
  const int first = LANES - channels;

  return _mm256_permutevar8x32_epi32 (a,
      _mm256_setr_epi32 (first, first + 1 % channels, first + 2 % channels,
          first + 3 % channels, first + 4 % channels, first + 5 % channels,
          first + 6 % channels, first + 7 % channels));
}

#define PACK_LONGS(a, b) _mm256_packus_epi32 (a, b)
#define PACK_SHORTS(a, b) _mm256_packus_epi16 (a, b)
#define MIN_SHORTS(a, b) _mm256_min_epu16 (a, b)
#define SPREAD_SHORT(x) _mm256_set1_epi16 ((short) (x))
#define SHIFT_SHORTS(a, count) _mm256_sll_epi16 (a, count)
#define CUT_OFF(p) _mm256_cvttps_epi32 (_mm256_loadu_ps (p))
#define ORDER_SHORTS(a) _mm256_permute4x64_epi64 (a, _MM_SHUFFLE (3, 1, 2, 0))
#define ORDER_BYTES(a) \
  _mm256_permutevar8x32_epi32 (a, _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7))

#elif defined __SSE2__
#define LANES 4

typedef __m128i Lanes;
#define LOAD(p) _mm_loadu_si128 ((const __m128i *) (p))
#define STORE(p, a) _mm_storeu_si128 ((__m128i *) (p), a)
#define ADD(a, b) _mm_add_epi32 (a, b)
#define SUB(a, b) _mm_sub_epi32 (a, b)

INLINE Lanes
move_up (Lanes a, const int by)
{
  return by == 1 ? _mm_slli_si128 (a, 4)
      : by == 2  ? _mm_slli_si128 (a, 8)
                 : _mm_slli_si128 (a, 12);
}

INLINE Lanes
repeat_last (Lanes a, const int channels)
{
  switch (channels) {
    case 1:
      return _mm_shuffle_epi32 (a, _MM_SHUFFLE (3, 3, 3, 3));
    case 2:
      return _mm_shuffle_epi32 (a, _MM_SHUFFLE (3, 2, 3, 2));
    case 3:
      return _mm_shuffle_epi32 (a, _MM_SHUFFLE (1, 3, 2, 1));
    default:
      return a;
  }
}
#endif

#ifdef LANES
/* Vectors that are summed at a time: whole ones of a block. */
#define AT_ONCE 4

/* Windows of at most this many pixels are summed anew for each sample: a running sum takes as
 * long. */
#define FEW_PIXELS 5

INLINE void
sum_few_pixels (uint32_t *to, const int32_t *line, int reach, const int step)
{
  for (int i = 0; i < RUNNING_BLOCK; i += AT_ONCE * LANES) {
    Lanes sum[AT_ONCE];

    for (int k = 0; k < AT_ONCE; k++)
      sum[k] = LOAD (line + i + k * LANES);
    for (int at = step; at <= reach; at += step)
      for (int k = 0; k < AT_ONCE; k++)
        sum[k] = ADD (sum[k], LOAD (line + i + at + k * LANES));
    for (int k = 0; k < AT_ONCE; k++)
      STORE (to + i + k * LANES, sum[k]);
  }
}

/* Prefix sums of each channel within a vector. */
INLINE Lanes
sum_lanes (Lanes a, const int channels)
{
  for (int by = channels; by < LANES; by *= 2)
    a = ADD (a, move_up (a, by));
  return a;
}

/* Writes the running sums of a block. `sums`: those before the block; they become those at its
 * end. */
INLINE void
sum_running (uint32_t *to, const int32_t *line, int reach, uint32_t *sums,
    const int step)
{
  Lanes before = LOAD (sums);

  for (int i = 0; i < RUNNING_BLOCK; i += LANES) {
    const Lanes sum =
        sum_lanes (SUB (LOAD (line + i + reach), LOAD (line + i - step)), step);

    STORE (to + i, ADD (before, sum));
    /* If all vectors begin with the same channel, a vector waits for only one addition of the
     * vector before it. */
    before = LANES % step == 0 ? ADD (before, repeat_last (sum, step))
                               : repeat_last (ADD (before, sum), step);
  }
  STORE (sums, before);
}
#endif
