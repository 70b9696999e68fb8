/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-twopass: two kernels on tensor cores with FP16 sums between them, for kernels so
 * long that the registers do not hold the sums of their rows.
 *
 * In both passes a warp marches: it has tiles of 16 results, each 16 further along the
 * pass than the one before, and takes 16 samples a step. The samples of a step are the
 * right factor for all tiles: with the taps of this step for the first tile, the taps of
 * the step before for the second, and so on. So a step loads one matrix of taps, and the
 * others roll on through registers (RollingTaps).
 *
 * Row pass: the window of a block lies in shared memory, as bytes, with its borders filled
 * in (strip-reader.cuh). The sums are stored as FP16 in the order [row quad][sample][4
 * rows], where `sample` counts all channels of all pixels. The four rows of a quad are the
 * low and the high register of one column of a right factor, so they are stored side by
 * side.
 *
 * Column pass: the right factors are these sums as they are; the channel of a sample does
 * not matter. A lane loads four samples of a quad, one for each of COLUMN_GROUPS products,
 * and ends with eight neighbouring samples of the result. Quads begin at rows that are
 * multiples of four; where a window does not, it begins earlier, with zero taps.
 *
 * A frame is always whole: the row pass reads each row once. */
#include "tensor.cuh"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "border.h"
#include "staging.cuh"
#include "strip-reader.cuh"
#include "strip-writer.cuh"
#include "twopass.cuh"

#include <math.h>
#include <stdlib.h>

#define MAX_STEPS 67 /* 1042 taps and up to 15 pixels before them */
#define QUAD 4       /* rows */
/* Tiles of a warp, of all channels together: taps of two parts take twice the registers
 * and twice the time. */
#define TILES(parts) (8 / (parts))
#define COLUMN_GROUPS 4
/* Samples and rows of the result that a warp of the column pass computes. */
#define COLUMN_SAMPLES (8 * COLUMN_GROUPS)
#define COLUMN_ROWS(parts) (TILES (parts) * TENSOR_STEP)

/* The fragments of one plane: those of x, then those of y, each [step][part][lane]. */
#define PLANE_FRAGMENTS (2 * MAX_STEPS * TENSOR_MAX_PARTS * TENSOR_LANES)

struct PassPlane
{
  StripPlane strip; /* its blocks are those of the pass */
  int reach;        /* pixels from a window's start to its result */
  int above;        /* rows from a window's start to its result, whole quads */
  /* Start of row sums: subtracts 1024 and the center from each sample. */
  float sums_start;
  /* For samples 0 to 3 of four: the offset, and the row sum of a row outside the image, in
   * both halves of a word. */
  float result_start[IMAGE_MAX_CHANNELS];
  uint32_t outside[IMAGE_MAX_CHANNELS];
  int x_steps, y_steps;
  const uint4 *x, *y; /* fragments */
  uint2 *sums;        /* [row quad][sample] */
  int pitch;          /* samples from a row quad to the next */
};

struct PassFrame
{
  SepconvBorder border;
  int n_planes;
  PassPlane plane[IMAGE_MAX_PLANES];
};

/* Pixels of the result of a block of the row pass. */
static __host__ __device__ constexpr int
row_pixels (int parts, int channels)
{
  return STRIP_WARPS * (TILES (parts) / channels) * TENSOR_STEP;
}

