/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-cuda: functions of the CUDA runtime that the benchmark needs and gpu.h lacks:
 * device facts for the header, CUDA graphs of launches, and kernels that only copy or
 * only read.
 *
 * A build without CUDA has the same functions, but never calls them. */
#pragma once

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct
{
  int runtime, driver; /* CUDA versions, 1000 * major + 10 * minor */
  size_t l2_bytes;
  int clock_khz;     /* highest clock of the multiprocessors */
  double fma_per_us; /* single precision, whole GPU at that clock */
} BenchFacts;

bool bench_cuda_facts (const Gpu *gpu, BenchFacts *facts, Fault *fault);

/* Many launches that the GPU starts one after another without the host. */
typedef struct CUgraphExec_st *BenchGraph;

/* Launches that are queued on the stream between begin and end become the graph; they
 * do not run. After begin has returned true, end must be called, even if a launch could
 * not be queued. */
bool bench_graph_begin (GpuStream stream, Fault *fault);
bool bench_graph_end (GpuStream stream, BenchGraph *graph, Fault *fault);
bool bench_graph_launch (BenchGraph graph, GpuStream stream, Fault *fault);
/* `graph` may be NULL. */
void bench_graph_free (BenchGraph graph);

/* Copies with loads and stores of 16 bytes. Addresses are multiples of 16. */
bool bench_copy_kernel (const Gpu *gpu, uint8_t *dst, const uint8_t *src,
    size_t bytes, GpuStream stream, GpuOrder order, Fault *fault);

/* At least the number of blocks that any GPU runs at once. */
#define BENCH_READ_SUMS 8192

/* Reads with loads of 16 bytes; each thread has 1, 2 or 4 loads in flight. The address
 * is a multiple of 16. sums[BENCH_READ_SUMS] is device memory for the sums, which keep
 * the loads from being optimised away. */
bool bench_read_kernel (const Gpu *gpu, const uint8_t *src, size_t bytes,
    int loads, uint32_t *sums, GpuStream stream, GpuOrder order, Fault *fault);

#ifdef __cplusplus
}
#endif
