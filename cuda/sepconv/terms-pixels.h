/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of terms-kernels.h for samples of up to 12 bits: terms are 16-bit integers from
 * rows-lines.h, combined by the formulas of TermsCodes. */
#include "rows-lines.h"

typedef int16_t Shorts __attribute__ ((vector_size (VECTOR_BYTES)));
typedef float Floats __attribute__ ((vector_size (VECTOR_BYTES)));

/* Interleaves the samples of two vectors, from the lower or the upper half of each 128 bits:
 * whole pixels of 1, 2 or 4 channels. ADD_PRODUCTS() takes such pairs, and PACK() restores the
 * order of samples. */
#if VECTOR_BYTES == 64
#define PAIR_LOW(a, b) _mm512_unpacklo_epi16 (a, b)
#define PAIR_HIGH(a, b) _mm512_unpackhi_epi16 (a, b)
#define FLOATS_OF(a) ((Floats) _mm512_cvtepi32_ps (a))
#define INTS_OF(a) _mm512_cvtps_epi32 ((__m512) (a))
#define ROOTS(a) ((Floats) _mm512_sqrt_ps ((__m512) (a)))
#define PATTERN(p) \
  _mm512_broadcast_i32x4 (_mm_loadu_si128 ((const __m128i *) (p)))
#elif VECTOR_BYTES == 32
#define PAIR_LOW(a, b) _mm256_unpacklo_epi16 (a, b)
#define PAIR_HIGH(a, b) _mm256_unpackhi_epi16 (a, b)
#define FLOATS_OF(a) ((Floats) _mm256_cvtepi32_ps (a))
#define INTS_OF(a) _mm256_cvtps_epi32 ((__m256) (a))
#define ROOTS(a) ((Floats) _mm256_sqrt_ps ((__m256) (a)))
#define PATTERN(p) \
  _mm256_broadcastsi128_si256 (_mm_loadu_si128 ((const __m128i *) (p)))
#else
#define PAIR_LOW(a, b) _mm_unpacklo_epi16 (a, b)
#define PAIR_HIGH(a, b) _mm_unpackhi_epi16 (a, b)
#define FLOATS_OF(a) ((Floats) _mm_cvtepi32_ps (a))
#define INTS_OF(a) _mm_cvtps_epi32 ((__m128) (a))
#define ROOTS(a) ((Floats) _mm_sqrt_ps ((__m128) (a)))
#define PATTERN(p) _mm_loadu_si128 ((const __m128i *) (p))
#endif

/* Loads SHORTS samples. */
static inline Ints
load_codes (const uint8_t *at, const SepconvChannel *channel)
{
  if (channel->sample_bytes == 2)
    return load_shorts (at, channel->shift);
#if VECTOR_BYTES == 64
  return _mm512_cvtepu8_epi16 (_mm256_loadu_si256 ((const __m256i *) at));
#elif VECTOR_BYTES == 32
  return _mm256_cvtepu8_epi16 (_mm_loadu_si128 ((const __m128i *) at));
#else
  return _mm_unpacklo_epi8 (
      _mm_loadl_epi64 ((const __m128i *) at), _mm_setzero_si128 ());
#endif
}

static inline Ints
unsharp_pixels (
    const TermsCodes *codes, const SepconvChannel *channel, Ints in, Ints term)
{
  const Ints factors = SPREAD (codes->factors),
             result = PATTERN (codes->result);
  const Ints shift = COUNT (codes->shift);
  const Shorts level = ((Shorts) in - (int16_t) channel->center)
      << codes->fraction;
  Shorts difference = level - (Shorts) term;

  if (codes->threshold > 0) {
    const Shorts sign = difference >> 15;

    difference &= ((difference ^ sign) - sign) > codes->threshold;
  }
  return PACK (SHIFT (ADD_PRODUCTS (result,
                          PAIR_LOW ((Ints) level, (Ints) difference), factors),
                   shift),
      SHIFT (ADD_PRODUCTS (
                 result, PAIR_HIGH ((Ints) level, (Ints) difference), factors),
          shift));
}

static inline Ints
magnitude_of_pairs (const TermsCodes *codes, Ints pairs)
{
  const Ints squares = ADD_PRODUCTS (SPREAD (0), pairs, pairs);

  return INTS_OF (codes->factor * ROOTS (FLOATS_OF (squares))
      + (Floats) PATTERN (codes->offset));
}

static inline Ints
magnitude_pixels (const TermsCodes *codes, Ints a, Ints b)
{
  return PACK (magnitude_of_pairs (codes, PAIR_LOW (a, b)),
      magnitude_of_pairs (codes, PAIR_HIGH (a, b)));
}

static inline Ints
sum_of_pixels (const TermsCodes *codes, Ints a, Ints b)
{
  return (Ints) (((Shorts) a + (Shorts) b) >> codes->fraction);
}

/* The strips of all terms over the same samples. */
typedef struct
{
  const TermsJob *job;
  TermsStrips *memory;
  Strip term[TERMS_MAX_CODED];
} Strips;

