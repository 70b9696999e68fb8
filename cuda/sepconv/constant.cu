/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* constant: `global` with its taps in constant memory.
 *
 * All threads of a warp read the same tap at the same time. The constant cache
 * broadcasts one word to all of them, and leaves the load units to the samples.
 * (Different words would be served one after the other: constant memory does not
 * suit samples.)
 *
 * A __constant__ array, the usual way, belongs to the whole process: two plans,
 * or two frames in flight with different taps, would overwrite each other's taps.
 * A kernel's parameters are constant memory as well, and belong to one launch.
 * So the taps are a parameter, with one launch for each plane and pass. Kernel
 * parameters before sm_70 have at most 4 KB, which limits the number of taps. */
#include "pointwise.cuh"

#include <assert.h>

#define PARAMETER_BYTES 4096
#define CONSTANT_TAPS 769

/* One plane, and the taps of one of its axes. */
struct ConstantAccess : MemoryAccess<float, PlainLoad, IMAGE_MAX_CHANNELS>
{
  float tap[CONSTANT_TAPS];

  __device__ __forceinline__ float
  tap_x (const TwopassChannel<float> &, int i) const
  {
    return tap[i];
  }

  __device__ __forceinline__ float
  tap_y (const TwopassChannel<float> &, int i) const
  {
    return tap[i];
  }
};

static_assert (sizeof (ConstantAccess) <= PARAMETER_BYTES,
    "The taps do not fit the parameters of a kernel.");

static void
set_taps (ConstantAccess *access, const Taps *taps)
{
  assert (taps->n <= CONSTANT_TAPS);
  for (int i = 0; i < taps->n; i++)
    access->tap[i] = (float) taps->tap[i];
}

/* Runs both passes of one plane; `channels` are its n channels. */
static bool
run_plane (const SepconvPlaneTaps *taps, const TwopassChannel<float> *channels,
    int n, SepconvBorder border, GpuStream stream, Fault *fault)
{
  const TwopassPasses<ConstantAccess> passes =
      pointwise_passes<ConstantAccess> ();
  TwopassExtent rows = {}, columns = {};
  ConstantAccess access;

  access.border = border;
  for (int c = 0; c < n; c++)
    access.channel[c] = channels[c];
  rows.width = columns.width = channels->width;
  rows.channels = columns.channels = n;
  /* A plane without taps is copied: it needs no row pass. */
  if (taps->x.n > 0)
    rows.fresh = channels->fresh.last - channels->fresh.first;
  columns.result = channels->result.last - channels->result.first;
  set_taps (&access, &taps->x);
  if (!twopass_launch (passes, access, rows, stream, fault))
    return false;
  set_taps (&access, &taps->y);
  return twopass_launch (passes, access, columns, stream, fault);
}

static bool
constant_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  TwopassFrame<float> frame;
  TwopassExtent extent;
  int first = 0;

  if (!twopass_begin (plan, part, &frame, &extent, fault))
    return false;
  while (first < plan->n_channels) {
    const int p = plan->channel[first].plane;
    int n = 1;

    while (first + n < plan->n_channels && plan->channel[first + n].plane == p)
      n++;
    if (!run_plane (&plan->taps[p], &frame.channel[first], n, frame.border,
            part->stream, fault))
      return false;
    first += n;
  }
  return true;
}

static bool
constant_supports (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  for (int p = 0; p < layout->n_planes; p++) {
    const SepconvPlane *plane = &spec->plane[p];

    if (plane->channels != 0
        && (plane->x->n > CONSTANT_TAPS || plane->y->n > CONSTANT_TAPS))
      return fault_set (why, FAULT_UNSUPPORTED,
          "%d taps fit a kernel's parameters, not %d x %d", CONSTANT_TAPS,
          plane->x->n, plane->y->n);
  }
  return sepconv_float_holds (spec, layout, why);
}

static bool
constant_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault)
      && twopass_load (pointwise_passes<ConstantAccess> (), fault);
}

static double
constant_cost (const SepconvWork *work)
{
  return twopass_cost (work, 2.1);
}

extern "C" const SepconvMethodOps sepconv_constant_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = constant_supports,
  .cost = constant_cost,
  .prepare = constant_prepare,
  .release = twopass_release,
  .run = constant_run,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
