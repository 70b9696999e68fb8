/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: regions on a GPU. Most runs are the kernels of direct.cuh, one to three. Any other run
 * sends the lists of pack.cuh, copies the picture and queues at most three kernels for all regions;
 * regions whose sums take more than MOST_BYTES are split into batches, one after another. In place
 * only the bytes that in-place.cuh names are copied. */
#include "compose-kernel.cuh"
#include "direct-host.cuh"
#include "in-place.cuh"
#include "pack.cuh"
#include "table.cuh"

#include "../gpu-check.h"

#include <stdlib.h>

#define MOST_BYTES ((size_t) 256 << 20)

/* plan->state */
struct RegionsDevice
{
  RegionsFilters filters;
  RegionsDirect *direct;
  RegionsPack *pack;
  RegionsInPlace *in_place;
  RegionsOrigin packed; /* of the run that `pack` has in one batch */
  unsigned generation;  /* of the filters in `pack` */
  /* For each run in flight: the pack on the GPU. Runs that are not overlapped use the first. */
  RegionsTable table[REGIONS_OVERLAPPING];
  RegionsScratch scratch; /* sums and codes, or means, or low samples */
};

static size_t
sums_bytes (const RegionsPack *pack)
{
  return pack->n_sums * (pack->float_holds ? sizeof (float) : sizeof (double))
      + (pack->n_codes + pack->n_means) * sizeof (uint16_t);
}

template <typename T>
static const T *
sent (const RegionsTable *table, const RegionsList &list)
{
  return (const T *) ((const uint8_t *) table->staging.device + list.at);
}

template <typename Real>
static RegionsFrame<Real>
describe_frame (const RegionsPlan *plan, const RegionsRun *run, void *sums)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  const RegionsPack *pack = state->pack;
  const RegionsFilters *filters = &state->filters;
  const RegionsTable *table = &state->table[regions_set (run)];
  RegionsFrame<Real> frame = {};

  frame.border = plan->spec.filter->border;
  for (int p = 0; p < run->src->n_planes; p++)
    frame.plane[p] = regions_device_plane (plan, run, p);
  frame.taps = (const RegionsTaps *) filters->sent_taps.device;
  frame.tap = (const Real *) filters->sent_tap[pack->float_holds].device;
  frame.parts = sent<RegionsDevicePart> (table, pack->parts);
  frame.sum_jobs = sent<RegionsSumJob> (table, pack->sum_jobs);
  frame.code_jobs = sent<RegionsCodeJob> (table, pack->code_jobs);
  frame.mean_jobs = sent<RegionsMeanJob> (table, pack->mean_jobs);
  frame.tiles = sent<RegionsTile> (table, pack->tiles);
  frame.list = sent<int> (table, pack->list);
  frame.sums = (Real *) sums;
  frame.codes = (uint16_t *) (frame.sums + pack->n_sums);
  frame.means = (uint16_t *) sums;
  return frame;
}

