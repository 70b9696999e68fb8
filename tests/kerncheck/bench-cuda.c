/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-cuda.h"

#include "gpu-check.h"

/* Single-precision lanes per multiprocessor. Source: CUDA programming guide, arithmetic
 * throughput by compute capability. */
static int
lanes (int capability)
{
  switch (capability) {
    case 60:
    case 70:
    case 72:
    case 75:
    case 80:
      return 64;
    default:
      return 128;
  }
}

bool
bench_cuda_facts (const Gpu *gpu, BenchFacts *facts, Fault *fault)
{
  int l2 = 0;
  bool ok = false;

  if (!gpu_versions (&facts->runtime, &facts->driver, fault))
    return false;
  GPU_CHECK (cudaDeviceGetAttribute (&l2, cudaDevAttrL2CacheSize, gpu_id (gpu)),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (
                 &facts->clock_khz, cudaDevAttrClockRate, gpu_id (gpu)),
      fault);
  facts->l2_bytes = (size_t) l2;
  facts->fma_per_us = 1e-3 * facts->clock_khz * gpu_multiprocessors (gpu)
      * lanes (gpu_capability (gpu));
  ok = true;
done:
  return ok;
}

/* Thread-local capture mode: calls that a graph cannot hold, such as allocations, fail
 * during the capture. Otherwise they would run once, although every launch of the graph
 * needs them. */
bool
bench_graph_begin (GpuStream stream, Fault *fault)
{
  bool ok = false;

  GPU_CHECK (
      cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal), fault);
  ok = true;
done:
  return ok;
}

bool
bench_graph_end (GpuStream stream, BenchGraph *executable, Fault *fault)
{
  cudaGraph_t graph = NULL;
  bool ok = false;

  *executable = NULL;
  GPU_CHECK (cudaStreamEndCapture (stream, &graph), fault);
  GPU_CHECK (cudaGraphInstantiateWithFlags (executable, graph, 0), fault);
  ok = true;
done:
  if (graph != NULL)
    (void) cudaGraphDestroy (graph);
  return ok;
}

bool
bench_graph_launch (BenchGraph graph, GpuStream stream, Fault *fault)
{
  bool ok = false;

  GPU_CHECK (cudaGraphLaunch (graph, stream), fault);
  ok = true;
done:
  return ok;
}

void
bench_graph_free (BenchGraph graph)
{
  if (graph != NULL)
    (void) cudaGraphExecDestroy (graph);
}
