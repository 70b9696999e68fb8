/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* short-march: how a block goes down its strip where kernels are short. A thread has some
 * neighbouring bytes of each row, and keeps in registers all that it needs of the rows above:
 * only the source's bytes go through shared memory.
 *
 * The arithmetic is a struct S with these constants, in bytes unless noted:
 *
 *   PIXEL   of a pixel
 *   OWN     of a row, for each thread: 8 or 16
 *   TILE    of a row, for each block: short_tile_bytes()
 *   REACH   from the beginning of a block's window to its tile: short_reach_bytes()
 *   PITCH   of a row of a stage: short_pitch()
 *   ROWS    rows of a stage
 *   ABOVE   rows of the window above its result, and as many below
 *   KEEPS   whether the writer handles channels that are not filtered
 *
 * and these functions. begin (plane, first_byte) comes before all rows; first_byte is the
 * thread's first byte of a tile. take_row<COMPLETES> (own, value) comes for each row of the
 * window, whose bytes lie at `own`, from REACH before the thread's first byte on. If a row
 * COMPLETES the result that lies ABOVE rows above it, `value` becomes the thread's bytes of
 * this result. */
#pragma once

#include "strip-reader.cuh"
#include "strip-writer.cuh"

/* Stages on GPUs without asynchronous copies. */
#define SHORT_WAITED_STAGES 2

/* Windows begin at multiples of this many bytes: whole chunks and whole pixels. */
static constexpr int
short_window_unit (int pixel)
{
  return pixel % 3 == 0 ? 48 : 16;
}

static constexpr int
short_tile_bytes (int own, int pixel)
{
  return STRIP_THREADS * own / short_window_unit (pixel)
      * short_window_unit (pixel);
}

static constexpr int
short_reach_bytes (int above, int pixel)
{
  return strip_round_up (above * pixel, short_window_unit (pixel));
}

/* Rows of a stage: the more bytes a thread has, the fewer, to fit the 48 KB of every GPU. */
static constexpr int
short_rows (int own)
{
  return 64 / own;
}

static constexpr int
short_pitch (int own, int above, int pixel)
{
  return short_tile_bytes (own, pixel) + 2 * short_reach_bytes (above, pixel);
}

/* Bytes of shared memory of a block on a GPU of this capability. */
static inline int
short_shared (int capability, int own, int above, int pixel)
{
  const int stages = capability >= INSTRUCTIONS_CAPABILITY
      ? STRIP_STAGES
      : SHORT_WAITED_STAGES;

  return stages * short_rows (own) * short_pitch (own, above, pixel);
}

/* Writes the first n of 16 bytes, at any alignment. */
static __device__ __noinline__ void
short_write_part (uint8_t *to, int n, uint2 low, uint2 high)
{
  const uint32_t word[] = { low.x, low.y, high.x, high.y };

  if ((uint64_t) to % 16 == 0 && n < 16) {
    write_part (to, n, make_uint4 (low.x, low.y, high.x, high.y));
  } else if ((uint64_t) to % 4 == 0 && n % 4 == 0) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (4 * i < n)
        ((uint32_t *) to)[i] = word[i];
  } else {
#pragma unroll
    for (int i = 0; i < 16; i++)
      if (i < n)
        to[i] = (uint8_t) (word[i / 4] >> 8 * (i % 4));
  }
}

/* Where a thread writes its OWN bytes of each row. */
template <int OWN, bool KEEPS> struct ShortWriter
{
  uint8_t *to; /* of the next row */
  ptrdiff_t stride;
  int at;      /* first byte in the row; row_bytes or more: writes nothing */
  bool mine;   /* some bytes are in the image */
  bool direct; /* all of them are, and one store writes them */

  __device__ __forceinline__ void
  begin (const StripPlane &plane, int y, int byte)
  {
    const uint64_t bits = (uint64_t) plane.dst | (uint64_t) plane.dst_stride;

    at = byte;
    stride = plane.dst_stride;
    to = plane.dst + y * stride + at;
    mine = at < plane.row_bytes;
    direct = !plane.keeps && bits % OWN == 0 && at + OWN <= plane.row_bytes;
  }

  __device__ __forceinline__ void
  skip (int rows)
  {
    to += rows * stride;
  }

  /* Writes row y if it is `inside` the place. */
  __device__ __forceinline__ void
  write (const StripPlane &plane, int y, bool inside,
      const uint2 (&value)[OWN / 8])
  {
    if (inside && direct) {
      if constexpr (OWN == 8)
        *(uint2 *) to = value[0];
      else
        *(uint4 *) to =
            make_uint4 (value[0].x, value[0].y, value[1].x, value[1].y);
    } else if (inside && mine) {
      if constexpr (KEEPS)
#pragma unroll
        for (int i = 0; i < OWN / 8; i++) {
          if (at + 8 * i < plane.row_bytes)
            strip_write (plane, y, at + 8 * i, value[i]);
        }
      else
        short_write_part (
            to, min (plane.row_bytes - at, OWN), value[0], value[OWN / 8 - 1]);
    }
    skip (1);
  }
};

