/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fused: both passes in one kernel, with single-precision multiply-adds.
 *
 * There are two ways to march down a strip, chosen by the number of taps:
 *
 * Short: up to SHORT_MAX taps. A thread has 8 neighbouring samples of each row. It sums
 * a row in registers, and adds this sum, times each of the y taps, to the results of as
 * many rows, which stay in registers until they are complete. Only the source's bytes
 * go through shared memory.
 *
 * Long: the sums of rows are kept in a ring in shared memory. A thread of the row pass
 * sums 8 pixels of one row; a thread of the column pass sums two samples in each of 16
 * rows. Each value is read once for all of a thread's sums.
 *
 * Samples of one channel are as many samples apart as there are interleaved channels.
 *
 * A sample becomes a float without arithmetic: its bits are those of the subnormal number
 * raw * 2^-149, which multiply-adds take exactly and at full speed. The taps along x are
 * scaled by 2^126, those along y by the rest of 2^149. The centre is subtracted by the
 * start value of sums: a sum with its start stays below center * sum|tap| throughout, as
 * a sum of codes less the centre would. Results are in units of the largest code, so that
 * a saturating multiply-add clamps them at no cost, and are rounded by adding 2^23. */
#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "fours.cuh"
#include "short-march.cuh"
#include "staging.cuh"
#include "subnormal.cuh"

#include <math.h>
#include <stdlib.h>

#define SAMPLES 8 /* of a row, for a thread of Short */
#define SHORT_MAX 9
#define PIXELS 8 /* of a row, for a thread of Long's row pass */
#define LONG_STAGES 2
#define MAX_TAPS 257

/* Room for taps, padded with zeros to whole blocks of SEPCONV_SUM_BLOCK. */
#define PADDED_TAPS 288
static_assert (PADDED_TAPS % SEPCONV_SUM_BLOCK == 0
        && PADDED_TAPS >= MAX_TAPS + PIXELS + 4,
    "A plane's taps do not fit.");

/* Powers of two by which taps are scaled, along x and along y. */
#define X_EXPONENT 126
#define Y_EXPONENT (149 - X_EXPONENT)

/* The taps of one plane for Long. */
struct FusedTaps
{
  float x[PADDED_TAPS], y[PADDED_TAPS];
  float start[PADDED_TAPS / SEPCONV_SUM_BLOCK]; /* of each block's row sum */
};

struct FusedPlane
{
  StripPlane strip;
  int nx, ny; /* Long: taps, padded to a multiple of 4 */
  int tile;   /* samples of a row that a block has */
  int reach;  /* Long: pixels from the window's left edge to the result's */
  int lead; /* Long: bytes of the window left of the first result's first tap */
  int above;        /* Long: rows of the window above the result */
  int ring_rows;    /* Long: a multiple of STRIP_ROWS */
  StripStage stage; /* Long */
  float full;                      /* the largest code */
  /* the offset, in units of the largest code */
  float start[IMAGE_MAX_CHANNELS];
  uint32_t mask;                   /* of the significant bits of two samples */
  float x[SHORT_MAX], y[SHORT_MAX], row_start; /* Short */
  const FusedTaps *taps;                       /* Long */
};

struct FusedFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that the GPU runs at once */
  int n_planes;
  FusedPlane plane[IMAGE_MAX_PLANES];
};

