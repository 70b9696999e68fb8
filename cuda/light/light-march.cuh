/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-march: the loop of a block down its strip in light-tensor, and the kernel. A step
 * decodes a stage of 16 rows, sums it along x, and makes the rows that this completes, which
 * are written to the image a step later. */
#pragma once

#include "light-chroma.cuh"

#include "../sepconv/strip-reader.cuh"
#include "../sepconv/strip-writer.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* S: its LightShape. */
template <typename S> struct LightMarch
{
  static constexpr int KS = S::KS, AHEAD = S::AHEAD;
  static constexpr StripStage SIZE = { STRIP_ROWS, S::CHUNKS, S::PITCH };
  static_assert (
      KS == 2 || KS == 3, "the rows that are kept are found for these");

  const LightTensorFrame &frame;
  const LightTensorPlane &plane;
  uint8_t *shared, *outs;
  uint8_t *out; /* the lane's part of `outs` */
  int kept;     /* offset of the lane's pixels in a stage, bytes */
  StripPlace place;
  int x, y, start, steps;
  StripReader<S::PIXEL> reader;
  StripWriter<S::OUT_CHUNKS, S::OUT_PITCH, 0, 0> writer;
  LightDecoder<S> decoder;
  LightStrip<S> strip;

  __device__ __forceinline__
  LightMarch (const LightTensorFrame &frame, const LightTensorPlane &plane,
      uint8_t *shared)
      : frame (frame), plane (plane), shared (shared), decoder (frame, shared),
        strip (frame, shared)
  {
    const int lane = threadIdx.x % TENSOR_LANES;
    const int own = threadIdx.x / TENSOR_LANES * S::WARP_PIXELS + lane % 4 * 4;

    outs = shared + S::OUTS_AT;
    out = outs + lane / 4 * S::OUT_PITCH + own * S::PIXEL;
    kept = lane / 4 * S::PITCH + (S::READ_REACH + own) * S::PIXEL;
    place = strip_place (plane.strip);
    x = place.column * S::PIXELS;
    /* The position of a row in its matrix must not depend on how a frame is cut into strips,
     * because the rounding of sums depends on it. */
    start = place.first / STRIP_ROWS * STRIP_ROWS;
    steps = (place.last - start + STRIP_ROWS - 1) / STRIP_ROWS + KS - 1;
    y = start - S::ABOVE;
  }

  __device__ __forceinline__ uint8_t *
  stage_of (int step) const
  {
    return shared + step % S::STAGES * S::STAGE_BYTES;
  }

  /* Writes the rows that all warps put into the other buffer in the step before. */
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
    reader.begin (plane.strip, frame.border, x - S::READ_REACH, y, SIZE);
    /* Constants were sent by a copy, and a kernel never overtakes a copy. */
    strip.begin (shared);
    decoder.begin (shared);
    if (frame.order == GPU_AFTER_KERNELS)
      reader.await (plane.strip, frame.early, min (steps, AHEAD), SIZE);
#pragma unroll 1
    for (int i = 0; i < AHEAD; i++) {
      if (i < steps)
        reader.load (plane.strip, frame.border, stage_of (i), SIZE);
      copy_async_commit ();
    }
    writer.begin (plane.strip, start, x * S::PIXEL);
  }

  /* Decodes a stage whose first row is y0. */
  __device__ __forceinline__ void
  decode (const uint8_t *stage, int y0)
  {
    decoder.decode (stage);
    __syncthreads ();
    if (frame.border == SEPCONV_CONSTANT
        && (x < S::REACH || x + S::PIXELS + S::REACH > plane.strip.width
            || y0 < 0 || y0 + STRIP_ROWS > plane.strip.height)) {
      light_put_border<S> (plane, x - S::REACH, y0, decoder.work);
      __syncthreads ();
    }
  }

  /* Makes the rows that a step completes. Their source lies half in this stage and half in the
   * one before if KS is 2, and all in the one before if KS is 3. */
  __device__ __forceinline__ void
  complete (int step)
  {
    const uint8_t *const before = stage_of (step + S::STAGES - 1) + kept;
    const uint8_t *const rows[2] = {
      KS == 2 ? before + 8 * S::PITCH : before,
      KS == 2 ? stage_of (step) + kept : before + 8 * S::PITCH,
    };

    strip.complete_rows (rows, out + step % 2 * S::OUT_BYTES);
  }

  __device__ __forceinline__ void
  take (int step)
  {
    uint8_t *const stage = stage_of (step);
    const int y0 = y + step * STRIP_ROWS;

    copy_async_wait<AHEAD - 1> ();
    __syncthreads ();
    if (reader.fills) {
      reader.fill (plane.strip, frame.border, y0, stage, SIZE);
      __syncthreads ();
    }
    if (step + AHEAD < steps)
      reader.load (plane.strip, frame.border, stage_of (step + AHEAD), SIZE);
    copy_async_commit ();
    write_before (step);
    decode (stage, y0);
    strip.take_rows ();
    if (step >= KS - 1)
      complete (step);
  }

  __device__ __forceinline__ void
  run ()
  {
    begin ();
#pragma unroll 1
    for (int step = 0; step < steps; step++)
      take (step);
    __syncthreads ();
    write_before (steps);
  }
};

/* One block of a plane of one channel, or of pixels of four channels. */
template <typename S>
__device__ __forceinline__ void
light_march (const LightTensorFrame &frame, uint8_t *shared)
{
  const LightTensorPlane &plane
      = frame.plane[S::FORM == LIGHT_SINGLES ? strip_find_plane (frame) : 0];

  if (plane.strip.filter) {
    LightMarch<S> way (frame, plane, shared);

    way.run ();
  } else {
    const StripPlace place = strip_place (plane.strip);
    const int first = place.column * S::PIXELS * S::PIXEL;

    strip_copy (frame.order, plane.strip, place, first,
        min (first + S::PIXELS * S::PIXEL, plane.strip.row_bytes));
  }
}

#endif

static constexpr int
light_blocks_at_once (int steps, LightForm form)
{
  return steps == 3 && form != LIGHT_SINGLES ? 2 : 3;
}

template <int KS, LightForm FORM>
static __global__ void
__launch_bounds__ (STRIP_THREADS, light_blocks_at_once (KS, FORM))
    light_tensor_strips (GPU_PARAMETER LightTensorFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  typedef LightShape<KS, FORM> S;
  GPU_DYNAMIC_SHARED (uint8_t, shared);

  gpu_admit_next ();
  if constexpr (S::IN_PLANES) {
    LightChromaMarch<S> way (frame, shared);

    way.run ();
  } else {
    light_march<S> (frame, shared);
  }
  gpu_end_in_turn ();
#endif
}
