/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-lines: sums of samples of up to 12 bits, for the including files. Samples and taps are
 * 16-bit integers; one instruction adds two products to a 32-bit sum. See RowsCodeTaps.
 *
 * Each strip of columns is processed from top to bottom, ROWS_AT_ONCE rows of the result at a
 * time. Columns are summed first: each sample is read from the frame together with the one
 * below it, and this pair goes to the sums of all those rows. The sums become 16-bit lines,
 * which stay in the first-level cache. In a line, pixels lie in pairs, with a channel's two
 * samples side by side: the pair that lies p pairs further on meets taps 2 p and 2 p + 1 of a
 * pair's first pixel, and taps 2 p - 1 and 2 p of its second pixel. */
#include "rows-vectors.h"

/* Rows of the result at a time: as many as 16 or 32 registers allow. */
#define ROWS_AT_ONCE (VECTOR_BYTES == 64 ? 8 : 4)
/* Vectors of pairs of pixels at a time: one ADD_PRODUCTS() has a latency of several cycles. */
#define PAIRS_AT_ONCE (VECTOR_BYTES == 64 ? 4 : 2)

_Static_assert(ROWS_AT_ONCE <= ROWS_MAX_AT_ONCE, "memory for fewer rows");

/* Pairs of rows of a window: at least so many that no pair with which some windows begin is one
 * with which others end. */
static inline int
window_pairs (const RowsCodeTaps *codes)
{
  return codes->y_pairs < ROWS_AT_ONCE / 2 - 1 ? ROWS_AT_ONCE / 2 - 1
                                               : codes->y_pairs;
}

/* Rows of the union of the windows of ROWS_AT_ONCE rows of the result. */
static inline int
window_rows (const RowsCodeTaps *codes)
{
  return 2 * window_pairs (codes) - 2 + ROWS_AT_ONCE;
}

/* A strip in progress. Its lines begin with the sample that the first tap of its first pixel
 * takes. */
typedef struct
{
  const RowsJob *job;
  RowsStrip *memory;
  int begin, n; /* samples of the result */
  /* Sample of the row that lines begin with; < 0: before its first one. */
  int origin;
  int length; /* samples of a line, a multiple of SHORTS */
  /* The first `left` samples of a line are copied to `edges`, the next `middle` samples are
   * read in place, and the rest is copied, too. */
  int left, middle;
  /* Row of the picture with which the first window begins, and how many rows from there on have
   * been copied to `edges`. */
  int first, taken;
  /* Rows of the current windows, and rows that the next windows add: their copied edges, and
   * the samples that are read in place. */
  const uint8_t *edges[ROWS_MAX_WINDOWS], *inside[ROWS_MAX_WINDOWS];
} Strip;

/* Copies sample i of a row; i < 0: the constant border's sample of channel -1 - i. */
static void
copy_edge (const RowsJob *job, uint8_t *to, const uint8_t *row, int i)
{
  const uint8_t *from = i < 0
      ? (const uint8_t *) &job->codes->border[-1 - i]
      : row + (ptrdiff_t) i * job->channel->sample_bytes;

  /* A call of memcpy() for each would take longer than all sums of a small picture. */
  to[0] = from[0];
  if (job->channel->sample_bytes == 2)
    to[1] = from[1];
}

/* Copies samples [k, end) of a line, of the row `row` of the picture. */
static void
copy_samples (
    const Strip *strip, uint8_t *to, const uint8_t *row, int k, int end)
{
  const RowsJob *job = strip->job;
  const int bytes = job->channel->sample_bytes;
  const int before = job->x->n / 2 * job->step;
  const int after = (job->x->n - 1) * job->step - before;
  int i = strip->origin + k, n;

  end += strip->origin;
  for (; i < min_int (end, 0); i++, to += bytes)
    copy_edge (job, to, row, job->state->left[i + before]);
  n = min_int (end, job->n_samples) - i;
  if (n > 0) {
    memcpy (to, row + (ptrdiff_t) i * bytes, (size_t) n * (size_t) bytes);
    i += n;
    to += n * bytes;
  }
  for (; i < min_int (end, job->n_samples + after); i++, to += bytes)
    copy_edge (job, to, row, job->state->right[i - job->n_samples]);
  if (i < end)
    memset (to, 0, (size_t) (end - i) * (size_t) bytes); /* no tap takes them */
}

/* Copies the samples of row v of the window that are not read in place: those outside the
 * picture, and those whose vector would reach behind the row's end. */
