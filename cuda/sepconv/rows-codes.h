/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of rows-kernels.h for single bytes: samples less 128 and taps as 16-bit integers,
 * two products to a 32-bit sum by one instruction. See RowsCodeTaps.
 *
 * A strip of columns is marched down. The samples of a row are put in pairs, each with the
 * one that the next tap takes, and summed; sums are put in pairs with those of the row
 * above, into a ring of as many rows as there are taps; the rows of the ring become one row
 * of the result. All of that stays in the nearest caches. */
#include <immintrin.h>

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
#define SHIFT(a, count) _mm512_sra_epi32 (a, count)
#define PACK(a, b) _mm512_packs_epi32 (a, b)
#define PAIRS_LOW(a, b) _mm512_unpacklo_epi16 (a, b)
#define PAIRS_HIGH(a, b) _mm512_unpackhi_epi16 (a, b)
/* The halves in their order again, which PAIRS_LOW() and PAIRS_HIGH() take lane by lane. */
#define FIRST_PAIRS(low, high) \
  _mm512_permutex2var_epi64 ( \
      low, _mm512_set_epi64 (11, 10, 3, 2, 9, 8, 1, 0), high)
#define LAST_PAIRS(low, high) \
  _mm512_permutex2var_epi64 ( \
      low, _mm512_set_epi64 (15, 14, 7, 6, 13, 12, 5, 4), high)

static inline Ints
codes_of_bytes (const uint8_t *from)
{
  return _mm512_sub_epi16 (
      _mm512_cvtepu8_epi16 (_mm256_loadu_si256 ((const __m256i *) from)),
      _mm512_set1_epi16 (128));
}

static inline void
store_bytes (uint8_t *to, Ints a, Ints b, Ints c, Ints d)
{
  const Ints zero = _mm512_setzero_si512 ();

  _mm_storeu_si128 (
      (__m128i *) to, _mm512_cvtusepi32_epi8 (_mm512_max_epi32 (a, zero)));
  _mm_storeu_si128 (
      (__m128i *) to + 1, _mm512_cvtusepi32_epi8 (_mm512_max_epi32 (b, zero)));
  _mm_storeu_si128 (
      (__m128i *) to + 2, _mm512_cvtusepi32_epi8 (_mm512_max_epi32 (c, zero)));
  _mm_storeu_si128 (
      (__m128i *) to + 3, _mm512_cvtusepi32_epi8 (_mm512_max_epi32 (d, zero)));
}

#elif VECTOR_BYTES == 32
typedef __m256i Ints;
#define LOAD(p) _mm256_loadu_si256 ((const __m256i *) (p))
#define STORE(p, a) _mm256_storeu_si256 ((__m256i *) (p), a)
#define SPREAD(x) _mm256_set1_epi32 (x)
#define ADD_PRODUCTS(sum, a, b) _mm256_add_epi32 (sum, _mm256_madd_epi16 (a, b))
#define SHIFT(a, count) _mm256_sra_epi32 (a, count)
#define PACK(a, b) _mm256_packs_epi32 (a, b)
#define PAIRS_LOW(a, b) _mm256_unpacklo_epi16 (a, b)
#define PAIRS_HIGH(a, b) _mm256_unpackhi_epi16 (a, b)
#define FIRST_PAIRS(low, high) _mm256_permute2x128_si256 (low, high, 0x20)
#define LAST_PAIRS(low, high) _mm256_permute2x128_si256 (low, high, 0x31)

static inline Ints
codes_of_bytes (const uint8_t *from)
{
  return _mm256_sub_epi16 (
      _mm256_cvtepu8_epi16 (_mm_loadu_si128 ((const __m128i *) from)),
      _mm256_set1_epi16 (128));
}

static inline void
store_bytes (uint8_t *to, Ints a, Ints b, Ints c, Ints d)
{
  const Ints bytes = _mm256_packus_epi16 (PACK (a, b), PACK (c, d));

  STORE (to,
      _mm256_permutevar8x32_epi32 (
          bytes, _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7)));
}

