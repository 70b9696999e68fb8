/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-filter-bytes: the kernel of the method multirate that sums the fitted taps of planes of
 * bytes over the small picture, along both axes, on tensor cores.
 *
 * A warp has TENSOR_STEP columns of sums and marches down, TENSOR_STEP low rows at a time:
 *
 *   along_x [16 x][8 rows] = tap_x [16 x][window] * low [window][8 rows]
 *   sum [16 y][8 x] = tap_y [16 y][rows] * along_x [rows][8 x]
 *
 * The matrices of taps are those of tensor.cuh. Low samples, taps and the sums along x are FP16
 * hi/lo splits: an upper and a lower half, whose sum is almost as exact as a float. All products
 * are added except those of two lower halves. Taps are multiplied by a power of two, so that lower
 * halves keep their bits.
 *
 * The warps of a block are neighbours along x, and load their low rows together: these are floats
 * in global memory, in one or two parts, and FP16 hi/lo splits in shared memory. The results of the
 * first product are in the layout of the second one's right factor, lane by lane. The sums along x
 * of the last STEPS times TENSOR_STEP low rows stay in registers. */
#pragma once

#include "multirate-bytes.cuh"
#include "multirate-filter.cuh"

#define MULTIRATE_PAIRS_WARPS 4
#define MULTIRATE_PAIRS_THREADS (MULTIRATE_PAIRS_WARPS * MULTIRATE_WARP)
#define MULTIRATE_PAIRS_COLUMNS (MULTIRATE_PAIRS_WARPS * TENSOR_STEP)
/* Threads that load a low row, four columns at a time. */
#define MULTIRATE_PAIRS_ROW_THREADS (MULTIRATE_PAIRS_THREADS / TENSOR_STEP)
/* Blocks that a multiprocessor runs at once. */
#define MULTIRATE_PAIRS_AT_ONCE 3
/* The most rows of a block. */
#define MULTIRATE_PAIRS_MOST_ROWS 144

/* Taps are scaled by a power of two so that sum |tap| is from 8 to 16. Samples are up to 128 away
 * from the center, so their sums stay below 2048, which FP16 holds. filter_loss() relies on this
 * when it counts one unit for 16 taps. */
#define MULTIRATE_PAIRS_NORM 8

/* The power of two that an axis's taps are multiplied by. */
static inline int
multirate_tap_shift (const MultirateAxis *axis)
{
  double norm = 0.0;

  for (int j = 0; j < axis->n; j++)
    norm += fabs ((double) axis->tap[j]);
  return norm > 0.0 ? ilogb (MULTIRATE_PAIRS_NORM) - ilogb (norm) : 0;
}

/* Zeros before the first tap, with which windows begin at multiples of four columns. */
static inline int
multirate_tap_skew (const MultirateAxis *x, SepconvBorder border)
{
  return (x->first - 1 - multirate_distinct_lows (x, 1, border).first) & 3;
}

/* The steps of the windows of both axes, as many as the longer axis needs; 0 if this kernel has no
 * room for so many. */
static inline int
multirate_pair_steps (const MultiratePlane *axes, SepconvBorder border)
{
  const int x =
      tensor_steps_of_taps (axes->x.n + multirate_tap_skew (&axes->x, border));
  const int y = tensor_steps_of_taps (axes->y.n);
  const int steps = max (MULTIRATE_LEAST_STEPS, max (x, y));

  return steps <= MULTIRATE_MOST_STEPS ? steps : 0;
}

static inline void
multirate_write_pairs (const MultirateAxis *axis, int skew,
    uint4 to[MULTIRATE_MOST_STEPS][2][MULTIRATE_WARP])
{
  const int shift = multirate_tap_shift (axis);
  int neighbour[TENSOR_STEP];
  Taps taps;

  taps.n = axis->n;
  for (int j = 0; j < axis->n; j++)
    taps.tap[j] = ldexp ((double) axis->tap[j], shift);
  for (int i = 0; i < TENSOR_STEP; i++)
    neighbour[i] = i;
  tensor_write_fragments (
      &taps, -skew, MULTIRATE_MOST_STEPS, 2, neighbour, neighbour, to[0][0]);
}

static_assert (TENSOR_STEP * MULTIRATE_MOST_STEPS - (TENSOR_STEP - 1)
            == MULTIRATE_MOST_TENSOR_TAPS
        && MULTIRATE_PAIRS_MOST_ROWS % TENSOR_STEP == 0
        && MULTIRATE_PAIRS_THREADS % TENSOR_STEP == 0,
    "Windows have whole steps, and tiles whole turns.");

