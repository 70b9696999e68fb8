/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-npp: NVIDIA's NPP on the same frames, for comparison.
 *
 * Building it needs NPP's headers. Its libraries are searched when it is opened, so
 * that they need not be installed where NPP is not measured. A build without the
 * headers has the same functions, which find no NPP. */
#pragma once

#include "bench-case.h"
#include "bench-frames.h"

typedef struct BenchNpp BenchNpp;

/* The context must be pushed, here and below; the device's stream is used. Returns NULL
 * with FAULT_NOT_FOUND when there is no NPP; the message names the missing part. */
BenchNpp *bench_npp_open (const Device *device, Fault *fault);
/* `npp` may be NULL. */
void bench_npp_close (BenchNpp *npp);
const char *bench_npp_version (const BenchNpp *npp);

/* Microseconds; NaN: NPP has no such filter for the format, or it failed. */
typedef struct
{
  double separable_us; /* row filter to a buffer, column filter from it */
  double gauss_us;     /* NPP's own two passes, FilterGaussAdvancedBorder */
  double npp_us;       /* the faster of both */
  char why[320];       /* why a time is missing, as a sentence; or empty */
} BenchPeer;

/* With `npp` NULL there are no times. */
bool bench_npp_measure (const BenchNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchCase *c, BenchPeer *peer,
    Fault *fault);
