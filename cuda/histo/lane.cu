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
 * each by turning its own vector first. So RGBA at 256 bins takes 32 KiB a block, to
 * clear and to add up, and not 128. Turns of three would leave lanes of different phase
 * in one bank: a pattern of 3 has three sets of counters, 96 KiB. Counters of 16 bits
 * would halve that, but the sum would have to be watched.
 *
 * What limits a kernel that reads as fast as memory delivers is how many
 * instructions it issues for each sample. With a power of two bins, the bin is some
 * bits of the sample, and a sample takes three: turn those bits of its word to where
 * the counter's address has them, mask them and join the lane's bank, count. The turn
 * between lanes is the same rotation. With what reads the next vector that makes 3.3
 * for bytes in one row, and 4.1 where rows have padding (compute capability 9.0).
 *
 * Blocks are dealt out to the patterns of a frame by the work that each is. Whole
 * vectors are read at 16-byte addresses wherever rows start, one after the other
 * without regard to where rows end, so that none of a warp's lanes is idle there; the
 * few samples before and after them one by one. */
#include "counters.cuh"
#include "pattern.h"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"

/* Of the one block that a multiprocessor has of a run, so that there is one set of
 * counters to clear and to add up. */
#define THREADS 1024
/* Such blocks that a multiprocessor with room for 2048 threads holds. Those that have
 * less, or whose runs cannot overlap, have no use for two. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1100)
#define BLOCKS_AT_ONCE 1
#else
#define BLOCKS_AT_ONCE 2
#endif
/* Vectors of each thread that are brought to the L2 while the kernel before this one
 * ends: in the microsecond or two of that, memory has nothing else to do. */
#define PREFETCHED 4
/* Lanes that add up the counters of one bin; what a lane adds is of one channel. */
#define ADDERS 4
static_assert (HISTO_MAX_PERIOD <= ADDERS && 32 % ADDERS == 0,
    "a bin's adders are of one warp, and all channels have one");
/* Bins that a lane has on their way to the plan's sums at once. */
#define BATCH 3
/* How much more than a sample on its own a vector takes, and how many vectors as much
 * as the edges of a row: guesses, for blocks to be dealt out by. */
#define SAMPLES_AS_VECTOR 4
#define VECTORS_AS_EDGES 32

struct LaneState : CountersState
{
  int n_patterns;
  HistoPattern pattern[HISTO_MAX_CHANNELS];
  size_t shared_bytes;
  int blocks; /* of a run */
};

/* A pattern in the source of a run. Positions are bytes from a row's start.
 *
 * The pattern's threads take its units in turn, row by row: whole vectors, or samples
 * where rows have no pattern. */
struct LanePattern
{
  const uint8_t *data;
  ptrdiff_t stride;
  int rows;
  /* A byte in the first unit of row 0: for vectors the 16th from inner_first on, as
   * the one at the 16-byte address at or below it is the row's first whole vector. */
  const uint8_t *anchor;
  int first_block, n_blocks;
  uint32_t units;               /* that every row has */
  uint32_t reciprocal;          /* UINT32_MAX / units */
  uint32_t row_step, unit_step; /* from a thread's unit to its next */
  /* Every thread has `rounds` units, and the first `rest` threads one more. */
  uint32_t rounds, rest;
  /* All vectors of a thread begin with the same sample of the pattern; that, and
   * there is one row. */
  bool is_in_phase, is_steady;
  int channel[HISTO_MAX_PERIOD]; /* as in HistoPattern */
  int period, sample_bytes;
  /* For the lanes that add up a bin, 4 bits each: bit 0, it is the last of those that
   * add for one channel; bit i, the lane i below is another of them. */
  uint32_t joins;
  int first, last; /* all samples lie in [first, last) */
  /* All that lies in [inner_first, inner_last) and belongs to a channel is a sample
   * of it. */
  int inner_first, inner_last;
  int begin[HISTO_MAX_PERIOD]; /* first sample of channel[k] */
  int end[HISTO_MAX_PERIOD];   /* where its sample after the last would be */
  bool edges; /* there may be samples outside the whole vectors */
  uint32_t mask;
  int shift; /* depth and shift */
  /* The bins are a power of two: a word turned right by `rotation` has the bits of
   * its first sample that are the bin where `address_mask` is, the bin's bits in the
   * address of its counters. */
  bool is_bits;
  uint32_t rotation, address_mask;
  int pixel_stride; /* of rows without a pattern */
};

