/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-queue: what the emulated driver exports beside the real one's functions. */
#pragma once

#include <cuda.h>

extern "C" {
#pragma GCC visibility push(default)

/* Queues a call of run() on the stream, followed by one of release(); a kernel, for
 * the emulated runtime. As for a kernel, the stream's context must be current. On
 * failure neither is called. */
CUresult emulatedEnqueue (CUstream stream, void (*run) (void *), void *user,
    void (*release) (void *));

/* Copies that were asked for so far, in all contexts, those of no bytes too. */
unsigned long long emulatedCopies (void);

#pragma GCC visibility pop
}
