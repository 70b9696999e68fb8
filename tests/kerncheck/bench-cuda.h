/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-cuda: what the benchmark asks of the CUDA runtime and gpu.h does not have:
 * facts for its header, launches as a graph, and kernels that only copy or read.
 *
 * A build without CUDA has the same functions, which cannot be reached there. */
#pragma once

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct
{
  int runtime, driver; /* CUDA versions, 1000 * major + 10 * minor */
  size_t l2_bytes;
  int clock_khz;     /* the highest of the multiprocessors */
  double fma_per_us; /* single precision, all of them at that clock */
} BenchFacts;

bool bench_cuda_facts (const Gpu *gpu, BenchFacts *facts, Fault *fault);

/* Many launches that the GPU starts one after another by itself. */
typedef struct CUgraphExec_st *BenchGraph;

/* What the stream is given in between becomes the graph instead of being run.
 * After a true begin, end must be called, also if something could not be queued. */
bool bench_graph_begin (GpuStream stream, Fault *fault);
bool bench_graph_end (GpuStream stream, BenchGraph *graph, Fault *fault);
bool bench_graph_launch (BenchGraph graph, GpuStream stream, Fault *fault);
/* NULL is allowed. */
void bench_graph_free (BenchGraph graph);

/* Copies with loads and stores of 16 bytes; addresses are multiples of that. */
bool bench_copy_kernel (const Gpu *gpu, uint8_t *dst, const uint8_t *src,
    size_t bytes, GpuStream stream, GpuOrder order, Fault *fault);

/* No GPU runs more blocks at once than this. */
#define BENCH_READ_SUMS 8192

/* Reads with loads of 16 bytes, of which each thread has 1, 2 or 4 under way at once;
 * the address is a multiple of that. sums[BENCH_READ_SUMS] is device memory for what
 * comes of it. */
bool bench_read_kernel (const Gpu *gpu, const uint8_t *src, size_t bytes,
    int loads, uint32_t *sums, GpuStream stream, GpuOrder order, Fault *fault);

#ifdef __cplusplus
}
#endif