struct LaneFrame
{
  Counters counters;
  int bins;
  int n_patterns;
  LanePattern pattern[HISTO_MAX_CHANNELS];
};
static_assert (sizeof (LaneFrame) <= 4096, "a kernel can have it as parameter");

/* All of a block takes one pattern, which is read where parameters are, in constant
 * memory: in registers that are the warp's, since threads have few to spare. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define LANE_PARAMETER const __grid_constant__
#else
#define LANE_PARAMETER const
#endif

/* Sets of 32 counters a bin: period 3 has one a channel. */
static __host__ __device__ __forceinline__ int
counter_sets (int period)
{
  return period == 3 ? 3 : 1;
}

/* The channels that share a set: period 3, and what has no pattern, one. */
static __host__ __device__ __forceinline__ int
set_channels (int period)
{
  return period == 2 || period == 4 ? period : 1;
}

/* Where the counters of the pattern's sample k are for this lane: their address is
 * that of the bin's 32 counters and so many bytes. */
__device__ __forceinline__ uint32_t
counter_offset (int period, int k, int bins)
{
  const int lane = (int) (threadIdx.x % 32);
  const int turn = set_channels (period) - 1;

  return sizeof (uint32_t)
      * (period == 3 ? k * bins * 32 + lane : (lane & ~turn) | (k & turn));
}

/* A bin's counters take 1 << BIN_SHIFT bytes. */
#define BIN_SHIFT 7
static_assert (32 * sizeof (uint32_t) == 1 << BIN_SHIFT, "one counter a bank");

__device__ __forceinline__ void
count_at (uint32_t *counters, uint32_t address)
{
  atomicAdd ((uint32_t *) ((char *) counters + address), 1u);
}

/* Position of the first address from `from` on that vectors lie at. */
static __host__ __device__ __forceinline__ int
first_vector (int from, const uint8_t *row)
{
  const int before = (int) ((uintptr_t) row % 16);

  return ((from + before + 15) & ~15) - before;
}

/* The whole vectors of a row that are taken as such: positions of the first, and past
 * the last. */
struct Vectors
{
  int first, last;

  __device__ __forceinline__
  Vectors (const LanePattern &pattern, const uint8_t *row)
  {
    first = first_vector (pattern.inner_first, row);
    last = first + 16 * (int) pattern.units;
  }
};

/* A thread's number among those of its pattern: warps next to each other are
 * different blocks', so that the last few units are many multiprocessors' work. */
__device__ __forceinline__ uint32_t
thread_of_pattern (const LanePattern &pattern)
{
  const uint32_t warp = threadIdx.x / 32 * (uint32_t) pattern.n_blocks
      + (blockIdx.x - (uint32_t) pattern.first_block);

  return warp * 32 + threadIdx.x % 32;
}

/* A thread's way through the units of a pattern. */
struct Walk
{
  uint32_t row, unit; /* in that row */
  uint32_t left;      /* units still to be asked for, with this one */

  __device__ __forceinline__
  Walk (const LanePattern &pattern)
  {
    const uint32_t thread = thread_of_pattern (pattern);

    /* No more than 1 too few. */
    row = (uint32_t) ((uint64_t) thread * pattern.reciprocal >> 32);
    unit = thread - row * pattern.units;
    if (unit >= pattern.units) {
      unit -= pattern.units;
      row++;
    }
    left = pattern.rounds + (thread < pattern.rest ? 1 : 0);
  }

  template <bool Steady>
  __device__ __forceinline__ void
  next (const LanePattern &pattern)
  {
    unit += pattern.unit_step;
    if (!Steady) {
      row += pattern.row_step;
      if (unit >= pattern.units) {
        unit -= pattern.units;
        row++;
      }
    }
    left--;
  }

  __device__ __forceinline__ const uint8_t *
  anchor (const LanePattern &pattern) const
  {
    return pattern.anchor + (int64_t) row * pattern.stride;
  }

