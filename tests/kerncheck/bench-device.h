/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-device: where a benchmark runs. */
#pragma once

#include "bench-cuda.h"
#include "kerncheck-device.h"

typedef enum
{
  BENCH_ON_AUTO, /* the GPU, or the host where there is none */
  BENCH_ON_GPU,
  BENCH_ON_HOST,
} BenchOn;

/* The value of --backend; false: there is none such. */
bool bench_on_parse (BenchOn *on, const char *name);

/* Opens the GPU if there is one and it is wanted, and tells of it; else the host:
 * then device->gpu is NULL and the facts are left alone. */
bool bench_device_open (
    Device *device, BenchOn on, BenchFacts *facts, Fault *fault);

/* What frames have to rotate through, so that no cache holds them. */
size_t bench_device_rotation (const Device *device, const BenchFacts *facts);
