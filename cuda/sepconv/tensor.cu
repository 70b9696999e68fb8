/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor: both passes on tensor cores, in one kernel, chained through registers.
 *
 * A pass over 16 neighbours is a product with a banded Toeplitz matrix of taps. The
 * row pass computes, for 16 pixels along x and 8 rows,
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
 * register are those that lie together in memory (pixel_of()).
 *
 * A code v enters as the half 1024 + v, its bits 0x6400 | v, without arithmetic; the
 * start value of the sums takes 1024 and the centre off again. Taps are halves, or
 * sums of two halves (PARTS) where one is too coarse. Accumulators are single
 * precision, sums between the passes are halves: supports() bounds the error. */
#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "staging.cuh"
#include "strip.cuh"

#include <cuda_fp16.h>
#include <math.h>
#include <stdlib.h>

#define STEP 16     /* pixels or rows of one product */
#define MAX_STEPS 9 /* 129 taps */
#define MAX_PARTS 2
#define LANES 32

/* The fragments of one plane: for x and then y, [step][part][lane]. */
#define PLANE_FRAGMENTS (2 * MAX_STEPS * MAX_PARTS * LANES)

struct TensorPlane
{
  StripPlane strip;
  int lead;         /* pixels that the first block has left of the image */
  int reach;        /* pixels that a block's window begins left of its result */
  int above;        /* rows that it begins above */
  float sums_start; /* takes 1024 and the centre off */
  float result_start[IMAGE_MAX_CHANNELS]; /* the offset */
  const uint4 *x, *y;                     /* fragments */
};

struct TensorFrame
{
  SepconvBorder border;
  int n_planes;
  TensorPlane plane[IMAGE_MAX_PLANES];
};

/* What the sizes of a strip are for KS steps, PARTS halves a tap, samples of BYTES
 * and C channels. */
template <int KS, int PARTS, int BYTES, int C> struct Shape
{
  /* So that the sums of many rows fit the registers. */
  static constexpr int TILES = KS > 5 && C < 4 ? 2 : 4;
  static constexpr int BLOCKS =
      TILES / C; /* of 16 pixels, of a warp's result */
  static constexpr int BLOCK_CHUNKS = C * BYTES; /* of 16 bytes */
  static constexpr int CHUNKS = (STRIP_WARPS * BLOCKS + KS - 1) * BLOCK_CHUNKS;
  static constexpr int OUT_CHUNKS = BLOCKS * BLOCK_CHUNKS;
  /* Odd multiples of 16 bytes: 8 rows of a matrix lie in different banks. */
  static constexpr int PITCH = 16 * (CHUNKS | 1);
  static constexpr int OUT_PITCH = 16 * (OUT_CHUNKS | 1);
  static constexpr int PIXELS = STRIP_WARPS * BLOCKS * STEP; /* of a block */
  static constexpr int STAGE_BYTES = STRIP_ROWS * PITCH;
  static constexpr int OUT_BYTES = STRIP_ROWS * OUT_PITCH; /* of a warp */
  /* Fragments that all tiles use can come from shared memory each time. */
  static constexpr bool X_SHARED = KS * PARTS > 9 || (KS > 5 && C == 4);
  static constexpr bool Y_SHARED = KS * PARTS > 3;
  static constexpr int FRAGMENTS = KS * PARTS * LANES;
  static constexpr int SHARED = STRIP_STAGES * STAGE_BYTES
      + STRIP_WARPS * OUT_BYTES
      + ((X_SHARED ? 1 : 0) + (Y_SHARED ? 1 : 0)) * FRAGMENTS
          * (int) sizeof (uint4);
};

