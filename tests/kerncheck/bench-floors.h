/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-floors: lower bounds of run times, in the same launch order: for a filter a
 * copy of the same bytes, for a histogram a read of them. */
#pragma once

#include "bench-frames.h"

/* Microseconds; NaN where that copy does not exist. */
typedef struct
{
  double memcpy_us; /* cudaMemcpyAsync() on the device, memcpy() on the host */
  double kernel_us; /* bench_copy_kernel() */
  double copy_us;   /* the faster of both */
  double overlapping_us; /* bench_copy_kernel(), overlapped */
} BenchFloors;

/* The same, sustained for seconds: see bench_time_sustained(). */
typedef struct
{
  double back_to_back_us; /* of the faster way */
  double overlapped_us;   /* NaN on the host */
} BenchSustainedFloors;

bool bench_floors_sustain (const Device *device, const BenchFrames *frames,
    double seconds, BenchSustainedFloors *floors, Fault *fault);

bool bench_floors_measure (const Device *device, const BenchFrames *frames,
    BenchFloors *floors, Fault *fault);

typedef struct
{
  double us;             /* of the fastest way, back to back; NaN on the host */
  int loads;             /* loads in flight per thread, for that way */
  double overlapping_us; /* of the fastest way, overlapped */
} BenchRead;

/* Works also with frames without destinations. */
bool bench_floors_read (const Device *device, const BenchFrames *frames,
    BenchRead *read, Fault *fault);

/* Copies or reads until an idle GPU runs at its full clock. Does nothing if it is
 * `warm` already. */
bool bench_warm_up (
    const Device *device, const BenchFrames *frames, bool *warm, Fault *fault);
