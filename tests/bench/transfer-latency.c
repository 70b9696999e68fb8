/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transfer-latency.h"

#include <unistd.h>

#include "transfer-feeder.h"

#define WARM_UP 3
#define MIN_SAMPLES 7
#define MAX_SAMPLES 200

enum
{
  MARK_UP,
  MARK_KERNEL,
  MARK_DOWN,
  MARK_END,
  N_MARKS
};

typedef struct
{
  GpuStream stream;
  GpuEvent mark[N_MARKS];
  SepconvPlan *plan;
} Bench;

/* Issues all three stages in one stream, with events between them if asked for. */
static bool
issue (Bench *bench, Rig *rig, bool marks, Fault *fault)
{
  return (!marks
             || gpu_event_record (bench->mark[MARK_UP], bench->stream, fault))
      && rig_copy (&rig->device_src[0], &rig->pinned_src[0], GPU_COPY_UP,
          bench->stream, fault)
      && (!marks
          || gpu_event_record (bench->mark[MARK_KERNEL], bench->stream, fault))
      && sepconv_plan_run (bench->plan, &rig->device_src[0],
          &rig->device_dst[0], bench->stream, GPU_AFTER_KERNELS, fault)
      && (!marks
          || gpu_event_record (bench->mark[MARK_DOWN], bench->stream, fault))
      && rig_copy (&rig->pinned_dst[0], &rig->device_dst[0], GPU_COPY_DOWN,
          bench->stream, fault)
      && gpu_event_record (bench->mark[MARK_END], bench->stream, fault);
}

static bool
bench_init (Bench *bench, Rig *rig, Fault *fault)
{
  bench->plan = rig_plan (rig, fault);
  if (bench->plan == NULL || !gpu_stream_new (&bench->stream, fault))
    return false;
  for (int i = 0; i < N_MARKS; i++)
    if (!gpu_event_new (&bench->mark[i], fault))
      return false;
  return true;
}

static void
bench_clear (Bench *bench)
{
  if (bench->stream != NULL)
    gpu_stream_synchronize (bench->stream, NULL);
  sepconv_plan_free (bench->plan);
  for (int i = 0; i < N_MARKS; i++)
    gpu_event_free (bench->mark[i]);
  gpu_stream_free (bench->stream);
}

/* Returns whether to take another sample after i samples; if so, has paused before
 * it. */
static bool
go_on (int i, double end_ns)
{
  if (i >= MIN_SAMPLES && (i >= MAX_SAMPLES || bench_now_ns () >= end_ns))
    return false;
  usleep (BENCH_LONE_PAUSE_US);
  return true;
}

static bool
measure_stages (
    Bench *bench, Rig *rig, double seconds, LatencySeries *series, Fault *fault)
{
  const double end = bench_now_ns () + seconds * 1e9;
  double sample[3][MAX_SAMPLES];
  int n = 0;

  for (int i = -WARM_UP; go_on (n, end); i++) {
    if (!issue (bench, rig, true, fault)
        || !gpu_event_synchronize (bench->mark[MARK_END], GPU_NAP_NS, fault))
      return false;
    for (int stage = 0; stage < 3; stage++)
      if (!gpu_event_elapsed (bench->mark[stage], bench->mark[stage + 1],
              &sample[stage][n], fault))
        return false;
    n += i >= 0;
  }
  series->up = bench_spread (sample[0], n);
  series->kernel = bench_spread (sample[1], n);
  series->down = bench_spread (sample[2], n);
  return true;
}

static bool
measure_whole (Bench *bench, Rig *rig, bool spin, double seconds,
    BenchSpread *spread, Fault *fault)
{
  const double end = bench_now_ns () + seconds * 1e9;
  double sample[MAX_SAMPLES];
  int n = 0;

  for (int i = -WARM_UP; go_on (n, end); i++) {
    const double start = bench_now_ns ();

    if (!issue (bench, rig, false, fault)
        || !(spin ? gpu_stream_synchronize (bench->stream, fault)
                  : gpu_event_synchronize (
                      bench->mark[MARK_END], GPU_NAP_NS, fault)))
      return false;
    sample[n] = bench_now_ns () - start;
    n += i >= 0;
  }
  *spread = bench_spread (sample, n);
  return true;
}

bool
latency_measure_series (
    Rig *rig, double seconds, LatencySeries *series, Fault *fault)
{
  Bench bench = { .stream = NULL };
  const bool ok = bench_init (&bench, rig, fault)
      && measure_stages (&bench, rig, seconds / 3, series, fault)
      && measure_whole (&bench, rig, true, seconds / 3, &series->series, fault)
      && measure_whole (
          &bench, rig, false, seconds / 3, &series->series_sleeping, fault);

  bench_clear (&bench);
  return ok;
}

bool
latency_measure_ring (Rig *rig, const Scheme *scheme, double seconds,
    BenchSpread *latency, Fault *fault)
{
  SepconvPlan *plan = rig_plan (rig, fault);
  Ring *ring = plan == NULL
      ? NULL
      : ring_new (rig->gpu, &rig->layout, &rig->layout, 1, NULL, fault);
  const double end = bench_now_ns () + seconds * 1e9;
  double sample[MAX_SAMPLES];
  bool ok = ring != NULL;
  int n = 0;

  for (int i = -WARM_UP; ok && go_on (n, end); i++) {
    const RingFrame frame = feeder_frame (rig, scheme, 0, plan);
    RingSlot *slot = ring_acquire (ring);
    const double start = bench_now_ns ();

    ok = ring_submit (ring, slot, &frame, fault)
        && ring_wait (ring, slot, fault);
    sample[n] = bench_now_ns () - start;
    n += i >= 0;
    ring_release (ring, slot);
  }
  if (ok)
    *latency = bench_spread (sample, n);
  ring_free (ring);
  sepconv_plan_free (plan);
  return ok;
}
