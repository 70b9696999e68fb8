/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-peer: other libraries' histograms of the same frames: CUB, and NPP
 * where the build has its headers and its library is found. */
#pragma once

#include "bench-frames.h"
#include "bench-histo-case.h"
#include "bench-timer.h"

typedef struct
{
  double us;     /* NaN: it cannot do it, or counts otherwise */
  bool is_wrong; /* it counts otherwise */
  char why[320]; /* there is no time, a sentence; or empty */
} BenchHistoPeer;

/* All of these want the device's context pushed. Without a GPU, or without the
 * library, there are no times. */
bool bench_histo_cub_measure (const Device *device, const BenchFrames *frames,
    const BenchHistoCase *c, BenchHistoPeer *peer, Fault *fault);

typedef struct BenchHistoNpp BenchHistoNpp;

/* As bench_npp_open() and what follows it. */
BenchHistoNpp *bench_histo_npp_open (const Device *device, Fault *fault);
void bench_histo_npp_close (BenchHistoNpp *npp);
const char *bench_histo_npp_version (const BenchHistoNpp *npp);
bool bench_histo_npp_measure (const BenchHistoNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchHistoCase *c, BenchHistoPeer *peer,
    Fault *fault);

/* What either does with one plane. */
typedef struct
{
  /* Bytes of scratch memory that a plane wants. */
  bool (*scratch_bytes) (const void *library, const BenchHistoCase *c,
      int plane, size_t *bytes, Fault *fault);
  /* Queues its counting to counts[channels][bins] on the device. */
  bool (*count) (const void *library, const Image *src, int plane, int bins,
      void *scratch, size_t scratch_bytes, uint32_t *counts, GpuStream stream,
      Fault *fault);
  const char *name;
} BenchHistoCounter;

/* Times it plane after plane and checks what it has counted. FAULT_UNSUPPORTED is
 * told in `peer`, and so are wrong counts: neither is a fault of ours. */
bool bench_histo_peer_measure (const BenchHistoCounter *counter,
    const void *library, const Device *device, const BenchFrames *frames,
    const BenchHistoCase *c, BenchHistoPeer *peer, Fault *fault);
