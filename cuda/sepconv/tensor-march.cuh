/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-march: the loop of a block down its strip: stages of its window are loaded, and the
 * rows that they complete are written. */
#pragma once

#include "strip-reader.cuh"
#include "strip-writer.cuh"
#include "tensor-deep.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Selects the arithmetic of the warps of a Shape. */
template <typename S, bool DEEP = S::DEEP> struct Arithmetic
{
  typedef Strip<S> Type;
};

template <typename S> struct Arithmetic<S, true>
{
  typedef DeepStrip<S> Type;
};

/* S: its Shape; Sink: its CountingSink. A step takes in one stage of the window and puts the
 * rows that this completes into shared memory, from where they are written one step later. */
template <typename S, typename Sink> struct March
{
  static constexpr int KS = S::KS;
  static constexpr StripStage SIZE = { STRIP_ROWS, S::CHUNKS, S::PITCH };
  static constexpr int AHEAD =
      S::STAGES - 1; /* stages that are loaded before one is taken */

  const TensorPlane &plane;
  SepconvBorder border;
  uint8_t *shared, *outs;
  uint8_t *out;          /* the lane's part of `outs` */
  const uint8_t *window; /* the lane's part of a stage */
  StripPlace place;
  int x, y, start, steps;
  /* Mirrors per lane for as many pixels as taps reach to one side. */
  StripReader<S::PIXEL, (TENSOR_STEP / 2 * (KS - 1) + 31) / 32> reader;
  StripWriter<S::OUT_CHUNKS, S::OUT_PITCH, S::APART, Sink::WRITTEN> writer;
  typename Arithmetic<S>::Type strip;
  Sink sink;

  __device__ __forceinline__
  March (const TensorPlane &plane, SepconvBorder border, uint8_t *shared)
      : plane (plane), border (border), shared (shared)
  {
    outs = shared + S::STAGES * S::STAGE_BYTES;

    /* Nothing is put into `outs` before the first barrier. */
    const int thread = thread_by (outs);
    const int lane = thread % TENSOR_LANES;
    const int warp = thread / TENSOR_LANES;

    out = outs
        + (S::SPLIT ? tensor_channel (plane.order, warp) * S::APART
                    : 16 * (warp / S::WARPS_OF_PIXEL) * S::WARP_CHUNKS)
        + (S::BY_PIXELS ? lane / 4 * S::OUT_PITCH + lane % 4 * 16
                        : matrices_offset<S::OUT_PITCH, S::PUT_COLUMNS,
                            S::PUT_AT_ONCE> (lane));
    window = shared + 16 * (warp / S::WARPS_OF_PIXEL) * S::WARP_CHUNKS
        + (S::BY_PIXELS ? lane / 4 * S::PITCH + lane % 4 * 16
                        : lane % 16 * S::PITCH + 16 * (lane / 16));
    place = strip_place (plane.strip);
    x = place.column * S::PIXELS;
    /* The matrix row of an image row must not depend on how a frame is cut into parts, since
     * the rounding of sums depends on it. */
    start = place.first / STRIP_ROWS * STRIP_ROWS;
    steps = (place.last - start + STRIP_ROWS - 1) / STRIP_ROWS + KS - 1;
    y = start - plane.above;
  }

  /* The thread's index. Where registers are short, the compiler computes values derived from
   * threadIdx again each time, unless the index could have changed. Where that is expensive,
   * the index is read back from `unused`, a piece of shared memory. */
  static __device__ __forceinline__ int
  thread_by (uint8_t *unused)
  {
    volatile int *const own = (volatile int *) unused + threadIdx.x;

    static_assert (2 * S::OUT_BYTES >= STRIP_THREADS * (int) sizeof *own, "");

    if constexpr (Sink::PUT == 0)
      return threadIdx.x;
    *own = threadIdx.x;
    return *own;
  }

  /* Byte offset of a step's stage; + KS, so that lean steps begin with the first or the third
   * stage. */
  static __device__ __forceinline__ int
  stage_of (int step)
  {
    return (step + KS) % S::STAGES * S::STAGE_BYTES;
  }

  /* Byte offset of the buffer, one of two, for the rows that a step puts. */
  static __device__ __forceinline__ int
  out_of (int step)
  {
    return (step + KS) % 2 * S::OUT_BYTES;
  }

  __device__ __forceinline__ void
  begin (const TensorFrame &frame)
  {
    if (border == SEPCONV_CONSTANT)
      strip_color_sides<S::PIXEL> (plane.strip, x - plane.reach, shared,
          StripStage{ S::STAGES * STRIP_ROWS, S::CHUNKS, S::PITCH });
    reader.begin (plane.strip, border, x - plane.reach, y, SIZE, true);
    /* Before reader.await(): fragments were uploaded by a copy, which an early launch does
     * not overtake. */
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
    sink.clear ();
    __syncthreads ();
    strip.load_starts ();
    if constexpr (Sink::PUT > 0 && S::PUTS_ZEROS)
      if (is_outside ())
        strip.put_zeros ();
  }

  /* Whether everything that the warp puts lies beyond the ends of the rows. */
  __device__ __forceinline__ bool
  is_outside () const
  {
    /* Not `x`, which would occupy a register all the way. */
    return strip_place (plane.strip).column * S::PIXELS
        + S::WARP_PIXELS * ((int) threadIdx.x / TENSOR_LANES)
        >= plane.strip.width;
  }

  /* Removes from the counters the pixels outside the image: all pixels of a warp that is
   * outside, which are zeros; else the rows of the last step that are below the block's
   * part. */
  __device__ __forceinline__ void
  take_away ()
  {
    constexpr int WORDS = 2 * S::WARP_CHUNKS; /* per lane and step */
    const int lane = threadIdx.x % TENSOR_LANES, row = lane / 4;
    const int rows = (place.last - start) % STRIP_ROWS;
    const uint8_t *const own = outs
        + 16 * (threadIdx.x / TENSOR_LANES) * S::WARP_CHUNKS
        + row * S::OUT_PITCH + 4 * (lane % 4);

    if (S::PUTS_ZEROS && is_outside ()) {
      sink.take_away (0, WORDS * (steps - (KS - 1)));
      return;
    }
    if (rows == 0)
      return;
#pragma unroll 1
    for (int r = 0; r < STRIP_ROWS; r += 8)
#pragma unroll 1
      for (int i = 0; i < S::WARP_CHUNKS && r + row >= rows; i++)
        sink.take_away (*(const uint32_t *) (own + out_of (steps - 1)
                            + r * S::OUT_PITCH + 16 * i),
            1);
  }

  /* Writes the rows that all warps have put into the other buffer one step before. */
  __device__ __forceinline__ void
  write_before (int step)
  {
    if (step >= KS)
      writer.write (plane.strip, outs + out_of (step - 1),
          start + (step - KS) * STRIP_ROWS, place.first, place.last);
  }

  /* FIRST: a step that completes no rows, where such steps have a loop of their own.
   * Otherwise it may be any step. The test whether it completes rows is written twice on
   * purpose: with a variable for it, the kernel of 33 taps spills registers. */
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
          plane.order, window + stage, out + out_of (step), sink);
    } else {
      strip.take_rows (plane.order, window + stage);
      if (!FIRST && (S::FIRST_APART || step >= KS - 1))
        strip.complete_rows (plane.order, out + out_of (step), sink);
    }
  }

  /* take() for the steps that complete no rows. Returns the step after them. */
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

  /* The first step that may be lean: those before write nothing, or only some of their
   * rows. */
  __device__ __forceinline__ int
  first_lean () const
  {
    return start < place.first ? KS + 2 : KS;
  }

  /* Whether a block's steps are lean while all their rows belong to the block's part and the
   * image. */
  __device__ __forceinline__ bool
  is_lean () const
  {
    return reader.whole && reader.fills_simply () && writer.whole
        && !plane.strip.keeps;
  }

  /* take() for most steps of most blocks: it tests almost nothing, and takes two steps at a
   * time, so that the offsets of the stages are constants. Returns the first step that is
   * left. */
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
            plane.order, window + stage, out + i % 2 * S::OUT_BYTES, sink);
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
    sink.see_turns (frame.tally);
    write_before (steps);
    if constexpr (Sink::PUT > 0)
      take_away ();
  }
};

/* Computes the block's part of the result. `counters`: in shared memory, used if the Sink
 * COUNTS. Returns the sink's `turns`. */
template <typename S, typename Sink>
__device__ __forceinline__ unsigned
march (const TensorFrame &frame, const TensorPlane &plane, uint8_t *shared,
    uint32_t *counters)
{
  March<S, Sink> way (plane, frame.border, shared);

  /* In a function of the sink, or in another order, these lines make some kernels spill
   * more. */
  if constexpr (Sink::COUNTS)
    way.sink.counters = counters;
  way.writer.tally.begin (counters, plane.skipped);
  way.sink.put.begin (counters, plane.skipped);
  way.sink.turns = 0;
  if (plane.strip.filter)
    way.run (frame);
  else
    strip_copy (frame.order, plane.strip, way.place, way.x * S::PIXEL,
        min ((way.x + S::PIXELS) * S::PIXEL, plane.strip.row_bytes));
  return way.sink.turns;
}

#endif
