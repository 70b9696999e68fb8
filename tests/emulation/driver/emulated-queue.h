/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-queue: functions that the emulated driver exports beside those of the real
 * driver. */
#pragma once

#include <cuda.h>

extern "C" {
#pragma GCC visibility push(default)

/* Queues a call of run() on the stream, followed by a call of release(); the emulated
 * runtime launches kernels with it. The stream's context must be current. On failure
 * neither is called. */
CUresult emulatedEnqueue (CUstream stream, void (*run) (void *), void *user,
    void (*release) (void *));

/* Number of copies requested so far in all contexts, including copies of 0 bytes. */
unsigned long long emulatedCopies (void);

#pragma GCC visibility pop
}
