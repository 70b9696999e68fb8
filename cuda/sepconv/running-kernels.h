/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* running-kernels: the inner loops of running.h for the instruction set that the including file
 * is compiled for. That file defines RUNNING_KERNELS, the name of the RunningKernels. Loops
 * over RUNNING_BLOCK samples have a constant length, so that the compiler takes whole vectors. */
#include "running.h"

#include "border.h"

#include <string.h>

#if defined __SSE2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__ ((always_inline))

#include "running-vectors.h"

/* Running sums that are kept of a line: a vector of them, and at least one for each channel. */
#define MOST_LANES 16

INLINE int32_t
read_code (const uint8_t *row, ptrdiff_t i, const int bytes, const int shift)
{
  return image_read_raw (row + i * bytes, bytes) >> shift;
}

/* Calls f (arguments..., bytes, shift); bytes and shift are constants for common samples. */
#define WITH_LAYOUT(rows, f, ...) \
  do { \
    const int bytes_ = (rows)->channel->sample_bytes; \
    const int shift_ = (rows)->channel->shift; \
    if (bytes_ == 1 && shift_ == 0) \
      f (__VA_ARGS__, 1, 0); \
    else if (bytes_ == 1) \
      f (__VA_ARGS__, 1, shift_); \
    else \
      f (__VA_ARGS__, 2, shift_); \
  } while (0)

/* Adds adjacent bytes, as many as fill whole vectors; returns how many. */
INLINE int
add_bytes (int32_t *line, const uint8_t *row, int n)
{
  int i = 0;

#ifdef LOAD_BYTES
  for (; i + LANES <= n; i += LANES)
    STORE (line + i, ADD (LOAD (line + i), LOAD_BYTES (row + i)));
#else
  (void) line, (void) row, (void) n;
#endif
  return i;
}

INLINE void
add_row_of (int32_t *restrict line, const uint8_t *restrict row,
    const int times, int n, const int bytes, const int shift)
{
  int i = 0;

  if (bytes == 1 && shift == 0 && times == 1)
    i = add_bytes (line, row, n);
  for (; i < n; i++)
    line[i] += times * read_code (row, i, bytes, shift);
}

/* line += times * row */
static void
add_row (const RowsJob *rows, int32_t *line, const uint8_t *row, int times)
{
  if (times == 1)
    WITH_LAYOUT (rows, add_row_of, line, row, 1, rows->n_samples);
  else
    WITH_LAYOUT (rows, add_row_of, line, row, times, rows->n_samples);
}

INLINE int
replace_bytes (
    int32_t *line, const uint8_t *enters, const uint8_t *leaves, int n)
{
  int i = 0;

#ifdef LOAD_BYTES
  for (; i + LANES <= n; i += LANES)
    STORE (line + i,
        ADD (LOAD (line + i),
            SUB (LOAD_BYTES (enters + i), LOAD_BYTES (leaves + i))));
#else
  (void) line, (void) enters, (void) leaves, (void) n;
#endif
  return i;
}

INLINE void
replace_row_of (int32_t *restrict line, const uint8_t *restrict enters,
    const uint8_t *restrict leaves, int n, const int bytes, const int shift)
{
  int i = 0;

  if (bytes == 1 && shift == 0)
    i = replace_bytes (line, enters, leaves, n);
  for (; i < n; i++)
    line[i] += read_code (enters, i, bytes, shift)
        - read_code (leaves, i, bytes, shift);
}

/* line += enters - leaves */
static void
replace_row (const RowsJob *rows, int32_t *line, const uint8_t *enters,
    const uint8_t *leaves)
{
  WITH_LAYOUT (rows, replace_row_of, line, enters, leaves, rows->n_samples);
}

INLINE void
fill_edge_of (
    int32_t *line, const RunningEdge *edge, const int step, const int by)
{
  int32_t *to = line + edge->to * step;
  const int32_t *from = line + edge->from * step;

  for (int i = 0; i < edge->n; i++)
    for (int c = 0; c < step; c++)
      to[i * step + c] = from[i * by * step + c];
}

INLINE void
fill_edges_of (int32_t *line, const RunningSpec *spec, const int step)
{
  for (int i = 0; i < spec->n_edges; i++) {
    const RunningEdge *edge = &spec->edges[i];

    if (edge->by < 0)
      fill_edge_of (line, edge, step, -1);
    else if (edge->by > 0)
      fill_edge_of (line, edge, step, 1);
    else
      fill_edge_of (line, edge, step, 0);
  }
}

/* Fills a line beyond its ends. */
static void
fill_edges (const RunningJob *job, int32_t *line)
{
  switch (job->rows->step) {
    case 1:
      fill_edges_of (line, job->spec, 1);
      break;
    case 2:
      fill_edges_of (line, job->spec, 2);
      break;
    case 3:
      fill_edges_of (line, job->spec, 3);
      break;
    default:
      fill_edges_of (line, job->spec, 4);
  }
}

/* Row y, which may be outside of the image. */
static const uint8_t *
row_at (const RunningJob *job, int y)
{
  const RowsJob *rows = job->rows;
  const int from = border_index (y, rows->height, rows->border);

  return from < 0 ? job->state->outside : rows->src + from * rows->src_stride;
}

