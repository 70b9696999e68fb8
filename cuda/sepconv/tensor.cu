/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor: both passes on tensor cores, in one kernel, chained through registers.
 *
 * The row pass computes, for 16 pixels along x and 8 rows,
 *
 *   sums [16 x][8 y] = taps [16 x][16 KS pixels] * pixels [16 KS pixels][8 y]
 *
 * and leaves two rows of one x in each register pair: packed to halves, that is the
 * right factor of the column pass, with no exchange between lanes:
 *
 *   result [16 y][8 x] = taps [16 y][16 KS rows] * sums [16 KS rows][8 x]
 *
 * A warp has TILES tiles of 16 pixels of one channel side by side and marches down;
 * the sums of the last 16 KS rows stay in its registers. Pixels come as bytes from
 * shared memory in the layout of ldmatrix, and leave through it as bytes: which
 * pixel has which row or column of the matrices is chosen so that the bytes of one
 * register are those that lie together in memory (tensor_pixel_of()). */
#include "tensor.cuh"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "staging.cuh"
#include "strip.cuh"

#include <math.h>
#include <stdlib.h>

#define MAX_STEPS 9 /* 129 taps */

/* Stages that are loaded before one is taken. */
#define AHEAD (STRIP_STAGES - 1)

/* The fragments of one axis, [step][part][lane]. A plane has those for x and for y, and
 * then those of the last place, if that has its own. */
#define AXIS_FRAGMENTS (MAX_STEPS * TENSOR_MAX_PARTS * TENSOR_LANES)

/* The places in arithmetic of a pixel's channels that have fragments of their own: of
 * four, the last one has, for a channel that stays as it is, as alpha does. */
static constexpr int
count_sets (int channels)
{
  return channels == 4 ? 2 : 1;
}

struct TensorPlane
{
  int reach; /* pixels that a block's window begins left of its result */
  int above; /* rows that it begins above */
  StripPlane strip;
  TensorOrder order;                       /* of four channels */
  const uint4 *fragments;                  /* plane_fragments() */
  float sums_start[2];                     /* takes 1024 and the centre off */
  float result_start[IMAGE_MAX_CHANNELS];  /* the offset */
  signed char counter[IMAGE_MAX_CHANNELS]; /* for tally_end() */
  signed char skipped;                     /* for TallyLane::begin() */
};

struct TensorFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  TensorPlane plane[IMAGE_MAX_PLANES];
  HistoTally tally; /* of a launch that counts */
};

/* Whether a launch counts its result, and when: when it is written, or before, when it is
 * put where it is written from, which takes less time but not every frame. */
enum Counting
{
  COUNT_NOT,
  COUNT_WRITTEN,
  COUNT_PUT,
  N_COUNTINGS
};

/* The steps along x where there are so many along y: windows begin with 16 bytes of a
 * row, which are as many pixels of one byte. */
static constexpr int
steps_along_x (int steps, int pixel)
{
  return steps == 2 && pixel == 1 ? 3 : steps;
}

/* How many tiles a warp has and how many blocks with the registers for that run on a
 * multiprocessor: found by trial. */
static constexpr int
tiles_of_warp (int steps, int bytes, bool four, bool wide)
{
  if (steps == 3)
    return four && wide ? 8 : bytes == 1 ? 4 : 2;
  return steps == 9 && !four && !wide ? 2 : 4;
}

static constexpr int
blocks_at_once (int steps, int bytes, bool four, bool wide)
{
  if (wide || (four && steps > 3))
    return 2;
  if (bytes == 1)
    return 3;
  return steps == 3 ? 4 : steps == 5 ? 2 : 3;
}

/* Whether there are kernels that count results when they are put: where warps have all
 * channels of their pixels, and the registers that it takes. */
static constexpr bool
counts_put (int steps)
{
  return steps == 2 || steps == 3;
}

/* Whether warps beyond the rows' ends put zeros, if results are counted then: else there
 * are none. It takes starts in registers. */
static constexpr bool
puts_zeros (int channels)
{
  return channels < 4;
}

/* Whether the warps of a block have one channel each of the same pixels, and not all
 * channels of pixels of their own: there are as many, and many taps. A warp's window is
 * then 3 times as wide as its result with 129 taps instead of 9 times, and its fragments
 * serve as many products of one channel. */
static constexpr bool
splits_channels (int steps, int channels)
{
  return channels == STRIP_WARPS && steps > 3;
}

/* What the sizes of a strip are for KS steps, PARTS halves a tap, samples of BYTES
 * and C channels. WIDE ones are for frames that have many: the more tiles a warp has, the
 * less it does for its window and its fragments, and the fewer blocks there are. */
