/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: regions on a GPU. A run copies the picture, sends what pack.cuh works out, and queues two
 * kernels: however many regions there are, unless their sums take more than MOST_BYTES of memory.
 * Then batches of regions follow one another. */
#include "compose-kernel.cuh"
#include "pack.cuh"

#include "../gpu-check.h"

#include <stdlib.h>

#define MOST_BYTES ((size_t) 256 << 20)
#define LEAST_BLOCK 65536 /* bytes that go up in a run */

/* plan->state */
struct RegionsDevice
{
  RegionsPack *pack;
  Staging staging;
  void *sums; /* or means */
  size_t sums_bytes;
};

/* Memory for at least that much. What was queued before still reads the old one. */
static bool
reserve_staging (
    RegionsDevice *state, size_t bytes, GpuStream stream, Fault *fault)
{
  if (bytes <= state->staging.bytes)
    return true;
  if (!gpu_stream_synchronize (stream, fault))
    return false;
  staging_clear (&state->staging);
  state->staging = Staging ();
  return staging_init (&state->staging,
      2 * bytes > LEAST_BLOCK ? 2 * bytes : LEAST_BLOCK, fault);
}

static bool
reserve_sums (
    RegionsDevice *state, size_t bytes, GpuStream stream, Fault *fault)
{
  if (bytes <= state->sums_bytes)
    return true;
  if (!gpu_stream_synchronize (stream, fault))
    return false;
  gpu_free (state->sums);
  state->sums_bytes = 0;
  state->sums = gpu_malloc (bytes + bytes / 4, fault);
  if (state->sums != NULL)
    state->sums_bytes = bytes + bytes / 4;
  return state->sums != NULL;
}

static size_t
sums_bytes (const RegionsPack *pack)
{
  return pack->n_sums * (pack->float_holds ? sizeof (float) : sizeof (double))
      + pack->n_means * sizeof (uint16_t);
}

static RegionsDevicePlane
describe_plane (const RegionsPlan *plan, const RegionsRun *run, int p)
{
  const ImagePlane *from = &run->src->plane[p];
  const ImageMemory *src = &run->src->memory[from->memory];
  const ImageMemory *dst = &run->dst->memory[from->memory];
  RegionsDevicePlane plane;

  plane.src = src->data + from->offset;
  plane.dst = dst->data + from->offset;
  plane.src_stride = src->stride;
  plane.dst_stride = dst->stride;
  plane.width = from->width;
  plane.height = src->height;
  plane.pixel_stride = from->pixel_stride;
  plane.channel_stride = from->channel_stride;
  plane.channels = from->channels;
  plane.treated = plan->spec.filter->plane[p].channels;
  plane.sample_bytes = image_sample_bytes (from);
  plane.shift = from->shift;
  return plane;
}

template <typename T>
static const T *
sent (const RegionsDevice *state, const RegionsList &list)
{
  return (const T *) ((const uint8_t *) state->staging.device + list.at);
}

template <typename Real>
static RegionsFrame<Real>
describe_frame (const RegionsPlan *plan, const RegionsRun *run)
{
  const RegionsDevice *state = (const RegionsDevice *) plan->state;
  const RegionsPack *pack = state->pack;
  RegionsFrame<Real> frame = {};

  frame.border = plan->spec.filter->border;
  for (int p = 0; p < run->src->n_planes; p++)
    frame.plane[p] = describe_plane (plan, run, p);
  frame.parts = sent<RegionsDevicePart> (state, pack->parts);
  frame.taps = sent<RegionsTaps> (state, pack->taps);
  frame.tap = sent<Real> (state, pack->tap);
  frame.sum_jobs = sent<RegionsSumJob> (state, pack->sum_jobs);
  frame.mean_jobs = sent<RegionsMeanJob> (state, pack->mean_jobs);
  frame.tiles = sent<RegionsTile> (state, pack->tiles);
  frame.list = sent<int> (state, pack->list);
  /* A run has one kind of fill. */
  frame.sums = (Real *) state->sums;
  frame.means = (uint16_t *) state->sums;
  return frame;
}

