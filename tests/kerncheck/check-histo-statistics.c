/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Statistics of a histogram, compared with the individual samples. */
#include "kerncheck.h"

#include "histo-cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples at their bins' centres, sorted, and their counters. */
typedef struct
{
  int n, bins, depth;
  double *value;
  uint64_t *counts;
} Samples;

/* The centre of a bin, found by looking at all codes. */
static double
center_by_looking (int bin, int bins, int depth)
{
  int first = -1, last = -1;

  for (int code = 0; code < 1 << depth; code++)
    if ((long long) code * bins / (1 << depth) == bin) {
      first = first < 0 ? code : first;
      last = code;
    }
  return 0.5 * (first + last);
}

static int
by_value (const void *a, const void *b)
{
  const double difference = *(const double *) a - *(const double *) b;

  return (difference > 0.0) - (difference < 0.0);
}

static void
samples_new (Samples *samples, int n, int bins, int depth, Random *random)
{
  const int full = (1 << depth) - 1;
  const int low = random_int (random, 0, full);
  const int high = random_int (random, low, full);

  samples->n = n;
  samples->bins = bins;
  samples->depth = depth;
  samples->value = kerncheck_alloc ((size_t) n * sizeof *samples->value);
  samples->counts = kerncheck_alloc ((size_t) bins * sizeof *samples->counts);
  for (int i = 0; i < n; i++) {
    const long long code =
        random_chance (random, 20) ? low : random_int (random, low, high);
    const int bin = (int) (code * bins / (full + 1));

    samples->counts[bin]++;
    samples->value[i] = center_by_looking (bin, bins, depth);
  }
  qsort (samples->value, (size_t) n, sizeof *samples->value, by_value);
}

static void
samples_free (Samples *samples)
{
  free (samples->value);
  free (samples->counts);
}

/* The lowest value such that at least percent/100 of all values are not above it. */
static double
quantile (const Samples *samples, int percent)
{
  int rank = 1;

  while (100 * rank < percent * samples->n)
    rank++;
  return samples->value[rank - 1];
}

/* By runs of equal values. */
static double
entropy (const Samples *samples)
{
  double bits = 0.0;

  for (int i = 0, n; i < samples->n; i += n) {
    double share;

    for (n = 1;
         i + n < samples->n && samples->value[i + n] == samples->value[i];)
      n++;
    share = (double) n / samples->n;
    bits -= share * log (share) / log (2.0);
  }
  return bits;
}

static void
expect_near (Check *check, const char *what, double seen, double expected)
{
  EXPECT (check, fabs (seen - expected) <= 1e-9 * (1.0 + fabs (expected)),
      "%s is %.15g instead of %.15g", what, seen, expected);
}

static void
expect_moments (
    Check *check, const Samples *samples, const HistoStatistics *statistics)
{
  double mean = 0.0, variance = 0.0;

  for (int i = 0; i < samples->n; i++)
    mean += samples->value[i] / samples->n;
  for (int i = 0; i < samples->n; i++)
    variance +=
        (samples->value[i] - mean) * (samples->value[i] - mean) / samples->n;
  expect_near (check, "the mean", statistics->mean, mean);
  expect_near (check, "the deviation", statistics->stddev, sqrt (variance));
}

static void
statistics_case (Check *check, Random *random, int index, const void *data)
{
  static const int depths[] = { 8, 10, 1, 5, 7, 12 };
  const int depth = depths[index % 6], full = (1 << depth) - 1;
  const double dark = random_int (random, -1, full);
  const double bright = random_int (random, 0, full + 1);
  HistoStatistics statistics;
  Samples samples;
  int n_dark = 0, n_bright = 0;

  (void) data;
  samples_new (&samples, random_int (random, 1, index % 2 ? 5 : 400),
      random_chance (random, 50) ? full + 1 : random_int (random, 2, 700),
      depth, random);
  check_describe (check, "%d samples of %d bits in %d bins, dark %g, bright %g",
      samples.n, depth, samples.bins, dark, bright);
  statistics =
      histo_statistics (samples.counts, samples.bins, depth, dark, bright);
  for (int i = 0; i < samples.n; i++) {
    n_dark += samples.value[i] <= dark;
    n_bright += samples.value[i] >= bright;
  }
  EXPECT (check, statistics.samples == (uint64_t) samples.n,
      "%llu samples were found", (unsigned long long) statistics.samples);
  expect_near (check, "the lowest", statistics.min, samples.value[0]);
  expect_near (
      check, "the highest", statistics.max, samples.value[samples.n - 1]);
  expect_near (check, "the median", statistics.median, quantile (&samples, 50));
  expect_near (check, "p1", statistics.p1, quantile (&samples, 1));
  expect_near (check, "p99", statistics.p99, quantile (&samples, 99));
  expect_near (check, "the entropy", statistics.entropy, entropy (&samples));
  expect_near (
      check, "the dark share", statistics.dark, (double) n_dark / samples.n);
  expect_near (check, "the bright share", statistics.bright,
      (double) n_bright / samples.n);
  expect_moments (check, &samples, &statistics);
  samples_free (&samples);
}

static void
check_statistics (Check *check, const void *data)
{
  check_cases (check, check->quick ? 60 : 600, statistics_case, data);
}

