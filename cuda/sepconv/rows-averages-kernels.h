/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-averages-kernels: the inner loops of rows-averages.h for one instruction set: blurs for
 * rows-kernels.h and, with SHARPENS defined, sharpening for terms-kernels.h. 64-bit Arm has
 * none: there the high half of a product takes as many instructions as two products.
 *
 * Each strip of columns is processed from top to bottom, AVERAGED_ROWS rows of the result at a
 * time, as in rows-lines.h. Samples beyond the ends of a row are filled in after the vertical
 * pass, in its lines of sums: a column outside the picture has the same sum as the column that
 * it copies. */
#include "rows-averages.h"

#if VECTOR_BYTES == 64
#define AVERAGE(a, b) _mm512_avg_epu16 (a, b)
#define HIGH_HALVES(a, b) _mm512_mulhi_epu16 (a, b)
#define LOW_HALVES(a, b) _mm512_mullo_epi16 (a, b)
#define ADD_SHORTS(a, b) _mm512_add_epi16 (a, b)
#define SHIFT_SHORTS(a, bits) _mm512_srli_epi16 (a, bits)
#define AND(a, b) _mm512_and_si512 (a, b)
#define SUBTRACT_SHORTS(a, b) _mm512_sub_epi16 (a, b)
#define ADD_WITHIN(a, b) _mm512_adds_epi16 (a, b)
#define ROUNDED_PRODUCTS(a, b) _mm512_mulhrs_epi16 (a, b)
#define SHIFT_SIGNED(a, count) _mm512_sra_epi16 (a, count)
#define SHIFT_UNSIGNED(a, count) _mm512_srl_epi16 (a, count)
#define WHERE_ABOVE(a, b, c) \
  _mm512_maskz_mov_epi16 (_mm512_cmpgt_epi16_mask (a, b), c)
#define ABSOLUTE(a) _mm512_abs_epi16 (a)
#elif VECTOR_BYTES == 32
#define AVERAGE(a, b) _mm256_avg_epu16 (a, b)
#define HIGH_HALVES(a, b) _mm256_mulhi_epu16 (a, b)
#define LOW_HALVES(a, b) _mm256_mullo_epi16 (a, b)
#define ADD_SHORTS(a, b) _mm256_add_epi16 (a, b)
#define SHIFT_SHORTS(a, bits) _mm256_srli_epi16 (a, bits)
#define AND(a, b) _mm256_and_si256 (a, b)
#define SUBTRACT_SHORTS(a, b) _mm256_sub_epi16 (a, b)
#define ADD_WITHIN(a, b) _mm256_adds_epi16 (a, b)
#define ROUNDED_PRODUCTS(a, b) _mm256_mulhrs_epi16 (a, b)
#define SHIFT_SIGNED(a, count) _mm256_sra_epi16 (a, count)
#define SHIFT_UNSIGNED(a, count) _mm256_srl_epi16 (a, count)
#define WHERE_ABOVE(a, b, c) AND (_mm256_cmpgt_epi16 (a, b), c)
#define ABSOLUTE(a) _mm256_abs_epi16 (a)
#else
#define AVERAGE(a, b) _mm_avg_epu16 (a, b)
#define HIGH_HALVES(a, b) _mm_mulhi_epu16 (a, b)
#define LOW_HALVES(a, b) _mm_mullo_epi16 (a, b)
#define ADD_SHORTS(a, b) _mm_add_epi16 (a, b)
#define SHIFT_SHORTS(a, bits) _mm_srli_epi16 (a, bits)
#define AND(a, b) _mm_and_si128 (a, b)
#endif

/* Rows of the result at a time: the sums of eight would not stay in registers. */
#define AVERAGED_ROWS 4
/* Vectors of a row of the result at a time. */
#define AVERAGED_VECTORS 4
/* Radii 1 to this one have loops of their own, with a constant radius. */
#define AVERAGED_CONSTANT_RADII 3

_Static_assert(ROWS_AVERAGES_NEAR % AVERAGED_ROWS == 0, "rows in turn");
_Static_assert(ROWS_MAX_AT_ONCE % AVERAGED_ROWS == 0, "bands of whole groups");
_Static_assert(2 * SHORTS <= ROWS_RUN, "rows of a pair of vectors");
_Static_assert(AVERAGED_CONSTANT_RADII < ROWS_AVERAGES_NEAR, "none are far");

