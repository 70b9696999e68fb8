/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* staging: uploads of a plan's constants in the order of the stream, through small pinned
 * buffers into one device buffer. Frames in flight keep the constants that they were submitted
 * with, and a new set allocates nothing. */
#pragma once

#include "../gpu.h"

/* Sets that may be in flight at once. */
#define STAGING_STAGES 4

struct Staging
{
  void *device;
  size_t bytes; /* capacity */
  void *stage[STAGING_STAGES];
  GpuEvent staged[STAGING_STAGES]; /* the copy out of the stage is done */
  int next;
};

/* Staging must start zeroed. After a failure staging_clear() frees what was made. */
bool staging_init (Staging *staging, size_t bytes, Fault *fault);
void staging_clear (Staging *staging);
/* Ensures a capacity of at least `bytes`. If that takes new buffers, of at least `spare` bytes,
 * waits for all work queued on the stream; what was sent is then lost. */
bool staging_reserve (Staging *staging, size_t bytes, size_t spare,
    GpuStream stream, Fault *fault);

/* Returns the next stage, to be filled and then sent. Waits until the last copy out of it is
 * done. Returns NULL and sets `fault` on failure. */
void *staging_begin (Staging *staging, Fault *fault);
bool staging_send (
    Staging *staging, size_t bytes, GpuStream stream, Fault *fault);