template <int KS, int PARTS, int BYTES, int C, bool WIDE> struct Shape
{
  static constexpr int PIXEL = C * BYTES; /* bytes */
  /* Steps of a window along x, and products that they take. FOLDED: up to 17 taps reach no
   * further than the nearer halves of the first and the last of three steps, and one product
   * has both. */
  static constexpr int KX = steps_along_x (KS, PIXEL);
  static constexpr bool FOLDED = KX > KS;
  static constexpr int PX = FOLDED ? 2 : KX;
  static constexpr bool SPLIT = splits_channels (KS, C);
  static constexpr int OWN = SPLIT ? 1 : C; /* channels of a warp */
  static constexpr int TILES = tiles_of_warp (KS, BYTES, C == 4, WIDE);
  static constexpr int BLOCKS =
      TILES / OWN; /* of 16 pixels, of a warp's result */
  static constexpr int BLOCK_CHUNKS = PIXEL; /* of 16 bytes */
  /* Of a block's result, and from one warp's pixels to the next one's: */
  static constexpr int OUT_BLOCKS = SPLIT ? BLOCKS : STRIP_WARPS * BLOCKS;
  static constexpr int OUT_CHUNKS = OUT_BLOCKS * BLOCK_CHUNKS;
  static constexpr int WARP_CHUNKS = SPLIT ? 0 : BLOCKS * BLOCK_CHUNKS;
  static constexpr int CHUNKS = (OUT_BLOCKS + KX - 1) * BLOCK_CHUNKS;
  static constexpr int PITCH = strip_pitch (CHUNKS);
  static constexpr int OUT_PITCH = strip_pitch (OUT_CHUNKS);
  static constexpr int PIXELS = OUT_BLOCKS * TENSOR_STEP;  /* of a block */
  static constexpr int WARP_PIXELS = BLOCKS * TENSOR_STEP; /* of a warp */
  /* Of 16 bytes, that a warp puts out in 8 rows, and how many of them at a time. */
  static constexpr int PUT_CHUNKS = BLOCKS * (SPLIT ? 1 : BLOCK_CHUNKS);
  static constexpr int PUT_COLUMNS = PUT_CHUNKS < 4 ? PUT_CHUNKS : 4;
  static_assert (PUT_CHUNKS == 2 || PUT_CHUNKS % 4 == 0, "four at a time");
  static constexpr bool PUT_AT_ONCE = C < 4 || KS == 2; /* found by trial */
  /* As tensor.cuh has it. With 65 taps it would take 3 % less, but 6 % more where results are
   * counted; and both are to give the same result. */
  static constexpr bool PACKS = KS != 5 || SPLIT;
  /* Bytes from one channel's results to the next one's, if SPLIT. */
  static constexpr int APART = SPLIT ? PIXELS : 0;
  static constexpr int STAGE_BYTES = STRIP_ROWS * PITCH;
  static constexpr int OUT_BYTES = STRIP_ROWS * OUT_PITCH;
  /* What follows was found by trial, lest registers be spilled. Fragments along y come
   * from shared memory each time, and those along x: */
  static constexpr bool X_SHARED = KS > 3
      ? !SPLIT || KS > 5 || PARTS == 2
      : (KS == 3) != (PARTS == 2) || (KS == 3 && C == 4);
  /* Starts of results are kept in registers: */
  static constexpr bool KEEPS_STARTS =
      OWN <= 2 && (KS <= 5 || (BYTES == 1 && !WIDE && !SPLIT));
  /* The products of former rows come between those of new ones, which are too few at a
   * time to hide each other's latency: */
  static constexpr bool BETWEEN = BYTES == 1 && OWN < 4 && KS <= 5;
  /* The first steps, which complete no rows, are apart from the others, and taken two
   * at a time: */
  static constexpr bool FIRST_APART = BYTES == 1
      ? PARTS == 1 && !WIDE && KS >= (C == 4 ? 3 : 5)
      : WIDE && KS == 9;
  /* Most steps are lean: */
  static constexpr bool LEAN =
      C == 4 || (BYTES == 1 ? WIDE || KS <= 3 : KS <= 5);
  /* So many at a time: sums move up by one place each step, but from register to
   * register only after all that are taken at a time. */
  static constexpr int LEAN_STEPS = SPLIT && KS == 5 ? 4 : 2;
  static constexpr bool PUTS_ZEROS = puts_zeros (C);
  static constexpr int SETS = count_sets (C);
  static constexpr int OWN_SETS = SPLIT ? 1 : SETS; /* of a warp */
  /* Of a set, in shared memory. */
  static constexpr int X_FRAGMENTS = X_SHARED ? PX * PARTS * TENSOR_LANES : 0;
  static constexpr int Y_FRAGMENTS = KS * PARTS * TENSOR_LANES;
  /* After the fragments come the starts. */
  static constexpr int SHARED = STRIP_STAGES * STAGE_BYTES + 2 * OUT_BYTES
      + (SETS * (X_FRAGMENTS + Y_FRAGMENTS + 1) + C) * (int) sizeof (uint4);
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* What the sums of N channels start with, four registers each, as a product takes it.
 * What the compiler can find again, it puts there anew for each product: so they are
 * read from shared memory, and those that are KEPT only once, as if they could have
 * changed. */
template <int N, bool KEPT> struct Starts
{
  const float *at;
  float start[KEPT ? N : 1][4];

  /* Those of n channels and `more`, of which the warp's are the N from `first` on. A barrier
   * must follow, and then load(). */
  __device__ __forceinline__ void
  put (const float *from, int n, float more, float *shared, int first)
  {
    at = shared + 4 * first;
    if (threadIdx.x < 4)
#pragma unroll
      for (int c = 0; c < n; c++)
        shared[4 * c + threadIdx.x] = from[c] + more;
  }

  __device__ __forceinline__ void
  load ()
  {
    if constexpr (KEPT)
#pragma unroll
      for (int c = 0; c < N; c++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          start[c][i] = ((const volatile float *) at)[4 * c + i];
  }

  /* With the same for all, if they are KEPT. */
  __device__ __forceinline__ void
  replace (float value)
  {
    static_assert (KEPT, "only this warp's are replaced");
#pragma unroll
    for (int c = 0; c < N; c++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        start[c][i] = value;
  }

  __device__ __forceinline__ void
  get (int c, float (&to)[4]) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      to[i] = KEPT ? start[c][i] : at[4 * c + i];
  }
};

/* The fragments of one axis: in registers, or in shared memory if they are many. */
template <int N, bool SHARED> struct Fragments
{
  uint4 fragment[N];

  __device__ __forceinline__ void
  load (const uint4 *from, uint4 *, int lane)
  {
#pragma unroll
    for (int i = 0; i < N; i++)
      fragment[i] = from[i * TENSOR_LANES + lane];
  }

  __device__ __forceinline__ const uint4 &
  get (int i) const
  {
    return fragment[i];
  }
};

template <int N> struct Fragments<N, true>
{
  const uint4 *at;

  /* In the background, in the group of copies that is begun. */
  __device__ __forceinline__ void
  load (const uint4 *from, uint4 *shared, int lane)
  {
#pragma unroll
    for (int i = 0; i < N * TENSOR_LANES; i += STRIP_THREADS)
      if (i + (int) threadIdx.x < N * TENSOR_LANES)
        copy_async (shared + i + threadIdx.x, from + i + threadIdx.x, 16);
    at = shared + lane;
  }

  __device__ __forceinline__ const uint4 &
  get (int i) const
  {
    return at[i * TENSOR_LANES];
  }
};

template <int KS, int PARTS, int BYTES, int C, bool WIDE, Counting COUNTS>
struct Strip
{
  typedef Shape<KS, PARTS, BYTES, C, WIDE> S;
  Fragments<S::PX * PARTS, S::X_SHARED> x[S::OWN_SETS];
  Fragments<KS * PARTS, true> y[S::OWN_SETS];
  /* Sums between the passes, of the last 16 KS rows: of each tile and 16 rows the
   * right factors for pixels 0 to 7 (low, high) and 8 to 15. */
  uint32_t rows[S::TILES][KS][4];
  Starts<S::OWN_SETS, S::OWN <= 2> sums_start;
  Starts<S::OWN, S::KEEPS_STARTS> result_start;
  int shift, max_code;
  TensorSelectors channel; /* the warp's, if SPLIT */

  /* The fragments of the warp's channel c. */
  static __device__ __forceinline__ constexpr int
  set_of (int c)
  {
    return S::OWN_SETS == 2 && c == C - 1 ? 1 : 0;
  }

  /* Starts to load what all steps need, to be there with the first stage. */
  __device__ __forceinline__ void
  fetch (const TensorPlane &plane, uint4 *fragments, int lane)
  {
    const int warp = S::SPLIT ? (int) threadIdx.x / TENSOR_LANES : 0;
    const int set = S::SPLIT && warp == C - 1 ? S::SETS - 1 : 0;

    shift = plane.strip.shift;
    max_code = plane.strip.max_code;
#pragma unroll
    for (int i = 0; i < S::SETS; i++) {
      const uint4 *from = plane.fragments + 2 * i * AXIS_FRAGMENTS;

      x[i % S::OWN_SETS].load (from, fragments, lane);
      fragments += S::X_FRAGMENTS;
      y[i % S::OWN_SETS].load (from + AXIS_FRAGMENTS, fragments, lane);
      fragments += S::Y_FRAGMENTS;
    }
    /* All warps have brought all sets to shared memory; each has one. */
    if constexpr (S::SPLIT) {
      const int others =
          (S::SETS - 1 - set) * (S::X_FRAGMENTS + S::Y_FRAGMENTS);

      if constexpr (S::X_SHARED)
        x[0].at -= others;
      else
        x[0].load (plane.fragments + 2 * set * AXIS_FRAGMENTS, NULL, lane);
      y[0].at -= others;
      channel.select (tensor_channel (plane.order, warp));
    }
    sums_start.put (plane.sums_start, S::SETS, 0.0f, (float *) fragments, set);
    result_start.put (plane.result_start, C, tensor_above<BYTES, S::PACKS> (),
        (float *) (fragments + S::SETS), warp);
  }

  __device__ __forceinline__ void
  begin ()
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 4 * KS; k++)
        rows[i][k / 4][k % 4] = 0;
  }

  /* After a barrier. */
  __device__ __forceinline__ void
  load_starts ()
  {
    sums_start.load ();
    result_start.load ();
  }

  /* From now on: whatever is added to it, the result is below zero. */
  __device__ __forceinline__ void
  put_zeros ()
  {
    result_start.replace (-1e30f);
  }

  __device__ __forceinline__ void
  start_result (float (&result)[S::TILES][2][4]) const
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 2; k++)
        result_start.get (i % S::OWN, result[i][k]);
  }

  /* Adds to 16 rows of the result what rows[][at] do with the q-th step of taps. */
  __device__ __forceinline__ void
  add_rows (float (&result)[S::TILES][2][4], int q, int at) const
  {
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
      uint4 taps[S::OWN_SETS];

#pragma unroll
      for (int i = 0; i < S::OWN_SETS; i++)
        taps[i] = y[i].get (q * PARTS + part);
#pragma unroll
      for (int i = 0; i < S::TILES; i++)
#pragma unroll
        for (int k = 0; k < 2; k++)
          multiply_matrices_add (result[i][k], taps[set_of (i % S::OWN)],
              rows[i][at][2 * k], rows[i][at][2 * k + 1]);
    }
  }

  /* Adds to the sums of 16 pixels what the products of a chunk of 16 and the k-th taps are;
   * of FOLDED windows. */
  __device__ __forceinline__ void
  add_chunk (float (&sums)[4], uint32_t chunk, int k) const
  {
    uint32_t low[1], high[1];

    split_channels<1, 1> (&chunk, 0, low, high);
#pragma unroll
    for (int part = 0; part < PARTS; part++)
      multiply_matrices_add (
          sums, x[0].get (k * PARTS + part), low[0], high[0]);
  }

  /* sum_window() of FOLDED windows. Taps 0 are for what lies on both sides of the chunk in
   * the middle: the left lanes have the first 8 pixels of a chunk, which they take from the
   * one on the right; the other lanes take the last 8 of the one on the left. */
  __device__ __forceinline__ void
  sum_folded (const uint8_t *window, float (&sums)[S::TILES][2][4]) const
  {
    constexpr int N = S::BLOCKS + 2;
    const bool left = threadIdx.x % 4 < 2;
    uint32_t chunk[2][N]; /* of the upper and the lower 8 rows */

    static_assert (N % 2 == 0, "two are loaded at a time");
#pragma unroll
    for (int b = 0; b < N; b += 2) {
      uint32_t m[4];

      load_matrices (m, window + 16 * b);
      chunk[0][b] = m[0];
      chunk[1][b] = m[1];
      chunk[0][b + 1] = m[2];
      chunk[1][b + 1] = m[3];
    }
#pragma unroll
    for (int j = 0; j < S::BLOCKS; j++)
#pragma unroll
      for (int r = 0; r < 2; r++) {
        sums_start.get (0, sums[j][r]);
        add_chunk (sums[j][r], chunk[r][j + 1], 1);
        add_chunk (sums[j][r], left ? chunk[r][j + 2] : chunk[r][j], 0);
      }
  }

  /* Has 16 rows of sums for the last of `rows`. */
  __device__ __forceinline__ void
  take_sums (const float (&sums)[S::TILES][2][4])
  {
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int q = 0; q + 1 < KS; q++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          rows[i][q][k] = rows[i][q + 1][k];
#pragma unroll
    for (int i = 0; i < S::TILES; i++)
#pragma unroll
      for (int k = 0; k < 4; k++)
        rows[i][KS - 1][k] = pack_halves (
            sums[i][k % 2][k / 2 * 2], sums[i][k % 2][k / 2 * 2 + 1]);
  }

  /* Sums 16 rows of the window, of which `window` is this lane's part. Where it ADDS, it
   * also adds to the result what `rows` do that stay. */
  template <bool ADDS>
  __device__ __forceinline__ void
  sum_window (const TensorOrder &order, const uint8_t *window,
      float (&sums)[S::TILES][2][4], float (&result)[S::TILES][2][4])
  {
    constexpr int N = S::BLOCKS + S::KX - 1;
    uint32_t chunk[2][S::BLOCK_CHUNKS]; /* of the upper and the lower 8 rows */
    uint32_t spare[2] = {};             /* of the next block of one chunk */

#pragma unroll
    for (int b = 0; b < N; b++) {
      if constexpr (S::BLOCK_CHUNKS > 1) {
#pragma unroll
        for (int q = 0; q < S::BLOCK_CHUNKS; q += 2) {
          uint32_t m[4];

          load_matrices (m, window + 16 * (b * S::BLOCK_CHUNKS + q));
          chunk[0][q] = m[0];
          chunk[1][q] = m[1];
          chunk[0][q + 1] = m[2];
          chunk[1][q + 1] = m[3];
        }
      } else if (b % 2 == 1) {
        chunk[0][0] = spare[0];
        chunk[1][0] = spare[1];
      } else if (b < N - 1) {
        uint32_t m[4];

        load_matrices (m, window + 16 * b);
        chunk[0][0] = m[0];
        chunk[1][0] = m[1];
        spare[0] = m[2];
        spare[1] = m[3];
      } else {
        uint32_t m[2];

        load_matrices (m, window + 16 * b);
        chunk[0][0] = m[0];
        chunk[1][0] = m[1];
      }
#pragma unroll
      for (int r = 0; r < 2; r++) {
        uint32_t low[S::OWN], high[S::OWN];

        if constexpr (S::SPLIT)
          channel.split (chunk[r], low[0], high[0]);
        else
          split_channels<BYTES, C> (chunk[r], shift, low, high, order);
#pragma unroll
        for (int j = 0; j < S::BLOCKS; j++) {
          const int k = b - j;

          if (k < 0 || k >= S::KX)
            continue;
#pragma unroll
          for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int c = 0; c < S::OWN; c++) {
              if (k + part == 0)
                sums_start.get (set_of (c), sums[j * S::OWN + c][r]);
              multiply_matrices_add (sums[j * S::OWN + c][r],
                  x[set_of (c)].get (k * PARTS + part), low[c], high[c]);
            }
        }
      }
      if constexpr (ADDS)
#pragma unroll
        for (int q = b * (KS - 1) / N; q < (b + 1) * (KS - 1) / N; q++)
          add_rows (result, q, q + 1);
    }
  }

  /* The same, and has the sums for the last of `rows`. */
  template <bool ADDS>
  __device__ __forceinline__ void
  sum_rows (const TensorOrder &order, const uint8_t *window,
      float (&result)[S::TILES][2][4])
  {
    float sums[S::TILES][2][4];

    if constexpr (S::FOLDED) {
      sum_folded (window, sums);
      if constexpr (ADDS)
#pragma unroll
        for (int q = 0; q + 1 < KS; q++)
          add_rows (result, q, q + 1);
    } else {
      sum_window<ADDS> (order, window, sums, result);
    }
    take_sums (sums);
  }

  /* Puts 16 rows of the result to `out`, this lane's part of the block's, and has them
   * counted. */
  template <int COUNTED>
  __device__ __forceinline__ void
  put_rows (const float (&result)[S::TILES][2][4], const TensorOrder &order,
      uint8_t *out, const TallyLane<COUNTED> &tally) const
  {
    uint32_t four[4];

#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int j = 0; j < S::BLOCKS; j++) {
        constexpr int N = S::PUT_CHUNKS / S::BLOCKS;
        uint32_t chunk[N];
        float own[S::OWN][4];

#pragma unroll
        for (int c = 0; c < S::OWN; c++)
#pragma unroll
          for (int k = 0; k < 4; k++)
            own[c][k] = result[j * S::OWN + c][k / 2][2 * r + k % 2];
        join_channels<BYTES, S::OWN, S::PACKS> (
            own, shift, max_code, chunk, order);
#pragma unroll
        for (int q = 0; q < N; q++) {
          const int i = r * S::PUT_CHUNKS + j * N + q, first = i / 4 * 4;

          four[i % 4] = chunk[q];
          if (i % 4 == 3)
            store_matrices<S::OUT_PITCH, S::PUT_COLUMNS, S::PUT_AT_ONCE> (out
                    + first / S::PUT_CHUNKS * 8 * S::OUT_PITCH
                    + first % S::PUT_CHUNKS * 16,
                four);
          tally.count (chunk[q]);
        }
      }
  }

  /* Takes in 16 rows that complete none of the result, or not yet. */
  __device__ __forceinline__ void
  take_rows (const TensorOrder &order, const uint8_t *window)
  {
    float none[S::TILES][2][4];

    sum_rows<false> (order, window, none);
  }

  /* put_rows() for the 16 that are completed. */
  template <int COUNTED>
  __device__ __forceinline__ void
  complete_rows (const TensorOrder &order, uint8_t *out,
      const TallyLane<COUNTED> &tally) const
  {
    float result[S::TILES][2][4];

    start_result (result);
#pragma unroll
    for (int q = 0; q < KS; q++)
      add_rows (result, q, q);
    put_rows (result, order, out, tally);
  }

  /* Both. */
  template <int COUNTED>
  __device__ __forceinline__ void
  take_and_complete (const TensorOrder &order, const uint8_t *window,
      uint8_t *out, const TallyLane<COUNTED> &tally)
  {
    if constexpr (S::BETWEEN) {
      float result[S::TILES][2][4];

      start_result (result);
      sum_rows<true> (order, window, result);
      add_rows (result, KS - 1, KS - 1);
      put_rows (result, order, out, tally);
    } else {
      take_rows (order, window);
      complete_rows (order, out, tally);
    }
  }
};

