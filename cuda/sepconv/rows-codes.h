/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-codes: the inner loops of rows-kernels.h for samples of up to 12 bits: see rows-lines.h. */
#include "rows-lines.h"

static inline __attribute__ ((always_inline)) void
write_pixels (const RowsJob *job, const int16_t *line, const int32_t *start,
    uint8_t *to, const int n)
{
  Ints pixels[PAIRS_AT_ONCE];

  sum_pairs (job, line, start, pixels, n);
  store_pixels (job->channel, to, pixels, n);
}

/* Writes a row of the result from its line: whole vectors of adjacent samples directly, all
 * others by way of `samples`. */
static void
write_row (const Strip *strip, const int16_t *line, uint8_t *row)
{
  enum
  {
    N = PAIRS_AT_ONCE * SHORTS
  };
  const RowsJob *job = strip->job;
  const int bytes = job->channel->sample_bytes;
  const int32_t *start = strip->memory->start;
  uint8_t *samples = strip->memory->samples;
  int i = 0;

  row += (ptrdiff_t) strip->begin * bytes;
  if (job->step != 3) {
    for (; i + N <= strip->n; i += N)
      write_pixels (
          job, line + i, start + i / 2, row + i * bytes, PAIRS_AT_ONCE);
    for (; i + 2 * SHORTS <= strip->n; i += 2 * SHORTS)
      write_pixels (job, line + i, start + i / 2, row + i * bytes, 2);
  }
  /* Pixels of three samples lie in pairs of six, of which the last one may end up to five
   * samples behind the strip. */
  for (int k = i; k < strip->n + (job->step == 3 ? 5 : 0); k += N)
    write_pixels (
        job, line + k, start + k / 2, samples + k * bytes, PAIRS_AT_ONCE);
  if (job->step == 3 && bytes == 1)
    unpair_threes (row, samples, strip->n);
  else
    spread_samples (job, row, samples, i, strip->n);
}

/* A WorkersJob. */
static void
filter_codes_bands (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;
  RowsStrip *memory = job->state->strips + worker;

  for (int item = first; item < last; item++) {
    const int band = item % job->bands;
    const int top = rows_band (job, band);
    const int bottom = rows_band (job, band + 1);
    Strip strip = { .job = job,
      .memory = memory,
      .begin = item / job->bands * job->slab,
      .first = top - job->y->n / 2 };

    strip.n = min_int (job->n_samples - strip.begin, job->slab);
    begin_strip (&strip);
    for (int y = top; y < bottom; y += ROWS_AT_ONCE) {
      sum_lines (&strip, y);
      for (int j = 0; j < min_int (ROWS_AT_ONCE, bottom - y); j++)
        write_row (
            &strip, memory->line[j], job->dst + (y + j) * job->dst_stride);
      rows_copy_kept (
          job, y, min_int (y + ROWS_AT_ONCE, bottom), strip.begin, strip.n);
    }
  }
}