/* Numbers that can be computed by hand, and counters too large to expand into samples. */
static void
check_known (Check *check, const void *data)
{
  uint64_t counts[256] = { 0 };
  HistoStatistics statistics = histo_statistics (counts, 256, 8, 16, 235);

  (void) data;
  check->cases++;
  EXPECT (check,
      statistics.samples == 0 && statistics.max == 0.0
          && statistics.stddev == 0.0 && statistics.entropy == 0.0
          && statistics.dark == 0.0,
      "no samples are something");
  for (int i = 0; i < 256; i++)
    counts[i] = HISTO_MAX_SAMPLES / 256;
  statistics = histo_statistics (counts, 256, 8, 15, 240);
  expect_near (check, "the mean of all codes", statistics.mean, 127.5);
  expect_near (check, "their deviation", statistics.stddev,
      sqrt ((256.0 * 256.0 - 1.0) / 12.0));
  expect_near (check, "their entropy", statistics.entropy, 8.0);
  expect_near (check, "their median", statistics.median, 127.0);
  expect_near (check, "their p1", statistics.p1, 2.0);
  expect_near (check, "their p99", statistics.p99, 253.0);
  expect_near (check, "their dark share", statistics.dark, 1.0 / 16.0);
  expect_near (check, "their bright share", statistics.bright, 1.0 / 16.0);
  /* Two bins of 128 codes each lie at 63.5 and 191.5. */
  statistics = histo_statistics (counts, 2, 8, 63.5, 192.0);
  expect_near (check, "the mean of two bins", statistics.mean, 127.5);
  expect_near (check, "their lowest", statistics.min, 63.5);
  expect_near (check, "their dark share", statistics.dark, 0.5);
  expect_near (check, "their bright share", statistics.bright, 0.0);
}

static void
check_centers (Check *check, const void *data)
{
  static const int bins[] = { 2, 3, 16, 255, 256, 257, 1000 };

  (void) data;
  check->cases++;
  for (int depth = 1; depth <= 10; depth++)
    for (int i = 0; i < 7; i++)
      for (int code = 0; code < 1 << depth; code += 1 + depth / 5) {
        const int bin = (int) ((long long) code * bins[i] / (1 << depth));
        const double center = histo_bin_center (bin, bins[i], depth);

        if (!EXPECT (check, center == center_by_looking (bin, bins[i], depth),
                "%d bits, %d bins: the centre of bin %d is %g", depth, bins[i],
                bin, center))
          return;
      }
}

static void
distance_case (Check *check, Random *random, int index, const void *data)
{
  const int bins = random_int (random, 2, 40);
  const uint64_t scale = (uint64_t) random_int (random, 1, 1000000);
  uint64_t a[40], b[40], scaled[40], zero[40] = { 0 };
  double sum_a = 0.0, sum_b = 0.0, common = 0.0;

  (void) data;
  (void) index;
  for (int i = 0; i < bins; i++) {
    a[i] = (uint64_t) random_int (random, i == 0, 9);
    b[i] = (uint64_t) random_int (random, i == 0, 3000);
    scaled[i] = scale * a[i];
    sum_a += (double) a[i];
    sum_b += (double) b[i];
  }
  for (int i = 0; i < bins; i++)
    common += fmin ((double) a[i] / sum_a, (double) b[i] / sum_b);
  expect_near (
      check, "the distance", histo_distance (a, b, bins), 1.0 - common);
  expect_near (
      check, "the way back", histo_distance (b, a, bins), 1.0 - common);
  expect_near (check, "the distance to the same of another size",
      histo_distance (a, scaled, bins), 0.0);
  EXPECT (check,
      histo_distance (a, zero, bins) == 1.0
          && histo_distance (zero, b, bins) == 1.0
          && histo_distance (zero, zero, bins) == 0.0,
      "the distance to nothing is wrong");
  for (int i = 0; i < bins; i++)
    (i % 2 == 0 ? b : a)[i] = 0;
  EXPECT (check, histo_distance (a, b, bins) <= 1.0,
      "rounding takes a distance beyond 1");
  memset (a, 0, sizeof a);
  memset (b, 0, sizeof b);
  a[0] = scale;
  b[bins - 1] = 1;
  expect_near (
      check, "the distance of strangers", histo_distance (a, b, bins), 1.0);
}

static void
check_distance (Check *check, const void *data)
{
  check_cases (check, 200, distance_case, data);
}

#define WHOLE_BINS 256

/* With one sample in every bin, all of them dark and bright, both shares are exactly 1, whatever
 * the rounding errors of the sum. */
static void
check_whole_shares (Check *check, const void *data)
{
  uint64_t counts[WHOLE_BINS];

  (void) data;
  check->cases++;
  for (int bins = HISTO_MIN_BINS; bins <= WHOLE_BINS; bins++) {
    HistoStatistics statistics;

    for (int i = 0; i < bins; i++)
      counts[i] = 1;
    statistics = histo_statistics (counts, bins, 8, 1e9, -1.0);
    if (!EXPECT (check, statistics.dark == 1.0 && statistics.bright == 1.0,
            "%d bins: dark %.17g, bright %.17g", bins, statistics.dark,
            statistics.bright))
      return;
  }
}

void
check_histo_statistics_add (void)
{
  kerncheck_add (check_statistics, NULL, NULL, "histo/statistics");
  kerncheck_add (check_known, NULL, NULL, "histo/statistics-known");
  kerncheck_add (check_whole_shares, NULL, NULL, "histo/statistics-shares");
  kerncheck_add (check_centers, NULL, NULL, "histo/bin-centers");
  kerncheck_add (check_distance, NULL, NULL, "histo/distance");
}
