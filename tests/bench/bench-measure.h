/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-measure: clocks, and what to say of many measurements of one thing. */
#pragma once

/* Of a monotonic clock. */
double bench_now_ns (void);
/* Returns at once if that has passed. */
void bench_sleep_until (double ns);

/* What this process has used so far. */
typedef struct
{
  double cpu_ns; /* user and system, all threads */
  double voluntary_switches;
} BenchUsage;

BenchUsage bench_usage (void);

/* Before each frame that is to be alone, for when the last one is long through: what
 * then has to be woken is. */
#define BENCH_LONE_PAUSE_US 300

typedef struct
{
  double median, min, max;
} BenchSpread;

void bench_sort (double *values, int n);

/* Sorts the n >= 1 values. */
BenchSpread bench_spread (double *values, int n);

/* Nanoseconds an item of a steady stream, from the times at which each of its n
 * items was complete. The first and the last `trim` items, where the stream fills
 * and empties, are left out; the rest is cut into windows, whose means are
 * spread. n >= 2 * trim + 2. */
BenchSpread bench_interval (const double *stamps, int n, int trim);