  __device__ __forceinline__ const uint4 *
  vector (const LanePattern &pattern) const
  {
    const uintptr_t first = (uintptr_t) anchor (pattern) & ~(uintptr_t) 15;

    return (const uint4 *) first + unit;
  }
};

/* A vector on its way to a thread, or in it. */
struct Piece
{
  uint4 vector;
  uint32_t unit;  /* in its row */
  uint32_t below; /* what the row's first vector has before the row's anchor */

  __device__ __forceinline__ void
  load (const LanePattern &pattern, const Walk &walk)
  {
    const uintptr_t anchor = (uintptr_t) walk.anchor (pattern);

    vector = gpu_load (walk.vector (pattern));
    below = (uint32_t) (anchor % 16);
    unit = walk.unit;
  }
};

/* What of a run's way depends on its order. After other kernels a block has a
 * multiprocessor for itself. Beside them it has half: while one run ends, the other reads
 * on. */
template <GpuOrder ORDER> struct Share
{
  static constexpr int OF_BLOCKS =
      ORDER == GPU_BESIDE_KERNELS ? BLOCKS_AT_ONCE : 1;
  /* Vectors on their way to a thread while it counts another, for which it has the
   * registers. */
  static constexpr int AHEAD = OF_BLOCKS > 1 ? 1 : 2;
};

/* A thread's next pieces, which come while it counts. */
template <int AHEAD> struct Pieces
{
  Walk walk; /* to the unit after them */
  Piece piece[AHEAD];
  uint32_t n;

  __device__ __forceinline__
  Pieces (const LanePattern &pattern) : walk (pattern), n (0)
  {
  }

  __device__ __forceinline__ void
  prefetch (const LanePattern &pattern) const
  {
    Walk way = walk;

#pragma unroll
    for (int i = 0; i < PREFETCHED; i++) {
      if (way.left == 0)
        break;
      if ((uintptr_t) way.vector (pattern) % GPU_PREFETCH_BYTES == 0
          || threadIdx.x % 32 == 0)
        gpu_prefetch (way.vector (pattern));
      way.next<false> (pattern);
    }
  }

  __device__ __forceinline__ void
  load (const LanePattern &pattern)
  {
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
      if (walk.left > 0) {
        piece[i].load (pattern, walk);
        walk.next<false> (pattern);
        n++;
      }
  }

  /* The first makes room for one more. */
  __device__ __forceinline__ void
  move_up (const Piece &last)
  {
#pragma unroll
    for (int i = 0; i + 1 < AHEAD; i++)
      piece[i] = piece[i + 1];
    piece[AHEAD - 1] = last;
  }
};

/* How samples become bins, and where those are. Period: 3, or 4 for all that divide
 * it; a narrower pattern is the same thing repeated. */
