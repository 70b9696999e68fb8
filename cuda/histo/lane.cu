/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane: every lane counts in a shared-memory bank that no other lane of its warp
 * uses at that moment, so no content makes conflicts; rows are read 16 bytes at a
 * time.
 *
 * A counter is one word, and 32 of them stand side by side for each bin, one a bank:
 * word bin * 32 + bank. The warps of a block share them. For one channel the bank is
 * the lane. Channels that alternate sample by sample need no more room than one:
 * in a pattern of 2 or 4 samples, neighbouring lanes take turns,
 *
 *   step   lane 0  1  2  3   4  5  6  7        bank = group of lanes | channel
 *      0        R  G  B  A   R  G  B  A  ...
 *      1        G  B  A  R   G  B  A  R
 *      2        B  A  R  G   B  A  R  G
 *
 * each by turning its own vector first. So RGBA at 256 bins takes 32 KiB a block, and
 * not 128, and two blocks of 1024 threads fill a multiprocessor. Turns of three would
 * leave lanes of different phase in one bank: a pattern of 3 has three sets of
 * counters, 96 KiB, of which two blocks still fit. Counters of 16 bits would halve
 * that, but 256 bins gain nothing from it, and the sum would have to be watched.
 *
 * Blocks are dealt out to the patterns of a frame by the work that each is. Whole vectors are
 * read at 16-byte addresses wherever rows start; the few samples before and after
 * them one by one. Measured in a first experiment on an H200 (one channel): 0.98 of a
 * read-only stream for noise, flat pictures and ramps alike at 133 MB. */
#include "counters.cuh"
#include "pattern.h"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#define THREADS 1024
#define WARPS (THREADS / 32)
/* Blocks that the threads of a multiprocessor are enough for: 2048 of them, but 1024
 * at compute capability 7.5 and 1536 at 8.6 to 8.9 and from 11.0 on. */
#if defined(__CUDA_ARCH__) \
    && (__CUDA_ARCH__ == 750 || (__CUDA_ARCH__ >= 860 && __CUDA_ARCH__ < 900) \
        || __CUDA_ARCH__ >= 1100)
#define BLOCKS_AT_ONCE 1
#else
#define BLOCKS_AT_ONCE 2
#endif
/* What a warp takes at a time: a vector of 16 bytes a lane, twice. */
#define SEGMENT_VECTORS 64
/* Where samples are read one by one. */
#define SEGMENT_SAMPLES 256

struct LaneState : CountersState
{
  int n_patterns;
  HistoPattern pattern[HISTO_MAX_CHANNELS];
  size_t shared_bytes;
  int blocks; /* that run at once */
};

/* A pattern in the source of a run. Positions are bytes from a row's start. */
struct LanePattern
{
  const uint8_t *data;
  ptrdiff_t stride;
  int rows;
  int segments;                  /* that a row has, or one more */
  int channel[HISTO_MAX_PERIOD]; /* as in HistoPattern */
  int period, sample_bytes;
  int first, last; /* all samples lie in [first, last) */
  /* All that lies in [inner_first, inner_last) and belongs to a channel is a sample
   * of it. */
  int inner_first, inner_last;
  int begin[HISTO_MAX_PERIOD]; /* first sample of channel[k] */
  int end[HISTO_MAX_PERIOD];   /* where its sample after the last would be */
  uint32_t mask;
  int shift;               /* depth and shift */
  bool is_bin;             /* a sample is its bin */
  int width, pixel_stride; /* of rows without a pattern */
  int first_block, n_blocks;
  int row_step, segment_step; /* from a warp's segment to its next */
};

/* Room for one in shared memory, before the counters: whole rows of banks. */
#define PATTERN_WORDS 64
static_assert (sizeof (LanePattern) <= PATTERN_WORDS * sizeof (uint32_t),
    "a pattern fits its room");

struct LaneFrame
{
  Counters counters;
  int bins;
  int n_patterns;
  LanePattern pattern[HISTO_MAX_CHANNELS];
};

/* Sets of 32 counters a bin: period 3 has one a channel. */
static __host__ __device__ __forceinline__ int
counter_sets (int period)
{
  return period == 3 ? 3 : 1;
}

