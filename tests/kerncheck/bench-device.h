/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-device: the device that a benchmark runs on: GPU or host. */
#pragma once

#include "bench-cuda.h"
#include "kerncheck-device.h"

typedef enum
{
  BENCH_ON_AUTO, /* the GPU, or the host where there is none */
  BENCH_ON_GPU,
  BENCH_ON_HOST,
} BenchOn;

/* Parses the value of --backend; returns false when it is invalid. */
bool bench_on_parse (BenchOn *on, const char *name);

/* Opens the GPU and fills `facts`. With BENCH_ON_HOST, or with BENCH_ON_AUTO where
 * there is no GPU, it chooses the host: device->gpu stays NULL and the facts are left
 * alone. */
bool bench_device_open (
    Device *device, BenchOn on, BenchFacts *facts, Fault *fault);

/* Least bytes of frames to rotate through so that no cache holds them. */
size_t bench_device_rotation (const Device *device, const BenchFacts *facts);
