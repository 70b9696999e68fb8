/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-cub.h"
#include "bench-histo-peer.h"

#include <math.h>

static bool
scratch_bytes (const void *library, const BenchHistoCase *c, int plane,
    size_t *bytes, Fault *fault)
{
  (void) library;
  *bytes = 0;
  return bench_cub_count (
      NULL, bytes, &c->layout, plane, c->spec.bins, NULL, NULL, fault);
}

static bool
count (const void *library, const Image *src, int plane, int bins,
    void *scratch, size_t bytes, uint32_t *counts, GpuStream stream,
    Fault *fault)
{
  (void) library;
  return bench_cub_count (
      scratch, &bytes, src, plane, bins, counts, stream, fault);
}

bool
bench_histo_cub_measure (const Device *device, const BenchFrames *frames,
    const BenchHistoCase *c, BenchHistoPeer *peer, Fault *fault)
{
  static const BenchHistoCounter counter = { scratch_bytes, count, "CUB" };

  *peer = (BenchHistoPeer){ .us = NAN };
  if (device->gpu == NULL || bench_cub_version () == NULL)
    return true;
  return bench_histo_peer_measure (
      &counter, NULL, device, frames, c, peer, fault);
}
