/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-launch: replaces cuda/gpu-launch.cuh. */
#pragma once
#define GPU_LAUNCH_CUH

#include "gpu.h"

#include <cuda_runtime_api.h>

#include <functional>

#define GPU_PREFETCH_BYTES 128

#define GPU_DYNAMIC_SHARED(type, name) \
  type *const name = (type *) emulated_dynamic_shared

#define GPU_PARAMETER const

extern unsigned char emulated_dynamic_shared[]
    __attribute__ ((visibility ("hidden")));

static inline uint32_t
gpu_shared_address (const void *pointer)
{
  return (uint32_t) ((const unsigned char *) pointer - emulated_dynamic_shared);
}

/* Not atomic: emulated threads switch only at barriers. */
static inline void
gpu_add_shared (uint32_t address, uint32_t value)
{
  *(uint32_t *) (emulated_dynamic_shared + address) += value;
}

static inline void
gpu_add_global (unsigned long long *to, unsigned long long value)
{
  *to += value;
}

/* Queues all of the kernel's blocks, which run one after the other. Returns an error
 * for a launch that no GPU accepts, or that needs an attribute set before. */
cudaError_t emulated_launch (const void *kernel, dim3 grid, dim3 block,
    size_t shared, GpuStream stream, std::function<void ()> thread);

template <typename Frame>
static cudaError_t
gpu_launch (void (*kernel) (Frame), dim3 grid, dim3 block, size_t shared,
    GpuStream stream, const Frame &frame)
{
  return emulated_launch (
      (const void *) kernel, grid, block, shared, stream, [kernel, frame] {
        emulated_is_early = false;
        kernel (frame);
      });
}

/* Kernels never overlap here, but must be written so that they can. */
template <typename Frame>
static cudaError_t
gpu_launch_early (const Gpu *, void (*kernel) (Frame), dim3 grid, dim3 block,
    size_t shared, GpuStream stream, const Frame &frame)
{
  return emulated_launch (
      (const void *) kernel, grid, block, shared, stream, [kernel, frame] {
        emulated_is_early = true;
        kernel (frame);
      });
}

static inline void
gpu_admit_next ()
{
}

static inline void
gpu_prefetch (const void *)
{
}

template <typename T>
static inline T
gpu_load (const T *at)
{
  /* A GPU would trap on a misaligned address. */
  if ((uintptr_t) at % alignof (T) != 0)
    abort ();
  return *at;
}

static inline void
gpu_await_previous ()
{
}

static inline void
gpu_end_in_turn ()
{
}
