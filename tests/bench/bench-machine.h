/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-machine: what a benchmark on a GPU ran on. */
#pragma once

#include "gpu.h"

typedef struct
{
  const char *gpu; /* its name, the GPU's own */
  int runtime;     /* CUDA versions, 1000 * major + 10 * minor */
  int driver;
} BenchMachine;

/* What bench_json_gpu() takes. */
BenchMachine bench_machine (const Gpu *gpu);