/* Chunks of 16 bytes in a row of that block's window. */
static __host__ __device__ constexpr int
row_chunks (int parts, int channels, int sample_bytes, int steps)
{
  return (row_pixels (parts, channels) / TENSOR_STEP + steps - 1) * channels
      * sample_bytes;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Steps [first, last). */
struct StepRange
{
  int first, last;
};

/* The taps of the last N steps, the latest first, and those of the next step, which are
 * being loaded. */
template <int N, int PARTS> struct RollingTaps
{
  const uint4 *from;
  int steps;
  uint4 taps[N][PARTS], next[PARTS];

  __device__ __forceinline__ void
  begin (const uint4 *fragments, int n, int lane)
  {
    from = fragments + lane;
    steps = n;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int part = 0; part < PARTS; part++)
        taps[i][part] = uint4{ 0, 0, 0, 0 };
    fetch (0);
  }

  __device__ __forceinline__ void
  fetch (int step)
  {
    if (step < steps)
#pragma unroll
      for (int part = 0; part < PARTS; part++)
        next[part] = __ldg (from + (step * PARTS + part) * TENSOR_LANES);
  }

  __device__ __forceinline__ void
  roll (int step)
  {
#pragma unroll
    for (int i = N - 1; i > 0; i--)
#pragma unroll
      for (int part = 0; part < PARTS; part++)
        taps[i][part] = taps[i - 1][part];
#pragma unroll
    for (int part = 0; part < PARTS; part++)
      taps[0][part] = next[part];
    fetch (step + 1);
  }

  /* Whether tile i, of n, has taps in a step. */
  __device__ __forceinline__ bool
  concerns (int step, int i, int n) const
  {
    return i < n && step >= i && step - i < steps;
  }

  /* The steps in which all N tiles have taps; none if there are fewer tiles. */
  __device__ __forceinline__ StepRange
  full_steps (int n) const
  {
    return StepRange{ N - 1, n == N ? steps : 0 };
  }
};

/* Takes all steps of `n` tiles. Plain steps, somewhere in the middle, test no conditions.
 * Four of them are unrolled: then rolling is mostly a renaming of registers, and the
 * compiler does not yet load so far ahead that registers run out. */
template <typename Pass>
__device__ __forceinline__ void
march (Pass *pass, int n)
{
  const int last = pass->rolling.steps + n - 1;
  const StepRange plain = pass->plain_steps (n);
  int step = 0;

#pragma unroll 1
  for (; step < min (plain.first, last); step++)
    pass->template take<false> (step, n);
#pragma unroll 4
  for (; step < plain.last; step++)
    pass->template take<true> (step, n);
#pragma unroll 1
  for (; step < last; step++)
    pass->template take<false> (step, n);
}

/* The row of a stage that is row i of the upper or lower matrix of ldmatrix. A lane's two
 * columns of both matrices are the four rows of a quad, in an order that puts the rows of
 * a matrix into different banks: rows i and i + 8 of a stage share their banks. */
static __device__ __forceinline__ int
row_of_matrix (int i, int lower)
{
  const int quad = i / 2;

  return quad * QUAD + (quad / 2 ^ lower) * 2 + i % 2;
}

/* The row pass of one warp: 16 rows of N blocks of 16 pixels. */
template <int PARTS, int BYTES, int C> struct RowPass
{
  static constexpr int N = TILES (PARTS) / C;
  static constexpr int CHUNKS = C * BYTES; /* 16 bytes each, of 16 pixels */

  RollingTaps<N, PARTS> rolling;
  float sums[N][C][2][4]; /* [block][channel][matrix] */
  const uint8_t *window;  /* the lane's address for ldmatrix */
  int shift;

  __device__ __forceinline__ void
  begin (const PassPlane &plane, const uint8_t *at, int lane)
  {
    rolling.begin (plane.x, plane.x_steps, lane);
    window = at;
    shift = plane.strip.shift;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int k = 0; k < 8 * C; k++)
        sums[i][k / 8][k / 4 % 2][k % 4] = plane.sums_start;
  }

  __device__ __forceinline__ StepRange
  plain_steps (int n) const
  {
    return rolling.full_steps (n);
  }

  /* The right factors of 16 pixels: FP16 values of their codes. */
  __device__ __forceinline__ void
  load (int step, uint32_t (&low)[2][C], uint32_t (&high)[2][C]) const
  {
    const uint8_t *at = window + 16 * step * CHUNKS;
    uint32_t chunk[2][CHUNKS];

    if constexpr (CHUNKS == 1)
      load_one_chunk (chunk, 0, at);
    else
#pragma unroll
      for (int q = 0; q < CHUNKS; q += 2)
        load_two_chunks (chunk, q, at + 16 * q);
#pragma unroll
    for (int r = 0; r < 2; r++)
      split_channels<BYTES, C> (chunk[r], shift, low[r], high[r]);
  }

  template <bool PLAIN>
  __device__ __forceinline__ void
  take (int step, int n)
  {
    uint32_t low[2][C], high[2][C];

    load (step, low, high);
    rolling.roll (step);
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
      for (int i = 0; i < N; i++) {
        if (!PLAIN && !rolling.concerns (step, i, n))
          continue;
#pragma unroll
        for (int k = 0; k < 2 * C; k++)
          multiply_matrices_add (sums[i][k / 2][k % 2], rolling.taps[i][part],
              low[k % 2][k / 2], high[k % 2][k / 2]);
      }
  }

  /* Stores n blocks; `to` is pixel 0 of the lane's quad. */
  __device__ __forceinline__ void
  store (uint2 *to, int lane, int n) const
  {
#pragma unroll
    for (int i = 0; i < N; i++) {
      uint2 quad[2][C]; /* pixels of rows g and g + 8 of the matrices */

      if (i >= n)
        break;
#pragma unroll
      for (int k = 0; k < 2; k++)
#pragma unroll
        for (int c = 0; c < C; c++)
          quad[k][c] = pack_quad (sums[i][c], k, lane % 4 / 2);
      store_quads (to + i * TENSOR_STEP * C, quad, lane / 4);
    }
  }

  /* Half of the lanes have the upper two rows of a quad in the lower matrix:
   * row_of_matrix(). */
  static __device__ __forceinline__ uint2
  pack_quad (const float (&from)[2][4], int k, bool swapped)
  {
    const uint32_t a = pack_halves (from[0][2 * k], from[0][2 * k + 1]);
    const uint32_t b = pack_halves (from[1][2 * k], from[1][2 * k + 1]);

    return make_uint2 (swapped ? b : a, swapped ? a : b);
  }

  static __device__ __forceinline__ void
  store_quads (uint2 *to, const uint2 (&quad)[2][C], int g)
  {
    if constexpr (C == 1) {
      store_two (to + 2 * g, quad[0][0], quad[1][0]);
    } else {
#pragma unroll
      for (int k = 0; k < 2; k++)
#pragma unroll
        for (int c = 0; c < C; c += 2)
          store_two (to + (g + 8 * k) * C + c, quad[k][c], quad[k][c + 1]);
    }
  }

  static __device__ __forceinline__ void
  store_two (uint2 *to, uint2 a, uint2 b)
  {
    *(uint4 *) to = uint4{ a.x, a.y, b.x, b.y };
  }
};

