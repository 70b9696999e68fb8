/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor: both passes on tensor cores in one kernel, chained through registers. This file is the
 * host side: it chooses a variant, uploads taps and launches. tensor-strip.cuh has the
 * arithmetic, tensor-march.cuh the loop of a block. */
#include "tensor-kernel.cuh"

#include "../gpu-check.h"
#include "staging.cuh"

#include <math.h>
#include <stdlib.h>

/* Wide variants pay off from so many samples of a whole frame per multiprocessor on: measured on
 * an H200. */
#define WIDE_SAMPLES 9e4

struct TensorState
{
  Staging fragments;
  unsigned revision; /* the plan's revision that the fragments belong to */
  unsigned chosen;   /* the same for the variant */
  const Variant *variant;
  /* Of the variant's kernels; 0 blocks: the variant has no such kernel. */
  StripOccupancy occupancy[N_COUNTINGS];
  StripHeights heights[2]; /* [1]: of launches that count */
  struct
  {
    int reach;
    float sums_start[2];
  } plane[IMAGE_MAX_PLANES];
};

/* Pixels that the windows of a plane with n taps along x begin left of the result: windows and
 * results both begin at multiples of 16 bytes. */
static int
reach_of_plane (const ImagePlane *layout, int n)
{
  /* Not 0, even for a single tap: see Shape::FOLDED. */
  return strip_round_up (max (n / 2, 1), 16 / layout->pixel_stride);
}

static int
x_steps_of_plane (const ImagePlane *layout, int n)
{
  return tensor_steps_of_taps (n + reach_of_plane (layout, n) - n / 2);
}

static int
steps_of_plane (const ImagePlane *layout, int nx, int ny)
{
  return max (x_steps_of_plane (layout, nx), tensor_steps_of_taps (ny));
}

/* Steps of the variant that a plane needs, for which steps_along_x() may give more along x. */
static int
variant_steps_of_plane (const ImagePlane *layout, int nx, int ny)
{
  int steps = tensor_steps_of_taps (max (nx, ny));

  while (steps_along_x (steps, layout->pixel_stride)
      < x_steps_of_plane (layout, nx))
    steps++;
  return steps;
}

static bool
tensor_supports (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  return tensor_supports_spec (
      spec, layout, steps_of_plane, MAX_STEPS, true, why);
}

/* Whether a multiprocessor has shared memory for two blocks of a variant, which wide variants
 * are made for. Each block takes SHARED_OF_SYSTEM more than its own; a multiprocessor has that
 * much more than gpu_shared_memory(), the most of one block. */
static bool
has_room_for (const SepconvPlan *plan, const Variant *variant)
{
  return 2 * variant->shared + SHARED_OF_SYSTEM
      <= (int) gpu_shared_memory (plan->gpu);
}

/* The variant for the plan's taps; tensor_supports() made sure that there is one. */
static const Variant *
choose_variant (const SepconvPlan *plan)
{
  const int parts = tensor_parts (plan, steps_of_plane);
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);
  const double many = WIDE_SAMPLES * gpu_multiprocessors (plan->gpu);
  double samples = 0.0;
  int steps = 1;

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *shape = &plan->layout.plane[p];

    if (plan->taps[p].x.n == 0)
      continue;
    steps = max (steps,
        variant_steps_of_plane (shape, plan->taps[p].x.n, plan->taps[p].y.n));
    samples += (double) shape->width * image_plane_height (&plan->layout, p)
        * shape->channels;
  }

  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].steps >= steps && variants[i].parts >= parts
        && variants[i].sample_bytes == bytes
        && variants[i].deep == tensor_is_deep (&plan->layout)
        && variants[i].four == (plan->layout.plane[0].channels == 4)
        && (!variants[i].wide
            || (samples >= many && has_room_for (plan, &variants[i]))))
      return &variants[i];
  return NULL;
}

/* The channel that is copied by fragments of its own, where it is the only copied one of four;
 * else -1. Copied channels are read from the source again where there are several, where samples
 * have bits beside their code, or where warps have two channels each. */
static int
kept_channel (const SepconvPlan *plan, int p)
{
  const Variant *variant = ((const TensorState *) plan->state)->variant;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const ImagePlane *shape = &plan->layout.plane[p];
  const int channels = shape->channels;
  int kept = -1, n = 0;

  for (int c = 0; c < channels; c++)
    if (!channel[c].filter) {
      kept = c;
      n++;
    }
  return channels == 4 && n == 1
          && shape->depth == 8 * image_sample_bytes (shape)
          && !pairs_channels (variant->steps, channels, variant->deep)
      ? kept
      : -1;
}

