/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "staging.cuh"

#include "../gpu-check.h"

bool
staging_init (Staging *staging, size_t bytes, Fault *fault)
{
  staging->bytes = bytes;
  staging->device = gpu_malloc (bytes, fault);
  if (staging->device == NULL)
    return false;
  for (int i = 0; i < STAGING_STAGES; i++) {
    staging->stage[i] = gpu_malloc_host (bytes, fault);
    if (staging->stage[i] == NULL
        || !gpu_event_new_untimed (&staging->staged[i], fault))
      return false;
  }
  return true;
}

void
staging_clear (Staging *staging)
{
  for (int i = 0; i < STAGING_STAGES; i++) {
    gpu_event_free (staging->staged[i]);
    gpu_free_host (staging->stage[i]);
  }
  gpu_free (staging->device);
}

bool
staging_reserve (Staging *staging, size_t bytes, size_t spare, GpuStream stream,
    Fault *fault)
{
  if (bytes <= staging->bytes)
    return true;
  if (!gpu_stream_synchronize (stream, fault))
    return false;
  staging_clear (staging);
  *staging = Staging ();
  return staging_init (staging, 2 * bytes > spare ? 2 * bytes : spare, fault);
}

void *
staging_begin (Staging *staging, Fault *fault)
{
  if (!gpu_event_synchronize (
          staging->staged[staging->next], GPU_NAP_NS, fault))
    return NULL;
  return staging->stage[staging->next];
}

bool
staging_send (Staging *staging, size_t bytes, GpuStream stream, Fault *fault)
{
  const int i = staging->next;
  bool ok = false;

  GPU_CHECK (cudaMemcpyAsync (staging->device, staging->stage[i], bytes,
                 cudaMemcpyHostToDevice, stream),
      fault);
  if (!gpu_event_record (staging->staged[i], stream, fault))
    goto done;
  staging->next = (i + 1) % STAGING_STAGES;
  ok = true;
done:
  return ok;
}