template <int AHEAD, int SampleBytes, bool IsBits, int Period> struct Counting
{
  /* So often that no piece need be moved. */
  static constexpr int UNROLLED = IsBits ? AHEAD + 1 : 1;

  uint32_t *counters;
  uint32_t mask, bins;
  int shift;
  uint32_t rotation; /* of all words */
  /* Of the vector that is counted: by what to turn its words (pairs of words for
   * samples of 2 bytes), for the lane to begin with the sample that is its turn. */
  uint32_t turn;
  uint32_t anchor;         /* position */
  uint32_t turn_at_anchor; /* where a row's first vector begins at its anchor */
  uint32_t offset[Period]; /* of each sample from there on */

  __device__ __forceinline__
  Counting (const LanePattern &pattern, uint32_t *shared, int n_bins)
      : counters (shared), mask (IsBits ? pattern.address_mask : pattern.mask),
        bins (n_bins), shift (pattern.shift),
        rotation (IsBits ? pattern.rotation : 0), turn (0)
  {
    anchor = (uint32_t) pattern.inner_first + 15;
    turn_at_anchor = 8 * SampleBytes * (threadIdx.x % 32) - 8 * anchor;
    if (Period == 4)
      for (int k = 0; k < Period; k++)
        offset[k] = counter_offset (
            pattern.period, (int) (threadIdx.x % 32) + k, (int) bins);
  }

  /* To be told of each vector before it is counted, or of the first where all begin
   * with the same sample of the pattern. */
  __device__ __forceinline__ void
  begin (const Piece &piece)
  {
    if (Period == 3) {
      const uint32_t position = anchor - piece.below + 16 * piece.unit;
      const int k = (int) (position / SampleBytes % 3);

#pragma unroll
      for (int i = 0; i < Period; i++)
        offset[i] =
            counter_offset (3, k + i < 3 ? k + i : k + i - 3, (int) bins);
    } else {
      /* All of a row's vectors begin with the same sample of the pattern. */
      turn = turn_at_anchor + 8 * piece.below;
    }
  }

  /* A sample at the bottom of a word; or its bin's bits where the mask is. */
  __device__ __forceinline__ void
  count (uint32_t word, int k)
  {
    const uint32_t at = offset[k % Period];

    if (IsBits)
      count_at (counters, (word & mask) | at);
    else
      count_at (counters, (((word & mask) * bins >> shift) << BIN_SHIFT) + at);
  }

  /* The samples of a word from one that is k after the lane's first. */
  __device__ __forceinline__ void
  count_word (uint32_t word, int k)
  {
    const uint32_t turned = __funnelshift_r (word, word, rotation + turn);

#pragma unroll
    for (int i = 0; i < 4 / SampleBytes; i++)
      count (__funnelshift_r (turned, turned, 8 * SampleBytes * i), k + i);
  }

  /* Four samples of 2 bytes, each lane from its own on. */
  __device__ __forceinline__ void
  count_pair (uint32_t low, uint32_t high)
  {
    const bool from_high = turn & 32, from_odd = turn & 16;
    const uint32_t first = from_high ? high : low;
    const uint32_t second = from_high ? low : high;
    const uint32_t by = rotation + turn;

    count (__funnelshift_r (first, first, by), 0);
    count (from_odd ? __funnelshift_r (second, second, by + 16)
                    : __funnelshift_r (first, first, by + 16),
        1);
    count (__funnelshift_r (second, second, by), 2);
    count (from_odd ? __funnelshift_r (first, first, by + 16)
                    : __funnelshift_r (second, second, by + 16),
        3);
  }

  __device__ __forceinline__ void
  count_piece (const Piece &piece)
  {
    const uint4 &vector = piece.vector;

    if (Period == 4 && SampleBytes == 2) {
      count_pair (vector.x, vector.y);
      count_pair (vector.z, vector.w);
    } else {
      count_word (vector.x, 0);
      count_word (vector.y, 4 / SampleBytes);
      count_word (vector.z, 8 / SampleBytes);
      count_word (vector.w, 12 / SampleBytes);
    }
  }

  template <bool Steady>
  __device__ __forceinline__ void
  count_pieces (const LanePattern &pattern, Pieces<AHEAD> &pieces)
  {
    Walk walk = pieces.walk;
    const bool begins_anew = !Steady && (Period != 3 || !pattern.is_in_phase);

    if (pieces.n == 0)
      return;
    begin (pieces.piece[0]);
#pragma unroll(UNROLLED)
    while (walk.left > 0) {
      Piece last;

      last.load (pattern, walk);
      walk.next<Steady> (pattern);
      count_piece (pieces.piece[0]);
      pieces.move_up (last);
      if (begins_anew)
        begin (pieces.piece[0]);
    }
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      if (i == (int) pieces.n)
        break;
      if (i > 0 && begins_anew)
        begin (pieces.piece[i]);
      count_piece (pieces.piece[i]);
    }
  }
};

template <int SampleBytes, bool IsBits, int Period, int AHEAD>
__device__ __forceinline__ void
count_pattern (const LanePattern &pattern, Pieces<AHEAD> &pieces,
    uint32_t *shared, int bins)
{
  Counting<AHEAD, SampleBytes, IsBits, Period> counting (pattern, shared, bins);

  if (IsBits && pattern.is_steady)
    counting.template count_pieces<true> (pattern, pieces);
  else
    counting.template count_pieces<false> (pattern, pieces);
}

template <int SampleBytes, bool IsBits, int AHEAD>
__device__ __forceinline__ void
count_vectors (const LanePattern &pattern, Pieces<AHEAD> &pieces,
    uint32_t *shared, int bins)
{
  if (pattern.period == 3)
    count_pattern<SampleBytes, IsBits, 3> (pattern, pieces, shared, bins);
  else
    count_pattern<SampleBytes, IsBits, 4> (pattern, pieces, shared, bins);
}

