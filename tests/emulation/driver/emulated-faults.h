/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-faults: calls that fail because a test wants them to, and what is alive.
 *
 * Each call of the emulated driver that may fail on a real GPU is a fault point, and so are
 * the calls of the system and of GStreamer that plugin/wrapped-calls.c names. A test arms one
 * point by its number: that call does nothing and reports an error. Any thread. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A kind is a bit of a set. */
typedef enum
{
  EMULATED_FAULT_MEMORY = 1 << 0, /* device and pinned memory, textures */
  EMULATED_FAULT_COPY = 1 << 1,
  EMULATED_FAULT_LAUNCH = 1 << 2, /* kernels, their attributes, fills */
  EMULATED_FAULT_EVENT =
      1 << 3, /* creation, recording, waits of streams, times */
  /* Apart from the others: how often an event is queried depends on the time that its work
   * takes. */
  EMULATED_FAULT_QUERY = 1 << 4,
  EMULATED_FAULT_STREAM = 1 << 5, /* creation and synchronisation */
  /* Devices, primary contexts and pushes. A push fails where a context is lost, so that all
   * pushes after it fail, too. */
  EMULATED_FAULT_CONTEXT = 1 << 6,
  EMULATED_FAULT_HEAP = 1 << 7, /* malloc() and its like */
  EMULATED_FAULT_THREAD = 1 << 8,
  EMULATED_FAULT_FRAME = 1 << 9, /* maps of frames, configurations of pools */
} EmulatedFaultKind;

#define EMULATED_FAULT_OF_GPU 0x7f

/* The n-th point of these kinds from now on fails, from 1 on; and all points of these kinds
 * after it, if `lasting`. 0: none does. */
void emulated_faults_arm (unsigned kinds, long n, int lasting);
/* The call that failed first since, and its kind; NULL: none did. */
const char *emulated_faults_fired (unsigned *kind);

/* Passes a point; returns whether the call is to fail. `call` is static. */
int emulated_fault (EmulatedFaultKind kind, const char *call);
/* Whether a context was lost since the last arming. */
int emulated_faults_lost_context (void);

/* What was made and not freed yet. */
typedef struct
{
  long device_memory, pinned_memory, streams, events, contexts;
  long heap, threads; /* of wrapped calls */
} EmulatedLive;

void emulated_live (EmulatedLive *live);
void emulated_live_count (EmulatedFaultKind kind, int n); /* heap or threads */

/* The most bytes of devices, and of pinned memory, at once since the last call. */
void emulated_most_memory (size_t *device, size_t *pinned);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