/* Which of 16 neighbouring pixels has row or column i of a matrix. */
static __host__ __device__ __forceinline__ int
pixel_of (int i, int channels, int sample_bytes)
{
  const int samples = 4 / (channels * sample_bytes); /* pixels in a register */

  if (samples == 4)
    return (i % 8 / 2) * 4 + i / 8 * 2 + i % 2;
  if (samples == 2)
    return i;
  return i / 8 * 8 + i % 2 * 4 + i % 8 / 2;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Bytes a and b of a register, or of two, as the halves 1024 + byte. */
#define HALVES_OF_BYTES 0x64646464u

/* The codes of two samples of two bytes as the halves 1024 + code. */
__device__ __forceinline__ uint32_t
halves_of_codes (uint32_t samples, int shift)
{
  return ((samples >> shift) & 0x03ff03ffu) | 0x64006400u;
}

/* The right factors of one block of 16 pixels, for each channel, from the chunks
 * that this lane has of 8 rows. */
template <int BYTES, int C>
__device__ __forceinline__ void
split_channels (
    const uint32_t *chunk, int shift, uint32_t (&low)[C], uint32_t (&high)[C])
{
  uint32_t *const half[2] = { low, high };

  if constexpr (BYTES == 1 && C == 1) {
    low[0] = __byte_perm (chunk[0], HALVES_OF_BYTES, 0x4140);
    high[0] = __byte_perm (chunk[0], HALVES_OF_BYTES, 0x4342);
  } else if constexpr (BYTES == 1 && C == 2) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      half[i][0] = __byte_perm (chunk[i], HALVES_OF_BYTES, 0x4240);
      half[i][1] = __byte_perm (chunk[i], HALVES_OF_BYTES, 0x4341);
    }
  } else if constexpr (BYTES == 1) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const uint32_t a = chunk[2 * i], b = chunk[2 * i + 1];
      const uint32_t first = __byte_perm (a, b, 0x5140);
      const uint32_t second = __byte_perm (a, b, 0x7362);

      half[i][0] = __byte_perm (first, HALVES_OF_BYTES, 0x4140);
      half[i][1] = __byte_perm (first, HALVES_OF_BYTES, 0x4342);
      half[i][2] = __byte_perm (second, HALVES_OF_BYTES, 0x4140);
      half[i][3] = __byte_perm (second, HALVES_OF_BYTES, 0x4342);
    }
  } else if constexpr (C == 1) {
    low[0] = halves_of_codes (chunk[0], shift);
    high[0] = halves_of_codes (chunk[1], shift);
  } else {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const uint32_t a = chunk[2 * i], b = chunk[2 * i + 1];

      half[i][0] = halves_of_codes (__byte_perm (a, b, 0x5410), shift);
      half[i][1] = halves_of_codes (__byte_perm (a, b, 0x7632), shift);
    }
  }
}

/* Two results as codes of a byte, in bytes 0 and 2: rounded by adding 1024, where the
 * halves are integers. */
__device__ __forceinline__ uint32_t
bytes_of_results (float low, float high)
{
  const uint32_t halves = pack_halves_above_zero (low, high);

  return add_halves (
      min_halves (halves, 0x5bf85bf8u /* 255 */), 0x64006400u /* 1024 */);
}

/* A result as a code in the low bits: rounded by adding 1.5 * 2^23. */
__device__ __forceinline__ uint32_t
code_of_result (float result, float max_code)
{
  return __float_as_uint (fminf (fmaxf (result, 0.0f), max_code) + 12582912.0f);
}

/* The other way: the chunks that this lane has of 8 rows of one block's results,
 * result[channel][0..1] being rows or columns 2t, 2t + 1 of the matrix, [2..3] those
 * 8 further. */
template <int BYTES, int C>
__device__ __forceinline__ void
join_channels (
    const float (&result)[C][4], int shift, int max_code, uint32_t *chunk)
{
  if constexpr (BYTES == 1) {
    uint32_t pair[C][2];

#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        pair[c][i] = bytes_of_results (result[c][2 * i], result[c][2 * i + 1]);
    if constexpr (C == 1) {
      chunk[0] = __byte_perm (pair[0][0], pair[0][1], 0x6420);
    } else if constexpr (C == 2) {
#pragma unroll
      for (int i = 0; i < 2; i++)
        chunk[i] = __byte_perm (pair[0][i], pair[1][i], 0x6240);
    } else {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const uint32_t first = __byte_perm (pair[0][i], pair[1][i], 0x6240);
        const uint32_t second = __byte_perm (pair[2][i], pair[3][i], 0x6240);

        chunk[2 * i] = __byte_perm (first, second, 0x5410);
        chunk[2 * i + 1] = __byte_perm (first, second, 0x7632);
      }
    }
  } else {
    uint32_t code[C][4];

#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        code[c][i] = code_of_result (result[c][i], (float) max_code);
    if constexpr (C == 1) {
#pragma unroll
      for (int i = 0; i < 2; i++)
        chunk[i] = __byte_perm (code[0][2 * i], code[0][2 * i + 1], 0x5410)
            << shift;
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        chunk[i] = __byte_perm (code[0][i], code[1][i], 0x5410) << shift;
    }
  }
}

