/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane: every lane counts in a shared-memory bank of its own, and rows are read 16 bytes at
 * a time. This file has the kernel and its host side, which divides the blocks among a
 * frame's patterns by their work. */
#include "lane-adding.cuh"
#include "lane-counting.cuh"

#include "../gpu-check.h"

/* Relative costs by which blocks are divided, estimates: a vector counts as so many single
 * samples, and the edges of a row count as so many vectors. */
#define SAMPLES_AS_VECTOR 4
#define VECTORS_AS_EDGES 32

struct LaneState : CountersState
{
  int n_patterns;
  HistoPattern pattern[HISTO_MAX_CHANNELS];
  size_t shared_bytes;
  int blocks; /* of a run */
};

/* The pattern that the block takes. */
__device__ __forceinline__ int
pattern_of_block (const LaneFrame &frame)
{
  int p = 0;

  while (p + 1 < frame.n_patterns
      && (int) blockIdx.x >= frame.pattern[p + 1].first_block)
    p++;
  return p;
}

template <GpuOrder ORDER>
static __global__ void
__launch_bounds__ (THREADS, Share<ORDER>::OF_BLOCKS)
    lane_kernel (GPU_PARAMETER LaneFrame frame)
{
  GPU_DYNAMIC_SHARED (uint32_t, shared);
  const LanePattern &pattern = frame.pattern[pattern_of_block (frame)];
  Pieces<Share<ORDER>::AHEAD> pieces (pattern);

  if (ORDER == GPU_BESIDE_KERNELS)
    gpu_admit_next ();
  else if (pattern.period > 0)
    pieces.prefetch (pattern);
#pragma unroll 1
  for (int i = threadIdx.x; i < counter_sets (pattern.period) * frame.bins * 8;
       i += THREADS)
    ((uint4 *) shared)[i] = make_uint4 (0, 0, 0, 0);
  if (ORDER == GPU_AFTER_KERNELS)
    gpu_await_previous ();
  if (pattern.period > 0)
    pieces.load (pattern);
  __syncthreads ();
  count_block (pattern, pieces, shared, frame.bins);
  /* With GPU_AFTER_KERNELS only now: the next kernel's prefetches would slow this one
   * down. */
  gpu_admit_next ();
  /* A run before may still use the sums. */
  gpu_await_previous ();
  __syncthreads ();
  add_up (pattern, shared, frame.counters, frame.bins);
}

static auto
kernel_for (GpuOrder order)
{
  return order == GPU_BESIDE_KERNELS ? lane_kernel<GPU_BESIDE_KERNELS>
                                     : lane_kernel<GPU_AFTER_KERNELS>;
}

static bool
load_kernel (GpuOrder order, const Gpu *gpu, Fault *fault)
{
  return counters_load_kernel ((const void *) kernel_for (order), gpu, fault);
}

static size_t
shared_bytes (const HistoPattern *pattern, int n, int bins)
{
  int sets = 1;

  for (int i = 0; i < n; i++)
    sets = max (sets, counter_sets (pattern[i].period));
  return (size_t) sets * (size_t) bins * 32 * sizeof (uint32_t);
}

static bool
lane_supports (
    const HistoSpec *spec, const Image *layout, const Gpu *gpu, Fault *why)
{
  HistoChannel channel[HISTO_MAX_CHANNELS];
  HistoPattern pattern[HISTO_MAX_CHANNELS];
  const int n = histo_find_patterns (
      channel, histo_list_channels (spec, layout, channel), pattern);

  return histo_fits_shared (shared_bytes (pattern, n, spec->bins), gpu, why);
}

static double
lane_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 1.0;
}

static bool
lane_prepare (HistoPlan *plan, Fault *fault)
{
  LaneState *state;

  if (!counters_prepare_replicas (plan, sizeof (LaneState), fault))
    return false;
  state = (LaneState *) plan->state;
  state->n_patterns =
      histo_find_patterns (plan->channel, plan->n_channels, state->pattern);
  state->shared_bytes =
      shared_bytes (state->pattern, state->n_patterns, plan->bins);
  state->blocks = gpu_multiprocessors (plan->gpu);
  return load_kernel (GPU_AFTER_KERNELS, plan->gpu, fault)
      && load_kernel (GPU_BESIDE_KERNELS, plan->gpu, fault);
}

