/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-smoothed-kernels: the part of rows-averages-kernels.h, which includes this file, for
 * taps of smoothed samples; rows-fit.h has the formula. For the sums of columns, rows are
 * smoothed once and kept in a ring for all rows of the result that need them. For the sums of
 * rows, each line of column sums is smoothed before it is summed. */

/* Rows of the result at a time: every second one takes the same smoothed rows. */
#define SMOOTHED_ROWS (ROWS_SMOOTHED_STEP * AVERAGED_ROWS)

_Static_assert(SMOOTHED_ROWS == ROWS_MAX_AT_ONCE, "lines for all of them");
_Static_assert(
    ROWS_SMOOTHED_STEP % 2 == 0 && SMOOTHED_ROWS % AVERAGED_ROWS == 0,
    "a ring has whole groups of AVERAGED_ROWS");
_Static_assert(
    (ROWS_FIT_LEAST_REACH - 1) / ROWS_SMOOTHED_STEP > AVERAGED_CONSTANT_RADII,
    "loops of constant radii are for samples as they are");

/* (1, 4, 6, 4, 1) / 16 of five samples. With samples of a byte, all averages are exact. */
static inline __attribute__ ((always_inline)) Ints
smoothed (Ints a, Ints b, Ints c, Ints d, Ints e)
{
  return AVERAGE (AVERAGE (b, d), AVERAGE (AVERAGE (AVERAGE (a, e), c), c));
}

static inline int16_t *
smoothed_row (const AveragedStrip *strip, int row)
{
  return strip->memory->smoothed
      + (ptrdiff_t) (row % rows_smoothed_lines (&strip->job->averages->y))
      * strip->pitch;
}

/* Smooths AVERAGED_ROWS rows of a strip. The first one is number `row` of the smoothed rows
 * that the band needs, and its middle is row y of the picture. */
static void
smooth_rows (const AveragedStrip *strip, int row, int y)
{
  const Widening widening = widening_of (strip->job);
  const int n = strip->to - strip->from;
  const uint8_t *from[AVERAGED_ROWS + 2 * ROWS_SMOOTHING_REACH];
  int16_t *to = smoothed_row (strip, row);

  for (int i = 0; i < AVERAGED_ROWS + 2 * ROWS_SMOOTHING_REACH; i++)
    from[i] = averaged_source (strip, y - ROWS_SMOOTHING_REACH + i);
  for (int x = 0; x < n; x += SHORTS) {
    const int at = min_int (x, n - SHORTS);
    Ints in[AVERAGED_ROWS + 2 * ROWS_SMOOTHING_REACH];

    for (int i = 0; i < AVERAGED_ROWS + 2 * ROWS_SMOOTHING_REACH; i++)
      in[i] = load_widened (from[i] + at, widening, 1);
    for (int j = 0; j < AVERAGED_ROWS; j++)
      STORE_SHORTS (to + j * strip->pitch + at,
          smoothed (in[j], in[j + 1], in[j + 2], in[j + 3], in[j + 4]));
  }
}

/* Sets `sum` to the sums of the taps' edges for AVERAGED_ROWS rows of the result. upper[i] and
 * lower[i] are row i of the rows above and below, from the first one on that the uppermost row
 * of the result takes. */
static inline __attribute__ ((always_inline)) void
average_edges (const RowsAveragesTaps *taps, const uint8_t *const *upper,
    const uint8_t *const *lower, ptrdiff_t at, Widening widening, Ints *sum,
    const int edges)
{
  Ints above[AVERAGED_ROWS + ROWS_FIT_MOST_EDGES - 1];
  Ints below[AVERAGED_ROWS + ROWS_FIT_MOST_EDGES - 1];

  for (int i = 0; i < AVERAGED_ROWS + edges - 1; i++) {
    above[i] = load_widened (upper[i] + at, widening, 1);
    below[i] = load_widened (lower[i] + at, widening, 1);
  }
  for (int j = 0; j < AVERAGED_ROWS; j++)
    sum[j] = HIGH_HALVES (
        AVERAGE (above[j], below[j + edges - 1]), SPREAD (taps->edge[0]));
  for (int e = 1; e < edges; e++)
    for (int j = 0; j < AVERAGED_ROWS; j++)
      sum[j] = ADD_SHORTS (sum[j],
          HIGH_HALVES (AVERAGE (above[j + e], below[j + edges - 1 - e]),
              SPREAD (taps->edge[e])));
}

/* The rows from which columns are summed for SMOOTHED_ROWS rows of the result. */
typedef struct
{
  const uint8_t *upper[SMOOTHED_ROWS + ROWS_FIT_MOST_EDGES - 1];
  const uint8_t *lower[SMOOTHED_ROWS + ROWS_FIT_MOST_EDGES - 1];
  const uint8_t *next[SMOOTHED_ROWS]; /* that the next window adds */
  /* Smoothed rows, as bytes, by the remainder of the result's row. */
  const uint8_t
      *smoothed[ROWS_SMOOTHED_STEP][2 * ROWS_FIT_MOST_RADIUS + AVERAGED_ROWS];
} SmoothedWindow;