static void
take_row (const Strip *strip, int v)
{
  const RowsJob *job = strip->job;
  const int bytes = job->channel->sample_bytes;
  const int y = border_index (strip->first + v, job->height, job->border);
  const int right = strip->left + strip->middle;
  uint8_t *to = strip->memory->edges[v % ROWS_MAX_WINDOW];

  if (y < 0) {
    const uint8_t *outside = strip->memory->outside;

    memcpy (to, outside, (size_t) (strip->left * bytes));
    memcpy (to + strip->left * bytes, outside + right * bytes,
        (size_t) ((strip->length - right) * bytes));
  } else {
    const uint8_t *row = job->src + y * job->src_stride;

    copy_samples (strip, to, row, 0, strip->left);
    copy_samples (strip, to + strip->left * bytes, row, right, strip->length);
  }
}

/* Address of the samples of row v of the window that are read in place. */
static const uint8_t *
samples_of_row (const Strip *strip, int v)
{
  const RowsJob *job = strip->job;
  const int bytes = job->channel->sample_bytes;
  const int y = border_index (strip->first + v, job->height, job->border);

  return y < 0 ? strip->memory->outside + strip->left * bytes
               : job->src + y * job->src_stride
          + (ptrdiff_t) (strip->origin + strip->left) * bytes;
}

/* Adds the products of two rows, one below the other, to the sums of rows [first, last). */
static inline __attribute__ ((always_inline)) void
add_rows (Ints (*sum)[2], const uint8_t *const *row, ptrdiff_t at,
    const SepconvChannel *channel, const int bytes, const int32_t *taps,
    const int first, const int last)
{
  Ints low, high;

  if (bytes == 1)
    pairs_of_rows (row[0] + at, row[1] + at, &low, &high);
  else
    pairs_of_long_rows (row[0] + at, row[1] + at, channel->shift, &low, &high);
  for (int j = first; j < last; j++) {
    const Ints tap = SPREAD (taps[-j]);

    sum[j][0] = ADD_PRODUCTS (sum[j][0], low, tap);
    sum[j][1] = ADD_PRODUCTS (sum[j][1], high, tap);
  }
}

/* Sums n columns, a multiple of SHORTS, for ROWS_AT_ONCE rows of the result. row[i] is the i-th
 * row of the union of their windows; the rows that the next windows add come after these. The
 * bytes of a sample are a constant. */
static inline __attribute__ ((always_inline)) void
sum_columns_of (const RowsJob *job, const uint8_t *const *row, int n,
    int16_t *to, const int bytes)
{
  const RowsCodeTaps *codes = job->codes;
  const int channels = job->step == 3 ? 1 : job->step;
  const int last = window_pairs (codes) - 1; /* of the first window */
  const int32_t *taps = codes->y + 1;
  const Ints shift = COUNT (codes->y_shift);
  Ints sum[ROWS_AT_ONCE][2];

#define ADD_ROWS(pair, begin, end) \
  add_rows (sum, row + 2 * (pair), (ptrdiff_t) i * bytes, job->channel, bytes, \
      taps + 2 * (pair), begin, end)
  for (int i = 0; i < n; i += SHORTS, to += SHORTS) {
    if (i * bytes % ROWS_CACHE_LINE == 0)
      for (int j = 0; j < ROWS_AT_ONCE; j++)
        rows_prefetch (row[window_rows (codes) + j] + i * bytes);
    for (int j = 0; j < ROWS_AT_ONCE; j++)
      sum[j][0] = sum[j][1] = SPREAD (codes->y_start);
    ADD_ROWS (0, 0, 2);
#if VECTOR_BYTES == 64
    ADD_ROWS (1, 0, 4);
    ADD_ROWS (2, 0, 6);
#endif
    for (int p = ROWS_AT_ONCE / 2 - 1; p <= last; p++)
      ADD_ROWS (p, 0, ROWS_AT_ONCE);
    ADD_ROWS (last + 1, 2, ROWS_AT_ONCE);
#if VECTOR_BYTES == 64
    ADD_ROWS (last + 2, 4, ROWS_AT_ONCE);
    ADD_ROWS (last + 3, 6, ROWS_AT_ONCE);
#endif
    for (int j = 0; j < ROWS_AT_ONCE; j++)
      STORE_SHORTS (to + j * ROWS_LINE,
          pairs_of_pixels (shorts_of_sums (SHIFT (sum[j][0], shift),
                               SHIFT (sum[j][1], shift), bytes),
              channels));
  }
#undef ADD_ROWS
}

static void
sum_columns (const RowsJob *job, const uint8_t *const *row, int n, int16_t *to)
{
  if (job->channel->sample_bytes == 1)
    sum_columns_of (job, row, n, to, 1);
  else
    sum_columns_of (job, row, n, to, 2);
}