/* Forces four sums into registers here: else gcc delays the additions until the products occupy
 * all 16 registers. */
#if VECTOR_BYTES < 64
#define KEEP_FOUR(sum) \
  __asm__ volatile("" : "+x"(sum[0]), "+x"(sum[1]), "+x"(sum[2]), "+x"(sum[3]))
#else
#define KEEP_FOUR(sum) (void) 0
#endif
/* Forces two addresses into registers here: else gcc addresses each load relative to a third
 * pointer, and keeps all these distances in memory. */
#define KEEP_TWO(a, b) __asm__ volatile("" : "+r"(a), "+r"(b))
_Static_assert(
    AVERAGED_ROWS == 4 && AVERAGED_VECTORS == 4, "sums that KEEP_FOUR() has");

/* Kinds of taps of an axis; each kind has loops of its own. */
typedef enum
{
  AVERAGED_NEAR,
  AVERAGED_FAR, /* some are far */
  AVERAGED_SMOOTHED
} AveragedKind;

static inline AveragedKind
averaged_kind (const RowsAveragesTaps *taps)
{
  return taps->smoothed            ? AVERAGED_SMOOTHED
      : taps->near <= taps->radius ? AVERAGED_FAR
                                   : AVERAGED_NEAR;
}

/* Stands for the bytes of a sample in load_widened(): 16-bit intermediate values, which are
 * loaded unchanged. */
#define LINE_SAMPLES 0

/* Makes two-byte samples fill 16 bits: they are multiplied by `up` and then masked with `mask`. */
typedef struct
{
  Ints up, mask;
} Widening;

static inline Widening
widening_of (const RowsJob *job)
{
  const int depth = job->averages->depth;
  const uint32_t up = 1u << (16 - depth - job->channel->shift);
  const uint32_t mask = 0xffffu << (16 - depth) & 0xffffu;

  return (Widening){ SPREAD ((int32_t) (up * 0x10001u)),
    SPREAD ((int32_t) (mask * 0x10001u)) };
}

static inline __attribute__ ((always_inline)) Ints
load_widened (const uint8_t *from, Widening widening, const int bytes)
{
  if (bytes == LINE_SAMPLES)
    return LOAD (from);
  if (bytes == 2)
    return AND (LOW_HALVES (LOAD (from), widening.up), widening.mask);
#if VECTOR_BYTES == 64
  return _mm512_slli_epi16 (
      _mm512_cvtepu8_epi16 (_mm256_loadu_si256 ((const __m256i *) from)), 8);
#elif VECTOR_BYTES == 32
  return _mm256_shuffle_epi8 (
      _mm256_broadcastsi128_si256 (_mm_loadu_si128 ((const __m128i *) from)),
      _mm256_setr_epi8 (-1, 0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1, 6, -1, 7,
          -1, 8, -1, 9, -1, 10, -1, 11, -1, 12, -1, 13, -1, 14, -1, 15));
#else
  return _mm_unpacklo_epi8 (
      _mm_setzero_si128 (), _mm_loadl_epi64 ((const __m128i *) from));
#endif
}

/* A strip in progress. */
typedef struct
{
  const RowsJob *job;
  RowsStrip *memory;
  int begin, n;        /* samples of the result */
  int from, to;        /* samples of the picture whose columns are summed */
  int n_left, n_right; /* samples beyond the ends of a row that taps reach */
  /* For each of these samples, the one that stands for it, as an index in the line relative to
   * `begin`; with a constant border, -1 - channel for the channel's border value. */
  int left[ROWS_AVERAGES_RADIUS * IMAGE_MAX_CHANNELS];
  int right[ROWS_AVERAGES_RADIUS * IMAGE_MAX_CHANNELS];
  int pitch;  /* from one smoothed row to the next, in samples */
  bool keeps; /* some channels are not filtered */
} AveragedStrip;