/* The first product of a sum starts it. */
__device__ __forceinline__ void
multiply_or_add (float (&sum)[4], const uint4 &taps, uint32_t low,
    uint32_t high, bool first, float start)
{
  if (first)
    multiply_matrices (sum, taps, low, high, start);
  else
    multiply_matrices_add (sum, taps, low, high);
}

/* The fragments of one axis: in registers, or in shared memory if they are many. */
template <int N, bool SHARED> struct Fragments
{
  uint4 fragment[N];

  __device__ __forceinline__ void
  load (const uint4 *from, uint4 *, int lane)
  {
#pragma unroll
    for (int i = 0; i < N; i++)
      fragment[i] = from[i * LANES + lane];
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

  /* A barrier must follow. */
  __device__ __forceinline__ void
  load (const uint4 *from, uint4 *shared, int lane)
  {
    for (int i = threadIdx.x; i < N * LANES; i += STRIP_THREADS)
      shared[i] = from[i];
    at = shared + lane;
  }

  __device__ __forceinline__ const uint4 &
  get (int i) const
  {
    return at[i * LANES];
  }
};

template <int KS, int PARTS, int BYTES, int C> struct Strip
{
  typedef Shape<KS, PARTS, BYTES, C> S;

  Fragments<KS * PARTS, S::X_SHARED> x;
  Fragments<KS * PARTS, S::Y_SHARED> y;
  /* Sums between the passes, of the last 16 KS rows: of each tile and 16 rows the
   * right factors for pixels 0 to 7 (low, high) and 8 to 15. */
  uint32_t rows[S::TILES][KS][4];

  /* Takes 16 rows in; `window` is where this lane's part of the warp's begins. */
  __device__ __forceinline__ void
  take_rows (const TensorPlane &plane, const uint8_t *window)
  {
    float sums[S::TILES][2][4];
    uint32_t chunk[2][S::BLOCK_CHUNKS]; /* of the upper and the lower 8 rows */
    uint32_t spare[2] = {};             /* of the next block of one chunk */

#pragma unroll
    for (int b = 0; b < S::BLOCKS + KS - 1; b++) {
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
      } else if (b < S::BLOCKS + KS - 2) {
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
        uint32_t low[C], high[C];

        split_channels<BYTES, C> (chunk[r], plane.strip.shift, low, high);
#pragma unroll
        for (int j = 0; j < S::BLOCKS; j++) {
          const int k = b - j;

          if (k < 0 || k >= KS)
            continue;
#pragma unroll
          for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int c = 0; c < C; c++)
              multiply_or_add (sums[j * C + c][r], x.get (k * PARTS + part),
                  low[c], high[c], k + part == 0, plane.sums_start);
        }
      }
    }

#pragma unroll
    for (int i = 0; i < S::TILES; i++) {
#pragma unroll
      for (int q = 0; q + 1 < KS; q++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          rows[i][q][k] = rows[i][q + 1][k];
#pragma unroll
      for (int k = 0; k < 4; k++)
        rows[i][KS - 1][k] = pack_halves (
            sums[i][k % 2][k / 2 * 2], sums[i][k % 2][k / 2 * 2 + 1]);
    }
  }

  /* Puts 16 rows of the result into the warp's buffer. */
  __device__ __forceinline__ void
  put_rows (const TensorPlane &plane, uint8_t *out, int lane) const
  {
    float result[S::TILES][2][4];

#pragma unroll
    for (int q = 0; q < KS; q++)
#pragma unroll
      for (int part = 0; part < PARTS; part++) {
        const uint4 taps = y.get (q * PARTS + part);

#pragma unroll
        for (int i = 0; i < S::TILES; i++)
#pragma unroll
          for (int k = 0; k < 2; k++)
            multiply_or_add (result[i][k], taps, rows[i][q][2 * k],
                rows[i][q][2 * k + 1], q + part == 0,
                plane.result_start[i % C]);
      }

#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int j = 0; j < S::BLOCKS; j++) {
        uint32_t chunk[S::BLOCK_CHUNKS];
        float own[C][4];

#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
          for (int k = 0; k < 4; k++)
            own[c][k] = result[j * C + c][k / 2][2 * r + k % 2];
        join_channels<BYTES, C> (
            own, plane.strip.shift, plane.strip.max_code, chunk);
#pragma unroll
        for (int q = 0; q < S::BLOCK_CHUNKS; q++)
          *(uint32_t *) (out + (8 * r + lane / 4) * S::OUT_PITCH
              + 16 * (j * S::BLOCK_CHUNKS + q) + 4 * (lane % 4)) = chunk[q];
      }
  }
};

