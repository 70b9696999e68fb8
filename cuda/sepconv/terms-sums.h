/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-sums: the passes of terms-kernels.h for one type of sums: the includer defines SUM,
 * NAME(), and ROOT(), the square root of a SUM. Loops over ROWS_RUN samples have a constant
 * length and no branches, so that the compiler vectorizes them.
 *
 * clang-format does not see that NAME (x) (...) is one function. */
/* clang-format off */
#include "rows-runs.h"

/* State of the march down a strip. */
typedef struct
{
  const TermsJob *job;
  int begin, n; /* samples of the result */
  int top;      /* row of the first window */
  const SUM *tap_x[TAPS_MAX_TERMS], *tap_y[TAPS_MAX_TERMS];
  SUM *line;
  SUM *sums; /* of each term: `lines` rows, and one beyond a constant border */
  size_t term_sums;   /* from one term's to the next one's */
  const SUM **window; /* of the first term: see begin_windows() */
  SUM result[TERMS_ADDENDS], term[2][TERMS_ADDENDS];
} NAME (Strip);

/* The sums of row v, counted from the first row of the first window. */
static SUM *
NAME (sums_of_row) (const NAME (Strip) *strip, int v)
{
  const TermsJob *job = strip->job;
  int at = v % job->lines;

  if (job->whole)
    at = border_index (strip->top - job->above + v, job->rows.height, job->rows.border);
  return strip->sums
      + (size_t) (at < 0 ? job->lines : at) * (size_t) job->rows.slab;
}

/* Fills the table of a window's rows. The window of each further row of the result begins one
 * entry further on: if the sums of all rows are kept, through the whole table; else round and
 * round in it. */
static void
NAME (begin_windows) (NAME (Strip) *strip, int bottom)
{
  const TermsJob *job = strip->job;
  const int rows = job->whole
      ? bottom - strip->top + job->above + job->below
      : 2 * job->lines;

  for (int v = 0; v < rows; v++)
    strip->window[v] = NAME (sums_of_row) (strip, v);
}

/* Computes the row sums of all terms for one row; y < 0: for a row beyond a constant border. */
static void
NAME (sum_rows) (NAME (Strip) *strip, SUM *sums, int y)
{
  const TermsJob *job = strip->job;
  const RowsJob *rows = &job->rows;
  const int length = job->before + strip->n + job->after;

  if (y < 0)
    for (int k = 0; k < length; k++)
      strip->line[k] =
          (SUM) rows->channel[(strip->begin + k) % rows->step].border;
  else {
    const int first = strip->begin - job->before;

    rows_prefetch_row (rows, y + ROWS_AHEAD, first, first + length);
    NAME (load_line) (strip->line, rows->src + y * rows->src_stride, rows,
        job->edges, job->before, job->edges + job->before, first, first + length);
  }
  for (int t = 0; t < job->n_terms; t++, sums += strip->term_sums) {
    const int n = job->term[t]->x.n;

    NAME (sum_row) (sums, strip->line + (job->before - n / 2 * rows->step),
        strip->tap_x[t], n, rows->step, strip->n);
  }
}

/* Computes the row sums that the windows of row `y` need and those of the rows before did not. */
static void
NAME (take_rows) (NAME (Strip) *strip, int y)
{
  const TermsJob *job = strip->job;
  const int height = job->rows.height;
  const int window = job->above + job->below + 1;

  if (job->whole) {
    for (int from = 0; y == strip->top && from < height; from++)
      NAME (sum_rows) (strip,
          strip->sums + (size_t) from * (size_t) job->rows.slab, from);
    if (y == strip->top && job->rows.border == SEPCONV_CONSTANT)
      NAME (sum_rows) (strip,
          strip->sums + (size_t) job->lines * (size_t) job->rows.slab, -1);
    return;
  }
  for (int v = y == strip->top ? 0 : y - strip->top + window - 1;
       v < y - strip->top + window; v++)
    NAME (sum_rows) (strip, NAME (sums_of_row) (strip, v),
        border_index (strip->top - job->above + v, height, job->rows.border));
}

/* The terms of a run of samples, from sample `x` of the strip on; the terms of SUM are added
 * up. */
