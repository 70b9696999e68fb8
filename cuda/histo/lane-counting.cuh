/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane-counting: a block counts the samples of its part of a pattern in shared memory.
 *
 * What limits a kernel that reads as fast as memory delivers is how many
 * instructions it issues for each sample. With a power of two bins, the bin is some
 * bits of the sample, and a sample takes three: turn those bits of its word to where
 * the counter's address has them, mask them and join the lane's bank, count. The turn
 * between lanes is the same rotation. With what reads the next vector that makes 3.3
 * for bytes in one row, and 4.1 where rows have padding (compute capability 9.0).
 *
 * Whole vectors are read at 16-byte addresses wherever rows start, one after the other
 * without regard to where rows end, so that none of a warp's lanes is idle there; the
 * few samples before and after them one by one. */
#pragma once

#include "lane.cuh"

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

__device__ __forceinline__ void
count_at (uint32_t *counters, uint32_t address)
{
  atomicAdd ((uint32_t *) ((char *) counters + address), 1u);
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
