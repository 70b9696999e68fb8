/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-timer.h"

#include "bench-cuda.h"
#include "bench-grid.h"

#include <math.h>

/* Larger batches have no advantage. */
#define MAX_BATCH 8192

/* Sustained figures: duration of a batch, batches in flight (so that the GPU always has
 * work), and the part of the time in which clocks settle. */
#define SUSTAINED_BATCH_NS 4e6
#define SUSTAINED_BATCHES 3
#define SETTLING_PART 0.2

typedef struct
{
  const Device *device;
  const BenchWork *work;
  int next; /* pair */
  GpuStream other[GPU_MAX_TURNS - 1]; /* of turns 1, 2... */
  GpuEvent crossing;
} Series;

const char *
bench_way_name (BenchWay way)
{
  static const char *const names[] = {
    [BENCH_GRAPH] = "graph",
    [BENCH_LAUNCHES] = "launches",
    [BENCH_SINGLE] = "one launch",
  };

  return names[way];
}

static bool
open_series (
    Series *series, const Device *device, const BenchWork *work, Fault *fault)
{
  *series = (Series){ .device = device, .work = work };
  if (work->turns < 2)
    return true;
  for (int i = 0; i < work->turns - 1; i++)
    if (!gpu_stream_new (&series->other[i], fault))
      return false;
  return gpu_event_new_untimed (&series->crossing, fault);
}

static void
close_series (Series *series)
{
  gpu_event_free (series->crossing);
  for (int i = 0; i < GPU_MAX_TURNS - 1; i++)
    gpu_stream_free (series->other[i]);
}

/* Makes later work on `to` wait for all work on `from`. */
static bool
cross (Series *series, GpuStream from, GpuStream to, Fault *fault)
{
  return gpu_event_record (series->crossing, from, fault)
      && gpu_stream_wait_event (to, series->crossing, fault);
}

static int
turns_of (const Series *series)
{
  return series->work->turns > 1 ? series->work->turns : 1;
}

/* Each batch begins and ends on the device's stream. */
static bool
launch_batch (Series *series, int batch, Fault *fault)
{
  const BenchWork *work = series->work;
  const GpuStream first = series->device->stream;
  const int turns = turns_of (series);

  for (int t = 1; t < turns; t++)
    if (!cross (series, first, series->other[t - 1], fault))
      return false;
  for (int i = 0; i < batch; i++) {
    const int turn = i % turns;

    if (!work->launch (work->user, series->next, turn,
            turn == 0 ? first : series->other[turn - 1], fault))
      return false;
    series->next = (series->next + 1) % work->n_pairs;
  }
  for (int t = 1; t < turns; t++)
    if (!cross (series, series->other[t - 1], first, fault))
      return false;
  return true;
}

static bool
time_on_host (
    Series *series, int batch, int samples, double *each_ns, Fault *fault)
{
  for (int i = 0; i < samples; i++) {
    const double start = bench_now_ns ();

    if (!launch_batch (series, batch, fault))
      return false;
    each_ns[i] = (bench_now_ns () - start) / batch;
  }
  return true;
}

static bool
queue_batch (Series *series, BenchGraph graph, int batch, Fault *fault)
{
  return graph != NULL
      ? bench_graph_launch (graph, series->device->stream, fault)
      : launch_batch (series, batch, fault);
}

/* Queues one batch before the first event: it keeps the GPU busy until the others are
 * queued, and includes the work of a first launch. */
static bool
queue_samples (Series *series, BenchGraph graph, int batch, int samples,
    GpuEvent *events, Fault *fault)
{
  const GpuStream stream = series->device->stream;

  for (int i = 0; i <= samples; i++)
    if (!queue_batch (series, graph, batch, fault)
        || !gpu_event_record (events[i], stream, fault))
      return false;
  return true;
}

