/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-cub: CUB's histogram of one plane. A build without CUB's headers has the same
 * functions, which report that CUB is absent. */
#pragma once

#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL: this build has no CUB. */
const char *bench_cub_version (void);

/* Counts every channel of a plane on the device into counts[channels][bins], also
 * device memory. With `scratch` NULL it only stores the required size of the scratch
 * memory in *scratch_bytes. FAULT_UNSUPPORTED: CUB has no histogram for this plane. */
bool bench_cub_count (void *scratch, size_t *scratch_bytes, const Image *src,
    int plane, int bins, uint32_t *counts, GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
