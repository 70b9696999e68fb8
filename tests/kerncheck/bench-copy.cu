/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The copy that filters are held against: nothing but loads and stores. */
#include "bench-cuda.h"
#include "gpu-check.h"

#define THREADS 256
/* Loads a thread has under way at once. */
#define UNROLL 4

static __global__ void
copy (uint4 *__restrict__ dst, const uint4 *__restrict__ src, size_t n)
{
  const size_t first = (size_t) blockIdx.x * THREADS * UNROLL + threadIdx.x;
  uint4 value[UNROLL];

#pragma unroll
  for (int i = 0; i < UNROLL; i++)
    if (first + (size_t) i * THREADS < n)
      value[i] = src[first + (size_t) i * THREADS];
#pragma unroll
  for (int i = 0; i < UNROLL; i++)
    if (first + (size_t) i * THREADS < n)
      dst[first + (size_t) i * THREADS] = value[i];
}

/* Whole words only: the last few bytes of a frame do not show in its time. */
bool
bench_copy_kernel (uint8_t *dst, const uint8_t *src, size_t bytes,
    GpuStream stream, Fault *fault)
{
  const size_t n = bytes / sizeof (uint4);
  const size_t blocks = (n + THREADS * UNROLL - 1) / (THREADS * UNROLL);
  bool ok = false;

  if (n == 0)
    return true;
  copy<<<(unsigned) blocks, THREADS, 0, stream>>> (
      (uint4 *) dst, (const uint4 *) src, n);
  GPU_CHECK (cudaGetLastError (), fault);
  ok = true;
done:
  return ok;
}
