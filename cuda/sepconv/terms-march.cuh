/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-march: the loop of a block down its strip in terms-tensor, and the kernel. A step takes
 * in one stage of the window and puts the rows that this completes into shared memory, from where
 * they are written one step later. */
#pragma once

#include "strip-reader.cuh"
#include "strip-writer.cuh"
#include "terms-deep.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Selects the arithmetic of the warps of a TermsShape. */
template <typename S, bool DEEP = S::DEEP> struct TermsArithmetic
{
  typedef TermsStrip<S> Type;
};

template <typename S> struct TermsArithmetic<S, true>
{
  typedef TermsDeepStrip<S> Type;
};

/* S: its TermsShape. */
template <typename S> struct TermsMarch
{
  static constexpr int KS = S::KS, ABOVE = terms_above (KS);
  static constexpr int AHEAD = S::AHEAD, LEAN_STEPS = 2;
  static constexpr StripStage SIZE = { STRIP_ROWS, S::CHUNKS, S::PITCH };
  static_assert (KS == 2 || KS == 3, "TermsCenter is found for these");

  const TermsTensorFrame &frame;
  const TermsTensorPlane &plane;
  uint8_t *shared, *outs;
  uint8_t *out; /* the lane's part of `outs` */
  int window;   /* the lane's part of a stage */
  /* Byte offset of the lane's sample in a stage, if it lies in the stage's first row. */
  int sample;
  StripPlace place;
  int x, y, start, steps;
  StripReader<S::PIXEL> reader;
  StripWriter<S::OUT_CHUNKS, S::OUT_PITCH, 0, 0> writer;
  typename TermsArithmetic<S>::Type strip;

  __device__ __forceinline__
  TermsMarch (const TermsTensorFrame &frame, const TermsTensorPlane &plane,
      uint8_t *shared)
      : frame (frame), plane (plane), shared (shared), strip (frame, plane)
  {
    const int lane = threadIdx.x % TENSOR_LANES;
    const int warp = threadIdx.x / TENSOR_LANES;
    const int own = 16 * (warp / S::WARPS_OF_PIXEL) * S::WARP_CHUNKS;

    outs = shared + S::STAGES * S::STAGE_BYTES;
    if constexpr (S::BY_PIXELS) {
      out = outs + own + lane / 4 * S::OUT_PITCH + lane % 4 * 16;
      window = lane / 4 * S::PITCH + own + lane % 4 * 16;
      sample = window + plane.reach * S::PIXEL;
    } else {
      out = outs + own
          + matrices_offset<S::OUT_PITCH, S::PUT_CHUNKS, true> (lane);
      window = lane % 16 * S::PITCH + own + lane / 16 * 16;
      sample =
          lane / 4 * S::PITCH + own + lane % 4 * 4 + plane.reach * S::PIXEL;
    }
    place = strip_place (plane.strip);
    x = place.column * S::PIXELS;
    /* The matrix row of an image row must not depend on how a frame is cut into parts, since the
     * rounding of sums depends on it. */
    start = place.first / STRIP_ROWS * STRIP_ROWS;
    steps = (place.last - start + STRIP_ROWS - 1) / STRIP_ROWS + KS - 1;
    y = start - ABOVE;
  }

  __device__ __forceinline__ uint8_t *
  stage_of (int step) const
  {
    return shared + step % S::STAGES * S::STAGE_BYTES;
  }

  /* The samples of the rows that a step completes. With KS 2, half of them lie in the step's
   * stage and half in the one before; with KS 3, all lie in the one before. */
  __device__ __forceinline__ TermsCenter
  center_of (int step) const
  {
    const uint8_t *before = stage_of (step + S::STAGES - 1) + sample;

    if constexpr (KS == 2)
      return { { before + 8 * S::PITCH, stage_of (step) + sample } };
    else
      return { { before, before + 8 * S::PITCH } };
  }

  /* Writes the rows that all warps have put into the other buffer one step before. */
  __device__ __forceinline__ void
  write_before (int step)
  {
    if (step >= KS)
      writer.write (plane.strip, outs + (step - 1) % 2 * S::OUT_BYTES,
          start + (step - KS) * STRIP_ROWS, place.first, place.last);
  }

  __device__ __forceinline__ void
  begin ()
  {
    if (frame.border == SEPCONV_CONSTANT)
      strip_color_sides<S::PIXEL> (plane.strip, x - plane.reach, shared,
          StripStage{ S::STAGES * STRIP_ROWS, S::CHUNKS, S::PITCH });
    reader.begin (plane.strip, frame.border, x - plane.reach, y, SIZE, true);
    /* Before reader.await(): fragments were uploaded by a copy, which an early launch does not
     * overtake. */
    strip.begin (
        (uint4 *) (outs + 2 * S::OUT_BYTES), threadIdx.x % TENSOR_LANES);
    if (frame.order == GPU_AFTER_KERNELS)
      reader.await (plane.strip, frame.early, min (steps, AHEAD), SIZE);
#pragma unroll 1
    for (int i = 0; i < AHEAD; i++) {
      if (i < steps)
        reader.load (plane.strip, frame.border, stage_of (i), SIZE);
      copy_async_commit ();
    }
    writer.begin (plane.strip, start, x * S::PIXEL);
    __syncthreads ();
    strip.load_starts ();
  }

  __device__ __forceinline__ void
  take (int step)
  {
    uint8_t *const stage = stage_of (step);

    copy_async_wait<AHEAD - 1> ();
    __syncthreads ();
    if (reader.fills) {
      reader.fill (
          plane.strip, frame.border, y + step * STRIP_ROWS, stage, SIZE);
      __syncthreads ();
    }
    if (step + AHEAD < steps)
      reader.load (plane.strip, frame.border, stage_of (step + AHEAD), SIZE);
    copy_async_commit ();
    write_before (step);
    strip.take_rows (stage + window);
    if (step >= KS - 1)
      strip.complete_rows (center_of (step), out + step % 2 * S::OUT_BYTES);
  }

  /* Whether a block's steps are lean while all their rows belong to the block's part and the
   * image. */
  __device__ __forceinline__ bool
  is_lean () const
  {
    return reader.whole && reader.fills_simply () && writer.whole;
  }

  /* take() for most steps of most blocks: it tests almost nothing, and takes several steps at a
   * time, since sums are copied up from register to register only after all of them. Returns the
   * first step that is left. */
  __device__ __forceinline__ int
  take_lean (int step)
  {
    const int below = (plane.strip.height - y) / STRIP_ROWS;
    const int end = min (KS + (place.last - start) / STRIP_ROWS,
        below < steps ? below - AHEAD : steps);

    for (; step + LEAN_STEPS <= end; step += LEAN_STEPS) {
#pragma unroll
      for (int i = 0; i < LEAN_STEPS; i++) {
        uint8_t *const stage = stage_of (step + i);

        copy_async_wait<AHEAD - 1> ();
        __syncthreads ();
        if (reader.sides) {
          reader.fill_mirrors (stage, SIZE);
          __syncthreads ();
        }
        if (step + i + AHEAD < steps)
          reader.copy (stage_of (step + i + AHEAD), SIZE);
        reader.skip (SIZE);
        copy_async_commit ();
        writer.write_whole (outs + (step + i + 1) % 2 * S::OUT_BYTES);
        strip.take_rows (stage + window);
        strip.complete_rows (
            center_of (step + i), out + (step + i) % 2 * S::OUT_BYTES);
      }
    }
    return step;
  }

  __device__ __forceinline__ void
  run ()
  {
    /* Steps before it write nothing, or only some of their rows. */
    const int first_lean = start < place.first ? KS + 1 : KS;

    begin ();
    for (int step = 0; step < steps; step++) {
      if (step == first_lean && is_lean ()) {
        step = take_lean (step);
        if (step == steps)
          break;
      }
      take (step);
    }
    __syncthreads ();
    write_before (steps);
  }
};

