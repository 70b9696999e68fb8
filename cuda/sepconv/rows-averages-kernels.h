/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of rows-kernels.h for blurs, and with SHARPENS that of terms-kernels.h for what is left
 * of a picture without its blur: see rows-averages.h. There is none for 64-bit Arm, which takes as
 * many instructions for a high half as for two products.
 *
 * A strip of columns is marched down, AVERAGED_ROWS rows of the result at a time, as in
 * rows-lines.h. What lies beyond the ends of a row is put into the lines of sums: a column there
 * is a copy of a column of the picture. */
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

/* Rows of the result at a time: with eight, sums no longer stay in registers. */
#define AVERAGED_ROWS 4
/* Vectors of a row of the result at a time. */
#define AVERAGED_VECTORS 4
/* Radii that have loops of their own, whose taps stay in registers. */
#define AVERAGED_CONSTANT_RADII 3

_Static_assert(ROWS_AVERAGES_NEAR % AVERAGED_ROWS == 0, "rows in turn");
_Static_assert(ROWS_MAX_AT_ONCE % AVERAGED_ROWS == 0, "bands of whole groups");
_Static_assert(2 * SHORTS <= ROWS_RUN, "rows of a pair of vectors");
_Static_assert(AVERAGED_CONSTANT_RADII < ROWS_AVERAGES_NEAR, "none are far");

/* Samples that fill 16 bits, of codes in two bytes: times `up`, without what `mask` lacks. */
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

/* A window of rows around each of AVERAGED_ROWS rows of the result, and their sums. At distance
 * i, row j's own two samples are upper[(j - i) mod AVERAGED_ROWS] and lower[(j + i) mod
 * AVERAGED_ROWS]: from one distance to the next, only one of each is another one. */
typedef struct
{
  Ints upper[AVERAGED_ROWS], lower[AVERAGED_ROWS], sum[AVERAGED_ROWS];
} AveragedWindow;

/* Adds the rows at a distance, of which only the remainder k has to be a constant. */
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
}

/* Takes the sums of near rows away, or puts them to those of far ones. */
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

/* The sums of a vector of columns, `at` bytes from where the rows of the window begin. */
static inline __attribute__ ((always_inline)) void
average_column (const RowsAveragesTaps *taps, const uint8_t *const *row,
    ptrdiff_t at, Widening widening, AveragedWindow *window, const int radius,
    const int bytes)
{
  Ints near[AVERAGED_ROWS];
  int i = 1;

#define WIDENED(y) load_widened (row[y] + at, widening, bytes)
#define ADD_DISTANCE(i, k) \
  add_distance (window, WIDENED (radius - (i)), \
      WIDENED (radius + AVERAGED_ROWS - 1 + (i)), taps->tap[i], k)
  for (int j = 0; j < AVERAGED_ROWS; j++) {
    window->upper[j] = window->lower[j] = WIDENED (radius + j);
    window->sum[j] = HIGH_HALVES (window->upper[j], SPREAD (taps->tap[0]));
    near[j] = SPREAD (0);
  }
  for (; i + AVERAGED_ROWS - 1 <= radius; i += AVERAGED_ROWS) {
    if (radius > AVERAGED_CONSTANT_RADII && i == taps->near)
      set_aside (window->sum, near, AVERAGED_ROWS);
    for (int k = 0; k < AVERAGED_ROWS; k++)
      ADD_DISTANCE (i + k, k + 1);
  }
  if (radius > AVERAGED_CONSTANT_RADII && i == taps->near && i <= radius)
    set_aside (window->sum, near, AVERAGED_ROWS);
  for (int k = 0; k < AVERAGED_ROWS - 1; k++) {
    if (i + k > radius)
      break;
    ADD_DISTANCE (i + k, k + 1);
  }
  if (radius > AVERAGED_CONSTANT_RADII && taps->near <= radius)
    add_near (window->sum, near, taps->far_bits, AVERAGED_ROWS);
#undef ADD_DISTANCE
#undef WIDENED
}

/* Sums n columns, SHORTS or more, for AVERAGED_ROWS rows of the result: row[i] is the i-th row of
 * their windows together, behind which are those that are new to the next ones. */