static bool
time_on_gpu (Series *series, BenchGraph graph, int batch, int samples,
    double *each_ns, Fault *fault)
{
  GpuEvent events[BENCH_SAMPLES + 1] = { NULL };
  bool ok = true;

  for (int i = 0; i <= samples && ok; i++)
    ok = gpu_event_new (&events[i], fault);
  ok = ok && queue_samples (series, graph, batch, samples, events, fault);
  /* All queued work must end before its events are freed. */
  ok = gpu_stream_synchronize (series->device->stream, ok ? fault : NULL) && ok;
  for (int i = 0; i < samples && ok; i++) {
    ok = gpu_event_elapsed (events[i], events[i + 1], &each_ns[i], fault);
    each_ns[i] /= batch;
  }
  for (int i = 0; i <= samples; i++)
    gpu_event_free (events[i]);
  return ok;
}

/* Times a second launch; the first one loads code and uploads taps, once for each turn. */
static bool
time_one (Series *series, double *ns, Fault *fault)
{
  if (series->device->gpu != NULL)
    return time_on_gpu (series, NULL, turns_of (series), 1, ns, fault);
  return launch_batch (series, 1, fault)
      && time_on_host (series, 1, 1, ns, fault);
}

/* Returns NULL if the launches cannot be captured in a graph; they are then made one by
 * one. */
static BenchGraph
capture (Series *series, int batch)
{
  BenchGraph graph = NULL;
  Fault fault;
  bool queued;

  series->next = 0;
  if (!bench_graph_begin (series->device->stream, &fault))
    return NULL;
  queued = launch_batch (series, batch, &fault);
  if (!bench_graph_end (series->device->stream, &graph, &fault) || !queued) {
    bench_graph_free (graph);
    return NULL;
  }
  return graph;
}

/* A graph always uses the same pairs, so that it has to contain all of them. */
static int
graph_batch (const Series *series, double each_ns)
{
  const double turn_ns = each_ns * series->work->n_pairs;
  const double turns = fmax (1.0, ceil (BENCH_BATCH_NS / turn_ns));

  if (series->device->gpu == NULL
      || turn_ns * (BENCH_SAMPLES + 1) > BENCH_LIMIT_NS)
    return 0;
  return (int) fmin (
             turns, fmax (1.0, (double) MAX_BATCH / series->work->n_pairs))
      * series->work->n_pairs;
}

static int
plain_batch (double each_ns)
{
  return (int) fmin (
      fmax (ceil (BENCH_BATCH_NS / fmax (each_ns, 1.0)), 1.0), MAX_BATCH);
}

static bool
time_batches (
    Series *series, bool graphs, double each_ns, BenchTime *time, Fault *fault)
{
  double ns[BENCH_SAMPLES];
  BenchGraph graph = NULL;
  bool ok;

  time->batch = graphs ? graph_batch (series, each_ns) : 0;
  if (time->batch > 0)
    graph = capture (series, time->batch);
  time->no_graph = graph == NULL && time->batch > 0;
  if (graph == NULL)
    time->batch = plain_batch (each_ns);
  time->way = graph != NULL ? BENCH_GRAPH : BENCH_LAUNCHES;
  time->samples = (int) fmin (BENCH_SAMPLES,
      fmax (1.0, floor (BENCH_LIMIT_NS / (each_ns * time->batch))));
  ok = series->device->gpu == NULL
      ? time_on_host (series, time->batch, time->samples, ns, fault)
      : time_on_gpu (series, graph, time->batch, time->samples, ns, fault);
  bench_graph_free (graph);
  if (ok) {
    time->us = bench_spread (ns, time->samples);
    time->us.median /= 1e3;
    time->us.min /= 1e3;
    time->us.max /= 1e3;
  }
  return ok;
}

static bool
time_series (Series *series, bool graphs, BenchTime *time, Fault *fault)
{
  double ns;

  time->no_graph = false;
  if (!time_one (series, &ns, fault))
    return false;
  if (ns <= BENCH_LONG_NS)
    return time_batches (series, graphs, ns, time, fault);
  time->us = (BenchSpread){ ns / 1e3, ns / 1e3, ns / 1e3 };
  time->batch = time->samples = 1;
  time->way = BENCH_SINGLE;
  return true;
}