#endif

template <int KS, int PARTS, int BYTES, int C, TermsMode MODE, bool DEEP>
__device__ __forceinline__ void
terms_march (const TermsTensorFrame &frame, const TermsTensorPlane &plane,
    uint8_t *shared)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  typedef TermsShape<KS, PARTS, BYTES, C, MODE, DEEP> S;

  if (plane.strip.filter) {
    TermsMarch<S> way (frame, plane, shared);

    way.run ();
  } else {
    const StripPlace place = strip_place (plane.strip);
    const int first = place.column * S::PIXELS * S::PIXEL;

    strip_copy (frame.order, plane.strip, place, first,
        min (first + S::PIXELS * S::PIXEL, plane.strip.row_bytes));
  }
#endif
}

/* FOUR: for a plane of four channels, the only one; else for planes of one or two channels. */
template <int KS, int PARTS, int BYTES, bool FOUR, TermsMode MODE, bool DEEP>
static __global__ void
__launch_bounds__ (STRIP_THREADS, terms_blocks_at_once (FOUR, MODE, DEEP))
    terms_tensor_strips (GPU_PARAMETER TermsTensorFrame frame)
{
  GPU_DYNAMIC_SHARED (uint8_t, shared);

  gpu_admit_next ();
  const TermsTensorPlane &plane =
      frame.plane[FOUR ? 0 : strip_find_plane (frame)];

  if constexpr (FOUR)
    terms_march<KS, PARTS, BYTES, 4, MODE, DEEP> (frame, plane, shared);
  else if (plane.strip.channels == 1)
    terms_march<KS, PARTS, BYTES, 1, MODE, DEEP> (frame, plane, shared);
  else
    terms_march<KS, PARTS, BYTES, 2, MODE, DEEP> (frame, plane, shared);
  gpu_end_in_turn ();
}

template <int KS, int PARTS, int BYTES, bool FOUR, TermsMode MODE,
    bool DEEP = false>
static constexpr TermsTensorVariant
terms_variant ()
{
  typedef TermsShape<KS, PARTS, BYTES, 1, MODE, DEEP> S1;
  typedef TermsShape<KS, PARTS, BYTES, 2, MODE, DEEP> S2;
  typedef TermsShape<KS, PARTS, DEEP ? BYTES : 1, 4, MODE, DEEP> S4;
  constexpr int one_or_two = S1::SHARED > S2::SHARED ? S1::SHARED : S2::SHARED;
  constexpr int shared = FOUR ? S4::SHARED : one_or_two;

  static_assert (shared <= 99 * 1024, "all GPUs of the capability have it");
  return { terms_tensor_strips<KS, PARTS, BYTES, FOUR, MODE, DEEP>, KS, PARTS,
    BYTES, FOUR, MODE, DEEP, shared,
    { 0, S1::PIXELS, S2::PIXELS, 0, S4::PIXELS } };
}

/* The variants for deep samples, sums of two FP16 values. */
#define TERMS_N_DEEP 20
extern const TermsTensorVariant terms_deep_variants[TERMS_N_DEEP];
