/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-launch: stands in for cuda/gpu-launch.cuh. */
#pragma once
#define GPU_LAUNCH_CUH

#include "gpu.h"

#include <cuda_runtime_api.h>

#include <functional>

#define GPU_DYNAMIC_SHARED(type, name) \
  type *const name = (type *) emulated_dynamic_shared

extern unsigned char emulated_dynamic_shared[];

/* Runs the blocks one after the other; an error for what no GPU takes. */
cudaError_t emulated_launch (
    dim3 grid, dim3 block, size_t shared, std::function<void ()> kernel);

template <typename Frame>
static cudaError_t
gpu_launch (void (*kernel) (Frame), dim3 grid, dim3 block, size_t shared,
    GpuStream, const Frame &frame)
{
  return emulated_launch (
      grid, block, shared, [kernel, &frame] { kernel (frame); });
}