/* Address of the strip's part of row y, or of the row that the border puts in its place. */
static inline const uint8_t *
averaged_source (const AveragedStrip *strip, int y)
{
  const RowsJob *job = strip->job;
  const int from = border_index (y, job->height, job->border);

  return from < 0 ? strip->memory->outside
                  : job->src + from * job->src_stride
          + (ptrdiff_t) strip->from * job->channel->sample_bytes;
}

/* Index of sample `begin` in a line. Before that sample, there is room for the samples that
 * taps reach and for a whole vector. */
#define AVERAGED_BEGIN \
  (ROWS_AVERAGES_RADIUS * IMAGE_MAX_CHANNELS + VECTOR_BYTES / 2)

/* A window of rows around each of AVERAGED_ROWS rows of the result, and their sums. At distance
 * i, row j's own two samples are upper[(j - i) mod AVERAGED_ROWS] and lower[(j + i) mod
 * AVERAGED_ROWS]: from one distance to the next, only one element of each array is replaced. */
typedef struct
{
  Ints upper[AVERAGED_ROWS], lower[AVERAGED_ROWS], sum[AVERAGED_ROWS];
} AveragedWindow;

/* Adds the rows `above` and `below` at the next distance. k is congruent to the distance modulo
 * AVERAGED_ROWS; only k must be a compile-time constant. */
static inline __attribute__ ((always_inline)) void
add_distance (
    AveragedWindow *window, Ints above, Ints below, int32_t tap, const int k)
{
  const Ints weight = SPREAD (tap);

  window->upper[(2 * AVERAGED_ROWS - k) % AVERAGED_ROWS] = above;
  window->lower[(AVERAGED_ROWS - 1 + k) % AVERAGED_ROWS] = below;
  for (int j = 0; j < AVERAGED_ROWS; j++)
    window->sum[j] = ADD_SHORTS (window->sum[j],
        HIGH_HALVES (
            AVERAGE (window->upper[(2 * AVERAGED_ROWS + j - k) % AVERAGED_ROWS],
                window->lower[(j + k) % AVERAGED_ROWS]),
            weight));
  KEEP_FOUR (window->sum);
}

/* set_aside() saves the sums of near rows and clears `sum` for the far ones; add_near() shifts
 * the far sums right by far_bits and adds the near ones. */
static inline __attribute__ ((always_inline)) void
set_aside (Ints *sum, Ints *near, const int n)
{
  for (int j = 0; j < n; j++) {
    near[j] = sum[j];
    sum[j] = SPREAD (0);
  }
}

static inline __attribute__ ((always_inline)) void
add_near (Ints *sum, const Ints *near, int far_bits, const int n)
{
  const Ints down = SPREAD ((int32_t) ((1u << (16 - far_bits)) * 0x10001u));

  for (int j = 0; j < n; j++)
    sum[j] = ADD_SHORTS (near[j], HIGH_HALVES (sum[j], down));
}

/* Largest radius whose taps fit into registers, beside sums and samples. */
#define AVERAGED_KEPT_RADII (VECTOR_BYTES == 64 ? AVERAGED_CONSTANT_RADII : 1)

/* Copies the taps of a small constant radius so that they stay in registers: the compiler must
 * assume that stores to a picture change taps in memory. Other taps are read from memory each
 * time. */
static inline __attribute__ ((always_inline)) const int32_t *
take_taps (const RowsAveragesTaps *taps,
    int32_t tap[AVERAGED_CONSTANT_RADII + 1], const int radius)
{
  if (radius > AVERAGED_KEPT_RADII)
    return taps->tap;
  for (int i = 0; i <= radius; i++)
    tap[i] = taps->tap[i];
  return tap;
}