static void
write_plane (const SepconvPlan *plan, int p, uint4 *to)
{
  TensorState *state = (TensorState *) plan->state;
  const Variant *variant = state->variant;
  const SepconvPlaneTaps *taps = &plan->taps[p];
  const ImagePlane *shape = &plan->layout.plane[p];
  const int bytes = image_sample_bytes (shape);
  const int x_steps = steps_along_x (variant->steps, shape->pixel_stride);
  const int reach = reach_of_plane (shape, taps->x.n);
  const bool keeps = kept_channel (plan, p) >= 0;
  const Taps one = { 1, { 1.0 } };
  int window[TENSOR_STEP], result[TENSOR_STEP], rows[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++) {
    window[i] = tensor_pixel_of (i, shape->channels, bytes);
    result[i] = splits_channels (variant->steps, shape->channels, bytes)
        ? tensor_pixel_of (i, 1, bytes)
        : window[i];
    rows[i] = i;
  }
  state->plane[p].reach = reach;
  for (int i = 0; i < count_sets (shape->channels); i++) {
    const Taps *x = i > 0 && keeps ? &one : &taps->x;
    const Taps *y = i > 0 && keeps ? &one : &taps->y;
    uint4 *const x_fragments = to + 2 * i * AXIS_FRAGMENTS;
    uint4 *const y_fragments = x_fragments + AXIS_FRAGMENTS;
    const int y_first = y->n / 2 - taps->y.n / 2;

    if (variant->deep) {
      const TensorDeepTaps as_x =
          tensor_deep_taps_x (x->n, taps_norm (x), shape->shift);
      const TensorDeepTaps as_y =
          tensor_deep_taps_y (y->n, taps_norm (x), taps_norm (y));

      state->plane[p].sums_start[i] = tensor_deep_start_of (x, &as_x, shape);
      tensor_write_deep (
          x, &as_x, x->n / 2 - reach, x_steps, result, window, x_fragments);
      tensor_write_deep (
          y, &as_y, y_first, variant->steps, rows, rows, y_fragments);
      continue;
    }
    state->plane[p].sums_start[i] =
        tensor_sums_start (x, variant->parts, shape);
    if (x_steps > variant->steps)
      tensor_write_folded (
          x, x->n / 2 - reach, variant->parts, result, window, x_fragments);
    else
      tensor_write_fragments (x, x->n / 2 - reach, x_steps, variant->parts,
          result, window, x_fragments);
    tensor_write_fragments (
        y, y_first, variant->steps, variant->parts, rows, rows, y_fragments);
  }
}

/* Fragments of each plane; a plane of four channels is the only one of its image. */
static int
plane_fragments (const SepconvPlan *plan)
{
  return 2 * count_sets (plan->layout.plane[0].channels) * AXIS_FRAGMENTS;
}

/* Bytes of shared memory of a block, or 0 where there is no such kernel on this GPU. */
static int
kernel_shared (
    const SepconvPlan *plan, const Variant *variant, Counting counting)
{
  const int shared = variant->shared + counting_bytes (counting);

  return counting == COUNT_NOT
          || (variant->kernel[counting] != NULL
              && gpu_overlaps_kernels (plan->gpu)
              && shared <= (int) gpu_shared_memory (plan->gpu))
      ? shared
      : 0;
}

/* Finds the variant for the plan's taps, and how many of its blocks run at once. */
static bool
choose (SepconvPlan *plan, Fault *fault)
{
  TensorState *state = (TensorState *) plan->state;
  const Variant *variant;

  if (state->chosen == plan->revision)
    return true;
  variant = choose_variant (plan);
  for (int i = 0; i < N_COUNTINGS; i++) {
    const int shared = kernel_shared (plan, variant, (Counting) i);

    if (shared == 0)
      state->occupancy[i] = StripOccupancy ();
    else if (!strip_occupancy (&state->occupancy[i],
                 (const void *) variant->kernel[i], shared, fault))
      return false;
  }
  state->variant = variant;
  state->chosen = plan->revision;
  return true;
}

/* Whether a kernel that counts is worth it: if no fewer blocks of it run at once. */
static bool
has_kernel (const TensorState *state, Counting counting)
{
  return state->occupancy[counting].blocks
      >= state->occupancy[COUNT_NOT].blocks;
}

static bool
tensor_counts (SepconvPlan *plan, const HistoPlan *histo)
{
  const TensorState *state = (const TensorState *) plan->state;

  if (!choose (plan, NULL) || !has_kernel (state, COUNT_WRITTEN)
      || histo->bins > TALLY_CODES
      || (plan->layout.plane[0].channels > TALLY_CHANNELS
          && histo->n_channels > TALLY_CHANNELS))
    return false;
  /* Samples of copied planes are not counted on the way. */
  for (int i = 0; i < histo->n_channels; i++)
    if (histo->channel[i].depth != 8
        || plan->taps[histo->channel[i].plane].x.n == 0)
      return false;
  return true;
}