/* A block's way down its strip: a step takes a stage of the window in and puts out the
 * rows that this completes, which are written a step later. */
template <int KS, int PARTS, int BYTES, int C, bool WIDE, Counting COUNTS>
struct March
{
  typedef Shape<KS, PARTS, BYTES, C, WIDE> S;
  static constexpr StripStage SIZE = { STRIP_ROWS, S::CHUNKS, S::PITCH };

  const TensorPlane &plane;
  SepconvBorder border;
  uint8_t *shared, *outs;
  uint8_t *out;          /* the lane's part of those */
  const uint8_t *window; /* its part of a stage */
  StripPlace place;
  int x, y, start, steps;
  /* As many pixels as taps reach to a side. */
  StripReader<S::PIXEL, (TENSOR_STEP / 2 * (KS - 1) + 31) / 32> reader;
  StripWriter<S::OUT_CHUNKS, S::OUT_PITCH, S::APART,
      COUNTS == COUNT_WRITTEN ? C : 0>
      writer;
  Strip<KS, PARTS, BYTES, C, WIDE, COUNTS> strip;
  unsigned turns;                               /* for tally_end() */
  TallyLane<COUNTS == COUNT_PUT ? C : 0> tally; /* of what is put */
  uint32_t *counters; /* in shared memory, of a launch that COUNTS */

