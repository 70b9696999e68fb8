/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* staging: constants of a plan that travel with the stream, through small pinned
 * buffers into one of the device, so that frames in flight keep the ones they were
 * submitted with and a new set allocates nothing. */
#pragma once

#include "../gpu.h"

/* Sets that may be on their way at once. */
#define STAGING_STAGES 4

struct Staging
{
  void *device;
  size_t bytes; /* capacity */
  void *stage[STAGING_STAGES];
  GpuEvent staged[STAGING_STAGES]; /* the copy out of it is done */
  int next;
};

/* Staging starts zeroed. After a failure staging_clear() frees what was made. */
bool staging_init (Staging *staging, size_t bytes, Fault *fault);
void staging_clear (Staging *staging);
/* Sees to it that there are `bytes` at least; new ones are `spare` or more. What was sent is lost
 * where they had to be made, which waits for what is queued on the stream. */
bool staging_reserve (Staging *staging, size_t bytes, size_t spare,
    GpuStream stream, Fault *fault);

/* The next stage, once its last copy has been made; NULL and a fault if it cannot be
 * had. To be filled, then sent. */
void *staging_begin (Staging *staging, Fault *fault);
bool staging_send (
    Staging *staging, size_t bytes, GpuStream stream, Fault *fault);