template <int STEPS> struct MultiratePairsMemory
{
  /* Low columns under a block's sums. */
  static constexpr int window =
      MULTIRATE_PAIRS_COLUMNS + TENSOR_STEP * (STEPS - 1);
  static constexpr int chunks = window / 4;
  /* Chunks of a thread. */
  static constexpr int loads =
      (chunks + MULTIRATE_PAIRS_ROW_THREADS - 1) / MULTIRATE_PAIRS_ROW_THREADS;
  /* Bytes from one row to the next one: rows lie in different banks. */
  static constexpr int pitch = 2 * window + 16;
  static constexpr int most_rows =
      MULTIRATE_PAIRS_MOST_ROWS + TENSOR_STEP * (STEPS - 1);

  /* [turn % 2][upper or lower halves][row] */
  alignas (16) uint8_t half[2][2][TENSOR_STEP][pitch];
  const float *first[most_rows]; /* part of each row */
  int parts[most_rows];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* The FP16 hi/lo split of two neighbouring floats. */
struct MultiratePairs
{
  uint32_t upper, lower;
};

__device__ __forceinline__ MultiratePairs
multirate_pairs_of (float first, float second)
{
  MultiratePairs pairs;

  pairs.upper = pack_halves (first, second);
  pairs.lower = rest_of_halves (pairs.upper, first, second);
  return pairs;
}

/* Loads four neighbouring columns of a part of a low row. Columns before the first one equal the
 * first one, columns behind the last one the last one. */
__device__ __forceinline__ float4
multirate_load_lows (const MultiratePart &plane, const float *row, int column)
{
  const int last = plane.low_columns - 1;

  if (column >= 0 && column + 3 <= last)
    return gpu_load ((const float4 *) (row + column));
  return make_float4 (gpu_load (row + min (max (column, 0), last)),
      gpu_load (row + min (max (column + 1, 0), last)),
      gpu_load (row + min (max (column + 2, 0), last)),
      gpu_load (row + min (max (column + 3, 0), last)));
}

__device__ __forceinline__ float4
multirate_add_lows (const float4 &a, const float4 &b)
{
  return make_float4 (a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* A thread's chunks of a row of the block, four columns each, as they come from memory. A row whose
 * window reaches into the next strip has a second part. No row has a third part, as all strips but
 * the last one have MULTIRATE_REACH - 1 cells or more. */
template <int STEPS> struct MultirateLowRow
{
  typedef MultiratePairsMemory<STEPS> Memory;
  float4 first[Memory::loads], second[Memory::loads];

  /* Whether chunk i is one of the window's. */
  __device__ __forceinline__ static bool
  has (int i)
  {
    constexpr int threads = MULTIRATE_PAIRS_ROW_THREADS;

    return (i + 1) * threads <= Memory::chunks
        || (int) threadIdx.x % threads + i * threads < Memory::chunks;
  }
};

/* Loads the thread's chunks of a row whose window begins with low column `left`. */
template <int STEPS>
__device__ __forceinline__ void
multirate_load_row (const MultiratePart &plane,
    const MultiratePairsMemory<STEPS> &memory, int row, int left,
    MultirateLowRow<STEPS> &low)
{
  constexpr int loads = MultiratePairsMemory<STEPS>::loads;
  constexpr int step = 4 * MULTIRATE_PAIRS_ROW_THREADS;
  const float *const first = memory.first[row];
  const bool two = memory.parts[row] > 1;
  const int column =
      left + 4 * ((int) threadIdx.x % MULTIRATE_PAIRS_ROW_THREADS);

#pragma unroll
  for (int i = 0; i < loads; i++) {
    low.second[i] = make_float4 (0.0f, 0.0f, 0.0f, 0.0f);
    if (low.has (i))
      low.first[i] = multirate_load_lows (plane, first, column + i * step);
  }
#pragma unroll
  for (int i = 0; i < loads; i++)
    if (two && low.has (i))
      low.second[i] = multirate_load_lows (
          plane, first + multirate_next_part (plane), column + i * step);
}

/* Puts the thread's chunks of a row into shared memory, as FP16 hi/lo splits. */
template <int STEPS>
__device__ __forceinline__ void
multirate_put_row (MultiratePairsMemory<STEPS> &memory, int turn,
    const MultirateLowRow<STEPS> &low)
{
  const int place = threadIdx.x % MULTIRATE_PAIRS_ROW_THREADS;
  const int row = threadIdx.x / MULTIRATE_PAIRS_ROW_THREADS;
  uint8_t *const to = memory.half[turn % 2][0][row] + 8 * place;

#pragma unroll
  for (int i = 0; i < MultiratePairsMemory<STEPS>::loads; i++) {
    if (!low.has (i))
      continue;

    const float4 sum = multirate_add_lows (low.first[i], low.second[i]);
    const MultiratePairs left = multirate_pairs_of (sum.x, sum.y);
    const MultiratePairs right = multirate_pairs_of (sum.z, sum.w);

    *(uint2 *) (to + 8 * i * MULTIRATE_PAIRS_ROW_THREADS) =
        make_uint2 (left.upper, right.upper);
    *(uint2 *) (to + 8 * i * MULTIRATE_PAIRS_ROW_THREADS
        + sizeof memory.half[0][0]) = make_uint2 (left.lower, right.lower);
  }
}

/* Sums of products of FP16 hi/lo splits: of two upper halves, and with one lower half, which are
 * small. */
struct MultiratePairSums
{
  float large[4], small[4];

  __device__ __forceinline__ void
  add (const uint4 (&taps)[2], const MultiratePairs &low,
      const MultiratePairs &high)
  {
    multiply_matrices_add (small, taps[1], low.upper, high.upper);
    multiply_matrices_add (small, taps[0], low.lower, high.lower);
    multiply_matrices_add (large, taps[0], low.upper, high.upper);
  }

  __device__ __forceinline__ float
  operator[] (int i) const
  {
    return large[i] + small[i];
  }
};

/* State of a warp's march down a tile. */
template <int STEPS> struct MultiratePairsMarch
{
  uint4 tap_x[STEPS][2], tap_y[STEPS][2];
  /* [eight][half]: sums along x of eight rows, and of the left or right half of the columns. */
  MultiratePairs along_x[2 * STEPS][2];
};

/* Sums the next 16 rows along x, in place of the oldest 16. `at` is the lane's row of the first
 * matrix. */
template <int STEPS>
__device__ __forceinline__ void
multirate_sum_rows (MultiratePairsMarch<STEPS> &march, const uint8_t *at)
{
#pragma unroll
  for (int i = 0; i < 2 * STEPS - 2; i++)
#pragma unroll
    for (int half = 0; half < 2; half++)
      march.along_x[i][half] = march.along_x[i + 2][half];
#pragma unroll
  for (int eight = 0; eight < 2; eight++) {
    MultiratePairSums sum = {};

#pragma unroll
    for (int k = 0; k < STEPS; k++) {
      uint32_t m[4];

      load_matrices (m,
          at + eight * 8 * MultiratePairsMemory<STEPS>::pitch
              + k * 2 * TENSOR_STEP);
      sum.add (march.tap_x[k], { m[0], m[2] }, { m[1], m[3] });
    }
#pragma unroll
    for (int half = 0; half < 2; half++)
      march.along_x[2 * STEPS - 2 + eight][half] =
          multirate_pairs_of (sum[2 * half], sum[2 * half + 1]);
  }
}

/* Writes two neighbouring sums along both axes, with the offset, as FP16 hi/lo splits. */
__device__ __forceinline__ void
multirate_put_pairs (const MultiratePart &plane, float offset, uint32_t *to,
    float first, float second)
{
  const MultiratePairs pairs = multirate_pairs_of (
      multirate_limit_sum (__fmaf_rn (first, plane.sum_unit, offset)),
      multirate_limit_sum (__fmaf_rn (second, plane.sum_unit, offset)));

  *(uint2 *) to = make_uint2 (__byte_perm (pairs.upper, pairs.lower, 0x5410),
      __byte_perm (pairs.upper, pairs.lower, 0x7632));
}

/* Sums 16 rows along y. `to` is the address for the lane's first two sums; `rows` and `columns` are
 * the numbers of rows and columns that remain from there on. */
template <int STEPS>
__device__ __forceinline__ void
multirate_sum_columns (const MultiratePairsMarch<STEPS> &march,
    const MultiratePart &plane, float offset, uint32_t *to, int rows,
    int columns)
{
  const ptrdiff_t pitch = (ptrdiff_t) plane.channels * plane.pitch;

#pragma unroll
  for (int half = 0; half < 2; half++) {
    MultiratePairSums sum = {};

#pragma unroll
    for (int k = 0; k < STEPS; k++)
      sum.add (march.tap_y[k], march.along_x[2 * k][half],
          march.along_x[2 * k + 1][half]);
    if (columns <= 8 * half)
      continue;
    if (rows > 0)
      multirate_put_pairs (plane, offset, to + 8 * half, sum[0], sum[1]);
    if (rows > 8)
      multirate_put_pairs (
          plane, offset, to + 8 * pitch + 8 * half, sum[2], sum[3]);
  }
}

/* Setup that does not read low samples: the taps, and the addresses of the block's low rows. */
template <int STEPS>
__device__ __forceinline__ void
multirate_begin_pairs (MultiratePairsMarch<STEPS> &march,
    const MultiratePart &plane, MultiratePairsMemory<STEPS> &memory,
    int channel, int first, int rows)
{
  const int lane = threadIdx.x % MULTIRATE_WARP;

#pragma unroll
  for (int k = 0; k < STEPS; k++)
#pragma unroll
    for (int lower = 0; lower < 2; lower++) {
      march.tap_x[k][lower] = plane.tables->pair_x[k][lower][lane];
      march.tap_y[k][lower] = plane.tables->pair_y[k][lower][lane];
    }
  for (int i = threadIdx.x; i < rows; i += MULTIRATE_PAIRS_THREADS) {
    const int low = plane.first_y - 1 + first - plane.first_row + i;
    const MultirateLine line = multirate_line_of (
        plane, min (max (low, 0), plane.low_rows - 1), channel);

    memory.first[i] = line.part;
    memory.parts[i] = line.n;
  }
}

/* Sums a tile of one channel, which begins with column `begin` and row `first` of the sums. */
template <int STEPS>
__device__ __forceinline__ void
multirate_sum_tile (const MultiratePart &plane,
    MultiratePairsMemory<STEPS> &memory, int channel, int begin, int first)
{
  const int warp = threadIdx.x / MULTIRATE_WARP;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int row = threadIdx.x / MULTIRATE_PAIRS_ROW_THREADS;
  const int column = begin + warp * TENSOR_STEP + lane % 4 * 2;
  const int left =
      plane.first_x - 1 - plane.tap_skew + begin - plane.first_column;
  const float offset = plane.offset[channel] + tensor_above<1, true> ();
  const ptrdiff_t pitch = (ptrdiff_t) plane.channels * plane.pitch;
  const uint8_t *const at = memory.half[0][lane / 16][lane % 8]
      + lane / 8 % 2 * 16 + warp * 2 * TENSOR_STEP;
  int rows = min (plane.both_rows, plane.sum_rows - first);
  const int turns = (rows + TENSOR_STEP - 1) / TENSOR_STEP + STEPS - 1;
  uint32_t *to = (uint32_t *) plane.sums + (first + lane / 4) * pitch
      + (ptrdiff_t) channel * plane.pitch + column;
  MultiratePairsMarch<STEPS> march = {};
  MultirateLowRow<STEPS> low = {};

  rows -= lane / 4;
  multirate_begin_pairs (
      march, plane, memory, channel, first, turns * TENSOR_STEP);
  gpu_admit_next ();
  gpu_await_previous ();
  __syncthreads (); /* the rows' places are there */
  multirate_load_row (plane, memory, row, left, low);
#pragma unroll 1
  for (int turn = 0; turn < turns; turn++) {
    multirate_put_row (memory, turn, low);
    __syncthreads (); /* the rows are there, and those before them were read */
    if (turn + 1 < turns)
      multirate_load_row (
          plane, memory, (turn + 1) * TENSOR_STEP + row, left, low);
    multirate_sum_rows (march, at + turn % 2 * sizeof memory.half[0]);
    if (turn < STEPS - 1)
      continue;
    multirate_sum_columns (
        march, plane, offset, to, rows, plane.pitch - column);
    to += TENSOR_STEP * pitch;
    rows -= TENSOR_STEP;
  }
}

#endif

/* STEPS: at least the pair_steps of every plane. */
template <int STEPS>
static __global__ void
__launch_bounds__ (MULTIRATE_PAIRS_THREADS, MULTIRATE_PAIRS_AT_ONCE)
    multirate_along_both_bytes (GPU_PARAMETER MultirateFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  __shared__ MultiratePairsMemory<STEPS> memory;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_ALONG_BOTH_BYTES> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_ALONG_BOTH_BYTES];
  const int number = block / plane.both_tiles;
  const int down = number / plane.channels;

  multirate_sum_tile (plane, memory, number - down * plane.channels,
      (block - number * plane.both_tiles) * MULTIRATE_PAIRS_COLUMNS,
      down * plane.both_rows);
#endif
}