/* The channels that share a set: period 3, and what has no pattern, one. */
__device__ __forceinline__ int
set_channels (int period)
{
  return period == 2 || period == 4 ? period : 1;
}

/* Where the counters of the pattern's sample k are for this lane: word `bin * 32 +
 * offset`. */
__device__ __forceinline__ int
counter_offset (int period, int k, int bins)
{
  const int lane = threadIdx.x % 32;
  const int turn = set_channels (period) - 1;

  return period == 3 ? k * bins * 32 + lane : (lane & ~turn) | (k & turn);
}

/* A warp's way through the segments of a pattern's rows, all warps of the pattern
 * side by side. */
struct Walk
{
  int row, segment;

  __device__ __forceinline__
  Walk (const LanePattern &pattern)
  {
    /* Neighbouring segments are different blocks', so that the last few are many
     * multiprocessors' work. */
    const int at = (int) threadIdx.x / 32 * pattern.n_blocks
        + ((int) blockIdx.x - pattern.first_block);

    row = at / pattern.segments;
    segment = at % pattern.segments;
  }

  __device__ __forceinline__ void
  next (const LanePattern &pattern)
  {
    row += pattern.row_step;
    segment += pattern.segment_step;
    if (segment >= pattern.segments) {
      segment -= pattern.segments;
      row++;
    }
  }
};

/* The whole vectors of a row: positions of the first, and past the last. */
struct Vectors
{
  int first, last;

  __device__ __forceinline__
  Vectors (const LanePattern &pattern, const uint8_t *row)
  {
    const int before = (int) ((uintptr_t) row % 16);

    first = ((pattern.inner_first + before + 15) & ~15) - before;
    last = ((pattern.inner_last + before) & ~15) - before;
    if (last < first)
      last = first;
  }
};

/* What a lane has of a segment. */
struct Piece
{
  uint4 vector[2];
  int n;        /* how many of them there are */
  int position; /* of the first in its row */

  __device__ __forceinline__ void
  load (const LanePattern &pattern, const Walk &walk)
  {
    n = position = 0;
    if (walk.row >= pattern.rows)
      return;
    const uint8_t *row = pattern.data + walk.row * pattern.stride;
    const Vectors vectors (pattern, row);

    position = vectors.first
        + 16 * (walk.segment * SEGMENT_VECTORS + (int) threadIdx.x % 32);
    if (position < vectors.last) {
      vector[0] = __ldg ((const uint4 *) (row + position));
      n = 1;
    }
    if (position + 16 * 32 < vectors.last) {
      vector[1] = __ldg ((const uint4 *) (row + position) + 32);
      n = 2;
    }
  }
};

/* How samples become bins, and where those are. Period: 3, or 4 for all that divide
 * it; a narrower pattern is the same thing repeated. */
