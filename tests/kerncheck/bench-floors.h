/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-floors: what nothing can be faster than in the same order: for a filter a copy
 * of the same bytes, for a histogram a read of them. */
#pragma once

#include "bench-frames.h"

/* Microseconds; NaN where there is no such copy. */
typedef struct
{
  double memcpy_us; /* cudaMemcpyAsync() on the device, memcpy() on the host */
  double kernel_us; /* bench_copy_kernel() */
  double copy_us;   /* the faster of both */
  double overlapping_us; /* bench_copy_kernel(), beside others */
} BenchFloors;

/* The same when it goes on for seconds: bench_time_sustained(). */
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
  double us; /* of the fastest way to read, in order; NaN on the host */
  int loads; /* that a thread of it has under way at once */
  double overlapping_us; /* of the fastest way beside others */
} BenchRead;

/* Destinations are not needed. */
bool bench_floors_read (const Device *device, const BenchFrames *frames,
    BenchRead *read, Fault *fault);

/* Copies or reads until a GPU that has been idle runs at its full clock, unless
 * it is `warm` already. */
bool bench_warm_up (
    const Device *device, const BenchFrames *frames, bool *warm, Fault *fault);
