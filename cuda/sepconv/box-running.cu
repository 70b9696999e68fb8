/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running: running sums for kernels whose taps are all equal but for the first
 * and the last of an axis, at a cost that grows little with their number.
 *
 * The formula of box.h, applied along both axes, is a sum of nine integers, each the sum of
 * some codes of the window, times nine weights. Samples outside of the image are codes like
 * others. Or samples of a constant border count as 0, and the weight of their taps is added:
 *
 *   out = base + weighted codes + border_value * weight outside
 *   base = offset - c sum(tx') sum(ty'), the result where all codes are 0
 *
 * There are two ways.
 *
 * Strips (box-running-strips): one kernel, which keeps nothing in device memory. A block goes down
 * a strip of the picture with the running sums of its columns. The frame is read from memory about
 * once, and written once. From the L2, a strip reads each row twice, when it enters the box and
 * when it leaves it; in addition the rows of its first box, and the columns beside each tile. For
 * boxes of more than about 100 samples, these reads limit the kernel. For others, instructions do:
 * about 4 for each column along y and 9 for each sample along x; products on tensor cores take half
 * of that time.
 *
 *   takes    samples of 8 bits, and of up to 12 bits in two bytes; 1, 2 or 4 packed channels;
 *            boxes without ends that differ; an integer as border constant
 *   up to    boxes of about 5000 bytes of a row; less where blocks have less shared memory
 *   sums     exact for 8 bits and up to 257 rows; else the sum of a column is cut to 16 bits. The
 *            error of that, and of single precision at the end, is at most BOX_STRIP_LOSS
 *
 * Passes (box-running-passes): two kernels, for everything else. All sums are exact. */
#include "box-running-march.cuh"
#include "box-running-passes.cuh"
#include "box-running-shape.cuh"

#include <math.h>
#include <string.h>

/* The rows of a strip's first sums, converted to StripLoad.above: they cost less than the rows that
 * strip.cu assumes there, as they are only read and added. */
#define BOX_ABOVE_SHARE(rows) ((rows) *3 / 5)

/* With GPU_BESIDE_KERNELS, a run has at most BOX_BLOCKS_BESIDE blocks on each multiprocessor; if a
 * box has more than BOX_LONG_ROWS rows, on 1 / BOX_SHARE_OF_LONG of the multiprocessors. Fewer
 * blocks make higher strips, and the first sums of a strip cost the same whatever its height. */
#define BOX_BLOCKS_BESIDE 2
/* The fewest samples, for each multiprocessor, of a frame of passes that takes turns. */
#define LEAST_TURN_SAMPLES 10e3
#define BOX_LONG_ROWS 64
#define BOX_SHARE_OF_LONG 2

typedef void (*BoxKernel) (BoxStripFrame);

/* `rows`: of the longest box. */
static BoxKernel
choose_kernel (int sample_bytes, int rows)
{
  if (sample_bytes == 2)
    return box_strips<2, true>;
  return rows > BOX_NARROW_ROWS ? box_strips<1, true> : box_strips<1, false>;
}

/* Eight bytes of the border constant, pixel after pixel. */
static uint2
border_group (const StripPlane *plane)
{
  const int pixel = plane->channels * plane->sample_bytes;
  uint8_t bytes[8];
  uint32_t words[2];

  for (int i = 0; i < 8; i++)
    bytes[i] = plane->border[i % pixel];
  memcpy (words, bytes, sizeof words);
  return make_uint2 (words[0], words[1]);
}