  __device__ __forceinline__
  March (const TensorPlane &plane, SepconvBorder border, uint8_t *shared)
      : plane (plane), border (border), shared (shared)
  {
    outs = shared + STRIP_STAGES * S::STAGE_BYTES;

    /* Nothing is put there before the first barrier. */
    const int thread = thread_by (outs);
    const int lane = thread % TENSOR_LANES;
    const int warp = thread / TENSOR_LANES;

    out = outs
        + (S::SPLIT ? tensor_channel (plane.order, warp) * S::APART
                    : 16 * warp * S::WARP_CHUNKS)
        + matrices_offset<S::OUT_PITCH, S::PUT_COLUMNS, S::PUT_AT_ONCE> (lane);
    window = shared + lane % 16 * S::PITCH
        + 16 * (warp * S::WARP_CHUNKS + lane / 16);
    place = strip_place (plane.strip);
    x = place.column * S::PIXELS;
    /* Which row is which of a matrix must not depend on how a frame is cut: sums are
     * rounded by it. */
    start = place.first / STRIP_ROWS * STRIP_ROWS;
    steps = (place.last - start + STRIP_ROWS - 1) / STRIP_ROWS + KS - 1;
    y = start - plane.above;
  }

  /* The thread's number. What is found from it is found anew wherever registers are short,
   * unless it could have changed: where that is dear, it is read from `unused`, of shared
   * memory. */
  static __device__ __forceinline__ int
  thread_by (uint8_t *unused)
  {
    volatile int *const own = (volatile int *) unused + threadIdx.x;

    static_assert (2 * S::OUT_BYTES >= STRIP_THREADS * (int) sizeof *own, "");

    if constexpr (COUNTS != COUNT_PUT)
      return threadIdx.x;
    *own = threadIdx.x;
    return *own;
  }