template <int N, int BYTES, int C> struct Short
{
  static constexpr int PIXEL = C * BYTES;
  static constexpr int OWN = SAMPLES * BYTES; /* bytes of a row per thread */
  static constexpr int ABOVE = N / 2;
  static constexpr int TILE = short_tile_bytes (OWN, PIXEL);
  static constexpr int REACH = short_reach_bytes (ABOVE, PIXEL);
  static constexpr int PITCH = short_pitch (OWN, ABOVE, PIXEL);
  static constexpr int ROWS = short_rows (OWN);
  static constexpr bool KEEPS = true;
  static_assert (N % 2 == 1, "as many rows above as below");
  /* The window of a thread; offsets are in bytes from the pointer of sum_row(). */
  static constexpr int FIRST = REACH - N / 2 * PIXEL;
  static constexpr int BEGIN = FIRST / OWN * OWN;
  static constexpr int WIDTH = SAMPLES + C * (N - 1); /* samples */
  static constexpr int UNITS = (FIRST + WIDTH * BYTES - BEGIN + OWN - 1) / OWN;

  float x[N], y[N];
  float row_start, start[C], full;
  uint32_t mask;
  int shift;
  /* Incomplete results: [i] lacks i + 1 rows. */
  float results[N - 1][SAMPLES];

  __device__ __forceinline__ void
  begin (const FusedPlane &plane, int first_byte)
  {
    const int first_sample = first_byte / BYTES;

#pragma unroll
    for (int i = 0; i < N; i++) {
      x[i] = plane.x[i];
      y[i] = plane.y[i];
    }
    row_start = plane.row_start;
    full = plane.full;
    mask = plane.mask;
    shift = plane.strip.shift;
#pragma unroll
    for (int c = 0; c < C; c++)
      start[c] = plane.start[(first_sample + c) % C];
#pragma unroll
    for (int i = 0; i < N - 1; i++)
#pragma unroll
      for (int k = 0; k < SAMPLES; k++)
        results[i][k] = 0.0f;
  }

  /* Sums one row; `own` is REACH bytes before this thread's bytes of it. */
  __device__ __forceinline__ void
  sum_row (const uint8_t *own, float (&sum)[SAMPLES]) const
  {
    typedef typename std::conditional<BYTES == 1, uint2, uint4>::type Unit;
    constexpr int WORDS = OWN / 4;
    uint32_t word[UNITS * WORDS];

#pragma unroll
    for (int i = 0; i < UNITS; i++) {
      const Unit unit = ((const Unit *) (own + BEGIN))[i];

#pragma unroll
      for (int k = 0; k < WORDS; k++)
        word[i * WORDS + k] = ((const uint32_t *) &unit)[k];
    }
    if (BYTES == 2)
#pragma unroll
      for (int i = 0; i < UNITS * WORDS; i++)
        word[i] &= mask;
#pragma unroll
    for (int k = 0; k < SAMPLES; k++)
      sum[k] = row_start;
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      const int at = FIRST - BEGIN + i * BYTES;
      const float sample = subnormal<BYTES> (word[at / 4], at % 4);

#pragma unroll
      for (int k = 0; k < SAMPLES; k++)
        if (i >= k && (i - k) % C == 0 && (i - k) / C < N)
          sum[k] = __fmaf_rn (x[(i - k) / C], sample, sum[k]);
    }
  }

  /* Adds a row's sum to the results; `result` is the one that becomes complete. */
  __device__ __forceinline__ void
  add_row (const float (&sum)[SAMPLES], float (&result)[SAMPLES])
  {
#pragma unroll
    for (int k = 0; k < SAMPLES; k++) {
      result[k] = __saturatef (__fmaf_rn (y[N - 1], sum[k], results[0][k]));
#pragma unroll
      for (int i = 0; i < N - 2; i++)
        results[i][k] = __fmaf_rn (y[N - 2 - i], sum[k], results[i + 1][k]);
      results[N - 2][k] = __fmaf_rn (y[0], sum[k], start[k % C]);
    }
  }

  /* Turns results into codes as they lie in memory. */
  __device__ __forceinline__ void
  join (const float (&result)[SAMPLES], uint2 (&value)[BYTES]) const
  {
    uint32_t code[SAMPLES];

#pragma unroll
    for (int k = 0; k < SAMPLES; k++)
      code[k] = code_of (result[k], full);
    if constexpr (BYTES == 1)
      value[0] = make_uint2 (join_four (code[0], code[1], code[2], code[3]),
          join_four (code[4], code[5], code[6], code[7]));
    else
#pragma unroll
      for (int i = 0; i < 2; i++)
        value[i] = make_uint2 (join_pair (code[4 * i], code[4 * i + 1], shift),
            join_pair (code[4 * i + 2], code[4 * i + 3], shift));
  }

  template <bool COMPLETES>
  __device__ __forceinline__ void
  take_row (const uint8_t *own, uint2 (&value)[BYTES])
  {
    float sum[SAMPLES], result[SAMPLES];

    sum_row (own, sum);
    add_row (sum, result);
    if constexpr (COMPLETES)
      join (result, value);
  }
};

/* Adds the products of T taps to the sums of 8 pixels; `window` points to their first sample,
 * and is aligned to 8 bytes. */
template <int T, int BYTES, int C>
__device__ __forceinline__ void
add_along_row (const uint8_t *window, uint32_t mask, const float *taps,
    float (&sum)[PIXELS * C])
{
  constexpr int WIDTH = C * (PIXELS + T - 1);
  constexpr int IN_WORD = 4 / BYTES;
  float tap[T];

  load_fours (taps, tap);
#pragma unroll
  for (int first = 0; first < WIDTH; first += 2 * IN_WORD) {
    const uint2 unit = *(const uint2 *) (window + first * BYTES);

#pragma unroll
    for (int j = 0; j < 2 * IN_WORD; j++) {
      const int i = first + j;
      const uint32_t word = (j < IN_WORD ? unit.x : unit.y);
      const float sample = subnormal<BYTES> (
          BYTES == 2 ? word & mask : word, j % IN_WORD * BYTES);

#pragma unroll
      for (int k = 0; k < PIXELS * C; k++)
        if (i >= k && (i - k) % C == 0 && (i - k) / C < T)
          sum[k] = __fmaf_rn (tap[(i - k) / C], sample, sum[k]);
    }
  }
}

