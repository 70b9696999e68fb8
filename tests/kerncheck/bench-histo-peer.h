/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-peer: histograms of the same frames by other libraries: CUB, and NPP
 * where the build has its headers and its library is found. */
#pragma once

#include "bench-frames.h"
#include "bench-histo-case.h"
#include "bench-timer.h"

typedef struct
{
  double us;     /* NaN: unsupported, or it counts differently */
  bool is_wrong; /* it counts differently */
  char why[320]; /* why there is no time, as a sentence; or empty */
} BenchHistoPeer;

/* All functions below need the device's context pushed. Without a GPU, or without the
 * library, there are no times. */
bool bench_histo_cub_measure (const Device *device, const BenchFrames *frames,
    const BenchHistoCase *c, BenchHistoPeer *peer, Fault *fault);

typedef struct BenchHistoNpp BenchHistoNpp;

/* As bench_npp_open() and the functions after it. */
BenchHistoNpp *bench_histo_npp_open (const Device *device, Fault *fault);
void bench_histo_npp_close (BenchHistoNpp *npp);
const char *bench_histo_npp_version (const BenchHistoNpp *npp);
bool bench_histo_npp_measure (const BenchHistoNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchHistoCase *c, BenchHistoPeer *peer,
    Fault *fault);

/* One plane's operations, which either library implements. */
typedef struct
{
  /* Stores the scratch memory that a plane needs, in bytes. */
  bool (*scratch_bytes) (const void *library, const BenchHistoCase *c,
      int plane, size_t *bytes, Fault *fault);
  /* Queues the counting of a plane into counts[channels][bins] on the device. */
  bool (*count) (const void *library, const Image *src, int plane, int bins,
      void *scratch, size_t scratch_bytes, uint32_t *counts, GpuStream stream,
      Fault *fault);
  const char *name;
} BenchHistoCounter;

/* Times the library plane after plane, and checks its counters. FAULT_UNSUPPORTED and
 * wrong counters are stored in `peer`: neither is a fault of this program. */
bool bench_histo_peer_measure (const BenchHistoCounter *counter,
    const void *library, const Device *device, const BenchFrames *frames,
    const BenchHistoCase *c, BenchHistoPeer *peer, Fault *fault);
