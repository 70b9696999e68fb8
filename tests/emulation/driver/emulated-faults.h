/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-faults: makes calls fail for tests, and counts live objects.
 *
 * Each call of the emulated driver that may fail on a real GPU is a fault point. So are the
 * calls of the system and of GStreamer in plugin/wrapped-calls.c. A test arms one point by
 * its number: that call does nothing and reports an error. Any thread may use these
 * functions. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Kinds of fault points, as bits. */
typedef enum
{
  EMULATED_FAULT_MEMORY = 1 << 0, /* device and pinned memory, textures */
  EMULATED_FAULT_COPY = 1 << 1,
  EMULATED_FAULT_LAUNCH = 1 << 2, /* kernels, their attributes, fills */
  EMULATED_FAULT_EVENT =
      1 << 3, /* creation, recording, stream waits, elapsed times */
  /* A separate kind: the number of queries of an event depends on the time that its work
   * takes. */
  EMULATED_FAULT_QUERY = 1 << 4,
  EMULATED_FAULT_STREAM = 1 << 5, /* creation and synchronisation */
  /* Devices, primary contexts and context pushes. A push fails because its context is lost;
   * all pushes after it fail, too. */
  EMULATED_FAULT_CONTEXT = 1 << 6,
  EMULATED_FAULT_HEAP = 1 << 7, /* malloc() and its like */
  EMULATED_FAULT_THREAD = 1 << 8,
  EMULATED_FAULT_FRAME = 1 << 9, /* mapping frames, configuring pools */
} EmulatedFaultKind;

#define EMULATED_FAULT_OF_GPU 0x7f

/* Makes the n-th point of these kinds from now on fail (n counts from 1; 0: none), and with
 * `lasting` all points of these kinds after it. */
void emulated_faults_arm (unsigned kinds, long n, int lasting);
/* The first call that has failed since the arming, and its kind; NULL: none has. */
const char *emulated_faults_fired (unsigned *kind);

/* Passes a fault point; returns whether the call has to fail. `call` is a static string. */
int emulated_fault (EmulatedFaultKind kind, const char *call);
/* Whether a context was lost since the last arming. */
int emulated_faults_lost_context (void);

/* Objects that were made and not freed yet. */
typedef struct
{
  long device_memory, pinned_memory, streams, events, contexts;
  long heap, threads; /* of wrapped calls */
} EmulatedLive;

void emulated_live (EmulatedLive *live);
void emulated_live_count (EmulatedFaultKind kind, int n); /* heap or threads */

/* Peak bytes of device memory and of pinned memory since the last call. */
void emulated_most_memory (size_t *device, size_t *pinned);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