/* Whether all rows can be read as one: no gaps lie between rows, and each channel's samples
 * continue at the same distance from row to row. */
static bool
is_one_row (const HistoPlan *plan, const HistoPattern *from, const Image *src)
{
  const ImageMemory *memory = &src->memory[from->memory];

  for (int k = 0; k < from->period; k++) {
    const HistoChannel *channel = &plan->channel[max (from->channel[k], 0)];

    if (from->channel[k] >= 0
        && (ptrdiff_t) histo_channel_width (channel, src)
                * channel->pixel_stride
            != memory->stride)
      return false;
  }
  return from->period > 0 && memory->height > 0
      && memory->stride <= HISTO_MAX_ROW_BYTES / memory->height;
}

/* Fills in where in a row the samples of each channel, and of all channels, lie. */
static void
place_samples (const HistoPlan *plan, const HistoPattern *from,
    const Image *src, int rows_in_one, LanePattern *pattern)
{
  const int bytes = from->sample_bytes;

  pattern->first = HISTO_MAX_ROW_BYTES;
  pattern->inner_last = HISTO_MAX_ROW_BYTES;
  for (int k = 0; k < from->period; k++) {
    const HistoChannel *channel = &plan->channel[max (from->channel[k], 0)];
    const int begin = channel->byte_offset, apart = channel->pixel_stride;
    const int end =
        begin + histo_channel_width (channel, src) * rows_in_one * apart;

    if (from->channel[k] < 0)
      continue;
    pattern->begin[k] = begin;
    pattern->end[k] = end;
    pattern->first = min (pattern->first, begin);
    pattern->last = max (pattern->last, end - apart + bytes);
    /* Between these, no position of the channel is before its first sample or after its
     * last. */
    pattern->inner_first = max (pattern->inner_first, begin - apart + bytes);
    pattern->inner_last = min (pattern->inner_last, end);
  }
  /* Samples of no channel may lie outside the rows. */
  pattern->inner_last = min (pattern->inner_last, pattern->last);
}

/* Fills in whether bins are bits of a sample, and the rotation that moves these bits to the
 * counter's address. */
static void
place_bits (int bins, LanePattern *pattern)
{
  int log2_bins = 0;

  while (1 << log2_bins < bins)
    log2_bins++;
  pattern->is_bits = 1 << log2_bins == bins;
  pattern->rotation = (uint32_t) (pattern->shift - log2_bins - BIN_SHIFT) % 32;
  pattern->address_mask = (pattern->mask * (uint32_t) bins >> pattern->shift)
      << BIN_SHIFT;
}

/* Fills in the number of whole vectors of each row, and whether samples are left beside
 * them. */
static void
place_vectors (LanePattern *pattern)
{
  const int inside = pattern->inner_last - pattern->inner_first;
  const int first = first_vector (pattern->inner_first, pattern->data);

  pattern->anchor = pattern->data + pattern->inner_first + 15;
  if (pattern->rows <= 1 || pattern->stride % 16 == 0) {
    pattern->units = (uint32_t) max (pattern->inner_last - first, 0) / 16;
    pattern->edges = first > pattern->first
        || first + 16 * (int) pattern->units < pattern->last;
  } else {
    /* The number at the worst alignment, which fits every row. */
    pattern->units = (uint32_t) max (inside - 15, 0) / 16;
    pattern->edges = true;
  }
}

/* Makes LanePattern.joins. */
static uint32_t
find_joins (const HistoPattern *from)
{
  const int turn = set_channels (from->period) - 1;
  uint32_t joins = 0;

  for (int lane = 0; lane < ADDERS; lane++) {
    uint32_t own = 1;

    for (int other = 0; other < ADDERS; other++) {
      if (from->channel[other & turn] != from->channel[lane & turn])
        continue;
      if (other > lane)
        own &= ~1u;
      else if (other < lane)
        own |= 1u << (lane - other);
    }
    joins |= own << 4 * lane;
  }
  return joins;
}

