/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fills: rows of one value. */
#include "device-memory.h"
#include "streams.h"

template <typename T>
static CUresult
fill (CUdeviceptr to, size_t pitch, T value, size_t width, size_t height,
    CUstream stream)
{
  Allocation allocation;

  MAY_FAIL (LAUNCH, "cuMemset", CUDA_ERROR_INVALID_VALUE);
  if (width == 0 || height == 0)
    return enqueue (stream, [] {});
  if (to % sizeof value != 0
      || (height > 1
          && (pitch < width * sizeof value || pitch % sizeof value != 0))
      || find_allocation ((uintptr_t) to,
             (height - 1) * pitch + width * sizeof value, &allocation)
          != Found::whole)
    return CUDA_ERROR_INVALID_VALUE;
  return enqueue (stream, [=] {
    for (size_t y = 0; y < height; y++) {
      T *row = (T *) ((uintptr_t) to + y * pitch);

      for (size_t x = 0; x < width; x++)
        row[x] = value;
    }
  });
}

CUresult
cuMemsetD8Async (CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
  return fill (to, n, value, n, 1, stream);
}

CUresult
cuMemsetD8 (CUdeviceptr to, unsigned char value, size_t n)
{
  return cuMemsetD8Async (to, value, n, nullptr);
}

CUresult
cuMemsetD2D8Async (CUdeviceptr to, size_t pitch, unsigned char value,
    size_t width, size_t height, CUstream stream)
{
  return fill (to, pitch, value, width, height, stream);
}

CUresult
cuMemsetD2D8 (CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
    size_t height)
{
  return cuMemsetD2D8Async (to, pitch, value, width, height, nullptr);
}

CUresult
cuMemsetD2D16Async (CUdeviceptr to, size_t pitch, unsigned short value,
    size_t width, size_t height, CUstream stream)
{
  return fill (to, pitch, value, width, height, stream);
}

CUresult
cuMemsetD2D16 (CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
    size_t height)
{
  return cuMemsetD2D16Async (to, pitch, value, width, height, nullptr);
}

CUresult
cuMemsetD2D32Async (CUdeviceptr to, size_t pitch, unsigned value, size_t width,
    size_t height, CUstream stream)
{
  return fill (to, pitch, value, width, height, stream);
}

CUresult
cuMemsetD2D32 (
    CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
  return cuMemsetD2D32Async (to, pitch, value, width, height, nullptr);
}