static inline __attribute__ ((always_inline)) void
average_columns_of (const RowsJob *job, const uint8_t *const *row, int n,
    int16_t *line, const int radius, const int bytes)
{
  const Widening widening = widening_of (job);

  /* The last vector is a whole one, too. */
  for (int x = 0; x < n; x += SHORTS) {
    const int from = min_int (x, n - SHORTS);
    AveragedWindow window;

    if (x * bytes % ROWS_CACHE_LINE == 0)
      for (int j = 0; j < AVERAGED_ROWS; j++)
        rows_prefetch (row[2 * radius + AVERAGED_ROWS + j] + x * bytes);
    average_column (&job->averages->y, row, (ptrdiff_t) from * bytes, widening,
        &window, radius, bytes);
    for (int j = 0; j < AVERAGED_ROWS; j++)
      STORE_SHORTS (line + j * ROWS_LINE + from, window.sum[j]);
  }
}

/* n vectors of sums of rows, to which the line's samples next to each other belong. */
static inline __attribute__ ((always_inline)) void
average_rows (const RowsJob *job, const int16_t *line, Ints *sum, const int n,
    const int radius)
{
  const RowsAveragesTaps *taps = &job->averages->x;
  const Ints bias = SPREAD ((int32_t) (job->averages->bias * 0x10001u));
  const int step = job->step;
  Ints near[AVERAGED_VECTORS];

  for (int k = 0; k < n; k++) {
    sum[k] = HIGH_HALVES (LOAD (line + k * SHORTS), SPREAD (taps->tap[0]));
    near[k] = SPREAD (0);
  }
  for (int i = 1; i <= radius; i++) {
    const Ints weight = SPREAD (taps->tap[i]);

    if (radius > AVERAGED_CONSTANT_RADII && i == taps->near)
      set_aside (sum, near, n);
    for (int k = 0; k < n; k++)
      sum[k] = ADD_SHORTS (sum[k],
          HIGH_HALVES (AVERAGE (LOAD (line + k * SHORTS - i * step),
                           LOAD (line + k * SHORTS + i * step)),
              weight));
  }
  if (radius > AVERAGED_CONSTANT_RADII && taps->near <= radius)
    add_near (sum, near, taps->far_bits, n);
  for (int k = 0; k < n; k++)
    sum[k] = ADD_SHORTS (sum[k], bias);
}

#ifdef SHARPENS
/* Makes n vectors of samples of their blurs. */
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
        ADD_WITHIN (
            ADD_WITHIN (SHIFT_UNSIGNED (in, to_fraction), added), half),
        down);
  }
}
#endif