template <int KS, int PARTS, int BYTES, int C>
__device__ __forceinline__ void
march (const TensorPlane &plane, SepconvBorder border, uint8_t *shared)
{
  typedef Shape<KS, PARTS, BYTES, C> S;
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const StripPlace place = strip_place (plane.strip);
  const int x = place.column * S::PIXELS - plane.lead;
  const int x0 = x - plane.reach;
  /* Which row is which of a matrix must not depend on how a frame is cut: sums are
   * rounded by it. */
  const int start = place.first / STRIP_ROWS * STRIP_ROWS;
  const int y0 = start - plane.above;
  const int steps = (place.last - start + STRIP_ROWS - 1) / STRIP_ROWS + KS - 1;
  const int pixel = C * BYTES;
  const StripStage size = { STRIP_ROWS, S::CHUNKS, S::PITCH };
  uint8_t *const out =
      shared + STRIP_STAGES * S::STAGE_BYTES + warp * S::OUT_BYTES;
  uint4 *const fragments = (uint4 *) (shared + STRIP_STAGES * S::STAGE_BYTES
      + STRIP_WARPS * S::OUT_BYTES);
  Strip<KS, PARTS, BYTES, C> strip;

  if (!plane.strip.filter) {
    strip_copy (plane.strip, place, max (x, 0) * pixel,
        min ((x + S::PIXELS) * pixel, plane.strip.row_bytes));
    return;
  }

#pragma unroll
  for (int i = 0; i < STRIP_STAGES - 1; i++) {
    if (i < steps)
      strip_load (plane.strip, border, x0, y0 + i * STRIP_ROWS,
          shared + i * S::STAGE_BYTES, size);
    copy_async_commit ();
  }
  strip.x.load (plane.x, fragments, lane);
  strip.y.load (plane.y, fragments + (S::X_SHARED ? S::FRAGMENTS : 0), lane);
#pragma unroll
  for (int i = 0; i < S::TILES; i++)
#pragma unroll
    for (int k = 0; k < 4 * KS; k++)
      strip.rows[i][k / 4][k % 4] = 0;

  for (int step = 0; step < steps; step++) {
    const int ahead = step + STRIP_STAGES - 1;
    uint8_t *const stage = shared + step % STRIP_STAGES * S::STAGE_BYTES;
    const int y = y0 + step * STRIP_ROWS;

    copy_async_wait<STRIP_STAGES - 2> ();
    __syncthreads ();
    if (strip_has_outside (plane.strip, border, x0, y, size)) {
      strip_fill (plane.strip, border, x0, y, stage, size);
      __syncthreads ();
    }
    if (ahead < steps)
      strip_load (plane.strip, border, x0, y0 + ahead * STRIP_ROWS,
          shared + ahead % STRIP_STAGES * S::STAGE_BYTES, size);
    copy_async_commit ();

    strip.take_rows (plane,
        stage + lane % 16 * S::PITCH + 16 * (warp * S::OUT_CHUNKS + lane / 16));
    if (step < KS - 1)
      continue;
    strip.put_rows (plane, out, lane);
    __syncwarp ();
    strip_write_rows<S::OUT_CHUNKS, S::OUT_PITCH> (plane.strip, out,
        start + (step - KS + 1) * STRIP_ROWS, place.first, place.last,
        (x + warp * S::BLOCKS * STEP) * pixel);
    __syncwarp ();
  }
}

