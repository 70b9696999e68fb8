/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reference: the specification, to be read and trusted: two passes in double precision for each
 * term, one sample after the other, on one thread. The other methods are checked against it. */
#include "border.h"
#include "combine.h"

#include <stdlib.h>
#include <string.h>

/* Buffers for one channel, large enough for every channel. */
typedef struct
{
  double *codes; /* codes of one row with its borders, less the centre */
  double *sums;  /* one row of sums along y */
  double *rows;  /* a term's sums along x, for all rows */
  double *term
      [2]; /* terms of all samples; for SUM, [0] is their sum and [1] is NULL */
} ReferenceState;

static bool
reference_prepare (SepconvPlan *plan, Fault *fault)
{
  ReferenceState *state = calloc (1, sizeof *state);
  const int n = plan->combine == SEPCONV_SUM ? 1 : plan->most_terms;
  size_t most = 1, widest = 1;

  plan->state = state;
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const size_t samples = (size_t) channel->width
        * (size_t) image_plane_height (&plan->layout, channel->plane);

    most = samples > most ? samples : most;
    widest =
        (size_t) channel->width > widest ? (size_t) channel->width : widest;
  }
  if (state != NULL) {
    state->codes = malloc ((widest + TAPS_MAX) * sizeof (double));
    state->sums = malloc (widest * sizeof (double));
    state->rows = malloc (most * sizeof (double));
  }
  for (int t = 0; state != NULL && t < n; t++)
    state->term[t] = malloc (most * sizeof (double));
  if (state == NULL || state->codes == NULL || state->sums == NULL
      || state->rows == NULL || state->term[0] == NULL
      || state->term[n - 1] == NULL)
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        ((size_t) (1 + n) * most + 2 * widest + TAPS_MAX) * sizeof (double)
            >> 20);
  return true;
}

static void
reference_release (SepconvPlan *plan)
{
  ReferenceState *state = plan->state;

  if (state == NULL)
    return;
  for (int t = 0; t < 2; t++)
    free (state->term[t]);
  free (state->rows);
  free (state->sums);
  free (state->codes);
  free (state);
}

/* codes[x] = code of sample x - n / 2, less the centre, for all that n taps reach */
static void
read_codes (const SepconvChannel *channel, int n, SepconvBorder border,
    const uint8_t *row, double *codes)
{
  for (int x = 0; x < channel->width + n - 1; x++) {
    const int from = border_index (x - n / 2, channel->width, border);

    codes[x] = from < 0
        ? channel->border
        : (image_read_raw (row + (ptrdiff_t) from * channel->pixel_stride,
               channel->sample_bytes)
              >> channel->shift)
            - channel->center;
  }
}

/* sums[x] = sum over i of tap i * codes[x + i] */
static void
sum_row (const Taps *taps, const double *codes, int width, double *sums)
{
  memset (sums, 0, (size_t) width * sizeof *sums);
  for (int i = 0; i < taps->n; i++)
    for (int x = 0; x < width; x++)
      sums[x] += taps->tap[i] * codes[x + i];
}

/* sums[x] = sum over i of tap i * sample x of row y + i - n / 2, for each column x. Rows beyond a
 * constant border hold the value `outside`. */
static void
sum_columns (const double *rows, int width, int height, const Taps *taps,
    SepconvBorder border, double outside, int y, double *sums)
{
  memset (sums, 0, (size_t) width * sizeof *sums);
  for (int i = 0; i < taps->n; i++) {
    const int from = border_index (y + i - taps->n / 2, height, border);
    const double *row = rows + (from < 0 ? 0 : (size_t) from * (size_t) width);

    for (int x = 0; x < width; x++)
      sums[x] += taps->tap[i] * (from < 0 ? outside : row[x]);
  }
}

