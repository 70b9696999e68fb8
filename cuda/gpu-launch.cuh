/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-launch: how kernels are started, and how they name the shared memory that the
 * launch gives them. A guard instead of a pragma, since tests/emulation has its own. */
#ifndef GPU_LAUNCH_CUH
#define GPU_LAUNCH_CUH

#include "gpu.h"

#include <cuda_runtime_api.h>

#include <stdint.h>

#define GPU_PREFETCH_BYTES 128

/* Declares it in a kernel, aligned for any load. */
#define GPU_DYNAMIC_SHARED(type, name) \
  extern __shared__ __align__ (128) type name[]

/* A kernel's parameter that functions take the address of: it is read where parameters are,
 * in constant memory, and not copied. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define GPU_PARAMETER const __grid_constant__
#else
#define GPU_PARAMETER const
#endif

/* Where something is in shared memory: 32 bits, for arithmetic that ends there. */
__device__ __forceinline__ uint32_t
gpu_shared_address (const void *pointer)
{
  return (uint32_t) __cvta_generic_to_shared (pointer);
}

/* Adds to the word at such an address, as one of many threads. */
__device__ __forceinline__ void
gpu_add_shared (uint32_t address, uint32_t value)
{
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value)
               : "memory");
}

/* The same in global memory, which the compiler may not know that it is. */
__device__ __forceinline__ void
gpu_add_global (unsigned long long *to, unsigned long long value)
{
  asm volatile(
      "red.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global (to)),
      "l"(value)
      : "memory");
}

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

/* Likewise, for a kernel that may begin while the one before it on the stream still
 * runs: where the GPU can, its blocks take the place of the last ones of that as they end,
 * instead of the microsecond or two between kernels. All its threads call
 * gpu_await_previous() before they touch memory that kernels write, or write any
 * themselves; or, for GPU_BESIDE_KERNELS, gpu_end_in_turn() at their end. Only kernels are
 * overtaken: what copies brought is there.
 *
 * Such a kernel reads frames, and whatever else a kernel before it may write, by plain
 * loads, gpu_load() or asynchronous copies, which are coherent; never by __ldg(), by
 * `const __restrict__` pointers, which the compiler may turn into the same, or through
 * textures. Those go by the non-coherent path (ld.global.nc), and what that reads must not
 * change from a kernel's beginning to its end: a kernel that begins early begins while the
 * one before it still writes.
 * Sources: CUDA C++ Programming Guide, Programmatic Dependent Launch; PTX ISA 8,
 * ld.global.nc. */
template <typename Frame>
static cudaError_t
gpu_launch_early (const Gpu *gpu, void (*kernel) (Frame), dim3 grid, dim3 block,
    size_t shared, GpuStream stream, const Frame &frame)
{
  void *arguments[] = { const_cast<Frame *> (&frame) };
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute early = {};

  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = gpu_overlaps_kernels (gpu) ? 1 : 0;
  return cudaLaunchKernelExC (&config, (const void *) kernel, arguments);
}

/* The next kernel may begin once all blocks have called this, or ended. */
__device__ __forceinline__ void
gpu_admit_next ()
{
#if __CUDA_ARCH__ >= 10 * GPU_EARLY_CAPABILITY
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Before gpu_await_previous(): a hint that the line of memory that an address is in,
 * GPU_PREFETCH_BYTES, is about to be read. It comes as far as the L2, where it is seen
 * what is written to it until then. */
__device__ __forceinline__ void
gpu_prefetch (const void *line)
{
#if __CUDA_ARCH__ >= 10 * GPU_EARLY_CAPABILITY
  asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
#else
  (void) line;
#endif
}

/* Loads what a kernel before this one may have written while this one was there already,
 * after gpu_await_previous(): from the L2, as is worth it for what is read once. The pointer
 * is to global memory, which the compiler may not know of one that was calculated. */
template <typename T>
__device__ __forceinline__ T
gpu_load (const T *at)
{
  return __ldcg (at);
}

/* Returns when all that was queued before this kernel is done, and seen. */
__device__ __forceinline__ void
gpu_await_previous ()
{
#if __CUDA_ARCH__ >= 10 * GPU_EARLY_CAPABILITY
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The last that a kernel of one row of blocks does: it ends after those before it, so
 * that what is queued after it comes after them, too. One block that waits is enough, the
 * last to begin: no other keeps a place. Inline, this would change the registers of all
 * that comes before it. */
static __device__ __noinline__ void
gpu_end_in_turn ()
{
  if (blockIdx.x == gridDim.x - 1)
    gpu_await_previous ();
}

#endif