/* Sums the columns of the lines of rows [y, y + ROWS_AT_ONCE). */
static void
sum_lines (Strip *strip, int y)
{
  const RowsJob *job = strip->job;
  const int top = y - job->y->n / 2 - strip->first;
  const int n = window_rows (job->codes);
  const int right = strip->left + strip->middle;
  int16_t *line = strip->memory->line[0];

  for (; strip->taken < top + n; strip->taken++)
    take_row (strip, strip->taken);
  for (int i = 0; i < n + ROWS_AT_ONCE; i++) {
    strip->edges[i] = strip->memory->edges[(top + i) % ROWS_MAX_WINDOW];
    strip->inside[i] = samples_of_row (strip, top + i);
  }
  sum_columns (job, strip->edges, strip->left, line);
  sum_columns (job, strip->inside, strip->middle, line + strip->left);
  for (int i = 0; i < n; i++)
    strip->edges[i] += strip->left * job->channel->sample_bytes;
  sum_columns (job, strip->edges, strip->length - right, line + right);
  if (job->step == 3)
    for (int j = 0; j < ROWS_AT_ONCE; j++)
      pair_threes (strip->memory->line[j], strip->length);
}

/* Sums n vectors of pairs of pixels, an even constant number. */
static inline __attribute__ ((always_inline)) void
sum_pairs (const RowsJob *job, const int16_t *line, const int32_t *start,
    Ints *pixels, const int n)
{
  const RowsCodeTaps *codes = job->codes;
  const Ints shift = COUNT (codes->x_shift);
  Ints first[PAIRS_AT_ONCE], second[PAIRS_AT_ONCE];

  for (int k = 0; k < n; k++)
    first[k] = second[k] = LOAD_SUMS (start + k * SUMS);
  for (int p = 0; p < codes->x_pairs; p++, line += 2 * job->step) {
    const Ints of_first = SPREAD (codes->x[2 * p + 1]);
    const Ints of_second = SPREAD (codes->x[2 * p]);

    for (int k = 0; k < n; k++) {
      const Ints pairs = LOAD_PAIRS (line + k * SHORTS);

      first[k] = ADD_PRODUCTS (first[k], pairs, of_first);
      second[k] = ADD_PRODUCTS (second[k], pairs, of_second);
    }
  }
  for (int k = 0; k < n; k++)
    pixels[k] = pixels_of_pairs (
        SHIFT (first[k], shift), SHIFT (second[k], shift), job->step);
}

/* Stores n vectors of samples, an even constant number, clamped to codes. */
static inline __attribute__ ((always_inline)) void
store_pixels (
    const SepconvChannel *channel, uint8_t *to, const Ints *pixels, const int n)
{
  if (channel->sample_bytes == 1)
    for (int k = 0; k < n; k += 2)
      store_bytes (to + k * SHORTS, pixels[k], pixels[k + 1]);
  else
    for (int k = 0; k < n; k++)
      store_codes (
          to + 2 * k * SHORTS, pixels[k], channel->max_code, channel->shift);
}

/* Writes samples [i, n) of a row of the result. */
static void
spread_samples (
    const RowsJob *job, uint8_t *row, const uint8_t *from, int i, int n)
{
  const int bytes = job->channel->sample_bytes;

  if (job->step == 3)
    for (; i < n; i++)
      memcpy (row + i * bytes, from + paired_three (i) * bytes, (size_t) bytes);
  else
    memcpy (row + i * bytes, from + i * bytes, (size_t) ((n - i) * bytes));
}

/* Finds which samples of the lines are read in place, and prepares the start values and the row
 * beyond a constant border. */
static void
begin_strip (Strip *strip)
{
  const RowsJob *job = strip->job;
  const int channel = strip->begin % job->step;
  const int reach = (job->x->n - 1) * job->step;

  strip->origin = strip->begin - job->x->n / 2 * job->step;
  strip->length = (strip->n + reach + SHORTS - 1) / SHORTS * SHORTS;
  strip->left = strip->origin < 0 ? -strip->origin : 0;
  strip->left = (strip->left + SHORTS - 1) / SHORTS * SHORTS;
  strip->left = min_int (strip->left, strip->length);
  strip->middle =
      min_int (strip->length, job->n_samples - strip->origin) - strip->left;
  strip->middle = strip->middle < 0 ? 0 : strip->middle / SHORTS * SHORTS;
  for (int i = 0, c = channel; i < ROWS_STARTS (strip->n); i++) {
    strip->memory->start[i] = job->codes->start[c];
    c = c + 1 == job->step ? 0 : c + 1;
  }
  /* A line begins a whole number of pixels left of the strip, so with the same channel. */
  for (int i = 0, c = channel; i < strip->length; i++) {
    memcpy (strip->memory->outside + i * job->channel->sample_bytes,
        &job->codes->border[c], (size_t) job->channel->sample_bytes);
    c = c + 1 == job->step ? 0 : c + 1;
  }
}