#else
typedef __m128i Ints;
#define LOAD(p) _mm_loadu_si128 ((const __m128i *) (p))
#define STORE(p, a) _mm_storeu_si128 ((__m128i *) (p), a)
#define SPREAD(x) _mm_set1_epi32 (x)
#define ADD_PRODUCTS(sum, a, b) _mm_add_epi32 (sum, _mm_madd_epi16 (a, b))
#define SHIFT(a, count) _mm_sra_epi32 (a, count)
#define PACK(a, b) _mm_packs_epi32 (a, b)
#define PAIRS_LOW(a, b) _mm_unpacklo_epi16 (a, b)
#define PAIRS_HIGH(a, b) _mm_unpackhi_epi16 (a, b)
#define FIRST_PAIRS(low, high) (low)
#define LAST_PAIRS(low, high) (high)

static inline Ints
codes_of_bytes (const uint8_t *from)
{
  return _mm_sub_epi16 (
      _mm_unpacklo_epi8 (
          _mm_loadl_epi64 ((const __m128i *) from), _mm_setzero_si128 ()),
      _mm_set1_epi16 (128));
}

static inline void
store_bytes (uint8_t *to, Ints a, Ints b, Ints c, Ints d)
{
  STORE (to, _mm_packus_epi16 (PACK (a, b), PACK (c, d)));
}
#endif

#define SHORTS (VECTOR_BYTES / 2) /* 16-bit numbers in a vector */
#define SUMS (VECTOR_BYTES / 4)   /* 32-bit ones */
#define SUMS_AT_ONCE (4 * SUMS)
/* Vectors of sums of a row at a time, where there are so many registers: an addition of
 * products has a latency of several. */
#define MOST_AT_ONCE (VECTOR_BYTES == 64 ? 8 : 4)
/* Rows of the ring beside those of one window. */
#define EXTRA_ROWS 3

/* A strip's place in its plane, and its memory. */
typedef struct
{
  const RowsJob *job;
  int begin, n; /* samples */
  int padded;   /* n, rounded up to SUMS_AT_ONCE */
  int16_t *line,
      *pairs;     /* a row's samples with what taps reach, and in pairs */
  int16_t *last;  /* sums of the row above, in the order of PACK() */
  int16_t *ring;  /* [y taps][padded] pairs of sums */
  int32_t *start; /* [padded], see RowsCodeTaps */
} Strip;

static int16_t
edge_code (const RowsJob *job, const uint8_t *row, int index)
{
  return index < 0 ? (int16_t) job->channel[-1 - index].border
                   : (int16_t) (row[(ptrdiff_t) index * job->distance] - 128);
}

/* The samples that row `row` of the strip takes, taps and all. */
static void
read_line (const Strip *strip, const uint8_t *row)
{
  const RowsJob *job = strip->job;
  const int before = job->x->n / 2 * job->step;
  const int after = (job->x->n - 1) * job->step - before;
  const int first = strip->begin - before;
  const int last = strip->begin + strip->n + after;
  const int from = first < 0 ? 0 : first, to = min_int (last, job->n_samples);
  int16_t *line = strip->line;
  int i = from;

  for (int k = first; k < from; k++)
    *line++ = edge_code (job, row, job->state->left[k + before]);
  if (job->distance == 1)
    for (; i + SHORTS <= to; i += SHORTS, line += SHORTS)
      STORE (line, codes_of_bytes (row + i));
  for (; i < to; i++)
    *line++ = (int16_t) (row[(ptrdiff_t) i * job->distance] - 128);
  for (int k = to; k < last; k++)
    *line++ = edge_code (job, row, job->state->right[k - to]);
}

/* The same of a row outside the picture, where the border is constant. */
static void
fill_line (const Strip *strip)
{
  const RowsJob *job = strip->job;
  const int n = strip->n + (job->x->n - 1) * job->step;
  int c = (strip->begin - job->x->n / 2 * job->step) % job->step;

  c = c < 0 ? c + job->step : c;
  for (int i = 0; i < n; i++) {
    strip->line[i] = (int16_t) job->channel[c].border;
    c = c + 1 == job->step ? 0 : c + 1;
  }
}

/* Puts each sample in a pair with the one that the next tap takes. */
static void
pair_line (const Strip *strip)
{
  const int step = strip->job->step;
  const int n = strip->padded + 2 * (strip->job->codes.x_pairs - 1) * step;

  for (int i = 0; i < n; i += SHORTS) {
    const Ints a = LOAD (strip->line + i), b = LOAD (strip->line + i + step);
    const Ints low = PAIRS_LOW (a, b), high = PAIRS_HIGH (a, b);

    STORE (strip->pairs + 2 * i, FIRST_PAIRS (low, high));
    STORE (strip->pairs + 2 * i + SHORTS, LAST_PAIRS (low, high));
  }
}

