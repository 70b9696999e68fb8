/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* running-sums: the running sums of running-kernels.h for one type: the including file defines
 * SUM, SIGNED, REAL and NAME(), and VECTORS if running-vectors.h has functions for this type.
 *
 * clang-format does not see that NAME (x) (...) is one function. */
/* clang-format off */

static void
NAME (take_addends) (const RunningJob *job, void *addends, double inside)
{
  const RunningSpec *spec = job->spec;
  REAL *to = addends;

  for (int i = 0; i < job->rows->n_samples; i++)
    to[i] = (REAL) (spec->base[i] - spec->outside[i] * inside);
}

/* Sets `sums` to the running sums before pixel 0, for the channels in turn: each sums all
 * pixels of its window but the last. */
INLINE void
NAME (begin_sums) (SUM *sums, const int32_t *line, int n, const int step)
{
  enum { PERIOD = 48 }; /* whole pixels of any number of channels */
  SUM part[PERIOD] = { 0 }, total[IMAGE_MAX_CHANNELS] = { 0 };
  int i = 0;

  for (; i + PERIOD <= n; i += PERIOD)
    for (int k = 0; k < PERIOD; k++)
      part[k] += (SUM) line[i + k];
  for (int k = 0; i > 0 && k < PERIOD; k++)
    total[k % step] += part[k];
  for (; i < n; i++)
    total[i % step] += (SUM) line[i];
  for (int k = 0; k < MOST_LANES; k++)
    sums[k] = total[k % step];
}

/* Writes the running sums of a block. `sums`: the running sums before the block, for the
 * channels in turn; sum_few_pixels() does without them, the others update them. */
#if defined VECTORS && defined LANES
INLINE void
NAME (sum_block) (SUM *to, const int32_t *line, int reach, SUM *sums,
    const int step)
{
  if (reach < FEW_PIXELS * step)
    sum_few_pixels (to, line, reach, step);
  else
    sum_running (to, line, reach, sums, step);
}
#else
INLINE void
NAME (sum_block) (SUM *to, const int32_t *line, int reach, SUM *sums,
    const int step)
{
  SUM sum[IMAGE_MAX_CHANNELS];

  memcpy (sum, sums, sizeof sum);
  for (int i = 0; i < RUNNING_BLOCK; i += step)
    for (int c = 0; c < step; c++) {
      sum[c] += (SUM) line[i + c + reach] - (SUM) line[i + c - step];
      to[i + c] = sum[c];
    }
  memcpy (sums, sum, sizeof sum);
}
#endif

/* values = from + the weighted sums of a block of a line. `ends`: whether the first and the
 * last sample of a sum have weights of their own. */
INLINE void
NAME (add_line) (REAL *values, const REAL *from, const SUM *sums,
    const int32_t *line, int reach, const RunningWeights *weight,
    const bool ends)
{
  const REAL each = (REAL) weight->sum;
  const REAL first = (REAL) weight->first, last = (REAL) weight->last;

  for (int i = 0; i < RUNNING_BLOCK; i++) {
    REAL value = from[i] + each * (REAL) (SIGNED) sums[i];

    if (ends)
      value += first * (REAL) line[i] + last * (REAL) line[i + reach];
    values[i] = value;
  }
}

/* Truncates values to codes, which rounds them, since the addends contain 0.5; clamps and
 * stores them. */
#if defined VECTORS && defined PACK_LONGS
INLINE Lanes
pack_shorts (const float *values, int top, int shift)
{
  const Lanes shorts = PACK_LONGS (CUT_OFF (values), CUT_OFF (values + LANES));

  return SHIFT_SHORTS (MIN_SHORTS (shorts, SPREAD_SHORT (top)),
      _mm_cvtsi32_si128 (shift));
}

INLINE void
NAME (pack_block) (uint8_t *to, const REAL *values, const int bytes, int top,
    int shift)
{
  if (bytes == 1)
    for (int i = 0; i < RUNNING_BLOCK; i += 4 * LANES)
      STORE (to + i, ORDER_BYTES (PACK_SHORTS (
          pack_shorts (values + i, top, shift),
          pack_shorts (values + i + 2 * LANES, top, shift))));
  else
    for (int i = 0; i < RUNNING_BLOCK; i += 2 * LANES)
      STORE (to + 2 * i, ORDER_SHORTS (pack_shorts (values + i, top, shift)));
}
#else
INLINE void
NAME (pack_block) (uint8_t *to, const REAL *values, const int bytes, int top,
    int shift)
{
  const REAL most = (REAL) top;

  for (int i = 0; i < RUNNING_BLOCK; i++) {
    const REAL positive = values[i] > 0 ? values[i] : 0;
    const REAL value = positive < most ? positive : most;

    image_write_raw (to + i * bytes, (int) value << shift, bytes);
  }
}
#endif

static void
NAME (write_block) (const RowsJob *rows, uint8_t *to, const REAL *values,
    int n)
{
  const SepconvChannel *channel = rows->channel;
  const int bytes = channel->sample_bytes;
  uint8_t codes[2 * RUNNING_BLOCK];
  const bool whole = n == RUNNING_BLOCK;
  uint8_t *packed = whole ? to : codes;

  if (bytes == 1)
    NAME (pack_block) (packed, values, 1, channel->max_code, channel->shift);
  else
    NAME (pack_block) (packed, values, 2, channel->max_code, channel->shift);
  if (!whole)
    memcpy (to, codes, (size_t) (n * bytes));
}

/* Writes a row of the result. */
INLINE void
NAME (write_row_of) (const RunningJob *job, const RunningMemory *memory,
    uint8_t *row, const int step, const bool ends)
{
  const RowsJob *rows = job->rows;
  const int n_lines = ends ? job->spec->n_lines : 1;
  const int reach = (rows->x->n - 1) * step;
  const int before = rows->x->n / 2 * step;
  SUM sums[RUNNING_LINES][MOST_LANES];

  for (int k = 0; k < n_lines; k++)
    NAME (begin_sums) (sums[k], memory->line[k] - before, reach, step);
  for (int x = 0; x < rows->n_samples; x += RUNNING_BLOCK) {
    REAL values[RUNNING_BLOCK];
    SUM block[RUNNING_BLOCK];

    for (int k = 0; k < n_lines; k++) {
      const int32_t *line = memory->line[k] + x - before;
      const REAL *from =
          k == 0 ? (const REAL *) memory->addends + x : values;

      NAME (sum_block) (block, line, reach, sums[k], step);
      NAME (add_line) (values, from, block, line, reach,
          &job->spec->weight[k], ends);
    }
    NAME (write_block) (rows, row + (ptrdiff_t) x * rows->channel->sample_bytes,
        values, min_int (rows->n_samples - x, RUNNING_BLOCK));
  }
}

static void
NAME (write_row) (const RunningJob *job, const RunningMemory *memory,
    uint8_t *row)
{
#define WRITE_ROW(step) \
  if (job->spec->ends) \
    NAME (write_row_of) (job, memory, row, step, true); \
  else \
    NAME (write_row_of) (job, memory, row, step, false)
  switch (job->rows->step) {
    case 1:
      WRITE_ROW (1);
      break;
    case 2:
      WRITE_ROW (2);
      break;
    case 3:
      WRITE_ROW (3);
      break;
    default:
      WRITE_ROW (4);
  }
#undef WRITE_ROW
}