static void
begin_line (const RowsJob *rows, int32_t *line, int value)
{
  for (int i = 0; i < rows->n_samples; i++)
    line[i] = value;
}

/* Sums the window of row y. A row that the border repeats is added once, multiplied. */
static void
sum_window (const RunningJob *job, const RunningMemory *memory, int y)
{
  const RowsJob *rows = job->rows;
  const int first = y - rows->y->n / 2, last = first + rows->y->n;
  int32_t *line = memory->line[0];
  int inside = 0;

  for (int i = first; i < last; i++) {
    const int from = border_index (i, rows->height, rows->border);

    if (from >= 0) {
      memory->times[from]++;
      inside++;
    }
  }
  begin_line (rows, line, -(int) rows->channel->center * inside);
  for (int i = first; i < last; i++) {
    const int from = border_index (i, rows->height, rows->border);

    if (from >= 0 && memory->times[from] > 0) {
      add_row (
          rows, line, rows->src + from * rows->src_stride, memory->times[from]);
      memory->times[from] = 0;
    }
  }
}

/* Makes the line of one row, or of the sum of two; `too` may be NULL. */
static void
take_rows (const RunningJob *job, int32_t *line, const uint8_t *row,
    const uint8_t *too)
{
  const int center = (int) job->rows->channel->center;

  begin_line (job->rows, line, too == NULL ? -center : -2 * center);
  add_row (job->rows, line, row, 1);
  if (too != NULL)
    add_row (job->rows, line, too, 1);
}

/* Makes the lines of the rows under the first and the last tap, for row y. */
static void
take_ends (const RunningJob *job, const RunningMemory *memory, int y)
{
  const int first = y - job->rows->y->n / 2;
  const uint8_t *top = row_at (job, first);
  const uint8_t *bottom = row_at (job, first + job->rows->y->n - 1);

  if (job->spec->n_lines == 2) {
    take_rows (job, memory->line[1], top, bottom);
  } else {
    take_rows (job, memory->line[1], top, NULL);
    take_rows (job, memory->line[2], bottom, NULL);
  }
}

#define SUM uint32_t
#define SIGNED int32_t
#define REAL float
#define NAME(name) name##_narrow
#define VECTORS
#include "running-sums.h"
#undef SUM
#undef SIGNED
#undef REAL
#undef NAME
#undef VECTORS

#define SUM uint64_t
#define SIGNED int64_t
#define REAL double
#define NAME(name) name##_wide
#include "running-sums.h"
#undef SUM
#undef SIGNED
#undef REAL
#undef NAME

/* Clears lines beyond the row's ends: samples of a constant border are 0, and sums of samples
 * behind a row's end are not stored. */
static void
clear_ends (const RunningJob *job, const RunningMemory *memory)
{
  const RowsJob *rows = job->rows;
  const int before = rows->x->n / 2 * rows->step;
  const int after = (rows->x->n - 1) * rows->step - before;

  for (int i = 0; i < job->spec->n_lines; i++) {
    const int first = -before - rows->step;
    int32_t *line = memory->line[i];

    memset (line + first, 0, (size_t) -first * sizeof *line);
    memset (line + rows->n_samples, 0,
        (size_t) (after + RUNNING_BLOCK) * sizeof *line);
  }
}

/* Writes row y from the sum of its window. */
static void
filter_row (const RunningJob *job, const RunningMemory *memory, int y)
{
  const RowsJob *rows = job->rows;
  uint8_t *to = rows->dst + y * rows->dst_stride;

  if (job->spec->n_lines > 1)
    take_ends (job, memory, y);
  for (int i = 0; i < job->spec->n_lines; i++)
    fill_edges (job, memory->line[i]);
  if (job->spec->narrow)
    write_row_narrow (job, memory, to);
  else
    write_row_wide (job, memory, to);
  rows_copy_kept (rows, y, y + 1, 0, rows->n_samples);
}

/* Prepares the values to which a row's sums are added. `inside`: the weight of its taps of y
 * inside the image. */
static void
take_addends (const RunningJob *job, const RunningMemory *memory, double inside)
{
  if (job->spec->narrow)
    take_addends_narrow (job, memory->addends, inside);
  else
    take_addends_wide (job, memory->addends, inside);
}

static void
filter_band (
    const RunningJob *job, const RunningMemory *memory, int first, int last)
{
  const RowsJob *rows = job->rows;
  const int ny = rows->y->n, above = ny / 2;
  double inside = 0.0;

  clear_ends (job, memory);
  for (int y = first; y < last; y++) {
    const double before = inside;

    if (y == first)
      sum_window (job, memory, y);
    else
      replace_row (rows, memory->line[0], row_at (job, y - above + ny - 1),
          row_at (job, y - above - 1));
    inside = running_weight_inside (&job->spec->y, y - above, ny, rows->height);
    if (y == first || (inside != before && rows->border == SEPCONV_CONSTANT))
      take_addends (job, memory, inside);
    filter_row (job, memory, y);
  }
}

/* A WorkersJob. */
static void
filter_bands (void *user, int worker, int first, int last)
{
  const RunningJob *job = user;

  for (int band = first; band < last; band++)
    filter_band (job, &job->state->memory[worker], rows_band (job->rows, band),
        rows_band (job->rows, band + 1));
}

const RunningKernels RUNNING_KERNELS = { .filter = filter_bands };