  /* Where a step's stage begins: lean steps begin with the first or third. */
  static __device__ __forceinline__ int
  stage_of (int step)
  {
    return (step + KS) % STRIP_STAGES * S::STAGE_BYTES;
  }

  /* Which of the two buffers has the rows that a step puts out. */
  static __device__ __forceinline__ int
  out_of (int step)
  {
    return (step + KS) % 2 * S::OUT_BYTES;
  }

  __device__ __forceinline__ void
  begin (const TensorFrame &frame)
  {
    reader.begin (plane.strip, border, x - plane.reach, y, SIZE);
    /* Fragments came by a copy, which is not overtaken. */
    strip.fetch (
        plane, (uint4 *) (outs + 2 * S::OUT_BYTES), threadIdx.x % TENSOR_LANES);
    if (frame.order == GPU_AFTER_KERNELS)
      reader.await (plane.strip, frame.early, min (steps, AHEAD), SIZE);
#pragma unroll 1
    for (int i = 0; i < AHEAD; i++) {
      if (i < steps)
        reader.load (plane.strip, border, shared + stage_of (i), SIZE);
      copy_async_commit ();
    }
    writer.begin (plane.strip, start, x * S::PIXEL);
    strip.begin ();
    if constexpr (COUNTS != COUNT_NOT)
      tally_clear<STRIP_THREADS> (counters);
    __syncthreads ();
    strip.load_starts ();
    if constexpr (COUNTS == COUNT_PUT && S::PUTS_ZEROS)
      if (is_outside ())
        strip.put_zeros ();
  }

  /* Whether all that the warp puts is beyond the rows' ends. */
  __device__ __forceinline__ bool
  is_outside () const
  {
    /* Not x, which would keep a register for it all the way. */
    return strip_place (plane.strip).column * S::PIXELS
        + S::WARP_PIXELS * ((int) threadIdx.x / TENSOR_LANES)
        >= plane.strip.width;
  }