template <typename Real>
static bool
launch (const RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  const RegionsPack *pack = ((const RegionsDevice *) plan->state)->pack;
  const RegionsFrame<Real> frame = describe_frame<Real> (plan, run);
  const dim3 block (FILL_COLUMNS, FILL_ROWS);
  bool ok = false;

  if (pack->sum_jobs.n > 0)
    GPU_CHECK (
        gpu_launch (regions_sums<Real>, dim3 ((unsigned) pack->sum_jobs.n),
            block, 0, run->stream, frame),
        fault);
  if (pack->mean_jobs.n > 0)
    GPU_CHECK (
        gpu_launch (regions_means<Real>, dim3 ((unsigned) pack->mean_jobs.n),
            block, 0, run->stream, frame),
        fault);
  GPU_CHECK (gpu_launch (regions_compose_tiles<Real>,
                 dim3 ((unsigned) pack->tiles.n), block, 0, run->stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

/* Sends what was packed, and queues its kernels. */
static bool
run_batch (const RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  RegionsPack *pack = state->pack;
  uint8_t *block;

  if (pack->parts.n == 0)
    return true;
  if (!regions_pack_finish (pack, run, fault)
      || !reserve_staging (state, pack->bytes, run->stream, fault)
      || !reserve_sums (state, sums_bytes (pack), run->stream, fault))
    return false;
  block = (uint8_t *) staging_begin (&state->staging, fault);
  if (block == NULL)
    return false;
  regions_pack_write (pack, block);
  return staging_send (&state->staging, pack->bytes, run->stream, fault)
      && (pack->float_holds ? launch<float> (plan, run, fault)
                            : launch<double> (plan, run, fault));
}

static bool
copy_picture (const RegionsRun *run, Fault *fault)
{
  for (int m = 0; m < run->src->n_memories; m++) {
    const ImageMemory *from = &run->src->memory[m], *to = &run->dst->memory[m];

    if (!gpu_copy_rows (to->data, to->stride, from->data, from->stride,
            from->row_bytes, from->height, GPU_COPY_DEVICE, run->stream, fault))
      return false;
  }
  return true;
}

static bool
cuda_run (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  RegionsPack *pack = ((RegionsDevice *) plan->state)->pack;

  if (plan->whole != NULL) {
    if (!sepconv_plan_run (plan->whole, run->src, run->dst, run->stream,
            GPU_AFTER_KERNELS, fault))
      return false;
  } else if (!copy_picture (run, fault)) {
    return false;
  }
  regions_pack_clear (pack);
  if (plan->spec.outside && plan->whole == NULL
      && !regions_pack_color (pack, plan, run, fault))
    return false;
  for (int i = 0; i < run->n; i++) {
    if (!regions_pack_place (pack, plan, run, &run->place[i], fault))
      return false;
    if (sums_bytes (pack) < MOST_BYTES)
      continue;
    if (!run_batch (plan, run, fault))
      return false;
    regions_pack_clear (pack);
  }
  return run_batch (plan, run, fault);
}

static void
cuda_release (RegionsPlan *plan)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;

  if (state == NULL)
    return;
  regions_pack_free (state->pack);
  staging_clear (&state->staging);
  gpu_free (state->sums);
  free (state);
}

/* Loads them, so that no frame waits for that. */
template <typename Real>
static bool
load_kernels (Fault *fault)
{
  const void *const kernels[] = { (const void *) regions_sums<Real>,
    (const void *) regions_means<Real>,
    (const void *) regions_compose_tiles<Real> };
  bool ok = false;

  for (const void *kernel : kernels) {
    struct cudaFuncAttributes attributes;

    GPU_CHECK (cudaFuncGetAttributes (&attributes, kernel), fault);
  }
  ok = true;
done:
  return ok;
}

static bool
cuda_prepare (RegionsPlan *plan, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for regions.");
  if (!load_kernels<float> (fault) || !load_kernels<double> (fault))
    return false;
  state->pack = regions_pack_new (&plan->layout, fault);
  return state->pack != NULL
      && staging_init (&state->staging, LEAST_BLOCK, fault);
}

extern "C" const RegionsOps regions_cuda_ops = {
  .prepare = cuda_prepare,
  .release = cuda_release,
  .run = cuda_run,
};
