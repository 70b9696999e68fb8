/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-plan: decides whether the terms of terms-simd may be 16-bit integers, and finds
 * these. */
#include "terms-rows.h"

#include <math.h>

/* Largest number, with its fractional bits, that is stored as a short; the rest is room for
 * rounding. */
#define MOST_SHORT 32700.0
#define MOST_FRACTION 7
#define MOST_FACTOR_BITS 14
/* A difference compared with the threshold may be off as much as any value, less a safety
 * margin. */
#define MOST_BESIDE_THRESHOLD 0.24

/* The constant that is added to the sum of term t over codes minus the center. */
static double
term_addend (const TermsJob *job, int t, int c)
{
  const SepconvChannel *channel = &job->rows.channel[c];

  switch (job->combine) {
    case SEPCONV_UNSHARP: /* the difference subtracts the term */
      return channel->term_offset[t] - channel->zero_offset;
    case SEPCONV_MAGNITUDE:
      return channel->term_offset[t];
    default: /* the last shift truncates */
      return t == 0 ? channel->offset + 0.5 : 0.0;
  }
}

/* The largest size of a term in codes, including its constant. */
static double
largest_term (const TermsJob *job, int t)
{
  double most = 0.0;

  for (int c = 0; c < job->rows.step; c++)
    most = fmax (most, fabs (term_addend (job, t, c)));
  return most
      + taps_norm (&job->term[t]->x) * taps_norm (&job->term[t]->y)
      * job->rows.channel->center;
}

static double
largest_result (const TermsJob *job)
{
  double most = 0.0;

  for (int c = 0; c < job->rows.step; c++)
    most = fmax (most, fabs (job->addends->result[c]));
  return most;
}

/* The most fractional bits with which numbers up to `most` fit shorts; < 0: there are none. */
static int
fraction_for (double most)
{
  int bits = MOST_FRACTION;

  while (bits >= 0 && !(ldexp (most, bits) <= MOST_SHORT))
    bits--;
  return bits;
}

static bool
plan_term (TermsCodes *codes, const TermsJob *job, int t, double most_lost)
{
  RowsCodeAim aim = { .fraction = codes->fraction, .most_lost = most_lost };

  for (int c = 0; c < job->rows.step; c++)
    aim.start[c] = term_addend (job, t, c);
  /* The sum of both terms is truncated later, so this term is truncated, too: rounded twice,
   * results would be too large on average. */
  if (job->combine == SEPCONV_SUM && t == 0)
    for (int c = 0; c < job->rows.step; c++)
      aim.start[c] -= ldexp (0.5, -aim.fraction);
  return rows_plan_codes (&job->coded[t], &aim, &codes->taps[t]);
}

static bool
plan_sum (TermsCodes *codes, const TermsJob *job)
{
  double most = 0.0;

  for (int t = 0; t < job->n_terms; t++)
    most += largest_term (job, t);
  codes->fraction = fraction_for (most);
  if (codes->fraction < 1)
    return false;
  for (int t = 0; t < job->n_terms; t++)
    if (!plan_term (codes, job, t, ROWS_MOST_LOST / job->n_terms))
      return false;
  return true;
}

/* Finds the factors `keep` and `sharpen` and the constants of the result; returns their error,
 * in codes. `difference`: the largest one. */
static double
plan_factors (TermsCodes *codes, const TermsJob *job, double difference)
{
  const double center = job->rows.channel->center;
  const double factor = fmax (fabs (job->keep), fabs (job->sharpen));
  const double most = largest_result (job) + 1.0 + fabs (job->keep) * center
      + fabs (job->sharpen) * difference;
  int bits = MOST_FACTOR_BITS, keep, sharpen;

  while (bits >= 0
      && !(ldexp (factor, bits) <= INT16_MAX
          && ldexp (most, bits + codes->fraction) < 0x1p31))
    bits--;
  if (bits < 0)
    return INFINITY;
  keep = (int) lrint (ldexp (job->keep, bits));
  sharpen = (int) lrint (ldexp (job->sharpen, bits));
  codes->factors = (int32_t) ((uint32_t) (uint16_t) keep
      | (uint32_t) (uint16_t) sharpen << 16);
  codes->shift = bits + codes->fraction;
  for (int i = 0; i < TERMS_PATTERN; i++)
    codes->result[i] =
        (int32_t) lrint (ldexp (job->addends->result[i] + 0.5, codes->shift));
  return fabs (job->keep - ldexp (keep, -bits)) * center
      + fabs (job->sharpen - ldexp (sharpen, -bits)) * difference
      + ldexp (0.5, -codes->shift);
}

static bool
plan_unsharp (TermsCodes *codes, const TermsJob *job)
{
  const double threshold = job->rows.channel->threshold;
  const double center = job->rows.channel->center;
  const double difference = center + largest_term (job, 0);
  double allowed;

  codes->fraction = fraction_for (difference);
  if (codes->fraction < 1)
    return false;
  allowed = ROWS_MOST_LOST - plan_factors (codes, job, difference);
  if (!(allowed > 0.0))
    return false;
  codes->threshold =
      (int16_t) fmin (floor (ldexp (threshold, codes->fraction)), INT16_MAX);
  allowed = fmin (MOST_BESIDE_THRESHOLD - ldexp (1.0, -codes->fraction),
      allowed / fmax (fabs (job->sharpen), 1.0));
  return plan_term (codes, job, 0, allowed);
}

static bool
plan_magnitude (TermsCodes *codes, const TermsJob *job)
{
  const double most = fmax (largest_term (job, 0), largest_term (job, 1));
  const double allowed =
      ROWS_MOST_LOST / (sqrt (2.0) * fmax (job->y_factor, 1e-3));

  codes->fraction = fraction_for (most);
  /* The result must fit a 32-bit integer. */
  if (codes->fraction < 1
      || !(largest_result (job) + 1.5 * most * job->y_factor < 0x1p30))
    return false;
  codes->factor = (float) ldexp (job->sign * job->y_factor, -codes->fraction);
  for (int i = 0; i < TERMS_PATTERN; i++)
    codes->offset[i] = (float) job->addends->result[i];
  return plan_term (codes, job, 0, allowed)
      && plan_term (codes, job, 1, allowed);
}

/* Three channels do not fit the patterns of four. They suit only if all constants of the result
 * are equal and samples are bytes next to each other, or if the combination is SUM, which uses
 * terms alone. */
static bool
suits_pattern (const TermsJob *job)
{
  if (job->rows.step != 3 || job->combine == SEPCONV_SUM)
    return true;
  for (int c = 1; c < job->rows.step; c++)
    if (job->addends->result[c] != job->addends->result[0])
      return false;
  return job->rows.channel->sample_bytes == 1;
}

bool
terms_plan_codes (TermsCodes *codes, const TermsJob *job)
{
  if (job->n_terms > TERMS_MAX_CODED || job->wide || !suits_pattern (job))
    return false;
  switch (job->combine) {
    case SEPCONV_SUM:
      return plan_sum (codes, job);
    case SEPCONV_UNSHARP:
      return plan_unsharp (codes, job);
    case SEPCONV_MAGNITUDE:
      return plan_magnitude (codes, job);
    default:
      return false;
  }
}