  /* Takes away what has been counted of pixels outside the image: where a warp is, all, which
   * are zeros; else the rows of the last step that are not the place's. */
  __device__ __forceinline__ void
  take_away ()
  {
    constexpr int WORDS = 2 * S::WARP_CHUNKS; /* that a lane puts in a step */
    const int lane = threadIdx.x % TENSOR_LANES, row = lane / 4;
    const int rows = (place.last - start) % STRIP_ROWS;
    const uint8_t *const own = outs
        + 16 * (threadIdx.x / TENSOR_LANES) * S::WARP_CHUNKS
        + row * S::OUT_PITCH + 4 * (lane % 4);

    if (S::PUTS_ZEROS && is_outside ()) {
      tally.take_away (0, WORDS * (steps - (KS - 1)));
      return;
    }
    if (rows == 0)
      return;
#pragma unroll 1
    for (int r = 0; r < STRIP_ROWS; r += 8)
#pragma unroll 1
      for (int i = 0; i < S::WARP_CHUNKS && r + row >= rows; i++)
        tally.take_away (*(const uint32_t *) (own + out_of (steps - 1)
                             + r * S::OUT_PITCH + 16 * i),
            1);
  }

  /* The rows that all warps put into the other buffer a step before. */
  __device__ __forceinline__ void
  write_before (int step)
  {
    if (step >= KS)
      writer.write (plane.strip, outs + out_of (step - 1),
          start + (step - KS) * STRIP_ROWS, place.first, place.last);
  }

  /* FIRST: of the steps that complete no rows, where those are apart. Otherwise it may be
   * any step; whether it completes rows is written out twice, as with a name for it the
   * kernel of 33 taps spills registers. */
  template <bool FIRST>
  __device__ __forceinline__ void
  take (int step)
  {
    const int stage = stage_of (step);

    copy_async_wait<AHEAD - 1> ();
    __syncthreads ();
    if (reader.fills) {
      reader.fill (
          plane.strip, border, y + step * STRIP_ROWS, shared + stage, SIZE);
      __syncthreads ();
    }
    if (step + AHEAD < steps)
      reader.load (plane.strip, border, shared + stage_of (step + AHEAD), SIZE);
    copy_async_commit ();
    if constexpr (!FIRST)
      write_before (step);
    if (!FIRST && S::BETWEEN && (S::FIRST_APART || step >= KS - 1)) {
      strip.take_and_complete (
          plane.order, window + stage, out + out_of (step), tally);
    } else {
      strip.take_rows (plane.order, window + stage);
      if (!FIRST && (S::FIRST_APART || step >= KS - 1))
        strip.complete_rows (plane.order, out + out_of (step), tally);
    }
  }

  /* take() for the steps that complete no rows. Returns the one after them. */
  __device__ __forceinline__ int
  take_first ()
  {
    constexpr int AT_A_TIME = 2;
    int step = 0;

    static_assert ((KS - 1) % AT_A_TIME == 0, "no step is left");
#pragma unroll 1
    for (; step < KS - 1; step += AT_A_TIME)
#pragma unroll
      for (int i = 0; i < AT_A_TIME; i++)
        take<true> (step + i);
    return step;
  }

  /* The first step that may be lean: those before write nothing, or parts of rows. */
  __device__ __forceinline__ int
  first_lean () const
  {
    return start < place.first ? KS + 2 : KS;
  }

  /* Whether a block's steps are lean as long as all rows are the place's and the
   * image's. */
  __device__ __forceinline__ bool
  is_lean () const
  {
    return reader.whole && reader.fills_simply () && writer.whole
        && !plane.strip.keeps;
  }

  /* take() for most steps of most blocks, with nothing to find out, and two at a time:
   * the places of the stages are constants then. Returns the first step that is left. */
  __device__ __forceinline__ int
  take_lean (int step)
  {
    const int below = (plane.strip.height - y) / STRIP_ROWS;
    const int end = min (KS + (place.last - start) / STRIP_ROWS,
        below < steps ? below - AHEAD : steps);
    int at = stage_of (step);

    for (; step + S::LEAN_STEPS <= end; step += S::LEAN_STEPS) {
#pragma unroll
      for (int i = 0; i < S::LEAN_STEPS; i++) {
        const int next = 2 * S::STAGE_BYTES - at;
        const int stage = at + i % 2 * S::STAGE_BYTES;

        copy_async_wait<AHEAD - 1> ();
        __syncthreads ();
        if (reader.sides) {
          reader.fill_mirrors (shared + stage, SIZE);
          __syncthreads ();
        }
        if (step + i + AHEAD < steps)
          reader.copy (
              shared + (i % 2 == 0 ? next + S::STAGE_BYTES : at), SIZE);
        reader.skip (SIZE);
        copy_async_commit ();
        writer.write_whole (outs + (1 - i % 2) * S::OUT_BYTES);
        strip.take_and_complete (
            plane.order, window + stage, out + i % 2 * S::OUT_BYTES, tally);
        if (i % 2 == 1)
          at = next;
      }
    }
    return step;
  }

  __device__ __forceinline__ void
  run (const TensorFrame &frame)
  {
    int step = 0;

    begin (frame);
    if constexpr (S::FIRST_APART)
      step = take_first ();
    for (; step < steps; step++) {
      if constexpr (S::LEAN)
        if (step == first_lean () && is_lean ()) {
          step = take_lean (step);
          if (step == steps)
            break;
        }
      take<false> (step);
    }
    __syncthreads ();
    /* Known by the time that it is needed. */
    if constexpr (COUNTS != COUNT_NOT)
      turns = *frame.tally.turns;
    write_before (steps);
    if constexpr (COUNTS == COUNT_PUT)
      take_away ();
  }
};

/* `counters`: in shared memory, of a launch that COUNTS. Returns its `turns`. */
template <int KS, int PARTS, int BYTES, int C, bool WIDE, Counting COUNTS>
__device__ __forceinline__ unsigned
march (const TensorFrame &frame, const TensorPlane &plane, uint8_t *shared,
    uint32_t *counters)
{
  typedef Shape<KS, PARTS, BYTES, C, WIDE> S;
  March<KS, PARTS, BYTES, C, WIDE, COUNTS> way (plane, frame.border, shared);

  if constexpr (COUNTS != COUNT_NOT)
    way.counters = counters;
  way.writer.tally.begin (counters, plane.skipped);
  way.tally.begin (counters, plane.skipped);
  way.turns = 0;
  if (plane.strip.filter)
    way.run (frame);
  else
    strip_copy (frame.order, plane.strip, way.place, way.x * S::PIXEL,
        min ((way.x + S::PIXELS) * S::PIXEL, plane.strip.row_bytes));
  return way.turns;
}

