/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-npp for builds without NPP's headers. */
#include "bench-npp.h"

#include <math.h>

BenchNpp *
bench_npp_open (const Device *device, Fault *fault)
{
  (void) device;
  fault_set (fault, FAULT_NOT_FOUND, "This build has no NPP.");
  return NULL;
}

void
bench_npp_close (BenchNpp *npp)
{
  (void) npp;
}

const char *
bench_npp_version (const BenchNpp *npp)
{
  (void) npp;
  return "none";
}

bool
bench_npp_measure (const BenchNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchCase *c, BenchPeer *peer,
    Fault *fault)
{
  (void) npp;
  (void) device;
  (void) frames;
  (void) c;
  (void) fault;
  *peer = (BenchPeer){ .separable_us = NAN, .gauss_us = NAN, .npp_us = NAN };
  return true;
}