/* One sample, anywhere. */
__device__ __forceinline__ void
count_sample (const LanePattern &pattern, const uint8_t *sample, int k,
    uint32_t *shared, int bins)
{
  const uint32_t raw =
      pattern.sample_bytes == 1 ? *sample : *(const uint16_t *) sample;
  const uint32_t bin = (raw & pattern.mask) * (uint32_t) bins >> pattern.shift;

  count_at (
      shared, (bin << BIN_SHIFT) + counter_offset (pattern.period, k, bins));
}

/* What is before and after the whole vectors of a row, by one warp; samples that are
 * not between their channel's first and last pixel left out. */
__device__ __forceinline__ void
count_edges_of_row (
    const LanePattern &pattern, int y, uint32_t *shared, int bins)
{
  const uint8_t *row = pattern.data + y * pattern.stride;
  const int bytes = pattern.sample_bytes;
  const Vectors vectors (pattern, row);
  /* They may begin before the first sample. */
  const int before = max (vectors.first - pattern.first, 0);
  const int all = before + (pattern.last - vectors.last);

#pragma unroll 1
  for (int i = (int) threadIdx.x % 32 * bytes; i < all; i += 32 * bytes) {
    const int at = i < before ? pattern.first + i : vectors.last + (i - before);
    const int sample = at / bytes;
    const int k =
        pattern.period == 3 ? sample % 3 : sample & (pattern.period - 1);

    if (pattern.channel[k] >= 0 && at >= pattern.begin[k]
        && at < pattern.end[k])
      count_sample (pattern, row + at, k, shared, bins);
  }
}

/* Rows are dealt out from the last warp on: of small pictures, the last ones have no
 * vectors to count first. */
__device__ __forceinline__ void
count_edges (const LanePattern &pattern, uint32_t *shared, int bins)
{
  const int warps = pattern.n_blocks * (THREADS / 32);
  const int warp = (int) (thread_of_pattern (pattern) / 32);

  for (int y = warps - 1 - warp; y < pattern.rows; y += warps)
    count_edges_of_row (pattern, y, shared, bins);
}

/* One channel whose rows have no pattern, sample by sample. */
__device__ __forceinline__ void
count_samples (
    const LanePattern &pattern, Walk walk, uint32_t *shared, int bins)
{
  for (; walk.left > 0; walk.next<false> (pattern))
    count_sample (pattern,
        walk.anchor (pattern) + (ptrdiff_t) walk.unit * pattern.pixel_stride, 0,
        shared, bins);
}

/* All threads of a block take the same way. */
template <int AHEAD>
__device__ __forceinline__ void
count_block (const LanePattern &pattern, Pieces<AHEAD> &pieces,
    uint32_t *shared, int bins)
{
  if (pattern.period == 0) {
    count_samples (pattern, pieces.walk, shared, bins);
    return;
  }
  if (pattern.sample_bytes == 1 && pattern.is_bits)
    count_vectors<1, true> (pattern, pieces, shared, bins);
  else if (pattern.sample_bytes == 1)
    count_vectors<1, false> (pattern, pieces, shared, bins);
  else if (pattern.is_bits)
    count_vectors<2, true> (pattern, pieces, shared, bins);
  else
    count_vectors<2, false> (pattern, pieces, shared, bins);
  if (pattern.edges)
    count_edges (pattern, shared, bins);
}

/* What of a bin's counters this lane adds up: those of one channel of the pattern, or
 * a part of them, which neighbours complete. */
struct Adder
{
  uint32_t first; /* counter; the others are multiples of ADDERS further */
  uint32_t joins; /* this lane's, as the pattern has them */

  __device__ __forceinline__
  Adder (const LanePattern &pattern)
      : first (threadIdx.x % ADDERS), joins (pattern.joins >> 4 * first)
  {
  }

