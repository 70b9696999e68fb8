/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "twopass.cuh"

#include <stdlib.h>

bool
twopass_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare_state (plan, sizeof (TwopassState), fault);
}

bool
twopass_prepare_taps (SepconvPlan *plan, size_t bytes, Fault *fault)
{
  TwopassState *state = (TwopassState *) calloc (1, bytes);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  return staging_init (&state->taps,
      sizeof (double) * 2 * TAPS_MAX * (size_t) plan->layout.n_planes
          * (size_t) plan->most_terms,
      fault);
}

bool
twopass_prepare_state (SepconvPlan *plan, size_t bytes, Fault *fault)
{
  TwopassState *state;
  size_t sums = 0;

  if (!twopass_prepare_taps (plan, bytes, fault))
    return false;
  state = (TwopassState *) plan->state;
  for (int p = 0; p < plan->layout.n_planes; p++)
    sums += (size_t) plan->layout.plane[p].width
        * (size_t) image_plane_height (&plan->layout, p)
        * (size_t) plan->layout.plane[p].channels;
  state->sums_bytes =
      sums * (plan->float_holds ? sizeof (float) : sizeof (double));
  state->sums = gpu_malloc (state->sums_bytes, fault);
  return state->sums != NULL;
}

void
twopass_release (SepconvPlan *plan)
{
  TwopassState *state = (TwopassState *) plan->state;

  if (state == NULL)
    return;
  staging_clear (&state->taps);
  gpu_free (state->sums);
  free (state);
}

double
twopass_cost (const SepconvWork *work, double a_tap)
{
  return 3.5 * work->planes
      + work->samples * (6.9 + a_tap * sepconv_mean_taps (work));
}

bool
twopass_load_kernel (const void *kernel, Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (cudaFuncGetAttributes (&attributes, kernel), fault);
  ok = true;
done:
  return ok;
}

/* The buffer is too small once: for the first taps that need double sums, or in a plan that
 * was prepared without sums. cudaFree() waits for the frames that still use it. */
static bool
reserve_sums (TwopassState *state, size_t bytes, Fault *fault)
{
  if (bytes <= state->sums_bytes)
    return true;
  gpu_free (state->sums);
  state->sums_bytes = 0;
  state->sums = gpu_malloc (bytes, fault);
  if (state->sums == NULL)
    return false;
  state->sums_bytes = bytes;
  return true;
}

/* Where plane p's taps lie in the buffer, in taps: term after term, x first, then y. */
static size_t
taps_offset (const SepconvPlan *plan, int p)
{
  size_t offset = 0;

  for (int i = 0; i < p; i++)
    for (int t = 0; t < plan->n_terms[i]; t++)
      offset += (size_t) (sepconv_plan_term (plan, i, t)->x.n
          + sepconv_plan_term (plan, i, t)->y.n);
  return offset;
}

template <typename Real>
static size_t
write_taps (const SepconvPlan *plan, Real *to)
{
  size_t n = 0;

  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int t = 0; t < plan->n_terms[p]; t++) {
      const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

      for (int i = 0; i < taps->x.n; i++)
        to[n++] = (Real) taps->x.tap[i];
      for (int i = 0; i < taps->y.n; i++)
        to[n++] = (Real) taps->y.tap[i];
    }
  return n;
}

template <typename Real>
static bool
upload_taps (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  TwopassState *state = (TwopassState *) plan->state;
  void *stage;

  if (state->revision == plan->revision
      && state->taps_in_float == (sizeof (Real) == sizeof (float)))
    return true;
  stage = staging_begin (&state->taps, fault);
  if (stage == NULL
      || !staging_send (&state->taps,
          write_taps<Real> (plan, (Real *) stage) * sizeof (Real), stream,
          fault))
    return false;
  state->revision = plan->revision;
  state->taps_in_float = sizeof (Real) == sizeof (float);
  return true;
}

template <typename Real>
static TwopassChannel<Real>
describe_channel (const SepconvPlan *plan, const SepconvChannel *channel,
    const SepconvPart *part, Real *sums)
{
  const Image *src = part->src, *dst = part->dst;
  const TwopassState *state = (const TwopassState *) plan->state;
  const SepconvPlaneTaps *taps = &plan->taps[channel->plane];
  const Real *tap =
      (const Real *) state->taps.device + taps_offset (plan, channel->plane);
  TwopassChannel<Real> out;

  out.src = sepconv_channel_data (channel, src);
  out.dst = sepconv_channel_data (channel, dst);
  out.src_stride = src->memory[channel->memory].stride;
  out.dst_stride = dst->memory[channel->memory].stride;
  out.pixel_stride = channel->pixel_stride;
  out.width = channel->width;
  out.height = sepconv_channel_height (channel, src);
  out.fresh = part->fresh[channel->memory];
  out.result = part->result[channel->memory];
  out.sample_bytes = channel->sample_bytes;
  out.shift = channel->shift;
  out.max_code = channel->max_code;
  out.filter = channel->filter;
  out.nx = taps->x.n;
  out.ny = taps->y.n;
  out.tx = tap;
  out.ty = tap + taps->x.n;
  out.sums = sums;
  out.center = (Real) channel->center;
  out.offset = (Real) channel->offset;
  out.border = (Real) channel->border;
  out.row_outside = channel->filter
      ? (Real) (taps_sum (&taps->x) * channel->border)
      : (Real) 0;
  return out;
}

/* Number of sums: one for each sample and term. */
static size_t
sums_of_channel (
    const SepconvPlan *plan, const SepconvChannel *channel, const Image *src)
{
  return (size_t) channel->width
      * (size_t) sepconv_channel_height (channel, src)
      * (size_t) plan->n_terms[channel->plane];
}

template <typename Real>
bool
twopass_begin (SepconvPlan *plan, const SepconvPart *part,
    TwopassFrame<Real> *frame, TwopassExtent *extent, Fault *fault)
{
  TwopassState *state = (TwopassState *) plan->state;
  size_t sums = 0;

  for (int i = 0; i < plan->n_channels; i++)
    if (plan->channel[i].filter)
      sums += sums_of_channel (plan, &plan->channel[i], part->src);
  if (!reserve_sums (state, sums * sizeof (Real), fault)
      || !upload_taps<Real> (plan, part->stream, fault))
    return false;

  frame->border = plan->border;
  extent->width = extent->fresh = extent->result = 0;
  extent->channels = plan->n_channels;
  sums = 0;
  for (int i = 0; i < plan->n_channels; i++) {
    TwopassChannel<Real> *channel = &frame->channel[i];

    *channel = describe_channel<Real> (
        plan, &plan->channel[i], part, (Real *) state->sums + sums);
    if (channel->filter)
      sums += sums_of_channel (plan, &plan->channel[i], part->src);
    extent->width = max (extent->width, channel->width);
    extent->fresh =
        max (extent->fresh, channel->fresh.last - channel->fresh.first);
    extent->result =
        max (extent->result, channel->result.last - channel->result.first);
  }
  return true;
}

template bool twopass_begin<float> (SepconvPlan *, const SepconvPart *,
    TwopassFrame<float> *, TwopassExtent *, Fault *);
template bool twopass_begin<double> (SepconvPlan *, const SepconvPart *,
    TwopassFrame<double> *, TwopassExtent *, Fault *);