template <int PARTS, int BYTES, int C>
__device__ __forceinline__ void
sum_rows (const PassPlane &plane, SepconvBorder border, uint8_t *window)
{
  typedef RowPass<PARTS, BYTES, C> Pass;
  const int lane = threadIdx.x % TENSOR_LANES;
  const int warp = threadIdx.x / TENSOR_LANES;
  const StripPlace place = strip_place (plane.strip);
  const int x = place.column * row_pixels (PARTS, C), x0 = x - plane.reach;
  const int chunks = row_chunks (PARTS, C, BYTES, plane.x_steps);
  const StripStage size = { STRIP_ROWS, chunks, strip_pitch (chunks) };
  const int first = warp * Pass::N; /* the warp's first block of 16 pixels */
  const int left = plane.pitch / C - x - first * TENSOR_STEP;
  const int n = min ((left + TENSOR_STEP - 1) / TENSOR_STEP, Pass::N);
  StripReader<C * BYTES> reader;
  Pass pass;

  reader.begin (plane.strip, border, x0, place.first, size);
  reader.load (plane.strip, border, window, size);
  copy_async_commit ();
  copy_async_wait<0> ();
  __syncthreads ();
  if (reader.fills) {
    reader.fill (plane.strip, border, place.first, window, size);
    __syncthreads ();
  }
  if (n <= 0)
    return; /* the whole warp */

  pass.begin (plane,
      window + row_of_matrix (lane % 8, lane / 8 % 2) * strip_pitch (chunks)
          + 16 * (first * Pass::CHUNKS + lane / 16),
      lane);
  march (&pass, n);
  pass.store (plane.sums
          + (ptrdiff_t) (place.first / QUAD + lane % 4) * plane.pitch
          + (x + first * TENSOR_STEP) * C,
      lane, n);
}

/* The sums of two samples in row y, each in both halves of a word. `odd`: samples 2 and 3
 * of four instead of 0 and 1. */