static inline __attribute__ ((always_inline)) void
sum_smoothed_columns (const AveragedStrip *strip, const SmoothedWindow *window,
    int16_t *line, const int edges)
{
  const RowsAveragesTaps *taps = &strip->job->averages->y;
  const Widening widening = widening_of (strip->job);
  const int n = strip->to - strip->from;

  for (int x = 0; x < n; x += SHORTS) {
    const int at = min_int (x, n - SHORTS);
    Ints edge[SMOOTHED_ROWS];

    if (x % ROWS_CACHE_LINE == 0)
      for (int j = 0; j < SMOOTHED_ROWS; j++)
        rows_prefetch (window->next[j] + x);
    for (int j = 0; j < SMOOTHED_ROWS; j += AVERAGED_ROWS)
      average_edges (taps, window->upper + j, window->lower + j, at, widening,
          edge + j, edges);
    for (int p = 0; p < ROWS_SMOOTHED_STEP; p++) {
      AveragedWindow averaged;

      average_column (taps, taps->tap, window->smoothed[p], 2 * (ptrdiff_t) at,
          widening, &averaged, taps->radius, AVERAGED_SMOOTHED, LINE_SAMPLES);
      for (int j = 0; j < AVERAGED_ROWS; j++)
        STORE_SHORTS (line + (ROWS_SMOOTHED_STEP * j + p) * ROWS_LINE + at,
            ADD_SHORTS (averaged.sum[j], edge[ROWS_SMOOTHED_STEP * j + p]));
    }
  }
}

/* Sums the strip's columns for SMOOTHED_ROWS rows from y on, of a band that begins with `top`. */
static void
smooth_columns (const AveragedStrip *strip, int top, int y, int16_t *line)
{
  const RowsAveragesTaps *taps = &strip->job->averages->y;
  const int before = ROWS_SMOOTHED_STEP * taps->radius;
  const int lines = rows_smoothed_lines (taps);
  SmoothedWindow window;

  for (int row = y > top ? y - top + lines - SMOOTHED_ROWS : 0;
       row < y - top + lines; row += AVERAGED_ROWS)
    smooth_rows (strip, row, top - before + row);
  for (int i = 0; i < SMOOTHED_ROWS + taps->edges - 1; i++) {
    window.upper[i] = averaged_source (strip, y - taps->reach + i);
    window.lower[i] =
        averaged_source (strip, y + taps->reach - (taps->edges - 1) + i);
  }
  for (int i = 0; i < SMOOTHED_ROWS; i++)
    window.next[i] =
        averaged_source (strip, y + taps->reach + SMOOTHED_ROWS + i);
  for (int p = 0; p < ROWS_SMOOTHED_STEP; p++)
    for (int i = 0; i < 2 * taps->radius + AVERAGED_ROWS; i++)
      window.smoothed[p][i] = (const uint8_t *) smoothed_row (
          strip, y - top + p + ROWS_SMOOTHED_STEP * i);
  if (taps->edges == 2)
    sum_smoothed_columns (strip, &window, line, 2);
  else
    sum_smoothed_columns (strip, &window, line, 3);
}

/* Smooths a line of n sums of columns, and of those that taps reach on both sides. */
static void
smooth_line (const RowsJob *job, const int16_t *line, int n, int16_t *to)
{
  const int step = job->step;
  const int reach = ROWS_SMOOTHED_STEP * job->averages->x.radius * step;

  /* Stored vectors do not cross cache lines. */
  for (int i = -round_up (reach, SHORTS); i < n + reach; i += SHORTS)
    STORE_SHORTS (to + i,
        smoothed (LOAD (line + i - 2 * step), LOAD (line + i - step),
            LOAD (line + i), LOAD (line + i + step),
            LOAD (line + i + 2 * step)));
}

/* Adds the edges of the taps to n vectors of sums of rows. */
static inline __attribute__ ((always_inline)) void
add_edges (const RowsJob *job, const int16_t *line, Ints *sum, const int n)
{
  const RowsAveragesTaps *taps = &job->averages->x;

  for (int e = 0; e < taps->edges; e++) {
    const int distance = (taps->reach - e) * job->step;
    const Ints weight = SPREAD (taps->edge[e]);

    for (int k = 0; k < n; k++)
      sum[k] = ADD_SHORTS (sum[k],
          HIGH_HALVES (AVERAGE (LOAD (line + k * SHORTS - distance),
                           LOAD (line + k * SHORTS + distance)),
              weight));
  }
}
