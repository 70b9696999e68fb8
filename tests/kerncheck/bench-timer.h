/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-timer: time of one launch among others of its kind.
 *
 * On a GPU this is GPU time: launches are queued ahead, and short ones form one CUDA
 * graph, so that the host's part of a launch does not count. */
#pragma once

#include "bench-measure.h"
#include "kerncheck-device.h"

/* Queues the work for one pair of frames on the stream of its turn; on the host, does it. */
typedef bool (*BenchLaunch) (
    void *user, int pair, int turn, GpuStream stream, Fault *fault);

typedef struct
{
  BenchLaunch launch;
  void *user;
  int n_pairs; /* pairs [0, n_pairs) are launched one after the other, again and again */
  /* Turns that the launches take, each with a stream of its own; the first one's is the device's. 0
   * is 1. */
  int turns;
} BenchWork;

typedef enum
{
  BENCH_GRAPH,    /* batches of launches, each batch one graph */
  BENCH_LAUNCHES, /* batches of single launches */
  BENCH_SINGLE,   /* one launch, which is long enough */
} BenchWay;

typedef struct
{
  BenchSpread us; /* of one launch, over the samples */
  int batch;      /* launches in a sample */
  int samples;
  BenchWay way;
  bool no_graph; /* a graph was tried in vain; valid after a failure too */
} BenchTime;

const char *bench_way_name (BenchWay way);

/* The first launch is not counted. On a GPU the context must be pushed. */
bool bench_time (
    const Device *device, const BenchWork *work, BenchTime *time, Fault *fault);
/* Limits of `seconds` of bench_time_sustained(). */
#define BENCH_MIN_SUSTAINED_S 0.1
#define BENCH_MAX_SUSTAINED_S 60.0

/* Measures microseconds per launch in a stream of launches that lasts `seconds`, as in a
 * pipeline at full speed: the GPU runs at the clock that its power limit allows. Launches
 * are queued one by one, ahead of the GPU; a kernel shorter than its launch call counts as
 * long as that call. The first fifth of the time is not counted. Otherwise as
 * bench_time(). */
bool bench_time_sustained (const Device *device, const BenchWork *work,
    double seconds, double *us, Fault *fault);

/* As bench_time(), but without CUDA graphs: for plans that a failed capture would make
 * useless, because an event that was recorded during the capture cannot be waited for. */
bool bench_time_without_graphs (
    const Device *device, const BenchWork *work, BenchTime *time, Fault *fault);
