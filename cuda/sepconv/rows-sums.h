/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The passes of rows-kernels.h for one type of sums: the includer defines SUM and
 * NAME(). Loops over ROWS_RUN samples have a constant length, so that the compiler
 * keeps them in vector registers.
 *
 * clang-format does not see that NAME (x) (...) is one function. */
/* clang-format off */

static void
NAME (load_taps) (void *taps, const Taps *from)
{
  SUM *to = taps;

  for (int i = 0; i < from->n; i++)
    to[i] = (SUM) from->tap[i];
}

/* A code, less the center. */
static inline SUM
NAME (read_code) (const uint8_t *at, int bytes, int shift, SUM center)
{
  return (SUM) (image_read_raw (at, bytes) >> shift) - center;
}

/* Reads n of them. */
static void
NAME (unpack) (SUM *line, const uint8_t *row, const SepconvChannel *channel,
    ptrdiff_t distance, int n)
{
  const SUM center = (SUM) channel->center;
  const int bytes = channel->sample_bytes, shift = channel->shift;

  if (bytes == 1 && distance == 1)
    for (int k = 0; k < n; k++)
      line[k] = NAME (read_code) (row + k, 1, shift, center);
  else if (bytes == 2 && distance == 2)
    for (int k = 0; k < n; k++)
      line[k] = NAME (read_code) (row + 2 * (ptrdiff_t) k, 2, shift, center);
  else
    for (int k = 0; k < n; k++)
      line[k] = NAME (read_code) (row + k * distance, bytes, shift, center);
}

/* A vector of sums, wherever they lie. */
typedef SUM NAME (Vector)
    __attribute__ ((vector_size (VECTOR_BYTES), aligned (sizeof (SUM)), may_alias));

/* out[k] = sum over i of taps[i] * in[k], k in [0, ROWS_RUN), where in_address is the
 * address of `in` for tap i. */
#define SUM_RUN(out, n_taps, tap_values, in_address) \
  do { \
    enum { N = ROWS_RUN * sizeof (SUM) / sizeof (NAME (Vector)) }; \
    NAME (Vector) *to = (NAME (Vector) *) (out); \
    for (int part = 0; part < N; part += AT_ONCE) { \
      NAME (Vector) total[AT_ONCE] = { 0 }; \
      for (int first = 0; first < (n_taps); first += SEPCONV_SUM_BLOCK) { \
        const int last = first + SEPCONV_SUM_BLOCK < (n_taps) \
            ? first + SEPCONV_SUM_BLOCK : (n_taps); \
        NAME (Vector) block[AT_ONCE] = { 0 }; \
        for (int i = first; i < last; i++) { \
          const SUM tap = (tap_values)[i]; \
          const NAME (Vector) *in = \
              (const NAME (Vector) *) (in_address) + part; \
          for (int k = 0; k < AT_ONCE; k++) \
            block[k] += tap * in[k]; \
        } \
        for (int k = 0; k < AT_ONCE; k++) \
          total[k] += block[k]; \
      } \
      for (int k = 0; k < AT_ONCE; k++) \
        to[part + k] = total[k]; \
    } \
  } while (0)

static void
NAME (sum_row) (SUM *out, const SUM *line, const SUM *taps, int n, int step,
    int n_samples)
{
  for (int x = 0; x < n_samples; x += ROWS_RUN)
    SUM_RUN (out + x, n, taps, line + x + i * step);
}

/* What stands for samples beyond a row's end. */
static void
NAME (fill_edge) (SUM *line, const uint8_t *row, const RowsJob *job,
    const int *index, int n)
{
  const SepconvChannel *channel = job->channel;
  const SUM center = (SUM) channel->center;

  for (int k = 0; k < n; k++)
    line[k] = index[k] < 0
        ? (SUM) channel[-1 - index[k]].border
        : NAME (read_code) (row + (ptrdiff_t) index[k] * job->distance,
              channel->sample_bytes, channel->shift, center);
}

/* Sums of all rows, of n samples from `begin` on. */
static void
NAME (row_pass) (const RowsJob *job, SUM *sums, SUM *line, int begin, int n)
{
  const int before = job->x->n / 2 * job->step;
  const int after = (job->x->n - 1) * job->step - before;
  const int first = begin - before, last = begin + n + after;
  const int from = first < 0 ? 0 : first, to = min_int (last, job->n_samples);

  for (int y = 0; y < job->height; y++) {
    const uint8_t *row = job->src + y * job->src_stride;

    if (first < 0)
      NAME (fill_edge) (line, row, job, job->state->left + (first + before),
          from - first);
    NAME (unpack) (line + (from - first),
        row + (ptrdiff_t) from * job->distance, job->channel, job->distance,
        to - from);
    NAME (fill_edge) (line + (to - first), row, job, job->state->right,
        last - to);
    NAME (sum_row) (sums + (size_t) y * (size_t) job->slab, line,
        job->state->taps_x, job->x->n, job->step, n);
  }
}