template <int C>
__device__ __forceinline__ void
end_counting (const HistoTally &tally, const TensorPlane &plane, unsigned turns,
    const uint32_t *counters)
{
  tally_end<C, STRIP_THREADS> (tally, plane.counter, plane.skipped,
      blockIdx.x - (unsigned) plane.strip.first_block, turns, counters);
}

#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * GPU_EARLY_CAPABILITY
#define MAY_COUNT true
#else
#define MAY_COUNT false
#endif

/* FOUR: of planes of four channels, which want other registers than the others. COUNTS:
 * the result, of which it then is all, on the way; empty where no launch MAY_COUNT. */
template <int KS, int PARTS, int BYTES, bool FOUR, bool WIDE, Counting COUNTS>
static __global__ void
__launch_bounds__ (STRIP_THREADS, blocks_at_once (KS, BYTES, FOUR, WIDE))
    tensor_strips (STRIP_PARAMETER TensorFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  if constexpr (MAY_COUNT || COUNTS == COUNT_NOT) {
    GPU_DYNAMIC_SHARED (uint8_t, memory);
    uint32_t *const counters = (uint32_t *) memory;
    uint8_t *const shared =
        memory + (COUNTS == COUNT_NOT ? 0 : TALLY_SHARED_BYTES);
    unsigned turns;
    int p = 0;

    gpu_admit_next ();
    if constexpr (!FOUR)
      while (p + 1 < frame.n_planes
          && (int) blockIdx.x >= frame.plane[p + 1].strip.first_block)
        p++;
    const TensorPlane &plane = frame.plane[p];

    if constexpr (FOUR)
      turns = march<KS, PARTS, BYTES, 4, WIDE, COUNTS> (
          frame, plane, shared, counters);
    else if (plane.strip.channels == 1)
      turns = march<KS, PARTS, BYTES, 1, WIDE, COUNTS> (
          frame, plane, shared, counters);
    else
      turns = march<KS, PARTS, BYTES, 2, WIDE, COUNTS> (
          frame, plane, shared, counters);
    if constexpr (COUNTS == COUNT_NOT)
      gpu_end_in_turn ();
    else if constexpr (FOUR)
      end_counting<4> (frame.tally, plane, turns, counters);
    else if (plane.strip.channels == 1)
      end_counting<1> (frame.tally, plane, turns, counters);
    else
      end_counting<2> (frame.tally, plane, turns, counters);
  }
#endif
}

/* Of shared memory, what a block can have on all GPUs of INSTRUCTIONS_CAPABILITY, and what
 * it takes beside its own. */
#define LEAST_SHARED (99 * 1024)
#define SHARED_OF_SYSTEM 1024

struct Variant
{
  /* NULL where there is none. Those that count have TALLY_SHARED_BYTES more. */
  void (*kernel[N_COUNTINGS]) (TensorFrame);
  int steps, parts, sample_bytes;
  bool four;  /* channels in all planes; else one or two in each */
  bool wide;  /* as Shape is */
  int shared; /* bytes of a block */
  int pixels[IMAGE_MAX_CHANNELS + 1]; /* of a block, by channels; or 0 */
};

/* Only the most usual ones count: bytes, and taps that take no second part; where launches
 * overlap, since they gain nothing in order. */
template <int KS, int PARTS, int BYTES, bool FOUR, bool WIDE, Counting COUNTS>
static constexpr auto
counting_kernel () -> void (*) (TensorFrame)
{
  if constexpr (PARTS == 1 && BYTES == 1
      && (COUNTS == COUNT_WRITTEN || counts_put (KS)))
    return tensor_strips<KS, PARTS, BYTES, FOUR, WIDE, COUNTS>;
  else
    return NULL;
}

template <int KS, int PARTS, int BYTES, bool WIDE = false>
static constexpr Variant
variant ()
{
  typedef Shape<KS, PARTS, BYTES, 1, WIDE> S1;
  typedef Shape<KS, PARTS, BYTES, 2, WIDE> S2;
  constexpr int shared = S1::SHARED > S2::SHARED ? S1::SHARED : S2::SHARED;

  static_assert (WIDE || shared <= LEAST_SHARED, "all GPUs have it");
  return { { tensor_strips<KS, PARTS, BYTES, false, WIDE, COUNT_NOT>,
               counting_kernel<KS, PARTS, BYTES, false, WIDE, COUNT_WRITTEN> (),
               counting_kernel<KS, PARTS, BYTES, false, WIDE, COUNT_PUT> () },
    KS, PARTS, BYTES, false, WIDE, shared,
    { 0, S1::PIXELS, S2::PIXELS, 0, 0 } };
}

template <int KS, int PARTS, bool WIDE = false>
static constexpr Variant
variant_of_four ()
{
  typedef Shape<KS, PARTS, 1, 4, WIDE> S;

  static_assert (WIDE || S::SHARED <= LEAST_SHARED, "all GPUs have it");
  return { { tensor_strips<KS, PARTS, 1, true, WIDE, COUNT_NOT>,
               counting_kernel<KS, PARTS, 1, true, WIDE, COUNT_WRITTEN> (),
               counting_kernel<KS, PARTS, 1, true, WIDE, COUNT_PUT> () },
    KS, PARTS, 1, true, WIDE, S::SHARED, { 0, 0, 0, 0, S::PIXELS } };
}

/* In the order of steps and parts, and wide ones first. Samples of two bytes always have
 * taps in two parts: 10 bits need them. */