static __device__ __forceinline__ uint2
load_row (const PassPlane &plane, SepconvBorder border, const uint2 *sums,
    int y, int odd)
{
  const int from = border_index (y, plane.strip.height, border);
  const uint32_t half = from & 1 ? 0x3232u : 0x1010u;
  uint4 quads;

  if (from < 0)
    return make_uint2 (plane.outside[2 * odd], plane.outside[2 * odd + 1]);
  quads =
      __ldg ((const uint4 *) (sums + (ptrdiff_t) (from / QUAD) * plane.pitch));
  return make_uint2 (__byte_perm (from & 2 ? quads.y : quads.x, 0, half),
      __byte_perm (from & 2 ? quads.w : quads.z, 0, half));
}

/* Quads of two samples, of four rows from y on, some of which lie outside the image. */
static __device__ __noinline__ uint4
load_quads_outside (const PassPlane &plane, SepconvBorder border,
    const uint2 *sums, int y, int odd)
{
  uint2 pair[2];

#pragma unroll
  for (int k = 0; k < 2; k++) {
    const uint2 upper = load_row (plane, border, sums, y + 2 * k, odd);
    const uint2 lower = load_row (plane, border, sums, y + 2 * k + 1, odd);

    pair[k] = make_uint2 (__byte_perm (upper.x, lower.x, 0x5410),
        __byte_perm (upper.y, lower.y, 0x5410));
  }
  return uint4{ pair[0].x, pair[1].x, pair[0].y, pair[1].y };
}

/* Writes eight bytes of a row's codes. */
static __device__ __noinline__ void
write_codes (const StripPlane &plane, int y, int at, uint2 codes)
{
  if (at < plane.row_bytes)
    strip_write (plane, y, at, codes);
}

/* The column pass of one warp: N times 16 rows of COLUMN_SAMPLES samples. */
template <int PARTS, int BYTES> struct ColumnPass
{
  static constexpr int N = TILES (PARTS);
  static constexpr int AHEAD = 2; /* steps whose samples are being loaded */

  const PassPlane &plane;
  SepconvBorder border;
  RollingTaps<N, PARTS> rolling;
  float results[N][COLUMN_GROUPS][4];
  uint4 quads[AHEAD][2];
  const uint2 *sums; /* the lane's samples in row quad 0 */
  int first;         /* row of the window */
  int last;          /* one past the last step */

  __device__ __forceinline__
  ColumnPass (const PassPlane &of, SepconvBorder with)
      : plane (of), border (with)
  {
  }

  /* For n tiles of the result from row y and sample s on. Of eight neighbouring samples,
   * the lanes of two neighbouring g load two each, and then the next two each: these are
   * the columns of the products that one lane has. */
  __device__ __forceinline__ void
  begin (int y, int s, int n, int lane)
  {
    rolling.begin (plane.y, plane.y_steps, lane);
    sums = plane.sums + s + lane / 8 * 8 + lane / 4 % 2 * 2;
    first = y - plane.above;
    last = plane.y_steps + n - 1;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int k = 0; k < 4 * COLUMN_GROUPS; k++)
        results[i][k / 4][k % 4] = plane.result_start[k / 4 % 2 + k % 2 * 2]
            + tensor_above<BYTES, true> ();
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      quads[k][0] = quads[k][1] = uint4{ 0, 0, 0, 0 };
      load<false> (k, lane, quads[k]);
    }
  }

  /* The full steps whose loads touch only rows inside the image. */
  __device__ __forceinline__ StepRange
  plain_steps (int n) const
  {
    const StepRange full = rolling.full_steps (n);
    const int above = (-first + TENSOR_STEP - 1) / TENSOR_STEP;
    const int inside = (plane.strip.height - first) / TENSOR_STEP;

    return StepRange{ max (full.first, above - AHEAD),
      min (full.last, inside - AHEAD) };
  }

  __device__ __forceinline__ void
  load_inside (int y, uint4 (&to)[2]) const
  {
    const uint4 *at =
        (const uint4 *) (sums + (ptrdiff_t) (y / QUAD) * plane.pitch);

    to[0] = __ldg (at);
    to[1] = __ldg (at + 2);
  }

  template <bool PLAIN>
  __device__ __forceinline__ void
  load (int step, int lane, uint4 (&to)[2]) const
  {
    const int y = first + step * TENSOR_STEP;
    const int own = y + lane % 4 * QUAD, odd = lane / 4 % 2;

    if (PLAIN || (y >= 0 && y + TENSOR_STEP <= plane.strip.height)) {
      load_inside (own, to);
    } else if (step < last) {
      to[0] = load_quads_outside (plane, border, sums, own, odd);
      to[1] = load_quads_outside (plane, border, sums + 4, own, odd);
    }
  }

  template <bool PLAIN>
  __device__ __forceinline__ void
  take (int step, int n)
  {
    const uint4 now[] = { quads[0][0], quads[0][1] };

#pragma unroll
    for (int k = 0; k + 1 < AHEAD; k++) {
      quads[k][0] = quads[k + 1][0];
      quads[k][1] = quads[k + 1][1];
    }
    load<PLAIN> (step + AHEAD, threadIdx.x % TENSOR_LANES, quads[AHEAD - 1]);
    rolling.roll (step);
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
      for (int i = 0; i < N; i++) {
        if (!PLAIN && !rolling.concerns (step, i, n))
          continue;
#pragma unroll
        for (int q = 0; q < 2; q++) {
          multiply_matrices_add (
              results[i][2 * q], rolling.taps[i][part], now[q].x, now[q].y);
          multiply_matrices_add (
              results[i][2 * q + 1], rolling.taps[i][part], now[q].z, now[q].w);
        }
      }
  }

  /* Stores eight samples, from sample s on, of each row that the lane has. */
  __device__ __forceinline__ void
  store (int y, int s, int n, int lane) const
  {
    const StripPlane &strip = plane.strip;

#pragma unroll
    for (int k = 0; k < 2 * N; k++) {
      const int row = y + k * 8 + lane / 4;
      uint32_t code[2][BYTES]; /* of four samples each */

      if (k / 2 >= n)
        break;
#pragma unroll
      for (int q = 0; q < 2; q++)
        join_four (k / 2, q, k % 2, code[q]);
      if (row >= strip.height)
        continue;
      if constexpr (BYTES == 1) {
        write_codes (strip, row, s, make_uint2 (code[0][0], code[1][0]));
      } else {
        write_codes (strip, row, 2 * s, make_uint2 (code[0][0], code[0][1]));
        write_codes (
            strip, row, 2 * s + 8, make_uint2 (code[1][0], code[1][1]));
      }
    }
  }

  /* The codes of four samples of row g of tile i, or of row g + 8 if `lower`. */
  __device__ __forceinline__ void
  join_four (int i, int q, int lower, uint32_t (&code)[BYTES]) const
  {
    const float (&even)[4] = results[i][2 * q];
    const float (&odd)[4] = results[i][2 * q + 1];
    const float four[1][4] = { { even[2 * lower], odd[2 * lower],
        even[2 * lower + 1], odd[2 * lower + 1] } };

    join_channels<BYTES, 1, true> (
        four, plane.strip.shift, plane.strip.max_code, code);
  }
};