/* Sums a vector of columns, `at` bytes from where the rows of the window begin. */
static inline __attribute__ ((always_inline)) void
average_column (const RowsAveragesTaps *taps, const int32_t *tap,
    const uint8_t *const *row, ptrdiff_t at, Widening widening,
    AveragedWindow *window, const int radius, const AveragedKind kind,
    const int bytes)
{
  Ints near[AVERAGED_ROWS];
  int i = 1;

#define WIDENED(y) load_widened (row[y] + at, widening, bytes)
#define ADD_DISTANCE(i, k) \
  add_distance (window, WIDENED (radius - (i)), \
      WIDENED (radius + AVERAGED_ROWS - 1 + (i)), tap[i], k)
  for (int j = 0; j < AVERAGED_ROWS; j++) {
    window->upper[j] = window->lower[j] = WIDENED (radius + j);
    window->sum[j] = HIGH_HALVES (window->upper[j], SPREAD (tap[0]));
    near[j] = SPREAD (0);
  }
  for (; i + AVERAGED_ROWS - 1 <= radius; i += AVERAGED_ROWS) {
    if (kind == AVERAGED_FAR && i == taps->near)
      set_aside (window->sum, near, AVERAGED_ROWS);
    for (int k = 0; k < AVERAGED_ROWS; k++)
      ADD_DISTANCE (i + k, k + 1);
  }
  if (kind == AVERAGED_FAR && i == taps->near && i <= radius)
    set_aside (window->sum, near, AVERAGED_ROWS);
  for (int k = 0; k < AVERAGED_ROWS - 1; k++) {
    if (i + k > radius)
      break;
    ADD_DISTANCE (i + k, k + 1);
  }
  if (kind == AVERAGED_FAR)
    add_near (window->sum, near, taps->far_bits, AVERAGED_ROWS);
#undef ADD_DISTANCE
#undef WIDENED
}

/* Sums n >= SHORTS columns for AVERAGED_ROWS rows of the result. row[i] is the i-th row of the
 * union of their windows; the rows that the next windows add come after these. */
static inline __attribute__ ((always_inline)) void
average_columns_of (const RowsJob *job, const uint8_t *const *row, int n,
    int16_t *line, const int radius, const AveragedKind kind, const int bytes)
{
  const Widening widening = widening_of (job);
  const RowsAveragesTaps *taps = &job->averages->y;
  int32_t few[AVERAGED_CONSTANT_RADII + 1];
  const int32_t *tap = take_taps (taps, few, radius);

  /* The last vector overlaps the one before it, so that it is whole, too. */
  for (int x = 0; x < n; x += SHORTS) {
    const int from = min_int (x, n - SHORTS);
    AveragedWindow window;

    if (x * bytes % ROWS_CACHE_LINE == 0)
      for (int j = 0; j < AVERAGED_ROWS; j++)
        rows_prefetch (row[2 * radius + AVERAGED_ROWS + j] + x * bytes);
    average_column (taps, tap, row, (ptrdiff_t) from * bytes, widening, &window,
        radius, kind, bytes);
    for (int j = 0; j < AVERAGED_ROWS; j++)
      STORE_SHORTS (line + j * ROWS_LINE + from, window.sum[j]);
  }
}

/* Sums n vectors along a row; the samples of neighbouring taps are `step` apart in the line. */
static inline __attribute__ ((always_inline)) void
average_rows (const RowsAveragesTaps *taps, const int32_t *tap,
    const int16_t *line, ptrdiff_t step, Ints *sum, const int n,
    const int radius, const AveragedKind kind)
{
  Ints near[AVERAGED_VECTORS];

  for (int k = 0; k < n; k++) {
    sum[k] = HIGH_HALVES (LOAD (line + k * SHORTS), SPREAD (tap[0]));
    near[k] = SPREAD (0);
  }
  for (int i = 1; i <= radius; i++) {
    const Ints weight = SPREAD (tap[i]);
    const int16_t *left = line - i * step, *right = line + i * step;

    if (kind == AVERAGED_FAR && i == taps->near)
      set_aside (sum, near, n);
    KEEP_TWO (left, right);
    for (int k = 0; k < n; k++)
      sum[k] = ADD_SHORTS (sum[k],
          HIGH_HALVES (
              AVERAGE (LOAD (left + k * SHORTS), LOAD (right + k * SHORTS)),
              weight));
  }
  if (kind == AVERAGED_FAR)
    add_near (sum, near, taps->far_bits, n);
}

#include "rows-smoothed-kernels.h"