static bool
upload (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  TensorState *state = (TensorState *) plan->state;
  const int n = plan->layout.n_planes;
  uint4 *stage;

  if (!choose (plan, fault))
    return false;
  if (state->revision == plan->revision)
    return true;
  stage = (uint4 *) staging_begin (&state->fragments, fault);
  if (stage == NULL)
    return false;
  for (int p = 0; p < n; p++)
    if (plan->taps[p].x.n > 0)
      write_plane (plan, p, stage + p * plane_fragments (plan));
  if (!staging_send (&state->fragments,
          n * plane_fragments (plan) * sizeof (uint4), stream, fault))
    return false;
  state->revision = plan->revision;
  return true;
}

static void
describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, TensorPlane *plane)
{
  const TensorState *state = (const TensorState *) plan->state;
  const Variant *variant = state->variant;
  const int channels = plan->layout.plane[p].channels;
  const int kept = kept_channel (plan, p);
  /* The channel that is copied has the last place in arithmetic. */
  const int first = (kept + 1) % channels;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);

  *plane = TensorPlane ();
  strip_describe (plan, part, p, &plane->strip);
  if (kept >= 0)
    plane->strip.keeps = false;
  plane->order = tensor_order (first);
  if (variant->deep)
    plane->deep = tensor_describe_deep (&plan->layout.plane[p], first);
  for (int c = 0; c < channels; c++) {
    const double offset =
        channel[c].filter ? channel[c].offset : channel[c].center;

    plane->result_start[(c - first + channels) % channels] =
        (float) (variant->deep ? offset / channel[c].max_code : offset);
  }
  if (plane->strip.filter) {
    plane->reach = state->plane[p].reach;
    plane->above = plan->taps[p].y.n / 2;
    memcpy (plane->sums_start, state->plane[p].sums_start,
        sizeof plane->sums_start);
  }
  for (int i = 0; part->histo != NULL && i < channels; i++) {
    plane->counter[i] = (signed char) histo_find_channel (
        part->histo->channel, part->histo->n_channels, p, i);
    if (plane->counter[i] < 0)
      plane->skipped = (signed char) i;
  }
  plane->fragments =
      (const uint4 *) state->fragments.device + p * plane_fragments (plan);
  plane->strip.columns =
      (plane->strip.width + variant->pixels[plane->strip.channels] - 1)
      / variant->pixels[plane->strip.channels];
}

/* Describes how the result is counted: for each counter, how many of the launch's `blocks` add
 * to its sums. */
static void
describe_tally (const SepconvPart *part, int blocks, TensorFrame *frame)
{
  frame->tally = tally_for (part->histo, part->counted);
  for (int i = 0; i < frame->n_planes; i++) {
    const TensorPlane *plane = &frame->plane[i];
    const int end =
        i + 1 < frame->n_planes ? plane[1].strip.first_block : blocks;

    for (int c = 0; c < plane->strip.channels; c++)
      if (plane->counter[c] >= 0)
        frame->tally.adders[plane->counter[c]] =
            (unsigned) (end - plane->strip.first_block);
  }
}

/* Where a launch that counts does so: when results are put into shared memory, if a block writes
 * all results that it puts, except those that March::take_away() corrects. */
static Counting
counting_of (const TensorState *state, const TensorFrame *frame)
{
  bool put = has_kernel (state, COUNT_PUT);

  for (int p = 0; p < frame->n_planes && put; p++) {
    const StripPlane *plane = &frame->plane[p].strip;
    const int pixels = state->variant->pixels[plane->channels]
        / (puts_zeros (plane->channels) ? STRIP_WARPS : 1);

    put = !plane->filter
        || (!plane->keeps && plane->width % pixels == 0
            && plane->result.first % STRIP_ROWS == 0);
  }
  return put ? COUNT_PUT : COUNT_WRITTEN;
}