template <int PARTS, int BYTES>
__device__ __forceinline__ void
sum_columns (const PassPlane &plane, SepconvBorder border)
{
  const int lane = threadIdx.x % TENSOR_LANES;
  const int warp = threadIdx.x / TENSOR_LANES;
  const int height = plane.strip.height;
  /* Tasks go down a column before the next one, so that the warps of a block share the
   * cached part of their windows. */
  const int strips = (height + COLUMN_ROWS (PARTS) - 1) / COLUMN_ROWS (PARTS);
  const int task = (blockIdx.x - plane.strip.first_block) * STRIP_WARPS + warp;
  const int y = task % strips * COLUMN_ROWS (PARTS);
  const int s = task / strips * COLUMN_SAMPLES;
  const int n =
      min ((height - y + TENSOR_STEP - 1) / TENSOR_STEP, TILES (PARTS));
  ColumnPass<PARTS, BYTES> pass (plane, border);

  if (s >= plane.pitch)
    return;
  pass.begin (y, s, n, lane);
  march (&pass, n);
  pass.store (y, s + 8 * (lane % 4), n, lane);
}

#endif

template <int PARTS, int BYTES>
static __global__ void
__launch_bounds__ (STRIP_THREADS, 3) tensor_rows (GPU_PARAMETER PassFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  GPU_DYNAMIC_SHARED (uint8_t, window);
  const PassPlane &plane = frame.plane[strip_find_plane (frame)];

  if (plane.strip.channels == 1)
    sum_rows<PARTS, BYTES, 1> (plane, frame.border, window);
  else if (plane.strip.channels == 2)
    sum_rows<PARTS, BYTES, 2> (plane, frame.border, window);
  else if constexpr (BYTES == 1)
    sum_rows<PARTS, 1, 4> (plane, frame.border, window);
#endif
}