#endif

/* More blocks on a multiprocessor for those that need few registers. */
#define MIN_BLOCKS(steps) ((steps) <= 2 ? 4 : (steps) <= 3 ? 3 : 2)

template <int KS, int PARTS, int BYTES>
static __global__ void
__launch_bounds__ (STRIP_THREADS, MIN_BLOCKS (KS))
    tensor_strips (STRIP_PARAMETER TensorFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  GPU_DYNAMIC_SHARED (uint8_t, shared);
  int p = 0;

  while (p + 1 < frame.n_planes
      && (int) blockIdx.x >= frame.plane[p + 1].strip.first_block)
    p++;
  const TensorPlane &plane = frame.plane[p];

  if (plane.strip.channels == 1)
    march<KS, PARTS, BYTES, 1> (plane, frame.border, shared);
  else if (plane.strip.channels == 2)
    march<KS, PARTS, BYTES, 2> (plane, frame.border, shared);
  else if constexpr (BYTES == 1)
    march<KS, PARTS, 1, 4> (plane, frame.border, shared);
#endif
}

struct Variant
{
  void (*kernel) (TensorFrame);
  int steps, parts, sample_bytes;
  int shared;                         /* bytes of a block */
  int pixels[IMAGE_MAX_CHANNELS + 1]; /* of a block, by channels; or 0 */
};

template <int KS, int PARTS, int BYTES>
static constexpr Variant
variant ()
{
  typedef Shape<KS, PARTS, BYTES, 1> S1;
  typedef Shape<KS, PARTS, BYTES, 2> S2;
  typedef Shape<KS, PARTS, 1, 4> S4;
  const int two = S1::SHARED > S2::SHARED ? S1::SHARED : S2::SHARED;
  const bool four = BYTES == 1;

  return { tensor_strips<KS, PARTS, BYTES>, KS, PARTS, BYTES,
    four && S4::SHARED > two ? S4::SHARED : two,
    { 0, S1::PIXELS, S2::PIXELS, 0, four ? S4::PIXELS : 0 } };
}

/* Samples of two bytes always have taps in two parts: 10 bits need them. */
static const Variant variants[] = {
  variant<2, 1, 1> (),
  variant<3, 1, 1> (),
  variant<5, 1, 1> (),
  variant<9, 1, 1> (),
  variant<2, 2, 1> (),
  variant<3, 2, 1> (),
  variant<5, 2, 1> (),
  variant<9, 2, 1> (),
  variant<2, 2, 2> (),
  variant<3, 2, 2> (),
  variant<5, 2, 2> (),
  variant<9, 2, 2> (),
};

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))

struct TensorState
{
  Staging fragments;
  unsigned revision; /* of the plan that the rest is of */
  const Variant *variant;
  struct
  {
    int reach, lead;
    float sums_start;
  } plane[IMAGE_MAX_PLANES];
};

static int
round_up (int value, int unit)
{
  return (value + unit - 1) / unit * unit;
}

/* Pixels that windows begin left of the taps' anchor for: a window begins with 16
 * bytes of a row, a block's result with 8. */
static int
reach_unit (const ImagePlane *plane)
{
  const int pixel = plane->channels * image_sample_bytes (plane);

  return pixel == 1 ? 8 : 16 / pixel;
}

static int
steps_of_rows (int taps)
{
  return (taps + STEP - 1 + STEP - 1) / STEP;
}

static int
steps_of_pixels (int taps, int reach)
{
  return steps_of_rows (taps + reach - taps / 2);
}

static int
steps_of_plane (const ImagePlane *layout, int nx, int ny)
{
  const int x = steps_of_pixels (nx, round_up (nx / 2, reach_unit (layout)));
  const int y = steps_of_rows (ny);

  return x > y ? x : y;
}