/* Sums n vectors of pairs of a row from sample i on, a constant number, and puts the sums in
 * pairs with those of the row above, into `to`. */
static inline __attribute__ ((always_inline)) void
sum_pairs (const Strip *strip, int16_t *to, int i, const int n)
{
  const RowsCodeTaps *codes = &strip->job->codes;
  const int apart = 4 * strip->job->step; /* of pairs: two taps */
  const __m128i shift = _mm_cvtsi32_si128 (codes->x_shift);
  const Ints half = SPREAD (codes->x_shift > 0 ? 1 << codes->x_shift >> 1 : 0);
  const int16_t *from = strip->pairs + 2 * i;
  Ints sum[MOST_AT_ONCE];

  for (int k = 0; k < n; k++)
    sum[k] = half;
  for (int p = 0; p < codes->x_pairs; p++, from += apart) {
    const Ints taps = SPREAD (codes->x[p]);

    for (int k = 0; k < n; k++)
      sum[k] = ADD_PRODUCTS (sum[k], LOAD (from + k * SHORTS), taps);
  }
  /* In the order that PACK() gives, which PAIRS_LOW() and PAIRS_HIGH() undo. */
  for (int k = 0; k < n; k += 2) {
    int16_t *last = strip->last + i + k / 2 * SHORTS;
    const Ints above = LOAD (last);
    const Ints here = PACK (SHIFT (sum[k], shift), SHIFT (sum[k + 1], shift));

    STORE (last, here);
    STORE (to + 2 * i + k * SHORTS, PAIRS_LOW (above, here));
    STORE (to + 2 * i + (k + 1) * SHORTS, PAIRS_HIGH (above, here));
  }
}

static void
sum_line (const Strip *strip, int16_t *to)
{
  int i = 0;

  for (; i + MOST_AT_ONCE * SUMS <= strip->padded; i += MOST_AT_ONCE * SUMS)
    sum_pairs (strip, to, i, MOST_AT_ONCE);
  for (; i < strip->padded; i += SUMS_AT_ONCE)
    sum_pairs (strip, to, i, 4);
}

static void
write_codes (const Strip *strip, uint8_t *row, int i, const Ints *sum)
{
  const RowsJob *job = strip->job;
  const __m128i shift = _mm_cvtsi32_si128 (job->codes.y_shift);
  uint8_t bytes[SUMS_AT_ONCE];
  Ints code[4];

  for (int k = 0; k < 4; k++)
    code[k] = SHIFT (sum[k], shift);
  if (job->distance == 1 && i + SUMS_AT_ONCE <= strip->n) {
    store_bytes (row + i, code[0], code[1], code[2], code[3]);
    return;
  }
  store_bytes (bytes, code[0], code[1], code[2], code[3]);
  for (int k = 0; k < SUMS_AT_ONCE && i + k < strip->n; k++)
    row[(ptrdiff_t) (i + k) * job->distance] = bytes[k];
}

/* Writes a row of the result, and the second one below it if that is not NULL: they have all
 * pairs of rows in common but one each. rows[0] is the last of the lower row, rows[1] that of
 * the upper one. */
