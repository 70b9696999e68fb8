/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* copies: rows from and to memory that is the device's, pinned or pageable. Pageable
 * memory is the caller's again when a call returns. */
#include "device-memory.h"
#include "emulated-queue.h"
#include "streams.h"

#include <atomic>
#include <string.h>

static std::atomic<unsigned long long> copies;

/* Rows of one side of a copy. */
struct Rows
{
  char *first;
  size_t pitch;
  bool pageable;
};

static size_t
span (size_t pitch, size_t width, size_t height)
{
  return (height - 1) * pitch + width;
}

/* What the rows lie in, as far as the memory's type and extent allow them there. */
static CUresult
place_rows (CUmemorytype type, const void *host, CUdeviceptr device, size_t x,
    size_t y, size_t pitch, size_t width, size_t height, Rows *rows)
{
  const uintptr_t base =
      type == CU_MEMORYTYPE_HOST ? (uintptr_t) host : (uintptr_t) device;
  const uintptr_t at = base + y * pitch + x;
  Allocation allocation;
  Found found;

  if (type == CU_MEMORYTYPE_ARRAY)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (base == 0 || (height > 1 && pitch < x + width))
    return CUDA_ERROR_INVALID_VALUE;
  found = find_allocation (at, span (pitch, width, height), &allocation);
  if (found == Found::part)
    return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEMORYTYPE_DEVICE && found == Found::unknown)
    return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEMORYTYPE_HOST && found == Found::whole
      && allocation.type == CU_MEMORYTYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  *rows = { (char *) at, pitch, found == Found::unknown };
  return CUDA_SUCCESS;
}

static void
copy_rows (const Rows &to, const Rows &from, size_t width, size_t height)
{
  for (size_t y = 0; y < height; y++)
    memcpy (to.first + y * to.pitch, from.first + y * from.pitch, width);
}

static CUresult
copy_2d (const CUDA_MEMCPY2D &copy, CUstream stream, bool wait)
{
  const size_t width = copy.WidthInBytes, height = copy.Height;
  Rows from, to;

  copies++;
  MAY_FAIL (COPY, "cuMemcpy2D", CUDA_ERROR_INVALID_VALUE);
  if (width == 0 || height == 0)
    return enqueue (
        stream, [] {}, wait);
  CHECK (place_rows (copy.srcMemoryType, copy.srcHost, copy.srcDevice,
      copy.srcXInBytes, copy.srcY, copy.srcPitch, width, height, &from));
  CHECK (place_rows (copy.dstMemoryType, copy.dstHost, copy.dstDevice,
      copy.dstXInBytes, copy.dstY, copy.dstPitch, width, height, &to));
  if (!from.pageable || wait)
    return enqueue (
        stream, [=] { copy_rows (to, from, width, height); },
        wait || to.pageable);

  const auto staged = std::make_shared<std::vector<char>> (width * height);

  copy_rows ({ staged->data (), width, false }, from, width, height);
  return enqueue (
      stream,
      [=] {
        copy_rows (to, { staged->data (), width, false }, width, height);
      },
      to.pageable);
}

unsigned long long
emulatedCopies (void)
{
  return copies;
}

CUresult
cuMemcpy2D (const CUDA_MEMCPY2D *copy)
{
  return copy_2d (*copy, nullptr, true);
}

CUresult
cuMemcpy2DAsync (const CUDA_MEMCPY2D *copy, CUstream stream)
{
  return copy_2d (*copy, stream, false);
}

static CUDA_MEMCPY2D
one_row (size_t bytes)
{
  CUDA_MEMCPY2D copy = {};

  copy.WidthInBytes = bytes;
  copy.Height = 1;
  return copy;
}

CUresult
cuMemcpyHtoDAsync (
    CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
  CUDA_MEMCPY2D copy = one_row (bytes);

  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  return copy_2d (copy, stream, false);
}

CUresult
cuMemcpyHtoD (CUdeviceptr to, const void *from, size_t bytes)
{
  return cuMemcpyHtoDAsync (to, from, bytes, nullptr);
}

CUresult
cuMemcpyDtoHAsync (void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  CUDA_MEMCPY2D copy = one_row (bytes);

  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to;
  return copy_2d (copy, stream, false);
}

CUresult
cuMemcpyDtoH (void *to, CUdeviceptr from, size_t bytes)
{
  return cuMemcpyDtoHAsync (to, from, bytes, nullptr);
}

CUresult
cuMemcpyDtoDAsync (
    CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  CUDA_MEMCPY2D copy = one_row (bytes);

  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  return copy_2d (copy, stream, false);
}

CUresult
cuMemcpyDtoD (CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
  return cuMemcpyDtoDAsync (to, from, bytes, nullptr);
}
