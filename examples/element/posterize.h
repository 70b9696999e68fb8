/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* posterize: bytes replaced by a table, on the GPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct
{
  uint8_t code[256];
} PosterizeTable;

/* The type behind cudaStream_t. */
struct CUstream_st;

/* Queues the kernel for one plane on the stream. Returns the name of CUDA's error, or NULL. */
const char *posterize_plane (const PosterizeTable *table, const uint8_t *src,
    ptrdiff_t src_stride, uint8_t *dst, ptrdiff_t dst_stride, size_t row_bytes,
    int rows, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
