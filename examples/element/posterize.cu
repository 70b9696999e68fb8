/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "posterize.h"

#include <algorithm>

static const unsigned threads = 256;

/* One thread for each byte of a row; a block goes on to the rows that the grid does not have. */
static __global__ void
posterize (const PosterizeTable table, const uint8_t *src, ptrdiff_t src_stride,
    uint8_t *dst, ptrdiff_t dst_stride, size_t row_bytes, int rows)
{
  const size_t x = (size_t) blockIdx.x * blockDim.x + threadIdx.x;

  if (x >= row_bytes)
    return;
  for (int y = (int) blockIdx.y; y < rows; y += (int) gridDim.y)
    dst[y * dst_stride + (ptrdiff_t) x] =
        table.code[src[y * src_stride + (ptrdiff_t) x]];
}

const char *
posterize_plane (const PosterizeTable *table, const uint8_t *src,
    ptrdiff_t src_stride, uint8_t *dst, ptrdiff_t dst_stride, size_t row_bytes,
    int rows, struct CUstream_st *stream)
{
  const dim3 grid ((unsigned) ((row_bytes + threads - 1) / threads),
      (unsigned) std::min (rows, 256));
  cudaError_t error;

  posterize<<<grid, threads, 0, stream>>> (
      *table, src, src_stride, dst, dst_stride, row_bytes, rows);
  error = cudaGetLastError ();
  return error == cudaSuccess ? NULL : cudaGetErrorName (error);
}