/* Adds a term to `to`, which has one value for each sample. */
static void
add_term (const SepconvPlan *plan, const SepconvChannel *channel,
    const SepconvPlaneTaps *taps, const Image *src, double *to)
{
  const ReferenceState *state = plan->state;
  const int width = channel->width;
  const int height = sepconv_channel_height (channel, src);
  const double outside = taps_sum (&taps->x) * channel->border;

  for (int y = 0; y < height; y++) {
    read_codes (channel, taps->x.n, plan->border,
        sepconv_channel_data (channel, src)
            + y * src->memory[channel->memory].stride,
        state->codes);
    sum_row (&taps->x, state->codes, width,
        state->rows + (size_t) y * (size_t) width);
  }
  for (int y = 0; y < height; y++) {
    sum_columns (state->rows, width, height, &taps->y, plan->border, outside, y,
        state->sums);
    for (int x = 0; x < width; x++)
      to[(size_t) y * (size_t) width + (size_t) x] += state->sums[x];
  }
}

/* Rounds to the nearest code, ties to even, and clamps it; an angle wraps around instead. */
static int
round_code (
    const SepconvPlan *plan, const SepconvChannel *channel, double value)
{
  if (plan->combine == SEPCONV_DIRECTION)
    return (int) rint (value) & channel->max_code;
  return (int) rint (fmin (fmax (value, 0.0), channel->max_code));
}

static void
filter_channel (
    SepconvPlan *plan, const SepconvChannel *channel, const SepconvPart *part)
{
  const ReferenceState *state = plan->state;
  const Image *src = part->src, *dst = part->dst;
  const int height = sepconv_channel_height (channel, src);
  const size_t samples = (size_t) height * (size_t) channel->width;

  for (int t = 0; t < 2 && state->term[t] != NULL; t++)
    memset (state->term[t], 0, samples * sizeof (double));
  for (int t = 0; t < plan->n_terms[channel->plane]; t++)
    add_term (plan, channel, sepconv_plan_term (plan, channel->plane, t), src,
        state->term[plan->combine == SEPCONV_SUM ? 0 : t]);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < channel->width; x++) {
      const size_t i = (size_t) y * (size_t) channel->width + (size_t) x;
      const double sum[2] = { state->term[0][i],
        state->term[1] != NULL ? state->term[1][i] : 0.0 };
      const ptrdiff_t at = (ptrdiff_t) x * channel->pixel_stride;
      const uint8_t *from = sepconv_channel_data (channel, src)
          + y * src->memory[channel->memory].stride + at;
      const double level =
          (image_read_raw (from, channel->sample_bytes) >> channel->shift)
          - channel->center;

      image_write_raw (sepconv_channel_data (channel, dst)
              + y * dst->memory[channel->memory].stride + at,
          round_code (plan, channel, combine_terms (plan, channel, level, sum))
              << channel->shift,
          channel->sample_bytes);
    }
}

static void
copy_channel (const SepconvChannel *channel, const SepconvPart *part)
{
  const Image *src = part->src, *dst = part->dst;

  for (int y = 0; y < sepconv_channel_height (channel, src); y++)
    for (int x = 0; x < channel->width; x++) {
      const ptrdiff_t at = (ptrdiff_t) x * channel->pixel_stride;

      memcpy (sepconv_channel_data (channel, dst)
              + y * dst->memory[channel->memory].stride + at,
          sepconv_channel_data (channel, src)
              + y * src->memory[channel->memory].stride + at,
          (size_t) channel->sample_bytes);
    }
}

static bool
reference_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  (void) fault;
  for (int i = 0; i < plan->n_channels; i++)
    if (plan->channel[i].filter)
      filter_channel (plan, &plan->channel[i], part);
    else
      copy_channel (&plan->channel[i], part);
  return true;
}

/* More than any other method costs for a small picture: `auto` takes the specification only if no
 * other method supports the spec. */
#define NEVER_CHOSEN 1e4

static double
reference_cost (const SepconvWork *work)
{
  return NEVER_CHOSEN + work->samples * (1e4 + 4e3 * sepconv_mean_taps (work));
}

const SepconvMethodOps sepconv_reference_ops = {
  .combines = true,
  .cost = reference_cost,
  .prepare = reference_prepare,
  .release = reference_release,
  .run = reference_run,
};
