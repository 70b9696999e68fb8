/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The copy that filters are compared with: only loads and stores. */
#include "bench-cuda.h"
#include "gpu-check.h"
#include "gpu-launch.cuh"

#define THREADS 256
/* Loads in flight per thread. */
#define UNROLL 4

struct CopyFrame
{
  uint4 *dst;
  const uint4 *src;
  size_t n;
};

static __global__ void
copy (CopyFrame frame)
{
  const size_t first = (size_t) blockIdx.x * THREADS * UNROLL + threadIdx.x;
  uint4 value[UNROLL];

  gpu_admit_next ();
#pragma unroll
  for (int i = 0; i < UNROLL; i++)
    if (first + (size_t) i * THREADS < frame.n)
      value[i] = gpu_load (&frame.src[first + (size_t) i * THREADS]);
#pragma unroll
  for (int i = 0; i < UNROLL; i++)
    if (first + (size_t) i * THREADS < frame.n)
      frame.dst[first + (size_t) i * THREADS] = value[i];
  gpu_end_in_turn ();
}

/* Copies whole words only: the last bytes of a frame do not affect its time. */
bool
bench_copy_kernel (const Gpu *gpu, uint8_t *dst, const uint8_t *src,
    size_t bytes, GpuStream stream, GpuOrder order, Fault *fault)
{
  const CopyFrame frame = { (uint4 *) dst, (const uint4 *) src,
    bytes / sizeof (uint4) };
  const unsigned blocks =
      (unsigned) ((frame.n + THREADS * UNROLL - 1) / (THREADS * UNROLL));
  bool ok = false;

  if (frame.n == 0)
    return true;
  GPU_CHECK (order == GPU_BESIDE_KERNELS
          ? gpu_launch_early (gpu, copy, blocks, THREADS, 0, stream, frame)
          : gpu_launch (copy, blocks, THREADS, 0, stream, frame),
      fault);
  ok = true;
done:
  return ok;
}