#ifdef SHARPENS
/* Replaces n vectors of blurred samples by the sharpened ones. */
static inline __attribute__ ((always_inline)) void
sharpen (const RowsJob *job, const uint8_t *from, Ints *sum, const int n)
{
  const RowsSharpen *sharpen = &job->averages->sharpen;
  const __m128i down = _mm_cvtsi32_si128 (sharpen->fraction);
  const __m128i to_fraction = _mm_cvtsi32_si128 (8 - sharpen->fraction);
  const Ints amount = SPREAD (sharpen->amount);
  const Ints threshold = SPREAD (sharpen->threshold);
  const Ints half = SPREAD (sharpen->half);

  for (int k = 0; k < n; k++) {
    const Ints in = load_widened (from + k * SHORTS, widening_of (job), 1);
    const Ints difference =
        SUBTRACT_SHORTS (SHIFT_SHORTS (in, 1), SHIFT_SHORTS (sum[k], 1));
    const Ints added = ROUNDED_PRODUCTS (
        WHERE_ABOVE (ABSOLUTE (difference), threshold, difference), amount);

    sum[k] = SHIFT_SIGNED (
        ADD_WITHIN (ADD_WITHIN (SHIFT_UNSIGNED (in, to_fraction), added), half),
        down);
  }
}
#endif

/* Addresses for one row of the result. */
typedef struct
{
  const int16_t *line;
  const int16_t *smoothed; /* `line` smoothed; NULL: it is not smoothed */
  const uint8_t *from;     /* the row of the picture */
  uint8_t *to;
} AveragedRow;

/* Constants of the loop over a row. */
typedef struct
{
  AveragedRow row;
  const int32_t *tap;
  ptrdiff_t step;
  Ints bias;
} AveragedLoop;

/* Writes n vectors of samples from sample i on; n is an even constant. */
static inline __attribute__ ((always_inline)) void
write_averages (const RowsJob *job, const AveragedLoop *loop, ptrdiff_t i,
    const int n, const int radius, const AveragedKind kind, const int bytes)
{
  const RowsAveragesTaps *taps = &job->averages->x;
  const AveragedRow *row = &loop->row;
  uint8_t *to = row->to + i * bytes;
  Ints sum[AVERAGED_VECTORS];

  if (kind == AVERAGED_SMOOTHED) {
    average_rows (taps, loop->tap, row->smoothed + i,
        ROWS_SMOOTHED_STEP * loop->step, sum, n, radius, kind);
    add_edges (job, row->line + i, sum, n);
  } else {
    average_rows (
        taps, loop->tap, row->line + i, loop->step, sum, n, radius, kind);
  }
  for (int k = 0; k < n; k++)
    sum[k] = ADD_SHORTS (sum[k], loop->bias);
#ifdef SHARPENS
  (void) bytes; /* always 1 here */
  sharpen (job, row->from + i, sum, n);
  for (int k = 0; k < n; k += 2)
    store_bytes (to + k * SHORTS, sum[k], sum[k + 1]);
#else
  if (bytes == 1) {
    for (int k = 0; k < n; k += 2)
      store_bytes (to + k * SHORTS, SHIFT_SHORTS (sum[k], 8),
          SHIFT_SHORTS (sum[k + 1], 8));
  } else {
    const Ints down =
        SPREAD ((int32_t) ((1u << job->averages->depth) * 0x10001u));
    const Ints up = SPREAD ((int32_t) ((1u << job->channel->shift) * 0x10001u));

    for (int k = 0; k < n; k++)
      STORE (to + 2 * k * SHORTS, LOW_HALVES (HIGH_HALVES (sum[k], down), up));
  }
#endif
}

/* Writes n samples, two vectors or more, of a row of the result. */
static inline __attribute__ ((always_inline)) void
write_averaged_row_of (const RowsJob *job, const AveragedRow *row, int n,
    const int radius, const AveragedKind kind, const int bytes)
{
  int32_t few[AVERAGED_CONSTANT_RADII + 1];
  const AveragedLoop loop = { .row = *row,
    .tap = take_taps (&job->averages->x, few, radius),
    .step = job->step,
    .bias = SPREAD ((int32_t) (job->averages->bias * 0x10001u)) };
  ptrdiff_t i = 0;

  for (; i + AVERAGED_VECTORS * SHORTS <= n; i += AVERAGED_VECTORS * SHORTS)
    write_averages (job, &loop, i, AVERAGED_VECTORS, radius, kind, bytes);
  for (; i + 2 * SHORTS <= n; i += 2 * SHORTS)
    write_averages (job, &loop, i, 2, radius, kind, bytes);
  /* The last vectors overlap the ones before them, so that they are whole, too. */
  if (i < n)
    write_averages (job, &loop, n - 2 * SHORTS, 2, radius, kind, bytes);
}