static LanePattern
describe_pattern (
    const HistoPlan *plan, const HistoPattern *from, const Image *src)
{
  const ImageMemory *memory = &src->memory[from->memory];
  const HistoChannel *channel = &plan->channel[max (from->channel[0], 0)];
  const bool one = is_one_row (plan, from, src);
  LanePattern pattern = LanePattern ();

  pattern.joins = find_joins (from);
  pattern.data = memory->data;
  pattern.stride = memory->stride;
  pattern.rows = one ? 1 : memory->height;
  pattern.period = from->period;
  pattern.sample_bytes = from->sample_bytes;
  pattern.shift = from->depth + from->shift;
  pattern.mask = ((1u << from->depth) - 1) << from->shift;
  place_bits (plan->bins, &pattern);
  for (int k = 0; k < HISTO_MAX_PERIOD; k++)
    pattern.channel[k] = from->channel[k];
  if (from->period > 0) {
    place_samples (plan, from, src, one ? memory->height : 1, &pattern);
    place_vectors (&pattern);
  } else {
    pattern.anchor = pattern.data + channel->byte_offset;
    pattern.pixel_stride = channel->pixel_stride;
    pattern.units = (uint32_t) histo_channel_width (channel, src);
  }
  return pattern;
}

/* The work of a pattern, in vectors. */
static int64_t
pattern_work (const LanePattern *pattern)
{
  const int64_t rows = pattern->rows, units = pattern->units;

  if (pattern->period == 0)
    return rows * units / SAMPLES_AS_VECTOR;
  return rows * (units + (pattern->edges ? VECTORS_AS_EDGES : 0));
}

/* Assigns a pattern's units to the threads of its blocks. */
static void
deal_units (LanePattern *pattern)
{
  const uint32_t threads = (uint32_t) pattern->n_blocks * THREADS;
  const uint64_t all = (uint64_t) pattern->rows * pattern->units;

  if (pattern->units > 0) {
    pattern->reciprocal = UINT32_MAX / pattern->units;
    pattern->row_step = threads / pattern->units;
    pattern->unit_step = threads % pattern->units;
  }
  pattern->is_in_phase = pattern->period != 3
      || (threads % 3 == 0
          && (pattern->rows == 1
              || (pattern->stride % 16 == 0 && pattern->units % 3 == 0)));
  pattern->is_steady = pattern->rows == 1 && pattern->is_in_phase;
  pattern->rounds = (uint32_t) (all / threads);
  pattern->rest = (uint32_t) (all % threads);
}

/* Divides the `blocks` blocks that run at once among the patterns by their work. A pattern
 * gets at most as many as have a vector for each thread. Returns the number of blocks
 * assigned. */
static int
deal_blocks (LaneFrame *frame, int blocks)
{
  int64_t all = 0;
  int dealt = 0;

  for (int i = 0; i < frame->n_patterns; i++)
    all += pattern_work (&frame->pattern[i]);
  for (int i = 0; i < frame->n_patterns; i++) {
    LanePattern *pattern = &frame->pattern[i];
    const int64_t work = pattern_work (pattern);
    const int64_t useful = (work + THREADS - 1) / THREADS;
    const int64_t share = all > 0 ? work * blocks / all : 0;

    pattern->first_block = dealt;
    pattern->n_blocks = (int) (share < useful ? share : useful);
    /* A thread's vectors are then a multiple of 3 vectors apart, and in phase. */
    if (pattern->period == 3 && pattern->n_blocks > 3)
      pattern->n_blocks -= pattern->n_blocks % 3;
    pattern->n_blocks = max (pattern->n_blocks, 1);
    deal_units (pattern);
    dealt += pattern->n_blocks;
  }
  return dealt;
}

static bool
lane_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  const LaneState *state = (const LaneState *) plan->state;
  LaneFrame frame;
  int blocks;
  bool ok = false;

  frame.counters = counters_for (plan, result);
  frame.bins = plan->bins;
  frame.n_patterns = state->n_patterns;
  for (int i = 0; i < state->n_patterns; i++)
    frame.pattern[i] = describe_pattern (plan, &state->pattern[i], src);
  blocks = deal_blocks (&frame, state->blocks);
  GPU_CHECK (gpu_launch_early (plan->gpu, kernel_for (order), blocks, THREADS,
                 state->shared_bytes, stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

extern "C" const HistoMethodOps histo_lane_ops = {
  .min_capability = 0,
  .supports = lane_supports,
  .cost = lane_cost,
  .prepare = lane_prepare,
  .release = counters_release,
  .run = lane_run,
  .overlaps = true,
};