/* The shared memory of Long. */
struct LongMemory
{
  uint8_t *stages;
  float *ring;
  int ring_pitch; /* floats */
  float *x, *y, *start;
};

/* The ring's pitch in floats, an odd multiple of 4: 16 bytes of each of 8 rows lie in different
 * banks. */
static __host__ __device__ __forceinline__ int
ring_pitch_of (int tile)
{
  return tile + 4;
}

__device__ __forceinline__ LongMemory
divide_memory (const FusedPlane &plane, uint8_t *shared)
{
  LongMemory memory;

  memory.stages = shared;
  memory.ring =
      (float *) (shared + LONG_STAGES * plane.stage.rows * plane.stage.pitch);
  memory.ring_pitch = ring_pitch_of (plane.tile);
  memory.x = memory.ring + plane.ring_rows * memory.ring_pitch;
  memory.y = memory.x + plane.nx;
  memory.start = memory.y + plane.ny;
  return memory;
}

/* Copies taps to shared memory. A barrier must follow. */
__device__ __forceinline__ void
fetch_taps (const FusedPlane &plane, const LongMemory &memory)
{
  for (int i = threadIdx.x; i < plane.nx; i += STRIP_THREADS)
    memory.x[i] = plane.taps->x[i];
  for (int i = threadIdx.x; i < plane.ny; i += STRIP_THREADS)
    memory.y[i] = plane.taps->y[i];
  for (int i = threadIdx.x; i * SEPCONV_SUM_BLOCK < plane.nx;
       i += STRIP_THREADS)
    memory.start[i] = plane.taps->start[i];
}

/* Sums the STRIP_ROWS rows of a stage along x, and writes the sums to the ring from its row `to`
 * on. Neighbouring threads have different rows; the pitches avoid bank conflicts. */
template <int BYTES, int C>
__device__ __forceinline__ void
sum_rows (const FusedPlane &plane, const LongMemory &memory,
    const uint8_t *stage, int to)
{
  constexpr int PIXEL = C * BYTES, WIDTH = PIXELS * C;
  const int n = plane.tile / WIDTH * STRIP_ROWS;

  for (int i = threadIdx.x; i < n; i += STRIP_THREADS) {
    const int row = i % STRIP_ROWS, group = i / STRIP_ROWS;
    const uint8_t *window =
        stage + row * plane.stage.pitch + plane.lead + group * WIDTH * BYTES;
    float *out = memory.ring + (to + row) * memory.ring_pitch + group * WIDTH;
    float sum[WIDTH] = {};

    for (int first = 0; first < plane.nx; first += SEPCONV_SUM_BLOCK) {
      const int last = min (first + SEPCONV_SUM_BLOCK, plane.nx);
      float part[WIDTH];
      int tap = first;

#pragma unroll
      for (int k = 0; k < WIDTH; k++)
        part[k] = memory.start[first / SEPCONV_SUM_BLOCK];
      for (; tap + 8 <= last; tap += 8)
        add_along_row<8, BYTES, C> (
            window + tap * PIXEL, plane.mask, memory.x + tap, part);
      if (tap < last)
        add_along_row<4, BYTES, C> (
            window + tap * PIXEL, plane.mask, memory.x + tap, part);
#pragma unroll
      for (int k = 0; k < WIDTH; k++)
        sum[k] += part[k];
    }
#pragma unroll
    for (int k = 0; k < WIDTH; k += 4)
      *(float4 *) (out + k) =
          make_float4 (sum[k], sum[k + 1], sum[k + 2], sum[k + 3]);
  }
}

/* Adds the products of T taps to the sums of two columns and STRIP_ROWS rows, from row
 * `from` of the ring on, a multiple of 4. */
template <int T>
__device__ __forceinline__ void
add_along_column (const float *ring, int pitch, int from, int rows,
    const float *taps, float2 (&sum)[STRIP_ROWS])
{
  constexpr int HEIGHT = STRIP_ROWS + T - 1;
  float tap[T];

  load_fours (taps, tap);
#pragma unroll
  for (int first = 0; first < HEIGHT; first += 4) {
    const int row = from + first < rows ? from + first : from + first - rows;
    const float *at = ring + row * pitch;

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int i = first + j;

      if (i >= HEIGHT)
        continue;
      const float2 value = *(const float2 *) (at + j * pitch);

#pragma unroll
      for (int k = 0; k < STRIP_ROWS; k++)
        if (i >= k && i - k < T) {
          sum[k].x = __fmaf_rn (tap[i - k], value.x, sum[k].x);
          sum[k].y = __fmaf_rn (tap[i - k], value.y, sum[k].y);
        }
    }
  }
}

