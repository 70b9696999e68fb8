/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transfer-link.h"

#define SAMPLES 7

/* One direction of the bus: a stream, and the events around its copies. */
typedef struct
{
  GpuStream stream;
  GpuEvent start, end;
} Lane;

static bool
lane_init (Lane *lane, Fault *fault)
{
  *lane = (Lane){ NULL, NULL, NULL };
  return gpu_stream_new (&lane->stream, fault)
      && gpu_event_new (&lane->start, fault)
      && gpu_event_new (&lane->end, fault);
}

static void
lane_clear (Lane *lane)
{
  if (lane->stream != NULL)
    gpu_stream_synchronize (lane->stream, NULL);
  gpu_event_free (lane->end);
  gpu_event_free (lane->start);
  gpu_stream_free (lane->stream);
}

/* Copies the whole frame as one piece, regardless of its rows. */
static bool
copy_flat (const Rig *rig, const Image *dst, const Image *src, GpuCopy kind,
    GpuStream stream, Fault *fault)
{
  const ptrdiff_t bytes = (ptrdiff_t) rig->bytes;

  return gpu_copy_rows (dst->memory[0].data, bytes, src->memory[0].data, bytes,
      rig->bytes, 1, kind, stream, fault);
}

typedef enum
{
  WAY_UP = 1,
  WAY_DOWN = 2,
  WAY_BOTH = WAY_UP | WAY_DOWN,
} Ways;

typedef struct
{
  Ways ways;
  bool pageable, pitched;
} Course;

static bool
queue_up (
    Rig *rig, const Course *course, int set, GpuStream stream, Fault *fault)
{
  const Image *src =
      course->pageable ? &rig->pageable_src[set] : &rig->pinned_src[set];

  if (course->pitched)
    return rig_copy (&rig->device_src[set], src, GPU_COPY_UP, stream, fault);
  return copy_flat (
      rig, &rig->device_src[set], src, GPU_COPY_UP, stream, fault);
}

static bool
queue_down (
    Rig *rig, const Course *course, int set, GpuStream stream, Fault *fault)
{
  const Image *dst =
      course->pageable ? &rig->pageable_dst[set] : &rig->pinned_dst[set];

  return copy_flat (
      rig, dst, &rig->device_dst[set], GPU_COPY_DOWN, stream, fault);
}

/* Times n copies in each direction: nanoseconds on the device, per lane. */
static bool
time_copies (Rig *rig, Lane lane[2], const Course *course, int n, double ns[2],
    Fault *fault)
{
  for (int way = 0; way < 2; way++)
    if ((course->ways & 1 << way)
        && !gpu_event_record (lane[way].start, lane[way].stream, fault))
      return false;
  for (int i = 0; i < n; i++)
    if (((course->ways & WAY_UP)
            && !queue_up (rig, course, i % RIG_SETS, lane[0].stream, fault))
        || ((course->ways & WAY_DOWN)
            && !queue_down (rig, course, i % RIG_SETS, lane[1].stream, fault)))
      return false;
  for (int way = 0; way < 2; way++)
    if ((course->ways & 1 << way)
        && !gpu_event_record (lane[way].end, lane[way].stream, fault))
      return false;
  for (int way = 0; way < 2; way++)
    if ((course->ways & 1 << way)
        && !(gpu_event_synchronize (lane[way].end, GPU_NAP_NS, fault)
            && gpu_event_elapsed (
                lane[way].start, lane[way].end, &ns[way], fault)))
      return false;
  return true;
}

/* Measures the rate of each direction that the course uses; `rate` of the other may be
 * NULL. */
static bool
measure (Rig *rig, Lane lane[2], const Course *course, double seconds,
    BenchSpread *rate[2], Fault *fault)
{
  double ns[2] = { 1.0, 1.0 }, sample[2][SAMPLES];
  int n = 4;

  /* Warms up, and estimates the number of copies for the given time. */
  if (!time_copies (rig, lane, course, n, ns, fault)
      || !time_copies (rig, lane, course, n, ns, fault))
    return false;
  {
    const double each = (ns[0] > ns[1] ? ns[0] : ns[1]) / n;
    const double want = seconds * 1e9 / SAMPLES / (each > 1.0 ? each : 1.0);

    n = want < 4.0 ? 4 : want > 2000.0 ? 2000 : (int) want;
  }
  for (int i = 0; i < SAMPLES; i++) {
    if (!time_copies (rig, lane, course, n, ns, fault))
      return false;
    for (int way = 0; way < 2; way++)
      sample[way][i] = n * (double) rig->bytes / ns[way];
  }
  for (int way = 0; way < 2; way++)
    if (course->ways & 1 << way)
      *rate[way] = bench_spread (sample[way], SAMPLES);
  return true;
}

bool
link_measure (Rig *rig, double seconds, Link *link, Fault *fault)
{
  const struct
  {
    Course course;
    BenchSpread *rate[2];
  } courses[] = {
    { { WAY_UP, false, false }, { &link->up, NULL } },
    { { WAY_DOWN, false, false }, { NULL, &link->down } },
    { { WAY_BOTH, false, false }, { &link->duplex_up, &link->duplex_down } },
    { { WAY_UP, false, true }, { &link->pitched_up, NULL } },
    { { WAY_UP, true, false }, { &link->pageable_up, NULL } },
    { { WAY_DOWN, true, false }, { NULL, &link->pageable_down } },
  };
  const int n = (int) (sizeof courses / sizeof courses[0]);
  Lane lane[2] = { { NULL, NULL, NULL }, { NULL, NULL, NULL } };
  bool ok = lane_init (&lane[0], fault) && lane_init (&lane[1], fault);

  for (int i = 0; i < n && ok; i++) {
    BenchSpread *rate[2] = { courses[i].rate[0], courses[i].rate[1] };

    ok = measure (rig, lane, &courses[i].course, seconds / n, rate, fault);
  }
  lane_clear (&lane[1]);
  lane_clear (&lane[0]);
  return ok;
}