/* Taps as a plan has them: factor * 2^exponent * tap. */
struct ScaledTaps
{
  const Taps *taps;
  double factor;
  int exponent;
};

static double
next_half (double *rest)
{
  const double half = (double) __half2float (__double2half (*rest));

  *rest -= half;
  return half;
}

/* What taps add up to, and what they lose as `parts` halves. */
struct Rounded
{
  double norm;  /* sum |tap| */
  double error; /* sum |tap - its halves| */
};

static Rounded
round_taps (const ScaledTaps &scaled, int parts)
{
  Rounded rounded = { 0.0, 0.0 };

  for (int i = 0; i < scaled.taps->n; i++) {
    double rest = scaled.factor * ldexp (scaled.taps->tap[i], scaled.exponent);

    rounded.norm += fabs (rest);
    for (int part = 0; part < parts; part++)
      next_half (&rest);
    rounded.error += fabs (rest);
  }
  return rounded;
}

/* The largest error of rounding numbers up to `largest` to halves: half a unit of
 * their last place, but just above a power of two there is not far to fall. */
static double
half_error (double largest)
{
  const int exponent = largest > 0.0 ? ilogb (largest) : -14;
  const double above = largest - ldexp (1.0, exponent);
  const double unit = ldexp (1.0, exponent - 10);

  return fmax (0.25 * unit, fmin (0.5 * unit, above));
}

/* An upper bound of the error in code values before the last rounding, for offsets up
 * to `offset`. Tensor cores are taken to lose up to four units of 2^-23 of the
 * largest sum in a step. */
static double
error_bound (const ImagePlane *shape, const ScaledTaps &tx,
    const ScaledTaps &ty, double offset, int parts)
{
  const Rounded x = round_taps (tx, parts), y = round_taps (ty, parts);
  const double center = ldexp (1.0, shape->depth - 1);
  const double lost =
      4.0 * parts * 0x1p-23 * steps_of_plane (shape, tx.taps->n, ty.taps->n);
  const double y_norm = y.norm + y.error;
  const double sums = center * (x.norm + x.error);
  const double taps = center * (x.error * y_norm + x.norm * y.error);
  const double accumulated = lost
      * ((1024.0 + 2.0 * center) * x.norm * y_norm + sums * y_norm + offset);
  /* Bytes are rounded by way of halves. */
  const double result = image_sample_bytes (shape) == 1 ? 0x1p-4 : 0.0;

  if (!(sums < 65504.0 && y_norm < 65504.0))
    return INFINITY;
  return taps + half_error (sums) * y_norm + accumulated + result;
}

/* The halves that a tap needs, or 0 and `why`. */
static int
parts_of_plane (const ImagePlane *shape, const ScaledTaps &x,
    const ScaledTaps &y, double offset, Fault *why)
{
  const int least = image_sample_bytes (shape) == 1 ? 1 : 2;
  double bound = 0.0;

  for (int parts = least; parts <= MAX_PARTS; parts++) {
    bound = error_bound (shape, x, y, offset, parts);
    if (bound < 0.25)
      return parts;
  }
  fault_set (why, FAULT_UNSUPPORTED,
      "half precision could be off by %.2f code values with these taps", bound);
  return 0;
}

static bool
supports_format (const Image *layout, Fault *why)
{
  const int bytes = image_sample_bytes (&layout->plane[0]);

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    if (!strip_is_packed (plane, why))
      return false;
    if (plane->depth > 10 || (bytes == 1 && plane->depth != 8))
      return fault_set (why, FAULT_UNSUPPORTED,
          "halves hold samples of 8 to 10 bits, not %d", plane->depth);
    if (image_sample_bytes (plane) != bytes || plane->channels == 3
        || (bytes == 2 && plane->channels == 4))
      return fault_set (why, FAULT_UNSUPPORTED,
          "planes have 1, 2 or, of bytes, 4 channels of one sample size");
  }
  return true;
}

