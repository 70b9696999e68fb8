/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-measure: clocks, and statistics over repeated measurements. */
#pragma once

/* The time of a monotonic clock, in nanoseconds. */
double bench_now_ns (void);
/* Sleeps until that time of bench_now_ns(); returns at once if it has passed. */
void bench_sleep_until (double ns);

/* Resources that this process has used so far. */
typedef struct
{
  double cpu_ns; /* user and system, all threads */
  double voluntary_switches;
} BenchUsage;

BenchUsage bench_usage (void);

/* Pause before each lone frame: the frame before has long left by then, so that the
 * time of a lone frame includes the wake-up of sleeping threads. */
#define BENCH_LONE_PAUSE_US 300

typedef struct
{
  double median, min, max;
} BenchSpread;

void bench_sort (double *values, int n);

/* Sorts the values in place. n >= 1. */
BenchSpread bench_spread (double *values, int n);

/* Nanoseconds per item of a steady stream, from the completion times of its n items.
 * Leaves out the first and the last `trim` items, where the stream fills and drains;
 * cuts the rest into windows and returns the spread of their means. n >= 2 * trim +
 * 2. */
BenchSpread bench_interval (const double *stamps, int n, int trim);