static void
describe_sums (const SepconvPlan *plan, int p, BoxStripPlane *plane)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const SepconvPlaneTaps *taps = &plan->taps[p];
  const BoxScale scale = column_scale (layout, taps->y.n, is_wide (plan));
  const double full = image_full_code (layout);
  const double whole = box_describe_taps (&taps->x).each * taps->x.n
      * box_describe_taps (&taps->y).each * taps->y.n;
  double off;
  const double weight = sum_weight (plan, p, &off);

  plane->mask = (image_sample_bytes (layout) == 1 ? 0x1010101u : 0x10001u)
      * ((uint32_t) image_full_code (layout) << layout->shift);
  plane->factor = 1u << scale.factor;
  /* Selectors of two sums: of each, the low or the high one of the two bytes that the cut
   * leaves. */
  plane->low = 0x11u * (uint32_t) (scale.cut / 8) + 0x40u;
  plane->high = plane->low + 0x11u;
  plane->full = (float) full;
  plane->unit = (float) (weight / full);
  for (int c = 0; c < layout->channels; c++)
    plane->start[c] = (float) ((channel[c].offset - channel[c].center * whole
                                   + off * weight * taps->x.n)
            / full
        - (double) BOX_MAGIC * plane->unit);
}

static void
describe_strips (const SepconvPlan *plan, const SepconvPart *part, int p,
    int window, BoxStripPlane *plane)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const int nx = plan->taps[p].x.n, ny = plan->taps[p].y.n;
  const int channels = layout->channels;

  *plane = BoxStripPlane ();
  strip_describe (plan, part, p, &plane->strip);
  plane->n_samples = layout->width * channels;
  plane->tile = choose_tile (plan, p, window);
  plane->strip.columns = divide_up (plane->n_samples, plane->tile);
  if (!plane->strip.filter)
    return;
  plane->lead = window_lead (nx, channels);
  plane->needed = plane->tile + window_extra (nx, channels);
  plane->rows = ny;
  plane->above = ny / 2;
  plane->below = ny - 1 - ny / 2;
  plane->leaving = plane->lead - (nx / 2 + 1) * channels;
  plane->entering = plane->leaving + nx * channels;
  plane->border = border_group (&plane->strip);
  plane->src_direct = image_is_aligned (
      plane->strip.src, plane->strip.src_stride, BOX_GROUP_BYTES);
  plane->dst_direct =
      image_is_aligned (plane->strip.dst, plane->strip.dst_stride,
          8 * plane->strip.sample_bytes)
      && (plane->src_direct || !plane->strip.keeps);
  describe_sums (plan, p, plane);
}

static bool
run_strips (SepconvPlan *plan, const SepconvPart *part, const BoxShape *shape,
    Fault *fault)
{
  BoxState *state = (BoxState *) plan->state;
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);
  const BoxKernel kernel = choose_kernel (bytes, most_rows (plan));
  BoxStripFrame frame = BoxStripFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  StripLoad load = StripLoad ();
  int blocks;
  bool ok = false;

  frame.border = plan->border;
  frame.order = part->order;
  frame.pitch = box_pitch (shape->threads, bytes);
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImageRows *result = &part->result[plan->layout.plane[p].memory];

    if (result->first >= result->last)
      continue;
    planes[frame.n_planes] = &frame.plane[frame.n_planes].strip;
    describe_strips (plan, part, p, shape->threads * (BOX_GROUP_BYTES / bytes),
        &frame.plane[frame.n_planes++]);
  }
  load.order = part->order;
  load.above = BOX_ABOVE_SHARE (most_rows (plan));
  load.at_once = shape->at_once;
  load.multiprocessors = gpu_multiprocessors (plan->gpu);
  if (part->order == GPU_BESIDE_KERNELS) {
    load.at_once = min (load.at_once, BOX_BLOCKS_BESIDE);
    if (most_rows (plan) > BOX_LONG_ROWS)
      load.multiprocessors =
          divide_up (load.multiprocessors, BOX_SHARE_OF_LONG);
  }
  blocks = strip_lay_out (planes, frame.n_planes, &load, &state->heights);
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, kernel, blocks, shape->threads,
                   shape->shared, part->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

/* The shape of blocks if a plan's spec suits strips; else a shape with 0 threads. */
static BoxShape
plan_shape (const SepconvPlan *plan)
{
  const BoxShape none = { 0, 0, 0 };

  return spec_suits (plan) ? choose_shape (plan) : none;
}

