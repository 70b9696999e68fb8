/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The read that histograms are compared with: only loads, of 16 bytes, by as many
 * threads as run at once. */
#include "bench-cuda.h"
#include "gpu-check.h"
#include "gpu-launch.cuh"

#define THREADS 512

struct ReadFrame
{
  const uint4 *src;
  size_t n;
  uint32_t *sums;
};

/* Stores sums that nobody reads: without them the compiler would remove the loads. */
template <int LOADS>
static __global__ void
__launch_bounds__ (THREADS)
    read (ReadFrame frame)
{
  __shared__ uint32_t warp_sums[THREADS / 32];
  const uint4 *src = frame.src;
  const size_t step = (size_t) gridDim.x * THREADS, n = frame.n;
  uint32_t sum = 0;

  gpu_admit_next ();
  for (size_t first = (size_t) blockIdx.x * THREADS + threadIdx.x; first < n;
       first += LOADS * step) {
    uint4 value[LOADS];

#pragma unroll
    for (int i = 0; i < LOADS; i++)
      value[i] = first + i * step < n ? gpu_load (&src[first + i * step])
                                      : make_uint4 (0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      sum ^= value[i].x ^ value[i].y ^ value[i].z ^ value[i].w;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2)
    sum ^= __shfl_xor_sync (0xffffffffu, sum, lanes);
  if (threadIdx.x % 32 == 0)
    warp_sums[threadIdx.x / 32] = sum;
  __syncthreads ();
  if (threadIdx.x == 0) {
    for (int i = 1; i < THREADS / 32; i++)
      sum ^= warp_sums[i];
    frame.sums[blockIdx.x] = sum;
  }
  gpu_end_in_turn ();
}

typedef void (*Kernel) (ReadFrame frame);

static Kernel
kernel_with (int loads)
{
  switch (loads) {
    case 1:
      return read<1>;
    case 2:
      return read<2>;
    default:
      return read<4>;
  }
}

/* Reads whole words only, as bench_copy_kernel(). */
bool
bench_read_kernel (const Gpu *gpu, const uint8_t *src, size_t bytes, int loads,
    uint32_t *sums, GpuStream stream, GpuOrder order, Fault *fault)
{
  const Kernel kernel = kernel_with (loads);
  const ReadFrame frame = { (const uint4 *) src, bytes / sizeof (uint4), sums };
  size_t blocks = (frame.n + THREADS - 1) / THREADS, most;
  int at_once = 0;
  bool ok = false;

  if (frame.n == 0)
    return true;
  GPU_CHECK (cudaOccupancyMaxActiveBlocksPerMultiprocessor (
                 &at_once, kernel, THREADS, 0),
      fault);
  most = (size_t) at_once * (size_t) gpu_multiprocessors (gpu);
  most = most < BENCH_READ_SUMS ? most : BENCH_READ_SUMS;
  blocks = blocks < most ? blocks : most;
  GPU_CHECK (order == GPU_BESIDE_KERNELS
          ? gpu_launch_early (
              gpu, kernel, (unsigned) blocks, THREADS, 0, stream, frame)
          : gpu_launch (kernel, (unsigned) blocks, THREADS, 0, stream, frame),
      fault);
  ok = true;
done:
  return ok;
}
