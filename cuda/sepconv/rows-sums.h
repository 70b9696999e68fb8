/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-sums: the passes of rows-kernels.h for one type of sums: the including file defines SUM
 * and NAME(). Loops over ROWS_RUN samples have a constant length, so that the compiler keeps
 * them in vector registers.
 *
 * clang-format does not see that NAME (x) (...) is one function. */
/* clang-format off */
#include "rows-runs.h"

/* Sums along all rows, for n samples from `begin` on. */
static void
NAME (row_pass) (const RowsJob *job, SUM *sums, SUM *line, int begin, int n)
{
  const int before = job->x->n / 2 * job->step;
  const int after = (job->x->n - 1) * job->step - before;

  for (int y = 0; y < job->height; y++) {
    rows_prefetch_row (
        job, y + ROWS_AHEAD, begin - before, begin + n + after);
    NAME (load_line) (line, job->src + y * job->src_stride, job,
        job->state->left, before, job->state->right, begin - before,
        begin + n + after);
    NAME (sum_row) (sums + (size_t) y * (size_t) job->slab, line,
        job->state->taps_x, job->x->n, job->step, n);
  }
}

/* Makes the needed rows of the result, n samples from `begin` on, from the sums of row_pass().
 * The sums that neighbouring rows of the result share stay in the first-level cache. */
static void
NAME (column_pass) (const RowsJob *job, const SUM *sums, int begin, int n)
{
  const int n_taps = job->y->n, anchor = n_taps / 2;
  const SUM *offsets = (const SUM *) job->state->offsets + begin;
  const SUM *rows[COLUMN_ROWS + TAPS_MAX];

  for (int first = job->window.top; first < job->window.bottom;
       first += COLUMN_ROWS) {
    const int last = min_int (first + COLUMN_ROWS, job->window.bottom);

    for (int i = 0; i < last - first + n_taps - 1; i++) {
      const int from =
          border_index (first + i - anchor, job->height, job->border);

      rows[i] = from < 0 ? (const SUM *) job->state->outside + begin
                         : sums + (size_t) from * (size_t) job->slab;
    }
    for (int x = 0; x < n; x += ROWS_RUN) {
      uint8_t *to =
          job->dst + (ptrdiff_t) (begin + x) * job->channel->sample_bytes;

      for (int y = first; y < last; y++) {
        SUM out[ROWS_RUN];

        NAME (sum_column) (
            out, rows + (y - first), job->state->taps_y, n_taps, x);
        for (int k = 0; k < ROWS_RUN; k++)
          out[k] += offsets[x + k];
        NAME (store_run) (to + y * job->dst_stride, out, job->channel,
            min_int (n - x, ROWS_RUN));
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

/* Prepares the data that all slabs read. */
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