static bool
time_work (const Device *device, const BenchWork *work, bool graphs,
    BenchTime *time, Fault *fault)
{
  Series series;
  const bool ok = open_series (&series, device, work, fault)
      && time_series (&series, graphs, time, fault);

  close_series (&series);
  return ok;
}

bool
bench_time (
    const Device *device, const BenchWork *work, BenchTime *time, Fault *fault)
{
  return time_work (device, work, true, time, fault);
}

bool
bench_time_without_graphs (
    const Device *device, const BenchWork *work, BenchTime *time, Fault *fault)
{
  return time_work (device, work, false, time, fault);
}

static bool
sustain_on_host (Series *series, int batch, double duration_ns, double *each_ns,
    Fault *fault)
{
  const double start = bench_now_ns ();
  double counted = start, now = start;
  double launches = 0.0;

  while (now < start + duration_ns) {
    if (!launch_batch (series, batch, fault))
      return false;
    now = bench_now_ns ();
    if (now < start + SETTLING_PART * duration_ns)
      counted = now;
    else
      launches += batch;
  }
  *each_ns = (now - counted) / launches;
  return true;
}

/* Event b % SUSTAINED_BATCHES marks the end of batch b, and `settled` the end of the
 * last batch that is not counted. */
static bool
queue_sustained (Series *series, int batch, double duration_ns,
    GpuEvent *events, GpuEvent settled, double *each_ns, Fault *fault)
{
  const GpuStream stream = series->device->stream;
  const double start = bench_now_ns ();
  GpuEvent last = NULL;
  bool counts = false;
  double launches = 0.0, ns;

  for (int b = 0; bench_now_ns () < start + duration_ns || launches == 0.0;
       b++) {
    GpuEvent *event = &events[b % SUSTAINED_BATCHES];

    if (b >= SUSTAINED_BATCHES && !gpu_event_synchronize (*event, 2e4, fault))
      return false;
    if (!launch_batch (series, batch, fault)
        || !gpu_event_record (*event, stream, fault))
      return false;
    last = *event;
    if (counts)
      launches += batch;
    else if (bench_now_ns () >= start + SETTLING_PART * duration_ns) {
      counts = true;
      if (!gpu_event_record (settled, stream, fault))
        return false;
    }
  }
  if (!gpu_stream_synchronize (stream, fault)
      || !gpu_event_elapsed (settled, last, &ns, fault))
    return false;
  *each_ns = ns / launches;
  return true;
}

static bool
sustain_on_gpu (Series *series, int batch, double duration_ns, double *each_ns,
    Fault *fault)
{
  GpuEvent events[SUSTAINED_BATCHES + 1] = { NULL };
  bool ok = true;

  for (int i = 0; i <= SUSTAINED_BATCHES && ok; i++)
    ok = gpu_event_new (&events[i], fault);
  ok = ok
      && queue_sustained (series, batch, duration_ns, events,
          events[SUSTAINED_BATCHES], each_ns, fault);
  /* All queued work must end before its events are freed. */
  ok = gpu_stream_synchronize (series->device->stream, ok ? fault : NULL) && ok;
  for (int i = 0; i <= SUSTAINED_BATCHES; i++)
    gpu_event_free (events[i]);
  return ok;
}

bool
bench_time_sustained (const Device *device, const BenchWork *work,
    double seconds, double *us, Fault *fault)
{
  Series series;
  double ns;
  bool ok = open_series (&series, device, work, fault)
      && time_one (&series, &ns, fault);

  if (ok) {
    const int batch =
        (int) fmin (fmax (ceil (SUSTAINED_BATCH_NS / ns), 1.0), MAX_BATCH);

    ok = (device->gpu == NULL ? sustain_on_host : sustain_on_gpu) (
        &series, batch, 1e9 * seconds, &ns, fault);
    *us = ns / 1e3;
  }
  close_series (&series);
  return ok;
}
