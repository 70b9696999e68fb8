/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* histo-statistics: statistics of counters. It knows no rows and no planes. */
#include "histo.h"

#include <math.h>

/* The lowest code v with v * bins >> depth of at least `bin`. */
static int64_t
first_code (int64_t bin, int bins, int depth)
{
  return ((bin << depth) + bins - 1) / bins;
}

double
histo_bin_center (int bin, int bins, int depth)
{
  const int64_t first = first_code (bin, bins, depth);
  const int64_t last = first_code ((int64_t) bin + 1, bins, depth) - 1;

  return last < first ? (double) first : 0.5 * (double) (first + last);
}

/* The number of codes in each bin, if it is the same for all bins; otherwise 0. */
static int
even_width (int bins, int depth)
{
  const int codes = 1 << depth;

  return codes % bins == 0 ? codes / bins : 0;
}

/* histo_bin_center() for loops over all bins: `width`, from even_width(), saves the divisions,
 * which take most of the time. */
static double
center_of (int bin, int width, int bins, int depth)
{
  return width > 0 ? (bin + 0.5) * width - 0.5
                   : histo_bin_center (bin, bins, depth);
}

/* The centre of the first bin at which the bins so far hold a share part/whole of the samples. */
static double
quantile (const uint64_t *counts, int bins, int depth, uint64_t samples,
    uint64_t part, uint64_t whole)
{
  uint64_t below = 0;
  int bin = 0;

  for (; bin < bins - 1; bin++) {
    below += counts[bin];
    if (below * whole >= samples * part)
      break;
  }
  return histo_bin_center (bin, bins, depth);
}

/* Adds the statistics that need a second sum over the bins, after the mean. */
static void
add_spread (HistoStatistics *statistics, const uint64_t *counts, int bins,
    int depth, double dark, double bright)
{
  const double samples = (double) statistics->samples;
  const int width = even_width (bins, depth);
  uint64_t n_dark = 0, n_bright = 0;
  double squares = 0.0;

  for (int bin = 0; bin < bins; bin++) {
    const double center = center_of (bin, width, bins, depth);
    const double share = (double) counts[bin] / samples;

    if (counts[bin] == 0)
      continue;
    squares +=
        share * (center - statistics->mean) * (center - statistics->mean);
    statistics->entropy -= share * log2 (share);
    if (center <= dark)
      n_dark += counts[bin];
    if (center >= bright)
      n_bright += counts[bin];
  }
  statistics->stddev = sqrt (squares);
  /* Not sums of shares: rounding could make these exceed 1. */
  statistics->dark = (double) n_dark / (double) statistics->samples;
  statistics->bright = (double) n_bright / (double) statistics->samples;
}

HistoStatistics
histo_statistics (
    const uint64_t *counts, int bins, int depth, double dark, double bright)
{
  HistoStatistics statistics = { 0 };
  const int width = even_width (bins, depth);
  double sum = 0.0;

  for (int bin = 0; bin < bins; bin++) {
    const double center = center_of (bin, width, bins, depth);

    if (counts[bin] == 0)
      continue;
    if (statistics.samples == 0)
      statistics.min = center;
    statistics.max = center;
    statistics.samples += counts[bin];
    sum += (double) counts[bin] * center;
  }
  if (statistics.samples == 0)
    return statistics;
  statistics.mean = sum / (double) statistics.samples;
  statistics.median = quantile (counts, bins, depth, statistics.samples, 1, 2);
  statistics.p1 = quantile (counts, bins, depth, statistics.samples, 1, 100);
  statistics.p99 = quantile (counts, bins, depth, statistics.samples, 99, 100);
  add_spread (&statistics, counts, bins, depth, dark, bright);
  return statistics;
}

double
histo_distance (const uint64_t *a, const uint64_t *b, int bins)
{
  uint64_t sum_a = 0, sum_b = 0;
  double distance = 0.0;

  for (int bin = 0; bin < bins; bin++) {
    sum_a += a[bin];
    sum_b += b[bin];
  }
  if (sum_a == 0 || sum_b == 0)
    return sum_a == sum_b ? 0.0 : 1.0;
  for (int bin = 0; bin < bins; bin++)
    distance += fabs (
        (double) a[bin] / (double) sum_a - (double) b[bin] / (double) sum_b);
  return fmin (1.0, 0.5 * distance); /* rounding may take the sum beyond 2 */
}
