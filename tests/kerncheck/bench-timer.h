/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-timer: how long one launch takes, among others of its kind.
 *
 * On a GPU it is the GPU's own time: launches are queued ahead of it, and short
 * ones are one graph, so that the host's part of a launch does not count. */
#pragma once

#include "bench-measure.h"
#include "kerncheck-device.h"

/* Queues the work for one pair of frames on the stream, or does it. */
typedef bool (*BenchLaunch) (
    void *user, int pair, GpuStream stream, Fault *fault);

typedef enum
{
  BENCH_GRAPH,    /* batches of launches, each batch one graph */
  BENCH_LAUNCHES, /* batches of single launches */
  BENCH_SINGLE,   /* one launch, which took long enough */
} BenchWay;

typedef struct
{
  BenchSpread us; /* of one launch, over the samples */
  int batch;      /* launches in a sample */
  int samples;
  BenchWay way;
  bool no_graph; /* tried in vain; valid after a failure too */
} BenchTime;

const char *bench_way_name (BenchWay way);

/* Pairs [0, n_pairs) are taken in turn; one launch is made first and not counted.
 * On a GPU the context must be pushed. */
bool bench_time (const Device *device, BenchLaunch launch, void *user,
    int n_pairs, BenchTime *time, Fault *fault);
/* The limits of `seconds` below. */
#define BENCH_MIN_SUSTAINED_S 0.1
#define BENCH_MAX_SUSTAINED_S 60.0

/* Microseconds a launch in a stream of launches that goes on for so many seconds, as in a
 * pipeline that runs at full speed: the GPU is at the clock that its power limit leaves.
 * Launches are made one by one, always ahead of the GPU: kernels that are shorter than the
 * call that launches them take as long as that. The first fifth of the time is not
 * counted. Otherwise as bench_time(). */
bool bench_time_sustained (const Device *device, BenchLaunch launch, void *user,
    int n_pairs, double seconds, double *us, Fault *fault);

/* Without graphs, for what is of no use any more once a graph could not hold it: an
 * event that was recorded in one cannot be waited for. */
bool bench_time_without_graphs (const Device *device, BenchLaunch launch,
    void *user, int n_pairs, BenchTime *time, Fault *fault);