/* Sums two columns of the ring, from its row `from` on, and writes the results to a stage. */
template <int BYTES>
__device__ __forceinline__ void
sum_columns (const FusedPlane &plane, const LongMemory &memory, int from,
    int column, uint8_t *stage)
{
  const float2 start = make_float2 (plane.start[column % plane.strip.channels],
      plane.start[(column + 1) % plane.strip.channels]);
  uint8_t *out = stage + column * BYTES;
  float2 sum[STRIP_ROWS] = {};

  for (int first = 0; first < plane.ny; first += SEPCONV_SUM_BLOCK) {
    const int last = min (first + SEPCONV_SUM_BLOCK, plane.ny);
    float2 part[STRIP_ROWS] = {};
    int tap = first;

    for (; tap < last; tap += 8) {
      const int row = from + tap < plane.ring_rows
          ? from + tap
          : from + tap - plane.ring_rows;

      if (tap + 8 <= last)
        add_along_column<8> (memory.ring + column, memory.ring_pitch, row,
            plane.ring_rows, memory.y + tap, part);
      else
        add_along_column<4> (memory.ring + column, memory.ring_pitch, row,
            plane.ring_rows, memory.y + tap, part);
    }
#pragma unroll
    for (int k = 0; k < STRIP_ROWS; k++) {
      sum[k].x += part[k].x;
      sum[k].y += part[k].y;
    }
  }
#pragma unroll
  for (int k = 0; k < STRIP_ROWS; k++) {
    /* The offset is added last, so that it is rounded once and not with each block, as
     * sepconv_rounding_bound() assumes. */
    const uint32_t a = code_of (__saturatef (sum[k].x + start.x), plane.full);
    const uint32_t b = code_of (__saturatef (sum[k].y + start.y), plane.full);

    if (BYTES == 1)
      *(uint16_t *) (out + k * plane.stage.pitch) =
          (uint16_t) __byte_perm (a, b, 0x0040);
    else
      *(uint32_t *) (out + k * plane.stage.pitch) =
          join_pair (a, b, plane.strip.shift);
  }
}

/* Writes the results in a stage to the image, from row y on. */
__device__ __forceinline__ void
write_stage (const FusedPlane &plane, const StripPlace &place, int y,
    const uint8_t *stage)
{
  const int bytes = plane.tile * plane.strip.sample_bytes;
  const int n = bytes / 8;
  const int rows = min (place.last - y, STRIP_ROWS);

  for (int i = threadIdx.x; i < rows * n; i += STRIP_THREADS) {
    const int r = i / n, k = 8 * (i - r * n);
    const int at = place.column * bytes + k;

    if (at < plane.strip.row_bytes)
      strip_write (plane.strip, y + r, at,
          *(const uint2 *) (stage + r * plane.stage.pitch + k));
  }
}

template <int BYTES, int C>
__device__ __forceinline__ void
march_long (const FusedFrame &frame, const FusedPlane &plane,
    const StripPlace &place, uint8_t *shared)
{
  const SepconvBorder border = frame.border;
  const LongMemory memory = divide_memory (plane, shared);
  const int stage_bytes = plane.stage.rows * plane.stage.pitch;
  const int x0 = place.column * (plane.tile / C) - plane.reach;
  const int y0 = place.first - plane.above;
  const int before =
      plane.ring_rows / STRIP_ROWS - 1; /* steps before results */
  const int steps =
      (place.last - place.first + STRIP_ROWS - 1) / STRIP_ROWS + before;
  int row = 0; /* of the ring */
  StripReader<C * BYTES> reader;

  /* No wait is needed: taps come by a copy, and kernels always wait for copies. */
  fetch_taps (plane, memory);
  reader.begin (plane.strip, border, x0, y0, plane.stage);
  if (frame.order == GPU_AFTER_KERNELS)
    reader.await (
        plane.strip, frame.early, min (steps, LONG_STAGES), plane.stage);
  for (int i = 0; i < LONG_STAGES; i++) {
    if (i < steps)
      reader.load (
          plane.strip, border, memory.stages + i * stage_bytes, plane.stage);
    strip_commit ();
  }
  for (int step = 0; step < steps; step++) {
    uint8_t *const stage = memory.stages + step % LONG_STAGES * stage_bytes;
    const int y = y0 + step * STRIP_ROWS;

    strip_wait<LONG_STAGES - 1> ();
    __syncthreads ();
    if (reader.fills) {
      reader.fill (plane.strip, border, y, stage, plane.stage);
      __syncthreads ();
    }
    sum_rows<BYTES, C> (plane, memory, stage, row);
    row = row + STRIP_ROWS < plane.ring_rows ? row + STRIP_ROWS : 0;
    __syncthreads ();
    if (step >= before) {
      /* The stage's own rows are not needed any more. */
      for (int i = 2 * threadIdx.x; i < plane.tile; i += 2 * STRIP_THREADS)
        sum_columns<BYTES> (plane, memory, row, i, stage);
      __syncthreads ();
      write_stage (
          plane, place, place.first + (step - before) * STRIP_ROWS, stage);
      __syncthreads ();
    }
    if (step + LONG_STAGES < steps)
      reader.load (plane.strip, border, stage, plane.stage);
    strip_commit ();
  }
}