  /* Of the bin whose 32 counters are number `at`; for the last lane only. A lane
   * takes its words in an order that is not its neighbours', so that they are at
   * different banks. All lanes of the warp call it. */
  __device__ __forceinline__ uint32_t
  add (const uint32_t *counters, uint32_t at, bool is_bin) const
  {
    const uint32_t words = 32 / ADDERS;
    const uint32_t word = at * 32 + at % words * ADDERS + first;
    uint32_t mine = 0, sum;

    if (is_bin)
#pragma unroll
      for (uint32_t i = 0; i < words; i++)
        mine += counters[word ^ i * ADDERS];
    sum = mine;
#pragma unroll
    for (int i = 1; i < ADDERS; i++) {
      const uint32_t other = __shfl_up_sync (0xffffffffu, mine, i);

      sum += joins >> i & 1 ? other : 0;
    }
    return sum;
  }
};

/* The plan's counter that the bin `at` of all sets adds to, or -1. */
__device__ __forceinline__ int
counter_of (const LanePattern &pattern, const Adder &adder, int at, int bins)
{
  const int set = pattern.period == 3 ? (at >= bins) + (at >= 2 * bins) : 0;
  const int k = pattern.period == 3
      ? set
      : (int) adder.first & (set_channels (pattern.period) - 1);

  return (adder.joins & 1) != 0 && pattern.channel[k] >= 0
      ? pattern.channel[k] * bins + at - set * bins
      : -1;
}

/* Adds the counters of N times THREADS / ADDERS bins, from one on, to the plan's sums. */
template <int N>
__device__ __forceinline__ void
add_bins (const LanePattern &pattern, const Adder &adder,
    const uint32_t *shared, const Counters &counters, int bins, int first)
{
  const int n = counter_sets (pattern.period) * bins;
  const int step = THREADS / ADDERS;
  int counter[N];
  unsigned long long sum[N];

#pragma unroll
  for (int i = 0; i < N; i++) {
    const int at = first + i * step + (int) (threadIdx.x / ADDERS);

    sum[i] = first + i * step < n ? adder.add (shared, at, at < n) : 0;
    counter[i] = at < n ? counter_of (pattern, adder, at, bins) : -1;
  }
  counters_add (counters, counter, sum,
      blockIdx.x - (unsigned) pattern.first_block, (unsigned) pattern.n_blocks);
}

/* Adds the block's counters to the plan's sums. All warps do all of it: what need not
 * be done is worth a branch. */
__device__ __forceinline__ void
add_up (const LanePattern &pattern, const uint32_t *shared,
    const Counters &counters, int bins)
{
  const Adder adder (pattern);
  const int n = counter_sets (pattern.period) * bins;
  const int step = THREADS / ADDERS;

  if (n <= step)
    add_bins<1> (pattern, adder, shared, counters, bins, 0);
  else
    for (int first = 0; first < n; first += BATCH * step)
      add_bins<BATCH> (pattern, adder, shared, counters, bins, first);
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

template <GpuOrder ORDER>
static __global__ void
__launch_bounds__ (THREADS, Share<ORDER>::OF_BLOCKS)
    lane_kernel (LANE_PARAMETER LaneFrame frame)
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
  /* In order, not before: what the next kernel brought to the L2 would hold up this
   * one. */
  gpu_admit_next ();
  /* The sums may be those of a run before. */
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

/* Whether bins are bits of a sample, and how those get to the address. */
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

/* The vectors that every row has, and whether samples are left beside them. */
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
    /* As many as at the worst alignment. */
    pattern->units = (uint32_t) max (inside - 15, 0) / 16;
    pattern->edges = true;
  }
}

/* See LanePattern. */
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

/* The work that a pattern is, in vectors. */
static int64_t
pattern_work (const LanePattern *pattern)
{
  const int64_t rows = pattern->rows, units = pattern->units;

  if (pattern->period == 0)
    return rows * units / SAMPLES_AS_VECTOR;
  return rows * (units + (pattern->edges ? VECTORS_AS_EDGES : 0));
}

/* Deals a pattern's units out to the threads of its blocks. */
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

/* Deals the blocks that run at once out to the patterns by their work, no more than
 * have a vector for each thread; returns how many. */
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
    /* A multiple of 3 vectors between a thread's: those are in phase. */
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
  0,
  lane_supports,
  lane_cost,
  lane_prepare,
  counters_release,
  lane_run,
  true,
};