static void
write_rows (const Strip *strip, const int16_t *const *rows, uint8_t *upper,
    uint8_t *lower)
{
  const RowsCodeTaps *codes = &strip->job->codes;
  const int n = codes->y_pairs;

  for (int i = 0; i < strip->padded; i += SUMS_AT_ONCE) {
    Ints above[4], below[4];

    for (int k = 0; k < 4; k++)
      above[k] = below[k] = LOAD (strip->start + i + k * SUMS);
    if (lower != NULL) {
      Ints taps = SPREAD (codes->y[0]);

      for (int k = 0; k < 4; k++)
        below[k] =
            ADD_PRODUCTS (below[k], LOAD (rows[0] + 2 * i + k * SHORTS), taps);
      for (int p = 1; p < n; p++) {
        const Ints next = SPREAD (codes->y[p]);

        for (int k = 0; k < 4; k++) {
          const Ints pair = LOAD (rows[p] + 2 * i + k * SHORTS);

          above[k] = ADD_PRODUCTS (above[k], pair, taps);
          below[k] = ADD_PRODUCTS (below[k], pair, next);
        }
        taps = next;
      }
      for (int k = 0; k < 4; k++)
        above[k] =
            ADD_PRODUCTS (above[k], LOAD (rows[n] + 2 * i + k * SHORTS), taps);
      write_codes (strip, lower, i, below);
    } else {
      for (int p = 0; p < n; p++)
        for (int k = 0; k < 4; k++)
          above[k] = ADD_PRODUCTS (above[k],
              LOAD (rows[p + 1] + 2 * i + k * SHORTS), SPREAD (codes->y[p]));
    }
    write_codes (strip, upper, i, above);
  }
}

/* The next row of the window, v, becomes sums in the ring. */
static void
take_row (const Strip *strip, int v, int slot)
{
  const RowsJob *job = strip->job;
  const int y = border_index (v, job->height, job->border);

  if (y >= 0)
    read_line (strip, job->src + y * job->src_stride);
  else
    fill_line (strip);
  pair_line (strip);
  sum_line (strip, strip->ring + 2 * (ptrdiff_t) slot * strip->padded);
}

/* Rows [first, last) of the result, by fours: the first and the third together, and the
 * second and the fourth. */
static void
march (const Strip *strip, int first, int last)
{
  const RowsJob *job = strip->job;
  const int n = job->y->n, slots = n + EXTRA_ROWS;
  const ptrdiff_t begin = (ptrdiff_t) strip->begin * job->distance;
  const int top = first - n / 2; /* of the window of row `first` */
  int taken = 0;                 /* rows of the window */

  for (int y = first; y < last; y += 4) {
    const int rows_here = min_int (4, last - y);

    for (; taken < y - first + rows_here + n - 1; taken++)
      take_row (strip, top + taken, taken % slots);
    for (int i = 0; i < min_int (2, rows_here); i++) {
      const int at = y - first + i + n - 1; /* last row of the upper window */
      const int16_t *rows[ROWS_MAX_CODE_TAPS / 2 + 2];
      uint8_t *upper = job->dst + (y + i) * job->dst_stride + begin;

      for (int p = 0; p <= job->codes.y_pairs; p++)
        rows[p] = strip->ring
            + 2 * (ptrdiff_t) ((at + 2 - 2 * p + slots) % slots)
                * strip->padded;
      write_rows (strip, rows, upper,
          i + 2 < rows_here ? upper + 2 * job->dst_stride : NULL);
    }
  }
}

/* A WorkersJob. */
static void
filter_codes_bands (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;
  uint8_t *memory =
      job->state->strips + (size_t) worker * job->state->strip_bytes;

  for (int item = first; item < last; item++) {
    const int band = item % job->bands;
    const int top = (int) ((int64_t) job->height * band / job->bands);
    const int bottom = (int) ((int64_t) job->height * (band + 1) / job->bands);
    const int line =
        job->slab + (ROWS_MAX_CODE_TAPS + 2) * job->step + ROWS_RUN;
    Strip strip = { .job = job, .begin = item / job->bands * job->slab };

    strip.n = min_int (job->n_samples - strip.begin, job->slab);
    strip.padded = (strip.n + SUMS_AT_ONCE - 1) / SUMS_AT_ONCE * SUMS_AT_ONCE;
    strip.ring = (int16_t *) memory;
    strip.start = (int32_t *) (strip.ring
        + 2 * (size_t) (job->y->n + EXTRA_ROWS) * (size_t) strip.padded);
    strip.last = (int16_t *) (strip.start + strip.padded);
    strip.line = strip.last + strip.padded;
    strip.pairs = strip.line + line;
    for (int i = 0, c = strip.begin % job->step; i < strip.padded; i++) {
      strip.start[i] = job->codes.start[c];
      c = c + 1 == job->step ? 0 : c + 1;
    }
    memset (strip.last, 0, sizeof *strip.last * (size_t) strip.padded);
    march (&strip, top, bottom);
    rows_copy_kept (job, top, bottom, strip.begin, strip.n);
  }
}