/* Calls a function with constant `bytes`, and with a constant radius up to
 * AVERAGED_CONSTANT_RADII. */
#define WITH_RADIUS(function, radius, kind, bytes, ...) \
  switch (radius) { \
    case 1: \
      function (__VA_ARGS__, 1, kind, bytes); \
      break; \
    case 2: \
      function (__VA_ARGS__, 2, kind, bytes); \
      break; \
    case 3: \
      function (__VA_ARGS__, 3, kind, bytes); \
      break; \
    default: \
      function (__VA_ARGS__, radius, kind, bytes); \
  }

static void
average_columns (
    const RowsJob *job, const uint8_t *const *row, int n, int16_t *line)
{
  const int radius = job->averages->y.radius;
  const bool far = averaged_kind (&job->averages->y) == AVERAGED_FAR;

#define SUM(kind, bytes) \
  average_columns_of (job, row, n, line, radius, kind, bytes)
  if (far && job->channel->sample_bytes == 1)
    SUM (AVERAGED_FAR, 1);
  else if (far)
    SUM (AVERAGED_FAR, 2);
  else if (job->channel->sample_bytes == 1)
    WITH_RADIUS (
        average_columns_of, radius, AVERAGED_NEAR, 1, job, row, n, line)
  else
    WITH_RADIUS (
        average_columns_of, radius, AVERAGED_NEAR, 2, job, row, n, line)
#undef SUM
}

static void
write_averaged_row (const RowsJob *job, const AveragedRow *row, int n)
{
  const AveragedKind kind = averaged_kind (&job->averages->x);
  const int radius = job->averages->x.radius;

#define WRITE(kind, bytes) \
  write_averaged_row_of (job, row, n, radius, kind, bytes)
  if (kind == AVERAGED_SMOOTHED)
    WRITE (AVERAGED_SMOOTHED, 1);
  else if (kind == AVERAGED_FAR && job->channel->sample_bytes == 1)
    WRITE (AVERAGED_FAR, 1);
  else if (kind == AVERAGED_FAR)
    WRITE (AVERAGED_FAR, 2);
  else if (job->channel->sample_bytes == 1)
    WITH_RADIUS (write_averaged_row_of, radius, AVERAGED_NEAR, 1, job, row, n)
  else
    WITH_RADIUS (write_averaged_row_of, radius, AVERAGED_NEAR, 2, job, row, n)
#undef WRITE
}
#undef WITH_RADIUS

static void
begin_averaged_strip (AveragedStrip *strip, int begin, int end)
{
  const RowsJob *job = strip->job;
  const int reach = job->x->n / 2 * job->step;
  const bool constant = job->border == SEPCONV_CONSTANT;
  int before, behind;

  strip->begin = begin;
  strip->n = end - begin;
  before = begin - reach;
  behind = begin + strip->n + reach;
  strip->to = min_int (behind, job->n_samples);
  strip->from = max_int (before, 0);
  strip->n_left = strip->from - before;
  strip->n_right = behind - strip->to;
  for (int i = 0; i < strip->n_left; i++)
    strip->left[i] = rows_edge_index (job, before + i) - (constant ? 0 : begin);
  for (int i = 0; i < strip->n_right; i++)
    strip->right[i] =
        rows_edge_index (job, strip->to + i) - (constant ? 0 : begin);
  /* At least one whole vector. */
  strip->from = max_int (min_int (strip->from, strip->to - SHORTS), 0);
  strip->pitch = rows_smoothed_pitch (strip->to - strip->from);
  strip->keeps = rows_count_filtered (job) < job->step;
  if (constant)
    for (int i = strip->from; i < strip->to; i++)
      memcpy (strip->memory->outside
              + (i - strip->from) * job->channel->sample_bytes,
          &job->averages->border[i % job->step],
          (size_t) job->channel->sample_bytes);
}

