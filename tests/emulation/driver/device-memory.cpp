/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device-memory.h"

#include "emulated-faults.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <stdlib.h>
#include <string.h>

#define DEVICE_ALIGNMENT 256
#define HOST_ALIGNMENT 4096
#define PITCH_ALIGNMENT 512

/* Whoever expects new memory to be clear sees that it is not. */
#define GARBAGE 0xcd

/* By their starts; under the state's lock. */
static std::map<uintptr_t, Allocation> &allocations =
    *new std::map<uintptr_t, Allocation>;
static size_t used[EMULATED_MAX_DEVICES];
/* Bytes at once, of all devices and of pinned memory. */
static size_t most_on_devices, pinned, most_pinned;

static size_t
used_on_devices ()
{
  return std::accumulate (std::begin (used), std::end (used), (size_t) 0);
}

Found
find_allocation (uintptr_t at, size_t bytes, Allocation *allocation)
{
  const std::lock_guard<std::mutex> guard (state_lock);
  auto after = allocations.upper_bound (at);

  if (after == allocations.begin ())
    return Found::unknown;
  *allocation = (--after)->second;
  if (at >= allocation->start + allocation->bytes)
    return Found::unknown;
  return bytes <= allocation->start + allocation->bytes - at ? Found::whole
                                                             : Found::part;
}

static CUresult
allocate (void **memory, size_t bytes, CUmemorytype type)
{
  const bool on_device = type == CU_MEMORYTYPE_DEVICE;
  std::shared_ptr<Context> context;

  CHECK (current_context (&context));
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;

  const std::lock_guard<std::mutex> guard (state_lock);
  size_t *total = &used[context->device];

  if (bytes > DEVICE_BYTES - (on_device ? *total : 0)
      || posix_memalign (
             memory, on_device ? DEVICE_ALIGNMENT : HOST_ALIGNMENT, bytes)
          != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memset (*memory, GARBAGE, bytes);
  if (on_device) {
    *total += bytes;
    most_on_devices = std::max (most_on_devices, used_on_devices ());
  } else {
    most_pinned = std::max (most_pinned, pinned += bytes);
  }
  allocations[(uintptr_t) *memory] = { (uintptr_t) *memory, bytes, type,
    context };
  return CUDA_SUCCESS;
}

/* With the lock held. */
static void
forget (const Allocation &allocation)
{
  if (allocation.type == CU_MEMORYTYPE_DEVICE)
    used[allocation.context->device] -= allocation.bytes;
  else
    pinned -= allocation.bytes;
  free ((void *) allocation.start);
}

/* Pinned memory may be freed in any context, as it may be used there. */
static CUresult
release (uintptr_t start, CUmemorytype type)
{
  std::shared_ptr<Context> context;
  Allocation allocation;

  CHECK (current_context (&context));
  if (find_allocation (start, 0, &allocation) == Found::unknown
      || allocation.start != start || allocation.type != type)
    return CUDA_ERROR_INVALID_VALUE;
  /* As the driver does: whatever uses it ends first. */
  wait_for_streams (allocation.context);
  wait_for_streams (context);

  const std::lock_guard<std::mutex> guard (state_lock);

  if (allocations.erase (start) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  forget (allocation);
  return CUDA_SUCCESS;
}

bool
has_memory (const Context *context)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  for (const auto &entry : allocations)
    if (entry.second.context.get () == context)
      return true;
  return false;
}

void
free_memory_of (const Context *context)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  for (auto i = allocations.begin (); i != allocations.end ();)
    if (i->second.context.get () == context) {
      forget (i->second);
      i = allocations.erase (i);
    } else {
      ++i;
    }
}

void
count_memory (long *device, long *pinned)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  for (const auto &entry : allocations)
    (*(entry.second.type == CU_MEMORYTYPE_DEVICE ? device : pinned))++;
}

void
emulated_most_memory (size_t *device, size_t *host)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  *device = most_on_devices;
  *host = most_pinned;
  most_on_devices = used_on_devices ();
  most_pinned = pinned;
}

CUresult
cuMemAlloc (CUdeviceptr *memory, size_t bytes)
{
  void *allocated = nullptr;

  MAY_FAIL (MEMORY, "cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK (allocate (&allocated, bytes, CU_MEMORYTYPE_DEVICE));
  *memory = (uintptr_t) allocated;
  return CUDA_SUCCESS;
}

CUresult
cuMemAllocPitch (CUdeviceptr *memory, size_t *pitch, size_t width,
    size_t height, unsigned element)
{
  if ((element != 4 && element != 8 && element != 16) || width == 0
      || height == 0 || width > DEVICE_BYTES || height > DEVICE_BYTES)
    return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
  return cuMemAlloc (memory, *pitch * height);
}

CUresult
cuMemFree (CUdeviceptr memory)
{
  return memory == 0
      ? CUDA_SUCCESS
      : freed (release ((uintptr_t) memory, CU_MEMORYTYPE_DEVICE),
          "memory was freed that is none of the device's");
}

CUresult
cuMemHostAlloc (void **memory, size_t bytes, unsigned flags)
{
  MAY_FAIL (MEMORY, "cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  if (flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
          | CU_MEMHOSTALLOC_WRITECOMBINED))
    return CUDA_ERROR_INVALID_VALUE;
  return allocate (memory, bytes, CU_MEMORYTYPE_HOST);
}

CUresult
cuMemAllocHost (void **memory, size_t bytes)
{
  return cuMemHostAlloc (memory, bytes, 0);
}

CUresult
cuMemFreeHost (void *memory)
{
  return freed (release ((uintptr_t) memory, CU_MEMORYTYPE_HOST),
      "memory was freed that is no pinned memory of the host");
}

CUresult
cuMemHostGetDevicePointer (CUdeviceptr *device, void *host, unsigned flags)
{
  std::shared_ptr<Context> context;
  Allocation allocation;

  CHECK (current_context (&context));
  if (flags != 0
      || find_allocation ((uintptr_t) host, 0, &allocation) == Found::unknown
      || allocation.type != CU_MEMORYTYPE_HOST)
    return CUDA_ERROR_INVALID_VALUE;
  *device = (uintptr_t) host;
  return CUDA_SUCCESS;
}

CUresult
cuMemGetInfo (size_t *free_bytes, size_t *total)
{
  std::shared_ptr<Context> context;

  CHECK (current_context (&context));

  const std::lock_guard<std::mutex> guard (state_lock);

  *total = DEVICE_BYTES;
  *free_bytes = DEVICE_BYTES - used[context->device];
  return CUDA_SUCCESS;
}

CUresult
cuPointerGetAttribute (
    void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  std::shared_ptr<Context> context;
  Allocation allocation;

  CHECK (current_context (&context));
  if (find_allocation ((uintptr_t) pointer, 0, &allocation) == Found::unknown)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *(CUcontext *) value = allocation.context->handle;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *(unsigned *) value = allocation.type;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *(CUdeviceptr *) value = pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (allocation.type != CU_MEMORYTYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
      *(void **) value = (void *) (uintptr_t) pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *(int *) value = allocation.context->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *(CUdeviceptr *) value = allocation.start;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *(size_t *) value = allocation.bytes;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}
