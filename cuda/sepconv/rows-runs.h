/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-runs: functions for filters with sums of floats or doubles. They unpack, sum and store
 * runs of ROWS_RUN samples. The including file defines SUM, NAME(), VECTOR_BYTES and AT_ONCE.
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

/* Reads n codes, less the center. */
static void
NAME (unpack) (
    SUM *line, const uint8_t *row, const SepconvChannel *channel, int n)
{
  const SUM center = (SUM) channel->center;
  const int bytes = channel->sample_bytes, shift = channel->shift;

  if (bytes == 1)
    for (int k = 0; k < n; k++)
      line[k] = NAME (read_code) (row + k, 1, shift, center);
  else
    for (int k = 0; k < n; k++)
      line[k] = NAME (read_code) (row + 2 * (ptrdiff_t) k, 2, shift, center);
}

/* A vector of sums at any alignment of SUM. */
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

/* Fills n samples beyond a row's end; index[k] is the rows_edge_index() of sample k. */
static void
NAME (fill_edge) (SUM *line, const uint8_t *row, const RowsJob *job,
    const int *index, int n)
{
  const SepconvChannel *channel = job->channel;
  const SUM center = (SUM) channel->center;

  for (int k = 0; k < n; k++)
    line[k] = index[k] < 0
        ? (SUM) channel[-1 - index[k]].border
        : NAME (read_code) (row + (ptrdiff_t) index[k] * channel->sample_bytes,
              channel->sample_bytes, channel->shift, center);
}

/* Loads samples [first, last) of a row, some of which may lie beyond its ends. `left` and
 * `right` are the rows_edge_index() of these, from sample -before on and from sample n_samples
 * on. */
static void
NAME (load_line) (SUM *line, const uint8_t *row, const RowsJob *job,
    const int *left, int before, const int *right, int first, int last)
{
  const int from = first < 0 ? 0 : first, to = min_int (last, job->n_samples);

  if (first < 0)
    NAME (fill_edge) (line, row, job, left + (first + before), from - first);
  NAME (unpack) (line + (from - first),
      row + (ptrdiff_t) from * job->channel->sample_bytes, job->channel,
      to - from);
  NAME (fill_edge) (line + (to - first), row, job, right, last - to);
}

/* Rounds values to the nearest code (ties to even), clamps them, and stores n of them. */
static void
NAME (store_run) (uint8_t *row, const SUM *values,
    const SepconvChannel *channel, int n)
{
  /* A sum with this keeps no fraction; not every instruction set has instructions that round. */
  const SUM rounder = (SUM) (sizeof (SUM) == sizeof (float) ? 0x1.8p23 : 0x1.8p52);
  const SUM top = (SUM) channel->max_code;
  const int shift = channel->shift;
  int raw[ROWS_RUN];

  for (int k = 0; k < ROWS_RUN; k++) {
    const SUM positive = values[k] > 0 ? values[k] : 0;
    const SUM value = (positive < top ? positive : top) + rounder;

    raw[k] = (int) (value - rounder) << shift;
  }
  rows_store_run (row, raw, channel->sample_bytes, n);
}

/* rows[i]: sums of the row that tap i weighs. */
static void
NAME (sum_column) (SUM *out, const SUM *const *rows, const SUM *taps, int n,
    int x)
{
  SUM_RUN (out, n, taps, rows[i] + x);
}