template <int N, int BYTES, int C>
__device__ __forceinline__ void
march (const FusedFrame &frame, const FusedPlane &plane,
    const StripPlace &place, uint8_t *shared)
{
  if constexpr (N > 0)
    march_short<Short<N, BYTES, C>> (frame, plane, place, shared);
  else
    march_long<BYTES, C> (frame, plane, place, shared);
}

/* Blocks on a multiprocessor: as many as fit shared memory, if there are enough registers. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
#define MIN_BLOCKS(taps, bytes) \
  ((taps) == 0 || (taps) > 5 ? 3 : (taps) > 3 ? 5 - (bytes) : 4)
#else
#define MIN_BLOCKS(taps, bytes) 3
#endif

/* N: taps of Short, at least those of each axis; 0: Long. */
template <int N, int BYTES>
static __global__ void
__launch_bounds__ (STRIP_THREADS, MIN_BLOCKS (N, BYTES))
    fused_strips (GPU_PARAMETER FusedFrame frame)
{
  GPU_DYNAMIC_SHARED (uint8_t, shared);
  const FusedPlane &plane = frame.plane[strip_find_plane (frame)];
  const StripPlace place = strip_place (plane.strip);
  const int tile_bytes = plane.tile * BYTES;

  gpu_admit_next ();
  if (!plane.strip.filter)
    strip_copy (frame.order, plane.strip, place, place.column * tile_bytes,
        min ((place.column + 1) * tile_bytes, plane.strip.row_bytes));
  else if (plane.strip.channels == 1)
    march<N, BYTES, 1> (frame, plane, place, shared);
  else if (plane.strip.channels == 2)
    march<N, BYTES, 2> (frame, plane, place, shared);
  else if (plane.strip.channels == 3)
    march<N, BYTES, 3> (frame, plane, place, shared);
  else
    march<N, BYTES, 4> (frame, plane, place, shared);
  gpu_end_in_turn ();
}

struct Variant
{
  void (*kernel) (FusedFrame);
  int taps, sample_bytes;
};

template <int N, int BYTES>
static constexpr Variant
variant ()
{
  return { fused_strips<N, BYTES>, N, BYTES };
}

static const Variant variants[] = {
  variant<3, 1> (),
  variant<5, 1> (),
  variant<7, 1> (),
  variant<SHORT_MAX, 1> (),
  variant<0, 1> (),
  variant<3, 2> (),
  variant<5, 2> (),
  variant<7, 2> (),
  variant<SHORT_MAX, 2> (),
  variant<0, 2> (),
};

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))

/* Bytes of shared memory that a block may have on every GPU. */
#define LEAST_SHARED 49152

struct FusedState
{
  Staging taps;
  unsigned revision; /* of the plan, when `variant` was chosen */
  const Variant *variant;
  StripOccupancy occupancy; /* of the last launch */
  StripHeights heights;
  int most_shared; /* bytes that a block may have */
  int good_shared; /* bytes of a block with which enough blocks run at once */
};

/* The index of the middle tap in Long, where zeros come before the taps so that windows begin at
 * multiples of 8 bytes. */
static int
long_anchor (int taps, int pixel)
{
  int anchor = taps / 2;

  while (anchor * pixel % 8 != 0)
    anchor++;
  return anchor;
}

/* The sizes of Long for a plane. */
struct LongShape
{
  int nx, ny; /* padded */
  int anchor;
  int tile;
  int ring_rows;
  StripStage stage;
  int shared; /* bytes */
};

