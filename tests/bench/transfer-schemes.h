/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-schemes: the ways of upload, filter and download that bench-transfer
 * compares. */
#pragma once

#include "transfer-rig.h"

#include "ring.h"

typedef struct Scheme Scheme;

/* Streams n frames and stores the time at which each was complete, in order. */
typedef bool (*SchemeRun) (
    Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault);

struct Scheme
{
  const char *name;
  const char *description;
  SchemeRun run;
  int in_flight; /* at most, for each feeder */
  int feeders;   /* submitting threads, each with its own ring */
  int slices;
  RingTransfer transfer;
  bool pageable; /* frames lie in ordinary memory */
  bool spin;     /* waits by spinning, not by sleeping */
};

int scheme_count (void);
const Scheme *scheme_at (int index);