template <int SampleBytes, bool IsBin, int Period> struct Counting
{
  uint32_t *counters;
  uint32_t mask, bins;
  int shift;
  int turn; /* bits to turn vectors by, for the lane to begin with its sample */
  int offset[Period]; /* of each sample from there on */

  __device__ __forceinline__
  Counting (const LanePattern &pattern, uint32_t *shared, int n_bins)
      : counters (shared), mask (pattern.mask), bins (n_bins),
        shift (pattern.shift)
  {
    turn = 8 * SampleBytes
        * ((int) threadIdx.x % 32 & (set_channels (pattern.period) - 1));
  }

  /* For vectors at a position of a row. */
  __device__ __forceinline__ void
  begin (const LanePattern &pattern, int position)
  {
    const uint32_t sample =
        (uint32_t) position / SampleBytes + (uint32_t) turn / (8 * SampleBytes);

#pragma unroll
    for (int k = 0; k < Period; k++)
      offset[k] = counter_offset (pattern.period,
          (int) (Period == 3 ? (sample + k) % 3 : sample + k), (int) bins);
  }

  __device__ __forceinline__ void
  count (uint32_t raw, int k)
  {
    const uint32_t bin = IsBin ? raw : (raw & mask) * bins >> shift;

    atomicAdd (&counters[bin * 32 + offset[k % Period]], 1u);
  }

  __device__ __forceinline__ void
  count_word (uint32_t word, int k)
  {
    const uint32_t all = SampleBytes == 1 ? 0xff : 0xffff;

#pragma unroll
    for (int i = 0; i < 4 / SampleBytes; i++)
      count (word >> 8 * SampleBytes * i & all, k + i);
  }

  /* A vector whose first sample is the k-th of those that begin() was told. */
  __device__ __forceinline__ void
  count_vector (const uint4 &vector, int k)
  {
    const uint32_t word[] = { vector.x, vector.y, vector.z, vector.w };

#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      uint32_t low = word[i], high = word[i + 1];

      if (Period != 3 && SampleBytes == 1) {
        low = __funnelshift_r (low, low, turn);
        high = __funnelshift_r (high, high, turn);
      } else if (Period != 3) {
        const uint32_t even = turn < 32 ? low : high;
        const uint32_t odd = turn < 32 ? high : low;

        low = __funnelshift_r (even, odd, turn % 32);
        high = __funnelshift_r (odd, even, turn % 32);
      }
      count_word (low, k + i * (4 / SampleBytes));
      count_word (high, k + (i + 1) * (4 / SampleBytes));
    }
  }

  __device__ __forceinline__ void
  count_piece (const LanePattern &pattern, const Piece &piece)
  {
    begin (pattern, piece.position);
    if (piece.n > 0)
      count_vector (piece.vector[0], 0);
    /* The second vector is 512 bytes on: 2 samples of a pattern of 3, or 1. */
    if (piece.n > 1)
      count_vector (piece.vector[1], 512 / SampleBytes % Period);
  }

  /* All pieces of this warp, of which the first is loaded. */
  __device__ __forceinline__ void
  count_rows (const LanePattern &pattern, Walk walk, Piece piece)
  {
    while (walk.row < pattern.rows) {
      count_piece (pattern, piece);
      walk.next (pattern);
      piece.load (pattern, walk);
    }
  }
};

template <int SampleBytes, bool IsBin, int Period>
__device__ __forceinline__ void
count_pattern (const LanePattern &pattern, const Walk &walk, const Piece &piece,
    uint32_t *shared, int bins)
{
  Counting<SampleBytes, IsBin, Period> counting (pattern, shared, bins);

  counting.count_rows (pattern, walk, piece);
}

/* One sample, anywhere. */
__device__ __forceinline__ void
count_sample (const LanePattern &pattern, const uint8_t *sample, int k,
    uint32_t *shared, int bins)
{
  const uint32_t raw =
      pattern.sample_bytes == 1 ? *sample : *(const uint16_t *) sample;
  const uint32_t bin = (raw & pattern.mask) * (uint32_t) bins >> pattern.shift;

  atomicAdd (&shared[bin * 32 + counter_offset (pattern.period, k, bins)], 1u);
}

/* The samples of a row from one position on and before another, those that are not
 * between their channel's first and last pixel left out. */
__device__ __forceinline__ void
count_edge (const LanePattern &pattern, const uint8_t *row, int from, int to,
    uint32_t *shared, int bins)
{
  const int bytes = pattern.sample_bytes;

  for (int at = from + (int) threadIdx.x % 32 * bytes; at < to;
       at += 32 * bytes) {
    const int k = at / bytes % pattern.period;

    if (pattern.channel[k] >= 0 && at >= pattern.begin[k]
        && at < pattern.end[k])
      count_sample (pattern, row + at, k, shared, bins);
  }
}

/* What is before and after the whole vectors of each row. */
__device__ __forceinline__ void
count_edges (const LanePattern &pattern, uint32_t *shared, int bins)
{
  const int block = (int) blockIdx.x - pattern.first_block;

  for (int y = (int) threadIdx.x / 32 * pattern.n_blocks + block;
       y < pattern.rows; y += WARPS * pattern.n_blocks) {
    const uint8_t *row = pattern.data + y * pattern.stride;
    const Vectors vectors (pattern, row);
    const bool any = vectors.first < vectors.last;

    count_edge (pattern, row, pattern.first, any ? vectors.first : pattern.last,
        shared, bins);
    if (any)
      count_edge (pattern, row, vectors.last, pattern.last, shared, bins);
  }
}

