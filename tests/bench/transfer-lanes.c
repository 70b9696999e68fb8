/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transfer-lanes.h"

#include "bench-measure.h"

#define LANES 3

/* A stream with its own plan; its frames use one set of the rig. */
typedef struct
{
  GpuStream stream;
  GpuEvent done[2]; /* of its last two frames, in turn */
  SepconvPlan *plan;
  const Image *src, *dst; /* on the host */
  const Image *device_src, *device_dst;
} Lane;

typedef struct
{
  Rig *rig;
  const Scheme *scheme;
  Lane lane[LANES];
  double *stamps;
  int complete; /* frames stamped */
} Lanes;

static bool
lanes_init (Lanes *lanes, int n, Fault *fault)
{
  Rig *rig = lanes->rig;

  for (int i = 0; i < n; i++) {
    Lane *lane = &lanes->lane[i];

    lane->src =
        lanes->scheme->pageable ? &rig->pageable_src[i] : &rig->pinned_src[i];
    lane->dst =
        lanes->scheme->pageable ? &rig->pageable_dst[i] : &rig->pinned_dst[i];
    lane->device_src = &rig->device_src[i];
    lane->device_dst = &rig->device_dst[i];
    lane->plan = rig_plan (rig, fault);
    if (lane->plan == NULL || !gpu_stream_new (&lane->stream, fault)
        || !gpu_event_new (&lane->done[0], fault)
        || !gpu_event_new (&lane->done[1], fault))
      return false;
  }
  return true;
}

static void
lanes_clear (Lanes *lanes)
{
  for (int i = 0; i < LANES; i++) {
    Lane *lane = &lanes->lane[i];

    if (lane->stream != NULL)
      gpu_stream_synchronize (lane->stream, NULL);
    sepconv_plan_free (lane->plan);
    gpu_event_free (lane->done[1]);
    gpu_event_free (lane->done[0]);
    gpu_stream_free (lane->stream);
  }
}

static bool
issue_up (Lane *lane, Fault *fault)
{
  return rig_copy (
      lane->device_src, lane->src, GPU_COPY_UP, lane->stream, fault);
}

static bool
issue_kernel (Lane *lane, Fault *fault)
{
  return sepconv_plan_run (lane->plan, lane->device_src, lane->device_dst,
      lane->stream, GPU_AFTER_KERNELS, fault);
}

/* Issues the download, and records the frame's end. */
static bool
issue_down (Lane *lane, int turn, Fault *fault)
{
  return rig_copy (
             lane->dst, lane->device_dst, GPU_COPY_DOWN, lane->stream, fault)
      && gpu_event_record (lane->done[turn], lane->stream, fault);
}

static bool
wait_for (Lanes *lanes, Lane *lane, int turn, Fault *fault)
{
  if (lanes->scheme->spin
          ? !gpu_stream_synchronize (lane->stream, fault)
          : !gpu_event_synchronize (lane->done[turn], GPU_NAP_NS, fault))
    return false;
  lanes->stamps[lanes->complete++] = bench_now_ns ();
  return true;
}

static bool
serial (Lanes *lanes, int n, Fault *fault)
{
  Lane *lane = &lanes->lane[0];

  for (int f = 0; f < n; f++) {
    if (!issue_up (lane, fault) || !issue_kernel (lane, fault)
        || !issue_down (lane, 0, fault) || !wait_for (lanes, lane, 0, fault))
      return false;
  }
  return true;
}

static bool
serial_mapped (Lanes *lanes, int n, Fault *fault)
{
  Lane *lane = &lanes->lane[0];

  for (int f = 0; f < n; f++) {
    if (!sepconv_plan_run (lane->plan, lane->src, lane->dst, lane->stream,
            GPU_AFTER_KERNELS, fault)
        || !gpu_event_record (lane->done[0], lane->stream, fault)
        || !wait_for (lanes, lane, 0, fault))
      return false;
  }
  return true;
}

static bool
depth_first (Lanes *lanes, int n, Fault *fault)
{
  for (int f = 0; f < n + LANES; f++) {
    Lane *lane = &lanes->lane[f % LANES];

    if (f >= LANES && !wait_for (lanes, lane, 0, fault))
      return false;
    if (f < n
        && (!issue_up (lane, fault) || !issue_kernel (lane, fault)
            || !issue_down (lane, 0, fault)))
      return false;
  }
  return true;
}

static bool
breadth_first (Lanes *lanes, int n, Fault *fault)
{
  for (int f = 0; f < n + LANES; f += LANES) {
    for (int i = 0; i < LANES; i++)
      if ((f > 0 && !wait_for (lanes, &lanes->lane[i], 0, fault))
          || (f < n && !issue_up (&lanes->lane[i], fault)))
        return false;
    for (int i = 0; i < LANES && f < n; i++)
      if (!issue_kernel (&lanes->lane[i], fault))
        return false;
    for (int i = 0; i < LANES && f < n; i++)
      if (!issue_down (&lanes->lane[i], 0, fault))
        return false;
  }
  return true;
}

static bool
copies_first (Lanes *lanes, int n, Fault *fault)
{
  const int groups = n / LANES;

  for (int group = 0; group < groups + 2; group++) {
    for (int i = 0; i < LANES; i++)
      if ((group >= 2 && !wait_for (lanes, &lanes->lane[i], group % 2, fault))
          || (group < groups && !issue_up (&lanes->lane[i], fault)))
        return false;
    for (int i = 0; i < LANES && group >= 1 && group <= groups; i++)
      if (!issue_down (&lanes->lane[i], (group - 1) % 2, fault))
        return false;
    for (int i = 0; i < LANES && group < groups; i++)
      if (!issue_kernel (&lanes->lane[i], fault))
        return false;
  }
  return true;
}

static bool
run (Rig *rig, const Scheme *scheme, int n, double *stamps, int n_lanes,
    bool (*order) (Lanes *lanes, int n, Fault *fault), Fault *fault)
{
  Lanes lanes = { .rig = rig, .scheme = scheme, .stamps = stamps };
  const bool ok =
      lanes_init (&lanes, n_lanes, fault) && order (&lanes, n, fault);

  lanes_clear (&lanes);
  return ok;
}

bool
lanes_run_serial (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault)
{
  return run (rig, scheme, n, stamps, 1,
      scheme->transfer == RING_MAPPED ? serial_mapped : serial, fault);
}

bool
lanes_run_depth_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault)
{
  return run (rig, scheme, n, stamps, LANES, depth_first, fault);
}

bool
lanes_run_breadth_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault)
{
  return run (rig, scheme, n, stamps, LANES, breadth_first, fault);
}

bool
lanes_run_copies_first (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault)
{
  return run (rig, scheme, n, stamps, LANES, copies_first, fault);
}