static void
NAME (sum_terms) (const NAME (Strip) *strip, const SUM *const *window, int x,
    SUM terms[2][ROWS_RUN])
{
  const TermsJob *job = strip->job;

  for (int t = 0; t < job->n_terms; t++) {
    const int n = job->term[t]->y.n;
    const SUM *const *rows = window + (job->above - n / 2);
    const int at = x + (int) ((size_t) t * strip->term_sums);
    SUM more[ROWS_RUN];

    if (t == 0 || job->combine != SEPCONV_SUM) {
      NAME (sum_column) (terms[t], rows, strip->tap_y[t], n, at);
      continue;
    }
    NAME (sum_column) (more, rows, strip->tap_y[t], n, at);
    for (int k = 0; k < ROWS_RUN; k++)
      terms[0][k] += more[k];
  }
}

/* The combine functions turn `in` and the terms of a run into values of the result. The constants
 * begin with those of the first sample's channel. */
static void
NAME (combine_unsharp) (const TermsJob *job, SUM *values, const SUM *in,
    const SUM *term, const SUM *result, const SUM *addend)
{
  const SUM threshold = (SUM) job->rows.channel->threshold;
  const SUM keep = (SUM) job->keep, sharpen = (SUM) job->sharpen;

  for (int k = 0; k < ROWS_RUN; k++) {
    const SUM difference = in[k] - term[k] + addend[k];
    const SUM size = difference < 0 ? -difference : difference;

    values[k] = result[k] + keep * in[k]
        + (size > threshold ? sharpen * difference : 0);
  }
}

static void
NAME (combine_magnitude) (const TermsJob *job, SUM *values,
    SUM terms[2][ROWS_RUN], const SUM *result, const SUM *first,
    const SUM *second)
{
  const SUM sign = (SUM) job->sign;

  for (int k = 0; k < ROWS_RUN; k++) {
    const SUM a = terms[0][k] + first[k], b = terms[1][k] + second[k];

    values[k] = result[k] + sign * ROOT (a * a + b * b);
  }
}

/* The angle in turns is t P(t^2) for t = tan(angle) up to 1/8 of a turn, and mirrored beyond. P
 * is the polynomial of least maximum error on [0, 1], found by iteratively reweighted least
 * squares (Lawson's algorithm) in double precision. That error is 4e-8 of a turn; with all
 * roundings to float it is below 6e-8, which is 0.004 of 65536 codes. */
static void
NAME (combine_direction) (const TermsJob *job, SUM *values,
    SUM terms[2][ROWS_RUN], const SUM *result, const SUM *first,
    const SUM *second)
{
  static const SUM p[] = { (SUM) 0.15915432422507628,
    (SUM) -0.05302623814496068, (SUM) 0.03152511739519424,
    (SUM) -0.0210615173585467, (SUM) 0.012672499752147763,
    (SUM) -0.005348276710278083, (SUM) 0.0010841302143725809 };
  const SUM codes = (SUM) (job->rows.channel->max_code + 1);
  /* Values that would be rounded up to a whole turn become 0. */
  const SUM last = codes - (SUM) 0.5;

  for (int k = 0; k < ROWS_RUN; k++) {
    const SUM x = terms[0][k] + first[k], y = terms[1][k] + second[k];
    const SUM across = x < 0 ? -x : x, up = y < 0 ? -y : y;
    const SUM most = across > up ? across : up;
    const SUM least = across < up ? across : up;
    const SUM t = least / (most > 0 ? most : 1), u = t * t;
    SUM turns = p[6], code;

    turns = turns * u + p[5];
    turns = turns * u + p[4];
    turns = turns * u + p[3];
    turns = turns * u + p[2];
    turns = turns * u + p[1];
    turns = (turns * u + p[0]) * t;
    turns = up > across ? (SUM) 0.25 - turns : turns;
    turns = x < 0 ? (SUM) 0.5 - turns : turns;
    turns = y < 0 ? 1 - turns : turns;
    code = turns * codes;
    code = code >= last ? 0 : code;
    /* The code is 0 where there is no angle. Reading `result` only there would need a branch. */
    values[k] = code + result[k] * (most > 0 ? 0 : (SUM) 1);
  }
}

/* Writes n samples of the run that begins with sample `x` of the strip; `from` and `to` are its
 * rows. */