static LongShape
long_shape (const ImagePlane *layout, int nx, int ny, int tile)
{
  const int bytes = image_sample_bytes (layout);
  const int pixel = layout->channels * bytes;
  const int unit = short_window_unit (pixel);
  LongShape shape;
  int window;

  shape.anchor = long_anchor (nx, pixel);
  shape.nx = strip_round_up (nx + shape.anchor - nx / 2, 4);
  shape.ny = strip_round_up (ny, 4);
  shape.tile = tile;
  shape.ring_rows = strip_round_up (STRIP_ROWS + ny - 1, STRIP_ROWS);
  window = strip_round_up (shape.anchor * pixel, unit) - shape.anchor * pixel
      + tile * bytes + (shape.nx - 1) * pixel;
  shape.stage.rows = STRIP_ROWS;
  shape.stage.chunks = strip_round_up (window, unit) / 16;
  shape.stage.pitch = 16 * (shape.stage.chunks | 1);
  shape.shared = LONG_STAGES * STRIP_ROWS * shape.stage.pitch
      + (int) sizeof (float)
          * (shape.ring_rows * ring_pitch_of (tile) + shape.nx + shape.ny
              + strip_round_up (shape.nx, SEPCONV_SUM_BLOCK)
                  / SEPCONV_SUM_BLOCK);
  return shape;
}

/* The shape with the widest tile that takes at most `good` bytes of shared memory; if there is
 * none, with the narrowest tile. */
static LongShape
choose_long_shape (const ImagePlane *layout, int nx, int ny, int good)
{
  const int bytes = image_sample_bytes (layout);
  const int unit = short_window_unit (layout->channels * bytes);
  /* Keeps (nearly) all 128 threads busy in both passes. */
  int tile = layout->channels == 3 ? 192 : 256;
  LongShape shape;

  for (;;) {
    shape = long_shape (layout, nx, ny, tile);
    if (shape.shared <= good || tile / 2 % (PIXELS * layout->channels) != 0
        || tile / 2 < 32 || tile / 2 * bytes % unit != 0)
      return shape;
    tile /= 2;
  }
}

static bool
fused_supports (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *shape = &layout->plane[p];
    const SepconvPlane *plane = &spec->plane[p];
    const int bytes = image_sample_bytes (shape);

    if (!strip_is_packed (shape, why))
      return false;
    if (shape->depth < 8 || bytes != image_sample_bytes (&layout->plane[0]))
      return fault_set (why, FAULT_UNSUPPORTED,
          "samples have 8 to 16 bits, and one size in all planes");
    if (plane->channels == 0)
      continue;
    if (plane->x->n > MAX_TAPS || plane->y->n > MAX_TAPS
        || choose_long_shape (shape, plane->x->n, plane->y->n, 0).shared
            > LEAST_SHARED)
      return fault_set (why, FAULT_UNSUPPORTED,
          "the rows that %d times %d taps need do not fit shared memory",
          plane->x->n, plane->y->n);
    if (spec->border != SEPCONV_CONSTANT)
      continue;
    for (int c = 0; c < shape->channels; c++)
      if (plane->border_value[c] != floor (plane->border_value[c]))
        return fault_set (
            why, FAULT_UNSUPPORTED, "the border's value is no integer");
  }
  return sepconv_float_holds (spec, layout, why);
}

/* Whether sums along y may start with the offset, as they do in Short at no cost: then each of
 * their roundings is one of the offset, too. sepconv_rounding_bound() assumes that it is added
 * last. */
static bool
offset_may_be_first (const SepconvPlan *plan)
{
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const SepconvPlaneTaps *taps = &plan->taps[channel->plane];
    const double allowed = channel->max_code < 1 << 12 ? 0.25 : 0.5;

    if (!channel->filter)
      continue;
    /* 2 * SHORT_MAX roundings of sums; the others are of taps and start values. */
    if (0x1p-24 * (2 * SHORT_MAX + 4)
            * (fabs (channel->offset)
                + channel->center * taps_norm (&taps->x) * taps_norm (&taps->y))
        >= allowed)
      return false;
  }
  return true;
}

static const Variant *
choose_variant (const SepconvPlan *plan)
{
  const int bytes = image_sample_bytes (&plan->layout.plane[0]);
  const Variant *best = NULL;
  int taps = 1;

  for (int p = 0; p < plan->layout.n_planes; p++)
    taps = max (taps, max (plan->taps[p].x.n, plan->taps[p].y.n));
  if (!offset_may_be_first (plan))
    taps = MAX_TAPS;
  for (int i = 0; i < N_VARIANTS && best == NULL; i++)
    if (variants[i].sample_bytes == bytes
        && (variants[i].taps >= taps || variants[i].taps == 0))
      best = &variants[i];
  return best;
}

/* Writes n taps, zeros where there are none; [anchor] is the middle one. */
static void
write_taps (const Taps *taps, int anchor, double factor, float *to, int n)
{
  const int first = anchor - taps->n / 2;

  for (int i = 0; i < n; i++)
    to[i] = i < first || i >= first + taps->n
        ? 0.0f
        : (float) (factor * taps->tap[i - first]);
}

static void
write_x (const SepconvPlan *plan, int p, int anchor, float *to, int n)
{
  write_taps (&plan->taps[p].x, anchor, ldexp (1.0, X_EXPONENT), to, n);
}