/* Writes n vectors of samples, an even constant number; `from`: those of the picture. */
static inline __attribute__ ((always_inline)) void
write_averages (const RowsJob *job, const int16_t *line, const uint8_t *from,
    uint8_t *to, const int n, const int radius, const int bytes)
{
  Ints sum[AVERAGED_VECTORS];

  average_rows (job, line, sum, n, radius);
#ifdef SHARPENS
  (void) bytes; /* one */
  sharpen (job, from, sum, n);
  for (int k = 0; k < n; k += 2)
    store_bytes (to + k * SHORTS, sum[k], sum[k + 1]);
#else
  (void) from;
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

/* Writes n samples, two vectors or more, of a row of the result from its line. */
static inline __attribute__ ((always_inline)) void
write_averaged_row_of (const RowsJob *job, const int16_t *line,
    const uint8_t *from, uint8_t *to, int n, const int radius, const int bytes)
{
  int i = 0;

  for (; i + AVERAGED_VECTORS * SHORTS <= n; i += AVERAGED_VECTORS * SHORTS)
    write_averages (job, line + i, from + i * bytes, to + i * bytes,
        AVERAGED_VECTORS, radius, bytes);
  for (; i + 2 * SHORTS <= n; i += 2 * SHORTS)
    write_averages (
        job, line + i, from + i * bytes, to + i * bytes, 2, radius, bytes);
  /* The last vectors are whole ones, too. */
  if (i < n) {
    i = n - 2 * SHORTS;
    write_averages (
        job, line + i, from + i * bytes, to + i * bytes, 2, radius, bytes);
  }
}

/* Calls a function with a constant radius, if that has loops of its own, and constant bytes. */
#define WITH_RADIUS(function, radius, bytes, ...) \
  switch (radius) { \
    case 1: \
      function (__VA_ARGS__, 1, bytes); \
      break; \
    case 2: \
      function (__VA_ARGS__, 2, bytes); \
      break; \
    case 3: \
      function (__VA_ARGS__, 3, bytes); \
      break; \
    default: \
      function (__VA_ARGS__, radius, bytes); \
  }

static void
average_columns (
    const RowsJob *job, const uint8_t *const *row, int n, int16_t *line)
{
  const int radius = job->averages->y.radius;

  if (job->channel->sample_bytes == 1)
    WITH_RADIUS (average_columns_of, radius, 1, job, row, n, line)
  else
    WITH_RADIUS (average_columns_of, radius, 2, job, row, n, line)
}

static void
write_averaged_row (const RowsJob *job, const int16_t *line,
    const uint8_t *from, uint8_t *to, int n)
{
  const int radius = job->averages->x.radius;

  if (job->channel->sample_bytes == 1)
    WITH_RADIUS (write_averaged_row_of, radius, 1, job, line, from, to, n)
  else
    WITH_RADIUS (write_averaged_row_of, radius, 2, job, line, from, to, n)
}
#undef WITH_RADIUS

/* A strip on its way down. */
typedef struct
{
  const RowsJob *job;
  RowsStrip *memory;
  int begin, n;        /* samples of the result */
  int from, to;        /* those of the picture whose columns are summed */
  int n_left, n_right; /* that taps reach beyond the ends of a row */
  /* Which sample of the line, from that of `begin` on, stands for each of these; or -1 less the
   * channel whose border value does, if the border is constant. */
  int left[ROWS_AVERAGES_RADIUS * IMAGE_MAX_CHANNELS];
  int right[ROWS_AVERAGES_RADIUS * IMAGE_MAX_CHANNELS];
} AveragedStrip;

/* Where the sample of `begin` is in a line: before it are those that taps reach, and with them
 * a whole vector. */
#define AVERAGED_BEGIN \
  (ROWS_AVERAGES_RADIUS * IMAGE_MAX_CHANNELS + VECTOR_BYTES / 2)

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
  /* Whole vectors. */
  strip->from = max_int (min_int (strip->from, strip->to - SHORTS), 0);
  if (constant)
    for (int i = strip->from; i < strip->to; i++)
      memcpy (strip->memory->outside
              + (i - strip->from) * job->channel->sample_bytes,
          &job->averages->border[i % job->step],
          (size_t) job->channel->sample_bytes);
}

/* Fills what lies beyond the ends of a row into its line, whose `begin` is at `line`. */
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

/* Filters rows [y, y + AVERAGED_ROWS) of the result, as far as they are below `bottom`. */
static void
filter_averaged_rows (const AveragedStrip *strip, int y, int bottom)
{
  const RowsJob *job = strip->job;
  const int bytes = job->channel->sample_bytes;
  const uint8_t *row[2 * ROWS_AVERAGES_RADIUS + 2 * AVERAGED_ROWS];
  int16_t *line = strip->memory->line[0] + AVERAGED_BEGIN;

  for (int i = 0; i < job->y->n - 1 + 2 * AVERAGED_ROWS; i++) {
    const int from =
        border_index (y - job->y->n / 2 + i, job->height, job->border);

    row[i] = from < 0
        ? strip->memory->outside
        : job->src + from * job->src_stride + (ptrdiff_t) strip->from * bytes;
  }
  average_columns (
      job, row, strip->to - strip->from, line + (strip->from - strip->begin));
  for (int j = 0; j < min_int (AVERAGED_ROWS, bottom - y); j++) {
    fill_averaged_edges (strip, line + j * ROWS_LINE);
    write_averaged_row (job, line + j * ROWS_LINE,
        job->src + (y + j) * job->src_stride + (ptrdiff_t) strip->begin * bytes,
        job->dst + (y + j) * job->dst_stride + (ptrdiff_t) strip->begin * bytes,
        strip->n);
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
    for (int y = top; y < bottom; y += AVERAGED_ROWS)
      filter_averaged_rows (&strip, y, bottom);
    rows_copy_kept (job, top, bottom, strip.begin, strip.n);
  }
}

/* Products in pairs catch up where one instruction adds them, but not with three channels. */
static const RowsAveragesKernels averages_kernels = {
  .filter = filter_averages_bands,
#ifdef __AVX512VNNI__
  .most_taps = 27,
#else
  .most_taps = 2 * ROWS_AVERAGES_RADIUS + 1,
#endif
  .most_taps_of_three = 2 * ROWS_AVERAGES_RADIUS + 1,
};