static bool
box_running_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  const BoxShape shape = plan_shape (plan);

  if (shape.threads > 0)
    return run_strips (plan, part, &shape, fault);
  return box_run_passes (plan, part, fault);
}

static bool
load_strips (BoxState *state, const Gpu *gpu, Fault *fault)
{
  const BoxKernel kernels[] = { box_strips<1, false>, box_strips<1, true>,
    box_strips<2, true> };
  const int id = gpu_id (gpu);
  bool ok = false;

  GPU_CHECK (cudaDeviceGetAttribute (&state->most_shared,
                 cudaDevAttrMaxSharedMemoryPerBlockOptin, id),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (&state->multiprocessor_shared,
                 cudaDevAttrMaxSharedMemoryPerMultiprocessor, id),
      fault);
  for (int i = 0; i < 3; i++)
    GPU_CHECK (
        cudaFuncSetAttribute ((const void *) kernels[i],
            cudaFuncAttributeMaxDynamicSharedMemorySize, state->most_shared),
        fault);
  ok = true;
done:
  return ok;
}

/* If the spec does not suit strips, the buffer for the sums of the passes is allocated here; else
 * when a later spec needs the passes. */
static bool
box_running_prepare (SepconvPlan *plan, Fault *fault)
{
  if (!spec_suits (plan))
    return twopass_prepare_state (plan, sizeof (BoxState), fault)
        && load_strips ((BoxState *) plan->state, plan->gpu, fault)
        && box_load_passes (fault);
  return twopass_prepare_taps (plan, sizeof (BoxState), fault)
      && load_strips ((BoxState *) plan->state, plan->gpu, fault)
      && box_load_passes (fault);
}

/* A frame of strips is one kernel, which has no gaps to be filled. */
static int
box_running_turns (const SepconvPlan *plan)
{
  return spec_suits (plan)
      ? 1
      : sepconv_turns_of_size (plan, 2, LEAST_TURN_SAMPLES);
}

/* Cost of the passes, measured. Only the first sums of strips grow with the taps. */
static double
passes_cost (const SepconvWork *work)
{
  const double n = sepconv_mean_taps (work);

  return (5.0 + 0.07 * n + work->samples * (9.8 + 0.009 * n))
      * (sepconv_work_takes_turns (work, LEAST_TURN_SAMPLES) ? 0.83 : 1.0);
}

/* Cost of strips. In frames that run back to back, strips are lower, and their first sums take a
 * larger share of the time. With four channels, boxes are longer in bytes, and more is read beside
 * each tile. */
static double
strips_cost (const SepconvWork *work)
{
  const double n = sepconv_mean_taps (work);
  const double wide = work->channels >= 3 ? 2.0 * n : n;
  const double bytes = work->samples * work->sample_bytes;

  if (work->order == GPU_BESIDE_KERNELS)
    return 1.0
        + bytes
        * ((work->sample_bytes == 2 ? 0.95 : 1.12) + 6e-4 * wide
            + 1.2e-6 * wide * wide);
  if (work->sample_bytes == 2)
    return 10.0 + 0.09 * n + bytes * (0.93 + 0.0013 * wide);
  return 8.0 + 0.08 * n + bytes * (1.3 + 0.0012 * wide);
}

/* Decides between strips and passes like spec_suits(), as far as SepconvWork allows. */
static double
box_running_cost (const SepconvWork *work)
{
  const bool depth =
      work->sample_bytes == 1 ? work->depth == 8 : work->depth <= 12;
  const bool old =
      work->capability > 0 && work->capability < INSTRUCTIONS_CAPABILITY;

  return !old && work->packed && depth && work->channels != 3
          && work->ends == 0.0
      ? strips_cost (work)
      : passes_cost (work);
}

extern "C" const SepconvMethodOps sepconv_box_running_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = box_supports,
  .cost = box_running_cost,
  .prepare = box_running_prepare,
  .release = twopass_release,
  .run = box_running_run,
  .overlaps = true,
  .turns = box_running_turns,
  .counts = NULL,
};