static void
write_y (const SepconvPlan *plan, int p, int anchor, float *to, int n)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const double unit = ldexp (1.0, Y_EXPONENT - layout->shift);

  write_taps (&plan->taps[p].y, anchor, unit / image_full_code (layout), to, n);
}

/* The start value of a row sum with these n taps, which subtracts the centre. */
static float
sum_start (const ImagePlane *layout, const float *x, int n)
{
  double sum = 0.0;

  for (int i = 0; i < n; i++)
    sum += x[i];
  return (float) -ldexp (sum, layout->depth - 1 + layout->shift - 149);
}

static void
write_long (const SepconvPlan *plan, int p, FusedTaps *to)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const SepconvPlaneTaps *taps = &plan->taps[p];

  write_x (plan, p, long_anchor (taps->x.n, layout->pixel_stride), to->x,
      PADDED_TAPS);
  write_y (plan, p, taps->y.n / 2, to->y, PADDED_TAPS);
  for (int i = 0; i < PADDED_TAPS / SEPCONV_SUM_BLOCK; i++)
    to->start[i] =
        sum_start (layout, to->x + i * SEPCONV_SUM_BLOCK, SEPCONV_SUM_BLOCK);
}

/* Uploads the taps of Long; those of Short are parameters of each launch. */
static bool
upload_long (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  FusedState *state = (FusedState *) plan->state;
  FusedTaps *stage;

  stage = (FusedTaps *) staging_begin (&state->taps, fault);
  if (stage == NULL)
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (plan->taps[p].x.n > 0)
      write_long (plan, p, &stage[p]);
  return staging_send (
      &state->taps, plan->layout.n_planes * sizeof (FusedTaps), stream, fault);
}

static bool
adopt_taps (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  FusedState *state = (FusedState *) plan->state;

  if (state->revision == plan->revision)
    return true;
  state->variant = choose_variant (plan);
  if (state->variant->taps == 0 && !upload_long (plan, stream, fault))
    return false;
  state->revision = plan->revision;
  return true;
}

/* Like describe_long() and describe(), returns the bytes of shared memory that a block takes. */
static int
describe_short (const SepconvPlan *plan, int p, FusedPlane *plane)
{
  const FusedState *state = (const FusedState *) plan->state;
  const int n = state->variant->taps;
  const int bytes = plane->strip.sample_bytes;
  const int pixel = plane->strip.channels * bytes;

  plane->tile = short_tile_bytes (SAMPLES * bytes, pixel) / bytes;
  write_x (plan, p, n / 2, plane->x, n);
  write_y (plan, p, n / 2, plane->y, n);
  plane->row_start = sum_start (&plan->layout.plane[p], plane->x, n);
  return short_shared (
      gpu_capability (plan->gpu), SAMPLES * bytes, n / 2, pixel);
}

static int
describe_long (const SepconvPlan *plan, int p, FusedPlane *plane)
{
  const FusedState *state = (const FusedState *) plan->state;
  const SepconvPlaneTaps *taps = &plan->taps[p];
  const int pixel = plane->strip.channels * plane->strip.sample_bytes;
  const LongShape shape = choose_long_shape (&plan->layout.plane[p],
      max (taps->x.n, 1), max (taps->y.n, 1), state->good_shared);

  plane->nx = shape.nx;
  plane->ny = shape.ny;
  plane->tile = shape.tile;
  plane->reach =
      strip_round_up (shape.anchor * pixel, short_window_unit (pixel)) / pixel;
  plane->lead = (plane->reach - shape.anchor) * pixel;
  plane->above = taps->y.n / 2;
  plane->ring_rows = shape.ring_rows;
  plane->stage = shape.stage;
  return shape.shared;
}

static int
describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, FusedPlane *plane)
{
  const FusedState *state = (const FusedState *) plan->state;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  int shared, bytes;

  *plane = FusedPlane ();
  strip_describe (plan, part, p, &plane->strip);
  plane->full = (float) plane->strip.max_code;
  for (int c = 0; c < plane->strip.channels; c++)
    plane->start[c] = (float) (channel[c].offset / plane->strip.max_code);
  plane->mask =
      0x10001u * (uint32_t) (plane->strip.max_code << plane->strip.shift);
  plane->taps = (const FusedTaps *) state->taps.device + p;
  shared = state->variant->taps > 0 ? describe_short (plan, p, plane)
                                    : describe_long (plan, p, plane);
  bytes = plane->tile * plane->strip.sample_bytes;
  plane->strip.columns = (plane->strip.row_bytes + bytes - 1) / bytes;
  return shared;
}

