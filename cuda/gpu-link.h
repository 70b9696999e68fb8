/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-link: the two streams on which frames are copied to a GPU and from it, shared by all that
 * copy in one context.
 *
 * Copies of streams of their own are not taken in turn: a GPU goes on with those of one stream
 * of a context for as long as that has any, and whoever keeps it busy leaves nothing to others.
 * Here they come in the order in which they are queued. What is queued behind a wait for an
 * event waits, too.
 *
 * Thread safety: any threads at once. */
#pragma once

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GpuLink GpuLink;

/* A hold on the context's link, which is made for the first one. The context must be current,
 * here and below. NULL: FAULT_NO_SPACE, or what CUDA reported. */
GpuLink *gpu_link_hold (const Gpu *gpu, Fault *fault);
/* Gives up a hold; NULL is allowed. What the holder has queued must be done. */
void gpu_link_release (GpuLink *link);

GpuStream gpu_link_up (const GpuLink *link);
GpuStream gpu_link_down (const GpuLink *link);

#ifdef __cplusplus
}
#endif