static void
NAME (write_run) (const NAME (Strip) *strip, const uint8_t *from, uint8_t *to,
    int x, int n, SUM terms[2][ROWS_RUN])
{
  const TermsJob *job = strip->job;
  const RowsJob *rows = &job->rows;
  const int c = (strip->begin + x) % rows->step;
  const SUM *result = strip->result + c, *first = strip->term[0] + c;
  const SUM *second = strip->term[1] + c;
  const ptrdiff_t at = (ptrdiff_t) (strip->begin + x) * rows->channel->sample_bytes;
  SUM values[ROWS_RUN], in[ROWS_RUN];

  switch (job->combine) {
    case SEPCONV_UNSHARP:
      NAME (unpack) (in, from + at, rows->channel, n);
      for (int k = n; k < ROWS_RUN; k++)
        in[k] = 0;
      NAME (combine_unsharp) (job, values, in, terms[0], result, first);
      break;
    case SEPCONV_MAGNITUDE:
      NAME (combine_magnitude) (job, values, terms, result, first, second);
      break;
    case SEPCONV_DIRECTION:
      NAME (combine_direction) (job, values, terms, result, first, second);
      break;
    default:
      for (int k = 0; k < ROWS_RUN; k++)
        values[k] = terms[0][k] + result[k];
  }
  NAME (store_run) (to + at, values, rows->channel, n);
}

static void
NAME (march) (NAME (Strip) *strip, int bottom)
{
  const TermsJob *job = strip->job;
  const RowsJob *rows = &job->rows;

  NAME (begin_windows) (strip, bottom);
  for (int y = strip->top; y < bottom; y++) {
    const int at = y - strip->top;
    const SUM *const *window =
        strip->window + (job->whole ? at : at % job->lines);

    NAME (take_rows) (strip, y);
    for (int x = 0; x < strip->n; x += ROWS_RUN) {
      SUM terms[2][ROWS_RUN];

      NAME (sum_terms) (strip, window, x, terms);
      NAME (write_run) (strip, rows->src + y * rows->src_stride,
          rows->dst + y * rows->dst_stride, x, min_int (strip->n - x, ROWS_RUN),
          terms);
    }
  }
  rows_copy_kept (rows, strip->top, bottom, strip->begin, strip->n);
}

/* Lays out a strip's memory, and fills in the data that all its rows need. */
static void
NAME (begin_strip) (NAME (Strip) *strip, const TermsJob *job, uint8_t *memory)
{
  const TermsLayout layout = terms_layout (job);
  SUM *taps = (SUM *) (memory + layout.taps);

  strip->job = job;
  strip->line = (SUM *) (memory + layout.line);
  strip->sums = (SUM *) (memory + layout.sums);
  strip->window = (const SUM **) (memory + layout.table);
  strip->term_sums = (size_t) (job->lines + 1) * (size_t) job->rows.slab;
  for (int t = 0; t < job->n_terms; t++) {
    const SepconvPlaneTaps *term = job->term[t];

    NAME (load_taps) (taps, &term->x);
    strip->tap_x[t] = taps;
    taps += term->x.n;
    strip->tap_y[t] = taps;
    for (int i = 0; i < term->y.n; i++)
      *taps++ = (SUM) (job->y_factor * term->y.tap[i]);
  }
  for (int i = 0; i < TERMS_ADDENDS; i++) {
    strip->result[i] = (SUM) job->addends->result[i];
    strip->term[0][i] = (SUM) job->addends->term[0][i];
    strip->term[1][i] = (SUM) job->addends->term[1][i];
  }
}

/* A WorkersJob. */
static void
NAME (filter_bands) (void *user, int worker, int first, int last)
{
  const TermsJob *job = user;
  const RowsJob *rows = &job->rows;
  NAME (Strip) strip;

  NAME (begin_strip) (&strip, job,
      job->memory + (size_t) worker * job->worker_bytes);
  for (int item = first; item < last; item++) {
    const int band = item % rows->bands;

    strip.begin = item / rows->bands * rows->slab;
    strip.n = min_int (rows->n_samples - strip.begin, rows->slab);
    strip.top = rows_band (rows, band);
    NAME (march) (&strip, rows_band (rows, band + 1));
  }
}
