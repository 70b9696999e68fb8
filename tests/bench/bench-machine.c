/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-machine.h"

#ifdef HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

BenchMachine
bench_machine (const Gpu *gpu)
{
  BenchMachine machine = { gpu_name (gpu), 0, 0 };

#ifdef HAVE_CUDA
  (void) cudaRuntimeGetVersion (&machine.runtime);
  (void) cudaDriverGetVersion (&machine.driver);
#endif
  return machine;
}