template <int PARTS, int BYTES>
static __global__ void
__launch_bounds__ (STRIP_THREADS, 2)
    tensor_columns (GPU_PARAMETER PassFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  const PassPlane &plane = frame.plane[strip_find_plane (frame)];

  if (plane.strip.filter)
    sum_columns<PARTS, BYTES> (plane, frame.border);
  else
    strip_copy (GPU_AFTER_KERNELS, plane.strip, strip_place (plane.strip), 0,
        plane.strip.row_bytes);
#endif
}

struct PassVariant
{
  void (*rows) (PassFrame);
  void (*columns) (PassFrame);
  int parts, sample_bytes;
};

/* Taps for samples of two bytes always have two parts: 10 bits need them. */
static const PassVariant variants[] = {
  { tensor_rows<1, 1>, tensor_columns<1, 1>, 1, 1 },
  { tensor_rows<2, 1>, tensor_columns<2, 1>, 2, 1 },
  { tensor_rows<2, 2>, tensor_columns<2, 2>, 2, 2 },
};

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))

struct PassState
{
  Staging fragments;
  unsigned revision; /* the plan's revision that the rest belongs to */
  const PassVariant *variant;
  uint2 *sums; /* of all planes */
  struct
  {
    int reach;
    double taps_sum; /* along x */
    float sums_start;
    int x_steps, y_steps;
    int fragments; /* index of the first one */
  } plane[IMAGE_MAX_PLANES];
};

/* Pixels from a window's start to its result: whole chunks of 16 bytes. */
static int
reach_of_taps (const ImagePlane *shape, int nx)
{
  return strip_round_up (
      nx / 2, 16 / (shape->channels * image_sample_bytes (shape)));
}

static int
row_steps (const ImagePlane *shape, int nx)
{
  return tensor_steps_of_taps (nx + reach_of_taps (shape, nx) - nx / 2);
}

/* Rows from a window's start to its result: whole quads. */
static int
above_of_taps (int ny)
{
  return strip_round_up (ny / 2, QUAD);
}

static int
column_steps (int ny)
{
  return tensor_steps_of_taps (ny + above_of_taps (ny) - ny / 2);
}

static int
steps_of_plane (const ImagePlane *shape, int nx, int ny)
{
  return max (row_steps (shape, nx), column_steps (ny));
}

static bool
tensor_twopass_supports (
    const SepconvSpec *spec, const Image *layout, Fault *why)
{
  return tensor_supports_spec (
      spec, layout, steps_of_plane, MAX_STEPS, false, why);
}

/* Samples from one row quad to the next: whole blocks of the row pass, and whole groups of
 * the column pass. */
static int
pitch_of_plane (const ImagePlane *shape)
{
  const int block = shape->channels * TENSOR_STEP;

  return strip_round_up (
      shape->width * shape->channels, max (block, COLUMN_SAMPLES));
}

/* Quads of a plane; its number of rows is rounded up to a multiple of 16. */
static size_t
quads_of_plane (const SepconvPlan *plan, int p)
{
  const int rows = image_plane_height (&plan->layout, p);

  return (size_t) pitch_of_plane (&plan->layout.plane[p])
      * (size_t) (strip_round_up (rows, STRIP_ROWS) / QUAD);
}

/* The variant for the plan's taps; tensor_twopass_supports() made sure that there is
 * one. */
static const PassVariant *
choose_variant (const SepconvPlan *plan)
{
  const int parts = tensor_parts (plan, steps_of_plane);
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);

  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].parts >= parts && variants[i].sample_bytes == bytes)
      return &variants[i];
  return NULL;
}

/* A value as FP16, in both halves of a word. */
static uint32_t
two_halves (double value)
{
  return tensor_half_bits (value) * 0x10001u;
}