/* Frame has `border`, `order` and `early`, the number of blocks that run at once; Plane has
 * `strip`, a StripPlane. */
template <typename S, typename Frame, typename Plane>
__device__ __forceinline__ void
march_short (const Frame &frame, const Plane &plane, const StripPlace &place,
    uint8_t *shared)
{
  const SepconvBorder border = frame.border;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  constexpr int STAGES = STRIP_STAGES;
#else
  constexpr int STAGES = SHORT_WAITED_STAGES;
#endif
  /* With enough stages, one is filled a step before its rows are taken, so that one barrier
   * serves both. */
  constexpr int EARLY = STAGES > 2 ? 1 : 0;
  constexpr int OWNERS = S::TILE / S::OWN;
  constexpr StripStage size = { S::ROWS, S::PITCH / 16, S::PITCH };
  /* Threads without samples repeat the last thread that has some. */
  const int own = OWNERS < STRIP_THREADS ? min ((int) threadIdx.x, OWNERS - 1)
                                         : (int) threadIdx.x;
  /* Warps right of the image only load rows. */
  const bool idle =
      place.column * S::TILE + (int) threadIdx.x / 32 * 32 * S::OWN
      >= plane.strip.row_bytes;
  const int x0 = (place.column * S::TILE - S::REACH) / S::PIXEL;
  const int rows = place.last - place.first;
  const int steps = (rows + 2 * S::ABOVE + S::ROWS - 1) / S::ROWS;
  int y = place.first - S::ABOVE; /* of the window: the stage's first row */
  StripReader<S::PIXEL> reader;
  ShortWriter<S::OWN, S::KEEPS> writer;
  S strip;

  writer.begin (plane.strip, place.first - 2 * S::ABOVE,
      own == (int) threadIdx.x ? place.column * S::TILE + own * S::OWN
                               : plane.strip.row_bytes);
  strip.begin (plane, own * S::OWN);
  reader.begin (plane.strip, border, x0, y, size);
  if (frame.order == GPU_AFTER_KERNELS)
    reader.await (plane.strip, frame.early, min (steps, STAGES - 1), size);
#pragma unroll
  for (int i = 0; i < STAGES - 1; i++) {
    if (i < steps)
      reader.load (plane.strip, border, shared + i * S::ROWS * S::PITCH, size);
    strip_commit ();
  }
  if (reader.fills && EARLY > 0) {
    strip_wait<STAGES - 2> ();
    __syncthreads ();
    reader.fill (plane.strip, border, y, shared, size);
  }
  for (int step = 0; step < steps; step++) {
    const int ahead = step + STAGES - 1;
    uint8_t *const stage = shared + step % STAGES * S::ROWS * S::PITCH;
    /* Row of the result that the stage's first row completes, counted from the place's first
     * row. */
    const int row = step * S::ROWS - 2 * S::ABOVE;

    if (reader.fills)
      strip_wait<STAGES - 2 - EARLY> ();
    else
      strip_wait<STAGES - 2> ();
    __syncthreads ();
    if (reader.fills && step + EARLY < steps)
      reader.fill (plane.strip, border, y + EARLY * S::ROWS,
          shared + (step + EARLY) % STAGES * S::ROWS * S::PITCH, size);
    if (reader.fills && EARLY == 0)
      __syncthreads ();
    y += S::ROWS;
    if (ahead < steps)
      reader.load (plane.strip, border,
          shared + ahead % STAGES * S::ROWS * S::PITCH, size);
    strip_commit ();
    if (idle)
      continue;

      /* Two rows at a time, so that rows in registers move less often; 2 * ABOVE is even, too. */
#pragma unroll 1
    for (int r = 0; r < min (S::ROWS, rows - row); r += 2) {
      const uint8_t *const two = stage + r * S::PITCH + own * S::OWN;
      uint2 value[2][S::OWN / 8];

      if (row + r < 0) {
        strip.template take_row<false> (two, value[0]);
        strip.template take_row<false> (two + S::PITCH, value[1]);
        writer.skip (2);
        continue;
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        strip.template take_row<true> (two + i * S::PITCH, value[i]);
        writer.write (plane.strip, place.first + row + r + i,
            (unsigned) (row + r + i) < (unsigned) rows, value[i]);
      }
    }
  }
}
