/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-kernels: how kernels are set up and queued. */
#include "emulated-faults.h"
#include "emulated-launch.h"
#include "emulated-queue.h"
#include "emulated-runtime.h"
#include "emulated-threads.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

/* Shared memory that a kernel has without being set up for more. */
#define USUAL_SHARED (48 * 1024)

struct Launch
{
  dim3 grid, block;
  size_t shared;
  std::function<void ()> thread;
};

/* What kernels were set up for, which their context takes with it. */
static std::mutex lock;
static std::map<std::pair<CUcontext, const void *>, size_t> most_shared;

static std::pair<CUcontext, const void *>
loaded (const void *kernel)
{
  CUcontext context = nullptr;

  (void) cuCtxGetCurrent (&context);
  return { context, kernel };
}

/* What the code was made for: what the emulated device has, or another for a test. */
static int
code_capability ()
{
  const char *text = getenv ("EMULATED_GPU_CODE");

  return text == nullptr ? 90 : atoi (text);
}

cudaError_t
cudaFuncGetAttributes (cudaFuncAttributes *attributes, const void *)
{
  if (emulated_fault (EMULATED_FAULT_LAUNCH, "cudaFuncGetAttributes"))
    return emulated_result (CUDA_ERROR_NO_BINARY_FOR_GPU);
  if (!emulated_context_is_current ())
    return emulated_result (CUDA_ERROR_INVALID_CONTEXT);
  attributes->sharedSizeBytes = 0;
  attributes->ptxVersion = code_capability ();
  return cudaSuccess;
}

cudaError_t
cudaFuncSetAttribute (
    const void *kernel, cudaFuncAttribute attribute, int value)
{
  if (emulated_fault (EMULATED_FAULT_LAUNCH, "cudaFuncSetAttribute"))
    return emulated_result (CUDA_ERROR_INVALID_VALUE);
  if (!emulated_context_is_current ())
    return emulated_result (CUDA_ERROR_INVALID_CONTEXT);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout
      && value == cudaSharedmemCarveoutMaxShared)
    return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0
      || value > EMULATED_MAX_SHARED)
    return emulated_result (CUDA_ERROR_INVALID_VALUE);

  const std::lock_guard<std::mutex> guard (lock);

  most_shared[loaded (kernel)] = (size_t) value;
  return cudaSuccess;
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor (
    int *blocks, const void *, int, size_t)
{
  if (emulated_fault (EMULATED_FAULT_LAUNCH, "cudaOccupancyMaxActiveBlocks"))
    return emulated_result (CUDA_ERROR_INVALID_VALUE);
  if (!emulated_context_is_current ())
    return emulated_result (CUDA_ERROR_INVALID_CONTEXT);
  *blocks = 2;
  return cudaSuccess;
}

static bool
may_have (const void *kernel, size_t shared)
{
  const std::lock_guard<std::mutex> guard (lock);
  const auto found = most_shared.find (loaded (kernel));

  return shared <= (found == most_shared.end () ? USUAL_SHARED : found->second);
}

static void
run (void *launch)
{
  const Launch *l = (const Launch *) launch;

  emulated_run (l->grid, l->block, l->shared, l->thread);
}

static void
release (void *launch)
{
  delete (Launch *) launch;
}

cudaError_t
emulated_launch (const void *kernel, dim3 grid, dim3 block, size_t shared,
    GpuStream stream, std::function<void ()> thread)
{
  const unsigned n = block.x * block.y * block.z;
  Launch *launch;
  CUresult status;

  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535
      || grid.z > 65535 || n == 0 || n > EMULATED_MAX_THREADS
      || !may_have (kernel, shared))
    return emulated_result (CUDA_ERROR_INVALID_VALUE);
  launch = new Launch{ grid, block, shared, std::move (thread) };
  status = emulatedEnqueue (stream, run, launch, release);
  if (status != CUDA_SUCCESS)
    release (launch);
  return emulated_result (status);
}
