/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The passes of reference.c for one type of sums: the includer defines SUM and
 * NAME(). Loops over RUN samples have a constant length, so that the compiler
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

/* Reads a row of codes, less the center. */
MULTIVERSION static void
NAME (unpack) (SUM *line, const uint8_t *row, const SepconvChannel *channel)
{
  const SUM center = (SUM) channel->center;
  const ptrdiff_t step = channel->pixel_stride;
  const int width = channel->width, shift = channel->shift;

  if (channel->sample_bytes == 1 && step == 1 && shift == 0) {
    for (int x = 0; x < width; x++)
      line[x] = (SUM) row[x] - center;
  } else if (channel->sample_bytes == 1) {
    for (int x = 0; x < width; x++)
      line[x] = (SUM) (row[x * step] >> shift) - center;
  } else {
    for (int x = 0; x < width; x++) {
      uint16_t raw;

      memcpy (&raw, row + x * step, sizeof raw);
      line[x] = (SUM) (raw >> shift) - center;
    }
  }
}

/* 64 bytes of sums, wherever they lie; the compiler splits them to the size of
 * the machine's vectors. */
typedef SUM NAME (Vector)
    __attribute__ ((vector_size (64), aligned (sizeof (SUM)), may_alias));

/* out[k] = sum over i of taps[i] * in[k], k in [0, RUN), where in_address is the
 * address of `in` for tap i. */
#define SUM_RUN(out, n_taps, tap_values, in_address) \
  do { \
    enum { N = RUN * sizeof (SUM) / sizeof (NAME (Vector)) }; \
    NAME (Vector) *to = (NAME (Vector) *) (out); \
    NAME (Vector) total[N] = { 0 }; \
    for (int first = 0; first < (n_taps); first += SEPCONV_SUM_BLOCK) { \
      const int last = first + SEPCONV_SUM_BLOCK < (n_taps) \
          ? first + SEPCONV_SUM_BLOCK : (n_taps); \
      NAME (Vector) block[N] = { 0 }; \
      for (int i = first; i < last; i++) { \
        const SUM tap = (tap_values)[i]; \
        const NAME (Vector) *in = (const NAME (Vector) *) (in_address); \
        for (int k = 0; k < N; k++) \
          block[k] += tap * in[k]; \
      } \
      for (int k = 0; k < N; k++) \
        total[k] += block[k]; \
    } \
    for (int k = 0; k < N; k++) \
      to[k] = total[k]; \
  } while (0)

MULTIVERSION static void
NAME (sum_row) (SUM *out, const SUM *line, const SUM *taps, int n, int width)
{
  for (int x = 0; x < width; x += RUN)
    SUM_RUN (out + x, n, taps, line + x + i);
}

static void
NAME (row_pass) (void *user, int worker, int first, int last)
{
  const ChannelJob *job = user;
  const SepconvChannel *channel = job->channel;
  const int width = channel->width, n = job->x->n, anchor = n / 2;
  SUM *line = (SUM *) ((uint8_t *) job->state->lines
      + (size_t) worker * job->state->line_bytes);
  SUM *inside = line + anchor;

  for (int y = first; y < last; y++) {
    NAME (unpack) (inside, job->src + y * job->src_stride, channel);
    for (int i = 1; i <= anchor; i++) {
      const int x = border_index (-i, width, job->border);

      inside[-i] = x < 0 ? (SUM) channel->border : inside[x];
    }
    for (int i = width; i < width + n - 1 - anchor; i++) {
      const int x = border_index (i, width, job->border);

      inside[i] = x < 0 ? (SUM) channel->border : inside[x];
    }
    NAME (sum_row) ((SUM *) job->state->sums + (size_t) y * job->sums_stride,
        line, job->state->taps_x, n, width);
  }
}

/* Rounds to the nearest code (ties to even), clamps, and stores. */
MULTIVERSION static void
NAME (pack) (uint8_t *row, const SUM *sums, const SepconvChannel *channel,
    int n)
{
  const SUM offset = (SUM) channel->offset, top = (SUM) channel->max_code;
  const ptrdiff_t step = channel->pixel_stride;
  const int shift = channel->shift;
  int codes[RUN];

  for (int k = 0; k < RUN; k++) {
    SUM value = sums[k] + offset;

    value = value < 0 ? 0 : value > top ? top : value;
    codes[k] = (int) (sizeof (SUM) == sizeof (float) ? rintf ((float) value)
                                                     : rint ((double) value));
  }
  if (channel->sample_bytes == 1 && step == 1 && shift == 0) {
    for (int k = 0; k < n; k++)
      row[k] = (uint8_t) codes[k];
  } else if (channel->sample_bytes == 1) {
    for (int k = 0; k < n; k++)
      row[k * step] = (uint8_t) (codes[k] << shift);
  } else {
    for (int k = 0; k < n; k++) {
      const uint16_t raw = (uint16_t) (codes[k] << shift);

      memcpy (row + k * step, &raw, sizeof raw);
    }
  }
}

/* rows[i]: sums of the row that tap i weighs. */
MULTIVERSION static void
NAME (sum_column) (SUM *out, const SUM *const *rows, const SUM *taps, int n,
    int x)
{
  SUM_RUN (out, n, taps, rows[i] + x);
}

static void
NAME (fill) (void *row, double value, size_t n)
{
  SUM *to = row;

  for (size_t i = 0; i < n; i++)
    to[i] = (SUM) value;
}

/* Walks down a strip of RUN columns at a time: the rows that neighbouring rows of
 * the result share stay in the first-level cache. */
static void
NAME (column_pass) (void *user, int worker, int first, int last)
{
  const ChannelJob *job = user;
  const SepconvChannel *channel = job->channel;
  const int width = channel->width, n = job->y->n, anchor = n / 2;
  const SUM *sums = job->state->sums, *rows[MAX_GRAIN + TAPS_MAX];

  (void) worker;
  for (int i = 0; i < last - first + n - 1; i++) {
    const int from =
        border_index (first + i - anchor, job->height, job->border);

    rows[i] = from < 0 ? (const SUM *) job->state->outside
                       : sums + (size_t) from * job->sums_stride;
  }
  for (int x = 0; x < width; x += RUN) {
    uint8_t *column = job->dst + (ptrdiff_t) x * channel->pixel_stride;
    const int n_samples = width - x < RUN ? width - x : RUN;

    for (int y = first; y < last; y++) {
      SUM out[RUN];

      NAME (sum_column) (out, rows + (y - first), job->state->taps_y, n, x);
      NAME (pack) (column + y * job->dst_stride, out, channel, n_samples);
    }
  }
}

#undef SUM_RUN