/* Writes the fragments of a plane, and returns how many there are. */
static int
write_plane (const SepconvPlan *plan, int p, uint4 *to)
{
  PassState *state = (PassState *) plan->state;
  const int parts = state->variant->parts;
  const SepconvPlaneTaps *taps = &plan->taps[p];
  const ImagePlane *shape = &plan->layout.plane[p];
  auto *own = &state->plane[p];
  int result[TENSOR_STEP], window[TENSOR_STEP];
  int rows[TENSOR_STEP], quads[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++) {
    /* In this order, a lane stores two neighbouring samples at once. */
    result[i] = shape->channels == 1 ? i % 8 * 2 + i / 8 : i;
    window[i] =
        tensor_pixel_of (i, shape->channels, image_sample_bytes (shape));
    rows[i] = i;
    quads[i] = i % 8 / 2 * QUAD + i / 8 * 2 + i % 2;
  }
  own->reach = reach_of_taps (shape, taps->x.n);
  own->taps_sum = tensor_sum_of_taps (&taps->x, parts);
  own->sums_start = tensor_sums_start (&taps->x, parts, shape);
  own->x_steps = row_steps (shape, taps->x.n);
  own->y_steps = column_steps (taps->y.n);
  tensor_write_fragments (&taps->x, taps->x.n / 2 - own->reach, own->x_steps,
      parts, result, window, to);
  tensor_write_fragments (&taps->y, taps->y.n / 2 - above_of_taps (taps->y.n),
      own->y_steps, parts, rows, quads,
      to + own->x_steps * parts * TENSOR_LANES);
  return (own->x_steps + own->y_steps) * parts * TENSOR_LANES;
}

static bool
upload (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  PassState *state = (PassState *) plan->state;
  uint4 *stage;
  int n = 0;

  if (state->revision == plan->revision)
    return true;
  stage = (uint4 *) staging_begin (&state->fragments, fault);
  if (stage == NULL)
    return false;
  state->variant = choose_variant (plan);
  for (int p = 0; p < plan->layout.n_planes; p++) {
    state->plane[p].fragments = n;
    if (plan->taps[p].x.n > 0)
      n += write_plane (plan, p, stage + n);
  }
  if (!staging_send (&state->fragments, n * sizeof (uint4), stream, fault))
    return false;
  state->revision = plan->revision;
  return true;
}

/* Fills in everything but the division into blocks, which depends on the pass. */
static void
describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, PassPlane *plane)
{
  const PassState *state = (const PassState *) plan->state;
  const auto *own = &state->plane[p];
  const int parts = state->variant->parts;
  const int channels = plan->layout.plane[p].channels;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  size_t before = 0;

  *plane = PassPlane ();
  strip_describe (plan, part, p, &plane->strip);
  if (!plane->strip.filter)
    return;
  for (int i = 0; i < p; i++)
    before += quads_of_plane (plan, i);
  for (int k = 0; k < IMAGE_MAX_CHANNELS; k++) {
    const SepconvChannel *of = &channel[k % channels];

    plane->result_start[k] = (float) of->offset;
    plane->outside[k] = two_halves (own->taps_sum * of->border);
  }
  plane->reach = own->reach;
  plane->above = above_of_taps (plan->taps[p].y.n);
  plane->sums_start = own->sums_start;
  plane->x_steps = own->x_steps;
  plane->y_steps = own->y_steps;
  plane->x = (const uint4 *) state->fragments.device + own->fragments;
  plane->y = plane->x + own->x_steps * parts * TENSOR_LANES;
  plane->sums = state->sums + before;
  plane->pitch = pitch_of_plane (&plan->layout.plane[p]);
}

/* Places the blocks of the row pass; a plane that is copied has none. */
static int
count_row_blocks (PassFrame *frame, int parts, int *shared)
{
  int blocks = 0;

  *shared = 0;
  for (int p = 0; p < frame->n_planes; p++) {
    PassPlane *plane = &frame->plane[p];
    StripPlane *strip = &plane->strip;
    const int pixels = row_pixels (parts, strip->channels);

    strip->first_block = blocks;
    if (!strip->filter)
      continue;
    strip->strip_rows = STRIP_ROWS;
    strip->columns = (strip->width + pixels - 1) / pixels;
    blocks += strip->columns * ((strip->height + STRIP_ROWS - 1) / STRIP_ROWS);
    *shared = max (*shared,
        STRIP_ROWS
            * strip_pitch (row_chunks (
                parts, strip->channels, strip->sample_bytes, plane->x_steps)));
  }
  return blocks;
}

