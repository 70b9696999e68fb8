/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-link: the two streams on which frames are copied to and from a GPU, shared by all rings of a
 * context.
 *
 * A GPU does not serve the copies of several streams in turn: it continues with those of one
 * stream of a context as long as that has any, so that a busy stream starves the others. On a
 * shared stream, copies come in the order in which they are queued. Copies that are queued behind a
 * wait for an event wait, too.
 *
 * Thread safety: any threads at once. */
#pragma once

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GpuLink GpuLink;

/* Adds a reference to the context's link; the first one makes the link. The context must be
 * current, here and below. NULL: FAULT_NO_SPACE, or the fault that CUDA reported. */
GpuLink *gpu_link_hold (const Gpu *gpu, Fault *fault);
/* Drops a reference; NULL is allowed. All work that its holder has queued must be done. */
void gpu_link_release (GpuLink *link);

GpuStream gpu_link_up (const GpuLink *link);
GpuStream gpu_link_down (const GpuLink *link);

#ifdef __cplusplus
}
#endif