template <typename Real>
static bool
launch (
    const RegionsPlan *plan, const RegionsRun *run, void *sums, Fault *fault)
{
  const RegionsPack *pack = ((const RegionsDevice *) plan->state)->pack;
  const RegionsFrame<Real> frame = describe_frame<Real> (plan, run, sums);
  const dim3 block (FILL_COLUMNS, FILL_ROWS);
  bool ok = false;

  if (pack->sum_jobs.n > 0)
    GPU_CHECK (
        gpu_launch_early (plan->gpu, regions_sums<Real>,
            dim3 ((unsigned) pack->sum_jobs.n), block, 0, run->stream, frame),
        fault);
  if (pack->code_jobs.n > 0)
    GPU_CHECK (
        gpu_launch_early (plan->gpu, regions_codes<Real>,
            dim3 ((unsigned) pack->code_jobs.n), block, 0, run->stream, frame),
        fault);
  if (pack->mean_jobs.n > 0)
    GPU_CHECK (
        gpu_launch_early (plan->gpu, regions_means<Real>,
            dim3 ((unsigned) pack->mean_jobs.n), block, 0, run->stream, frame),
        fault);
  GPU_CHECK (gpu_launch_early (plan->gpu, regions_compose_tiles<Real>,
                 dim3 ((unsigned) pack->tiles.n), block, 0, run->stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

/* Copies by a kernel or, where direct.cuh cannot, by gpu_copy_rows(). */
static bool
copy_picture (const RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  bool done;

  if (!regions_direct_copy (
          ((RegionsDevice *) plan->state)->direct, plan, run, &done, fault))
    return false;
  for (int m = 0; m < run->src->n_memories && !done; m++) {
    const ImageMemory *from = &run->src->memory[m], *to = &run->dst->memory[m];

    if (!gpu_copy_rows (to->data, to->stride, from->data, from->stride,
            from->row_bytes, from->height, GPU_COPY_DEVICE, run->stream, fault))
      return false;
  }
  return true;
}

/* Sends what was packed, unless it is on the GPU already. */
static bool
send (const RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  const RegionsPack *pack = state->pack;

  if (pack->sum_jobs.n > 0
      && !regions_filters_send (&state->filters, run, pack->float_holds, fault))
    return false;
  return regions_send_table (
      &state->table[regions_set (run)], pack->revision, pack->bytes,
      run->stream,
      [pack] (uint8_t *block) { regions_pack_write (pack, block); }, fault);
}

/* Queues the kernels for the packed regions, if there are any, after the copy of the picture unless
 * *copied. Uploads are queued before all kernels, so that the kernels run back to back. */
static bool
run_batch (
    const RegionsPlan *plan, const RegionsRun *run, bool *copied, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  const RegionsPack *pack = state->pack;
  const bool any = pack->parts.n > 0;
  void *sums = NULL;

  if (any
      && (!send (plan, run, fault)
          || !regions_scratch_reserve (
              &state->scratch, plan, run, sums_bytes (pack), &sums, fault)))
    return false;
  if (!*copied && !copy_picture (plan, run, fault))
    return false;
  *copied = true;
  return !any
      || (pack->float_holds ? launch<float> (plan, run, sums, fault)
                            : launch<double> (plan, run, sums, fault));
}

static bool
finish_batch (
    const RegionsPlan *plan, const RegionsRun *run, bool *copied, Fault *fault)
{
  RegionsPack *pack = ((const RegionsDevice *) plan->state)->pack;

  return (pack->parts.n == 0 || regions_pack_finish (pack, run, fault))
      && run_batch (plan, run, copied, fault);
}

/* Runs that direct.cuh does not take; `copied`: dst has the picture. */
static bool
run_packed (RegionsPlan *plan, const RegionsRun *run, bool copied, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  RegionsPack *pack = state->pack;
  bool whole = true;

  if (regions_is_origin (&state->packed, plan, run)
      && state->generation == state->filters.generation)
    return run_batch (plan, run, &copied, fault);
  state->packed = RegionsOrigin ();
  regions_pack_clear (pack);
  regions_filters_begin (&state->filters, plan);
  if (plan->spec.outside && plan->whole == NULL
      && !regions_pack_color (pack, plan, run, fault))
    return false;
  for (int i = 0; i < run->n; i++) {
    if (!regions_pack_place (pack, plan, run, &run->place[i], fault))
      return false;
    if (sums_bytes (pack) < MOST_BYTES)
      continue;
    if (!finish_batch (plan, run, &copied, fault))
      return false;
    regions_pack_clear (pack);
    whole = false;
  }
  if (!finish_batch (plan, run, &copied, fault))
    return false;
  if (whole)
    state->packed = regions_origin (plan, run);
  state->generation = state->filters.generation;
  return true;
}

/* `copied`: dst has the picture already, or the filtered whole picture. */
static bool
cover (RegionsPlan *plan, const RegionsRun *run, bool copied, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  bool done;

  return regions_direct_run (
             state->direct, plan, run, &state->scratch, &done, fault)
      && (done || run_packed (plan, run, copied, fault));
}

static bool
run_in_place (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;
  RegionsInPlace *in_place = state->in_place;
  bool on_gpu, reads_itself = false;
  RegionsInner inner;

  if (run->n == 0)
    return true;
  if (!regions_in_place_find (run, &on_gpu, fault)
      || (on_gpu
          && !regions_direct_reads_itself (
              state->direct, plan, run, &reads_itself, fault)))
    return false;
  if (reads_itself)
    return cover (plan, run, true, fault)
        && regions_in_place_settle (in_place, run->stream, fault);
  if (regions_in_place_begin (in_place, plan, run, on_gpu, &inner, fault)
      && cover (plan, &inner.run, true, fault)
      && regions_in_place_end (in_place, plan, run, &inner, fault))
    return true;
  regions_in_place_abandon (&inner);
  return false;
}

static bool
cuda_run (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  if (run->in_place)
    return run_in_place (plan, run, fault);
  if (plan->whole != NULL
      && !sepconv_plan_run (plan->whole, run->src, run->dst, run->stream,
          GPU_AFTER_KERNELS, fault))
    return false;
  return cover (plan, run, plan->whole != NULL, fault)
      && regions_in_place_settle (
          ((RegionsDevice *) plan->state)->in_place, run->stream, fault);
}

static void
cuda_release (RegionsPlan *plan)
{
  RegionsDevice *state = (RegionsDevice *) plan->state;

  if (state == NULL)
    return;
  regions_direct_free (state->direct);
  regions_pack_free (state->pack);
  regions_in_place_free (state->in_place);
  regions_filters_free (&state->filters);
  for (RegionsTable &table : state->table)
    staging_clear (&table.staging);
  regions_scratch_free (&state->scratch);
  free (state);
}

/* Loads the kernels, so that no frame waits for that. */
template <typename Real>
static bool
load_kernels (Fault *fault)
{
  const void *const kernels[] = { (const void *) regions_sums<Real>,
    (const void *) regions_codes<Real>, (const void *) regions_means<Real>,
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
  regions_filters_init (&state->filters);
  state->direct =
      regions_direct_new (&plan->layout, plan->gpu, &state->filters, fault);
  if (state->direct == NULL)
    return false;
  state->pack = regions_pack_new (&plan->layout, &state->filters, fault);
  state->in_place = regions_in_place_new (fault);
  return state->pack != NULL && state->in_place != NULL
      && staging_init (&state->table[0].staging, REGIONS_LEAST_TABLE, fault);
}

static bool
cuda_reserve_in_place (
    RegionsPlan *plan, bool in_gpu_memory, GpuOrder order, Fault *fault)
{
  return regions_in_place_reserve (((RegionsDevice *) plan->state)->in_place,
      plan, in_gpu_memory, order, fault);
}

extern "C" const RegionsOps regions_cuda_ops = {
  .prepare = cuda_prepare,
  .release = cuda_release,
  .run = cuda_run,
  .reserve_in_place = cuda_reserve_in_place,
};
