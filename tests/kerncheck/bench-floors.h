/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-floors: what no filter can be faster than: a copy of the same bytes. */
#pragma once

#include "bench-frames.h"

/* Microseconds; NaN where there is no such copy. */
typedef struct
{
  double memcpy_us; /* cudaMemcpyAsync() on the device, memcpy() on the host */
  double kernel_us; /* bench_copy_kernel() */
  double copy_us;   /* the faster of both */
} BenchFloors;

bool bench_floors_measure (const Device *device, const BenchFrames *frames,
    BenchFloors *floors, Fault *fault);