/* Rounds to the nearest code (ties to even), clamps, and stores. */
static void
NAME (pack) (uint8_t *row, const SUM *sums, const SUM *offsets,
    const SepconvChannel *channel, ptrdiff_t distance, int n)
{
  const SUM top = (SUM) channel->max_code;
  const int bytes = channel->sample_bytes, shift = channel->shift;
  int raw[ROWS_RUN];

  for (int k = 0; k < ROWS_RUN; k++) {
    SUM value = sums[k] + offsets[k];

    value = value < 0 ? 0 : value > top ? top : value;
    raw[k] = (int) (sizeof (SUM) == sizeof (float) ? rintf ((float) value)
                                                   : rint ((double) value))
        << shift;
  }
  if (bytes == 1 && distance == 1 && n == ROWS_RUN)
    for (int k = 0; k < ROWS_RUN; k++)
      image_write_raw (row + k, raw[k], 1);
  else if (bytes == 2 && distance == 2 && n == ROWS_RUN)
    for (int k = 0; k < ROWS_RUN; k++)
      image_write_raw (row + 2 * (ptrdiff_t) k, raw[k], 2);
  else
    for (int k = 0; k < n; k++)
      image_write_raw (row + k * distance, raw[k], bytes);
}

/* rows[i]: sums of the row that tap i weighs. */
static void
NAME (sum_column) (SUM *out, const SUM *const *rows, const SUM *taps, int n,
    int x)
{
  SUM_RUN (out, n, taps, rows[i] + x);
}

/* Codes of all rows, of n samples from `begin` on, from their sums: the rows that
 * neighbouring rows of the result share stay in the first-level cache. */
static void
NAME (column_pass) (const RowsJob *job, const SUM *sums, int begin, int n)
{
  const int n_taps = job->y->n, anchor = n_taps / 2;
  const SUM *offsets = (const SUM *) job->state->offsets + begin;
  const SUM *rows[COLUMN_ROWS + TAPS_MAX];

  for (int first = 0; first < job->height; first += COLUMN_ROWS) {
    const int last = min_int (first + COLUMN_ROWS, job->height);

    for (int i = 0; i < last - first + n_taps - 1; i++) {
      const int from =
          border_index (first + i - anchor, job->height, job->border);

      rows[i] = from < 0 ? (const SUM *) job->state->outside + begin
                         : sums + (size_t) from * (size_t) job->slab;
    }
    for (int x = 0; x < n; x += ROWS_RUN) {
      uint8_t *to = job->dst + (ptrdiff_t) (begin + x) * job->distance;

      for (int y = first; y < last; y++) {
        SUM out[ROWS_RUN];

        NAME (sum_column) (
            out, rows + (y - first), job->state->taps_y, n_taps, x);
        NAME (pack) (to + y * job->dst_stride, out, offsets + x, job->channel,
            job->distance, min_int (n - x, ROWS_RUN));
      }
    }
    rows_copy_kept (job, first, last, begin, n);
  }
}

static void
NAME (filter_slabs) (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;
  const RowsState *state = job->state;
  SUM *sums = (SUM *) (state->sums + (size_t) worker * state->sums_bytes);
  SUM *line = (SUM *) (state->lines + (size_t) worker * state->line_bytes);

  for (int i = first; i < last; i++) {
    const int begin = i * job->slab;
    const int n = min_int (job->n_samples - begin, job->slab);

    NAME (row_pass) (job, sums, line, begin, n);
    NAME (column_pass) (job, sums, begin, n);
  }
}

/* What all slabs read. */
static void
NAME (prepare) (const RowsJob *job)
{
  const int padded = (job->n_samples + job->slab - 1) / job->slab * job->slab;
  const double sum = taps_sum (job->x);
  SUM *offsets = job->state->offsets, *outside = job->state->outside;

  NAME (load_taps) (job->state->taps_x, job->x);
  NAME (load_taps) (job->state->taps_y, job->y);
  for (int i = 0, c = 0; i < padded; i++) {
    offsets[i] = (SUM) job->channel[c].offset;
    outside[i] = (SUM) (sum * job->channel[c].border);
    c = c + 1 == job->step ? 0 : c + 1;
  }
}

#undef SUM_RUN