static bool
tensor_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  TensorState *state = (TensorState *) plan->state;
  TensorFrame frame = TensorFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  const Variant *variant;
  StripLoad load = StripLoad ();
  Counting counting = COUNT_NOT;
  bool ok = false;
  int blocks;

  if (!upload (plan, part->stream, fault))
    return false;
  variant = state->variant;
  frame.border = plan->border;
  frame.order = part->order;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImageRows *result = &part->result[plan->layout.plane[p].memory];

    if (result->first >= result->last)
      continue;
    planes[frame.n_planes] = &frame.plane[frame.n_planes].strip;
    describe (plan, part, p, &frame.plane[frame.n_planes++]);
  }
  load.order = part->order;
  load.counts = part->histo != NULL;
  load.above = (variant->steps - 1) * STRIP_ROWS;
  if (load.counts && variant->four)
    load.most_rows = TALLY_MOST_PIXELS / variant->pixels[4];
  load.at_once = state->occupancy[COUNT_NOT].blocks;
  load.multiprocessors = gpu_multiprocessors (plan->gpu);
  frame.early = load.at_once * load.multiprocessors;
  blocks = strip_lay_out (
      planes, frame.n_planes, &load, &state->heights[load.counts]);
  if (part->histo != NULL) {
    /* Without rows, the histogram is empty. */
    if (blocks == 0)
      return part->histo->method->ops->run (part->histo, part->dst,
          part->counted, part->stream, part->order, fault);
    describe_tally (part, blocks, &frame);
    counting = counting_of (state, &frame);
  }
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, variant->kernel[counting], blocks,
                   STRIP_THREADS, (size_t) state->occupancy[counting].shared,
                   part->stream, frame),
        fault);
  if (part->histo != NULL)
    tally_queued (part->histo);
  ok = true;
done:
  return ok;
}

static bool
tensor_prepare (SepconvPlan *plan, Fault *fault)
{
  TensorState *state = (TensorState *) calloc (1, sizeof *state);
  bool ok = false;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  for (int i = 0; i < N_VARIANTS; i++) {
    if (variants[i].wide && !has_room_for (plan, &variants[i]))
      continue;
    for (int k = 0; k < N_COUNTINGS; k++) {
      const int shared = kernel_shared (plan, &variants[i], (Counting) k);

      if (shared > 0)
        GPU_CHECK (cudaFuncSetAttribute ((const void *) variants[i].kernel[k],
                       cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
            fault);
    }
  }
  ok = staging_init (&state->fragments,
      plan->layout.n_planes * plane_fragments (plan) * sizeof (uint4), fault);
done:
  return ok;
}

static void
tensor_release (SepconvPlan *plan)
{
  TensorState *state = (TensorState *) plan->state;

  if (state == NULL)
    return;
  staging_clear (&state->fragments);
  free (state);
}

/* The fewest steps of a variant that holds so many taps. */
static int
steps_of_variant (int taps)
{
  const int least = tensor_steps_of_taps (taps);
  int steps = MAX_STEPS;

  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].steps >= least)
      steps = min (steps, variants[i].steps);
  return steps;
}

/* tensor_cost() for deep samples, with k steps and s million samples. */
static double
deep_cost (const SepconvWork *work, double k, double s)
{
  if (work->order == GPU_BESIDE_KERNELS)
    return work->channels >= 3
        ? 1.01 + 0.527 * k + s * (0.617 + 0.383 * k + 0.0178 * k * k)
        : 0.55 + 0.472 * k + s * (0.622 + 0.259 * k + 0.0224 * k * k);
  return work->channels >= 3
      ? 2.72 + 1.53 * k + s * (1.132 + 0.202 * k + 0.0441 * k * k)
      : 0.5 + 1.68 * k + s * (1.293 + 0.096 * k + 0.0414 * k * k);
}

/* One variant computes all planes and both axes: the variant for the longest axis. */
static double
tensor_cost (const SepconvWork *work)
{
  const double k = steps_of_variant (work->longest), s = work->samples;

  if (work->depth > TENSOR_HALF_DEPTH)
    return deep_cost (work, k, s);
  if (work->order == GPU_BESIDE_KERNELS) {
    if (work->channels >= 3)
      return -0.15 + 0.512 * k + s * (0.378 + 0.059 * k + 0.0089 * k * k);
    if (work->sample_bytes == 2)
      return -0.01 + 0.579 * k + s * (0.761 + 0.103 * k + 0.0155 * k * k);
    return 0.48 + 0.294 * k + s * (0.386 + 0.035 * k + 0.0092 * k * k);
  }
  if (work->channels >= 3)
    return 0.69 + 1.19 * k + s * (0.502 + 0.046 * k + 0.0112 * k * k);
  if (work->sample_bytes == 2)
    return 0.83 + 1.53 * k + s * (0.828 + 0.109 * k + 0.0223 * k * k);
  return 1.06 + 0.937 * k + s * (0.410 + 0.061 * k + 0.0092 * k * k);
}

extern "C" const SepconvMethodOps sepconv_tensor_ops = {
  .min_capability = INSTRUCTIONS_CAPABILITY,
  .in_parts = true,
  .combines = false,
  .supports = tensor_supports,
  .cost = tensor_cost,
  .prepare = tensor_prepare,
  .release = tensor_release,
  .run = tensor_run,
  .overlaps = true,
  .turns = NULL,
  .counts = tensor_counts,
};
