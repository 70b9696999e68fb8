/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NPP's histograms for builds without its headers. */
#include "bench-histo-peer.h"

#include <math.h>

BenchHistoNpp *
bench_histo_npp_open (const Device *device, Fault *fault)
{
  (void) device;
  fault_set (fault, FAULT_NOT_FOUND, "This build has no NPP.");
  return NULL;
}

void
bench_histo_npp_close (BenchHistoNpp *npp)
{
  (void) npp;
}

const char *
bench_histo_npp_version (const BenchHistoNpp *npp)
{
  (void) npp;
  return "none";
}

bool
bench_histo_npp_measure (const BenchHistoNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchHistoCase *c, BenchHistoPeer *peer,
    Fault *fault)
{
  (void) npp;
  (void) device;
  (void) frames;
  (void) c;
  (void) fault;
  *peer = (BenchHistoPeer){ .us = NAN };
  return true;
}