static bool
supports_plane (const SepconvSpec *spec, const Image *layout, int p, Fault *why)
{
  const SepconvPlane *plane = &spec->plane[p];
  const SepconvTapScale scale = sepconv_tap_scale (spec, plane);
  const double gain = sepconv_gain (spec, plane);
  const double full = image_full_code (&layout->plane[p]);

  if (steps_of_plane (&layout->plane[p], plane->x->n, plane->y->n) > MAX_STEPS)
    return fault_set (why, FAULT_UNSUPPORTED,
        "the sums of more than about 129 taps do not fit the registers");
  if (spec->border == SEPCONV_CONSTANT)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (plane->border_value[c] != floor (plane->border_value[c]))
        return fault_set (
            why, FAULT_UNSUPPORTED, "the border's value is no integer");
  return parts_of_plane (&layout->plane[p],
             ScaledTaps{ plane->x, 1.0, scale.x_exponent },
             ScaledTaps{ plane->y, scale.y_factor, scale.y_exponent },
             full * (1.0 + fabs (spec->bias) + gain), why)
      > 0;
}

static bool
tensor_supports (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  if (!supports_format (layout, why))
    return false;
  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0 && !supports_plane (spec, layout, p, why))
      return false;
  return true;
}

/* Writes the fragments of one axis. `first` is the tap that pixel or row 0 of the
 * window has for pixel or row 0 of the result, at most 0. */
static void
write_fragments (const Taps *taps, int first, int steps, int parts,
    const int *position, uint4 *to)
{
  for (int k = 0; k < steps; k++)
    for (int part = 0; part < parts; part++)
      for (int lane = 0; lane < LANES; lane++) {
        __half half[8];

        for (int i = 0; i < 8; i++) {
          const int row = lane / 4 + i / 2 % 2 * 8;
          const int column = lane % 4 * 2 + i / 4 * 8 + i % 2;
          const int tap = first + k * STEP + position[column] - position[row];
          double rest = 0.0, value = 0.0;

          if (tap >= 0 && tap < taps->n)
            rest = taps->tap[tap];
          for (int n = 0; n <= part; n++)
            value = next_half (&rest);
          half[i] = __double2half (value);
        }
        memcpy (to++, half, sizeof half);
      }
}

static double
sum_of_halves (const Taps *taps, int parts)
{
  double sum = 0.0;

  for (int i = 0; i < taps->n; i++) {
    double rest = taps->tap[i];

    for (int part = 0; part < parts; part++)
      sum += next_half (&rest);
  }
  return sum;
}

static const Variant *
find_variant (int steps, int parts, int sample_bytes)
{
  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].steps >= steps && variants[i].parts >= parts
        && variants[i].sample_bytes == sample_bytes)
      return &variants[i];
  return NULL;
}

/* What the plan's taps need; tensor_supports() found that there is one. */
static const Variant *
choose_variant (const SepconvPlan *plan)
{
  int steps = 1, parts = 1;

  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const ImagePlane *shape = &plan->layout.plane[channel->plane];
    const SepconvPlaneTaps *taps = &plan->taps[channel->plane];

    if (!channel->filter)
      continue;
    steps = max (steps, steps_of_plane (shape, taps->x.n, taps->y.n));
    parts = max (parts,
        parts_of_plane (shape, ScaledTaps{ &taps->x, 1.0, 0 },
            ScaledTaps{ &taps->y, 1.0, 0 }, fabs (channel->offset), NULL));
  }
  return find_variant (
      steps, parts, image_sample_bytes (&plan->layout.plane[0]));
}

static void
write_plane (const SepconvPlan *plan, int p, uint4 *to)
{
  TensorState *state = (TensorState *) plan->state;
  const Variant *variant = state->variant;
  const SepconvPlaneTaps *taps = &plan->taps[p];
  const ImagePlane *shape = &plan->layout.plane[p];
  const int bytes = image_sample_bytes (shape);
  const int unit = 16 / (shape->channels * bytes);
  const int anchor = taps->x.n / 2;
  int reach = round_up (anchor, unit);
  int position[STEP], rows[STEP];

  if (steps_of_pixels (taps->x.n, reach) > variant->steps)
    reach = round_up (anchor, reach_unit (shape));
  for (int i = 0; i < STEP; i++) {
    position[i] = pixel_of (i, shape->channels, bytes);
    rows[i] = i;
  }
  state->plane[p].reach = reach;
  state->plane[p].lead = round_up (reach, unit) - reach;
  state->plane[p].sums_start =
      (float) (-sum_of_halves (&taps->x, variant->parts)
          * (1024.0 + ldexp (1.0, shape->depth - 1)));
  write_fragments (
      &taps->x, anchor - reach, variant->steps, variant->parts, position, to);
  write_fragments (&taps->y, 0, variant->steps, variant->parts, rows,
      to + variant->steps * variant->parts * LANES);
}

