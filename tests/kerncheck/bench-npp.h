/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-npp: NVIDIA's NPP on the same frames, as a peer.
 *
 * Its headers are needed to build it and its libraries are looked for when it is
 * opened, so that nothing has to be installed where nobody asks for it. A build
 * without the headers has the same functions, and no peer. */
#pragma once

#include "bench-case.h"
#include "bench-frames.h"

typedef struct BenchNpp BenchNpp;

/* The context must be pushed, here and below; the device's stream is used. NULL
 * and FAULT_NOT_FOUND: there is no NPP; the message says what is missing. */
BenchNpp *bench_npp_open (const Device *device, Fault *fault);
/* NULL is allowed. */
void bench_npp_close (BenchNpp *npp);
const char *bench_npp_version (const BenchNpp *npp);

/* Microseconds; NaN: NPP has no such filter for the format, or it failed. */
typedef struct
{
  double separable_us; /* row filter to a buffer, column filter from it */
  double gauss_us;     /* its own two passes, FilterGaussAdvancedBorder */
  double npp_us;       /* the faster of both */
  char why[320];       /* a way has no time, a sentence; or empty */
} BenchPeer;

/* `npp` NULL: no times. */
bool bench_npp_measure (const BenchNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchCase *c, BenchPeer *peer,
    Fault *fault);