/* One channel whose rows have no pattern, sample by sample. */
__device__ __forceinline__ void
count_samples (
    const LanePattern &pattern, Walk walk, uint32_t *shared, int bins)
{
  for (; walk.row < pattern.rows; walk.next (pattern)) {
    const uint8_t *row = pattern.data + walk.row * pattern.stride;
    const int from = walk.segment * SEGMENT_SAMPLES;
    const int to = min (from + SEGMENT_SAMPLES, pattern.width);

    for (int x = from + (int) threadIdx.x % 32; x < to; x += 32)
      count_sample (
          pattern, row + (ptrdiff_t) x * pattern.pixel_stride, 0, shared, bins);
  }
}

/* All threads of a block take the same way. */
__device__ __forceinline__ void
count_block (const LanePattern &pattern, const Walk &walk, const Piece &piece,
    uint32_t *shared, int bins)
{
  const bool bytes = pattern.sample_bytes == 1;

  if (pattern.period == 0) {
    count_samples (pattern, walk, shared, bins);
    return;
  }
  if (pattern.is_bin && pattern.period == 3)
    count_pattern<1, true, 3> (pattern, walk, piece, shared, bins);
  else if (pattern.is_bin)
    count_pattern<1, true, 4> (pattern, walk, piece, shared, bins);
  else if (bytes && pattern.period == 3)
    count_pattern<1, false, 3> (pattern, walk, piece, shared, bins);
  else if (bytes)
    count_pattern<1, false, 4> (pattern, walk, piece, shared, bins);
  else if (pattern.period == 3)
    count_pattern<2, false, 3> (pattern, walk, piece, shared, bins);
  else
    count_pattern<2, false, 4> (pattern, walk, piece, shared, bins);
  count_edges (pattern, shared, bins);
}

/* Adds the block's counters to the plan's sums. A thread begins at a bank that is
 * not its neighbours', and goes round. */
__device__ __forceinline__ void
add_up (const LanePattern &pattern, const uint32_t *shared,
    const Counters &counters, int bins)
{
  const int channels = set_channels (pattern.period);
  const int groups = 32 / channels;
  const int n = counter_sets (pattern.period) * channels * bins;

  for (int at = threadIdx.x; at < n; at += THREADS) {
    const bool by_set = channels == 1;
    const int channel = pattern.channel[by_set ? at / bins : at % channels];
    const int bin = by_set ? at % bins : at / channels;
    const uint32_t *word = shared + at / channels * 32 + at % channels;
    uint32_t sum = 0;

    if (channel < 0)
      continue;
    for (int i = 0; i < groups; i++)
      sum += word[(i + at / channels) % groups * channels];
    if (sum > 0)
      atomicAdd (
          &counters.sums[channel * bins + bin], (unsigned long long) sum);
  }
}

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

__global__ void
__launch_bounds__ (THREADS, BLOCKS_AT_ONCE) lane_kernel (LaneFrame frame)
{
  GPU_DYNAMIC_SHARED (uint32_t, block);
  /* From shared memory, where a counter might be as far as the compiler knows, it is
   * read each time that it is needed; from parameters it would be kept, in registers
   * that a block of so many threads has not got. */
  LanePattern &pattern = *(LanePattern *) block;
  uint32_t *shared = block + PATTERN_WORDS;
  const int p = pattern_of_block (frame);
  Piece piece;

  if (threadIdx.x < sizeof pattern / sizeof *block)
    block[threadIdx.x] = ((const uint32_t *) &frame.pattern[p])[threadIdx.x];
  __syncthreads ();
  const Walk walk (pattern);

  /* On its way while the counters are cleared. */
  piece.load (pattern, walk);
  for (int i = threadIdx.x; i < counter_sets (pattern.period) * frame.bins * 8;
       i += THREADS)
    ((uint4 *) shared)[i] = make_uint4 (0, 0, 0, 0);
  __syncthreads ();
  count_block (pattern, walk, piece, shared, frame.bins);
  __syncthreads ();
  add_up (pattern, shared, frame.counters, frame.bins);
  counters_finish (frame.counters, gridDim.x);
}