/* Fills the samples of a line beyond the ends of the row. `line` points to sample `begin`. */
static void
fill_averaged_edges (const AveragedStrip *strip, int16_t *line)
{
  const RowsJob *job = strip->job;
  const int reach = job->x->n / 2 * job->step;

#define STANDS_FOR(i) \
  (job->border == SEPCONV_CONSTANT \
          ? (int16_t) job->averages->outside[-1 - (i)] \
          : line[i])
  for (int i = 0; i < strip->n_left; i++)
    line[i - reach] = STANDS_FOR (strip->left[i]);
  for (int i = 0; i < strip->n_right; i++)
    line[strip->to - strip->begin + i] = STANDS_FOR (strip->right[i]);
#undef STANDS_FOR
}

/* Sums the strip's columns of unsmoothed samples for AVERAGED_ROWS rows from y on. */
static void
sum_averaged_columns (const AveragedStrip *strip, int y, int16_t *line)
{
  const RowsJob *job = strip->job;
  const uint8_t *row[2 * ROWS_AVERAGES_RADIUS + 2 * AVERAGED_ROWS];

  for (int i = 0; i < job->y->n - 1 + 2 * AVERAGED_ROWS; i++)
    row[i] = averaged_source (strip, y - job->y->n / 2 + i);
  average_columns (job, row, strip->to - strip->from, line);
}

/* Writes row y of the result from the sums of columns in `line`. */
static void
finish_averaged_row (const AveragedStrip *strip, int y, int16_t *line)
{
  const RowsJob *job = strip->job;
  const ptrdiff_t begin = (ptrdiff_t) strip->begin * job->channel->sample_bytes;
  int16_t *smoothed = (int16_t *) strip->memory->samples + AVERAGED_BEGIN;
  const AveragedRow row = { .line = line,
    .smoothed = job->averages->x.smoothed ? smoothed : NULL,
    .from = job->src + y * job->src_stride + begin,
    .to = job->dst + y * job->dst_stride + begin };

  fill_averaged_edges (strip, line);
  if (row.smoothed != NULL)
    smooth_line (job, line, strip->n, smoothed);
  write_averaged_row (job, &row, strip->n);
  if (strip->keeps)
    rows_copy_kept (job, y, y + 1, strip->begin, strip->n);
}

/* Filters rows [top, bottom) of a strip. */
static void
filter_averaged_band (const AveragedStrip *strip, int top, int bottom)
{
  const bool smoothed = strip->job->averages->y.smoothed;
  const int rows = smoothed ? SMOOTHED_ROWS : AVERAGED_ROWS;
  int16_t *line = strip->memory->line[0] + AVERAGED_BEGIN;

  for (int y = top; y < bottom; y += rows) {
    if (smoothed)
      smooth_columns (strip, top, y, line + (strip->from - strip->begin));
    else
      sum_averaged_columns (strip, y, line + (strip->from - strip->begin));
    for (int j = 0; j < min_int (rows, bottom - y); j++)
      finish_averaged_row (strip, y + j, line + j * ROWS_LINE);
  }
}

/* A WorkersJob. */
static void
filter_averages_bands (void *user, int worker, int first, int last)
{
  const RowsAveragesRun *run = user;

  for (int i = first; i < last; i++) {
    int item = i;
    const RowsJob *job = rows_averages_job (run, &item);
    const int top = rows_averages_band (job, item % job->bands);
    const int bottom = rows_averages_band (job, item % job->bands + 1);
    AveragedStrip strip = { .job = job,
      .memory =
          (RowsStrip *) (run->strips + (size_t) worker * run->strip_bytes) };

    begin_averaged_strip (&strip, rows_averages_strip (job, item / job->bands),
        rows_averages_strip (job, item / job->bands + 1));
    filter_averaged_band (&strip, top, bottom);
  }
}

/* With VNNI, one instruction multiplies and adds pairs: products in pairs are faster for more
 * than most_taps, but not with three channels. */
static const RowsAveragesKernels averages_kernels = {
  .filter = filter_averages_bands,
#ifdef __AVX512VNNI__
  .most_taps = 27,
  .rival_taps = 45,
#else
  .most_taps = 2 * ROWS_AVERAGES_RADIUS + 1,
#endif
  .most_taps_of_three = 2 * ROWS_AVERAGES_RADIUS + 1,
};