static bool
upload (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  TensorState *state = (TensorState *) plan->state;
  const int n = plan->layout.n_planes;
  uint4 *stage;

  if (state->revision == plan->revision)
    return true;
  stage = (uint4 *) staging_begin (&state->fragments, fault);
  if (stage == NULL)
    return false;
  state->variant = choose_variant (plan);
  for (int p = 0; p < n; p++)
    if (plan->taps[p].x.n > 0)
      write_plane (plan, p, stage + p * PLANE_FRAGMENTS);
  if (!staging_send (&state->fragments, n * PLANE_FRAGMENTS * sizeof (uint4),
          stream, fault))
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
  const uint4 *fragments =
      (const uint4 *) state->fragments.device + p * PLANE_FRAGMENTS;
  int c = 0;

  *plane = TensorPlane ();
  strip_describe (plan, part, p, &plane->strip);
  for (int i = 0; i < plan->n_channels; i++)
    if (plan->channel[i].plane == p)
      plane->result_start[c++] = (float) plan->channel[i].offset;
  if (plane->strip.filter) {
    plane->reach = state->plane[p].reach;
    plane->lead = state->plane[p].lead;
    plane->above = plan->taps[p].y.n / 2;
    plane->sums_start = state->plane[p].sums_start;
  }
  plane->x = fragments;
  plane->y = fragments + variant->steps * variant->parts * LANES;
  plane->strip.columns = (plane->strip.width + plane->lead
                             + variant->pixels[plane->strip.channels] - 1)
      / variant->pixels[plane->strip.channels];
}

static bool
tensor_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  const TensorState *state = (const TensorState *) plan->state;
  TensorFrame frame = TensorFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  bool ok = false;
  int blocks;

  if (!upload (plan, part->stream, fault))
    return false;
  frame.border = plan->border;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImageRows *result = &part->result[plan->layout.plane[p].memory];

    if (result->first >= result->last)
      continue;
    planes[frame.n_planes] = &frame.plane[frame.n_planes].strip;
    describe (plan, part, p, &frame.plane[frame.n_planes++]);
  }
  /* Besides its own rows a strip sums those above, and takes about a step to begin. */
  blocks = strip_lay_out (planes, frame.n_planes,
      state->variant->steps * STRIP_ROWS, 3, gpu_multiprocessors (plan->gpu));
  if (blocks > 0)
    GPU_CHECK (gpu_launch (state->variant->kernel, blocks, STRIP_THREADS,
                   (size_t) state->variant->shared, part->stream, frame),
        fault);
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
  for (int i = 0; i < N_VARIANTS; i++)
    GPU_CHECK (
        cudaFuncSetAttribute ((const void *) variants[i].kernel,
            cudaFuncAttributeMaxDynamicSharedMemorySize, variants[i].shared),
        fault);
  ok = staging_init (&state->fragments,
      plan->layout.n_planes * PLANE_FRAGMENTS * sizeof (uint4), fault);
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

/* Not measured yet: more than `shared` takes, so that `auto` does not. */
static double
tensor_cost (const SepconvSpec *spec, const Image *layout)
{
  double cost = 0.0;

  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0)
      cost += spec->plane[p].x->n + spec->plane[p].y->n;
  return cost;
}

extern "C" const SepconvMethodOps sepconv_tensor_ops = {
  INSTRUCTIONS_CAPABILITY,
  true,
  tensor_supports,
  tensor_cost,
  tensor_prepare,
  tensor_release,
  tensor_run,
};