static size_t
shared_bytes (const HistoPattern *pattern, int n, int bins)
{
  int sets = 1;

  for (int i = 0; i < n; i++)
    sets = max (sets, counter_sets (pattern[i].period));
  return (PATTERN_WORDS + (size_t) sets * (size_t) bins * 32)
      * sizeof (uint32_t);
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
  int at_once;

  if (!counters_prepare_state (plan, sizeof (LaneState), fault))
    return false;
  state = (LaneState *) plan->state;
  state->n_patterns =
      histo_find_patterns (plan->channel, plan->n_channels, state->pattern);
  state->shared_bytes =
      shared_bytes (state->pattern, state->n_patterns, plan->bins);
  if (!counters_load_kernel ((const void *) lane_kernel, THREADS,
          state->shared_bytes, plan->gpu, &at_once, fault))
    return false;
  state->blocks = at_once * gpu_multiprocessors (plan->gpu);
  return true;
}

/* Rows that follow each other without a gap, all channels' samples going on at the
 * same distance, are one. */
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

/* Where in a row the samples of each channel are, and of all. */
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
    /* Up to there the next sample of the pattern would be the first or past the
     * last. */
    pattern->inner_first = max (pattern->inner_first, begin - apart + bytes);
    pattern->inner_last = min (pattern->inner_last, end);
  }
  /* What belongs to no channel may lie outside the rows. */
  pattern->inner_last = min (pattern->inner_last, pattern->last);
}

static LanePattern
describe_pattern (
    const HistoPlan *plan, const HistoPattern *from, const Image *src)
{
  const ImageMemory *memory = &src->memory[from->memory];
  const HistoChannel *channel = &plan->channel[max (from->channel[0], 0)];
  const bool one = is_one_row (plan, from, src);
  LanePattern pattern = LanePattern ();

  pattern.data = memory->data;
  pattern.stride = memory->stride;
  pattern.rows = one ? 1 : memory->height;
  pattern.period = from->period;
  pattern.sample_bytes = from->sample_bytes;
  pattern.shift = from->depth + from->shift;
  pattern.mask = ((1u << from->depth) - 1) << from->shift;
  pattern.is_bin = from->sample_bytes == 1 && from->depth == 8
      && from->shift == 0 && plan->bins == 256;
  for (int k = 0; k < HISTO_MAX_PERIOD; k++)
    pattern.channel[k] = from->channel[k];
  if (from->period > 0) {
    place_samples (plan, from, src, one ? memory->height : 1, &pattern);
    /* One more than the whole vectors of any row. */
    pattern.segments =
        (pattern.inner_last / 16 + SEGMENT_VECTORS) / SEGMENT_VECTORS;
  } else {
    pattern.data += channel->byte_offset;
    pattern.pixel_stride = channel->pixel_stride;
    pattern.width = histo_channel_width (channel, src);
    pattern.segments = (pattern.width - 1) / SEGMENT_SAMPLES + 1;
  }
  return pattern;
}

/* Deals the blocks that run at once out to the patterns by their segments, no more
 * than have one for each warp; returns how many. */
static int
deal_blocks (LaneFrame *frame, int blocks)
{
  int64_t all = 0;
  int dealt = 0;

  for (int i = 0; i < frame->n_patterns; i++)
    all += (int64_t) frame->pattern[i].rows * frame->pattern[i].segments;
  for (int i = 0; i < frame->n_patterns; i++) {
    LanePattern *pattern = &frame->pattern[i];
    const int64_t segments = (int64_t) pattern->rows * pattern->segments;
    const int64_t useful = (segments + WARPS - 1) / WARPS;
    const int64_t share = all > 0 ? segments * blocks / all : 0;

    pattern->first_block = dealt;
    pattern->n_blocks = (int) (share < useful ? share : useful);
    pattern->n_blocks = max (pattern->n_blocks, 1);
    pattern->row_step = pattern->n_blocks * WARPS / pattern->segments;
    pattern->segment_step = pattern->n_blocks * WARPS % pattern->segments;
    dealt += pattern->n_blocks;
  }
  return dealt;
}

static bool
lane_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, Fault *fault)
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
  GPU_CHECK (gpu_launch (lane_kernel, blocks, THREADS, state->shared_bytes,
                 stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

extern "C" const HistoMethodOps histo_lane_ops = {
  0,
  lane_supports,
  lane_cost,
  lane_prepare,
  counters_release,
  lane_run,
};