/* Writes n vectors of samples of the row whose lines have index j. The first sample is sample
 * `i` of the strip; n is an even constant. */
static inline __attribute__ ((always_inline)) void
write_pixels (const Strips *strips, int j, int i, const uint8_t *from,
    uint8_t *to, const SepconvCombine combine, const int n)
{
  const TermsJob *job = strips->job;
  const SepconvChannel *channel = job->rows.channel;
  const int bytes = channel->sample_bytes;
  Ints pixels[TERMS_MAX_CODED][PAIRS_AT_ONCE];

  for (int t = 0; t < job->n_terms; t++)
    sum_pairs (&job->coded[t], strips->memory->term[t].line[j] + i,
        strips->memory->term[t].start + i / 2, pixels[t], n);
  for (int k = 0; k < n; k++)
    pixels[0][k] = combine == SEPCONV_UNSHARP
        ? unsharp_pixels (job->codes, channel,
            load_codes (from + k * SHORTS * bytes, channel), pixels[0][k])
        : combine == SEPCONV_MAGNITUDE
        ? magnitude_pixels (job->codes, pixels[0][k], pixels[1][k])
        : sum_of_pixels (job->codes, pixels[0][k],
            job->n_terms == 1 ? SPREAD (0) : pixels[1][k]);
  store_pixels (channel, to, pixels[0], n);
}

/* Copies samples [i, n) of a row into the order that the terms' samples have. */
static void
copy_row (const RowsJob *rows, uint8_t *to, const uint8_t *row, int i, int n)
{
  const int bytes = rows->channel->sample_bytes;

  if (rows->step == 3)
    pair_three_bytes (to, row, n);
  else
    memcpy (to + i * bytes, row + i * bytes, (size_t) ((n - i) * bytes));
}

/* Writes row y of the result, from the lines of index j. */
static inline __attribute__ ((always_inline)) void
write_row_of (const Strips *strips, int y, int j, const SepconvCombine combine)
{
  enum
  {
    N = PAIRS_AT_ONCE * SHORTS
  };
  const RowsJob *rows = &strips->job->rows;
  const int bytes = rows->channel->sample_bytes, n = strips->term[0].n;
  const ptrdiff_t begin = (ptrdiff_t) strips->term[0].begin * bytes;
  const uint8_t *from = rows->src + y * rows->src_stride + begin;
  uint8_t *to = rows->dst + y * rows->dst_stride + begin;
  uint8_t *in = strips->memory->in, *samples = strips->memory->term[0].samples;
  int i = 0;

  if (rows->step != 3)
    for (; i + N <= n; i += N)
      write_pixels (strips, j, i, from + i * bytes, to + i * bytes, combine,
          PAIRS_AT_ONCE);
  if (combine == SEPCONV_UNSHARP)
    copy_row (rows, in, from, i, n);
  /* See rows-codes.h's write_row(). */
  for (int k = i; k < n + (rows->step == 3 ? 5 : 0); k += N)
    write_pixels (strips, j, k, in + k * bytes, samples + k * bytes, combine,
        PAIRS_AT_ONCE);
  if (rows->step == 3 && bytes == 1)
    unpair_threes (to, samples, n);
  else
    spread_samples (rows, to, samples, i, n);
}

static void
write_row (const Strips *strips, int y, int j)
{
  if (strips->job->combine == SEPCONV_UNSHARP)
    write_row_of (strips, y, j, SEPCONV_UNSHARP);
  else if (strips->job->combine == SEPCONV_MAGNITUDE)
    write_row_of (strips, y, j, SEPCONV_MAGNITUDE);
  else
    write_row_of (strips, y, j, SEPCONV_SUM);
}

/* A WorkersJob. */
static void
filter_codes_bands (void *user, int worker, int first, int last)
{
  const TermsJob *job = user;
  const RowsJob *rows = &job->rows;
  Strips strips = { .job = job, .memory = job->strips + worker };

  for (int item = first; item < last; item++) {
    const int band = item % rows->bands;
    const int top = rows_band (rows, band);
    const int bottom = rows_band (rows, band + 1);
    const int begin = item / rows->bands * rows->slab;
    const int n = min_int (rows->n_samples - begin, rows->slab);

    for (int t = 0; t < job->n_terms; t++) {
      strips.term[t] = (Strip){ .job = &job->coded[t],
        .memory = &strips.memory->term[t],
        .begin = begin,
        .n = n,
        .first = top - job->coded[t].y->n / 2 };
      begin_strip (&strips.term[t]);
    }
    for (int y = top; y < bottom; y += ROWS_AT_ONCE) {
      for (int t = 0; t < job->n_terms; t++)
        sum_lines (&strips.term[t], y);
      for (int j = 0; j < min_int (ROWS_AT_ONCE, bottom - y); j++)
        write_row (&strips, y + j, j);
      rows_copy_kept (rows, y, min_int (y + ROWS_AT_ONCE, bottom), begin, n);
    }
  }
}
