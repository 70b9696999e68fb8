/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-measure.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_WINDOWS 9
/* Window lengths are a multiple of this, so that windows hold whole groups of 1, 2, 3,
 * 4 or 6 frames, for streams that issue and complete frames in groups. */
#define GROUP 12

double
bench_now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

void
bench_sleep_until (double ns)
{
  const time_t seconds = (time_t) (ns / 1e9);
  const struct timespec time
      = { seconds, (long) (ns - (double) seconds * 1e9) };

  while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
    continue;
}

static double
timeval_ns (const struct timeval *time)
{
  return (double) time->tv_sec * 1e9 + (double) time->tv_usec * 1e3;
}

BenchUsage
bench_usage (void)
{
  struct rusage used;

  getrusage (RUSAGE_SELF, &used);
  return (
      BenchUsage){ timeval_ns (&used.ru_utime) + timeval_ns (&used.ru_stime),
    (double) used.ru_nvcsw };
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

void
bench_sort (double *values, int n)
{
  qsort (values, (size_t) n, sizeof *values, compare);
}

BenchSpread
bench_spread (double *values, int n)
{
  assert (n >= 1);
  bench_sort (values, n);
  return (BenchSpread){ (values[(n - 1) / 2] + values[n / 2]) / 2, values[0],
    values[n - 1] };
}

BenchSpread
bench_interval (const double *stamps, int n, int trim)
{
  const int intervals = n - 1 - 2 * trim;
  int length = (intervals + MAX_WINDOWS - 1) / MAX_WINDOWS, windows;
  double mean[MAX_WINDOWS];

  assert (intervals >= 1);
  if (length > 2)
    length = (length + GROUP - 1) / GROUP * GROUP;
  if (length > intervals)
    length = intervals;
  windows = intervals / length;
  for (int w = 0; w < windows; w++) {
    const double *first = &stamps[trim + w * length];

    mean[w] = (first[length] - first[0]) / length;
  }
  return bench_spread (mean, windows);
}