static const Variant variants[] = {
  variant<2, 1, 1> (),
  variant<3, 1, 1> (),
  variant<5, 1, 1> (),
  variant<9, 1, 1, true> (),
  variant<9, 1, 1> (),
  variant<2, 2, 1> (),
  variant<3, 2, 1> (),
  variant<5, 2, 1> (),
  variant<9, 2, 1, true> (),
  variant<9, 2, 1> (),
  variant<2, 2, 2> (),
  variant<3, 2, 2> (),
  variant<5, 2, 2> (),
  variant<9, 2, 2, true> (),
  variant<9, 2, 2> (),
  variant_of_four<2, 1> (),
  variant_of_four<3, 1, true> (),
  variant_of_four<3, 1> (),
  variant_of_four<5, 1> (),
  variant_of_four<9, 1> (),
  variant_of_four<2, 2> (),
  variant_of_four<3, 2, true> (),
  variant_of_four<3, 2> (),
  variant_of_four<5, 2> (),
  variant_of_four<9, 2> (),
};

/* Samples of a whole frame, for each multiprocessor, with which wide ones begin to pay:
 * as found on an H200. */
#define WIDE_SAMPLES 9e4

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))

struct TensorState
{
  Staging fragments;
  unsigned revision; /* of the plan that the fragments are of */
  unsigned chosen;   /* that the variant is of */
  const Variant *variant;
  /* Of its kernels; no blocks: there is none. */
  StripOccupancy occupancy[N_COUNTINGS];
  StripHeights heights[2]; /* and of launches that count */
  struct
  {
    int reach;
    float sums_start[2];
  } plane[IMAGE_MAX_PLANES];
};

/* Pixels that the windows of a plane with n taps along x begin left of the result:
 * both begin at multiples of 16 bytes. */
static int
reach_of_plane (const ImagePlane *layout, int n)
{
  /* Not none for a single tap: see Shape::FOLDED. */
  return tensor_round_up (max (n / 2, 1), 16 / layout->pixel_stride);
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

/* Those of the variant that a plane takes, which are more along x at times. */
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
  return tensor_supports_spec (spec, layout, steps_of_plane, MAX_STEPS, why);
}

/* Whether a multiprocessor has shared memory for two blocks of a variant, as wide ones are
 * for. It has that much more than one block can have as the system takes for one. */
static bool
has_room_for (const SepconvPlan *plan, const Variant *variant)
{
  return 2 * variant->shared + SHARED_OF_SYSTEM
      <= (int) gpu_shared_memory (plan->gpu);
}

/* What the plan's taps need; tensor_supports() found that there is one. */
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
        && variants[i].four == (plan->layout.plane[0].channels == 4)
        && (!variants[i].wide
            || (samples >= many && has_room_for (plan, &variants[i]))))
      return &variants[i];
  return NULL;
}

/* The channel that stays as it is where that is one of four, and is so with fragments
 * of its own; else -1. Where there are more, they are taken from the source again. */
static int
kept_channel (const SepconvPlan *plan, int p)
{
  int c = 0, kept = -1, n = 0;

  for (int i = 0; i < plan->n_channels; i++) {
    if (plan->channel[i].plane != p)
      continue;
    if (!plan->channel[i].filter) {
      kept = c;
      n++;
    }
    c++;
  }
  return c == 4 && n == 1 ? kept : -1;
}

/* The fragments of FOLDED windows: those of the first and the third step as one, each
 * pixel's from the step that it is of, and of the second. */
static void
write_folded (const Taps *taps, int first, int parts, const int *result,
    const int *window, uint4 *to)
{
  int folded[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++)
    folded[i] = window[i] + (window[i] < TENSOR_STEP / 2 ? 2 * TENSOR_STEP : 0);
  tensor_write_fragments (taps, first, 1, parts, result, folded, to);
  tensor_write_fragments (taps, first + TENSOR_STEP, 1, parts, result, window,
      to + parts * TENSOR_LANES);
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
    result[i] = splits_channels (variant->steps, shape->channels)
        ? tensor_pixel_of (i, 1, bytes)
        : window[i];
    rows[i] = i;
  }
  state->plane[p].reach = reach;
  for (int i = 0; i < count_sets (shape->channels); i++) {
    const Taps *x = i > 0 && keeps ? &one : &taps->x;
    const Taps *y = i > 0 && keeps ? &one : &taps->y;

    state->plane[p].sums_start[i] =
        tensor_sums_start (x, variant->parts, shape);
    if (x_steps > variant->steps)
      write_folded (x, x->n / 2 - reach, variant->parts, result, window,
          to + 2 * i * AXIS_FRAGMENTS);
    else
      tensor_write_fragments (x, x->n / 2 - reach, x_steps, variant->parts,
          result, window, to + 2 * i * AXIS_FRAGMENTS);
    tensor_write_fragments (y, y->n / 2 - taps->y.n / 2, variant->steps,
        variant->parts, rows, rows, to + (2 * i + 1) * AXIS_FRAGMENTS);
  }
}

/* Of each plane: where one has four channels, there is no other. */
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
  const int shared =
      variant->shared + (counting == COUNT_NOT ? 0 : TALLY_SHARED_BYTES);

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

/* Whether to count is worth it: if as many blocks run at once. */
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
  /* Planes that are copied are not looked at. */
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
  /* What is kept has the last place in arithmetic. */
  const int first = (kept + 1) % channels;
  int c = 0;

  *plane = TensorPlane ();
  strip_describe (plan, part, p, &plane->strip);
  if (kept >= 0)
    plane->strip.keeps = false;
  plane->order = tensor_order (first);
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];

    if (channel->plane == p)
      plane->result_start[(c++ - first + channels) % channels] =
          (float) (channel->filter ? channel->offset : channel->center);
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

/* What counts the result, and whose blocks add to which of the sums, once the launch is
 * divided into so many. */
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

/* How a launch counts that does: when results are put, if all are written that a block puts,
 * but for what March::take_away() knows. */
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
    /* Of no rows, the histogram is empty. */
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

/* The steps of the variant that so many taps take. */
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

/* One variant takes all planes and both axes: that of the longest. */
static double
tensor_cost (const SepconvWork *work)
{
  const double k = steps_of_variant (work->longest), s = work->samples;

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
  INSTRUCTIONS_CAPABILITY,
  true,
  tensor_supports,
  tensor_cost,
  tensor_prepare,
  tensor_release,
  tensor_run,
  true,
  tensor_counts,
};