static bool
fused_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  FusedState *state = (FusedState *) plan->state;
  const Variant *variant;
  FusedFrame frame = FusedFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  StripLoad load = StripLoad ();
  int shared = 0, blocks;
  bool ok = false;

  if (!adopt_taps (plan, part->stream, fault))
    return false;
  variant = state->variant;
  frame.border = plan->border;
  frame.order = part->order;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImageRows *result = &part->result[plan->layout.plane[p].memory];

    if (result->first >= result->last)
      continue;
    planes[frame.n_planes] = &frame.plane[frame.n_planes].strip;
    shared =
        max (shared, describe (plan, part, p, &frame.plane[frame.n_planes++]));
    load.above = max (load.above, plan->taps[p].y.n - 1);
  }
  if (!strip_occupancy (
          &state->occupancy, (const void *) variant->kernel, shared, fault))
    return false;
  /* For Long, strips are cut as if runs could not overlap: the high strips for overlapped runs are
   * slower. With 129 taps, frames took up to 1.5 times as long with them. */
  load.order = variant->taps == 0 ? GPU_AFTER_KERNELS : part->order;
  if (variant->taps > 0)
    load.unit = short_rows (SAMPLES * variant->sample_bytes);
  load.at_once = state->occupancy.blocks;
  load.multiprocessors = gpu_multiprocessors (plan->gpu);
  frame.early = load.at_once * load.multiprocessors;
  blocks = strip_lay_out (planes, frame.n_planes, &load, &state->heights);
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, variant->kernel, blocks,
                   STRIP_THREADS, shared, part->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

static bool
fused_prepare (SepconvPlan *plan, Fault *fault)
{
  FusedState *state = (FusedState *) calloc (1, sizeof *state);
  const int id = gpu_id (plan->gpu);
  int multiprocessor = 0;
  bool ok = false;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  GPU_CHECK (cudaDeviceGetAttribute (&state->most_shared,
                 cudaDevAttrMaxSharedMemoryPerBlockOptin, id),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (&multiprocessor,
                 cudaDevAttrMaxSharedMemoryPerMultiprocessor, id),
      fault);
  /* Three blocks on a multiprocessor; the runtime takes 1024 bytes of each. */
  state->good_shared = min (state->most_shared, multiprocessor / 3 - 1024);
  for (int i = 0; i < N_VARIANTS; i++)
    GPU_CHECK (
        cudaFuncSetAttribute ((const void *) variants[i].kernel,
            cudaFuncAttributeMaxDynamicSharedMemorySize, state->most_shared),
        fault);
  ok = staging_init (
      &state->taps, plan->layout.n_planes * sizeof (FusedTaps), fault);
done:
  return ok;
}

static void
fused_release (SepconvPlan *plan)
{
  FusedState *state = (FusedState *) plan->state;

  if (state == NULL)
    return;
  staging_clear (&state->taps);
  free (state);
}

/* The taps that a run sums along an axis. In Short, both axes have the taps of the variant for
 * the longest axis; in Long, each axis has its own number. */
static double
summed_taps (const SepconvWork *work)
{
  int taps = SHORT_MAX;

  if (work->longest > SHORT_MAX)
    return sepconv_mean_taps (work);
  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].taps >= work->longest)
      taps = min (taps, variants[i].taps);
  return taps;
}

static double
fused_cost (const SepconvWork *work)
{
  const double n = summed_taps (work), s = work->samples;
  const bool bytes = work->sample_bytes == 1;
  const bool is_short = work->longest <= SHORT_MAX;
  /* The least microseconds of a million samples in Long, which three channels need. */
  const double least = work->channels == 3 ? 3.4 : 0.0;

  if (work->order == GPU_BESIDE_KERNELS) {
    if (is_short)
      return bytes ? 0.87 + 0.087 * n + s * (0.345 + 0.078 * n)
                   : -0.12 + 0.237 * n + s * (0.983 + 0.0215 * n);
    return bytes ? -0.44 + 0.243 * n + s * fmax (0.038 + 0.192 * n, least)
                 : -0.98 + 0.270 * n + s * (0.976 + 0.192 * n);
  }
  if (is_short)
    return bytes ? 2.5 + 0.5 * n + s * (0.345 + 0.085 * n)
                 : 0.9 + 0.72 * n + s * (0.979 + 0.031 * n);
  return bytes ? 1.52 + 0.345 * n + s * fmax (0.207 * n - 0.057, least)
               : 1.46 + 0.401 * n + s * (0.867 + 0.207 * n);
}

extern "C" const SepconvMethodOps sepconv_fused_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = fused_supports,
  .cost = fused_cost,
  .prepare = fused_prepare,
  .release = fused_release,
  .run = fused_run,
  .overlaps = true,
  .turns = NULL,
  .counts = NULL,
};
