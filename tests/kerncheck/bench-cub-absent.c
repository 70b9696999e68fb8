/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-cub for builds without CUB. */
#include "bench-cub.h"

const char *
bench_cub_version (void)
{
  return NULL;
}

bool
bench_cub_count (void *scratch, size_t *scratch_bytes, const Image *src,
    int plane, int bins, uint32_t *counts, GpuStream stream, Fault *fault)
{
  (void) scratch;
  (void) scratch_bytes;
  (void) src;
  (void) plane;
  (void) bins;
  (void) counts;
  (void) stream;
  return fault_set (fault, FAULT_UNSUPPORTED, "This build has no CUB.");
}