/* Places the blocks of the column pass, which also copies planes. */
static int
count_column_blocks (PassFrame *frame, int parts)
{
  int blocks = 0;

  for (int p = 0; p < frame->n_planes; p++) {
    StripPlane *strip = &frame->plane[p].strip;
    const int strips =
        (strip->height + COLUMN_ROWS (parts) - 1) / COLUMN_ROWS (parts);
    const int tasks = strips * (frame->plane[p].pitch / COLUMN_SAMPLES);

    strip->first_block = blocks;
    strip->strip_rows = STRIP_ROWS;
    strip->columns = 1;
    blocks += strip->filter ? (tasks + STRIP_WARPS - 1) / STRIP_WARPS
                            : (strip->height + STRIP_ROWS - 1) / STRIP_ROWS;
  }
  return blocks;
}

static bool
tensor_twopass_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  const PassState *state = (const PassState *) plan->state;
  PassFrame frame = PassFrame ();
  bool ok = false;
  int blocks, shared;

  if (!upload (plan, part->stream, fault))
    return false;
  frame.border = plan->border;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImageRows *result = &part->result[plan->layout.plane[p].memory];

    if (result->first < result->last)
      describe (plan, part, p, &frame.plane[frame.n_planes++]);
  }
  blocks = count_row_blocks (&frame, state->variant->parts, &shared);
  if (blocks > 0)
    GPU_CHECK (gpu_launch (state->variant->rows, blocks, STRIP_THREADS,
                   (size_t) shared, part->stream, frame),
        fault);
  blocks = count_column_blocks (&frame, state->variant->parts);
  if (blocks > 0)
    GPU_CHECK (gpu_launch (state->variant->columns, blocks, STRIP_THREADS, 0,
                   part->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

/* The shared memory for the largest window of a kernel, in bytes. */
static int
largest_shared (int parts, int sample_bytes)
{
  int chunks = 0;

  for (int channels = 1; channels * sample_bytes <= 4; channels *= 2)
    chunks =
        max (chunks, row_chunks (parts, channels, sample_bytes, MAX_STEPS));
  return STRIP_ROWS * strip_pitch (chunks);
}

static bool
load_kernels (Fault *fault)
{
  bool ok = false;

  for (int i = 0; i < N_VARIANTS; i++) {
    GPU_CHECK (
        cudaFuncSetAttribute ((const void *) variants[i].rows,
            cudaFuncAttributeMaxDynamicSharedMemorySize,
            largest_shared (variants[i].parts, variants[i].sample_bytes)),
        fault);
    if (!twopass_load_kernel ((const void *) variants[i].columns, fault))
      goto done;
  }
  ok = true;
done:
  return ok;
}

static bool
tensor_twopass_prepare (SepconvPlan *plan, Fault *fault)
{
  PassState *state = (PassState *) calloc (1, sizeof *state);
  const int n = plan->layout.n_planes;
  size_t quads = 0;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  for (int p = 0; p < n; p++)
    quads += quads_of_plane (plan, p);
  state->sums = (uint2 *) gpu_malloc (quads * sizeof (uint2), fault);
  return state->sums != NULL && load_kernels (fault)
      && staging_init (
          &state->fragments, n * PLANE_FRAGMENTS * sizeof (uint4), fault);
}

static void
tensor_twopass_release (SepconvPlan *plan)
{
  PassState *state = (PassState *) plan->state;

  if (state == NULL)
    return;
  staging_clear (&state->fragments);
  gpu_free (state->sums);
  free (state);
}

/* Unlike in `tensor`, each pass takes only the steps that its own axis needs. */
static double
tensor_twopass_cost (const SepconvWork *work)
{
  const double n = sepconv_mean_taps (work);
  const double sample =
      work->sample_bytes == 1 ? 3.6 + 0.01 * n : 5.34 + 0.018 * n;

  return 10.5 + 0.055 * n + work->samples * sample;
}

extern "C" const SepconvMethodOps sepconv_tensor_twopass_ops = {
  .min_capability = INSTRUCTIONS_CAPABILITY,
  .in_parts = false,
  .combines = false,
  .supports = tensor_twopass_supports,
  .cost = tensor_twopass_cost,
  .prepare = tensor_twopass_prepare,
  .release = tensor_twopass_release,
  .run = tensor_twopass_run,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
