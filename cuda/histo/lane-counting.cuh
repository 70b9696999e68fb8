/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane-counting: a block counts the samples of its part of a pattern in shared memory.
 *
 * A kernel that reads as fast as memory delivers is limited by the instructions that it
 * issues per sample. If the number of bins is a power of two, the bin is some bits of the
 * sample, and a sample takes three instructions: rotate these bits of its word to their
 * place in the counter's address; mask them and add the lane's bank; count. The rotation
 * that differs between lanes is part of the first. With the loads of the next vector that
 * makes 3.3 instructions for bytes in one row, and 4.1 where rows have padding (compute
 * capability 9.0).
 *
 * Whole vectors are read at 16-byte aligned addresses wherever rows start. Threads go on from
 * row to row, so that no lane of a warp is idle at a row's end; the few samples before and
 * after a row's vectors are read one by one. */
#pragma once

#include "lane.cuh"

/* Blocks of THREADS threads of overlapped runs that a multiprocessor with room for 2048
 * threads holds. GPUs with less room, or whose runs cannot overlap, gain nothing from two. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1100)
#define BLOCKS_AT_ONCE 1
#else
#define BLOCKS_AT_ONCE 2
#endif
/* Vectors of each thread that are prefetched to the L2 while the kernel before this one ends:
 * in that microsecond or two, memory is idle otherwise. */
#define PREFETCHED 4

/* The offset, in bytes, of this lane's counter for the pattern's sample k from the bin's first
 * counter. */
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

/* The range of a row that is read in whole vectors: positions of the first vector, and of the
 * end of the last. */
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

/* A thread's number among the threads of its pattern. Successive warps belong to different
 * blocks, so that the last few units are spread over many multiprocessors. */
__device__ __forceinline__ uint32_t
thread_of_pattern (const LanePattern &pattern)
{
  const uint32_t warp = threadIdx.x / 32 * (uint32_t) pattern.n_blocks
      + (blockIdx.x - (uint32_t) pattern.first_block);

  return warp * 32 + threadIdx.x % 32;
}

/* A thread's position among the units of a pattern. */
struct Walk
{
  uint32_t row, unit; /* `unit`: index in that row */
  uint32_t left;      /* units still to be loaded, including this one */

  __device__ __forceinline__
  Walk (const LanePattern &pattern)
  {
    const uint32_t thread = thread_of_pattern (pattern);

    /* At most 1 too low. */
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

/* A vector in flight to a thread, or loaded. */
struct Piece
{
  uint4 vector;
  uint32_t unit;  /* in its row */
  uint32_t below; /* bytes of the row's first vector before the row's anchor */

  __device__ __forceinline__ void
  load (const LanePattern &pattern, const Walk &walk)
  {
    const uintptr_t anchor = (uintptr_t) walk.anchor (pattern);

    vector = gpu_load (walk.vector (pattern));
    below = (uint32_t) (anchor % 16);
    unit = walk.unit;
  }
};

/* Constants that depend on a run's order. With GPU_AFTER_KERNELS a block has a multiprocessor
 * to itself. With GPU_BESIDE_KERNELS it has half of it: while one run ends, the next already
 * reads. */
template <GpuOrder ORDER> struct Share
{
  static constexpr int OF_BLOCKS =
      ORDER == GPU_BESIDE_KERNELS ? BLOCKS_AT_ONCE : 1;
  /* Vectors that a thread has in flight while it counts another; as many as its registers
   * allow. */
  static constexpr int AHEAD = OF_BLOCKS > 1 ? 1 : 2;
};

/* A thread's next pieces, in flight while it counts. */
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

  /* Drops the first piece and appends another. */
  __device__ __forceinline__ void
  move_up (const Piece &last)
  {
#pragma unroll
    for (int i = 0; i + 1 < AHEAD; i++)
      piece[i] = piece[i + 1];
    piece[AHEAD - 1] = last;
  }
};

/* Maps samples to bins, and bins to counters. Period: 3, or 4 for periods 1, 2 and 4: shorter
 * patterns are repeated. */
template <int AHEAD, int SampleBytes, bool IsBits, int Period> struct Counting
{
  /* Unrolled so often that no piece need be moved. */
  static constexpr int UNROLLED = IsBits ? AHEAD + 1 : 1;

  uint32_t *counters;
  uint32_t mask, bins;
  int shift;
  uint32_t rotation; /* of all words, bits */
  /* Further rotation of the words of the current vector, in bits (of pairs of words for
   * samples of 2 bytes), so that each lane begins with its own sample of the pattern. */
  uint32_t turn;
  uint32_t anchor; /* position of a row's anchor, bytes */
  /* `turn` where a row's first vector begins at the anchor */
  uint32_t turn_at_anchor;
  /* counter_offset() of each sample, from the lane's first on */
  uint32_t offset[Period];

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

  /* To be called for each vector before it is counted, or only for the first if all begin
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

  /* Counts the sample in the low bits of a word; IsBits: its bin's bits are where the mask
   * is. */
  __device__ __forceinline__ void
  count (uint32_t word, int k)
  {
    const uint32_t at = offset[k % Period];

    if (IsBits)
      count_at (counters, (word & mask) | at);
    else
      count_at (counters, (((word & mask) * bins >> shift) << BIN_SHIFT) + at);
  }

  /* Counts the samples of a word; its first is number k from the lane's first. */
  __device__ __forceinline__ void
  count_word (uint32_t word, int k)
  {
    const uint32_t turned = __funnelshift_r (word, word, rotation + turn);

#pragma unroll
    for (int i = 0; i < 4 / SampleBytes; i++)
      count (__funnelshift_r (turned, turned, 8 * SampleBytes * i), k + i);
  }

  /* Counts four samples of 2 bytes, each lane beginning with its own. */
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

/* Counts one sample at any address. */
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

/* Counts a row's samples before and after its whole vectors, by one warp; skips samples that
 * are not between their channel's first and last pixel. */
__device__ __forceinline__ void
count_edges_of_row (
    const LanePattern &pattern, int y, uint32_t *shared, int bins)
{
  const uint8_t *row = pattern.data + y * pattern.stride;
  const int bytes = pattern.sample_bytes;
  const Vectors vectors (pattern, row);
  /* The vectors may begin before the first sample. */
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

/* Counts the edges of all rows. Rows are assigned from the last warp on: for small pictures,
 * the last warps have no vectors to count. */
__device__ __forceinline__ void
count_edges (const LanePattern &pattern, uint32_t *shared, int bins)
{
  const int warps = pattern.n_blocks * (THREADS / 32);
  const int warp = (int) (thread_of_pattern (pattern) / 32);

  for (int y = warps - 1 - warp; y < pattern.rows; y += warps)
    count_edges_of_row (pattern, y, shared, bins);
}

/* Counts one channel whose rows have no pattern, sample by sample. */
__device__ __forceinline__ void
count_samples (
    const LanePattern &pattern, Walk walk, uint32_t *shared, int bins)
{
  for (; walk.left > 0; walk.next<false> (pattern))
    count_sample (pattern,
        walk.anchor (pattern) + (ptrdiff_t) walk.unit * pattern.pixel_stride, 0,
        shared, bins);
}

/* Counts a block's units; all its threads take the same branches. */
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
