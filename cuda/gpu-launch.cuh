/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-launch: how kernels are started, and how they name the shared memory that the
 * launch gives them. A guard instead of a pragma, since tests/emulation has its own. */
#ifndef GPU_LAUNCH_CUH
#define GPU_LAUNCH_CUH

#include "gpu.h"

#include <cuda_runtime_api.h>

/* Declares it in a kernel, aligned for any load. */
#define GPU_DYNAMIC_SHARED(type, name) \
  extern __shared__ __align__ (128) type name[]

/* Queues a kernel that takes one struct. To be wrapped in GPU_CHECK. */
template <typename Frame>
static cudaError_t
gpu_launch (void (*kernel) (Frame), dim3 grid, dim3 block, size_t shared,
    GpuStream stream, const Frame &frame)
{
  void *arguments[] = { const_cast<Frame *> (&frame) };

  return cudaLaunchKernel (
      (const void *) kernel, grid, block, arguments, shared, stream);
}

#endif
