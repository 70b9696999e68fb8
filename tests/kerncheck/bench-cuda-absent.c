/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-cuda for builds without CUDA: without a Gpu these are never called. */
#include "bench-cuda.h"

static bool
absent (Fault *fault)
{
  return fault_set (fault, FAULT_NOT_FOUND, "This build has no CUDA support.");
}

bool
bench_cuda_facts (const Gpu *gpu, BenchFacts *facts, Fault *fault)
{
  (void) gpu;
  (void) facts;
  return absent (fault);
}

bool
bench_graph_begin (GpuStream stream, Fault *fault)
{
  (void) stream;
  return absent (fault);
}

bool
bench_graph_end (GpuStream stream, BenchGraph *graph, Fault *fault)
{
  (void) stream;
  *graph = NULL;
  return absent (fault);
}

bool
bench_graph_launch (BenchGraph graph, GpuStream stream, Fault *fault)
{
  (void) graph;
  (void) stream;
  return absent (fault);
}

void
bench_graph_free (BenchGraph graph)
{
  (void) graph;
}

bool
bench_copy_kernel (const Gpu *gpu, uint8_t *dst, const uint8_t *src,
    size_t bytes, GpuStream stream, GpuOrder order, Fault *fault)
{
  (void) gpu;
  (void) order;
  (void) dst;
  (void) src;
  (void) bytes;
  (void) stream;
  return absent (fault);
}

bool
bench_read_kernel (const Gpu *gpu, const uint8_t *src, size_t bytes, int loads,
    uint32_t *sums, GpuStream stream, GpuOrder order, Fault *fault)
{
  (void) gpu;
  (void) order;
  (void) src;
  (void) bytes;
  (void) loads;
  (void) sums;
  (void) stream;
  return absent (fault);
}
